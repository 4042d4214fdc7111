"""Prices as arrays of whole quanta: what kernels take, and the one formula of a bill."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]


class FlatCosts(NamedTuple):
    """The prices as the kernels take them, in quanta."""

    price: npt.NDArray[np.int64]
    """Own price of each feature, (d,)."""
    group: npt.NDArray[np.int32]
    """Group of each feature, (d,); -1 where it has none."""
    fee: npt.NDArray[np.int64]
    """Fee of each group, (n_groups,)."""
    evaluation: int
    """Price of evaluating one tree or stage."""

    @property
    def alone(self) -> npt.NDArray[np.int64]:
        """What each feature costs bought alone: its own price and the fee of its group, (d,)."""
        # A feature without a group has group -1 and takes the 0 at the end.
        entry: npt.NDArray[np.int64] = np.append(self.fee, 0)[self.group]
        return self.price + entry

    @property
    def total(self) -> int:
        """What buying everything costs."""
        return int(self.price.sum() + self.fee.sum())

    def after(self, features: Any) -> FlatCosts:
        """What is left to pay once ``features`` (indices or a mask) are bought."""
        price, fee = self.price.copy(), np.append(self.fee, 0)
        price[features] = 0
        fee[self.group[features]] = 0
        return self._replace(price=price, fee=fee[:-1])

    def bill(self, acquired: Mask, evaluated: Any = 0) -> npt.NDArray[np.int64]:
        """Bill of each row of a mask (n, d): features and fees once, and the evaluations."""
        price, total = self.price.astype(np.float64), np.zeros(len(acquired), dtype=np.int64)
        for start in range(0, len(acquired), 8192):
            # Whole numbers below 2**53: floating sums are exact in any order, and fast.
            part = acquired[start : start + 8192]
            total[start : start + 8192] = part.astype(np.float64) @ price
        for g, fee in enumerate(self.fee):
            total += fee * acquired[:, self.group == g].any(axis=1)
        total += np.asarray(evaluated * self.evaluation, dtype=np.int64)
        return total
