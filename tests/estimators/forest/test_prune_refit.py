"""BudgetPrune: levels that are kept, and leaves that are fitted together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from tests.naive import walk as naive
from worthwhile import Costs, PrunedForestClassifier, load

COSTS = Costs([1, 2, 3, 4], {"g": {"fee": 2, "features": [2, 3]}}, evaluation=0.5)


def problem(n_classes=2, n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.digitize(
        X[:, 0] + 0.7 * X[:, 1] + 0.3 * rng.normal(size=n), [-0.5, 0.6][: n_classes - 1]
    )
    return X, np.array(["a", "b", "c"])[y]


def pruned(n_classes=2, lam=0.01, **settings):
    X, y = problem(n_classes)
    forest = RandomForestClassifier(5, max_depth=5, random_state=0).fit(X[:120], y[:120])
    model = PrunedForestClassifier(forest, lam, costs=COSTS, **settings).fit(X[120:], y[120:])
    return model, X, y


def levels(trees):
    """Level of every node."""
    level = np.zeros(len(trees.feature), dtype=int)
    for h in np.flatnonzero(trees.feature >= 0):
        level[[trees.left[h], trees.right[h]]] = level[h] + 1
    return level


@pytest.mark.parametrize("solver", ["cut", "dual"])
def test_kept_levels_stay_whatever_they_cost(solver):
    for keep in (1, 3):
        model, X, _ = pruned(lam=50.0, solver=solver, keep_levels=keep)
        start = model._base.trees
        top = (start.feature >= 0) & (levels(start) < keep)
        expanded = model._problem.solve(50.0, solver, 50).expanded
        assert not (top & ~expanded).any()
        bill = model._problem.parts(top)[1]
        assert model._problem.parts(expanded)[1] == bill, "what else is expanded costs nothing more"
        assert model.objective_ == pytest.approx(
            model.trace_["error"][1] + 50.0 * model.cost(X[120:]).mean()
        )


def test_kept_levels_open_prunings_that_no_lam_reaches():
    free, X, y = pruned(solver="cut")
    kept = PrunedForestClassifier(free.forest, 0.0, costs=COSTS, solver="cut", keep_levels=2)
    kept.fit(X[120:], y[120:])
    for lam in (0.0, 0.005, 0.02, 0.1):
        one, other = free._problem.cut(lam), kept._problem.cut(lam)
        assert other.objective >= one.objective - 2e-6, "a constraint cannot help the objective"
        top = (kept._base.trees.feature >= 0) & (levels(kept._base.trees) < 2)
        assert not (top & ~other.expanded).any()
        assert not (one.expanded & ~other.expanded).any(), (
            "what pays, pays with more bought already"
        )
        dual = kept._problem.ascend(lam, 50)
        assert dual.bound - 2e-6 <= other.objective <= dual.objective + 2e-6


def naive_refit(trees, X, targets, weight, n_sweeps):
    """Row by row, leaf by leaf."""
    n, width = targets.shape
    shares = [sum(weight[i] * targets[i, k] for i in range(n)) / sum(weight) for k in range(width)]
    base = [math.log(s / (1 - s)) if width == 1 else math.log(s) for s in shares]
    score = [list(base) for _ in range(n)]
    value = np.zeros((len(trees.feature), width))
    for _ in range(n_sweeps):
        for tree in range(trees.n_trees):
            at = [naive.leaf(trees, tree, x)[0] for x in X]
            gradient, curvature = np.zeros_like(value), np.zeros_like(value)
            for i in range(n):
                up = [math.exp(s) for s in score[i]]
                for k in range(width):
                    p = up[k] / (1 + up[k]) if width == 1 else up[k] / sum(up)
                    gradient[at[i], k] += weight[i] * (targets[i, k] - p)
                    curvature[at[i], k] += weight[i] * p * (1 - p)
            step = 0.3 * gradient / (curvature + 1.0)
            value += step
            for i in range(n):
                score[i] = [s + d for s, d in zip(score[i], step[at[i]], strict=True)]
    return score


@pytest.mark.parametrize("n_classes", [2, 3])
def test_refit_is_the_naive_sweep_and_buys_the_same(n_classes):
    model, X, y = pruned(n_classes)
    weight = np.random.default_rng(1).integers(1, 4, 120).astype(float)
    again = model.refit(X[:120], y[:120], weight, n_sweeps=3)
    targets = (y[:120, None] == model.classes_).astype(float)
    targets = targets[:, 1:] if n_classes == 2 else targets
    single = X[:120].astype(np.float32)
    score = naive_refit(model.policy_.trees, single, targets, weight, 3)
    raw = again.policy_.batch(X[:120]).raw
    np.testing.assert_allclose(raw, score, atol=1e-9)
    assert (again.acquired(X) == model.acquired(X)).all()
    assert (again.cost(X) == model.cost(X)).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_refit_lowers_the_log_loss_sweep_by_sweep(n_classes):
    model, X, y = pruned(n_classes)
    rows, codes = np.arange(120), np.searchsorted(model.classes_, y[:120])
    losses = []
    for n_sweeps in (1, 4, 16):
        proba = model.refit(X[:120], y[:120], n_sweeps=n_sweeps).predict_proba(X[:120])
        losses.append(-np.log(proba[rows, codes]).mean())
    assert losses == sorted(losses, reverse=True)


def test_refit_obeys_the_laws_of_models(tmp_path):
    model, X, y = pruned(3)
    one = model.refit(X[:120], y[:120])
    model.n_jobs = 2
    assert (model.refit(X[:120], y[:120]).predict_proba(X) == one.predict_proba(X)).all()
    one.save(tmp_path / "model.cwm")
    again = load(tmp_path / "model.cwm")
    assert (again.predict_proba(X) == one.predict_proba(X)).all()
    for budget in (0.0, 3.0, 6.0):
        said = one.predict(X[:10], budget=budget)
        for i, label in enumerate(said):
            session = one.session(budget=budget)
            while wanted := session.ask():
                session.tell({name: X[i, name] for name in wanted})
            assert session.prediction == label
            assert session.spent <= budget


def test_a_walk_that_stops_says_the_mean_of_its_leaves():
    model, X, y = pruned()
    trees = model.refit(X[:120], y[:120]).policy_.trees
    ends = [
        naive.leaf(trees, t, x)[0] for t in range(trees.n_trees) for x in X[:120].astype(np.float32)
    ]
    for root in trees.root:
        stop = min((r for r in trees.root if r > root), default=len(trees.feature))
        mine = [trees.value[at, 0] for at in ends if root <= at < stop]
        assert trees.value[root, 0] == pytest.approx(np.mean(mine))


def test_refit_refusals_say_what_to_do():
    model, X, y = pruned(3)
    with pytest.raises(ValueError, match="n_sweeps is 0: give 1 or more"):
        model.refit(X, y, n_sweeps=0)
    with pytest.raises(ValueError, match="y has no row of class 'b' with a weight > 0"):
        model.refit(X[y != "b"], y[y != "b"])
    with pytest.raises(ValueError, match="y has the label 'z', which forest does not have"):
        model.refit(X, np.where(y == "a", "z", y))
    with pytest.raises(ValueError, match="keep_levels"):
        PrunedForestClassifier(model.forest, keep_levels=-1).fit(X, y)
