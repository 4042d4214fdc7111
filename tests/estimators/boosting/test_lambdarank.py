"""LambdaMART's loss against its definition, and Greedy Miser on queries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive import ranking as naive
from worthwhile import EarlyExitRegressor, GreedyMiserClassifier, GreedyMiserRegressor
from worthwhile.core.boosting import lambdarank as lambdas
from worthwhile.core.queries import Queries
from worthwhile.core.threads import Threads
from worthwhile.estimators.boosting._lambdarank import CUT, LEAST_CURVATURE, LambdaRank
from worthwhile.metrics import ndcg_at_k, replicate_irrelevant
from worthwhile.testing import check_contract


@given(
    st.lists(
        st.tuples(
            st.integers(0, 4),
            st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0]),
            st.sampled_from([1.0, 2.0, 10.0]),
            st.integers(0, 2),
        ),
        min_size=1,
        max_size=18,
    ),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_gradients_are_their_definition(documents, weighted):
    grades, scores, weights, qid = (list(column) for column in zip(*documents, strict=True))
    n = len(grades)
    if not weighted:
        weights = [1.0] * n
    loss = LambdaRank(
        np.array(grades, dtype=float),
        Queries.of(qid, n),
        np.array(weights) if weighted else np.empty(0),
    )
    out = np.full((1, n), 7.0)
    with Threads(1) as threads:
        value = loss.gradients(np.array([scores]), np.zeros(1), out, threads)
        again = loss.mean(np.array([scores]), np.zeros(1), threads)
    assert value == again
    assert 1 - value == pytest.approx(naive.ndcg(grades, scores, qid, 5)) or not any(grades)
    for rows in naive.by_query(qid):
        pick = [[column[i] for i in rows] for column in (grades, scores, weights)]
        gradient, curvature = naive.lambda_gradients(*pick, CUT)
        assert out[0, rows] == pytest.approx(gradient, abs=1e-12)
        assert loss.curvature(out, threads)[0, rows] - LEAST_CURVATURE == pytest.approx(
            curvature, abs=1e-9
        )


def problem(n=900, n_queries=45, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    qid = np.sort(rng.integers(0, n_queries, n))
    # Half of what moves the grades belongs to the query: a pointwise loss is busy with that.
    level = rng.normal(size=n_queries)[qid] * 2
    X[:, 5] = level + rng.normal(size=n)
    y = np.clip((X[:, 0] + 0.5 * X[:, 1] * (X[:, 2] > 0) + level).round() + 1, 0, 4)
    return X, y, qid


def test_queries_are_parts_of_any_number_of_threads(monkeypatch):
    X, y, qid = problem()
    monkeypatch.setattr(lambdas, "PART", 100)
    models = [
        GreedyMiserRegressor(loss="lambdarank", n_rounds=6, n_jobs=n).fit(X, y, qid=qid)
        for n in (1, 2)
    ]
    assert models[0].policy_.fingerprint() == models[1].policy_.fingerprint()


def test_lambdarank_ranks_better_than_squared_error_where_queries_differ():
    X, y, qid = problem()
    X_new, y_new, qid_new = problem(seed=1)
    rank = GreedyMiserRegressor(loss="lambdarank", n_rounds=40).fit(X, y, qid=qid)
    plain = GreedyMiserRegressor(n_rounds=40).fit(X, y)
    assert rank.score(X_new, y_new, qid=qid_new) > plain.score(X_new, y_new, qid=qid_new)
    assert rank.trace_["train_loss"].iloc[-1] == pytest.approx(1 - rank.score(X, y, qid=qid))


def test_queries_may_be_interleaved_and_have_names():
    X, y, qid = problem(300, 20)
    place = np.arange(300) - np.searchsorted(qid, qid)
    order = np.argsort(place, kind="stable")  # rows of a query keep their order
    names = np.array([f"q{q}" for q in qid])
    model = GreedyMiserRegressor(loss="lambdarank", n_rounds=5)
    one = model.fit(X, y, qid=qid).predict(X)
    two = model.fit(X[order], y[order], qid=names[order]).predict(X)
    assert np.array_equal(one, two)


def test_queries_without_relevant_documents_teach_nothing():
    X, y, qid = problem(300, 20)
    dead = qid < 4
    y[dead] = 0
    model = GreedyMiserRegressor(loss="lambdarank", n_rounds=3)
    loss = LambdaRank(y, Queries.of(qid, 300), np.empty(0))
    out = np.empty((1, 300))
    with Threads(1) as threads:
        loss.gradients(np.zeros((1, 300)), np.zeros(1), out, threads)
    assert (out[0, dead] == 0).all()
    assert np.isfinite(model.fit(X, np.zeros(300), qid=qid).predict(X)).all()


def test_lam_saves_money_with_lambdarank_too():
    X, y, qid = problem()
    model = GreedyMiserRegressor(loss="lambdarank", n_rounds=10)
    top = model.lam_max(X, y, qid=qid)
    costs = [
        GreedyMiserRegressor(top * share, loss="lambdarank", n_rounds=10)
        .fit(X, y, qid=qid)
        .cost(X)
        .mean()
        for share in (1.01, 0.1, 0.0)
    ]
    assert costs[0] == 0
    assert costs == sorted(costs)
    assert len(model.trade_off_grid(X, y, qid=qid)) > 5


def test_validation_holds_out_whole_queries_and_picks_by_ndcg():
    X, y, qid = problem()
    X_new, y_new, qid_new = problem(seed=5)
    for loss in ("squared", "lambdarank"):
        model = GreedyMiserRegressor(loss=loss, n_rounds=15, scoring="ndcg")
        model.fit(X, y, qid=qid, validation=(X_new, y_new, qid_new))
        best = model.trace_["validation_score"].max()
        assert ndcg_at_k(y_new, model.predict(X_new), qid_new) == pytest.approx(best)
        assert model.n_rounds_ == model.trace_["validation_score"].argmax() + 1
    held = GreedyMiserRegressor(
        loss="lambdarank", n_rounds=5, validation_fraction=0.3, random_state=0
    ).fit(X, y, qid=qid)
    assert held.trace_["validation_loss"].between(0, 1).all()
    paths = GreedyMiserRegressor(loss="lambdarank", n_rounds=3).fit_path(X, y, [0.0, 1e9], qid=qid)
    assert paths[0].cost(X).mean() > paths[1].cost(X).mean() == 0


def test_weights_of_irrelevant_documents_equal_copies_for_the_squared_loss():
    from worthwhile.metrics import irrelevant_weight

    X, y, _ = problem(200, 10)
    rows = replicate_irrelevant(y, times=3)
    weighed = GreedyMiserRegressor(n_rounds=4).fit(
        X, y, sample_weight=irrelevant_weight(y, times=3)
    )
    copied = GreedyMiserRegressor(n_rounds=4).fit(X[rows], y[rows])
    assert np.array_equal(weighed.predict(X), copied.predict(X))
    ranked = GreedyMiserRegressor(n_rounds=4, loss="lambdarank").fit(
        X, y, sample_weight=irrelevant_weight(y, times=3), qid=np.repeat(np.arange(10), 20)
    )
    assert np.isfinite(ranked.predict(X)).all()


def test_a_lambdarank_booster_takes_exits_and_keeps_the_laws():
    X, y, qid = problem(300, 20)
    booster = GreedyMiserRegressor(loss="lambdarank", n_rounds=12).fit(X, y, qid=qid)
    check_contract(booster, X, rows=3)
    fresh = EarlyExitRegressor(
        GreedyMiserRegressor(loss="lambdarank", n_rounds=12), np.inf, every=3
    )
    assert np.array_equal(fresh.fit(X, y, qid=qid).predict(X, qid=qid), booster.predict(X))


def test_refusals():
    X, y, qid = problem(120, 10)
    with pytest.raises(ValueError, match="loss='lambdarank' needs queries"):
        GreedyMiserRegressor(loss="lambdarank").fit(X, y)
    with pytest.raises(ValueError, match="scoring='ndcg' needs queries"):
        GreedyMiserRegressor(scoring="ndcg", validation_fraction=0.5).fit(X, y)
    with pytest.raises(ValueError, match=r"validation is a tuple of 2: give \(X, y, qid\)"):
        GreedyMiserRegressor().fit(X, y, qid=qid, validation=(X, y))
    with pytest.raises(ValueError, match="grade below 0"):
        GreedyMiserRegressor(loss="lambdarank").fit(X, y - 3, qid=qid)
    with pytest.raises(ValueError, match="qid has shape"):
        GreedyMiserRegressor(loss="lambdarank").fit(X, y, qid=qid[:-1])
    with pytest.raises(ValueError, match="holds out none"):
        GreedyMiserRegressor(validation_fraction=0.01).fit(X, y, qid=qid)
    with pytest.raises(TypeError, match="qid"):
        GreedyMiserClassifier().fit(X, y, qid=qid)
