"""ADAPT-LIN: a linear gate and a linear cheap model that share few features."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.utils._param_validation import Interval, StrOptions
from threadpoolctl import threadpool_limits

from worthwhile.costs import Costs
from worthwhile.estimators._shared.proximal import PricePenalty
from worthwhile.estimators.gates._base import (
    ADAPT_CONSTRAINTS,
    FEW_SHARES,
    SHARES,
    GatedClassifier,
)
from worthwhile.estimators.gates._judge import Maker, Model, Sweep
from worthwhile.estimators.gates._linear_alternate import (
    AlternationSettings,
    Distance,
    Fit,
    Path,
    StandardRows,
    alternate,
    best_support,
    candidates,
    first_weights,
    linear_policies,
    refit,
    singles,
    truncations,
)
from worthwhile.estimators.gates._task import Task
from worthwhile.policy.base import Policy

GAMMA_STEPS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)
"""Loss that a feature of average price must save, for a sweep."""

LINEAR_GAMMA = 0.01
"""Gamma where only the share is given."""

SWEEP_CUTS, COARSE_CUTS = 4, 2
"""Truncations of each support on the path that a sweep refits."""

PATH_ITERATIONS = 10
"""Alternations per model of a sweep, each of which starts from the one before."""


@dataclass(eq=False, repr=False, kw_only=True)
class AdaptiveLinearClassifier(GatedClassifier):
    """ADAPT-LIN: keep the accurate model you have, and stop paying for it on the easy rows.

    A linear gate looks at a few cheap features and either lets a linear model answer from the same
    few, or sends the row on to the existing model. Gate and cheap model are trained together, so
    that the cheap model becomes good where the gate keeps rows, and the gate keeps rows where the
    cheap model is good.

    Parameters
    ----------
    existing : fitted classifier or (function, features), optional
        A fitted scikit-learn classifier or pipeline, one of this library's classifiers (also
        another gated one, for several stages), a :class:`~worthwhile.PricedModel`, or a pair of a
        function from rows to class probabilities (columns in the order of the sorted labels) and
        the list of the features it reads; the function gets full rows with 0 in the others. It is
        never trained, and stays fitted when cloned. None trains a random forest.
    p_full : float or "auto", default="auto"
        Largest mean probability of sending a row on. The share of rows whose score is above 0,
        which are those sent, can differ: see ``trace_`` and :meth:`gate_report`. "auto", where
        ``gamma`` is so too: a sweep of both, of which the cheapest is kept that is expected to lose
        one point of accuracy at most, and one and a half with a standard error; else 0.5.
    gamma : float or "auto", default="auto"
        Loss (in nats per row) that is worth one unit of money spent by gate and cheap model. "auto"
        beside a number for ``p_full`` is 0.01.
    costs : Costs, mapping or array, optional
        Prices. None takes those of the existing model if it has some, else 1 each.
    distance : {"kl", "lstsq"}, default="kl"
        How gate and ideal shares are compared: Kullback-Leibler, or squares of log-odds
        (ADAPT-LSTSQ).
    kappa : float, default=1.0
        Weight of the squares.
    constraint : {"at_most", "equal"}, default="at_most"
        Whether the mean share may stay below ``p_full``; "equal" needs ``distance="kl"``.
    refit_supports : bool, default=True
        Try other sets of features than the one the penalty ends up with, each fitted anew without
        penalty, and keep the one with the least loss plus ``gamma`` times its price.
    budget : float, optional
        Mean bill per row. If given, ``p_full`` and ``gamma`` are ignored: a sweep of both is
        trained and the most accurate model within the budget on validation rows is kept.
    max_drop : float, optional
        Accuracy that may be lost against the existing model, instead of ``budget``: of the same
        sweep the cheapest model that keeps to it. The best of many models looks better than it is
        on the rows that chose it, so halves of the validation rows choose for each other; where
        nothing keeps to it, every row is sent on.
    validation_fraction : float, default=0.3
        Share of the training rows set aside to choose on, where there is a sweep and no
        ``validation``: with ``budget``, and from 5000 rows on. Fewer are dealt to folds, each of
        which judges models trained without it; what is chosen is then trained on all rows. A sweep
        without ``budget`` trains on at most 16,000 rows and judges on as many, which bounds its
        time; boosted models are then trained on all rows.
    out_of_fold : bool, default=True
        Whether a sweep asks copies of the existing model, trained on other folds of the rows, where
        it knows these rows already and can be trained again; bootstrapped forests speak out of
        bag. Otherwise the model itself is asked. What the model is better by than copies, which had
        fewer rows, is told by copies of fewer still, and counts in what is expected to be lost.
    max_iter : int, default=50
        Alternations at most.
    random_state : int or RandomState, optional
        Seed of the forest and of the rows set aside.
    n_jobs : int, optional
        Threads of the forest; None means all cores.
    categorical, dates, class_weight, calibrate, errors
        As in :class:`~worthwhile.GreedyMiserClassifier`, where they are described.
    verbose : int, default=0
        1 shows on stderr how far a sweep is, and says what is saved.

    Attributes
    ----------
    saved_ : float or None
        Share of the existing model's mean bill that is saved on validation rows; None without a sweep.
    trace_ : DataFrame
        One row per alternation: objective after either half step, mean share, share sent, and
        cost, score and features on training rows. With ``budget`` or ``max_drop``: one row
        per model of the sweep, on validation rows.
    point_ : dict
        ``p_full`` and ``gamma`` of the model in use (gamma is NaN for a refitted support);
        with ``max_drop`` also the ``drop`` to be expected.
    n_iter_ : int
        Alternations (with ``budget``: at most).

    Notes
    -----
    Paper: Nan and Saligrama, "Adaptive Classification for Prediction Under a Budget", NIPS 2017,
    Algorithm 1, (OPT1), (OPT2). An existing model knows the rows it was trained on too well: give
    ``existing_proba`` (out of fold) to :meth:`fit` if you have it; scores without probabilities are
    read as log-odds. A sweep takes ``p_full`` as an equality, and also looks at every gate with its
    threshold moved, which costs no training. The default forest makes its own from the trees that
    did not see a row.

    Differs from the paper: prices stand in the penalty of (OPT2); groups with a fee are charged by
    a norm over the whole group; several classes; supports are refitted, without which the
    alternation stays at a local minimum on the paper's own second example; the bill of a row that
    is sent on contains what the gate read. ADAPT-LSTSQ is only named in the paper: its steps are
    derived here from the stated distance.

    Examples
    --------
    >>> from worthwhile import AdaptiveLinearClassifier, datasets
    >>> from sklearn.svm import SVC
    >>> X, y, costs = datasets.make_synthetic_2(400, separation=2)
    >>> accurate = SVC(gamma=1).fit(X, y)
    >>> model = AdaptiveLinearClassifier(accurate, p_full=0.5, costs=costs).fit(X, y)
    >>> model.score(X, y), float(model.cost(X).mean())
    (1.0, 1.52)
    >>> model.gate_report(X, y)["share"].round(2).to_dict()
    {'cheap': 0.48, 'existing': 0.52, 'all': 1.0}
    """

    n_iter_: int = field(init=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **GatedClassifier._parameter_constraints,
        **ADAPT_CONSTRAINTS,
        "distance": [StrOptions({"kl", "lstsq"})],
        "kappa": [Interval(Real, 0, None, closed="neither")],
        "refit_supports": ["boolean"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    p_full: float | str = "auto"
    gamma: float | str = "auto"
    distance: str = "kl"
    kappa: float = 1.0
    constraint: str = "at_most"
    refit_supports: bool = True
    max_iter: int = 50

    def _check(self) -> None:
        super()._check()
        if self.constraint == "equal" and self.distance != "kl":
            raise ValueError(
                "constraint='equal' goes with distance='kl' only: use constraint='at_most'."
            )

    def _settings(self) -> AlternationSettings:
        kappa = float(self.kappa) if self.distance == "lstsq" else 0.0
        return AlternationSettings(Distance(kappa, self.constraint == "equal"), self.max_iter)

    def _fit_one(self, task: Task) -> None:
        settings = self._settings()
        p_full = self._number("p_full")
        gamma = LINEAR_GAMMA if self.gamma == "auto" else float(self.gamma)
        penalty = PricePenalty.of(task.costs, gamma)
        with threadpool_limits(1):
            rows = _rows(task)
            fit = alternate(rows, penalty, p_full, first_weights(rows), settings)
            if self.refit_supports:
                proposals = candidates([fit.support], rows.Z.shape[1])
                fit = best_support(rows, proposals, task.costs, p_full, gamma, settings)
        self.policy_ = task.compose(*linear_policies(fit, rows, task))
        self.point_, self.n_iter_ = {"p_full": p_full, "gamma": gamma}, len(fit.trace)
        self.trace_ = self._trace(fit, rows, task)

    def _trace(self, fit: Fit, rows: StandardRows, task: Task) -> pd.DataFrame:
        judge, lines = task.training_judge(), []
        for number, entry in enumerate(fit.trace):
            at = Fit(fit.columns, entry["weights"], entry["objective"], [])
            verdict = judge(*linear_policies(at, rows, task))
            line = {name: value for name, value in entry.items() if name != "weights"}
            lines.append({"iteration": number + 1, **line, **verdict.row()})
        return pd.DataFrame(lines)

    def _models(self, task: Task, so_far: Sweep | None = None) -> Iterator[Model]:
        """The path in gamma for all shares, then refits of the supports that it found."""
        self.n_iter_ = self.max_iter
        settings = self._settings()
        reached = replace(settings.distance, equal=not settings.distance.kappa)
        short = AlternationSettings(reached, min(settings.max_iter, PATH_ITERATIONS))
        shares = (*(FEW_SHARES if task.coarse else SHARES), 0.0)
        gammas = _gammas(task.costs)[:: 2 if task.coarse else 1]
        cuts, known = COARSE_CUTS if task.coarse else SWEEP_CUTS, dict[Any, Maker]()
        with threadpool_limits(1):
            rows = _rows(task)
            path = Path(rows, task.costs, gammas, shares, short)
            everybody = refit(rows, (), 1.0, short)  # unread
            yield {"p_full": 1.0, "gamma": np.nan}, partial(linear_policies, everybody, rows, task)
            for p_full in shares:
                for k, gamma in enumerate(gammas):
                    point, fit = {"p_full": p_full, "gamma": gamma}, path.fit(p_full, k)
                    yield point, partial(linear_policies, fit, rows, task)
            if not self.refit_supports:
                return
            found = [path.fit(p_full, k).support for p_full in shares for k in range(len(gammas))]
            for support in truncations(found, cuts) + singles(rows.Z.shape[1]):
                for k, p_full in enumerate(shares):
                    maker = known.setdefault(
                        (support, k), partial(_refitted, path, support, k, rows, task)
                    )
                    yield {"p_full": p_full, "gamma": np.nan}, maker


def _refitted(
    path: Path, support: tuple[int, ...], number: int, rows: StandardRows, task: Task,
    threshold: float = 0.0,
) -> tuple[Policy, Policy]:  # fmt: skip
    return linear_policies(path.refit(support, number), rows, task, threshold)


def _rows(task: Task) -> StandardRows:
    losses = task.existing.losses(task.codes)
    return StandardRows.of(task.X, task.codes, len(task.classes), losses, task.weight)


def _gammas(costs: Costs) -> list[float]:
    """Gammas from dear to cheap, in the unit of the prices."""
    priced = costs.total / max(costs.n_features, 1)
    return [step / priced if priced > 0 else step for step in GAMMA_STEPS]
