"""Solvers of cost-weighted l1 problems along a path of penalties with warm starts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from worthwhile.core import links
from worthwhile.core.linear import moments as mo
from worthwhile.core.linear.coordinate_descent import descend
from worthwhile.core.threads import Run
from worthwhile.costs import Costs
from worthwhile.estimators._shared.proximal import PricePenalty, fista

Floats = npt.NDArray[np.float64]


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
        self.curvature = (0.25 if n_outputs == 1 else 0.5) * max(largest, 1.0)

    def columns(self, keep: npt.NDArray[np.intp]) -> Logistic:
        """The same loss on some columns (the last column of ones included)."""
        other = object.__new__(Logistic)
        other.__dict__.update(self.__dict__)
        other.blocks = [np.ascontiguousarray(block[:, keep]) for block in self.blocks]
        return other

    def gradient(self, B: Floats) -> Floats:
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
    loss: Logistic, penalty: PricePenalty, lams: list[float], tol: float, most: int
) -> tuple[list[Floats], int]:
    """Coefficients (d + 1, outputs) for falling penalties, each started from the one before.

    Only columns that may enter take part (the strong rule), and those that should have are added
    until none is missing. Also the number of steps taken in all.
    """
    width = loss.blocks[0].shape[1]
    # Intercept first: at 0 the gradient would be that of unbalanced classes.
    start = np.zeros((width, loss.n_outputs))
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
    loss: Logistic, penalty: PricePenalty, lam: float, B: Floats, keep: npt.NDArray[np.intp], tol: float, most: int
) -> tuple[Floats, int]:  # fmt: skip
    """Solve on some columns; the last of them is the intercept, which is free."""
    kept = penalty.select(keep[:-1]).with_intercept()
    out = np.zeros_like(B)
    out[keep], steps = fista(
        loss.columns(keep).gradient, lambda at, step: kept.prox(at, step * lam), B[keep], loss.curvature,
        tol=tol, max_iter=most,
    )  # fmt: skip
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
    effect = np.add.reduce(B * B, axis=1)
    used = np.flatnonzero(effect > 0)
    price = costs.flat.alone.astype(np.float64)
    with np.errstate(divide="ignore"):
        ratio = np.where(price[used] > 0, effect[used] / np.maximum(price[used], 1e-300), np.inf)
    order: npt.NDArray[np.intp] = used[np.lexsort((used, -ratio))]
    return order
