"""Laws 1 and 2 where chance decides: the same row with the same key, and nothing else, is the same case."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from worthwhile.runtime import Session
from worthwhile.testing._budget import middle_budget
from worthwhile.testing._one_answer import storable
from worthwhile.testing._subject import Broken, Subject, ask_all, compare_run, drive, law

ROWS = 6
"""Rows of a subject that are looked at one by one."""


def _keys(subject: Subject) -> list[str]:
    return [f"case {number}" for number in range(subject.n_rows)]


def _budgets(subject: Subject) -> list[Any]:
    return [None, middle_budget(subject)] if subject.budgeted() else [None]


@law(1)
def check_keys_decide_alone(subject: Subject) -> None:
    """With keys, answers depend on values that were bought and on the keys: not on places or an index."""
    if subject.policy.coin is None:
        return
    keys, n = np.array(_keys(subject), dtype=object), subject.n_rows
    X = subject.like(subject.values)
    expected = ask_all(subject.model, X, key=keys)
    order = subject.new_rng().permutation(n)
    got = ask_all(subject.model, subject.like(subject.values[order]), key=keys[order])
    subject.compare(got, expected.take(order), "in another order of rows and keys", order)
    labels = np.arange(n)[::-1] + 1000
    got = ask_all(subject.model, X, key=pd.Series(keys, index=labels))
    subject.compare(got, expected, "with keys in a column that has another index")
    if hasattr(X, "columns"):
        got = ask_all(subject.model, X.set_index(labels), key=keys)
        subject.compare(got, expected, "with another index of the frame")
    for poison in (np.nan, np.inf, 1e6):
        hidden = np.where(expected.acquired, subject.values, poison)
        got = ask_all(subject.model, subject.like(hidden), key=keys)
        subject.compare(got, expected, f"with keys, and {poison} where nothing was bought")


@law(2)
def check_keys_fall_alike(subject: Subject) -> None:
    """The same row and key is the same case in a batch, a session, a stored one, and after save and load."""
    coin = subject.policy.coin
    if coin is None:
        return
    keys = _keys(subject)
    for budget in _budgets(subject):
        expected = ask_all(subject.model, subject.like(subject.values), budget, key=keys)
        for row in range(min(ROWS, subject.n_rows)):
            session = subject.model.session(budget=budget, key=keys[row])
            if session.key != keys[row] or session.ledger.key != keys[row]:
                raise Broken(f"row {row}: the key of a session or of its ledger is lost", row)
            again = type(session).from_dict(
                session.origin, json.loads(json.dumps(session.to_dict()))
            )
            for one, when in ((session, "in a session with a key"), (again, "in a stored one")):
                compare_run(subject, drive(one, subject.row(row)), expected, row, when)
    _check_both_are_followed(subject)
    _check_file(subject, keys)


def _check_both_are_followed(subject: Subject) -> None:
    """Of many keys the coin gives the dearer policy its share."""
    coin, count = subject.policy.coin, 2000
    assert coin is not None
    share = coin.share / 2**32
    found = np.mean([coin.by_key(f"key {number}") for number in range(count)])
    if abs(found - share) > 5 * np.sqrt(share * (1 - share) / count) + 1e-9:
        raise Broken(f"of {count} keys {found:.1%} follow the dearer policy, not {share:.1%}")


def _check_file(subject: Subject, keys: list[str]) -> None:
    from worthwhile.persist import load_policy

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.worthwhile"
        if not storable(subject.model, path) or not subject.policy.exact:
            return
        policy = load_policy(path)
        expected = ask_all(subject.model, subject.like(subject.values), key=keys)
        for row in range(min(ROWS, subject.n_rows)):
            run = drive(Session(policy, key=keys[row]), subject.row(row))
            compare_run(subject, run, expected, row, "with a key in a session of load_policy's")


@law(7)
def check_bad_keys_are_refused(subject: Subject) -> None:
    """What is no key, or not one per row, is refused before any work."""
    if subject.policy.coin is None:
        return
    X = subject.like(subject.values)
    for bad in (
        0.5, "one for all", _keys(subject)[:-1], [None] * subject.n_rows, [np.nan] * subject.n_rows
    ):  # fmt: skip
        try:
            subject.model.predict(X, key=bad)
        except (TypeError, ValueError):
            continue
        raise Broken(f"key={str(bad)[:40]} is accepted")
    for alone in (0.5, float("nan"), "", True):
        try:
            subject.model.session(key=alone)
        except (TypeError, ValueError):
            continue
        raise Broken(f"session(key={alone!r}) is accepted")
