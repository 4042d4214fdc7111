"""Trade-offs that cover the range of bills: values of a parameter found by bisection on the mean bill."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, indexable

from worthwhile.costs import as_floats
from worthwhile.exceptions import WorthwhileWarning
from worthwhile.policy.base import Policy

GAP = 0.2
"""Neighbouring bills differ by at most this share of the dearest, where models lie between them."""

RATIO, LEAST = 0.5, 0.02
"""And by at most this share of the dearer of the two, as long as that is a fiftieth of the dearest."""

SAME = 0.02
"""Bills nearer than this share of the gap that they lie in are those of one model."""

TRIES, FEW_TRIES = 20, 3
"""Bisections after which nothing lies between two bills: that far apart, or small beside the dearest."""

LATER = 0.8
"""What each of them that found nothing leaves of a gap's width, where gaps wait for their turn."""

MOST_FITS = 60
"""Models that are looked at."""

CLEARLY = 0.1
"""Share of a gap that a bill must be away from both of its ends to lie between them."""

TOWARDS_0 = 1 / 32
"""What takes the place of the middle where one end is 0."""

SAMPLE = 2000
"""Rows that bills are looked at with."""

AUTO_FITS, AUTO_ROWS, AUTO_STEP = 16, 600, 0.08
"""Models and rows that "auto" looks for bills with, at most, and how far apart those are that it chooses from."""


def sample(X: Any, y: Any, most: int = SAMPLE) -> tuple[Any, Any]:
    """At most so many evenly spaced rows with their targets."""
    X, y = indexable(X, y)
    rows = np.arange(0, len(y), -(-len(y) // most))
    return _safe_indexing(X, rows), _safe_indexing(y, rows)


def seeded(estimator: Any) -> Any:
    """A copy to look at trade-offs with: of one seed, so that only these make its models differ."""
    twin = clone(estimator)
    if twin.get_params(deep=False).get("random_state", 0) is None:
        twin.set_params(random_state=0)
    return twin


def bill_of(estimator: Any, X: Any, y: Any, name: str) -> Callable[[Any], float]:
    """Mean bill of the estimator fitted to some rows, by the value of one parameter."""

    def bill(value: Any) -> float:
        model = seeded(estimator).set_params(**{name: value}).fit(X, y)
        return float(model.cost(X).mean())

    return bill


def present(X: Any, y: Any, weight: Any) -> tuple[Any, Any]:
    """At most ``AUTO_ROWS`` rows that are there: one without weight is not."""
    if weight is not None:
        rows = np.flatnonzero(np.asarray(weight))
        X, y = indexable(X, y)
        X, y = _safe_indexing(X, rows), _safe_indexing(y, rows)
    return sample(X, y, AUTO_ROWS)


def mean_bill(policy: Policy, X: Any) -> float:
    """Mean bill of some rows."""
    X = np.asarray(X, dtype=np.float64)
    return float(np.mean(as_floats(policy.bills(policy.batch(X)))))


@dataclass
class _Gap:
    """Two neighbouring values, their bills, and how often nothing was found between them."""

    cheap: float
    dear: float
    bills: tuple[float, float]
    tries: int = 0

    def width(self) -> float:
        return abs(self.bills[1] - self.bills[0])

    def is_open(self, dearest: float) -> bool:
        """Whether a budget between the two bills would be badly served, and there may be a model."""
        if self.width() > GAP * dearest:
            return self.tries < TRIES
        high = max(self.bills)
        wide = high > LEAST * dearest and self.width() > RATIO * high
        return wide and self.tries < FEW_TRIES


def few_covering(
    bill: Callable[[float], float], values: Sequence[float], most: int = AUTO_FITS
) -> list[float]:
    """Values for "auto" to choose from: those given, and of a covering those with clearly other bills.

    Parameters
    ----------
    bill, values, most
        As for :func:`covering`.

    Examples
    --------
    >>> bills = {1.0: 0.0, 0.5: 5.0, 0.1: 9.0, 0.0: 10.0}
    >>> bill = lambda lam: next(b for known, b in bills.items() if lam >= known)
    >>> [round(lam, 2) for lam in few_covering(bill, [1.0, 0.0])]
    [1.0, 0.65, 0.42, 0.0]
    """
    known = dict[float, float]()

    def look(value: float) -> float:
        if value not in known:
            known[value] = bill(value)
        return known[value]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorthwhileWarning)
        found = covering(look, values, most, thorough=False)
    dearest, kept = max(known.values()), [float(value) for value in values]
    for value in found:
        apart = min(abs(known[one] - known[value]) for one in kept)
        if apart > min(AUTO_STEP * dearest, RATIO * known[value]):
            kept.append(value)
    return sorted(kept, reverse=kept[0] > kept[len(values) - 1])


def covering(
    bill: Callable[[float], float],
    values: Sequence[float],
    most: int = MOST_FITS,
    *,
    thorough: bool = True,
) -> list[float]:
    """Values of a parameter whose bills leave no hole that a model could fill.

    Parameters
    ----------
    bill : function from a value to the mean bill of its model
    values : sequence of at least one number >= 0
        Where to start, from the cheapest model to the dearest; 0 at either end is the limit of ever
        smaller numbers.
    most : int
        Models to look at, at most.
    thorough : bool
        Whether neighbours by bill that are none by value are looked between as well, with further models.

    Returns
    -------
    list of float
        In the order of ``values``, both ends among them; values whose bills are those of a
        neighbour are left out.

    Notes
    -----
    The widest gap is halved (by the geometric mean) first; one that was halved in vain waits for others.
    Between two ends that twenty halvings find nothing between, there is nothing: a feature that is bought
    for everybody or nobody.

    Examples
    --------
    >>> bought = lambda lam: 10.0 * (lam < 0.001) + 1.0 * (lam < 0.5)
    >>> [bought(lam) for lam in covering(bought, [1.0, 0.0])]
    [0.0, 1.0, 11.0]
    """
    known = {float(value): bill(float(value)) for value in values}
    order = list(known)
    dearest = max(known.values())
    gaps = [_Gap(a, b, (known[a], known[b])) for a, b in itertools.pairwise(order)]
    settled: list[_Gap] = []
    while gaps and len(known) < most:
        gap = max(gaps, key=lambda one: one.width() * LATER**one.tries)
        gaps.remove(gap)
        middle = _middle(gap.cheap, gap.dear)
        if not gap.is_open(dearest) or middle in (gap.cheap, gap.dear):
            settled.append(gap)
            continue
        known[middle] = bill(middle)
        dearest = max(dearest, known[middle])
        gaps += _halves(gap, middle, known[middle])
    gaps += settled
    rank = {gap.cheap: gap for gap in gaps}
    found = [order[0]]
    while found[-1] in rank:
        found.append(rank[found[-1]].dear)
    apart = _distinct(found, known, dearest)
    return _by_bill(bill, apart, known) if thorough else apart


def _by_bill(
    bill: Callable[[float], float], values: list[float], known: dict[float, float]
) -> list[float]:
    """Values added between neighbours by bill that are none by value: bills need not fall steadily."""
    found, looked = list(values), set[tuple[float, float]]()
    while True:
        pairs = itertools.pairwise(sorted(found, key=known.__getitem__))
        open_ = [
            (low, high) for low, high in pairs
            if known[high] - known[low] > GAP * max(known.values())
            and abs(found.index(low) - found.index(high)) > 1 and (low, high) not in looked
        ]  # fmt: skip
        if not open_:
            return found
        looked.add(open_[0])
        middle = _bisected(bill, *open_[0], known)
        if middle is not None:
            found = sorted({*found, middle}, reverse=values[0] > values[-1])


def _bisected(
    bill: Callable[[float], float], low: float, high: float, known: dict[float, float]
) -> float | None:
    """A value whose bill lies clearly between those of two others; None if no bisection finds one."""
    margin = CLEARLY * (known[high] - known[low])
    cheap, dear = known[low] + margin, known[high] - margin
    for _ in range(TRIES):
        middle = _middle(low, high)
        if middle in (low, high):
            break
        known[middle] = bill(middle)
        if cheap < known[middle] < dear:
            return middle
        low, high = (middle, high) if known[middle] <= cheap else (low, middle)
    return None


def _halves(gap: _Gap, middle: float, bill: float) -> list[_Gap]:
    """The two halves of a gap; one without a model of its own counts as a try of the other."""
    low, high = gap.bills
    near = SAME * gap.width()
    lower = _Gap(gap.cheap, middle, (low, bill))
    upper = _Gap(middle, gap.dear, (bill, high))
    if abs(bill - low) <= near:
        upper.tries = gap.tries + 1
    if abs(bill - high) <= near:
        lower.tries = gap.tries + 1
    return [lower, upper]


def _middle(a: float, b: float) -> float:
    low, high = min(a, b), max(a, b)
    middle = high * TOWARDS_0 if low == 0 else math.sqrt(low) * math.sqrt(high)
    return middle if math.isfinite(middle) and low <= middle <= high else low


def _distinct(values: list[float], known: dict[float, float], dearest: float) -> list[float]:
    """One value of each run of nearly equal bills: in its middle, as other rows move its ends."""
    runs = [[values[0]]]
    for value in values[1:]:
        first = known[runs[-1][0]]
        if abs(known[value] - first) <= SAME / 2 * max(dearest * LEAST, known[value], first):
            runs[-1].append(value)
        else:
            runs.append([value])
    kept = [_central(run) for run in runs]
    kept[0], kept[-1] = values[0], values[-1]
    return list(dict.fromkeys([values[0], *kept]))


def _central(run: list[float]) -> float:
    """The value nearest to the middle of a run."""
    middle = _middle(run[0], run[-1])
    return min(run, key=lambda value: abs(math.log(max(value, 1e-300) / max(middle, 1e-300))))
