"""One row on its way through a tree of linear models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from worthwhile.policy.base import Bundle, Case, Floats

if TYPE_CHECKING:
    from worthwhile.policy.linear_tree import LinearTreePolicy


class Lists:
    """The nodes as Python lists: for single rows they are faster than arrays."""

    def __init__(self, policy: LinearTreePolicy) -> None:
        tree = policy.tree
        self.buys: list[list[int]] = [policy.buys(k).tolist() for k in range(tree.n_nodes)]
        self.own: list[list[int]] = [tree.own(k).tolist() for k in range(tree.n_nodes)]
        self.coefficient: list[list[list[float]]] = [
            tree.coefficient[tree.start[k] : tree.start[k + 1]].tolist()
            for k in range(tree.n_nodes)
        ]
        self.intercept: list[list[float]] = tree.intercept.tolist()
        self.direction: list[list[float]] = tree.direction.tolist()
        self.threshold: list[float] = tree.threshold.tolist()
        self.upper: list[int] = tree.upper.tolist()
        self.lower: list[int] = tree.lower.tolist()
        self.mean: list[float] = tree.mean.tolist()
        self.scale = policy.scale


class LinearTreeCase(Case):
    """One row: it stands at a node and wants that node's features."""

    def __init__(self, lists: Lists, evaluation: int) -> None:
        self._lists = lists
        self._evaluation = evaluation
        self._known: dict[int, float] = {}
        self._refused: set[int] = set()
        self._at = 0
        self._charged = False
        self._reached = 0

    def wants(self, left: int | None) -> list[Bundle]:
        """The features of the node that the row stands at, going on while they are known."""
        lists = self._lists
        while self._at >= 0:
            if not self._charged:
                if left is not None and left < self._evaluation:
                    return []
                self.evaluated += 1
                self._charged = True
                left = None if left is None else left - self._evaluation
            missing = tuple(a for a in lists.buys[self._at] if a not in self._known)
            if missing and self._at == 0:
                return [(a,) for a in missing if a not in self._refused]
            if missing:
                return [] if self._refused.intersection(missing) else [missing]
            self._step()
        return []

    def _step(self) -> None:
        lists, node = self._lists, self._at
        score = 0.0
        for output, weight in zip(self._outputs(node), lists.direction[node], strict=True):
            score += output * weight
        children = lists.upper if score > lists.threshold[node] else lists.lower
        self._reached, self._at, self._charged = node, children[node], False

    def _outputs(self, node: int) -> list[float]:
        lists = self._lists
        out = list(lists.intercept[node])
        for a, weights in zip(lists.own[node], lists.coefficient[node], strict=True):
            value = self._input(a)
            if value is None or value != value:
                value = lists.mean[a]
            for c, weight in enumerate(weights):
                out[c] += value * weight
        return out

    def _input(self, a: int) -> float | None:
        """What the models read as their input a; None where it is not known."""
        return self._known.get(a)

    def learn(self, feature: int, value: float) -> None:
        """Take in a value."""
        self._known[feature] = value
        self._refused.discard(feature)

    def refuse(self, bundle: Bundle) -> None:
        """Stay where the row stands."""
        self._refused.update(bundle)

    def answer(self) -> Floats:
        """What the deepest fully known node says; the root, with means for what is not known."""
        return np.array([self._lists.scale * out for out in self._outputs(self._reached)])
