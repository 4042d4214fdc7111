from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone

import worthwhile
from worthwhile import (
    Costs,
    CostSensitiveTreeRegressor,
    GreedyMiserRegressor,
    SubmodularTreeClassifier,
    SubmodularTreeRegressor,
)
from worthwhile.core.linear.greedy_selection import SharedPrices
from worthwhile.estimators.linear._astc_inputs import TreeInputs
from worthwhile.policy.base import run_case
from worthwhile.policy.linear_tree_inputs import TreeInputsPolicy, tree_outputs

COSTS = Costs([1, 2, 3, 1, 5], groups={"g": {"fee": 2, "features": [1, 2]}}, evaluation=0.25)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    X[rng.random(X.shape) < 0.05] = np.nan
    clean = np.nan_to_num(X)
    return X, np.where(clean[:, 0] > 0, clean[:, 1], clean[:, 3]) + np.abs(clean[:, 2])


@pytest.fixture(scope="module")
def booster(data):
    return GreedyMiserRegressor(n_rounds=20, max_depth=2, lam=0.0, costs=COSTS).fit(*data)


@pytest.fixture(scope="module")
def model(data, booster):
    return SubmodularTreeRegressor(6, costs=COSTS, max_depth=3, trees=booster).fit(*data)


def test_outputs_of_single_trees_add_up_to_the_ensemble(data, booster):
    trees = booster.policy_.trees
    total = np.full(300, trees.base[0])
    for tree in range(trees.n_trees):
        total += tree_outputs(trees, tree, data[0])
    np.testing.assert_allclose(total, booster.predict(data[0]), rtol=1e-9)


def test_an_input_costs_what_its_features_still_cost():
    wanted = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 0, 0], [0, 0, 0, 1, 0]], dtype=bool)
    prices = SharedPrices(wanted, COSTS.flat)
    assert (prices.alone / 1e9).tolist() == [5, 7, 1]
    assert (prices.after([0]).price / 1e9).tolist() == [0, 3, 1]


def test_budgets_are_kept_in_raw_features(model, data):
    bills, parents = model.costs_.price(model.policy_.path_masks()), model.policy_.tree.parents()
    new = bills - np.where(parents >= 0, bills[parents], 0.0)
    assert (new <= 6).all()
    X, y = data
    assert ((model.predict(X) - y) ** 2).mean() < 0.5 * y.var()
    assert "inputs made of features" in model.certificates_.statement[0]


def test_bought_features_are_those_of_the_trees_on_the_path(model, data):
    X = data[0][:20]
    used = model.policy_.trees.tests(5)
    leaves = model.policy_.leaves(X)
    parents = model.policy_.tree.parents()
    for row, leaf in zip(model.acquired(X), leaves, strict=True):
        expected, node = np.zeros(5, dtype=bool), leaf
        while node >= 0:
            expected |= used[model.policy_.tree.own(node)].any(axis=0)
            node = parents[node]
        assert np.array_equal(row, expected)


@pytest.mark.parametrize("budget", [None, 0, 0.25, 1.25, 3, 5, 8, 11])
def test_one_row_and_a_batch_agree_to_the_bit(model, data, budget):
    limit = None if budget is None else int(budget * 10**9)
    X = data[0][:25]
    outcome = model.policy_.batch(X, limit)
    quanta = COSTS.quanta(outcome.acquired) + outcome.evaluated * COSTS.flat.evaluation
    assert limit is None or (quanta <= limit).all()
    for i, row in enumerate(X):
        raw, bought, evaluated = run_case(model.policy_, row, limit)
        assert raw.tobytes() == outcome.raw[i].tobytes()
        assert np.array_equal(bought, outcome.acquired[i])
        assert evaluated == outcome.evaluated[i]


def test_what_is_not_bought_is_not_looked_at(model, data):
    X = data[0][:25]
    spoiled = np.where(model.acquired(X), X, 1e9)
    assert np.array_equal(model.predict(X), model.predict(spoiled))


def test_files_and_clones_keep_the_trees(model, data, tmp_path):
    model.save(tmp_path / "model.worthwhile")
    again = worthwhile.load(tmp_path / "model.worthwhile")
    assert np.array_equal(again.predict(data[0]), model.predict(data[0]))
    assert np.array_equal(again.cost(data[0]), model.cost(data[0]))
    copied = clone(model)
    assert copied.trees is model.trees
    assert np.array_equal(copied.fit(*data).predict(data[0]), model.predict(data[0]))


def test_classifiers_and_pruning_take_trees_too(data, booster):
    X, y = data
    model = SubmodularTreeClassifier(
        8, costs=COSTS, max_depth=3, trees=booster, validation_fraction=0.2, random_state=0
    ).fit(X, y > 1)
    assert model.score(X, y > 1) > 0.75
    assert isinstance(model.policy_, TreeInputsPolicy)


@pytest.mark.parametrize(
    "estimator",
    [
        SubmodularTreeRegressor(3, max_depth=4),
        CostSensitiveTreeRegressor(0.003, max_depth=4, validation_fraction=None),
    ],
)
def test_a_model_on_trees_is_pruned_later_as_while_fitting(data, booster, estimator):
    X, y = data
    model = clone(estimator).set_params(costs=COSTS, trees=booster)
    now = clone(model).fit(X[:200], y[:200], validation=(X[200:], y[200:]))
    later = clone(model).fit(X[:200], y[:200]).pruned(X[200:], y[200:])
    assert now.policy_.tree.n_nodes == later.policy_.tree.n_nodes
    np.testing.assert_array_equal(now.predict(X), later.predict(X))


def test_cstc_without_penalties_is_least_squares_on_the_trees(data, booster):
    X, y = data
    model = CostSensitiveTreeRegressor(
        0, rho=0, max_depth=1, costs=COSTS, trees=booster, validation_fraction=None, tol=1e-12
    ).fit(X, y)
    said = np.column_stack([tree_outputs(booster.policy_.trees, k, X) for k in range(20)])
    said = np.column_stack([said, np.ones(len(said))])
    best = said @ np.linalg.lstsq(said, y, rcond=None)[0]
    assert ((model.predict(X) - y) ** 2).sum() == pytest.approx(((best - y) ** 2).sum(), rel=1e-4)


def test_cstc_pays_for_what_the_trees_of_a_path_test(data, booster):
    X, y = data
    bills = []
    for lam in (0.001, 0.1, 0.5, 3.0):
        model = CostSensitiveTreeRegressor(
            lam, costs=COSTS, max_depth=2, trees=booster, validation_fraction=None
        ).fit(X, y)
        bills.append(float(model.cost(X).mean()))
        needs, tree = booster.policy_.trees.tests(5), model.policy_.tree
        root = needs[tree.own(0)].any(axis=0)
        assert (model.acquired(X) >= root).all()
    assert bills == sorted(bills, reverse=True)
    assert bills[0] > bills[-1]


def test_price_terms_are_of_the_trees_that_need_them(booster):
    price, member = TreeInputs(booster, COSTS).terms(COSTS)
    assert price.tolist() == [1, 2, 3, 1, 5, 2]
    needs = booster.policy_.trees.tests(5)
    np.testing.assert_array_equal(member[:, :5], needs)
    np.testing.assert_array_equal(member[:, 5], needs[:, 1] | needs[:, 2])


def test_cstc_on_trees_goes_through_files_and_copies(data, booster, tmp_path):
    model = CostSensitiveTreeRegressor(0.003, costs=COSTS, max_depth=2, trees=booster).fit(*data)
    model.save(tmp_path / "model.worthwhile")
    again = worthwhile.load(tmp_path / "model.worthwhile")
    assert np.array_equal(again.predict(data[0]), model.predict(data[0]))
    assert clone(model).trees is booster


def test_other_models_and_other_columns_are_refused(data, booster):
    X, y = data
    with pytest.raises(
        TypeError, match="trees is a SubmodularTreeRegressor: give a fitted boosted model"
    ):
        SubmodularTreeRegressor(trees=SubmodularTreeRegressor()).fit(X, y)
    with pytest.raises(ValueError, match="trees was fitted on 5 columns, X has 4"):
        SubmodularTreeRegressor(trees=booster).fit(X[:, :4], y)


def test_unsafe_states_are_refused(model):
    settings, arrays = model.policy_.state()
    policy = model.policy_
    with pytest.raises(ValueError, match="not a policy of trees"):
        TreeInputsPolicy.from_state(
            policy.costs, policy.output, (settings, arrays | {"trees": policy})
        )
    wrong = np.full_like(arrays["features"], policy.trees.n_trees)
    with pytest.raises(ValueError, match="not one of the 20 columns"):
        TreeInputsPolicy.from_state(
            policy.costs, policy.output, (settings, arrays | {"features": wrong})
        )
    inner = arrays["trees"]
    wide = replace(
        inner.trees,
        value=np.repeat(inner.trees.value, 2, axis=1),
        base=np.repeat(inner.trees.base, 2),
    )
    arrays["trees"] = type(inner)(inner.costs, inner.output, wide)
    with pytest.raises(ValueError, match="2 values per node"):
        TreeInputsPolicy.from_state(policy.costs, policy.output, (settings, arrays))
