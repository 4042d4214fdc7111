"""Predictions of a Dask table, partition by partition, when they are wanted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from worthwhile.dask._collections import check_table, is_array

WIDE = ("predict_proba", "acquired")
"""Methods that answer with several columns."""


def run(model: Any, method: str, X: Any, how: dict[str, Any]) -> Any:
    """What a local model answers, as a Dask array for an array, and with the index for a frame."""
    check_table(X, f"Dask{type(model).__name__}")
    labels = _labels(model, method)
    empty = _empty(model, method)
    if is_array(X):
        X = X.rechunk({1: -1})
        shape = {"drop_axis": 1} if labels is None else {"chunks": (X.chunks[0], (len(labels),))}
        return X.map_blocks(_apply, model, method, how, dtype=empty.dtype, meta=empty, **shape)
    index = X._meta.index[:0]
    meta = (
        pd.Series(empty, index=index, name=method) if labels is None
        else pd.DataFrame(empty, index=index, columns=labels)
    )  # fmt: skip
    return X.map_partitions(_framed, model, method, how, labels, meta=meta)


def _labels(model: Any, method: str) -> list[Any] | None:
    """Names of the columns of an answer, where it has several."""
    if method == "predict_proba":
        return list(model.classes_.tolist())
    if method == "acquired":
        names = model.policy_.costs.feature_names
        return list(range(model.n_features_in_)) if names is None else list(names)
    return None


def _empty(model: Any, method: str) -> Any:
    """The answer for no rows."""
    if method == "predict":
        classes = getattr(model, "classes_", None)
        return np.empty(0, dtype=np.float64 if classes is None else classes.dtype)
    labels = _labels(model, method)
    kind = {"acquired": np.bool_, "evaluated": np.int64}.get(method, np.float64)
    return np.empty(0 if labels is None else (0, len(labels)), dtype=kind)


def _apply(part: Any, model: Any, method: str, how: dict[str, Any]) -> Any:
    return getattr(model, method)(part, **how) if len(part) else _empty(model, method)


def _framed(part: Any, model: Any, method: str, how: dict[str, Any], labels: Any) -> Any:
    found = _apply(part, model, method, how)
    if labels is None:
        return pd.Series(found, index=part.index, name=method)
    return pd.DataFrame(found, index=part.index, columns=labels)
