"""Rows for training and rows for choosing: weights, hold-outs, given validation sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import compute_sample_weight
from sklearn.utils.validation import _check_sample_weight, validate_data

from costwise.core.rounding import round_weights

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]


def read_weights(sample_weight: Any, class_weight: Any, X: Any, y: Any) -> Floats:
    """Weights of the rows, as multiples of a power of two, so that sums do not depend on order."""
    weight = np.ones(len(X))
    if sample_weight is not None:
        weight = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if class_weight is not None:
        weight = weight * compute_sample_weight(class_weight, y)
    if not (weight > 0).any():
        raise ValueError(
            "sample_weight and class_weight are zero for every row: give at least one row a weight > 0."
        )
    if (weight == 1).all():
        return weight
    whole, power = round_weights(weight, len(weight))
    return np.ldexp(whole.astype(np.float64), -power)


def hold_out(codes: Indices, fraction: float, rng: np.random.Generator) -> tuple[Indices, Indices]:
    """Rows to train on and rows held out, class by class; a class keeps at least one row to train on."""
    held = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        held[rows[: min(int(len(rows) * fraction + 0.5), len(rows) - 1)]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def read_validation(
    estimator: Any, validation: Any, classes: npt.NDArray[Any]
) -> tuple[Any, Indices]:
    """Check a validation set ``(X, y)`` against the training data."""
    if not isinstance(validation, (tuple, list)) or len(validation) != 2:
        raise ValueError(
            f"validation is a {type(validation).__name__}: give a pair (X, y) of rows and labels."
        )
    X, y = validate_data(
        estimator, *validation, reset=False, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
    )  # fmt: skip
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(
            f"validation has the label {unknown.tolist()[0]!r}, which y has not: labels are {classes.tolist()}."
        )
    return X, np.searchsorted(classes, y)
