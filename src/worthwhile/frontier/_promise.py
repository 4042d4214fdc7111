"""What a search may promise of the model that it has chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from worthwhile.frontier._measure import Indices, LabelledRows
from worthwhile.frontier._sweep import Sweep
from worthwhile.promise import Evidence, Promise

if TYPE_CHECKING:
    from worthwhile.policy.output import Output

ENOUGH = 2000
"""Rows that did not train, after which no further fold is fitted for a promise."""


class Twins:
    """Models made like the one of a search, for each fold from the rows outside of it, when they are asked for."""

    def __init__(self, sweep: Sweep, make: Callable[[LabelledRows], Any]) -> None:
        self._sweep, self._make = sweep, make
        self._made: dict[int, Any] = {}

    def __iter__(self) -> Iterator[tuple[Any, Indices]]:
        """Each twin, and the rows that it has not seen."""
        for number, (seen, held) in enumerate(self._sweep.folds):
            if number not in self._made:
                twin = self._make(self._sweep.rows.take(seen))
                self._made[number] = getattr(twin, "best_estimator_", twin)  # within a pipeline
            yield self._made[number], held


def promise_of(model: Any, sweep: Sweep, twins: Twins) -> Promise:
    """What models that are made alike do with rows of the folds that they were not fitted on.

    Answers to single rows mean nothing where rows are ranked: then the bill alone is promised.
    """
    parts: list[Evidence] = []
    for twin, held in twins:
        rows = sweep.rows.take(held)
        parts.append(answering_as(model, twin)._evidence(rows.X, rows.y, held))
        if sum(part.rows for part in parts) >= ENOUGH:
            break
    found = Evidence.joined(parts)
    if sweep.rows.qid is not None:
        found = Evidence({"bill": found.figures["bill"]}, found.values)
    return Promise.of(found, model._error_prices()[0], model.policy_.fingerprint())


def answering_as(model: Any, twin: Any) -> Any:
    """The twin with the model's prices of errors, and with its map, which the models of a sweep do without."""
    output: Output = model.policy_.output
    policy = twin.policy_
    if output.errors is not None:
        policy = policy.deciding(output.errors)
    if output.calibration is not None and policy.output.calibration is None:
        policy = policy.calibrated(output.calibration)
    return twin if policy is twin.policy_ else twin._with_policy(policy)
