"""Prices as a penalty on coefficients, its proximal step, and the accelerated method (FISTA).

Beck and Teboulle, SIAM J. Imaging Sciences 2009; the restart is the gradient scheme of O'Donoghue
and Candès, Found. Comput. Math. 2015.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from worthwhile.costs import Costs, as_floats

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]


@dataclass(frozen=True)
class PricePenalty:
    """What coefficients cost: a price per row, a fee per group of rows.

    ``sum_a price_a ||W_a|| + sum_G fee_G ||W_G||`` with the norms over all coefficients of a
    feature (a row of W) or of a whole group: the sparse group lasso with prices for weights.

    Attributes
    ----------
    price : float64 (d,)
    group : int (d,), the row's group or -1
    fee : float64 (G,)
    """

    price: Floats
    group: Ints
    fee: Floats

    @classmethod
    def of(cls, costs: Costs, strength: float = 1.0) -> PricePenalty:
        """Prices and fees times the trade-off parameter."""
        flat = costs.flat
        price, fee = strength * as_floats(flat.price), strength * as_floats(flat.fee)
        return cls(price, flat.group.astype(np.intp), fee)

    @classmethod
    def flat(cls, price: float, n_rows: int) -> PricePenalty:
        """The same price on every row, and no groups."""
        return cls(np.full(n_rows, price), np.full(n_rows, -1, dtype=np.intp), np.zeros(0))

    def select(self, rows: Ints) -> PricePenalty:
        """The penalty of some rows."""
        return PricePenalty(self.price[rows], self.group[rows], self.fee)

    def with_intercept(self) -> PricePenalty:
        """The same with one more row, the last, that is free."""
        return PricePenalty(np.append(self.price, 0.0), np.append(self.group, -1), self.fee)

    def value(self, W: Floats) -> float:
        """The penalty of coefficients (d, k)."""
        square = _squares(W)
        total = float(np.sum(self.price * np.sqrt(square)))
        if len(self.fee):
            total += float(np.sum(self.fee * self._group_norms(square)))
        return total

    def prox(self, W: Floats, step: float) -> Floats:
        """The proximal step: rows first, then groups, which is exact because they are nested."""
        W = W * _kept(np.sqrt(_squares(W)), step * self.price)[:, None]
        if len(self.fee):
            kept = _kept(self._group_norms(_squares(W)), step * self.fee)
            W *= np.append(kept, 1.0)[self.group][:, None]
        return W

    def silencing(self, gradient: Floats) -> float:
        """A strength from which on no priced row enters, for a gradient (d, k) at 0.

        A group's fee is shared by its rows: an upper bound, exact for groups of one.
        """
        total = self.price
        if len(self.fee):
            inside = self.group >= 0
            size = np.bincount(self.group[inside], minlength=len(self.fee))
            share = np.append(self.fee / np.sqrt(np.maximum(size, 1)), 0.0)
            total = total + share[self.group]
        length = np.sqrt(_squares(gradient))
        strength = np.divide(length, total, out=np.zeros_like(length), where=total > 0)
        return float(np.max(strength, initial=0.0))

    def _group_norms(self, square: Floats) -> Floats:
        inside = self.group >= 0
        squares = np.bincount(self.group[inside], square[inside], minlength=len(self.fee))
        return np.sqrt(squares)


def _squares(W: Floats) -> Floats:
    squares: Floats = np.add.reduce(W * W, axis=1)
    return squares


def _kept(norm: Floats, cut: Floats) -> Floats:
    """Share of each vector that survives a soft threshold: exact zeros where it is cut off."""
    return np.maximum(0.0, 1.0 - cut / np.where(norm > 0, norm, 1.0))


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
