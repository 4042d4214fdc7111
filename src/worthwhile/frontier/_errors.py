"""Prices of errors in searches and comparisons."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.base import clone

from worthwhile.costs import Errors
from worthwhile.metrics import TotalCost


def read_errors(errors: Any, y: Any, *, classes: bool, scoring: Any, qid: Any) -> Errors | None:
    """Prices of errors, refused before any work where they do not fit.

    For numbers, a number is the price of one unit of the squared error.
    """
    if errors is None:
        return None
    for given, name in ((scoring, "scoring"), (qid, "qid")):
        if given is not None:
            raise ValueError(
                f"errors and {name} are both given: where errors have prices, the score is the total of each row."
            )
    loss = getattr(errors, "loss", None) or "squared"
    found = Errors.of(errors, None if classes else loss)
    assert found is not None
    if classes:
        found.for_classes(np.unique(np.asarray(y)))
    return found


def scoring_by(errors: Errors | None, scoring: Any) -> Any:
    """What to be best in."""
    return scoring if errors is None else TotalCost(errors)


def deciding(estimator: Any, errors: Errors | None) -> Any:
    """A copy of an estimator that learns by prices of errors, if it can."""
    if errors is None or not getattr(estimator, "knows_errors", False):
        return estimator
    values = {"errors": errors, "worth": None, "refer": None}
    known = estimator.get_params(deep=False)
    return clone(estimator).set_params(**{n: v for n, v in values.items() if n in known})


def in_sweeps(estimator: Any, errors: Errors | None) -> Any:
    """The same for models that are compared: a map for their probabilities would take six fits instead of one."""
    found = deciding(estimator, errors)
    itself = errors is None or getattr(estimator, "calibrates_itself", False)
    if itself or found.get_params(deep=False).get("calibrate", "") is not None:
        return found
    return clone(found).set_params(calibrate=False)


def decided(model: Any, errors: Errors | None) -> Any:
    """A fitted model that decides by prices of errors, if it did not learn to; within a pipeline, too."""
    inner = getattr(model, "best_estimator_", model)
    if errors is None or not hasattr(inner, "with_errors") or inner.policy_.output.errors == errors:
        return model
    if inner is model:
        return model.with_errors(errors)
    twin = copy.copy(model)
    twin.best_estimator_ = inner.with_errors(errors)
    return twin
