"""The report: a summary of plain values, a page that needs nothing else, a slider that works."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

import worthwhile
from worthwhile.frontier import Point
from worthwhile.report import render, summarise, write_report
from worthwhile.report._models import Folds, Measured, _mean_bill, _rising
from worthwhile.report._summary import _headline, _to_tell


@pytest.fixture(scope="module")
def summary():
    heart = worthwhile.datasets.load_heart()
    found = worthwhile.compare(
        heart.data, heart.target, heart.costs, ["greedy-miser", "budget", "decision-tree"], [20, 120],
        n_splits=2, effort=5,
    )  # fmt: skip
    return summarise(
        found, heart.data, heart.target, heart.costs, title="Heart & <prices>",
        classes={0: "healthy", 1: "ill"},
    )  # fmt: skip


def test_summary_is_json_and_its_models_add_up(summary):
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    heart = worthwhile.datasets.load_heart()
    own = [feature["price"] for feature in summary["features"]]
    fees = sum(float(group.fee) for group in heart.costs.groups.values())
    for model in summary["models"]:
        assert len(model["shares"]) == 13
        assert all(0 <= share <= 1 for share in model["shares"])
        # The bill is what the purchases cost: own prices, and fees at most once each.
        bought = sum(share * price for share, price in zip(model["shares"], own, strict=True))
        assert bought - 0.01 <= model["cost"] <= bought + fees + 0.01
        for case in model["cases"]:
            steps = [step["feature"] for step in case["steps"]]
            assert case["spent"] == heart.costs.price(steps)
            assert case["truth"] == ["healthy", "ill"][heart.target[case["row"]]]
            assert case["answer"] in ("healthy", "ill")
    prices = {feature["name"]: feature["alone"] for feature in summary["features"]}
    assert prices["chol"] == 7.27
    assert [row["name"] for row in summary["table"]["rows"]][-1] == "best on validation"


def test_every_position_keeps_its_budget_and_no_dearer_one_is_worse(summary):
    models, scores = summary["models"], []
    assert len({model["cost"] for model in models}) == len(models) > 2
    for pick in summary["picks"]:
        model = models[pick["model"]]
        assert model["cost"] <= pick["budget"]
        affordable = [one["score"] for one in models if one["cost"] <= pick["budget"]]
        assert model["score"] == max(affordable)
        assert model["method"] != "decision-tree"  # a peer is a line of the picture
        scores.append(model["score"])
    assert scores == sorted(scores)
    budgets = [pick["budget"] for pick in summary["picks"]]
    assert budgets == sorted(budgets)
    half = max(m["score"] for m in models if m["cost"] <= summary["full_cost"] / 2)
    near = min((m for m in models if m["score"] >= half - 0.01), key=lambda m: m["cost"])
    assert (
        models[summary["picks"][summary["start"]]["model"]] == near
    )  # where the slider stands at first
    peer = summary["peer"]
    assert peer["method"] == "decision-tree"
    assert summary["headline"].startswith(
        f"{100 * near['score']:.1f} % of new cases right for {near['cost']:.2f} CAD a case"
    )
    assert summary["headline"].endswith(
        f"decision-tree {100 * peer['score']:.1f} % for {peer['cost']:.2f} CAD."
    )


def test_where_everything_is_bought_the_bill_is_the_price_of_everything():
    """A mean of floats may be above all of them, and then no position would show that model."""
    assert np.full(297, 323.97).mean() > 323.97
    assert _mean_bill(np.full(297, 323.97)) == 323.97
    rows = [measured(1, 0.6), measured(2, 0.7), measured(10, 0.9)]
    told = _to_tell(rows, worthwhile.Costs([10]), in_money=False)
    peer = measured(9, 0.8, "forest")
    said = _headline(rows, told, peer, worthwhile.Costs([10]), "accuracy")
    assert said == (
        "70.0 % of new cases right for 2.00 a case, 20 % of the price of everything; the best found has 90.0 % for "
        "10.00, forest 80.0 % for 9.00."
    )
    only = _headline(rows[:1], rows[0], None, worthwhile.Costs([10]), "R2")
    assert (
        only
        == "R2 0.600 for 1.00 a case, 10 % of the price of everything, which is the best found."
    )


def measured(cost, score, method="mine"):
    shares = np.zeros(1)
    return Measured(method, {"lam": cost}, None, score, None, cost, shares, shares, [None])


def test_noise_does_not_choose_a_position():
    """A lucky score of a cheap model is not what is shown: its neighbours have their say."""
    rows = [
        measured(1, 0.6),
        measured(2, 0.9),
        measured(3, 0.7),
        measured(3, 0.7),
        measured(4, 0.95),
    ]
    found = [(model.cost, model.score) for model in _rising(rows)]
    assert found == [(1, 0.6), (2, pytest.approx(0.8)), (4, 0.95)]


def test_the_one_to_use_is_shown_as_it_is_fitted_for_each_budget():
    X, y, costs = worthwhile.datasets.make_priced_classification(400, seed=0)
    found = worthwhile.compare(X, y, costs, ["budget", "decision-tree"], [3], n_splits=2, effort=2)
    total = costs.total
    summary = summarise(found, X, y, costs, budgets=[total / 7])
    assert total / 7 in [pick["budget"] for pick in summary["picks"]]
    for pick in summary["picks"]:
        model = summary["models"][pick["model"]]
        assert model["method"] in ("budget", "nothing bought")
        assert model["cost"] <= pick["budget"]
        if model["method"] == "budget":
            assert model["params"].keys() == {"budget"}
    folds = Folds.of(X, y, costs, "accuracy", 0)
    one = folds.measure("budget", [Point(cost=0, score=0, params={"budget": total / 7})])[0]
    held = np.flatnonzero(folds.part == 0)
    own = worthwhile.BudgetClassifier(total / 7, costs=costs, random_state=0)
    own.fit(X.iloc[folds.part != 0], y[folds.part != 0])
    assert one.bills[held].tolist() == own.cost(X.iloc[held]).tolist()


def test_models_are_measured_on_rows_that_did_not_train_them():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 2, 300)  # nothing to learn
    found = worthwhile.compare(X, y, [1, 1, 1], ["decision-tree"], [1, 3], n_splits=2, effort=3)
    folds = Folds.of(X, y, [1, 1, 1], "accuracy", 0)
    deep = Point(cost=3, score=1, params={"model__max_leaf_nodes": 128})
    model = folds.measure("decision-tree", [deep])[0]
    assert model.score < 0.6
    assert model.models[0].score(X, y) > 0.8
    assert model.cost == pytest.approx(model.bills.mean())
    summary = summarise(found, X, y, [1, 1, 1])
    assert all(model["score"] < 0.65 for model in summary["models"])


def test_a_scoring_without_a_name_has_to_be_given():
    X, y, costs = worthwhile.datasets.make_priced_classification(120, seed=0)

    def mine(model, X, y):
        return float((model.predict(X) == y).mean())

    found = worthwhile.compare(
        X, y, costs, ["decision-tree"], [20], n_splits=2, effort=2, scoring=mine
    )
    with pytest.raises(ValueError, match="scored by 'mine', which is no scorer's name"):
        summarise(found, X, y, costs)
    assert summarise(found, X, y, costs, scoring=mine)["score_name"] == "mine"


def test_page_is_complete_and_offline(summary):
    page = render(summary)
    assert "Heart &amp; &lt;prices&gt;" in page
    assert "<prices>" not in page
    assert not re.search(r'(src|href)="', page)
    embedded = re.search(r'<script id="summary" type="application/json">(.*?)</script>', page, re.S)
    assert json.loads(embedded[1]) == summary


def test_hostile_names_stay_text(summary):
    page = render({**summary, "title": "</script><script>alert(1)</script>"})
    assert "<script>alert(1)" not in page


def test_failed_write_leaves_nothing(summary, tmp_path):
    broken = {key: value for key, value in summary.items() if key != "table"}
    with pytest.raises(Exception, match="table"):
        write_report(broken, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs Debian's chromium")
@pytest.mark.parametrize("stop", [0, 12, 23])
def test_slider_in_a_browser(summary, tmp_path, stop):
    """The page as a browser runs it, the slider moved, the numbers read back."""
    move = f"""<script>
    const moved = document.getElementById("budget");
    moved.value = {stop};
    moved.dispatchEvent(new Event("input"));
    </script></body>"""
    (tmp_path / "page.html").write_text(render(summary).replace("</body>", move), encoding="utf-8")
    command = [
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", f"file://{tmp_path / 'page.html'}",
    ]  # fmt: skip
    page = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout

    def shown(name):
        return html.unescape(re.search(rf'id="{name}"[^>]*>(.*?)</', page)[1])

    pick = summary["picks"][stop]
    model = summary["models"][pick["model"]]
    assert shown("budget-value") == f"{pick['budget']:.2f} CAD"
    assert shown("pick-method") == summary["labels"][model["method"]]
    assert shown("pick-score") == f"{100 * model['score']:.1f} % ± {100 * model['error']:.1f} %"
    assert shown("pick-cost") == f"{model['cost']:.2f} CAD"
    bars = re.findall(r'<div class="bar"><span>(.*?)</span>', page)
    names = [feature["name"] for feature in summary["features"]]
    assert set(bars) == {
        name for name, share in zip(names, model["shares"], strict=True) if share > 0
    }
    assert page.count('class="curve"') == len(summary["methods"])
    assert page.count('class="model"') == len(summary["models"])
    assert page.count('class="today"') == 1
    for case in model["cases"]:  # they follow the slider
        assert (
            f"Case {case['row']}: {case['answer']} <small>(truth {case['truth']}, {case['spent']:.2f} CAD)"
            in page
        )
    assert page.count("<article>") == len(model["cases"])
