"""What every estimator shares: bills, sessions, files, and the reading of data."""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _get_feature_names,
    _num_features,
    check_is_fitted,
    check_X_y,
    validate_data,
)

from worthwhile._sklearn import BaseEstimator, ClassifierMixin, RegressorMixin, available_if
from worthwhile.columns import Columns, is_frame
from worthwhile.columns.cells import cells, to_float
from worthwhile.columns.table import column_at, dense, places_of
from worthwhile.core.quiet import quiet
from worthwhile.core.threads import count_threads
from worthwhile.costs import Costs, as_floats, budget_limits
from worthwhile.estimators._shared.calibrated_fit import check_calibrate, fit_calibrated
from worthwhile.estimators._shared.deprecation import present_names, with_old_names
from worthwhile.estimators._shared.encoding import Encoding
from worthwhile.estimators._shared.importances import importances
from worthwhile.policy.base import Outcome, Policy
from worthwhile.policy.calibration import Calibration
from worthwhile.policy.encoded import EncodedPolicy
from worthwhile.runtime import Answers, Extractors, Session, run_sessions

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]


class CostAware(BaseEstimator):
    """Base of all estimators: whoever sets ``policy_`` in ``fit`` gets everything else.

    A subclass stores its parameters in ``__init__``, and in ``fit`` reads the data with
    :meth:`_read_training`, learns, and sets ``self.policy_``.
    """

    policy_: Policy
    n_features_in_: int

    trade_off_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters that trade accuracy for money."""

    _style: ClassVar[str] = "order"
    """What the method makes of categories and dates: see :func:`worthwhile.columns.expansion.learn`."""

    _encoding: Encoding | None = None
    _calibration: Calibration | None = None

    _renamed: ClassVar[dict[str, str]] = {}
    """Old names of parameters, still accepted with a warning, and what they are called now."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if "fit" in cls.__dict__:
            cls.fit = _all_or_nothing(cls.__dict__["fit"])  # type: ignore[attr-defined]
        if cls._renamed and "__init__" in cls.__dict__:
            cls.__init__ = with_old_names(cls.__dict__["__init__"])  # type: ignore[method-assign]
        super().__init_subclass__(**kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "policy_" and self._encoding is not None:
            value = self._encoding.dress(value)  # families know numbers, users their own columns
        if name == "policy_" and self._calibration is not None:
            value = value.calibrated(self._calibration)  # and neither what their answers became
        super().__setattr__(name, value)

    def _present_params(self, given: dict[str, Any]) -> dict[str, Any]:
        """Parameters under the names of today."""
        return present_names(type(self).__name__, given, self._renamed)

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator, or (``name__parameter``) of one inside it."""
        super().set_params(**self._present_params(params))
        return self

    def _validate_params(self) -> None:
        super()._validate_params()
        count_threads(getattr(self, "n_jobs", None))
        check_calibrate(getattr(self, "calibrate", None))

    def _check_fitted(self) -> None:
        if not hasattr(self, "policy_"):
            check_is_fitted(self, "policy_")

    # Reading data --------------------------------------------------------------------------------

    def _read_training(
        self,
        X: Any,
        y: Any,
        *,
        dtype: Any = np.float64,
        multi_output: bool = False,
        like: Any = None,
    ) -> tuple[Any, Any, Costs]:
        """Check training data and prices; NaN is allowed, infinity is not.

        Where columns are no plain numbers, what comes back are the columns made from them, with
        prices that lead to those of their sources; ``policy_`` is dressed accordingly when it is set.
        ``like`` is a fitted model of ours inside this one: columns are then read as it reads them.
        """
        X = dense(X)
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
        _check_feature_names(self, X, reset=True)
        self.n_features_in_ = len(columns)
        costs = self._costs_for(X)
        if given is not None:
            self._encoding = Encoding(columns, costs, given.expansion)
            return self._encoding.made(codes), y, self._encoding.made_costs
        self._encoding, made = Encoding.learn(
            columns, costs, codes, y, self._style, classes=is_classifier(self)
        )
        return made, y, self._encoding.made_costs

    def _look_at(self, X: Any, y: Any, **how: Any) -> tuple[Any, Costs]:
        """Training rows and prices as ``fit`` would see them; nothing is kept."""
        read, _, costs = copy.copy(self)._read_training(X, y, **how)
        return read, costs

    def _learn_columns(self, X: Any) -> Columns | None:
        """What the columns of training data are; None where all are plain numbers."""
        return Columns.learn(X, getattr(self, "categorical", None), getattr(self, "dates", None))

    def _costs_for(self, X: Any) -> Costs:
        """The prices in the column order of X, before or after ``fit``."""
        return Costs.of(self._given_costs(), _num_features(X), column_names(X))

    def _given_costs(self) -> Any:
        """What was given as prices; a subclass may take those of a model inside."""
        return getattr(self, "costs", None)

    def _read(self, X: Any, absent: Sequence[int] = ()) -> npt.NDArray[Any]:
        """Check the shape and names of X; only columns that may be read are looked at.

        A frame may lack those that are ``absent``.
        """
        self._check_fitted()
        if self._is_plain(X):
            return X
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

    def _read_inner(self, X: Any) -> npt.NDArray[Any]:
        """Rows as :attr:`_inner_policy` takes them."""
        policy, rows = self.policy_, self._read(X)
        return policy.expanded(rows) if isinstance(policy, EncodedPolicy) else rows

    # Predicting ----------------------------------------------------------------------------------

    @quiet
    def _run(
        self, X: Any, budget: Any = None, *, billed: bool = True, prices: Any = None, unavailable: Any = (),
        **how: Any,
    ) -> Outcome:  # fmt: skip
        """Everything about a batch in one pass; ``how`` goes to the policy."""
        policy, given = self._policy_at(prices), X
        missing = policy.costs.columns_of(unavailable, "unavailable")
        absent = [*policy.costs.dependents(missing)]
        X = self._read(X, absent) if absent else self._read(X)
        limit = budget_limits(budget, len(X))
        if limit is not None or (missing and not set(missing).isdisjoint(policy.reads.tolist())):
            policy.check_budget()
        # Without infinities, which are refused only where they are read, no bill is needed for that.
        infinite = np.isinf(X) if not np.isfinite(np.add.reduce(X, axis=None)) else None
        outcome = policy.serve(
            X, limit, unavailable=missing, billed=billed or infinite is not None, **how
        )
        if infinite is not None and (read := infinite & outcome.acquired).any():
            row, column = (int(i) for i in np.argwhere(read)[0])
            self._refuse_value(given, row, column, absent)
        return outcome

    def _policy_at(self, prices: Any) -> Policy:
        """The policy at the prices of today."""
        self._check_fitted()
        return self.policy_ if prices is None else self.policy_.priced(self.costs_.today(prices))

    def _refuse_value(self, X: Any, row: int, column: int, absent: Sequence[int]) -> NoReturn:
        """Say what is wrong with a value that was bought and stands as infinity."""
        where = f"in row {row}, feature {self.costs_.name(column)!r}, which the model reads"
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

    def predict(
        self, X: Any, budget: Any = None, *, prices: Any = None, unavailable: Any = ()
    ) -> npt.NDArray[Any]:
        """Predict, buying for each row what it needs.

        Parameters
        ----------
        X : array or frame (n, d)
            Only values that are bought are looked at.
        budget : number, or array (n,), optional
            Never spend more than this on a row, or on each row.
        prices : mapping or Costs, optional
            Prices of today, as for :meth:`worthwhile.Costs.today`. Budgets and bills go by them; what
            is bought does only where the model's ``policy_.chooses_by_price`` says so.
        unavailable : list of features
            Columns that are not to be had for these rows, nor is what requires them.

        Returns
        -------
        array (n,)
        """
        raw = self._run(X, budget, billed=False, prices=prices, unavailable=unavailable).raw
        return self.policy_.output.predict(raw)

    def importances(self, X: Any) -> pd.DataFrame:
        """What each feature is worth on some rows, in money and, for trees, in what it changes.

        Parameters
        ----------
        X : array or frame (n, d)
            Rows, best ones that did not train.

        Returns
        -------
        DataFrame
            One line per feature: ``share`` of the rows that buy it; ``money``, the mean amount paid
            for it, with its part of fees (they add up to the mean bill without evaluations);
            ``change``, for ensembles of trees on plain columns, how far it moves the score on average.
        """
        return importances(self.costs_, self.acquired(X), self.policy_, self._read(X))

    def acquired(
        self, X: Any, budget: Any = None, *, prices: Any = None, unavailable: Any = ()
    ) -> npt.NDArray[np.bool_]:
        """What is bought for each row, bool (n, d); parameters as for :meth:`predict`."""
        return self._run(X, budget, prices=prices, unavailable=unavailable).acquired

    def cost(
        self, X: Any, budget: Any = None, *, prices: Any = None, unavailable: Any = ()
    ) -> Floats:
        """The bill of each row, float64 (n,): features and fees once, and the evaluations.

        Parameters as for :meth:`predict`.
        """
        outcome = self._run(X, budget, prices=prices, unavailable=unavailable)
        return as_floats(self._policy_at(prices).bills(outcome))

    def evaluated(
        self, X: Any, budget: Any = None, *, prices: Any = None, unavailable: Any = ()
    ) -> npt.NDArray[np.int64]:
        """Trees or stages evaluated for each row, int (n,); parameters as for :meth:`predict`."""
        return self._run(X, budget, billed=False, prices=prices, unavailable=unavailable).evaluated

    @property
    def costs_(self) -> Costs:
        """The prices in column order."""
        self._check_fitted()
        return self.policy_.costs

    # On demand -----------------------------------------------------------------------------------

    def session(
        self, budget: Any = None, one_by_one: bool = False, *, prices: Any = None, unavailable: Any = ()
    ) -> Session:  # fmt: skip
        """Start predicting one case on demand; see :class:`~worthwhile.Session`."""
        self._check_fitted()
        return Session(
            self.policy_, budget=budget, one_by_one=one_by_one, prices=prices, unavailable=unavailable
        )  # fmt: skip

    def predict_with(
        self,
        extractors: Extractors | Mapping[str, Any],
        ids: Sequence[Any],
        budget: Any = None,
        *,
        on_failure: str = "raise",
        resume: Sequence[Session] | Mapping[Any, Session] | None = None,
        prices: Any = None,
        unavailable: Any = (),
    ) -> Answers:
        """Predict for many ids, fetching each feature in bulk for the rows that want it now.

        See :class:`~worthwhile.Extractors` for failures, retries and time-outs. When the run is
        stopped, by an extractor that fails or by Ctrl-C, the exception has ``sessions`` with
        everything already bought: ``resume=error.sessions`` goes on with them. ``budget``, ``prices``
        and ``unavailable`` as for :meth:`predict`, with one budget or one per id.
        """
        self._check_fitted()
        return run_sessions(
            self.policy_, extractors, ids, budget, on_failure=on_failure, sessions=resume, prices=prices,
            unavailable=unavailable,
        )  # fmt: skip

    # Files and tags ------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model as a file without code in it; read it with ``worthwhile.load``."""
        from worthwhile.persist import save

        save(self, path)

    def _stored_params(self) -> dict[str, Any]:
        """Constructor parameters for a model file."""
        return self.get_params(deep=False)

    def _restore(self, policy: Policy) -> None:
        """Take the policy of a model file, and what follows from it. Subclasses check the rest."""
        self._encoding = Encoding.of(policy)
        self._calibration = policy.output.calibration
        self.policy_ = policy
        self.n_features_in_ = policy.n_features
        if policy.costs.feature_names is not None:
            self.feature_names_in_ = np.array(policy.costs.feature_names, dtype=object)
        if policy.output.classes is not None:
            self.classes_ = policy.output.classes

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True  # read as a dense table
        return tags


def _all_or_nothing(fit: Callable[..., Any]) -> Callable[..., Any]:
    """A fit that leaves the estimator as it was when it is refused or interrupted."""

    @functools.wraps(fit)
    def fit_or_restore(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit_calibrated(self, fit, args, kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return fit_or_restore


def _has_probabilities(estimator: CostAware) -> bool:
    # Before fit scikit-learn asks what the estimator will have; after it, the model knows.
    policy = getattr(estimator, "policy_", None)
    if policy is None:
        calibrated = getattr(estimator, "calibrate", None) is not None
        return bool(getattr(estimator, "_probabilities", True)) or calibrated
    return bool(policy.output.has_probabilities)


class CostAwareClassifier(ClassifierMixin, CostAware):
    """Base of the classifiers."""

    classes_: npt.NDArray[Any]

    def _read_labels(self, y: Any) -> npt.NDArray[np.intp]:
        """Code labels as 0, 1, ... and keep them in ``classes_``."""
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y has a single class, {self.classes_[0]!r}: a classifier needs at least two classes."
            )
        return np.asarray(codes, dtype=np.intp)

    @available_if(_has_probabilities)
    def predict_proba(
        self, X: Any, budget: Any = None, *, prices: Any = None, unavailable: Any = ()
    ) -> Floats:
        """Probability of each class, (n, n_classes), in the order of ``classes_``."""
        raw = self._run(X, budget, billed=False, prices=prices, unavailable=unavailable).raw
        return self.policy_.output.probabilities(raw)

    @available_if(_has_probabilities)
    def predict_log_proba(
        self, X: Any, budget: Any = None, *, prices: Any = None, unavailable: Any = ()
    ) -> Floats:
        """Logarithm of :meth:`predict_proba`."""
        probabilities = self.predict_proba(X, budget, prices=prices, unavailable=unavailable)
        with np.errstate(all="ignore"):  # a probability may be 0
            return np.log(probabilities)

    def decision_function(
        self, X: Any, budget: Any = None, *, prices: Any = None, unavailable: Any = ()
    ) -> Floats:
        """Raw scores: (n,) for two classes, else (n, n_classes)."""
        raw = self._run(X, budget, billed=False, prices=prices, unavailable=unavailable).raw
        return self.policy_.output.decision(raw)


class CostAwareRegressor(RegressorMixin, CostAware):
    """Base of the regressors."""


def column_names(X: Any) -> list[str] | None:
    """Names of the columns as scikit-learn sees them: None unless X is a frame and all are text."""
    names = _get_feature_names(X)
    return None if names is None else list(names)
