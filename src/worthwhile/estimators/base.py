"""What every estimator shares: predictions, bills, sessions, files."""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.multiclass import check_classification_targets

from worthwhile._sklearn import ClassifierMixin, RegressorMixin, available_if
from worthwhile.core.interrupts import raise_interrupt
from worthwhile.core.quiet import quiet
from worthwhile.core.threads import count_threads
from worthwhile.costs import Costs, as_floats, budget_limits, budget_quanta
from worthwhile.estimators._shared.calibrated_fit import check_calibrate, fit_calibrated
from worthwhile.estimators._shared.deciding import Deciding
from worthwhile.estimators._shared.deprecation import present_names
from worthwhile.estimators._shared.encoding import Encoding
from worthwhile.estimators._shared.importances import NoGains, importances
from worthwhile.estimators._shared.promises import Promising
from worthwhile.estimators._shared.weights import check_class_weight
from worthwhile.estimators.reading import TableReader, refuse_to_train
from worthwhile.estimators.targets import plain_target
from worthwhile.policy.base import Outcome, Policy
from worthwhile.policy.calibration import Calibration
from worthwhile.policy.keys import read_keys
from worthwhile.runtime import Answers, Extractors, Session, run_sessions

if TYPE_CHECKING:
    import pandas as pd

Floats = npt.NDArray[np.float64]


class CostAware(Promising, Deciding, TableReader):
    """Base of all estimators: whoever sets ``policy_`` in ``fit`` gets everything else.

    A subclass declares its parameters as fields (``_shared/parameters.py``), and in ``fit`` reads the data with
    :meth:`_read_training`, learns, and sets ``self.policy_``.
    """

    trade_off_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters that trade accuracy for money."""

    calibration_: dict[str, Any]
    """How well probabilities hold on rows that did not train, where a map was fitted for them."""

    calibrates_itself: ClassVar[bool] = False
    """Whether a fit finds the map itself, where errors have prices."""

    _calibration: Calibration | None = None

    _renamed: ClassVar[dict[str, str]] = {}
    """Old names of parameters, still accepted with a warning, and what they are called now; a class that has
    any is decorated by ``with_old_names``."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        if "fit" in cls.__dict__:
            cls.fit = _all_or_nothing(cls.__dict__["fit"])  # type: ignore[attr-defined]
        super().__init_subclass__(**kwargs)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "policy_" and self._encoding is not None:
            value = self._encoding.dress(value)  # families know numbers, users their own columns
        if name == "policy_" and self._calibration is not None:
            value = value.calibrated(self._calibration)  # and neither what their answers became
        if name == "policy_" and self._decides is not None:
            value = value.deciding(self._decides)
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
        check_class_weight(getattr(self, "class_weight", None))

    # Predicting ----------------------------------------------------------------------------------

    @quiet
    def _run(
        self, X: Any, budget: Any = None, *, billed: bool = True, prices: Any = None, unavailable: Any = (),
        key: Any = None, **how: Any,
    ) -> Outcome:  # fmt: skip
        """Everything about a batch in one pass; ``how`` goes to the policy."""
        policy, given = self._policy_at(prices), X
        missing = policy.costs.columns_of(unavailable, "unavailable")
        absent = policy.costs.dependents(missing) if missing else []
        X = self._read(X, absent) if absent else self._read(X)
        keys = None if key is None else read_keys(key, len(X))
        limit = self.policy_.allowed(None if budget is None else budget_limits(budget, len(X)))
        if limit is not None or (missing and not set(missing).isdisjoint(policy.reads.tolist())):
            policy.check_budget()
        # Without infinities, which are refused only where they are read, no bill is needed for that.
        infinite = np.isinf(X) if not np.isfinite(np.add.reduce(X, axis=None)) else None
        billed = billed or infinite is not None
        try:
            outcome = policy.serve(X, limit, unavailable=missing, billed=billed, keys=keys, **how)
        except SystemError as error:
            raise_interrupt(error)
            raise
        if infinite is not None and (read := infinite & outcome.acquired).any():
            row, column = (int(i) for i in np.argwhere(read)[0])
            self._refuse_value(given, row, column, absent)
        return outcome

    def _policy_at(self, prices: Any) -> Policy:
        """The policy at the prices of today."""
        self._check_fitted()
        return self.policy_ if prices is None else self.policy_.priced(self.costs_.today(prices))

    def predict(
        self,
        X: Any,
        budget: Any = None,
        *,
        prices: Any = None,
        unavailable: Any = (),
        key: Any = None,
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
        key : one per row, optional
            What tells the cases from each other, in the order of the rows: text, whole numbers, UUIDs or
            bytes. It decides where a model that mixes two policies tosses a coin, and nothing else.

        Returns
        -------
        array (n,)
        """
        raw = self._run(
            X, budget, billed=False, prices=prices, unavailable=unavailable, key=key
        ).raw
        return self.policy_.output.predict(raw)

    if not TYPE_CHECKING:  # classes that have them say of which type
        feature_importances_ = NoGains()

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
            ``change``, for ensembles of trees and what is made of them, how far it moves the score on average.
        """
        return importances(self.costs_, self.acquired(X), self.policy_, self._read(X))

    def acquired(
        self,
        X: Any,
        budget: Any = None,
        *,
        prices: Any = None,
        unavailable: Any = (),
        key: Any = None,
    ) -> npt.NDArray[np.bool_]:
        """What is bought for each row, bool (n, d); parameters as for :meth:`predict`."""
        return self._run(X, budget, prices=prices, unavailable=unavailable, key=key).acquired

    def cost(
        self,
        X: Any,
        budget: Any = None,
        *,
        prices: Any = None,
        unavailable: Any = (),
        key: Any = None,
    ) -> Floats:
        """The bill of each row, float64 (n,): features and fees once, and the evaluations.

        Parameters as for :meth:`predict`.
        """
        outcome = self._run(X, budget, prices=prices, unavailable=unavailable, key=key)
        return as_floats(self._policy_at(prices).bills(outcome))

    def evaluated(
        self,
        X: Any,
        budget: Any = None,
        *,
        prices: Any = None,
        unavailable: Any = (),
        key: Any = None,
    ) -> npt.NDArray[np.int64]:
        """Trees or stages evaluated for each row, int (n,); parameters as for :meth:`predict`."""
        return self._run(
            X, budget, billed=False, prices=prices, unavailable=unavailable, key=key
        ).evaluated

    def within(self, budget: Any) -> Self:
        """A copy that never spends more than ``budget`` on a case, in batches, sessions and files.

        It is the model under ``predict(X, budget=budget)``, for good; a smaller budget given later
        counts, a larger one does not. None takes the limit away.

        Examples
        --------
        >>> import worthwhile
        >>> heart = worthwhile.datasets.load_heart()
        >>> model = worthwhile.GreedyMiserClassifier(costs=heart.costs, n_rounds=5)
        >>> cheap = model.fit(heart.data, heart.target).within(20)
        >>> bool(cheap.cost(heart.data).max() <= 20)
        True
        """
        self._check_fitted()
        limit = budget_quanta(budget)
        policy = self.policy_.limited(limit)
        if limit is not None:
            policy.check_budget()
        twin = copy.copy(self)
        vars(twin)["policy_"] = policy  # as it is: a policy of columns is dressed already
        return twin

    @property
    def costs_(self) -> Costs:
        """The prices in column order."""
        self._check_fitted()
        return self.policy_.costs

    # On demand -----------------------------------------------------------------------------------

    def session(
        self, budget: Any = None, one_by_one: bool = False, *, prices: Any = None, unavailable: Any = (),
        key: Any = None,
    ) -> Session:  # fmt: skip
        """Start predicting one case on demand; see :class:`~worthwhile.Session`."""
        self._check_fitted()
        return Session(
            self.policy_, budget=budget, one_by_one=one_by_one, prices=prices, unavailable=unavailable,
            key=key,
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
        key: Any = None,
    ) -> Answers:
        """Predict for many ids, fetching each feature in bulk for the rows that want it now.

        See :class:`~worthwhile.Extractors` for failures, retries and time-outs. When the run is
        stopped, by an extractor that fails or by Ctrl-C, the exception has ``sessions`` with
        everything already bought: ``resume=error.sessions`` goes on with them. ``budget``, ``prices``,
        ``unavailable`` and ``key`` as for :meth:`predict`, with one budget or one per id, and a key per id.
        """
        self._check_fitted()
        return run_sessions(
            self.policy_, extractors, ids, budget, on_failure=on_failure, sessions=resume, prices=prices,
            unavailable=unavailable, key=key,
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
        named = policy.output.classes is not None
        if isinstance(self, RegressorMixin if named else ClassifierMixin):
            answers = "classes" if named else "numbers"
            raise ValueError(f"the policy of {type(self).__name__} answers with {answers}")
        self._encoding = Encoding.of(policy)
        self._calibration, self._decides = policy.output.calibration, policy.output.errors
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
        refuse_to_train(self, args[0] if args else kwargs.get("X"))
        before = dict(vars(self))
        try:
            if len(args) > 1:
                args = (args[0], plain_target(args[1]), *args[2:])
            elif "y" in kwargs:
                kwargs["y"] = plain_target(kwargs["y"])
            return fit_calibrated(self, fit, args, kwargs)
        except BaseException as error:
            vars(self).clear()
            vars(self).update(before)
            raise_interrupt(error)
            raise

    return fit_or_restore


def _has_probabilities(estimator: CostAware) -> bool:
    # Before fit scikit-learn asks what the estimator will have; after it, the model knows.
    policy = getattr(estimator, "policy_", None)
    if policy is None:
        calibrated = getattr(estimator, "calibrate", None) or estimator._read_errors() is not None
        return bool(getattr(estimator, "_probabilities", True) or calibrated)
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
                f"y has a single class, {self.classes_.tolist()[0]!r}: a classifier needs at least two classes."
            )
        return np.asarray(codes, dtype=np.intp)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows that are answered right; a case that is referred is not."""
        errors = self.policy_.output.errors if hasattr(self, "policy_") else None
        if errors is None or errors.refer is None:
            return float(super().score(X, y, sample_weight))
        right = np.array(
            [a == b for a, b in zip(self.predict(X).tolist(), np.asarray(y).tolist(), strict=True)]
        )
        return float(np.average(right, weights=sample_weight))

    @available_if(_has_probabilities)
    def predict_proba(
        self,
        X: Any,
        budget: Any = None,
        *,
        prices: Any = None,
        unavailable: Any = (),
        key: Any = None,
    ) -> Floats:
        """Probability of each class, (n, n_classes), in the order of ``classes_``."""
        raw = self._run(
            X, budget, billed=False, prices=prices, unavailable=unavailable, key=key
        ).raw
        return self.policy_.output.probabilities(raw)

    @available_if(_has_probabilities)
    def predict_log_proba(
        self,
        X: Any,
        budget: Any = None,
        *,
        prices: Any = None,
        unavailable: Any = (),
        key: Any = None,
    ) -> Floats:
        """Logarithm of :meth:`predict_proba`."""
        probabilities = self.predict_proba(
            X, budget, prices=prices, unavailable=unavailable, key=key
        )
        with np.errstate(all="ignore"):  # a probability may be 0
            return np.log(probabilities)

    def decision_function(
        self,
        X: Any,
        budget: Any = None,
        *,
        prices: Any = None,
        unavailable: Any = (),
        key: Any = None,
    ) -> Floats:
        """Raw scores: (n,) for two classes, else (n, n_classes)."""
        raw = self._run(
            X, budget, billed=False, prices=prices, unavailable=unavailable, key=key
        ).raw
        return self.policy_.output.decision(raw)


class CostAwareRegressor(RegressorMixin, CostAware):
    """Base of the regressors."""
