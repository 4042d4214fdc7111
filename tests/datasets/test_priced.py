"""The priced problems sell what they say at the prices they say."""

from __future__ import annotations

import numpy as np
import pytest

from worthwhile import datasets


def test_columns_prices_and_group():
    X, _, costs = datasets.make_priced_classification(50, n_signals=3, n_noise=2)
    expected = ["cheap_0", "cheap_1", "cheap_2", "dear_0", "dear_1", "dear_2"]
    expected += ["panel_0", "panel_1", "noise_0", "noise_1"]
    assert list(X.columns) == expected
    assert costs.feature_names == tuple(expected)
    assert [float(p) for p in costs.prices.values()] == [1, 1, 1, 10, 10, 10, 1, 1, 1, 1]
    assert costs.groups["panel"].features == ("panel_0", "panel_1")
    # One signal clean: the dear copy. Both: the panel. Everything clean: 14 + 10.
    assert costs.price(["dear_0"]) == 10
    assert costs.price(["panel_0"]) == 13
    assert costs.price(["panel_0", "panel_1"]) == 14
    assert costs.price(["panel_0", "panel_1", "dear_2"]) == 14 + 10 * (3 - 2)


def test_panel_and_dear_are_the_same_signal_and_cheap_is_half_noise():
    X, _, _ = datasets.make_priced_regression(20000, seed=1)
    assert (X["panel_0"] == X["dear_0"]).all()
    assert (X["panel_1"] == X["dear_1"]).all()
    assert np.corrcoef(X["cheap_2"], X["dear_2"])[0, 1] == pytest.approx(0.5**0.5, abs=0.02)
    noise = X[["noise_0", "noise_3"]].to_numpy()
    signals = X[[f"dear_{j}" for j in range(4)]].to_numpy()
    assert abs(np.corrcoef(noise.T, signals.T)[:2, 2:]).max() < 0.03


def test_two_classes_follow_the_clean_signals_without_error():
    X, y, _ = datasets.make_priced_classification(2000, seed=2)
    score = sum(X[f"dear_{j}"] * 0.5**j for j in range(4))
    assert ((score > 0) == (y == 1)).all()
    assert y.mean() == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("n_classes", [3, 5])
def test_more_classes_are_balanced_and_linear_in_the_clean_signals(n_classes):
    X, y, _ = datasets.make_priced_classification(6000, seed=3, n_classes=n_classes)
    share = np.bincount(y, minlength=n_classes) / len(y)
    assert abs(share - 1 / n_classes).max() < 0.025
    s = X[[f"dear_{j}" for j in range(4)]].to_numpy()
    first = (s[:, 0] + s[:, 2] / 4) / np.hypot(1, 1 / 4)
    second = (s[:, 1] / 2 + s[:, 3] / 8) / np.hypot(1 / 2, 1 / 8)
    angle = 2 * np.pi * np.arange(n_classes) / n_classes
    scores = np.outer(first, np.cos(angle)) + np.outer(second, np.sin(angle))
    assert (scores.argmax(axis=1) == y).mean() > 0.999


def test_regression_leaves_the_stated_variance():
    X, y, _ = datasets.make_priced_regression(20000, seed=4, error=0.5)
    exact = sum(X[f"dear_{j}"] * 0.5**j for j in range(4))
    assert (y - exact).std() == pytest.approx(0.5, rel=0.03)
    # Without signal 0: its weight squared is left, half of that with the cheap copy at half value.
    rest = exact - X["dear_0"]
    assert (y - rest).var() == pytest.approx(1 + 0.25, rel=0.05)
    assert (y - rest - 0.5 * X["cheap_0"]).var() == pytest.approx(0.5 + 0.25, rel=0.05)


def test_missing_share_is_kept_and_changes_nothing_else():
    for make in [datasets.make_priced_classification, datasets.make_priced_regression]:
        X, y, costs = make(3000, seed=5)
        gappy, target, same_costs = make(3000, seed=5, missing=0.2)
        assert not X.isna().any().any()
        assert gappy.isna().to_numpy().mean() == pytest.approx(0.2, abs=0.01)
        assert (gappy.isna().mean() > 0.15).all()
        kept = gappy.notna().to_numpy()
        assert (gappy.to_numpy()[kept] == X.to_numpy()[kept]).all()
        assert (y == target).all()
        assert costs == same_costs


def test_same_seed_same_rows():
    first, second = (datasets.make_priced_regression(40, seed=7, missing=0.1) for _ in range(2))
    assert first[0].equals(second[0])
    assert (first[1] == second[1]).all()
    assert not first[0].equals(datasets.make_priced_regression(40, seed=8, missing=0.1)[0])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"n": 0}, "n is 0: it is a whole number of at least 1"),
        ({"n_signals": 1}, "n_signals is 1: .* at least 2"),
        ({"n_noise": -1}, "n_noise is -1: .* at least 0"),
        ({"n_classes": 1}, "n_classes is 1: .* at least 2"),
        ({"missing": 1.0}, "missing is 1.0: it is a share, at least 0 and below 1"),
        ({"missing": None}, "missing is None: it is a share"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, text):
    with pytest.raises(ValueError, match=text):
        datasets.make_priced_classification(**arguments)


def test_negative_error_is_refused():
    with pytest.raises(ValueError, match=r"error is -0\.1: it is a number of at least 0"):
        datasets.make_priced_regression(10, error=-0.1)
