"""Law 2: a batch, a session and a stored model give the same answer."""

from __future__ import annotations

import importlib.util
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from worthwhile.exceptions import SessionError
from worthwhile.runtime import Session
from worthwhile.testing._budget import middle_budget
from worthwhile.testing._subject import (
    Answers,
    Array,
    Broken,
    Run,
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
def check_reloaded_model_agrees(subject: Subject) -> None:
    """The model read back from its file gives the same predictions, purchases and bills.

    Both as an estimator (where its class is one of worthwhile's own) and as a bare policy.
    """
    from worthwhile.persist import load

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.worthwhile"
        if not storable(subject.model, path):
            return
        if type(subject.model).__module__.startswith("worthwhile."):
            again = load(path, trusted=list(subject.trusted))
            for budget in _budgets(subject):
                got = ask_all(again, subject.like(subject.values), budget)
                subject.compare(got, subject.answers(budget), "after save and load")
        _check_reloaded_policy(subject, path)


def _check_reloaded_policy(subject: Subject, path: Path) -> None:
    """Sessions of the bare policy; only a foreign model may be missing from it."""
    from worthwhile.exceptions import BadModelFile
    from worthwhile.persist import load_policy

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

            words = subject.like(single.astype(np.float64))
            plain = {name: words[name].tolist() for name in subject.costs.feature_names}
            forms.append(("as a polars frame", polars.DataFrame(plain, strict=False)))
    else:
        forms.append(("as lists", single.astype(np.float64).tolist()))
    for when, form in forms:
        subject.compare(ask_all(subject.model, form), exact, when)


@law(2)
def check_numpy_settings_do_not_matter(subject: Subject) -> None:
    """Numbers at the ends of float64 are answered alike, and in silence, under strict settings.

    In cells that are bought and in others, with ``np.errstate(all="raise")`` and warnings as errors.
    """
    for value in (1e300, -1e300, 1e-320):
        X = subject.values.copy()
        X[(subject.new_rng().random(X.shape) < 0.3) & subject.is_number] = value
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = _answers_or_refusal(subject, X)
        with np.errstate(all="raise"), warnings.catch_warnings():
            warnings.simplefilter("error")
            got = _answers_or_refusal(subject, X)
        if isinstance(got, str) or isinstance(expected, str):
            if got != expected:
                raise Broken(f"{value} is {expected} and becomes {got} under strict settings")
            continue
        when = f"with some values of {value} under strict settings"
        subject.compare(got[0], expected[0], when)
        for row, (run, plain) in enumerate(zip(got[1], expected[1], strict=True)):
            if repr((run.order, run.spent)) != repr((plain.order, plain.spent)) or not subject.same(
                run.prediction, plain.prediction
            ):
                raise Broken(f"row {row}: a session ends differently {when}", row)


def _answers_or_refusal(subject: Subject, X: Array) -> tuple[Answers, list[Run]] | str:
    """All answers, of batch and sessions, or why a foreign model refuses such numbers."""
    try:
        said = ask_all(subject.model, subject.like(X))
        return said, [drive(subject.model.session(), subject.told(row)) for row in X[:4]]
    except ValueError as error:
        if subject.policy.exact:
            raise
        return str(error)


def storable(model: Any, path: Path) -> bool:
    """Write a model; False where its policy is of the user's own kind, which files do not know."""
    from worthwhile.persist import save

    try:
        save(model, path)
    except TypeError:
        if type(model.policy_).__module__.startswith("worthwhile."):
            raise
        return False
    return True
