"""Solvers of cost-weighted l1 problems along a path of penalties with warm starts."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator, eigsh

from worthwhile.core import links
from worthwhile.core.linear import moments as mo
from worthwhile.core.linear.coordinate_descent import descend
from worthwhile.core.threads import Run
from worthwhile.costs import Costs
from worthwhile.estimators._shared.proximal import PricePenalty, fista
from worthwhile.estimators.linear._cstc_objective import BLOCK_ROWS
from worthwhile.estimators.linear._cstc_refit import standardise

Floats = npt.NDArray[np.float64]

WIDE = 8192
"""Columns beyond which nothing is made that has a number for each pair of them (512 MB)."""


@dataclass(frozen=True)
class Standard:
    """Centred, standardised moments, and the way back to original units."""

    gram: Floats
    cross: Floats
    mean: Floats
    scale: Floats
    y_mean: Floats


def standard_moments(rows: mo.WeightedRows, run: Run) -> Standard:
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
    moments: Standard, penalty: PricePenalty, lam: float, B: Floats, tol: float, most: int
) -> tuple[Floats, int]:
    """``mean |y - XB|^2 + lam * penalty`` from a start B; the solution and the rounds it took."""
    if not penalty.fee.any():
        B = B.copy()
        residual = np.ascontiguousarray(moments.cross - moments.gram @ B)
        rounds = descend(moments.gram, moments.cross, lam * penalty.price, B, residual, tol, most)
        return B, int(rounds)

    def gradient(at: Floats) -> Floats:
        out: Floats = 2.0 * (moments.gram @ at - moments.cross)
        return out

    def prox(at: Floats, step: float) -> Floats:
        return penalty.prox(at, step * lam)

    curvature = 2.0 * float(np.linalg.eigvalsh(moments.gram)[-1])
    return fista(gradient, prox, B, curvature, tol=tol, max_iter=most)


class Loss(ABC):
    """Mean loss of linear scores on standardised columns, in blocks; the last column is of ones.

    Attributes
    ----------
    wanted : float64 (n, outputs)
        What scores, or the probabilities made of them, should be.
    curvature : float
        Bound on the curvature in any direction.
    """

    wanted: Floats
    curvature: float

    def __init__(self, blocks: list[Floats], weight: Floats, run: Run) -> None:
        self.blocks, self.weight, self.run = blocks, weight, run
        self.slices = _slices(blocks)

    @abstractmethod
    def slopes(self, scores: Floats, wanted: Floats) -> Floats:
        """Derivative of the loss of each row by its scores."""

    def columns(self, keep: npt.NDArray[np.intp]) -> Self:
        """The same loss on some columns (the last column of ones included)."""
        other = copy.copy(self)
        other.blocks = [np.ascontiguousarray(block[:, keep]) for block in self.blocks]
        return other

    def gradient(self, B: Floats) -> Floats:
        """Gradient at coefficients (columns, outputs)."""
        total = np.zeros_like(B)

        def part(i: int) -> Floats:
            own = self.slices[i]
            slopes = self.slopes(self.blocks[i] @ B, self.wanted[own])
            product: Floats = self.blocks[i].T @ (self.weight[own, None] * slopes)
            return product

        for product in self.run(part, range(len(self.blocks))):
            total += product
        return total

    def silencing(self, penalty: PricePenalty) -> float:
        """The least ``lam`` at which no column enters beside the intercept."""
        return silencing(self.blocks, self.weight, self.wanted, penalty, self.run)


class Logistic(Loss):
    """Mean log-loss."""

    def __init__(
        self,
        blocks: list[Floats],
        codes: npt.NDArray[np.intp],
        weight: Floats,
        n_outputs: int,
        run: Run,
    ) -> None:
        super().__init__(blocks, weight, run)
        self.single = n_outputs == 1
        if self.single:
            self.wanted = (codes == 1).astype(np.float64)[:, None]
        else:
            self.wanted = (codes[:, None] == np.arange(n_outputs)).astype(np.float64)
        largest = largest_eigenvalue(blocks, weight, self.slices, run)
        self.curvature = (0.25 if self.single else 0.5) * max(largest, 1.0)

    def slopes(self, scores: Floats, wanted: Floats) -> Floats:
        """Probabilities minus what they should be."""
        p: Floats = links.sigmoid(scores) if self.single else links.softmax(scores)
        return p - wanted


class Squares(Loss):
    """Mean squared error, where all moments of the columns would be too large."""

    def __init__(self, blocks: list[Floats], Y: Floats, weight: Floats, run: Run) -> None:
        super().__init__(blocks, weight, run)
        self.wanted = Y
        self.curvature = 2.0 * max(largest_eigenvalue(blocks, weight, self.slices, run), 1.0)

    def slopes(self, scores: Floats, wanted: Floats) -> Floats:
        """Twice the error."""
        slopes: Floats = 2.0 * (scores - wanted)
        return slopes

    def silencing(self, penalty: PricePenalty) -> float:
        """As of every loss; errors count twice."""
        return 2.0 * super().silencing(penalty)


def silencing(
    blocks: list[Floats], weight: Floats, wanted: Floats, penalty: PricePenalty, run: Run
) -> float:
    """The least ``lam`` at which nothing enters, where slopes are scores minus what is wanted."""
    right = weight[:, None] * (wanted - np.add.reduce(weight[:, None] * wanted))
    return penalty.silencing(products(blocks, right, _slices(blocks), run)[:-1])


def _slices(blocks: list[Floats]) -> list[slice]:
    edges = np.cumsum([0] + [len(block) for block in blocks])
    return [slice(a, b) for a, b in pairwise(edges)]


def products(blocks: list[Floats], right: Floats, slices: list[slice], run: Run) -> Floats:
    """Columns times a matrix with one row per row, block by block."""
    parts = run(lambda i: blocks[i].T @ right[slices[i]], range(len(blocks)))
    total: Floats = sum(parts, np.zeros((blocks[0].shape[1], right.shape[1])))
    return total


def largest_eigenvalue(
    blocks: list[Floats], weight: Floats, slices: list[slice], run: Run
) -> float:
    """Largest eigenvalue of the weighted second moments of the columns, or a hair above it."""
    width = blocks[0].shape[1]
    if width > WIDE:

        def apply(v: Floats) -> Floats:
            scores = np.concatenate([block @ v.reshape(-1, 1) for block in blocks])
            return products(blocks, weight[:, None] * scores, slices, run)[:, 0]

        moments = LinearOperator((width, width), matvec=apply, dtype=np.float64)
        start = np.random.default_rng(0).normal(size=width)  # its own would differ each time
        largest = eigsh(moments, 1, v0=start, tol=1e-4, return_eigenvectors=False)
        return 1.01 * float(largest[0])
    parts = run(lambda i: (blocks[i].T * weight[slices[i]]) @ blocks[i], range(len(blocks)))
    return float(np.linalg.eigvalsh(sum(parts, np.zeros((width, width))))[-1])


def loss_path(
    loss: Loss, penalty: PricePenalty, lams: list[float], tol: float, most: int
) -> tuple[list[Floats], int]:
    """Coefficients (d + 1, outputs) for falling penalties, each started from the one before.

    Only columns that may enter take part (the strong rule), and those that should have are added
    until none is missing. Also the number of steps taken in all.
    """
    width = loss.blocks[0].shape[1]
    # Intercept first: at 0 the gradient would be that of unbalanced classes.
    start = np.zeros((width, loss.wanted.shape[1]))
    B, steps = _on_columns(loss, penalty, 0.0, start, np.array([width - 1]), tol, most)
    gradient, found, before = loss.gradient(B), [], lams[0]
    for lam in lams:
        working = _may_enter(gradient, penalty, max(2 * lam - before, 0.0)) | (B[:-1] != 0).any(
            axis=1
        )
        while True:
            keep = np.append(np.flatnonzero(working), width - 1)
            B, more = _on_columns(loss, penalty, lam, B, keep, tol, most)
            steps += more
            gradient = loss.gradient(B)
            missed = _may_enter(gradient, penalty, lam * (1 + 1e-6)) & ~working
            if not missed.any():
                break
            working |= missed
        found.append(B.copy())
        before = lam
    return found, steps


def _may_enter(gradient: Floats, penalty: PricePenalty, lam: float) -> npt.NDArray[np.bool_]:
    """Columns whose own price does not hold them at 0 (their group's fee may still)."""
    length = np.sqrt(np.add.reduce(gradient[:-1] ** 2, axis=1))
    entering: npt.NDArray[np.bool_] = length > lam * penalty.price
    return entering


def _on_columns(
    loss: Loss, penalty: PricePenalty, lam: float, B: Floats, keep: npt.NDArray[np.intp], tol: float, most: int
) -> tuple[Floats, int]:  # fmt: skip
    """Solve on some columns; the last of them is the intercept, which is free."""
    kept = penalty.select(keep[:-1]).with_intercept()
    out = np.zeros_like(B)
    out[keep], steps = fista(
        loss.columns(keep).gradient, lambda at, step: kept.prox(at, step * lam), B[keep], loss.curvature,
        tol=tol, max_iter=most,
    )  # fmt: skip
    return out, steps


@dataclass(frozen=True)
class Stop:
    """Where a path of penalties ends, in how many steps, and when a solver is done with one."""

    lam: float
    n_path: int
    tol: float
    max_iter: int


@dataclass(frozen=True)
class Linear:
    """A solution on standardised columns, and what leads back to original units.

    Attributes
    ----------
    B : float64 (d, outputs)
    base : float64 (outputs,), the scores at ``mean``
    mean, scale : float64 (d,)
    """

    B: Floats
    base: Floats
    mean: Floats
    scale: Floats


def squares_path(
    rows: mo.WeightedRows, share: Floats, penalty: PricePenalty, stop: Stop, run: Run
) -> tuple[list[float], list[Linear], int]:
    """Least squares for falling penalties; the penalties, the solutions, the rounds in all.

    On all moments of the columns, or row by row where those would be too many.
    """
    if rows.X.shape[1] > WIDE:
        columns = standardise(rows.X, rows.shift, share, BLOCK_ROWS)
        loss = Squares(columns.blocks, rows.Y, share, run)
        lams = falling(loss.silencing(penalty), stop.lam, stop.n_path)
        found, total = loss_path(loss, penalty, lams, stop.tol, stop.max_iter)
        return lams, [Linear(B[:-1], B[-1], rows.shift, columns.scale) for B in found], total
    moments = standard_moments(rows, run)
    lams = falling(penalty.silencing(2.0 * moments.cross), stop.lam, stop.n_path)
    B, models, total = np.zeros_like(moments.cross), list[Linear](), 0
    for lam in lams:
        B, rounds = least_squares(moments, penalty, lam, B, stop.tol, stop.max_iter)
        total += rounds
        models.append(Linear(B, moments.y_mean, moments.mean, moments.scale))
    return lams, models, total


def falling(top: float, lam: float, count: int) -> list[float]:
    """A path of penalties from ``top`` down to ``lam``."""
    if lam >= top or top <= 0:
        return [lam]
    low = max(lam, 1e-4 * top)
    path = np.geomspace(top, low, count)[1:].tolist() if count > 1 else []
    return [*path[:-1], lam] if lam == low and path else [*path, lam]


def buying_order(B: Floats, costs: Costs) -> npt.NDArray[np.intp]:
    """Used columns, those with the most effect per price first."""
    effect = np.add.reduce(B * B, axis=1)
    used = np.flatnonzero(effect > 0)
    price = costs.flat.alone.astype(np.float64)
    with np.errstate(divide="ignore"):
        ratio = np.where(price[used] > 0, effect[used] / np.maximum(price[used], 1e-300), np.inf)
    order: npt.NDArray[np.intp] = used[np.lexsort((used, -ratio))]
    return order
