"""Prices of errors in every estimator: decisions by them, totals, and copies that decide otherwise."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from worthwhile.costs import Errors
from worthwhile.policy.base import Policy
from worthwhile.policy.keys import read_keys

Floats = npt.NDArray[np.float64]


class Deciding:
    """For estimators: decisions of the least expected price, where errors have prices."""

    knows_errors: ClassVar[bool] = False
    """Whether ``errors`` is a parameter, so that training, too, goes by prices of errors."""

    policy_: Policy
    _decides: Errors | None = None

    def _read_errors(self) -> Errors | None:
        """Prices of errors by the parameters."""
        model: Any = self
        return self._errors_of(getattr(model, "errors", None)) if self.knows_errors else None

    def _errors_of(self, given: Any) -> Errors | None:
        """Prices of errors as they may be given; a number is for every error, or a unit of the loss."""
        if is_classifier(self) or getattr(self, "classes_", None) is not None:
            return Errors.of(given)
        loss = getattr(self, "loss", None)
        return Errors.of(given, "absolute" if loss == "absolute" else "squared")

    def _check_errors(self, y: Any) -> Errors | None:
        """The same, refused before any work where they do not fit the classes."""
        errors = self._read_errors()
        if errors is not None and is_classifier(self) and np.ndim(y) == 1:
            errors.for_classes(np.unique(np.asarray(y)))
        return errors

    def with_errors(self, errors: Any) -> Self:
        """A copy that decides by these prices of errors, in batches, sessions and files.

        What is bought stays as it is. Probabilities should hold for that: see ``calibrate``.

        Parameters
        ----------
        errors : Errors, mapping {true: {predicted: price}} or number
            As :class:`~worthwhile.Errors`; a number is the price of every error, for numbers of one unit
            of the loss. None decides without prices again.

        Examples
        --------
        >>> import worthwhile
        >>> heart = worthwhile.datasets.load_heart()
        >>> model = worthwhile.GreedyMiserClassifier(lam=0.001, costs=heart.costs, n_rounds=20)
        >>> model = model.fit(heart.data, heart.target)
        >>> careful = model.with_errors({1: {0: 500}, 0: {1: 50}})
        >>> bool((careful.predict(heart.data) == 1).sum() > (model.predict(heart.data) == 1).sum())
        True
        """
        model: Any = self
        model._check_fitted()
        return self._with_policy(self.policy_.deciding(self._errors_of(errors)))

    def _with_policy(self, policy: Policy) -> Self:
        """A copy with a policy that answers otherwise; as it is, since it is dressed already."""
        twin = copy.copy(self)
        twin._decides = policy.output.errors
        vars(twin)["policy_"] = policy
        return twin

    def total_cost(self, X: Any, y: Any, *, key: Any = None) -> Floats:
        """Bill and price of the error of each row, float64 (n,), where errors have prices.

        ``key`` as for ``predict``.
        """
        model: Any = self
        model._check_fitted()
        if (errors := self.policy_.output.errors) is None:
            raise ValueError("errors have no prices: give errors=, or call with_errors.")
        if len(np.asarray(y)) != len(X):
            raise ValueError(f"y has {len(y)} entries for {len(X)} rows: give one per row.")
        keys = {} if key is None else {"key": read_keys(key, len(X))}
        answers = model.predict(X, **keys)
        total: Floats = model.cost(X, **keys) + errors.prices(y, answers)
        return total

    def _error_prices(self) -> tuple[Floats | None, str]:
        """Prices of errors as a table, and the loss of a regressor that they are the price of."""
        output = self.policy_.output
        errors = output.errors
        if errors is None:
            return None, "squared"
        if output.classes is not None:
            return errors.for_classes(output.classes), "squared"
        price = errors.absolute if errors.squared is None else errors.squared
        return np.array([[price]], dtype=np.float64), errors.loss or "squared"
