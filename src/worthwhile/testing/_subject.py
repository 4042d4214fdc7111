"""What is under test, and how a broken law is shown."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import pandas as pd

from worthwhile.columns import Column, Columns
from worthwhile.costs import Costs
from worthwhile.policy.base import Policy
from worthwhile.runtime import Session

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

LAWS = {
    1: "honest",
    2: "one answer",
    3: "exact bill",
    4: "paid once",
    5: "budget kept",
    6: "reproducible",
    7: "clear refusals",
}
"""The laws by number."""

RELATIVE, ABSOLUTE = 1e-5, 1e-7
"""How far numbers of a foreign library may be apart: most of them compute in float32 somewhere."""


class ContractError(AssertionError):
    """An estimator breaks a law.

    Attributes
    ----------
    law : int
        Number of the law, see :data:`LAWS`.
    check : str
        Name of the check that found it.
    row : int or None
        The row that shows it.
    """

    def __init__(self, message: str, *, law: int, check: str, row: int | None = None) -> None:
        super().__init__(message)
        self.law, self.check, self.row = law, check, row


class Broken(Exception):
    """What a check found, before it is put under its law."""

    def __init__(self, found: str, row: int | None = None) -> None:
        super().__init__(found)
        self.row = row


class Answers(NamedTuple):
    """All that a batch says about its rows; None where the model has no such method."""

    prediction: Array
    probabilities: Array | None
    decision: Array | None
    acquired: Array
    cost: Array
    evaluated: Array

    def take(self, rows: Array) -> Answers:
        """The answers of some rows."""
        taken: list[Any] = [None if part is None else part[rows] for part in self]
        return Answers(*taken)


@dataclass
class Subject:
    """A fitted model, the rows it is checked on, and where it came from.

    Attributes
    ----------
    model : fitted estimator
    X : frame or array
        The rows to check.
    data : str
        What the rows are, for messages.
    fit : function or None
        Fits a fresh copy with other parameters (given by name); None for models without ``fit``.
    train : tuple or None
        Training data, (X, y).
    given : Costs or None
        The prices that the model was given, where that is known.
    seed : int
    trusted : tuple of str
        Types that may be loaded from files.
    """

    model: Any
    X: Any
    data: str
    fit: Callable[..., Any] | None = None
    train: tuple[Any, Any] | None = None
    given: Costs | None = None
    seed: int = 0
    trusted: tuple[str, ...] = ()
    _answers: dict[Any, Answers] = field(default_factory=dict, repr=False)

    @property
    def policy(self) -> Policy:
        """The model as a buyer."""
        policy: Policy = self.model.policy_
        return policy

    @property
    def costs(self) -> Costs:
        """The prices."""
        costs: Costs = self.model.costs_
        return costs

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"{type(self.model).__name__} on {self.data}"

    @functools.cached_property
    def values(self) -> Floats:
        """The rows as numbers; columns that the model never reads are left out (NaN)."""
        if hasattr(self.X, "columns") or self.policy.columns is not None:
            return self._columns.read(self.X, self.policy.reads.tolist())
        return np.array(self.X, dtype=np.float64)

    @property
    def _columns(self) -> Columns:
        return self.policy.columns or Columns.numbers(self.policy.n_features)

    @property
    def is_number(self) -> Mask:
        """Which columns hold plain numbers, (d,)."""
        columns = self._columns
        return np.array([columns[c].kind == "number" for c in range(len(columns))], dtype=bool)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.values)

    def like(self, values: Any) -> Any:
        """Values in the form of X: a frame where X is one, and in the words of its columns."""
        if self.policy.columns is not None:
            words = [self.told(row) for row in np.asarray(values, dtype=np.float64)]
            values = np.array([list(row.values()) for row in words], dtype=object)
        return (
            pd.DataFrame(values, columns=self.X.columns) if hasattr(self.X, "columns") else values
        )

    def told(self, values: Floats) -> dict[Any, Any]:
        """Numbers of one row as what a session is told."""
        columns = self._columns
        words = [in_words(columns[c], number) for c, number in enumerate(values.tolist())]
        return dict(zip(self.costs.features, words, strict=True))

    def row(self, index: int) -> dict[Any, Any]:
        """One row as what a session is told."""
        return self.told(self.values[index])

    def bought(self, mask: Array) -> str:
        """Purchases for a message."""
        names = [str(self.costs.name(int(i))) for i in np.flatnonzero(mask)]
        return ", ".join(names[:12]) + (" ..." if len(names) > 12 else "") if names else "nothing"

    def answers(self, budget: Any = None) -> Answers:
        """What the model says about X; asked once."""
        if budget not in self._answers:
            self._answers[budget] = ask_all(self.model, self.like(self.values), budget)
        return self._answers[budget]

    def budgeted(self) -> bool:
        """Whether the model can run under a budget at all."""
        try:
            self.policy.check_budget()
        except ValueError:
            return False
        return True

    def new_rng(self) -> np.random.Generator:
        """Random numbers of the check."""
        return np.random.default_rng([7, self.seed])

    def same(self, got: Any, expected: Any, row: int | None = None) -> bool:
        """Whether two numbers, labels or arrays are the same: to the bit, or for foreign models nearly."""
        got, expected = np.asarray(got), np.asarray(expected)
        if got.shape != expected.shape:
            return False
        if not self.policy.exact and got.dtype.kind == "f" and expected.dtype.kind == "f":
            return bool(np.allclose(got, expected, RELATIVE, ABSOLUTE, equal_nan=True))
        if got.dtype.kind == "f" or expected.dtype.kind == "f":
            return bool(got.astype(float).tobytes() == expected.astype(float).tobytes())
        if bool((got == expected).all()):
            return True
        return row is not None and not self.policy.exact and self._tie(row)

    def _tie(self, row: int) -> bool:
        # Where a foreign model's two best classes are equal to its own precision, either will do.
        scores = self.answers().probabilities
        if scores is None:
            return False
        best = np.sort(scores[row])[-2:]
        return bool(best[1] - best[0] <= RELATIVE)

    def compare(self, got: Answers, expected: Answers, when: str, rows: Any = None) -> None:
        """Fail on the first row where two batches differ; ``rows`` are the numbers of their rows."""
        rows = np.arange(len(expected.acquired)) if rows is None else rows
        new: Any
        old: Any
        for what, new, old in zip(Answers._fields, got, expected, strict=True):
            if (new is None) != (old is None):
                raise Broken(f"{what} is there in one of two cases only: {when}")
            if old is None:
                continue
            if len(new) != len(old):
                raise Broken(f"{what} has {len(new)} rows for {len(old)}, {when}")
            for place, row in enumerate(rows):
                if what in ("acquired", "evaluated", "cost"):
                    fine = np.array_equal(new[place], old[place])
                else:
                    fine = self.same(new[place], old[place], int(row))
                if not fine:
                    self.differs(int(row), what, new[place], old[place], when)

    def differs(self, row: int, what: str, got: Any, expected: Any, when: str) -> NoReturn:
        """Show two values that should be the same."""
        mask = self.answers().acquired[row]
        if what == "acquired":
            got, expected = self.bought(got), self.bought(expected)
        raise Broken(
            f"row {row} (buys {self.bought(mask)}): {what} is {expected} and becomes {got} {when}",
            row,
        )


def in_words(column: Column, number: float) -> Any:
    """A number of a column as a user would say it; nonsense where the number stands for nothing."""
    if column.kind == "number" or np.isnan(number):
        return number
    whole = number == np.floor(number)
    if column.kind in ("category", "ordered") and not (whole and 0 <= number < column.n_codes):
        return f"nonsense {number}"
    if column.kind == "boolean" and number not in (0, 1):
        return f"nonsense {number}"
    if column.kind in ("date", "time", "duration") and not abs(number) < 1e5:
        return f"nonsense {number}"
    return column.shown(number)


def ask_all(model: Any, X: Any, budget: Any = None, **request: Any) -> Answers:
    """Every method that says something about rows."""
    limit = request if budget is None else {"budget": budget, **request}
    classifier = hasattr(model, "classes_")
    return Answers(
        np.asarray(model.predict(X, **limit)),
        model.predict_proba(X, **limit) if hasattr(model, "predict_proba") else None,
        model.decision_function(X, **limit) if classifier else None,
        np.asarray(model.acquired(X, **limit)),
        np.asarray(model.cost(X, **limit)),
        np.asarray(model.evaluated(X, **limit)),
    )


class Run(NamedTuple):
    """A session driven to its end."""

    session: Session
    order: list[Any]
    """Features in the order in which they were paid for."""
    prediction: Any
    probabilities: Any

    @property
    def spent(self) -> float:
        """The bill."""
        return self.session.spent

    @property
    def mask(self) -> Mask:
        """The purchases as a row of ``acquired``."""
        return np.array([f in self.order for f in self.session.policy.costs.features])


def drive(session: Session, row: dict[Any, Any], *, backwards: bool = False) -> Run:
    """Answer everything a session asks; ``backwards`` tells one value at a time, last asked first."""
    asked: list[Any] = []
    while wanted := session.ask():
        asked += wanted
        if len(asked) > len(row):
            raise Broken(f"the session asks for more than there is: {', '.join(map(str, asked))}")
        if backwards:
            for name in reversed(wanted):
                session.tell({name: row[name]})
        else:
            session.tell({name: row[name] for name in wanted})
    probabilities = session.probabilities if session.policy.output.has_probabilities else None
    order = [entry.feature for entry in session.ledger if entry.kind == "bought"]
    return Run(session, order, session.prediction, probabilities)


def compare_run(subject: Subject, run: Run, expected: Answers, row: int, when: str) -> None:
    """Fail where a session and a row of a batch differ in answer, purchases or bill."""
    mask = run.mask
    if not np.array_equal(mask, expected.acquired[row]):
        subject.differs(row, "acquired", mask, expected.acquired[row], when)
    if run.spent != expected.cost[row]:
        subject.differs(row, "cost", run.spent, expected.cost[row], when)
    if not subject.same(run.prediction, expected.prediction[row], row):
        subject.differs(row, "prediction", run.prediction, expected.prediction[row], when)
    if expected.probabilities is not None and not subject.same(
        run.probabilities, expected.probabilities[row]
    ):
        subject.differs(row, "probabilities", run.probabilities, expected.probabilities[row], when)


def law(number: int) -> Callable[[Callable[[Subject], None]], Callable[[Subject], None]]:
    """Put a check under its law; the first line of its docstring says what should hold."""

    def declare(check: Callable[[Subject], None]) -> Callable[[Subject], None]:
        should = (check.__doc__ or "").splitlines()[0]

        def error(subject: Subject, found: str, row: int | None = None) -> ContractError:
            return ContractError(
                f"{subject.name} breaks law {number} ({LAWS[number]}). Should hold: {should} Found: {found}.",
                law=number,
                check=check.__name__,
                row=row,
            )

        @functools.wraps(check)
        def run(subject: Subject) -> None:
            try:
                check(subject)
            except Broken as broken:
                raise error(subject, str(broken), broken.row) from None
            except Exception as unexpected:
                raise error(subject, f"{type(unexpected).__name__}: {unexpected}") from unexpected

        run.law = number  # type: ignore[attr-defined]
        return run

    return declare
