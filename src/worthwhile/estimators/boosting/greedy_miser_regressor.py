"""Greedy Miser for numbers and rankings: boosted trees that pay for the features they are the first to use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from worthwhile.estimators._shared.deprecation import with_old_names
from worthwhile.estimators._shared.queries import RankingScore, queries_of
from worthwhile.estimators.base import CostAwareRegressor
from worthwhile.estimators.boosting._lambdarank import LambdaRank
from worthwhile.estimators.boosting._rounds import Plan, Score
from worthwhile.estimators.boosting._target_losses import Own, Poisson, Quantile, Tweedie
from worthwhile.estimators.boosting._trade_off import TradeOff
from worthwhile.estimators.boosting.losses import Loss, Squared
from worthwhile.estimators.targets import refuse_large
from worthwhile.metrics import ndcg_at_k
from worthwhile.policy.output import Output

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

NUMBER_LOSSES: dict[str, Callable[[Any, Floats, Floats], Loss]] = {
    "squared": lambda model, y, weight: Squared(y, weight),
    "absolute": lambda model, y, weight: Quantile(y, weight, 0.5, absolute=True),
    "quantile": lambda model, y, weight: Quantile(y, weight, float(model.quantile)),
    "poisson": lambda model, y, weight: Poisson(y, weight),
    "tweedie": lambda model, y, weight: Tweedie(y, weight, float(model.power)),
}
"""Losses of numbers by name: from the regressor, targets and weights."""

OWN_LOSS = ["value", "gradient", "curvature"]
"""Methods of a loss of the user's own."""

NOT_KEPT = "own"
"""What a model file says instead of a loss of the user's own."""


@with_old_names
@dataclass(eq=False, repr=False, kw_only=True)
class GreedyMiserRegressor(RankingScore, CostAwareRegressor, TradeOff):
    """Boosted regression trees that pay for the features they are the first to use.

    Each tree fits the residuals of those before it. A split is worth its decrease of the squared
    error minus ``lam`` times the price of a feature that no earlier tree, and no earlier split of
    this tree, has bought. ``lam=0`` is ordinary stage-wise regression.

    Parameters
    ----------
    lam : float or "auto", default=0.0
        What one unit of money is worth in units of the loss; see ``lam_scale``. 0 saves nothing,
        which is said once where there are prices. "auto" takes the cheapest of the models of
        :meth:`trade_off_grid` that are within one standard error of the best on held-out rows (a
        fifth, or ``validation``), and trains it on all rows. Where ``errors`` have prices, "auto" and 0
        take that of the least total there.
    costs : Costs, mapping or array, optional
        Prices of the features; None means 1 each.
    errors : number or Errors, optional
        Price of one unit of the squared error (with ``loss="absolute"``, of the absolute one), or what
        :class:`~worthwhile.Errors` says. Means cost least by squared errors, medians by absolute ones: name the
        loss that is paid for.
    loss : str or object, default="squared"
        "squared": squared error of each row, as in the paper. "absolute": absolute error, medians.
        "quantile": pinball loss of ``quantile``. "poisson": counts. "tweedie": amounts with many
        zeros. "lambdarank": LambdaMART's loss over pairs of documents of a query, which needs
        ``qid`` in ``fit`` and always takes Newton steps in the leaves. Or an object with methods
        ``value``, ``gradient`` and ``curvature`` of (targets, scores), each a number per row; it
        is not kept in model files, which need it only to be trained again.
    quantile : float, default=0.5
        Which quantile ``loss="quantile"`` predicts.
    power : float, default=1.5
        Power of the mean that the variance is with ``loss="tweedie"``, between 1 and 2.
    n_rounds : int, default=200
        Trees.
    learning_rate : float or "auto", default="auto"
        Factor of every tree. "auto" is 0.1, and less where rows are few and nothing is held out: then
        ``n_rounds`` times it is at most 20, times the root of n / 2000 for n rows (their weight, with
        ``sample_weight``). 0.1 with the other presets and ``warm_start``.
    max_depth : int, default=6
        Levels of splits (2**max_depth leaves at most).
    min_samples_leaf : int, default=20
        Least number of rows (weight, with ``sample_weight``) in a leaf.
    lam_scale : {"mean", "sum"}, default="mean"
        Whether ``lam`` weighs prices against the mean loss over rows, so that it means the same on
        more data, or against the sum, as in the paper's equation 5.
    penalty : {"model", "row"}, default="model"
        Pay once for the whole model (the paper), or for each row that has not met the feature in
        an earlier tree or on its way down this one.
    preset : {"default", "paper", "authors"}, default="default"
        "default": equation 5, from the mean of the targets on, with Newton steps and early
        stopping. "paper": equation 5 from 0 on, to the letter, mean gradients in the leaves, all
        rounds. "authors": as their code does it, as "paper", but prices stay as they were at the
        start of a round, nodes are split even at a loss, and gains lack the factor one half. It
        says what "auto" means below.
    newton : bool or "auto", default="auto"
        Leaf values by one Newton step instead of the mean gradient, the same for the squared loss.
        "auto": with the default preset.
    subsample : float, default=1.0
        Share of the rows that a tree sees. Rows outside still go through the tree, and keep what
        they meet there.
    max_features : float, default=1.0
        Share of the features that a tree may use.
    split_noise : float or "auto", default="auto"
        Noise in what splits seem worth, so that trees do not all follow the same accidents of few rows: of
        the splits of a node that cost nothing more, that one is taken that gains most times exp(``split_noise`` z),
        with a normal z for every tree, node and feature. What is bought is decided without it. "auto" is 0.5
        for classes with the default preset and Newton steps, else 0. The noise is the same in every fit
        unless ``random_state`` is given.
    validation_fraction : float, None or "auto", default="auto"
        Share of the rows to hold out; the model is then cut to the best round on them. "auto":
        with the default preset a tenth of 10,000 rows or more, the same rows in every fit unless
        ``random_state`` is given; none where ``warm_start`` goes on.
    patience : int, None or "auto", default="auto"
        Rounds without a better validation score after which no more are grown; None grows all.
        "auto": 20 with the default preset.
    scoring : {"loss", "ndcg"} or callable, default="loss"
        What the best round is best in: the loss (1 - NDCG@5 with ``loss="lambdarank"``), NDCG@5 by
        query (with ``qid``), or ``scoring(y, prediction)``, larger is better.
    warm_start : bool, default=False
        Let ``fit`` go on from the fitted model, which remembers what was bought.
    random_state : int or RandomState, optional
        Seed of the samples and of the noise.
    categorical, dates, n_jobs
        As in :class:`GreedyMiserClassifier`, where they are described.
    verbose : int, default=0
        1 shows progress on stderr. An interrupt keeps the rounds that were complete.

    Attributes
    ----------
    trace_ : DataFrame
        One line per round: ``round``, ``trees``, ``features`` (bought so far), ``cost_model``
        (equation 3), ``cost_row`` (mean bill of the rows, validation rows where there are any),
        ``train_loss``, ``validation_loss``, ``validation_score``. Losses are means; squared errors
        are halved as in equation 2.
    purchase_order_ : list of int
        Columns in the order in which they were first bought.
    feature_importances_ : float64 array (d,)
        What the splits on each feature gained: the mean squared gradient of a row, halved, before and
        after, added over the trees. :meth:`importances` has what features cost, in money, and what
        they change, on rows of your choice.
    n_rounds_ : int
        Rounds kept.
    seed_ : int
        Seed that the samples and the noise were drawn from.
    lam_, learning_rate_ : float
        The ``lam`` and the learning rate in use.

    Notes
    -----
    Paper: Xu, Weinberger, Chapelle, "The Greedy Miser: Learning under Test-time Budgets", ICML
    2012, Algorithm 1 and equations 3 and 5.

    Differs from the paper: residuals are not divided by the number of rows, and ``lam`` is the
    lambda of equation 5 without a further factor; the text around equations 15 and 16 inverts the
    flag of used features, here as in section 4 a feature has a price until it is used; what a
    split buys is free for the other nodes of the same tree at once, groups and their fees
    included; by default start from the mean, and stop early; features are binned (at most 255 quantile bins, which
    is exact up to 255 distinct values); missing values go to the better side; gradients are
    rounded to 21 bits, which makes every sum exact.

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import GreedyMiserRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> X[:, 1] = X[:, 0] + 0.01 * rng.normal(size=500)  # as good as column 0, ten times as dear
    >>> y = 2 * X[:, 0] + np.abs(X[:, 2])
    >>> model = GreedyMiserRegressor(lam=0.01, costs=[1, 10, 1]).fit(X, y)
    >>> model.purchase_order_, float(model.cost(X).max())
    ([0, 2], 2.0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TradeOff._parameter_constraints,
        "loss": [StrOptions({*NUMBER_LOSSES, "lambdarank", NOT_KEPT}), HasMethods(OWN_LOSS)],
        "scoring": [StrOptions({"loss", "ndcg"}), callable],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "power": [Interval(Real, 1, 2, closed="neither")],
    }

    knows_errors: ClassVar[bool] = True

    loss: Any = "squared"
    quantile: float = 0.5
    power: float = 1.5
    errors: Any = None

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None, validation: Any = None
    ) -> GreedyMiserRegressor:
        """Grow the trees.

        Parameters
        ----------
        X : array or frame (n, d), or ParquetTable
            NaN is a missing value. With a :class:`~worthwhile.ParquetTable`, targets, weights and queries may be
            names of its columns.
        y : array (n,)
            Targets.
        sample_weight : array (n,), optional
            Weights of the rows; integers equal repetition, where the same rows are held out.
        qid : array (n,), optional
            Query of each row. ``loss="lambdarank"`` and ``scoring="ndcg"`` need it, and
            ``validation_fraction`` then holds out whole queries.
        validation : (X, y), or (X, y, qid) where ``qid`` is given, optional
            Rows to choose the best round on.
        """
        return self._fit_chosen(X, y, sample_weight, validation, qid)

    def _as_targets(self, y: Any, what: str) -> Floats:
        targets = super()._as_targets(y, what)
        refuse_large(targets, what)
        return targets

    def _loss(self, y: Floats, weight: Floats | None = None) -> Loss:
        weight = np.empty(0) if weight is None else weight
        if not isinstance(self.loss, str):
            return Own(y, weight, self.loss)
        return NUMBER_LOSSES[self.loss](self, y, weight)

    def _read_targets(self, y: Any) -> Floats:
        if isinstance(self.loss, str) and self.loss == NOT_KEPT:
            raise ValueError(
                "loss='own' stands for a loss that a model file does not keep: set loss to train again."
            )
        return self._as_targets(y, "y")

    def _stored_params(self) -> dict[str, Any]:
        params = super()._stored_params()
        return params if isinstance(self.loss, str) else {**params, "loss": NOT_KEPT}

    def _loss_of(self, y: Floats, weight: Floats | None, qid: Array | None) -> Loss:
        if not self._ranks():
            return self._loss(y, weight)
        queries = queries_of(qid, len(y), "loss='lambdarank'")
        return LambdaRank(y, queries, np.empty(0) if weight is None else weight)

    def _score_of(self, y: Floats, loss: Loss, qid: Array | None = None) -> Score:
        if self.scoring != "ndcg":
            return super()._score_of(y, loss)
        queries_of(qid, len(y), "scoring='ndcg'")
        return lambda raw: ndcg_at_k(y, raw[:, 0], qid)

    def _row_scores(self, X: Array, y: Floats, qid: Array | None) -> Floats:
        raw = self._inner_policy.batch(X, billed=False).raw
        if qid is None:
            return -self._loss(y).rows(raw.T)
        queries = np.unique(qid)
        return np.array([ndcg_at_k(y[qid == q], raw[qid == q, 0], qid[qid == q]) for q in queries])

    def _plan(self, allowed: npt.NDArray[np.bool_]) -> Plan:
        plan = super()._plan(allowed)
        return replace(plan, newton=True) if self._ranks() else plan

    def _ranks(self) -> bool:
        return isinstance(self.loss, str) and self.loss == "lambdarank"

    def _output(self) -> Output:
        logs = isinstance(self.loss, str) and self.loss in ("poisson", "tweedie")
        return Output("log-value" if logs else "value")
