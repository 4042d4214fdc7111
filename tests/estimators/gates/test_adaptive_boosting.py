"""ADAPT-GBRT: Greedy Miser at one end, the existing model at the other."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from tests.naive import adapt as naive
from worthwhile import AdaptiveBoostingClassifier, Costs, GreedyMiserClassifier, datasets
from worthwhile.core.threads import Threads
from worthwhile.estimators.boosting.binned_data import BinnedData
from worthwhile.estimators.boosting.booster import BoosterSettings
from worthwhile.estimators.gates import adaptive_boosting
from worthwhile.estimators.gates._boosted import Duo, Growth
from worthwhile.estimators.gates._linear_fista import cheap_losses
from worthwhile.estimators.gates._shares import shares_kl
from worthwhile.policy.output import Output


def priced(n_classes=2, n=400):
    X, y, costs = datasets.make_priced_classification(
        n, 0, n_signals=3, n_noise=2, n_classes=n_classes, missing=0.05
    )
    return X, y, costs


ARRAYS = (
    "feature",
    "threshold",
    "left",
    "right",
    "missing_left",
    "value",
    "root",
    "output",
    "base",
)


@pytest.mark.parametrize(("n_classes", "leaves"), [(2, "vector"), (3, "vector"), (3, "scalar")])
@pytest.mark.parametrize("lam", [0.0, 0.002, 1e9])
@pytest.mark.parametrize(("newton", "weighted"), [(False, False), (True, False), (True, True)])
def test_p_full_zero_is_greedy_miser_tree_for_tree(n_classes, leaves, lam, newton, weighted):
    X, y, costs = priced(n_classes)
    weight = np.random.default_rng(0).random(len(y)) if weighted else None
    shared = {
        "costs": costs, "n_rounds": 8, "leaves": leaves, "newton": newton, "random_state": 0,
        "max_depth": 3, "min_samples_leaf": 20, "learning_rate": 0.1,
    }  # fmt: skip
    miser = GreedyMiserClassifier(lam=lam, split_noise=0, **shared).fit(X, y, weight)
    model = AdaptiveBoostingClassifier(gamma=lam, p_full=0, **shared).fit(X, y, weight)
    mine, theirs = model.policy_.cheap.trees, miser.policy_.trees
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))
    assert model.policy_.gate.trees.n_trees == 0
    assert not model.sent(X).any()
    np.testing.assert_array_equal(model.cost(X), miser.cost(X))
    np.testing.assert_array_equal(model.predict(X), miser.predict(X))


def test_p_full_one_with_a_perfect_existing_model_has_its_accuracy():
    X, y, _ = priced()
    X = X.assign(truth=y)
    costs = Costs(dict.fromkeys(X.columns, 1))

    def perfect(rows):
        return np.column_stack([rows["truth"] == 0, rows["truth"] == 1]).astype(float)

    model = AdaptiveBoostingClassifier(
        (perfect, ["truth"]), p_full=1, gamma=1e9, costs=costs, n_rounds=5, max_iter=3
    ).fit(X, y)
    assert model.score(X, y) == 1.0


def duo(X, codes, costs, threads, existing_loss, n_classes=2):
    data = BinnedData.prepare(X, threads)
    return Duo(data, codes, n_classes, existing_loss, costs, vector=True, threads=threads)


def test_objective_is_that_of_the_paper():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    codes = (X[:, 0] > 0).astype(np.intp)
    existing_loss = rng.exponential(size=60)
    with Threads(1) as threads:
        pair_of = duo(X, codes, Costs([1, 1, 1]), threads, existing_loss)
        q = rng.random(60)
        pair = pair_of.grow(q, BoosterSettings(min_samples_leaf=5), 4)
        losses = cheap_losses(pair.cheap_scores.T, codes)
        expected = naive.opt1_value(q, pair.gate_score, losses, existing_loss)
        assert pair_of.objective(pair, q) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("newton", [False, True])
def test_loss_for_fixed_shares_falls_round_by_round_without_prices(newton):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 4))
    codes = (X[:, 0] * X[:, 1] > 0).astype(np.intp)
    q, existing_loss = rng.random(200) * 0.6, rng.exponential(size=200)
    with Threads(1) as threads:
        pair_of = duo(X, codes, Costs([1] * 4), threads, existing_loss)
        pair_of.newton = newton
        values = [
            pair_of.objective(pair_of.grow(q, BoosterSettings(min_samples_leaf=5), rounds), q)
            for rounds in range(8)
        ]
    assert (np.diff(values) < 0).all()


def test_newton_leaves_get_further_in_as_many_rounds():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 4))
    codes = (X[:, 0] * X[:, 1] > 0).astype(np.intp)
    q, values = rng.random(200), []
    with Threads(1) as threads:
        pair_of = duo(X, codes, Costs([1] * 4), threads, rng.exponential(size=200))
        for pair_of.newton in (False, True):
            values.append(
                pair_of.objective(pair_of.grow(q, BoosterSettings(min_samples_leaf=5), 10), q)
            )
    assert values[1] < values[0] - 0.01


def test_both_ensembles_pay_from_one_purse():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 5))
    codes = (X[:, 0] + 0.2 * rng.normal(size=400) > 0).astype(np.intp)
    q = (np.abs(X[:, 1]) < 0.3) * 0.9
    costs = Costs([1, 2, 3, 4, 5], {"lab": {"fee": 7, "features": [1, 2]}})
    with Threads(1) as threads:
        pair_of = duo(X, codes, costs, threads, np.full(400, 0.1))
        pair = pair_of.grow(q, BoosterSettings(lam=1e-4), 10)
        gate, cheap = pair_of.policies(
            pair, GreedyMiserClassifier(costs=costs).fit(X, codes)._output()
        )
    used = np.zeros(5, dtype=bool)
    used[np.union1d(gate.reads, cheap.reads)] = True
    assert {0, 1} <= set(np.flatnonzero(used))
    assert pair.price == costs.price(used)


def test_scores_on_training_rows_are_those_of_the_policies():
    X, y, costs = priced(3)
    model = AdaptiveBoostingClassifier(costs=costs, n_rounds=6, max_iter=1, random_state=0)
    Z, codes = X.to_numpy(), np.unique(y, return_inverse=True)[1]
    with Threads(2) as threads:
        pair_of = duo(Z, codes, costs, threads, np.ones(len(y)), 3)
        start = pair_of.grow(np.zeros(len(y)), model._settings(0.001), 6, gated=False)
        (iterate,) = pair_of.alternate(0.4, model._settings(0.001), 6, 1, start)
        losses = cheap_losses(start.cheap_scores.T, codes)
        np.testing.assert_array_equal(
            iterate.q, shares_kl(start.gate_score, losses - pair_of.existing_loss, 0.4).q
        )
        fitted = model.fit(X, y)
        gate, cheap = pair_of.policies(iterate.pair, fitted.policy_.cheap.output)
    np.testing.assert_allclose(gate.batch(Z).raw[:, 0], iterate.pair.gate_score, atol=1e-12)
    np.testing.assert_allclose(cheap.batch(Z).raw.T, iterate.pair.cheap_scores, atol=1e-12)


def test_policies_after_some_rounds_are_those_of_a_shorter_training():
    X, y, costs = priced(3)
    Z, codes = X.to_numpy(), np.unique(y, return_inverse=True)[1]
    q, settings = np.random.default_rng(0).random(len(y)), BoosterSettings(lam=1e-4)
    output = Output("logits", np.arange(3))
    with Threads(1) as threads:
        pair_of = duo(Z, codes, costs, threads, np.ones(len(y)), 3)
        long, short = (pair_of.grow(q, settings, rounds) for rounds in (6, 2))
        cut = [p.batch(Z).raw for p in pair_of.policies(long, output, 2)]
        grown = [p.batch(Z).raw for p in pair_of.policies(short, output)]
    for a, b in zip(cut, grown, strict=True):
        np.testing.assert_array_equal(a, b)
    assert np.abs(long.gate_score - short.gate_score).max() > 1e-3


def test_trace_has_one_row_per_iteration_and_keeps_the_best():
    X, y, costs = priced()
    model = AdaptiveBoostingClassifier(
        costs=costs, p_full=0.4, gamma=0.001, n_rounds=10, max_iter=4, random_state=0
    ).fit(X, y)
    trace = model.trace_
    assert 1 <= len(trace) == model.n_iter_ <= 4
    assert (trace["mean_share"] <= 0.4).all()
    assert trace["chosen"].sum() == 1
    assert trace.loc[trace["chosen"], "objective"].iloc[0] == trace["objective"].min()


def test_validation_chooses_the_iteration_where_it_is_given():
    X, y, costs = priced()
    existing = RandomForestClassifier(10, random_state=0).fit(X[:200].fillna(0), y[:200])
    model = AdaptiveBoostingClassifier(
        existing, costs=costs, gamma=0.001, n_rounds=10, max_iter=3
    ).fit(X[:200], y[:200], validation=(X[200:], y[200:]))
    trace = model.trace_
    assert trace.loc[trace["chosen"], "score"].iloc[0] == trace["score"].max()
    assert model.score(X[200:], y[200:]) == trace["score"].max()


def test_budget_chooses_within_it_on_validation_rows():
    X, y, costs = priced()
    model = AdaptiveBoostingClassifier(
        costs=costs, budget=15, n_rounds=8, max_iter=2, random_state=0
    ).fit(X[:250], y[:250], validation=(X[250:], y[250:]))
    trace = model.trace_
    chosen = trace[trace["chosen"]].iloc[0]
    assert chosen["cost"] <= 15
    assert chosen["score"] == trace[trace["cost"] <= 15]["score"].max()
    assert model.cost(X[250:]).mean() == pytest.approx(chosen["cost"])
    assert model.score(X[250:], y[250:]) == pytest.approx(chosen["score"])
    assert all(chosen[name] == value for name, value in model.point_.items())
    assert set(trace["rounds"]) == {1, 2, 5, 8}
    assert model.n_iter_ == 1
    assert set(trace["p_full"]) == {0.0, 0.25, 0.55, 1.0}
    assert (trace[trace["p_full"] == 1.0]["sent"] == 1).all()


def test_trees_find_the_hard_centre_of_synthetic_1():
    X, y, _ = datasets.make_synthetic_1(1000)
    existing = SVC(gamma=2, C=10).fit(X, y)
    # Trees that know the training rows by heart would send nobody on.
    trees = {"n_rounds": 60, "max_depth": 3, "newton": False, "learning_rate": 0.1}
    model = AdaptiveBoostingClassifier(existing, p_full=0.45, max_iter=5, costs=[0, 0], **trees)
    model.fit(X, y)
    assert model.score(X, y) >= existing.score(X, y) - 0.01
    sent = model.sent(X)
    centre = np.hypot(X["x1"], X["x2"]) <= 1.001
    assert sent.mean() < 0.55
    assert sent[centre].mean() > 2 * sent[~centre].mean()


def test_trade_off_grid_is_one_sweep():
    X, y, costs = priced()
    model = AdaptiveBoostingClassifier(costs=costs, n_rounds=3, max_iter=1)
    assert model.trade_off_grid(X, y) == [{"p_full": "auto", "gamma": "auto"}]


def test_validation_rows_choose_the_depth():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(1200, 5)).astype(float)
    y = X[:, :5].sum(axis=1).astype(int) % 2  # parity: no tree of three levels can tell
    existing = RandomForestClassifier(20, random_state=0).fit(X, y)
    model = AdaptiveBoostingClassifier(existing, budget=5, n_rounds=8, max_iter=1, random_state=0)
    assert model.fit(X, y).point_["depth"] > 3
    assert model.set_params(max_depth=2).fit(X, y).point_["depth"] == 2


def test_price_that_no_gain_covers_is_never_paid():
    X, y, _ = priced()
    dear = Costs({name: 10**6 if name == X.columns[0] else 1 for name in X.columns})
    existing = RandomForestClassifier(5, random_state=0).fit(X.fillna(0), y)
    model = AdaptiveBoostingClassifier(existing, costs=dear, gamma=0.01, n_rounds=5, max_iter=2)
    model.fit(X, y)
    assert 0 not in model.policy_.gate.reads
    assert 0 not in model.policy_.cheap.reads


def test_growing_on_is_growing_at_once():
    X, y, costs = priced(3)
    Z, codes = X.to_numpy(), np.unique(y, return_inverse=True)[1]
    q, settings = np.random.default_rng(0).random(len(y)), BoosterSettings(lam=1e-4)
    with Threads(1) as threads:
        pair_of = duo(Z, codes, costs, threads, np.ones(len(y)), 3)
        growth = Growth(pair_of, q, settings)
        first, kept = growth.to(2), pair_of.grow(q, settings, 2)
        whole, again = growth.to(6), pair_of.grow(q, settings, 6)
    for a, b in ((first, kept), (whole, again)):
        assert (len(a.gate), len(a.cheap)) == (len(b.gate), len(b.cheap))
        np.testing.assert_array_equal(a.gate_score, b.gate_score)
        np.testing.assert_array_equal(a.cheap_scores, b.cheap_scores)


def test_models_that_add_nothing_are_not_grown_on(monkeypatch):
    """All parts, and the models of all rows, stop where the first judge saw no more to gain."""
    X, y, costs = priced(n=2400)
    existing = RandomForestClassifier(10, random_state=0).fit(X.fillna(0), y)
    given = {"costs": costs, "n_rounds": 24, "max_depth": 2, "random_state": 0}
    model = AdaptiveBoostingClassifier(existing, **given)
    found = {}
    for worth in (0.002, -1.0, 2.0):
        monkeypatch.setattr(adaptive_boosting, "WORTH_GROWING", worth)
        model.fit(X.fillna(0), y)
        ends = [end for of_gamma in model._ends.values() for end in of_gamma.values()]
        assert len(model._swept[0].makers) == 20 * model._count(model._swept[1])
        found[worth] = ends
    assert set(found[-1.0]) == {24}
    assert set(found[2.0]) <= {4, 24}  # 24: cheaper than all before, which nothing is compared with
    assert sum(found[2.0]) <= sum(found[0.002]) < sum(found[-1.0])


def test_gammas_of_a_sweep_have_bills_all_over_the_range():
    X, y, costs = priced(n=2400)
    existing = RandomForestClassifier(10, random_state=0).fit(X.fillna(0), y)
    model = AdaptiveBoostingClassifier(
        existing, costs=costs, n_rounds=24, max_depth=3, random_state=0
    )
    model.fit(X.fillna(0), y)
    trace = model.trace_.query("p_full == 0")
    bills = np.sort(trace.groupby("gamma")["cost"].max())
    assert list(model._steps) == sorted(model._steps, reverse=True)
    assert len(bills) >= 4
    assert np.diff(bills).max() < 0.5 * bills[-1]
