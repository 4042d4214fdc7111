"""The noise of splits by the book: a place of a normal distribution by splitmix64, in whole numbers of Python."""

from __future__ import annotations

import math
from statistics import NormalDist


def mixed(number):
    """One step of splitmix64."""
    z = number * 0x9E3779B97F4A7C15 % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return z ^ z >> 31


def hashed(*names):
    """What names are together, in this order."""
    key = 0
    for name in names:
        key = mixed((key + name + 1) % 2**64)
    return key


def factor(level, *names):
    """exp(level z), to the nearest multiple of 2**-20 that is not 0; ``names``: seed ..., node, feature."""
    z = NormalDist().inv_cdf((hashed(*names) % 1024 + 0.5) / 1024)
    return max(1, round(math.exp(level * z) * 2**20)) / 2**20
