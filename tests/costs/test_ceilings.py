"""Prices that are known only afterwards: a ceiling counts until the amount is told."""

from __future__ import annotations

import json
from decimal import Decimal

import pytest

from worthwhile import Session
from worthwhile.core.trees import Trees
from worthwhile.costs import Costs
from worthwhile.exceptions import BudgetExceeded, CostsError
from worthwhile.policy import Output, TreePolicy

COSTS = Costs(
    {"age": 1, "llm": {"ceiling": 5}, "scan": 3},
    {"room": {"fee": 2, "features": ["llm", "scan"]}},
)


def policy():
    """Reads llm, then scan, then age."""
    trees = Trees.build(
        [1, 2, -1, 0, -1, -1, -1], [0.5] * 7, [1, 3, -1, 4, -1, -1, -1], [2, 6, -1, 5, -1, -1, -1],
        [[float(i)] for i in range(7)], [0], [0.0],
    )  # fmt: skip
    return TreePolicy(COSTS, Output("value"), trees)


def test_prices_and_budgets_count_the_ceiling():
    assert COSTS.ceilings == ("llm",)
    assert COSTS.price(["llm"]) == 7
    assert Session(policy(), budget=6.99).ask() == []
    assert Session(policy(), budget=7).ask() == ["llm"]


def test_the_ledger_has_what_was_paid_and_the_rest_buys_more():
    session = Session(policy(), budget=10)
    session.ask()
    session.tell({"llm": 0.0}, price={"llm": Decimal("0.25")})
    assert session.spent == 2.25
    (entry,) = session.ledger
    assert (entry.kind, entry.price, entry.fee, entry.group) == ("paid", Decimal("0.25"), 2, "room")
    assert session.ask() == ["scan"]
    session.tell({"scan": 0.0})
    assert session.spent == 5.25  # the fee is paid once
    assert session.ask() == ["age"]
    assert not session.ledger.over


def test_without_an_amount_the_ceiling_is_billed():
    session = Session(policy())
    session.ask()
    session.tell({"llm": 0.0})
    assert session.spent == 7
    assert session.ledger.entries[0].kind == "bought"


def test_an_amount_over_the_ceiling_and_the_budget_is_recorded_and_flagged():
    session = Session(policy(), budget=8)
    session.ask()
    session.tell({"llm": 0.0}, price=9)
    assert session.spent == 11
    assert [e.feature for e in session.ledger.over] == ["llm"]
    assert "over its ceiling" in str(session.ledger)
    assert session.ask() == []
    assert session.prediction == 1
    again = Session.from_dict(policy(), json.loads(json.dumps(session.to_dict())))
    assert again.spent == 11
    assert again.ledger.entries == session.ledger.entries


def test_other_stated_prices_are_refused_beside_it():
    session = Session(policy(), budget=8)
    session.ask()
    with pytest.raises(BudgetExceeded, match="price is 3"):
        session.tell({"llm": 0.0, "age": 1.0}, price={"llm": 6, "age": 3})
    session.tell({"llm": 0.0, "age": 1.0}, price={"llm": 6, "age": 0})
    assert session.spent == 8


def test_the_fee_that_it_opens_counts_beside_it():
    session = Session(policy(), budget=8)
    session.ask()
    with pytest.raises(BudgetExceeded, match="price is 2 but the budget of 8 has only 1 left"):
        session.tell({"llm": 0.0, "age": 1.0}, price={"llm": 5, "age": 2})
    session.tell({"llm": 0.0, "age": 1.0}, price={"llm": 5, "age": 1})
    assert session.spent == 8


def pair():
    """Reads llm and scan in one go."""
    trees = Trees.build(
        [1, -1, -1, 2, -1, -1], [0.5] * 6, [1, -1, -1, 4, -1, -1], [2, -1, -1, 5, -1, -1],
        [[float(i)] for i in range(6)], [0, 3], [0.0],
    )  # fmt: skip
    return TreePolicy(COSTS, Output("value"), trees)


def test_what_was_asked_for_is_taken_even_where_another_came_too_dear():
    session = Session(pair(), budget=10)
    assert session.ask() == ["llm", "scan"]
    session.tell({"llm": 0.0}, price=20)
    with pytest.raises(BudgetExceeded, match=r"price is 3.01 but the budget of 10 has only 0 left"):
        session.tell({"scan": 0.0}, price=3.01)
    session.tell({"scan": 0.0}, price=2.5)  # not above its list price, which was set aside
    assert session.spent == 24.5
    assert session.ask() == []


def test_every_form_keeps_ceilings(tmp_path):
    COSTS.to_yaml(tmp_path / "costs.yaml")
    assert "llm: {ceiling: 5}" in (tmp_path / "costs.yaml").read_text(encoding="utf-8")
    assert Costs.from_yaml(tmp_path / "costs.yaml") == COSTS
    assert Costs.from_dict(json.loads(json.dumps(COSTS.to_dict()))) == COSTS
    assert COSTS.select(["scan", "llm"]).ceilings == ("llm",)
    assert COSTS.today({"llm": 4}).ceilings == ("llm",)
    unnamed = Costs([1, {"ceiling": 2}])
    assert Costs.from_dict(unnamed.to_dict()).ceilings == (1,)
    assert unnamed.resolve(2, ["a", "b"]).ceilings == ("b",)
    assert Costs({"age": 1, "llm": 5, "scan": 3}, COSTS_GROUPS) != COSTS
    assert "ceilings" not in Costs([1]).to_dict()


COSTS_GROUPS = {"room": {"fee": 2, "features": ["llm", "scan"]}}


def test_wrong_ceilings_are_refused(tmp_path):
    with pytest.raises(
        CostsError, match=r"price of 'a' is .*: give a number, or .'ceiling': number."
    ):
        Costs({"a": {"most": 1}})
    with pytest.raises(CostsError, match="ceiling of 'a' is -1"):
        Costs({"a": {"ceiling": -1}})
    with pytest.raises(CostsError, match="ceilings names what is no feature"):
        Costs.from_dict({**COSTS.to_dict(), "ceilings": ["ldl"]})
    path = tmp_path / "costs.yaml"
    path.write_text("features:\n  a: {most: 1}\n", encoding="utf-8")
    with pytest.raises(
        CostsError, match=r"line 2: price of 'a' must be a number, or .ceiling: number."
    ):
        Costs.from_yaml(path)
    path.write_text("features:\n  a: {ceiling: x}\n", encoding="utf-8")
    with pytest.raises(CostsError, match="line 2: ceiling of 'a' is 'x'"):
        Costs.from_yaml(path)
