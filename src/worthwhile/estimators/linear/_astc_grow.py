"""Growing a tree of linear models by greedy selection, node by node from the root (ASTC)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core import links
from worthwhile.core.linear import greedy_selection as gr
from worthwhile.core.linear import moments as mo
from worthwhile.core.linear.fit_gain import MomentsEngine, QREngine
from worthwhile.core.linear.rows import linear_outputs
from worthwhile.core.threads import Run
from worthwhile.costs import FlatCosts
from worthwhile.estimators.linear._astc_certificate import Certificate, certify
from worthwhile.policy.linear_tree import CHUNK, LinearTree, routing_score

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

BORDER_COST, BATCH_COST = 106, 115
"""Time of one pass for the border, or for a batch of columns, where a full Gram takes d units."""

ILL_CONDITIONED = 1e-6
"""Below this pivot the coefficients are solved from the rows instead of their moments."""


@dataclass(frozen=True)
class AstcSettings:
    """How to grow; budgets in quanta, one per node of the full tree in level order."""

    budgets: tuple[int, ...]
    max_depth: int
    soft: bool
    tau: float | str
    on_overflow: str
    engine: str
    certify: bool
    min_weight: float
    literal: bool = False
    """Algorithm 1 to the letter: rows are centred once for the whole tree, and no node repeats its parent."""


@dataclass
class Node:
    """One linear model and where its rows go."""

    position: int
    features: Ints
    coefficient: Floats
    intercept: Floats
    direction: Floats
    weight: float
    fit: float = 0.0
    spent: int = 0
    threshold: float = 0.0
    split: bool = False
    inherited: bool = False
    certificate: Certificate | None = None


@dataclass(frozen=True)
class Problem:
    """Training data of a whole tree.

    ``Y`` is what is fitted (standardised for regression); ``y_mean`` and ``y_scale`` bring it back.
    """

    X: npt.NDArray[Any]
    Y: Floats
    y_mean: Floats
    y_scale: Floats
    mean: Floats
    holes: Ints
    prices: FlatCosts | gr.SharedPrices
    weight: Floats | None

    def rows(self, index: Ints | None = None, weight: Floats | None = None) -> mo.WeightedRows:
        """The rows of a node."""
        weight = self.weight if weight is None else weight
        return mo.WeightedRows(self.X, self.Y, self.mean, self.holes, index, weight)


@dataclass
class _Place:
    """A node to be fitted: its rows, what is free there, its moments where they are known."""

    position: int
    rows: mo.WeightedRows
    prices: FlatCosts | gr.SharedPrices
    parent: Node | None
    M: Floats | None = None
    centred: mo.Centred | None = field(default=None, repr=False)


def grow(problem: Problem, settings: AstcSettings, run: Run) -> dict[int, Node]:
    """Fit all nodes; keys are positions in the full tree (children of k: 2k + 1 up, 2k + 2 down)."""
    prices = problem.prices
    engine = _resolve_engine(problem, settings, prices)
    settings = replace(settings, engine=engine)
    root = _Place(0, problem.rows(), prices, None)
    if engine == "moments":
        root.M = mo.moments(root.rows, run)
    nodes: dict[int, Node] = {}
    waiting = [[root]]
    while waiting:
        places = waiting.pop()
        # On-demand columns use the pool themselves; a pool inside a pool could wait for ever.
        fitted = (map if engine == "columns" else run)(
            lambda place: _fit_node(problem, settings, place, run), places
        )
        for place, node in zip(places, list(fitted), strict=True):
            nodes[place.position] = node
            pair = list(_split(problem, settings, place, node, run))
            place.M = None
            if pair:
                waiting.append(pair)
    return _without_idle_splits(nodes)


def _resolve_engine(
    problem: Problem, settings: AstcSettings, prices: FlatCosts | gr.SharedPrices
) -> str:
    """Pick "moments" (full Gram), "columns" (parts of it on demand) or "qr"."""
    n, d = problem.X.shape
    if settings.engine == "qr" or (settings.engine == "auto" and n <= 2 * d):
        return "qr"
    if settings.certify or prices.fee.any() or isinstance(prices, gr.SharedPrices):
        return "moments"
    cheapest = np.cumsum(np.sort(prices.price))
    on_demand, full, bought = 0.0, float(d), 0
    for level in range(settings.max_depth):
        budget = max(settings.budgets[2**level - 1 : 2 ** (level + 1) - 1])
        bought += int(np.searchsorted(cheapest, budget, side="right"))
        # A hard level touches each row once; a soft one touches all rows in every node.
        times = 2**level if settings.soft else 1
        on_demand += times * (BORDER_COST + BATCH_COST * np.ceil(min(bought, d) / gr.BATCH))
        full += times * d / 2 if level else 0
    return "columns" if on_demand < full else "moments"


def _fit_node(problem: Problem, settings: AstcSettings, place: _Place, run: Run) -> Node:
    weight = _total_weight(place.rows)
    free = len(place.parent.features) if place.parent is not None else 0
    least = 1.0 if settings.literal else max(settings.min_weight, 2.0 * (free + 1))
    if place.parent is not None and weight < least:
        return replace(place.parent, position=place.position, weight=weight, spent=0, split=False,
                       inherited=True, certificate=None)  # fmt: skip
    engine, centred = _engine(settings, place, run)
    chosen = gr.select(engine, place.prices, settings.budgets[place.position], settings.on_overflow)
    slopes = _coefficients(place, engine, chosen, centred)
    coefficient = slopes * problem.y_scale
    x_mean = centred.x_mean[chosen.features] + problem.mean[chosen.features]
    intercept = centred.y_mean * problem.y_scale + problem.y_mean - x_mean @ coefficient
    node = Node(
        place.position, chosen.features, coefficient, intercept, _direction(engine, problem.y_scale),
        weight, float(chosen.fit[-1]) if len(chosen.fit) else 0.0, chosen.spent,
    )  # fmt: skip
    if settings.certify:
        node.certificate = certify(engine, centred, place, chosen, settings.budgets[place.position])
    return node


def _total_weight(rows: mo.WeightedRows) -> float:
    if rows.weight is None:
        return float(len(rows))
    return float(np.add.reduce(rows.weight if rows.index is None else rows.weight[rows.index]))


def _engine(settings: AstcSettings, place: _Place, run: Run) -> tuple[Any, mo.Centred]:
    rows, d, own = place.rows, place.rows.X.shape[1], not settings.literal
    if settings.engine == "qr":
        Z = np.vstack([rows.augmented(block) for block in rows.blocks()])
        root = Z[:, d : d + 1].copy()
        centred = mo.Centred.of_border(np.einsum("ij,ij->j", Z, Z), Z.T @ Z[:, d:], d, own)
        Z[:, :d] -= root * centred.x_mean
        Z[:, d + 1 :] -= root * centred.y_mean
        columns = np.asfortranarray(Z[:, :d])
        return QREngine(columns, Z[:, d + 1 :].copy(), centred.about_shift), centred
    if settings.engine == "moments":
        centred = mo.Centred.of(place.M, d, own)
        gram: Any = centred.gram
    else:
        diagonal, border = mo.moment_border(rows, run)
        centred = mo.Centred.of_border(diagonal, border, d, own)

        def gram(columns: Ints) -> Floats:
            rows_of_gram: Floats = centred.centre_columns(
                mo.moment_columns(rows, columns, run), columns
            )
            return rows_of_gram

    engine = MomentsEngine(
        gram, centred.square, centred.cross, centred.y_square, centred.about_shift
    )
    return engine, centred


def _coefficients(place: _Place, engine: Any, chosen: gr.Selection, centred: mo.Centred) -> Floats:
    """Least squares on the chosen features, from the rows where moments lose too many digits."""
    if chosen.pivot >= ILL_CONDITIONED or isinstance(engine, QREngine):
        slopes: Floats = engine.solve()
        return slopes
    rows, j = place.rows, len(chosen.features)
    Z = np.vstack([rows.augmented(block, chosen.features) for block in rows.blocks()])
    root = Z[:, j : j + 1]
    A = Z[:, :j] - root * centred.x_mean[chosen.features]
    solution: Floats = np.linalg.lstsq(A, Z[:, j + 1 :] - root * centred.y_mean, rcond=None)[0]
    return solution


def _direction(engine: Any, y_scale: Floats) -> Floats:
    """Leading principal direction of the node's predictions; with one output, the output."""
    if len(y_scale) == 1:
        return np.ones(1)
    U = engine.projected()
    leading = np.linalg.eigh(U.T @ U)[1][:, -1]
    leading = leading * np.sign(leading[np.argmax(np.abs(leading))])
    return np.asarray(leading / y_scale, dtype=np.float64)


def outputs(problem: Problem, node: Node, index: Ints | None, run: Run) -> Floats:
    """What a node says about its rows, by the arithmetic of prediction."""
    rows = np.arange(len(problem.X)) if index is None else index
    coefficient = np.ascontiguousarray(node.coefficient)
    model = (node.features, problem.mean[node.features], node.intercept, coefficient)
    out = np.empty((len(rows), len(node.intercept)))

    def fill(start: int) -> None:
        part, into = rows[start : start + CHUNK], out[start : start + CHUNK]
        if problem.X.flags.writeable:
            linear_outputs(problem.X, part, *model, into)
        else:
            # A read-only array is another type, for which nothing is compiled.
            linear_outputs(problem.X[part], np.arange(len(part)), *model, into)

    for _ in run(fill, range(0, len(rows), CHUNK)):
        pass
    return out


def weighted_cut(score: Floats, weight: Floats | None, below: float = 0.5) -> float | None:
    """Midpoint of adjacent distinct scores that leaves nearest to a share of the weight below it.

    Ties go to the lower one; None where there is one distinct score only.
    """
    order = np.argsort(score, kind="stable")
    sorted_score = score[order]
    cuts = np.flatnonzero(sorted_score[:-1] < sorted_score[1:])
    if not len(cuts):
        return None
    mass = np.arange(1.0, len(score) + 1) if weight is None else np.cumsum(weight[order])
    cut = cuts[np.argmin(np.abs(mass[cuts] - below * mass[-1]))]
    low, high = sorted_score[cut], sorted_score[cut + 1]
    middle = low + (high - low) / 2
    return float(middle if middle < high else low)


def _split(
    problem: Problem, settings: AstcSettings, place: _Place, node: Node, run: Run
) -> Iterator[_Place]:
    """Set the threshold and yield the two children, or nothing for a leaf."""
    if node.inherited or 2 * place.position + 2 >= 2**settings.max_depth - 1:
        return
    rows = place.rows
    score = routing_score(outputs(problem, node, rows.index, run), node.direction)
    own_weight = (
        rows.weight if rows.weight is None or rows.index is None else rows.weight[rows.index]
    )
    threshold = weighted_cut(score, own_weight)
    if threshold is None:
        return
    node.threshold, node.split = threshold, True
    if settings.soft:
        spread = _spread(settings.tau, score, own_weight, problem, node)
        up = links.sigmoid((score - threshold) / spread)
        whole = np.ones(len(score)) if own_weight is None else own_weight
        parts = [problem.rows(weight=whole * up), problem.rows(weight=whole * (1.0 - up))]
    else:
        index = np.arange(len(score)) if rows.index is None else rows.index
        above = score > threshold
        parts = [problem.rows(index[above]), problem.rows(index[~above])]
    prices = place.prices.after(node.features)
    children = [
        _Place(2 * place.position + 1 + i, part, prices, node) for i, part in enumerate(parts)
    ]
    if place.M is not None:
        light = int(len(parts[1]) < len(parts[0]))
        children[light].M = mo.moments(parts[light], run)
        other = children[1 - light]
        other.M = mo.sibling(place.M, children[light].M, other.rows, run)
    yield from children


def _spread(
    tau: float | str, score: Floats, weight: Floats | None, problem: Problem, node: Node
) -> float:
    """Width of the soft step in the units of the score.

    For one output tau counts label units, or standard deviations of the target in regression; for
    several, standard deviations of the targets along the routing direction.
    """
    if tau == "std":
        return weighted_std(score, weight)
    if len(problem.y_scale) == 1:
        return float(tau) * float(problem.y_scale[0])
    along = routing_score(problem.Y, node.direction * problem.y_scale)
    return float(tau) * weighted_std(along, problem.weight)


def weighted_std(values: Floats, weight: Floats | None) -> float:
    """Standard deviation, 1 where there is none."""
    w = np.ones(len(values)) if weight is None else weight
    mean = np.add.reduce(w * values) / np.add.reduce(w)
    return float(np.sqrt(np.add.reduce(w * (values - mean) ** 2) / np.add.reduce(w))) or 1.0


def _without_idle_splits(nodes: dict[int, Node]) -> dict[int, Node]:
    """Undo splits whose two children only repeat their parent."""
    for position in sorted(nodes, reverse=True):
        pair = (2 * position + 1, 2 * position + 2)
        if nodes[position].split and all(nodes[child].inherited for child in pair):
            nodes[position].split = False
            for child in pair:
                del nodes[child]
    return nodes


def as_tree(nodes: dict[int, Node], mean: Floats) -> LinearTree:
    """The fitted nodes as the arrays of a policy."""
    positions = sorted(nodes)
    at = {position: i for i, position in enumerate(positions)}
    parts = [nodes[position] for position in positions]

    def child(node: Node, which: int) -> int:
        return at[2 * node.position + which] if node.split else -1

    return LinearTree(
        features=np.concatenate([node.features for node in parts]).astype(np.int32),
        start=np.cumsum([0] + [len(node.features) for node in parts]).astype(np.int32),
        coefficient=np.vstack([node.coefficient for node in parts]),
        intercept=np.vstack([node.intercept for node in parts]),
        direction=np.vstack([node.direction for node in parts]),
        threshold=np.array([node.threshold for node in parts]),
        upper=np.array([child(node, 1) for node in parts], dtype=np.int32),
        lower=np.array([child(node, 2) for node in parts], dtype=np.int32),
        mean=mean,
    )
