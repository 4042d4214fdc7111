"""The ranking page chooses on validation documents and reports on test documents."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("lightgbm")

from benchmarks.papers import ranking_page
from benchmarks.papers.ranking_methods import Point
from benchmarks.papers.sets import GROUPS, Problem, _parts
from worthwhile import Costs
from worthwhile.metrics import run_precision_at_k


def point(method: str, held: list, test: list) -> dict:
    return Point(method, "set", held, test, [test[2]] * 20).plain()


@pytest.fixture
def records() -> dict:
    whole = point("stage-wise regression", [100.0, 100.0, 0.70], [100.0, 100.0, 0.70])
    misers = [
        point("Greedy Miser", [5.0, 5.0, 0.60], [5.0, 5.0, 0.71]),  # better on test documents alone
        point("Greedy Miser", [9.0, 9.0, 0.695], [9.5, 9.5, 0.66]),
        point("Greedy Miser", [40.0, 40.0, 0.70], [40.0, 40.0, 0.70]),
    ]
    exits = [point("Early Exit", [60.0, 60.0, 0.70], [60.0, 60.0, 0.70])]
    chain = [point("Cronus", [25.0, None, 0.70], [25.0, None, 0.70])]
    return {
        "panel yahoo plain": {"points": [whole, *exits]},
        "panel yahoo miser": {"points": misers},
        "panel yahoo Cronus": {"points": chain},
    }


def test_settings_are_chosen_on_validation_documents(records):
    points = ranking_page.points_of(records, "yahoo")
    assert list(points) == ["stage-wise regression", "Early Exit", "Greedy Miser", "Cronus"]
    best = ranking_page.chosen(points["Greedy Miser"], 0.70)
    assert best.test[0] == 9.5
    assert ranking_page.chosen(points["Cronus"], 0.70, kind=1) is None


def test_claims_of_the_panel(records):
    *same, _ = ranking_page.claims(records)
    reached = {own.text.split(" of ")[-1]: own for own in same}
    assert {name: own.reached for name, own in reached.items()} == {
        "Greedy Miser": True, "Cronus": True, "Early Exit": False,
    }  # fmt: skip
    assert reached["Greedy Miser"].ours.startswith("0.10 at -5.7%")
    del records["panel yahoo Cronus"]
    assert ranking_page.claims(records) == []


def test_a_curve_is_above_others_by_its_mean_over_the_costs_that_both_reach(records):
    above = ranking_page.claims(records)[-1]
    assert (above.ours, above.reached) == ("Early Exit +1.4%, Cronus +1.4%", True)
    # From 25 on a miser of 0.60, the full model only at its own cost.
    records["panel yahoo miser"]["points"] = [point("Greedy Miser", [9.0] * 3, [9.0, 9.0, 0.60])]
    above = ranking_page.claims(records)[-1]
    assert (above.ours, above.reached) == ("Early Exit -14.0%, Cronus -14.0%", False)


def test_the_front_has_no_setting_that_a_cheaper_one_beats(records):
    points = ranking_page.points_of(records, "yahoo")["Greedy Miser"]
    worse = Point("Greedy Miser", "worse", [20.0, 20.0, 0.65], [20.0, 20.0, 0.9], [])
    assert [p.test[0] for p in ranking_page.front([worse, *points])] == [5.0, 9.5, 40.0]


def test_shares_of_rows_by_part():
    assert _parts((100, 50, 10), 0.5) == [50, 25, 5]
    assert _parts((100, 50, 10), (0.1, 1.0, 0.5)) == [10, 50, 5]


def test_precision_by_group_of_queries():
    rng = np.random.default_rng(0)
    qid, y, score = np.repeat(np.arange(60), 7), rng.integers(0, 2, 420), rng.normal(size=420)
    part = (np.zeros((420, 1)), y)
    groups = Problem(part, part, part, Costs([1]), (qid, qid)).precision_by_group(score)
    assert len(groups) == GROUPS
    assert groups.mean() == pytest.approx(run_precision_at_k(y, score, qid, k=5))
