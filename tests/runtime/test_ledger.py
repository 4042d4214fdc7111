"""The ledger: exact, in order, append-only, exportable."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worthwhile.runtime import Entry, Ledger

amounts = st.decimals(min_value=0, max_value=10**6, places=9)


def filled():
    ledger = Ledger("CAD")
    ledger.add(Entry(None, "evaluation", Decimal("0.3"), Decimal(0), count=3))
    ledger.add(Entry("chol", "bought", Decimal("5.17"), Decimal("2.10"), "blood"))
    ledger.add(Entry("age", "known", Decimal(0), Decimal(0)))
    ledger.add(Entry("ca", "unavailable", Decimal(0), Decimal(0)))
    ledger.add(Entry("fbs", "stated", Decimal("1"), Decimal(0)))
    return ledger


@given(prices=st.lists(st.tuples(amounts, amounts), max_size=30))
def test_the_total_is_exact(prices):
    ledger = Ledger()
    for price, fee in prices:
        ledger.add(Entry("a", "bought", price, fee, "g"))
    assert ledger.total == sum((p + f for p, f in prices), Decimal(0))
    assert [e.amount for e in ledger] == [p + f for p, f in prices]


def test_lines_keep_their_order_and_cannot_be_changed():
    ledger = filled()
    assert [e.feature for e in ledger] == [None, "chol", "age", "ca", "fbs"]
    assert len(ledger) == 5
    assert isinstance(ledger.entries, tuple)
    with pytest.raises(FrozenInstanceError):
        ledger.entries[0].price = Decimal(0)


def test_records_are_plain_and_have_a_running_total():
    records = json.loads(json.dumps(filled().to_records()))
    assert [r["total"] for r in records] == ["0.3", "7.57", "7.57", "7.57", "8.57"]
    assert records[1] == {
        "feature": "chol", "kind": "bought", "price": "5.17", "fee": "2.10", "group": "blood",
        "count": 1, "amount": "7.27", "total": "7.57",
    }  # fmt: skip


def test_frame_has_one_row_per_line_with_exact_amounts():
    frame = filled().to_frame()
    assert frame["amount"].sum() == Decimal("8.57")
    assert frame["kind"].tolist() == ["evaluation", "bought", "known", "unavailable", "stated"]


def test_print_says_what_each_line_is():
    assert str(filled()) == (
        "3 evaluations 0.3\n"
        "chol          7.27  (5.17 + 2.10 fee of blood)\n"
        "age           0  (known already)\n"
        "ca            0  (not available)\n"
        "fbs           1  (stated)\n"
        "total         8.57 CAD"
    )
    assert str(Ledger()) == "total 0"


def test_unknown_kinds_are_refused():
    with pytest.raises(ValueError, match="kind is 'stolen': it is one of bought, stated, paid"):
        Ledger().add(Entry("a", "stolen", Decimal(1), Decimal(0)))
