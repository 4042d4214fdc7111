"""Sweeps reach every budget: no hole in the bills of a trade-off that a model could fill."""

from __future__ import annotations

import importlib
import itertools
import warnings

import numpy as np
import pytest
from sklearn.base import clone

import worthwhile
from worthwhile import Costs
from worthwhile.estimators._shared.covering import bill_of, covering, few_covering, sample
from worthwhile.estimators.linear import _base
from worthwhile.frontier._stages import cuts
from worthwhile.frontier._sweep import between

FEES = {
    "a": {"fee": 15, "features": [0, 1]},
    "b": {"fee": 5, "features": [2]},
    "c": {"fee": 10, "features": [3, 4]},
    "d": {"fee": 0.001, "features": [5]},
}

PRICES = {
    "six decades": Costs(np.logspace(-3, 3, 6).round(4)),
    "six decades, the best first": Costs(np.logspace(3, -3, 6).round(4)),
    "free features": Costs([0, 0, 0, 1, 2, 3]),
    "one dear feature": Costs([1, 1, 1, 1, 1, 100]),
    "all equal": Costs(np.ones(6)),
    "fees only": Costs(np.zeros(6), groups=FEES),
}

QUICK = {
    "GreedyMiserClassifier": {"n_rounds": 20},
    "CostWeightedL1Classifier": {},
    "SubmodularTreeClassifier": {"max_depth": 3},
    "BudgetedForestClassifier": {"n_trees": 5, "random_state": 0},
    "StaticOrderClassifier": {"n_folds": 3},
}

SLOW = {
    "GreedyMiserRegressor": {"n_rounds": 20},
    "CostWeightedL1Regressor": {},
    "SubmodularTreeRegressor": {"max_depth": 3},
    "PrunedForestClassifier": {"random_state": 0},
    "EarlyExitClassifier": {},
    "CostSensitiveTreeClassifier": {"max_depth": 2, "max_iter": 10, "random_state": 0},
    "CostSensitiveTreeRegressor": {"max_depth": 2, "max_iter": 10, "random_state": 0},
    "CascadeClassifier": {"n_stages": 2, "n_rounds": 20},
    "ForwardForestClassifier": {"n_trees": 10, "n_search_trees": 5, "random_state": 0},
    "DynamicSelectionClassifier": {"max_iter": 2, "n_folds": 3, "random_state": 0},
}

CASES = [(name, prices) for name in QUICK for prices in PRICES] + [
    pytest.param(name, prices, marks=pytest.mark.slow) for name in SLOW for prices in PRICES
]


def _rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    score = X @ np.linspace(1, 0.4, 6) + 0.8 * X[:, 0] * X[:, 1]
    return X, score + 0.4 * rng.normal(size=n)


def _estimator(name, prices):
    settings = (QUICK | SLOW)[name]
    model = getattr(worthwhile, name)(costs=PRICES[prices], **settings)
    X, target = _rows()
    return model, X, target if name.endswith("Regressor") else (target > 0).astype(int)


def _bills(model, params, X, y):
    """Mean bills of a point, at every stage; the whole model last."""
    fitted = clone(model).set_params(**params).fit(X, y)
    return [float(part.cost(X).mean()) for _, part in cuts(fitted)]


def _found_between(model, low, high, X, y):
    """A bill clearly between those of two points that twenty bisections find; None if they do not."""
    (first, one), (last, other) = low, high
    margin = 0.1 * (other - one)
    for _ in range(20):
        middle = between(first, last)
        if middle is None or middle in (first, last):
            return None
        bill = _bills(model, middle, X, y)[-1]
        if one + margin < bill < other - margin:
            return bill
        if bill <= one + margin:
            first = middle
        else:
            last = middle
    return None


@pytest.mark.parametrize(("name", "prices"), CASES)
def test_neighbouring_bills_differ_by_a_quarter_or_there_is_nothing_between(name, prices):
    model, X, y = _estimator(name, prices)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grid = model.trade_off_grid(X, y)
        points = [(params, _bills(model, params, X, y)) for params in grid]
        bills = np.unique(np.concatenate([found for _, found in points]))
        dearest = bills[-1]
        whole = sorted(((p, found[-1]) for p, found in points), key=lambda point: point[1])
        for low, high in itertools.pairwise(whole):
            inside = bills[(bills >= low[1]) & (bills <= high[1])]
            if len(inside) < 2 or np.diff(inside).max() <= dearest / 4:
                continue
            assert _found_between(model, low, high, X, y) is None


@pytest.mark.parametrize("name", QUICK)
def test_a_sweep_starts_where_nothing_is_bought(name):
    model, X, y = _estimator(name, "one dear feature")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert min(_bills(model, model.trade_off_grid(X, y)[0], X, y)) == 0


def test_prices_of_commercial_interfaces_leave_no_jump_from_nothing_to_everything():
    """Four sources at 0.001 to 15, one fee each, the cheap one the best for its price."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    told = [np.where(rng.random(600) < right, y, 1 - y) for right in (0.85, 0.75, 0.8, 0.7)]
    X = np.column_stack([value for one in told for value in (one, rng.random(600))])
    prices = {"a": 15, "b": 5, "c": 10, "d": 0.001}
    groups = {
        name: {"fee": fee, "features": [2 * i, 2 * i + 1]}
        for i, (name, fee) in enumerate(prices.items())
    }
    model = worthwhile.GreedyMiserClassifier(costs=Costs(np.zeros(8), groups=groups), n_rounds=20)
    bills = [_bills(model, params, X, y)[-1] for params in model.trade_off_grid(X, y)]
    assert bills[0] == 0
    assert sum(1 < bill < 16 for bill in bills) >= 2


def test_bisection_finds_a_narrow_model():
    def bill(lam):
        return 0.0 if lam > 0.0123 else 5.0 if lam > 0.0122 else 10.0

    assert [bill(lam) for lam in covering(bill, [1.0, 0.1, 0.0])] == [0.0, 5.0, 10.0]


def test_bisection_goes_towards_0_and_ends_at_a_jump():
    seen = []

    def bill(lam):
        seen.append(lam)
        return 10.0 * (lam < 1e-7) + 1.0 * (lam < 0.5)

    found = covering(bill, [1.0, 0.0])
    assert [bill(lam) for lam in found] == [0.0, 1.0, 11.0]
    assert len(seen) <= 45


def test_a_gap_between_bills_is_bisected_where_they_do_not_fall_steadily():
    """0.3 costs less than 0.4: the neighbour of 0.5 by bill is none by value."""

    def bill(lam):
        if 0.435 < lam < 0.445:
            return 760.0
        return 0.0 if lam > 0.9 else 500.0 if lam > 0.45 else 1040.0 if lam > 0.35 else 1025.0

    values = [1.0, 0.5, 0.4, 0.3]
    found = covering(bill, values, most=len(values))  # no fit is left for neighbours by value
    assert 760.0 in [bill(lam) for lam in found]
    assert found == sorted(found, reverse=True)


def test_a_gap_that_was_halved_in_vain_lets_others_have_their_turn():
    """A jump that takes all the fits it may have must not keep a narrower gap from being looked at."""

    def bill(lam):
        return 10.0 * (lam < 0.0123456789) + 4.0 * (lam < 0.5) + 3.0 * (lam < 0.3)

    found = covering(bill, [1.0, 0.1, 0.001], most=14)
    assert {bill(lam) for lam in found} >= {0.0, 4.0, 7.0, 17.0}


def test_one_model_is_a_sweep_of_its_own():
    assert covering(lambda lam: 0.0, [0.0]) == [0.0]
    assert covering(lambda lam: 3.0, [1.0, 0.5, 0.0]) == [1.0, 0.0]


def test_sampled_rows_are_spread_over_all():
    X, y = sample(np.arange(5000)[:, None], np.arange(5000))
    assert len(y) <= 2000
    assert y[0] == 0
    assert y[-1] > 4990
    assert (X[:, 0] == y).all()


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (worthwhile.SubmodularTreeClassifier(routing="soft"), "budget"),
        (worthwhile.BudgetedForestClassifier(n_trees=5, random_state=0), "price_power"),
    ],
)
def test_auto_chooses_among_bills_without_holes(model, name, monkeypatch):
    """Heart's prices span two decades: steps of a parameter jump from a tenth of the bill to all of it."""
    heart, looked = worthwhile.datasets.load_heart(), []
    model = clone(model).set_params(costs=heart.costs)
    module = importlib.import_module(type(model).__module__)
    chosen = module.choose_point if hasattr(module, "choose_point") else _base.choose_point
    home = module if hasattr(module, "choose_point") else _base

    def spy(estimator, points, *rows, **more):
        looked.extend(point[name] for point in points)
        return chosen(estimator, points, *rows, **more)

    monkeypatch.setattr(home, "choose_point", spy)
    full = float(heart.costs.total)
    model.fit(heart.data, heart.target)
    bills = [_bills(model, {name: value}, heart.data, heart.target)[-1] for value in looked]
    assert sum(0.2 * full < bill < 0.8 * full for bill in bills) >= 2
    assert max(np.diff(sorted(bills))) < 0.7 * full
    assert model.cost(heart.data).mean() < 0.98 * full


def test_models_that_are_looked_at_differ_by_the_trade_off_alone():
    X, target = _rows()
    forest = worthwhile.BudgetedForestClassifier(n_trees=3, costs=PRICES["one dear feature"])
    bill = bill_of(forest, X, (target > 0).astype(int), "price_power")
    assert bill(0.3) == bill(0.3)


def test_few_of_a_covering_keep_those_given():
    def bill(lam):
        return 10.0 - 10 * lam

    found = few_covering(bill, [1.0, 0.99, 0.0])
    assert {1.0, 0.99, 0.0} <= set(found)
    assert found == sorted(found, reverse=True)
    assert 4 < len(found) < 16
