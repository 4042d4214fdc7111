"""What a model file says of the model's own future."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from worthwhile.promise._evidence import Evidence
from worthwhile.promise._spread import LEAST, Spread

Floats = npt.NDArray[np.float64]

NAMES = ("bill", "accuracy", "squared error", "absolute error", "calibration", "total")
"""What may be promised."""


class Figure(NamedTuple):
    """A mean over cases, and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, numbers: Floats) -> Figure:
        """Of a number per case.

        Examples
        --------
        >>> Figure.of(np.array([1.0, 3.0])).mean
        2.0
        """
        n = len(numbers)
        spread = float(numbers.std(ddof=1)) if n > 1 else math.inf
        return cls(float(numbers.mean()), spread / math.sqrt(n))


@dataclass(frozen=True)
class Promise:
    """What was seen on rows that did not train, so that it can be expected of new ones.

    Attributes
    ----------
    rows : int
        Rows behind the figures.
    figures : dict of str to Figure
        As :class:`~worthwhile.promise.Evidence` names them.
    spreads : tuple of Spread
        How the values that were bought were spread, by column.
    bound, confidence : float, optional
        What the mean bill stays below, and with what probability.
    errors : float64 array (2-dimensional), optional
        Prices of errors: of every answer to every true class, or of one unit of the error.
    fingerprint : str
        Of the policy that it was made for: another one has promised nothing.
    """

    rows: int
    figures: dict[str, Figure]
    spreads: tuple[Spread, ...] = ()
    bound: float | None = None
    confidence: float | None = None
    errors: Floats | None = None
    fingerprint: str = ""

    @classmethod
    def of(cls, evidence: Evidence, errors: Floats | None = None, fingerprint: str = "") -> Promise:
        """What some cases let expect.

        Examples
        --------
        >>> cases = Evidence.of_classes(np.array([2.0, 4.0]), [0, 1], [0, 0], [0, 1])
        >>> Promise.of(cases).figures["accuracy"].mean
        0.5
        """
        figures = {
            name: Figure.of(numbers)
            for name, numbers in evidence.figures.items()
            if len(numbers) > 1
        }
        spreads = tuple(
            Spread.of(column, values)
            for column, values in sorted(evidence.values.items())
            if len(values) >= LEAST
        )
        return cls(evidence.rows, figures, spreads, errors=errors, fingerprint=fingerprint)

    def with_bill(self, bill: Figure, bound: float, confidence: float) -> Promise:
        """With a bill that is known better, and what it stays below."""
        figures = {**self.figures, "bill": bill}
        return replace(self, figures=figures, bound=bound, confidence=confidence)

    def check_fit(self, n_features: int, n_classes: int | None) -> None:
        """Refuse, as ValueError, a promise of another model."""
        if any(spread.column >= n_features for spread in self.spreads):
            raise ValueError("a promise speaks of a column that the model does not have")
        allowed = [(1, 1)] if n_classes is None else [(n_classes, n_classes + i) for i in (0, 1)]
        if self.errors is not None and self.errors.shape not in allowed:
            raise ValueError("the errors of a promise do not fit the classes")

    def to_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {
            "rows": self.rows,
            "figures": {name: list(figure) for name, figure in self.figures.items()},
            "spreads": [spread.to_dict() for spread in self.spreads],
            "bound": self.bound,
            "confidence": self.confidence,
            "errors": None if self.errors is None else self.errors.tolist(),
            "fingerprint": self.fingerprint,
        }

    @classmethod
    def from_dict(cls, data: Any) -> Promise:
        """Read what :meth:`to_dict` wrote; ValueError for anything that it would not write."""
        known = {"rows", "figures", "spreads", "bound", "confidence", "errors", "fingerprint"}
        if not isinstance(data, dict) or set(data) != known:
            raise ValueError(f"a promise has {', '.join(sorted(known))}")
        if type(data["rows"]) is not int or not 0 <= data["rows"] < 2**53:
            raise ValueError("the rows of a promise are not a count")
        if not isinstance(data["figures"], dict) or not isinstance(data["spreads"], list):
            raise ValueError("a promise has an object of figures and a list of spreads")
        if type(data["fingerprint"]) is not str or len(data["fingerprint"]) > 100:
            raise ValueError("the fingerprint of a promise is not a short text")
        spreads = tuple(map(Spread.from_dict, data["spreads"]))
        if len({spread.column for spread in spreads}) < len(spreads):
            raise ValueError("a promise has two spreads of one column")
        return cls(
            data["rows"],
            {name: _figure(name, pair) for name, pair in data["figures"].items()},
            spreads,
            _number(data["bound"], "bound"),
            _number(data["confidence"], "confidence"),
            _errors(data["errors"]),
            data["fingerprint"],
        )


def _figure(name: Any, pair: Any) -> Figure:
    if name not in NAMES or not isinstance(pair, list) or len(pair) != 2:
        raise ValueError("a figure of a promise has a known name, a mean and an error")
    mean, error = _number(pair[0], name), _number(pair[1], name)
    if mean is None or error is None or error < 0:
        raise ValueError(f"{name} of a promise is no mean with its error")
    return Figure(mean, error)


def _number(value: Any, what: str) -> float | None:
    if value is None:
        return None
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{what} of a promise is no number")
    return float(value)


def _errors(table: Any) -> Floats | None:
    if table is None:
        return None
    lines = table if isinstance(table, list) else []
    if not lines or not all(
        isinstance(line, list) and len(line) == len(lines[0]) for line in lines
    ):
        raise ValueError("the errors of a promise are no table")
    numbers = [[_number(price, "errors") for price in line] for line in lines]
    if any(price is None or price < 0 for line in numbers for price in line):
        raise ValueError("the errors of a promise are no prices")
    return np.array(numbers, dtype=np.float64)
