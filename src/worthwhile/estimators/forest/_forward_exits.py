"""Where rows leave a list of features: what going on is worth, by backward induction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from worthwhile.core.trees import Trees
from worthwhile.policy.exits.policy import ExitPolicy
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy

Floats = npt.NDArray[np.float64]

EXIT_STAGES, EXIT_WEIGHT = 10, 4.0
"""Stages at most, and how much more a stage counts than the one before it."""


def spaced(lengths: Sequence[int]) -> list[int]:
    """The lengths that become stages: the first, the last, and few of the long ones."""
    if len(lengths) <= EXIT_STAGES:
        return list(lengths)
    chosen = np.geomspace(1, len(lengths), EXIT_STAGES).round().astype(int)
    return [lengths[i] for i in np.unique(chosen) - 1]


def joint_votes(votes: Sequence[Floats]) -> list[Floats]:
    """Class probabilities after each stage, all stages so far voting."""
    found, total, weight = [], np.zeros_like(votes[0]), 0.0
    for own in votes:
        total = total / EXIT_WEIGHT + own
        weight = weight / EXIT_WEIGHT + 1
        found.append(total / weight)
    return found


def exit_levels(
    certainty: Floats, right: Floats, price: Floats, worth: float, weight: Floats | None = None
) -> Floats:
    """From which certainty on a row leaves after each stage but the last.

    From the last stage backwards: with the levels of all later stages fixed, a stage takes the
    level at which the rows together are worth most, a right answer counting ``worth``, less what
    they pay.

    Parameters
    ----------
    certainty, right : float64 (stages, n)
        Largest class probability of a row after a stage, and whether that answer is right.
    price : float64 (stages,)
        What the list costs up to a stage.
    worth : float
        What a right answer is worth.
    weight : float64 (n,), optional
        Weights of the rows.
    """
    share = np.ones(certainty.shape[1]) if weight is None else weight
    levels = np.zeros(len(price) - 1)
    going_on = worth * right[-1] - price[-1]
    for stage in range(len(levels) - 1, -1, -1):
        leaving = worth * right[stage] - price[stage]
        order = np.argsort(-certainty[stage], kind="stable")
        ranked = certainty[stage][order]
        gain = np.append(0.0, np.cumsum((share * (leaving - going_on))[order]))
        # Rows of the same certainty leave together or not at all.
        gain[1:-1][ranked[1:] == ranked[:-1]] = -np.inf
        first = int(np.argmax(gain))
        if first == 0:
            levels[stage] = 1.0
        elif first < len(ranked):
            levels[stage] = (ranked[first - 1] + ranked[first]) / 2
        going_on = np.where(certainty[stage] > levels[stage], leaving, going_on)
    return levels


def with_exits(forests: Sequence[TreePolicy], levels: Floats) -> ExitPolicy:
    """Forests one after the other; rows leave when the votes so far are certain enough."""
    some = forests[0]
    parts = [forest.trees.first((forest.trees.n_trees + 1) // 2) for forest in forests]
    weights = EXIT_WEIGHT ** np.arange(len(parts))
    trees = Trees.join(
        [
            replace(part, value=part.value * weight)
            for part, weight in zip(parts, weights, strict=True)
        ]
    )
    trees = replace(
        trees, value=np.hstack([trees.value, trees.value]), base=np.tile(trees.base, 2) * 1e-9,
        average=False,
    )  # fmt: skip
    ends = np.cumsum([part.n_trees for part in parts]).astype(np.int64)
    model = TreePolicy(some.costs, Output("votes", some.output.classes), trees)
    return ExitPolicy(model, ends, "probability", levels, 1)
