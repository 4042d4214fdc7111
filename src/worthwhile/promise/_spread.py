"""How values were spread, in a few numbers, and whether others are spread alike."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.columns import Column

Floats = npt.NDArray[np.float64]

PARTS = 10
"""Bins of a column with many values."""

LEAST = 20
"""Values that a comparison needs, on either side."""

SHOWN = 3
"""Levels of a category that are named."""


@dataclass(frozen=True)
class Spread:
    """Counts of the values of one column.

    Attributes
    ----------
    column : int
    edges : tuple of float
        Ascending; a bin reaches to its edge, which belongs to it.
    counts : tuple of int
        One more than edges, and a last one: of values that came back empty.

    Examples
    --------
    >>> spread = Spread.of(2, np.array([0.0, 0.0, 1.0, np.nan]))
    >>> spread.edges, spread.counts
    ((0.5,), (2, 1, 1))
    >>> spread.count(np.array([7.0, np.nan])).tolist()
    [0, 1, 1]
    """

    column: int
    edges: tuple[float, ...]
    counts: tuple[int, ...]

    @classmethod
    def of(cls, column: int, values: Floats) -> Spread:
        """The values of a column in bins: each value its own, or tenths where there are many."""
        known = values[np.isfinite(values)]
        distinct = np.unique(known)
        if len(distinct) <= PARTS + 2:
            edges = (distinct[1:] + distinct[:-1]) / 2
        else:
            edges = np.unique(np.quantile(known, np.arange(1, PARTS) / PARTS, method="lower"))
        empty = cls(column, tuple(edges.tolist()), ())
        return cls(column, empty.edges, tuple(empty.count(values).tolist()))

    def count(self, values: Floats) -> npt.NDArray[np.int64]:
        """How many of some values fall into each bin; the last is for NaN."""
        nothing = np.isnan(values)
        bins = np.searchsorted(np.array(self.edges), values[~nothing], side="left")
        found = np.bincount(bins, minlength=len(self.edges) + 1)
        return np.append(found, int(nothing.sum())).astype(np.int64)

    def compare(self, values: Floats) -> tuple[float, float, int]:
        """Distance of the shares (0 alike, 1 apart), chance of it among equals, bin that grew most.

        The distance is half the sum of absolute differences; the chance that of the chi-squared test of
        two samples.
        """
        from scipy.special import gammaincc

        then, now = np.array(self.counts, dtype=float), self.count(values).astype(float)
        n, m = then.sum(), now.sum()
        grown = now / m - then / n
        used = then + now > 0
        off = math.sqrt(m / n) * then[used] - math.sqrt(n / m) * now[used]
        statistic = float((off**2 / (then + now)[used]).sum())
        freedom = int(used.sum()) - 1
        chance = float(gammaincc(freedom / 2, statistic / 2)) if freedom > 0 else 1.0
        return float(np.abs(grown).sum() / 2), chance, int(np.argmax(grown))

    def words(self, place: int, column: Column | None) -> str:
        """What is in a bin."""
        if place == len(self.counts) - 1:
            return "came back empty"
        low = self.edges[place - 1] if place else None
        high = self.edges[place] if place < len(self.edges) else None
        if column is not None and column.levels:
            first = 0 if low is None else math.floor(low) + 1
            last = len(column.levels) - 1 if high is None else math.floor(high)
            names = [str(level) for level in column.levels[first : last + 1]]
            if not names:
                return "other levels"
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            return ", ".join(names[:SHOWN]) + more

        def shown(number: float) -> str:
            dated = column is not None and column.kind not in ("number", "boolean")
            return str(column.shown(number)) if dated and column else f"{number:.6g}"

        if low is None:
            return "any value" if high is None else f"up to {shown(high)}"
        return f"over {shown(low)}" + ("" if high is None else f", up to {shown(high)}")

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "column": self.column,
            "edges": list(self.edges),
            "counts": list(self.counts),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Spread:
        """Read what :meth:`to_dict` wrote; ValueError for anything that it would not write."""
        if not isinstance(data, dict) or set(data) != {"column", "edges", "counts"}:
            raise ValueError("a spread has column, edges and counts")
        column, edges, counts = data["column"], data["edges"], data["counts"]
        if type(column) is not int or not isinstance(edges, list) or not isinstance(counts, list):
            raise ValueError("a spread has a column, a list of edges and a list of counts")
        if column < 0 or len(edges) > PARTS + 2 or len(counts) != len(edges) + 2:
            raise ValueError("the edges and counts of a spread do not fit")
        numbers = all(type(edge) in (int, float) and math.isfinite(edge) for edge in edges)
        if not numbers or any(b <= a for a, b in itertools.pairwise(edges)):
            raise ValueError("the edges of a spread are not ascending numbers")
        if not all(type(count) is int and 0 <= count < 2**53 for count in counts) or not sum(
            counts
        ):
            raise ValueError("the counts of a spread are not counts")
        return cls(column, tuple(map(float, edges)), tuple(counts))
