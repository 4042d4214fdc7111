"""From a budget to a model."""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils._param_validation import Interval

from worthwhile._sklearn import BaseEstimator, MetaEstimatorMixin
from worthwhile.costs import QUANTA_PER_UNIT, budget_quanta
from worthwhile.estimators.reading import refuse_collections
from worthwhile.exceptions import WorthwhileWarning
from worthwhile.frontier._delegate import Delegate
from worthwhile.frontier._drawing import draw
from worthwhile.frontier._errors import decided, deciding, in_sweeps, read_errors, scoring_by
from worthwhile.frontier._folds import make_folds
from worthwhile.frontier._identity import digest
from worthwhile.frontier._journal import Journal, identify_estimator, identify_scoring
from worthwhile.frontier._margin import make_blocks
from worthwhile.frontier._measure import (
    Judge,
    LabelledRows,
    read_rows,
    score_name,
    train,
    usual_scoring,
)
from worthwhile.frontier._mixing import (
    MixedRefit,
    check_mixable,
    maps_of,
    mix_refits,
    mixed_model,
    with_one_map,
)
from worthwhile.frontier._one_point import Point
from worthwhile.frontier._pipelines import as_searchable
from worthwhile.frontier._points import Frontier
from worthwhile.frontier._promise import Twins, promise_of
from worthwhile.frontier._refits import Refits
from worthwhile.frontier._stages import cut
from worthwhile.frontier._sweep import Measured, Sweep, is_unit, make_candidates
from worthwhile.frontier._tune import Refit, dearer_point, spend
from worthwhile.metrics import TotalCost
from worthwhile.promise import Figure

Floats = npt.NDArray[np.float64]


@dataclass(eq=False, repr=False)
class BudgetSearchCV(Delegate, MetaEstimatorMixin, BaseEstimator):
    """Find the best model whose mean bill on new rows stays within a budget.

    The estimator's own trade-off is swept in cross-validation (with every stage of models that can
    be cut, at no extra training), the best validation score within the budget is chosen, and that
    model is fitted again on all rows. Afterwards the search is that model: ``predict``,
    ``acquired``, ``cost``, ``session`` and ``save`` are its own.

    Parameters
    ----------
    estimator : estimator of worthwhile
        Anything with ``trade_off_grid``, or a scikit-learn Pipeline that ends with one: its prices are
        those of the columns of the table, and so are bills and sessions.
    budget : number, optional
        Largest mean bill, in the unit of the prices; needed unless errors have prices.
    param_grid : dict or list of dicts, optional
        Further parameters to try, as for ``GridSearchCV``; the trade-off is swept for each.
    trade_off : list of dicts, optional
        Points of the trade-off, instead of the estimator's own.
    cv : int, splitter or iterable, default=5
        Folds. A number keeps classes in proportion, and queries and groups whole.
    scoring : str or callable, optional
        What to be best in, larger is better; None is the estimator's own score, of numbers with ``qid``
        NDCG@5. A callable that takes ``qid`` gets it. By name: scikit-learn's, or "ndcg", "precision@5" or
        "run_precision@5" of rankings.
    errors : Errors, mapping or number, optional
        Prices of errors, instead of ``scoring``: the best model is that of the least total per case, tests and
        errors together, within the budget where there is one. See :class:`~worthwhile.Errors`.
    positive : label, optional
        Which of two classes a score such as "f1" is about; by default the second of the sorted ones.
    confidence : float, default=0.95
        With what probability the mean bill of new rows is to stay within the budget.
    horizon : number, optional
        Over how many new rows the mean is meant; None is as many as ``fit`` got, inf the long run.
    refine : int, default=2
        How often to put points between neighbours on the trade-off whose bills lie more than a
        tenth apart, so that there is a model for every budget.
    tune : int, default=4
        How many models to fit between the chosen point and the next dearer one, to use what is left
        of the budget. 0 keeps to the points that were validated.
    mix : bool, default=False
        Whether two models and a share of the cases for the dearer one may meet the budget, instead of
        one model: chance then decides who gets a test (see the guide on mixing, and give ``key=`` when
        you predict). ``tune`` is not needed then. The score must be a mean over cases.
    refit : bool, default=True
        Whether to fit the chosen model on all rows; without it there is only the frontier.
    n_jobs : int, optional
        Units at a time, by joblib. None is one at a time, which itself uses all cores, or what the
        joblib backend says.
    resume : path, optional
        A journal. Finished units are kept in it; a search that was killed and is started again
        with the same data and parameters goes on from there, to the identical result. Budget,
        confidence and horizon may change: nothing is trained again but on all rows, and for the
        promise. Functions are known again by their code; what they call is not looked at.
    scoring_name : str, optional
        By what the journal knows ``scoring``, where it is an object that a later process could not
        know again. Change the name when the scoring changes.
    time_limit : number, optional
        Seconds after which no further setting is tried; those that are tried are spread over the
        trade-off. The chosen model is fitted whatever time is left. ``trade_off=tried_`` and ``refine=0``
        give the same search again.
    verbose : int, default=0
        1 shows progress on stderr, with the time that remains.

    Attributes
    ----------
    best_estimator_ : estimator
        The chosen model, fitted on all rows.
    best_params_, best_stage_ : dict, int or None
        Parameters of the chosen point, and how many stages the model was cut to.
    best_case_budget_ : float or None
        What the model may spend on a case at most, where the chosen point has such a limit.
    best_score_, best_cost_ : float
        Validation score and mean validation bill of the chosen point. Where errors have prices, the score is
        minus the total per case.
    tuned_params_ : dict
        Parameters of the model: those of the chosen point, or between it and the next dearer one.
    expected_cost_, best_bound_ : float
        The mean bill to expect of the model on new rows, and what it stays below with the wanted
        confidence.
    mixture_ : tuple of two points and a share, or None
        Indices in ``frontier_`` and the share of the second, where two models are mixed; ``best_params_``
        and the others are then of the first, scores and bills of the mixture.
    frontier_ : Frontier
        Every point, with errors and bounds.
    critical_value_ : float
        How many standard errors the bounds allow for having chosen among many points.
    tried_ : list of dicts
        Settings of the trade-off that were tried.
    n_splits_ : int
        Folds.
    n_refits_ : int
        Models fitted on all rows until one kept the budget.
    scorer_ : callable
        The scorer.

    Notes
    -----
    **The margin.** A mean bill that was seen errs. The margin covers the largest error that all
    points of the Pareto set make together (a Gaussian multiplier bootstrap over 256 blocks of rows;
    a query or group is never divided between blocks), and the noise of a mean over ``horizon`` new
    rows.

    **The refit.** The model fitted on all rows is not one of those that were validated, and may buy
    more or less than they did. Of the points whose mean validation bill is within the budget, the
    best is fitted and billed on its own training rows; from cross-validation it is known how much
    more new rows pay than training rows. If that bill and the margin are over the budget, the next
    best point has its turn; so it has if the model pays clearly less than every model of its folds,
    or than half of their mean, since it is then not what was validated.

    **The rest of the budget.** Points lie apart, and a refit may cost less than its folds did. If the
    points that follow by their bills have better scores, up to the first over the budget, models
    between the chosen point and that one are fitted by bisection, and the dearest whose bound keeps
    the budget is taken. Both ends are validated, what lies between them is not: figures of validation
    remain those of the chosen point.

    **Mixing.** Points on the hull of bounds and scores are fitted on all rows until two neighbours have the
    budget between their bounds; the share is the largest with which it is kept. The margin of a mixture is
    that of its parts, and the coin's own noise in a mean over ``horizon`` rows is added. Where errors have
    prices, or ``calibrate`` of the estimator asks for it, the probabilities of the two go through one map, fitted
    on answers of the folds' mixtures; what is swept has none.

    **The promise.** The parameters of the model are fitted once more on folds (as many as it takes to
    have 2,000 rows that did not train), so that the model can say what it does with new rows: accuracy,
    calibration, how the values that it buys are spread. It goes into the model's file, and
    ``worthwhile check`` holds later rows against it. The bill that is promised is the one above.

    Where no point fits the budget, the model that buys nothing is kept; where there is none, the budget
    is refused. A model that buys nothing is chosen only with a ``WorthwhileWarning``. Points see a
    budget as a bound on a fixed list, so a larger one never leads to a worse validation score.

    Examples
    --------
    >>> import worthwhile
    >>> heart = worthwhile.datasets.load_heart()
    >>> miser = worthwhile.GreedyMiserClassifier(costs=heart.costs, n_rounds=20)
    >>> search = worthwhile.BudgetSearchCV(miser, budget=60, cv=3).fit(heart.data, heart.target)
    >>> bool(search.best_cost_ <= search.best_bound_ <= 60)
    True
    >>> session = search.session(budget=30)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "confidence": [Interval(Real, 0.5, 1, closed="left")],
        "horizon": [None, Interval(Real, 0, None, closed="right")],
        "refine": [Interval(Integral, 0, None, closed="left")],
        "tune": [Interval(Integral, 0, None, closed="left")],
        "mix": ["boolean"],
        "refit": ["boolean"],
        "n_jobs": [None, Integral],
        "resume": [None, str, os.PathLike],
        "scoring_name": [None, str],
        "time_limit": [None, Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
    }

    best_estimator_: Any = field(init=False)
    frontier_: Frontier = field(init=False)
    mixture_: tuple[int, int, float] | None = field(init=False)

    estimator: Any
    budget: float | None = None
    _: KW_ONLY
    param_grid: Any = None
    trade_off: Any = None
    cv: Any = 5
    scoring: Any = None
    errors: Any = None
    positive: Any = None
    confidence: float = 0.95
    horizon: float | None = None
    refine: int = 2
    tune: int = 4
    mix: bool = False
    refit: bool = True
    n_jobs: int | None = None
    resume: Any = None
    scoring_name: str | None = None
    time_limit: float | None = None
    verbose: int = 0

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, groups: Any = None, qid: Any = None
    ) -> BudgetSearchCV:
        """Search, choose, and fit the chosen model.

        Parameters
        ----------
        X : array or frame (n, d)
            Rows.
        y : array (n,)
            Targets.
        sample_weight : array (n,), optional
            Weights for fitting; scores and bills count every row once.
        groups, qid : array (n,), optional
            Rows of one group, or of one query, are never in both parts of a fold.
        """
        limit = self._check()
        refuse_collections(X, "BudgetSearchCV", regression=is_regressor(self.estimator))
        rows, groups = read_rows(X, y, sample_weight, groups, qid)
        classes = is_classifier(self.estimator)
        errors = read_errors(self.errors, y, classes=classes, scoring=self.scoring, qid=qid)
        self._prices = errors
        scoring = usual_scoring(self.estimator, self.scoring, qid)
        if self.mix:
            check_mixable(self.estimator, rows, errors)
        judge = Judge.of(self.estimator, scoring_by(errors, scoring), rows.y, self.positive)
        folds = make_folds(self.cv, self.estimator, rows, groups)
        blocks = make_blocks(rows.qid if groups is None else groups, len(rows))
        # Two models have one map, made in the end; what is swept has none.
        self._maps = maps_of(self.estimator) if self.mix else {}
        estimator, journal = self._open_journal(rows, groups, folds, scoring)
        swept = in_sweeps(estimator, errors)
        sweep = Sweep(
            swept, rows, folds, blocks, judge, journal=journal, n_jobs=self.n_jobs, shown=bool(self.verbose),
            seconds=self.time_limit,
        )  # fmt: skip
        sweep.run(make_candidates(swept, rows, self.param_grid, self.trade_off))
        for _ in range(self.refine):
            if sweep.is_over or not (more := sweep.refine()):
                break
            sweep.run(more)
        self.scorer_, self.n_splits_ = judge.scorer, len(folds)
        self.tried_ = [candidate.params for candidate in sweep.candidates]
        measured = sweep.measured()
        self._draw_frontier(sweep, measured, scoring)
        refits = Refits(swept, sweep, measured, self.frontier_, self._margins, errors)
        if self.refit and not (self.mix and self._choose_two(sweep, refits, limit)):
            if errors is not None or self._maps:  # what stands alone has a map of its own
                alone = clone(estimator).set_params(**self._maps) if self._maps else estimator
                refits = refits.by(deciding(alone, errors))
            self._choose(sweep, refits, limit)
        return self

    @property
    def _most(self) -> float:
        """The budget; without one, infinity."""
        return math.inf if self.budget is None else float(self.budget)

    # Steps of fit ---------------------------------------------------------------------------------

    def _check(self) -> float:
        """Refuse bad parameters; the budget in quanta."""
        self._validate_params()
        last = (
            self.estimator.steps[-1][1] if isinstance(self.estimator, Pipeline) else self.estimator
        )
        if not all(hasattr(last, name) for name in ("trade_off_grid", "cost")):
            raise TypeError(
                f"estimator {'is' if last is self.estimator else 'ends with'} a {type(last).__name__}: a search needs "
                "an estimator of worthwhile, with trade_off_grid and cost, or a Pipeline that ends with one."
            )
        if self.budget is None and self.errors is None:
            raise ValueError(
                "budget is None: give the largest mean bill, inf for no limit, or prices of errors."
            )
        limit = budget_quanta(self.budget)
        return math.inf if limit is None else limit

    def _open_journal(
        self, rows: LabelledRows, groups: Any, folds: Any, scoring: Any
    ) -> tuple[Any, Journal | None]:
        """The journal, and an estimator whose seed the journal remembers."""
        given = self.estimator
        if self._maps:
            given = clone(given).set_params(**dict.fromkeys(self._maps, False))
        if self.resume is None:
            return as_searchable(given), None
        identity = {
            "X": digest(rows.X),
            "y": digest(np.asarray(rows.y)),
            "sample_weight, qid or groups": digest([rows.weight, rows.qid, groups]),
            "estimator": identify_estimator(given),
            "cv": digest(folds),
            "scoring": identify_scoring(scoring, self.scoring_name),
        }
        if self._prices is not None:
            identity["errors"] = digest(repr(self._prices.to_dict()))
        if self.positive is not None:
            identity["positive"] = digest(repr(self.positive))
        journal = Journal(self.resume, identity, is_unit)
        estimator = as_searchable(given)
        if estimator.get_params(deep=False).get("random_state", 0) is None:
            estimator = clone(estimator).set_params(random_state=journal.seed)
        return estimator, journal

    def _draw_frontier(self, sweep: Sweep, measured: list[Measured], scoring: Any) -> None:
        """Means, errors and bounds of all points."""
        drawn = draw(sweep, measured, self.confidence, self.horizon)
        self.critical_value_, self._margins = drawn.critical_value, drawn.margins
        costs = getattr(as_searchable(self.estimator), "costs", None)
        name = TotalCost.name if self._prices is not None else score_name(self.estimator, scoring)
        unit = getattr(costs, "unit", "")
        self.frontier_ = Frontier(drawn.points, unit=unit, score_name=name, mix=self.mix)

    def _choose(self, sweep: Sweep, refits: Refits, limit: float) -> None:
        """Fit points within the budget on all rows, best first, until one keeps it with the margin."""
        frontier = self.frontier_
        quanta = np.rint(frontier.cost * QUANTA_PER_UNIT)
        lowest = math.inf
        for i in (int(i) for i in frontier._order() if quanta[i] <= limit):
            found = refits.of(i)
            lowest = min(lowest, max(frontier[i].cost, found.bound))
            if refits.is_validated(i) and round(found.bound * QUANTA_PER_UNIT) <= limit:
                self.n_refits_ = len(refits)
                found = self._tune(sweep, refits, i)
                self._promise(sweep, found, frontier[i])
                return self._keep(found, i)
        self._buy_nothing(sweep, refits, lowest if len(refits) else float(frontier.bound.min()))

    def _choose_two(self, sweep: Sweep, refits: Refits, limit: float) -> bool:
        """Mix two models that have the budget between them; False where there are no such two."""
        new = len(sweep.rows) if self.horizon is None else self.horizon
        mixed = mix_refits(self.frontier_, refits, limit, (self.confidence, new), sweep.rows)
        if mixed is not None:
            self.n_refits_ = len(refits)
            self._keep_two(sweep, mixed)
        return mixed is not None

    def _keep_two(self, sweep: Sweep, mixed: MixedRefit) -> None:
        """Keep a mixture, with what it promises."""
        found, points = mixed.refits, [self.frontier_[line] for line in mixed.lines]
        expected = mixed.between([refit.expected for refit in found])
        bill = mixed.between([refit.bill for refit in found])
        whole = mixed.point(self.frontier_)

        def make(rows: LabelledRows) -> Any:
            first, second = (
                cut(train(sweep.estimator, p.params, rows), p.stage, p.case_budget) for p in points
            )
            return mixed_model(first, second, mixed.share)

        twins = Twins(sweep, make)
        model = mixed.model()
        if is_classifier(model) and (self._prices is not None or self._maps):
            kind = next(iter(self._maps.values()), None)
            model = with_one_map(model, sweep.rows, twins, kind)
        error = mixed.between([point.cost_error for point in points])
        promise = promise_of(model, sweep, twins)
        model.promise_ = promise.with_bill(Figure(expected, error), mixed.bound, self.confidence)
        self._keep(Refit(model, points[0].params, bill, expected, mixed.bound), mixed.lines[0])
        self.best_score_, self.best_cost_ = whole.score, whole.cost
        self.best_bound_ = mixed.bound
        self.mixture_ = (*mixed.lines, mixed.share)

    def _buy_nothing(self, sweep: Sweep, refits: Refits, lowest: float) -> None:
        """Keep the model that buys nothing, with a warning; refuse where there is none."""
        frontier = self.frontier_
        told = (
            f"budget is {self._most:g}: no model keeps it with confidence {self.confidence:g}; the cheapest has a "
            f"mean bill of {frontier.cost.min():g}, and {lowest:g} with the margin. "
        )
        i = int(np.argmin(frontier.cost))
        model = decided(train(refits.estimator, frontier[i].params, sweep.rows), self._prices)
        if not hasattr(model, "within") or float(model.within(0).cost(sweep.rows.X).max()) > 0:
            raise ValueError(
                f"{told}Raise the budget to that, lower confidence, or give cheaper points in trade_off."
            )
        warnings.warn(
            f"{told}The model that buys nothing is kept.", WorthwhileWarning, stacklevel=4
        )
        self.n_refits_ = 1
        point = replace(
            frontier[i], cost=0.0, bound=0.0, cost_error=0.0, stage=None, case_budget=0.0,
            score=sweep.judge.score(model.within(0), sweep.rows),
        )  # fmt: skip
        self.frontier_ = frontier._like([*frontier, point])
        found = Refit(model.within(0), point.params, 0.0, 0.0, 0.0)
        self._promise(sweep, found, point)
        self._keep(found, len(self.frontier_) - 1)

    def _tune(self, sweep: Sweep, refits: Refits, i: int) -> Refit:
        """Spend what a refit leaves of the budget, where the next dearer point is better."""
        measured, found = refits.measured, refits.of(i)
        tuned = self.tune and measured[i].case_budget is None
        j = dearer_point(sweep, measured, self.frontier_, i, self._most) if tuned else None
        if j is None:
            return found
        fit = partial(refits.between, i, j)
        return spend(found, self.frontier_[j].params, self._most, self.tune, fit)

    def _promise(self, sweep: Sweep, found: Refit, point: Point) -> None:
        """Let the model say what it does with new rows; of its bill the search knows more."""
        model = getattr(found.model, "best_estimator_", found.model)  # within a pipeline
        if not hasattr(model, "promise"):
            return  # an estimator of somebody else's

        def make(rows: LabelledRows) -> Any:
            twin = train(sweep.estimator, found.params, rows)
            return cut(twin, point.stage, point.case_budget)

        promise = promise_of(model, sweep, Twins(sweep, make))
        bill, bound = Figure(found.expected, point.cost_error), max(point.cost, found.bound)
        model.promise_ = promise.with_bill(bill, bound, self.confidence)

    def _keep(self, found: Refit, index: int) -> None:
        point = self.frontier_[index]
        self.mixture_ = None
        self.best_estimator_, self.best_index_ = found.model, index
        self.best_params_, self.best_stage_ = point.params, point.stage
        self.best_case_budget_ = point.case_budget
        self.best_score_, self.best_cost_ = point.score, point.cost
        self.tuned_params_, self.expected_cost_ = found.params, found.expected
        self.best_bound_ = max(point.cost, found.bound)
        free = point.cost == found.bill == 0 and self._prices is None
        if free and self._most > 0 and self.frontier_.cost.max() > 0:
            warnings.warn(
                f"budget={self._most:g}: the best model within it buys nothing. The cheapest that buys costs "
                f"{self.frontier_.cost[self.frontier_.cost > 0].min():g} on average.",
                WorthwhileWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type, tags.target_tags = inner.estimator_type, inner.target_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags = inner.input_tags
        return tags
