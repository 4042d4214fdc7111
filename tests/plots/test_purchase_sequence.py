"""The plot of purchases: its numbers, and that it draws."""

from __future__ import annotations

import numpy as np
import pytest

from worthwhile import DynamicSelectionClassifier
from worthwhile.plots.purchase_sequence import plot_purchase_sequence, purchase_shares


@pytest.fixture(scope="module")
def made():
    X = np.random.default_rng(0).normal(size=(150, 3))
    y = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "up", "down")
    model = DynamicSelectionClassifier(0.2, max_iter=2, n_folds=3, random_state=0).fit(X, y)
    return model, X, y


def test_shares_add_up_to_the_purchases(made):
    model, X, y = made
    shares = purchase_shares(model, X, y)
    for label in ("up", "down"):
        bought = model.acquired(X[y == label]).mean(axis=0)
        total = shares[shares["class"] == label].groupby("factor")["share"].sum()
        assert total.loc[[0, 1, 2]].tolist() == pytest.approx(bought.tolist())
    assert set(purchase_shares(model, X)["class"]) == {"all rows"}
    assert purchase_shares(model, X, budget=1)["step"].max() == 1


def test_one_panel_per_class(made):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    model, X, y = made
    axes = plot_purchase_sequence(model, X, y)
    assert [axis.get_title() for axis in axes] == ["down", "up"]
    with pytest.raises(ValueError, match="axes has 2 panels for 1 classes"):
        plot_purchase_sequence(model, X, axes=axes)
    plt.close("all")


def test_bad_arguments_are_refused(made):
    model, X, _ = made
    with pytest.raises(TypeError, match="model is a dict"):
        purchase_shares({}, X)
    with pytest.raises(ValueError, match="y has 3 labels for 150 rows"):
        purchase_shares(model, X, ["a", "b", "c"])
