"""The points of a sweep: what each model costs and how good it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.integrate import trapezoid

from worthwhile._html import html_table
from worthwhile.frontier._hull import between, hull_indices, pareto_indices, shares
from worthwhile.frontier._one_point import (
    MixedPoint,
    Point,
    as_number,
    plain,
    read_point,
    setting_of,
)

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

PARTS = ("validation", "test")
FORMAT = 1


class Frontier:
    """Cost against score: the points of a sweep, and how to choose among them.

    Everything is chosen on validation figures. Test figures ride along and are only ever reported.

    Parameters
    ----------
    points : iterable of Point or of mappings
        The sweep, in any order. Mappings need ``cost`` and ``score``.
    unit : str, default=""
        Unit of the costs.
    score_name : str, default="score"
        What the score is; larger is better.
    full_cost : float, optional
        Price of everything; by default the largest cost among the points.
    mix : bool, default=False
        Whether a budget is met by two points and a share of the cases, instead of by one point: curves,
        areas and mean scores are then those of the hull. Chance decides who gets the dearer one.

    Examples
    --------
    >>> from worthwhile import Frontier
    >>> sweep = Frontier([
    ...     {"cost": 0, "score": 0.5}, {"cost": 4, "score": 0.8}, {"cost": 5, "score": 0.7},
    ...     {"cost": 9, "score": 0.81},
    ... ])
    >>> [point.cost for point in sweep.pareto()]
    [0.0, 4.0, 9.0]
    >>> sweep.best(budget=8).score, sweep.cheapest(score=0.6).cost, sweep.within(0.02).cost
    (0.8, 4.0, 4.0)
    >>> half = sweep.mixed(budget=2)  # every second case with the point of cost 4
    >>> half.share, half.score
    (0.5, 0.65)
    """

    def __init__(
        self,
        points: Iterable[Point | Mapping[str, Any]],
        *,
        unit: str = "",
        score_name: str = "score",
        full_cost: float | None = None,
        mix: bool = False,
    ) -> None:
        self.points = tuple(read_point(point, number) for number, point in enumerate(points))
        if not self.points:
            raise ValueError("points is empty: a frontier needs at least one point.")
        self.unit, self.mix = unit, bool(mix)
        self.score_name = score_name
        self.cost = np.array([point.cost for point in self.points])
        self.score = np.array([point.score for point in self.points])
        self.bound = np.array([point.bound for point in self.points])
        self.full_cost = float(self.cost.max()) if full_cost is None else float(full_cost)

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def __getitem__(self, index: int) -> Point:
        return self.points[index]

    def __repr__(self) -> str:
        best = self.points[self._order()[0]]
        return (
            f"Frontier({len(self)} points, cost {self.cost.min():g} to {self.cost.max():g}"
            f"{' ' + self.unit if self.unit else ''}, best {self.score_name} {best.score:.4g} at {best.cost:g})"
        )

    def _repr_html_(self) -> str:
        named = any(point.method for point in self)
        heads = ["cost", self.score_name, "setting"]
        rows: list[tuple[Any, ...]] = [
            (point.cost, point.score, setting_of(point)) for point in self.pareto()
        ]
        if named:
            heads = ["method", *heads]
            rows = [(point.method, *row) for point, row in zip(self.pareto(), rows, strict=True)]
        return html_table(repr(self), heads, rows)

    def plot(self, ax: Any = None) -> Any:
        """Draw cost against score; a :class:`~worthwhile.plots.FrontierDisplay`."""
        import worthwhile

        return worthwhile.plots.FrontierDisplay.from_frontier(self, ax=ax)

    def _like(self, points: Iterable[Point]) -> Frontier:
        return Frontier(
            points,
            unit=self.unit,
            score_name=self.score_name,
            full_cost=self.full_cost,
            mix=self.mix,
        )

    def _order(self) -> Indices:
        """Best first: higher score, then lower cost, then earlier."""
        return np.lexsort((np.arange(len(self)), self.cost, -self.score))

    # Views ----------------------------------------------------------------------------------------

    def pareto(self) -> Frontier:
        """The points that no other beats in one of cost and score without losing in the other."""
        return self._like(self.points[i] for i in pareto_indices(self.cost, self.score))

    def hull(self) -> Frontier:
        """The points on the upper concave hull, from the cheapest to the best.

        What lies between two of them can be had on average by mixing the two: see :meth:`mixed`.
        """
        return self._like(self.points[i] for i in hull_indices(self.cost, self.score))

    def step(self, budgets: Any, *, part: str = "validation", cautious: bool = False) -> Floats:
        """Score at each budget: of the best point within it, or two and a share, chosen on validation.

        Parameters
        ----------
        budgets : array
            Mean bills.
        part : {"validation", "test"}, default="validation"
            Which score to report; the choice is the same.
        cautious : bool, default=False
            Keep ``bound`` within the budget instead of ``cost``.

        Returns
        -------
        float64 array
            NaN where no point fits.
        """
        return between(self.values(part)[1], *self._chosen(budgets, cautious))

    def bills(self, budgets: Any, *, part: str = "validation", cautious: bool = False) -> Floats:
        """Mean bill at each budget of what :meth:`step` gives the score of."""
        return between(self.values(part)[0], *self._chosen(budgets, cautious))

    def _chosen(self, budgets: Any, cautious: bool) -> tuple[Indices, Indices, Floats]:
        """First and second point and the share of the second at each budget."""
        if not self.mix:
            found = self.choices(budgets, cautious=cautious)
            return found, found, np.zeros(len(found))
        return shares(
            self.bound if cautious else self.cost,
            self.score,
            np.atleast_1d(np.asarray(budgets, dtype=np.float64)),
        )

    def choices(self, budgets: Any, *, cautious: bool = False) -> Indices:
        """Index of the point chosen at each budget; -1 where none fits."""
        bills = self.bound if cautious else self.cost
        order = self._order()
        budgets = np.atleast_1d(np.asarray(budgets, dtype=np.float64))
        fits = bills[order][None, :] <= budgets[:, None]
        return np.where(fits.any(axis=1), order[np.argmax(fits, axis=1)], -1)

    def values(self, part: str) -> tuple[Floats, Floats]:
        """Costs and scores on "validation" or "test"."""
        if part not in PARTS:
            raise ValueError(f"part is {part!r}: it is 'validation' or 'test'.")
        if part == "validation":
            return self.cost, self.score
        cost = np.array([point.test_cost for point in self.points])
        score = np.array([point.test_score for point in self.points])
        if np.isnan(score).all():
            raise ValueError("part is 'test', but the points have no test figures.")
        return cost, score

    # Choosing -------------------------------------------------------------------------------------

    def best(self, budget: float = math.inf, *, cautious: bool = False) -> Point:
        """The best point whose validation bill is within a budget; ties go to the cheaper.

        Parameters
        ----------
        budget : number, default=inf
            Largest mean bill.
        cautious : bool, default=False
            Keep ``bound`` within the budget instead of ``cost``.
        """
        found = int(self.choices(as_number(budget, "budget"), cautious=cautious)[0])
        if found < 0:
            bills = self.bound if cautious else self.cost
            what = "upper bound of a mean bill" if cautious else "mean bill"
            raise ValueError(
                f"budget is {budget:g}: no point fits, the lowest {what} is {bills.min():g}. Raise the budget to that, "
                "or add cheaper points."
            )
        return self.points[found]

    def mixed(self, budget: float, *, cautious: bool = False) -> MixedPoint:
        """The two points of the hull, and the share of the dearer one, that just meet a budget.

        Parameters
        ----------
        budget : number
            Mean bill of the mixture.
        cautious : bool, default=False
            Meet it with ``bound`` instead of ``cost``.
        """
        self.best(budget, cautious=cautious)  # refuses what nothing fits
        bills = self.bound if cautious else self.cost
        first, second, share = shares(bills, self.score, np.array([as_number(budget, "budget")]))
        return MixedPoint(self.points[first[0]], self.points[second[0]], float(share[0]))

    def reaching(self, score: float) -> MixedPoint:
        """What costs least and has at least this validation score; two points where they are mixed."""
        point = self.cheapest(score)
        if not self.mix:
            return MixedPoint(point, point, 0.0)
        kept = hull_indices(self.cost, self.score)
        place = int(np.argmax(self.score[kept] >= score))
        low, high = (self.points[kept[i]] for i in (max(place - 1, 0), place))
        share = 1.0 if place == 0 else (score - low.score) / (high.score - low.score)
        return MixedPoint(low, high, share)

    def cheapest(self, score: float) -> Point:
        """The cheapest point with at least this validation score; ties go to the better."""
        score = as_number(score, "score")
        good = np.flatnonzero(self.score >= score)
        if len(good) == 0:
            raise ValueError(
                f"score is {score:g}: no point reaches it, the best is {self.score.max():g}."
            )
        order = np.lexsort((good, -self.score[good], self.cost[good]))
        return self.points[int(good[order[0]])]

    def within(self, tolerance: float = 0.01) -> Point:
        """The cheapest point whose validation score is at most ``tolerance`` below the best."""
        if not as_number(tolerance, "tolerance") >= 0:
            raise ValueError(f"tolerance is {tolerance!r}: it is a number of at least 0.")
        return self.cheapest(float(self.score.max()) - tolerance)

    # Summaries ------------------------------------------------------------------------------------

    def area(self, full_cost: float | None = None, *, part: str = "validation") -> float:
        """Area under the curve from 0 to the full cost, divided by the full cost.

        Below the cheapest point the score counts as 0. It is the mean score over all budgets.
        """
        full = self.full_cost if full_cost is None else float(full_cost)
        if not full > 0:
            raise ValueError(f"full_cost is {full:g}: it is a number above 0.")
        starts = np.unique(np.append(self.cost[self.cost < full], 0.0))
        scores = np.nan_to_num(self.step(starts, part=part))
        if self.mix:
            bought = np.append(starts[starts >= self.cost.min()], full)
            return float(trapezoid(self.step(bought, part=part), bought) / full)
        return float((scores * np.diff(np.append(starts, full))).sum() / full)

    def mean_score(
        self,
        n: int = 60,
        lowest: float = 0.005,
        *,
        full_cost: float | None = None,
        part: str = "test",
    ) -> float:
        """Mean score over budgets evenly spaced in the logarithm, a share of the full cost each.

        Parameters
        ----------
        n : int, default=60
            Budgets.
        lowest : float, default=0.005
            The lowest budget as a share of the full cost; the highest is the full cost.
        full_cost : float, optional
            What the shares refer to.
        part : {"validation", "test"}, default="test"
            Which score to report. Budgets that nothing fits count as 0.
        """
        full = self.full_cost if full_cost is None else float(full_cost)
        return float(np.nan_to_num(self.step(full * np.geomspace(lowest, 1, n), part=part)).mean())

    # Out and in -----------------------------------------------------------------------------------

    def to_pandas(self) -> pd.DataFrame:
        """One line per point; parameters in columns named ``param_*``."""
        import pandas as pd

        lines = []
        for point in self.points:
            line = {f.name: getattr(point, f.name) for f in fields(point) if f.name != "params"}
            line["stage"] = -1 if point.stage is None else point.stage
            line["case_budget"] = math.inf if point.case_budget is None else point.case_budget
            lines.append(line | {f"param_{name}": value for name, value in point.params.items()})
        return pd.DataFrame(lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON; parameters that are not plain become text."""
        return {
            "format": FORMAT,
            "unit": self.unit,
            "score_name": self.score_name,
            "full_cost": self.full_cost,
            **({"mix": True} if self.mix else {}),
            "points": [
                {
                    key: plain(value)
                    for key, value in asdict(point).items()
                    if value is not None and not (isinstance(value, float) and math.isnan(value))
                }
                for point in self.points
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Frontier:
        """Read what :meth:`to_dict` wrote."""
        if data.get("format") != FORMAT:
            raise ValueError(
                f"the frontier has format {data.get('format')!r}, this version reads {FORMAT}."
            )
        return cls(
            data["points"],
            unit=data["unit"],
            score_name=data["score_name"],
            full_cost=data["full_cost"],
            mix=data.get("mix", False),
        )

    @classmethod
    def join(cls, frontiers: Mapping[str, Frontier]) -> Frontier:
        """One frontier of several methods; points carry the name of theirs."""
        points = [
            Point(**{**vars(point), "method": name})
            for name, one in frontiers.items()
            for point in one
        ]
        if not points:
            raise ValueError("frontiers is empty: join needs at least one.")
        some = next(iter(frontiers.values()))
        full = max(one.full_cost for one in frontiers.values())
        return cls(points, unit=some.unit, score_name=some.score_name, full_cost=full, mix=some.mix)
