"""A matrix in a file, column after column, of which some rows and columns are read when they are wanted."""

from __future__ import annotations

import os
import tempfile

import numpy as np


class StoredColumns:
    """Numbers of some rows in a file that vanishes with this object.

    To be read like a matrix (n, d), where only some of its rows and columns are ever asked for. The file is
    read, not mapped: pages of a mapped one would count as memory of the process.

    Parameters
    ----------
    n_rows, n_features : int
        Its shape.
    dtype : dtype
        Of the numbers.
    folder : path, optional
        Where the file is made.

    Examples
    --------
    >>> rows = StoredColumns(3, 2, np.float64)
    >>> rows.write_rows(0, np.array([[1.0, 2.0], [3.0, 4.0]]))
    >>> rows[:2, 1:].tolist()
    [[2.0], [4.0]]
    """

    def __init__(self, n_rows, n_features, dtype, folder=None):
        self.shape, self.dtype = (n_rows, n_features), np.dtype(dtype)
        self.size = n_rows * n_features
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        reserve(self._file, self.size * self.dtype.itemsize, folder)

    def __len__(self):
        return self.shape[0]

    def write(self, feature, start, values):
        """Write values of a feature from row ``start`` on."""
        view = memoryview(np.ascontiguousarray(values, dtype=self.dtype)).cast("B")
        offset = self._offset(feature, start)
        while len(view):
            done = os.pwrite(self._file.fileno(), view, offset)
            view, offset = view[done:], offset + done

    def write_rows(self, start, rows):
        """Write some rows (m, d) from row ``start`` on."""
        for feature in range(self.shape[1]):
            self.write(feature, start, rows[:, feature])

    def part(self, feature, start, stop):
        """Values of rows ``start..stop`` of a feature."""
        found = np.empty(stop - start, dtype=self.dtype)
        view, offset = memoryview(found).cast("B"), self._offset(feature, start)
        while len(view):
            done = os.preadv(self._file.fileno(), [view], offset)
            if not done:
                raise OSError("a file of rows was cut while it was in use.")
            view, offset = view[done:], offset + done
        return found

    def _offset(self, feature, start):
        return (feature * self.shape[0] + start) * self.dtype.itemsize

    def __getitem__(self, key):
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        start, stop, step = rows.indices(len(self))
        wanted = np.arange(self.shape[1])[columns]
        count = len(range(start, stop, step))
        found = np.empty((count, len(wanted)), dtype=self.dtype, order="F")
        for place, feature in enumerate(wanted.tolist()):
            found[:, place] = self.part(feature, start, max(start, stop))[::step]
        return found


def reserve(file, count, folder):
    """Take the room on the disk now: a full disk under a mapped file would end the process."""
    try:
        if hasattr(os, "posix_fallocate") and count:
            os.posix_fallocate(file.fileno(), 0, count)
        else:
            file.truncate(count)
    except OSError as error:
        raise OSError(
            f"no room for {count / 2**30:.1f} GiB of codes in {folder or tempfile.gettempdir()} "
            f"({error.strerror}): give folder= of ParquetTable, local_directory of Dask's workers, or TMPDIR, where "
            "there is."
        ) from error
