"""Development rows: given, or set aside."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import validate_data

from costwise.policy._selection_rows import Ints

Floats = npt.NDArray[np.float64]
Part = tuple[Floats, Ints]


def read_validation(
    estimator: Any, X: Floats, codes: Ints, validation: Any, fraction: float, seed: int
) -> tuple[Part, Part]:
    """Training and development rows with class codes.

    Rows are set aside class by class, and every class keeps at least one row for training.
    """
    if validation is None:
        aside = _set_aside(codes, fraction, seed)
        if not aside.any():  # one row per class: there is nothing else to choose with
            return (X, codes), (X, codes)
        return (X[~aside], codes[~aside]), (X[aside], codes[aside])
    if not isinstance(validation, (tuple, list)) or len(validation) != 2:
        raise ValueError(f"validation is {type(validation).__name__}: give a pair (X, y).")
    X_dev, y_dev = validation
    X_dev = validate_data(
        estimator, X_dev, reset=False, dtype=np.float64, ensure_all_finite="allow-nan"
    )
    y_dev = np.asarray(y_dev)
    if y_dev.shape != (len(X_dev),):
        raise ValueError(
            f"validation has {len(X_dev)} rows and labels of shape {y_dev.shape}: give one per row."
        )
    if strange := sorted(set(y_dev.tolist()) - set(estimator.classes_.tolist())):
        raise ValueError(
            f"validation has the label {strange[0]!r}, which the training labels do not have: "
            "drop these rows, or train on some of them."
        )
    return (X, codes), (X_dev, np.searchsorted(estimator.classes_, y_dev))


def _set_aside(codes: Ints, fraction: float, seed: int) -> npt.NDArray[np.bool_]:
    rng = np.random.default_rng(seed)
    aside = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        aside[rows[: min(int(np.ceil(fraction * len(rows))), len(rows) - 1)]] = True
    return aside
