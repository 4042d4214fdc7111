"""Coaches: what the learner's preference is worth beside the oracle's rewards (eq. 4)."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt
import scipy.linalg

from costwise.core import links
from costwise.estimators._selection_data import World
from costwise.estimators._selection_oracle import Prospect
from costwise.estimators._selection_states import States, policy_features
from costwise.policy._selection_rows import Ints

Floats = npt.NDArray[np.float64]

RIDGE = 1.0
"""Penalty of the squared weights of what the learner expects."""


class Coach(ABC):
    """Labels states; gives way to the learner less and less.

    Parameters
    ----------
    eta : number
        Weight of the learner's preference in the first round, which has no learner yet; it falls by
        a factor of e per round. At 0, the coach is the oracle.
    """

    def __init__(self, eta: float) -> None:
        self._first = self.eta = eta

    def begin(self, number: int) -> None:
        """Start round 1, 2, ..."""
        self.eta = self._first * float(np.exp(1.0 - number))

    def label(
        self, world: World, states: States, prospect: Prospect, scores: Floats | None
    ) -> Ints:
        """Actions to imitate. ``scores`` are the learner's; None: there is no learner yet."""
        if scores is None or self.eta == 0:
            return prospect.labels()
        return prospect.labels(self.eta * self._likes(world, states, scores))

    @abstractmethod
    def _likes(self, world: World, states: States, scores: Floats) -> Floats:
        """The learner's preference (m, n_factors + 1); of bought factors, any number."""


class ConfidenceCoach(Coach):
    """The paper's: how likely the learner takes each action, softmax over what is allowed."""

    def _likes(self, world: World, states: States, scores: Floats) -> Floats:
        allowed = scores.copy()
        allowed[:, :-1][states.bought] = -np.inf
        likes: Floats = links.softmax(allowed)
        return likes


class RewardCoach(Coach):
    """What a learner who does not know the labels may expect of each action.

    Rewards relative to the greedy choice are regressed on the policy's features, over all states of
    the rounds before. Only sums are kept, the same for all actions: a bought factor, of which nobody
    asks, counts with the mean of the others.
    """

    def __init__(self, eta: float) -> None:
        super().__init__(eta)
        self._products: Floats | None = None
        self._weight: Floats | None = None

    def begin(self, number: int) -> None:
        """Start a round with the expectations of those before."""
        super().begin(number)
        if self._products is not None:
            penalised = self._products + RIDGE * np.eye(len(self._products))
            self._weight = scipy.linalg.solve(penalised, self._sums, assume_a="pos")

    def label(
        self, world: World, states: States, prospect: Prospect, scores: Floats | None
    ) -> Ints:
        """Label states by what was expected so far, then learn from their rewards."""
        labels = super().label(world, states, prospect, scores)
        if self.eta > 0:
            self._watch(world, states, prospect)
        return labels

    def _likes(self, world: World, states: States, scores: Floats) -> Floats:
        assert self._weight is not None
        return np.concatenate([_inputs(world, part) @ self._weight for part in states.blocks()])

    def _watch(self, world: World, states: States, prospect: Prospect) -> None:
        values = prospect.values()
        mean = values[:, :-1].mean(axis=1, where=~states.bought)
        values[:, :-1] = np.where(states.bought, mean[:, None], values[:, :-1])
        start = 0
        for part in states.blocks():
            inputs, target = _inputs(world, part), values[start : start + len(part.rows)]
            start += len(part.rows)
            if self._products is None:
                width = inputs.shape[1]
                self._products = np.zeros((width, width))
                self._sums = np.zeros((width, target.shape[1]))
            self._products += inputs.T @ inputs
            self._sums += inputs.T @ target


def _inputs(world: World, states: States) -> Floats:
    phi = policy_features(world, states)
    return np.hstack([phi, np.ones((len(phi), 1))])
