"""From what a user gives to a gated classifier to the task that it is trained on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from worthwhile.columns import Columns
from worthwhile.columns.table import dense
from worthwhile.estimators._shared.validation import read_validation
from worthwhile.estimators._shared.weights import drop_weightless, read_weight
from worthwhile.estimators.base import CostAware, CostAwareClassifier
from worthwhile.estimators.gates._existing import (
    Existing,
    default_existing,
    read_existing,
    read_proba,
)
from worthwhile.estimators.gates._task import Task
from worthwhile.estimators.gates._unseen import Unseen, ask_unseen
from worthwhile.policy.encoded import EncodedPolicy

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]


class TaskReader(CostAwareClassifier):
    """Reads rows, and makes or reads the existing model."""

    existing: Any
    costs: Any
    random_state: Any
    class_weight: Any
    n_jobs: int | None
    out_of_fold: bool

    def _read_task(
        self, data: tuple[Any, Any, Any, Any], validation: Any, *, swept: bool
    ) -> tuple[Task, np.random.Generator]:
        """Check the data, make or read the existing model; and where folds come from."""
        X, source, codes, weight, proba = self._read_rows(*data)
        costs, encoding = self._costs_for(data[0]), self._encoding
        expansion = None if encoding is None else encoding.expansion
        made_costs = costs if encoding is None else encoding.made_costs
        if encoding is not None:
            # The composite buys the user's columns; what its parts make of them is theirs.
            self._encoding = encoding = replace(encoding, expansion=None)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        unseen = Unseen()
        if swept and proba is None and self.existing is not None and self.out_of_fold:
            columns = None if encoding is None else encoding.columns
            said = read_existing(self.existing, costs, self.classes_, source, None, columns).proba
            # A frame as it came, for models that know columns by name; unless rows were left out of it.
            named = hasattr(data[0], "columns") and len(data[0]) == len(codes)
            if named or encoding is None:
                table = data[0] if named else X
                unseen = ask_unseen(self.existing, table, codes, said, seed)
            proba = unseen.proba
        held = None if validation is None else read_validation(self, validation, dtype=np.float64)
        if self.existing is None:
            existing = default_existing(
                X, codes, self.classes_, made_costs, seed, self.n_jobs, weight
            )
            if expansion is not None:
                forest = existing.policy
                encoded = EncodedPolicy(costs, forest.output, expansion, forest)
                existing = Existing(encoded, existing.proba)
            if proba is not None:
                existing = Existing(existing.policy, proba)
        else:
            columns = None if encoding is None else encoding.columns
            existing = read_existing(self.existing, costs, self.classes_, source, proba, columns)
        task = Task(
            X, source, codes, made_costs, self.classes_, existing, weight, expansion, unseen, held
        )
        return task, np.random.default_rng([seed, 0])

    def _given_costs(self) -> Any:
        """Without prices of their own, composites take those that the existing model carries."""
        existing = self.existing
        if self.costs is None and isinstance(existing, CostAware) and hasattr(existing, "policy_"):
            return existing.policy_.costs
        return self.costs

    def _read_rows(
        self, X: Any, y: Any, sample_weight: Any, existing_proba: Any
    ) -> tuple[Floats, Floats, Ints, Floats | None, Floats | None]:
        """Rows, as made and as they came, codes, weights, and out-of-fold probabilities.

        A row without weight is not there.
        """
        given = X
        X, y, _ = self._read_training(X, y, weight=sample_weight)
        source = X if self._encoding is None else self._encoding.columns.read(dense(given))
        codes, proba = self._read_labels(y), None
        weight = read_weight(sample_weight, X, self.class_weight, y)
        if existing_proba is not None:
            proba = read_proba(existing_proba, len(X), len(self.classes_), "existing_proba")
        weight, X, source, codes, proba = drop_weightless(weight, X, source, codes, proba)
        lost = np.setdiff1d(np.arange(len(self.classes_)), codes)
        if len(lost):
            raise ValueError(
                f"sample_weight is 0 for every row of class {self.classes_[lost[0]]!r}: give one of "
                "them a weight, or leave these rows out."
            )
        return X, source, codes, weight, proba

    def _learn_columns(self, X: Any) -> Columns | None:
        """As the existing model reads them, where it knows."""
        known = getattr(getattr(self.existing, "policy_", None), "columns", None)
        return known if known is not None else super()._learn_columns(X)
