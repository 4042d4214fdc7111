"""Who trains on which rows: decided once, from the targets and weights of all rows.

Targets are one number per row and are read in one place, by the very code of the local fit; features
are many, and only ever seen by the rank that trains on them.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_X_y

from worthwhile.core.boosting.gradients import ROWS
from worthwhile.costs import Costs
from worthwhile.estimators.boosting import GreedyMiserClassifier, GreedyMiserRegressor

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Miser = GreedyMiserRegressor | GreedyMiserClassifier

LOSSES = ("squared", "auto", "logistic", "multinomial", "poisson", "tweedie")
"""Losses that ranks can train on together."""


@dataclass(frozen=True)
class Part:
    """What a rank trains on, or is held out at it.

    Attributes
    ----------
    rows : int64 (n,)
        Numbers of the rows among all, ascending.
    y : float64 (n,)
        Targets, or class numbers.
    weight : float64 (n,), or None
        Weights.
    """

    rows: Indices
    y: Floats
    weight: Floats | None


@dataclass(frozen=True)
class Plan:
    """A fit that is ready to be run by several ranks.

    Attributes
    ----------
    model : GreedyMiserRegressor or GreedyMiserClassifier
        With seed, classes and columns set; every rank fits a copy of it.
    costs : Costs
        Prices of the columns that ranks train on.
    train : list of Part
        What each rank trains on. Shares begin at multiples of 16,384 rows, as sums of losses are made.
    held : list of Part, or None
        What each rank holds out.
    validation : array (v, d), or None
        Validation rows, where they were given: ``held`` then counts these instead of the training rows.
    """

    model: Miser
    costs: Costs
    train: list[Part]
    held: list[Part] | None
    validation: Array | None = None

    def among(self, n_ranks: int) -> Plan:
        """The same rows shared among another number of ranks."""
        held = None if self.held is None else _shares(*_whole(self.held), n_ranks)
        return replace(self, train=_shares(*_whole(self.train), n_ranks), held=held)


def _whole(parts: list[Part]) -> tuple[Indices, Floats, Floats | None]:
    """Rows, targets and weights of all parts."""
    weights = [part.weight for part in parts if part.weight is not None]
    return (
        np.concatenate([part.rows for part in parts]), np.concatenate([part.y for part in parts]),
        np.concatenate(weights) if weights else None,
    )  # fmt: skip


def refuse_what_is_not_there(model: Miser, qid: Any = None) -> None:
    """Refuse what only a local fit can do, before any work."""
    loss = model.loss if isinstance(model.loss, str) else "an object"
    wrong = {
        "lam='auto'": isinstance(model.lam, str),
        "warm_start=True": model.warm_start,
        f"loss={loss!r}": loss not in LOSSES,
        "a function as scoring": callable(model.scoring),
        "scoring='ndcg'": isinstance(model.scoring, str) and model.scoring == "ndcg",
        "calibrate": bool(getattr(model, "calibrate", None)),
        "errors": getattr(model, "errors", None) is not None,
        "qid": qid is not None,
    }
    for name, found in wrong.items():
        if found:
            raise NotImplementedError(
                f"{name} is not there for training in several processes: it takes the losses "
                f"{', '.join(LOSSES)}, a number as lam, validation_fraction and scoring='loss' or 'accuracy'. Fit "
                f"{_local_name(model)} on a table in memory instead."
            )


def plan_fit(
    model: Miser, y: Any, sample_weight: Any, costs: Costs, n_ranks: int, validation: Any = None
) -> Plan:
    """Read targets and weights, hold rows out, and share the rows among the ranks.

    Parameters
    ----------
    model : GreedyMiserRegressor or GreedyMiserClassifier
        What is to be fitted; it is left as it is.
    y, sample_weight : arrays (n,)
        Targets, and weights or None, of all rows.
    costs : Costs
        Prices of the columns that are trained on.
    n_ranks : int
        Processes.
    validation : (X, y), optional
        Validation rows, in memory.

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import Costs, GreedyMiserRegressor
    >>> y = np.arange(40_000.0)
    >>> plan = plan_fit(GreedyMiserRegressor(), y, None, Costs([1, 2]), 2)
    >>> [len(part.rows) for part in plan.train], [len(part.rows) for part in plan.held]
    ([16384, 19616], [0, 4000])
    """
    model = copy.copy(model)
    model._validate_params()
    refuse_what_is_not_there(model)
    model._begin()
    rows = np.arange(len(y))[:, None]
    _, y = check_X_y(rows, y, multi_output=False, ensure_min_samples=2)
    training = model._training_of(rows, y, costs, sample_weight, validation)
    loss = model._loss(training.y, training.weight)  # refuses targets that do not suit it
    loss.base()
    held = None
    if training.X_held is not None and training.y_held is not None:
        numbers = training.X_held[:, 0] if validation is None else np.arange(len(training.X_held))
        held = _shares(numbers, training.y_held, training.weight_held, n_ranks)
    train = _shares(training.X[:, 0], training.y, training.weight, n_ranks)
    return Plan(model, costs, train, held, None if validation is None else training.X_held)


def _shares(rows: Indices, y: Floats, weight: Floats | None, n_ranks: int) -> list[Part]:
    """Shares of rows of about equal size."""
    blocks = -(-len(rows) // ROWS)
    edges = [min(len(rows), ROWS * (rank * blocks // n_ranks)) for rank in range(n_ranks)]
    edges.append(len(rows))
    cuts = [slice(edges[rank], edges[rank + 1]) for rank in range(n_ranks)]
    return [Part(rows[cut], y[cut], None if weight is None else weight[cut]) for cut in cuts]


def _local_name(model: Miser) -> str:
    classifies = isinstance(model, GreedyMiserClassifier)
    return "GreedyMiserClassifier" if classifies else "GreedyMiserRegressor"
