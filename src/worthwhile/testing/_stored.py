"""Law 2 for sessions that are stored: resumed at any moment, they are the sessions they were."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

from worthwhile.costs import Costs
from worthwhile.policy.base import Policy
from worthwhile.runtime import Session
from worthwhile.testing._budget import middle_budget
from worthwhile.testing._subject import Broken, Subject, compare_run, drive, law

EVALUATION = "0.013"


def _with_evaluation(policy: Policy) -> Policy:
    """The same policy with a price on evaluations, where it has none: they are part of the bill."""
    if policy.costs.evaluation:
        return policy
    costs = Costs.from_dict({**policy.costs.to_dict(), "evaluation": EVALUATION})
    try:
        twin = type(policy).from_state(costs, policy.output, policy.state())
    except TypeError:  # around a plain function, which no file can hold
        return policy
    return twin.with_columns(policy.columns)


def _resumed(session: Session) -> Session:
    stored = json.loads(json.dumps(session.to_dict()))
    return type(session).from_dict(session.origin, stored)


def _seen(session: Session) -> dict[str, Any]:
    """All that a session shows without being moved on."""
    return {
        "the bill": session.spent,
        "the ledger": session.ledger.entries,
        "what is known": session.known,
        "the budget": session.budget,
        "what features would cost": [session.quote(f) for f in session.policy.costs.features],
        "what is stored": session.to_dict(),
    }


def _answer(session: Session) -> tuple[Any, ...]:
    if not session.policy.output.has_probabilities:
        return (session.prediction,)
    return session.prediction, session.probabilities


def _tell(session: Session, told: Mapping[Any, Any], price: float | None = None) -> None:
    session.tell(told, price)


class _Twins:
    """A session, and one that is given the same calls but stored and resumed after each of them."""

    def __init__(self, subject: Subject, row: int, policy: Policy, **options: Any) -> None:
        kind = type(subject.model.session())
        self.session, self.twin = kind(policy, **options), kind(policy, **options)
        self.subject, self.row = subject, row

    def both(self, moment: str, call: Callable[[Session], Any] = lambda session: None) -> Any:
        """Make a call of both, then store and compare; gives what the session said."""
        said, again = _said(call, self.session), _said(call, self.twin)
        if not self._same(said, again):
            self._differs(f"says {again}, not {said}", moment)
        self.twin = _resumed(self.twin)
        expected = _seen(self.session)
        for other in (self.twin, _resumed(self.session)):
            for what, value in _seen(other).items():
                if repr(value) != repr(expected[what]):
                    self._differs(f"has {what} as {value}, not {expected[what]}", moment)
        return said

    def _same(self, said: Any, again: Any) -> bool:
        if not isinstance(said, tuple) or not isinstance(again, tuple):
            return bool(said == again)
        return all(map(self.subject.same, again, said))

    def _differs(self, what: str, moment: str) -> None:
        raise Broken(f"row {self.row}: a session stored at every step {what} {moment}", self.row)


def _said(call: Callable[[Session], Any], session: Session) -> Any:
    try:
        return call(session)
    except ValueError as error:  # some models have no answer before the end
        return str(error)


def _drive_both(twins: _Twins, values: Mapping[Any, Any], reading: bool) -> None:
    """Everything that moves a session, one call after the other."""
    twins.both("before anything was asked")
    if reading:
        twins.both("after reading an answer", _answer)
    while wanted := twins.both("after ask", lambda session: session.ask()):
        for name in wanted:
            twins.both("after tell", functools.partial(_tell, told={name: values[name]}))
            if reading:
                twins.both("after reading an answer", _answer)
    twins.both("after reading the answer at the end", _answer)


@law(2)
def check_stored_sessions_agree(subject: Subject) -> None:
    """A session stored as JSON and resumed at any moment shows, says and does the same.

    Also with a price on evaluations, and where a stated price does not fit the budget any more.
    """
    budgets = [None, middle_budget(subject)] if subject.budgeted() else [None]
    for budget in budgets:
        for policy in {
            id(p): p for p in (subject.policy, _with_evaluation(subject.policy))
        }.values():
            for row in range(min(subject.n_rows, 4)):
                values = subject.row(row)
                options = {"budget": budget, "one_by_one": row == 3}
                twins = _Twins(subject, row, policy, **options)
                _drive_both(twins, values, reading=bool(row % 2))
                if policy is subject.policy:
                    when = "in a session stored at every step"
                    run = drive(twins.twin, values)
                    compare_run(subject, run, subject.answers(budget), row, when)
                if budget is not None:
                    _overdraw(twins, values, budget)


def _overdraw(twins: _Twins, values: Mapping[Any, Any], budget: float) -> None:
    """A stated price just above what is left is refused by both, or by none."""
    known = twins.session.known
    if left := [name for name in values if name not in known]:
        price = max(budget - twins.session.spent, 0.0) + 1e-6
        tell = functools.partial(_tell, told={left[0]: values[left[0]]}, price=price)
        twins.both("when a price over the budget is stated", tell)
