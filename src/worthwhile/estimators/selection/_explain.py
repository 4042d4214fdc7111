"""The purchases of each row, step by step."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import pandas as pd

from worthwhile.costs import as_float, budget_quanta
from worthwhile.policy.base import Policy
from worthwhile.policy.till import Till


def explain_rows(
    policy: Policy, names: list[Any], X: npt.NDArray[Any], budget: Any
) -> pd.DataFrame:
    """Drive a case per row and note the answer after each purchase."""
    limit = budget_quanta(budget)
    lines = []
    for number, row in enumerate(X):
        lines += _explain_row(policy, names, row, limit, number)
    columns = ["row", "step", "factor", "guess", "confidence", "cost"]
    # As objects, or a column of None and numbers would become floating point.
    return pd.DataFrame(
        {
            name: pd.Series(list(values), dtype=object if name == "factor" else None)
            for name, values in zip(columns, zip(*lines, strict=True), strict=True)
        }
    )


def _explain_row(
    policy: Policy, names: list[Any], row: Any, limit: int | None, number: int
) -> list[tuple[Any, ...]]:
    members, owner = policy.members  # type: ignore[attr-defined]
    free = len(members) - 1
    case, till, lines = policy.begin(), Till(policy.costs, limit), list[tuple[Any, ...]]()

    def note(factor: Any) -> None:
        raw = case.answer()[None, :]
        chances = policy.output.probabilities(raw)[0]
        guess = policy.output.predict(raw)[0]
        lines.append(
            (number, len(lines), factor, guess, float(chances.max()), as_float(till.spent))
        )

    for column in members[free]:
        case.learn(column, float(row[column]))
    note(None)
    while bundles := case.wants(till.left(case.evaluated)):
        for bundle in bundles:
            if not till.buy(bundle, case.evaluated):
                case.refuse(bundle)
                continue
            for column in bundle:
                case.learn(column, float(row[column]))
            note(names[owner[bundle[0]]])
    return lines
