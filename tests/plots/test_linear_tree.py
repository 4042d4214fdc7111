from __future__ import annotations

import numpy as np
import pytest

from worthwhile import Costs, SubmodularTreeRegressor
from worthwhile.plots.linear_tree import draw_linear_tree, summarise_linear_tree


@pytest.fixture
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = X[:, 0] + np.where(X[:, 0] > 0, X[:, 1], X[:, 2]) + 0.5 * X[:, 4]
    costs = Costs(
        {"a": 1, "b": 2, "c": 3, "d": 1, "e": 0.5, "f": 0.5},
        groups={"blood": {"fee": 1.25, "features": ["b", "c"]}}, unit="CAD",
    )  # fmt: skip
    import pandas as pd

    return SubmodularTreeRegressor(6, costs=costs, max_depth=3).fit(
        pd.DataFrame(X, columns=list("abcdef")), y
    )


def test_summary_bills_every_path_as_the_model_does(model):
    summaries = summarise_linear_tree(model)
    masks = model.policy_.path_masks()
    for s in summaries:
        assert s.path_cost == model.costs_.price(masks[s.node])
        above = summaries[s.parent].path_cost if s.parent >= 0 else 0.0
        assert above + sum(price for _, price in s.new) + s.fees == pytest.approx(s.path_cost)
    assert summaries[0].share == 1.0
    assert sum(s.fees for s in summaries) >= 1.25


def test_drawing_names_features_prices_shares_and_paths(model):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = draw_linear_tree(model, most=1)
    texts = [text.get_text() for text in ax.texts]
    assert len(texts) == model.policy_.tree.n_nodes
    assert "100 % of rows" in texts[0]
    assert "CAD" in texts[0]
    assert f"path {summarise_linear_tree(model)[0].path_cost:g} CAD" in texts[0]
    assert len(ax.lines) == len(texts) - 1
    matplotlib.pyplot.close("all")


def test_other_models_are_refused():
    with pytest.raises(TypeError, match="give a fitted tree of linear models"):
        summarise_linear_tree(object())
