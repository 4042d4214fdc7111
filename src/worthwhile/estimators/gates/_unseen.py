"""What an existing model says about rows that it has not seen, where the rows given are its own."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.utils import _safe_indexing
from threadpoolctl import threadpool_limits

from worthwhile.core import links
from worthwhile.estimators._shared.calibration import best_slope
from worthwhile.estimators._shared.validation import split_rows
from worthwhile.estimators.gates._drop import FEWER, Gain, further
from worthwhile.estimators.priced.priced_model import PricedModel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

TRIAL_ROWS = 4000
"""Rows that tell whether a model knows them, at most."""

NEAR = 0.7
"""How far from new rows to its own a model's accuracy lies from where on the rows count as its own."""

LEAST_GAP = 0.01
"""A model that is better on its own rows by less than this needs no others."""

MOST_GROWTH = 3
"""Trees that a forest may need, beside its own, for each that it has, so that enough did not draw a row."""

PERFECT = 0.995
"""Accuracy of a model that cannot be trained again from which on it is taken to know the rows."""


@dataclass(frozen=True, eq=False)
class Unseen:
    """What was found out about the rows given.

    Attributes
    ----------
    proba : float64 (n, K) or None
        Probabilities by models that did not see the row; None where those of the model itself do.
    seen : bool
        Whether the model knows the rows too well, and nothing could be done about it.
    how : str
        Where ``proba`` come from, in words.
    gain : Gain
        What the model is expected to be better by than these models: they had fewer rows.
    """

    proba: Floats | None = None
    seen: bool = False
    how: str = ""
    gain: Gain = field(default_factory=Gain)


def ask_unseen(existing: Any, X: Any, codes: Ints, said: Floats, seed: int) -> Unseen:
    """See whether a model knows the rows, and if so ask copies of it that do not.

    Parameters
    ----------
    existing : the model as it was given
    X, codes : rows (numbers, or the table that the model reads) and their classes
    said : float64 (n, K)
        What the model itself says.
    seed : int
        Seed of the folds.
    """
    right = float(np.mean(np.argmax(said, axis=1) == codes))
    model = _inside(existing)
    if (told := _out_of_bag(model, X, codes, said.shape, right, seed)) is not None:
        return Unseen(told, how="out of bag")
    try:
        fresh = clone(model)
        if fresh.get_params().get("random_state", 0) is None:
            fresh.set_params(random_state=seed)
        if not _knows(fresh, X, codes, right, said, seed):
            return Unseen()
        return _out_of_fold(fresh, X, codes, said.shape[1], seed)
    except Exception:  # whatever a foreign model refuses: then it is not asked
        return Unseen(seen=right >= PERFECT)


def _inside(existing: Any) -> Any:
    """The model that could be trained again."""
    if isinstance(existing, FrozenEstimator):
        existing = existing.estimator
    return existing.model if isinstance(existing, PricedModel) else existing


def _out_of_bag(
    model: Any, X: Any, codes: Ints, shape: tuple[int, ...], right: float, seed: int
) -> Floats | None:
    """What trees that did not see a row say of it, if the model was trained on these rows."""
    found = _by_other_trees(model, X, codes, shape, right, seed)
    if found is None:
        found = getattr(model, "oob_decision_function_", None)
    if found is None or np.shape(found) != shape:
        return None
    proba = np.array(found, dtype=np.float64)
    prior = np.bincount(codes, minlength=shape[1]) / len(codes)
    empty = ~np.isfinite(proba).all(axis=1) | (proba.sum(axis=1) <= 0)
    proba[empty] = prior
    agrees = float(np.mean(np.argmax(proba, axis=1) == codes))
    # Of other rows in the same number it would be right no more often than the prior is.
    chance = float(prior.max()) + 1 / np.sqrt(len(codes))
    return proba if chance < agrees <= right else None


def _by_other_trees(
    model: Any, X: Any, codes: Ints, shape: tuple[int, ...], right: float, seed: int
) -> Floats | None:
    """The mean over the trees of a bootstrapped forest that did not draw a row; None for other models.

    Their trees had as many rows as the model's: copies trained on fewer would be worse than it is, and
    gates look better beside them than they are. So does a forest of fewer trees: as only a third of them
    did not draw a row, more are grown until every row hears about as many as the forest has.
    """
    if not isinstance(model, RandomForestClassifier | ExtraTreesClassifier) or not model.bootstrap:
        return None
    bags, n = model.estimators_samples_, len(X)
    drawn = np.unique(np.concatenate(bags))
    if drawn[-1] >= n or len(drawn) < 0.99 * n:  # trained on other rows, or on few
        return None
    rows = np.asarray(X, dtype=np.float32)
    total, heard = _votes(model, rows, shape)
    outside = float(np.mean(np.argmax(total, axis=1) == codes))
    gap = max(LEAST_GAP, 2 * np.sqrt(outside * (1 - outside) / n))
    if right <= outside + gap or not heard:  # it meets these rows like any others
        return None
    trees = len(model.estimators_)
    more = clone(model).set_params(
        n_estimators=min(MOST_GROWTH * trees, round(trees * (n * trees / heard - 1))),
        random_state=seed, oob_score=False, warm_start=False,
    )  # fmt: skip
    total += _votes(more.fit(rows, codes), rows, shape)[0]
    return np.asarray(total / np.maximum(total.sum(axis=1, keepdims=True), 1))


def _votes(forest: Any, rows: Any, shape: tuple[int, ...]) -> tuple[Floats, int]:
    """Sums over the trees that did not draw a row, and how many such pairs of row and tree there are."""
    total, heard = np.zeros(shape), 0
    for tree, bag in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        others = np.setdiff1d(np.arange(len(rows)), bag)
        if len(others):
            total[others] += tree.predict_proba(rows[others])
            heard += len(others)
    return total, heard


def _knows(fresh: Any, X: Any, codes: Ints, right: float, said: Floats, seed: int) -> bool:
    """Whether the model is as good here as a copy is on its own rows, and copies are worse on others."""
    rng = np.random.default_rng([seed, 1])
    rows = np.sort(rng.permutation(len(X))[:TRIAL_ROWS])
    own, other = split_rows(len(rows), 0.5, rng, codes[rows])
    if not len(other):
        return right >= PERFECT
    own, other = rows[own], rows[other]
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        copy = clone(fresh).fit(_safe_indexing(X, own), codes[own])
        inside, outside = (
            float(np.mean(copy.predict(_safe_indexing(X, part)) == codes[part]))
            for part in (own, other)
        )
    # On the rows that the copy has not seen: both meet the same easy and hard ones.
    here = float(np.mean(np.argmax(said[other], axis=1) == codes[other]))
    spread = outside * (1 - outside) / len(other) + inside * (1 - inside) / len(own)
    gap = inside - outside
    return bool(gap > max(LEAST_GAP, 2 * np.sqrt(spread)) and here > outside + NEAR * gap)


def _out_of_fold(fresh: Any, X: Any, codes: Ints, k: int, seed: int) -> Unseen:
    """Probabilities by copies trained without the row, and what the model is better by than copies.

    Gates look better beside copies of fewer rows than beside the model. What two thirds of their rows
    cost the copies tells what all rows add to the model, as it does for the cheap one.
    """
    # Many: the more folds, the less there is to guess.
    count = min(10 if len(X) < 5000 else 5, int(np.bincount(codes).max()))
    folds = list(StratifiedKFold(count, shuffle=True, random_state=seed).split(codes, codes))
    rng = np.random.default_rng([seed, 2])
    thinned = [
        (train[split_rows(len(train), 1 - FEWER, rng, codes[train])[0]], held)
        for train, held in folds
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        more, fewer = (_told(fresh, X, codes, k, cv) for cv in (folds, thinned))
    right, before = ((np.argmax(told, axis=1) == codes) * 1.0 for told in (more, fewer))
    share = 1 - 1 / count
    gain = Gain.between(before, right, np.ones(len(codes)), further(FEWER * share, share))
    return Unseen(more, how="out of fold", gain=gain)


def _told(fresh: Any, X: Any, codes: Ints, k: int, folds: list[tuple[Ints, Ints]]) -> Floats:
    """Probabilities by a copy for each fold; scores become log-odds by one slope."""
    method = "predict_proba" if hasattr(fresh, "predict_proba") else "decision_function"
    told = np.asarray(cross_val_predict(fresh, X, codes, cv=folds, method=method), np.float64)
    if method == "predict_proba":
        return told
    scores = told[:, None] if told.ndim == 1 else told
    scores = scores * best_slope(scores, codes, None)
    if scores.shape[1] > 1 or k > 2:
        return links.softmax(scores)
    up = links.sigmoid(scores[:, 0])
    return np.column_stack([1 - up, up])
