"""A model that is read as a whole: it answers from all its inputs, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from costwise.costs import Costs
from costwise.policy.base import Bundle, Case, Floats, Outcome, Policy, State
from costwise.policy.output import Output

RawFunction = Callable[[Floats], Floats]
"""Full rows (n, d) to raw outputs (n, n_raw)."""


class WholePolicy(Policy):
    """Any function of full rows.

    Parameters
    ----------
    costs, output
        As for every policy.
    function : callable
        From full rows (n, d) to raw outputs (n, n_raw).
    reads : array of int
        Columns that the function looks at; the others are passed as 0.
    fallback : array (n_raw,), optional
        Raw output when the budget does not pay for all of them; nothing is bought then.
    fill : array (d,), optional
        Values that stand for what was not bought: with it, a part of the columns is of use.

    Notes
    -----
    A foreign library does the arithmetic, so a row alone and the same row in a batch agree to that
    library's own float precision only.
    """

    kind = "whole"
    exact = False

    def __init__(
        self,
        costs: Costs,
        output: Output,
        function: RawFunction,
        reads: npt.NDArray[np.intp],
        fallback: Floats | None = None,
        fill: Floats | None = None,
    ) -> None:
        super().__init__(costs, output)
        self.function = function
        self._reads = np.asarray(reads, dtype=np.intp)
        self.fallback, self.fill = fallback, fill

    @property
    def reads(self) -> npt.NDArray[np.intp]:
        """Columns that the function looks at."""
        return self._reads

    def check_budget(self) -> None:
        """A budget needs something to answer with when it does not reach."""
        if self.fallback is None and self.fill is None:
            raise ValueError(
                "this model reads all its features and cannot answer from a part of them, so it cannot run under a "
                "budget. Give PricedModel a fallback= answer for rows whose budget does not reach, or a background= "
                "sample, whose means stand for what is not bought."
            )

    def begin(self) -> WholeCase:
        """Start a row."""
        return WholeCase(self)

    def batch(self, X: Floats, limit: int | None = None, *, billed: bool = True) -> Outcome:
        """One call of the function for all rows that buy something."""
        X = np.asarray(X, dtype=np.float64)
        bought = self._affordable(limit)
        acquired = np.zeros(X.shape, dtype=bool)
        acquired[:, bought] = True
        return Outcome(self.answers(X, bought), acquired, np.ones(len(X), dtype=np.int64))

    def _affordable(self, limit: int | None) -> npt.NDArray[np.intp]:
        """Columns bought under a limit: the same for every row, as prices do not depend on values."""
        case = self.begin()
        from costwise.policy.base import Till

        till, bought = Till(self.costs, limit), []
        while bundles := case.wants(till.left(case.evaluated)):
            for bundle in bundles:
                if till.buy(bundle, case.evaluated):
                    bought += bundle
                    for feature in bundle:
                        case.learn(feature, 0.0)
                else:
                    case.refuse(bundle)
        return np.array(bought, dtype=np.intp)

    def answers(self, X: Floats, known: npt.NDArray[np.intp]) -> Floats:
        """Raw outputs from the known columns."""
        missing = np.setdiff1d(self._reads, known)
        if len(X) == 0 or (len(missing) and self.fill is None):
            assert self.fallback is not None or len(X) == 0
            return np.tile(
                self.fallback if self.fallback is not None else np.zeros(self._n_raw()), (len(X), 1)
            )
        rows = np.zeros((len(X), self.n_features))
        rows[:, known] = X[:, known]
        if len(missing) and self.fill is not None:
            rows[:, missing] = self.fill[missing]
        return np.asarray(self.function(rows), dtype=np.float64)

    def _n_raw(self) -> int:
        return self.output.n_raw or 1

    def state(self) -> State:
        """The columns; the function itself is stored by whoever made it."""
        arrays: dict[str, Any] = {"reads": self._reads.astype(np.int64)}
        for name in ("fallback", "fill"):
            if (array := getattr(self, name)) is not None:
                arrays[name] = array
        return {}, arrays

    @classmethod
    def from_state(cls, costs: Costs, output: Output, state: State) -> WholePolicy:
        """Not possible from arrays alone: the function belongs to a foreign model."""
        raise ValueError(
            "a policy around a foreign model is read with costwise.load(path, trusted=[...])"
        )


class WholeCase(Case):
    """One row: it wants everything, at once or column by column."""

    def __init__(self, policy: WholePolicy) -> None:
        self._policy = policy
        self._values: dict[int, float] = {}
        self._refused: set[int] = set()

    def wants(self, left: int | None) -> list[Bundle]:
        """All that is not known: one bundle, or single columns where a part is of use."""
        self.evaluated = 1
        if left is not None and left < self._policy.costs.flat.evaluation and not self._values:
            self.evaluated = 0
        open_ = [
            int(f)
            for f in self._policy.reads
            if int(f) not in self._values and int(f) not in self._refused
        ]
        if self._policy.fill is not None:
            return [(feature,) for feature in open_]
        return [] if self._refused or not open_ else [tuple(open_)]

    def learn(self, feature: int, value: float) -> None:
        """Keep the value."""
        self._values[feature] = value

    def refuse(self, bundle: Bundle) -> None:
        """Without a part of it, the rest is of use only if something stands for that part."""
        self._refused.update(bundle)

    def answer(self) -> Floats:
        """The function of the full row, or what stands for it."""
        policy = self._policy
        row = np.zeros((1, policy.n_features))
        known = np.array(
            sorted(f for f in self._values if f in set(policy.reads.tolist())), dtype=np.intp
        )
        row[0, known] = [self._values[int(f)] for f in known]
        if len(known) < len(policy.reads) and policy.fill is None and policy.fallback is None:
            raise ValueError(
                "the answer needs all features of this model: go on until ask() returns [], or give PricedModel a "
                "fallback= or background=."
            )
        return policy.answers(row, known)[0]
