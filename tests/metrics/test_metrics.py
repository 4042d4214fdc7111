"""The ranking metrics against their definitions, scikit-learn, and cases by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import ndcg_score
from sklearn.model_selection import GridSearchCV

from tests.naive import ranking as naive
from worthwhile.metrics import (
    RankingScorer,
    irrelevant_weight,
    ndcg_at_k,
    precision_at_k,
    query_folds,
    replicate_irrelevant,
    run_precision_at_k,
)


@st.composite
def judged(draw, max_rows=14):
    n = draw(st.integers(1, max_rows))
    grades = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    scores = draw(st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0, 3.0]), min_size=n, max_size=n))
    qid = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return grades, scores, qid


@given(judged(), st.integers(1, 7), st.sampled_from(["skip", 0, 1]))
@settings(max_examples=60, deadline=None)
def test_ndcg_is_its_definition(data, k, empty):
    grades, scores, qid = data
    expected = naive.ndcg(grades, scores, qid, k, empty=empty)
    assert ndcg_at_k(grades, scores, qid, k, empty=empty) == pytest.approx(expected, abs=1e-12)


@given(judged(max_rows=7), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_tied_ndcg_is_the_mean_over_all_orders(data, k):
    grades, scores, qid = data
    expected = naive.ndcg(grades, scores, qid, k, ties="average")
    assert ndcg_at_k(grades, scores, qid, k, ties="average") == pytest.approx(expected, abs=1e-12)


@given(judged(), st.integers(1, 7))
@settings(max_examples=60, deadline=None)
def test_precisions_are_their_definitions(data, k):
    grades, scores, qid = data
    assert run_precision_at_k(grades, scores, qid, k) == pytest.approx(
        naive.run_precision(grades, scores, qid, k)
    )
    assert precision_at_k(grades, scores, qid, k) == pytest.approx(
        naive.precision(grades, scores, qid, k)
    )


@pytest.mark.parametrize("tied", [False, True])
def test_ndcg_equals_scikit_learns_with_exponential_gains(tied):
    rng = np.random.default_rng(0)
    grades = rng.integers(0, 5, (40, 17))
    scores = (
        rng.integers(0, 6, (40, 17))
        if tied
        else rng.permuted(np.tile(np.arange(17), (40, 1)), axis=1)
    )
    qid = np.repeat(np.arange(40), 17)
    ours = ndcg_at_k(grades.ravel(), scores.ravel(), qid, k=5, ties="average", empty=0)
    assert ours == pytest.approx(ndcg_score(2**grades - 1, scores, k=5), abs=1e-12)
    if not tied:
        plain = ndcg_at_k(grades.ravel(), scores.ravel(), qid, k=5, empty=0)
        assert plain == pytest.approx(ours, abs=1e-12)


@pytest.mark.parametrize(
    ("grades", "run", "plain"),
    [
        ([1, 1, 0, 1, 1], 0.4, 0.8),
        ([0, 1, 1, 1, 1], 0.0, 0.8),
        ([1, 2, 3, 4, 1], 1.0, 1.0),
        ([1, 1], 1.0, 0.4),
        ([1, 0], 0.2, 0.2),
        ([0], 0.0, 0.0),
        ([1, 1, 1, 1, 1, 0], 1.0, 1.0),
    ],
)
def test_precision_at_5_by_hand(grades, run, plain):
    scores = -np.arange(len(grades))
    assert run_precision_at_k(grades, scores) == pytest.approx(run)
    assert precision_at_k(grades, scores) == pytest.approx(plain)


def test_queries_without_relevant_documents_count_in_both_precisions():
    assert run_precision_at_k([1, 0], [1, 1], qid=[0, 1]) == 0.5
    assert precision_at_k([1, 0], [1, 1], qid=[0, 1], k=1) == 0.5


def test_relevant_sets_the_lowest_grade_that_counts():
    assert precision_at_k([1, 2], [1, 0], k=2, relevant=2) == 0.5


def test_ndcg_is_one_for_the_best_order_and_does_not_change_under_monotone_maps():
    rng = np.random.default_rng(1)
    grades, qid, score = rng.integers(0, 5, 200), rng.integers(0, 12, 200), rng.normal(size=200)
    assert ndcg_at_k(grades, grades, qid) == 1.0
    assert ndcg_at_k(grades, np.exp(score), qid) == ndcg_at_k(grades, score, qid)


def test_the_order_of_queries_and_their_names_do_not_matter():
    rng = np.random.default_rng(2)
    grades, score = rng.integers(0, 3, 300), rng.normal(size=300)
    qid = rng.integers(0, 20, 300)
    whole = ndcg_at_k(grades, score, qid)
    order = np.argsort(qid, kind="stable")
    assert ndcg_at_k(grades[order], score[order], qid[order]) == pytest.approx(whole)
    assert ndcg_at_k(grades, score, [f"q{q}" for q in qid]) == pytest.approx(whole)


def test_no_documents_and_only_empty_queries():
    assert ndcg_at_k([], []) == 0.0
    assert ndcg_at_k([0, 0], [1, 2]) == 0.0
    assert ndcg_at_k([0, 0], [1, 2], empty=1) == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ties": "last"}, "ties is 'last'"),
        ({"empty": "zero"}, "empty is 'zero'"),
        ({"empty": 2}, "empty is 2"),
        ({"k": 0}, "k is 0"),
        ({"qid": [1]}, "qid has shape"),
        ({"qid": [1.0, float("nan")]}, "qid has NaN"),
        ({"score": [1.0]}, "relevance has shape"),
        ({"score": [1.0, float("nan")]}, "score has a value that is not finite"),
        ({"relevance": [-1, 0]}, "grade that is negative"),
    ],
)
def test_ndcg_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        ndcg_at_k(**{"relevance": [1, 0], "score": [1.0, 0.0], **arguments})


def test_scorers_take_qid():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    y, qid = rng.integers(0, 3, 60), np.repeat(np.arange(6), 10)
    model = LinearRegression().fit(X, y)
    predicted = model.predict(X)
    assert RankingScorer("ndcg", k=3)(model, X, y, qid=qid) == ndcg_at_k(y, predicted, qid, 3)
    assert RankingScorer("precision")(model, X, y, qid=qid) == precision_at_k(y, predicted, qid)
    run = RankingScorer("run_precision", relevant=2)(model, X, y, qid=qid)
    assert run == run_precision_at_k(y, predicted, qid, relevant=2)
    with pytest.raises(ValueError, match="metric is 'map'"):
        RankingScorer("map")(model, X, y)


def test_scorers_ask_scikit_learn_for_qid():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    y, qid = rng.integers(0, 3, 60), np.repeat(np.arange(6), 10)
    folds = query_folds(qid, 3)
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(Ridge(), {"alpha": [1.0]}, scoring=RankingScorer("ndcg"), cv=folds)
        search.fit(X, y, qid=qid)
    train, test = folds[0]
    model = Ridge().fit(X[train], y[train])
    expected = ndcg_at_k(y[test], model.predict(X[test]), qid[test])
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(expected)


@given(st.lists(st.integers(0, 8), min_size=12, max_size=40), st.none() | st.integers(0, 3))
@settings(max_examples=30, deadline=None)
def test_folds_cover_every_row_once_and_split_no_query(qid, seed):
    n_splits = min(3, len(set(qid)))
    if n_splits < 2:
        return
    qid = np.array(qid)
    folds = query_folds(qid, n_splits, random_state=seed)
    tested = np.concatenate([test for _, test in folds])
    assert sorted(tested) == list(range(len(qid)))
    for train, test in folds:
        assert len(test)
        assert not set(qid[train]) & set(qid[test])
        assert len(train) + len(test) == len(qid)


def test_folds_refuse_more_folds_than_queries():
    with pytest.raises(ValueError, match="n_splits is 3 for 2 queries"):
        query_folds([1, 1, 2], 3)
    with pytest.raises(ValueError, match="n_splits is 1"):
        query_folds([1, 1, 2], 1)


def test_weights_and_copies_of_irrelevant_documents_agree():
    grades = np.array([0, 2, 0, 1])
    rows = replicate_irrelevant(grades, times=4)
    assert np.bincount(rows).tolist() == irrelevant_weight(grades, times=4).tolist()
    assert rows.tolist() == sorted(rows)
    for function in (replicate_irrelevant, irrelevant_weight):
        with pytest.raises(ValueError, match="times is 0"):
            function(grades, times=0)
