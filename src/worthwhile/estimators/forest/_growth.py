"""Growing the trees of a budgeted forest, in the way of the paper or in another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.collective import Collective, sharing
from worthwhile.core.forest.class_data import prepare
from worthwhile.core.forest.draws import PAPER, SCAN
from worthwhile.core.forest.greedy_tree import ClassTree, GreedyTree, Prices
from worthwhile.core.threads import Threads
from worthwhile.costs import FlatCosts
from worthwhile.estimators.forest._impurity import make_impurity

Floats = npt.NDArray[np.float64]

FEWER = (20, 10, 5)
"""Random thresholds where all trees see the same rows: fewer make the trees differ more."""

MOST_THRESHOLDS = 1000

UNLIMITED = 2**31 - 1

FINE = 10**9
"""Units that the dearest price is divided into where prices are raised to a power."""

NEARLY_FREE = 1e-6
"""What counts for nothing among prices raised to a power: with less power it counts for more."""


@dataclass(frozen=True, eq=False)
class ForestRows:
    """Training and validation rows."""

    X: Any
    codes: npt.NDArray[np.intp]
    weight: Floats
    X_valid: Any
    codes_valid: npt.NDArray[np.intp]

    @property
    def held_out(self) -> bool:
        """Whether the validation rows are others than those that train."""
        return self.X_valid is not self.X


@dataclass(frozen=True)
class Way:
    """How splits are judged, and whether trees see bootstrap samples."""

    criterion: str
    bootstrap: bool


def ways_of(criterion: str, bootstrap: bool | str, impurity: Any, *, decide: bool) -> list[Way]:
    """The ways to try for settings that may be "auto"; the paper's alone where nothing can decide."""
    plain = impurity in ("entropy", "gini") if isinstance(impurity, str) else False
    paper = Way("expected" if plain else "minimax", True)
    if criterion == "auto" and bootstrap == "auto":
        ways = [Way("expected", False), paper]
    else:
        criteria = ["expected", paper.criterion] if criterion == "auto" else [criterion]
        samples = [False, True] if bootstrap == "auto" else [bool(bootstrap)]
        ways = [Way(judged, sampled) for judged in criteria for sampled in samples]
    return list(dict.fromkeys(ways)) if decide else ways[-1:]


def read_thresholds(n_thresholds: Any) -> tuple[int, int, int] | None:
    """Random thresholds of large, middle and small nodes; None for "auto"."""
    if isinstance(n_thresholds, str):
        return None
    given = np.asarray(n_thresholds)
    whole = given.dtype.kind in "iu" and given.shape in ((), (3,))
    if not whole or not ((given >= 1) & (given <= MOST_THRESHOLDS)).all():
        raise ValueError(
            f"n_thresholds is {n_thresholds!r}: give 'auto', a whole number from 1 to {MOST_THRESHOLDS}, or three of "
            "them, for nodes of more than 2000, more than 500, and fewer rows."
        )
    large, middle, small = np.broadcast_to(given, 3).tolist()
    return large, middle, small


class Growth:
    """Grows trees on one set of rows.

    Parameters
    ----------
    settings : dict
        Parameters of the estimator.
    rows : ForestRows
        The rows.
    flat : FlatCosts
        The prices.
    n_classes : int
        Number of classes.
    threads : Threads
        Who does the work.
    """

    def __init__(
        self,
        settings: dict[str, Any],
        rows: ForestRows,
        flat: FlatCosts,
        n_classes: int,
        threads: Threads,
    ) -> None:
        self.settings, self.rows, self.n_classes, self.threads = settings, rows, n_classes, threads
        power = float(settings["price_power"])
        self._prices = _prices(softened(flat, power), settings["free_on_path"])
        self._codes = rows.codes.astype(np.int32)
        self._data = prepare(rows.X, settings["thresholds"], threads, _whole(rows.weight))

    @property
    def single(self) -> bool:
        """Whether values were rounded to float32."""
        return bool(self._data.single)

    def grow(self, alpha: float, way: Way, seeds: Sequence[Any]) -> list[ClassTree]:
        """One tree per seed; which thread, or which of the ranks that share the work, grows which does not matter."""
        settings, k = self.settings, self.n_classes
        draws = SCAN
        if settings["thresholds"] == "random":
            draws = read_thresholds(settings["n_thresholds"]) or (PAPER if way.bootstrap else FEWER)
        depth = settings["max_depth"]
        grower = GreedyTree(
            self._data, self._codes, k,
            make_impurity(settings["impurity"], alpha, float(settings["power"]), way.criterion, k),
            draws, self._prices, UNLIMITED if depth is None else depth,
        )  # fmt: skip
        everybody = sharing()
        own = seeds[everybody.rank :: everybody.size]
        grown: list[Any] = [None] * len(own)

        def work(tree: int) -> None:
            weight = self._sample(own[tree]) if way.bootstrap else self.rows.weight
            grown[tree] = grower.grow(weight, own[tree])

        self.threads.run(len(own), work)
        return grown if everybody.size == 1 else _told(grown, everybody)

    def _sample(self, seed: Any) -> Floats:
        """Weights of the rows in a bootstrap sample."""
        n = len(self._codes)
        drawn = np.random.default_rng(int(seed)).integers(n, size=n)
        weight: Floats = self.rows.weight * np.bincount(drawn, minlength=n)
        return weight if (weight > 0).any() else self.rows.weight


def _told(grown: list[ClassTree], everybody: Collective) -> list[ClassTree]:
    """The trees of all ranks, in the order of their seeds: rank r grew every size-th from the r-th on."""
    sizes = everybody.gather(np.array([len(tree.feature) for tree in grown], dtype=np.int64))
    trees: list[dict[str, Any]] = [{} for _ in range(sum(map(len, sizes)))]
    for field in fields(ClassTree):
        own = [getattr(tree, field.name) for tree in grown]
        told = everybody.gather(np.concatenate(own) if own else np.empty(0))
        for rank, (counts, values) in enumerate(zip(sizes, told, strict=True)):
            parts = np.split(values, np.cumsum(counts)[:-1]) if len(counts) else []
            for place, part in enumerate(parts):
                trees[rank + place * everybody.size][field.name] = part
    return [ClassTree(**tree) for tree in trees]


def softened(flat: FlatCosts, power: float) -> FlatCosts:
    """Prices and fees to a power, in units of the dearest purchase; 0 makes all features the same."""
    if power == 1.0:
        return flat
    dearest = max(int(flat.alone.max(initial=0)), 1)

    def raised(amounts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        shares = np.maximum(amounts / dearest, NEARLY_FREE) ** power
        return np.maximum(np.rint(shares * FINE), 1).astype(np.int64)

    if power == 0.0:
        return flat._replace(price=np.ones_like(flat.price), fee=np.zeros_like(flat.fee))
    fee = np.where(flat.fee > 0, raised(flat.fee), 0)
    # Where there is a fee, a feature without a price of its own stays without.
    price = np.where((flat.price == 0) & (flat.alone > 0), 0, raised(flat.price))
    return flat._replace(price=price, fee=fee)


def _prices(flat: FlatCosts, free_on_path: bool) -> Prices:
    """Prices in the smallest unit that divides all of them: scaling all prices changes nothing."""
    unit = math.gcd(*flat.price.tolist(), *flat.fee.tolist()) or 1
    return Prices(flat.price // unit, flat.begin, flat.opens, flat.fee // unit, free_on_path)


def _whole(weight: Floats) -> npt.NDArray[np.int64] | None:
    """Weights as whole numbers for the bins; None where all are the same."""
    if (weight == weight[0]).all():
        return None
    return np.rint(np.ldexp(weight, 20 - math.frexp(float(weight.max()))[1])).astype(np.int64)
