"""One unit of a sweep: fit on some rows, bill and score on others."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring, make_scorer
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import check_consistent_length, column_or_1d, indexable

from worthwhile._messages import on_purpose, some
from worthwhile.costs import QUANTA_PER_UNIT
from worthwhile.frontier._stages import cuts, limits
from worthwhile.metrics import RankingScorer

Array = npt.NDArray[Any]
Indices = npt.NDArray[np.intp]
Ints = npt.NDArray[np.int64]

RANKINGS = {
    "ndcg": RankingScorer("ndcg"),
    "precision@5": RankingScorer("precision"),
    "run_precision@5": RankingScorer("run_precision"),
}
"""Scores of rankings by name, beside those of scikit-learn."""

SHOWN = {"r2": "R2", "ndcg": "NDCG@5"}
"""What scores are called in tables, where their name is not enough."""


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
    def of(cls, estimator: Any, scoring: Any, y: Any = None, positive: Any = None) -> Judge:
        """Read ``scoring``: None is the estimator's own score, names of :data:`RANKINGS` are ours.

        A score by name that asks for the positive one of two classes gets ``positive``, or the
        second of the sorted labels, whatever they are: scikit-learn would look for a 1, which is the first
        of 1 and 2.
        """
        ranking = RANKINGS.get(scoring) if isinstance(scoring, str) else None
        scorer = check_scoring(estimator, scoring if ranking is None else ranking)
        metric = getattr(scorer, "_score_func", None)
        asks = isinstance(scoring, str) and metric is not None and takes(metric, "pos_label")
        asks = asks and scorer._kwargs.get("average", "binary") == "binary"  # f1_macro is about all
        labels: Array = np.unique(np.asarray(y)) if asks or positive is not None else np.empty(0)
        if positive is not None and (len(labels) != 2 or positive not in labels):
            raise ValueError(
                f"positive is {positive!r}: it is one of the labels of y, of which there are two; here they are "
                f"{some(labels)}."
            )
        if asks and len(labels) == 2 and (positive is not None or labels[1] != 1):
            scorer = with_positive(scorer, labels[1] if positive is None else positive)
        return cls(scorer, takes(scorer, "qid"))

    def score(self, model: Any, rows: LabelledRows) -> float:
        """The score on some rows."""
        more = {"qid": rows.qid} if self.scorer_takes_qid and rows.qid is not None else {}
        return float(self.scorer(model, rows.X, rows.y, **more))


def usual_scoring(estimator: Any, scoring: Any, qid: Any) -> Any:
    """What to be best in where nothing is said: NDCG@5 of numbers with queries, else the estimator's own score."""
    ranks = scoring is None and qid is not None and not is_classifier(estimator)
    return "ndcg" if ranks else scoring


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
    return fitted(clone(estimator).set_params(**params), rows)


def fitted(model: Any, rows: LabelledRows) -> Any:
    """A model, fitted with what belongs to the rows; queries go to whoever knows of them."""
    more: dict[str, Any] = {}
    if rows.weight is not None:
        more["sample_weight"] = rows.weight
    if rows.qid is not None and takes(model.fit, "qid"):
        more["qid"] = rows.qid
    with on_purpose():
        return model.fit(rows.X, rows.y, **more)


def grid_of(estimator: Any, rows: LabelledRows) -> list[dict[str, Any]]:
    """Points of an estimator's trade-off on some rows."""
    queries = rows.qid is not None and takes(estimator.trade_off_grid, "qid")
    grid: list[dict[str, Any]] = estimator.trade_off_grid(
        rows.X, rows.y, **({"qid": rows.qid} if queries else {})
    )
    return grid


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

    def look(stage: int | None, part: Any, **more: Any) -> dict[str, Any]:
        sums = np.zeros(int(blocks.max()) + 1, dtype=np.int64)
        np.add.at(sums, block, bills(part, held))
        return {
            "stage": stage,
            "score": judge.score(part, held),
            "bills": sums.tolist(),
            "training_bill": float(bills(part, seen).mean() / QUANTA_PER_UNIT),
            **more,
        }

    stages = [look(stage, part) for stage, part in cuts(model)]
    if rows.qid is None:  # there a budget is for the whole query
        found = [look(None, part, case_budget=budget) for budget, part in limits(model)]
        # Within a budget that binds for nobody it is the whole model.
        stages = [one for one in found if one["bills"] != stages[-1]["bills"]] + stages
    return {"seconds": seconds, "stages": stages}


def takes(function: Any, name: str) -> bool:
    """Whether a function has an argument of this name."""
    try:
        return name in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def read_rows(X: Any, y: Any, weight: Any, groups: Any, qid: Any) -> tuple[LabelledRows, Any]:
    """Check that everything has one entry per row."""
    X, y = indexable(X, y)
    found = []
    for values, what in ((weight, "sample_weight"), (groups, "groups"), (qid, "qid")):
        if values is not None:
            values = column_or_1d(values)
            if len(values) != len(y):
                raise ValueError(
                    f"{what} has {len(values)} entries for {len(y)} rows: give one per row."
                )
        found.append(values)
    check_consistent_length(X, y)
    return LabelledRows(X, y, found[0], found[2]), found[1]


def score_name(estimator: Any, scoring: Any) -> str:
    """What a search calls its score."""
    if isinstance(scoring, str):
        return SHOWN.get(scoring, scoring)
    if scoring is None:
        return "accuracy" if get_tags(estimator).estimator_type == "classifier" else "R2"
    return str(getattr(scoring, "metric", getattr(scoring, "__name__", "score")))
