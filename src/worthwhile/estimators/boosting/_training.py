"""Training rows as a booster takes them, and those held out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.threads import Threads
from worthwhile.costs import Costs
from worthwhile.estimators._shared.weights import drop_weightless
from worthwhile.estimators.boosting._rounds import RoundRecord
from worthwhile.estimators.boosting.binned_data import BinnedData
from worthwhile.estimators.boosting.stored_rows import StoredRows, bin_by_column

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]


class Training:
    """Everything read and checked, ready for the booster."""

    def __init__(
        self, X: Any, y: Floats, weight: Floats | None, costs: Costs, qid: Array | None = None
    ) -> None:
        weight, X, y, qid = drop_weightless(weight, X, y, qid)
        self.X, self.y, self.weight, self.costs, self.qid = X, y, weight, costs, qid
        self.qid_held: Array | None = None
        self.weight_held: Floats | None = None
        self.X_held: Any = None
        self.y_held: Floats | None = None
        self.allowed: npt.NDArray[np.bool_] = np.ones(X.shape[1], dtype=bool)
        self.categorical: npt.NDArray[np.bool_] | None = None
        self.records: list[RoundRecord] = []  # rounds that an interrupted fit has run already
        self.on_round: Callable[[RoundRecord], object] | None = None

    def set_aside(self, kept: npt.NDArray[np.intp], held: npt.NDArray[np.intp]) -> None:
        """Hold rows out for validation."""
        self.X_held, self.y_held = self.X[held], self.y[held]
        self.X, self.y = self.X[kept], self.y[kept]
        if self.weight is not None:
            self.weight, self.weight_held = self.weight[kept], self.weight[held]
        if self.qid is not None:
            self.qid, self.qid_held = self.qid[kept], self.qid[held]

    def bin(self, threads: Threads) -> BinnedData:
        """Bin the rows and those held out."""
        others = [] if self.X_held is None else [self.X_held]
        if isinstance(self.X, StoredRows):
            return bin_by_column(self.X, threads, self.weight, others, self.categorical)
        return BinnedData.prepare(self.X, threads, self.weight, others, self.categorical)
