"""Models that can be cut: every stage of one training is a point of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from worthwhile.costs import Costs, as_floats
from worthwhile.policy.base import Policy

N_BUDGETS, LOWEST = 6, 0.01
"""Budgets for a case, from at least this share of half of all prices on."""

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


def cut(model: Any, stage: int | None, case_budget: float | None = None) -> Any:
    """The model at a stage, or within a budget for each case; a shorter model stays as it is."""
    if case_budget is not None:
        return model.within(case_budget)
    count = n_stages(model)
    if stage is None or count is None or stage >= count:
        return model
    return model.at(stage=stage)


def case_budgets(costs: Costs) -> list[float]:
    """Budgets for a case that a sweep looks at: nothing, then from the cheapest purchase to half of all.

    They depend on the prices alone, so that all folds share them.
    """
    alone = as_floats(costs.flat.alone[costs.flat.alone > 0])
    if not len(alone):
        return []
    low, high = float(alone.min()), costs.total / 2
    low = max(low, high * LOWEST)
    steps = np.geomspace(low, high, N_BUDGETS) if high > low else np.array([low])
    return [0.0, *(float(round(step, 9)) for step in steps)]


def limits(model: Any) -> Iterator[tuple[float, Any]]:
    """The whole model within budgets for a case that bind for some rows."""
    policy = getattr(model, "policy_", None)
    if policy is None or not hasattr(model, "within") or policy.limit is not None:
        return
    if type(policy).batch is Policy.batch:  # row by row: too slow for many budgets
        return
    try:
        policy.check_budget()
    except ValueError:
        return
    for budget in case_budgets(policy.costs):
        yield budget, model.within(budget)
