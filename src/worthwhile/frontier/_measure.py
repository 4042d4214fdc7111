"""One unit of a sweep: fit on some rows, bill and score on others."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.metrics import check_scoring, make_scorer
from sklearn.utils import _safe_indexing

from worthwhile._messages import on_purpose
from worthwhile.costs import QUANTA_PER_UNIT
from worthwhile.frontier._stages import cuts

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.intp]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LabelledRows:
    """Data with what belongs to each row."""

    X: Any
    y: Any
    weight: Array | None = None
    qid: Array | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows: Indices) -> LabelledRows:
        """Some of the rows."""
        return LabelledRows(
            _safe_indexing(self.X, rows),
            _safe_indexing(self.y, rows),
            None if self.weight is None else self.weight[rows],
            None if self.qid is None else self.qid[rows],
        )


@dataclass(frozen=True)
class Judge:
    """Scores and bills models; queries are passed to whoever knows of them."""

    scorer: Callable[..., float]
    scorer_takes_qid: bool

    @classmethod
    def of(cls, estimator: Any, scoring: Any, y: Any = None) -> Judge:
        """Read ``scoring``: None is the estimator's own score.

        A score by name that asks for the positive one of two classes gets the second of the sorted
        labels, whatever they are: scikit-learn would look for a 1.
        """
        scorer = check_scoring(estimator, scoring)
        metric = getattr(scorer, "_score_func", None)
        if isinstance(scoring, str) and metric is not None and takes(metric, "pos_label"):
            labels = np.unique(np.asarray(y))
            if len(labels) == 2 and 1 not in labels:
                scorer = with_positive(scorer, labels[1])
        return cls(scorer, takes(scorer, "qid"))

    def score(self, model: Any, rows: LabelledRows) -> float:
        """The score on some rows."""
        more = {"qid": rows.qid} if self.scorer_takes_qid and rows.qid is not None else {}
        return float(self.scorer(model, rows.X, rows.y, **more))


def with_positive(scorer: Any, label: Any) -> Any:
    """A scorer of scikit-learn that counts this label as the positive one."""
    return make_scorer(
        scorer._score_func, response_method=scorer._response_method,
        greater_is_better=scorer._sign > 0, **{**scorer._kwargs, "pos_label": label},
    )  # fmt: skip


def bills(model: Any, rows: LabelledRows) -> Ints:
    """The bill of each row in whole quanta."""
    more = {"qid": rows.qid} if rows.qid is not None and takes(model.predict, "qid") else {}
    exact: Ints = np.rint(model.cost(rows.X, **more) * QUANTA_PER_UNIT).astype(np.int64)
    return exact


def train(estimator: Any, params: dict[str, Any], rows: LabelledRows) -> Any:
    """A fitted copy of an estimator with other parameters."""
    model = clone(estimator).set_params(**params)
    more: dict[str, Any] = {}
    if rows.weight is not None:
        more["sample_weight"] = rows.weight
    if rows.qid is not None and takes(model.fit, "qid"):
        more["qid"] = rows.qid
    with on_purpose():
        return model.fit(rows.X, rows.y, **more)


def run_unit(
    estimator: Any, params: dict[str, Any], rows: LabelledRows, fold: tuple[Indices, Indices],
    blocks: Ints, judge: Judge,
) -> dict[str, Any]:  # fmt: skip
    """Fit on one part of a fold, and measure every stage on the other; plain values only.

    ``blocks`` numbers the block of each row; bills are summed by block, which is all that their
    sampling error needs. The bill of the training rows tells how much it differs from that of new
    ones.
    """
    seen, held = rows.take(fold[0]), rows.take(fold[1])
    start = time.perf_counter()
    model = train(estimator, params, seen)
    seconds = time.perf_counter() - start
    block = blocks[fold[1]]
    stages = []
    for stage, part in cuts(model):
        sums = np.zeros(int(blocks.max()) + 1, dtype=np.int64)
        np.add.at(sums, block, bills(part, held))
        stages.append(
            {
                "stage": stage,
                "score": judge.score(part, held),
                "bills": sums.tolist(),
                "training_bill": float(bills(part, seen).mean() / QUANTA_PER_UNIT),
            }
        )
    return {"seconds": seconds, "stages": stages}


def takes(function: Any, name: str) -> bool:
    """Whether a function has an argument of this name."""
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
