"""Greedy selection of features by fit gained per price.

The search knows prices, fees and the budget; an engine (:mod:`worthwhile.core.linear.fit_gain`) knows only
the fit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from worthwhile.core.linear.fit_gain import COLLINEAR
from worthwhile.costs import FlatCosts

NO_PROGRESS = 1e-12
"""A gain in weighted R^2 that is not worth a purchase."""

SAME = 1e-10
"""Ratios closer than this are ties: then the lower price, then the lower index wins."""

UNLIMITED = np.iinfo(np.int64).max

BATCH = 16
"""Columns of the Gram computed together when they are computed on demand."""


@dataclass(frozen=True)
class SharedPrices:
    """Prices of inputs that are made of features: an input costs what its features still cost.

    Attributes
    ----------
    needs : ndarray (inputs, d) bool, the features of each input
    features : FlatCosts, what the features themselves still cost
    """

    needs: np.ndarray
    features: FlatCosts

    @property
    def price(self):
        """What each input would cost now: its features and their unopened fees."""
        return self.features.bill(self.needs)

    alone = price

    @property
    def fee(self):
        """Inputs have no fees of their own: those of the features are in the price."""
        return np.zeros(0, dtype=np.int64)

    def after(self, inputs):
        """The prices once ``inputs`` are bought."""
        return SharedPrices(self.needs, self.features.after(self.needs[inputs].any(axis=0)))


@dataclass(frozen=True)
class Selection:
    """What greedy selection took, in order.

    Attributes
    ----------
    features : ndarray (j,) int64
    fit : ndarray (j,) float64, weighted R^2 after each feature
    spent : int, quanta
    prefix : int, how many were taken before the first best choice that did not fit the budget
    prefix_spent : int, quanta spent by then: the T of Theorem 2.2
    pivot : float, the smallest remaining share of a taken feature's square; small is ill-conditioned
    """

    features: np.ndarray
    fit: np.ndarray
    spent: int
    prefix: int
    prefix_spent: int
    pivot: float


def _best(ratio, price):
    """Index of the best ratio; ties by lower price, then lower index; -1 if none is positive."""
    top = ratio.max(initial=0.0)
    if top <= 0.0:
        return -1
    tied = np.flatnonzero(ratio >= top * (1.0 - SAME))
    return int(tied[np.argmin(price[tied])])


def gains(engine):
    """Explained sum of squares each feature would add; 0 for taken, constant and collinear ones."""
    usable = engine.square > engine.floor
    numerator = np.add.reduce(engine.cross * engine.cross, axis=1)
    return np.divide(numerator, engine.square, out=np.zeros_like(numerator), where=usable)


def gain_of(engine, a):
    """The same for one feature."""
    if engine.square[a] <= engine.floor[a]:
        return 0.0
    return float(np.add.reduce(engine.cross[a] * engine.cross[a]) / engine.square[a])


def group_block(S, r, price, members, fee, limit):
    """Best first purchase among features behind an unpaid fee: greedy on their residual Gram.

    Parameters
    ----------
    S, r : residual Gram (g, g) and cross products (g, m) of the usable members
    price : ndarray (g,) int64
    members : ndarray (g, m) bool, the fees that each of them opens
    fee : ndarray (m,) int64, 0 where it is paid
    limit : int, quanta

    Returns
    -------
    gain : float, explained sum of squares
    cost : int, fee and prices
    members : list of int, positions in the order of taking; empty if nothing fits
    """
    S, r, order = S.copy(), r.copy(), []
    scale = np.diagonal(S).copy()
    gain, cost, best = 0.0, 0, (0.0, 0, [])
    unpaid, own = fee.copy(), price
    for _ in range(len(price)):
        square, price = np.diagonal(S), own + members @ unpaid
        usable = (square > COLLINEAR * scale) & (price <= limit - cost)
        usable[order] = False
        if not usable.any():
            break
        add = np.where(usable, np.add.reduce(r * r, axis=1) / np.where(usable, square, 1.0), 0.0)
        # The member that makes the ratio of the whole block best, fees included.
        ratio = np.divide(gain + add, cost + price, out=np.zeros(len(price)), where=usable)
        a = _best(ratio, price)
        if a < 0:
            break
        gain, cost = gain + float(add[a]), cost + int(price[a])
        order.append(a)
        unpaid[members[a]] = 0
        if gain > best[0] * cost / best[1] * (1 + SAME) if best[2] else gain > 0:
            best = (gain, cost, order.copy())
        v = S[a] / np.sqrt(S[a, a])
        u = r[a] / np.sqrt(S[a, a])
        S -= np.outer(v, v)
        r -= np.outer(v, u)
    return best


class _Search:
    """The state of one :func:`select`."""

    def __init__(self, engine, prices: FlatCosts | SharedPrices, budget):
        self.engine, self.budget = engine, budget
        self._read(prices)
        self.features: list[int] = []
        self.fit: list[float] = []
        self.spent, self.explained, self.pivot = 0, 0.0, 1.0

    def _read(self, prices):
        self.prices = prices
        self.price, self.alone, self.fee = prices.price, prices.alone, prices.fee

    def take(self, a, likely=()):
        """Buy one feature, and the fees that it opens."""
        self.spent += int(self.alone[a])
        self._read(self.prices.after([a]))
        self.explained += gain_of(self.engine, a)
        self.pivot = min(
            self.pivot, float(self.engine.square[a] * COLLINEAR / self.engine.floor[a])
        )
        self.engine.take(a, likely)
        self.features.append(a)
        self.fit.append(self.explained / self.engine.total if self.engine.total > 0 else 0.0)

    def behind_fee(self):
        """Which features still need a fee to be paid."""
        return self.alone > self.price

    def take_free(self):
        """Everything that costs nothing, whether or not it gains; only the span matters."""
        free = self.alone == 0
        usable = np.flatnonzero(free & (self.engine.square > self.engine.floor))
        if not usable.size:
            return
        self.engine.prepare(usable)
        if self.engine.take_together(usable):
            self.note_together(usable)
        while True:
            left = free & (self.engine.square > self.engine.floor)
            if not left.any():
                return
            self.take(int(np.argmax(np.where(left, gains(self.engine), -1.0))))

    def note_together(self, features):
        """Write down what :meth:`MomentsEngine.take_together` took."""
        added = np.add.reduce(self.engine.projected() ** 2, axis=1)
        left = self.engine.pivots() * COLLINEAR / self.engine.floor[features]
        self.pivot = min(self.pivot, float(left.min()))
        self.features = features.tolist()
        self.fit = (np.cumsum(added) / max(self.engine.total, 1e-300)).tolist()
        self.explained = float(np.add.reduce(added))

    def best_single(self, limit):
        """Best single feature of the open ones: (ratio, [feature], cost, next best)."""
        gain = gains(self.engine)
        worth = (gain > NO_PROGRESS * self.engine.total) & (self.price > 0) & (self.price <= limit)
        if self.fee.size:
            worth &= ~self.behind_fee()
        ratio = np.divide(gain, self.price, out=np.zeros_like(gain), where=worth)
        a = _best(ratio, self.price)
        if a < 0:
            return 0.0, [], 0, ()
        likely = ()
        if self.engine.on_demand:
            likely = np.argsort(-ratio, kind="stable")[:BATCH]
            likely = likely[ratio[likely] > 0]
        return float(ratio[a]), [a], int(self.price[a]), likely

    def best_block(self, limit):
        """Best purchase that opens a fee, in the form of :meth:`best_single`."""
        best = (0.0, [], 0, ())
        unpaid = np.flatnonzero(self.fee > 0)
        if not unpaid.size:
            return best
        opens = self.prices.members[:, unpaid]
        for g in range(len(unpaid)):
            members = np.flatnonzero(opens[:, g] & (self.engine.square > self.engine.floor))
            if not members.size:
                continue
            S, r = self.engine.block(members)
            gain, cost, order = group_block(
                S, r, self.price[members], opens[members], self.fee[unpaid], limit
            )
            if (
                order
                and gain > NO_PROGRESS * self.engine.total
                and gain / cost > best[0] * (1 + SAME)
            ):
                best = (gain / cost, [int(members[i]) for i in order], cost, ())
        return best

    def best(self, limit):
        """Best purchase of cost at most ``limit``: (features, cost, next best)."""
        single = self.best_single(limit)
        block = self.best_block(limit)
        return (block if block[0] > single[0] else single)[1:]


def select(
    engine, prices: FlatCosts | SharedPrices, budget: int, on_overflow: str = "skip"
) -> Selection:
    """Take free features, then the best gain per price while the budget lasts.

    The features behind a fee that is not yet paid compete as a block: those of them whose joint gain
    per joint price, all fees included, is best.

    Parameters
    ----------
    engine : MomentsEngine or QREngine
    prices : FlatCosts or SharedPrices
    budget : int, quanta
    on_overflow : {"skip", "stop", "exceed"}
        What to do when the best choice does not fit: go on with the best that fits, end, or take it and
        end, which exceeds the budget. What "stop" takes is a prefix of what the others take.
    """
    search = _Search(engine, prices, budget)
    search.take_free()
    prefix = None
    while True:
        members, cost, likely = search.best(UNLIMITED if prefix is None else budget - search.spent)
        if members and search.spent + cost > budget:
            prefix = (len(search.features), search.spent)
            if on_overflow == "stop":
                break
            if on_overflow == "skip":
                continue
        if not members:
            break
        for member in members:
            search.take(member, likely)
        search.take_free()
        if search.spent > budget:
            break
    prefix = prefix or (len(search.features), search.spent)
    features = np.array(search.features, dtype=np.int64)
    return Selection(features, np.array(search.fit), search.spent, *prefix, search.pivot)


def smallest_eigenvalue(gram, square, floor, features):
    """Smallest eigenvalue of the correlation matrix of ``features``, clipped at 0.

    It bounds the submodularity ratio from below (Das and Kempe, Lemma 2.4, as used in the paper).
    Constant features do not count; an empty set has 1.
    """
    features = features[square[features] > floor[features]]
    if not features.size:
        return 1.0
    root = np.sqrt(square[features])
    correlation = gram[np.ix_(features, features)] / np.outer(root, root)
    return max(float(np.linalg.eigvalsh(correlation)[0]), 0.0)
