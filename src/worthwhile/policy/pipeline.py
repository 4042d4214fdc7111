"""A policy behind preprocessing: it buys columns of the table, the model inside reads what is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.costs import Costs
from worthwhile.policy._sources import SourcesCase
from worthwhile.policy.base import (
    Bundle,
    Floats,
    Outcome,
    Policy,
    State,
    gathered,
    read_inner,
    run_case,
)
from worthwhile.policy.front import Front, fed_costs
from worthwhile.policy.output import Output

READ_ALONE = ("trees", "whole")
"""Policies to which it makes no difference whether they know more inputs than they asked for."""


class PipelinePolicy(Policy):
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
        super().__init__(costs, output)
        self.front, self.inner = front, inner
        # What another library computes may differ in the last bit between a row and a batch.
        self.exact = inner.exact and front.transformer is None  # type: ignore[misc]
        self.chooses_by_price = inner.chooses_by_price  # type: ignore[misc]

    @property
    def reads(self) -> npt.NDArray[np.intp]:
        """Sources of inputs that some row may read."""
        return np.flatnonzero(self.front.members[self.inner.reads].any(axis=0)).astype(np.intp)

    def check_budget(self) -> None:
        """As the policy inside."""
        self.inner.check_budget()

    def begin(self) -> PipelineCase:
        """Start a row."""
        return PipelineCase(self)

    def batch(
        self, X: Floats, limit: int | None = None, *, billed: bool = True, **how: Any
    ) -> Outcome:
        """Make the inputs that may be read, run the policy inside, see which sources fed what it took."""
        inputs = self.front.apply(np.asarray(X, dtype=np.float64), self.inner.reads.tolist())
        if self.inner.kind in READ_ALONE:
            outcome = self.inner.batch(inputs, limit, billed=billed, **how)
            return outcome._replace(acquired=self.front.folded(outcome.acquired))
        # A case is told of inputs, which are made already, as their sources are bought.
        cases = [PipelineCase(self, row) for row in inputs]
        rows = zip(X, cases, strict=True)
        return gathered(self, [run_case(self, row, limit, case=case) for row, case in rows])

    def _priced(self, costs: Costs) -> PipelinePolicy:
        inner = self.inner.priced(fed_costs(costs, self.front))
        return PipelinePolicy(costs, self.output, self.front, inner)

    def state(self) -> State:
        """The preprocessing, and the policy inside."""
        return self.front.settings(), {**self.front.arrays(), "inner": self.inner}

    @classmethod
    def from_state(cls, costs: Costs, output: Output, state: State) -> PipelinePolicy:
        """Read and check the preprocessing and the policy inside."""
        settings, arrays = state
        inner, rest = read_inner(arrays, output)
        front = Front.from_state(costs.n_features, settings, rest)
        if inner.n_features != front.n_inputs:
            raise ValueError(f"inner has {inner.n_features} inputs, {front.n_inputs} are made")
        return cls(costs, output, front, inner.priced(fed_costs(costs, front)))


class PipelineCase(SourcesCase):
    """One row: values of sources come in, inputs go to the case inside as soon as they are complete."""

    def __init__(self, policy: PipelinePolicy, inputs: Floats | None = None) -> None:
        super().__init__(policy.inner.begin())
        self._front = policy.front
        self._reads = set(policy.inner.reads.tolist())
        self._inputs = inputs  # made already, for all sources
        self._known: dict[int, float] = {}
        for number, value in policy.front.constants.items():
            self._inner.learn(number, value)

    def _made_of(self, source: int) -> list[int]:
        return self._front.fed[source]

    def wants(self, left: int | None) -> list[Bundle]:
        """The sources of what the case inside wants, in its order."""
        self._wanted = {}
        for bundle in self._inner.wants(left):
            sources = dict.fromkeys(s for number in bundle for s in self._front.sources[number])
            missing = tuple(source for source in sources if source not in self._known)
            self._wanted.setdefault(missing, []).append(bundle)
        self.evaluated = self._inner.evaluated
        return list(self._wanted)

    def learn(self, feature: int, value: float) -> None:
        """Inputs whose sources are all known now are known with it."""
        self._known[feature] = value
        complete = [
            number
            for number in self._front.fed[feature]
            if number in self._reads and all(s in self._known for s in self._front.sources[number])
        ]
        if not complete:
            return
        if self._inputs is not None:
            made = self._inputs
        else:
            row = np.full((1, len(self._front.columns)), np.nan)
            row[0, list(self._known)] = list(self._known.values())
            made = self._front.apply(row, complete)[0]
        self._inner.learn_all({number: float(made[number]) for number in complete})

    def why(self, feature: int) -> str:
        """Why the first input of the source that is wanted is wanted."""
        wanted = self._wanted_of(feature)
        return self._inner.why(wanted[0]) if wanted else "the model reads what is made of it"
