"""Early Exit: stop evaluating a staged model where its answer is clear already."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from numbers import Integral, Real
from typing import Any, ClassVar, overload

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils._param_validation import Interval, StrOptions

from worthwhile.core.queries import Queries
from worthwhile.costs import as_floats
from worthwhile.estimators._shared.covering import covering, few_covering, present, sample
from worthwhile.estimators._shared.held_out_choice import choose_point
from worthwhile.estimators._shared.queries import RankingScore
from worthwhile.estimators.base import CostAwareClassifier, CostAwareRegressor
from worthwhile.estimators.exits._staged_model import EarlyExit, is_fitted
from worthwhile.policy.exits.policy import QUERY_RULES
from worthwhile.runtime import Session
from worthwhile.runtime.query import QuerySession

Floats = npt.NDArray[np.float64]

GRID = (0.0, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0)
"""Proximity thresholds to try, in standard deviations of the scores."""

AUTO_DOUBTS = (0.8, 0.6, 0.4, 0.2, 0.1, 0.04, 0.0)
"""Doubts with which rows may leave that "auto" chooses from: 1 is what knowing nothing leaves."""


class EarlyExitRegressor(RankingScore, EarlyExit, CostAwareRegressor):
    """A staged ranking model whose unpromising documents leave early.

    After every ``every`` rounds the documents of a query are compared by their partial scores, and
    those that have fallen behind are evaluated no further: what the later trees would have read is
    not bought for them.

    Parameters
    ----------
    model : regressor, optional
        A staged model of this library: a fitted one is used as it is and stays fitted when this is
        cloned; one that is not fitted is trained by ``fit``. None is
        ``GreedyMiserRegressor()``, stage-wise regression.
    threshold : float or array, default=1.0
        What ``rule`` compares with; an array has one number for each exit before the end.
    rule : {"proximity", "score", "rank", "capacity"}, default="proximity"
        "proximity": a document leaves when its score is at least a gap below that of the
        ``keep``-th best document still there; the gap shrinks from ``threshold`` at the first exit
        to 0 at the end. "score": it leaves when its score is below ``threshold``. "rank": only the
        best ``threshold`` documents stay. "capacity": a document stays if it is among the best
        ``threshold`` of the documents up to it, in their order in the query.
    every : int, default=10
        Rounds from one exit to the next.
    keep : int, default=5
        Documents that the proximity rule never removes.
    costs : Costs, mapping or array, optional
        Prices; None means those of the model.

    Attributes
    ----------
    policy_ : ExitPolicy
        The trees with their exits.
    feature_importances_ : float64 array (d,)
        Those of the model, where it has them, as shares of all.

    Notes
    -----
    ``predict``, ``acquired``, ``cost`` and ``evaluated`` take ``qid``, and so does ``score``, which
    is then NDCG@5. Without ``qid`` each row is alone, and nobody leaves. With it a budget is for
    the whole query. Predictions are scores whose order is the ranking: documents that left are
    below all survivors, later exits above earlier ones; survivors keep their scores.

    Paper: the proximity rule is the one of Cambazoglu et al. (WSDM 2010) that section 6 of "The
    Greedy Miser" (ICML 2012) compares with; the other three are from the same source. Around a
    Greedy Miser with ``lam > 0`` it is the combination which that paper names as future work.

    Differs from the paper: the fifth best is taken among the documents still there, the five best
    never leave, and there is no exit after the last tree, where it could save nothing. Bills are
    by row (``cost(X, qid=qid, accounting="model")`` gives the paper's).

    Examples
    --------
    >>> from worthwhile import EarlyExitRegressor, GreedyMiserRegressor, datasets
    >>> X, y, qid, costs = datasets.make_yahoo_like(2000, seed=0)
    >>> ranker = GreedyMiserRegressor(costs=costs, n_rounds=30).fit(X, y)
    >>> leaving = EarlyExitRegressor(ranker, threshold=0.3, every=5).fit(X, y)
    >>> bool(leaving.cost(X, qid=qid).mean() < ranker.cost(X).mean())
    True
    >>> session = leaving.session(documents=2)
    >>> while wanted := session.ask():
    ...     session.tell({i: {name: X[i, name] for name in names} for i, names in wanted.items()})
    >>> bool((session.scores == leaving.predict(X[:2], qid=[0, 0])).all())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **EarlyExit._parameter_constraints,
        "rule": [StrOptions(set(QUERY_RULES))],
        "keep": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        model: Any = None,
        threshold: Any = 1.0,
        rule: str = "proximity",
        every: int = 10,
        keep: int = 5,
        costs: Any = None,
    ) -> None:
        super().__init__(model, threshold, rule, every, costs)
        self.keep = keep

    def _default_model(self) -> Any:
        from worthwhile.estimators.boosting import GreedyMiserRegressor

        return GreedyMiserRegressor()

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None
    ) -> EarlyExitRegressor:
        """Place the exits; train the model first where it is not fitted.

        Parameters
        ----------
        X : array or frame (n, d)
        y : array (n,)
            Grades.
        sample_weight, qid : array (n,), optional
            For the training of the model, where its ``fit`` takes them.
        """
        return self._fit(X, y, sample_weight=sample_weight, qid=qid)

    def _how(self, X: Any, qid: Any, budget: Any = None) -> dict[str, Any]:
        if qid is None:
            return {}
        if budget is not None and np.ndim(budget):
            raise ValueError(
                "budget is an array: with qid the documents of a query share a budget; give one number."
            )
        self._check_fitted()
        return {"queries": Queries.of(qid, len(X))}

    def predict(
        self, X: Any, budget: Any = None, qid: Any = None, **request: Any
    ) -> npt.NDArray[Any]:
        """Scores whose order within a query is the ranking.

        Parameters
        ----------
        X : array or frame (n, d)
            Only values that are bought are looked at.
        budget : number, optional
            Never spend more than this on a row; with ``qid``, on a query.
        qid : array (n,), optional
            Query of each row; None: each row alone, and nobody leaves.
        **request
            ``prices`` of today and what is ``unavailable``, as for any model.

        Returns
        -------
        float64 array (n,)
        """
        outcome = self._run(X, budget, billed=False, **self._how(X, qid, budget), **request)
        return self.policy_.output.predict(outcome.raw)

    def acquired(
        self, X: Any, budget: Any = None, qid: Any = None, **request: Any
    ) -> npt.NDArray[np.bool_]:
        """What is bought for each row, bool (n, d); parameters as for :meth:`predict`."""
        return self._run(X, budget, **self._how(X, qid, budget), **request).acquired

    def evaluated(
        self, X: Any, budget: Any = None, qid: Any = None, **request: Any
    ) -> npt.NDArray[np.int64]:
        """Trees evaluated for each row, int (n,); parameters as for :meth:`predict`."""
        return self._run(X, budget, billed=False, **self._how(X, qid, budget), **request).evaluated

    def cost(
        self, X: Any, budget: Any = None, qid: Any = None, *, accounting: str = "row", **request: Any
    ) -> Floats:  # fmt: skip
        """The bill of each row, float64 (n,).

        Parameters
        ----------
        X, budget, qid, **request
            As for :meth:`predict`.
        accounting : {"row", "model"}
            "row": what lies on the row's own paths. "model": every feature of every tree that was
            evaluated for the row, as the paper counts; without a budget only.
        """
        if self._check_accounting(accounting, budget):
            return self._cost_by_model(self.evaluated(X, qid=qid))
        outcome = self._run(X, budget, **self._how(X, qid, budget), **request)
        return as_floats(self._policy_at(request.get("prices")).bills(outcome))

    def _ranking_scores(self, X: Any, qid: Any) -> Any:
        return self.predict(X, qid=qid)

    @overload
    def session(
        self, budget: Any = None, one_by_one: bool = False, documents: None = None, **request: Any
    ) -> Session: ...
    @overload
    def session(
        self, budget: Any = None, one_by_one: bool = False, *, documents: int, **request: Any
    ) -> QuerySession: ...
    def session(
        self, budget: Any = None, one_by_one: bool = False, documents: int | None = None, **request: Any
    ) -> Session | QuerySession:  # fmt: skip
        """Start predicting on demand: one row, or a query of so many ``documents`` under one budget."""
        if documents is None:
            return super().session(budget, one_by_one, **request)
        self._check_fitted()
        return QuerySession(
            self.policy_, documents, budget=budget, one_by_one=one_by_one, **request
        )

    def trade_off_grid(self, X: Any, y: Any, qid: Any = None) -> list[dict[str, Any]]:
        """Values of ``threshold``, cheapest first, up to a size at which nobody leaves.

        With ``qid``, gaps of the proximity rule are found by bisection on the mean bill; without,
        nobody would leave, and they are multiples of the scores' standard deviation.
        """
        if self.rule in ("rank", "capacity"):
            return [{"threshold": float(t)} for t in (5, 7, 10, 15, 20, 30, 50, 100, np.inf)]
        model = self.model.estimator if isinstance(self.model, FrozenEstimator) else self.model
        if qid is not None and not is_fitted(model):
            model = self._staged_model(X, y, {"qid": qid})
        scores = np.asarray(model.predict(X) if is_fitted(model) else y, dtype=np.float64)
        if self.rule == "score":
            levels = np.quantile(scores, np.linspace(0.95, 0.05, 10)).tolist()
            return [{"threshold": level} for level in [*dict.fromkeys(levels), -np.inf]]
        spread = float(scores.std()) or 1.0
        gaps = (spread * np.array(GRID)).tolist()
        if qid is not None:
            probe = clone(self).set_params(model=model)

            def bill(threshold: float) -> float:
                leaving = probe.set_params(threshold=threshold).fit(X, y)
                return float(leaving.cost(X, qid=qid).mean())

            gaps = covering(bill, gaps[::2])
        return [{"threshold": t} for t in [*gaps, np.inf]]


class EarlyExitClassifier(EarlyExit, CostAwareClassifier):
    """A staged classifier whose rows leave as soon as one class is likely enough.

    After every ``every`` rounds a row leaves if its largest class probability is above
    ``threshold``; the prediction is the one of that moment.

    Parameters
    ----------
    model : classifier, optional
        A staged model of this library: a fitted one is used as it is and stays fitted when this is
        cloned; one that is not fitted is trained by ``fit``. None is a ``GreedyMiserClassifier``:
        with ``threshold="auto"`` its ``lam`` is chosen along with the threshold, else it is 0.
    threshold : float, array or "auto", default="auto"
        Probability above which a row leaves, from 1 / K up; 1 or more: nobody leaves. An array has
        one number for each exit before the end. "auto": of seven numbers the one with the least bill
        within one standard error of the best, on the rows of ``fit`` for a fitted model, best rows
        that it has not seen; on rows held out otherwise.
    rule : {"probability"}, default="probability"
        The only rule for classes.
    every, costs
        As for :class:`EarlyExitRegressor`.
    calibrate : {"temperature", "sigmoid", "isotonic"}, optional
        Probabilities that hold on new rows, as in :class:`~worthwhile.GreedyMiserClassifier`; exits go
        by the model's own, so what is bought and predicted stays as it is. A model that came fitted
        answers for all rows: give rows that it has not seen, or a model that is not fitted. Weights
        of classes are the model's to have.
    errors : Errors, mapping or number, optional
        Prices of wrong answers, by which decisions and choices go; see :class:`~worthwhile.Errors`.

    Attributes
    ----------
    policy_ : ExitPolicy
        The trees with their exits.
    feature_importances_ : float64 array (d,)
        Those of the model, where it has them, as shares of all.
    threshold_ : float or array
        The threshold in use.
    classes_ : array
        Labels.

    Notes
    -----
    Paper: the exits for several classes that section 6 of "The Greedy Miser" (ICML 2012) compares
    with on the scenes.

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import EarlyExitClassifier, GreedyMiserClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 4))
    >>> y = np.where(X[:, 0] > 0.5, "up", np.where(X[:, 1] > 0, "left", "right"))
    >>> booster = GreedyMiserClassifier(n_rounds=40).fit(X, y)
    >>> leaving = EarlyExitClassifier(booster, threshold=0.7, every=5).fit(X, y)
    >>> bool(leaving.evaluated(X).mean() < 40), bool(leaving.score(X, y) > 0.9)
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **EarlyExit._parameter_constraints,
        "rule": [StrOptions({"probability"})],
        "threshold": [Real, "array-like", StrOptions({"auto"})],
    }

    knows_errors: ClassVar[bool] = True

    def __init__(
        self,
        model: Any = None,
        threshold: Any = "auto",
        rule: str = "probability",
        every: int = 10,
        costs: Any = None,
        calibrate: str | bool | None = None,
        errors: Any = None,
    ) -> None:
        super().__init__(model, threshold, rule, every, costs)
        self.calibrate = calibrate
        self.errors = errors

    def _default_model(self) -> Any:
        from worthwhile.estimators.boosting import GreedyMiserClassifier

        # Noise would spread the first trees, and what they buy, over more features.
        return GreedyMiserClassifier(split_noise=0)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> EarlyExitClassifier:
        """Place the exits; train the model first where it is not fitted.

        Parameters
        ----------
        X : array or frame (n, d)
        y : array (n,)
            Labels.
        sample_weight : array (n,), optional
            For the training of the model, where its ``fit`` takes it.
        """
        return self._fit(X, y, sample_weight=sample_weight)

    def _free_choice(self, X: Any, y: Any, how: dict[str, Any]) -> dict[str, Any]:
        if self.model is not None or not isinstance(self.threshold, str):
            return {}
        model, weight = self._default_model(), how.get("sample_weight")
        if self.costs is not None:
            model.set_params(costs=self.costs)
        lams = model._lams(*present(X, y, weight), cover=few_covering)
        models = [self._default_model().set_params(lam=lam) for lam in lams]
        points = [{"model": model, **point} for model in models for point in _thresholds(y)]
        return choose_point(self, points, X, y, weight, fit_all=_few_models)

    def _settled(self, X: Any, y: Any, how: dict[str, Any]) -> Any:
        if not isinstance(self.threshold, str):
            return self.threshold
        points = _thresholds(y)
        own = (X, y) if is_fitted(self._model_given()) else None
        weight = how.get("sample_weight")
        return choose_point(self, points, X, y, weight, own, fit_all=_one_model)["threshold"]

    def cost(
        self, X: Any, budget: Any = None, *, accounting: str = "row", **request: Any
    ) -> Floats:
        """The bill of each row; ``accounting`` as for :meth:`EarlyExitRegressor.cost`."""
        if self._check_accounting(accounting, budget):
            return self._cost_by_model(self.evaluated(X))
        return super().cost(X, budget, **request)

    def trade_off_grid(self, X: Any, y: Any) -> list[dict[str, Any]]:
        """Values of ``threshold`` from a little above 1 / K to 1, by bisection on the mean bill."""
        X, y = sample(X, y)
        probe = clone(self).set_params(model=self._staged_model(X, y, {}))
        doubt = 1.0 - 1.0 / max(2, len(np.unique(y)))

        def bill(share: float) -> float:
            return float(probe.set_params(threshold=1.0 - doubt * share).fit(X, y).cost(X).mean())

        shares = covering(bill, [0.99, 0.5, 0.1, 0.01, 0.0])
        return [{"threshold": 1.0 - doubt * share} for share in shares]


def _thresholds(y: Any) -> list[dict[str, Any]]:
    """Points that "auto" chooses from."""
    least = 1 / max(2, len(np.unique(y)))
    return [{"threshold": 1 - (1 - least) * doubt} for doubt in AUTO_DOUBTS]


def _few_models(
    estimator: EarlyExitClassifier, points: Any, X: Any, y: Any, **more: Any
) -> Iterator[EarlyExitClassifier]:
    """All thresholds over each of the staged models, which come one after the other."""
    for _, of_one in groupby(points, lambda point: id(point["model"])):
        own = list(of_one)
        twin = clone(estimator).set_params(model=own[0]["model"])
        yield from _one_model(twin, own, X, y, **more)


def _one_model(
    estimator: EarlyExitClassifier, points: Any, X: Any, y: Any, **more: Any
) -> Iterator[EarlyExitClassifier]:
    """All thresholds over one staged model."""
    model = estimator.set_params(threshold=1.0).fit(X, y, **more)
    for point in points:
        yield model._moved(point["threshold"])
