"""What answers are worth, row by row: right ones, expected ones, prices of errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

SOFT = 0.5
"""Weight of the expected beside the actual outcome of a decision: it is less noisy, but less true."""


class Payoff:
    """Worth of answers to rows whose class is known.

    Parameters
    ----------
    truth : int (n,)
        Class of each row.
    n_classes : int
    weight : float64 (n,)
        Weights of the rows.
    errors : float64 (classes, classes), optional
        Price of answering the second where the first is true; None: a right answer is worth 1.
    """

    def __init__(
        self, truth: Array, n_classes: int, weight: Floats, errors: Floats | None = None
    ) -> None:
        self.truth, self.weight = truth, weight
        self.gain = np.eye(n_classes) if errors is None else -errors

    def part(self, rows: Array) -> Payoff:
        """Some of the rows."""
        return self._of(self.truth[rows], self.weight[rows])

    def _of(self, truth: Array, weight: Floats) -> Payoff:
        part = object.__new__(type(self))
        part.__dict__.update(self.__dict__, truth=truth, weight=weight)
        return part

    def hard(self, votes: Floats) -> Floats:
        """What the decisions turn out to be worth, (n,)."""
        return self.gain[self.truth, self.decide(votes)]

    def decide(self, votes: Floats) -> Array:
        """The class of the largest expected worth, (n,)."""
        expected = np.zeros((len(votes), self.gain.shape[1]))
        for true, worth in enumerate(self.gain):  # no BLAS, whose sums vary with threads
            expected += votes[:, true, None] * worth
        return np.argmax(expected, axis=1)

    def mixed(self, votes: Floats) -> Floats:
        """Half that, half what a decision drawn from the votes would be worth, (n,)."""
        drawn = (votes * self.gain[self.truth]).sum(axis=1)
        return (1 - SOFT) * self.hard(votes) + SOFT * drawn

    def soft(self, votes: Floats) -> float:
        """Mean of the latter alone."""
        drawn = (votes * self.gain[self.truth]).sum(axis=1)
        return float(np.average(drawn, weights=self.weight))

    def constant(self) -> float:
        """The same of the shares of the classes, for every row."""
        shares = np.bincount(self.truth, self.weight, len(self.gain)) / self.weight.sum()
        return self.soft(np.broadcast_to(shares, (len(self.truth), len(shares))))
