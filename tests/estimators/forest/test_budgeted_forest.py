"""BudgetRF: what the paper promises, and what users of the estimator rely on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from tests.naive import forest as naive
from worthwhile import BudgetedForestClassifier, Costs, datasets, load
from worthwhile.exceptions import WorthwhileWarning


def problem(n=300, d=5, k=3, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.clip(np.round(X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=n) + 1), 0, k - 1)
    X[:, -1] = X[:, -1] > 0
    X[rng.random(X.shape) < missing] = np.nan
    return X, y.astype(int)


def small(**settings):
    return BudgetedForestClassifier(
        **{"n_trees": 6, "price_power": 1.0, "random_state": 0, **settings}
    )


def single(**settings):
    return small(n_trees=1, bootstrap=False, validation_fraction=None, **settings)


def same_trees(a, b):
    left, right = a.policy_.trees.arrays(), b.policy_.trees.arrays()
    return all(np.array_equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize("thresholds", ["random", "histogram", "exact"])
@pytest.mark.parametrize(
    ("alpha", "errors", "depth", "leaves", "mean", "root"),
    [(0, 0, 10, 36, 3.9921875, 0), (0.5, 4, 9, None, None, None), (1, 4, 2, 4, 2.0, 1), (32, 4, 2, 4, 2.0, 1),
     (100, 768, 1, 2, 1.0, None), (128, 768, 0, 1, 0.0, -1)],
)  # fmt: skip
def test_1024_examples_to_the_digit(thresholds, alpha, errors, depth, leaves, mean, root):
    X, y, costs = datasets.make_quarter_bits()
    model = single(alpha=alpha, costs=costs, thresholds=thresholds).fit(X, y)
    trees = model.policy_.trees
    level = np.zeros(len(trees.feature), dtype=int)
    for h in np.flatnonzero(trees.feature >= 0):
        level[trees.left[h]] = level[trees.right[h]] = level[h] + 1
    assert (model.predict(X) != y).sum() == errors
    assert level.max() == depth
    assert leaves is None or (trees.feature < 0).sum() == leaves
    assert mean is None or model.cost(X).mean() == mean
    assert root is None or trees.feature[0] == root


def test_1024_examples_impurity_at_the_root():
    assert naive.pairs([256] * 4, 0) == 393216
    X, y, _ = datasets.make_quarter_bits()
    side = np.bincount(y[X["bit_0"] == 0] - 1, minlength=4).tolist()
    assert 393216 - naive.pairs(side, 0) == 327425


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), alpha=st.sampled_from([0, 1]))
def test_worst_bill_is_within_the_log_factor(seed, alpha):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, size=(8, 5)).astype(float)
    y = rng.integers(0, 2, size=8)
    y[0], y[1] = 0, 1
    prices = rng.integers(1, 6, size=5)

    def counts(labels):
        return [sum(label == c for label in labels) for c in (0, 1)]

    best = naive.best_max_cost(X, y, prices.tolist(), lambda r: naive.pairs(counts(r), alpha) == 0)
    if best in (0, math.inf):
        return
    whole = float(naive.pairs(counts(y.tolist()), alpha))
    values = {naive.pairs([a, b], alpha) for a in range(9) for b in range(9)} - {0}
    model = single(alpha=alpha, costs=prices, thresholds="exact").fit(X, y)
    assert model.criterion_ == "minimax"
    assert model.cost(X).max() <= (math.log(whole / float(min(values))) + 1) * best + 1e-9


@pytest.mark.parametrize("settings", [{}, {"bootstrap": True}, {"thresholds": "exact"}, {"thresholds": "histogram"},
                                      {"alpha": 3}, {"criterion": "expected"}, {"impurity": "powers", "power": 3},
                                      {"impurity": "gini", "criterion": "expected"}, {"free_on_path": True},
                                      {"impurity": [(1.0, [1, 1, 0]), (1.0, [0, 1, 1]), (1.0, [1, 0, 1])]},
                                      {"class_weight": "balanced"}, {"max_depth": 2}])  # fmt: skip
def test_settings_learn_and_do_not_depend_on_threads(settings):
    X, y = problem(missing=0.03)
    one, two = (small(n_jobs=j, **settings).fit(X, y) for j in (1, 2))
    assert same_trees(one, two)
    assert one.score(X, y) > 0.6
    assert np.allclose(one.predict_proba(X).sum(axis=1), 1)
    assert (one.cost(X) == one.costs_.price(one.acquired(X))).all()


@pytest.mark.parametrize("n", [300, 1500])  # small nodes are grown by another kernel
def test_what_the_path_has_bought_does_not_shut_the_rest_out(n):
    X, y = problem(n)
    assert same_trees(*(small(free_on_path=free).fit(X, y) for free in (False, True)))
    priced = [small(free_on_path=f, costs=[2, 3, 9, 9, 9]).fit(X, y) for f in (False, True)]
    assert not same_trees(*priced)
    assert priced[1].acquired(X).any(axis=0).sum() > 1
    fee = Costs(
        [0, 0, 0, 1, 1], {"a": {"fee": 1, "features": [0, 2]}, "b": {"fee": 1, "features": [1]}}
    )
    assert small(free_on_path=True, costs=fee).fit(X, y).acquired(X)[:, 1].any()


def test_budget_is_kept_and_every_budget_is_a_prefix():
    X, y = problem(600)
    full = small(n_trees=12).fit(X, y)
    bills = full.trace_["cost"].to_numpy()
    assert (np.diff(bills) >= 0).all()
    for budget in (bills[0], bills[4], (bills[4] + bills[5]) / 2, bills[-1], bills[-1] + 1):
        fitted, changed = small(budget=budget, n_trees=12).fit(X, y), full.at(budget=budget)
        assert same_trees(fitted, changed)
        assert changed.n_trees_ == (bills <= budget).sum()
        assert same_trees(changed.at(budget=math.inf), full)
        assert changed.budget == budget
    with pytest.warns(WorthwhileWarning, match="does not pay for a single tree"):
        nothing = full.at(budget=bills[0] / 2)
    assert nothing.n_trees_ == 0
    assert (nothing.cost(X) == 0).all()
    assert (nothing.predict(X) == np.bincount(y).argmax()).all()
    assert same_trees(nothing.at(budget=math.inf), full)


def test_bills_on_a_given_validation_set_are_the_models_own():
    X, y = problem(400)
    costs = Costs([1, 2, 3, 4, 5], {"g": {"fee": 7, "features": [1, 2]}}, evaluation=0.25)
    model = small(costs=costs).fit(X[:300], y[:300], validation=(X[300:], y[300:]))
    assert model.trace_["cost"].iloc[-1] == pytest.approx(model.cost(X[300:]).mean())
    assert model.trace_["score"].iloc[-1] == model.score(X[300:], y[300:])
    parts = [
        small(costs=costs, n_trees=k).fit(X[:300], y[:300], validation=(X[300:], y[300:]))
        for k in (2, 3)
    ]
    assert (parts[0].cost(X) <= parts[1].cost(X)).all()


def test_scaling_all_prices_changes_nothing_and_cheap_copies_win():
    X, y = problem()
    prices = np.array([3.1, 0.7, 2.0, 1.3, 5.9])
    assert same_trees(small(costs=prices).fit(X, y), small(costs=prices * 1000).fit(X, y))
    doubled = np.hstack([X, X])
    model = small(costs=[*(prices + 0.01), *prices], thresholds="exact").fit(doubled, y)
    assert model.policy_.reads.min() >= 5


def test_free_features_are_compared_by_impurity():
    X, y = problem()
    model = single(costs=[0, 0, 1, 1, 1], thresholds="exact").fit(X, y)
    plain = single(costs=[1, 1, 1, 1, 1], max_depth=1, thresholds="exact").fit(X, y)
    assert model.policy_.trees.feature[0] == plain.policy_.trees.feature[0] == 0


def test_expected_entropy_at_unit_prices_is_the_ordinary_tree():
    X, y = problem(200, seed=4)
    ours = single(impurity="entropy", criterion="expected", thresholds="exact").fit(X, y)
    theirs = DecisionTreeClassifier(criterion="entropy", random_state=0).fit(X, y)
    assert ours.policy_.trees.feature[0] == theirs.tree_.feature[0]
    assert ours.policy_.trees.threshold[0] == pytest.approx(theirs.tree_.threshold[0], abs=1e-6)
    # Below, equally good splits may be taken in another order; both end at pure leaves.
    assert (ours.predict(X) == y).all()


def test_whole_weights_are_repetitions():
    X, y = problem(120, missing=0.05)
    weight = np.random.default_rng(0).integers(0, 3, size=len(y))
    for thresholds in ("exact", "histogram"):
        weighted = single(thresholds=thresholds).fit(X, y, sample_weight=weight)
        repeated = single(thresholds=thresholds).fit(
            np.repeat(X, weight, axis=0), np.repeat(y, weight)
        )
        assert (weighted.predict_proba(X) == repeated.predict_proba(X)).all()


def test_votes_decide_and_leaf_counts_make_probabilities():
    X, y = problem(k=2)
    model = small(alpha=10).fit(X, y)
    raw = model.policy_.batch(X).raw
    assert (model.predict(X) == np.argmax(raw[:, :2], axis=1)).all()
    assert model.predict_proba(X) == pytest.approx(
        raw[:, 2:] / raw[:, 2:].sum(axis=1, keepdims=True)
    )


def test_alpha_is_chosen_on_validation():
    X, y = problem(500)
    model = small(alpha=[0, 5, 40], budget=2.5).fit(X, y)
    table = model.alphas_
    assert table["alpha"].tolist() == [0, 5, 40]
    assert (table["cost"] <= 2.5).all()
    best = table.sort_values(["score", "cost"], ascending=[False, True]).iloc[0]
    assert model.alpha_ == best["alpha"]
    assert model.n_trees_ == best["n_trees"]
    assert len(small(alpha="validation", n_trees=2).fit(X, y).alphas_) == 10


def test_validation_rows_decide_how_trees_are_grown():
    X, y = problem(600)
    model = small(n_trees=9).fit(X, y)
    ways = [small(n_trees=9, criterion=criterion, bootstrap=bootstrap).fit(X, y)
            for criterion, bootstrap in (("expected", False), ("minimax", True))]  # fmt: skip
    scores = [way.trace_["score"][3] for way in ways]
    chosen = ways[int(scores[1] > scores[0])]
    assert (model.criterion_, model.bootstrap_) == (chosen.criterion, chosen.bootstrap)
    assert same_trees(model, chosen)  # those grown to decide are its first
    for other in ({"thresholds": "exact"}, {"validation_fraction": None}):
        paper = small(**other).fit(X, y)
        assert (paper.criterion_, paper.bootstrap_) == ("minimax", True)
    assert small(impurity="gini").fit(X, y).criterion_ == "expected"
    assert small(criterion="minimax").fit(X, y).criterion_ == "minimax"
    assert small(bootstrap=True).fit(X, y).bootstrap_


def test_fewer_thresholds_make_trees_differ_more():
    X, y = problem(900)
    X = X[:, :1]
    way = {"bootstrap": False, "criterion": "expected"}
    roots = [m.policy_.trees.threshold[m.policy_.trees.root]
             for m in (small(n_thresholds=n, **way).fit(X, y) for n in (1, 500))]  # fmt: skip
    assert np.ptp(roots[0]) > 3 * np.ptp(roots[1])
    quarter = small(n_thresholds=[20, 10, 5], bootstrap=False, criterion="expected").fit(X, y)
    assert same_trees(quarter, small(bootstrap=False, criterion="expected").fit(X, y))
    paper = small(n_thresholds=(80, 40, 20), bootstrap=True, criterion="minimax").fit(X, y)
    assert same_trees(paper, small(bootstrap=True, criterion="minimax").fit(X, y))


def test_larger_alpha_makes_smaller_trees():
    X, y = problem(600)
    nodes = [len(small(alpha=a).fit(X, y).policy_.trees.feature) for a in (0, 3, 10, 40)]
    assert nodes == sorted(nodes, reverse=True)
    assert nodes[0] > nodes[-1]


def test_file_keeps_the_trees_beyond_the_budget(tmp_path):
    X, y = problem()
    full = small().fit(X, y)
    model = full.at(budget=full.trace_["cost"].iloc[2])
    model.save(tmp_path / "model.cwm")
    again = load(tmp_path / "model.cwm")
    assert same_trees(again, model)
    assert same_trees(again.at(budget=math.inf), full)


def test_small_data_without_rows_to_spare_measure_on_training_rows():
    model = small().fit([[0.0], [1.0]], [0, 1])
    assert model.n_validation_ == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"alpha": [0, -1]}, "alpha is .*number >= 0"),
     ({"impurity": "entropy", "criterion": "minimax"}, "criterion='expected'"),
     ({"n_thresholds": 0}, "n_thresholds is 0: give 'auto', a whole number"),
     ({"n_thresholds": [1, 2]}, "or three of"),
     ({"impurity": [(1.0, [1, 0, 0])]}, "at least two of them positive"),
     ({"impurity": [(-1.0, [1, 1, 0])]}, "weight > 0"),
     ({"impurity": [1.0]}, "give terms"),
     ({"budget": -1}, "budget"),
     ({"thresholds": "all"}, "thresholds")],
)  # fmt: skip
def test_refusals_say_what_to_do(settings, message):
    X, y = problem()
    with pytest.raises(ValueError, match=message):
        small(**settings).fit(X, y)


def test_refusals_of_data():
    X, y = problem()
    with pytest.raises(ValueError, match="give a pair"):
        small().fit(X, y, validation=X)
    with pytest.raises(ValueError, match="validation has the label 9"):
        small().fit(X, y, validation=(X[:2], [0, 9]))
    with pytest.raises(ValueError, match="zero for every row"):
        small(class_weight={0: 0, 1: 0, 2: 0}).fit(X, y)
    with pytest.warns(WorthwhileWarning, match="makes all trees the same"):
        model = small(thresholds="exact", bootstrap=False).fit(X, y)
    assert model.n_trees_ == 1


def test_trade_off_grid_is_cheapest_first():
    X, y = problem()
    grid = small(costs=[1, 2, 3, 4, 5]).trade_off_grid(X, y)
    assert [point["max_depth"] for point in grid[:3]] == [1, 2, 4]
    powers = [point["price_power"] for point in grid[3:]]
    assert powers == sorted(powers, reverse=True)
    assert powers[-1] == 0
    assert all(point["budget"] == math.inf for point in grid)
    assert small(costs=[0] * 5).trade_off_grid(X, y) == [{"budget": math.inf, "price_power": 1.0}]


def test_less_power_of_the_prices_buys_what_is_dear():
    X, y = problem()
    prices = [1, 1, 1, 50, 100]
    bills = [
        small(costs=prices, price_power=power).fit(X, y).cost(X).mean() for power in (4.0, 1.0, 0.0)
    ]
    assert bills[0] <= bills[1] < bills[2]
    same = [small(costs=[3] * 5, price_power=power).fit(X, y).predict(X) for power in (1.0, 0.0)]
    assert (same[0] == same[1]).all()


def test_stages_are_the_first_trees():
    X, y = problem()
    model = small().fit(X, y)
    first = model.at(stage=1)
    assert first.n_trees_ == 1
    assert (first.at(stage=model.n_trees_).predict(X) == model.predict(X)).all()
    with pytest.raises(ValueError, match="stage is 99: the forest has 0 to"):
        model.at(stage=99)
    with pytest.raises(ValueError, match="give one of the two"):
        model.at(stage=1, budget=2)


def test_the_preset_of_the_paper_names_its_settings():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    shared = {"n_trees": 5, "costs": [1, 2, 3, 4], "random_state": 0}
    named = {"criterion": "minimax", "bootstrap": True, "price_power": 1.0}
    paper = BudgetedForestClassifier(preset="paper", **shared).fit(X, y)
    same = BudgetedForestClassifier(**named, **shared).fit(X, y)
    assert (paper.criterion_, paper.bootstrap_, paper.price_power_) == ("minimax", True, 1.0)
    assert paper.policy_.fingerprint() == same.policy_.fingerprint()
    other = BudgetedForestClassifier(preset="paper", criterion="expected", **shared).fit(X, y)
    assert other.criterion_ == "expected"  # what is given counts
    with pytest.raises(ValueError, match="'preset' parameter"):
        BudgetedForestClassifier(preset="papers").fit(X, y)
