"""What a comparison found."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats

from worthwhile._html import html_table
from worthwhile.frontier._one_point import MixedPoint, Point, setting_of
from worthwhile.frontier._points import Frontier
from worthwhile.metrics import TotalCost

Floats = npt.NDArray[np.float64]

MIXED = "best on validation"
"""The row in which every budget takes the method that did best on validation."""


@dataclass(frozen=True)
class Run:
    """One split: the frontier of each method, and how long it took to train."""

    frontiers: Mapping[str, Frontier]
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class Choice:
    """The method to use at a budget.

    Attributes
    ----------
    method : str
        Its name.
    score, test_score, test_cost : float
        Means over the splits: validation score, and test figures.
    points : tuple of Point
        What was chosen on each split, with parameters and stage: the best single point.
    mixed : tuple of MixedPoint
        The two points and the share on each split, where the comparison mixes; the figures are theirs.
    """

    method: str
    score: float
    test_score: float
    test_cost: float
    points: tuple[Point, ...]
    mixed: tuple[MixedPoint, ...] = ()

    def _repr_html_(self) -> str:
        used: Sequence[Any] = self.mixed or self.points
        rows = [
            (split, point.cost, point.score, point.test_cost, point.test_score, setting_of(point))
            for split, point in enumerate(used)
        ]
        heads = ["split", "cost", "score", "test cost", "test score", "setting"]
        return html_table(f"{self.method}, chosen on validation rows", heads, rows)

    def plot(self, ax: Any = None) -> Any:
        """Draw what was chosen on each split; a :class:`~worthwhile.plots.ChoiceDisplay`."""
        import worthwhile

        return worthwhile.plots.ChoiceDisplay.from_choice(self, ax=ax)


class Comparison:
    """Frontiers of many methods on the same splits, made by :func:`~worthwhile.compare`.

    Parameters
    ----------
    runs : list of Run
        One per split; all have the same methods.
    budgets : list of numbers
        Mean bills to report at.
    failures : mapping, optional
        Methods that could not be run, with the reason.
    peers : list of str, optional
        Methods that are not of this library.
    test_share : float, default=1/3
        Test rows per training row, for the intervals.

    Attributes
    ----------
    runs, budgets, failures, peers
        As given.
    methods : list of str
        Names of the methods.

    Notes
    -----
    Random splits overlap, so differences between methods vary less over splits than over new
    data. Intervals use the corrected variance of Nadeau and Bengio (2003): (1 / splits +
    test / training) times the variance over splits, with Student's t.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        budgets: Sequence[float],
        *,
        failures: Mapping[str, str] | None = None,
        peers: Sequence[str] = (),
        test_share: float = 1 / 3,
    ) -> None:
        self.runs = list(runs)
        self.budgets = [float(budget) for budget in budgets]
        self.failures = dict(failures or {})
        self.peers = list(peers)
        self.methods = list(self.runs[0].frontiers)
        self.test_share = float(test_share)
        some = next(iter(self.runs[0].frontiers.values()))
        self.unit, self.score_name, self.full_cost = some.unit, some.score_name, some.full_cost

    @property
    def in_money(self) -> bool:
        """Whether scores are minus the total per case, tests and errors."""
        return self.score_name == TotalCost.name

    def __repr__(self) -> str:
        return (
            f"Comparison({len(self.methods)} methods, {len(self.runs)} splits, {self.score_name})"
        )

    def _repr_html_(self) -> str:
        table = self.table()
        columns: list[Any] = list(table.columns)
        heads = [f"{a}, {b}" if a.startswith("budget") else b for a, b in columns]
        rows = [
            (f"{name} (peer)" if name in self.peers else name,
             *(_cell(v, what, self.score_name) for (_, what), v in zip(columns, row, strict=True)))
            for name, row in zip(table.index, table.to_numpy(), strict=True)
        ]  # fmt: skip
        return html_table(repr(self), ["method", *heads], rows)

    def plot(self, ax: Any = None) -> Any:
        """Draw every method's curve; a :class:`~worthwhile.plots.FrontierDisplay`."""
        import worthwhile

        return worthwhile.plots.FrontierDisplay.from_comparison(self, ax=ax)

    # Figures --------------------------------------------------------------------------------------

    def frontier(self, method: str, split: int) -> Frontier:
        """The frontier of a method on a split; "best on validation" joins all methods."""
        run = self.runs[split]
        if method == MIXED:
            return Frontier.join(run.frontiers)
        if method not in run.frontiers:
            raise ValueError(
                f"method is {method!r}: it is one of {', '.join([*self.methods, MIXED])}."
            )
        return run.frontiers[method]

    def scores(self, method: str, budgets: Any = None) -> Floats:
        """Test scores, chosen on validation: (splits, budgets)."""
        budgets = self.budgets if budgets is None else budgets
        return np.array(
            [self.frontier(method, s).step(budgets, part="test") for s in range(len(self.runs))]
        )

    def bills(self, method: str, budgets: Any = None) -> Floats:
        """Mean test bills of the same models: (splits, budgets)."""
        budgets = self.budgets if budgets is None else budgets
        return np.array(
            [self.frontier(method, s).bills(budgets, part="test") for s in range(len(self.runs))]
        )

    def curve(
        self, method: str, budgets: Any, confidence: float = 0.95
    ) -> tuple[Floats, Floats, Floats]:
        """Mean test score at each budget, with the ends of an interval over the splits."""
        scores = self.scores(method, budgets)
        mean = scores.mean(axis=0)
        half = self._half_width(scores, confidence)
        return mean, mean - half, mean + half

    def cost_within(self, method: str, tolerance: float = 0.01) -> Floats:
        """Test bill at which a method is within ``tolerance`` of the best score of all methods.

        One entry per split; the bar is the best validation score of any method, points are chosen
        on validation, and NaN stands where the method does not reach the bar.
        """
        found = []
        for split, run in enumerate(self.runs):
            bar = max(float(one.score.max()) for one in run.frontiers.values()) - tolerance
            frontier = self.frontier(method, split)
            reached = bool((frontier.score >= bar).any())
            found.append(frontier.reaching(bar).test_cost if reached else math.nan)
        return np.array(found)

    def table(self, tolerance: float = 0.01) -> pd.DataFrame:
        """One line per method, means over the splits.

        Columns: score and cost at each budget (test, chosen on validation), the cost within
        ``tolerance`` of the best score of all (NaN where it is not reached on every split), the
        area under the step curve, the mean score over 60 budgets spaced evenly in the logarithm,
        seconds of training. Where errors have prices, totals per case stand in place of scores, and beside
        them the least one at any budget.
        """
        lines = {}
        for method in [*self.methods, MIXED]:
            frontiers = [self.frontier(method, s) for s in range(len(self.runs))]
            line: dict[tuple[str, str], float] = {}
            scores, bills = self.scores(method).mean(axis=0), self.bills(method).mean(axis=0)
            for i, budget in enumerate(self.budgets):
                shown = ("total", -scores[i]) if self.in_money else (self.score_name, scores[i])
                line[f"budget {budget:g}", shown[0]] = shown[1]
                line[f"budget {budget:g}", "cost"] = bills[i]
            if self.in_money:
                least = [one.best() for one in frontiers]
                line["any budget", "total"] = -_mean([point.test_score for point in least])
                line["any budget", "cost"] = _mean([point.test_cost for point in least])
            line["all budgets", f"cost within {tolerance:g}"] = self.cost_within(
                method, tolerance
            ).mean()
            line["all budgets", "area"] = _mean([one.area(part="test") for one in frontiers])
            line["all budgets", "mean over budgets"] = _mean(
                [one.mean_score() for one in frontiers]
            )
            seconds = [
                sum(run.seconds.values()) if method == MIXED else run.seconds[method]
                for run in self.runs
            ]
            line["all budgets", "seconds"] = float(np.mean(seconds))
            lines[method] = line
        table = pd.DataFrame.from_dict(lines, orient="index")
        table.columns = pd.MultiIndex.from_tuples(list(line))
        return table

    def differences(self, reference: str, confidence: float = 0.95) -> pd.DataFrame:
        """How much better each method is than the reference at each budget, with intervals.

        Parameters
        ----------
        reference : str
            Name of a method.
        confidence : float, default=0.95
            Of the intervals, which are over the splits; see the notes of the class.

        Returns
        -------
        DataFrame
            Columns method, budget, difference (of test scores), low, high.
        """
        base = self.scores(reference)
        lines = []
        for method in [*self.methods, MIXED]:
            if method == reference:
                continue
            difference = self.scores(method) - base
            half = self._half_width(difference, confidence)
            for i, budget in enumerate(self.budgets):
                mean = float(difference[:, i].mean())
                lines.append(
                    {"method": method, "budget": budget, "difference": mean,
                     "low": mean - half[i], "high": mean + half[i]}
                )  # fmt: skip
        return pd.DataFrame(lines)

    def _half_width(self, values: Floats, confidence: float) -> Floats:
        n = len(values)
        if n < 2:
            return np.full(values.shape[1], np.nan)
        variance = values.var(axis=0, ddof=1) * (1 / n + self.test_share)
        half: Floats = stats.t.ppf((1 + confidence) / 2, n - 1) * np.sqrt(variance)
        return half

    # Choosing -------------------------------------------------------------------------------------

    def best(self, budget: float = math.inf, among: Sequence[str] | None = None) -> Choice:
        """The method with the best mean validation score within a budget.

        Parameters
        ----------
        budget : number, default=inf
            Largest mean bill.
        among : list of str, optional
            Methods to choose from; by default all.
        """
        names = self.methods if among is None else list(among)
        if not names:
            raise ValueError("among is empty: name at least one method.")
        choices = []
        for name in names:
            frontiers = [self.frontier(name, s) for s in range(len(self.runs))]
            points = tuple(one.best(budget) for one in frontiers)
            mixed = tuple(one.mixed(budget) for one in frontiers if one.mix)
            used = mixed or points
            choices.append(
                Choice(
                    name,
                    _mean([point.score for point in used]),
                    _mean([point.test_score for point in used]),
                    _mean([point.test_cost for point in used]),
                    points,
                    mixed,
                )
            )
        return max(choices, key=lambda choice: choice.score)

    # Out ------------------------------------------------------------------------------------------

    def to_markdown(self, tolerance: float = 0.01) -> str:
        """The table as Markdown."""
        table = self.table(tolerance)
        columns: list[Any] = list(table.columns)
        heads = [f"{a}, {b}" if a.startswith("budget") else b for a, b in columns]
        lines = [["method", *heads], ["---"] + ["---:"] * len(columns)]
        for name, row in zip(table.index, table.to_numpy(), strict=True):
            cells = [
                _cell(value, what, self.score_name)
                for (_, what), value in zip(columns, row, strict=True)
            ]
            lines.append([f"{name} (peer)" if name in self.peers else str(name), *cells])
        text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        unit = f" Costs in {self.unit}." if self.unit else ""
        note = f"Means over {len(self.runs)} random splits; chosen on validation, reported on test rows.{unit}"
        failed = "".join(
            f"\n- {name} could not be run: {reason}" for name, reason in self.failures.items()
        )
        return f"{text}\n\n{note}{failed}\n"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            "budgets": self.budgets,
            "failures": self.failures,
            "peers": self.peers,
            "test_share": self.test_share,
            "runs": [
                {
                    "seconds": dict(run.seconds),
                    "frontiers": {name: one.to_dict() for name, one in run.frontiers.items()},
                }
                for run in self.runs
            ],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Comparison:
        """Read what :meth:`to_dict` wrote."""
        runs = [
            Run(
                {name: Frontier.from_dict(one) for name, one in run["frontiers"].items()},
                dict(run["seconds"]),
            )
            for run in data["runs"]
        ]
        return cls(
            runs,
            data["budgets"],
            failures=data["failures"],
            peers=data["peers"],
            test_share=data["test_share"],
        )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _cell(value: Any, column: str, score_name: str) -> str:
    if math.isnan(value):
        return "-"
    places = 3 if column in (score_name, "area", "mean over budgets") else 2
    return f"{value:.{places}f}"
