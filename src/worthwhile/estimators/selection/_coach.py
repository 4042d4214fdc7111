"""Coaches: what the learner's preference is worth beside the oracle's rewards (eq. 4)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import scipy.linalg

from worthwhile.core import links
from worthwhile.estimators.selection._data_classifier import World
from worthwhile.estimators.selection._oracle import Prospect
from worthwhile.estimators.selection._states import States, policy_features
from worthwhile.policy.selection.learned import pick
from worthwhile.policy.selection.rows import Bools, Ints

Floats = npt.NDArray[np.float64]

RIDGE = 1.0
"""Penalty of the squared weights of what the learner expects."""


@dataclass(frozen=True)
class Decision:
    """What a learner does in many states.

    Attributes
    ----------
    scores : float64 (m, n_factors + 1), of the factors, bought ones too, and of stopping
    action : int (m,), what it takes: a factor, or n_factors to stop
    favourite : int (m,), the factor that it would buy if it had to go on
    """

    scores: Floats
    action: Ints
    favourite: Ints


def decide(scores: Floats, bought: Bools) -> Decision:
    """What scores lead to."""
    factors = np.where(bought, -np.inf, scores[:, :-1])
    return Decision(scores, pick(scores, ~bought), np.argmax(factors, axis=1))


class Coach(ABC):
    """Labels states; gives way to the oracle more and more.

    Parameters
    ----------
    eta : number, optional
        Weight of the learner's preference at the beginning; it falls by a factor of e in
        ``patience`` rounds. At 0, the coach is the oracle. None: ``usual_eta``.
    """

    usual_eta: ClassVar[float]
    patience: ClassVar[float]

    def __init__(self, eta: float | None = None) -> None:
        self._first = self.eta = self.usual_eta if eta is None else eta

    def begin(self, number: int) -> None:
        """Start round 1, 2, ..."""
        self.eta = self._first * float(np.exp((1.0 - number) / self.patience))

    def label(
        self, world: World, states: States, prospect: Prospect, decision: Decision | None
    ) -> Ints:
        """Actions to imitate. ``decision`` is the learner's; None: there is no learner yet."""
        likes = None
        if decision is not None and self.eta > 0:
            likes = self._likes(world, states, decision)
        return prospect.labels() if likes is None else prospect.labels(self.eta * likes)

    @abstractmethod
    def _likes(self, world: World, states: States, decision: Decision) -> Floats | None:
        """The learner's preference (m, n_factors + 1), any number for bought factors; None: none yet."""


class ConfidenceCoach(Coach):
    """The paper's: how likely the learner takes each action, softmax over what is allowed."""

    usual_eta, patience = 0.5, 1.0

    def _likes(self, world: World, states: States, decision: Decision) -> Floats:
        allowed = decision.scores.copy()
        allowed[:, :-1][states.bought] = -np.inf
        return links.softmax(allowed)


class RewardCoach(Coach):
    """What a learner who does not know the labels may expect of each action.

    That is how much better than going on as the learner would: for a factor, its reward minus that
    of the learner's favourite; for stopping, the reward here minus that where the learner ends, or
    where it has just stopped, would end if it went on. Both are regressed on the policy's features,
    over all states of learners in the rounds before; so the first round and the second, which has the
    first learner, follow the oracle. Only sums are kept, the same for all actions: a bought factor, of
    which nobody asks, counts with the mean of the others.
    """

    usual_eta, patience = 3.0, 3.0

    def __init__(self, eta: float | None = None) -> None:
        super().__init__(eta)
        self._products: Floats | None = None
        self._sums = np.empty((0, 0))
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
        self, world: World, states: States, prospect: Prospect, decision: Decision | None
    ) -> Ints:
        """Label states by what was expected so far, and see what their factors bring."""
        labels = super().label(world, states, prospect, decision)
        if decision is not None and self.curious:
            self._watch(world, states, prospect, decision)
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

    def _likes(self, world: World, states: States, decision: Decision) -> Floats | None:
        if self._weight is None:
            return None
        return np.concatenate([inputs @ self._weight for inputs, _ in _inputs(world, states)])

    def _watch(self, world: World, states: States, prospect: Prospect, decision: Decision) -> None:
        bought, (m, n_factors) = states.bought, prospect.actions.shape
        gains = prospect.actions - prospect.actions[np.arange(m), decision.favourite][:, None]
        mean = gains.mean(axis=1, where=~bought)
        gains = np.where(bought, mean[:, None], gains)
        for inputs, part in _inputs(world, states):
            if self._products is None:
                width = inputs.shape[1]
                self._products = np.zeros((width, width))
                self._sums = np.zeros((width, n_factors + 1))
            self._products += inputs.T @ inputs
            self._sums[:, :-1] += inputs.T @ gains[part]
        self._waiting.append((states, prospect.here, decision.action == n_factors))


def _inputs(world: World, states: States) -> Iterator[tuple[Floats, slice]]:
    """Features of few states at a time, with a constant, and which states these are."""
    start = 0
    for part in states.blocks():
        phi = policy_features(world, part)
        yield np.hstack([phi, np.ones((len(phi), 1))]), slice(start, start + len(phi))
        start += len(phi)
