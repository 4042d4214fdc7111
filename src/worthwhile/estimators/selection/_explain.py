"""The purchases of each row, step by step, and what an oracle would have reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from worthwhile.costs import as_float, budget_quanta
from worthwhile.estimators.selection._data_classifier import World
from worthwhile.estimators.selection._imitation import roll_out
from worthwhile.estimators.selection._oracle import Reward
from worthwhile.policy.base import Floats, Policy
from worthwhile.policy.selection.learned import SelectionPolicy
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


def oracle_curve(
    policy: SelectionPolicy,
    X: Floats,
    y: Any,
    lams: Sequence[float],
    logit: bool,
    n_jobs: int | None,
) -> pd.DataFrame:
    """What the oracle, which knows the labels, reaches on these rows: a line for each trade-off."""
    model, classes = policy.model, policy.output.classes
    assert classes is not None
    y = np.asarray(y)
    if y.shape != (len(X),) or not np.isin(y, classes).all():
        raise ValueError(
            f"y has shape {y.shape} or labels that were not in training: the oracle needs the true label of each "
            f"of the {len(X)} rows, one of {classes.tolist()}."
        )
    Z = model.layout.standardise(X[:, model.layout.features].astype(np.float64), slice(None))
    parts = [(np.arange(len(Z)), model.scorer)]
    codes = np.searchsorted(classes, y)
    world = World(Z, codes, len(classes), model.layout, model.prices, parts, n_jobs)
    found = []
    for lam in lams:
        result = roll_out(world, Reward(float(lam), logit), None)
        found.append({
            "lam": float(lam), "cost": result.cost, "accuracy": result.accuracy,
            "reward": result.reward, "uses_labels": True,
        })  # fmt: skip
    return pd.DataFrame(found)
