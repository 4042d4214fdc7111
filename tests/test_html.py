"""What notebooks show: tables in which everything of the user's is escaped."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import worthwhile
from worthwhile import Costs, Frontier
from worthwhile._html import MOST_ROWS, html_table
from worthwhile.frontier import Choice, Point


def cells(page):
    """Texts of the table, row by row."""
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in page.split("<tr>")[1:]]


def test_long_tables_say_what_they_leave_out():
    page = html_table("", ["a", "b"], [[i, i] for i in range(MOST_ROWS + 5)])
    assert page.count("<tr>") == 1 + MOST_ROWS + 1
    assert "and 5 more" in page


def test_costs():
    costs = Costs(
        {"a<b>": 1, "chol": 5.17}, {"blood & co": {"fee": 2, "features": ["chol"]}}, unit="CAD"
    )
    head, first, second = cells(costs._repr_html_())
    assert head == ["feature", "own price", "fees it opens", "alone"]
    assert first == ["a&lt;b&gt;", "1", "", "1"]
    assert second == ["chol", "5.17", "blood &amp; co", "7.17"]
    assert "8.17 CAD in all" in costs._repr_html_()


@pytest.fixture
def session():
    heart = worthwhile.datasets.load_heart()
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(heart.data, heart.target)
    return worthwhile.PricedModel(tree, heart.costs).session(budget=150)


def test_looking_at_a_session_does_not_move_it(session):
    before = session.to_dict()
    assert repr(session) == "Session(0 values known, 0 of 150 CAD spent)"
    assert repr(session) in session._repr_html_()
    assert session.to_dict() == before
    (name,) = session.ask()
    session.tell({name: 3.0})
    stored = session.to_dict()
    assert cells(session._repr_html_())[1] == [name, "3", str(session.ledger.entries[0].amount)]
    assert session.to_dict() == stored


def test_ledger(session):
    (name,) = session.ask()
    session.tell({name: 3.0})
    page = session.ledger._repr_html_()
    assert cells(page)[1][:2] == [name, "bought"]
    assert f"{session.ledger.total} CAD in all" in page


def test_frontiers_show_what_is_worth_choosing():
    sweep = Frontier(
        [Point(0, 0.5), Point(4, 0.8, params={"lam": 0.12345}, stage=7), Point(5, 0.7)], unit="CAD"
    )
    rows = cells(sweep._repr_html_())
    assert rows[0] == ["cost", "score", "setting"]
    assert rows[1:] == [["0", "0.5", ""], ["4", "0.8", "lam=0.1235, 7 stages"]]
    joined = cells(Frontier.join({"tree": sweep})._repr_html_())
    assert joined[0] == ["method", *rows[0]]
    assert joined[1] == ["tree", *rows[1]]


def test_comparisons_and_choices():
    X, y, costs = worthwhile.datasets.make_priced_classification(120, seed=0)
    found = worthwhile.compare(X, y, costs, ["decision-tree"], [20], n_splits=2, effort=2)
    rows = cells(found._repr_html_())
    assert [row[0] for row in rows] == ["method", "decision-tree (peer)", "best on validation"]
    assert rows[0][1] == "budget 20, accuracy"
    assert float(rows[1][1]) == pytest.approx(found.scores("decision-tree").mean(), abs=5e-4)
    choice = found.best(20)
    assert isinstance(choice, Choice)
    assert len(cells(choice._repr_html_())) == 1 + 2


def test_frontiers_and_comparisons_draw_themselves():
    pytest.importorskip("matplotlib")
    sweep = Frontier([{"cost": 1, "score": 0.6}, {"cost": 4, "score": 0.8}], unit="CAD")
    assert sweep.plot().ax_.get_xlabel() == "mean cost (CAD)"
    X, y, costs = worthwhile.datasets.make_priced_classification(120, seed=0)
    found = worthwhile.compare(X, y, costs, ["decision-tree"], [20], n_splits=2, effort=2)
    assert "decision-tree" in found.plot().lines_
    assert np.isfinite(found.plot().ax_.get_xlim()).all()
