"""What a search has done so far, on disk: one line of JSON per model, so that a killed run goes on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

import joblib
import numpy as np

KIND = "costwise search"
FORMAT = 1


class Journal:
    """An append-only file of finished units.

    The first line says what the search is about, by digests of data, estimator, folds and scoring;
    a journal of another search is refused. Each further line is one finished unit, written in one
    piece and forced to disk. A line that was cut off when the process died is dropped.

    Parameters
    ----------
    path : path
        The file; it is made where it does not exist.
    identity : mapping of str to str
        Digest of each thing the results depend on.
    """

    def __init__(self, path: str | os.PathLike[str], identity: Mapping[str, str]) -> None:
        self.path = os.fspath(path)
        self.units: dict[str, Any] = {}
        self.seed: int | None = None
        if os.path.exists(self.path) and os.path.getsize(self.path):
            self._read(identity)
        else:
            self.seed = int(np.random.default_rng().integers(2**31 - 1))
            head = {
                "journal": KIND,
                "format": FORMAT,
                "identity": dict(identity),
                "seed": self.seed,
            }
            self._append(head)

    def _read(self, identity: Mapping[str, str]) -> None:
        with open(self.path, "rb") as file:
            content = file.read()
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            os.truncate(self.path, whole)
        lines = content[:whole].splitlines()
        head = _parse(lines[0], self.path, 1) if lines else {}
        if head.get("journal") != KIND or head.get("format") != FORMAT:
            raise ValueError(
                f"resume is {self.path!r}, which is not a journal of a search (format {FORMAT}): give another path."
            )
        theirs = head["identity"]
        differing = [name for name in identity if theirs.get(name) != identity[name]]
        if differing:
            raise ValueError(
                f"resume is {self.path!r}, the journal of another search: {', '.join(differing)} differ. Give the data "
                "and parameters it was begun with, or another path."
            )
        self.seed = int(head["seed"])
        for number, line in enumerate(lines[1:], 2):
            unit = _parse(line, self.path, number)
            self.units[unit["unit"]] = unit["result"]

    def add(self, key: str, result: Any) -> None:
        """Keep a finished unit."""
        self._append({"unit": key, "result": result})
        self.units[key] = result

    def _append(self, record: Any) -> None:
        line = json.dumps(record, allow_nan=True, separators=(",", ":")).encode() + b"\n"
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, line)
            os.fsync(handle)
        finally:
            os.close(handle)


def _parse(line: bytes, path: str, number: int) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        raise ValueError(
            f"resume is {path!r}, whose line {number} is damaged: delete that line to train its model again, or give "
            "another path."
        ) from None


def digest(value: Any) -> str:
    """A short digest of data or parameters; functions count by their name."""
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):
        value = ([str(name) for name in value.columns], value.to_numpy())
    if isinstance(value, Mapping):
        parts = [(str(name), digest(item)) for name, item in sorted(value.items())]
        return _short(repr(parts))
    if callable(value) and not hasattr(value, "get_params"):
        name = getattr(value, "__qualname__", type(value).__qualname__)
        return _short(
            f"{getattr(value, '__module__', '')}.{name}{getattr(value, '__dict__', '')!r}"
        )
    if hasattr(value, "get_params"):
        params = value.get_params(deep=False)
        silent = {name: item for name, item in params.items() if name not in ("n_jobs", "verbose")}
        fitted = {k: v for k, v in vars(value).items() if k.endswith("_") and not k.startswith("_")}
        return digest({"class": type(value).__qualname__, **silent, "fitted": joblib.hash(fitted)})
    return str(joblib.hash(value))[:16]


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
