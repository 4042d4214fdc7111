"""Training rows as codes of bins, ready for a booster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.boosting.binning import Bins, encode_matrix, find_bins
from worthwhile.core.boosting.layout import Layout, find_exclusive
from worthwhile.core.boosting.rounding import (
    round_weights,
)
from worthwhile.core.dtypes import SUM
from worthwhile.core.threads import Threads

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BinnedData:
    """Codes of the training rows, and of further rows under the same bins.

    Attributes
    ----------
    bins, layout : Bins, Layout
        Thresholds, and where features lie.
    words : uint64 (blocks, n)
        Codes of the training rows.
    others : list of uint64 arrays
        Codes of the further matrices.
    weight : int64 (n,), or empty
        Rounded sample weights.
    power : int
        Power of two by which weights were multiplied.
    """

    bins: Bins
    layout: Layout
    words: npt.NDArray[np.uint64]
    others: list[npt.NDArray[np.uint64]]
    weight: npt.NDArray[np.int64]
    power: int

    @classmethod
    def prepare(
        cls,
        X: Array,
        threads: Threads,
        sample_weight: Floats | None = None,
        others: Sequence[Array] = (),
        categorical: npt.NDArray[np.bool_] | None = None,
    ) -> BinnedData:
        """Bin a matrix; NaN is a state of its own. ``others`` take the bins of ``X``.

        ``categorical`` (d,) says which columns hold codes of categories, whole numbers from 0 to 254.
        """
        weight, power = whole_weights(sample_weight, len(X), threads)
        bins = find_bins_with(X, weight, threads, others, categorical)
        layout = Layout.plan(bins, find_exclusive([X, *others], bins, threads))
        words = encode_matrix(X, bins, layout, threads)
        coded = [encode_matrix(other, bins, layout, threads) for other in others]
        return cls(bins, layout, words, coded, weight, power)


def whole_weights(
    sample_weight: Floats | None, n_rows: int, threads: Threads
) -> tuple[npt.NDArray[np.int64], int]:
    """Rounded weights (empty where all rows weigh the same), and the power of two in them."""
    if sample_weight is None:
        return np.empty(0, dtype=SUM), 0
    everybody = threads.collective
    largest, uneven = everybody.max(
        np.array([sample_weight.max(initial=0.0), (sample_weight != 1).any()])
    )
    n_total = int(everybody.sum(np.array([n_rows]))[0])
    if not uneven:
        return np.empty(0, dtype=SUM), 0
    weight, power = round_weights(sample_weight, n_total, largest)
    return weight, power


def find_bins_with(
    X: Array,
    weight: npt.NDArray[np.int64],
    threads: Threads,
    others: Sequence[Array],
    categorical: npt.NDArray[np.bool_] | None,
) -> Bins:
    """Bins of a matrix, which know of values that are missing, and of categories, in others alone."""
    bins: Bins = find_bins(X, weight, threads, categorical)
    missing = bins.missing.copy()
    for other in others:
        if other.dtype.kind == "f":
            missing |= threads.collective.max(_has_missing(other))
        bins = bins.with_codes(other, threads)
    return replace(bins, missing=missing)


def _has_missing(X: Any) -> npt.NDArray[np.bool_]:
    """Which columns of a matrix, in memory or in a file, have missing values."""
    if isinstance(X, np.ndarray):
        found: npt.NDArray[np.bool_] = np.any(np.isnan(X), axis=0)
        return found
    return np.array([np.isnan(X.part(c, 0, len(X))).any() for c in range(X.shape[1])], dtype=bool)
