"""What scores the actions: buying one of the factors, or stopping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.policy.base import Floats, are_moderate
from worthwhile.policy.selection.rows import N_METAS, Chooser, Ints, Layout, Linear
from worthwhile.policy.trees import TreePolicy, check_arrays

NEVER = -1e30
"""Score of an action that was never shown in training; finite, so that it can still be compared."""

LINEAR = {"weight": 2, "mark": 2, "bias": 1, "meta": 2}
"""Arrays of a linear chooser in a model file, with their dimensions."""


@dataclass(frozen=True)
class LinearChooser:
    """Linear scores of the actions.

    Attributes
    ----------
    base : Linear
        Weights of the known columns and marks, width n_factors + 1.
    meta : float64 (N_METAS + n_classes, n_factors + 1), weights of the meta-features and guesses
    """

    base: Linear
    meta: Floats

    def linear(self) -> Linear:
        """Weights of the known columns and marks."""
        return self.base

    def scores(self, partial: Floats, metas: Floats, guess: Ints) -> Floats:
        """Partial sums, then the meta-features one after the other, then the guess."""
        terms = np.empty((len(partial), N_METAS + 2, partial.shape[1]))
        terms[:, 0] = partial
        np.multiply(metas[:, :, None], self.meta[:N_METAS], out=terms[:, 1:-1])
        terms[:, -1] = self.meta[N_METAS + guess]
        # Accumulating adds in this order; a plain sum may add in pairs.
        scores: Floats = np.add.accumulate(terms, axis=1)[:, -1]
        return scores

    def problem(self, layout: Layout, n_classes: int) -> str:
        """What is unsafe about the arrays; empty if nothing."""
        width = layout.n_factors + 1
        if self.meta.shape != (N_METAS + n_classes, width) or not are_moderate(self.meta):
            return f"the weights of the meta-features do not fit {width} actions"
        return self.base.problem(layout, width)


def no_choice(layout: Layout, n_classes: int) -> LinearChooser:
    """A chooser that stops at once."""
    width = layout.n_factors + 1
    base = Linear(
        np.zeros((layout.n_entries, width)), np.zeros((width - 1, width)), np.eye(width)[-1]
    )
    return LinearChooser(base, np.zeros((N_METAS + n_classes, width)))


@dataclass(frozen=True)
class TreeChooser:
    """Scores of the actions from boosted trees.

    Attributes
    ----------
    trees : TreePolicy
        Over the policy's features: values, marks, meta-features, one column per guess.
    actions : int64 (outputs,), action of each output of the trees
    n_actions : number of factors, and one
    n_classes : number of guesses
    """

    trees: TreePolicy
    actions: npt.NDArray[np.int64]
    n_actions: int
    n_classes: int

    def linear(self) -> None:
        """Nothing here can be added up factor by factor."""

    def scores(self, partial: Floats, metas: Floats, guess: Ints) -> Floats:
        """Walk the trees; a single row walks without compiled code, to the same bits."""
        features = np.hstack([partial, metas, guess[:, None] == np.arange(self.n_classes)])
        if len(features) == 1:
            case = self.trees.begin()
            for column, value in enumerate(features[0].tolist()):
                case.learn(column, value)
            case.wants(None)
            raw = case.answer()[None, :]
        else:
            raw = self.trees.batch(features, billed=False).raw
        scores = np.full((len(features), self.n_actions), NEVER)
        scores[:, self.actions] = raw
        return scores

    def problem(self, layout: Layout, n_classes: int) -> str:
        """What is unsafe about the arrays; empty if nothing."""
        width = layout.n_entries + layout.n_factors + N_METAS + n_classes
        if not isinstance(self.trees, TreePolicy) or self.trees.n_features != width:
            return f"the trees of a chooser do not read {width} policy features"
        actions = self.actions
        if len(actions) != self.trees.trees.n_outputs or len(np.unique(actions)) < len(actions):
            return "the outputs of the trees are not different actions"
        if actions.min() < 0 or actions.max() >= self.n_actions:
            return "the outputs of the trees are not actions"
        return ""


def chooser_state(choosers: tuple[Chooser, ...]) -> dict[str, Any]:
    """Arrays, or trees, of choosers for a model file; the names end in their number."""
    state: dict[str, Any] = {}
    for i, chooser in enumerate(choosers):
        if isinstance(chooser, LinearChooser):
            base = chooser.base
            parts = (base.weight, base.mark, base.bias, chooser.meta)
            state |= {f"{name}_{i}": part for name, part in zip(LINEAR, parts, strict=True)}
        else:
            assert isinstance(chooser, TreeChooser)
            state |= {f"trees_{i}": chooser.trees, f"actions_{i}": chooser.actions}
    return state


def read_choosers(
    arrays: dict[str, Any], count: int, layout: Layout, n_classes: int
) -> list[Chooser]:
    """Read and check what :func:`chooser_state` wrote."""
    choosers: list[Chooser] = []
    arrays = dict(arrays)
    for i in range(count):
        trees = arrays.pop(f"trees_{i}", None)
        dimensions = LINEAR if trees is None else {"actions": 1}
        own = {name: arrays.pop(f"{name}_{i}", None) for name in dimensions}
        check_arrays(own, dict.fromkeys(own, "f8" if trees is None else "i8"), dimensions)
        chooser = (
            LinearChooser(Linear(own["weight"], own["mark"], own["bias"]), own["meta"])
            if trees is None
            else TreeChooser(trees, own["actions"], layout.n_factors + 1, n_classes)
        )
        if problem := chooser.problem(layout, n_classes):
            raise ValueError(problem)
        choosers.append(chooser)
    if arrays:
        raise ValueError(f"the choosers are not as many as the {count} trade-offs")
    return choosers
