"""Weights of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import compute_sample_weight
from sklearn.utils.validation import _check_sample_weight

from worthwhile.core.boosting.rounding import round_weights

Floats = npt.NDArray[np.float64]

MOST_COPIES, USUAL_COPIES = 4, 2
"""How many times as many rows there may be where weights become copies, and how many there are usually."""


def read_weight(
    sample_weight: Any, X: Any, class_weight: Any = None, y: Any = None
) -> Floats | None:
    """Weights of the rows, those of their classes counted in; None where all rows count the same."""
    if sample_weight is None and class_weight is None:
        return None
    weight: Floats = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if class_weight is not None:
        by_class = compute_sample_weight(class_weight, y)
        if (by_class < 0).any():
            raise ValueError(
                f"class_weight has the weight {by_class.min():g}: give weights of 0 or more."
            )
        weight = weight * by_class
    if not weight.any():
        raise ValueError(
            "sample_weight and class_weight are zero for every row: give at least one row a weight > 0."
        )
    return None if (weight == 1.0).all() else weight


def relative_weight(weight: Floats | None, n_rows: int) -> Floats:
    """Weights whose mean is 1: where all are alike, exactly as without any.

    Examples
    --------
    >>> relative_weight(np.full(10, 0.1), 10).tolist() == relative_weight(None, 10).tolist()
    True
    """
    if weight is None or (weight == weight[0]).all():
        return np.ones(n_rows)
    return weight / float(weight.mean())


def check_class_weight(class_weight: Any) -> None:
    """Refuse what gives classes no weights."""
    if class_weight is None or isinstance(class_weight, dict):
        return
    if not isinstance(class_weight, str) or class_weight != "balanced":
        raise ValueError(
            f"class_weight is {class_weight!r}: give 'balanced', or a dict from labels to weights."
        )


def copies_by_weight(
    weight: Floats | None, n_rows: int, labels: Any = None
) -> npt.NDArray[np.intp]:
    """Rows as often as their weights say, for methods that count rows.

    Whole numbers are taken as they are while there are at most four times as many rows; other
    weights so that there are twice as many, each row within one copy of its share. With ``labels``
    (n,), of every class that has any weight at least its heaviest row stays.

    Examples
    --------
    >>> copies_by_weight(np.array([2.0, 0.0, 1.0]), 3).tolist()
    [0, 0, 2]
    >>> copies_by_weight(np.array([0.3, 0.1]), 2).tolist()
    [0, 0, 0, 1]
    """
    if weight is None:
        return np.arange(n_rows)
    total = weight.sum()
    whole = total <= MOST_COPIES * n_rows and (weight == np.round(weight)).all()
    scale = 1.0 if whole else USUAL_COPIES * n_rows / total
    ends = np.floor(np.cumsum(weight * scale) + 0.5).astype(np.intp)
    copies = np.repeat(np.arange(n_rows), np.diff(ends, prepend=0))
    if labels is None:
        return copies
    lost = np.setdiff1d(labels[weight > 0], labels[copies])
    kept = [int(np.argmax(np.where(labels == label, weight, -1.0))) for label in lost]
    return np.sort(np.append(copies, np.array(kept, dtype=np.intp)))


def exact_weight(weight: Floats | None, n_rows: int) -> Floats:
    """Weights as multiples of a power of two, so that their sums do not depend on order."""
    if weight is None:
        return np.ones(n_rows)
    whole, power = round_weights(weight, n_rows)
    return np.ldexp(whole.astype(np.float64), -power)


def drop_weightless(weight: Floats | None, *rows: Any) -> tuple[Any, ...]:
    """Weights and arrays of the rows that count: a row without weight is a row that is not there."""
    if weight is None or weight.all():
        return weight, *rows
    counts = weight > 0
    return weight[counts], *(None if part is None else part[counts] for part in rows)
