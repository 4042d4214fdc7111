"""Greedy Miser: the invariants of the method, and what the estimators promise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import costwise
from costwise import Costs, FeatureSubsets, GreedyMiserClassifier, GreedyMiserRegressor
from costwise.exceptions import CostwiseWarning

seeds = st.integers(0, 2**16)


def numbers(seed, n=300, d=6, missing=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X[:, 0] + np.abs(X[:, 1]) + X[:, 2] * X[:, 3] + 0.3 * rng.normal(size=n)
    X[rng.random((n, d)) < missing] = np.nan
    return X, y


def classes(seed, n=400, d=6, k=3):
    X, y = numbers(seed, n, d)
    return X, np.digitize(y, np.quantile(y, np.linspace(0, 1, k + 1)[1:-1]))


def same_trees(a, b):
    left, right = a.policy_.trees.arrays(), b.policy_.trees.arrays()
    return all(np.array_equal(left[name], right[name], equal_nan=True) for name in left)


def regressor(**parameters):
    return GreedyMiserRegressor(
        **{"n_rounds": 8, "min_samples_leaf": 5, "learning_rate": 0.3, **parameters}
    )


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
@pytest.mark.parametrize("init", ["prior", "zero"])
@pytest.mark.parametrize("preset", ["equation", "authors"])
def test_above_lam_max_nothing_is_bought_and_below_it_something_is(lam_scale, init, preset):
    X, y = numbers(0)
    costs = Costs([3, 1, 4, 1, 5, 9], evaluation=0.25)
    model = regressor(costs=costs, lam_scale=lam_scale, init=init, preset=preset)
    top = model.lam_max(X, y)
    if preset == "equation":
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
        short = model.truncate(rounds)
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
    from costwise.estimators import _rounds

    original = _rounds.Rounds._round

    def spy(self, number, gradients):
        grown = original(self, number, gradients)
        nets.append(sum(grown[0].grown.net))
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
    model = GreedyMiserClassifier(
        loss="multinomial", leaves=leaves, n_rounds=5, min_samples_leaf=5, init="zero"
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
    assert set(later.tolist()) - {-1} <= set(rich.truncate(2).purchase_order_)


def test_interrupt_keeps_the_rounds_so_far(monkeypatch):
    X, y = numbers(0)
    from costwise.estimators import _rounds

    original = _rounds.Rounds._round

    def interrupted(self, number, gradients):
        if number == 3:
            raise KeyboardInterrupt
        return original(self, number, gradients)

    monkeypatch.setattr(_rounds.Rounds, "_round", interrupted)
    with pytest.warns(CostwiseWarning, match="interrupted: the model keeps the 3 rounds"):
        model = regressor().fit(X, y)
    monkeypatch.undo()
    assert same_trees(model, regressor(n_rounds=3).fit(X, y))


# What is offered besides --------------------------------------------------------------------------


def test_stages_are_the_truncated_models():
    X, y = classes(2)
    model = GreedyMiserClassifier(n_rounds=4, leaves="scalar", min_samples_leaf=5).fit(X, y)
    for rounds, (labels, chances) in enumerate(
        zip(model.staged_predict(X), model.staged_predict_proba(X), strict=True), start=1
    ):
        short = model.truncate(rounds)
        assert (short.predict(X) == labels).all()
        assert (short.predict_proba(X) == chances).all()
    assert rounds == 4
    with pytest.raises(ValueError, match="rounds is 5: the model has 0 to 4 rounds"):
        model.truncate(5)


def test_validation_cuts_to_the_best_round():
    X, y = numbers(1, n=200)
    X_held, y_held = numbers(2, n=200)
    model = regressor(n_rounds=60, learning_rate=1.0).fit(X, y, validation=(X_held, y_held))
    scores = model.trace_["validation_score"]
    assert model.n_rounds_ == int(scores.argmax()) + 1 < 60
    errors = [
        0.5 * ((p - y_held) ** 2).mean()
        for p in regressor(n_rounds=60, learning_rate=1.0).fit(X, y).staged_predict(X_held)
    ]
    assert np.allclose(errors, model.trace_["validation_loss"])
    assert model.trace_["cost_row"].iloc[model.n_rounds_ - 1] == pytest.approx(
        model.cost(X_held).mean()
    )


def test_validation_score_may_be_the_callers():
    X, y = classes(1, k=2)
    seen = []

    def scoring(truth, raw):
        seen.append((truth.shape, raw.shape))
        return -len(seen)

    model = GreedyMiserClassifier(n_rounds=3, validation_fraction=0.25, scoring=scoring).fit(X, y)
    assert seen[0] == ((100,), (100,))
    assert model.n_rounds_ == 1
    accurate = GreedyMiserClassifier(
        n_rounds=20, validation_fraction=0.25, scoring="accuracy", random_state=0
    )
    assert accurate.fit(X, y).trace_["validation_score"].between(0, 1).all()


def test_held_out_rows_are_not_trained_on():
    X, y = classes(1)
    a = GreedyMiserClassifier(n_rounds=3, validation_fraction=0.3, random_state=0).fit(X, y)
    assert a.trace_["validation_loss"].notna().all()
    assert not same_trees(a, GreedyMiserClassifier(n_rounds=3, random_state=0).fit(X, y))


def test_missing_values_only_in_validation_rows():
    X, y = numbers(0)
    X_held, y_held = numbers(1, missing=0.3)
    model = regressor().fit(X, y, validation=(X_held, y_held))
    expected = 0.5 * ((model.predict(X_held) - y_held) ** 2).mean()
    assert model.trace_["validation_loss"].iloc[model.n_rounds_ - 1] == pytest.approx(expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.int64])
def test_training_scores_are_those_of_the_walk(dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(3000, 5)) * 1000).astype(dtype)
    y = X[:, 0] / 1000.0 + np.sin(X[:, 1] / 500.0)
    model = regressor(n_rounds=5).fit(X, y)
    loss = 0.5 * ((model.predict(X) - y) ** 2).mean()
    assert model.trace_["train_loss"].iloc[-1] == pytest.approx(loss, rel=1e-12)


def test_a_path_of_models_equals_single_fits():
    X, y = numbers(0)
    lams = [0.1, 0.01, 0.0]
    path = regressor(random_state=0, subsample=0.5).fit_path(X, y, lams)
    for lam, model in zip(lams, path, strict=True):
        assert model.lam == lam
        assert same_trees(model, regressor(lam=lam, random_state=0, subsample=0.5).fit(X, y))
    with pytest.raises(ValueError, match="'lam' parameter"):
        regressor().fit_path(X, y, [-1])


def test_newton_steps_are_friedmans():
    X, y = classes(6, k=3)
    model = GreedyMiserClassifier(
        n_rounds=1,
        leaves="scalar",
        newton=True,
        learning_rate=1.0,
        init="zero",
        min_samples_leaf=20,
    ).fit(X, y)
    plain = GreedyMiserClassifier(
        n_rounds=1, leaves="scalar", learning_rate=1.0, init="zero", min_samples_leaf=20
    ).fit(X, y)
    assert (model.policy_.trees.feature == plain.policy_.trees.feature).all()
    raw, other = model.policy_.batch(X).raw, plain.policy_.batch(X).raw
    for k in range(3):
        r = (y == k) - 1 / 3
        for value in np.unique(other[:, k]):
            leaf = other[:, k] == value
            step = 2 / 3 * r[leaf].sum() / (np.abs(r[leaf]) * (1 - np.abs(r[leaf]))).sum()
            assert np.allclose(raw[leaf, k], step, rtol=1e-5)


def test_newton_is_the_mean_for_squared_loss_also_with_weights():
    X, y = numbers(0)
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    a = regressor(newton=True).fit(X, y, weight)
    b = regressor().fit(X, y, weight)
    assert np.allclose(a.predict(X), b.predict(X))


def test_weights_equal_repetition_and_zero_weight_absence():
    X, y = classes(8)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    for leaves in ("vector", "scalar"):
        options = {"lam": 0.0005, "leaves": leaves, "n_rounds": 4}
        a = GreedyMiserClassifier(**options).fit(X, y, weight)
        b = GreedyMiserClassifier(**options).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
        assert same_trees(a, b)


def test_authors_preset_prices_by_round_and_splits_at_a_loss():
    X, y = numbers(0)
    model = regressor(
        lam=10.0, preset="authors", n_rounds=1, min_samples_leaf=1, costs=[3, 1, 4, 1, 5, 9]
    ).fit(X, y)
    assert (model.policy_.trees.feature >= 0).sum() == 7
    frozen = model.policy_.trees.feature[model.policy_.trees.feature >= 0]
    assert set(frozen.tolist()) <= {1, 3}  # the price was never lowered within the round


def test_authors_preset_has_twice_the_gain():
    X, y = numbers(0)
    ratio = regressor(preset="authors").lam_max(X, y) / regressor().lam_max(X, y)
    assert ratio == pytest.approx(2.0)


def test_row_penalty_prefers_what_rows_have_met():
    X, y = numbers(9, n=2000)
    costs = np.ones(6)
    by_row = regressor(lam=0.02, penalty="row", costs=costs, n_rounds=40).fit(X, y)
    free = regressor(lam=0.0, costs=costs, n_rounds=40).fit(X, y)
    assert by_row.cost(X).mean() < free.cost(X).mean()


def test_feature_subsets_stay_below_their_cap():
    X, y = classes(0)
    prices = [1, 5, 20, 1, 5, 20]
    booster = GreedyMiserClassifier(n_rounds=5, costs=prices)
    grid = FeatureSubsets(booster).trade_off_grid(X, y)
    assert grid == [{"cap": 1.0}, {"cap": 5.0}, {"cap": 20.0}]
    for entry in grid:
        model = FeatureSubsets(booster, **entry).fit(X, y)
        used = np.flatnonzero(model.acquired(X).any(axis=0))
        assert max(prices[f] for f in used) == entry["cap"]
        assert model.predict_proba(X).shape == (400, 3)
        assert model.decision_function(X).shape == (400, 3)
    assert same_trees(model, booster.fit(X, y))
    assert model.score(X, y) == booster.score(X, y)
    assert not hasattr(FeatureSubsets(GreedyMiserRegressor()), "predict_proba")


def test_scene_like_purchases_open_descriptors():
    X, y, costs = costwise.datasets.make_scene_like(n=500, n_descriptors=20, n_classes=5)
    booster = GreedyMiserClassifier(costs=costs, n_rounds=40, min_samples_leaf=5, learning_rate=0.3)
    miser, blind = booster.fit_path(X, y, [0.1 * booster.lam_max(X, y), 0.0])
    group = costs.resolve(X.shape[1], list(X.columns)).flat.group
    opened = set(group[miser.purchase_order_[:12]].tolist())
    scattered = set(group[blind.purchase_order_[:12]].tolist())
    assert 2 * len(opened) <= len(scattered)
    assert miser.cost(X).mean() < 0.1 * blind.cost(X).mean()


def test_progress_is_shown_only_when_asked_for(capsys):
    X, y = numbers(0)
    regressor(n_rounds=2).fit(X, y)
    assert capsys.readouterr() == ("", "")
    regressor(n_rounds=2, verbose=1).fit(X, y)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "rounds" in shown.err


# Refusals -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "options", "message"),
    [
        ({"lam": -1}, {}, "'lam' parameter"),
        ({"penalty": "lazy"}, {}, "'penalty' parameter"),
        (
            {"validation_fraction": 0.5},
            {"validation": ([[0.0] * 6], [0.0])},
            "both validation and validation_fraction",
        ),
        ({}, {"validation": 5}, r"validation is a int: it is a pair \(X, y\)"),
        (
            {"validation_fraction": 0.001},
            {},
            "validation_fraction=0.001 of 300 rows holds out none",
        ),
        ({"n_jobs": 0}, {}, "n_jobs is 0"),
    ],
)
def test_refusals(parameters, options, message):
    X, y = numbers(0)
    with pytest.raises(ValueError, match=message):
        regressor(**parameters).fit(X, y, **options)


def test_targets_whose_squares_overflow_are_refused():
    X, y = numbers(0)
    with pytest.raises(
        ValueError, match="y has a target of size 1e\\+200, whose square is too large"
    ):
        regressor().fit(X, np.full(len(y), 1e200))
    assert np.isfinite(regressor().fit(X, y * 1e90).predict(X)).all()
    assert np.isfinite(regressor().fit(X, y * 1e-300).predict(X)).all()


def test_refusals_of_the_classifier():
    X, y = classes(0)
    with pytest.raises(ValueError, match="loss='logistic' with 3 classes"):
        GreedyMiserClassifier(loss="logistic").fit(X, y)
    with pytest.raises(ValueError, match="validation has the label 7, which y has not"):
        GreedyMiserClassifier().fit(X, y, validation=(X[:2], [0, 7]))


def test_refusals_of_the_fitted_model():
    X, y = numbers(0)
    model = regressor(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="accounting is 'rows'"):
        model.cost(X, accounting="rows")
    with pytest.raises(ValueError, match="budget works with accounting='row' only"):
        model.cost(X, budget=3, accounting="model")
    with pytest.raises(ValueError, match="n_rounds=2 is less than the 8 rounds already fitted"):
        model.set_params(n_rounds=2).fit(X, y)
    X, y = classes(0)
    model = GreedyMiserClassifier(warm_start=True, n_rounds=2).fit(X, y)
    with pytest.raises(
        ValueError,
        match="warm_start=True, but the fitted model has 3 outputs and leaves of width 3",
    ):
        model.set_params(leaves="scalar").fit(X, y)
