"""Noise in what splits seem worth, so that trees do not all follow the same accidents of few rows.

Every feature has a factor of its own at every node of every tree. It comes from a table, at a place that is a
hash of what the tree, the node and the feature are called: neither rows nor threads nor ranks can change it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np

from worthwhile.core.compile import kernel

PLACES = 1024
"""Factors in a table, a power of two."""

_GRAIN = 20
"""Binary places of a factor: machines whose exponentials differ in the last bit have the same ones."""

_U = np.uint64
_LAST = _U(PLACES - 1)
_MASK = (1 << 64) - 1


@dataclass(frozen=True, eq=False)
class Noise:
    """The noise of one tree: its key (uint64), and the factors (empty: no noise)."""

    key: np.uint64
    table: np.ndarray


NO_NOISE = Noise(_U(0), np.empty(0))


@cache
def _table(level):
    """Factors exp(``level`` z) for normal z: those of as many equal parts of its distribution."""
    parts = (np.arange(PLACES) + 0.5) / PLACES
    z = np.array([NormalDist().inv_cdf(float(part)) for part in parts])
    factors = np.round(np.ldexp(np.exp(level * z), _GRAIN))
    return np.ldexp(np.maximum(factors, 1.0), -_GRAIN)


def noise_of(level, *names):
    """The noise of a tree that whole numbers (seed, round, output) name."""
    if level == 0:
        return NO_NOISE
    key = 0
    for name in names:
        key = int(_mixed(_U((key + int(name) + 1) & _MASK)))
    return Noise(_U(key), _table(float(level)))


@kernel("uint64(uint64)", lean=True)
def _mixed(number):
    """A number of 64 bits that tells nothing of this one (splitmix64)."""
    z = number * _U(0x9E3779B97F4A7C15)
    z = (z ^ (z >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> _U(27))) * _U(0x94D049BB133111EB)
    return z ^ (z >> _U(31))


@kernel("void(uint64, float64[::1], int64, float64[::1])", lean=True)
def draw_factors(key, table, node, out):
    """Factors of all features (d,) at a node."""
    start = _mixed(key + _U(node) + _U(1))
    for feature in range(out.shape[0]):
        out[feature] = table[np.int64(_mixed(start + _U(feature) + _U(1)) & _LAST)]
