"""What a gate does: who answers what, how well, and for how much."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from worthwhile.costs import as_floats
from worthwhile.policy.gate import GatePolicy

Floats = npt.NDArray[np.float64]


def report(policy: GatePolicy, X: Floats, y: npt.NDArray[Any]) -> pd.DataFrame:
    """See :meth:`worthwhile.AdaptiveLinearClassifier.gate_report`."""
    if len(y) != len(X):
        raise ValueError(f"y has {len(y)} labels for {len(X)} rows: give one per row.")
    sent = policy.sent(X)
    cheap = policy.cheap.output.predict(policy.cheap.batch(X, billed=False).raw)
    existing = policy.existing.output.predict(policy.existing.batch(X, billed=False).raw)
    composite = np.where(sent, existing, cheap)
    bill = as_floats(policy.bills(policy.batch(X)))
    report = {}
    for side, rows in (
        ("cheap", ~sent),
        ("existing", sent),
        ("all", np.ones(len(X), dtype=bool)),
    ):
        report[side] = {
            "rows": int(rows.sum()),
            "share": float(rows.mean()) if len(rows) else np.nan,
            "accuracy": _mean(composite[rows] == y[rows]),
            "cheap_accuracy": _mean(cheap[rows] == y[rows]),
            "existing_accuracy": _mean(existing[rows] == y[rows]),
            "disagree": _mean(cheap[rows] != existing[rows]),
            "cost": _mean(bill[rows]),
        }
    return pd.DataFrame.from_dict(report, orient="index").astype({"rows": int})


def _mean(values: npt.NDArray[Any]) -> float:
    return float(np.mean(values)) if len(values) else float("nan")
