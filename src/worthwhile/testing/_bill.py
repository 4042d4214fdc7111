"""Laws 3 and 4: the bill is exact, and everything is paid once."""

from __future__ import annotations

import decimal
import json
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

from worthwhile.costs import EXACT, Costs, add_amounts
from worthwhile.exceptions import SessionError
from worthwhile.testing._subject import (
    Array,
    Broken,
    Run,
    Subject,
    ask_all,
    compare_run,
    drive,
    law,
)


def bill(costs: Costs, mask: Array, evaluated: int) -> Decimal:
    """What purchases cost, worked out from the price list alone."""
    with localcontext(EXACT):
        bought = {costs.name(int(column)) for column in np.flatnonzero(mask)}
        own = sum((costs.prices[feature] for feature in bought), Decimal(0))
        opened = {name for feature in bought for name in opened_by(costs, feature)}
        fees = sum((costs.groups[name].fee for name in opened), Decimal(0))
        return own + fees + costs.evaluation * int(evaluated)


def opened_by(costs: Costs, feature: Any) -> set[str]:
    """The groups whose fees a feature opens, worked out from the price list alone."""
    groups = costs.groups
    found = {name for name, group in groups.items() if feature in group.features}
    while more := {outer for name in found for outer in groups[name].within} - found:
        found |= more
    return found


@law(3)
def check_prices_are_those_given(subject: Subject) -> None:
    """The model bills by the prices it was given, each feature, fee and evaluation."""
    if subject.given is None:
        return
    names = subject.costs.feature_names
    given = subject.given.resolve(subject.costs.n_features, names)
    for feature, price in given.prices.items():
        if subject.costs.prices[feature] != price:
            raise Broken(f"{feature!r} has price {subject.costs.prices[feature]}, given {price}")
    if subject.costs.requires != given.requires:
        raise Broken(f"requires {subject.costs.requires}, given {given.requires}")
    if subject.costs.groups != given.groups or subject.costs.evaluation != given.evaluation:
        raise Broken(
            f"groups {subject.costs.groups} and evaluation {subject.costs.evaluation}, given "
            f"{given.groups} and {given.evaluation}"
        )


@law(3)
def check_bill_can_be_recomputed(subject: Subject) -> None:
    """The bill is the prices of what was acquired, each fee once, and the evaluations, exactly."""
    said = subject.answers()
    for row in range(subject.n_rows):
        expected = bill(subject.costs, said.acquired[row], said.evaluated[row])
        if said.cost[row] != float(expected):
            subject.differs(row, "cost", said.cost[row], float(expected), "in cost(X)")
        run = drive(subject.model.session(), subject.row(row))
        if run.session.ledger.total != expected:
            total = run.session.ledger.total
            subject.differs(row, "the bill", total, expected, "in the session's ledger")
        if run.session.spent != float(expected):
            spent = run.session.spent
            subject.differs(row, "the bill", spent, float(expected), "in session.spent")


@law(3)
def check_requirements_are_bought(subject: Subject) -> None:
    """Whoever buys a feature also buys what it requires, in a batch and, before it, in a session."""
    costs = subject.costs
    for feature, needed in costs.requires.items():
        columns = [costs.index(f) for f in needed]
        for row in np.flatnonzero(subject.answers().acquired[:, costs.index(feature)]).tolist():
            if not subject.answers().acquired[row, columns].all():
                raise Broken(f"row {row}: buys {feature!r} without {needed}", row)
            order = drive(subject.model.session(one_by_one=True), subject.row(row)).order
            if any(f not in order[: order.index(feature)] for f in needed):
                raise Broken(f"row {row}: {feature!r} is asked for before {needed}", row)


@law(3)
def check_decimal_settings_do_not_matter(subject: Subject) -> None:
    """Prices, bills and budgets are the same whatever the caller has set in the decimal module."""
    said, prices = subject.answers(), subject.costs.to_dict()
    budget = round(float(said.cost.max()) + 12345.678901, 6) if subject.budgeted() else None
    for settings in (
        decimal.Context(prec=2, rounding=decimal.ROUND_UP),
        decimal.Context(prec=2, traps=list(decimal.Context().traps)),
    ):
        with localcontext(settings):
            if subject.costs.to_dict() != prices or Costs.from_dict(prices) != subject.costs:
                raise Broken(f"the prices become {subject.costs.to_dict()} under {settings}")
            got = ask_all(subject.model, subject.like(subject.values))
            subject.compare(got, said, f"under {settings}")
            for row in range(min(subject.n_rows, 4)):
                expected = bill(subject.costs, said.acquired[row], said.evaluated[row])
                _check_session_bill(subject, row, budget, expected, f"under {settings}")


def _check_session_bill(
    subject: Subject, row: int, budget: float | None, expected: Decimal, when: str
) -> None:
    """A session, and what is left of it when it is stored and resumed."""
    session = drive(subject.model.session(budget=budget), subject.row(row)).session
    stored = json.loads(json.dumps(session.to_dict()))
    for now in (session, type(session).from_dict(subject.policy, stored)):
        if now.ledger.total != expected or now.spent != float(expected):
            total = (now.ledger.total, now.spent)
            subject.differs(row, "the bill", total, expected, f"in a session {when}")
        if now.budget != budget:
            subject.differs(row, "the budget", now.budget, budget, f"in a session {when}")


@law(3)
def check_order_of_telling_does_not_matter(subject: Subject) -> None:
    """What is asked for at once may be told one by one in any order, to the same bill and answer."""
    for row in range(min(subject.n_rows, 8)):
        run = drive(subject.model.session(), subject.row(row), backwards=True)
        compare_run(subject, run, subject.answers(), row, "told in the opposite order")


@law(4)
def check_nothing_is_paid_twice(subject: Subject) -> None:
    """A feature, and each fee, is on a session's bill at most once."""
    for row in range(subject.n_rows):
        run = drive(subject.model.session(one_by_one=bool(row % 2)), subject.row(row))
        _check_ledger(subject, run, row)
        if run.order:
            before = run.session.spent
            try:
                run.session.tell({run.order[0]: 0.0})
            except SessionError:
                pass
            else:
                raise Broken(f"row {row}: {run.order[0]!r} could be told twice", row)
            if run.session.spent != before:
                raise Broken(f"row {row}: telling {run.order[0]!r} twice was billed", row)


def _check_ledger(subject: Subject, run: Run, row: int) -> None:
    opened: set[str] = set()
    seen: set[Any] = set()
    for entry in run.session.ledger:
        if entry.feature is None:
            continue
        if entry.feature in seen:
            raise Broken(f"row {row}: {entry.feature!r} is on the ledger twice", row)
        seen.add(entry.feature)
        new = opened_by(subject.costs, entry.feature) - opened
        opened |= new
        due = add_amounts(subject.costs.groups[group].fee for group in new)
        price = subject.costs.prices[entry.feature]
        if (entry.price, entry.fee) != (price, due):
            raise Broken(
                f"row {row}: {entry.feature!r} is billed at {entry.price} and a fee of {entry.fee}, due are {price} "
                f"and {due}",
                row,
            )


@law(4)
def check_empty_values_are_paid_and_legal(subject: Subject) -> None:
    """A value that came back empty (NaN) is paid for like any other, and gives an answer."""
    X = np.full_like(subject.values[:2], np.nan)
    try:
        said = ask_all(subject.model, subject.like(X))
    except ValueError as error:
        # Whether a foreign model takes NaN is its own affair, but it must say so.
        if subject.policy.exact or not {"nan", "missing"} & set(str(error).lower().split()):
            raise
        return
    for nothing in (np.nan, None):
        run = drive(subject.model.session(), dict.fromkeys(subject.costs.features, nothing))
        mask = run.mask
        due = bill(subject.costs, mask, said.evaluated[0])
        if not np.array_equal(mask, said.acquired[0]):
            raise Broken(
                f"empty values: buys {subject.bought(mask)}, batch {subject.bought(said.acquired[0])}",
                0,
            )
        if run.session.ledger.total != due or said.cost[0] != float(due):
            raise Broken(
                f"empty values: billed {run.session.ledger.total} in a session and {said.cost[0]} in a batch, due is "
                f"{due} for {subject.bought(mask)}",
                0,
            )
        if not subject.same(run.prediction, said.prediction[0]):
            raise Broken(
                f"empty values: the session says {run.prediction}, the batch {said.prediction[0]}",
                0,
            )
