"""A chain of linear models over trees: whoever is not promising leaves as negative."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from worthwhile.core.trees import Trees
from worthwhile.costs import Costs
from worthwhile.policy.base import LARGEST, Floats, State, are_moderate
from worthwhile.policy.exits.case import StagedCase
from worthwhile.policy.exits.policy import ExitPolicy, Ints, Masks
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy, check_arrays

MOST = 2.0
"""Outputs are cut to this size (targets are -1 and 1), so that those of a stage fill a band."""


@dataclass(frozen=True)
class Stages:
    """Linear models over the trees evaluated so far, one per stage.

    Attributes
    ----------
    ends : int64 (stages,)
        Trees evaluated after each stage.
    coefficient : float64 (stages, trees)
        Weight of what each tree says.
    intercept : float64 (stages,)
    threshold : float64 (stages,)
        A row goes on if the output is above it; of no effect in the last stage.
    prior : float64 (1,)
        The answer when not even the first stage fits the budget.
    """

    ends: Ints
    coefficient: Floats
    intercept: Floats
    threshold: Floats
    prior: Floats

    def problem(self, n_trees: int) -> str | None:
        """What makes these arrays unsafe to run, or None."""
        k = len(self.ends)
        shapes = {
            "coefficient": (k, n_trees), "intercept": (k,), "threshold": (k,), "prior": (1,),
        }  # fmt: skip
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                return f"array {name} has shape {getattr(self, name).shape}, not {shape}"
            if not are_moderate(getattr(self, name)):
                return f"array {name} has a number that is not finite, or over {LARGEST}"
        if k == 0 or self.ends[0] < 0 or (np.diff(self.ends) < 0).any() or self.ends[-1] != n_trees:
            return "stages do not end at rising numbers of trees, the last at all of them"
        return None


class CascadePolicy(ExitPolicy):
    """Stages of trees; after each a linear model over all trees so far says who goes on.

    Rows that leave are negative. Their raw outputs lie in bands, earlier exits below later ones and
    all below those that stay, so that the order of raw outputs is a ranking. A row that runs out of
    money is answered by its last complete stage as if that were the last.

    Parameters
    ----------
    costs : Costs
        Prices in column order.
    output : Output
        Log-odds of two classes.
    trees : Trees
        The weak learners in the order of their first use, each with an output of its own.
    stages : Stages
        The linear models.
    scale : float
        Raw output is this times what the stage says.
    """

    kind: ClassVar[str] = "cascade"

    def __init__(
        self, costs: Costs, output: Output, trees: Trees, stages: Stages, scale: float = 1.0
    ) -> None:
        self.stages, self.scale = stages, scale
        model = TreePolicy(costs, output, trees)
        super().__init__(model, stages.ends, "probability", stages.threshold[:-1], 1)

    def begin(self) -> CascadeCase:
        """Start a row at the first stage."""
        return CascadeCase(self)

    def outputs(self, number: int, values: Floats) -> Floats:
        """What a stage says, from what its trees say (n, trees), added tree by tree."""
        total = np.full(len(values), self.stages.intercept[number])
        for tree in range(int(self.ends[number])):
            total += self.stages.coefficient[number, tree] * values[:, tree]
        return total

    def staying(self, number: int, raw: Floats, evaluated: Ints, bounds: Ints) -> Masks:
        """Rows whose output is above the threshold."""
        stays: Masks = self.outputs(number, raw) > self.stages.threshold[number]
        return stays

    def finish(self, raw: Floats, evaluated: Ints, completed: Any) -> Floats:
        """Outputs of the last complete stage of each row, in bands."""
        n_stages = len(self.ends)
        found = np.full(len(raw), self.stages.prior[0])
        for number in range(n_stages):
            rows = np.flatnonzero(completed == number + 1)
            here = self.outputs(number, raw[rows])
            found[rows] = np.minimum(np.maximum(here, -MOST), MOST)
            if number < n_stages - 1:
                left = rows[here <= self.stages.threshold[number]]
                found[left] -= 2.0 * MOST * (n_stages - 1 - number)
        return (found * self.scale)[:, None]

    def state(self) -> State:
        """The arrays of the trees and of the stages."""
        trees = {f"tree_{name}": array for name, array in self.model.trees.arrays().items()}
        stages = {f.name: getattr(self.stages, f.name) for f in fields(self.stages)}
        return {"scale": self.scale}, {**trees, **stages}

    @classmethod
    def from_state(cls, costs: Costs, output: Output, state: State) -> CascadePolicy:
        """Read and check the arrays."""
        settings, arrays = state
        own = {f.name: arrays.get(f.name) for f in fields(Stages)}
        check_arrays(
            own,
            {
                "ends": "i8",
                **dict.fromkeys(("coefficient", "intercept", "threshold", "prior"), "f8"),
            },
            {"coefficient": 2},
        )
        rest = {name: array for name, array in arrays.items() if name not in own}
        if any(not name.startswith("tree_") for name in rest) or output.kind != "log-odds":
            raise ValueError("not the arrays of a cascade of two classes")
        parts = {name.removeprefix("tree_"): array for name, array in rest.items()}
        # The trees have an output each; what becomes of them is checked here, not there.
        plain = Output("value")
        model = TreePolicy.from_state(costs, plain, ({"average": False, "single": False}, parts))
        scale = settings.get("scale")
        if not isinstance(scale, float) or not are_moderate(scale) or scale <= 0:
            raise ValueError(f"scale is {str(scale)[:40]}, not a positive number")
        trees, stages = model.trees, Stages(**own)  # type: ignore[arg-type]
        if trees.width != 1 or trees.output.tolist() != list(range(trees.n_trees)):
            raise ValueError("the trees have not one output each")
        if problem := stages.problem(trees.n_trees):
            raise ValueError(problem)
        return cls(costs, output, trees, stages, scale)


class CascadeCase(StagedCase):
    """One row on its way through the stages."""

    _policy: CascadePolicy

    def _says(self) -> float:
        """Output of the stage that was started last, trees that wait standing at their means."""
        stages, number = self._policy.stages, self._stage - 1
        total = float(stages.intercept[number])
        for tree, node in enumerate(self._standing()):
            total += float(stages.coefficient[number, tree]) * self._lists.first_value[node]
        return total

    def _leaves(self) -> bool:
        if self._stage == 0:
            return False
        return not self._says() > float(self._policy.stages.threshold[self._stage - 1])

    def answer(self) -> Floats:
        """What the stage says, in its band."""
        policy, n_stages = self._policy, len(self._policy.ends)
        if self._stage == 0:
            return np.array([float(policy.stages.prior[0]) * policy.scale])
        says = self._says()
        found = min(max(says, -MOST), MOST)
        if self._stage < n_stages and says <= float(policy.stages.threshold[self._stage - 1]):
            found -= 2.0 * MOST * (n_stages - self._stage)
        return np.array([found * policy.scale])
