"""Scores to probabilities: the slope, the sigmoid or the rising line that fits the labels best."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from sklearn.isotonic import IsotonicRegression

from worthwhile.core import links
from worthwhile.policy.calibration import Calibration

Floats = npt.NDArray[np.float64]

STEEPEST = 50.0
"""Largest slope: separable data would ask for an infinite one."""

FLATTEST = 1e-3
"""Smallest slope: scores that speak against the labels would ask for one below zero."""

MOST_STEPS = 50


def best_slope(score: Floats, codes: npt.NDArray[np.intp], weight: Floats | None = None) -> float:
    """Slope that makes scores the best log-odds or logits (least log-loss), by Newton's method.

    Platt scaling without its intercept, so that which class wins does not change.

    Parameters
    ----------
    score : float64 (n, 1) or (n, n_classes)
        One column speaks for the second of two classes.
    codes : int (n,)
        Class of each row.
    weight : float64 (n,), optional
        Weights of the rows.
    """
    if score.shape[1] == 1:
        # A sigmoid is a softmax over (0, score): the same derivatives serve both.
        score = np.column_stack([np.zeros(len(score)), score])
    w = np.ones(len(score)) if weight is None else weight
    chosen = score[np.arange(len(score)), codes]
    slope = 1.0
    for _ in range(MOST_STEPS):
        p = links.softmax(slope * score)
        mean = np.add.reduce(p * score, axis=1)
        gradient = np.add.reduce(w * (mean - chosen))
        curvature = np.add.reduce(w * (np.add.reduce(p * score**2, axis=1) - mean**2))
        if curvature <= 1e-12 * np.add.reduce(w):
            break
        # Steps at most double or halve the slope: with many classes, Newton alone jumps to where all
        # is certain and nothing curves.
        new = float(np.clip(slope - gradient / curvature, slope / 2, slope * 2))
        new = min(max(new, FLATTEST), STEEPEST)
        if abs(new - slope) <= 1e-9 * slope:
            return new
        slope = new
    return slope


def fit_map(kind: str, logs: Floats, codes: npt.NDArray[np.intp], weight: Floats) -> Calibration:
    """The map of a kind that makes probabilities fit the labels of rows that did not train them best.

    Parameters
    ----------
    kind : {"temperature", "sigmoid", "isotonic"}
        See :class:`~worthwhile.policy.calibration.Calibration`.
    logs : float64 (n, n_classes)
        Logarithms of the probabilities.
    codes, weight : arrays (n,)
        Class and weight of each row.
    """
    n_classes = logs.shape[1]
    if kind == "isotonic":
        columns = [1] if n_classes == 2 else range(n_classes)
        lines = [_rising_line(np.exp(logs[:, k]), codes == k, weight) for k in columns]
        first = np.cumsum([0, *(len(x) for x, _ in lines)])
        corners = {
            "x": np.concatenate([x for x, _ in lines]),
            "y": np.concatenate([y for _, y in lines]),
        }
        return Calibration(kind, {**corners, "first": first.astype(np.int64)})
    slope, bias = best_slope(logs, codes, weight), np.zeros(n_classes)
    if kind == "sigmoid":
        slope, bias = _sigmoid(logs, codes, weight, slope)
    return Calibration(kind, {"slope": np.array([slope]), "bias": bias})


BINS = 10
"""Of the probability that is claimed, for the calibration error."""


def quality_of(
    kind: str, logs: Floats, codes: npt.NDArray[np.intp], weight: Floats, fold: npt.NDArray[np.intp]
) -> dict[str, Any]:
    """How well probabilities hold without and with a map, on rows that did not make either.

    Returns
    -------
    dict
        "kind", None where nothing is gained; "rows"; "brier" and "error", the mean squared error of the
        probabilities and how far the
        probability of the likeliest class is from the share that is right (mean over ten bins of equal
        size), with the map fitted on the other folds; "brier_before" and "error_before" without it.
    """
    before = links.exponential(logs)
    before /= links.row_sums(before)[:, None]
    after = before.copy()
    for number in np.unique(fold):
        own, other = fold == number, fold != number
        if other.any():
            after[own] = fit_map(kind, logs[other], codes[other], weight[other])(logs[own])
    found: dict[str, Any] = {"kind": kind, "rows": len(codes)}
    for shares, name in ((after, ""), (before, "_before")):
        found[f"brier{name}"] = _brier(shares, codes, weight)
        found[f"error{name}"] = _calibration_error(shares, codes, weight)
    if found["brier"] >= found["brier_before"]:
        found["kind"] = None
    return found


def _brier(shares: Floats, codes: npt.NDArray[np.intp], weight: Floats) -> float:
    hit = np.zeros(shares.shape)
    hit[np.arange(len(codes)), codes] = 1.0
    return float(np.average(((shares - hit) ** 2).sum(axis=1), weights=weight))


def _calibration_error(shares: Floats, codes: npt.NDArray[np.intp], weight: Floats) -> float:
    claimed, right = shares.max(axis=1), shares.argmax(axis=1) == codes
    parts = np.array_split(np.argsort(claimed, kind="stable"), min(BINS, len(codes)))
    gaps = [abs(float((weight[p] * (claimed[p] - right[p])).sum())) for p in parts]
    return float(sum(gaps) / weight.sum())


def _sigmoid(
    logs: Floats, codes: npt.NDArray[np.intp], weight: Floats, start: float
) -> tuple[float, Floats]:
    """Slope, and a constant per class, of least log-loss; the constants add up to 0."""
    n, n_classes = logs.shape
    share = weight / weight.sum()
    hit = np.zeros((n, n_classes))
    hit[np.arange(n), codes] = 1.0

    def loss(at: Floats) -> tuple[float, Floats]:
        raw = at[0] * logs + at[1:]
        apart = share[:, None] * (links.softmax(raw) - hit)
        # A little against constants that a class of very few rows would send to infinity.
        pull = at[1:] / n
        value = -np.add.reduce(share * links.log_softmax(raw)[np.arange(n), codes])
        gradient = np.append(np.add.reduce((apart * logs).ravel()), apart.sum(axis=0) + pull)
        return float(value + at[1:] @ pull / 2), gradient

    bounds = [(FLATTEST, STEEPEST), *[(None, None)] * n_classes]
    found = minimize(loss, np.append(start, np.zeros(n_classes)), jac=True, bounds=bounds)
    return float(found.x[0]), np.asarray(found.x[1:] - found.x[1:].mean())


def _rising_line(
    share: Floats, is_class: npt.NDArray[np.bool_], weight: Floats
) -> tuple[Floats, Floats]:
    """Corners of the line that never falls and fits best; it stays clear of 0 and 1 by half a row."""
    line = IsotonicRegression(y_min=0.0, y_max=1.0).fit(share, is_class, sample_weight=weight)
    edge = 0.5 / (len(share) + 1)
    x, y = line.X_thresholds_, np.clip(line.y_thresholds_, edge, 1.0 - edge)
    x, first = np.unique(x, return_index=True)
    if len(x) == 1:
        return np.array([x[0], x[0] + 1.0]), np.repeat(y[first], 2)
    return x.astype(np.float64), y[first].astype(np.float64)
