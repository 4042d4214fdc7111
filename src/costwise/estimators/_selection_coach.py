"""Coaches: what the learner's preference is worth beside the oracle's rewards (eq. 4)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import scipy.linalg

from costwise.core import links
from costwise.estimators._selection_data import World
from costwise.estimators._selection_oracle import Prospect
from costwise.estimators._selection_states import States, policy_features
from costwise.policy._selection_rows import Bools, Ints

Floats = npt.NDArray[np.float64]

RIDGE = 1.0
"""Penalty of the squared weights of what the learner expects."""


class Coach(ABC):
    """Labels states; gives way to the learner less and less.

    Parameters
    ----------
    eta : number
        Weight of the learner's preference in the first round, which has no learner yet; it falls by
        a factor of e in ``patience`` rounds. At 0, the coach is the oracle.
    """

    patience: ClassVar[float] = 1.0

    def __init__(self, eta: float) -> None:
        self._first = self.eta = eta

    def begin(self, number: int) -> None:
        """Start round 1, 2, ..."""
        self.eta = self._first * float(np.exp((1.0 - number) / self.patience))

    def label(
        self, world: World, states: States, prospect: Prospect, scores: Floats | None
    ) -> Ints:
        """Actions to imitate. ``scores`` are the learner's; None: there is no learner yet."""
        likes = None
        if scores is not None and self.eta > 0:
            likes = self._likes(world, states, scores)
        return prospect.labels() if likes is None else prospect.labels(self.eta * likes)

    @abstractmethod
    def _likes(self, world: World, states: States, scores: Floats) -> Floats | None:
        """The learner's preference (m, n_factors + 1), any number for bought factors; None: none yet."""


class ConfidenceCoach(Coach):
    """The paper's: how likely the learner takes each action, softmax over what is allowed."""

    def _likes(self, world: World, states: States, scores: Floats) -> Floats:
        allowed = scores.copy()
        allowed[:, :-1][states.bought] = -np.inf
        likes: Floats = links.softmax(allowed)
        return likes


class RewardCoach(Coach):
    """What a learner who does not know the labels may expect of each action.

    That is how much better than going on as the learner would: for a factor, its reward minus that
    of the learner's favourite; for stopping, the reward here minus that where the learner ends, or
    where it has just stopped, would end if it went on. Both are regressed on the policy's features,
    over all states of learners so far. Only sums are kept, the same for all actions: a bought factor,
    of which nobody asks, counts with the mean of the others.
    """

    patience = 3.0

    def __init__(self, eta: float) -> None:
        super().__init__(eta)
        self._products: Floats | None = None
        self._weight: Floats | None = None
        self._waiting: list[tuple[States, Floats, Bools]] = []
        """States of this round, their rewards, and whether the learner stopped there."""

    def begin(self, number: int) -> None:
        """Start a round with the expectations of those before."""
        super().begin(number)
        if self._products is not None:
            penalised = self._products + RIDGE * np.eye(len(self._products))
            self._weight = scipy.linalg.solve(penalised, self._sums, assume_a="pos")

    @property
    def curious(self) -> bool:
        """Whether the coach has to be told how the rows of a round end."""
        return self.eta > 0

    def label(
        self, world: World, states: States, prospect: Prospect, scores: Floats | None
    ) -> Ints:
        """Label states by what was expected so far, and see what their factors bring."""
        labels = super().label(world, states, prospect, scores)
        if scores is not None and self.curious:
            self._watch(world, states, prospect, scores)
        return labels

    def tell(self, world: World, reached: Floats, beyond: Floats) -> None:
        """Learn what stopping is worth from how the rows end that were labelled in this round.

        ``reached`` (n,) is the reward of each row where the learner stopped, ``beyond`` where it would
        have stopped next, had it gone on.
        """
        for states, here, stopped in self._waiting:
            gain = here - np.where(stopped, beyond[states.rows], reached[states.rows])
            for inputs, part in _inputs(world, states):
                self._sums[:, -1] += inputs.T @ gain[part]
        self._waiting.clear()

    def _likes(self, world: World, states: States, scores: Floats) -> Floats | None:
        if self._weight is None:
            return None
        return np.concatenate([inputs @ self._weight for inputs, _ in _inputs(world, states)])

    def _watch(self, world: World, states: States, prospect: Prospect, scores: Floats) -> None:
        bought, at = states.bought, np.arange(len(scores))
        liked = favourite(scores, ~bought)
        gains = prospect.actions - prospect.actions[at, liked][:, None]
        mean = gains.mean(axis=1, where=~bought)
        gains = np.where(bought, mean[:, None], gains)
        for inputs, part in _inputs(world, states):
            if self._products is None:
                width = inputs.shape[1]
                self._products = np.zeros((width, width))
                self._sums = np.zeros((width, scores.shape[1]))
            self._products += inputs.T @ inputs
            self._sums[:, :-1] += inputs.T @ gains[part]
        stopped = scores[:, -1] > scores[at, liked]
        self._waiting.append((states, prospect.here, stopped))


def favourite(scores: Floats, open_: Bools) -> Ints:
    """The factor that a policy would buy if it had to go on."""
    best: Ints = np.argmax(np.where(open_, scores[:, :-1], -np.inf), axis=1)
    return best


def _inputs(world: World, states: States) -> Iterator[tuple[Floats, slice]]:
    """Features of few states at a time, with a constant, and which states these are."""
    start = 0
    for part in states.blocks():
        phi = policy_features(world, part)
        yield np.hstack([phi, np.ones((len(phi), 1))]), slice(start, start + len(phi))
        start += len(phi)
