"""Training on all rows of a Parquet file, which need not fit in memory, with what a sample has shown."""

from __future__ import annotations

from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from worthwhile.cli._arrow import kind_of

HELD_OUT = 0.1
"""Share of the rows by which the number of rounds is chosen."""


def suits(path: Path, method: str, rows: int, qid: Any) -> bool:
    """Whether all rows are wanted, of a file and for a method that can be read column by column."""
    miser = method in ("greedy-miser", "greedy-miser-row", "greedy-miser-deep")
    return rows == 0 and qid is None and miser and path.is_file() and kind_of(path) == "Parquet"


def train_on_all(
    search: Any, X: Any, path: Path, target: str, *, weights: Any, categorical: Any, seed: int
) -> tuple[Any, dict[str, Any]]:
    """The model that a search on a sample has chosen, trained on all rows.

    Of its rounds as many are kept as are best on rows held out, and as the budget allows: the mean bill
    of the sample, with its margin, stays within it.

    Parameters
    ----------
    search : fitted BudgetSearchCV
        What was found on the sample.
    X : frame
        The sample.
    path, target
        The file, and the column to predict.
    weights : callable
        From labels to weights, or None.
    categorical : sequence of str
        Columns that were called categories.
    seed : int
        Of the rows held out.
    """
    from sklearn.base import clone

    from worthwhile.columns.parquet import ParquetTable

    table = ParquetTable(path, columns=list(X.columns))
    kinds = table.head().dtypes
    dates = [c for c in X.columns if X[c].dtype.kind == "M" and kinds[c].kind != "M"]
    model = clone(search.best_estimator_).set_params(
        categorical=list(categorical) or None, dates=dates or None, validation_fraction=HELD_OUT,
        random_state=seed, verbose=1,
    )  # fmt: skip
    y = table.column(target)
    model.fit(table, y, weights(y.to_numpy())).set_params(verbose=0)
    z = NormalDist().inv_cdf(search.confidence)

    def bill(stage: int) -> tuple[float, float]:
        bills = model.at(stage=stage).cost(X)
        mean = float(bills.mean())
        return mean, mean + z * float(bills.std()) / float(np.sqrt(len(bills)))

    low, high = 0, model.n_rounds_  # bills grow with the rounds
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if bill(middle)[1] <= search.budget else (low, middle - 1)
    mean, bound = bill(low)
    trace = model.trace_.set_index("round")["validation_score"]
    return model.at(stage=low), {
        "score": float(trace.get(low, np.nan)), "mean_bill": mean, "bound": bound, "rows": len(table),
    }  # fmt: skip
