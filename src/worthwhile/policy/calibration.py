"""From the probabilities of a model to those that hold: a small map over plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core import links

Floats = npt.NDArray[np.float64]

KINDS = ("temperature", "sigmoid", "isotonic")


class Calibration:
    """A map from the logarithms of a model's probabilities to probabilities that hold.

    Parameters
    ----------
    kind : {"temperature", "sigmoid", "isotonic"}
        "temperature": all logarithms times one number, so the order of the classes stays.
        "sigmoid": and a constant per class. "isotonic": the share of a class as a line of straight
        pieces that never falls over its probability (of the second one alone, of two), then all
        divided by their sum.
    arrays : mapping
        ``slope`` (1,) and ``bias`` (classes,); or the corners of the lines, ``x`` and ``y``, one
        class after the other, and ``first`` (lines + 1,), where each begins.

    Examples
    --------
    >>> import numpy as np
    >>> halved = Calibration("temperature", {"slope": np.array([0.5]), "bias": np.zeros(2)})
    >>> halved(np.log([[0.9, 0.1]])).round(3).tolist()
    [[0.75, 0.25]]
    """

    def __init__(self, kind: str, arrays: Mapping[str, Any]) -> None:
        self.kind = kind
        self.arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}

    def __call__(self, logs: Floats) -> Floats:
        """Probabilities (n, classes) that sum to 1, from logarithms of some (n, classes)."""
        if self.kind != "isotonic":
            return links.softmax(logs * self.arrays["slope"][0] + self.arrays["bias"])
        shares = links.exponential(logs)
        if shares.shape[1] == 2:
            second = self._line(0, shares[:, 1])
            return np.column_stack([1.0 - second, second])
        found = np.column_stack([self._line(k, shares[:, k]) for k in range(shares.shape[1])])
        held: Floats = found / links.row_sums(found)[:, None]
        return held

    def _line(self, number: int, at: Floats) -> Floats:
        """The line of a class, element by element, so that a row alone gives the same bits."""
        first, last = self.arrays["first"][number : number + 2]
        x, y = self.arrays["x"][first:last], self.arrays["y"][first:last]
        at = np.clip(at, x[0], x[-1])
        right = np.clip(np.searchsorted(x, at), 1, len(x) - 1)
        left = right - 1
        share = (at - x[left]) / (x[right] - x[left])
        line: Floats = y[left] + share * (y[right] - y[left])
        return line

    def to_dict(self) -> dict[str, Any]:
        """Plain arrays, for a model file."""
        return {"kind": self.kind, **self.arrays}

    @classmethod
    def from_dict(cls, content: Any, n_classes: int) -> Calibration:
        """Read what :meth:`to_dict` wrote; ValueError for anything that is unsafe to run."""
        if not isinstance(content, Mapping) or content.get("kind") not in KINDS:
            raise ValueError(f"a calibration is of kind {' or '.join(KINDS)}")
        kind = content["kind"]
        arrays = {name: array for name, array in content.items() if name != "kind"}
        names = {"x", "y", "first"} if kind == "isotonic" else {"slope", "bias"}
        if set(arrays) != names or any(
            not isinstance(array, np.ndarray)
            or array.ndim != 1
            or array.dtype != (np.int64 if name == "first" else np.float64)
            or not np.isfinite(array).all()
            for name, array in arrays.items()
        ):
            raise ValueError(f"a calibration of kind {kind} has the arrays {sorted(names)}")
        if kind != "isotonic":
            if len(arrays["slope"]) != 1 or len(arrays["bias"]) != n_classes:
                raise ValueError("a calibration has one slope, and a bias per class")
            return cls(kind, arrays)
        _check_lines(arrays["x"], arrays["y"], arrays["first"], 1 if n_classes == 2 else n_classes)
        return cls(kind, arrays)


def _check_lines(x: Floats, y: Floats, first: npt.NDArray[np.int64], lines: int) -> None:
    sizes = np.diff(first)
    if len(first) != lines + 1 or first[0] != 0 or first[-1] != len(x) or (sizes < 2).any():
        raise ValueError("the lines of a calibration have two corners at least, one line per class")
    begins = np.zeros(len(x), dtype=bool)
    begins[first[:-1]] = True
    if len(y) != len(x) or not (np.diff(x)[~begins[1:]] > 0).all() or not ((y > 0) & (y < 1)).all():
        raise ValueError("the corners of a calibration rise, and their shares lie between 0 and 1")
