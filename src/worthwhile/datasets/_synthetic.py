"""The small synthetic problems of the papers, whose best policy can be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from worthwhile.costs import Costs
from worthwhile.datasets._checks import not_negative, whole

__all__ = ["make_quarter_bits", "make_synthetic_1", "make_synthetic_2"]

Problem = tuple[pd.DataFrame, NDArray[np.int64], Costs]

N_BITS = 10


def make_quarter_bits() -> Problem:
    """All 1024 settings of ten bits, labelled by quarter, with one exception in each quarter.

    The problem of Nan, Wang and Saligrama, "Feature-budgeted random forest" (ICML 2015), figures 1
    and 2. Row ``i`` holds the bits of ``i``, the highest first. Rows 1..255, 257..511, 513..767 and
    769..1023 have labels 1, 2, 3 and 4; rows 0, 256, 512 and 768 have the label of the next
    quarter (the last one that of the first). Each bit costs 1.

    **Best policy.** ``bit_0`` and ``bit_1`` give the quarter: every row right but 4, at a cost of 2
    for each row. A policy without errors pays 10 for its worst row, since changing any one bit of
    row 0 changes its label; reading on until a bit is 1 does it at a mean cost of 3.9921875.

    Returns
    -------
    X : DataFrame of shape (1024, 10)
        0.0 and 1.0, columns ``bit_0`` .. ``bit_9``.
    y : int64 array of shape (1024,)
        1, 2, 3, 4.
    costs : Costs
        1 for each bit.

    Examples
    --------
    >>> from worthwhile.datasets import make_quarter_bits
    >>> X, y, costs = make_quarter_bits()
    >>> X.loc[256].astype(int).tolist(), int(y[256]), int(y[257])
    ([0, 1, 0, 0, 0, 0, 0, 0, 0, 0], 3, 2)
    """
    number = np.arange(2**N_BITS)
    bits = (number[:, None] >> np.arange(N_BITS - 1, -1, -1)) & 1
    quarter = number // 256
    label = 1 + (quarter + (number % 256 == 0)) % 4
    names = [f"bit_{k}" for k in range(N_BITS)]
    X = pd.DataFrame(bits.astype(np.float64), columns=names)
    return X, label.astype(np.int64), Costs(dict.fromkeys(names, 1))


def make_synthetic_1(n: int = 1000, seed: int = 0) -> Problem:
    """A plane with an easy side, a hard centre and an easy but contrary other side.

    After Synthetic-1 of Nan and Saligrama, "Adaptive classification for prediction under a budget"
    (NIPS 2017), figure 2. Features are free: it shows how a gate and a cheap model share the work
    with an exact model, not what they pay.

    * left, 40 % of the rows: ``x1`` in [-3, -1], class is the sign of ``x2``;
    * centre, 40 %: a disc (class 1) inside a ring (class -1);
    * right, 20 %: ``x1`` in [1, 3], class is the opposite of the sign of ``x2``.

    **Best policy.** With a linear gate and a linear cheap model: answer the left side by the sign
    of ``x2`` and send the other 60 % to the exact model, with no errors. With trees for both: send
    only the centre. A linear model of everything follows the sign of ``x2`` and gets the right side
    and half of the centre wrong.

    Differs from the paper: it prints a picture and no numbers. This is a problem of our own with
    the properties the text names (about 60 % sent by the linear gate, an ambiguous centre found by
    the trees, an exact model that needs a curved border).

    Parameters
    ----------
    n : int, default=1000
        Number of rows, at least 10.
    seed : int, default=0
        Seed of the draw.

    Returns
    -------
    X : DataFrame of shape (n, 2)
        Columns ``x1``, ``x2``.
    y : int64 array of shape (n,)
        -1 or 1.
    costs : Costs
        Both features are free.

    Examples
    --------
    >>> from worthwhile.datasets import make_synthetic_1
    >>> X, y, costs = make_synthetic_1(500, seed=1)
    >>> left = X["x1"] < -1
    >>> float(left.mean()), bool(((X["x2"][left] > 0) == (y[left] > 0)).all())
    (0.4, True)
    """
    n, seed = whole(n, "n", 10), whole(seed, "seed", 0)
    rng = np.random.default_rng([1, seed])
    sizes = _sizes(n, (0.4, 0.4, 0.2))
    points, labels = [], []
    for block, size in enumerate(sizes):
        label = np.where(np.arange(size) % 2 == 0, 1, -1)
        if block == 1:
            radius = np.where(
                label > 0, 0.6 * np.sqrt(rng.random(size)), 0.8 + 0.2 * rng.random(size)
            )
            angle = 2 * np.pi * rng.random(size)
            x = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
        else:
            # A gap around x2 = 0, so that the classes can be told apart without errors; beyond 1
            # by a hair, so that no row of a side touches the centre.
            side, upward = (-1, label) if block == 0 else (1, -label)
            x1 = side * (1.0 + 1e-9 + 2 * rng.random(size))
            x = np.column_stack([x1, upward * (0.1 + 0.9 * rng.random(size))])
        points.append(x)
        labels.append(label)
    return _shuffled(np.concatenate(points), np.concatenate(labels), rng, price=0)


def make_synthetic_2(
    n: int = 1000,
    seed: int = 0,
    *,
    shares: Sequence[float] = (0.26, 0.26, 0.24, 0.24),
    separation: float = 1.0,
) -> Problem:
    """Four clusters of two classes: the wrong feature is tempting, the right one is cheaper.

    Synthetic-2 of Nan and Saligrama (NIPS 2017), figure 3. Centres, with ``s = separation``:
    (-1, s) class 1, (1, s) class -1, (1, 0) class 1, (1, -s) class -1; standard deviation 0.15 in
    both directions; each feature costs 1. An exact model reads both and costs 2.

    **Best policy.** Read ``x2``. Below ``s/2`` it tells clusters 3 and 4 apart: answer. Above it,
    read ``x1`` as well. Mean cost 1 + share of clusters 1 and 2: 1.52, and 1.5 with equal shares.
    A gate on ``x1`` can answer cluster 1 alone: 1.74, or 1.75. An L1 penalty picks ``x1``, because
    clusters 1 and 2 are larger.

    Differs from the paper: it prints a picture and the two costs; centres, spread and sizes are
    reconstructed from them.

    Parameters
    ----------
    n, seed
        As for :func:`make_synthetic_1`; at least 4 rows.
    shares : four positive numbers that add up to 1, default=(0.26, 0.26, 0.24, 0.24)
        Shares of the clusters; the counts are the nearest whole numbers, not random.
    separation : float, default=1.0
        Vertical distance between the rows of clusters.

    Returns
    -------
    X, y
        As for :func:`make_synthetic_1`.
    costs : Costs
        1 for each feature.

    Examples
    --------
    >>> from worthwhile.datasets import make_synthetic_2
    >>> X, y, costs = make_synthetic_2(1000, separation=2)
    >>> float(1 + (X["x2"] > 1).mean())
    1.52
    """
    n, seed = whole(n, "n", 4), whole(seed, "seed", 0)
    s = not_negative(separation, "separation")
    parts = [not_negative(part, "shares") for part in shares]
    if len(parts) != 4 or min(parts) <= 0 or abs(sum(parts) - 1) > 1e-9:
        raise ValueError(f"shares is {shares!r}: give four positive numbers that add up to 1.")
    rng = np.random.default_rng([2, seed])
    centres = np.array([[-1, s], [1, s], [1, 0], [1, -s]])
    cluster = np.repeat(np.arange(4), _sizes(n, parts))
    points = centres[cluster] + 0.15 * rng.standard_normal((n, 2))
    return _shuffled(points, np.array([1, -1, 1, -1])[cluster], rng, price=1)


def _sizes(n: int, shares: Sequence[float]) -> list[int]:
    """Whole numbers close to ``n * shares`` that add up to ``n``."""
    ends = [round(n * sum(shares[: k + 1])) for k in range(len(shares))]
    return [end - start for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def _shuffled(
    points: NDArray[np.float64], labels: NDArray[np.int64], rng: np.random.Generator, price: int
) -> Problem:
    order = rng.permutation(len(points))
    X = pd.DataFrame(points[order], columns=["x1", "x2"])
    return X, labels[order].astype(np.int64), Costs({"x1": price, "x2": price})
