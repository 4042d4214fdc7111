"""What a fitted model promises about new rows, and the check of it later."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from worthwhile.costs import as_floats
from worthwhile.policy.base import Outcome, Policy
from worthwhile.promise import Evidence, Promise, check_promise

Floats = npt.NDArray[np.float64]


class Promising:
    """For estimators: :meth:`promise` and :meth:`check`."""

    policy_: Policy
    promise_: Promise

    def promise(self, X: Any, y: Any, *, key: Any = None) -> Self:
        """Promise that new rows will be like these, which must not have trained.

        Mean bill, accuracy (or error), calibration, total price where errors have prices, and how the
        values that are bought are spread: all of it goes into the model's file, and :meth:`check` or
        ``worthwhile check`` holds later rows against it. Searches do it by themselves.

        Parameters
        ----------
        X : array or frame (n, d)
            Rows that did not train.
        y : array (n,)
            Their truth.
        key : one per row, optional
            As for ``predict``.

        Returns
        -------
        self
        """
        evidence = self._evidence(X, y, key)
        model: Any = self
        self.promise_ = Promise.of(evidence, model._error_prices()[0], self.policy_.fingerprint())
        return self

    def check(self, X: Any, y: Any, *, key: Any = None) -> dict[str, Any]:
        """Hold rows whose truth is known, with their keys, against what was promised.

        Returns
        -------
        dict
            As of :func:`worthwhile.promise.check_promise`: "holds", "verdict", "figures" with
            intervals, "drifted".
        """
        policy = self.policy_
        return check_promise(
            self._promised(), self._evidence(X, y, key), policy.costs.features, policy.columns
        )

    def _promised(self) -> Promise | None:
        """What was promised for this very policy; at another point of a trade-off nothing was."""
        found = getattr(self, "promise_", None)
        if found is None or found.fingerprint != self.policy_.fingerprint():
            return None
        return found

    def _evidence(self, X: Any, y: Any, key: Any = None) -> Evidence:
        """What the model does with rows whose truth is known."""
        model: Any = self
        rows, outcome = model._read(X), model._run(X, key=key)
        policy, output = self.policy_, self.policy_.output
        bills, answers = as_floats(policy.bills(outcome)), output.predict(outcome.raw)
        values = bought_values(rows, outcome)
        errors, loss = model._error_prices()
        truth = np.asarray(y)
        if len(truth) != len(rows):
            raise ValueError(f"y has {len(truth)} entries for {len(rows)} rows: give one per row.")
        if output.classes is None:
            price = None if errors is None else float(errors[0, 0])
            return Evidence.of_numbers(bills, answers, truth, price, loss, values)
        shares = output.probabilities(outcome.raw) if output.has_probabilities else None
        return Evidence.of_classes(bills, answers, truth, output.classes, shares, errors, values)


def bought_values(rows: Any, outcome: Outcome) -> dict[int, Floats]:
    """By column, the numbers that were bought."""
    return {
        int(column): np.asarray(rows[outcome.acquired[:, column], column], dtype=np.float64)
        for column in np.flatnonzero(outcome.acquired.any(axis=0))
    }
