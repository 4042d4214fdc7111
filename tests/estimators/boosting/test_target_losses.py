"""Losses of numbers besides the squared error."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import mean_pinball_loss, mean_poisson_deviance, mean_tweedie_deviance

from tests.estimators.boosting.miser_data import numbers, same_trees
from tests.naive.quantiles import quantile
from worthwhile import GreedyMiserRegressor, load
from worthwhile.core.threads import Threads
from worthwhile.estimators.boosting._target_losses import Own, Poisson, Quantile, Tweedie


class Squares:
    """Half the squared error, written by a user."""

    def value(self, y, score):
        return 0.5 * (y - score) ** 2

    def gradient(self, y, score):
        return score - y

    def curvature(self, y, score):
        return np.ones_like(y)


def amounts(seed, n=600):
    """Counts whose mean depends on two columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    mean = np.exp(0.5 * X[:, 0] + (X[:, 1] > 0))
    return X, rng.poisson(mean).astype(float), mean


LOSSES = {
    "absolute": lambda y, w: Quantile(y, w, 0.5, absolute=True),
    "quantile": lambda y, w: Quantile(y, w, 0.3),
    "poisson": Poisson,
    "tweedie": lambda y, w: Tweedie(y, w, 1.4),
    "own": lambda y, w: Own(y, w, Squares()),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_and_curvature_are_derivatives_of_the_loss(name):
    rng = np.random.default_rng(0)
    y = rng.poisson(2.0, size=30).astype(float)
    score, step = rng.normal(size=(1, 30)), 1e-5
    loss = LOSSES[name](y, np.empty(0))

    def at(move):
        slope = np.empty((1, 30))
        with Threads(1) as threads:
            loss.gradients(score + move, np.zeros(1), slope, threads)
        return loss._parts(score[0] + move)[0], slope[0], loss._curvature

    (high, up, _), (low, down, _), (_, slope, curvature) = at(step), at(-step), at(0.0)
    np.testing.assert_allclose(slope, (low - high) / (2 * step), rtol=1e-6, atol=1e-8)
    second = (down - up) / (2 * step)
    if name == "poisson":
        second = second * np.exp(0.7)  # steps are held back as LightGBM's are
    if name not in ("absolute", "quantile"):
        np.testing.assert_allclose(curvature, second, rtol=1e-5)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_no_constant_is_better_than_the_start(name, weighted):
    rng = np.random.default_rng(1)
    y = rng.poisson(3.0, size=41).astype(float)
    weight = rng.integers(1, 4, size=41).astype(float) if weighted else np.empty(0)
    loss = LOSSES[name](y, weight)
    nothing = np.zeros((1, 41))
    with Threads(1) as threads:
        best = loss.mean(nothing, loss.base(), threads)
        for move in (-0.3, -0.01, 0.01, 0.3):
            assert loss.mean(nothing, loss.base() + move, threads) >= best - 1e-12


@pytest.mark.parametrize(("loss", "share"), [("absolute", 0.5), ("quantile", 0.8)])
@pytest.mark.parametrize("weighted", [False, True])
def test_leaves_hold_the_quantile_of_their_rows(loss, share, weighted):
    X, y = numbers(3, n=200)
    weight = np.random.default_rng(0).integers(1, 4, size=200) if weighted else None
    model = GreedyMiserRegressor(
        loss=loss, quantile=share, n_rounds=1, learning_rate=1.0, max_depth=2
    ).fit(X, y, weight)
    said = model.predict(X)
    assert len(np.unique(said)) > 2
    for value in np.unique(said):
        rows = said == value
        own = None if weight is None else weight[rows]
        assert value == pytest.approx(quantile(y[rows], own, share), abs=1e-9)


@pytest.mark.parametrize("loss", ["absolute", "quantile", "poisson", "tweedie"])
def test_whole_weights_equal_repetition_and_threads_change_nothing(loss):
    X, y, _ = amounts(4, n=200)
    weight = np.random.default_rng(0).integers(0, 3, size=200)
    shape = {"loss": loss, "quantile": 0.7, "n_rounds": 6, "min_samples_leaf": 5}
    a = GreedyMiserRegressor(**shape, n_jobs=2).fit(X, y, weight)
    b = GreedyMiserRegressor(**shape, n_jobs=1).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert same_trees(a, b)


def test_a_loss_of_ones_own_gives_the_model_of_the_same_loss():
    X, y = numbers(5)
    shape = {"n_rounds": 12, "min_samples_leaf": 5}
    ours = GreedyMiserRegressor(**shape).fit(X, y)
    own = GreedyMiserRegressor(loss=Squares(), **shape).fit(X, y)
    np.testing.assert_allclose(own.predict(X), ours.predict(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("loss", "score"),
    [
        ("poisson", mean_poisson_deviance),
        ("tweedie", lambda y, p: mean_tweedie_deviance(y, p, power=1.5)),
        ("quantile", lambda y, p: mean_pinball_loss(y, p, alpha=0.8)),
        ("absolute", mean_pinball_loss),
    ],
)
def test_as_good_as_lightgbm_with_the_same_loss(loss, score):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, _ = amounts(6, n=2400)
    name = "regression_l1" if loss == "absolute" else loss
    peer = lightgbm.LGBMRegressor(
        objective=name, alpha=0.8, tweedie_variance_power=1.5, max_depth=3, num_leaves=8,
        n_estimators=60, n_jobs=1, verbose=-1,
    ).fit(X[:1200], y[:1200])  # fmt: skip
    ours = GreedyMiserRegressor(loss=loss, quantile=0.8, n_rounds=60, max_depth=3, n_jobs=1)
    ours.fit(X[:1200], y[:1200])
    theirs, own = score(y[1200:], peer.predict(X[1200:])), score(y[1200:], ours.predict(X[1200:]))
    assert own < 1.05 * theirs


@pytest.mark.parametrize("loss", ["poisson", "tweedie", "absolute", Squares()])
def test_a_model_file_keeps_what_is_predicted(loss, tmp_path):
    X, y, _ = amounts(7, n=200)
    model = GreedyMiserRegressor(loss=loss, n_rounds=5, costs=[1, 2, 3, 4]).fit(X, y)
    model.save(tmp_path / "model.zip")
    stored = load(tmp_path / "model.zip")
    np.testing.assert_array_equal(stored.predict(X), model.predict(X))
    session = stored.session()
    while wanted := session.ask():
        session.tell({name: X[0, name] for name in wanted})
    assert session.prediction == model.predict(X[:1])[0]
    if loss in ("poisson", "tweedie"):
        assert (model.predict(X) > 0).all()
    if not isinstance(loss, str):
        with pytest.raises(ValueError, match="loss='own' stands for a loss that a model file does"):
            stored.fit(X, y)


def test_large_counts_do_not_overflow():
    X, y, _ = amounts(8, n=300)
    model = GreedyMiserRegressor(loss="poisson", n_rounds=40).fit(X, y * 1e9)
    small = GreedyMiserRegressor(loss="poisson", n_rounds=40).fit(X, y)
    np.testing.assert_allclose(model.predict(X) / 1e9, small.predict(X), rtol=1e-3)


def test_refusals():
    X, y, _ = amounts(9, n=100)
    with pytest.raises(ValueError, match=r"y has targets below 0: loss='poisson' takes counts"):
        GreedyMiserRegressor(loss="poisson").fit(X, y - 5)
    with pytest.raises(ValueError, match=r"y has no target above 0: loss='tweedie' takes"):
        GreedyMiserRegressor(loss="tweedie").fit(X, 0 * y)
    with pytest.raises(ValueError, match="'quantile' parameter"):
        GreedyMiserRegressor(loss="quantile", quantile=1.0).fit(X, y)

    class Bent(Squares):
        def curvature(self, y, score):
            return -np.ones_like(y)

    class Short(Squares):
        def gradient(self, y, score):
            return 1.0

    with pytest.raises(ValueError, match=r"loss.curvature gave -1: it is at least 0"):
        GreedyMiserRegressor(loss=Bent()).fit(X, y)
    with pytest.raises(ValueError, match=r"loss.gradient gave something of shape \(\)"):
        GreedyMiserRegressor(loss=Short()).fit(X, y)
