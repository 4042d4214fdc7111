"""Rewards, and what the forward-selection oracle makes of them, for many rows at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from worthwhile.core.selection.oracle_paths import follow_paths
from worthwhile.core.threads import Threads, count_threads
from worthwhile.estimators.selection._data_classifier import World
from worthwhile.policy.selection.rows import Bools, FactorPrices, Ints

Floats = npt.NDArray[np.float64]

BLOCK = 512
"""Rows that are handled together: few enough to stay in the cache, and to share among threads."""


@dataclass(frozen=True)
class Reward:
    """Margin minus ``lam`` times the share of the full price (eq. 1)."""

    lam: float
    logit: bool = False
    """Margins of logits instead of probabilities."""

    def of(self, raw: Floats, codes: Ints, share: Floats) -> Floats:
        """Rewards of states with the given raw scores (..., n_classes)."""
        return self.margin(raw, codes) - self.lam * share

    def margin(self, raw: Floats, codes: Ints) -> Floats:
        """Score of the true class minus the best other one; codes have the shape of raw[..., 0]."""
        scores = raw
        if not self.logit:
            scores = np.exp(raw - raw.max(axis=-1, keepdims=True))
        own = codes[..., None] == np.arange(raw.shape[-1])
        other = np.where(own, -np.inf, scores).max(axis=-1)
        margin: Floats = np.take_along_axis(scores, codes[..., None], axis=-1)[..., 0] - other
        return margin if self.logit else margin / scores.sum(axis=-1)


@dataclass(frozen=True)
class Prospect:
    """What the oracle sees from a state.

    Attributes
    ----------
    here : float64 (m,), reward of the state
    actions : float64 (m, n_factors), reward after buying each factor; -inf for bought ones
    best : int (m,), the greedy choice
    later : float64 (m,), best reward strictly later on the greedy path
    """

    here: Floats
    actions: Floats
    best: Ints
    later: Floats

    def values(self) -> Floats:
        """What actions are worth (m, n_factors + 1), stopping last; -inf for bought factors.

        All values are relative to the greedy choice. Stopping is priced so that it wins exactly
        where nothing later is better.
        """
        best = self.actions[np.arange(len(self.here)), self.best]
        return np.column_stack([self.actions - best[:, None], self.here - self.later])

    def labels(self, likes: Floats | None = None) -> Ints:
        """Oracle's actions, or the coach's (eq. 4) where ``likes`` (m, n_factors + 1) are added."""
        value = self.values() if likes is None else self.values() + likes
        action = np.argmax(value[:, :-1], axis=1)
        stops = value[:, -1] >= value[np.arange(len(value)), action]
        labels: Ints = np.where(stops, self.actions.shape[1], action)
        return labels


def shares(prices: FactorPrices, bought: Bools) -> Floats:
    """Price of sets of factors as a share of the full price."""
    return prices.of(bought) / max(prices.total, 1)


def look_ahead(world: World, rows: Ints, bought: Bools, reward: Reward) -> Prospect:
    """Follow the greedy path of every row to its end.

    All rows have bought equally many factors, and not all of them.
    """
    if world.adds is not None:
        return _follow(world, world.adds, rows, bought, reward)
    parts = [
        _look_ahead(world, rows[i : i + BLOCK], bought[i : i + BLOCK], reward)
        for i in range(0, len(rows), BLOCK)
    ]
    return Prospect(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _follow(world: World, adds: Floats, rows: Ints, bought: Bools, reward: Reward) -> Prospect:
    """The same where factors only add to logits: compiled, and each state on its own."""
    m, prices = len(rows), world.prices
    prospect = Prospect(
        np.empty(m), np.empty(bought.shape), np.empty(m, dtype=np.int64), np.empty(m)
    )
    raw, labels = world.raw(rows, bought), world.codes[rows].astype(np.int64)
    touches = np.ascontiguousarray(prices.touches)
    bought = np.ascontiguousarray(bought)

    def work(task: int) -> None:
        follow_paths(
            raw, adds, rows, labels, bought, prices.own, prices.fee, touches, max(prices.total, 1), reward.lam,
            reward.logit, task * BLOCK, min(m, (task + 1) * BLOCK),
            prospect.here, prospect.actions, prospect.best, prospect.later,
        )  # fmt: skip

    with Threads(count_threads(world.n_jobs)) as threads:
        threads.run(-(-m // BLOCK), work)
    return prospect


def _look_ahead(
    world: World, rows: Ints, bought: Bools, reward: Reward
) -> tuple[Floats, Floats, Ints, Floats]:
    m, n_factors = bought.shape
    at, codes, prices = np.arange(m), world.codes[rows], world.prices
    total = max(prices.total, 1)
    bought, raw = bought.copy(), world.raw(rows, bought)
    spent = prices.of(bought)
    here = reward.of(raw, codes, spent / total)
    left = np.flatnonzero(~bought.ravel()).reshape(m, -1) % n_factors
    actions = np.full((m, n_factors), -np.inf)
    later = np.full(m, -np.inf)
    best: Ints | None = None
    while left.shape[1]:
        after = world.raw_after(rows, bought, left, raw)
        price = _marginal(prices, bought)[at[:, None], left] + spent[:, None]
        values = reward.of(after, np.broadcast_to(codes[:, None], left.shape), price / total)
        place = np.argmax(values, axis=1)
        if best is None:
            best = left[at, place]
            actions[at[:, None], left] = values
        later = np.maximum(later, values[at, place])
        bought[at, left[at, place]] = True
        spent, raw = price[at, place], after[at, place]
        left = left[np.arange(left.shape[1]) != place[:, None]].reshape(m, -1)
    assert best is not None
    return here, actions, best, later


def _marginal(prices: FactorPrices, bought: Bools) -> Ints:
    """Price of every factor for rows with these purchases."""
    if len(prices.fee) == 0:
        return np.broadcast_to(prices.own, bought.shape)
    opened = np.column_stack(
        [bought[:, prices.touches[:, g]].any(axis=1) for g in range(len(prices.fee))]
    )
    return prices.marginal(opened)
