"""Cronus: its objective, its gates, its bands, the laws."""

from __future__ import annotations

import numpy as np
import pytest

from worthwhile import CascadeClassifier, Costs, GreedyMiserClassifier
from worthwhile.core.linear.soft_chain import SIDE, soft_chain
from worthwhile.core.trees import Trees
from worthwhile.estimators.linear._cascade_stages import apart, price_terms
from worthwhile.policy import trees as policy_tree
from worthwhile.policy.base import Policy
from worthwhile.policy.cascade import MOST, CascadePolicy, Stages
from worthwhile.policy.output import Output
from worthwhile.testing import check_contract


def problem(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    X[rng.random(X.shape) < 0.03] = np.nan
    clean = np.nan_to_num(X)
    y = (clean[:, 0] > 0.4) & (clean[:, 1] + 0.3 * rng.normal(size=n) > 0)
    return X, y.astype(int)


PRICES = Costs([1, 10, 10, 5, 5], {"g": {"fee": 4, "features": [1, 2]}}, evaluation=0.05)
SMALL = {"n_rounds": 15, "min_samples_leaf": 5, "costs": PRICES}


def test_gradient_is_that_of_the_loss():
    rng = np.random.default_rng(0)
    n, K = 7, 3
    F, theta = rng.normal(size=(n, K, 1)), rng.normal(size=K)
    Y, weight, cost = np.sign(rng.normal(size=(n, 1))), rng.random(n), rng.random(K)
    chain = (np.array([1, 2, -1], dtype=np.int32), np.full(3, -1, dtype=np.int32))

    def value(F, theta):
        slope, sums = np.empty_like(F), np.empty((3, K))
        soft_chain(F, Y, weight, theta, np.array([2.0]), *chain, cost, slope, sums)
        return sums[0, 0], slope, sums

    loss, slope, sums = value(F, theta)
    assert loss == pytest.approx(naive_loss(F[:, :, 0], Y[:, 0], weight, theta, 2.0, cost))
    assert sums[2].sum() == pytest.approx(weight.sum())
    step = 1e-6
    for i, k in np.ndindex(n, K):
        moved = F.copy()
        moved[i, k] += step
        assert (value(moved, theta)[0] - loss) / step == pytest.approx(slope[i, k, 0], abs=1e-4)
    for k in range(K - 1):
        moved = theta.copy()
        moved[k] += step
        assert (value(F, moved)[0] - loss) / step == pytest.approx(sums[1, k], abs=1e-4)


def naive_loss(F, y, weight, theta, steep, cost):
    """Row by row, stage by stage."""
    K, total = F.shape[1], 0.0
    for i in range(len(F)):
        here = weight[i]
        for k in range(K):
            if k == K - 1:
                total += here * ((F[i, k] - y[i]) ** 2 + cost[k])
                break
            on = 1 / (1 + np.exp(-(steep * F[i, k] - theta[k])))
            total += here * SIDE * (F[i, k] - y[i]) ** 2 / K
            total += here * (1 - on) * ((-1 - y[i]) ** 2 + cost[k])
            here *= on
    return total


def test_objective_never_rises():
    X, y = problem()
    model = CascadeClassifier(3, lam=0.001, **SMALL).fit(X, y)
    assert (np.diff(model.objective_) <= 1e-12).all()
    assert model.n_iter_ >= 1
    assert model.trace_["trees"].is_monotonic_increasing
    assert model.trace_["share"].is_monotonic_decreasing


def test_one_stage_without_prices_is_least_squares_on_the_trees():
    X, y = problem()
    shape = {"anchor": 0.0, "n_rounds": 6, "min_samples_leaf": 5}
    model = CascadeClassifier(1, lam=0.0, rho=0.0, preset="paper", **shape).fit(X, y)
    booster = GreedyMiserClassifier(n_rounds=6, max_depth=3, min_samples_leaf=5, newton=False)
    booster.fit(X, y)
    trees = apart(booster.policy_.trees)
    said = policy_tree.TreePolicy(booster.costs_, Output("value"), trees).batch(X).raw
    design = np.column_stack([said, np.ones(len(X))])
    fitted = design @ np.linalg.lstsq(design, 2.0 * y - 1.0, rcond=1e-9)[0]
    ours = model.decision_function(X) / model.policy_.scale
    assert ours == pytest.approx(np.clip(fitted, -MOST, MOST), abs=1e-6)


def test_a_strong_anchor_gives_the_booster_back():
    X, y = problem()
    shape = {"min_samples_leaf": 5, "max_depth": 2}
    booster = GreedyMiserClassifier(n_rounds=12, newton=False, **shape).fit(X, y)
    model = CascadeClassifier(
        1, lam=0.0, rho=0.0, anchor=1e9, n_rounds=12, preset="paper", **shape
    ).fit(X, y)
    ours, theirs = model.decision_function(X), booster.decision_function(X)
    assert abs(ours).max() < MOST * model.policy_.scale
    assert np.corrcoef(ours, theirs)[0, 1] == pytest.approx(1.0, abs=1e-9)


def test_cheap_trees_are_there_for_early_stages_unless_as_in_the_paper():
    X, y = problem()
    prices = np.array([1.0] * (X.shape[1] - 1) + [200.0])
    how = {**SMALL, "costs": prices}
    ours, paper = CascadeClassifier(2, **how), CascadeClassifier(2, preset="paper", **how)
    grown, blind = (model._prepare(X, y, None, None).trees for model in (ours, paper))
    n = blind.n_trees
    assert n == SMALL["n_rounds"] < grown.n_trees
    np.testing.assert_array_equal(grown.first(n).threshold, blind.threshold)
    cheap = grown.between(n, grown.n_trees)
    assert prices[cheap.features].max() == 1.0


def test_thresholds_let_the_wanted_share_leave():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 5))  # many different scores: any share can be cut off
    y = (X.sum(axis=1) + rng.normal(size=800) > 1).astype(int)
    model = CascadeClassifier(3, lam=0.0, rho=0.0, **SMALL).fit(X, y)
    moved, nobody = model.at(leaving=0.4, X=X), model.at(leaving=0.0, X=X)
    band = moved.decision_function(X) / (MOST * moved.policy_.scale)
    assert (band < -3).mean() == pytest.approx(0.4, abs=0.05)
    assert (band < -1).mean() == pytest.approx(0.64, abs=0.05)
    assert (nobody.decision_function(X) >= -MOST * nobody.policy_.scale).all()
    assert moved.cost(X).mean() <= nobody.cost(X).mean()
    assert model.leaving is None  # the original is as it was
    for wrong in (1.0, -0.1, "half"):
        with pytest.raises(
            ValueError, match="The 'leaving' parameter of CascadeClassifier must be"
        ):
            model.at(leaving=wrong, X=X)
    same = CascadeClassifier(3, lam=0.0, rho=0.0, leaving=0.4, **SMALL).fit(X, y)
    assert np.array_equal(same.policy_.stages.threshold, moved.policy_.stages.threshold)


def test_a_path_is_many_fits():
    X, y = problem()
    base = CascadeClassifier(2, 0.001, **SMALL)
    path = base.fit_path(X, y, [0.001, 0.01])
    assert [model.lam for model in path] == [0.001, 0.01]
    for model in path:
        alone = CascadeClassifier(2, lam=model.lam, **SMALL).fit(X, y)
        assert np.array_equal(alone.decision_function(X), model.decision_function(X))


def test_grades_say_more_than_two_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    grades = np.digitize(X[:, 0] + 0.5 * X[:, 1], [-0.5, 0.5, 1.5])
    y = grades >= 1
    how = {"n_rounds": 40, "min_samples_leaf": 5, "lam": 1e-5}
    plain = CascadeClassifier(2, **how).fit(X[:1000], y[:1000])
    graded = CascadeClassifier(2, **how).fit(X[:1000], y[:1000], grades=grades[:1000])
    best = grades[1000:] == 3

    def behind(model):
        """Rows of the highest grade that are not among as many best ones."""
        order = np.argsort(-model.decision_function(X[1000:]), kind="stable")
        return int((~best[order[: best.sum()]]).sum())

    assert behind(graded) < behind(plain)
    assert graded.score(X[1000:], y[1000:]) > 0.9  # 0 is still between the two classes


@pytest.mark.parametrize(
    ("grades", "message"),
    [
        ([0, 1], "one grade for each"),
        ([0, 1, 0, 1, np.nan, 1] * 10, "not finite"),
        ([1] * 60, "which grades"),
    ],
)
def test_grades_that_do_not_fit_are_refused(grades, message):
    X, _ = problem(60)
    with pytest.raises(ValueError, match=message):
        CascadeClassifier(2, 0.001, **SMALL).fit(X, np.arange(60) % 2, grades=grades)


def test_prices_that_nothing_is_worth_make_it_free():
    X, y = problem()
    bills = [CascadeClassifier(2, lam=lam, **SMALL).fit(X, y).cost(X).mean() for lam in (1e4, 0.0)]
    assert bills[0] == 0.0 < bills[1]


def test_whoever_left_ranks_below_and_is_negative():
    X, y = problem(800)
    weight = np.where(y == 0, 5.0, 1.0)
    model = CascadeClassifier(3, lam=0.002, **SMALL).fit(X, y, sample_weight=weight)
    policy = model.policy_
    score, evaluated = model.decision_function(X), model.evaluated(X)
    stage = np.searchsorted(policy.ends, evaluated)
    order = np.argsort(-score)
    gone = score < -MOST * policy.scale
    assert (model.predict(X)[gone] == 0).all()
    assert (np.diff(stage[order][gone[order]]) <= 0).all()


def hand_made():
    """Two stumps; the first stage reads feature 0 and lets x0 > 0 pass, the second adds feature 1."""
    trees = Trees.build(
        feature=[0, -1, -1, 1, -1, -1], threshold=[0.0, 0, 0, 0.0, 0, 0], left=[1, -1, -1, 4, -1, -1],
        right=[2, -1, -1, 5, -1, -1], value=[[0.0], [-1.0], [1.0], [0.0], [-1.0], [1.0]], root=[0, 3],
        base=[0.0, 0.0], output=[0, 1],
    )  # fmt: skip
    stages = Stages(
        np.array([1, 2]),
        np.array([[0.5, 0.0], [0.5, 1.0]]),
        np.zeros(2),
        np.zeros(2),
        np.array([-0.25]),
    )
    return CascadePolicy(Costs([2, 7]), Output("log-odds", np.array([0, 1])), trees, stages, 2.0)


def test_a_cascade_by_hand():
    policy = hand_made()
    X = np.array([[-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    outcome = policy.batch(X)
    # The first row leaves after stage 1: 0.5 * -1, one band down.
    assert outcome.raw[:, 0].tolist() == [2 * (-0.5 - 2 * MOST), 2 * (0.5 - 1.0), 2 * 1.5]
    assert outcome.acquired.tolist() == [[True, False], [True, True], [True, True]]
    assert outcome.evaluated.tolist() == [1, 2, 2]
    # Money for the first feature only: the second stage stands at its mean.
    poor = policy.batch(X, 5 * 10**9)
    assert poor.raw[:, 0].tolist() == [2 * (-0.5 - 2 * MOST), 1.0, 1.0]
    # Nothing can be bought: the first stage stands at its mean, which is not above the threshold.
    broke = policy.batch(X, 0)
    assert broke.raw[:, 0].tolist() == [2 * (0.0 - 2 * MOST)] * 3
    # Not even a tree can be evaluated: the prior.
    dear = CascadePolicy(
        Costs([2, 7], evaluation=1), policy.output, policy.model.trees, policy.stages, 2.0
    )
    assert dear.batch(X, 0).raw[:, 0].tolist() == [-0.5] * 3


@pytest.mark.parametrize("limit", [None, 0, 3 * 10**9, 12 * 10**9, 40 * 10**9])
def test_batches_agree_with_cases(limit):
    X, y = problem()
    policy = CascadeClassifier(3, lam=0.0005, **SMALL).fit(X, y).policy_
    fast, slow = policy.batch(X[:60], limit), Policy.batch(policy, X[:60], limit)
    assert fast.raw.tobytes() == slow.raw.tobytes()
    assert np.array_equal(fast.acquired, slow.acquired)
    assert np.array_equal(fast.evaluated, slow.evaluated)


def test_price_terms_are_of_trees_that_read():
    trees = hand_made().model.trees
    price, member = price_terms(
        trees, Costs([2, 7], {"g": {"fee": 3, "features": [1]}}, evaluation=0.5)
    )
    assert price.tolist() == [2, 7, 3, 0.5, 0.5]
    assert member.tolist() == [[1, 0, 0, 1, 0], [0, 1, 1, 0, 1]]


def test_picked_trees_say_the_same():
    X, y = problem()
    trees = apart(GreedyMiserClassifier(n_rounds=5, min_samples_leaf=5).fit(X, y).policy_.trees)
    some = apart(trees.only([3, 0]))
    assert some.problem(5) is None
    costs, output = Costs([1] * 5), Output("value")
    said = policy_tree.TreePolicy(costs, output, trees).batch(X).raw
    picked = policy_tree.TreePolicy(costs, output, some).batch(X).raw
    assert np.array_equal(picked, said[:, [3, 0]])
    assert apart(trees.only([])).problem(5) is None


def test_balanced_classes_count_the_same():
    X, y = problem()
    weight = np.where(y == 1, len(y) / (2 * y.sum()), len(y) / (2 * (len(y) - y.sum())))
    given = CascadeClassifier(2, 0.001, **SMALL).fit(X, y, sample_weight=weight)
    balanced = CascadeClassifier(2, 0.001, class_weight="balanced", **SMALL).fit(X, y)
    assert given.decision_function(X) == pytest.approx(balanced.decision_function(X), abs=1e-6)


def test_the_laws_hold():
    check_contract(
        CascadeClassifier(2, lam=0.001, n_rounds=8, min_samples_leaf=5, max_iter=5), rows=6
    )


def test_three_classes_are_refused():
    X, _ = problem(60)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        CascadeClassifier(2, 0.001, **SMALL).fit(X, np.arange(60) % 3)


def test_grid_goes_from_dear_prices_down():
    X, y = problem(60)
    lams = [params["lam"] for params in CascadeClassifier(costs=PRICES).trade_off_grid(X, y)]
    assert lams == sorted(lams, reverse=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"scale": 0.0}, "scale is 0.0"),
        ({"ends": np.array([2, 1])}, "rising numbers"),
        ({"ends": np.array([1, 3])}, "rising numbers"),
        ({"intercept": np.array([np.nan, 0.0])}, "not finite"),
        ({"threshold": np.zeros(3)}, "threshold has shape"),
        ({"tree_output": np.array([1, 0], dtype=np.int32)}, "one output each"),
        ({"tree_feature": np.array([0, -1, -1, 9, -1, -1], dtype=np.int32)}, "outside 0..1"),
        ({"other": np.zeros(1)}, "not the arrays of a cascade"),
        ({"prior": np.zeros(1, dtype=np.float32)}, "dtype"),
    ],
)
def test_unsafe_states_are_refused(changes, message):
    policy = hand_made()
    settings_, arrays = policy.state()
    for name, value in changes.items():
        (settings_ if name == "scale" else arrays)[name] = value
    with pytest.raises(ValueError, match=message):
        CascadePolicy.from_state(policy.costs, policy.output, (settings_, arrays))
