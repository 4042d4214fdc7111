"""Files that appear whole or not at all.

Everything the package writes for others to read goes through here: a file under a name of its own
in the same folder, forced to disk, then put in the place of the old one in one step. Whoever reads
sees the old file or the new one, also when several processes write at once or one is killed. Links
are followed. Devices and pipes are written to as streams; nothing takes their place.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
import time
from collections.abc import Iterator
from typing import IO, Any

Path = str | os.PathLike[str]

STALE = 3600.0
"""Seconds after which a part that nobody has written to is what a killed process left."""

_LONGEST = 200
"""Bytes of a name that leave room for what parts add, within the 255 of most file systems."""

_DESCRIPTORS = re.compile(r"/proc/(\d+)(?:/task/\d+)?/fd|/dev/fd")
"""Folders whose entries are open files: a link such as /dev/stdout leads there."""

_NO_ACCESS = {errno.EACCES, errno.EPERM, errno.EROFS}
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}


def write_whole(path: Path, content: str | bytes) -> None:
    """Write text (UTF-8) or bytes as one file.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/note.txt", "paid")
    ...     print(os.listdir(folder), open(f"{folder}/note.txt").read())
    ['note.txt'] paid
    """
    with open_whole(path) as file:
        file.write(content.encode("utf-8") if isinstance(content, str) else content)


@contextlib.contextmanager
def open_whole(path: Path, *, text: bool = False) -> Iterator[IO[Any]]:
    """Open a file that takes the place of ``path`` at the end of the block if all goes well.

    A new file gets the mode that the umask gives; one that is replaced keeps its mode and, where
    that is allowed, its owner. If anything is raised in the block, what was there stays.

    Parameters
    ----------
    path : path
        A file, a link to one, or a device or pipe.
    text : bool, default=False
        Open for text in UTF-8, line ends as given; otherwise for bytes.
    """
    how: dict[str, Any] = (
        {"mode": "w", "encoding": "utf-8", "newline": ""} if text else {"mode": "wb"}
    )
    check_target(path)
    target, stream = _resolve(path)
    if stream is not None:
        # A copy of a descriptor goes on where it stands; opening it anew would begin at 0.
        with open(os.dup(stream) if isinstance(stream, int) else stream, **how) as file:
            yield file
        return
    folder, name = os.path.split(target)
    _remove_stale(folder, name)
    part = os.path.join(folder, f".{_stem(name)}.{os.urandom(8).hex()}.part")
    try:
        with open(_create(part, path), **how) as file:
            yield file
            file.flush()
            _keep_mode(file.fileno(), target)
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(part)
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            error.filename = os.fspath(path)  # systems do not say which file has no room
        raise
    _sync_folder(folder)


def check_target(path: Path) -> None:
    """Refuse a path that cannot be written: before long work rather than after it."""
    target, stream = _resolve(path)
    if stream is not None:
        return
    folder, name = os.path.split(target)
    if not name or os.path.isdir(target):
        raise IsADirectoryError(f"{os.fspath(path)!r} is a folder: give the name of a file.")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"no folder {folder!r} to write into: make it first.")
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise PermissionError(
            f"{os.fspath(path)!r} is protected against writing: choose another name, or allow it."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _closed(path, folder)


def is_stream(path: Path) -> bool:
    """Whether a path is written to as it is: a device, a pipe, an open file such as /dev/stdout."""
    return _resolve(path)[1] is not None


def _resolve(path: Path) -> tuple[str, str | int | None]:
    """The file behind all links, and what to open where that is a stream: a path or descriptor."""
    given = place = os.fspath(path)
    for _ in range(40):  # as many links as systems follow
        folder, name = os.path.split(place)
        folder = os.path.realpath(folder or os.curdir)
        if (found := _DESCRIPTORS.fullmatch(folder)) and name.isdigit():
            ours = found[1] is None or int(found[1]) == os.getpid()
            return given, int(name) if ours else given
        place = os.path.join(folder, name)
        if not os.path.islink(place):
            break
        place = os.path.join(folder, os.readlink(place))
    try:
        kind = os.stat(place).st_mode
    except FileNotFoundError:
        return place, None
    return place, None if stat.S_ISREG(kind) or stat.S_ISDIR(kind) else given


def _stem(name: str) -> str:
    """The start of the names of parts: the file's own, or a digest where that is too long."""
    encoded = os.fsencode(name)
    return name if len(encoded) <= _LONGEST else hashlib.sha256(encoded).hexdigest()


def _create(part: str, path: Path) -> int:
    try:
        return os.open(
            part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666
        )
    except OSError as error:
        if error.errno in _NO_ACCESS:
            raise _closed(path, os.path.dirname(part)) from None
        raise


def _closed(path: Path, folder: str) -> PermissionError:
    return PermissionError(
        f"cannot write {os.fspath(path)!r}: the folder {folder!r} cannot be written into. Choose another "
        "place, or allow it."
    )


def _keep_mode(handle: int, target: str) -> None:
    """Give a part the owner and mode of the file it replaces, if there is one."""
    try:
        old = os.stat(target)
    except FileNotFoundError:
        return
    if hasattr(os, "fchown"):
        with contextlib.suppress(OSError):
            os.fchown(handle, old.st_uid, old.st_gid)
        os.fchmod(handle, stat.S_IMODE(old.st_mode))


def _remove_stale(folder: str, name: str) -> None:
    """Remove what killed processes left of the same file."""
    ours = re.compile(rf"\.{re.escape(_stem(name))}\.[0-9a-f]{{16}}\.part")
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if ours.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    if time.time() - entry.stat().st_mtime > STALE:
                        os.unlink(entry.path)


def _sync_folder(folder: str) -> None:
    """Make the new name last through a power cut, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
