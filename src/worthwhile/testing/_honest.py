"""Law 1: a prediction depends only on what was bought for that row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from worthwhile.exceptions import SessionError
from worthwhile.testing._budget import middle_budget
from worthwhile.testing._subject import Array, Broken, Subject, ask_all, law


def _poisons(subject: Subject) -> Iterator[tuple[str, Array]]:
    """Things to put where nothing was bought."""
    values, rng = subject.values, subject.new_rng()
    filled = np.nan_to_num(values)
    yield "NaN", np.full(values.shape, np.nan)
    yield "+infinity", np.full(values.shape, np.inf)
    yield "-infinity", np.full(values.shape, -np.inf)
    yield "the opposite value", -filled
    yield "values of other rows", rng.permuted(filled, axis=0)
    yield "values of other rows", filled[::-1]
    yield "noise", rng.standard_normal(values.shape)
    yield "large noise", rng.standard_normal(values.shape) * 1e6


@law(1)
def check_unbought_values_are_not_used(subject: Subject) -> None:
    """What was not bought can be overwritten without changing a bit of any answer or bill.

    Also under a budget, and with text in cells of a frame.
    """
    budgets: list[Any] = [None]
    if subject.budgeted():
        budgets.append(middle_budget(subject))
    for budget in budgets:
        expected = subject.answers(budget)
        for what, poison in _poisons(subject):
            X = np.where(expected.acquired, subject.values, poison)
            limit = "" if budget is None else f" under a budget of {budget}"
            got = ask_all(subject.model, subject.like(X), budget)
            subject.compare(got, expected, f"with {what} where nothing was bought{limit}")
    if hasattr(subject.X, "columns"):
        expected = subject.answers()
        X = subject.like(subject.values).astype(object).where(expected.acquired, "not a number")
        got = ask_all(subject.model, X)
        subject.compare(got, expected, "with text where nothing was bought")


@law(1)
def check_rows_do_not_see_each_other(subject: Subject) -> None:
    """A row's answer and bill do not depend on the other rows of the batch, nor on earlier calls."""
    expected, n = subject.answers(), subject.n_rows
    batches = [
        ("when asked again", np.arange(n)),
        ("in another order of rows", subject.new_rng().permutation(n)),
        ("with every row twice", np.repeat(np.arange(n), 2)),
        ("in a batch of half the rows", np.arange(0, n, 2)),
        *(("alone", np.array([row])) for row in range(min(n, 6))),
    ]
    for when, rows in batches:
        got = ask_all(subject.model, subject.like(subject.values[rows]))
        subject.compare(got, expected.take(rows), when, rows)


@law(1)
def check_infinity_is_refused_where_read(subject: Subject) -> None:
    """An infinite value that is bought is refused, in a batch and in a session."""
    acquired = subject.answers().acquired & subject.is_number
    if not acquired.any():
        return
    row, column = (int(i) for i in np.argwhere(acquired)[0])
    for bad in (np.inf, -np.inf):
        X = subject.values.copy()
        X[row, column] = bad
        for method in ("predict", "cost", "acquired"):
            try:
                getattr(subject.model, method)(subject.like(X))
            except ValueError as error:
                if "infin" not in str(error).lower():
                    raise Broken(f"{method} refuses it without saying so: {error}", row) from None
            else:
                name = subject.costs.name(column)
                raise Broken(f"row {row}: {method} takes {name!r} = {bad} and goes on", row)
        session = subject.model.session()
        if wanted := [f for f in session.ask() if subject.is_number[subject.costs.index(f)]]:
            try:
                session.tell({wanted[0]: bad})
            except SessionError:
                continue
            raise Broken(f"row {row}: a session takes {wanted[0]!r} = {bad} and goes on", row)
