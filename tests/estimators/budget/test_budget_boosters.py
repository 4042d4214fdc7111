"""Trees that correct one another beside forests: the average that is taken, and models that have them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import worthwhile
from worthwhile import BudgetClassifier, BudgetRegressor, Costs
from worthwhile.core.threads import Threads
from worthwhile.estimators._shared.coded_forests import STYLES, Table
from worthwhile.estimators.budget import _boosters, _fit, _nodes
from worthwhile.estimators.budget._boosters import order_of_use, sets_to_boost, with_boosters
from worthwhile.estimators.budget._forests import Shape
from worthwhile.estimators.budget._payoff import Classes
from worthwhile.estimators.budget._search import Search, Shop


@pytest.fixture
def fewer(monkeypatch):
    """Small models that have boosters all the same."""
    monkeypatch.setattr(_fit, "BOOSTED_ROWS", 100)
    monkeypatch.setattr(_fit, "BOOSTED_COLUMNS", 16)
    monkeypatch.setattr(_boosters, "ROUNDS", 10)
    monkeypatch.setattr(_boosters, "TURNS", 30)


@pytest.fixture
def weighed(monkeypatch):
    """Scores say how much they weigh, though there are few rows."""
    monkeypatch.setattr(_boosters, "FEW_ROWS", 0)


def rows_of(n=320, d=16, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[rng.random((n, d)) < 0.05] = np.nan
    total = np.nansum(X[:, :12], axis=1)
    return X, total


def test_sets_that_are_wide_and_not_alike_are_boosted():
    order = tuple(frozenset(range(k)) for k in (2, 7, 8, 9, 10, 12, 13))
    shape = Shape(8, 0, boosted=True)
    found = sets_to_boost([order, (frozenset(range(3, 20)),)], shape)
    assert sorted(map(len, found)) == [8, 10, 13]
    largest = sets_to_boost([order], Shape(8, 0, largest=3))
    assert sorted(map(len, largest)) == [8, 10, 13]
    longer = (*order, frozenset(range(20)))
    assert sorted(map(len, sets_to_boost([longer], Shape(8, 0, largest=3)))) == [
        10, 13, 20
    ]  # fmt: skip
    assert sets_to_boost([order], Shape(8, 0)) == set()
    assert sets_to_boost([], shape) == set()


@pytest.mark.usefixtures("weighed")
@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_the_average_is_what_its_trees_say(weight, monkeypatch):
    monkeypatch.setattr(_boosters, "ROUNDS", 10)
    X, total = rows_of()
    y = np.digitize(total, [-2, 2])
    with Threads(1) as threads:
        table = Table(X, y, None, np.ones(len(y)), 3, threads).holding_out(np.arange(320), 300)
    payoff = Classes(y, 3, np.ones(len(y)))
    tried = iter([0.0, 0.5, 1.0])
    monkeypatch.setattr(
        Classes, "mixed", lambda _, votes: np.full(len(votes), float(next(tried) == weight))
    )
    columns = list(range(16))
    forest, votes = table.forest(columns, STYLES[3], 12, 200, 0)
    trees, answers = with_boosters(table, payoff, columns, forest, votes, Shape(12, 0))
    assert len(trees.root) == {0.0: 12, 0.5: 12 + 40, 1.0: 40}[weight]
    said = np.zeros((20, 3))
    for root in trees.root.tolist():
        for row in range(20):
            at = root
            while trees.feature[at] >= 0:
                x = X[300 + row, trees.feature[at] >> 1]
                left = trees.feature[at] & 1 if np.isnan(x) else x <= trees.threshold[at]
                at = trees.child[at] + (not left)
            for entry in range(trees.start[trees.child[at]], trees.start[trees.child[at] + 1]):
                said[row, trees.held[entry]] += trees.share[entry] / len(trees.root)
    said = np.maximum(said, 0)
    np.testing.assert_allclose(said / said.sum(axis=1)[:, None], answers[300:], atol=1e-5)
    assert (answers >= 0).all()
    np.testing.assert_allclose(answers.sum(axis=1), 1.0, atol=1e-6)


@pytest.mark.usefixtures("weighed")
def test_what_answers_better_is_taken():
    """A sum of many columns suits trees that correct one another."""
    X, total = rows_of(900, seed=3)
    y = (total > 0).astype(int)
    with Threads(1) as threads:
        table = Table(X, y, None, np.ones(len(y)), 2, threads)
    payoff = Classes(y, 2, np.ones(len(y)))
    forest, votes = table.forest(list(range(16)), STYLES[1], 12, 450, 0)
    _, answers = with_boosters(table, payoff, list(range(16)), forest, votes, Shape(12, 0))
    assert payoff.mixed(answers).mean() > payoff.mixed(votes).mean() + 0.02


def test_lists_go_on_as_boosted_trees_use_columns(fewer):
    X, total = rows_of(400, 24, seed=1)
    y = (total > 0).astype(int)
    prices = np.r_[np.ones(6), np.full(6, 50.0), np.full(12, 3.0)]
    with Threads(1) as threads:
        table, payoff = (
            Table(X, y, None, np.ones(400), 2, threads),
            Classes(y, 2, np.ones(400)),
        )
        used = order_of_use(table, prices / prices.sum(), range(24), 0)
        assert set(used[:4]) <= set(range(6))
        shop = Shop(Costs(prices))
        order = Search(table, payoff, shop, threads, Shape(8, 0, boosted=True)).forward(1.0)
    assert all(a < b for a, b in itertools.pairwise(order))
    assert order[-1] == frozenset(range(24))


def test_models_with_boosters_obey(fewer, tmp_path):
    X, total = rows_of()
    y = np.digitize(total, [-2, 2])
    prices = np.arange(1.0, 17.0)
    model = BudgetClassifier(costs=prices, n_trees=6, random_state=0).fit(X, y)
    again = BudgetClassifier(costs=prices, n_trees=6, random_state=0, n_jobs=2).fit(X, y)
    assert model.policy_.fingerprint() == again.policy_.fingerprint()
    assert (model.policy_.library.share < 0).any()
    dear = model.at(stage=model.n_stages_ - 1)
    shares = dear.predict_proba(X)
    assert (shares >= 0).all()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert np.array_equal(dear.cost(X), dear.costs_.price(dear.acquired(X)))
    dear.save(tmp_path / "model")
    read = worthwhile.load_policy(tmp_path / "model")
    for row in range(25):
        session = worthwhile.Session(read)
        while wanted := session.ask():
            session.tell({feature: X[row, feature] for feature in wanted})
        assert np.array_equal(session.probabilities, shares[row])
        assert session.spent == dear.cost(X[row : row + 1])[0]


def test_numbers_have_boosters_too(fewer):
    X, total = rows_of(500, seed=2)
    model = BudgetRegressor(costs=np.arange(1.0, 17.0), n_trees=6, random_state=0).fit(X, total)
    assert np.diff(model.policy_.library.trees).max() >= 4 * _boosters.ROUNDS
    rich = model.at(stage=model.n_stages_ - 1)
    new, wanted = rows_of(500, seed=9)
    assert rich.score(new, wanted) > 0.4


def test_where_rows_are_many_and_sets_few_all_may_have_boosters(fewer, monkeypatch):
    monkeypatch.setattr(_fit, "MOST_ROWS", 300)
    X, total = rows_of(400)
    groups = {"call": {"fee": 2.0, "features": list(range(1, 16))}}
    costs = Costs([0.0] * 16, groups=groups)
    seen = []

    def with_boosters(table, payoff, columns, forest, votes, shape):
        seen.append(columns)
        return forest, votes

    monkeypatch.setattr(_nodes, "with_boosters", with_boosters)
    model = BudgetClassifier(costs=costs, n_trees=6, cross_validated=False, random_state=0)
    model.fit(X, total > 0)
    assert sorted(seen) == [[0], list(range(16))]
    seen.clear()
    model.fit(X[:290], total[:290] > 0)
    assert seen == []


@pytest.mark.parametrize("n_classes", [2, 12])
def test_with_few_rows_the_largest_set_has_half_of_each(monkeypatch, n_classes):
    """With hardly any rows of a class they say nothing, and it has a forest alone."""
    monkeypatch.setattr(_boosters, "ROUNDS", 10)
    X, total = rows_of()
    y = np.argsort(np.argsort(total)) * n_classes // len(total)
    model = BudgetClassifier(n_trees=6, cross_validated=False, random_state=0).fit(X, y)
    library = model.policy_.library
    boosted = np.diff(library.trees) > 6 * 3 * 1.25 + 1  # trees of a forest
    assert boosted.tolist() == [n_classes == 2 and bool(held.all()) for held in library.member]


def test_half_of_each_says_the_mean_of_both():
    X, total = rows_of()
    y = (total > 0).astype(int)
    with Threads(1) as threads:
        table = Table(X, y, None, np.ones(len(y)), 2, threads)
    columns, shape = list(range(16)), Shape(12, 0)
    forest, votes = table.forest(columns, STYLES[3], 12, 200, 0)
    _, answers = with_boosters(table, Classes(y, 2, np.ones(320)), columns, forest, votes, shape)
    mean = (votes + _boosters._boost(table, columns, shape)[1]) / 2
    inside = (mean > 0).all(axis=1)
    assert inside.sum() > 200
    np.testing.assert_allclose(answers[inside], mean[inside], atol=1e-6)
