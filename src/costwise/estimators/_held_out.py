"""Validation rows: given by the caller, or set aside from the training rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import column_or_1d, validate_data

Array = npt.NDArray[Any]


def read_validation(estimator: Any, validation: Any) -> tuple[Array, Array]:
    """Check ``validation=(X, y)``."""
    if not isinstance(validation, (tuple, list)) or len(validation) != 2:
        raise ValueError(
            f"validation is a {type(validation).__name__}: it is a pair (X, y) of further rows and their targets."
        )
    X = validate_data(
        estimator, validation[0], reset=False, dtype="numeric", ensure_all_finite="allow-nan"
    )
    y = column_or_1d(validation[1])
    check_consistent_length(X, y)
    return X, y


def hold_out(
    n: int, codes: Array | None, fraction: float, rng: np.random.Generator
) -> npt.NDArray[np.intp]:
    """Choose rows to hold out, in proportion from every class where there are classes."""
    strata = (
        [np.arange(n)] if codes is None else [np.flatnonzero(codes == c) for c in np.unique(codes)]
    )
    parts = []
    for stratum in strata:
        size = min(round(fraction * len(stratum)), len(stratum) - 1)
        parts.append(rng.permutation(stratum)[:size])
    rows = np.sort(np.concatenate(parts))
    if len(rows) == 0:
        raise ValueError(
            f"validation_fraction={fraction} of {n} rows holds out none: raise it, or give validation=(X, y)."
        )
    return rows
