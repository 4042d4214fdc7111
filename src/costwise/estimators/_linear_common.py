"""What the estimators of linear models share: targets, weights, calibration, traces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, validate_data

from costwise.core import links
from costwise.costs import QUANTA_PER_UNIT, Costs, as_floats
from costwise.policy.linear_tree import LinearTree, LinearTreePolicy
from costwise.policy.output import Output

Floats = npt.NDArray[np.float64]

SAMPLE = 4096
"""Training rows, evenly spaced, on which probabilities are calibrated and traces are measured."""

SMALLEST_SPLIT = 20
"""With fewer rows than this none are kept for validation."""

STEEPEST = 50.0
"""Largest slope of a calibration: separable data would ask for an infinite one."""


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


def read_weight(sample_weight: Any, X: Any) -> Floats | None:
    """Check sample weights; None where all rows count the same."""
    if sample_weight is None:
        return None
    weight: Floats = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    return None if (weight == 1.0).all() else weight


def sample_rows(n: int) -> npt.NDArray[np.intp]:
    """At most SAMPLE evenly spaced rows."""
    return np.arange(0, n, -(-n // SAMPLE))


def calibrate(
    policy: LinearTreePolicy, X: Any, codes: npt.NDArray[np.intp], weight: Floats | None
) -> float:
    """Slope that makes the tree's scores the best log-odds or logits, by Newton's method.

    Only a slope: which class wins does not change.
    """
    rows = sample_rows(len(X))
    score = policy.batch(X[rows], billed=False).raw
    if score.shape[1] == 1:
        # A sigmoid is a softmax over (0, score): the same derivatives serve both.
        score = np.column_stack([np.zeros(len(score)), score])
    w = np.ones(len(rows)) if weight is None else weight[rows]
    chosen = score[np.arange(len(rows)), codes[rows]]
    slope = 1.0
    for _ in range(50):
        p = links.softmax(slope * score)
        mean = np.add.reduce(p * score, axis=1)
        gradient = np.add.reduce(w * (mean - chosen))
        curvature = np.add.reduce(w * (np.add.reduce(p * score**2, axis=1) - mean**2))
        if curvature <= 1e-12 * np.add.reduce(w):
            break
        # Half steps at most double or halve the slope: Newton alone can overshoot below zero.
        new = float(np.clip(slope - gradient / curvature, slope / 2, slope * 2))
        new = min(max(new, 1e-3), STEEPEST)
        if abs(new - slope) <= 1e-9 * slope:
            return new
        slope = new
    return slope


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
    quanta = (
        policy.costs.quanta(outcome.acquired) + outcome.evaluated * policy.costs.flat.evaluation
    )
    predicted = policy.output.predict(outcome.raw)
    if policy.output.classes is not None:
        score = float(np.mean(predicted == y))
    else:
        error, spread = np.sum((y - predicted) ** 2), np.sum((y - np.mean(y, axis=0)) ** 2)
        score = float(1.0 - error / spread) if spread > 0 else 0.0
    return {
        "cost": float(np.mean(as_floats(quanta))),
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


def geometric_budgets(costs: Costs, levels: int, count: int = 12) -> list[float]:
    """Budgets per node from the cheapest purchase to everything split over the levels."""
    flat = costs.flat
    marginal = (
        flat.price + np.where(flat.group >= 0, flat.fee[flat.group], 0)
        if len(flat.fee)
        else flat.price
    )
    paid = marginal[marginal > 0]
    if not len(paid):
        return [0.0]
    low, high = (
        float(paid.min()),
        max(float(flat.price.sum() + flat.fee.sum()) / levels, float(paid.min())),
    )
    steps = np.geomspace(low, high, count) if high > low else np.array([low])
    return [float(round(step / 1e9, 9)) for step in steps]


def lam_grid(costs: Costs, count: int = 12, dearest: float = 0.3) -> list[float]:
    """Prices of one unit from "hardly buys anything" to "hardly counts", cheapest models first.

    The loss lies between 0 and about 1, so a lam at which the mean feature costs 1 buys nothing;
    ``dearest`` is what the mean feature costs at the first.
    """
    flat = costs.flat
    total = float(flat.price.sum() + flat.fee.sum()) / QUANTA_PER_UNIT
    if total == 0.0:
        return [0.0]
    dear = len(flat.price) / total
    return [float(f"{lam:.3g}") for lam in np.geomspace(dearest * dear, 1e-4 * dear, count)]


def held_out(
    estimator: Any, X: Any, y: Any, validation: Any, classes: npt.NDArray[Any] | None
) -> tuple[npt.NDArray[np.intp], tuple[Any, Any] | None]:
    """Training rows, and the validation data: given, split off (y coded already), or None."""
    everything = np.arange(len(X))
    if validation is not None:
        return everything, _read_validation(estimator, validation, classes)
    if estimator.validation_fraction is None or len(X) < SMALLEST_SPLIT:
        return everything, None
    rng = check_random_state(estimator.random_state)
    order = rng.permutation(len(X))
    size = max(round(estimator.validation_fraction * len(X)), 1)
    kept, train = np.sort(order[:size]), np.sort(order[size:])
    if classes is not None and len(np.unique(y[train])) < len(classes):
        return everything, None
    return train, (X[kept], y[kept])


def _read_validation(
    estimator: Any, validation: Any, classes: npt.NDArray[Any] | None
) -> tuple[Any, Any]:
    if not isinstance(validation, (tuple, list)) or len(validation) != 2:
        raise ValueError(
            f"validation is a {type(validation).__name__}: give a tuple (X, y) of rows that are not in training."
        )
    X, y = validate_data(
        estimator, *validation, reset=False, dtype=[np.float64, np.float32],
        ensure_all_finite="allow-nan", multi_output=classes is None,
    )  # fmt: skip
    if classes is None:
        return X, y
    codes = np.searchsorted(classes, y)
    known = classes[np.minimum(codes, len(classes) - 1)] == y
    if not known.all():
        raise ValueError(
            f"validation has the label {y[~known][0]!r}, which y does not have: leave such rows out."
        )
    return X, codes
