"""Who trains on which rows: decided once, from the targets and weights of all rows.

Targets are one number per row and are read in one place, by the very code of the local fit; features
are many, and only ever seen by the rank that trains on them.
"""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_X_y

from worthwhile.core.boosting.gradients import ROWS
from worthwhile.core.boosting.lambdarank import cut_into_parts
from worthwhile.core.queries import Queries
from worthwhile.costs import Costs
from worthwhile.estimators.boosting import GreedyMiserClassifier, GreedyMiserRegressor

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Miser = GreedyMiserRegressor | GreedyMiserClassifier


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
    qid : int64 (n,), or None
        Queries, where there are any.
    """

    rows: Indices
    y: Floats
    weight: Floats | None
    qid: Indices | None = None

    def cut(self, low: int, high: int) -> Part:
        """Those from ``low`` to ``high``."""
        weight = None if self.weight is None else self.weight[low:high]
        qid = None if self.qid is None else self.qid[low:high]
        return Part(self.rows[low:high], self.y[low:high], weight, qid)


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
        What each rank trains on. Shares begin at multiples of 16,384 rows, as sums of losses are made; with
        ``loss="lambdarank"``, between queries, where such sums are made then.
    held : list of Part, or None
        What each rank holds out.
    validation : array (v, d), ReadElsewhere, or None
        Validation rows, where they were given: ``held`` then counts these instead of the training rows.
    """

    model: Miser
    costs: Costs
    train: list[Part]
    held: list[Part] | None
    validation: Any = None

    def among(self, n_ranks: int) -> Plan:
        """The same rows shared among another number of ranks."""
        whole = self.model.loss == "lambdarank"
        held = None if self.held is None else _shares(_joined(self.held), n_ranks, whole)
        return replace(self, train=_shares(_joined(self.train), n_ranks, whole), held=held)


def _joined(parts: list[Part]) -> Part:
    """All parts as one."""

    def column(name: str) -> Any:
        found = [getattr(part, name) for part in parts if getattr(part, name) is not None]
        return np.concatenate(found) if found else None

    return Part(*(column(name) for name in ("rows", "y", "weight", "qid")))


def refuse_what_is_not_there(model: Miser) -> None:
    """Refuse what only a local fit can do, before any work."""
    wrong = {
        "lam='auto'": isinstance(model.lam, str),
        "warm_start=True": model.warm_start,
        "calibrate": bool(getattr(model, "calibrate", None)),
        "errors": getattr(model, "errors", None) is not None,
    }
    for name, found in wrong.items():
        if found:
            instead = "give a number" if name.startswith("lam") else "leave it out"
            raise NotImplementedError(
                f"{name} is not there for training in several processes: {instead}, or fit {_local_name(model)} on a "
                "table in memory."
            )


def plan_fit(
    model: Miser,
    y: Any,
    sample_weight: Any,
    costs: Costs,
    n_ranks: int,
    validation: Any = None,
    qid: Any = None,
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
    validation : (X, y), or (X, y, qid), optional
        Validation rows, in memory; or ReadElsewhere as ``X``.
    qid : array (n,), optional
        Query of each row.

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
    training = model._training_of(rows, y, costs, sample_weight, validation, qid)
    loss = model._loss_of(
        training.y, training.weight, training.qid
    )  # refuses what does not suit it
    loss.base()
    if model.scoring == "ndcg" and training.y_held is not None:
        model._score_of(training.y_held, loss, training.qid_held)
    held = None
    if training.X_held is not None and training.y_held is not None:
        numbers = training.X_held[:, 0] if validation is None else np.arange(len(training.X_held))
        held = [Part(numbers, training.y_held, training.weight_held, _codes(training.qid_held))]
    train = [Part(training.X[:, 0], training.y, training.weight, _codes(training.qid))]
    given = None if validation is None else training.X_held
    return Plan(model, costs, train, held, given).among(n_ranks)


def _codes(qid: Array | None) -> Indices | None:
    """Queries as numbers, whatever their names are."""
    return None if qid is None else np.unique(qid, return_inverse=True)[1].astype(np.int64)


def _shares(part: Part, n_ranks: int, whole_queries: bool) -> list[Part]:
    """Shares of rows of about equal size."""
    n = len(part.rows)
    starts = _between_queries(part.qid, n) if whole_queries else list(range(0, n, ROWS)) or [0]
    edges = [starts[rank * len(starts) // n_ranks] for rank in range(n_ranks)]
    return [part.cut(low, high) for low, high in itertools.pairwise([*edges, n])]


def _between_queries(qid: Indices | None, n: int) -> list[int]:
    """Rows at which a part of the loss begins and no query is under way, the first row among them."""
    queries = Queries.of(qid, n)
    starts = queries.bounds[cut_into_parts(queries.bounds)[:-1]]
    if (
        queries.rows is not None
    ):  # queries come in pieces: what lies before a cut must not go on behind it
        last = np.maximum.accumulate(queries.rows)
        starts = starts[(starts == 0) | (last[starts - 1] < starts)]
    found: list[int] = starts.tolist()
    return found or [0]


def _local_name(model: Miser) -> str:
    classifies = isinstance(model, GreedyMiserClassifier)
    return "GreedyMiserClassifier" if classifies else "GreedyMiserRegressor"
