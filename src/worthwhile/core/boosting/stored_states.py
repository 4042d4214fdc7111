"""Code words of rows that are binned a column at a time, in files instead of memory.

The states (bins, or missing) of a feature, a byte for each row, are written as soon as its bins are known.
When all are, and with them the layout, the words are put together from the states: see
:func:`worthwhile.core.boosting.binning.encode_matrix`, which does both at once.
"""

from __future__ import annotations

import tempfile

import numpy as np

from worthwhile.core.boosting.binning import encode
from worthwhile.core.boosting.layout import FEATURE, STRIDE, UP
from worthwhile.core.boosting.stored_columns import StoredColumns, reserve
from worthwhile.core.dtypes import BLOCK, CODE, WORD

STRETCH = 1 << 20
"""Rows whose words are put together at a time."""


class StoredStates(StoredColumns):
    """States of some rows, feature after feature.

    Parameters
    ----------
    n_rows, n_features : int
        Its shape.
    folder : path, optional
        Where the file is made.
    """

    def __init__(self, n_rows, n_features, folder=None):
        super().__init__(n_rows, n_features, CODE, folder)

    def put(self, feature, values, thresholds, count):
        """Encode the values (n,) of a feature with so many bins."""
        states = np.zeros(len(values), dtype=CODE)
        encode(values, thresholds, count, 1, states)
        self.write(feature, 0, states)

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
        reserve(file, count, folder)
        mapped = np.memmap(file, dtype=CODE, mode="r+", shape=shape)
    return mapped.view(np.ndarray)
