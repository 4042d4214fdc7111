"""Random sequences of calls break no session; a piece of the long attack."""

from __future__ import annotations

import pytest

from tests.attack.session_subjects import subjects
from tests.attack.sessions import attack, replay
from worthwhile import Costs, Ledger, Session
from worthwhile.policy.till import Till

PIECES, SEQUENCES = 10, 50


def _attack(seeds):
    for seed in seeds:
        attack(seed)


@pytest.mark.parametrize("piece", range(PIECES))
def test_sequences_of_calls(piece):
    _attack(range(piece * SEQUENCES, (piece + 1) * SEQUENCES))


def test_a_sequence_is_a_function_of_its_seed():
    assert replay(3) == replay(3) != replay(3 + len(subjects()))


def _forget_the_plan(session):
    return {**Session.__mro__[1].to_dict(session), "events": session._calls()["events"][:-1]}


def _take_whatever_it_costs(session, told, stated):
    pass


def _charge_no_fees(till, bundle):
    till.spent += sum(till._price[feature] for feature in bundle)
    till.take(bundle)
    return bundle, {}


def _flag_nothing(ledger, feature, fees, costs, price):
    ledger.note_purchases((feature,), fees, costs)


@pytest.mark.parametrize(
    ("owner", "name", "broken"),
    [
        (Session, "to_dict", _forget_the_plan),
        (Session, "_check_money", _take_whatever_it_costs),
        (Till, "pay", _charge_no_fees),
        (Costs, "today", lambda costs, prices: costs),
        (Ledger, "note_paid", _flag_nothing),
        (Session, "__copy__", lambda session: session),
    ],
)
def test_the_attack_finds(owner, name, broken, monkeypatch):
    """Sessions with a known break are found out."""
    monkeypatch.setattr(owner, name, broken)
    with pytest.raises(AssertionError, match=r"^seed \d+, .*the last steps"):
        _attack(range(10 * len(subjects())))
