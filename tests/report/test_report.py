"""The report: a summary of plain values, a page that needs nothing else, a slider that works."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess

import pytest

import worthwhile
from worthwhile.report import render, summarise, write_report


@pytest.fixture(scope="module")
def summary():
    heart = worthwhile.datasets.load_heart()
    found = worthwhile.compare(
        heart.data, heart.target, heart.costs, ["cost-weighted-l1", "greedy-miser", "decision-tree"], [20, 120],
        n_splits=2, effort=3,
    )  # fmt: skip
    return summarise(found, heart.data, heart.target, heart.costs, title="Heart & <prices>")


def test_summary_is_json_and_adds_up(summary):
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    heart = worthwhile.datasets.load_heart()
    for pick in summary["picks"]:
        assert pick["cost"] <= summary["full_cost"]
        assert len(pick["shares"]) == 13
        assert all(0 <= share <= 1 for share in pick["shares"])
    budgets = [pick["budget"] for pick in summary["picks"]]
    assert budgets == sorted(budgets)
    for case in summary["cases"]:
        bought = [step["feature"] for step in case["steps"]]
        assert case["spent"] == heart.costs.price(bought)
        assert case["truth"] == heart.target[case["row"]]
    prices = {feature["name"]: feature["alone"] for feature in summary["features"]}
    assert prices["chol"] == 7.27
    assert [row["name"] for row in summary["table"]["rows"]][-1] == "best on validation"


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
    assert shown("budget-value") == f"{pick['budget']:.2f} CAD"
    assert shown("pick-method") == pick["method"]
    assert shown("pick-score") == f"{pick['score']:.4f}"
    assert shown("pick-cost") == f"{pick['cost']:.2f} CAD"
    bars = re.findall(r'<div class="bar"><span>(.*?)</span>', page)
    names = [feature["name"] for feature in summary["features"]]
    assert set(bars) == {
        name for name, share in zip(names, pick["shares"], strict=True) if share > 0
    }
    assert page.count("<path") == len(summary["methods"])
