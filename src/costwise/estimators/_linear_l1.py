"""Solvers of cost-weighted l1 problems along a path of penalties with warm starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from costwise.core import links
from costwise.core import moments as mo
from costwise.core.l1 import descend
from costwise.costs import QUANTA_PER_UNIT, Costs
from costwise.estimators._linear_threads import Run
from costwise.policy.linear_tree import LinearTree

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Penalty:
    """Prices as penalties: on the length of each row, and of each group of rows behind a fee."""

    price: Floats
    groups: list[tuple[npt.NDArray[np.intp], float]]

    @classmethod
    def of(cls, costs: Costs) -> Penalty:
        """In units of price."""
        flat = costs.flat
        groups = [
            (np.flatnonzero(flat.group == g), float(fee) / QUANTA_PER_UNIT)
            for g, fee in enumerate(flat.fee)
            if fee > 0
        ]
        return cls(flat.price / QUANTA_PER_UNIT, groups)

    def value(self, B: Floats) -> float:
        """The penalty at lam = 1."""
        length = np.sqrt(np.add.reduce(B * B, axis=1))
        fees = sum(
            fee * float(np.sqrt(np.add.reduce(B[rows] ** 2, axis=None)))
            for rows, fee in self.groups
        )
        return float(self.price @ length) + fees

    def shrink(self, B: Floats, step: float) -> Floats:
        """The proximal step: rows first, then groups (exact, as the groups contain whole rows)."""
        out = _shrink_rows(B, step * self.price)
        for rows, fee in self.groups:
            length = float(np.sqrt(np.add.reduce(out[rows] ** 2, axis=None)))
            out[rows] *= max(1.0 - step * fee / length, 0.0) if length > 0 else 0.0
        return out

    def part(self, keep: npt.NDArray[np.intp]) -> Penalty:
        """The penalty of some rows only."""
        position = np.full(len(self.price), -1)
        position[keep] = np.arange(len(keep))
        groups = [(position[rows][position[rows] >= 0], fee) for rows, fee in self.groups]
        return Penalty(self.price[keep], [(rows, fee) for rows, fee in groups if len(rows)])

    def silencing(self, slope: Floats) -> float:
        """Smallest lam at which no priced row enters, for a gradient (d, m) at 0."""
        length = np.sqrt(np.add.reduce(slope * slope, axis=1))
        fee = np.zeros(len(length))
        for rows, amount in self.groups:
            # The fee is shared: a bound, exact for groups of one.
            fee[rows] = amount / np.sqrt(len(rows))
        total = self.price + fee
        return float(
            np.max(
                np.divide(length, total, out=np.zeros_like(length), where=total > 0), initial=0.0
            )
        )


def _shrink_rows(B: Floats, amount: Floats) -> Floats:
    length = np.sqrt(np.add.reduce(B * B, axis=1))
    keep = np.where(
        length > amount,
        1.0 - np.divide(amount, length, out=np.ones_like(length), where=length > 0),
        0.0,
    )
    return B * keep[:, None]


@dataclass(frozen=True)
class Standard:
    """Centred, standardised moments, and the way back to original units."""

    gram: Floats
    cross: Floats
    mean: Floats
    scale: Floats
    y_mean: Floats


def standard_moments(rows: mo.Rows, run: Run) -> Standard:
    """Correlations of the columns, and their products with the targets, per unit of weight."""
    d = rows.X.shape[1]
    centred = mo.Centred.of(mo.moments(rows, run), d)
    variance = centred.square / centred.weight
    usable = centred.square > 1e-12 * centred.about_shift
    root = np.where(usable, np.sqrt(np.where(usable, variance, 1.0)), np.inf)
    gram = np.ascontiguousarray(centred.gram / centred.weight / np.outer(root, root))
    cross = np.ascontiguousarray(centred.cross / centred.weight / root[:, None])
    return Standard(gram, cross, rows.shift + centred.x_mean, root, centred.y_mean)


def least_squares(
    moments: Standard, penalty: Penalty, lam: float, B: Floats, tol: float, most: int
) -> tuple[Floats, int]:
    """``mean |y - XB|^2 + lam * penalty`` from a start B; the solution and the rounds it took."""
    if not penalty.groups:
        B = B.copy()
        residual = np.ascontiguousarray(moments.cross - moments.gram @ B)
        rounds = descend(moments.gram, moments.cross, lam * penalty.price, B, residual, tol, most)
        return B, int(rounds)

    def slope(at: Floats) -> Floats:
        out: Floats = 2.0 * (moments.gram @ at - moments.cross)
        return out

    steepest = 2.0 * float(np.linalg.eigvalsh(moments.gram)[-1])
    return fista(slope, penalty, lam, B, steepest, tol, most)


def fista(
    slope: Callable[[Floats], Floats], penalty: Penalty, lam: float, B: Floats, steepest: float, tol: float, most: int
) -> tuple[Floats, int]:  # fmt: skip
    """Accelerated proximal gradient with restart when the momentum points uphill; also the steps."""
    step = 1.0 / max(steepest, 1e-12)
    at, previous, t = B.copy(), B.copy(), 1.0
    for steps in range(1, most + 1):
        new = penalty.shrink(at - step * slope(at), step * lam)
        move = new - previous
        if float(np.add.reduce((at - new) * move, axis=None)) > 0:
            t = 1.0
        t_new = (1.0 + np.sqrt(1.0 + 4.0 * t * t)) / 2.0
        at = new + (t - 1.0) / t_new * move
        t = t_new
        previous = new
        if float(np.add.reduce(move * move, axis=None)) <= tol:
            return previous, steps
    return previous, most


class Logistic:
    """Mean log-loss of linear scores on standardised columns, in blocks."""

    def __init__(
        self,
        blocks: list[Floats],
        codes: npt.NDArray[np.intp],
        weight: Floats,
        n_outputs: int,
        run: Run,
    ):
        self.blocks, self.weight, self.run, self.n_outputs = blocks, weight, run, n_outputs
        edges = np.cumsum([0] + [len(block) for block in blocks])
        self.slices = [slice(a, b) for a, b in pairwise(edges)]
        if n_outputs == 1:
            self.wanted = (codes == 1).astype(np.float64)[:, None]
        else:
            self.wanted = (codes[:, None] == np.arange(n_outputs)).astype(np.float64)
        largest = largest_eigenvalue(blocks, weight, self.slices, run)
        self.steepest = (0.25 if n_outputs == 1 else 0.5) * max(largest, 1.0)

    def columns(self, keep: npt.NDArray[np.intp]) -> Logistic:
        """The same loss on some columns (the last column of ones included)."""
        other = object.__new__(Logistic)
        other.__dict__.update(self.__dict__)
        other.blocks = [np.ascontiguousarray(block[:, keep]) for block in self.blocks]
        return other

    def slope(self, B: Floats) -> Floats:
        """Gradient at coefficients (columns, outputs)."""
        total = np.zeros_like(B)

        def part(i: int) -> Floats:
            own = self.slices[i]
            scores = self.blocks[i] @ B
            p = links.sigmoid(scores) if self.n_outputs == 1 else links.softmax(scores)
            product: Floats = self.blocks[i].T @ (self.weight[own, None] * (p - self.wanted[own]))
            return product

        for product in self.run(part, range(len(self.blocks))):
            total += product
        return total


def products(blocks: list[Floats], right: Floats, slices: list[slice], run: Run) -> Floats:
    """Columns times a matrix with one row per row, block by block."""
    parts = run(lambda i: blocks[i].T @ right[slices[i]], range(len(blocks)))
    total: Floats = sum(parts, np.zeros((blocks[0].shape[1], right.shape[1])))
    return total


def largest_eigenvalue(
    blocks: list[Floats], weight: Floats, slices: list[slice], run: Run
) -> float:
    """Largest eigenvalue of the weighted second moments of the columns."""
    parts = run(lambda i: (blocks[i].T * weight[slices[i]]) @ blocks[i], range(len(blocks)))
    width = blocks[0].shape[1]
    return float(np.linalg.eigvalsh(sum(parts, np.zeros((width, width))))[-1])


def logistic_path(
    loss: Logistic, penalty: Penalty, lams: list[float], tol: float, most: int
) -> tuple[list[Floats], int]:
    """Coefficients (d + 1, outputs) for falling penalties, each started from the one before.

    Only columns that may enter take part (the strong rule), and those that should have are added
    until none is missing. Also the number of steps taken in all.
    """
    width = loss.blocks[0].shape[1]
    # Intercept first: at 0 the gradient would be that of unbalanced classes.
    start = np.zeros((width, loss.n_outputs))
    B, steps = _on_columns(loss, penalty, 0.0, start, np.array([width - 1]), tol, most)
    slope, found, before = loss.slope(B), [], lams[0]
    for lam in lams:
        working = _may_enter(slope, penalty, max(2 * lam - before, 0.0)) | (B[:-1] != 0).any(axis=1)
        while True:
            keep = np.append(np.flatnonzero(working), width - 1)
            B, more = _on_columns(loss, penalty, lam, B, keep, tol, most)
            steps += more
            slope = loss.slope(B)
            missed = _may_enter(slope, penalty, lam * (1 + 1e-6)) & ~working
            if not missed.any():
                break
            working |= missed
        found.append(B.copy())
        before = lam
    return found, steps


def _may_enter(slope: Floats, penalty: Penalty, lam: float) -> npt.NDArray[np.bool_]:
    """Columns whose own price does not hold them at 0 (their group's fee may still)."""
    length = np.sqrt(np.add.reduce(slope[:-1] ** 2, axis=1))
    entering: npt.NDArray[np.bool_] = length > lam * penalty.price
    return entering


def _on_columns(
    loss: Logistic, penalty: Penalty, lam: float, B: Floats, keep: npt.NDArray[np.intp], tol: float, most: int
) -> tuple[Floats, int]:  # fmt: skip
    """Solve on some columns; the last of them is the intercept, which is free."""
    inner = penalty.part(keep[:-1])
    free = Penalty(np.append(inner.price, 0.0), inner.groups)
    out = np.zeros_like(B)
    out[keep], steps = fista(loss.columns(keep).slope, free, lam, B[keep], loss.steepest, tol, most)
    return out, steps


def falling(top: float, lam: float, count: int) -> list[float]:
    """A path of penalties from ``top`` down to ``lam``."""
    if lam >= top or top <= 0:
        return [lam]
    low = max(lam, 1e-4 * top)
    path = np.geomspace(top, low, count)[1:].tolist() if count > 1 else []
    return [*path[:-1], lam] if lam == low and path else [*path, lam]


def buying_order(B: Floats, costs: Costs) -> npt.NDArray[np.intp]:
    """Used columns, those with the most effect per price first."""
    flat = costs.flat
    effect = np.add.reduce(B * B, axis=1)
    used = np.flatnonzero(effect > 0)
    price = flat.price.astype(np.float64)
    if len(flat.fee):
        price = price + np.where(flat.group >= 0, flat.fee[flat.group], 0)
    with np.errstate(divide="ignore"):
        ratio = np.where(price[used] > 0, effect[used] / np.maximum(price[used], 1e-300), np.inf)
    order: npt.NDArray[np.intp] = used[np.lexsort((used, -ratio))]
    return order


def one_node(
    order: npt.NDArray[np.intp], slopes: Floats, intercept: Floats, mean: Floats
) -> LinearTree:
    """A single linear model as a tree with one node."""
    m = len(intercept)
    return LinearTree(
        features=order.astype(np.int32), start=np.array([0, len(order)], dtype=np.int32),
        coefficient=np.ascontiguousarray(slopes[order]).reshape(-1, m), intercept=intercept[None, :].copy(),
        direction=np.ones((1, m)), threshold=np.zeros(1), upper=np.array([-1], dtype=np.int32),
        lower=np.array([-1], dtype=np.int32), mean=mean,
    )  # fmt: skip
