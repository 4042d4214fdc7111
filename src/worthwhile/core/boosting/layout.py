"""Where features lie in the code matrix.

Codes lie in blocks of eight columns, row by row: the eight codes of a row form one 64-bit word.
Features with few states share a column (the code is a mixed-radix number): one histogram update
then serves several features, and their own histograms are sums over the shared one. Two-valued
features of which no row has two at once, as where a category was spread over columns, share even
one digit of it, which tells which of them is up. Features with a single state take no column.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from worthwhile.core.dtypes import BLOCK, CODES, SET_WORDS

TILE = 4096
"""Rows that are looked at together: they stay in cache."""

TRIED = 1 << 20
"""Values by which features that may share a digit are found, before all rows are asked."""

LATEST = 8
"""Groups that a feature may join: columns of one category mostly lie side by side."""

FEATURE, STRIDE, STATES, BINS, UP, CATEGORY = range(6)
"""Columns of ``Layout.members``: the feature, its digit (stride and states), its bins, where it shares
the digit, the value of the digit that means its upper bin (0: the digit is its own), and, where its bins
are categories, its number among such features, from 1 on (0: they are values in order)."""

NO_SET = (0,) * SET_WORDS


@dataclass(frozen=True, eq=False)
class Layout:
    """Where each feature's codes are.

    Attributes
    ----------
    members : int32 (k, 6)
        One row per feature that can be split on, sorted by column: FEATURE, STRIDE, STATES, BINS, UP,
        CATEGORY.
        A state >= BINS of a digit of its own means missing.
    offsets : int32 (columns + 1,)
        Members of column c are rows offsets[c] .. offsets[c + 1] - 1. Columns fill whole blocks.
    place : int32 (d,)
        Row of each feature in ``members``; -1 for features with a single state.
    columns : list of int
        Column of each row of ``members``.
    """

    members: np.ndarray
    offsets: np.ndarray
    place: np.ndarray
    columns: list[int]

    @property
    def n_blocks(self):
        """Number of blocks of eight columns."""
        return (len(self.offsets) - 1) // BLOCK

    def column(self, feature):
        """Column that holds a feature."""
        return self.columns[self.place[feature]]

    @cached_property
    def n_categories(self):
        """Number of features whose bins are categories."""
        return int(self.members[:, CATEGORY].max(initial=0))

    def category(self, feature):
        """Number of a feature among those whose bins are categories, from 1 on; 0 for others."""
        return int(self.members[self.place[feature], CATEGORY])

    def split(self, feature, cut, words=None):
        """A split as kernels take it, see :mod:`worthwhile.core.boosting.partition`; any row for a leaf (-1)."""
        words = NO_SET if words is None else words
        if feature < 0:
            return (0, 0, 1, 1, 1, 0, 0, 0, *words)
        column = self.column(feature)
        return (
            column // BLOCK, column % BLOCK, *self.members[self.place[feature], 1:].tolist(), cut, *words,
        )  # fmt: skip

    @classmethod
    def plan(cls, bins, exclusive=()):
        """Give each feature a place; few states share columns, first come first served.

        ``exclusive``: lists of features that share a digit, see :func:`find_exclusive`.
        """
        columns: list[list[tuple[int, ...]]] = []
        number = bins.category * np.cumsum(bins.category)
        room: dict[int, int] = {}  # shared columns that are not full: column -> states so far
        for features, states in _digits(bins, exclusive):
            column = next((c for c, used in room.items() if used * states <= CODES), None)
            if states * 2 > CODES or column is None:
                column = len(columns)
                columns.append([])
                room[column] = 1
            alone = len(features) == 1
            columns[column] += [
                (
                    feature, room[column], states, int(bins.count[feature]), 0 if alone else k + 1,
                    int(number[feature]),
                )
                for k, feature in enumerate(features)
            ]  # fmt: skip
            room[column] *= states
            if room[column] * 2 > CODES:
                del room[column]
        while len(columns) % BLOCK or not columns:
            columns.append([])
        members = np.array([row for column in columns for row in column], dtype=np.int32)
        members = members.reshape(-1, 6)
        place = np.full(len(bins.count), -1, dtype=np.int32)
        place[members[:, FEATURE]] = np.arange(len(members))
        offsets = np.cumsum([0, *map(len, columns)]).astype(np.int32)
        numbers = [number for number, column in enumerate(columns) for _ in column]
        return cls(members=members, offsets=offsets, place=place, columns=numbers)


def _digits(bins, exclusive):
    """Pairs (features, states) of every digit, in the order of first features."""
    shared = {feature: together for together in exclusive for feature in together}
    for feature, (count, missing) in enumerate(zip(bins.count, bins.missing, strict=True)):
        states = int(count) + int(missing)
        together = shared.get(feature, [feature])
        if states >= 2 and feature == together[0]:
            yield together, states if len(together) == 1 else len(together) + 1


def runs_of(features):
    """Triples (place, feature, count) of the runs of adjacent numbers in an ascending list."""
    runs: list[list[int]] = []
    for place, feature in enumerate(features):
        if runs and feature == runs[-1][1] + runs[-1][2]:
            runs[-1][2] += 1
        else:
            runs.append([place, feature, 1])
    return runs


def find_exclusive(matrices, bins, threads):
    """Lists of two-valued features of which no row of the matrices (n, d) has two in the upper bin.

    The rows of all ranks count, one rank after the other.
    """
    two = np.flatnonzero((bins.count == 2) & ~bins.missing & ~bins.category)
    sizes = [int(n[0]) for n in threads.collective.gather(np.array([len(matrices[0])]))]
    step = max(1, sum(sizes) * len(two) // TRIED)
    first = -sum(sizes[: threads.collective.rank]) % step
    some = matrices[0][first::step, two].T
    up = threads.collective.gather(some > bins.thresholds[two, :1])
    together = _seldom_both(np.concatenate(up, axis=1))
    proposed = [two[group].tolist() for group in together if len(group) > 1]
    kept = [True] * len(proposed)
    cuts = bins.thresholds[:, 0]

    def check(X):
        def work(tile):
            rows = X[tile * TILE : (tile + 1) * TILE]
            for k, features in enumerate(proposed):
                kept[k] = kept[k] and _never_both(rows, features, cuts)

        threads.run(-(-len(X) // TILE), work)

    for X in matrices if proposed else []:
        check(X)
    broken = threads.collective.max(~np.array(kept, dtype=bool))
    return [features for features, gone in zip(proposed, broken, strict=True) if not gone]


def _never_both(rows, features, cuts):
    """Whether no row has two of the features above their cuts (d,)."""
    up = np.zeros(len(rows), dtype=np.uint8)
    for _, first, count in runs_of(features):
        part = slice(first, first + count)
        # Three times faster than sum(axis=1), which is slow on short rows.
        up += np.einsum("ij->i", (rows[:, part] > cuts[part]).view(np.uint8))
    return bool(up.max() <= 1)


def _seldom_both(up):
    """Groups of rows of a boolean matrix of which no two have a column in common."""
    groups: list[list[int]] = []
    taken: list[np.ndarray] = []
    for number, own in enumerate(up):
        for k in reversed(range(max(0, len(groups) - LATEST), len(groups))):
            if len(groups[k]) + 1 < CODES and not (taken[k] & own).any():
                groups[k].append(number)
                taken[k] |= own
                break
        else:
            groups.append([number])
            taken.append(own.copy())
    return groups
