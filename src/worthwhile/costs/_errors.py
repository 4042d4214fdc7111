"""Prices of wrong answers, in the unit of the prices of features."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile._messages import some

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

MOST = 1e15
"""The largest price of an error: sums with prices of features stay exact enough."""

LOSSES = ("squared", "absolute")
FIELDS = ("table", "worth", *LOSSES, "refer", "refer_label")


class Errors:
    """What wrong answers cost, and what it costs to hand a case to a person.

    Given to an estimator, a search or :func:`~worthwhile.compare` as ``errors=``: what is predicted is then the
    decision of the least expected price; the probabilities behind it are calibrated (``calibrate="sigmoid"``, unless
    another map is named, or ``False``; ``calibration_`` says how well they hold); and what "auto" and searches
    choose on rows held out has the least total per case, tests and errors together. ``errors=`` also takes
    the table itself, or a number for every error.

    Parameters
    ----------
    table : mapping {true: {predicted: price}}, optional
        Price of each answer to each true class. What is left out costs 0.
    worth : number, optional
        Or what a right answer is worth: every wrong one costs so much.
    squared, absolute : number, optional
        Or, for numbers, the price of one unit of the squared or of the absolute error.
    refer : number, optional
        Price of handing a case to a person, whatever its truth: one more decision, for classes.
    refer_label : label, default="refer"
        What is predicted for such a case.

    Examples
    --------
    >>> from worthwhile import Errors
    >>> errors = Errors({"ill": {"well": 50}, "well": {"ill": 5}}, refer=4)
    >>> errors.prices(["ill", "ill", "well"], ["well", "ill", "refer"]).tolist()
    [50.0, 0.0, 4.0]
    >>> errors.decide([[0.05, 0.95], [0.1, 0.9], [0.5, 0.5]], ["ill", "well"]).tolist()
    ['well', 'refer', 'ill']
    """

    def __init__(
        self,
        table: Mapping[Any, Mapping[Any, Any]] | None = None,
        *,
        worth: Any = None,
        squared: Any = None,
        absolute: Any = None,
        refer: Any = None,
        refer_label: Any = "refer",
    ) -> None:
        ways = {"table": table, "worth": worth, "squared": squared, "absolute": absolute}
        given = [name for name, value in ways.items() if value is not None]
        if len(given) != 1:
            raise ValueError(
                f"errors have {' and '.join(given) or 'no price'}: give one of {', '.join(ways)}."
            )
        self.table = None if table is None else _read_table(table)
        self.worth, self.squared, self.absolute = (
            None if ways[name] is None else error_price(ways[name], name)
            for name in ("worth", *LOSSES)
        )
        if not any((self.worth, self.squared, self.absolute, self.table and _dearest(self.table))):
            raise ValueError("errors are all 0: give the price of at least one wrong answer.")
        if refer is not None and self.loss is not None:
            raise ValueError("refer is given for numbers: cases are referred by classes alone.")
        self.refer = None if refer is None else error_price(refer, "refer")
        self.refer_label = _bare(refer_label)
        if (
            not isinstance(self.refer_label, (str, int, float))
            or self.refer_label != self.refer_label
        ):
            raise TypeError(f"refer_label is {refer_label!r}: give text or a number.")

    # Reading and writing -------------------------------------------------------------------------

    @classmethod
    def of(cls, given: Any, loss: str | None = None) -> Errors | None:
        """Errors as they may be given: an ``Errors``, a table, or a number, for every error.

        ``loss``, "squared" or "absolute", is what a number is the price of a unit of; None for classes.
        """
        if given is None or isinstance(given, Errors):
            found = given
        elif isinstance(given, Mapping):
            found = cls(given)
        elif isinstance(given, (int, float, np.number)) and not isinstance(given, bool):
            price = error_price(given, "errors")
            way: dict[str, Any] = {loss or "worth": price}
            found = cls(**way)
        else:
            raise TypeError(
                f"errors is a {type(given).__name__}: give {{true: {{predicted: price}}}}, what is left out costs 0, "
                "a number for every error, or an Errors."
            )
        if found is not None and (found.loss is None) != (loss is None):
            wanted = "a table or worth" if loss is None else "squared or absolute"
            raise ValueError(
                f"errors are {found!r}: for {'classes' if loss is None else 'numbers'} give {wanted}."
            )
        return found

    @classmethod
    def from_yaml(cls, path: str | os.PathLike[str]) -> Errors | None:
        r"""What a file of prices says under ``errors:``; None if it says nothing.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "costs.yaml"
        ...     _ = path.write_text("features: {age: 1}\nerrors: {worth: 30, refer: 8}\n")
        ...     Errors.from_yaml(path)
        Errors(worth=30, refer=8)
        """
        from worthwhile.costs._yaml import read_error_fields

        fields = read_error_fields(path)
        return None if fields is None else cls(**fields)

    def to_dict(self) -> dict[str, Any]:
        """What was given, as plain values; the table as triples, whatever its labels are."""
        found = {name: getattr(self, name) for name in FIELDS}
        if self.table is not None:
            lines = self.table.items()
            found["table"] = [[t, p, price] for t, line in lines for p, price in line.items()]
        return {name: value for name, value in found.items() if value is not None}

    @classmethod
    def from_dict(cls, data: Any) -> Errors:
        """Read what :meth:`to_dict` wrote."""
        if not isinstance(data, Mapping) or not set(data) <= set(FIELDS):
            raise ValueError(f"errors have the fields {', '.join(FIELDS)}")
        fields = dict(data)
        if "table" in fields:
            table: dict[Any, dict[Any, Any]] = {}
            for line in fields["table"]:
                if not isinstance(line, list) or len(line) != 3:
                    raise ValueError("a line of errors is a true class, an answer and a price")
                table.setdefault(line[0], {})[line[1]] = line[2]
            fields["table"] = table
        return cls(**fields)

    def __repr__(self) -> str:
        parts = [] if self.table is None else [repr(self.table)]
        numbers = {name: getattr(self, name) for name in ("worth", *LOSSES, "refer")}
        parts += [f"{name}={value:g}" for name, value in numbers.items() if value is not None]
        if self.refer is not None and self.refer_label != "refer":
            parts.append(f"refer_label={self.refer_label!r}")
        return f"Errors({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Errors) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(repr(self))

    # Using them ----------------------------------------------------------------------------------

    @property
    def loss(self) -> str | None:
        """What a number's error is measured in, "squared" or "absolute"; None for classes."""
        return next((loss for loss in LOSSES if getattr(self, loss) is not None), None)

    def for_classes(self, classes: Sequence[Any] | Array) -> Floats:
        """Price of every answer to every class, (classes, classes), and of referring as a last column.

        Examples
        --------
        >>> Errors({"ill": {"well": 50}}, refer=10).for_classes(["ill", "well"]).tolist()
        [[0.0, 50.0, 10.0], [0.0, 0.0, 10.0]]
        """
        labels = np.asarray(classes).tolist()
        if self.loss is not None:
            raise ValueError(
                f"errors are {self!r}, for numbers: for classes give a table or worth."
            )
        prices = np.zeros((len(labels), len(labels)))
        if self.table is None:
            prices = float(self.worth or 0) * (1.0 - np.eye(len(labels)))
        else:
            place = {label: i for i, label in enumerate(labels)}
            for true, line in self.table.items():
                for predicted, price in line.items():
                    for label in (true, predicted):
                        if label not in place:
                            raise ValueError(
                                f"errors names the class {label!r}, which y does not have: the classes are "
                                f"{some(labels)}."
                            )
                    prices[place[true], place[predicted]] = price
        if self.refer is None:
            return np.asarray(prices)
        if self.refer_label in labels:
            raise ValueError(
                f"refer_label is {self.refer_label!r}, which is a class: name another."
            )
        return np.column_stack([prices, np.full(len(labels), self.refer)])

    def named(self, classes: Sequence[Any] | Array) -> Errors:
        """The same with the labels of the classes, where a table names them as text, as files do.

        Examples
        --------
        >>> Errors({"1": {"0": 5}}).named([0, 1])
        Errors({1: {0: 5.0}})
        """
        if self.table is None:
            return self
        known = {str(label): label for label in np.asarray(classes).tolist()}

        def own(label: Any) -> Any:
            return known.get(label, label) if isinstance(label, str) else label

        table = {
            own(t): {own(p): price for p, price in line.items()} for t, line in self.table.items()
        }
        return Errors(table, refer=self.refer, refer_label=self.refer_label)

    def referring(self, refer: Any) -> Errors:
        """The same with a price of handing a case to a person."""
        fields = {name: getattr(self, name) for name in ("table", "worth", "squared", "absolute")}
        return Errors(**fields, refer=refer, refer_label=self.refer_label)

    def labels(self, classes: Array) -> Array:
        """Labels of the decisions: the classes, and that of referring."""
        if self.refer is None:
            return classes
        alike = type(self.refer_label) is type(classes.tolist()[0])
        found = np.empty(len(classes) + 1, dtype=object)
        found[:-1], found[-1] = classes.tolist(), self.refer_label
        return np.array(found.tolist()) if alike else found

    def usual(self, classes: Sequence[Any] | Array, counts: Any) -> float:
        """Mean price of an error: over the other answers alike, over the true classes by their counts."""
        labels = np.asarray(classes)
        prices = self.for_classes(labels)[:, : len(labels)].sum(axis=1) / (len(labels) - 1)
        return float(np.average(prices, weights=counts))

    def expected(self, probabilities: Any, classes: Sequence[Any] | Array) -> Floats:
        """Expected price of every decision, (n, decisions)."""
        return expected_prices(np.asarray(probabilities), self.for_classes(classes))

    def decide(self, probabilities: Any, classes: Sequence[Any] | Array) -> Array:
        """The decision of the least expected price for each row, (n,)."""
        chosen = np.argmin(self.expected(probabilities, classes), axis=1)
        decisions: Array = self.labels(np.asarray(classes))[chosen]
        return decisions

    def prices(self, truths: Any, answers: Any) -> Floats:
        """What answers turned out to cost, (n,)."""
        if self.loss is not None:
            off = np.asarray(answers, dtype=np.float64) - np.asarray(truths, dtype=np.float64)
            off = off.reshape(len(off), -1)
            if self.squared is not None:
                return np.asarray(self.squared * (off**2).mean(axis=1))
            return np.asarray(self.absolute * np.abs(off).mean(axis=1))
        pairs = zip(np.asarray(truths).tolist(), np.asarray(answers).tolist(), strict=True)
        return np.array([self._price(*pair) for pair in pairs], dtype=np.float64)

    def _price(self, truth: Any, answer: Any) -> float:
        if self.refer is not None and answer == self.refer_label:
            return self.refer
        if self.table is None:
            assert self.worth is not None
            return 0.0 if truth == answer else self.worth
        return self.table.get(truth, {}).get(answer, 0.0)


def expected_prices(probabilities: Floats, table: Floats) -> Floats:
    """Expected price of every decision: class after class, so that a row alone gives the same bits."""
    found = np.zeros((len(probabilities), table.shape[1]))
    for true, prices in enumerate(table):  # no BLAS, whose sums vary with threads
        found += probabilities[:, true, None] * prices
    return found


def _read_table(table: Any) -> dict[Any, dict[Any, float]]:
    if not isinstance(table, Mapping):
        raise TypeError(
            f"errors is a {type(table).__name__}: give {{true: {{predicted: price}}}}, what is left out costs 0."
        )
    found: dict[Any, dict[Any, float]] = {}
    for true, prices in table.items():
        if not isinstance(prices, Mapping):
            raise TypeError(
                f"errors has {prices!r} for the true class {true!r}: give {{predicted: price}}."
            )
        found[_bare(true)] = {
            _bare(predicted): error_price(amount, f"errors[{true!r}][{predicted!r}]")
            for predicted, amount in prices.items()
        }
    return found


def _bare(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _dearest(table: dict[Any, dict[Any, float]]) -> float:
    return max((price for line in table.values() for price in line.values()), default=0.0)


def error_price(amount: Any, what: str) -> float:
    """A price of an error: a number from 0 on."""
    if isinstance(amount, bool) or not isinstance(amount, (int, float, np.number)):
        raise TypeError(f"{what} is {amount!r}: give a number >= 0, in the unit of the prices.")
    number = float(amount)
    if not math.isfinite(number) or not 0 <= number <= MOST:
        raise ValueError(f"{what} is {number:g}: give a number >= 0, in the unit of the prices.")
    return number
