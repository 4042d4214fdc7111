"""What the estimators of linear models share: targets, calibration, traces, grids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from worthwhile.costs import Costs, as_floats
from worthwhile.estimators._shared.calibration import best_slope
from worthwhile.estimators._shared.covering import covering
from worthwhile.policy.base import LARGEST, Policy
from worthwhile.policy.linear_tree import LinearTree, LinearTreePolicy
from worthwhile.policy.output import Output

Floats = npt.NDArray[np.float64]

SAMPLE = 4096
"""Training rows, evenly spaced, on which probabilities are calibrated and traces are measured."""

FEW_FITS = 48
"""Models whose bills make a grid of ``lam``, at most."""


@dataclass(frozen=True)
class Targets:
    """What linear models are fitted to, and how to read their outputs.

    Attributes
    ----------
    Y : float64 (n, m), fitted values: +-1, one column per class, or standardised targets
    mean, scale : float64 (m,), bring fitted values back to the units of y
    output : Output
    """

    Y: Floats
    mean: Floats
    scale: Floats
    output: Output


def class_targets(codes: npt.NDArray[np.intp], classes: npt.NDArray[Any]) -> Targets:
    """+-1 for two classes; for more, one 0/1 column each (centring them is the fit's business)."""
    if len(classes) == 2:
        Y, kind = np.where(codes == 1, 1.0, -1.0)[:, None], "log-odds"
    else:
        Y, kind = (codes[:, None] == np.arange(len(classes))).astype(np.float64), "logits"
    m = Y.shape[1]
    return Targets(Y, np.zeros(m), np.ones(m), Output(kind, classes))


def centred_targets(targets: Targets, weight: Floats | None) -> Targets:
    """The same with fitted values of mean 0; outputs stay in the units they had."""
    mean = np.average(targets.Y, axis=0, weights=weight)
    return replace(targets, Y=targets.Y - mean, mean=targets.mean + mean * targets.scale)


def as_columns(y: Any) -> Floats:
    """Targets as float64 (n, m)."""
    Y = np.asarray(y, dtype=np.float64)
    return Y[:, None] if Y.ndim == 1 else Y


def value_targets(y: npt.NDArray[Any], weight: Floats | None) -> Targets:
    """Targets of a regression, each with mean 0 and standard deviation 1."""
    Y = as_columns(y)
    w = np.ones(len(Y)) if weight is None else weight
    mean = np.add.reduce(w[:, None] * Y) / np.add.reduce(w)
    scale = np.sqrt(np.add.reduce(w[:, None] * (Y - mean) ** 2) / np.add.reduce(w))
    scale = np.where(scale > 0, scale, 1.0)
    return Targets((Y - mean) / scale, mean, scale, Output("value"))


def sample_rows(n: int) -> npt.NDArray[np.intp]:
    """At most SAMPLE evenly spaced rows."""
    return np.arange(0, n, -(-n // SAMPLE))


def calibrate(policy: Policy, X: Any, codes: npt.NDArray[np.intp], weight: Floats | None) -> float:
    """Slope that makes the model's scores the best log-odds or logits of a sample of the rows."""
    rows = sample_rows(len(X))
    score = policy.batch(X[rows], billed=False).raw
    return best_slope(score, codes[rows], None if weight is None else weight[rows])


def trace_by_level(policy: LinearTreePolicy, X: Any, y: Any) -> pd.DataFrame:
    """Mean bill, training score and features if rows stopped at each level of the tree."""
    rows, tree = sample_rows(len(X)), policy.tree
    level = np.zeros(tree.n_nodes, dtype=np.int64)
    for node, parent in enumerate(tree.parents()):
        level[node] = 0 if parent < 0 else level[parent] + 1
    trace = []
    for last in range(int(level.max()) + 1):
        short = policy.with_tree(_cut(tree, level, last))
        trace.append({"level": last} | trace_row(short, X[rows], y[rows]))
    return pd.DataFrame(trace)


def trace_row(policy: LinearTreePolicy, X: Any, y: Any) -> dict[str, Any]:
    """Mean bill, score (accuracy or R^2) and number of features of a model on some rows."""
    outcome = policy.batch(X)
    predicted = policy.output.predict(outcome.raw)
    if policy.output.classes is not None:
        score = float(np.mean(predicted == y))
    else:
        error, spread = np.sum((y - predicted) ** 2), np.sum((y - np.mean(y, axis=0)) ** 2)
        score = float(1.0 - error / spread) if spread > 0 else 0.0
    return {
        "cost": float(np.mean(as_floats(policy.bills(outcome)))),
        "score": score,
        "features": len(policy.reads),
    }


def _cut(tree: LinearTree, level: npt.NDArray[np.int64], last: int) -> LinearTree:
    """The tree without its nodes below a level (they come last: nodes are in level order)."""
    k = int(np.searchsorted(level, last, side="right"))
    entries = int(tree.start[k])
    leaf = level[:k] == last
    return replace(
        tree,
        features=tree.features[:entries], start=tree.start[: k + 1],
        coefficient=tree.coefficient[:entries], intercept=tree.intercept[:k],
        direction=tree.direction[:k], threshold=tree.threshold[:k],
        upper=np.where(leaf, -1, tree.upper[:k]).astype(np.int32),
        lower=np.where(leaf, -1, tree.lower[:k]).astype(np.int32),
    )  # fmt: skip


def refuse_sizes(policy: LinearTreePolicy, X: Floats) -> None:
    """Refuse columns so large or small that the model's numbers could not be read from a file."""
    if policy.tree.is_moderate:
        return
    with np.errstate(divide="ignore"):
        size = np.log10(np.nanmax(np.abs(X), axis=0, initial=0.0))
    column = int(np.argmax(np.where(np.isfinite(size), np.abs(size), 0.0)))
    raise ValueError(
        f"X has values of size 1e{size[column]:.0f} in feature {policy.costs.name(column)!r}: means and weights of a "
        f"linear model reach {LARGEST:g} at most. Rescale the column, and the target if it is as large or small."
    )


def geometric_budgets(costs: Costs, levels: int, count: int = 12) -> list[float]:
    """Budgets per node from the cheapest purchase to everything split over the levels."""
    flat = costs.flat
    paid = flat.alone[flat.alone > 0]
    if not len(paid):
        return [0.0]
    low, high = (
        float(paid.min()),
        max(float(flat.total) / levels, float(paid.min())),
    )
    steps = np.geomspace(low, high, count) if high > low else np.array([low])
    return [float(round(step / 1e9, 9)) for step in steps]


def lam_points(
    bill: Callable[[float], float] | None, costs: Costs, dearest: float = 0.3
) -> list[dict[str, Any]]:
    """Values of ``lam`` for a sweep, from hardly any purchase to all that is worth anything.

    The loss lies between 0 and about 1, so that a feature is not bought where its price times lam is
    about 1 (``dearest``). From there down by bisection on the mean bill of a lam; in even steps where
    there are no labels to find bills with.
    """
    alone = as_floats(costs.flat.alone)
    if not (alone > 0).any():
        return [{"lam": 0.0}]
    top, usual = dearest / alone[alone > 0].min(), costs.n_features / costs.total
    if bill is None:
        return [{"lam": float(f"{lam:.3g}")} for lam in np.geomspace(top, 1e-4 * usual, 12)]
    while bill(top) > 0 and top < LARGEST:
        top *= 10.0
    start = [top, *(usual * s for s in (1.0, 0.1, 0.01, 0.001) if usual * s < top), 1e-6 * usual]
    # As they were looked at: a bill may hang on digits that rounding would drop.
    return [{"lam": float(lam)} for lam in covering(bill, start, FEW_FITS)]
