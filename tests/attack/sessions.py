"""Attack on sessions: random sequences of calls over every kind of model, checked after each call.

A sequence is a function of its seed. It may open with prices of today. It asks, tells (in parts, in
any order, empty, unavailable, unasked, at stated prices, at what was paid under or over a ceiling),
makes calls that must be refused, reads, stores and resumes, copies. Its own record says what the bill
must be; at the end the answer must be that of the batch. The long mode is
``python -m benchmarks.attack.sessions``; ``replay(seed)`` shows one sequence.
"""

from __future__ import annotations

import copy
import json
import math
import random
from decimal import Decimal
from typing import Any

import numpy as np

from tests.attack.bad_calls import Item, bad_call
from tests.attack.session_record import Record, Wrong, is_value
from tests.attack.session_subjects import subjects
from tests.attack.tariff import Tariff
from worthwhile import QuerySession, Session
from worthwhile.exceptions import BudgetExceeded, SessionError
from worthwhile.runtime import UNAVAILABLE

LONGEST = 30
"""Steps before a sequence is driven to its end."""

PLAIN = {"ask": 4, "tell_some": 9, "read": 4, "store": 2, "copy": 1, "bad": 3, "overdraw": 1}
WILD = PLAIN | {"tell_more": 2, "spend_the_rest": 1}
"""Actions with their weights; after those of PLAIN alone the answer must be that of the batch."""


def attack(seed: int) -> int:
    """Run a sequence; the number of its steps."""
    return _run(seed, Sequence(seed))


def replay(seed: int) -> list[str]:
    """The steps of a sequence, up to the one that fails if one does."""
    sequence = Sequence(seed)
    try:
        _run(seed, sequence)
    except Wrong as wrong:
        return [*sequence.steps, str(wrong)]
    return sequence.steps


def _run(seed: int, sequence: Sequence) -> int:
    try:
        sequence.run()
    except Exception as error:
        last = " | ".join(sequence.steps[-6:])
        found = "" if isinstance(error, Wrong) else f"{type(error).__name__}: "
        raise Wrong(
            f"seed {seed}, {sequence.subject.name}, budget {sequence.session.budget}, step {len(sequence.steps)}: "
            f"{found}{error}; the last steps: {last}"
        ) from error
    return len(sequence.steps)


ERRORS = ("over", "invalid", "divide")
"""Errors of floating point, which some programs let numpy raise."""


class Sequence(Record):
    """Random calls of one session."""

    def __init__(self, seed: int) -> None:
        self.chance = chance = random.Random(seed)
        every = subjects()
        self.subject = subject = every[seed % len(every)]
        count = chance.randint(2, 7) if subject.queries else 1
        rows = subject.rows[chance.sample(range(len(subject.rows)), count)]  # a copy
        amounts = self._amounts() if chance.random() < 0.3 else {}
        tariff = subject.tariff.today(amounts)
        how = {"budget": self._budget(tariff, count), "one_by_one": chance.random() < 0.3}
        if amounts:
            prices = {name: Decimal(amount) / 10**9 for name, amount in amounts.items()}
            whole = chance.random() < 0.3
            how["prices"] = subject.policy.costs.today(prices) if whole else prices
        if subject.budgeted and chance.random() < 0.2:
            features = subject.policy.costs.features
            how["unavailable"] = chance.sample(features, chance.randint(1, 3))
        super().__init__(subject, tariff, rows, **how)
        self.offered: list[Item] = []
        self.steps: list[str] = []
        self._note("session", how)
        self.wild = chance.random() < 0.6
        self.stores_always = chance.random() < 0.2
        self.strict = chance.random() < 0.2

    def _amounts(self) -> dict[Any, int]:
        """Prices of today for some features, groups, and evaluations, in quanta."""
        chance, tariff = self.chance, self.subject.tariff
        every = {**tariff.prices, **tariff.fees, "evaluation": tariff.evaluation}
        some = chance.sample(list(every), chance.randint(1, len(every)))
        return {
            name: chance.choice(
                [0, 1, every[name] * 2, int(every[name] * chance.uniform(0, 1.5)), 7 * 10**9]
            )
            for name in some
        }

    def _budget(self, tariff: Tariff, count: int) -> Any:
        """None, zero, anything, or just what some purchases cost."""
        chance, subject = self.chance, self.subject
        if not subject.budgeted or chance.random() < 0.35:
            return None
        columns = range(len(tariff.prices))
        some = set(chance.sample(columns, chance.randint(0, len(columns))))
        exact = tariff.bill(some, chance.randint(0, 4))
        if subject.queries or chance.random() < 0.3:
            exact = int(exact * chance.uniform(0, 1.2 * count))
        form = chance.choice([Decimal, float, np.float64, int])
        return chance.choice([0, *[form(Decimal(exact) / 10**9)] * 9])

    # Running -------------------------------------------------------------------------------------

    def run(self) -> None:
        """Random steps, then straight to the end."""
        actions = WILD if self.wild else PLAIN
        names, weights = list(actions), list(actions.values())
        with np.errstate(**dict.fromkeys(ERRORS, "raise" if self.strict else "ignore")):
            for _ in range(self.chance.randint(1, LONGEST)):
                getattr(self, self.chance.choices(names, weights)[0])()
                if self.stores_always:
                    self.store()
                self.check()
            self.finish()

    def _note(self, what: str, *details: Any) -> None:
        self.steps.append(" ".join([what, *map(repr, details)]))

    def _fresh(self) -> list[Item]:
        """What was not told, in random order."""
        features = self.subject.policy.costs.features
        every = [(d, name) for d in range(len(self.rows)) for name in features]
        fresh = [item for item in every if item not in self.told]
        self.chance.shuffle(fresh)
        return fresh

    # Steps ---------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Ask; asking again says the same."""
        wanted = self.wanted(self.session)
        self._note("ask", wanted)
        if self.chance.random() < 0.2:
            self.expect("what is asked for again", self.wanted(self.session), wanted)
        if set(wanted) & set(self.told):
            self.fail(f"asks for what was told: {wanted}")
        if self.session.one_by_one and len(wanted) > 1:
            self.fail(f"asks for {wanted} although one_by_one")
        self.asked.update(wanted)
        self.offered = wanted

    def tell_some(self) -> None:
        """Tell a part of what is asked for; this must be taken."""
        if not self.offered:
            self.ask()
        if not self.offered:
            return
        share = self.chance.choice(
            [1, 1, len(self.offered), self.chance.randint(1, len(self.offered))]
        )
        items = self.chance.sample(self.offered, share)
        told = {item: self._value(item) for item in items}
        stated: dict[Item, int] = {}
        if self.wild and self.chance.random() < 0.2:
            stated = {
                item: self._paid(item)
                for item in items
                if told[item] is not UNAVAILABLE and self.chance.random() < 0.7
            }
        self._tell(told, stated)

    def _paid(self, item: Item) -> int:
        """What was paid for something asked for: not over the list price, unless that is a ceiling."""
        price = self.tariff.price(self.column(item))
        return self.chance.randint(0, price * (2 if self.afterwards(item) else 1))

    def tell_more(self) -> None:
        """Tell what was not asked for, at a price that may not fit."""
        fresh = [
            item for item in self._fresh() if item not in self.asked or self.chance.random() < 0.3
        ]
        told = {item: self._value(item) for item in fresh[: self.chance.randint(1, 3)]}
        if not told:
            return
        priced = [
            item for item in told if told[item] is not UNAVAILABLE and self.chance.random() < 0.4
        ]
        stated = {item: self.chance.randint(0, 2 * 10**10) for item in priced}
        before = self.state()
        try:
            self._tell(told, stated)
        except BudgetExceeded:
            # Also what was asked for once and given up since may cost more than is left.
            if self.session.budget is None or not (stated or self.asked.intersection(told)):
                raise
            self.expect("the state after a refusal", self.state(), before)

    def spend_the_rest(self) -> None:
        """Once nothing is asked for, a price of all that is left must be taken."""
        if self.session.budget is None or not self.session.done:
            return
        fresh = [item for item in self._fresh() if not self.afterwards(item)]
        self._note("done")
        if fresh and self.left() >= 0:
            self._tell({fresh[0]: 0.5}, {fresh[0]: self.left()})

    def overdraw(self) -> None:
        """A price above what is left must be refused."""
        fresh = [item for item in self._fresh() if not self.afterwards(item)]
        if self.session.budget is None or not fresh:
            return
        # Of what was asked for the list price is set aside, even where others came too dear.
        held = self.tariff.price(self.column(fresh[0])) if fresh[0] in self.asked else 0
        over = max(self.left(), held) + self.chance.choice([1, 1000, 10**9])
        told, stated = self.shape({fresh[0]: 1.0}), self.shape({fresh[0]: Decimal(over) / 10**9})
        self._refused(told, stated, BudgetExceeded)

    def bad(self) -> None:
        """A call that makes no sense must be refused."""
        fresh, told = self._fresh(), list(self.told)
        values, price, loose = bad_call(self.chance, fresh, told, self.subject.queries)
        if loose:
            values, price = self.shape(values), None if price is None else self.shape(price)
        self._refused(values, price, SessionError)

    def _refused(self, values: Any, price: Any, expected: type[Exception]) -> None:
        self._note("bad tell", values, price)
        before = self.state()
        try:
            self.session.tell(values, price)
        except expected:
            self.expect("the state after a refusal", self.state(), before)
        else:
            self.fail("was not refused")

    def _value(self, item: Item) -> Any:
        """The row's value in some form; in wild sequences also what cannot be had, or huge values."""
        chance, document, column = self.chance, item[0], self.column(item)
        if self.wild and chance.random() < 0.08:
            return chance.choice([UNAVAILABLE, UNAVAILABLE, 1e300, -1e30])
        if chance.random() < 0.06:
            self.rows[document, column] = math.nan
        value = float(self.rows[document, column])
        if math.isnan(value):
            return chance.choice([None, math.nan, np.float32("nan"), Decimal("NaN")])
        form = chance.choice([float, float, np.float64, lambda number: Decimal(repr(number))])
        return form(value)

    def _tell(self, told: dict[Item, Any], stated: dict[Item, int]) -> None:
        self._note("tell", told, stated)
        prices = self.shape({item: Decimal(amount) / 10**9 for item, amount in stated.items()})
        self.session.tell(self.shape(told), prices or None)
        for item, value in told.items():
            self.told[item] = (
                None if value is UNAVAILABLE else math.nan if value is None else float(value)
            )
        for item, amount in stated.items():
            self._note_excess(item, amount)
        self.stated.update(stated)
        paid = [item for item in told if item not in self.asked and item not in stated]
        self.known.update(item for item in paid if self.told[item] is not None)
        gone = any(value is UNAVAILABLE for value in told.values())
        # Without what cannot be had, the rest may be of no use: ask again.
        self.offered = [] if gone else [item for item in self.offered if item not in told]

    def _note_excess(self, item: Item, amount: int) -> None:
        """What a budget cannot hold back of a price that was known only afterwards."""
        if self.afterwards(item):
            column = self.column(item)
            planned = self.tariff.price(column) if item in self.offered else 0
            fees = 0 if item in self.offered else self.tariff.fees_of({column})
            self.excess += max(amount - planned, 0) + fees

    # Reading and storing ---------------------------------------------------------------------------

    def read(self) -> None:
        """Read something; an answer is there at any time, and the same when read again."""
        what = self.chance.choice(["answer", "answer", "done", "ledger", "why", "quote"])
        self._note("read", what)
        if what == "answer":
            answer = self.answer(self.session)
            self.expect("the answer read again", self.answer(self.session), answer)
        elif what == "done":
            self.expect("done", self.session.done, not self.wanted(copy.copy(self.session)))
        elif what == "ledger":
            total = sum(ledger.total for ledger in self.ledgers(self.session))
            self.expect("the total of the ledger", int(total * 10**9), self.bill())
            [str(ledger) + str(ledger.to_records()) for ledger in self.ledgers(self.session)]
        elif not self.subject.queries:
            self._read_about(self.chance.choice(self.subject.policy.costs.features), what)

    def _read_about(self, name: Any, what: str) -> None:
        if what == "why":
            if not isinstance(self.session.why(name), str):
                self.fail(f"why({name!r}) is no text")
        elif (0, name) in self.told and self.told[0, name] is not None:
            self.expect(f"the price of {name!r}, which is there", self.session.quote(name), 0)
        else:
            mine, paid = self.column((0, name)), self.bought(0)
            have = {self.column(item) for item, value in self.told.items() if value is not None}
            new = self.tariff.needed(mine) - have
            whole = self.tariff.bill(paid | new, 0) - self.tariff.bill(paid, 0)
            self.expect(f"the price of {name!r}", self.session.quote(name), whole / 10**9)

    def store(self) -> None:
        """Store, and go on with what is resumed."""
        self._note("store")
        stored = json.loads(json.dumps(self.session.to_dict()))
        kind = QuerySession if self.subject.queries else Session
        self._replace(kind.from_dict(self.subject.policy, stored))

    def copy(self) -> None:
        """Go on with a copy; or with the original, after the copy went another way."""
        self._note("copy")
        twin, before = self.chance.choice([copy.copy, copy.deepcopy])(self.session), self.state()
        if self.chance.random() < 0.5:
            self._replace(twin)
            return
        if items := self.wanted(twin):
            twin.tell(self.shape({items[0]: 1.0}))
        self.expect("the state after a copy was told something", self.state(), before)

    def _replace(self, twin: Any) -> None:
        self.expect("what is stored again", twin.to_dict(), self.session.to_dict())
        self.expect("the resumed bill", twin.spent, self.session.spent)
        for new, old in zip(self.ledgers(twin), self.ledgers(self.session), strict=True):
            self.expect("the resumed ledger", new.entries, old.entries)
        if self.chance.random() < 0.1:
            self.expect("the resumed answer", self.answer(twin), self.answer(self.session))
            self.expect(
                "what it asks for",
                self.wanted(copy.copy(twin)),
                self.wanted(copy.copy(self.session)),
            )
        self.session = twin

    def finish(self) -> None:
        """Tell all that is asked for, then compare with the batch."""
        for _ in range(1 + self.rows.size):
            self.ask()
            if not self.offered:
                break
            self._tell(
                {item: float(self.rows[item[0], self.column(item)]) for item in self.offered}, {}
            )
        self.check()
        if not self.session.done or self.wanted(self.session):
            self.fail("does not come to an end")
        self.answer(self.session)
        told = {i: v for i, v in self.told.items() if i not in self.missing}
        odd = self.stated or self.known or None in told.values()
        if not odd and all(is_value(v, self.rows[i[0], self.column(i)]) for i, v in told.items()):
            self._compare()

    def _compare(self) -> None:
        """The batch, of the same rows under the same budget."""
        subject, budget = self.subject, self.session.budget
        model, X = subject.model, subject.like(self.rows)
        how: dict[str, Any] = {"qid": np.zeros(len(X))} if subject.queries else {}
        how["unavailable"] = sorted({name for _, name in self.missing})
        how["prices"] = self.prices
        acquired = model.acquired(X, budget, **how)
        for document, mask in enumerate(acquired):
            self.expect("bought", self.bought(document), set(np.flatnonzero(mask).tolist()))
        costs = model.cost(X, budget, **how)
        spent = self.session.spent_by_document if subject.queries else [self.session.spent]
        self.expect("the bill of the batch", list(costs), list(spent))
        if self.chance.random() < 0.5:
            return
        answers = model.predict(X, budget, **how)
        if subject.queries:
            self.expect("scores", answers.tobytes(), self.session.scores.tobytes())
        elif subject.policy.exact:
            self.expect("prediction of the batch", answers[0], self.session.prediction)
        if subject.policy.output.has_probabilities and not subject.queries:
            shares, mine = model.predict_proba(X, budget, **how)[0], self.session.probabilities
            same = (
                shares.tobytes() == mine.tobytes()
                if subject.policy.exact
                else np.allclose(shares, mine, 1e-5)
            )
            if not same:
                self.fail(f"the batch has probabilities {shares}, not {mine}")
