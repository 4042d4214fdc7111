"""Cases whose truth has come, held against what their model promised."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from worthwhile.costs import as_float
from worthwhile.policy.base import Policy
from worthwhile.promise import Evidence, check_promise
from worthwhile.serve import _history as history
from worthwhile.serve._database import Database
from worthwhile.serve._errors import ServiceError
from worthwhile.serve._history import Judged
from worthwhile.serve._models import Model

MOST = 100_000
"""Cases that are looked at, the latest first."""


def read_truth(policy: Policy, truth: Any) -> Any:
    """A truth as the model would say it; refused if it never could."""
    classes = policy.output.classes
    if classes is None:
        if isinstance(truth, bool) or not isinstance(truth, (int, float)):
            raise ServiceError(422, "bad_truth", f"truth is {truth!r}: give a number.")
        return truth
    labels = classes.tolist()
    for label in labels:  # pages and shells write every label as text
        if type(label) is type(truth) and label == truth:
            return label
    for label in labels:
        if str(label) == str(truth):
            return label
    raise ServiceError(
        422, "bad_truth", f"truth is {truth!r}: the model knows {', '.join(map(repr, labels[:20]))}."
    )  # fmt: skip


async def check_model(database: Database, model: Model, sees: str | None) -> dict[str, Any]:
    """Whether what a model promised holds for the cases that ended and whose truth is known.

    Cases with a budget of their own that cut them short, with prices of their own, with features that
    could not be had, or stopped early are left out: nothing was promised about them.
    """
    found = await database.read(
        lambda cursor: history.judged(cursor, model.name, model.version, sees, MOST)
    )
    total = model.policy.costs.flat.total
    sure = model.policy.output.has_probabilities
    used = [case for case in found if _comparable(case, total) and _is_finite(case, sure)]
    counts = {"judged": len(used), "left_out": len(found) - len(used)}
    if not used:
        text = "No case with a known truth has ended yet"
        text += f", but {len(found)} with limits of their own." if found else "."
        return {**counts, "holds": None, "verdict": text}

    def judge() -> dict[str, Any]:
        features, columns = model.policy.costs.features, model.policy.columns
        return check_promise(model.promise, _evidence(model, used), features, columns)

    return {**counts, **await asyncio.get_running_loop().run_in_executor(None, judge)}


def _comparable(case: Judged, total: int) -> bool:
    options = case.options
    budget = options.get("budget")
    cut = budget is not None and budget < as_float(total)
    return case.state == "done" and not cut and not {"prices", "unavailable"} & set(options)


def _is_finite(case: Judged, sure: bool) -> bool:
    """Whether the values were not so large that the answer is no number."""
    answer = case.answer
    return answer["prediction"] is not None and not (sure and answer["probabilities"] is None)


def _evidence(model: Model, cases: list[Judged]) -> Evidence:
    output, promise = model.policy.output, model.promise
    bills = np.array([as_float(case.spent) for case in cases])
    answers = [case.answer["prediction"] for case in cases]
    truths = [case.truth for case in cases]
    values = _values(model.policy, (case.calls for case in cases))
    errors = None if promise is None else promise.errors
    if output.classes is None:
        price = None if errors is None else float(errors[0, 0])
        absolute = promise is not None and "absolute error" in promise.figures
        loss = "absolute" if absolute else "squared"
        return Evidence.of_numbers(
            bills, np.array(answers), np.array(truths), price, loss, values
        )  # fmt: skip
    shares = None
    if output.has_probabilities:
        shares = np.array([list(case.answer["probabilities"].values()) for case in cases])
    return Evidence.of_classes(bills, answers, truths, output.classes, shares, errors, values)


def _values(policy: Policy, cases: Iterable[list[list[Any]]]) -> dict[int, Any]:
    """By column, the numbers that were told, NaN where they came back empty."""
    found: dict[int, list[float]] = {}
    for calls in cases:
        for kind, *details in (call for step in calls for call in step):
            for column, value in (details[0] if kind == "tell" else {}).items():
                if value != "unavailable":
                    found.setdefault(int(column), []).append(_number(policy, int(column), value))
    return {column: np.array(numbers) for column, numbers in found.items()}


def _number(policy: Policy, column: int, value: Any) -> float:
    if value is None:
        return math.nan
    if isinstance(value, list) and policy.columns is not None:
        return policy.columns[column].told(value[0])
    return float(value)
