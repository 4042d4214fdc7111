"""What a session must have asked, been told and been paid, written down beside it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np

from tests.attack.bad_calls import Item
from tests.attack.session_subjects import Array, Subject
from tests.attack.tariff import Tariff


class Wrong(AssertionError):
    """A session broke a promise."""


class Record:
    """A session, and a record of our own of everything that was done with it."""

    def __init__(self, subject: Subject, tariff: Tariff, rows: Array, **how: Any) -> None:
        self.subject, self.tariff, self.rows = subject, tariff, rows
        if subject.queries:
            how["documents"] = len(rows)
        self.session: Any = subject.model.session(**how)
        self.prices = how.get("prices")
        self.asked: set[Item] = set()
        self.told: dict[Item, float | None] = {}
        self.stated: dict[Item, int] = {}
        features, out = subject.policy.costs.features, how.get("unavailable", ())
        columns = set(map(subject.policy.costs.index, out))
        gone = [f for c, f in enumerate(features) if not columns.isdisjoint(tariff.needed(c))]
        self.missing = {(document, f) for document in range(len(rows)) for f in gone}
        self.told.update(dict.fromkeys(self.missing))  # as if it had been told at the start
        self.known: set[Item] = set()  # told without having been asked for, and so free
        self.excess = 0  # quanta that a budget cannot hold back: paid over ceilings, and unasked

    def fail(self, problem: str) -> NoReturn:
        """A promise was broken."""
        raise Wrong(problem)

    def expect(self, what: str, found: Any, expected: Any) -> None:
        """Fail if two things that should be the same are not."""
        if found != expected:
            self.fail(f"{what} is {found}, not {expected}")

    # Items are documents and features; a plain session has document 0 alone -----------------------

    def shape(self, items: dict[Item, Any]) -> Any:
        """What ``tell`` takes."""
        if not self.subject.queries:
            return {name: value for (_, name), value in items.items()}
        shaped: dict[int, dict[Any, Any]] = {}
        for (document, name), value in items.items():
            shaped.setdefault(document, {})[name] = value
        return shaped

    def wanted(self, session: Any) -> list[Item]:
        """What a session asks for now."""
        wanted = session.ask()
        if not self.subject.queries:
            return [(0, name) for name in wanted]
        return [(document, name) for document, names in wanted.items() for name in names]

    def column(self, item: Item) -> int:
        """Of the feature."""
        return self.subject.policy.costs.index(item[1])

    def answer(self, session: Any) -> Any:
        """The answer as bytes; None where the model has none yet."""
        output = self.subject.policy.output
        try:
            if self.subject.queries:
                return session.scores.tobytes()
            answer = session.prediction
            if output.classes is not None and answer not in output.classes:
                self.fail(f"the answer {answer!r} is not a class")
            if output.classes is None and not np.isfinite(answer).all():
                self.fail(f"the answer is {answer}")
            if not output.has_probabilities:
                return answer
            shares = session.probabilities
        except ValueError:
            if self.subject.budgeted:
                raise
            return None  # it needs all its features
        if not ((shares >= 0) & (shares <= 1)).all() or abs(shares.sum() - 1) > 1e-9:
            self.fail(f"the probabilities are {shares}")
        return answer, shares.tobytes()

    def state(self) -> Any:
        """All that a refusal must leave as it was."""
        ledgers = tuple(len(ledger) for ledger in self.ledgers(self.session))
        return json.dumps(self.session.to_dict()), self.session.spent, ledgers

    # What must hold --------------------------------------------------------------------------------

    def ledgers(self, session: Any) -> Any:
        """By document."""
        return session.ledgers if self.subject.queries else (session.ledger,)

    def afterwards(self, item: Item) -> bool:
        """Whether the price is known only afterwards."""
        return self.column(item) in self.tariff.ceilings

    def bought(self, document: int) -> set[int]:
        """Columns paid at list prices, or at what they came to under a ceiling: they open fees."""
        free = self.known | {item for item in self.stated if not self.afterwards(item)}
        return {
            self.column(item)
            for item, value in self.told.items()
            if item[0] == document and value is not None and item not in free
        }

    def evaluated(self) -> list[int]:
        """Evaluations by document, from the ledgers."""
        return [
            sum(entry.count for entry in ledger if entry.kind == "evaluation")
            for ledger in self.ledgers(self.session)
        ]

    def bill(self) -> int:
        """What must have been paid, in quanta, from our own record."""
        bills = [self.tariff.bill(self.bought(d), n) for d, n in enumerate(self.evaluated())]
        listed = sum(self.tariff.price(self.column(i)) for i in self.stated if self.afterwards(i))
        return sum(bills) + sum(self.stated.values()) - listed

    def left(self) -> int:
        """Of the budget, in quanta."""
        return int(Decimal(repr(self.session.budget)) * 10**9) - self.bill()

    def over(self) -> set[Item]:
        """For what more was paid than the declared ceiling."""
        late = [item for item in self.stated if self.afterwards(item)]
        return {i for i in late if self.stated[i] > self.tariff.price(self.column(i))}

    def check(self) -> None:
        """The bill is ours, the budget is kept, nothing told is lost."""
        bill, budget = self.bill(), self.session.budget
        self.expect("the bill", self.session.spent, bill / 10**9)
        if budget is not None and self.left() < -self.excess:
            self.fail(f"spent {self.session.spent} of {budget}")
        flagged = {
            (document, entry.feature)
            for document, ledger in enumerate(self.ledgers(self.session))
            for entry in ledger.over
        }
        self.expect("what is flagged as over its ceiling", flagged, self.over())
        known = self.session.known if self.subject.queries else [self.session.known]
        mine: list[dict[Any, float]] = [{} for _ in known]
        for (document, name), value in self.told.items():
            if value is not None:
                mine[document][name] = value
        if not all(_same_values(ours, theirs) for ours, theirs in zip(mine, known, strict=True)):
            self.fail(f"knows {known}, and was told {mine}")


def is_value(told: float | None, value: float) -> bool:
    """Whether this was told: NaN is NaN."""
    return told == value or (told != told and value != value)


def _same_values(one: dict[Any, float], other: dict[Any, float]) -> bool:
    return one.keys() == other.keys() and all(is_value(one[key], other[key]) for key in one)
