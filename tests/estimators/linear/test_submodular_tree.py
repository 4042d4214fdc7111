from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from tests.naive import linear as naive
from worthwhile import Costs, SubmodularTreeClassifier, SubmodularTreeRegressor
from worthwhile.core.linear.rows import linear_outputs
from worthwhile.estimators.linear import _astc_grow as _linear_grow
from worthwhile.testing import check_contract

PRICES = np.array([1, 2, 3, 1, 5, 2])


def make(seed, n=300, d=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    y = (
        X[:, 0]
        + np.where(X[:, 1] > 0, X[:, 2], -X[:, 3])
        + np.abs(X[:, 4])
        + 0.3 * rng.normal(size=n)
    )
    return X, y


def sse(model, X, y):
    return float(((model.predict(X) - y) ** 2).sum())


def path_bills(model):
    """What rows at each node have paid, and the node's parent."""
    tree = model.policy_.tree
    return model.costs_.price(model.policy_.path_masks()), tree.parents()


def test_contract_of_soft_trees():
    check_contract(SubmodularTreeRegressor(6, max_depth=3, min_weight=5, routing="soft"), rows=4)


@pytest.mark.parametrize("engine", ["moments", "qr"])
@given(seed=st.integers(0, 10_000), budget=st.integers(0, 6))
@settings(max_examples=10, deadline=None)
def test_the_papers_preset_is_algorithm_1_to_the_letter(engine, seed, budget):
    X, y = make(seed, n=120)
    model = SubmodularTreeRegressor(
        budget, costs=PRICES, max_depth=3, preset="paper", engine=engine, certify=False
    ).fit(X, y)
    tree, expected = model.policy_.tree, naive.algorithm_1(X, y, PRICES, budget, 3)
    assert tree.n_nodes == 7
    for k, (features, beta) in expected.items():
        own = tree.own(k).tolist()
        assert sorted(own) == sorted(features)
        slopes = tree.coefficient[tree.start[k] : tree.start[k + 1], 0]
        np.testing.assert_allclose(
            slopes, beta[[features.index(a) for a in own]], rtol=1e-6, atol=1e-8
        )


def test_the_papers_preset_spends_more_than_its_budget_by_one_purchase():
    X, y = make(3)
    for preset, most in (("default", 2), ("paper", 7)):
        model = SubmodularTreeRegressor(2, costs=PRICES, max_depth=1, preset=preset).fit(X, y)
        assert 0 < model.cost(X).max() <= most
    assert model.cost(X).max() > 2


def test_the_papers_preset_takes_classes_weights_and_soft_routing():
    X, y = make(4)
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    model = SubmodularTreeClassifier(
        2, costs=PRICES, max_depth=3, preset="paper", routing="soft", tau=1.0
    )
    whole = np.random.default_rng(0).integers(1, 3, len(X))
    weighted = model.fit(X, labels, sample_weight=whole).predict(X)
    assert np.mean(weighted == labels) > 0.6
    repeated = np.repeat(np.arange(len(X)), whole)
    np.testing.assert_array_equal(model.fit(X[repeated], labels[repeated]).predict(X), weighted)


@given(st.integers(0, 10_000), st.integers(0, 8), st.sampled_from(["hard", "soft"]))
@settings(max_examples=20, deadline=None)
def test_budgets_per_node_and_per_path_are_kept(seed, budget, routing):
    X, y = make(seed, n=150)
    costs = Costs(PRICES, groups={"g": {"fee": 2, "features": [1, 2]}})
    model = SubmodularTreeRegressor(
        budget, costs=costs, max_depth=3, routing=routing, min_weight=5
    ).fit(X, y)
    bills, parents = path_bills(model)
    new = bills - np.where(parents >= 0, bills[parents], 0.0)
    assert (new <= budget).all()
    assert (model.cost(X) <= 3 * budget).all()
    total = SubmodularTreeRegressor(
        7, costs=costs, max_depth=3, budget_per="path", min_weight=5
    ).fit(X, y)
    assert (total.cost(X) <= 7).all()


def test_budgets_per_level_and_per_node():
    X, y = make(1)
    levels = SubmodularTreeRegressor([2, 0, 1], costs=PRICES, max_depth=3).fit(X, y)
    nodes = SubmodularTreeRegressor([2, 0, 0, 1, 1, 1, 1], costs=PRICES, max_depth=3).fit(X, y)
    assert levels.policy_.fingerprint() == nodes.policy_.fingerprint()
    bills, _ = path_bills(levels)
    assert (bills <= np.array([2, 2, 2, 3, 3, 3, 3])[: len(bills)]).all()


@given(st.integers(0, 10_000), st.sampled_from(["hard", "soft"]))
@settings(max_examples=15, deadline=None)
def test_engines_grow_the_same_tree(seed, routing):
    X, y = make(seed)
    models = [
        SubmodularTreeRegressor(3, costs=PRICES, max_depth=3, engine=engine, routing=routing).fit(
            X, y
        )
        for engine in ("moments", "qr")
    ]
    a, b = (model.policy_.tree for model in models)
    assert [sorted(a.own(k)) for k in range(a.n_nodes)] == [
        sorted(b.own(k)) for k in range(b.n_nodes)
    ]
    np.testing.assert_allclose(a.intercept, b.intercept, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(models[0].predict(X), models[1].predict(X), rtol=1e-7, atol=1e-9)
    for column in ("ratio", "guarantee", "cost"):
        np.testing.assert_allclose(
            models[0].certificates_[column], models[1].certificates_[column], atol=1e-8
        )


def test_columns_on_demand_grow_the_same_tree(monkeypatch):
    X, y = make(4, n=400, d=30)
    kept = SubmodularTreeRegressor(2, max_depth=3).fit(X, y)
    monkeypatch.setattr(_linear_grow, "BORDER_COST", 0)
    monkeypatch.setattr(_linear_grow, "BATCH_COST", 0)
    lazy = SubmodularTreeRegressor(2, max_depth=3, certify=False).fit(X, y)
    assert [lazy.policy_.tree.own(k).tolist() for k in range(7)] == [
        kept.policy_.tree.own(k).tolist() for k in range(7)
    ]
    np.testing.assert_allclose(lazy.predict(X), kept.predict(X), rtol=1e-8)
    assert not hasattr(lazy, "certificates_")


def test_one_node_without_a_budget_is_least_squares():
    X, y = make(2)
    X = np.column_stack([X, X[:, 0] + X[:, 1], np.ones(len(X))])
    model = SubmodularTreeRegressor(np.inf, max_depth=1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), rtol=1e-8)
    assert model.certificates_.guarantee[0] == 0.0
    assert model.certificates_.statement[0] == "no guarantee: the features are collinear"


def test_free_features_are_all_used_everywhere():
    X, y = make(3)
    model = SubmodularTreeRegressor(0, costs=np.zeros(6), max_depth=3).fit(X, y)
    assert all(len(model.policy_.tree.own(k)) == 6 for k in range(7))


@given(st.integers(0, 10_000))
@settings(max_examples=15, deadline=None)
def test_deeper_trees_never_fit_training_data_worse(seed):
    X, y = make(seed)
    errors = [
        sse(SubmodularTreeRegressor(2, costs=PRICES, max_depth=d).fit(X, y), X, y)
        for d in (1, 2, 3, 4)
    ]
    assert all(deeper <= shallower * (1 + 1e-9) for shallower, deeper in pairwise(errors))


def test_children_start_from_their_parents_features_and_halve_the_rows():
    X, y = make(5)
    model = SubmodularTreeRegressor(2, costs=PRICES, max_depth=3).fit(X, y)
    tree = model.policy_.tree
    for node, parent in enumerate(tree.parents()):
        if parent >= 0:
            assert set(tree.own(parent)) <= set(tree.own(node))
            assert abs(model.shares_[node] - model.shares_[parent] / 2) <= 1 / len(X)
    reached = np.bincount(model.policy_.leaves(X), minlength=tree.n_nodes) / len(X)
    np.testing.assert_allclose(reached[3:], model.shares_[3:])


def test_soft_tends_to_hard():
    X, y = make(6)
    hard = SubmodularTreeRegressor(2, costs=PRICES, max_depth=3).fit(X, y)
    soft = SubmodularTreeRegressor(2, costs=PRICES, max_depth=3, routing="soft", tau=1e-9).fit(X, y)
    np.testing.assert_allclose(soft.predict(X), hard.predict(X), rtol=1e-6)
    assert np.array_equal(soft.acquired(X), hard.acquired(X))
    wide = SubmodularTreeRegressor(2, costs=PRICES, max_depth=3, routing="soft", tau=1e9).fit(X, y)
    tree = wide.policy_.tree
    assert sorted(tree.own(1)) == sorted(tree.own(2))  # both children see all rows alike
    by_std = SubmodularTreeRegressor(2, costs=PRICES, max_depth=3, routing="soft", tau="std").fit(
        X, y
    )
    assert by_std.policy_.tree.n_nodes == 7


def test_scales_of_columns_and_prices_do_not_matter():
    X, y = make(7)
    model = SubmodularTreeRegressor(3, costs=PRICES, max_depth=3).fit(X, y)
    scaled = SubmodularTreeRegressor(30, costs=10 * PRICES, max_depth=3).fit(
        X * 10.0 ** np.arange(-3, 3), y
    )
    assert np.array_equal(model.acquired(X), scaled.acquired(X * 10.0 ** np.arange(-3, 3)))


def test_permuted_features_give_the_permuted_tree():
    X, y = make(8)
    order = np.array([3, 0, 5, 1, 4, 2])
    model = SubmodularTreeRegressor(3, costs=PRICES, max_depth=3).fit(X, y)
    other = SubmodularTreeRegressor(3, costs=PRICES[order], max_depth=3).fit(X[:, order], y)
    assert np.array_equal(model.acquired(X)[:, order], other.acquired(X[:, order]))


def test_a_feature_dearer_than_the_budget_is_never_bought():
    X, y = make(9)
    model = SubmodularTreeRegressor(4, costs=PRICES, max_depth=4).fit(X, y)
    assert 4 not in model.policy_.reads


def test_several_classes_and_several_targets_share_supports():
    X, y = make(10, n=600)
    labels = np.digitize(y, np.quantile(y, [0.33, 0.66]))
    model = SubmodularTreeClassifier(3, costs=PRICES, max_depth=3).fit(X, labels)
    assert model.score(X, labels) > 0.6
    assert model.policy_.tree.n_outputs == 3
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    both = SubmodularTreeRegressor(3, costs=PRICES, max_depth=3).fit(
        X, np.column_stack([y, 1000 * X[:, 1]])
    )
    assert both.predict(X).shape == (600, 2)
    assert 1 in both.policy_.tree.own(0)


def test_the_sign_of_the_score_decides_whatever_the_calibration():
    X, y = make(11)
    model = SubmodularTreeClassifier(3, costs=PRICES, max_depth=2).fit(X, y > 1)
    score = model.decision_function(X)
    assert np.array_equal(model.predict(X), score > 0)
    p = model.predict_proba(X)[:, 1]
    flat = np.where(y > 1, np.log(p), np.log(1 - p)).mean()
    steep = 1 / (1 + np.exp(-1.3 * score))
    assert flat >= np.where(y > 1, np.log(steep), np.log(1 - steep)).mean()


def test_whole_weights_equal_repeated_rows():
    X, y = make(12)
    weight = np.random.default_rng(0).integers(0, 4, size=len(X))
    weighted = SubmodularTreeRegressor(3, costs=PRICES, max_depth=3).fit(X, y, sample_weight=weight)
    again = np.repeat(np.arange(len(X)), weight)
    repeated = SubmodularTreeRegressor(3, costs=PRICES, max_depth=3).fit(X[again], y[again])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-7)


def test_nodes_with_few_rows_repeat_their_parent():
    X, y = make(13, n=30)
    model = SubmodularTreeRegressor(1, max_depth=4, min_weight=10).fit(X, y)
    assert model.policy_.tree.n_nodes < 15
    assert (model.shares_ * 30 >= 7).all()
    assert (model.certificates_.statement == "no guarantee: the node repeats its parent").sum() <= 2


def test_shared_fees_are_outside_the_theorem_and_it_says_so():
    X, y = make(14)
    costs = Costs(PRICES, groups={"g": {"fee": 2, "features": [0, 1]}})
    model = SubmodularTreeRegressor(4, costs=costs, max_depth=2).fit(X, y)
    assert "does not cover shared fees" in model.certificates_.statement[0]


def test_ill_conditioned_columns_are_solved_from_the_rows():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500))
    X = np.column_stack([a, a + 3e-4 * b])
    y = a + b
    model = SubmodularTreeRegressor(np.inf, max_depth=1).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-9)


def test_trace_and_grid_run_from_cheap_to_dear():
    X, y = make(15)
    model = SubmodularTreeRegressor(2, costs=PRICES, max_depth=3).fit(X, y)
    assert (np.diff(model.trace_.cost) >= 0).all()
    assert (np.diff(model.trace_.score) >= -1e-9).all()
    assert model.trace_.cost.iloc[-1] == pytest.approx(model.cost(X).mean())
    grid = [point["budget"] for point in model.trade_off_grid(X, y)]
    assert grid[0] == 0.0
    assert grid[1] == [1.0, 0.0, 0.0]  # one purchase at the root
    numbers = [budget for budget in grid if isinstance(budget, float)]
    assert numbers == sorted(numbers)
    assert numbers[-1] == sum(PRICES)
    assert SubmodularTreeRegressor(costs=np.zeros(6)).trade_off_grid(X, y) == [{"budget": 0.0}]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"budget": -1}, "'budget' parameter"),
        ({"budget": [1, 2, 3, 4]}, "budget has 4 numbers: give one number, one per level"),
        (
            {"budget": [1, 2], "max_depth": 2, "budget_per": "path"},
            "splits one total over the path",
        ),
        ({"max_depth": 0}, "'max_depth' parameter"),
        ({"routing": "warm"}, "'routing' parameter"),
        ({"tau": 0}, "'tau' parameter"),
        ({"engine": "svd"}, "'engine' parameter"),
        ({"preset": "authors"}, "'preset' parameter"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    X, y = make(16)
    with pytest.raises(ValueError, match=message):
        SubmodularTreeRegressor(**parameters).fit(X, y)


def test_weights_of_zero_are_refused():
    X, y = make(17)
    with pytest.raises(ValueError, match="at least one non-zero"):
        SubmodularTreeRegressor().fit(X, y, sample_weight=np.zeros(len(X)))


def test_pruning_on_validation_rows_cuts_what_does_not_help_them():
    X, y = make(18)
    V, w = make(19)
    full = SubmodularTreeRegressor(2, costs=PRICES, max_depth=5, min_weight=5).fit(X, y)
    pruned = SubmodularTreeRegressor(2, costs=PRICES, max_depth=5, min_weight=5).fit(
        X, y, validation=(V, w)
    )
    assert pruned.policy_.tree.n_nodes < full.policy_.tree.n_nodes
    assert sse(pruned, V, w) <= sse(full, V, w)
    assert len(pruned.certificates_) == len(pruned.shares_) == pruned.policy_.tree.n_nodes
    later = full.pruned(V, w)
    np.testing.assert_array_equal(later.predict(X), pruned.predict(X))
    np.testing.assert_array_equal(later.cost(X), pruned.cost(X))
    np.testing.assert_array_equal(later.shares_, pruned.shares_)
    assert len(later.certificates_) == later.policy_.tree.n_nodes
    split = SubmodularTreeClassifier(2, max_depth=4, validation_fraction=0.3, random_state=0).fit(
        X, y > 1
    )
    assert split.policy_.tree.n_nodes < 15


def test_rows_that_cannot_be_written_to_grow_the_same_tree():
    X, y = make(3)
    expected = SubmodularTreeRegressor(3, max_depth=3).fit(X, y).policy_.tree
    X.flags.writeable = False
    tree = SubmodularTreeRegressor(3, max_depth=3).fit(X, y).policy_.tree
    np.testing.assert_array_equal(tree.coefficient, expected.coefficient)
    np.testing.assert_array_equal(tree.threshold, expected.threshold)
    signatures = getattr(linear_outputs, "signatures", [])
    assert len(signatures) <= 2


def test_a_classifier_is_pruned_by_labels():
    X = np.random.default_rng(0).normal(size=(200, 6))
    y = np.where(X[:, 0] > 0, "up", "down")
    full = SubmodularTreeClassifier(5, costs=PRICES, max_depth=3, min_weight=5).fit(X, y)
    cut = full.pruned(X[:40], y[:40])
    assert cut.policy_.tree.n_nodes <= full.policy_.tree.n_nodes
    assert cut.score(X, y) > 0.9
    with pytest.raises(ValueError, match="y has the label 'left', which the model does not have"):
        full.pruned(X[:2], np.array(["up", "left"]))


@pytest.mark.parametrize("seed", range(2))
def test_routing_is_chosen_with_the_budget_and_hard_under_one(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 6))
    noise = 3 * rng.normal(size=300)
    y = (X @ np.linspace(1, 0.5, 6) + noise > 0).astype(int)
    chosen = SubmodularTreeClassifier(certify=False).fit(X, y)
    points = chosen._auto_points(X, y, None)
    assert {point["routing"] for point in points} == {"hard", "soft"}
    again = SubmodularTreeClassifier(chosen.budget_, routing=chosen.routing_, certify=False)
    assert again.fit(X, y).policy_.fingerprint() == chosen.policy_.fingerprint()
    assert SubmodularTreeClassifier(2, certify=False).fit(X, y).routing_ == "hard"
    only = SubmodularTreeClassifier(routing="soft", certify=False)
    assert {point["routing"] for point in only._auto_points(X, y, None)} == {"soft"}


def test_the_better_routing_is_found_on_rows_held_out():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    linear = X @ np.linspace(1, 0.6, 5) + 2 * rng.normal(size=400)
    assert SubmodularTreeRegressor(certify=False).fit(X, linear).routing_ == "soft"
    X = rng.uniform(-1, 1, size=(3000, 1))
    steps = np.where(X[:, 0] > 0, 1.0, -1.0) * (1 + np.sign(X[:, 0]) * 0.5)
    assert SubmodularTreeRegressor(certify=False).fit(X, steps).routing_ == "hard"
