"""Law 6: the same data, parameters and seed give the same model, byte for byte."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from worthwhile.testing._one_answer import storable
from worthwhile.testing._subject import Broken, Subject, law


def _content(model: Any) -> bytes:
    """The bytes of the model's file; of its policy's digest where files do not know its kind."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.worthwhile"
        if storable(model, path):
            return path.read_bytes()
    return str(model.policy_.fingerprint()).encode()


def _same(one: bytes, other: bytes, when: str) -> None:
    if one != other:
        place = next(
            (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
            min(len(one), len(other)),
        )
        raise Broken(
            f"files of {len(one)} and {len(other)} bytes that differ from byte {place} on, {when}"
        )


@law(6)
def check_file_is_stable(subject: Subject) -> None:
    """Saving a model twice, with predictions in between, gives the same bytes."""
    first = _content(subject.model)
    subject.model.predict(subject.like(subject.values))
    subject.model.session().ask()
    _same(first, _content(subject.model), "one written before and one after a prediction")


@law(6)
def check_refit_gives_the_same_bytes(subject: Subject) -> None:
    """Fitting again with the same seed gives the same file, whatever numpy's global seed."""
    if subject.fit is None:
        return
    state = np.random.get_state()  # noqa: NPY002  it is the global state that must not matter
    try:
        np.random.seed(subject.seed + 1)  # noqa: NPY002
        second = _content(subject.fit())
    finally:
        np.random.set_state(state)  # noqa: NPY002
    _same(_content(subject.model), second, "from two fits on the same data")


@law(6)
def check_threads_do_not_matter(subject: Subject) -> None:
    """Fitting with one thread and with two gives the same file."""
    if subject.fit is None or "n_jobs" not in subject.model.get_params(deep=False):
        return
    contents = []
    for n_jobs in (1, 2):
        model = subject.fit(n_jobs=n_jobs)
        model.set_params(n_jobs=None)  # the parameter itself is part of the file
        contents.append(_content(model))
    _same(contents[0], contents[1], "fitted with n_jobs=1 and n_jobs=2")
