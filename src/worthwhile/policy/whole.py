"""A model that is read as a whole: it answers from all its inputs, or from what stands for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.columns import Columns
from worthwhile.columns.cells import is_empty
from worthwhile.costs import Costs
from worthwhile.policy.base import Bundle, Case, Floats, Outcome, Policy, State
from worthwhile.policy.foreign import Foreign, check_names, try_out
from worthwhile.policy.output import Output
from worthwhile.policy.till import Till

METHODS = ("predict_proba", "decision_function", "predict", "call")


class Source:
    """Raw outputs from a foreign model.

    Parameters
    ----------
    model : object
        A fitted estimator, or a function of rows for the method "call".
    method : {"predict_proba", "decision_function", "predict", "call"}
        What of it to use.
    names : sequence of str, optional
        Column names, where the model was fitted on a frame.
    labels : array, optional
        Classes of a classifier that can only predict: its labels become scores of 0 and 1.
    columns : Columns, optional
        What the numbers of rows stand for, where the model reads words.
    empty : str, optional
        What stands for an empty category, where the model takes text alone.
    """

    def __init__(
        self,
        model: Any,
        method: str,
        names: list[str] | None = None,
        labels: npt.NDArray[Any] | None = None,
        columns: Columns | None = None,
        empty: str | None = None,
    ) -> None:
        if method not in METHODS:
            raise ValueError(f"method is {method!r}: it is one of {', '.join(METHODS)}.")
        self.model, self.method, self.names, self.labels = model, method, names, labels
        self.columns, self.empty = columns, empty
        self._function: Callable[[Any], Any] = model if method == "call" else getattr(model, method)

    def __call__(self, rows: Floats) -> Floats:
        """Raw outputs (n, n_raw) of full rows (n, d)."""
        X: Any = rows
        if self.columns is not None:
            X = self._in_words(rows)
        elif self.names is not None:
            import pandas as pd

            X = pd.DataFrame(rows, columns=self.names)
        raw = np.asarray(self._function(X))
        if self.labels is not None:
            raw = raw[:, None] == self.labels[None, :]
        return np.asarray(raw.reshape(len(rows), -1), dtype=np.float64)

    def _in_words(self, rows: Floats) -> Any:
        """The rows as the user's table has them."""
        assert self.columns is not None
        table = self.columns.frame(rows, self.names)
        if self.empty is not None:
            for place in np.flatnonzero(self.columns.categorical).tolist():
                words = table.iloc[:, place].tolist()
                table.isetitem(place, [self.empty if is_empty(word) else word for word in words])
        return table


class WholePolicy(Policy):
    """Any model of full rows.

    Parameters
    ----------
    costs, output
        As for every policy.
    source : Source
        Where raw outputs come from.
    reads : array of int
        Columns that the model looks at; the others are passed as 0.
    fallback : array (n_raw,), optional
        Raw output when the budget does not pay for all of them; nothing is bought then.
    fill : array (d,), optional
        Values that stand for what was not bought: with it, a part of the columns is of use.
    fill_empty : bool
        Let ``fill`` stand for values that came back empty, too: for models that refuse NaN.

    Notes
    -----
    A foreign library does the arithmetic, so a row alone and the same row in a batch agree to that
    library's own float precision only.
    """

    kind = "whole"
    exact = False

    def __init__(
        self,
        costs: Costs,
        output: Output,
        source: Source,
        reads: npt.NDArray[Any],
        fallback: Floats | None = None,
        fill: Floats | None = None,
        fill_empty: bool = False,
    ) -> None:
        super().__init__(costs, output)
        self.source = source
        self._reads = np.asarray(reads, dtype=np.intp)
        self.fallback, self.fill, self.fill_empty = fallback, fill, fill_empty

    @property
    def reads(self) -> npt.NDArray[np.intp]:
        """Columns that the model looks at."""
        return self._reads

    def check_budget(self) -> None:
        """A budget needs something to answer with when it does not reach."""
        if self.fallback is None and self.fill is None:
            raise ValueError(
                "this model reads all its features and cannot answer from a part of them, so it cannot run under a "
                "budget. Give PricedModel a fallback= answer for rows whose budget does not reach, or a background= "
                "sample, whose means stand for what is not bought."
            )

    def _priced(self, costs: Costs) -> WholePolicy:
        # Around a plain function there is no state to go through.
        answers = (self.fallback, self.fill, self.fill_empty)
        return WholePolicy(costs, self.output, self.source, self.reads, *answers)

    def begin(self) -> WholeCase:
        """Start a row."""
        return WholeCase(self)

    def batch(self, X: Floats, limit: int | None = None, *, billed: bool = True) -> Outcome:
        """One call of the model for all rows: what is bought does not depend on values."""
        return self.batch_without(X, limit, ())

    def batch_without(
        self, X: Floats, limit: int | None, missing: Sequence[int], *, billed: bool = True
    ) -> Outcome:
        """The same where some columns are not to be had."""
        bought, evaluated = self._affordable(limit, missing)
        acquired = np.zeros(X.shape, dtype=bool)
        acquired[:, bought] = True
        raw = self.answers(np.asarray(X, dtype=np.float64), bought, evaluated)
        return Outcome(raw, acquired, np.full(len(X), evaluated, dtype=np.int64))

    def _affordable(
        self, limit: int | None, missing: Sequence[int]
    ) -> tuple[npt.NDArray[np.intp], int]:
        """Columns bought and evaluations made under a limit."""
        case, till, bought = self.begin(), Till(self.costs, limit), list[int]()
        for feature in missing:
            case.refuse((feature,))
        while bundles := case.wants(till.left(case.evaluated)):
            for bundle in bundles:
                if till.buy(bundle, case.evaluated):
                    bought += bundle
                    for feature in bundle:
                        case.learn(feature, 0.0)
                else:
                    case.refuse(bundle)
        return np.array(sorted(bought), dtype=np.intp), case.evaluated

    def answers(self, X: Floats, known: npt.NDArray[np.intp], evaluated: int) -> Floats:
        """Raw outputs from the known columns."""
        missing = np.setdiff1d(self._reads, known)
        if not evaluated and self.fallback is None and self.fill is not None:
            # Too little even for one evaluation: the answer to the means is the same for every row.
            X, known, missing = np.zeros(X.shape), known[:0], self._reads
        elif (len(missing) and self.fill is None) or not evaluated:
            if self.fallback is None:
                raise ValueError(
                    "the answer needs all features of this model: go on until ask() returns [], or give PricedModel "
                    "a fallback= or background=."
                )
            return np.tile(self.fallback, (len(X), 1))
        rows = np.zeros((len(X), self.n_features))
        rows[:, known] = X[:, known]
        if self.fill is not None:
            rows[:, missing] = self.fill[missing]
            if self.fill_empty:
                rows = np.where(np.isnan(rows), self.fill, rows)
        return self.source(rows) if len(rows) else np.zeros((0, self.output.n_raw or 1))

    def state(self) -> State:
        """Columns, answers for want of money, and the foreign model."""
        source = self.source
        if source.method == "call":
            raise TypeError(
                "a model around a plain function cannot be written to a file: wrap the function in an estimator "
                "class of your own, or keep the function beside the model."
            )
        settings: dict[str, Any] = {
            "method": source.method,
            "names": source.names,
            "fill_empty": self.fill_empty,
        }
        if source.columns is not None:
            settings |= {"words": source.columns.to_dict(), "empty": source.empty}
        optional = {"fallback": self.fallback, "fill": self.fill, "labels": source.labels}
        given: dict[str, Any] = {
            name: array for name, array in optional.items() if array is not None
        }
        return settings, {
            "reads": self._reads.astype(np.int64),
            "model": Foreign(source.model),
        } | given

    @classmethod
    def from_state(cls, costs: Costs, output: Output, state: State) -> WholePolicy:
        """Read and check everything around the foreign model."""
        settings, arrays = state
        if not set(arrays) <= {"reads", "model", "fallback", "fill", "labels"} or not {
            "reads",
            "model",
        } <= set(arrays):
            raise ValueError(f"arrays are {sorted(arrays)}")
        reads, names = arrays["reads"], settings["names"]
        if not isinstance(reads, np.ndarray) or reads.dtype != np.int64 or reads.ndim != 1:
            raise ValueError("reads is not a list of columns")
        if len(reads) and (
            reads.min() < 0 or reads.max() >= costs.n_features or (reads[1:] <= reads[:-1]).any()
        ):
            raise ValueError("reads is not a list of columns")
        if names is not None and (not isinstance(names, list) or len(names) != costs.n_features):
            raise ValueError("names do not fit the columns")
        for name, shape in (("fallback", (output.n_raw or 1,)), ("fill", (costs.n_features,))):
            array = arrays.get(name)
            if array is not None and (
                not isinstance(array, np.ndarray)
                or array.dtype != np.float64
                or array.shape != shape
                or not np.isfinite(array).all()
            ):
                raise ValueError(f"{name} is not {shape} finite numbers")
        if not isinstance(arrays["model"], Foreign) or not isinstance(settings["fill_empty"], bool):
            raise ValueError("no foreign model")
        words = None if settings.get("words") is None else Columns.from_dict(settings["words"])
        if words is not None and len(words) != costs.n_features:
            raise ValueError("words do not fit the columns")
        if not isinstance(settings.get("empty"), (str, type(None))):
            raise ValueError("empty is not text")
        source = Source(
            arrays["model"].value, settings["method"], names, arrays.get("labels"), words, settings.get("empty"),
        )  # fmt: skip
        row = arrays.get("fill", np.zeros(costs.n_features))
        check_names(source.model, names)
        try_out(source.model, lambda: source(row[None, :]), output.n_raw)
        return cls(
            costs,
            output,
            source,
            reads,
            arrays.get("fallback"),
            arrays.get("fill"),
            settings["fill_empty"],
        )

    def _identity(self) -> Any:
        source = self.source  # of a function, too, which has no state for a file
        parts = [self._reads, self.fallback, self.fill, self.fill_empty]
        words = None if source.columns is None else [source.columns.to_dict(), source.empty]
        given = [*parts, source.method, source.names, source.labels, Foreign(source.model)]
        return given if words is None else [*given, words]


class WholeCase(Case):
    """One row: it wants everything, in one bundle or column by column."""

    def __init__(self, policy: WholePolicy) -> None:
        self._policy = policy
        self._values: dict[int, float] = {}
        self._refused: set[int] = set()
        self._started = False

    def wants(self, left: int | None) -> list[Bundle]:
        """All that is not known: one bundle, or single columns where a part is of use."""
        policy = self._policy
        if not self._started:
            self._started = True
            self.evaluated = int(left is None or left >= policy.costs.flat.evaluation)
        if not self.evaluated:
            return []
        open_ = [
            f for f in policy.reads.tolist() if f not in self._values and f not in self._refused
        ]
        if policy.fill is not None:
            return [(feature,) for feature in open_]
        return [] if self._refused or not open_ else [tuple(open_)]

    def learn(self, feature: int, value: float) -> None:
        """Keep the value."""
        self._values[feature] = value
        self._refused.discard(feature)

    def refuse(self, bundle: Bundle) -> None:
        """Without a part of it, the rest is of use only if something stands for that part."""
        self._refused.update(set(bundle).intersection(self._policy.reads.tolist()))

    def answer(self) -> Floats:
        """The model's answer to the full row, or what stands for it."""
        policy = self._policy
        row = np.zeros((1, policy.n_features))
        known = np.array([f for f in policy.reads.tolist() if f in self._values], dtype=np.intp)
        row[0, known] = [self._values[f] for f in known.tolist()]
        raw: Floats = policy.answers(row, known, self.evaluated)[0]
        return raw
