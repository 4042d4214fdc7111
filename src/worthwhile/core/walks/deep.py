"""Batches through deep trees: nodes of eight bytes, many rows a level at a time, no branch per step.

A walk through deep trees waits for memory and for wrongly guessed branches. Here a node takes eight
bytes: its threshold as float32, and in 32 bits its feature and its left child, which the right one
follows. A block of rows goes down a tree together, level by level; rows that have arrived are passed
over. What a row buys on its way is known at the leaf, as bits. Leaves that say the same share it, and
zeros are not added, which changes no bit of a sum that starts from zero.

Rounding a threshold down to float32 changes nothing for values that are such numbers. A batch with
other values is left to :func:`~worthwhile.core.walks.general.walk`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.walks.general import finish

NODE = np.dtype([("threshold", np.float32), ("link", np.uint32)])
"""A leaf has the threshold NaN, and its number within the tree in place of a child."""

FEATURE_BITS = 11
"""A link is the left child, then one bit: whether missing values go right, then the feature."""

MOST_FEATURES = 512
"""Tested features up to which the purchases of a leaf are kept as bits."""

MOST_NODES = 1 << (32 - FEATURE_BITS - 1)

MOST_VALUES = (1 << 32) - 1
"""Where a leaf's values begin and end takes 32 bits each."""

TOP_LEVELS = 9
"""Levels that lie together, since all rows pass them; below, every subtree lies together."""

BLOCK_BYTES = 1 << 21
"""Rows of this size go through one tree after the other: its nodes stay in the cache meanwhile."""

TOGETHER = 512
"""Rows that go down a tree together."""

REMEMBERED = 1 << 12
"""What leaves say is looked up among this many, to be stored once."""

_U, _U32 = np.uint64, np.uint32


class Deep(NamedTuple):
    """Trees as these walks read them."""

    columns: np.ndarray  # int64 (used,): the features that are tested
    nodes: np.ndarray  # NODE (nodes,), tree after tree
    root: np.ndarray  # int64 (trees,)
    first_leaf: np.ndarray  # int64 (trees,): where the leaves of each tree begin
    leaves: np.ndarray  # uint64 (leaves, 1 + words): what to add, then what is tested, as bits
    where: np.ndarray  # int32: column of the raw output
    amount: np.ndarray  # float64: what is added to it


def lay_out(trees):
    """The trees in this form, or None where it does not fit: tests for membership have no place in it."""
    if trees.category is not None:
        return None
    n, inner = len(trees.feature), trees.feature >= 0
    columns = np.flatnonzero(np.bincount(trees.feature[inner]))
    sizes = np.diff(trees.bounds)
    if not trees.n_trees or len(columns) > MOST_FEATURES or sizes.max() > MOST_NODES:
        return None
    if trees.value.size > MOST_VALUES:
        return None
    parents = np.bincount(np.concatenate([trees.left[inner], trees.right[inner], trees.root]))
    if len(parents) != n or (parents != 1).any():
        return None  # a file may hold nodes with two parents or none: safe to walk, but no trees
    number = np.full(columns.max(initial=0) + 2, -1, dtype=np.int32)
    number[columns] = np.arange(len(columns))
    feature, root = number[trees.feature], trees.root.astype(np.int64)
    order, place = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    order_nodes(feature, trees.left, trees.right, root, order, place)
    ends = order[~inner[order]]
    deep = Deep(
        columns, np.empty(n, dtype=NODE), root, np.empty_like(root),
        np.zeros((len(ends), 1 + -(-len(columns) // 64)), dtype=np.uint64),
        np.empty(0, dtype=np.int32), np.empty(0),
    )  # fmt: skip
    deep.nodes["threshold"] = _rounded_down(trees.threshold)[order]
    link_nodes(feature, trees.left, trees.missing_left, order, place, deep)
    where, amount = (np.empty(len(ends) * trees.width, dtype) for dtype in (np.int32, np.float64))
    count = note_sayings(trees.value, trees.output, ends, deep, where, amount, amount.view(_U))
    return deep._replace(where=where[:count].copy(), amount=amount[:count].copy())


def _rounded_down(threshold):
    """The largest float32 numbers that are not above the thresholds."""
    with np.errstate(over="ignore"):
        found = threshold.astype(np.float32)
    above = np.flatnonzero(found > threshold)
    found[above] = np.nextafter(found[above], np.float32(-np.inf))
    return found


@kernel()
def order_nodes(feature, left, right, root, order, place):
    """Number the nodes anew, siblings side by side: ``order`` leads to the old numbers, ``place`` back."""
    stack = np.empty(order.shape[0] + 1, np.int32)
    for tree in range(root.shape[0]):
        low, free = root[tree], root[tree] + 1
        order[low], place[low] = low, low
        for _ in range(TOP_LEVELS):
            low, free = _lay_level(feature, left, right, low, free, order, place)
        high = free
        for i in range(low, high):
            top, stack[0] = 0, order[i]
            while top >= 0:
                old = stack[top]
                top -= 1
                if feature[old] >= 0:
                    free = _lay_pair(left[old], right[old], free, order, place)
                    stack[top + 1], stack[top + 2] = right[old], left[old]
                    top += 2


@kernel()
def _lay_pair(left, right, free, order, place):
    """Give two siblings the next two numbers."""
    order[free], order[free + 1] = left, right
    place[left], place[right] = free, free + 1
    return free + 2


@kernel()
def _lay_level(feature, left, right, low, high, order, place):
    """Number the children of the nodes ``low..high``; return where they begin and end."""
    free = high
    for i in range(low, high):
        old = order[i]
        if feature[old] >= 0:
            free = _lay_pair(left[old], right[old], free, order, place)
    return high, free


@kernel()
def link_nodes(feature, left, missing_left, order, place, deep):
    """Write the links, and the bits of what is tested on the way to the leaves."""
    n_trees, words = deep.root.shape[0], deep.leaves.shape[1] - 1
    most = 0
    for tree in range(n_trees):
        end = deep.root[tree + 1] if tree + 1 < n_trees else order.shape[0]
        most = max(most, end - deep.root[tree])
    met = np.empty((most, words), np.uint64)
    leaf = 0
    for tree in range(n_trees):
        low = deep.root[tree]
        end = deep.root[tree + 1] if tree + 1 < n_trees else order.shape[0]
        deep.first_leaf[tree] = leaf
        for word in range(words):
            met[0, word] = 0
        for new in range(low, end):
            old, node = order[new], deep.nodes[new]
            f = feature[old]
            if f < 0:
                node["threshold"] = np.nan
                node["link"] = (leaf - deep.first_leaf[tree]) << (FEATURE_BITS + 1)
                for word in range(words):
                    deep.leaves[leaf, 1 + word] = met[new - low, word]
                leaf += 1
                continue
            child, goes_right = place[left[old]] - low, 0 if missing_left[old] else 1
            node["link"] = (child << (FEATURE_BITS + 1)) | (goes_right << FEATURE_BITS) | f
            for side in range(2):
                for word in range(words):  # assigning slices takes seconds to compile
                    met[child + side, word] = met[new - low, word]
                met[child + side, f // 64] |= _U(1) << _U(f % 64)


@kernel()
def note_sayings(value, output, ends, deep, where, amount, bits):
    """Write down what leaves say, zeros left out; return how many numbers that takes.

    ``bits`` is ``amount`` as whole numbers. A leaf that says what was said lately refers to it.
    """
    lately = np.zeros(REMEMBERED, np.int64)
    count = 0
    for tree in range(deep.root.shape[0]):
        last = deep.first_leaf[tree + 1] if tree + 1 < output.shape[0] else ends.shape[0]
        for leaf in range(deep.first_leaf[tree], last):
            start, mix = count, _U(0)
            for k in range(value.shape[1]):
                if value[ends[leaf], k] != 0.0:
                    where[count], amount[count] = output[tree] + k, value[ends[leaf], k]
                    mix = (mix ^ bits[count] ^ _U(where[count])) * _U(0x9E3779B97F4A7C15)
                    count += 1
            slot = mix >> _U(52)
            known = lately[slot] - 1
            lately[slot] = leaf + 1
            deep.leaves[leaf, 0] = _U(start) << _U(32) | _U(count)
            if known >= 0 and _same(deep.leaves[known, 0], deep.leaves[leaf, 0], where, bits):
                deep.leaves[leaf, 0] = deep.leaves[known, 0]
                count = start
    return count


@kernel()
def _same(first, second, where, bits):
    """Whether two leaves say the same, to the last bit."""
    (a, end), (b, other_end) = _span(first), _span(second)
    same = end - a == other_end - b
    while same and a < end:
        same = where[a] == where[b] and bits[a] == bits[b]
        a, b = a + 1, b + 1
    return same


@kernel()
def _span(word):
    """First and last of what a leaf adds."""
    return np.int64(word >> _U(32)), np.int64(word & _U(0xFFFFFFFF))


@kernel()
def _load(X, columns, low, n, held):
    """Copy the tested features of some rows: whether all are float32 numbers, and whether one is NaN."""
    exact, missing = True, False
    for j in range(n):
        for k in range(columns.shape[0]):
            x = X[low + j, columns[k]]
            short = np.float32(x)
            held[j, k] = short
            missing |= x != x
            exact &= (short == x) | (x != x)
    return exact, missing


@kernel()
def _descend(nodes, root, n, held, missing, at, going):
    """Take ``n`` rows down a tree; ``at`` becomes the numbers of their leaves."""
    values, width = held.reshape(held.size), _U(held.shape[1])
    for j in range(n):
        at[j], going[j] = 0, j
    left = n
    while left > 0:
        kept = _U(0)
        for i in range(left):
            j = _U(going[i])
            node = nodes[_U(root) + _U(at[j])]
            link, threshold = node["link"], node["threshold"]
            x = values[j * width + _U(link & _U32((1 << FEATURE_BITS) - 1))]
            right = _U32(x > threshold)
            if missing:
                right |= (link >> _U32(FEATURE_BITS)) & _U32(x != x)
            at[j] = (link >> _U32(FEATURE_BITS + 1)) + right
            going[kept] = _U32(j)
            kept += _U(threshold == threshold)
        left = np.int64(kept)


@kernel()
def _collect(deep, tree, at, n, raw, bought, spans):
    """Add what the leaves say, and what was bought on the way to them where that is asked for."""
    first, leaves, where, amount = (
        _U(deep.first_leaf[tree]), deep.leaves, deep.where, deep.amount
    )  # fmt: skip
    totals, width, words = raw.reshape(raw.size), _U(raw.shape[1]), bought.shape[1]
    for j in range(
        n
    ):  # a loop of its own: so short, many of its memory accesses are under way at once
        leaf = first + _U(at[j])
        spans[j] = leaves[leaf, 0]
        for word in range(words):
            bought[j, word] |= leaves[leaf, word + 1]
    for j in range(n):
        i, end = spans[j] >> _U(32), spans[j] & _U(0xFFFFFFFF)
        while i < end:
            totals[_U(j) * width + _U(where[i])] += amount[i]
            i += _U(1)


@kernel()
def _note_bills(bought, columns, n, acquired, low):
    """Turn bits into purchases."""
    for j in range(n):
        for k in range(columns.shape[0]):
            bit = (bought[j, k // 64] >> _U(k % 64)) & _U(1)
            acquired[low + j, columns[k]] = bit != 0


@kernel()
def walk_deep(X, deep, single, base, average, raw, acquired, exact, start, stop):
    """What :func:`~worthwhile.core.walks.general.walk` does; ``exact`` (1,) becomes False if it cannot.

    It cannot where values are no float32 numbers, unless ``single`` says that they are to be rounded.
    """
    n_trees, used, billed = deep.root.shape[0], deep.columns.shape[0], acquired.shape[0] > 0
    block = min(stop - start, max(TOGETHER, BLOCK_BYTES // (4 * used + 1)))
    held = np.empty((block, max(1, used)), np.float32)
    at, going = np.empty(TOGETHER, np.uint32), np.empty(TOGETHER, np.uint32)
    spans = np.empty(TOGETHER, np.uint64)
    bought = np.empty((block, deep.leaves.shape[1] - 1 if billed else 0), np.uint64)
    for low in range(start, stop, block):
        n = min(block, stop - low)
        fits, missing = _load(X, deep.columns, low, n, held)
        if not (fits or single):
            exact[0] = False
        if not exact[0]:  # another thread may have found out
            return
        for j in range(n):
            for word in range(bought.shape[1]):
                bought[j, word] = 0
        for tree in range(n_trees):
            for i in range(0, n, TOGETHER):
                m = min(TOGETHER, n - i)
                _descend(deep.nodes, deep.root[tree], m, held[i : i + m], missing, at, going)
                own = raw[low + i : low + i + m]
                _collect(deep, tree, at, m, own, bought[i : i + m], spans)
        finish(raw, low, low + n, base, average, n_trees)
        if billed:
            _note_bills(bought, deep.columns, n, acquired, low)
