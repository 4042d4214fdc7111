"""What points of a frontier will cost and be worth on new rows.

Sets, forests and choices fit the rows that they come from, so the figures of those rows flatter: on
noise, some of hundreds of policies look good. On a few thousand rows the whole training is done again
without some of the rows, fold after fold, and each fold's own frontier is judged by the rows that it
has not seen. A point is known there by its mean bill on the rows that made it: between two policies
of a fold its figures are theirs in shares. With more rows, the model itself is judged by rows that no
choice was made on, by trees that did not see them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.isotonic import isotonic_regression

from worthwhile.costs import QUANTA_PER_UNIT, as_floats
from worthwhile.estimators.budget._induction import Points, Seen

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

FOLDS = 5
"""Parts of the rows, each of which is held out once."""

ENOUGH = 600
"""Rows that are held out at least, if there are so many; then no further fold is made."""


NEAR = 0.02
"""Lines whose bills differ by less than this share say the same: of them the cheapest is listed."""


@dataclass(frozen=True)
class Promise:
    """Mean bill and score of points on new rows, with their standard errors."""

    bill: Floats
    bill_error: Floats
    score: Floats
    score_error: Floats

    def some(self, lines: Any) -> Promise:
        """Some of them, in this order."""
        return Promise(*(getattr(self, field.name)[lines] for field in fields(self)))

    def and_then(self, more: Promise) -> Promise:
        """These, and others after them."""
        pairs = zip(vars(self).values(), vars(more).values(), strict=True)
        return Promise(*(np.concatenate(pair) for pair in pairs))


def deal_folds(slot: Array, seed: int) -> list[tuple[Array, int]]:
    """For each fold all rows, held-out ones last, and how many there are to learn from.

    Classes are spread evenly.
    """
    n = len(slot)
    order = np.random.default_rng(seed).permutation(n)
    fold = np.empty(n, dtype=np.intp)
    fold[order[np.argsort(slot[order], kind="stable")]] = np.arange(n) % FOLDS
    count = min(FOLDS, -(-ENOUGH * FOLDS // n))
    dealt = []
    for held in range(count):
        pool, out = np.flatnonzero(fold != held), np.flatnonzero(fold == held)
        dealt.append((np.concatenate([pool, out]), len(pool)))
    return dealt


def promise(
    points: Points, bounds: tuple[Floats, Floats], judged: list[tuple[Points, Seen]]
) -> Promise:
    """Figures of points from policies that were judged by other rows.

    Parameters
    ----------
    points : Points
    bounds : float64 (points,), twice
        The least and the most that any row may pay.
    judged : list of (Points, Seen)
        Of each fold, or the points themselves.
    """
    found = [_between(points.bill, *fold) for fold in judged]
    surplus = np.concatenate([fold[0] for fold in found], axis=1)
    score = np.concatenate([fold[1] for fold in found], axis=1)
    weight = np.concatenate([seen.weight for _, seen in judged])
    groups = np.repeat(np.arange(len(judged)), [len(seen.weight) for _, seen in judged])
    extra, error = _mean(surplus, weight, groups)
    bill = np.clip(points.bill + extra, *bounds)
    # What all rows pay alike is an amount of money: a budget of just so much has to allow it.
    alike = bounds[0] == bounds[1]
    bill = np.where(alike, as_floats(np.rint(bill * QUANTA_PER_UNIT)), bill)
    return Promise(bill, np.where(alike, 0.0, error), *_mean(score, weight, groups))


def _between(bill: Floats, points: Points, seen: Seen) -> tuple[Floats, Floats]:
    """What rows pay beyond a mean bill, and their scores, (len(bill), n), for mean bills of a fold."""
    low = np.clip(np.searchsorted(points.bill, bill, side="right") - 1, 0, None)
    high = np.minimum(low + 1, len(points.bill) - 1)
    width = np.where(high > low, points.bill[high] - points.bill[low], 1.0)
    share = np.clip((bill - points.bill[low]) / width, 0.0, 1.0) * (high > low)
    own = points.bill[low] + share * (points.bill[high] - points.bill[low])
    paid, score = (
        each[low] + share[:, None] * (each[high] - each[low]) for each in (seen.bill, seen.score)
    )
    return paid - own[:, None], score


def _mean(values: Floats, weight: Floats, groups: Array) -> tuple[Floats, Floats]:
    """Weighted means of (points, n) and their standard errors.

    Rows differ, and so do models that were made alike: by how much more the means of groups, each of
    another model, differ than those of any rows would.
    """
    share = weight / weight.sum()
    mean = (values * share).sum(axis=1)
    pulls = (values - mean[:, None]) * share
    by_rows, count = (pulls**2).sum(axis=1), int(groups[-1]) + 1
    if count == 1:
        return mean, np.sqrt(by_rows)
    sums = np.stack([pulls[:, groups == group].sum(axis=1) for group in range(count)])
    between = (sums**2).sum(axis=0) * count / (count - 1)
    return mean, np.sqrt(by_rows + count * np.maximum(between - by_rows, 0.0))


def smoothed(score: Floats) -> Floats:
    """Scores in the order of the bills as more money would have them: none below a cheaper one.

    The best of thirty noisy scores flatters; means over neighbours that are not in order do so hardly.
    """
    return np.asarray(isotonic_regression(score), dtype=np.float64)


def dearer_and_better(said: Promise, more: Promise) -> list[int]:
    """Those of ``more``, cheapest first, that cost more than all of ``said`` and score better than any of them.

    Scores of both are smoothed before: the best of many flatters.
    """
    best = smoothed(said.score[np.argsort(said.bill, kind="stable")])[-1]
    dearer = np.flatnonzero(more.bill > said.bill.max())
    return dearer[smoothed(more.score[dearer]) > best].tolist() if len(dearer) else []


def thinned(said: Promise, in_money: bool) -> list[int]:
    """Lines that a budget may want, of those in the order of their bills.

    The first and the last always, and that of the least total where errors have prices.
    """
    wanted = {0, len(said.bill) - 1}
    if in_money:
        wanted.add(int(np.argmin(said.bill - said.score)))
    kept: list[int] = []
    for line, bill in enumerate(said.bill.tolist()):
        if line in wanted or bill > (1 + NEAR) * said.bill[kept[-1]]:
            kept.append(line)
    return kept
