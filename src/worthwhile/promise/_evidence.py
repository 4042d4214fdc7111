"""Cases whose truth is known, as numbers of which a promise speaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Evidence:
    """What happened in some cases.

    Attributes
    ----------
    figures : dict of str to float64 arrays
        A number per case: "bill"; "accuracy" (1 where the answer was right), or "squared error" or
        "absolute error"; "calibration", how much more was claimed than came true; "total", the bill and
        the price of the error.
    values : dict of int to float64 arrays
        By column, the values that were bought, NaN for those that came back empty.
    """

    figures: dict[str, Floats]
    values: dict[int, Floats] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Number of cases."""
        return len(self.figures["bill"])

    @classmethod
    def of_classes(
        cls,
        bills: Floats,
        answers: Sequence[Any] | Array,
        truths: Sequence[Any] | Array,
        classes: Sequence[Any] | Array,
        shares: Floats | None = None,
        errors: Floats | None = None,
        values: Mapping[int, Floats] | None = None,
    ) -> Self:
        """Cases of a classifier.

        Parameters
        ----------
        bills : float64 (n,)
        answers, truths : labels (n,)
            A truth that is none of the classes makes every answer wrong.
        classes : labels
        shares : float64 (n, classes), optional
            Probabilities.
        errors : float64 (classes, classes or one more), optional
            Prices of errors as :func:`worthwhile.costs.read_errors` gives them.
        values : mapping, optional
            As the attribute.
        """
        place = {label: code for code, label in enumerate(np.asarray(classes).tolist())}
        answer = np.array([place[label] for label in np.asarray(answers).tolist()], dtype=int)
        truth = np.array([place.get(label, -1) for label in np.asarray(truths).tolist()], dtype=int)
        right = (answer == truth).astype(np.float64)
        figures = {"bill": np.asarray(bills, dtype=np.float64), "accuracy": right}
        rows = np.arange(len(answer))
        if shares is not None:
            figures["calibration"] = shares[rows, answer] - right
        if errors is not None:
            price = errors[truth, answer]
            if errors.shape[1] > len(place) and shares is not None:  # a person may be asked
                expected = (shares @ errors)[:, : len(place)].min(axis=1)
                price = np.where(expected > errors[0, -1], errors[0, -1], price)
            worst = errors[:, : len(place)].max(axis=0)[answer]  # of a truth that nobody priced
            figures["total"] = figures["bill"] + np.where(truth < 0, worst, price)
        return cls(figures, dict(values or {}))

    @classmethod
    def of_numbers(
        cls,
        bills: Floats,
        answers: Floats,
        truths: Floats,
        price: float | None = None,
        loss: str = "squared",
        values: Mapping[int, Floats] | None = None,
    ) -> Self:
        """Cases of a regressor; ``price`` of one unit of the loss, "squared" or "absolute"."""
        off = np.asarray(answers, dtype=np.float64) - np.asarray(truths, dtype=np.float64)
        off = off.reshape(len(off), -1)
        wrong = (off**2 if loss == "squared" else np.abs(off)).mean(axis=1)
        figures = {
            "bill": np.asarray(bills, dtype=np.float64),
            f"{loss} error": wrong,
            "calibration": off.mean(axis=1),
        }
        if price is not None:
            figures["total"] = figures["bill"] + price * wrong
        return cls(figures, dict(values or {}))

    @classmethod
    def joined(cls, parts: Sequence[Evidence]) -> Self:
        """The cases of several."""
        names = [name for name in parts[0].figures if all(name in part.figures for part in parts)]
        columns = sorted({column for part in parts for column in part.values})
        return cls(
            {name: np.concatenate([part.figures[name] for part in parts]) for name in names},
            {
                column: np.concatenate(
                    [part.values[column] for part in parts if column in part.values]
                )
                for column in columns
            },
        )
