"""How estimators read tables: columns and prices of training data, rows to predict, what is refused."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import (
    _check_feature_names,
    _get_feature_names,
    _num_features,
    check_is_fitted,
    check_X_y,
    validate_data,
)

from worthwhile._sklearn import BaseEstimator
from worthwhile.columns import Columns, is_frame
from worthwhile.columns.cells import cells, to_float
from worthwhile.columns.parquet import ParquetTable
from worthwhile.columns.table import column_at, dense, dense_columns, places_of, refuse_twice
from worthwhile.costs import Costs
from worthwhile.estimators._shared.encoding import Encoding
from worthwhile.estimators._shared.weights import read_weight
from worthwhile.policy.base import Policy
from worthwhile.policy.encoded import EncodedPolicy

ON_DASK = (
    "GreedyMiserClassifier", "GreedyMiserRegressor", "BudgetedForestClassifier",
    "SubmodularTreeClassifier", "SubmodularTreeRegressor", "BudgetClassifier", "BudgetRegressor",
)  # fmt: skip
"""Estimators that have a counterpart in ``worthwhile.dask``."""

FROM_FILES = ("GreedyMiserClassifier", "GreedyMiserRegressor")
"""Estimators that train on a :class:`worthwhile.ParquetTable`."""


def refuse_collections(X: Any, name: str, *, regression: bool = False) -> None:
    """Refuse a collection of Dask or a Parquet table, with the name of what takes it."""
    if isinstance(X, ParquetTable):
        raise TypeError(
            f"X is a ParquetTable, and {name} takes tables in memory here: {' and '.join(FROM_FILES)} train on one "
            "(without calibrate); give others a sample, and predict part by part, each of table.batches()."
        )
    if type(X).__name__ == "LazyFrame":
        raise TypeError(f"X is a LazyFrame, and {name} takes tables in memory: give X.collect().")
    if getattr(getattr(X, "dtype", None), "names", None):
        raise TypeError("X is an array of records: give pandas.DataFrame(X).")
    if type(X).__module__.partition(".")[0] not in ("dask", "dask_expr"):
        return
    instead = f"train worthwhile.dask.Dask{ON_DASK[regression]}, or give X.compute()"
    if name in ON_DASK:
        instead = f"use worthwhile.dask.Dask{name}, or X.compute()"
    if name.removeprefix("Dask") in ON_DASK and name.startswith("Dask"):
        instead = (
            "of such a table it answers predict, predict_proba, cost, acquired and evaluated; decision_function and "
            "others are to_local() of each partition, see Dask's map_partitions"
        )
        name += " here"
    raise TypeError(
        f"X is a Dask {type(X).__name__}, and {name} takes tables in memory: {instead}."
    )


def refuse_to_train(estimator: Any, X: Any) -> None:
    """Refuse training data that the estimator cannot be trained on, before anything is done."""
    name = type(estimator).__name__
    calibrated = getattr(estimator, "calibrate", None) is not None
    if not (isinstance(X, ParquetTable) and name in FROM_FILES and not calibrated):
        refuse_collections(X, name, regression=is_regressor(estimator))


class TableReader(BaseEstimator):
    """The part of every estimator that looks at tables."""

    policy_: Policy
    n_features_in_: int

    _style: ClassVar[str] = "order"
    """What the method makes of categories and dates: see :func:`worthwhile.columns.expansion.learn`."""

    _encoding: Encoding | None = None

    def _check_fitted(self) -> None:
        if not hasattr(self, "policy_"):
            check_is_fitted(self, "policy_")

    # Training ------------------------------------------------------------------------------------

    def _read_training(
        self,
        X: Any,
        y: Any,
        *,
        dtype: Any = np.float64,
        multi_output: bool = False,
        like: Any = None,
        weight: Any = None,
    ) -> tuple[Any, Any, Costs]:
        """Check training data and prices; NaN is allowed, infinity is not.

        Where columns are no plain numbers, what comes back are the columns made from them, with
        prices that lead to those of their sources; ``policy_`` is dressed accordingly when it is set.
        ``like`` is a fitted model of ours inside this one: columns are then read as it reads them.
        ``weight`` (n,) is how much rows count in the mean targets of categories.
        """
        refuse_collections(X, type(self).__name__, regression=is_regressor(self))
        X = dense_columns(dense(X))
        refuse_twice(X)
        self._encoding = None
        given = None if like is None else Encoding.of(like.policy_)
        columns = None
        if is_frame(X) or getattr(X, "ndim", 0) == 2:  # or a list of numbers, or to be refused
            columns = self._learn_columns(X) if given is None else given.columns
        how = {
            "ensure_all_finite": "allow-nan",
            "multi_output": multi_output,
            "ensure_min_samples": 2,
        }
        if columns is None:
            read, y = validate_data(self, X, y, dtype=dtype, **how)
            return read, y, self._costs_for(X)
        if _num_features(X) != len(columns):
            raise ValueError(
                f"X has {_num_features(X)} columns, the model inside {len(columns)}: give the columns it knows."
            )
        codes, y = check_X_y(columns.read_training(X), y, dtype=np.float64, **how)
        made, costs = self._take_columns(X, columns, codes, y, given, weight)
        return made, y, costs

    def _take_columns(
        self,
        X: Any,
        columns: Columns,
        codes: Any,
        y: Any,
        given: Encoding | None = None,
        weight: Any = None,
    ) -> tuple[Any, Costs]:
        """Keep what the columns of X are; the rows that the method sees (from their codes), and its prices."""
        _check_feature_names(self, X, reset=True)
        self.n_features_in_ = len(columns)
        costs = self._costs_for(X)
        if given is not None:
            self._encoding = Encoding(columns, costs, given.expansion)
            return self._encoding.made(codes), self._encoding.made_costs
        self._encoding, made = Encoding.learn(
            columns, costs, codes, y, self._style, classes=is_classifier(self),
            weight=read_weight(weight, codes),
        )  # fmt: skip
        return made, self._encoding.made_costs

    def _look_at(self, X: Any, y: Any, **how: Any) -> tuple[Any, Costs]:
        """Training rows and prices as ``fit`` would see them; nothing is kept."""
        read, _, costs = copy.copy(self)._read_training(X, y, **how)
        return read, costs

    def _learn_columns(self, X: Any) -> Columns | None:
        """What the columns of training data are; None where all are plain numbers."""
        return Columns.learn(X, getattr(self, "categorical", None), getattr(self, "dates", None))

    def _costs_for(self, X: Any) -> Costs:
        """The prices in the column order of X, before or after ``fit``."""
        refuse_collections(X, type(self).__name__, regression=is_regressor(self))
        return Costs.of(self._given_costs(), _num_features(X), column_names(X))

    def _given_costs(self) -> Any:
        """What was given as prices; a subclass may take those of a model inside."""
        return getattr(self, "costs", None)

    # Predicting ----------------------------------------------------------------------------------

    def _read(self, X: Any, absent: Sequence[int] = ()) -> npt.NDArray[Any]:
        """Check the shape and names of X; only columns that may be read are looked at.

        A frame may lack those that are ``absent``.
        """
        self._check_fitted()
        if self._is_plain(X):
            return X
        refuse_collections(X, type(self).__name__, regression=is_regressor(self))
        policy, X = self.policy_, dense(X)
        if is_frame(X):
            columns = policy.columns or Columns.numbers(policy.n_features)
            return columns.read(X, policy.reads.tolist(), self._places(X, absent))
        if policy.columns is not None or (isinstance(X, np.ndarray) and X.dtype == object):
            X = np.asarray(X, dtype=object) if not isinstance(X, np.ndarray) else X
            if X.ndim == 2 and X.shape[1] == policy.n_features and len(X):
                columns = policy.columns or Columns.numbers(policy.n_features)
                X = columns.read(X, policy.reads.tolist())
        return np.asarray(
            validate_data(
                self, X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite=False
            )
        )

    def _places(self, X: Any, absent: Sequence[int] = ()) -> list[int | None] | None:
        """Where a frame has the columns of the model; by name where the model has names."""
        names = self.policy_.costs.feature_names
        if names is not None:
            return places_of(X, names, self.policy_.reads.tolist(), absent)
        _check_feature_names(self, X, reset=False)
        if _num_features(X) != self.n_features_in_:
            raise ValueError(
                f"X has {_num_features(X)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        return None

    def _is_plain(self, X: Any) -> bool:
        """Whether there is nothing to check or convert: single rows should not pay for it."""
        if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in (np.float64, np.float32):
            return False
        policy = self.policy_
        return (
            X.shape[0] > 0
            and X.shape[1] == policy.costs.n_features
            and policy.costs.feature_names is None
            and policy.columns is None
        )

    @property
    def columns_(self) -> Columns | None:
        """What the columns of the training data are; None where all are plain numbers."""
        self._check_fitted()
        return self.policy_.columns

    @property
    def _inner_policy(self) -> Any:
        """What the method itself made: without the encoding of columns around it."""
        policy = self.policy_
        return policy.inner if isinstance(policy, EncodedPolicy) else policy

    def _by_source(self, values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Sums over the columns that are made of each column of the user's table."""
        expansion = None if self._encoding is None else self._encoding.expansion
        if expansion is None:
            return values
        return np.bincount(expansion.sources, values, self.n_features_in_).astype(np.float64)

    def _read_inner(self, X: Any) -> npt.NDArray[Any]:
        """Rows as :attr:`_inner_policy` takes them."""
        policy, rows = self.policy_, self._read(X)
        return policy.made(rows) if isinstance(policy, EncodedPolicy) else rows

    def _refuse_value(self, X: Any, row: int, column: int, absent: Sequence[int]) -> NoReturn:
        """Say what is wrong with a value that was bought and stands as infinity."""
        where = f"in row {row}, feature {self.policy_.costs.name(column)!r}, which the model reads"
        places = self._places(X, absent) if is_frame(X) else None
        X = X if is_frame(X) else np.asarray(X)
        value = cells(column_at(X, column if places is None else places[column] or 0))[row]
        columns = self.policy_.columns
        if columns is not None and columns[column].kind != "number":
            raise ValueError(
                f"X has {value!r} {where}: not a {columns[column].kind}; give it as in training, or None for a "
                "value that came back empty."
            )
        if to_float(value) is None:
            raise ValueError(
                f"X has {value!r} {where}: not a number; encode it as it was for training, or use NaN for a value "
                "that came back empty."
            )
        raise ValueError(
            f"X has an infinite value {where}: use NaN for a value that came back empty, or a finite number."
        )


def column_names(X: Any) -> list[str] | None:
    """Names of the columns as scikit-learn sees them: None unless X is a frame and all are text."""
    refuse_twice(X)
    names = _get_feature_names(X)
    return None if names is None else list(names)
