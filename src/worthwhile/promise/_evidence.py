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
            A truth that is none of the classes makes every answer wrong. An answer that is none hands
            the case to a person: it is not right.
        classes : labels
        shares : float64 (n, classes), optional
            Probabilities.
        errors : float64 (classes, classes or one more), optional
            Prices of errors as :meth:`worthwhile.Errors.for_classes` gives them.
        values : mapping, optional
            As the attribute.
        """
        place = {label: code for code, label in enumerate(np.asarray(classes).tolist())}
        beyond = len(place)  # the answer of a case that is referred is no class
        said = np.array([place.get(label, beyond) for label in np.asarray(answers).tolist()])
        truth = np.array([place.get(label, -1) for label in np.asarray(truths).tolist()], dtype=int)
        right = (said == truth).astype(np.float64)
        figures = {"bill": np.asarray(bills, dtype=np.float64), "accuracy": right}
        if shares is not None:
            rows = np.arange(len(said))
            likely = np.where(said == beyond, shares.argmax(axis=1), said)
            figures["calibration"] = shares[rows, likely] - (likely == truth)
        if errors is not None:
            worst = errors.max(axis=0)[said]  # of a truth that nobody priced
            price = np.where(truth < 0, worst, errors[truth, said])
            figures["total"] = figures["bill"] + price
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
