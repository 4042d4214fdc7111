"""Random thresholds, how many a node has, and where they fall; random rows and columns."""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel

SMALL = 500
"""Rows up to which a node has the fewest stumps, and is left to :mod:`worthwhile.core.forest.subtrees`."""

LARGE = 2000
"""Rows from which on a node has the most stumps."""

PAPER = (80, 40, 20)
"""Random stumps per feature in large, middle and small nodes (section 3 of the paper)."""

SCAN = (0, 0, 0)
"""No random stumps: all thresholds."""

_U = np.uint64


@kernel(lean=True)
def n_stumps(n_rows, draws):
    """Number of random stumps of a feature in a node; ``draws``: in large, middle and small ones."""
    if n_rows > LARGE:
        return draws[0]
    return draws[1] if n_rows > SMALL else draws[2]


@kernel(lean=True)
def scans(draws):
    """Whether all thresholds are looked at."""
    return draws[0] == 0


@kernel(lean=True)
def stream(seed, node, feature):
    """Key of the random numbers of one feature at one node: they depend on nothing else."""
    key = seed + _U(node) * _U(0x9E3779B97F4A7C15) + _U(feature) * _U(0xD1B54A32D192ED03)
    return key ^ (key >> _U(29))


@kernel(lean=True)
def uniform(key, draw):
    """Random number ``draw`` of a stream, in (0, 1) (splitmix64)."""
    z = key + _U(draw + 1) * _U(0x9E3779B97F4A7C15)
    z = (z ^ (z >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> _U(27))) * _U(0x94D049BB133111EB)
    z = z ^ (z >> _U(31))
    return (np.float64(z >> _U(11)) + 0.5) * 2.0**-53


@kernel(lean=True)
def between(low, high, share):
    """A number in [low, high), at a share of the way."""
    found = low + (high - low) * share
    if not found < high:
        found = low
    return found


@kernel(lean=True)
def next_bits(state):
    """Next random 64 bits (splitmix64)."""
    state[0] += _U(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> _U(27))) * _U(0x94D049BB133111EB)
    return z ^ (z >> _U(31))


@kernel(lean=True)
def draw_below(state, count):
    """A random whole number in 0..count-1."""
    return np.int64((next_bits(state) >> _U(33)) % _U(count))


@kernel(lean=True)
def draw_first(state, rows, n_sample):
    """Bring a random sample to the front of ``rows``."""
    for i in range(n_sample):
        j = i + draw_below(state, rows.shape[0] - i)
        rows[i], rows[j] = rows[j], rows[i]
