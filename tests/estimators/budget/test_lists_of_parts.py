"""Lists of their own for parts of the rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from worthwhile import BudgetClassifier
from worthwhile.core.threads import Threads
from worthwhile.costs import Costs
from worthwhile.estimators._shared.coded_forests import Table
from worthwhile.estimators.budget import _fit, _induction
from worthwhile.estimators.budget._branches import _parts, lists_of_parts
from worthwhile.estimators.budget._forests import Shape
from worthwhile.estimators.budget._payoff import Classes
from worthwhile.estimators.budget._search import Search, Shop

SIDE, LEFT, RIGHT = 0, 1, 2


def rows(n, seed=0):
    """The first column tells two classes from two others, and which of two columns tells those apart."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    own = np.where(X[:, SIDE] > 0, X[:, RIGHT], X[:, LEFT])
    return X, 2 * (X[:, SIDE] > 0) + (own > 0)


def searching(X, y, prices, weight, use):
    """What ``use`` makes of a search."""
    n_classes = int(y.max()) + 1
    with Threads(1) as threads:
        table = Table(X, y, None, weight, n_classes, threads)
        payoff = Classes(y, n_classes, weight)
        return use(Search(table, payoff, Shop(Costs(prices)), threads, Shape(8, 0)))


def lists(X, y, prices):
    """The main list, and those of parts."""

    def both(search):
        main = tuple(search.forward(1.0))
        return main, lists_of_parts(search, main, 1.0)

    return searching(X, y, prices, np.ones(len(y)), both)


def test_each_side_gets_the_column_that_it_needs():
    X, y = rows(1500)
    main, own = lists(X, y, np.ones(8))
    assert main[1] == {SIDE}
    other = {SIDE, LEFT, RIGHT} - main[2]
    assert {SIDE} | other in {order[2] for order in own if order[1] == {SIDE}}


def test_lists_of_parts_grow_and_begin_as_the_main_one():
    X, y = rows(1500)
    main, own = lists(X, y, np.arange(1.0, 9.0))
    assert own
    for order in own:
        assert all(small < large for small, large in itertools.pairwise(order))
        assert order[0] == main[0]
        assert order[1] == main[1]
        assert order not in {main[: len(order)]}


@pytest.mark.parametrize("light", [1.0, 1e-6])
def test_rows_that_weigh_nothing_ask_for_nothing(light):
    X, y = rows(1500)
    weight = np.where(X[:, SIDE] > 0, light, 1.0)
    have = frozenset({SIDE})
    parts = searching(X, y, np.ones(8), weight, lambda search: _parts(search, have, 1.0))
    wanted = {column for columns, _ in parts for column in columns - have}
    assert LEFT in wanted
    assert (RIGHT in wanted) == (light == 1.0)


def test_two_classes_at_one_price_have_none():
    X, y = rows(1500)
    assert lists(X, y % 2, np.ones(8))[1] == []


@pytest.fixture
def many_rows(monkeypatch):
    """1,500 rows are many."""
    monkeypatch.setattr(_fit, "MOST_ROWS", 1000)
    monkeypatch.setattr(_induction, "ROWS", 700)


def at_two(X, y, fresh, truth):
    """What two purchases a case are worth, and the model."""
    settings = {"n_trees": 24, "random_state": 0, "cross_validated": False}
    model = BudgetClassifier(budget=2, costs=np.ones(8), **settings).fit(X, y)
    assert model.cost(fresh).mean() <= 2.02
    return model.score(fresh, truth), model


@pytest.mark.usefixtures("many_rows")
def test_two_purchases_are_worth_more_where_each_row_chooses_its_second(monkeypatch):
    X, y = rows(1500)
    fresh, truth = rows(4000, seed=1)
    own, model = at_two(X, y, fresh, truth)
    bought = model.acquired(fresh)
    assert bought[:, LEFT].mean() > 0.25
    assert bought[:, RIGHT].mean() > 0.25
    assert not (bought[:, LEFT] & bought[:, RIGHT]).mean() > 0.2
    assert np.array_equal(model.cost(fresh), model.costs_.price(bought))
    monkeypatch.setattr(_fit, "lists_of_parts", lambda *_: [])
    assert own > at_two(X, y, fresh, truth)[0] + 0.03
