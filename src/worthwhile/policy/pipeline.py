"""A policy behind preprocessing: it buys columns of the table, the model inside reads what is made of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.costs import Costs
from worthwhile.policy._made import MadeCase, MadePolicy
from worthwhile.policy.base import Floats, Policy, State, read_inner
from worthwhile.policy.foreign import UNBUILT
from worthwhile.policy.front import Front, fed_costs
from worthwhile.policy.output import Output
from worthwhile.policy.whole import WholePolicy


class PipelinePolicy(MadePolicy):
    """Buys source columns; the policy inside works on inputs that preprocessing makes of them.

    Laws, bills, sessions and files speak of the sources. An input is known as soon as all sources
    that feed it are, and costs nothing beside them.

    Parameters
    ----------
    costs : Costs
        Prices of the sources.
    output : Output
        As that of the policy inside.
    front : Front
        How inputs are made.
    inner : Policy
        Over the inputs, under :func:`~worthwhile.policy.front.fed_costs`.
    """

    kind = "pipeline"

    def __init__(self, costs: Costs, output: Output, front: Front, inner: Policy) -> None:
        super().__init__(costs, output, front, inner)
        self.front = front
        # What another library computes may differ in the last bit between a row and a batch.
        self.exact = inner.exact and front.transformer is None  # type: ignore[misc]

    @property
    def reads(self) -> npt.NDArray[np.intp]:
        """Sources of inputs that some row may read."""
        return np.flatnonzero(self.front.members[self.inner.reads].any(axis=0)).astype(np.intp)

    @cached_property
    def fed(self) -> list[list[int]]:
        """The inputs that may be read, by the sources that feed them."""
        read = set(self.inner.reads.tolist())
        return [[number for number in inputs if number in read] for inputs in self.front.fed]

    def begin(self) -> PipelineCase:
        """Start a row."""
        return PipelineCase(self)

    def made(self, X: npt.NDArray[Any]) -> Floats:
        """Inputs of rows; those that nobody reads are left out."""
        return self.front.apply(np.asarray(X, dtype=np.float64), self.inner.reads.tolist())

    def _made_of(self, sources: Sequence[int]) -> list[int]:
        inputs: list[int] = np.flatnonzero(
            self.front.members[:, list(sources)].any(axis=1)
        ).tolist()
        return inputs

    def _prices_of_made(self, costs: Costs) -> Costs:
        return fed_costs(costs, self.front)

    @classmethod
    def from_state(cls, costs: Costs, output: Output, state: State) -> PipelinePolicy:
        """Read and check the preprocessing and the policy inside."""
        settings, arrays = state
        inner, rest = read_inner(arrays, output)
        front = Front.from_state(costs.n_features, settings, rest)
        if inner.n_features != front.n_inputs:
            raise ValueError(f"inner has {inner.n_features} inputs, {front.n_inputs} are made")
        _check_levels(front, inner)
        return cls(costs, output, front, inner.priced(fed_costs(costs, front)))


def _check_levels(front: Front, inner: Policy) -> None:
    """Refuse a file in which a level stands for nothing where the model inside refuses what is empty."""
    if not isinstance(inner, WholePolicy) or inner.source.model is UNBUILT:
        return
    levels = {i: len(front.columns[front.sources[i][0]].levels) for i in front.tables}
    holes = [i for i, table in front.tables.items() if np.isnan(table[: levels[i] or -1]).any()]
    row = np.zeros((1, front.n_inputs))
    if holes and _answers(inner, row):
        row[0, holes] = np.nan
        if not _answers(inner, row):
            raise ValueError("a level has no number, and the model inside does not take that")


def _answers(inner: Policy, row: Floats) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            inner.batch(row)
        except Exception:  # whatever another library raises
            return False
    return True


class PipelineCase(MadeCase):
    """One row: an input can be made as soon as all sources that feed it are known."""

    def __init__(self, policy: PipelinePolicy) -> None:
        self._front = policy.front
        super().__init__(policy.inner, policy.front.sources, policy.fed)

    def _make(self, columns: list[int]) -> list[float]:
        row = np.full((1, len(self._front.columns)), np.nan)
        row[0, list(self._known)] = list(self._known.values())
        made = self._front.apply(row, columns)[0]
        return [float(made[column]) for column in columns]
