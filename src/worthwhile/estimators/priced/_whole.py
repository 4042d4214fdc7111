"""Models that nobody sees inside: what they answer with, and what stands for answers and values they lack."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _num_features

from worthwhile.columns import Columns, is_frame
from worthwhile.columns.table import places_of
from worthwhile.costs import Costs
from worthwhile.policy.output import Output

Floats = npt.NDArray[np.float64]


def classifier_output(model: Any) -> tuple[Output, str, npt.NDArray[Any] | None]:
    """How to read a foreign classifier: by probabilities, else scores, else bare labels."""
    classes = np.asarray(model.classes_)
    if hasattr(model, "predict_proba"):
        return Output("probabilities", classes), "predict_proba", None
    if hasattr(model, "decision_function"):
        return (
            Output("score" if len(classes) == 2 else "scores", classes),
            "decision_function",
            None,
        )
    return Output("scores", classes), "predict", classes


def fallback_of(fallback: Any, output: Output) -> Floats:
    """The raw output that stands for an answer given as label, probabilities or number."""
    if output.classes is None:
        raw = np.atleast_1d(np.asarray(fallback, dtype=np.float64))
        if raw.shape != (1,) or not np.isfinite(raw).all():
            raise ValueError(
                f"fallback is {fallback!r}: a regressor falls back on one finite number."
            )
        return raw
    classes = output.classes.tolist()
    if np.ndim(fallback) == 0:
        if fallback not in classes:
            raise ValueError(
                f"fallback is {fallback!r}: it is one of the classes {classes}, or their probabilities."
            )
        raw = (output.classes == fallback).astype(np.float64)
        return raw[1:] - raw[:1] if output.kind == "score" else raw
    raw = np.asarray(fallback, dtype=np.float64)
    if (
        output.kind != "probabilities"
        or raw.shape != (len(classes),)
        or abs(raw.sum() - 1) > 1e-6
        or (raw < 0).any()
    ):
        raise ValueError(
            f"fallback is {fallback!r}: give one of the classes {classes}"
            + (
                ", or their probabilities, which add to 1."
                if output.kind == "probabilities"
                else "."
            )
        )
    return raw


def typical(background: Any, costs: Costs, columns: Columns | None) -> Floats:
    """Means of the columns of a sample, by name where there are names; of a category, the most frequent level."""
    places = None
    if is_frame(background) and costs.feature_names is not None:
        places = places_of(background, costs.feature_names, range(costs.n_features))
    elif _num_features(background) != costs.n_features or len(background) == 0:
        raise ValueError(
            f"background has shape {np.shape(background)}: give rows of {costs.n_features} columns."
        )
    columns = Columns.numbers(costs.n_features) if columns is None else columns
    sample = columns.read(background, places=places)
    seen = np.isfinite(sample)
    if not seen.any(axis=0).all():
        column = int(np.flatnonzero(~seen.any(axis=0))[0])
        raise ValueError(
            f"background has no value for {costs.name(column)!r}: a mean needs at least one."
        )
    means: Floats = np.where(seen, sample, 0.0).sum(axis=0) / seen.sum(axis=0)
    for place in np.flatnonzero(columns.categorical):
        codes = sample[seen[:, place], place].astype(np.intp)
        means[place] = np.bincount(codes).argmax()
    return means
