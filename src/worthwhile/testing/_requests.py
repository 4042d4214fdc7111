"""Laws 2, 3 and 5 for requests: prices of today, columns that are not to be had, a budget per row."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import numpy as np

from worthwhile.costs import EXACT, Costs
from worthwhile.testing._bill import bill
from worthwhile.testing._budget import budgets, middle_budget
from worthwhile.testing._subject import Broken, Subject, ask_all, compare_run, drive, law

ROWS = 4
"""Rows of a subject that are looked at one by one."""


def _today(costs: Costs) -> tuple[dict[Any, Decimal], Costs]:
    """Other prices for every second feature and for every fee, worked out from the list alone."""
    data = costs.to_dict()
    named: dict[Any, Decimal] = {}
    for column in range(0, costs.n_features, 2):
        named[costs.name(column)] = EXACT.add(Decimal(data["prices"][column]), Decimal("0.7"))
        data["prices"][column] = str(named[costs.name(column)])
    for name, group in data["groups"].items():
        if name not in costs.features:
            named[name] = EXACT.multiply(Decimal(group["fee"]), Decimal("0.5"))
            group["fee"] = str(named[name])
    return named, Costs.from_dict(data)


@law(3)
def check_prices_of_today(subject: Subject) -> None:
    """A request with prices of its own is billed at them, alike in a batch, a session and a stored one."""
    named, today = _today(subject.costs)
    X, before = subject.like(subject.values), subject.answers()
    limits = (None, middle_budget(subject)) if subject.budgeted() else (None,)
    for budget in limits:
        said = ask_all(subject.model, X, budget, prices=named)
        same = ask_all(subject.model, X, budget, prices=today)
        subject.compare(same, said, "with the prices of today as Costs")
        changed = not np.array_equal(said.acquired, before.acquired)
        if budget is None and changed and not subject.policy.chooses_by_price:
            raise Broken("other prices change what is bought, and chooses_by_price is False")
        for row in range(min(ROWS, subject.n_rows)):
            due = bill(today, said.acquired[row], said.evaluated[row])
            if said.cost[row] != float(due) or (budget is not None and due > Decimal(str(budget))):
                subject.differs(row, "cost", said.cost[row], float(due), "at prices of today")
            session = subject.model.session(budget=budget, prices=named)
            run = drive(session, subject.row(row))
            compare_run(subject, run, said, row, f"with prices of today, budget={budget}")
            stored = json.loads(json.dumps(session.to_dict()))
            again = type(session).from_dict(subject.policy, stored)
            if again.ledger.total != due or session.ledger.total != due:
                subject.differs(row, "the bill", again.ledger.total, due, "in a stored session")


@law(2)
def check_columns_that_are_not_to_be_had(subject: Subject) -> None:
    """Without some columns, a batch and a session buy and answer alike, and do not buy these."""
    if not subject.budgeted() or not len(subject.policy.reads):
        return
    X, rng = subject.like(subject.values), subject.new_rng()
    for budget in (None, middle_budget(subject)):
        reads = subject.policy.reads
        columns = rng.choice(reads, size=min(2, len(reads)), replace=False).tolist()
        missing = [subject.costs.name(column) for column in columns]
        said = ask_all(subject.model, X, budget, unavailable=missing)
        out = subject.costs.dependents(columns)
        if said.acquired[:, out].any():
            raise Broken(f"buys {missing}, or what requires it, though it is not to be had")
        for row in range(min(ROWS, subject.n_rows)):
            session = subject.model.session(budget=budget, unavailable=missing)
            run = drive(session, subject.row(row))
            compare_run(subject, run, said, row, f"without {missing}, budget={budget}")


@law(5)
def check_each_row_may_have_its_budget(subject: Subject) -> None:
    """With a budget per row, each row is answered as with that budget alone."""
    if not subject.budgeted():
        return
    some = [None, *budgets(subject)[::2]]
    limits = [some[row % len(some)] for row in range(subject.n_rows)]
    array = np.array([np.inf if limit is None else limit for limit in limits])
    said = ask_all(subject.model, subject.like(subject.values), array)
    for limit in some:
        rows = np.array([row for row, own in enumerate(limits) if own == limit], dtype=np.intp)
        alone = subject.answers(limit).take(rows)
        subject.compare(said.take(rows), alone, f"where each row has its budget ({limit})", rows)
