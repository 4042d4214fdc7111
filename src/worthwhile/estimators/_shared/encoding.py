"""How a fit sees a table: what its columns are, and what the method works with instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.columns import Columns, Expansion, expansion, is_frame, statistics
from worthwhile.columns.table import places_of
from worthwhile.costs import Costs
from worthwhile.policy.base import Policy
from worthwhile.policy.encoded import EncodedPolicy, prices_of_made

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Encoding:
    """The columns of the user's table, and the way from them to those that a method works with.

    Attributes
    ----------
    columns : Columns
        What the user's columns are.
    costs : Costs
        Their prices.
    expansion : Expansion, optional
        None where the method works with their numbers as they are.
    """

    columns: Columns
    costs: Costs
    expansion: Expansion | None

    @classmethod
    def learn(
        cls, columns: Columns, costs: Costs, codes: Floats, y: Any, style: str, *, classes: bool,
        weight: Floats | None = None,
    ) -> tuple[Encoding, Floats]:  # fmt: skip
        """Learn from training rows; gives those rows, made without their own targets."""
        n_classes = None
        if classes:
            labels, y = np.unique(y, return_inverse=True)
            n_classes = len(labels)
        targets = statistics.targets_of(y, n_classes)
        found, made = expansion.learn(columns, codes, targets, style, weight)
        return cls(columns, costs, found), made

    @classmethod
    def of(cls, policy: Policy) -> Encoding | None:
        """What a fitted policy was dressed with; None for plain numbers."""
        if policy.columns is None:
            return None
        inside = policy.expansion if isinstance(policy, EncodedPolicy) else None
        return cls(policy.columns, policy.costs, inside)

    @property
    def made_costs(self) -> Costs:
        """Prices of the columns that the method works with."""
        return self.costs if self.expansion is None else prices_of_made(self.costs, self.expansion)

    @property
    def categorical(self) -> npt.NDArray[np.bool_] | None:
        """Which columns of the method hold codes of categories; None where none does."""
        found = self.columns.categorical
        if self.expansion is not None:
            found[list(self.expansion.tables)] = False
            found = found[self.expansion.sources]
        return found if found.any() else None

    def read(self, X: Any) -> Floats:
        """Further rows of the user's table, as the method takes them; everything must be readable."""
        names = self.costs.feature_names
        every = range(len(self.columns))
        places = None if names is None or not is_frame(X) else places_of(X, names, every)
        codes = self.columns.read_training(X, places)
        return self.made(codes)

    def made(self, codes: Floats) -> Floats:
        """What the method takes, from the numbers of the columns."""
        return codes if self.expansion is None else self.expansion.apply(codes)

    def dress(self, policy: Policy) -> Policy:
        """A policy of the method as one over the user's columns."""
        if policy.columns is not None:
            return policy
        if self.expansion is not None and not isinstance(policy, EncodedPolicy):
            policy = EncodedPolicy(self.costs, policy.output, self.expansion, policy)
        return policy.with_columns(self.columns)
