"""Folds in which queries and groups stay whole."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv
from sklearn.utils.multiclass import type_of_target

from worthwhile.frontier._measure import Array, Indices, LabelledRows
from worthwhile.metrics import query_folds

Folds = list[tuple[Indices, Indices]]


def make_folds(cv: Any, estimator: Any, rows: LabelledRows, groups: Array | None) -> Folds:
    """Read ``cv``; a number of folds keeps queries and groups whole, anything else must too."""
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool) and cv > 1:
        splits = _by_number(int(cv), estimator, rows, groups)
    else:
        splitter = check_cv(cv, rows.y, classifier=is_classifier(estimator))
        splits = splitter.split(rows.X, rows.y, rows.qid if groups is None else groups)
    folds = [(np.asarray(train), np.asarray(held)) for train, held in splits]
    folds = [
        (np.flatnonzero(train), np.flatnonzero(held)) if train.dtype == bool else (train, held)
        for train, held in folds
    ]
    for number, (train, held) in enumerate(folds):
        if len(train) == 0 or len(held) == 0:
            raise ValueError(f"cv has no rows to train on or to validate on in fold {number}.")
        for clusters, what in ((rows.qid, "query"), (groups, "group")):
            if clusters is not None:
                _check_whole(number, clusters[train], clusters[held], what)
    return folds


def _by_number(cv: int, estimator: Any, rows: LabelledRows, groups: Array | None) -> Any:
    if groups is None and rows.qid is not None:
        return query_folds(rows.qid, cv)
    if groups is None:
        return check_cv(cv, rows.y, classifier=is_classifier(estimator)).split(rows.X, rows.y)
    if len(np.unique(groups)) < cv:
        raise ValueError(
            f"cv is {cv} for {len(np.unique(groups))} groups: a group is never split, so give at most as many folds."
        )
    labels = is_classifier(estimator) and type_of_target(rows.y) in ("binary", "multiclass")
    splitter = StratifiedGroupKFold(cv) if labels else GroupKFold(cv)
    return splitter.split(rows.X, rows.y, groups)


def _check_whole(number: int, train: Array, held: Array, what: str) -> None:
    shared = np.intersect1d(train, held)
    if len(shared):
        raise ValueError(
            f"cv puts {what} {shared[0]!r} into both parts of fold {number}: use a number of folds, which keeps it "
            "whole, or a splitter by groups."
        )
