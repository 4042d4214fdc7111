"""Choosing the next factor for each case: a purchasing policy learned by imitation."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _deprecate_positional_args

from worthwhile.costs import as_float, as_floats
from worthwhile.estimators._shared.covering import bill_of, covering, sample
from worthwhile.estimators._shared.deprecation import GONE_IN, with_old_names
from worthwhile.estimators._shared.held_out_choice import choose_point
from worthwhile.estimators._shared.validation import development_rows, read_validation
from worthwhile.estimators._shared.weights import copies_by_weight, drop_weightless, read_weight
from worthwhile.estimators.selection._coach import Coach, ConfidenceCoach, RewardCoach
from worthwhile.estimators.selection._data_classifier import (
    DataSettings,
    World,
    fit_folds,
    output_of,
)
from worthwhile.estimators.selection._explain import explain_rows, oracle_curve
from worthwhile.estimators.selection._factors import make_layout
from worthwhile.estimators.selection._given_classifier import TakesClassifier
from worthwhile.estimators.selection._imitation import (
    LinearLearner,
    Schedule,
    TreeLearner,
    imitate,
    visited_masks,
)
from worthwhile.estimators.selection._oracle import Reward
from worthwhile.policy.selection.choosers import no_choice
from worthwhile.policy.selection.learned import SelectionPolicy
from worthwhile.policy.selection.rows import Chooser, FactorPrices, Model
from worthwhile.runtime import Session

Floats = npt.NDArray[np.float64]

PAPER_LAMS = (0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0)
"""The trade-offs of section 5.1."""

COACHES: dict[Any, type[Coach]] = {"reward": RewardCoach, "confidence": ConfidenceCoach}

GRID_ROWS, GRID_ROUNDS, GRID_FOLDS, GRID_FITS = 800, 2, 3, 45
"""Rows, rounds and folds of the policies whose bills make a grid, and how many of them, at most."""


@with_old_names
@dataclass(eq=False, repr=False)
class DynamicSelectionClassifier(TakesClassifier):
    """Buys factor after factor, each chosen in view of the values bought before.

    A data classifier answers from any set of factors (bundles of features that are bought
    together). A second, learned policy looks at what is known so far and picks the factor to buy
    next, or to stop. It imitates an oracle that knows the labels: forward selection, stopped where
    the margin minus ``lam`` times the share of the full price was highest.

    Parameters
    ----------
    lam : number or "auto", default="auto"
        Price of the full bill in units of margin (a difference of probabilities): larger buys
        less. It is per *share* of the full price, so the unit of the prices does not matter. "auto":
        of the paper's seven the one with the cheapest policy within one standard error of the best,
        on rows held out.
    costs : Costs, mapping or array, optional
        Prices of the features; None means 1 each. What costs nothing is known from the start.
    factors : None, "groups", "single", list of lists or mapping, default=None
        What is bought together. None: a group of ``costs`` whose fee is at least the sum of its
        members' own prices is one factor; every other feature is one alone, and a fee that several
        factors share is due with the first. "groups": every group is a factor. "single": every
        feature is. Or lists of features, as such or under names; features not listed are alone.
    classifier : scikit-learn classifier, optional
        The data classifier, trained on standardised features (0 is the mean and stands for what is
        not known). None is multinomial logistic regression. Models other than logistic regression
        do their own arithmetic, so batches and sessions agree to their float precision only. One
        that is fitted already, on the columns of ``X`` as they are, is never trained again, which is
        the paper's premise: it sees training means for what is not known, and ``masked``, ``adapt``
        and ``n_folds`` do not apply.
    masked : bool, default=True
        Whether the data classifier also sees copies of the training rows with random factors left
        out, and marks that say which factors are known. False is the paper's: full rows only.
    adapt : bool or int, default=True
        Whether a masked data classifier is trained again for the sets of factors that matter: full
        rows, and rows as a first, short imitation leaves them or passes through. A number says how
        many copies there are of rows as it leaves them (True: 1); full rows and passages are added
        with every other one.
    coaching : bool, "reward" or "confidence", default=True
        Whether to imitate the coach, who also values what the learner prefers, or the bare oracle
        (False: DAgger). The preference is what the learner, who does not know the labels, may expect
        ("reward", or True): of a factor, the reward right after it; of stopping, the reward here
        against where its own next steps lead. Or how likely the learner takes an action
        ("confidence", the paper's).
    max_iter : int, default=15
        Rounds of rolling out, labelling and learning.
    eta : number, optional
        Weight of the learner's preference in the first round; falls by a factor of e in three rounds
        ("reward") or in one ("confidence"). None is 3 ("reward") or 0.5 ("confidence", as in the
        paper). The first round follows the oracle; with "reward", the second too.
    n_folds : int or None, default=10
        Training rows are scored by a data classifier that has not seen them. None: no folds.
    margin : {"probability", "logit"}, default="probability"
        Scale of the margin.
    policy : {"linear", "trees"}, default="linear"
        What the purchasing policy is: linear support vector machines, or boosted trees.
    extra_lams : sequence of numbers, default=()
        Further trade-offs to learn, for ``session(lam=...)`` and :meth:`at`.
    max_examples : int, default=30000
        Most states that a policy is trained on; of more, a uniform sample is drawn.
    validation_fraction : number, default=0.2
        Share of the rows that choose the best round, where ``fit`` gets no ``validation``.
    random_state : int or RandomState, optional
        Seed of folds, left-out factors, and samples.
    categorical, dates, n_jobs, class_weight, calibrate, errors
        As in :class:`~worthwhile.GreedyMiserClassifier`, where they are described.

    Attributes
    ----------
    lam_ : float
        The trade-off in use.
    trace_ : DataFrame
        The learning curve: per trade-off and round, mean reward, cost (share of the full price)
        and accuracy on the development rows, and which round was kept.
    factor_names_ : list
        Names of the factors: of the group, of the feature, or as given.
    n_iter_ : int
        Rounds; 0 where there is nothing to choose.

    Notes
    -----
    Paper: He He, Hal Daumé III, Jason Eisner, "Cost-sensitive Dynamic Feature Selection", ICML
    workshop on Inferning, 2012: rewards eq. 1, oracle eq. 3, coach eq. 4, Algorithm 1.

    Differs from the paper: the data classifier is trained for missing factors too (``masked``,
    ``adapt``); the oracle stops *in* the state of highest reward, as the text says, where eq. 3
    taken literally stops one step before; the margin is of probabilities; the coach listens to the
    rewards that a learner may expect, by ridge regression on the policy's features over states of
    the learners so far, and gives way more slowly, where the paper's listens to the learner's
    confidence (``coaching="confidence"``); stopping is priced so that without preferences it agrees
    with the oracle; marks of the known factors are among the policy's features; constant features
    are never bought.

    A round costs about ``n * steps * n_factors**2 * n_classes`` for the labels, and
    ``n * steps * width**2`` for what a learner may expect, by the width of the policy's features: with
    thousands of columns a fit takes minutes to hours, unless ``factors`` puts them into bundles. A
    decision of the policy counts as one evaluation where ``costs.evaluation`` is not 0; the reward
    leaves it out. Under a budget, a factor that does not fit is refused and the policy takes its
    next best action; the answer is the data classifier on what is known.

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import DynamicSelectionClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> y = np.where(np.abs(X[:, 0]) > 0.5, X[:, 0] > 0, X[:, 1] > 0)
    >>> model = DynamicSelectionClassifier(
    ...     0.3, costs=[1, 1, 5, 5], max_iter=3, n_folds=3, random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() < 3), model.score(X, y) > 0.8
    (True, True)
    >>> model.explain(X[:1])["factor"].tolist()[:2]
    [None, 0]
    """

    trade_off_parameters: ClassVar[tuple[str, ...]] = ("lam",)
    _renamed: ClassVar[dict[str, str]] = {"n_iterations": "max_iter"}
    policy_: SelectionPolicy = field(init=False)
    _style = "columns"
    trace_: pd.DataFrame = field(init=False)
    factor_names_: list[Any] = field(init=False)
    lam_: float = field(init=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "lam": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "masked": ["boolean"],
        "adapt": ["boolean", Interval(Integral, 0, None, closed="left")],
        "coaching": ["boolean", StrOptions(set(COACHES))],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "eta": [None, Interval(Real, 0, None, closed="left")],
        "n_folds": [None, Interval(Integral, 2, None, closed="left")],
        "margin": [StrOptions({"probability", "logit"})],
        "policy": [StrOptions({"linear", "trees"})],
        "extra_lams": ["array-like"],
        "max_examples": [Interval(Integral, 1, None, closed="left")],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    lam: float | str = "auto"
    _: KW_ONLY
    coaching: bool | str = True
    max_iter: int = 15
    eta: float | None = None
    margin: str = "probability"
    policy: str = "linear"
    extra_lams: Sequence[float] = ()
    max_examples: int = 30000
    validation_fraction: float = 0.2

    def fit(
        self, X: Any, y: Any, validation: Any = None, *, sample_weight: Any = None
    ) -> DynamicSelectionClassifier:
        """Train the data classifiers, then the purchasing policy of each trade-off.

        Parameters
        ----------
        X, y : array or frame (n, d), array (n,)
            Rows, in which NaN is read as the training mean, and their labels.
        validation : (X, y), optional
            Development rows that choose the best round; otherwise ``validation_fraction`` of the
            rows is set aside.
        sample_weight : array (n,), optional
            Weights of the rows, which count as copies: whole numbers equal repetition, where the
            copies of a row are in the same fold and set aside together.
        """
        self._validate_params()
        extra, table = self._extra(), (X, y)
        X, y, costs = self._read_training(X, y, weight=sample_weight)
        weight = read_weight(sample_weight, X, self.class_weight, y)
        weight, X, y = drop_weightless(weight, X, y)
        codes = self._read_labels(y)
        random = check_random_state(self.random_state)
        seeds = random.randint(0, 2**31 - 1, size=3)
        if validation is not None:
            X_dev, codes_dev = read_validation(self, validation, dtype=np.float64)
        else:
            rng = np.random.default_rng(seeds[0])
            kept, held = development_rows(len(X), self.validation_fraction, rng, codes)
            mine, weight = (None, None) if weight is None else (weight[held], weight[kept])
            held = held[copies_by_weight(mine, len(held))]
            X, codes, X_dev, codes_dev = X[kept], codes[kept], X[held], codes[held]
        origin = copies_by_weight(weight, len(X), codes)
        X, codes = X[origin], codes[origin]
        layout, self.factor_names_ = make_layout(X, costs, self.factors, self._encoding)
        self.lam_ = self._settled(*table, sample_weight)
        lams = list(dict.fromkeys([self.lam_, *extra]))
        prices = FactorPrices(costs, layout)
        Z, Z_dev = (
            layout.standardise(part[:, layout.features], slice(None)) for part in (X, X_dev)
        )
        settings = DataSettings.of(self, self._given(X, layout), origin)
        n_classes = len(self.classes_)
        given = Z, codes, n_classes, layout, settings, int(seeds[1])
        scorer, parts = fit_folds(*given)
        train = World(Z, codes, n_classes, layout, prices, parts, self.n_jobs)
        if settings.masked and self.adapt and layout.n_factors:
            rewards = [Reward(lam, self.margin == "logit") for lam in lams]
            learner = LinearLearner(layout, n_classes, self.n_jobs)
            schedule = self._schedule(int(seeds[2]))
            masks = visited_masks(train, rewards, learner, schedule, int(self.adapt))
            scorer, parts = fit_folds(*given, masks)
            train = World(Z, codes, n_classes, layout, prices, parts, self.n_jobs)
        whole = [(np.arange(len(Z_dev)), scorer)]
        development = World(Z_dev, codes_dev, n_classes, layout, prices, whole)
        choosers = self._learn(train, development, lams, int(seeds[2]))
        output = output_of(scorer, self.classes_)
        self.policy_ = SelectionPolicy(costs, output, Model(layout, scorer, prices), choosers, lams)
        return self

    def _settled(self, X: Any, y: Any, weight: Any) -> float:
        """The trade-off: as given, or for "auto" chosen on rows held out."""
        if not isinstance(self.lam, str):
            return float(self.lam)
        points = [{"lam": lam} for lam in PAPER_LAMS]
        chosen = choose_point(self._quick(), points, X, y, weight, fit_all=_one_world)
        return float(chosen["lam"])

    def _quick(self) -> DynamicSelectionClassifier:
        """What is fitted to look at many trade-offs: few rounds, few folds."""
        n_folds = None if self.n_folds is None else min(int(self.n_folds), GRID_FOLDS)
        rounds = min(int(self.max_iter), GRID_ROUNDS)
        return clone(self).set_params(max_iter=rounds, n_folds=n_folds, extra_lams=())

    def _extra(self) -> list[float]:
        """The other trade-offs."""
        extra = [float(lam) for lam in self.extra_lams]
        if bad := [lam for lam in extra if not 0 <= lam < np.inf]:
            raise ValueError(f"extra_lams has {bad[0]}: a trade-off is a finite number >= 0.")
        return extra

    def _schedule(self, seed: int) -> Schedule:
        eta = self.eta if self.coaching else 0.0
        coach = COACHES.get(self.coaching, RewardCoach)
        return Schedule(self.max_iter, eta, self.max_examples, seed, coach)

    def _learn(
        self, train: World, development: World, lams: list[float], seed: int
    ) -> list[Chooser]:
        layout, n_classes = train.layout, train.n_classes
        kind = LinearLearner if self.policy == "linear" else TreeLearner
        learner = kind(layout, n_classes, self.n_jobs)
        schedule = self._schedule(seed)
        choosers: list[Chooser] = []
        curves: list[dict[str, Any]] = []
        for lam in lams:
            if layout.n_factors == 0:
                choosers.append(no_choice(layout, n_classes))
                continue
            reward = Reward(lam, self.margin == "logit")
            chooser, curve = imitate(train, development, reward, learner, schedule)
            choosers.append(chooser)
            curves += curve
        self.trace_ = pd.DataFrame(curves)
        return choosers

    @property
    def n_iter_(self) -> int:
        """Rounds of rolling out, labelling and learning; 0 where there is nothing to choose."""
        self._check_fitted()
        return int(self.trace_["iteration"].max()) if len(self.trace_) else 0

    # Another trade-off ---------------------------------------------------------------------------

    def session(
        self, budget: Any = None, one_by_one: bool = False, lam: float | None = None, **request: Any
    ) -> Session:
        """Start predicting one case on demand; see :class:`~worthwhile.Session`.

        Parameters
        ----------
        budget : number, optional
            Never spend more than this.
        one_by_one : bool, default=False
            Ask for one feature at a time instead of the whole factor.
        lam : number, optional
            Trade-off of this request: one of those fitted. None: the constructor's.
        **request
            ``prices`` of today and what is ``unavailable``.
        """
        self._check_fitted()
        model = self if lam is None else self.at(lam=float(lam))
        return Session(model.policy_, budget=budget, one_by_one=one_by_one, **request)

    @_deprecate_positional_args(version=GONE_IN)
    def at(self, *, lam: float) -> DynamicSelectionClassifier:
        """The fitted model with another of its trade-offs in use: ``lam`` or one of ``extra_lams``."""
        self._check_fitted()
        twin = copy.copy(self)
        twin.policy_ = self._inner_policy.at(float(lam))
        twin.lam = twin.lam_ = float(lam)
        return twin

    def trade_off_grid(self, X: Any, y: Any = None) -> list[dict[str, Any]]:
        """Trade-offs from nothing bought to whatever helps, by bisection on the mean bill.

        The policies whose bills are looked at are learned in few rounds on at most 800 rows.
        """
        flat = self._costs_for(X).flat
        paid = as_floats(flat.alone[flat.alone > 0])
        if not len(paid):
            return [{"lam": 0.0}]
        if y is None:
            return [{"lam": lam} for lam in reversed(PAPER_LAMS)]
        bill = bill_of(self._quick(), *sample(X, y, GRID_ROWS), "lam")
        # A margin of probabilities gains 2 at most, for the share of the cheapest purchase at least.
        top = 2.0 * as_float(int(flat.total)) / float(paid.min())
        steps = np.geomspace(top, 0.03, max(4, round(np.log10(top)) + 2)).tolist()
        return [{"lam": lam} for lam in covering(bill, [*steps, 0.0], GRID_FITS)]

    # Looking inside ------------------------------------------------------------------------------

    def explain(self, X: Any, budget: Any = None) -> pd.DataFrame:
        """What is bought for each row, step by step.

        Returns
        -------
        DataFrame
            Columns row, step (0 is before the first purchase), factor (None at step 0), guess,
            confidence (its probability), cost (the bill so far, without evaluations).
        """
        return explain_rows(self._inner_policy, self.factor_names_, self._read_inner(X), budget)

    def oracle_curve(self, X: Any, y: Any, lams: Sequence[float] = PAPER_LAMS) -> pd.DataFrame:
        """What the oracle reaches on these rows. It looks at the labels: this is no prediction.

        The curve is an upper reference for what imitation may hope for, with the fitted data
        classifier.

        Parameters
        ----------
        X : array or frame (n, d)
            All features are read.
        y : array (n,)
            True labels, which decide what the oracle buys.
        lams : sequence of numbers
            Trade-offs.

        Returns
        -------
        DataFrame
            Columns lam, cost (mean share of the full price), accuracy, reward, uses_labels (always
            True).
        """
        policy, rows = self._inner_policy, self._read_inner(X)
        return oracle_curve(policy, rows, y, lams, self.margin == "logit", self.n_jobs)


def _one_world(
    estimator: DynamicSelectionClassifier, points: Any, X: Any, y: Any, **more: Any
) -> list[DynamicSelectionClassifier]:
    """All trade-offs over the same data classifier."""
    lams = [point["lam"] for point in points]
    model = estimator.set_params(lam=lams[0], extra_lams=lams[1:]).fit(X, y, **more)
    return [model.at(lam=lam) for lam in lams]
