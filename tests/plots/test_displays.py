"""Drawings hold the numbers they claim to show, and tell their lines apart without colour."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import worthwhile
from worthwhile import (
    Comparison,
    Costs,
    CostWeightedL1Classifier,
    Frontier,
    GreedyMiserRegressor,
    PricedModel,
    plots,
)
from worthwhile.frontier import Choice, Point
from worthwhile.frontier._comparison import Run

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _closed():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def miser():
    X = np.random.default_rng(0).normal(size=(300, 5))
    model = GreedyMiserRegressor(
        lam=1e-4, costs=[1, 1, 2, 5, 5], n_rounds=8, validation_fraction=0.3, random_state=0
    )
    return model.fit(X, X.sum(axis=1))  # fmt: skip


def sweep(shift=0.0):
    points = [
        Point(c, s + shift, test_cost=c, test_score=s + shift)
        for c, s in ((0, 0.5), (2, 0.8), (3, 0.7))
    ]
    return Frontier(points, unit="CAD", score_name="accuracy", full_cost=5)  # fmt: skip


def test_frontiers_show_the_step_curve_and_all_points():
    display = plots.FrontierDisplay.from_frontier(sweep())
    assert display.lines_[""].get_xdata().tolist() == [0, 2, 5]
    assert display.lines_[""].get_ydata().tolist() == [0.5, 0.8, 0.8]
    assert [len(line.get_xdata()) for line in display.ax_.lines] == [3, 3]
    assert display.ax_.get_xlabel() == "mean cost (CAD)"
    assert display.ax_.get_ylabel() == "accuracy"
    assert display.ax_.get_legend() is None


def test_lines_differ_in_dashes_and_markers_too():
    display = plots.FrontierDisplay.from_frontier(
        {str(i): sweep(i / 50) for i in range(6)}, part="test"
    )
    looks = {(line.get_linestyle(), line.get_marker()) for line in display.lines_.values()}
    assert len(looks) == 6
    names = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert names == ["5", "4", "3", "2", "1", "0"]


def test_comparisons_put_the_best_on_validation_in_front():
    runs = [Run({"a": sweep(i / 100), "b": sweep(-0.1)}, {"a": 1.0, "b": 2.0}) for i in range(3)]
    display = plots.FrontierDisplay.from_comparison(Comparison(runs, [1, 4]))
    line = display.lines_["best on validation"]
    assert line.get_linewidth() == max(one.get_linewidth() for one in display.ax_.lines)
    assert line.get_ydata()[-1] == pytest.approx(0.81)
    assert display.ax_.get_xscale() == "log"
    band = display.ax_.collections[0].get_paths()[0].vertices[:, 1]
    _, low, high = Comparison(runs, [1, 4]).curve("best on validation", [5], 0.68)
    assert band.max() == pytest.approx(high[0])  # and not of one that fills the picture
    assert np.isclose(band, low[0]).any()
    only = plots.FrontierDisplay.from_comparison(Comparison(runs, [1, 4]), ["b"], ax=display.ax_)
    assert list(only.lines_) == ["b"]
    assert only.figure_ is display.figure_


def test_traces_are_those_of_the_model(miser):
    display = plots.TraceDisplay.from_estimator(miser)
    assert display.line_.get_xdata().tolist() == miser.trace_["cost_row"].tolist()
    assert display.line_.get_ydata().tolist() == miser.trace_["validation_score"].tolist()


def test_purchases_count_features_by_price(miser):
    display = plots.PurchasesDisplay.from_estimator(miser)
    assert display.labels == ["1", "2", "5"]
    assert display.counts.tolist() == [2, 1, 2]
    bought = set(miser.purchase_order_)
    assert display.shares[:, -1].tolist() == [
        len(bought & {0, 1}) / 2, len(bought & {2}), len(bought & {3, 4}) / 2
    ]  # fmt: skip
    assert (np.diff(display.shares) >= 0).all()
    assert display.shares[:, 0].tolist() == [0, 0, 0]


def test_many_prices_become_ranges():
    X = np.random.default_rng(0).normal(size=(60, 20))
    model = GreedyMiserRegressor(costs=np.arange(1, 21), n_rounds=2, min_samples_leaf=2).fit(
        X, X[:, 0]
    )
    display = plots.PurchasesDisplay.from_estimator(model)
    assert len(display.labels) == 7
    assert display.counts.sum() == 20
    assert display.labels[0] == "1 to 3"


def test_bills_are_shares_of_the_rows():
    display = plots.BillsDisplay([1.0, 1.0, 4.0, 8.0], budget=5).plot(bins=8)
    assert sum(bar.get_height() for bar in display.bars_) == pytest.approx(1)
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["mean 3.5", "budget 5"]


def test_prices_have_fees_and_what_is_required_beside_them():
    costs = Costs(
        {"age": 1, "chol": 5, "biopsy": 20}, {"blood": {"fee": 2, "features": ["chol"]}},
        requires={"biopsy": "chol"}, unit="CAD",
    )  # fmt: skip
    display = costs.plot()
    assert display.features == ["biopsy", "chol", "age"]
    assert [bar.get_width() for bar in display.bars_[0]] == [20, 5, 1]
    assert [bar.get_width() for bar in display.bars_[1]] == [7, 2, 0]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == display.features
    assert display.ax_.get_xlabel() == "price (CAD)"
    many = Costs({f"f{i}": i for i in range(60)}).plot()
    assert many.features == [f"f{i}" for i in range(59, 19, -1)]  # the dearest
    assert many.ax_.get_legend() is None  # no fees


def test_ledgers_and_sessions_show_how_the_bill_grew():
    costs = Costs([1, 5, 2], {"blood": {"fee": 2, "features": [1, 2]}}, unit="CAD")
    rows = np.array([[0.0, 0, 0], [1, 1, 1]])
    linear = LogisticRegression().fit(rows, [0, 1])
    session = PricedModel(linear, costs, background=rows).session(budget=12)
    session.tell(dict.fromkeys(session.ask(), 1.0))
    display = session.plot()
    ends = [bar.get_x() + bar.get_width() for bar in display.bars_]
    assert ends[-1] == session.spent == 10
    assert [bar.get_x() for bar in display.bars_] == [0, *ends[:-1]]
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["budget 12"]
    ledger = session.ledger.plot()
    assert ledger.names == display.names == ["0", "1", "2"]
    assert ledger.ax_.get_legend() is None
    assert plots.LedgerDisplay([], [], budget=float("inf")).plot().ax_.get_legend() is None


def test_choices_show_every_split_and_the_mean_of_the_test_rows():
    points = (
        Point(4, 0.8, test_cost=5, test_score=0.7),
        Point(4, 0.9, test_cost=3, test_score=0.8),
    )
    display = Choice("tree", 0.85, 0.75, 4.0, points).plot()
    assert display.lines_["validation rows"].get_xydata().tolist() == [[4, 0.8], [4, 0.9]]
    assert display.lines_["test rows"].get_xydata().tolist() == [[5, 0.7], [3, 0.8]]
    assert display.lines_["mean on test rows"].get_xydata().tolist() == [[4, 0.75]]
    assert display.ax_.get_title() == "tree"


def test_the_frontier_of_a_model_marks_the_point_in_use():
    X, y, costs = worthwhile.datasets.make_priced_classification(200, seed=0)
    model = worthwhile.BudgetClassifier(costs=costs, n_trees=6, random_state=0).fit(X, y)
    lines = model.frontier_
    display = plots.FrontierDisplay.from_estimator(model)
    assert display.lines_[""].get_xdata().tolist() == lines["cost"].tolist()
    assert display.lines_[""].get_ydata().tolist() == lines["score"].tolist()
    used = display.ax_.lines[-1].get_xydata().tolist()
    assert used == [[lines["cost"][model.point_], lines["score"][model.point_]]]
    search = worthwhile.BudgetSearchCV(
        CostWeightedL1Classifier(costs=costs), budget=5, cv=2, refine=0
    )
    search.fit(X, y)
    used = plots.FrontierDisplay.from_estimator(search).ax_.lines[-1].get_xydata().tolist()
    assert used == [[search.best_cost_, search.best_score_]]
    with pytest.raises(ValueError, match=r"LogisticRegression without frontier_: give a fitted"):
        plots.FrontierDisplay.from_estimator(LogisticRegression())


def test_refusals_say_what_to_give(miser):
    linear = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="frontiers is empty"):
        plots.FrontierDisplay.from_frontier({})
    with pytest.raises(ValueError, match=r"LogisticRegression without trace_: give a fitted model"):
        plots.TraceDisplay.from_estimator(linear)
    with pytest.raises(ValueError, match="estimator is a PricedModel: purchases are drawn for"):
        plots.PurchasesDisplay.from_estimator(PricedModel(linear))
    with pytest.raises(ValueError, match=r"bills has shape \(0,\): give the bill of each row"):
        plots.BillsDisplay([]).plot()
    bare = type("Bare", (), {"trace_": miser.trace_[["round"]]})()
    with pytest.raises(ValueError, match=r"trace_ has the columns \['round'\]: it needs one of"):
        plots.TraceDisplay.from_estimator(bare)
    with pytest.raises(AttributeError, match="has no attribute 'pie_chart'"):
        _ = plots.pie_chart


def test_matplotlib_is_imported_only_to_draw():
    code = (
        "import sys; import worthwhile.plots.frontier, worthwhile.plots.bills, worthwhile.plots.purchases\n"
        "assert 'matplotlib' not in sys.modules\n"
        "sys.modules['matplotlib'] = sys.modules['matplotlib.pyplot'] = None\n"
        "try:\n    worthwhile.plots.BillsDisplay([1.0]).plot()\n"
        "except ImportError as error:\n    assert \"extra 'plot'\" in str(error)\n"
        "else:\n    raise SystemExit(1)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_everything_named_can_be_had():
    assert all(callable(getattr(plots, name)) for name in plots.__all__)
    assert dir(plots) == sorted(plots.__all__)
