"""Models that can be cut: every stage of one training is a point of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

COUNTS = ("n_rounds_", "n_stages_", "n_trees_")
"""Where a fitted model keeps the number of stages that ``at(stage=...)`` may ask for."""

GROWTH = 1.25


def n_stages(model: Any) -> int | None:
    """How many stages a fitted model has; None if it cannot be cut."""
    if not callable(getattr(model, "at", None)):
        return None
    return next((int(getattr(model, name)) for name in COUNTS if hasattr(model, name)), None)


def stage_numbers(n: int) -> list[int]:
    """Stages worth looking at, ascending and with the last: all small ones, then ever fewer.

    The numbers do not depend on ``n`` but for the end, so models of different length share them.
    """
    numbers, step = [], 0.0
    while (number := round(step)) < n:
        numbers.append(number)
        step = max(number + 1, number * GROWTH)
    return [*numbers, n]


def cuts(model: Any) -> Iterator[tuple[int | None, Any]]:
    """The stages of a fitted model with the models cut to them; the whole model alone if it has none."""
    count = n_stages(model)
    if count is None:
        yield None, model
        return
    numbers = stage_numbers(count)
    if getattr(model, "every_stage_differs", False):  # not one long ensemble, but many models
        numbers = list(range(count + 1))
    for stage in numbers:
        yield stage, model if stage == count else model.at(stage=stage)


def cut(model: Any, stage: int | None) -> Any:
    """The model at a stage; a shorter model stays as it is."""
    count = n_stages(model)
    if stage is None or count is None or stage >= count:
        return model
    return model.at(stage=stage)
