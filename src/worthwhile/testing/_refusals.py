"""Law 7: bad input is refused clearly, and nothing is lost by it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from worthwhile.costs import Costs
from worthwhile.exceptions import SessionError
from worthwhile.runtime import UNAVAILABLE, Session
from worthwhile.testing._subject import Broken, Subject, ask_all, compare_run, drive, law


def _refused(
    what: str,
    call: Callable[..., Any],
    *arguments: Any,
    says: str = "",
    kind: Any = ValueError,
    **named: Any,
) -> None:
    """Fail unless a call is refused, with a message that names the culprit."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # scikit-learn warns before it refuses
            call(*arguments, **named)
    except kind as error:
        if says not in str(error):
            raise Broken(f"{what} is refused without a word about {says!r}: {error}") from None
        if not str(error).strip():
            raise Broken(f"{what} is refused without a message") from None
        return
    raise Broken(f"{what} is accepted")


def _bad_rows(subject: Subject) -> Iterator[tuple[str, Any]]:
    X, reads = subject.like(subject.values), subject.policy.reads.tolist()
    yield "X with one dimension", subject.values[0]
    if subject.costs.feature_names is not None:
        for column in (reads[0], reads[-1]) if reads else ():
            name = subject.costs.name(column)
            yield f"X without {name!r}, which the model may read", X.drop(columns=name)
            renamed = X.rename(columns={name: "another_name"})
            yield f"X with another name for {name!r}, which the model may read", renamed
        return
    wide = np.column_stack([subject.values, subject.values[:, 0]])
    yield "X with a column too few", X.iloc[:, :-1] if hasattr(X, "iloc") else X[:, :-1]
    named = hasattr(X, "columns")
    yield "X with a column too many", pd.DataFrame(wide) if named else wide


@law(7)
def check_bad_rows_are_refused(subject: Subject) -> None:
    """X of the wrong shape or with the wrong names, and bad budgets, are refused; nothing changes."""
    before = subject.policy.fingerprint()
    for what, X in _bad_rows(subject):
        for method in ("predict", "acquired", "cost"):
            _refused(f"{method}: {what}", getattr(subject.model, method), X)
    if subject.budgeted():
        X = subject.like(subject.values)
        for bad in (-1, float("nan"), "much"):
            _refused(f"a budget of {bad!r}", subject.model.predict, X, budget=bad, says="budget")
            _refused(f"a budget of {bad!r}", subject.model.session, budget=bad, says="budget")
    if subject.policy.fingerprint() != before:
        raise Broken("the model has changed by refused calls")
    got = ask_all(subject.model, subject.like(subject.values))
    subject.compare(got, subject.answers(), "after refused calls")


@law(7)
def check_frames_are_read_by_name(subject: Subject) -> None:
    """Columns of a frame may stand in any order, beside others; what is never read may be missing."""
    if subject.costs.feature_names is None:
        return
    X = subject.like(subject.values)
    reads = [subject.costs.name(column) for column in subject.policy.reads]
    other = X[X.columns[:1]].rename(columns={X.columns[0]: "one_more"})
    for when, frame in (
        ("with columns in another order", X[list(X.columns[::-1])]),
        ("with a further column in front", pd.concat([other, X], axis=1)),
        ("without columns that the model never reads", X[reads]),
    ):
        subject.compare(ask_all(subject.model, frame), subject.answers(), when)


@law(7)
def check_prediction_needs_a_fit(subject: Subject) -> None:
    """Predicting with an estimator that is not fitted is refused as NotFittedError."""
    if subject.fit is None:
        return
    X, raw = subject.like(subject.values), clone(subject.model)
    for method in ("predict", "acquired", "cost", "evaluated"):
        _refused(f"{method} before fit", getattr(raw, method), X, kind=NotFittedError)
    _refused("session before fit", raw.session, kind=NotFittedError)


def _bad_prices(subject: Subject) -> Iterator[tuple[str, Any, str]]:
    """Prices that cannot be used: what is wrong, the prices, what the message must name."""
    features, prices = subject.costs.features, dict(subject.costs.prices)
    last = features[-1]
    if subject.costs.feature_names is None:
        good = [float(price) for price in prices.values()]
        yield "a price too few", good[:-1], str(len(good))
        for bad in (-1.0, float("nan"), float("inf")):
            yield f"a price of {bad}", [*good[:-1], bad], str(last)
        return
    wrong: tuple[Any, ...] = (-1, float("nan"), float("inf"), "dear")
    for price in wrong:
        yield f"a price of {price!r}", {**prices, last: price}, str(last)
    yield "a missing price", {f: p for f, p in prices.items() if f != last}, str(last)
    yield "a price for an unknown feature", {**prices, "unheard_of": 1}, "unheard_of"
    group = {"shared": {"fee": -1, "features": [last]}}
    yield "a negative fee", {"prices": prices, "groups": group}, "shared"


@law(7)
def check_bad_prices_are_refused(subject: Subject) -> None:
    """Prices that are negative, no numbers, missing or unknown are refused by name at fit.

    A model that was fitted before stays as it was.
    """
    if subject.fit is None or subject.train is None:
        return
    if "costs" not in subject.model.get_params(deep=False):
        return
    model, (X, y) = subject.model, subject.train
    good, before = model.get_params(deep=False)["costs"], subject.policy.fingerprint()
    for what, prices, culprit in _bad_prices(subject):

        def fit(prices: Any = prices) -> None:
            if isinstance(prices, dict) and "groups" in prices:
                prices = Costs(**prices)
            model.set_params(costs=prices).fit(X, y)

        try:
            _refused(what, fit, says=culprit)
        finally:
            model.set_params(costs=good)
    bad_shapes: list[tuple[str, Any, Any]] = [
        ("y with a row too few", X, y[:-1]),
        ("X with one dimension", np.asarray(X)[:, 0], y),
        ("X with a column too few", X.iloc[:, :-1] if hasattr(X, "iloc") else X[:, :-1], y),
    ]
    if good is None:
        bad_shapes.pop()  # without prices any number of columns will do
    for what, bad_X, bad_y in bad_shapes:
        _refused(f"fit: {what}", model.fit, bad_X, bad_y)
    if model.policy_.fingerprint() != before:
        raise Broken("a refused fit has changed the model that was there")
    got = ask_all(model, subject.like(subject.values))
    subject.compare(got, subject.answers(), "after refused fits")


def _nonsense(session: Session) -> Iterator[tuple[str, Any, Any]]:
    """Things that no session may take: what it is, values, price."""
    wanted = session.ask()[0]
    yield "an unknown feature", {"unheard_of": 1.0}, None
    if not session.takes_any_text(wanted):
        yield "text for a value", {wanted: "high"}, None
    yield "a list for a value", {wanted: [1.0]}, None
    yield "an infinite value", {wanted: float("inf")}, None
    yield "a good and a bad value", {wanted: 1.0, "unheard_of": 1.0}, None
    yield "no mapping", [(wanted, 1.0)], None
    yield "a negative price", {wanted: 1.0}, -1
    yield "a price for a feature without value", {wanted: 1.0}, {"unheard_of": 1}
    yield "a price for what cannot be had", {wanted: UNAVAILABLE}, 1
    for known in list(session.known)[:1]:
        yield "a value told before", {known: 1.0}, None


@law(7)
def check_sessions_survive_nonsense(subject: Subject) -> None:
    """A session refuses nonsense at every step, loses nothing, and ends as if it had not been told."""
    for row in range(min(subject.n_rows, 3)):
        session, values = subject.model.session(one_by_one=True), subject.row(row)
        while wanted := session.ask():
            paid, known, lines = session.spent, session.known, session.ledger.entries
            for what, told, price in _nonsense(session):
                _refused(what, session.tell, told, price, kind=SessionError)
                if (session.spent, session.ledger.entries) != (paid, lines) or list(
                    session.known
                ) != list(known):
                    raise Broken(
                        f"row {row}: {what} was refused, but what was paid or known has changed from {known} to "
                        f"{session.known}",
                        row,
                    )
            session.tell({wanted[0]: values[wanted[0]]})
        run = drive(session, values)
        compare_run(subject, run, subject.answers(), row, "after nonsense was refused")
