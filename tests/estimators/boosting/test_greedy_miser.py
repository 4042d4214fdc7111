"""Greedy Miser: the invariants of the method, and what the estimators promise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.estimators.boosting.miser_data import classes, numbers, regressor, same_trees, seeds
from worthwhile import Costs, GreedyMiserClassifier, GreedyMiserRegressor
from worthwhile.exceptions import WorthwhileWarning

# The invariants of the method ---------------------------------------------------------------------


@settings(max_examples=10, deadline=None)
@given(seeds)
def test_without_lam_prices_do_not_matter(seed):
    X, y = numbers(seed)
    prices = np.random.default_rng(seed).integers(0, 9, X.shape[1])
    assert same_trees(regressor(costs=prices).fit(X, y), regressor(costs=None).fit(X, y))


@settings(max_examples=10, deadline=None)
@given(seeds, st.floats(0, 100))
def test_free_features_are_taken_whatever_lam(seed, lam):
    X, y = numbers(seed)
    free = np.zeros(X.shape[1])
    assert same_trees(regressor(lam=lam, costs=free).fit(X, y), regressor(costs=free).fit(X, y))


@pytest.mark.parametrize("lam_scale", ["mean", "sum"])
@pytest.mark.parametrize("preset", ["default", "paper", "authors"])
def test_above_lam_max_nothing_is_bought_and_below_it_something_is(lam_scale, preset):
    X, y = numbers(0)
    costs = Costs([3, 1, 4, 1, 5, 9], evaluation=0.25)
    model = regressor(costs=costs, lam_scale=lam_scale, preset=preset)
    top = model.lam_max(X, y)
    if preset != "authors":
        above = model.set_params(lam=top * 1.001).fit(X, y)
        assert above.purchase_order_ == []
        assert (above.policy_.trees.feature == -1).all()
        assert (above.cost(X) == 8 * 0.25).all()
    below = model.set_params(lam=top * 0.99).fit(X, y)
    assert len(below.purchase_order_) >= 1


@pytest.mark.parametrize("leaves", ["vector", "scalar"])
def test_lam_max_of_a_classifier(leaves):
    X, y = classes(1)
    model = GreedyMiserClassifier(leaves=leaves, n_rounds=2, costs=[3, 1, 4, 1, 5, 9])
    top = model.lam_max(X, y)
    assert model.set_params(lam=top * 1.001).fit(X, y).purchase_order_ == []
    assert model.set_params(lam=top * 0.99).fit(X, y).purchase_order_ != []


def test_lam_max_is_zero_where_everything_is_free_and_counts_fees():
    X, y = numbers(0)
    assert regressor(costs=np.zeros(6)).lam_max(X, y) == 0.0
    assert regressor(costs=np.zeros(6)).trade_off_grid(X, y) == [{"lam": 0.0}]
    plain = regressor(costs=Costs([1] * 6)).lam_max(X, y)
    fees = Costs([1] * 6, groups={"all": {"fee": 1, "features": list(range(6))}})
    assert regressor(costs=fees).lam_max(X, y) == pytest.approx(plain / 2)


@settings(max_examples=10, deadline=None)
@given(seeds, st.sampled_from([0.1, 0.5, 1.0]), st.sampled_from([0.0, 0.01]))
def test_training_loss_never_rises(seed, learning_rate, lam):
    X, y = numbers(seed)
    trace = regressor(learning_rate=learning_rate, lam=lam, n_rounds=12).fit(X, y).trace_
    assert (np.diff(trace["train_loss"]) <= 1e-12).all()


@settings(max_examples=10, deadline=None)
@given(seeds, st.sampled_from([0.0, 0.002, 0.02]), st.sampled_from(["model", "row"]))
def test_what_is_bought_stays_bought(seed, lam, penalty):
    X, y = numbers(seed)
    costs = Costs([3, 1, 4, 1, 5, 9], groups={"g": {"fee": 2, "features": [1, 3]}}, evaluation=0.5)
    model = regressor(lam=lam, costs=costs, penalty=penalty, subsample=0.4, max_features=0.5).fit(
        X, y
    )
    trace = model.trace_
    assert (np.diff(trace["features"]) >= 0).all()
    assert (np.diff(trace["cost_model"]) > 0).all()
    assert (np.diff(trace["cost_row"]) > 0).all()
    assert trace["cost_model"].iloc[-1] == model.cost(X, accounting="model")[0]
    assert trace["cost_row"].iloc[-1] == pytest.approx(model.cost(X).mean(), abs=1e-9)
    assert (model.cost(X) <= model.cost(X, accounting="model")).all()
    for rounds in (1, 5):
        short = model.at(stage=rounds)
        assert trace["cost_model"].iloc[rounds - 1] == short.cost(X, accounting="model")[0]
        assert trace["features"].iloc[rounds - 1] == len(short.purchase_order_)


@settings(max_examples=10, deadline=None)
@given(
    seeds, st.sampled_from([2, 3]), st.sampled_from([0.0, 0.01]), st.sampled_from(["model", "row"])
)
def test_duplicated_rows_change_nothing_in_mean_scale(seed, times, lam, penalty):
    X, y = numbers(seed, n=200)
    once = regressor(lam=lam, penalty=penalty).fit(X, y)
    many = regressor(lam=lam, penalty=penalty, min_samples_leaf=5 * times).fit(
        np.repeat(X, times, axis=0), np.repeat(y, times)
    )
    assert same_trees(once, many)


@settings(max_examples=10, deadline=None)
@given(seeds, st.sampled_from([0.25, 2.0, 8.0]))
def test_prices_and_lam_scale_against_each_other(seed, factor):
    X, y = numbers(seed)
    prices = np.random.default_rng(seed).integers(1, 9, X.shape[1])
    a = regressor(lam=0.01, costs=prices * factor).fit(X, y)
    b = regressor(lam=0.01 * factor, costs=prices).fit(X, y)
    assert same_trees(a, b)


@settings(max_examples=20, deadline=None)
@given(seeds, st.sampled_from([0.0, 0.003, 0.03]))
def test_net_worth_of_the_splits_is_what_equation_5_gained(seed, lam):
    X, y = numbers(seed, n=120)
    costs = Costs([3, 1, 4, 1, 5, 9], groups={"g": {"fee": 2, "features": [0, 2]}})
    model = regressor(lam=lam, costs=costs, lam_scale="sum", n_rounds=1, learning_rate=1.0)
    nets = []
    from worthwhile.estimators.boosting import _rounds

    original = _rounds.Rounds._round

    def spy(self, number, gradients):
        grown = original(self, number, gradients)
        nets.append(sum(grown[0][0].grown.net))
        return grown

    _rounds.Rounds._round = spy
    try:
        model.fit(X, y)
    finally:
        _rounds.Rounds._round = original
    root = 0.5 * ((y - y.mean()) ** 2).sum()
    after = 0.5 * ((y - model.predict(X)) ** 2).sum() + lam * model.cost(X, accounting="model")[0]
    assert nets[0] == pytest.approx(root - after, rel=1e-5, abs=1e-5)


@settings(max_examples=15, deadline=None)
@given(seeds, st.sampled_from([1e-15, 0.001, 0.01]), st.booleans())
def test_of_two_equal_features_the_dearer_is_never_bought(seed, lam, dear_first):
    X, y = numbers(seed, missing=0.1)
    X[:, 1] = X[:, 0]
    prices = [1, 1, 1, 1, 1, 1]
    prices[0 if dear_first else 1] = 2
    model = regressor(lam=lam, costs=prices, subsample=0.7).fit(X, y)
    assert (0 if dear_first else 1) not in model.purchase_order_


def test_one_feature_opens_its_group_for_free():
    X, y = numbers(5)
    costs = Costs(
        [0] * 6,
        groups={"a": {"fee": 5, "features": [0, 1, 2]}, "b": {"fee": 5, "features": [3, 4, 5]}},
    )
    model = regressor(lam=0.01, costs=costs, n_rounds=30).fit(X, y)
    assert set(model.purchase_order_[:3]) <= {0, 1, 2}
    assert model.cost(X).max() in (5.0, 10.0)
    alone = regressor(lam=0.01, costs=[5] * 6, n_rounds=30).fit(X, y)
    assert len(model.purchase_order_) >= len(alone.purchase_order_)


@settings(max_examples=8, deadline=None)
@given(seeds, st.sampled_from(["vector", "scalar"]))
def test_two_multinomial_classes_mirror_each_other(seed, leaves):
    X, y = classes(seed, k=2)
    free = np.zeros(
        X.shape[1]
    )  # else the second class's tree prefers, of equal splits, what the first's has bought
    model = GreedyMiserClassifier(
        loss="multinomial",
        leaves=leaves,
        n_rounds=5,
        min_samples_leaf=5,
        preset="paper",
        costs=free,
    ).fit(X, y)
    raw = model.policy_.batch(X).raw
    assert (raw[:, 0] == -raw[:, 1]).all()


def test_double_credit_example():
    """A split worth 45 behind a price of 90 must not beat a free split worth 80.

    Feature 0 (dear) is bought at the root; at the right child it is worth 45 and free by now, while
    feature 1 (free all along) is worth 80. Crediting the price a second time would make it 135.
    """
    rows = []
    # left of the root: feature 0 is 0; right: feature 0 is 1 or 2, feature 1 is 0 or 1
    for x0, x1, y, times in (
        (0, 0, -30.0, 40),
        (1, 0, 6, 10),
        (1, 1, 8, 10),
        (2, 0, 9, 10),
        (2, 1, 13, 10),
    ):
        rows += [(x0, x1, y)] * times
    data = np.array(rows, dtype=float)
    X, y = data[:, :2], data[:, 2]
    right = X[:, 0] > 0

    def gain(column, mask):
        value = y[mask]
        high = X[mask, column] > X[mask, column].min()
        parts = [value[high], value[~high]]
        return 0.5 * (
            ((value - value.mean()) ** 2).sum() - sum(((p - p.mean()) ** 2).sum() for p in parts)
        )

    dear, cheap = gain(0, right), gain(1, right)
    X = X.copy()
    if dear > cheap:  # make the free feature the better one at the child
        X[right, 0], X[right, 1] = X[right, 1] + 1, X[right, 0] - 1
        dear, cheap = cheap, dear
    price = 10 * (cheap - dear)
    model = GreedyMiserRegressor(
        lam=1.0, lam_scale="sum", costs=[price, 0], n_rounds=1, max_depth=2, min_samples_leaf=1
    ).fit(X, y)
    trees = model.policy_.trees
    assert trees.feature[0] == 0
    assert trees.feature[trees.right[0]] == 1


# Reproducibility, samples, going on ---------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["model", "row"])
def test_one_thread_and_two_give_the_same_bytes(tmp_path, penalty):
    X, y = numbers(7, n=60000, d=9, missing=0.05)
    files = []
    for n_jobs in (1, 2, None):
        model = regressor(
            lam=0.001, n_jobs=n_jobs, subsample=0.8, random_state=1, penalty=penalty, n_rounds=3
        )
        model.fit(X, y).set_params(n_jobs=None).save(tmp_path / "model")
        files.append((tmp_path / "model").read_bytes())
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("penalty", ["model", "row"])
@pytest.mark.parametrize("leaves", ["vector", "scalar"])
def test_going_on_equals_not_having_stopped(penalty, leaves):
    X, y = classes(3)
    options = {
        "lam": 0.0005,
        "subsample": 0.5,
        "max_features": 0.7,
        "random_state": 3,
        "penalty": penalty,
    }
    whole = GreedyMiserClassifier(n_rounds=8, leaves=leaves, min_samples_leaf=5, **options).fit(
        X, y
    )
    parts = GreedyMiserClassifier(
        n_rounds=3, leaves=leaves, min_samples_leaf=5, warm_start=True, **options
    )
    parts.fit(X, y).set_params(n_rounds=8).fit(X, y)
    assert same_trees(whole, parts)
    assert whole.purchase_order_ == parts.purchase_order_
    pd.testing.assert_frame_equal(whole.trace_, parts.trace_)


def test_going_on_remembers_what_was_bought():
    X, y = numbers(4)
    costs = [100, 1, 1, 1, 1, 1]
    rich = regressor(lam=0.0, costs=costs, n_rounds=2, warm_start=True).fit(X, y)
    assert 0 in rich.purchase_order_
    miser = regressor(lam=1.0, costs=costs, n_rounds=10).fit(X, y)
    assert 0 not in miser.purchase_order_
    rich.set_params(lam=1.0, n_rounds=10).fit(X, y)
    later = rich.policy_.trees.feature[rich.policy_.trees.root[2] :]
    assert 0 in later
    assert set(later.tolist()) - {-1} <= set(rich.at(stage=2).purchase_order_)


def test_interrupt_keeps_the_rounds_so_far(monkeypatch):
    X, y = numbers(0)
    from worthwhile.estimators.boosting import _rounds

    original = _rounds.Rounds._round

    def interrupted(self, number, gradients):
        if number == 3:
            raise KeyboardInterrupt
        return original(self, number, gradients)

    monkeypatch.setattr(_rounds.Rounds, "_round", interrupted)
    with pytest.warns(WorthwhileWarning, match="interrupted: the model keeps the 3 rounds"):
        model = regressor().fit(X, y)
    monkeypatch.undo()
    assert same_trees(model, regressor(n_rounds=3).fit(X, y))
