"""What is grown for real: sets at which rows stop, by forests whose votes say what they are worth."""

import numpy as np
import pytest

from worthwhile import BudgetClassifier, Costs
from worthwhile.core.threads import Threads
from worthwhile.estimators._shared.coded_forests import STYLES, Table
from worthwhile.estimators.budget import _screening
from worthwhile.estimators.budget._forests import Shape
from worthwhile.estimators.budget._payoff import Classes, sharpened
from worthwhile.estimators.budget._screening import sets_to_grow
from worthwhile.estimators.budget._search import Search, Shop


def votes_of(right, sureness, n=400, n_classes=4):
    """Votes that are right for a share of the rows, and as sure of all of them."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, n_classes, n)
    said = np.where(np.arange(n) < right * n, truth, (truth + 1) % n_classes)
    votes = np.full((n, n_classes), (1 - sureness) / (n_classes - 1))
    votes[np.arange(n), said] = sureness
    return votes, truth


def test_votes_that_are_right_more_often_are_worth_more_however_sure_they_are():
    modest, truth = votes_of(0.95, 0.6)
    bold, _ = votes_of(0.85, 0.9)
    payoff = Classes(truth, 4, np.ones(len(truth)))
    own = np.arange(len(truth)), truth
    assert modest[own].mean() < bold[own].mean()  # as they are, they mislead
    assert payoff.soft(modest) > payoff.soft(bold)


def test_sharpened_votes_are_shares_in_the_same_order():
    votes, truth = votes_of(0.95, 0.5)
    found = sharpened(votes, truth)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.array_equal(found.argmax(axis=1), votes.argmax(axis=1))
    assert found.max(axis=1).mean() == pytest.approx(0.95, abs=0.03)
    true = sharpened(np.eye(4)[truth], truth)
    assert np.array_equal(true, np.eye(4)[truth])


def test_trees_with_random_cuts_on_many_columns_see_more_rows():
    plain, random = (STYLES[i].size(48, 1000, 10**6, wide=True) for i in (0, 3))
    assert plain == STYLES[3].size(48, 1000, 10**6, wide=False) == (48, 500)
    assert random[0] > 48
    assert random[1] == 750
    assert STYLES[3].size(48, 1000, 100, wide=True)[1] == 100


@pytest.fixture
def search():
    """Two prices, eight columns, of which the dear ones add nothing."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 8))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    prices = [1, 2, 3, 4, 50, 60, 70, 80]
    with Threads(1) as threads:
        table = Table(X, y, None, np.ones(600), 2, threads)
        payoff = Classes(y, 2, np.ones(600))
        yield Search(table, payoff, Shop(Costs(prices)), threads, Shape(8, 0)), threads


def test_sets_at_which_nobody_stops_are_not_grown(search, monkeypatch):
    monkeypatch.setattr(_screening, "LEAST_ROWS", 100)
    found, threads = search
    main = tuple(found.forward(1.0))
    useless = tuple(frozenset({7, 6, 5, 4, *range(k)}) for k in (0, 2))
    useful = (frozenset({0, 1}),)
    sets = dict.fromkeys([*main, *useless, *useful])
    grown = sets_to_grow(found, [main, useless], sets, threads)
    assert set(main) <= set(grown)
    assert frozenset({4, 5, 6, 7}) not in grown
    assert frozenset({0, 1}) in grown


def test_few_rows_grow_all_sets(search):
    found, threads = search
    sets = dict.fromkeys([frozenset({7}), frozenset({6, 7})])
    assert sets_to_grow(found, [(frozenset({7}),)], sets, threads) == sets


def test_a_model_of_which_sets_were_left_out_obeys(monkeypatch):
    monkeypatch.setattr(_screening, "LEAST_ROWS", 100)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(500, 8))
    y = X[:, 0] * X[:, 1] > 0
    model = BudgetClassifier(
        costs=[1, 5, 2, 3, 9, 8, 7, 6], n_trees=12, random_state=0, cross_validated=False
    ).fit(X, y)
    dear = model.at(stage=model.n_stages_ - 1)
    assert dear.score(X, y) > 0.8
    assert np.array_equal(dear.cost(X), dear.costs_.price(dear.acquired(X)))
