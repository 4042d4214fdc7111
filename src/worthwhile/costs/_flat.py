"""Prices as arrays of whole quanta: what kernels take, and the one formula of a bill."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]


class FlatCosts(NamedTuple):
    """The prices as the kernels take them, in quanta.

    Which fees a feature opens stands in two arrays, feature after feature: feature ``f`` opens
    ``opens[begin[f] : begin[f + 1]]``. Fees may be shared in any pattern.
    """

    price: npt.NDArray[np.int64]
    """Own price of each feature, (d,)."""
    begin: npt.NDArray[np.int32]
    """Where the fees of each feature begin in ``opens``, (d + 1,)."""
    opens: npt.NDArray[np.int32]
    """Fees that the features open."""
    fee: npt.NDArray[np.int64]
    """The fees, (n_fees,)."""
    evaluation: int
    """Price of evaluating one tree or stage."""

    @classmethod
    def of(
        cls, price: Any, opens: Sequence[Sequence[int]], fee: Any = (), evaluation: int = 0
    ) -> FlatCosts:
        """From own prices, the fees that each feature opens, and the amounts of the fees.

        Examples
        --------
        >>> costs = FlatCosts.of([1, 2, 3], [[], [0], [0, 1]], [10, 100])
        >>> costs.alone.tolist(), costs.total
        ([1, 12, 113], 116)
        """
        begin = np.cumsum([0, *map(len, opens)], dtype=np.int32)
        flat = np.array([g for fees in opens for g in fees], dtype=np.int32)
        amounts = np.asarray(price, dtype=np.int64), np.asarray(fee, dtype=np.int64)
        return cls(amounts[0], begin, flat, amounts[1], evaluation)

    @property
    def opener(self) -> npt.NDArray[np.intp]:
        """The feature that each entry of ``opens`` belongs to."""
        return np.repeat(np.arange(len(self.price)), np.diff(self.begin))

    @property
    def members(self) -> Mask:
        """Which features open which fees, (d, n_fees)."""
        found = np.zeros((len(self.price), len(self.fee)), dtype=bool)
        found[self.opener, self.opens] = True
        return found

    def payers(self) -> list[npt.NDArray[np.intp]]:
        """The features that open each fee."""
        order = np.argsort(self.opens, kind="stable")
        ends = np.searchsorted(self.opens[order], np.arange(1, len(self.fee)))
        return np.split(self.opener[order], ends) if len(self.fee) else []

    @property
    def alone(self) -> npt.NDArray[np.int64]:
        """What each feature costs bought alone: its own price and the fees that it opens, (d,)."""
        if not len(self.opens):
            return self.price.copy()
        # Whole numbers below 2**53: floating sums are exact.
        entry = np.bincount(self.opener, self.fee[self.opens], minlength=len(self.price))
        return self.price + entry.astype(np.int64)

    @property
    def total(self) -> int:
        """What buying everything costs."""
        return int(self.price.sum() + self.fee.sum())

    def opened_by(self, features: Any) -> Mask:
        """Which fees some features (indices or a mask) open, (n_fees,)."""
        bought = np.zeros(len(self.price), dtype=bool)
        bought[features] = True
        opened = np.zeros(len(self.fee), dtype=bool)
        opened[self.opens[bought[self.opener]]] = True
        return opened

    def after(self, features: Any) -> FlatCosts:
        """What is left to pay once ``features`` (indices or a mask) are bought."""
        price = self.price.copy()
        price[features] = 0
        if not len(self.fee):
            return self._replace(price=price)
        return self._replace(price=price, fee=np.where(self.opened_by(features), 0, self.fee))

    def bill(
        self, acquired: Mask, evaluated: Any = 0, payers: list[npt.NDArray[np.intp]] | None = None
    ) -> npt.NDArray[np.int64]:
        """Bill of each row of a mask (n, d): features and fees once, and the evaluations.

        ``payers``, where the caller has kept what :meth:`payers` gave.
        """
        payers = self.payers() if payers is None else payers
        price, total = self.price.astype(np.float64), np.zeros(len(acquired), dtype=np.int64)
        for start in range(0, len(acquired), 8192):
            # Whole numbers below 2**53: floating sums are exact in any order, and fast.
            part = acquired[start : start + 8192]
            total[start : start + 8192] = part.astype(np.float64) @ price
        for fee, members in zip(self.fee, payers, strict=True):
            total += fee * acquired[:, members].any(axis=1)
        total += np.asarray(evaluated * self.evaluation, dtype=np.int64)
        return total
