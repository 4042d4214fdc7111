"""One case, bought feature by feature: a state machine without I/O or clock."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile._html import html_table
from worthwhile.core.quiet import quiet
from worthwhile.costs import as_float, budget_quanta
from worthwhile.policy.base import Bundle, Policy
from worthwhile.policy.till import Till
from worthwhile.runtime._claims import Claims, check_money
from worthwhile.runtime._stored import (
    Stated,
    Told,
    read_prices,
    read_values,
    write_prices,
    write_values,
)
from worthwhile.runtime._told import Feature, Listener
from worthwhile.runtime.ledger import Ledger


class Session(Listener):
    """A prediction in the making: it asks for what it needs next and keeps the bill.

    Made by ``model.session()``. Each call of :meth:`ask` names the features that are now certain
    to be read; :meth:`tell` gives their values. An answer can be read at any time.

    Parameters
    ----------
    policy : Policy
        The fitted model.
    budget : number, optional
        Never spend more than this; None is no limit.
    one_by_one : bool, default=False
        Ask for one feature at a time instead of all that are certain.
    prices : mapping or Costs, optional
        Prices of this request, as for :meth:`worthwhile.Costs.today`.
    unavailable : list of features
        What is not to be had, nor is what requires it: it is not asked for.
    key : text, whole number, UUID or bytes, optional
        What tells the case from others: it decides where a model that mixes two policies tosses a
        coin. The same key falls the same way in batches.

    Examples
    --------
    >>> from worthwhile import Costs, datasets, PricedModel
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> heart = datasets.load_heart()
    >>> tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(heart.data, heart.target)
    >>> session = PricedModel(tree, heart.costs).session()
    >>> patient = heart.data.iloc[0]
    >>> while wanted := session.ask():
    ...     session.tell({name: patient[name] for name in wanted})
    >>> session.prediction == tree.predict(heart.data[:1])[0], session.spent > 0
    (np.True_, True)
    """

    def __init__(
        self,
        policy: Policy,
        *,
        budget: Any = None,
        one_by_one: bool = False,
        prices: Any = None,
        unavailable: Any = (),
        key: Any = None,
    ) -> None:
        super().__init__(policy, prices, unavailable, key)
        limit = self.policy.allowed(policy.allowed(budget_quanta(budget)))
        policy = self.policy
        if limit is not None:
            policy.check_budget()
        self.one_by_one = bool(one_by_one)
        self.ledger = Ledger(policy.costs.unit, key=self.key)
        self._case = policy.begin()
        self._till = Till(policy.costs, limit)
        self._set_aside: set[int] = set()  # planned only because something wanted requires them
        self._drawer: dict[int, float] = {}  # their values, until the case wants them
        self._asked: set[int] = set()
        self._evaluated = 0
        for feature in self._missing:
            self._gone.add(feature)
            self._case.refuse((feature,))

    # Driving it ----------------------------------------------------------------------------------

    def ask(self) -> list[Feature]:
        """Features that are now certain to be read, cut to what the budget pays; [] when done.

        Asking again without telling gives the same list.
        """
        self._plan()
        wanted = self._pending[:1] if self.one_by_one else self._pending
        if not self._asked.issuperset(wanted):
            self._asked.update(wanted)
            self._note_event("ask")
        self._offered = self.policy.costs.names_of(wanted)
        return self._offered.copy()

    def tell(self, values: Mapping[Any, Any], price: Any = None) -> None:
        """Give values.

        Parameters
        ----------
        values : mapping from feature to value
            NaN or None: bought, came back empty, paid. :data:`~worthwhile.runtime.UNAVAILABLE`: cannot be had, not
            paid. What was not asked for is taken as known already, for free.
        price : number or mapping from feature to number, optional
            What was really paid, where that is not the list price. A stated price covers the
            feature alone: the fees that it would open are still due with the next one. Where the list
            has a ceiling, it is the amount paid, beside the fees: over the ceiling, and over the
            budget, it is recorded and flagged in the ledger.

        Raises
        ------
        SessionError
            For unknown names, values that are no numbers, or what was told before. Nothing is
            recorded then.
        """
        told = self._read(values)
        stated = self._read_prices(price, told)
        self._check_money(told, stated)
        self._record(told, stated)

    @quiet
    def _record(self, told: dict[int, float | None], stated: dict[int, int]) -> None:
        """Write it down, pay, and let the case learn it."""
        self._note_event("tell", told, stated)
        if not stated and self._asked.issuperset(told) and None not in told.values():
            self._pay_list(tuple(told))  # the usual case, made quick for factors of many columns
            self._learn(told)  # type: ignore[arg-type]
        else:
            self._take_in(told, stated)
        self._offered = []
        self._pending = [f for f in self._pending if f not in told]
        if self._pending and self._gone:
            self._drop_useless()

    def _drop_useless(self) -> None:
        """Without what cannot be had, the rest of its bundle may be of no use any more."""
        wanted: set[int] = set()
        for bundle in self._case.wants(self._left()):
            if self._is_out(whole := self._till.closed(bundle)):
                self._case.refuse(bundle)
            else:
                wanted.update(whole)
        self._pending = [f for f in self._pending if f in wanted]

    def _is_out(self, whole: Bundle) -> bool:
        """Whether a bundle with all that it requires cannot be had."""
        return not self._gone.isdisjoint(whole)

    def _learn(self, told: dict[int, float]) -> None:
        """Let the case know what it wants to know; what is only required waits until it does."""
        self._known.update(told)
        if self._set_aside:
            aside = {f: value for f, value in told.items() if f in self._set_aside}
            self._drawer.update(aside)
            told = {f: value for f, value in told.items() if f not in aside}
        if told:
            self._case.learn_all(told)

    @property
    def done(self) -> bool:
        """Whether nothing more will be asked for."""
        self._plan()
        return not self._pending

    # Reading it ----------------------------------------------------------------------------------

    @property
    def prediction(self) -> Any:
        """The answer with what is known now: a label, or a number for regression."""
        return self.policy.output.predict(self._raw())[0]

    @property
    def probabilities(self) -> npt.NDArray[np.float64]:
        """Probability of each class with what is known now, in the order of the model's classes."""
        row: npt.NDArray[np.float64] = self.policy.output.probabilities(self._raw())[0]
        return row

    @property
    def spent(self) -> float:
        """The bill so far, evaluation included."""
        return as_float(self._till.bill(self._evaluated))

    @property
    def known(self) -> dict[Feature, Any]:
        """The values told so far, in order, in the words of the user's table."""
        return {self.policy.costs.name(f): self._word(f, v) for f, v in self._known.items()}

    def __repr__(self) -> str:
        # Looking at it must not move it on: no plan, no answer.
        unit = f" {self.policy.costs.unit}".rstrip()
        limit = "" if self.budget is None else f" of {self.budget:g}"
        return f"Session({len(self.known)} values known, {self.spent:g}{limit}{unit} spent)"

    def _repr_html_(self) -> str:
        paid = {entry.feature: entry.amount for entry in self.ledger.entries}
        rows = [(feature, value, paid.get(feature)) for feature, value in self.known.items()]
        return html_table(repr(self), ["feature", "value", "paid"], rows)

    def plot(self, ax: Any = None) -> Any:
        """Draw how the bill grew, with the budget; a :class:`~worthwhile.plots.LedgerDisplay`."""
        import worthwhile

        return worthwhile.plots.LedgerDisplay.from_ledger(self.ledger, budget=self.budget, ax=ax)

    def choices(self, feature: Feature) -> list[Any] | None:
        """The values that a category may have; None for a feature that is no category.

        Where the model was told to take others, they count as "other".
        """
        column = self._column(self._index(feature))
        return None if column is None or not column.levels else list(column.levels)

    def kind(self, feature: Feature) -> str:
        """What a feature is: "number", "boolean", "category", "ordered", "date", "time" or "duration"."""
        column = self._column(self._index(feature))
        return "number" if column is None else column.kind

    def takes_any_text(self, feature: Feature) -> bool:
        """Whether text that the model has never seen counts as "other" instead of being refused."""
        column = self._column(self._index(feature))
        return column is not None and column.other

    def was_told(self, feature: Feature) -> bool:
        """Whether a value was told, or that there is none to be had."""
        index = self._index(feature)
        return index in self._known or index in self._gone

    def quote(self, feature: Feature) -> float:
        """What a feature would cost now, with what it requires."""
        return as_float(self._till.amount((self._index(feature),)))

    @quiet
    def why(self, feature: Feature) -> str:
        """In a few words, why a feature that was asked for is wanted."""
        if (index := self._index(feature)) in self._set_aside:
            return "something that the model reads next requires it"
        return self._case.why(index)

    @quiet
    def _raw(self) -> npt.NDArray[np.float64]:
        self._plan()
        return np.asarray(self._case.answer(), dtype=np.float64)[None, :]

    # Planning and paying -------------------------------------------------------------------------

    def _limit_quanta(self) -> int | None:
        return self._till.limit

    def _left(self) -> int | None:
        return self._till.left(self._case.evaluated)

    def _plan(self) -> None:
        """Line up the next purchases that fit; refuse those that do not."""
        if not self._pending:
            self._line_up()

    @quiet
    def _line_up(self) -> None:
        while not self._pending:
            self._planned = True
            bundles = self._case.wants(self._left())
            self._note_evaluations()
            if not bundles:
                return
            plain = self._till.limit is None and not self._gone
            fitting = bundles if plain else self._affordable(bundles)
            self._take_up(list(itertools.islice(fitting, 1) if self.one_by_one else fitting))

    def _take_up(self, bundles: list[Bundle]) -> None:
        """Line up some bundles with what they require; hand over what lies in the drawer."""
        wanted = dict.fromkeys(itertools.chain.from_iterable(bundles))
        whole = wanted
        if self.policy.costs.requires:
            whole = dict.fromkeys(f for bundle in bundles for f in self._till.closed(bundle))
            self._set_aside.difference_update(wanted)
            self._set_aside.update(f for f in whole if f not in wanted)
        self._pending += [f for f in whole if f not in self._known]
        for feature in wanted:
            if feature in self._drawer:
                self._case.learn(feature, self._drawer.pop(feature))

    def _affordable(self, bundles: Iterable[Bundle]) -> Iterator[Bundle]:
        """The bundles that can be had and fit into what is left by those before; others are refused."""
        draft = self._till.copy()
        for bundle in bundles:
            out = self._gone and self._is_out(draft.closed(bundle))
            if not out and draft.buy(bundle, self._case.evaluated):
                yield bundle
            else:
                self._case.refuse(bundle)

    def _note_evaluations(self) -> None:
        count = self._case.evaluated - self._evaluated
        if count and (each := self.policy.costs.flat.evaluation):
            self.ledger.note(None, "evaluation", each * count, count=count)
        self._evaluated = self._case.evaluated

    def _take_in(self, told: Told, stated: Stated) -> None:
        """Values of any kind, one after the other: some may be unavailable, known, or have a price."""
        for feature, value in told.items():
            if value is None:
                self._gone.add(feature)
                self.ledger.note(self.policy.costs.name(feature), "unavailable", 0)
                self._case.refuse((feature,))
                continue
            self._pay(feature, stated.get(feature))
            self._learn({feature: value})

    def _pay_list(self, features: tuple[int, ...]) -> None:
        """Pay list prices, and the fees that they open."""
        self.ledger.note_purchases(*self._till.pay(features), self.policy.costs)

    def _pay(self, feature: int, stated: int | None) -> None:
        if stated is None and feature in self._asked:
            self._pay_list((feature,))
            return
        costs = self.policy.costs
        if stated is not None and costs.is_ceiling(feature):
            _, fees = self._till.pay((feature,))
            self._till.spent += stated - costs.lists[0][feature]
            self.ledger.note_paid(feature, fees, costs, stated)
            return
        kind = "known" if stated is None else "stated"
        self._till.spent += stated or 0
        self.ledger.note(self.policy.costs.name(feature), kind, stated or 0)
        self._till.take_alone(feature)

    def _check_money(self, told: Told, stated: Stated) -> None:
        if (left := self._left()) is not None:
            check_money([self._claims(self._pending, told, stated)], left, self.budget)

    def _claims(self, pending: Iterable[int], told: Told, stated: Stated) -> Claims:
        """What a call of ``tell`` claims, with what is planned for the case."""
        price, ceiling = self.policy.costs.lists[0], self.policy.costs.is_ceiling
        paid = [f for f in stated if ceiling(f)]
        reserved = {f: None for f in pending if f not in stated and told.get(f, 0.0) is not None}
        # Asked for once and given up since, yet bought all the same: due, but no longer reserved.
        late = [
            f
            for f, value in told.items()
            if value is not None and f in self._asked and f not in stated and f not in reserved
        ]
        settled = self._owed([*paid, *reserved])
        return Claims(
            settled + sum(stated[f] - price[f] for f in paid),
            self._owed([*paid, *reserved, *late])
            - settled
            + sum(amount for f, amount in stated.items() if f not in paid),
            sum(price[f] for f in pending if f in stated and f not in paid),
        )

    def _owed(self, features: list[int]) -> int:
        """What features would cost now at list prices, with the fees that they open."""
        return sum(price + fee for _, price, fee in self._till.quote(tuple(features)))

    # Storing and resuming ------------------------------------------------------------------------

    def _write_tell(self, told: Told, stated: Stated) -> list[Any]:
        return [write_values(told, self._word), write_prices(stated)]

    def _tell_again(self, values: Any, prices: Any) -> None:
        costs = self.policy.costs
        told = read_values(values, costs, self.policy.columns)
        self.tell(told, read_prices(prices, costs) or None)
