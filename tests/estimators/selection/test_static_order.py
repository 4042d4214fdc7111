"""StaticOrderClassifier: the orders, their curve, budgets."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import worthwhile
from worthwhile import Costs, StaticOrderClassifier
from worthwhile.core import links
from worthwhile.estimators.selection import static_order
from worthwhile.estimators.selection._data_classifier import DataSettings, World, fit_scorer
from worthwhile.estimators.selection._factors import make_layout
from worthwhile.estimators.selection.static_order import forward_order, prefix_masks
from worthwhile.policy.selection.rows import FactorPrices, Layout, Linear


def make_data(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 2] + 0.5 * X[:, 0] > 0).astype(int)


def test_forward_puts_the_most_accurate_first_whatever_it_costs():
    X, y = make_data()
    model = StaticOrderClassifier(costs=[1, 1, 100, 1], n_folds=3, random_state=0).fit(X, y)
    assert model.order_[:2] == [2, 0]


def test_weight_divides_by_the_price():
    X, y = make_data()
    dear = StaticOrderClassifier("weight", costs=[1, 1, 100, 1], random_state=0).fit(X, y)
    even = StaticOrderClassifier("weight", adapt=False, random_state=0).fit(X, y)
    assert even.order_[:2] == [2, 0]
    assert dear.order_[0] == 0
    scorer = even.policy_.model.scorer
    merit = np.abs(scorer.weight).max(axis=1)
    assert even.order_ == np.argsort(-merit).tolist()


def test_adapting_keeps_the_order_and_trains_the_classifier_for_its_prefixes():
    X, y = make_data()
    models = [
        StaticOrderClassifier(adapt=bool(a), n_folds=3, random_state=0).fit(X, y) for a in (0, 1)
    ]
    assert models[0].order_ == models[1].order_
    assert models[0].policy_.fingerprint() != models[1].policy_.fingerprint()
    full, first, second = prefix_masks([2, 0, 1], 400, 0)
    assert full.all()
    sets = {tuple(np.flatnonzero(row).tolist()) for row in np.vstack([first, second])}
    assert sets == {(), (2,), (0, 2)}


@pytest.mark.parametrize("most_sums", [1, 2 * 40 * 3, static_order.MOST_SUMS])
def test_forward_order_is_greedy_by_accuracy(most_sums, monkeypatch):
    # One factor at a time, two, and all.
    monkeypatch.setattr(static_order, "MOST_SUMS", most_sums)
    rng = np.random.default_rng(1)
    n, d, k = 40, 4, 3
    layout = Layout(
        np.arange(d, dtype=np.int32),
        np.array([0, 1, 2, 3, 4, 4], np.int32),
        np.zeros(d),
        np.ones(d),
    )
    scorer = Linear(rng.normal(size=(d, k)), rng.normal(size=(d, k)), rng.normal(size=k))
    Z, codes = rng.normal(size=(n, d)), rng.integers(0, k, n)
    world = World(
        Z, codes, k, layout, FactorPrices(Costs(np.ones(d)), layout), [(np.arange(n), scorer)]
    )
    chosen = []
    for _ in range(d):
        hits = {}
        for f in [f for f in range(d) if f not in chosen]:
            known = [*chosen, f]
            raw = scorer.bias + Z[:, known] @ scorer.weight[known] + scorer.mark[known].sum(axis=0)
            hits[f] = (raw.argmax(axis=1) == codes).sum()
        chosen.append(max(hits, key=lambda f: (hits[f], -f)))
    assert forward_order(world) == chosen


def test_every_row_buys_the_same_prefix():
    X, y = make_data()
    for count in (0, 1, 3, None):
        model = StaticOrderClassifier(n_factors=count, n_folds=3, random_state=0).fit(X, y)
        expected = model.order_ if count is None else model.order_[:count]
        for row in model.acquired(X):
            assert sorted(np.flatnonzero(row)) == sorted(expected)
        assert sorted(model.session().ask()) == sorted(expected)
    assert StaticOrderClassifier(n_factors=0, random_state=0).fit(X, y).cost(X).max() == 0


def test_a_budget_leaves_out_what_does_not_fit_and_goes_on():
    X, y = make_data()
    model = StaticOrderClassifier(costs=[1, 1, 100, 1], n_folds=3, random_state=0).fit(X, y)
    assert model.order_[0] == 2
    bought = model.acquired(X, budget=2)
    assert not bought[:, 2].any()
    assert (model.cost(X, budget=2) == 2).all()
    assert bought[:, 0].all()


def test_the_trace_is_the_curve_of_the_order():
    X, y = make_data()
    model = StaticOrderClassifier(costs=[1, 2, 3, 4], n_folds=3, random_state=0).fit(X, y)
    assert model.trace_["n_factors"].tolist() == [0, 1, 2, 3, 4]
    assert model.trace_["cost"].iloc[-1] == 10
    assert model.trace_["accuracy"].iloc[2] > model.trace_["accuracy"].iloc[0]
    story = model.explain(X[:2])
    assert story[story["row"] == 0]["factor"].tolist()[1:] == model.order_


def test_the_grid_counts_factors():
    X, _ = make_data()
    X[:, 1] = 0
    assert StaticOrderClassifier().trade_off_grid(X) == [{"n_factors": k} for k in range(4)]


def test_weights_need_a_linear_classifier():
    X, y = make_data(60)
    with pytest.raises(ValueError, match="order is 'weight', but the classifier has no weights"):
        StaticOrderClassifier("weight", classifier=GaussianNB(), n_folds=2).fit(X, y)


def test_a_foreign_classifier_is_stored_and_read_back(tmp_path):
    X, y = make_data(60)
    model = StaticOrderClassifier(classifier=GaussianNB(), n_factors=2, n_folds=2, random_state=0)
    model.fit(X, y)
    assert not model.policy_.exact
    model.save(tmp_path / "model")
    again = worthwhile.load(tmp_path / "model")
    assert again.predict_proba(X).tolist() == model.predict_proba(X).tolist()


@pytest.mark.parametrize("seen", [[0, 1], [0]])
def test_a_class_that_a_fold_has_not_seen_is_never_its_answer(seen):
    rng = np.random.default_rng(0)
    Z, codes = rng.normal(size=(60, 3)), rng.choice(seen, 60)
    layout, _ = make_layout(Z, Costs(np.ones(3)), None)
    settings = DataSettings(LogisticRegression(), masked=False, n_folds=None, n_jobs=1)
    scorer = fit_scorer(Z, codes, [], 3, layout, settings, 0)
    raw = Z @ scorer.weight + scorer.bias
    assert set(raw.argmax(axis=1)) <= set(seen)
    assert links.softmax(raw)[:, 2].max() < 1e-9
