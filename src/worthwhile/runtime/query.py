"""The documents of a query, bought together under one budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.quiet import quiet
from worthwhile.costs import as_float, budget_quanta
from worthwhile.exceptions import SessionError
from worthwhile.policy.exits.policy import ExitPolicy
from worthwhile.runtime._claims import check_money
from worthwhile.runtime._stored import (
    Stated,
    Storable,
    Told,
    read_number,
    read_prices,
    read_values,
    write_prices,
    write_values,
)
from worthwhile.runtime._told import Feature
from worthwhile.runtime.ledger import Ledger
from worthwhile.runtime.session import Session

Item = tuple[int, int]
"""Document and feature."""


class _Account(Session):
    """One document: it reads what is told and keeps the bill; the query decides what is wanted."""

    def note_evaluations(self, evaluated: int) -> None:
        """Write down trees evaluated since the last time."""
        self._case.evaluated = evaluated
        self._note_evaluations()

    @property
    def quanta(self) -> int:
        """The bill so far."""
        return self._till.bill(self._evaluated)


class QuerySession(Storable):
    """A ranking in the making: it asks per document for what it needs next and keeps the bills.

    Made by ``EarlyExitRegressor.session(documents=m)``. Documents are numbered from 0 in the order
    of the query. Purchases are served first come, first served over all documents.

    Parameters
    ----------
    policy : ExitPolicy
        The fitted model, with a rule for queries.
    documents : int
        How many documents the query has.
    budget : number, optional
        Never spend more than this on the whole query; None is no limit.
    one_by_one : bool, default=False
        Ask for one value at a time instead of all that are certain.
    prices, unavailable, key
        Prices of this request, what is not to be had for any document, and what tells the query from
        others, as for :class:`~worthwhile.Session`.

    Examples
    --------
    >>> from worthwhile import EarlyExitRegressor, GreedyMiserRegressor, datasets
    >>> X, y, qid, costs = datasets.make_yahoo_like(1000, seed=0)
    >>> ranker = GreedyMiserRegressor(costs=costs, n_rounds=20).fit(X, y)
    >>> session = EarlyExitRegressor(ranker, every=5).fit(X, y).session(documents=3, budget=2000)
    >>> while wanted := session.ask():
    ...     session.tell({i: {name: X[i, name] for name in names} for i, names in wanted.items()})
    >>> sorted(session.ranking), session.spent <= 2000
    ([0, 1, 2], True)
    """

    policy: ExitPolicy

    def __init__(
        self, policy: ExitPolicy, documents: Any, *, budget: Any = None, one_by_one: bool = False,
        prices: Any = None, unavailable: Any = (), key: Any = None,
    ) -> None:  # fmt: skip
        if isinstance(documents, bool) or not isinstance(documents, Integral) or documents < 1:
            raise ValueError(
                f"documents is {documents!r}: give the number of documents of the query, at least 1."
            )
        if not isinstance(policy, ExitPolicy) or policy.alone:
            raise TypeError("policy has no rule for queries: use Session for single rows.")
        super().__init__(policy, prices, unavailable, key)
        self._limit: int | None = policy.allowed(budget_quanta(budget))
        self.one_by_one = bool(one_by_one)
        self._accounts = [
            _Account(self.policy, unavailable=unavailable) for _ in range(int(documents))
        ]
        self._case = self.policy.begin_query(int(documents))
        for document in range(int(documents)):
            for feature in self._missing:
                self._case.refuse(document, feature)
        self._pending: list[Item] = []  # planned purchases in order; their money is reserved

    # Driving it ----------------------------------------------------------------------------------

    def ask(self) -> dict[int, list[Feature]]:
        """Features by document that are now certain to be read, cut to the budget; {} when done."""
        self._plan()
        wanted = self._pending[:1] if self.one_by_one else self._pending
        names: dict[int, list[Feature]] = {}
        new = False
        for document, feature in wanted:
            asked = self._accounts[document]._asked
            new = new or feature not in asked
            asked.add(feature)
            names.setdefault(document, []).append(self.policy.costs.name(feature))
        if new:
            self._note_event("ask")
        return names

    def tell(
        self, values: Mapping[int, Mapping[Any, Any]], price: Mapping[int, Any] | None = None
    ) -> None:
        """Give values.

        Parameters
        ----------
        values : mapping from document to mapping from feature to value
            Values as for :meth:`Session.tell`.
        price : mapping from document to number or mapping from feature to number, optional
            What was really paid, where that is not the list price.

        Raises
        ------
        SessionError
            For unknown documents or names, values that are no numbers, or what was told before.
            Nothing is recorded then.
        """
        told = {document: account._read(values[document]) for document, account in self._of(values)}
        prices = {} if price is None else price
        for document, _ in self._of(prices):
            if document not in told:
                raise SessionError(
                    f"price names document {document}, which has no value here. Nothing was recorded."
                )
        stated = {
            document: self._accounts[document]._read_prices(prices.get(document), said)
            for document, said in told.items()
        }
        self._check_money(told, stated)
        self._note_event("tell", told, stated)
        place = {item: number for number, item in enumerate(self._pending)}
        items = [(d, f) for d, said in told.items() for f in said]
        for document, feature in sorted(items, key=lambda item: place.get(item, len(place))):
            self._take(document, feature, told[document][feature], stated[document].get(feature))
        known = {(d, f) for d, said in told.items() for f in said}
        self._pending = [item for item in self._pending if item not in known]
        self._drop_useless()

    @quiet
    def _drop_useless(self) -> None:
        """What requires something that cannot be had cannot be had either."""
        needs = self.policy.costs.requirements if self.policy.costs.requires else None
        if needs is None or not any(account._gone for account in self._accounts):
            return
        kept = []
        for document, feature in self._pending:
            account = self._accounts[document]
            if feature in account._set_aside or account._gone.isdisjoint(needs[feature]):
                kept.append((document, feature))
            else:
                self._case.refuse(document, feature)
        useful = {
            (d, r) for d, f in kept if f not in self._accounts[d]._set_aside for r in needs[f]
        }
        self._pending = [
            item for item in kept if item in useful or item[1] not in self._accounts[item[0]]._set_aside
        ]  # fmt: skip

    def _of(self, values: Any) -> list[tuple[int, _Account]]:
        """Documents of a mapping, with their accounts."""
        if not isinstance(values, Mapping):
            raise SessionError(
                f"values is a {type(values).__name__}: give a mapping from document to values, such as "
                "{0: {'age': 63}}. Nothing was recorded."
            )
        for document in values:
            fine = isinstance(document, Integral) and not isinstance(document, bool)
            if not fine or not 0 <= document < len(self._accounts):
                raise SessionError(
                    f"document {document!r} is not one of 0 to {len(self._accounts) - 1}. Nothing was recorded."
                )
        return [(int(document), self._accounts[int(document)]) for document in values]

    @quiet
    def _take(self, document: int, feature: int, value: float | None, stated: int | None) -> None:
        account = self._accounts[document]
        if value is None:
            account._gone.add(feature)
            account.ledger.note(self.policy.costs.name(feature), "unavailable", 0)
            self._case.refuse(document, feature)
            return
        account._pay(feature, stated)
        account._known[feature] = value
        if feature in account._set_aside:
            account._drawer[feature] = value
        else:
            self._case.learn(document, feature, value)

    def _check_money(
        self, told: Mapping[int, Mapping[int, Any]], stated: Mapping[int, Mapping[int, int]]
    ) -> None:
        if (left := self._left()) is None:
            return
        pending: list[list[int]] = [[] for _ in self._accounts]
        for document, feature in self._pending:
            pending[document].append(feature)
        claims = [
            account._claims(pending[d], told.get(d, {}), stated.get(d, {}))
            for d, account in enumerate(self._accounts)
        ]
        check_money(claims, left, self.budget)

    # Reading it ----------------------------------------------------------------------------------

    @property
    def done(self) -> bool:
        """Whether nothing more will be asked for."""
        self._plan()
        return not self._pending

    @property
    def scores(self) -> npt.NDArray[np.float64]:
        """Scores whose order is the ranking, with what is known now, (documents,)."""
        self._plan()
        return quiet(self._case.answer)()

    @property
    def ranking(self) -> list[int]:
        """Documents from best to worst, equal ones in their order."""
        order: list[int] = np.argsort(-self.scores, kind="stable").tolist()
        return order

    @property
    def remaining(self) -> list[int]:
        """Documents that have not left."""
        self._plan()
        return self._case.active

    @property
    def spent(self) -> float:
        """The bill of the whole query so far, evaluation included."""
        return as_float(sum(account.quanta for account in self._accounts))

    @property
    def spent_by_document(self) -> npt.NDArray[np.float64]:
        """The bill of each document so far."""
        return np.array([account.spent for account in self._accounts])

    @property
    def ledgers(self) -> tuple[Ledger, ...]:
        """The record of each document."""
        return tuple(account.ledger for account in self._accounts)

    @property
    def known(self) -> list[dict[Feature, Any]]:
        """The values told so far of each document."""
        return [account.known for account in self._accounts]

    # Planning ------------------------------------------------------------------------------------

    def _left(self) -> int | None:
        if self._limit is None:
            return None
        return self._limit - sum(account.quanta for account in self._accounts)

    @quiet
    def _plan(self) -> None:
        """Line up the next purchases that fit; refuse those that do not."""
        while not self._pending:
            self._planned = True
            items = self._case.wants(self._left())
            for account, count in zip(self._accounts, self._case.evaluated, strict=True):
                account.note_evaluations(count)
            if not items:
                return
            self._line_up(items)

    def _line_up(self, items: Iterable[Item]) -> None:
        left = self._left()
        drafts = {document: self._accounts[document]._till.copy() for document, _ in items}
        for document, feature in items:
            draft, account = drafts[document], self._accounts[document]
            amount, whole = draft.amount((feature,)), draft.closed((feature,))
            if account._is_out(whole) or (left is not None and amount > left):
                self._case.refuse(document, feature)
                continue
            left = None if left is None else left - amount
            draft.take(whole)
            account._set_aside.discard(feature)
            account._set_aside.update(whole[:-1])
            if feature in account._drawer:
                self._case.learn(document, feature, account._drawer.pop(feature))
                continue
            new = [(document, f) for f in whole if f not in account._known]
            self._pending += [item for item in new if item not in self._pending]
            if self.one_by_one:
                return

    # Storing and resuming ------------------------------------------------------------------------

    def _limit_quanta(self) -> int | None:
        return self._limit

    def _calls(self) -> dict[str, Any]:
        return {"documents": len(self._accounts), **super()._calls()}

    @classmethod
    def _arguments(cls, calls: Mapping[str, Any]) -> dict[str, Any]:
        return {"documents": calls["documents"], **super()._arguments(calls)}

    def _write_tell(self, told: Mapping[int, Told], stated: Mapping[int, Stated]) -> list[Any]:
        return [
            {
                str(document): write_values(said, self._accounts[document]._word)
                for document, said in told.items()
            },
            {str(document): write_prices(priced) for document, priced in stated.items()},
        ]

    def _tell_again(self, values: Any, prices: Any) -> None:
        costs, end = self.policy.costs, len(self._accounts)
        self.tell(
            {
                read_number(document, end, "document"): read_values(
                    said, costs, self.policy.columns
                )
                for document, said in values.items()
            },
            {
                read_number(document, end, "document"): read_prices(priced, costs)
                for document, priced in prices.items()
                if priced
            },
        )
