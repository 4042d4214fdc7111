"""Prices as a penalty on coefficients, its proximal step, and the accelerated method (FISTA).

Beck and Teboulle, SIAM J. Imaging Sciences 2009; the restart is the gradient scheme of O'Donoghue
and Candès, Found. Comput. Math. 2015.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from worthwhile.costs import Costs, as_floats

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]

SETTLED = 1e-12
"""Passes of a proximal step end when the coefficients move by less than this share of the largest."""

MOST_PASSES = 1000


@dataclass(frozen=True)
class PricePenalty:
    """What coefficients cost: a price per row, a fee per group of rows.

    ``sum_a price_a ||W_a|| + sum_G fee_G ||W_G||`` with the norms over all coefficients of a
    feature (a row of W) or of all features that open a fee: the sparse group lasso with prices for
    weights.

    Attributes
    ----------
    price : float64 (d,)
    members : bool (d, G), which rows open which fees
    fee : float64 (G,)
    """

    price: Floats
    members: Bools
    fee: Floats

    @classmethod
    def of(cls, costs: Costs, strength: float = 1.0) -> PricePenalty:
        """Prices and fees times the trade-off parameter."""
        flat = costs.flat
        price, fee = strength * as_floats(flat.price), strength * as_floats(flat.fee)
        return cls(price, flat.members, fee)

    @classmethod
    def flat(cls, price: float, n_rows: int) -> PricePenalty:
        """The same price on every row, and no groups."""
        return cls(np.full(n_rows, price), np.zeros((n_rows, 0), dtype=bool), np.zeros(0))

    def select(self, rows: Ints) -> PricePenalty:
        """The penalty of some rows."""
        return PricePenalty(self.price[rows], self.members[rows], self.fee)

    def with_intercept(self) -> PricePenalty:
        """The same with one more row, the last, that is free."""
        members = np.vstack([self.members, np.zeros(len(self.fee), dtype=bool)])
        return PricePenalty(np.append(self.price, 0.0), members, self.fee)

    def value(self, W: Floats) -> float:
        """The penalty of coefficients (d, k)."""
        square = _squares(W)
        total = float(np.sum(self.price * np.sqrt(square)))
        if len(self.fee):
            total += float(np.sum(self.fee * self._group_norms(square)))
        return total

    def prox(self, W: Floats, step: float) -> Floats:
        """The proximal step: rows first, then groups from the inside out.

        One pass is exact where any two groups are nested or apart (Jenatton et al., JMLR 2011); where
        they overlap otherwise, passes over the dual are repeated until they agree to ``SETTLED``.
        """
        if self._overlaps:
            return self._prox_by_passes(W, step)
        W = W * _kept(np.sqrt(_squares(W)), step * self.price)[:, None]
        for group, fee in self._layers:
            W = W * _kept_in_groups(W, group, step * fee)
        return W

    @cached_property
    def _layers(self) -> list[tuple[Ints, Floats]]:
        """Groups with a fee in layers of groups that lie apart, the inner before the outer.

        A layer is the group of each row, -1 for none, and the fees.
        """
        found: list[list[int]] = []
        size = self.members.sum(axis=0)
        for g in np.argsort(size, kind="stable"):
            if self.fee[g] <= 0 or size[g] == 0:
                continue
            meets: Bools = np.any(self.members[self.members[:, g]], axis=0)
            layer = max([1 + i for i, layer in enumerate(found) if meets[layer].any()], default=0)
            if layer == len(found):
                found.append([])
            found[layer].append(int(g))
        return [
            (np.max(np.where(self.members[:, layer], np.arange(len(layer)), -1), axis=1), self.fee[layer])
            for layer in found
        ]  # fmt: skip

    @cached_property
    def _overlaps(self) -> bool:
        """Whether two groups share rows though neither holds the other."""
        inside = self.members[:, self.fee > 0].astype(np.intp)
        shared, size = inside.T @ inside, inside.sum(axis=0)
        return bool(((shared > 0) & (shared < np.minimum.outer(size, size))).any())

    def _prox_by_passes(self, W: Floats, step: float) -> Floats:
        """Block coordinate ascent on the dual: what rows and each layer take off is kept apart."""
        off = [np.zeros_like(W) for _ in range(1 + len(self._layers))]
        left, scale = W, float(np.abs(W).max(initial=0.0))
        for _ in range(MOST_PASSES):
            before = left
            whole = left + off[0]
            left = whole * _kept(np.sqrt(_squares(whole)), step * self.price)[:, None]
            off[0] = whole - left
            for i, (group, fee) in enumerate(self._layers, start=1):
                whole = left + off[i]
                left = whole * _kept_in_groups(whole, group, step * fee)
                off[i] = whole - left
            if float(np.abs(left - before).max(initial=0.0)) <= SETTLED * scale:
                break
        # What passes leave of a row that is cut off is as small as their disagreement.
        gone = np.sqrt(_squares(left)) <= 100 * SETTLED * scale
        return np.where(gone[:, None], 0.0, left)

    def silencing(self, gradient: Floats) -> float:
        """A strength from which on no priced row enters, for a gradient (d, k) at 0.

        A group's fee is shared by its rows: an upper bound, exact for groups of one.
        """
        total = self.price
        if len(self.fee):
            size = self.members.sum(axis=0)
            total = total + self.members @ (self.fee / np.sqrt(np.maximum(size, 1)))
        length = np.sqrt(_squares(gradient))
        strength = np.divide(length, total, out=np.zeros_like(length), where=total > 0)
        return float(np.max(strength, initial=0.0))

    def _group_norms(self, square: Floats) -> Floats:
        norms: Floats = np.sqrt([float(np.add.reduce(square[inside])) for inside in self.members.T])
        return norms


def _squares(W: Floats) -> Floats:
    squares: Floats = np.add.reduce(W * W, axis=1)
    return squares


def _kept(norm: Floats, cut: Floats) -> Floats:
    """Share of each vector that survives a soft threshold: exact zeros where it is cut off."""
    return np.maximum(0.0, 1.0 - cut / np.where(norm > 0, norm, 1.0))


def _kept_in_groups(W: Floats, group: Ints, cut: Floats) -> Floats:
    """The same for groups of rows that lie apart, as a factor per row (d, 1); 1 in no group."""
    inside = group >= 0
    squares = np.bincount(group[inside], _squares(W)[inside], minlength=len(cut))
    return np.append(_kept(np.sqrt(squares), cut), 1.0)[group][:, None]


def fista(
    gradient: Callable[[Floats], Floats],
    prox: Callable[[Floats, float], Floats],
    start: Floats,
    curvature: float,
    *,
    tol: float,
    max_iter: int,
) -> tuple[Floats, int]:
    """Minimise a smooth function plus one with a proximal step, by accelerated gradients.

    Where the momentum points uphill it starts again.

    Parameters
    ----------
    gradient : function of coefficients
        Of the smooth part.
    prox : function of coefficients and a step
        Proximal step of the other part.
    start : float64 array
    curvature : float
        A Lipschitz constant of the gradient; steps are 1 over it.
    tol : float
        Stop when a step moves the coefficients by at most this, squared and summed.
    max_iter : int

    Returns
    -------
    The coefficients, and the number of steps taken.
    """
    step = 1.0 / max(curvature, 1e-12)
    at = here = start
    speed = 1.0
    for steps in range(1, max_iter + 1):
        new = prox(at - step * gradient(at), step)
        move = new - here
        if float(np.add.reduce((at - new) * move, axis=None)) > 0:
            speed = 1.0
        next_speed = (1.0 + np.sqrt(1.0 + 4.0 * speed * speed)) / 2.0
        at = new + (speed - 1.0) / next_speed * move
        here, speed = new, next_speed
        if float(np.add.reduce(move * move, axis=None)) <= tol:
            return here, steps
    return here, max_iter
