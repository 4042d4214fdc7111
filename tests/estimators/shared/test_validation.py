"""Validation rows: how they are drawn, and how given ones are read."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone

from worthwhile import (
    AdaptiveLinearClassifier,
    BudgetedForestClassifier,
    CostSensitiveTreeClassifier,
    CostSensitiveTreeRegressor,
    DynamicSelectionClassifier,
    GreedyMiserClassifier,
    GreedyMiserRegressor,
    PrunedForestClassifier,
)
from worthwhile.estimators._shared import validation
from worthwhile.estimators._shared.validation import (
    development_rows,
    hold_out,
    hold_out_queries,
    split_rows,
)
from worthwhile.estimators.forest import budgeted_forest
from worthwhile.estimators.linear import _prune

FRACTIONS = st.floats(0.001, 0.999)
SEEDS = st.integers(0, 2**32 - 1)
CODES = st.lists(st.integers(0, 4), min_size=1, max_size=120).map(np.array)


def rng(seed=0):
    return np.random.default_rng(seed)


# How rows are drawn -------------------------------------------------------------------------------


@given(CODES, FRACTIONS, SEEDS)
def test_rows_train_or_are_held_out_in_ascending_order(codes, fraction, seed):
    kept, held = split_rows(len(codes), fraction, rng(seed), codes)
    assert sorted([*kept, *held]) == list(range(len(codes)))
    assert (np.diff(kept) > 0).all()
    assert (np.diff(held) > 0).all()


@given(CODES, FRACTIONS, SEEDS)
def test_every_class_gives_its_nearest_share_and_keeps_a_row(codes, fraction, seed):
    kept, held = split_rows(len(codes), fraction, rng(seed), codes)
    for code in np.unique(codes):
        n = int((codes == code).sum())
        size = int((codes[held] == code).sum())
        assert n - size == int((codes[kept] == code).sum()) >= 1
        assert abs(size - fraction * n) <= 0.5 + 1e-9 or size == n - 1


@pytest.mark.parametrize(
    ("n", "fraction", "size"),
    [(10, 0.14, 1), (10, 0.16, 2), (10, 0.25, 2), (10, 0.35, 4), (10, 0.04, 0), (2, 0.99, 1), (1, 0.9, 0)],
)  # fmt: skip
def test_shares_are_rounded_to_the_nearest_and_halves_to_the_even(n, fraction, size):
    assert len(split_rows(n, fraction, rng())[1]) == size
    assert len(split_rows(2 * n, fraction, rng(), np.arange(2 * n) % 2)[1]) == 2 * size


@given(CODES, FRACTIONS, SEEDS)
def test_the_same_seed_draws_the_same_rows(codes, fraction, seed):
    one, two = (split_rows(len(codes), fraction, rng(seed), codes) for _ in range(2))
    assert one[1].tolist() == two[1].tolist()


def test_chance_and_not_the_order_of_rows_decides():
    drawn = {tuple(split_rows(20, 0.25, rng(seed))[1]) for seed in range(20)}
    assert len(drawn) > 15
    often = np.bincount(np.concatenate([split_rows(20, 0.25, rng(s))[1] for s in range(400)]))
    assert often.min() > 50  # 100 expected
    assert often.max() < 150


@given(CODES, FRACTIONS, SEEDS)
def test_names_of_the_classes_do_not_matter(codes, fraction, seed):
    names = np.array(["a", "b", "c", "d", "e"])[codes]
    numbers, text = (split_rows(len(codes), fraction, rng(seed), c)[1] for c in (codes, names))
    assert numbers.tolist() == text.tolist()


def test_holding_out_nothing_is_refused_with_advice():
    with pytest.raises(
        ValueError, match=r"validation_fraction=0\.1 of 4 rows holds out none: raise it, or give"
    ):
        hold_out(4, 0.1, rng())
    with pytest.raises(ValueError, match=r"of 8 rows, class by class, holds out none"):
        hold_out(8, 0.1, rng(), np.arange(8) % 2)
    assert len(hold_out(8, 0.1, rng())[1]) == 1


@given(CODES, FRACTIONS, SEEDS)
def test_development_rows_are_all_rows_only_where_none_can_be_held_out(codes, fraction, seed):
    kept, held = development_rows(len(codes), fraction, rng(seed), codes)
    split = split_rows(len(codes), fraction, rng(seed), codes)
    if len(split[1]):
        assert (kept.tolist(), held.tolist()) == (split[0].tolist(), split[1].tolist())
    else:
        assert kept.tolist() == held.tolist() == list(range(len(codes)))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60).map(np.array), FRACTIONS, SEEDS)
def test_queries_are_held_out_whole(qid, fraction, seed):
    assume(np.unique(qid, return_counts=True)[1].max() <= fraction * len(qid))
    kept, held = hold_out_queries(qid, fraction, rng(seed))
    assert sorted([*kept, *held]) == list(range(len(qid)))
    assert (np.diff(held) > 0).all()
    assert not set(qid[kept]) & set(qid[held])
    assert 0 < len(held) <= fraction * len(qid)


def test_holding_out_no_query_is_refused_with_advice():
    with pytest.raises(
        ValueError,
        match=r"=0\.2 of 2 queries holds out none: raise it, or give validation=\(X, y, qid\)",
    ):
        hold_out_queries(np.repeat([4, 9], 5), 0.2, rng())


# What estimators do with them ---------------------------------------------------------------------

CLASSIFIERS = [
    AdaptiveLinearClassifier(budget=1, random_state=0),
    BudgetedForestClassifier(n_jobs=1, random_state=0),
    CostSensitiveTreeClassifier(0.001, random_state=0),
    DynamicSelectionClassifier(0.5, random_state=0),
    GreedyMiserClassifier(),
    PrunedForestClassifier(random_state=0),
]
REGRESSORS = [CostSensitiveTreeRegressor(0.001), GreedyMiserRegressor()]


def named(estimator):
    return type(estimator).__name__


def problem(n=60):
    X = rng().normal(size=(n, 3))
    return X, (X[:, 0] > 0).astype(int)


X, Y = problem()


@pytest.mark.parametrize("estimator", [*CLASSIFIERS, *REGRESSORS], ids=named)
@pytest.mark.parametrize(
    ("validation", "message"),
    [
        (5, r"validation is a int: give a pair \(X, y\) of further rows"),
        ((X, Y, Y), r"validation is a tuple of 3: give a pair \(X, y\)"),
        ((X[:, :2], Y), "in validation, X has 2 features"),
        ((X, Y[:9]), r"validation has 60 rows, but labels or targets of shape \(9,\): give the shape \(60,\)"),
        ((X, np.column_stack([Y, Y])), r"of shape \(60, 2\): give the shape \(60,\)"),
    ],
)  # fmt: skip
def test_bad_validation_is_refused_in_the_same_words(estimator, validation, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, Y, validation=validation)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=named)
@pytest.mark.parametrize("label", [7, -1, "1", np.nan, None])
def test_labels_that_training_does_not_have_are_refused(estimator, label):
    strange = Y.astype(object)
    strange[5] = label
    with pytest.raises(
        ValueError, match=f"validation has the label {label!r}, which y does not have: leave such"
    ):
        estimator.fit(X, Y, validation=(X, strange))


@pytest.mark.parametrize("estimator", REGRESSORS, ids=named)
def test_targets_that_are_no_numbers_are_refused(estimator):
    with pytest.raises(ValueError, match="validation has a target that is not finite"):
        estimator.fit(X, X[:, 0], validation=(X, np.where(Y, np.nan, 1.0)))


def test_several_targets_need_as_many_in_validation():
    Y2 = np.column_stack([X[:, 0], X[:, 1]])
    with pytest.raises(ValueError, match=r"targets of shape \(60,\): give the shape \(60, 2\)"):
        CostSensitiveTreeRegressor(0.001).fit(X, Y2, validation=(X, X[:, 0]))


def test_queries_of_validation_rows_are_checked():
    qid = np.arange(60) // 6
    with pytest.raises(ValueError, match=r"in validation, qid has shape \(3,\)"):
        GreedyMiserRegressor().fit(X, X[:, 0], qid=qid, validation=(X, X[:, 0], [1, 2, 3]))
    with pytest.raises(ValueError, match=r"in validation, qid has shape \(\)"):
        GreedyMiserRegressor().fit(X, X[:, 0], qid=qid, validation=(X, X[:, 0], None))


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=named)
def test_labels_are_read_in_the_order_of_the_classes(estimator):
    frame, text = pd.DataFrame(X, columns=list("abc")), np.array(["no", "yes"])[Y]
    numbers = estimator.fit(X, Y, validation=(X, Y))
    scores = numbers.predict(X) == Y
    names = estimator.fit(frame, text, validation=(frame, text))
    assert ((names.predict(frame) == text) == scores).all()


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=named)
def test_classifiers_hold_rows_out_class_by_class(estimator, monkeypatch):
    seen = []

    def watched(n, fraction, rng, codes=None):
        seen.append((n, fraction, codes))
        return split_rows(n, fraction, rng, codes)

    for home in (validation, _prune, budgeted_forest):
        monkeypatch.setattr(home, "split_rows", watched)
    clone(estimator).set_params(validation_fraction=0.3).fit(X, np.array(["a", "b"])[Y])
    n, fraction, codes = seen[0]
    assert (n, fraction) == (60, 0.3)
    assert codes.tolist() == Y.tolist()


def test_a_rare_class_stays_in_training_and_others_are_held_out_in_proportion():
    codes = np.repeat([0, 1, 2], [400, 40, 1])
    rows = rng(1).normal(size=(441, 3))
    seen = []

    class Watching(CostSensitiveTreeClassifier):
        def _learn(self, X, targets, costs, weight, held):
            seen.append((targets.Y.sum(axis=0), held[1].sum(axis=0)))
            return super()._learn(X, targets, costs, weight, held)

    Watching(0.001, random_state=0, validation_fraction=0.1).fit(rows, codes)
    assert seen[0][0].tolist() == [360, 36, 1]
    assert seen[0][1].tolist() == [40, 4, 0]
