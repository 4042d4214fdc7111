"""Law 2: a batch, a session and a stored model give the same answer."""

from __future__ import annotations

import importlib.util
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from costwise.exceptions import SessionError
from costwise.runtime import Session
from costwise.testing._budget import middle_budget
from costwise.testing._subject import (
    Broken,
    Subject,
    ask_all,
    compare_run,
    drive,
    law,
)


def _budgets(subject: Subject) -> list[Any]:
    return [None, middle_budget(subject)] if subject.budgeted() else [None]


@law(2)
def check_sessions_agree_with_batches(subject: Subject) -> None:
    """A session driven row by row gives the prediction, the purchases and the bill of the batch."""
    expected = subject.answers()
    for row in range(subject.n_rows):
        values = subject.row(row)
        for one_by_one in (False, True):
            run = drive(subject.model.session(one_by_one=one_by_one), values)
            compare_run(subject, run, expected, row, f"in a session with one_by_one={one_by_one}")


@law(2)
def check_stored_sessions_agree(subject: Subject) -> None:
    """A session stored as JSON and resumed after every step ends as if it had not been."""
    for budget in _budgets(subject):
        expected = subject.answers(budget)
        for row in range(min(subject.n_rows, 4)):
            values, session = subject.row(row), subject.model.session(budget=budget)
            while wanted := session.ask():
                for name in wanted:
                    stored = json.loads(json.dumps(session.to_dict()))
                    session = type(session).from_dict(subject.policy, stored)
                    session.tell({name: values[name]})
            compare_run(
                subject, drive(session, values), expected, row, "in a session stored at every step"
            )


@law(2)
def check_reloaded_model_agrees(subject: Subject) -> None:
    """The model read back from its file gives the same predictions, purchases and bills.

    Both as an estimator (where its class is one of costwise's own) and as a bare policy.
    """
    from costwise.persist import load

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.costwise"
        if not storable(subject.model, path):
            return
        if type(subject.model).__module__.startswith("costwise."):
            again = load(path, trusted=list(subject.trusted))
            for budget in _budgets(subject):
                got = ask_all(again, subject.like(subject.values), budget)
                subject.compare(got, subject.answers(budget), "after save and load")
        _check_reloaded_policy(subject, path)


def _check_reloaded_policy(subject: Subject, path: Path) -> None:
    """Sessions of the bare policy; only a foreign model may be missing from it."""
    from costwise.exceptions import BadModelFile
    from costwise.persist import load_policy

    try:
        policy = load_policy(path)
    except BadModelFile:
        if subject.policy.exact:
            raise
        return
    try:
        Session.from_dict(policy, subject.model.session().to_dict())
    except SessionError as error:
        raise Broken(
            f"a session stored with the model cannot go on after load_policy: {error}"
        ) from None
    for budget in _budgets(subject):
        for row in range(subject.n_rows):
            run = drive(Session(policy, budget=budget), subject.row(row))
            compare_run(subject, run, subject.answers(budget), row, "in a session of load_policy's")


@law(2)
def check_form_of_data_does_not_matter(subject: Subject) -> None:
    """The same values give the same answers whatever their memory layout, dtype or container."""
    values = subject.values
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    if (np.isinf(single) & np.isfinite(values)).any():
        return  # data that only float64 can hold has no other form
    exact = ask_all(subject.model, subject.like(single.astype(np.float64)))
    forms = [
        ("as float32", subject.like(single)),
        ("as float32 in column order", subject.like(np.asfortranarray(single))),
        ("as every other column of a larger array", subject.like(np.repeat(single, 2, 1)[:, ::2])),
    ]
    if hasattr(subject.X, "columns"):
        forms.append(("as Python objects", subject.like(single.astype(np.float64)).astype(object)))
        if (
            importlib.util.find_spec("polars") is not None
            and subject.costs.feature_names is not None
        ):
            import polars

            names = list(subject.costs.feature_names)
            forms.append(
                ("as a polars frame", polars.DataFrame(single.astype(np.float64), schema=names))
            )
    else:
        forms.append(("as lists", single.astype(np.float64).tolist()))
    for when, form in forms:
        subject.compare(ask_all(subject.model, form), exact, when)


def storable(model: Any, path: Path) -> bool:
    """Write a model; False where its policy is of the user's own kind, which files do not know."""
    from costwise.persist import save

    try:
        save(model, path)
    except TypeError:
        if type(model.policy_).__module__.startswith("costwise."):
            raise
        return False
    return True
