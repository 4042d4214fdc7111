"""States of rows, what policies see of them, and those kept as examples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from worthwhile.core import links
from worthwhile.estimators.selection._data_classifier import World
from worthwhile.estimators.selection._oracle import shares
from worthwhile.policy.selection.rows import Bools, Chooser, Ints, meta_features

Floats = npt.NDArray[np.float64]

BLOCK = 4096
"""States whose policy features are built together."""


@dataclass(frozen=True)
class States:
    """States of rows of a world: what they have bought, and what follows from it.

    Attributes
    ----------
    rows : int (m,)
    bought : bool (m, n_factors)
    metas : float (m, n_metas)
    guess : int (m,), the class that the data classifier would answer
    """

    rows: Ints
    bought: Bools
    metas: Floats
    guess: Ints

    def blocks(self) -> Iterator[States]:
        """The states in order, few at a time."""
        for i in range(0, len(self.rows), BLOCK):
            part = slice(i, i + BLOCK)
            yield States(self.rows[part], self.bought[part], self.metas[part], self.guess[part])


def look(world: World, rows: Ints, bought: Bools, last: Floats) -> tuple[States, Floats]:
    """The states of rows with these purchases, given what was known of them one step before."""
    raw = world.raw(rows, bought)
    guess: Ints = np.argmax(raw, axis=1)
    confidence = links.softmax(raw).max(axis=1)
    metas, last = meta_features(confidence, guess, shares(world.prices, bought), last)
    return States(rows, bought, metas, guess), last


def policy_features(world: World, states: States) -> Floats:
    """Features of states (section 3.3): known values, marks, meta-features, the guess."""
    bought = states.bought
    marks = np.hstack([bought, np.ones((len(bought), 1), dtype=bool)])
    z = world.Z[states.rows] * marks[:, world.layout.owner()]
    guesses = states.guess[:, None] == np.arange(world.n_classes)
    return np.hstack([z, bought, states.metas, guesses])


def action_scores(chooser: Chooser, world: World, states: States) -> Floats:
    """Scores of the actions in many states."""
    linear, parts = chooser.linear(), []
    for part in states.blocks():
        phi = policy_features(world, part)
        seen = phi[:, : world.layout.n_entries + world.layout.n_factors]
        if linear is not None:
            seen = seen @ np.vstack([linear.weight, linear.mark]) + linear.bias
        parts.append(chooser.scores(seen, part.metas, part.guess))
    return np.concatenate(parts)


@dataclass
class Examples:
    """States with the action to imitate, kept small: features are rebuilt when they are needed."""

    rows: list[npt.NDArray[np.int32]] = field(default_factory=list)
    bought: list[Bools] = field(default_factory=list)
    metas: list[npt.NDArray[np.float32]] = field(default_factory=list)
    guess: list[npt.NDArray[np.int16]] = field(default_factory=list)
    labels: list[npt.NDArray[np.int16]] = field(default_factory=list)

    def add(self, states: States, labels: Ints) -> None:
        """Keep some states."""
        self.rows.append(states.rows.astype(np.int32))
        self.bought.append(states.bought.copy())
        self.metas.append(states.metas.astype(np.float32))
        self.guess.append(states.guess.astype(np.int16))
        self.labels.append(labels.astype(np.int16))

    def __len__(self) -> int:
        return sum(map(len, self.rows))

    def draw(self, world: World, most: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
        """Features and labels: all, or where there are more than ``most``, a uniform sample."""
        index = np.arange(len(self))
        if len(self) > most:
            index = np.sort(rng.choice(len(self), most, replace=False))
        states = States(
            np.concatenate(self.rows)[index].astype(np.int64),
            np.concatenate(self.bought)[index],
            np.concatenate(self.metas)[index].astype(np.float64),
            np.concatenate(self.guess)[index].astype(np.int64),
        )
        return policy_features(world, states), np.concatenate(self.labels)[index].astype(np.int64)
