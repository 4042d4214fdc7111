"""BudgetPrune: the cut is the linear program's optimum, solutions are nested, the gap is honest."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from tests.naive import forest as naive
from tests.naive import walk
from worthwhile import (
    BudgetedForestClassifier,
    Costs,
    PricedModel,
    PrunedForestClassifier,
    load,
)
from worthwhile.core.trees import Trees
from worthwhile.estimators.forest._prune_trees import score_changes

LAMS = (0.0, 0.002, 0.01, 0.03, 0.1, 1.0)


def problem(n=160, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = (X[:, 0] + 0.7 * X[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(int)
    return X, y


def forests(X, y, seed=0):
    return (
        BudgetedForestClassifier(
            n_trees=4, max_depth=4, validation_fraction=None, random_state=seed
        ).fit(X, y),
        RandomForestClassifier(4, max_depth=4, random_state=seed).fit(X, y),
    )


def linear_program(model, lam):
    """The relaxation over all unknowns, by HiGHS."""
    p = model._problem
    trees, n_nodes, n_pairs = p.trees, len(p.trees.left), len(p.price)
    inner = np.flatnonzero(trees.left >= 0)
    profit = (
        p.error[inner]
        - p.error[trees.left[inner]]
        - p.error[trees.right[inner]]
        - lam * p.toll[inner]
    )
    number = {h: i for i, h in enumerate(inner)}
    c = np.concatenate([-profit, lam * p.price])
    rows = []
    for h in inner:
        children = (trees.left[h], trees.right[h])
        rows += [(number[child], number[h]) for child in children if child in number]
    rows += [(number[h], len(inner) + q) for h, q in zip(p.at_node, p.pair, strict=True)]
    A = np.zeros((len(rows), len(inner) + n_pairs))
    for r, (a, b) in enumerate(rows):
        A[r, a], A[r, b] = 1, -1
    assert n_nodes >= len(inner)
    found = linprog(c, A_ub=A, b_ub=np.zeros(len(rows)), bounds=(0, 1), method="highs")
    return float(p.error[trees.root].sum() + found.fun)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), lam=st.sampled_from(LAMS), kind=st.integers(0, 1))
def test_cut_is_the_linear_program_and_the_dual_is_within_its_gap(seed, lam, kind):
    X, y = problem(40, seed=seed)
    costs = Costs([1, 2, 3, 4], {"g": {"fee": 2, "features": [2, 3]}}, evaluation=0.5)
    forest = forests(X[:25], y[:25], seed % 1000)[kind]
    errors = ("in-bag", "held-out")[seed % 2]
    settings = {"costs": costs, "errors": errors}
    exact = PrunedForestClassifier(forest, lam, solver="cut", **settings).fit(X[25:], y[25:])
    assert exact.objective_ == pytest.approx(linear_program(exact, lam), abs=2e-6)
    dual = PrunedForestClassifier(forest, lam, solver="dual", **settings).fit(X[25:], y[25:])
    assert dual.objective_ >= exact.objective_ - 2e-6
    assert dual.objective_ - dual.gap_ <= exact.objective_ + 2e-6
    p = dual._problem
    for simple in (np.zeros(len(p.trees.left), dtype=bool), p.trees.left >= 0):
        error, bill = p.parts(simple)
        assert dual.objective_ <= error + lam * bill + 1e-12


def test_objective_is_the_naive_sum():
    X, y = problem()
    costs = [1, 2, 3, 4]
    for forest in forests(X[:100], y[:100]):
        model = PrunedForestClassifier(forest, 0.01, costs=costs, solver="cut").fit(
            X[100:], y[100:]
        )
        trees, p = model._problem.trees, model._problem
        paths = []
        for x in X[100:]:
            row = []
            for root in trees.root:
                h, path = int(root), []
                while trees.feature[h] >= 0:
                    path.append((h, int(trees.feature[h])))
                    x_h = np.float32(x[trees.feature[h]]) if trees.single else x[trees.feature[h]]
                    h = int(trees.left[h] if x_h <= trees.threshold[h] else trees.right[h])
                row.append(path)
            paths.append(row)
        expanded = p.cut(0.01).expanded
        children = [(left, right) for left, right in zip(trees.left, trees.right, strict=True)]
        value = naive.prune_objective(
            paths, (trees.root, children, p.error * 4), costs, 0.01, expanded, 4
        )
        assert value == pytest.approx(model.objective_, abs=1e-9)
        assert model.trace_["cost"][1] == pytest.approx(model.cost(X[100:]).mean())


def test_held_out_errors_are_counted_on_the_pruning_rows():
    X, y = problem()
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X[:80], y[:80])
    model = PrunedForestClassifier(forest, errors="held-out").fit(X[80:], y[80:])
    reach = forest.decision_path(X[80:])[0].toarray().astype(bool)
    sampled = np.concatenate([t.tree_.value[:, 0].max(axis=1) for t in forest.estimators_])
    in_bag = PrunedForestClassifier(forest).fit(X[80:], y[80:])
    assert in_bag._problem.error[0] * 3 == pytest.approx(1 - sampled[0])
    wrong = model._base.trees.value[:, :2].argmax(axis=1)[None, :] != y[80:, None]
    assert model._problem.error * 3 == pytest.approx((reach & wrong).mean(axis=0))


def test_prunings_are_nested_and_bills_fall_with_lam():
    X, y = problem()
    for forest in forests(X[:100], y[:100]):
        model = PrunedForestClassifier(forest, solver="cut").fit(X[100:], y[100:])
        found = [model._problem.cut(lam).expanded for lam in LAMS]
        for low, high in itertools.pairwise(found):
            assert not (high & ~low).any()
        bills = [model.at(lam=lam).cost(X[100:]).mean() for lam in LAMS]
        assert (np.diff(bills) <= 1e-12).all()
        assert bills[0] <= model.trace_["cost"][0] + 1e-12


def test_whole_path_holds_every_exact_solution():
    X, y = problem()
    model = PrunedForestClassifier(forests(X[:100], y[:100])[1], solver="cut").fit(X[100:], y[100:])
    path = model.path(max_points=1000)
    assert (np.diff(path["cost"]) > 0).all()
    assert (np.diff(path["lam"]) < 1e-9).all()
    assert path["cost"][0] == 0
    for lam in (0.001, 0.005, 0.02):
        best = (path["error"] + lam * path["cost"]).min()
        assert best == pytest.approx(model.at(lam=lam).objective_, abs=2e-6)
    chosen = model.path([0.01, 0.1])
    assert chosen["lam"].tolist() == [0.1, 0.01]
    assert (chosen["gap"] == 0).all()


def test_extremes():
    X, y = problem()
    for forest in forests(X[:100], y[:100]):
        for solver in ("cut", "dual"):
            nothing = PrunedForestClassifier(forest, 1e6, solver=solver).fit(X[100:], y[100:])
            assert nothing.policy_.trees.n_trees == 0
            assert (nothing.cost(X) == 0).all()
            assert len(set(nothing.predict(X).tolist())) == 1
        kept = PrunedForestClassifier(forest, 0.0, errors="in-bag").fit(X[100:], y[100:])
        assert kept.trace_["error"][1] == pytest.approx(kept.trace_["error"][0], abs=1e-9)


def test_trains_a_forest_and_accepts_an_unfitted_one():
    X, y = problem(300)
    own = PrunedForestClassifier(random_state=0, costs=[1, 1, 2, 2]).fit(X, y)
    assert isinstance(own.forest_, BudgetedForestClassifier)
    assert own.score(X, y) > 0.8
    other = PrunedForestClassifier(RandomForestClassifier(5), random_state=0).fit(X, y)
    again = PrunedForestClassifier(RandomForestClassifier(5), random_state=0).fit(X, y)
    assert (other.predict_proba(X) == again.predict_proba(X)).all()
    given_rows = PrunedForestClassifier(RandomForestClassifier(5, random_state=1)).fit(
        X[:200], y[:200], validation=(X[200:], y[200:])
    )
    assert given_rows.trace_["cost"][1] == pytest.approx(given_rows.cost(X[200:]).mean())
    assert (
        PrunedForestClassifier(DecisionTreeClassifier(random_state=0)).fit(X, y).score(X, y) > 0.7
    )


def test_forest_stays_fitted_in_clones_and_files_hold_the_model(tmp_path):
    X, y = problem()
    forest = forests(X[:100], y[:100])[1]
    model = PrunedForestClassifier(forest, 0.01).fit(X[100:], y[100:])
    assert clone(model).forest is forest
    assert not hasattr(
        clone(PrunedForestClassifier(RandomForestClassifier())).forest, "estimators_"
    )
    assert (pickle.loads(pickle.dumps(model)).predict(X) == model.predict(X)).all()
    model.save(tmp_path / "model.cwm")
    again = load(tmp_path / "model.cwm")
    assert (again.predict_proba(X) == model.predict_proba(X)).all()
    with pytest.raises(ValueError, match="read from a file"):
        again.at(lam=0.1)


def test_does_not_depend_on_threads():
    X, y = problem(300)
    for solver in ("cut", "dual"):
        one, two = (
            PrunedForestClassifier(random_state=0, solver=solver, n_jobs=j).fit(X, y)
            for j in (1, 2)
        )
        assert (one.predict_proba(X) == two.predict_proba(X)).all()
        assert one.objective_ == two.objective_


def test_refusals_say_what_to_do():
    X, y = problem()
    forest = forests(X, y)[1]
    with pytest.raises(ValueError, match="Leave validation out"):
        PrunedForestClassifier(forest).fit(X, y, validation=(X, y))
    with pytest.raises(ValueError, match="give the same columns"):
        PrunedForestClassifier(forest).fit(X[:, :2], y)
    with pytest.raises(ValueError, match="which forest does not have"):
        PrunedForestClassifier(forest).fit(X, y + 1)
    with pytest.raises(TypeError, match="forest is a LogisticRegression"):
        PrunedForestClassifier(LogisticRegression().fit(X, y)).fit(X, y)
    with pytest.warns(Warning, match="single tree"):
        empty = BudgetedForestClassifier(0.0, n_trees=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="forest has no trees"):
        PrunedForestClassifier(empty).fit(X, y)
    with pytest.raises(ValueError, match="lam"):
        PrunedForestClassifier(forest, -1).fit(X, y)


def test_trade_off_grid_is_cheapest_first():
    X, _ = problem()
    lams = [point["lam"] for point in PrunedForestClassifier().trade_off_grid(X)]
    assert lams == sorted(lams, reverse=True)
    assert PrunedForestClassifier(costs=[0] * 4).trade_off_grid(X) == [{"lam": 0.0}]


@pytest.mark.parametrize(
    "make",
    [
        lambda: GradientBoostingClassifier(n_estimators=8, max_depth=3, random_state=0),
        lambda: HistGradientBoostingClassifier(max_iter=8, max_leaf_nodes=6, min_samples_leaf=5),
        lambda: RandomForestClassifier(5, max_depth=3, random_state=0),
    ],
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosted_trees_are_pruned_where_their_score_changes_least(make, n_classes):
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(240, 4))
    y = np.digitize(X[:, 0] + 0.2 * X[:, 1], [-0.4, 0.4][: n_classes - 1])
    costs = Costs([1, 1, 5, 5])
    booster = PricedModel(make().fit(X[:120], y[:120]), costs)
    start = booster.cost(X[120:]).mean()
    bills = []
    for lam in (0.0, 0.005, 0.05, 10.0):
        model = PrunedForestClassifier(booster, lam, solver="cut").fit(X[120:], y[120:])
        bills.append(model.cost(X[120:]).mean())
        assert model.trace_["cost"][1] == pytest.approx(bills[-1])
    assert bills[0] <= start
    assert bills == sorted(bills, reverse=True)
    assert bills[-1] == 0.0
    assert 0 < bills[2] < start
    if not isinstance(booster.model, RandomForestClassifier):
        kept = PrunedForestClassifier(booster, 1e-12, solver="cut").fit(X[120:], y[120:])
        same = kept.predict_proba(X[120:])
        np.testing.assert_allclose(same, booster.predict_proba(X[120:]), atol=1e-12)
        # A boosted tree that is pruned to its root goes on adding what the root says.
        whole, bare = booster.policy_.trees, model.policy_.trees
        assert bare.n_trees == whole.n_trees
        assert (bare.value == whole.value[whole.root]).all()


def test_trees_that_split_categories_are_pruned():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 12, 300), rng.normal(size=(300, 2))]).astype(float)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = (2 * np.isin(X[:, 0], [1, 4, 5, 9]) + np.nan_to_num(X[:, 1] + X[:, 2]) > 1).astype(int)
    boosted = HistGradientBoostingClassifier(max_iter=6, max_depth=3, categorical_features=[0])
    priced = PricedModel(boosted.fit(X, y), [1, 1, 5])
    assert priced.policy_.trees.category.any()
    whole = PrunedForestClassifier(priced, lam=0, costs=[1, 1, 5]).fit(X, y)
    np.testing.assert_allclose(whole.predict_proba(X), boosted.predict_proba(X), rtol=1e-9)
    cheap = PrunedForestClassifier(priced, lam=0.1, costs=[1, 1, 5]).fit(X, y)
    assert cheap.cost(X).mean() < whole.cost(X).mean()
    trees = cheap.policy_.trees
    assert trees.category.any()
    for row in range(30):
        raw, bought = walk.walk(trees, X[row])
        assert cheap.policy_.batch(X[row : row + 1]).raw[0].tolist() == raw
        assert set(np.flatnonzero(cheap.acquired(X[row : row + 1])[0])) == bought


def test_score_changes_by_hand():
    # One tree: x0 <= 0 -> -1, else 3; its root says 1. One that says 2 for all.
    trees = Trees.build(
        feature=[0, -1, -1, -1], threshold=[0.0, 0, 0, 0], left=[1, -1, -1, -1], right=[2, -1, -1, -1],
        value=[[1.0], [-1.0], [3.0], [2.0]], root=[0, 3], base=[0.0],
    )  # fmt: skip
    X = np.array([[-1.0], [1.0], [2.0], [np.nan]])
    found = score_changes(trees, X, np.full(4, 0.25))
    assert found.tolist() == [2.0, 0.0, 0.0, 0.0], "4 on average, scaled to 1 over two trees"
    uneven = score_changes(replace(trees, value=trees.value * 7), X, np.array([0.7, 0.1, 0.1, 0.1]))
    assert uneven[0] == pytest.approx(2.0), "the scale of the score does not matter"


def test_a_priced_regression_is_refused():
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = PricedModel(GradientBoostingRegressor(n_estimators=3).fit(X, X[:, 0]))
    with pytest.raises(TypeError, match="forest predicts numbers: give one that predicts classes"):
        PrunedForestClassifier(model).fit(X, X[:, 0] > 0)
