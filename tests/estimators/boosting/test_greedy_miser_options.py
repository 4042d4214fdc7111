"""What Greedy Miser offers besides its method, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import worthwhile
from tests.estimators.boosting.miser_data import classes, numbers, regressor, same_trees
from worthwhile import Costs, FeatureSubsets, GreedyMiserClassifier, GreedyMiserRegressor
from worthwhile.core.threads import Threads
from worthwhile.estimators._shared.validation import hold_out
from worthwhile.estimators.boosting.binned_data import BinnedData
from worthwhile.estimators.boosting.booster import Booster, BoosterSettings

# What is offered besides --------------------------------------------------------------------------


def test_stages_are_the_models_at_them():
    X, y = classes(2)
    model = GreedyMiserClassifier(n_rounds=4, leaves="scalar", min_samples_leaf=5).fit(X, y)
    for rounds, (labels, chances) in enumerate(
        zip(model.staged_predict(X), model.staged_predict_proba(X), strict=True), start=1
    ):
        short = model.at(stage=rounds)
        assert (short.predict(X) == labels).all()
        assert (short.predict_proba(X) == chances).all()
    assert rounds == 4
    with pytest.raises(ValueError, match="stage is 5: the model has 0 to 4 rounds"):
        model.at(stage=5)


def test_validation_cuts_to_the_best_round():
    X, y = numbers(1, n=200)
    X_held, y_held = numbers(2, n=200)
    model = regressor(n_rounds=60, learning_rate=1.0, patience=None)
    model.fit(X, y, validation=(X_held, y_held))
    scores = model.trace_["validation_score"]
    assert model.n_rounds_ == int(scores.argmax()) + 1 < 60
    hasty = regressor(n_rounds=60, learning_rate=1.0, patience=2)
    hasty.fit(X, y, validation=(X_held, y_held))
    waited = len(hasty.trace_)
    assert waited - hasty.n_rounds_ == 2
    assert hasty.n_rounds_ == int(scores[:waited].argmax()) + 1
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


def test_rows_are_held_out_unasked_where_there_are_enough(monkeypatch):
    monkeypatch.setattr("worthwhile.estimators.boosting._parameters.ROWS_TO_SPARE", 400)
    X, y = classes(1, n=400, k=2)
    few = GreedyMiserClassifier(n_rounds=3).fit(X[:-1], y[:-1])
    assert few.trace_["validation_loss"].isna().all()
    many, again = (GreedyMiserClassifier(n_rounds=60).fit(X, y) for _ in range(2))
    assert many.trace_["validation_loss"].notna().all()
    assert same_trees(many, again)  # no seed: the same rows each time
    assert len(many.trace_) == min(60, many.n_rounds_ + 20)
    for asked in ({"validation_fraction": None}, {"preset": "paper"}, {"warm_start": True}):
        kept = GreedyMiserClassifier(n_rounds=3, **asked).fit(X, y)
        assert kept.trace_["validation_loss"].isna().all()


def test_held_out_rows_count_with_their_weight():
    X, y = classes(1, n=400, k=2)
    weight = np.where(np.arange(400) % 2, 1.0, 3.0)
    model = GreedyMiserClassifier(
        n_rounds=2, validation_fraction=0.5, patience=None, random_state=0
    ).fit(X, y, weight)
    _, held = hold_out(400, 0.5, np.random.default_rng([model.seed_, 0]), y)
    assert model.n_rounds_ == 2
    losses = -np.log(model.predict_proba(X[held])[np.arange(len(held)), y[held]])
    expected = np.average(losses, weights=weight[held])
    assert model.trace_["validation_loss"].iloc[-1] == pytest.approx(expected)
    assert expected != pytest.approx(losses.mean(), rel=1e-4)


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
        preset="paper",
        max_depth=3,
        min_samples_leaf=20,
    ).fit(X, y)
    plain = GreedyMiserClassifier(
        n_rounds=1, leaves="scalar", learning_rate=1.0, preset="paper", max_depth=3
    ).fit(X, y)
    assert (model.policy_.trees.feature == plain.policy_.trees.feature).all()
    raw, other = model.policy_.batch(X).raw, plain.policy_.batch(X).raw
    for k in range(3):
        r = (y == k) - 1 / 3
        for value in np.unique(other[:, k]):
            leaf = other[:, k] == value
            step = 2 / 3 * r[leaf].sum() / (np.abs(r[leaf]) * (1 - np.abs(r[leaf]))).sum()
            assert np.allclose(raw[leaf, k], step, rtol=1e-5)


def test_steps_of_several_outputs_have_the_curvature_that_a_leaf_must_have():
    """One row of a class that nobody expected in its leaf: without a bound its step is 900,000 long."""
    X = np.repeat([[0.0], [1.0]], 20, axis=0)
    gradients = np.vstack([np.where(X[:, 0] > 0, 0.5, -0.5), np.eye(40)[3] * 0.9])
    curvature = np.vstack([np.full(40, 0.25), np.full(40, 1e-6)])
    for least in (10, 16):
        settings = BoosterSettings(
            learning_rate=1.0, max_depth=1, min_samples_leaf=least, by_curvature=True
        )
        with Threads(1) as threads:
            data = BinnedData.prepare(X, threads)
            booster = Booster(data, Costs([1]).flat, settings, threads)
            tree = booster.grow(gradients, curvature=curvature)
        steps = {tuple(np.round(value, 3)) for value in tree.value[1:].tolist()}
        bounded = round(0.9 / (0.05 * least), 3)
        assert steps == {(-2.0, bounded), (2.0, 0.0)}


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


def test_only_the_default_starts_from_the_mean():
    X, y = numbers(0)
    base = {
        preset: regressor(preset=preset, n_rounds=1).fit(X, y).policy_.trees.base.tolist()
        for preset in ("default", "paper", "authors")
    }
    assert base == {"default": [pytest.approx(y.mean())], "paper": [0.0], "authors": [0.0]}
    assert y.mean() != 0


def test_the_paper_grows_by_equation_5_from_0_on():
    X, y = numbers(3)
    y = y - y.mean()
    settings = {"lam": 0.01, "costs": [3, 1, 4, 1, 5, 9]}
    paper, default = (regressor(preset=p, **settings).fit(X, y) for p in ("paper", "default"))
    assert paper.purchase_order_ == default.purchase_order_ != []
    assert np.allclose(paper.predict(X), default.predict(X))


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
    X, y, costs = worthwhile.datasets.make_scene_like(n=500, n_descriptors=20, n_classes=5)
    booster = GreedyMiserClassifier(costs=costs, n_rounds=40, min_samples_leaf=5, learning_rate=0.3)
    miser, blind = booster.fit_path(X, y, [0.1 * booster.lam_max(X, y), 0.0])
    group = costs.resolve(X.shape[1], list(X.columns)).flat.opens  # one fee each
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
        ({}, {"validation": 5}, r"validation is a int: give a pair \(X, y\)"),
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
    with pytest.raises(ValueError, match="validation has the label 7, which y does not have"):
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
