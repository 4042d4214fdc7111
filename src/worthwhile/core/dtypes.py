"""Every dtype that crosses the line between Python and compiled code, declared once, with its reason."""

from __future__ import annotations

import numpy as np

CODE = np.uint8
"""A bin code: at most 255 value bins and one for missing values."""

WORD = np.uint64
"""Eight codes of one row side by side: one load feeds eight histogram updates."""

ROW = np.int32
"""A row number: half the memory traffic of int64, and 2**31 rows are enough."""

GRADIENT = np.int32
"""A rounded gradient, at most ``2**GRADIENT_BITS`` in size."""

SUM = np.int64
"""Sums of rounded gradients and weights: integers, so that the order of adding never matters."""

GRADIENT_BITS = 21
"""Rounded gradients lie in [-2**21, 2**21]: rounding moves one by at most 2.4e-7 of the largest."""

COUNT_BITS = 21
"""Low bits of a packed sum that hold the row count; the rest hold the gradient sum.

A gradient sum over 2**21 rows needs 21 + 21 bits and a sign, which leaves exactly 21 for the count.
"""

PACKED_ROWS = 2**COUNT_BITS - 1
"""Largest number of rows for which the packed layout cannot overflow."""

WEIGHT_BITS = 20
"""Rounded sample weights are at most 2**20, so that integer weights up to a million stay exact."""

MAX_BINS = 255
"""Value bins of a feature; one more code is kept for missing values."""

SET_WORDS = 4
"""Words of 64 bits that hold a set of categories: one bit per value bin."""

BLOCK = 8
"""Columns in one block of the code matrix: their packed histograms fill half a 32 KB cache."""

CODES = 256
"""Codes of one column, hence the length of its histogram."""

QUANTUM = 1e-9
"""One quantum of money in the user's unit."""

SHIFT = 6755399441055744.0
"""1.5 * 2**52: added to a number, it leaves the nearest whole one in the low bits, in vectors too."""

SHIFT_BITS = np.int64(0x4338000000000000)
"""The bits of :data:`SHIFT`."""
