"""Two-state columns: class weights of a word of bits at a time."""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.forest.impurity import after_split
from worthwhile.core.forest.stumps import FLOOR, better

_U = np.uint64

_DE_BRUIJN = np.zeros(64, dtype=np.int64)
for _bit in range(64):
    _DE_BRUIJN[((1 << _bit) * 0x03F79D71B4CB0A89 % 2**64) >> 58] = _bit


@kernel(lean=True)
def lowest_bit(word):
    """Number of the lowest bit that is set (by a de Bruijn sequence)."""
    return _DE_BRUIJN[((word & (~word + _U(1))) * _U(0x03F79D71B4CB0A89)) >> _U(58)]


@kernel(lean=True)
def mixed_bits(bits, word, rows, start, n):
    """Bits of one word that are set in some rows and not in others."""
    some, every = _U(0), ~_U(0)
    for i in range(n):
        here = bits[np.uint32(rows[start + i]), word]
        some |= here
        every &= here
    return some & ~every


@kernel(lean=True)
def count_bits(bits, word, wanted, rows, start, n, classes, weights, counts):
    """Class weights of the rows with each wanted bit of one word set: counts (64, K) of the bits returned.

    ``classes`` and ``weights`` lie in the order of ``rows[start:]``. One step per set bit.
    """
    touched = _U(0)
    for i in range(n):
        rest = bits[np.uint32(rows[start + i]), word] & wanted
        new = rest & ~touched
        touched |= rest
        while new != _U(0):
            bit = lowest_bit(new)
            for k in range(counts.shape[1]):
                counts[bit, k] = 0.0
            new &= new - _U(1)
        while rest != _U(0):
            counts[lowest_bit(rest), classes[i]] += weights[i]
            rest &= rest - _U(1)
    return touched


@kernel(lean=True)
def best_bit(
    impurity, bits, bit_feature, rows, start, n, classes, weights, node_counts, whole, price, best_decrease,
    best_price, best, counts, scratch,
):  # fmt: skip
    """Feature whose two states make the best split, or ``best`` if it stays the best."""
    for word in range(bits.shape[1]):
        wanted = mixed_bits(bits, word, rows, start, n)
        if wanted == _U(0):
            continue
        touched = count_bits(bits, word, wanted, rows, start, n, classes, weights, counts)
        while touched != _U(0):
            bit = lowest_bit(touched)
            touched &= touched - _U(1)
            f = bit_feature[word * 64 + bit]
            decrease = whole - after_split(impurity, counts[bit], node_counts, scratch)
            if decrease > FLOOR * whole and better(
                decrease, price[f], f, best_decrease, best_price, best
            ):
                best_decrease, best_price, best = decrease, price[f], f
    return best
