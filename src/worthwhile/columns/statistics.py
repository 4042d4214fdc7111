"""What a target has to do with the values of a category, without looking at a row's own target."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.columns.cells import Floats

COMMON = 50
"""Rows from which a level is common: its mean hardly depends on any one of them."""

SMOOTHING = 10.0
"""Rows of the overall mean that every level is given: a level seen once says little."""

Codes = npt.NDArray[np.intp]


def targets_of(y: Any, n_classes: int | None) -> Floats:
    """Targets as columns whose means are of interest: values, or indicators of classes.

    Examples
    --------
    >>> import numpy as np
    >>> targets_of(np.array([0, 1, 1]), 2).ravel().tolist()  # of two classes, one indicator
    [0.0, 1.0, 1.0]
    """
    if n_classes is None:
        values = np.asarray(y, dtype=np.float64)
        return values.reshape(len(values), -1)
    first = 1 if n_classes == 2 else 0
    return np.asarray(np.asarray(y)[:, None] == np.arange(first, n_classes), dtype=np.float64)


def level_means(codes: Codes, n_codes: int, targets: Floats, weight: Floats) -> Floats:
    """Smoothed mean target of each code, (n_codes, t); of a code without rows, the overall mean.

    ``weight`` (n,): how much each row counts.
    """
    count, total = _sums(codes, n_codes, targets, weight)
    return _smoothed(count, total, _mean(targets, weight))


def training_means(codes: Codes, n_codes: int, targets: Floats, weight: Floats) -> Floats:
    """Smoothed mean of each training row's code without the row's own target, (n, t).

    A rare level takes the rows before this one in a fixed shuffle, the same at every fit (ordered target
    statistics; Prokhorenkova et al., 2018). Rows of other folds would not do: what a fold lacks says
    what its own rows have, and methods that look closely at many columns add that up. Common levels
    have the mean of all their rows, as in prediction.
    """
    mean = _mean(targets, weight)
    found = _smoothed(*_sums(codes, n_codes, targets, weight), mean)[codes]
    place = np.random.default_rng(0).permutation(len(codes))
    rare = np.flatnonzero(counts(codes, n_codes)[codes] < COMMON)
    rows = rare[
        np.lexsort((place[rare], codes[rare]))
    ]  # level by level, each in the shuffled order
    first = np.flatnonzero(np.diff(codes[rows], prepend=-1))
    size = np.diff(np.append(first, len(rows)))
    # Sums over the earlier rows of the level, of weights and of weighted targets.
    own = np.column_stack([weight[rows], weight[rows, None] * targets[rows]])
    held = np.cumsum(own, axis=0) - own
    held -= np.repeat(held[first], size, axis=0)
    found[rows] = _smoothed(held[:, 0], held[:, 1:], mean)
    return found


def main_direction(table: Floats, count: Floats) -> Floats:
    """The direction in which the mean targets of levels differ most, unit length, (t,).

    Levels in the order of their scores along it are split almost as well by thresholds as by all
    subsets of levels (Coppersmith, Hong and Hosking, 1999); with one target, the order is exact.
    """
    if table.shape[1] == 1:
        return np.ones(1)
    weight = count / max(count.sum(), 1.0)
    centred = table - (weight[:, None] * table).sum(axis=0)
    covariance = np.einsum(
        "l,lt,lu->tu", weight, centred, centred
    )  # no BLAS: the same bits anywhere
    direction = np.asarray(np.linalg.eigh(covariance)[1][:, -1])
    # A sign is arbitrary: the largest entry is positive, so that every machine agrees.
    sign = np.sign(direction[np.argmax(np.abs(direction))]) or 1.0
    return np.asarray(direction * sign, dtype=np.float64)


def counts(codes: Codes, n_codes: int, weight: Floats | None = None) -> Floats:
    """Rows, or weight, of each code."""
    return np.asarray(np.bincount(codes, weight, minlength=n_codes), dtype=np.float64)


def _mean(targets: Floats, weight: Floats) -> Floats:
    mean: Floats = (weight[:, None] * targets).sum(axis=0) / weight.sum()
    return mean


def _sums(codes: Codes, n_codes: int, targets: Floats, weight: Floats) -> tuple[Floats, Floats]:
    total = [np.bincount(codes, weight * column, minlength=n_codes) for column in targets.T]
    return counts(codes, n_codes, weight), np.asarray(np.stack(total, axis=1), dtype=np.float64)


def _smoothed(count: Floats, total: Floats, mean: Floats) -> Floats:
    smoothed: Floats = (total + SMOOTHING * mean) / (count + SMOOTHING)[:, None]
    return smoothed
