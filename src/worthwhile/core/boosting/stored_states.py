"""Code words of rows that are binned a column at a time, in files instead of memory.

The states (bins, or missing) of a feature, a byte for each row, are written as soon as its bins are known.
When all are, and with them the layout, the words are put together from the states: see
:func:`worthwhile.core.boosting.binning.encode_matrix`, which does both at once.
"""

from __future__ import annotations

import os
import tempfile

import numpy as np

from worthwhile.core.boosting.binning import encode
from worthwhile.core.boosting.layout import FEATURE, STRIDE, UP
from worthwhile.core.dtypes import BLOCK, CODE, WORD

STRETCH = 1 << 20
"""Rows whose words are put together at a time."""


class StoredStates:
    """States of some rows, feature after feature, in a file that vanishes with this object.

    To be read like a matrix (n, d), where only some of its rows and columns are ever asked for.

    Parameters
    ----------
    n_rows, n_features : int
        Its shape.
    folder : path, optional
        Where the file is made.
    """

    def __init__(self, n_rows, n_features, folder=None):
        self.shape = (n_rows, n_features)
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        _reserve(self._file, n_rows * n_features, folder)

    def __len__(self):
        return self.shape[0]

    def put(self, feature, values, thresholds, count):
        """Encode the values (n,) of a feature with so many bins."""
        states = np.zeros(len(values), dtype=CODE)
        encode(values, thresholds, count, 1, states)
        view = memoryview(states)
        offset = feature * self.shape[0]
        while len(view):
            done = os.pwrite(self._file.fileno(), view, offset)
            view, offset = view[done:], offset + done

    def part(self, feature, start, stop):
        """States of rows ``start..stop`` of a feature."""
        found = np.empty(stop - start, dtype=CODE)
        offset = feature * self.shape[0] + start
        if len(found) and os.preadv(self._file.fileno(), [found], offset) != len(found):
            raise OSError("a file of codes was cut while it was in use.")
        return found

    def __getitem__(self, key):
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        start, stop, step = rows.indices(len(self))
        wanted = np.arange(self.shape[1])[columns]
        found = [self.part(feature, start, max(start, stop))[::step] for feature in wanted]
        count = len(range(start, stop, step))
        return np.stack(found, axis=1) if found else np.empty((count, 0), dtype=CODE)

    def words(self, layout, threads, folder=None):
        """The code words (blocks, n), in a file that is mapped into memory and vanishes with them."""
        codes = _map((layout.n_blocks, len(self), BLOCK), folder)
        stretches = -(-len(self) // STRETCH)

        def work(task):
            block, stretch = divmod(task, stretches)
            start, stop = stretch * STRETCH, min((stretch + 1) * STRETCH, len(self))
            first, last = layout.offsets[block * BLOCK], layout.offsets[(block + 1) * BLOCK]
            columns = np.zeros((BLOCK, stop - start), dtype=CODE)
            for member in layout.members[first:last]:
                feature, step = int(member[FEATURE]), int(member[STRIDE]) * max(int(member[UP]), 1)
                states = self.part(feature, start, stop)
                columns[layout.column(feature) % BLOCK] += states * CODE(step)
            codes[block, start:stop] = columns.T

        threads.run(layout.n_blocks * stretches, work)
        return codes.view(WORD)[:, :, 0]


def _map(shape, folder):
    """Bytes of zero in a file of their own, mapped into memory."""
    count = int(np.prod(shape))
    if count == 0:
        return np.zeros(shape, dtype=CODE)
    with tempfile.TemporaryFile(dir=folder) as file:
        _reserve(file, count, folder)
        mapped = np.memmap(file, dtype=CODE, mode="r+", shape=shape)
    return mapped.view(np.ndarray)


def _reserve(file, count, folder):
    """Take the room on the disk now: a full disk under a mapped file would end the process."""
    try:
        if hasattr(os, "posix_fallocate") and count:
            os.posix_fallocate(file.fileno(), 0, count)
        else:
            file.truncate(count)
    except OSError as error:
        raise OSError(
            f"no room for {count / 2**30:.1f} GiB of codes in {folder or tempfile.gettempdir()} "
            f"({error.strerror}): give folder= of ParquetTable, or TMPDIR, where there is."
        ) from error
