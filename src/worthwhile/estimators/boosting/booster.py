"""The parts of cost-aware boosting, usable without an estimator.

:class:`Booster` grows trees on gradients that the caller supplies, over the codes of a matrix
(``binned_data``), pays for what they test, and adds them to scores. Several ensembles may grow on one
booster and then share its purchases.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.boosting import leaves
from worthwhile.core.boosting.binning import Bins
from worthwhile.core.boosting.grower import Grower, Grown, Rules
from worthwhile.core.boosting.node_quantiles import node_quantiles
from worthwhile.core.boosting.node_rows import NodeRows
from worthwhile.core.boosting.purchases import Meetings, Purchases, RowPurchases
from worthwhile.core.boosting.rounding import (
    COARSE_BITS,
    CURVATURE_BITS,
    Rounded,
    Rounder,
    coarse_curvature,
    coarse_sum,
)
from worthwhile.core.boosting.shared_rows import SharedRows
from worthwhile.core.boosting.split_noise import NO_NOISE, Noise
from worthwhile.core.boosting.team_grower import TeamGrower
from worthwhile.core.code_sets import join_words
from worthwhile.core.dtypes import PACKED_ROWS, SUM
from worthwhile.core.threads import Threads
from worthwhile.core.trees import Trees, join_nodes
from worthwhile.costs import FlatCosts
from worthwhile.estimators.boosting.binned_data import BinnedData

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

LEAST_CURVATURE = 0.05
"""Curvature of a leaf for each of the rows it must have, where gains go by it: that of a row whose class has
probability 0.95. With 20 rows, that is a sum of 1, as in XGBoost; LightGBM counts rows by curvature, too."""

MIN_GAIN = 1e-12
"""A split must be worth more than this share of the sum of squared gradients."""


@dataclass(frozen=True)
class BoosterSettings:
    """How trees are grown and paid for; see :class:`worthwhile.GreedyMiserRegressor` for the meanings."""

    lam: float = 0.0
    lam_scale: str = "mean"
    learning_rate: float = 0.1
    max_depth: int = 3
    min_samples_leaf: int = 20
    penalty: str = "model"
    reuse_within_round: bool = True
    force_split: bool = False
    half: bool = True
    category_smooth: float = 10.0
    by_curvature: bool = False
    """Gains are those of Newton steps, where there is a curvature: rows count by it, not alike."""


@dataclass
class Tree:
    """One tree with real thresholds and values.

    Attributes
    ----------
    grown : Grown
        Its structure.
    value : float64 (nodes, width)
        Steps, learning rate included, of all nodes.
    route : Route
        The tree as tables over codes.
    output : int
        Score that a width-1 tree adds to.
    exponent : int
        Power of two by which gradients were multiplied.
    """

    grown: Grown
    value: Floats
    route: leaves.Route
    output: int = 0
    exponent: int = 0

    def gains(self, n_features: int) -> Floats:
        """What the splits on each feature (d,) take off the halved squared gradients of a row on average."""
        feature, total = np.array(self.grown.feature), np.array(self.grown.total, dtype=np.float64)
        inner = np.flatnonzero(feature >= 0)
        worth = (total[:, 1 : 1 + self.value.shape[1]] ** 2).sum(axis=1) / total[:, 0]
        left, right = (np.array(part)[inner] for part in (self.grown.left, self.grown.right))
        gain = (worth[left] + worth[right] - worth[inner]) / total[0, 0]
        sums = np.bincount(feature[inner], gain, n_features)
        return np.ldexp(sums, -2 * self.exponent - 1)

    def among(self, total: Floats) -> Floats:
        """The scores, out of those of all outputs (outputs, n), that it adds to."""
        return total if self.value.shape[1] > 1 else total[self.output : self.output + 1]


@dataclass
class Sample:
    """What a tree may see: some rows (ascending) and some features, None means all; and with what noise."""

    rows: npt.NDArray[np.int32] | None = None
    features: npt.NDArray[np.bool_] | None = field(default=None)
    noise: Noise = NO_NOISE


class Booster:
    """Grows trees on given gradients and pays for what they test.

    Parameters
    ----------
    data : BinnedData
        The rows.
    costs : FlatCosts
        The prices.
    settings : BoosterSettings
        How to grow.
    threads : Threads
        Who does the work; where others train along with these rows (its ``collective``), trees are
        those that all rows together give.
    track : bool
        Keep account of what each training row has met (always on with ``penalty="row"``).

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import Costs
    >>> from worthwhile.core.threads import Threads
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = np.sign(X[:, 1])
    >>> with Threads(1) as threads:
    ...     data = BinnedData.prepare(X, threads)
    ...     flat = Costs([1, 1, 1]).flat
    ...     booster = Booster(data, flat, BoosterSettings(learning_rate=1.0, max_depth=1), threads)
    ...     total = np.zeros((1, 200))
    ...     tree = booster.grow(y[None, :])
    ...     booster.add(tree, total)
    >>> booster.purchases.order, bool(np.allclose(total[0], y))
    ([1], True)
    """

    def __init__(
        self,
        data: BinnedData,
        costs: FlatCosts,
        settings: BoosterSettings,
        threads: Threads,
        *,
        track: bool = False,
    ) -> None:
        self.data, self.settings, self.threads = data, settings, threads
        self.n_rows = data.words.shape[1]
        self._everybody = threads.collective
        counts = [int(n[0]) for n in self._everybody.gather(np.array([self.n_rows]))]
        self.n_total, self.first_row = sum(counts), sum(counts[: self._everybody.rank])
        # A rank without rows has no weights either.
        self._weighted = bool(self._everybody.max(np.array([len(data.weight)]))[0])
        self.meetings = (
            Meetings(self.n_rows, costs, threads) if track or settings.penalty == "row" else None
        )
        self.purchases: Purchases = (
            RowPurchases(costs, self.meetings, data.weight)
            if settings.penalty == "row"
            else Purchases(costs, at_once=settings.reuse_within_round)
        )
        self._suits_team = self._everybody.size == 1 and TeamGrower.suits(
            self.n_rows, data.layout, self.purchases, settings.max_depth
        )
        self._rounders: dict[int, Rounder] = {}
        self._leaf: npt.NDArray[np.uint16] = np.empty(self.n_rows, dtype=leaves.LEAF)
        self._all = np.ones(len(costs.price), dtype=bool)

    @cached_property
    def _node_rows(self) -> NodeRows:
        kind = NodeRows if self._everybody.size == 1 else SharedRows
        rows: NodeRows = kind(self.data.words, self.data.layout, self.threads)
        return rows

    @cached_property
    def _grower(self) -> Grower:
        return Grower(self._node_rows, self.purchases)

    @cached_property
    def _team(self) -> TeamGrower:
        return TeamGrower(self.data.words, self.data.layout, self.purchases, self.threads)

    def grow(
        self,
        gradients: Floats | Rounded,
        sample: Sample | None = None,
        output: int = 0,
        curvature: Floats | None = None,
        factor: float = 1.0,
    ) -> Tree:
        """Grow one tree on negative gradients (width, n).

        With ``curvature`` of the same shape (or among what was rounded), leaf values are one Newton
        step (times ``factor``) instead of the mean.
        """
        sample = sample or Sample()
        if not isinstance(gradients, Rounded):
            gradients = self._round(gradients, curvature)
        allowed = self._all if sample.features is None else sample.features
        grown, route = self._grow(gradients, sample, allowed)
        if gradients.curvature is None:
            value = self._means(grown, gradients.exponent)
        else:
            value = self._newton_steps(grown, gradients, sample) * factor
        value = value * self.settings.learning_rate
        return Tree(grown, value, route, output, gradients.exponent)

    def _round(self, gradients: Floats, curvature: Floats | None = None) -> Rounded:
        width, n = gradients.shape
        rounder = self._rounders.setdefault(width, Rounder(width, n, self.threads))
        rounded: Rounded = rounder(gradients, curvature)
        return rounded

    def _grow(
        self, rounded: Rounded, sample: Sample, allowed: npt.NDArray[np.bool_]
    ) -> tuple[Grown, leaves.Route]:
        """Grow the tree and find the leaf of every row, the fast way where it can be had."""
        everywhere = sample.rows is None
        together = self._suits_team and self._is_packed(rounded)
        if together:
            total, squares = self._packed_sums(rounded, sample)
            rules = replace(self._rules(rounded.exponent, total, squares), noise=sample.noise)
            leaf = self._leaf if everywhere else None
            grown = self._team.grow(
                rounded.values[0], sample.rows, total, rules, allowed, leaf, rounded.small_curvature
            )
        else:
            pieces, total, squares = self._begin(rounded, sample)
            rules = self._rules(rounded.exponent, total, squares, len(rounded.values))
            rules = replace(rules, noise=sample.noise)
            grown = self._grower.grow(pieces, total, rules, allowed)
        route = leaves.Route(grown, self.data.layout)
        if not (everywhere and together):
            route.leaves(self.data.words, self.threads, self._leaf)
        return grown, route

    def _is_packed(self, rounded: Rounded) -> bool:
        """Whether counts and sums fit one number: one output, unit weights."""
        one = len(rounded.values) == 1
        return one and not self._weighted and self.n_total <= PACKED_ROWS

    def _is_curved(self, rounded: Rounded) -> bool:
        """Whether gains go by curvature."""
        known = rounded.curvature is not None and rounded.curvature_bits == CURVATURE_BITS
        return self.settings.by_curvature and known

    def _packed_sums(self, rounded: Rounded, sample: Sample) -> tuple[npt.NDArray[np.int64], float]:
        """Count and sum of the gradients of the sample (and of curvatures), and the sum of their squares."""
        second = rounded.small_curvature if self._is_curved(rounded) else None
        if sample.rows is None:
            more = [] if second is None else [coarse_sum(second)]
            return np.array([self.n_total, rounded.total[0], *more]), float(rounded.squares)
        chosen = rounded.values[0][sample.rows].astype(SUM)
        more = [] if second is None else [coarse_sum(second[sample.rows])]
        own = np.array([(chosen**2).sum(), len(chosen), chosen.sum(), *more])
        squares, *total = self._everybody.sum(own).tolist()
        return np.array(total), float(squares)

    def _begin(
        self, rounded: Rounded, sample: Sample
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], float]:
        """Begin a tree the general way: root pieces, totals, sum of squares."""
        curved = self._is_curved(rounded)
        if self._is_packed(rounded) and not curved:
            pieces = self._node_rows.begin(gradients=rounded.values[0], chosen=sample.rows)
            return pieces, *self._packed_sums(rounded, sample)
        values = rounded.values.T
        parts = [values, coarse_curvature(rounded.curvature).T] if curved else [values]
        outputs = values.shape[1]
        statistics = np.empty((len(values), 1 + len(parts) * outputs), dtype=SUM)
        statistics[:, 0] = self.data.weight if len(self.data.weight) else 1
        np.multiply(
            np.hstack(parts) if curved else values, statistics[:, :1], out=statistics[:, 1:]
        )
        pieces = self._node_rows.begin(
            statistics=statistics, chosen=sample.rows, outputs=outputs, weighted=self._weighted
        )
        rows = slice(None) if sample.rows is None else sample.rows
        chosen = statistics[rows]
        total: npt.NDArray[np.int64] = self._everybody.sum(chosen.sum(axis=0))
        if sample.rows is None and not self._weighted:
            return pieces, total, float(rounded.squares)
        return pieces, total, self._weighted_squares(values[rows], chosen[:, :1])

    def _weighted_squares(
        self, values: npt.NDArray[np.int32], weight: npt.NDArray[np.int64]
    ) -> float:
        """Sum of weighted squares: in two parts, neither of which can overflow, and rounded once."""
        squares = values.astype(SUM) ** 2
        parts = (squares >> 21) * weight, (squares & (2**21 - 1)) * weight
        high, low = self._everybody.sum_whole([sum(part.sum(axis=0).tolist()) for part in parts])
        return float((high << 21) + low)

    def _rules(
        self, exponent: int, total: npt.NDArray[np.int64], squares: float, n_outputs: int = 1
    ) -> Rules:
        """Translate the settings into the units of the rounded statistics."""
        settings, power = self.settings, self.data.power
        square = math.ldexp(1.0, -2 * exponent - power)
        weight = math.ldexp(float(total[0]), -power)
        # By curvature, gains are put on the scale of the others by its mean: where all rows have the
        # same, nothing is different, and a price means the same.
        curvature, bits, least = 1.0, 0, 0
        if len(total) > 1 + n_outputs:
            curvature, bits = float(total[1 + n_outputs :].mean()) / float(total[0]), COARSE_BITS
            enough = LEAST_CURVATURE * settings.min_samples_leaf
            least = math.ceil(math.ldexp(enough, power + COARSE_BITS))
        return Rules(
            max_depth=settings.max_depth,
            min_leaf=math.ceil(math.ldexp(settings.min_samples_leaf, power)),
            rate=settings.lam * (weight if settings.lam_scale == "mean" else 1.0),
            unit=square * (0.5 if settings.half else 1.0) * curvature,
            floor=-math.inf if settings.force_split else MIN_GAIN * squares * square,
            smooth=math.ldexp(settings.category_smooth, power + bits),
            least=least,
        )

    def _means(self, grown: Grown, exponent: int) -> Floats:
        """Mean gradient of every node, (nodes, width)."""
        total = np.array(grown.total).astype(np.float64)
        means: Floats = np.ldexp(total[:, 1:] / total[:, :1], -exponent)
        return means

    def _newton_steps(self, grown: Grown, rounded: Rounded, sample: Sample) -> Floats:
        """Gradient sum over curvature sum of every node; 0 where there is no curvature.

        A leaf of one output has the curvature that a leaf must have. One of several may have next to none in
        some of them: a class that nobody expected there. Its step is then no longer than a leaf's may be.
        """
        if grown.hessians is not None:
            below = np.ldexp(grown.hessians[:, None].astype(np.float64), -CURVATURE_BITS)
        else:
            below = leaves.curvature_sums(
                self._leaf, sample.rows, rounded.curvature, rounded.curvature_bits, self.data.weight,
                len(grown.feature), self.threads,
            )  # fmt: skip
        for node in range(len(grown.feature) - 1, -1, -1):
            if grown.feature[node] >= 0:
                below[node] = below[grown.left[node]] + below[grown.right[node]]
        above = np.array(grown.total).astype(np.float64)[:, 1 : 1 + below.shape[1]]
        if below.shape[1] > 1:
            enough = LEAST_CURVATURE * self.settings.min_samples_leaf
            below = np.maximum(below, math.ldexp(enough, self.data.power))
        steps = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
        # Gradients and curvature carry the same power of two of the weights.
        return np.ldexp(steps, -rounded.exponent)

    def refit(self, tree: Tree, sample: Sample, lacking: Floats, share: float) -> None:
        """Give the nodes of a tree just grown a quantile of what the scores of their rows lack, (n,)."""
        rows = slice(None) if sample.rows is None else sample.rows
        children = np.stack([tree.grown.left, tree.grown.right], axis=1)
        weight = self.data.weight[rows] if len(self.data.weight) else self.data.weight
        found = node_quantiles(
            lacking[rows], weight, self._leaf[rows], children, share, self._everybody
        )
        tree.value = (found * self.settings.learning_rate)[:, None]

    def place(self, tree: Tree) -> leaves.Step:
        """Let all training rows pay for a tree just grown; return what it adds to their scores."""
        return self._pay(tree, self._leaf, self.meetings)

    def add(self, tree: Tree, total: Floats) -> None:
        """Add a tree just grown to the scores (outputs, n) of all training rows, and let them pay."""
        self.place(tree).add(tree.among(total), self.threads)

    def replay(self, told: tuple[Grown, Floats, int, int], total: Floats) -> Tree:
        """A tree that was grown before, added to the scores (outputs, n) as if it were just grown.

        ``told``: its structure, values, output and exponent.
        """
        grown, value, output, exponent = told
        tree = Tree(grown, value, leaves.Route(grown, self.data.layout), output, exponent)
        tree.route.leaves(self.data.words, self.threads, self._leaf)
        self.add(tree, total)
        return tree

    def follow(
        self, tree: Tree, words: npt.NDArray[np.uint64], total: Floats, meetings: Meetings | None
    ) -> None:
        """Add a tree to the scores of rows it was not grown on, and let them pay."""
        step = self._pay(tree, tree.route.leaves(words, self.threads), meetings)
        step.add(tree.among(total), self.threads)

    def _pay(
        self, tree: Tree, leaf: npt.NDArray[np.uint16], meetings: Meetings | None
    ) -> leaves.Step:
        if meetings is not None:
            meetings.meet(leaf, tree.route.paths)
        return leaves.Step(leaf, np.ascontiguousarray(tree.value.T))

    def root_gains(self, gradients: Floats) -> Floats:
        """Best gain of every feature at the root, (d,); -inf where there is no split."""
        rounded = self._round(gradients)
        pieces, total, squares = self._begin(rounded, Sample())
        rules = self._rules(rounded.exponent, total, squares, len(rounded.values))
        gains: Floats = self._grower.root_gains(pieces, total, rules, self._all) * rules.unit
        return gains


def assemble(trees: Sequence[Tree], bins: Bins, base: Floats, width: int) -> Trees:
    """Put trees one after the other into the flat arrays that walks read."""
    if not trees:
        return Trees.none(base, width)
    names = ("feature", "cut", "left", "right")
    nodes, root = join_nodes(
        [
            {name: np.array(getattr(tree.grown, name)) for name in names} | {"value": tree.value}
            for tree in trees
        ]
    )
    cut = nodes["cut"]
    inner = cut >= 0
    threshold = np.zeros(len(cut))
    threshold[inner] = [
        bins.threshold(f, c >> 1)
        for f, c in zip(nodes["feature"][inner].tolist(), cut[inner].tolist(), strict=True)
    ]
    words = [own for tree in trees for own in tree.grown.words]
    category = np.array([own is not None for own in words])
    threshold[category], sets = join_words(
        [own.view(np.uint64) for own in words if own is not None]
    )
    return Trees.build(
        feature=nodes["feature"],
        threshold=threshold,
        left=nodes["left"],
        right=nodes["right"],
        value=nodes["value"],
        missing_left=inner & (cut & 1 == 1),
        root=root,
        output=[tree.output for tree in trees],
        base=base,
        category=category,
        sets=sets,
    )
