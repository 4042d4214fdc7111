"""A ranking problem of the shape of Yahoo's learning-to-rank data, with its real prices."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from worthwhile.costs import Costs
from worthwhile.datasets._checks import whole

__all__ = ["make_yahoo_like"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

LEVELS = (1, 5, 20, 50, 100, 150, 200)
"""The prices that occur."""

# Level of the price of each of the 519 columns, in the published order.
PRICE_CODES = (
    "42120425002132220000322200005325022032052232330222212242552220025351422203012225"
    "33303323003023230253333431335023003324012103323233300101305232204342253202300002"
    "02020220321200333303322343302120330300233422223302022222235305332522223200423323"
    "30002020235023333202132021103022026003043333222220232202223110022022205020513232"
    "32200321251220352202035000250220212230223200222312021030542203220323202031403033"
    "20301022402221122022325353233233220252200230333322302105121220235232205003332200"
    "025242322213230332523220020222222333320"
)

N_FEATURES = 519
N_NOISE = 173
N_FACTORS, N_ASPECTS = 12, 3
QUERY_FACTORS = 10
"""Factors from here on belong to the query: all its documents share them."""
QUERY_SHARE = 0.25
"""Share of the variance of the other factors that belongs to the query."""
QUERIES_PER_BLOCK = 256

# Shares of grades 0..4 in set 1: Chapelle and Chang, "Yahoo! Learning to Rank Challenge overview",
# JMLR W&CP 14 (2011). THRESHOLDS are the quantiles of the relevance score that give them, taken
# once from four million documents and then fixed, so that every draw is from one problem.
GRADE_SHARES = (0.2609, 0.3580, 0.2855, 0.0767, 0.0189)
THRESHOLDS = (-1.99, 0.25, 2.6, 4.39)

TRUTH_SCALE = 1.85
"""Standard deviation of the systematic part of relevance, from the same documents."""
JUDGE_ERROR = 1.48
"""Standard deviation of the judges' error: 0.8 of the above."""

# The recipe was fixed before any method was run on it. Changing a number here makes another
# problem, and figures on the two cannot be compared.
_RECIPE_SEED, _ROWS_SEED = 20120626, 20120627


class Recipe(NamedTuple):
    """What each column shows; the same for every seed."""

    price: NDArray[np.int64]
    """Price of the column."""
    noise: NDArray[np.bool_]
    """Whether the column shows nothing."""
    source: NDArray[np.int64]
    """Aspect that the column shows: factor times 3 plus number of the aspect."""
    leak: NDArray[np.int64]
    """Second aspect, of which a little shows through."""
    strength: Singles
    """Correlation with the aspect, before the leak."""
    leak_weight: Singles
    """Weight of the second aspect."""
    kind: NDArray[np.int64]
    """0, 1: smooth; 2: nothing below the middle, as a count; 3: steps of an eighth."""


def make_yahoo_like(
    n: int = 10000, seed: int = 0
) -> tuple[Singles, NDArray[np.int64], NDArray[np.int64], Costs]:
    """Documents of queries with grades 0 to 4, and 519 features with the prices of Yahoo's.

    The Yahoo! Learning to Rank data (set 1) is licensed. This is a problem of its shape: as many
    features, their real prices in their real order ({1: 123, 5: 31, 20: 191, 50: 125, 100: 16,
    150: 32, 200: 1}, 16948 in all), about 24 documents in a query (4 to 84), values in [0, 1],
    grades in the proportions of set 1 (26.1, 35.8, 28.6, 7.7 and 1.9 %).

    A document has twelve hidden factors, two of them its query's. Its relevance is a sum of some of
    them, of the smaller and of the larger of two, of one that counts only in half of the queries,
    of one that should be neither high nor low, and of the judges' error, which is 39 % of the
    variance. A factor has three aspects, each the factor with an error of its own, and a feature
    shows one aspect through noise (a little of a second one leaks in): features of the same
    aspect repeat each other, and to know a factor well takes several aspects. Price is weakly tied
    to how well a feature shows its aspect. A third of the features (173) are noise, at all
    prices. The one feature of price 200 shows relevance itself through noise, and is the best
    single one, as in the papers, where it is always bought.

    What the features show is fixed; the seed draws queries and documents. So two seeds are two
    samples of one problem (train on one, test on the other), and a shorter draw is the beginning
    of a longer one with the same seed.

    Parameters
    ----------
    n : int, default=10000
        Number of documents. The last query is cut off there. The papers' training set has 141397.
    seed : int, default=0
        Seed of the draw.

    Returns
    -------
    X : float32 array of shape (n, 519)
    y : int64 array of shape (n,)
        Grades 0 to 4.
    qid : int64 array of shape (n,)
        Number of the query, from 0; documents of a query follow each other.
    costs : Costs
        By column.

    Examples
    --------
    >>> from worthwhile.datasets import make_yahoo_like
    >>> X, y, qid, costs = make_yahoo_like(1000, seed=0)
    >>> X.shape, X.dtype, int(y.max()), costs.total
    ((1000, 519), dtype('float32'), 4, 16948.0)
    """
    n, seed = whole(n, "n", 1), whole(seed, "seed", 0)
    recipe = yahoo_like_recipe()
    X = np.empty((n, N_FEATURES), dtype=np.float32)
    y, qid = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    done, block = 0, 0
    while done < n:
        rows, grades, query = _draw_block(recipe, seed, block)
        some = slice(done, min(n, done + len(rows)))
        length = some.stop - done
        X[some], y[some] = rows[:length], grades[:length]
        qid[some] = block * QUERIES_PER_BLOCK + query[:length]
        done, block = some.stop, block + 1
    return X, y, qid, Costs(recipe.price)


def yahoo_like_recipe() -> Recipe:
    """What each column of :func:`make_yahoo_like` shows."""
    level = np.array([int(code) for code in "".join(PRICE_CODES)])
    top = int(np.flatnonzero(level == len(LEVELS) - 1)[0])
    rng = np.random.default_rng(_RECIPE_SEED)
    order = rng.permutation(N_FEATURES)
    noise = np.zeros(N_FEATURES, dtype=bool)
    noise[order[order != top][:N_NOISE]] = True
    strength = 0.2 + 0.5 * rng.random(N_FEATURES) + 0.025 * level
    leak_weight = 0.3 * rng.random(N_FEATURES)
    source, leak = rng.integers(0, N_FACTORS * N_ASPECTS, (2, N_FEATURES))
    kind = rng.integers(0, 4, N_FEATURES)
    strength[noise] = leak_weight[noise] = leak_weight[top] = 0.0
    # An aspect number past the last stands for relevance itself.
    strength[top], source[top], kind[top] = 0.6, N_FACTORS * N_ASPECTS, 0
    return Recipe(
        np.array(LEVELS)[level], noise, source, leak,
        strength.astype(np.float32), leak_weight.astype(np.float32), kind,
    )  # fmt: skip


def _draw_block(
    recipe: Recipe, seed: int, block: int
) -> tuple[Singles, NDArray[np.int64], NDArray[np.int64]]:
    """All documents of 256 queries. Element by element only, no BLAS: the same bits anywhere."""
    rng = np.random.default_rng([_ROWS_SEED, seed, block])
    factors, query, first, error = _draw_factors(rng)
    truth = systematic_relevance(factors)
    grades = np.searchsorted(THRESHOLDS, truth + JUDGE_ERROR * error)

    own = rng.standard_normal((len(query), N_FACTORS * N_ASPECTS))
    own[:, QUERY_FACTORS * N_ASPECTS :] = own[first][:, QUERY_FACTORS * N_ASPECTS :]
    aspects = 0.8 * np.repeat(factors, N_ASPECTS, axis=1) + 0.6 * own
    shown = np.column_stack([aspects, truth / TRUTH_SCALE]).astype(np.float32)

    values = rng.standard_normal((len(query), N_FEATURES), dtype=np.float32)
    of_query = (recipe.source // N_ASPECTS >= QUERY_FACTORS) & (
        recipe.source < N_FACTORS * N_ASPECTS
    )
    values[:, of_query] = values[first][:, of_query]
    values *= np.sqrt(1 - recipe.strength * recipe.strength)
    values += recipe.strength * shown[:, recipe.source]
    # What leaks into a feature of the query must be of the query too: take its first document's.
    leaking = shown[:, recipe.leak]
    leaking[:, of_query] = leaking[first][:, of_query]
    values += recipe.leak_weight * leaking
    return _to_unit(values, recipe.kind), grades.astype(np.int64), query


def _draw_factors(
    rng: np.random.Generator,
) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64], Floats]:
    """Factors of each document, its query, the first row of that query, the judges' error."""
    shape = rng.random((2, QUERIES_PER_BLOCK))
    size = 4 + (81 * shape[0] * shape[1]).astype(np.int64)
    query = np.repeat(np.arange(QUERIES_PER_BLOCK), size)
    first = np.repeat(np.cumsum(size) - size, size)
    share = np.where(np.arange(N_FACTORS) < QUERY_FACTORS, QUERY_SHARE, 1.0)
    common = rng.standard_normal((QUERIES_PER_BLOCK, N_FACTORS))
    own = rng.standard_normal((len(query), N_FACTORS))
    factors = np.sqrt(share) * common[query] + np.sqrt(1 - share) * own
    return factors, query, first, rng.standard_normal(len(query))


def systematic_relevance(z: Floats) -> Floats:
    """Relevance as the factors determine it, before the judges' error."""
    return np.asarray(
        0.9 * z[:, 0]
        + 0.6 * z[:, 1]
        + 0.45 * z[:, 2]
        + 0.3 * z[:, 3]
        + 0.3 * z[:, 4]
        + 0.8 * np.minimum(z[:, 0], z[:, 5])
        + 0.7 * z[:, 6] * (z[:, 10] > 0)
        + 0.5 * np.maximum(z[:, 7], z[:, 8])
        - 0.4 * np.minimum(np.abs(z[:, 9]), 2.0)
        + 0.5 * z[:, 11]
    )


def _to_unit(values: Singles, kind: NDArray[np.int64]) -> Singles:
    """Real numbers to [0, 1], by the kind of column."""
    counts = kind == 2
    positive = np.maximum(values[:, counts], 0)
    unit: Singles = np.float32(0.5) + np.float32(0.5) * values / (1 + np.abs(values))
    unit[:, counts] = positive / (1 + positive)
    steps = kind == 3
    unit[:, steps] = np.floor(8 * unit[:, steps]) / 8
    return unit
