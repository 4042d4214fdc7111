"""What a search has done so far, on disk: one line of JSON per model, so that a killed run goes on."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from worthwhile.frontier._identity import Unidentified, digest

KIND = "worthwhile search"
FORMAT = 2
BEGINNING = f'{{"journal":"{KIND}"'.encode()
"""What the first line of every journal begins with, whatever its format."""

UNLOCKABLE = (errno.ENOLCK, errno.ENOTSUP, errno.EINVAL, errno.ENOSYS)
"""File systems that cannot lock say so in one of these ways."""


class Journal:
    """An append-only file of finished units.

    The first line says what the search is about, by digests of data, estimator, folds and scoring;
    a journal of another search is refused, and a file that is no journal is left as it is. Each
    further line is one finished unit, written in one piece and forced to disk. A line that was cut
    off when a process died is dropped. Processes that share a journal take turns.

    Parameters
    ----------
    path : path
        The file; it is made where it does not exist.
    identity : mapping of str to str
        Digest of each thing the results depend on.
    is_result : callable
        Whether a value has the shape of a result; a line with anything else is damaged.
    """

    def __init__(
        self, path: str | os.PathLike[str], identity: Mapping[str, str], is_result: Callable[[Any], bool]
    ) -> None:  # fmt: skip
        self.path = os.fspath(path)
        self.units: dict[str, Any] = {}
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            raise ValueError(f"resume is {self.path!r}, which is not a file: give another path.")
        with self._opened() as handle:
            content = _read_all(handle)
            whole = content.rfind(b"\n") + 1
            if whole == 0 and BEGINNING.startswith(content[: len(BEGINNING)]):
                self._begin(handle, identity)  # new, or cut off within its first line
                return
            self._read(content[:whole], identity, is_result)
            if whole < len(content):
                os.ftruncate(handle, whole)

    def _begin(self, handle: int, identity: Mapping[str, str]) -> None:
        self.seed = int(np.random.default_rng().integers(2**31 - 1))
        os.ftruncate(handle, 0)
        head = {"journal": KIND, "format": FORMAT, "identity": dict(identity), "seed": self.seed}
        _append(handle, head)

    def _read(self, content: bytes, identity: Mapping[str, str], is_result: Any) -> None:
        lines = content.splitlines()
        head = _parse(lines[0]) if lines else None
        if isinstance(head, dict) and "journal" in head and head.get("format") == 1:
            raise ValueError(
                f"resume is {self.path!r}, a journal of version 0.1.0, which knew less of what a search depends on: "
                "begin the search anew under another path."
            )
        if (
            not isinstance(head, dict)
            or head.get("journal") != KIND
            or head.get("format") != FORMAT
            or not isinstance(head.get("identity"), dict)
            or type(head.get("seed")) is not int
        ):
            raise ValueError(
                f"resume is {self.path!r}, which is not a journal of a search (format {FORMAT}): give another path."
            )
        theirs = head["identity"]
        if differing := [name for name in identity if theirs.get(name) != identity[name]]:
            raise ValueError(
                f"resume is {self.path!r}, the journal of another search: {', '.join(differing)} differ. Give the data "
                "and parameters it was begun with, or another path."
            )
        self.seed = head["seed"]
        for number, line in enumerate(lines[1:], 2):
            unit = _parse(line)
            if (
                not isinstance(unit, dict)
                or set(unit) != {"unit", "result"}
                or not isinstance(unit["unit"], str)
                or not is_result(unit["result"])
            ):
                raise ValueError(
                    f"resume is {self.path!r}, whose line {number} is damaged: delete that line to train its model "
                    "again, or give another path."
                )
            self.units[unit["unit"]] = unit["result"]

    def add(self, key: str, result: Any) -> None:
        """Keep a finished unit."""
        with self._opened() as handle:
            _drop_torn_line(handle)  # of another process that died meanwhile
            _append(handle, {"unit": key, "result": result})
        self.units[key] = result

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """The file, with nobody else reading or writing it."""
        handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            _lock(handle)
            yield handle
        finally:
            os.close(handle)  # which also unlocks it


def _lock(handle: int) -> None:
    """Wait for our turn; where files cannot be locked, lines are still written in one piece."""
    try:
        import fcntl
    except ImportError:  # not on Windows
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in UNLOCKABLE:
            raise


def _read_all(handle: int) -> bytes:
    parts = []
    while part := os.read(handle, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _drop_torn_line(handle: int) -> None:
    """Cut off what follows the last whole line."""
    end = os.lseek(handle, 0, os.SEEK_END)
    os.lseek(handle, max(end - 1, 0), os.SEEK_SET)
    if os.read(handle, 1) in (b"", b"\n"):
        return
    os.lseek(handle, 0, os.SEEK_SET)
    os.ftruncate(handle, _read_all(handle).rfind(b"\n") + 1)


def _append(handle: int, record: Any) -> None:
    """Write a line, or none of it."""
    line = json.dumps(record, allow_nan=True, separators=(",", ":")).encode() + b"\n"
    end = os.lseek(handle, 0, os.SEEK_END)
    try:
        written = 0
        while written < len(line):
            written += os.write(handle, line[written:])
        os.fsync(handle)
    except BaseException:
        os.ftruncate(handle, end)
        raise


def _parse(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def is_number(value: Any) -> bool:
    """Whether a value from a journal is a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def identify_estimator(estimator: Any) -> str:
    """By what a journal knows the estimator again."""
    try:
        return digest(estimator)
    except Unidentified as error:
        raise ValueError(
            f"resume needs an estimator that a later process knows again, and {error}: use a plain function or plain "
            "values in its parameters, or leave resume out."
        ) from None


def identify_scoring(scoring: Any, scoring_name: str | None) -> str:
    """By what a journal knows the scoring again."""
    if scoring_name is not None:
        return f"named {scoring_name}"
    try:
        return digest(scoring)
    except Unidentified as error:
        raise ValueError(
            f"resume needs a scoring that a later process knows again, and {error}: give scoring_name='...', a name "
            "that you change whenever the scoring changes."
        ) from None
