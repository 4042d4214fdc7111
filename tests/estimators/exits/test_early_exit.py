"""Early Exit: the invariants of the rules, the laws for queries, copies and files."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.frozen import FrozenEstimator

import worthwhile
from worthwhile import (
    Costs,
    EarlyExitClassifier,
    EarlyExitRegressor,
    GreedyMiserClassifier,
    GreedyMiserRegressor,
    PricedModel,
)
from worthwhile.metrics import RankingScorer, ndcg_at_k
from worthwhile.testing import check_contract


@pytest.fixture(scope="module")
def ranking():
    """A small ranking problem and a booster for it."""
    rng = np.random.default_rng(0)
    n, d = 600, 8
    X = rng.normal(size=(n, d))
    qid = np.sort(rng.integers(0, 30, n))
    y = np.clip((X @ rng.normal(size=d) + rng.normal(size=n)).round(), 0, 4)
    costs = Costs(
        rng.integers(1, 10, d).tolist(), {"g": {"fee": 3, "features": [0, 4]}}, evaluation=0.1
    )
    return (
        X,
        y,
        qid,
        GreedyMiserRegressor(costs=costs, n_rounds=40, max_depth=3, min_samples_leaf=5).fit(X, y),
    )


def exits(model, X, y, **params):
    return EarlyExitRegressor(model, **{"every": 4, **params}).fit(X, y)


def test_no_threshold_is_the_whole_model(ranking):
    X, y, qid, booster = ranking
    whole = [("proximity", np.inf), ("score", -np.inf), ("rank", np.inf), ("capacity", 1000)]
    for rule, threshold in whole:
        model = exits(booster, X, y, rule=rule, threshold=threshold)
        assert model.predict(X, qid=qid).tobytes() == booster.predict(X).tobytes()
        assert np.array_equal(model.acquired(X, qid=qid), booster.acquired(X))
        assert np.array_equal(model.cost(X, qid=qid), booster.cost(X))
        assert model.score(X, y, qid=qid) == ndcg_at_k(y, booster.predict(X), qid)


def test_rows_alone_are_the_whole_model(ranking):
    X, y, _, booster = ranking
    model = exits(booster, X, y, threshold=0.0)
    assert model.predict(X).tobytes() == booster.predict(X).tobytes()
    assert model.score(X, y) == pytest.approx(booster.score(X, y))


def test_bills_grow_with_the_proximity_threshold(ranking):
    X, y, qid, booster = ranking
    bills = [
        exits(booster, X, y, threshold=s).cost(X, qid=qid) for s in (0, 0.1, 0.3, 1, 3, np.inf)
    ]
    means = [bill.mean() for bill in bills]
    assert means == sorted(means)
    assert means[0] < 0.7 * means[-1]


def test_a_threshold_of_zero_keeps_those_not_below_the_fifth(ranking):
    X, y, qid, booster = ranking
    model = exits(booster, X, y, threshold=0.0)
    first = list(booster.staged_predict(X))[3]
    evaluated = model.evaluated(X, qid=qid)
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        best = rows[np.argsort(-first[rows], kind="stable")[:5]]
        assert set(rows[evaluated[rows] > 4]) == set(best)


def test_queries_of_at_most_five_documents_lose_none(ranking):
    X, y, _, booster = ranking
    qid = np.repeat(np.arange(120), 5)
    assert (exits(booster, X, y, threshold=0.0).evaluated(X, qid=qid) == 40).all()


def test_survivors_are_ranked_above_whoever_left(ranking):
    X, y, qid, booster = ranking
    model = exits(booster, X, y, threshold=0.2)
    score, evaluated = model.predict(X, qid=qid), model.evaluated(X, qid=qid)
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        order = rows[np.argsort(-score[rows])]
        assert (np.diff(evaluated[order]) <= 0).all()


@pytest.mark.parametrize("budget", [None, 60])
def test_unbought_values_of_a_query_are_not_used(ranking, budget):
    X, y, qid, booster = ranking
    model = exits(booster, X, y, threshold=0.2)
    bought = model.acquired(X, budget, qid=qid)
    rng = np.random.default_rng(1)
    for poison in (np.nan, np.inf, rng.normal(size=X.shape) * 1e3):
        other = np.where(bought, X, poison)
        assert (
            model.predict(other, budget, qid=qid).tobytes()
            == model.predict(X, budget, qid=qid).tobytes()
        )
        assert np.array_equal(model.acquired(other, budget, qid=qid), bought)
        assert np.array_equal(model.cost(other, budget, qid=qid), model.cost(X, budget, qid=qid))


@pytest.mark.parametrize("budget", [0, 1, 30, 120, 1e6])
def test_a_budget_is_for_the_whole_query(ranking, budget):
    X, y, qid, booster = ranking
    model = exits(booster, X, y, threshold=0.2)
    spent = np.bincount(qid, weights=model.cost(X, budget, qid=qid))
    assert (spent <= budget + 1e-9).all()
    assert np.isfinite(model.predict(X, budget, qid=qid)).all()
    if budget == 1e6:
        assert model.predict(X, budget, qid=qid).tobytes() == model.predict(X, qid=qid).tobytes()


def test_the_bill_is_the_price_of_what_was_acquired(ranking):
    X, y, qid, booster = ranking
    model = exits(booster, X, y, threshold=0.3)
    due = model.costs_.price(model.acquired(X, qid=qid)) + 0.1 * model.evaluated(X, qid=qid)
    assert model.cost(X, qid=qid) == pytest.approx(due)
    by_model = model.cost(X, qid=qid, accounting="model")
    assert (by_model >= model.cost(X, qid=qid)).all()
    full = exits(booster, X, y, threshold=np.inf).cost(X, qid=qid, accounting="model")
    assert np.array_equal(full, booster.cost(X, accounting="model"))


def test_reloaded_models_and_frames_agree(ranking, tmp_path):
    import pandas as pd

    X, y, qid, _ = ranking
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(8)])
    costs = Costs({f"f{i}": i + 1 for i in range(8)})
    model = EarlyExitRegressor(
        GreedyMiserRegressor(n_rounds=12), threshold=0.3, every=3, costs=costs
    ).fit(frame, y, qid=qid)
    assert model.costs_.price(np.ones((1, 8), dtype=bool))[0] == 36
    model.save(tmp_path / "model.worthwhile")
    again = worthwhile.load(tmp_path / "model.worthwhile")
    assert again.predict(frame, qid=qid).tobytes() == model.predict(frame, qid=qid).tobytes()
    assert np.array_equal(again.cost(frame, 40, qid=qid), model.cost(frame, 40, qid=qid))
    assert again.get_params()["threshold"] == 0.3


def test_a_fitted_model_stays_fitted_when_cloned(ranking):
    X, y, _, booster = ranking
    assert clone(EarlyExitRegressor(booster)).model is booster
    frozen = FrozenEstimator(booster)
    assert EarlyExitRegressor(frozen).fit(X, y).policy_.model.trees is booster.policy_.trees
    fresh = GreedyMiserRegressor(n_rounds=3)
    assert clone(EarlyExitRegressor(fresh)).model is not fresh


def test_levels_may_be_given_exit_by_exit(ranking):
    X, y, _, booster = ranking
    s, E = 0.4, 10
    levels = s * (E - np.arange(1, E)) / (E - 1)
    one, many = exits(booster, X, y, threshold=s), exits(booster, X, y, threshold=levels)
    assert one.policy_.levels == pytest.approx(many.policy_.levels)
    with pytest.raises(ValueError, match="for each of the 9 exits"):
        exits(booster, X, y, threshold=[1.0, 2.0])


def test_grids_go_from_cheap_to_dear(ranking):
    X, y, qid, booster = ranking
    for rule in ("proximity", "score", "rank", "capacity"):
        model = EarlyExitRegressor(booster, rule=rule, every=4)
        bills = [
            clone(model).set_params(**params).fit(X, y).cost(X, qid=qid).mean()
            for params in model.trade_off_grid(X, y)
        ]
        assert bills == sorted(bills)
        assert bills[-1] == booster.cost(X).mean()
    assert EarlyExitRegressor().trade_off_grid(X, y)[0]["threshold"] == 0.0


def test_scorers_hand_qid_to_predict(ranking):
    X, y, qid, booster = ranking
    model = exits(booster, X, y, threshold=0.1)
    assert RankingScorer("ndcg")(model, X, y, qid=qid) == model.score(X, y, qid=qid)


def test_forests_can_have_exits_too():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 4))
    y = X[:, 0] + X[:, 1] ** 2
    forest = RandomForestRegressor(20, max_depth=4, random_state=0).fit(X, y)
    model = EarlyExitRegressor(PricedModel(forest), threshold=np.inf, every=5).fit(X, y)
    assert model.predict(X, qid=np.zeros(200)) == pytest.approx(forest.predict(X))
    classes = (y > 1).astype(int)
    trees = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X, classes)
    leaving = EarlyExitClassifier(PricedModel(trees), threshold=0.8, every=2).fit(X, classes)
    assert leaving.evaluated(X).mean() < 20
    assert leaving.score(X, classes) > 0.9
    check_contract(EarlyExitRegressor(PricedModel(forest), every=5).fit(X, y), X, rows=3)


def test_classes_are_sure_enough_when_they_leave():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 5))
    y = np.where(X[:, 0] > 0.3, "a", np.where(X[:, 1] > 0, "b", "c"))
    for leaves in ("vector", "scalar"):
        booster = GreedyMiserClassifier(n_rounds=30, leaves=leaves, min_samples_leaf=5).fit(X, y)
        whole = EarlyExitClassifier(booster, threshold=1.0, every=3).fit(X, y)
        assert whole.predict_proba(X).tobytes() == booster.predict_proba(X).tobytes()
        previous = 0.0
        for threshold in (0.4, 0.6, 0.8, 1.0):
            model = EarlyExitClassifier(booster, threshold=threshold, every=3).fit(X, y)
            trees = model.evaluated(X)
            assert trees.mean() >= previous
            previous = trees.mean()
            early = trees < booster.policy_.trees.n_trees
            assert (model.predict_proba(X)[early].max(axis=1) > threshold).all()
    assert EarlyExitClassifier().trade_off_grid(X, y)[-1] == {"threshold": 1.0}


def test_refusals(ranking):
    X, y, qid, booster = ranking
    with pytest.raises(TypeError, match="no stages of trees"):
        EarlyExitRegressor(PricedModel(_Linear().fit(X, y))).fit(X, y)
    with pytest.raises(TypeError, match="a regressor to EarlyExitRegressor"):
        EarlyExitClassifier(booster).fit(X, y)
    with pytest.raises(ValueError, match="fitted on 8 columns, X has 7"):
        EarlyExitRegressor(booster).fit(X[:, :7], y)
    with pytest.raises(ValueError, match="with rule='rank' it is at least 1"):
        EarlyExitRegressor(booster, rule="rank", threshold=0).fit(X, y)
    with pytest.raises(ValueError, match="at least 0 at every exit"):
        EarlyExitRegressor(booster, threshold=-1.0).fit(X, y)
    with pytest.raises(ValueError, match="rule"):
        EarlyExitRegressor(booster, rule="luck").fit(X, y)
    with pytest.raises(TypeError, match="sample_weight was given"):
        EarlyExitRegressor(_Trees()).fit(X, y, sample_weight=np.ones(len(y)))
    model = exits(booster, X, y)
    with pytest.raises(ValueError, match="qid has shape"):
        model.predict(X, qid=[1])
    with pytest.raises(ValueError, match="accounting is 'both'"):
        model.cost(X, qid=qid, accounting="both")
    with pytest.raises(ValueError, match="accounting='row' only"):
        model.cost(X, 3, qid=qid, accounting="model")


class _Linear:
    """A foreign model that is read as a whole."""

    def __new__(cls):
        from sklearn.linear_model import LinearRegression

        return LinearRegression()


class _Trees(GreedyMiserRegressor):
    """A staged model whose fit takes no weights."""

    def __init__(self):
        super().__init__(n_rounds=2)

    def fit(self, X, y):
        return super().fit(X, y)
