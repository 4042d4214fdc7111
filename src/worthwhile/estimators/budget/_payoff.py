"""What answers are worth, row by row: right ones, near ones, prices of errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from worthwhile.core import links
from worthwhile.costs import expected_prices
from worthwhile.policy.calibration import Calibration

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

SOFT = 0.5
"""Weight of the expected beside the actual outcome of a decision: it is less noisy, but less true."""


POWERS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""To which votes may be raised."""

POWER_ROWS = 500
"""Rows that say to which."""

LEAST_SHARE = 1e-6
"""A class that no tree votes for may be true all the same; it says nothing about powers."""


def sharpened(votes: Floats, truth: Array) -> Floats:
    """Votes raised to the power at which they are most likely, (n, classes).

    The more columns a forest has, the more its trees differ: it is right more often, and less sure. Votes as
    they are would say that more columns are worth less.
    """
    step = -(-len(votes) // POWER_ROWS)
    some, true = votes[::step], truth[::step]
    rows = np.arange(len(some))

    def likelihood(shares: Floats) -> float:
        return float(np.log(np.maximum(shares[rows, true], LEAST_SHARE)).sum())

    best, shares, most = POWERS[0], some, likelihood(some)
    for power in POWERS[1:]:  # it rises, and then falls
        raised = _raised(some, power)
        found = likelihood(raised)
        if found <= most:
            break
        best, shares, most = power, raised, found
    return shares if step == 1 else _raised(votes, best)


def _raised(votes: Floats, power: float) -> Floats:
    """Shares of votes to a power."""
    if power == 1.0:
        return votes
    high = votes**power
    found: Floats = high / np.maximum(high.sum(axis=1), 1e-300)[:, None]
    return found


class Payoff(ABC):
    """Worth of answers to rows whose truth is known.

    Parameters
    ----------
    truth : array (n,)
        What is true of each row.
    weight : float64 (n,)
        Weights of the rows.
    in_money : bool
        Whether worth is money: minus the price of errors, in the unit of the prices.
    """

    def __init__(self, truth: Array, weight: Floats, in_money: bool) -> None:
        self.truth, self.weight, self.in_money = truth, weight, in_money

    def part(self, rows: Array) -> Self:
        """Some of the rows."""
        part = object.__new__(type(self))
        part.__dict__.update(self.__dict__, truth=self.truth[rows], weight=self.weight[rows])
        return part

    @abstractmethod
    def hard(self, votes: Floats) -> Floats:
        """What answers turn out to be worth, (n,)."""

    @abstractmethod
    def drawn(self, votes: Floats) -> Floats:
        """What an answer drawn from the votes would be worth, (n,)."""

    def mixed(self, votes: Floats) -> Floats:
        """Half of both, (n,)."""
        return (1 - SOFT) * self.hard(votes) + SOFT * self.drawn(votes)

    def soft(self, votes: Floats) -> float:
        """Mean of the latter alone."""
        return float((self.drawn(votes) * self.weight).sum() / self.weight.sum())


class Classes(Payoff):
    """A right answer is worth 1, or errors have prices.

    ``errors``, float64 (classes, decisions): price of a decision where a class is true. Decisions are
    the classes, and a last one, to hand the case to a person, where that has a price.
    """

    def __init__(
        self, truth: Array, n_classes: int, weight: Floats, errors: Floats | None = None
    ) -> None:
        super().__init__(truth, weight, errors is not None)
        self.gain = np.eye(n_classes) if errors is None else -errors
        self._map: Calibration | None = None

    def calibrated(self, calibration: Calibration) -> Self:
        """The same for votes that become probabilities by this map."""
        twin = self.part(np.arange(len(self.truth)))
        twin._map = calibration
        return twin

    def _shares(self, votes: Floats) -> Floats:
        return votes if self._map is None else self._map(links.log_shares(votes))

    def decide(self, votes: Floats) -> Array:
        """The decision of the largest expected worth, (n,)."""
        shares = self._shares(votes)
        if (
            not self.in_money
        ):  # the likeliest class: a table of prices would take time by the square of the classes
            return shares.argmax(axis=1)
        return np.argmin(expected_prices(shares, -self.gain), axis=1)

    def hard(self, votes: Floats) -> Floats:
        """Worth of the best decision."""
        found: Floats = self.gain[self.truth, self.decide(votes)]
        return found

    def drawn(self, votes: Floats) -> Floats:
        """Worth of a class drawn from the votes; what a person decides is not drawn."""
        own = self.gain[self.truth, : votes.shape[1]]
        shares = sharpened(votes, self.truth) if self._map is None else self._shares(votes)
        found: Floats = (shares * own).sum(axis=1)
        if self.gain.shape[1] > votes.shape[1]:
            return np.maximum(found, self.gain[0, -1])
        return found


class Numbers(Payoff):
    """What is left of the error of the mean, or the price of an error by its size.

    ``loss``: "squared" or "absolute"; ``errors``: price of one unit of it.
    """

    def __init__(
        self, truth: Floats, weight: Floats, loss: str, errors: float | None = None
    ) -> None:
        super().__init__(truth, weight, errors is not None)
        self._squared = loss == "squared"
        usual = float(np.average(self._loss(np.average(truth, weights=weight)), weights=weight))
        self._most = 0.0 if errors is not None else 1.0
        self._unit = errors if errors is not None else 1.0 / max(usual, 1e-300)

    def _loss(self, answer: Any) -> Floats:
        found: Floats = np.abs(self.truth - answer)
        return found**2 if self._squared else found

    def hard(self, votes: Floats) -> Floats:
        """By the distance."""
        return self._most - self._unit * self._loss(votes[:, 0])

    def drawn(self, votes: Floats) -> Floats:
        """The same: there is nothing to draw."""
        return self.hard(votes)
