"""A map of probabilities for a model that was put together, from answers to rows that did not train it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from worthwhile.estimators._shared.calibrated_fit import enough_for_a_map, usual_map
from worthwhile.estimators._shared.calibration import fit_map, quality_of
from worthwhile.estimators.priced.priced_model import PricedModel


def with_map(
    model: PricedModel,
    raw: Any,
    y: Any,
    weight: Any,
    fold: NDArray[np.intp],
    asked: str | None = None,
) -> PricedModel:
    """The model with the map that was asked for, or with the usual one, where there are rows enough and it helps.

    Parameters
    ----------
    model : PricedModel
        A classifier without a map.
    raw : array
        What models like it, which had not seen them, answer to some rows.
    y, weight : array, array or None
        Labels and weights of the rows.
    fold : array
        Number of the model that answered to each row.
    asked : str, optional
        Kind of the map.
    """
    if asked is None and not enough_for_a_map(y):
        return model
    kind, logs = asked or usual_map(model.policy_.output), model.policy_.output.logs(raw)
    codes = np.searchsorted(model.classes_, np.asarray(y))
    weight = np.ones(len(codes)) if weight is None else weight
    if asked is None and quality_of(kind, logs, codes, weight, fold)["kind"] is None:
        return model
    return model._with_policy(model.policy_.calibrated(fit_map(kind, logs, codes, weight)))
