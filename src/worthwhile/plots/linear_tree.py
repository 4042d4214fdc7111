"""Drawing a fitted tree of linear models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from worthwhile.costs import Costs, as_float
from worthwhile.policy.linear_tree import LinearTree, LinearTreePolicy


@dataclass(frozen=True)
class NodeSummary:
    """What a drawing says about one node."""

    node: int
    parent: int
    level: int
    features: int
    new: list[tuple[str, float]]
    """Features bought here, with their own prices."""
    fees: float
    path_cost: float
    share: float | None


def summarise_linear_tree(model: Any) -> list[NodeSummary]:
    """The nodes of a fitted tree of linear models, as plain data.

    Parameters
    ----------
    model : fitted SubmodularTree or CostSensitiveTree, or any model whose policy is a linear tree

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import SubmodularTreeRegressor
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = SubmodularTreeRegressor(1, max_depth=2).fit(X, X[:, 0] + abs(X[:, 1]))
    >>> [(node.new, node.path_cost) for node in summarise_linear_tree(model)][0]
    ([('0', 1.0)], 1.0)
    """
    policy = getattr(model, "policy_", model)
    if not isinstance(policy, LinearTreePolicy):
        raise TypeError(
            f"model is a {type(model).__name__}: give a fitted tree of linear models, such as "
            "SubmodularTreeClassifier."
        )
    tree, costs = policy.tree, policy.costs
    masks, parents = policy.path_masks(), tree.parents()
    shares = getattr(model, "shares_", None)
    levels = np.zeros(tree.n_nodes, dtype=int)
    summaries = []
    for node, parent in enumerate(parents):
        have = masks[parent] if parent >= 0 else np.zeros(costs.n_features, dtype=bool)
        levels[node] = 0 if parent < 0 else levels[parent] + 1
        new = [int(a) for a in policy.buys(node) if not have[a]]
        own = sum(int(costs.own[a]) for a in new)
        added = int(costs.quanta(masks[node])) - int(costs.quanta(have))
        summaries.append(
            NodeSummary(
                node,
                int(parent),
                int(levels[node]),
                len(tree.own(node)),
                _priced(costs, new),
                as_float(added - own),
                costs.price(masks[node]),
                None if shares is None else float(shares[node]),
            )
        )
    return summaries


def _priced(costs: Costs, features: list[int]) -> list[tuple[str, float]]:
    return [(str(costs.name(a)), as_float(int(costs.own[a]))) for a in features]


def draw_linear_tree(model: Any, ax: Any = None, *, most: int = 4) -> Any:
    """Draw a tree of linear models: what each node buys, for how much, and for which share of rows.

    Parameters
    ----------
    model : fitted SubmodularTree or CostSensitiveTree
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    most : int, default=4
        Name at most this many features per node.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import SubmodularTreeRegressor
    >>> from worthwhile.plots import draw_linear_tree
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = SubmodularTreeRegressor(1, max_depth=2).fit(X, X[:, 0] + abs(X[:, 1]))
    >>> ax = draw_linear_tree(model)  # doctest: +SKIP
    """
    summaries = summarise_linear_tree(model)
    policy = getattr(model, "policy_", model)
    places = _places(policy.tree)
    if ax is None:
        import matplotlib.pyplot as plt

        depth = max(s.level for s in summaries) + 1
        leaves = max(y for _, y in places) + 1
        _, ax = plt.subplots(figsize=(3.2 * depth, max(1.1 * leaves, 2.5)), layout="constrained")
    unit = f" {policy.costs.unit}" if policy.costs.unit else ""
    for summary in summaries:
        x, y = places[summary.node]
        if summary.parent >= 0:
            px, py = places[summary.parent]
            ax.plot(
                [px, x], [py, y], color="0.6", linewidth=0.5 + 4 * (summary.share or 0.1), zorder=1
            )
        ax.text(
            x, y, _label(summary, unit, most), ha="center", va="center", fontsize=8, zorder=2,
            bbox={"boxstyle": "round", "facecolor": "white", "edgecolor": "0.4"},
        )  # fmt: skip
    ax.set_xlim(-0.5, max(x for x, _ in places) + 0.5)
    ax.set_ylim(-0.7, max(y for _, y in places) + 0.7)
    ax.set_axis_off()
    return ax


def _label(summary: NodeSummary, unit: str, most: int) -> str:
    lines = [f"{name}  {price:g}{unit}" for name, price in summary.new[:most]]
    if len(summary.new) > most:
        rest = sum(price for _, price in summary.new[most:])
        lines.append(f"+ {len(summary.new) - most} more  {rest:g}{unit}")
    if summary.fees:
        lines.append(f"fees  {summary.fees:g}{unit}")
    if not summary.new:
        lines.append("buys nothing new")
    share = "" if summary.share is None else f"{100 * summary.share:.0f} % of rows, "
    return "\n".join([*lines, f"{share}path {summary.path_cost:g}{unit}"])


def _places(tree: LinearTree) -> list[tuple[float, float]]:
    """Levels from left to right, upper children above; leaves one unit apart."""
    places: dict[int, tuple[float, float]] = {}
    heights = iter(range(tree.n_nodes))

    def put(node: int, level: int) -> float:
        below = [put(int(c), level + 1) for c in (tree.lower[node], tree.upper[node]) if c >= 0]
        y = sum(below) / len(below) if below else float(next(heights))
        places[node] = (float(level), y)
        return y

    put(0, 0)
    return [places[node] for node in range(tree.n_nodes)]
