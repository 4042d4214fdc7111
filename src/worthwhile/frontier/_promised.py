"""Methods that say by themselves what new rows will cost, and how good they will be."""

from __future__ import annotations

import time
from typing import Any

from worthwhile.costs import QUANTA_PER_UNIT
from worthwhile.frontier._measure import Judge, LabelledRows, bills, fitted
from worthwhile.metrics import TotalCost


def promises(estimator: Any, scoring: Any, positive: Any, rows: LabelledRows) -> bool:
    """Whether a method's own figures can stand in for those of validation rows.

    They are about right answers, or about totals where errors have prices, and about rows that count
    alike.
    """
    known = isinstance(scoring, TotalCost) or scoring == "accuracy"
    plain = positive is None and rows.weight is None and rows.qid is None
    return known and plain and bool(getattr(estimator, "cross_validated", False))


def sweep_promised(
    estimator: Any, seen: LabelledRows, new: LabelledRows, judge: Judge
) -> dict[str, Any]:
    """One training on training and validation rows together, as ``fit`` does it.

    Others need the validation rows to choose by. What has folds of its own would be chosen by few
    rows, and would learn from fewer than it is given.
    """
    start = time.perf_counter()
    model = fitted(estimator, seen)
    seconds, points = time.perf_counter() - start, []
    for stage, line in enumerate(model.frontier_.to_dict("records")):
        part = model.at(stage=stage)
        points.append(
            {
                "cost": line["cost"],
                "score": -line["total"] if "total" in line else line["score"],
                "test_cost": float(bills(part, new).mean()) / QUANTA_PER_UNIT,
                "test_score": judge.score(part, new),
                "params": {"budget": line["bound"]},  # what ``fit`` has to be given to end here
            }
        )
    return {"seconds": seconds, "models": 1, "points": points}
