"""Amounts do not depend on what the caller does with the decimal module."""

from __future__ import annotations

import decimal
import json
import time
from decimal import Decimal

import numpy as np
import pytest

from tests.runtime.session_policies import chain, finish
from worthwhile import Costs, Session
from worthwhile.costs import as_decimal, budget_quanta, to_quanta
from worthwhile.exceptions import CostsError, SessionError
from worthwhile.runtime import Entry, Ledger

ALL = list(decimal.Context().traps)
HOSTILE = {
    "six digits": decimal.Context(prec=6),
    "one digit, up": decimal.Context(prec=1, rounding=decimal.ROUND_UP),
    "small exponents": decimal.Context(prec=6, Emax=3, Emin=-3),
    "every trap": decimal.Context(prec=6, traps=ALL),
    "no trap": decimal.Context(prec=6, traps=[]),
}


@pytest.fixture(params=list(HOSTILE))
def hostile(request):
    with decimal.localcontext(HOSTILE[request.param]):
        yield


def make():
    return Costs(
        {"a": 12414.6789, "b": Decimal("0.123456789"), "c": np.float32(0.1)},
        {"g": {"fee": Decimal("7.000000001"), "features": ["b", "c"]}},
        evaluation=0.000000123,
    )


PLAIN = make()
BILL = Decimal("12421.902356913")


def test_prices_are_read_and_written_in_full(hostile, tmp_path):
    costs = make()
    assert costs.to_dict() == PLAIN.to_dict()
    assert Costs.from_dict(json.loads(json.dumps(costs.to_dict()))) == costs
    assert str(costs.prices["a"]) == "12414.6789"
    assert str(costs.groups["g"].fee) == "7.000000001"
    costs.to_yaml(tmp_path / "prices.yaml")
    assert Costs.from_yaml(tmp_path / "prices.yaml") == costs
    assert costs.select(["c", "a"]) == PLAIN.select(["c", "a"])
    assert to_quanta(Decimal("9007199.254740991"), "x") == 9007199254740991
    assert [as_decimal(q) for q in (0, 1, 10**9, 123456789012345678)] == [
        Decimal(0), Decimal("0.000000001"), Decimal(1), Decimal("123456789.012345678"),
    ]  # fmt: skip


def test_amounts_are_refused_as_ever(hostile):
    for bad in (
        -1,
        float("nan"),
        float("inf"),
        Decimal("NaN"),
        Decimal("sNaN"),
        10**400,
        1e-12,
        "1",
    ):
        with pytest.raises(CostsError, match="fee is"):
            to_quanta(bad, "fee")


def test_budgets_are_read_in_full(hostile):
    assert budget_quanta(12414.6789) == 12414678900000
    assert budget_quanta(Decimal("0.1234567899")) == 123456789
    assert budget_quanta(Decimal("1e-30")) == 0
    assert budget_quanta(10**400) == budget_quanta(1e300) == 2**53
    assert budget_quanta(np.float32(0.1)) == 100000000
    assert budget_quanta(Decimal("Infinity")) is None


def test_bills_are_exact(hostile):
    session = finish(Session(chain(make()), budget=20000.123456789), dict.fromkeys("abc", 1.0))
    ledger = session.ledger
    assert float(ledger.total) == session.spent == float(BILL)
    assert str(ledger.total) == str(BILL)
    assert ledger.to_records()[-1]["total"] == str(BILL)
    assert f"total {BILL}" in " ".join(str(ledger).split())
    assert str(ledger.entries[2].amount) == "7.123456790"
    assert sum(map(float, ledger.to_frame()["amount"])) == pytest.approx(float(BILL))


def test_a_resumed_budget_does_not_grow(hostile):
    policy = chain(make())
    session = Session(policy, budget=12345.6789012)
    again = Session.from_dict(policy, json.loads(json.dumps(session.to_dict())))
    assert again.budget == session.budget == 12345.6789012
    wanted = Session(policy)
    wanted.tell({"a": 1.0}, price=1234.56789)
    assert Session.from_dict(policy, wanted.to_dict()).spent == wanted.spent == 1234.56789


def test_damaged_budgets_are_refused(hostile):
    data = Session(chain()).to_dict()
    with pytest.raises(SessionError, match="not a stored session"):
        Session.from_dict(chain(), {**data, "budget": "much"})


def test_ledgers_add_up_in_any_context(hostile):
    ledger = Ledger()
    ledger.add(Entry("a", "bought", Decimal("1234567.123456789"), Decimal("0.000000001"), "g"))
    assert str(ledger.entries[0].amount) == "1234567.123456790"
    assert str(ledger.total) == "1234567.123456790"


def test_measured_times_are_whole_nanoseconds(hostile, monkeypatch):
    ticks = iter(range(0, 10**15, 1234567890123))
    monkeypatch.setattr(time, "perf_counter_ns", lambda: next(ticks))
    costs = Costs.measure({"a": len}, [1], repeats=1)
    assert str(costs.prices["a"]) == "1234.567890123"


NOT_AMOUNTS = [Decimal("sNaN"), np.timedelta64(5, "s"), 3 + 0j, np.complex128(3), "5", [5], True]


@pytest.mark.parametrize("bad", NOT_AMOUNTS, ids=repr)
def test_what_is_no_amount_is_refused(bad):
    with pytest.raises(ValueError, match="budget is"):
        budget_quanta(bad)
    with pytest.raises(ValueError, match="budget is"):
        Session(chain(), budget=bad)
    with pytest.raises(CostsError, match="price of 'a' is"):
        Costs({"a": bad})
    session = Session(chain())
    with pytest.raises(SessionError, match=r"price of 'a' is .*Nothing was recorded"):
        session.tell({"a": 1.0}, price=bad)
    assert session.to_dict()["events"] == []


@pytest.mark.parametrize(
    "bad", [10**400, Decimal("1e400"), *NOT_AMOUNTS[:-1], np.datetime64("2020-01-01")], ids=repr
)
def test_what_is_no_value_is_refused_and_nothing_recorded(bad):
    session = Session(chain())
    with pytest.raises(SessionError, match=r"value of 'a' .*Nothing was recorded"):
        session.tell({"b": 1.0, "a": bad})
    assert (session.known, session.to_dict()["events"]) == ({}, [])
