"""Forests on sets of columns of one table of codes, with their answers for rows they did not see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from worthwhile.core import trees as ensembles
from worthwhile.core.boosting.binning import Bins, encode, find_bins
from worthwhile.core.forest.bagged_trees import Kind, Rows, grow
from worthwhile.core.forest.node_means import fill_means
from worthwhile.core.threads import Threads

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

FREE_ROWS, FREE_OF_WIDE = 0.5, 0.25
"""Share of the rows that a tree does not see, and votes on; of one with random cuts on many columns, which makes more
of rows."""

MORE_TREES = 1.25
"""So many times more trees there: fewer of them vote on a row."""

WIDE = 8
"""Columns that are many. With fewer, how sure votes are decides who goes on, and that takes votes."""

ROWS_PER_COLUMN = 1500
"""A tree on few columns needs no more rows than so many for each, and for one more."""

LARGEST = float(np.finfo(np.float64).max)


class Trees(NamedTuple):
    """What the kernel gives back, thresholds in place of codes."""

    feature: Array
    threshold: Floats
    child: Array
    root: Array
    start: Array
    held: Array
    share: Array


@dataclass(frozen=True)
class Style:
    """How a forest grows: rows of a leaf, whether cuts are random, columns tried (0: the root of all)."""

    min_leaf: int
    random: bool
    all_tried: bool

    def size(self, n_trees: int, n_rows: int, most_rows: int, wide: bool) -> tuple[int, int]:
        """Trees of a forest that is to have about ``n_trees``, and rows that each of them sees."""
        if not (self.random and wide):
            return n_trees, sample_size(n_rows, most_rows)
        return round(MORE_TREES * n_trees), sample_size(n_rows, most_rows, FREE_OF_WIDE)


STYLES = (
    Style(20, False, True),
    Style(5, False, False),
    Style(3, True, True),
    Style(1, True, True),
    Style(1, True, False),
)
"""One or two columns want large leaves, many want random cuts."""


def styles_for(n_columns: int) -> tuple[Style, ...]:
    """Kinds worth trying for so many columns."""
    if n_columns <= 1:
        return STYLES[:2]
    return STYLES[:4] if n_columns <= 3 else STYLES[1:]


SEARCHING = Style(5, False, False)
"""Of the forests that say what a purchase adds."""


class Table:
    """Training rows as codes, and what is to be predicted.

    Parameters
    ----------
    X : float64 (n, d)
    slot : int (n,)
        Class of each row; zeros for numbers.
    target : float64 (n,), optional
        Numbers to predict; None for classes.
    weight : float64 (n,)
        Weights of the rows.
    n_outputs : int
        Classes, or 1.

    Attributes
    ----------
    n_pool : int
        Rows to learn from, which come first; the others are held out, and answered by every tree.
    """

    def __init__(
        self, X: Floats, slot: Array, target: Floats | None, weight: Floats, n_outputs: int,
        threads: Threads,
    ) -> None:  # fmt: skip
        self.bins: Bins = find_bins(X, np.empty(0, dtype=np.int64), threads)
        self.codes = np.zeros((X.shape[1], len(X)), dtype=np.uint8)

        def encoded(f: int) -> None:
            # A view may be read-only, for which a kernel would be compiled anew.
            values, missing = np.array(X[:, f]), int(self.bins.count[f])
            encode(values, self.bins.thresholds[f], missing, 1, self.codes[f])

        threads.run(X.shape[1], encoded)
        self.missing = np.where(self.bins.missing, self.bins.count, -1)
        self.slot = np.ascontiguousarray(slot, dtype=np.int32)
        self.weight, self.n_outputs = weight, n_outputs
        self.centre, self.amount = np.array([0.0, 1.0]), weight
        if target is not None:
            # Trees see numbers around 0 of a usual size, so that their leaves fit float32.
            mean = float(np.average(target, weights=weight))
            self.centre = np.array([mean, max(float(np.abs(target - mean).max()), 1e-300)])
            self.amount = weight * ((target - mean) / self.centre[1])
        self.n_pool = len(self.slot)
        self.prior = self._prior()

    def _prior(self) -> Floats:
        """The answer to a row of which nothing is known."""
        pool = slice(self.n_pool)
        sums = np.bincount(self.slot[pool], self.amount[pool], self.n_outputs)
        return self.absolute(sums / self.weight[pool].sum())

    def absolute(self, votes: Floats) -> Floats:
        """Votes of trees as answers."""
        if self.n_outputs > 1:
            return votes
        return votes * self.centre[1] + self.centre[0]

    @property
    def n_rows(self) -> int:
        """Training rows."""
        return len(self.slot)

    def part(self, rows: Array) -> Table:
        """Some of the rows, those to learn from first."""
        part = object.__new__(Table)
        part.__dict__.update(self.__dict__)
        part.codes = np.ascontiguousarray(self.codes[:, rows])
        part.slot, part.weight, part.amount = self.slot[rows], self.weight[rows], self.amount[rows]
        part.n_pool = int((rows < self.n_pool).sum())
        return part

    def holding_out(self, rows: Array, n_pool: int) -> Table:
        """All of these rows, of which the first ``n_pool`` may be learnt from."""
        part = self.part(rows)
        part.n_pool = n_pool
        part.prior = part._prior()
        return part

    def targets(self) -> Floats:
        """What trees are to answer, (n, outputs)."""
        if self.n_outputs > 1:
            return np.eye(self.n_outputs)[self.slot]
        return np.ascontiguousarray((self.amount / self.weight)[:, None])

    def rows(self) -> Any:
        """The rows as kernels take them."""
        return Rows(self.codes, self.missing, self.slot, self.amount, self.weight)

    def thresholds(self, feature: Array, cut: Array) -> Floats:
        """What values are compared with, for columns and last codes on the left."""
        count = self.bins.count[feature]
        found = self.bins.thresholds[feature, np.clip(cut, 0, 254)]
        found = np.where(cut >= count - 1, LARGEST, found)
        return np.where(cut < 0, -LARGEST, found)

    def forest(
        self, columns: Sequence[int], style: Style, n_trees: int, n_sample: int, seed: int
    ) -> tuple[Trees, Floats]:
        """A forest on some columns, and the votes for each row of the trees that did not see it."""
        (feature, cut, *rest), votes = self._grow(columns, style, n_trees, n_sample, seed)
        return Trees(feature, self.cut_at(feature, cut), *rest), votes

    def cut_at(self, feature: Array, cut: Array) -> Floats:
        """Thresholds of the nodes of trees, 0 at leaves."""
        inner = feature >= 0
        threshold = np.zeros(len(feature))
        threshold[inner] = self.thresholds(feature[inner] >> 1, cut[inner])
        return threshold

    def votes(
        self, columns: Sequence[int], style: Style, n_trees: int, n_sample: int, seed: int
    ) -> Floats:
        """The votes alone."""
        return self._grow(columns, style, n_trees, n_sample, seed)[1]

    def ensemble(
        self, columns: Sequence[int], style: Style, n_trees: int, n_sample: int, seed: int
    ) -> tuple[ensembles.Trees, Floats]:
        """As :meth:`forest`, with trees that have an answer at every node. For classes."""
        grown, votes = self._grow(columns, style, n_trees, n_sample, seed)
        feature, cut, child, root, *_ = grown
        value = np.zeros((len(feature), self.n_outputs))
        fill_means(self.rows(), *grown, np.zeros(len(feature)), value)
        inner = feature >= 0
        made = ensembles.Trees.build(
            np.where(inner, feature >> 1, -1), self.cut_at(feature, cut), np.where(inner, child, -1),
            np.where(inner, child + 1, -1), value, root, self.prior,
            missing_left=inner & (feature & 1 == 1), average=True,
        )  # fmt: skip
        return made, votes

    def _grow(
        self, columns: Sequence[int], style: Style, n_trees: int, n_sample: int, seed: int
    ) -> tuple[Any, Floats]:
        m = len(columns)
        tried = m if style.all_tried else max(1, round(m**0.5))
        kind = Kind(
            self.n_outputs, n_trees, self.n_pool, n_sample, tried,
            min(style.min_leaf, max(1, n_sample // 4)), style.random, np.uint64(seed),
        )  # fmt: skip
        votes = np.zeros((self.n_rows, self.n_outputs))
        asked = np.zeros(self.n_rows, dtype=np.int32)
        trees = grow(self.rows(), kind, np.array(columns, dtype=np.int32), votes, asked)
        votes = self.absolute(votes / np.maximum(asked, 1)[:, None])
        votes[asked == 0] = self.prior
        return trees, votes


def sample_size(n_rows: int, most: int, free: float = FREE_ROWS) -> int:
    """Rows that a tree sees."""
    return max(2, min(round((1 - free) * n_rows), most)) if n_rows > 2 else n_rows
