"""Whether what a damaged model file loads to keeps the laws: honesty, one answer, bills, budgets.

Bills are computed apart from the library (``tariff.py``), in whole quanta.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

import worthwhile
from tests.attack.tariff import Tariff
from worthwhile.policy.base import Outcome, Policy
from worthwhile.testing._subject import ABSOLUTE, RELATIVE, ask_all, drive, in_words

Array = np.ndarray[Any, Any]
SESSIONS = 3
"""Rows that are also driven through sessions, with a budget and without."""


def model_problem(model: Any, rows: Array) -> str | None:
    """What an estimator does wrong, None if nothing."""
    return next(_model_problems(model, rows), None)


def policy_problem(policy: Policy, rows: Array) -> str | None:
    """What a policy does wrong, None if nothing."""
    return next(_policy_problems(policy, rows), None)


def saved_problem(model: Any, path: Path) -> str | None:
    """What goes wrong when it is saved once more; ``path`` is where."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.save(path)
        again = worthwhile.load(path).policy_.fingerprint()
    path.unlink()
    return None if again == model.policy_.fingerprint() else "it is another model when saved again"


def _model_problems(model: Any, rows: Array) -> Iterator[str]:
    policy = model.policy_
    codes = _codes(policy, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows without names
        said = ask_all(model, np.array([_words(policy, row) for row in codes], dtype=object))
    if len(said.prediction) != len(rows):
        yield f"{len(said.prediction)} predictions of {len(rows)} rows"
    if hasattr(model, "classes_"):
        if not np.isin(said.prediction, model.classes_).all():
            yield "a prediction is not a class"
        chances = said.probabilities
        if chances is not None and not ((chances >= 0) & (chances <= 1)).all():
            yield "a probability is not between 0 and 1"
    elif not np.isfinite(said.prediction).all():
        yield "a prediction is not finite"
    outcome = policy.serve(codes)
    bills = policy.costs.quanta(outcome.acquired, outcome.evaluated) / 10**9
    if not (said.acquired == outcome.acquired).all() or not (said.cost == bills).all():
        yield "the estimator buys otherwise than its policy"
    yield from _policy_problems(policy, rows)


def _policy_problems(policy: Policy, rows: Array) -> Iterator[str]:
    yield from _row_problems(policy, _codes(policy, rows))
    try:
        yield from _row_problems(policy, _odd_codes(policy, rows))
    except ValueError:
        # A model of another library may refuse what is empty or was never seen, and says so itself.
        if policy.exact:
            raise


def _row_problems(policy: Policy, codes: Array) -> Iterator[str]:
    outcome = policy.serve(codes)
    if not np.isfinite(outcome.raw).all():
        yield "the answer is not finite"
    for others in (np.nan, codes[::-1]):
        again = policy.serve(np.where(outcome.acquired, codes, others))
        if not _same(policy, again.raw, outcome.raw):
            yield "the answer depends on what was not bought"
        if (again.acquired != outcome.acquired).any():
            yield "purchases depend on what was not bought"
    yield from _session_problems(policy, codes, outcome, None)
    try:
        policy.check_budget()
    except ValueError:
        return  # it needs all its features
    budget = int(policy.costs.quanta(outcome.acquired, outcome.evaluated)[0]) // 2
    yield from _session_problems(policy, codes, policy.serve(codes, budget), budget)


def _session_problems(
    policy: Policy, codes: Array, outcome: Outcome, budget: int | None
) -> Iterator[str]:
    """Where bills, sessions and batch differ."""
    costs, tariff = policy.costs, Tariff.of(policy.costs)
    bills = costs.quanta(outcome.acquired, outcome.evaluated).tolist()
    for bill, acquired, evaluated in zip(bills, outcome.acquired, outcome.evaluated, strict=True):
        if bill != tariff.bill(set(np.flatnonzero(acquired).tolist()), int(evaluated)):
            yield "the bill is not the sum of its prices"
        if budget is not None and bill > budget:
            yield "a row costs more than its budget"
    for place in range(min(SESSIONS, len(codes))):
        money = None if budget is None else Decimal(budget) / 10**9
        session = worthwhile.Session(policy, budget=money)
        words = dict(zip(costs.features, _words(policy, codes[place]), strict=True))
        run = drive(session, words)
        if round(Decimal(session.spent) * 10**9) != bills[place]:
            yield "session and batch differ in the bill"
        if (run.mask != outcome.acquired[place]).any():
            yield "session and batch differ in what they buy"
        if not _same(policy, session._raw(), outcome.raw[place : place + 1]):
            yield "session and batch differ in the answer"
        again = worthwhile.Session.from_dict(policy, session.to_dict())
        if again.spent != session.spent or not _same(policy, again._raw(), session._raw()):
            yield "a stored session is another when resumed"


def _same(policy: Policy, got: Array, expected: Array) -> bool:
    if policy.exact:
        return np.array_equal(got, expected)
    return np.allclose(got, expected, RELATIVE, ABSOLUTE)


def _codes(policy: Policy, rows: Array) -> Array:
    """Rows as the numbers of the policy's columns, of levels that were seen."""
    rows = rows[:, np.arange(policy.n_features) % rows.shape[1]].copy()
    for place, column in enumerate(policy.columns or ()):
        if column.kind == "boolean":
            rows[:, place] = rows[:, place] > 0
        elif column.kind in ("category", "ordered") and not column.levels:
            rows[:, place] = np.nan  # of no levels: it can only be empty
        elif column.kind != "number":
            whole = np.floor(np.abs(rows[:, place]) * 1000)
            rows[:, place] = whole % (len(column.levels) or 20_000)
    return rows


def _odd_codes(policy: Policy, rows: Array) -> Array:
    """Rows in which everything is empty, all text is unknown, and half of the columns are."""
    odd = _codes(policy, rows[:3])
    odd[0] = odd[2, ::2] = np.nan
    for place, column in enumerate(policy.columns or ()):
        if column.other:
            odd[1, place] = len(column.levels)
    return odd


def _words(policy: Policy, row: Array) -> list[Any]:
    """A row as its user would say it."""
    if policy.columns is None:
        return list(row)
    return [in_words(column, number) for column, number in zip(policy.columns, row, strict=True)]
