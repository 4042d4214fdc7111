"""ADAPT-LIN and ADAPT-LSTSQ: alternate between who is sent and what the two models look like."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from worthwhile.costs import Costs
from worthwhile.estimators._shared.proximal import PricePenalty
from worthwhile.estimators.gates._linear_fista import (
    Problem,
    Weights,
    counts,
    solve,
    spread,
)
from worthwhile.estimators.gates._linear_newton import Ridge, newton
from worthwhile.estimators.gates._shares import (
    FURTHEST,
    Shares,
    average,
    shares_kl,
    shares_lstsq,
)
from worthwhile.estimators.gates._task import Task
from worthwhile.policy.gate import GATE_OUTPUT
from worthwhile.policy.linear_tree import LinearTree, LinearTreePolicy
from worthwhile.policy.output import Output

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

REFIT = Ridge(1e-4)
"""Penalty while a given support is fitted: only enough to keep weights finite."""

SCREENED = 4096
"""Rows, evenly spaced, on which candidate supports are compared."""

MOST_SINGLES = 64
"""Features up to which every single one of them is a candidate support."""

MOST_CUTS = 16
"""Truncations of one support that are tried."""

FINALISTS = 3
"""Candidates of the screening that are fitted on all rows."""


@dataclass(frozen=True, eq=False)
class StandardRows:
    """Training rows as the solvers see them: standardised, without holes.

    Attributes
    ----------
    Z : float64 (n, d)
    mean, scale : float64 (d,)
    codes : int (n,)
    n_classes : int
    existing_loss : float64 (n,)
    weight : float64 (n,) or None where all rows count the same
    """

    Z: Floats
    mean: Floats
    scale: Floats
    codes: Ints
    n_classes: int
    existing_loss: Floats
    weight: Floats | None = None

    @classmethod
    def of(
        cls,
        X: Floats,
        codes: Ints,
        n_classes: int,
        existing_loss: Floats,
        weight: Floats | None = None,
    ) -> StandardRows:
        """Standardise; NaN becomes the mean of its column, which is 0 where nothing is known."""
        holes, count = np.isnan(X), counts(weight, len(X))[:, None]
        known = np.sum(~holes * count, axis=0)
        mean = np.sum(np.where(holes, 0.0, X) * count, axis=0) / np.where(known > 0, known, 1.0)
        Z = np.where(holes, 0.0, X - mean)
        scale = np.sqrt(np.sum(Z * Z * count, axis=0))
        # A constant column has a spread of rounding errors only.
        scale = np.where(scale > 1e-12 * np.maximum(np.abs(mean), 1e-300), scale, np.inf)
        Z = np.ascontiguousarray(Z / scale)
        return cls(Z, mean, scale, codes, n_classes, existing_loss, weight)

    def select(self, columns: Ints) -> StandardRows:
        """The same rows with some columns."""
        Z = np.ascontiguousarray(self.Z[:, columns])
        return replace(self, Z=Z, mean=self.mean[columns], scale=self.scale[columns])

    def sample(self, most: int) -> StandardRows:
        """At most ``most`` evenly spaced rows."""
        if len(self.Z) <= most:
            return self
        rows = np.arange(0, len(self.Z), -(-len(self.Z) // most))
        weight = None if self.weight is None else self.weight[rows]
        return replace(
            self, Z=self.Z[rows], codes=self.codes[rows], existing_loss=self.existing_loss[rows],
            weight=weight,
        )  # fmt: skip

    @property
    def n_cheap(self) -> int:
        """Columns of the cheap model."""
        return 1 if self.n_classes == 2 else self.n_classes


@dataclass(frozen=True)
class Distance:
    """How far a gate is from the shares it should have.

    Attributes
    ----------
    kappa : float, weight of the squared distance of log-odds; 0 for Kullback-Leibler
    equal : bool, the mean share is to be reached exactly (Kullback-Leibler only)
    """

    kappa: float = 0.0
    equal: bool = False

    def shares(self, gate: Floats, excess: Floats, p_full: float, weight: Floats | None) -> Shares:
        """The best shares for a fixed gate and a fixed cheap model."""
        if self.kappa:
            return shares_lstsq(gate, excess, p_full, self.kappa, weight=weight)
        return shares_kl(gate, excess, p_full, equal=self.equal, weight=weight)


@dataclass(frozen=True, eq=False)
class Fit:
    """A gate and a cheap model on some columns.

    Attributes
    ----------
    columns : int (j,), the columns of the full data that the weights belong to
    weights : Weights
    value : float, the objective without its penalty
    trace : list of dict, one per iteration
    """

    columns: Ints
    weights: Weights
    value: float
    trace: list[dict[str, Any]]

    @property
    def support(self) -> tuple[int, ...]:
        """Columns with a weight, the largest first."""
        size = np.sqrt(np.sum(self.weights.coef**2, axis=1))
        order = np.argsort(-size, kind="stable")
        return tuple(int(self.columns[a]) for a in order if size[a] > 0)


@dataclass(frozen=True)
class AlternationSettings:
    """How the alternation runs."""

    distance: Distance
    max_iter: int = 50
    tol: float = 1e-5
    inner: int = 25


def first_weights(rows: StandardRows) -> Weights:
    """A gate that says nothing, and a logistic regression on everything."""
    d = rows.Z.shape[1]
    coef, intercept = np.zeros((d, 1 + rows.n_cheap)), np.zeros(1 + rows.n_cheap)
    if d and len(np.unique(rows.codes)) == rows.n_classes:
        model = LogisticRegression(C=1.0, max_iter=200).fit(rows.Z, rows.codes, rows.weight)
        coef[:, 1:], intercept[1:] = model.coef_.T, model.intercept_
    return Weights(coef, intercept)


def alternate(
    rows: StandardRows,
    penalty: PricePenalty | Ridge,
    p_full: float,
    start: Weights,
    settings: AlternationSettings,
) -> Fit:
    """Algorithm 1: (OPT1) and (OPT2) in turn until the objective stands still.

    The objective never rises, half step by half step; ``trace`` holds it after both.
    """
    problem = Problem(
        rows.Z, rows.codes, rows.n_classes, np.zeros(len(rows.Z)), np.zeros(len(rows.Z)),
        settings.distance.kappa, spread(rows.Z, rows.weight), rows.weight,
    )  # fmt: skip
    weights, trace, last = start, list[dict[str, Any]](), np.inf
    shares: Shares | None = None
    for _ in range(settings.max_iter):
        scores = weights.scores(rows.Z)
        excess = problem.cheap_losses(scores) - rows.existing_loss
        new = settings.distance.shares(scores[:, 0], excess, p_full, rows.weight)
        before = _objective(problem, rows, penalty, weights, scores, new)
        if shares is not None and before > last:
            new, before = shares, last  # log-odds that jump: what was there is better
        shares = new
        problem = problem.with_shares(shares.q, shares.log_odds)
        if isinstance(penalty, Ridge):
            weights, value = newton(problem, penalty, weights)
        else:
            weights, value = solve(problem, penalty, weights, max_iter=settings.inner)
        after = value + _constant(rows, shares, settings.distance)
        trace.append({"after_shares": before, "objective": after, "mean_share": average(shares.q, rows.weight),
                      "weights": weights})  # fmt: skip
        if last - after <= settings.tol * max(abs(after), 1e-12):
            break
        last = after
    if p_full <= 0:
        weights = _closed(weights)
    columns = np.arange(rows.Z.shape[1])
    return Fit(columns, weights, trace[-1]["objective"] - penalty.value(weights.coef), trace)


def _objective(
    problem: Problem,
    rows: StandardRows,
    penalty: PricePenalty | Ridge,
    weights: Weights,
    scores: Floats,
    shares: Shares,
) -> float:
    """(OPT) with its penalty."""
    at = problem.with_shares(shares.q, shares.log_odds)
    distance = Distance(problem.kappa)
    return at.value(scores) + penalty.value(weights.coef) + _constant(rows, shares, distance)


def _constant(rows: StandardRows, shares: Shares, distance: Distance) -> float:
    """What of (OPT) does not depend on the models: the existing model's losses and the entropy."""
    q = shares.q
    total = q * rows.existing_loss
    if not distance.kappa:
        with np.errstate(divide="ignore", invalid="ignore"):
            total = total + np.where(q > 0, q * np.log(q), 0.0)
            total = total + np.where(q < 1, (1 - q) * np.log1p(-q), 0.0)
    return average(total, rows.weight)


def _closed(weights: Weights) -> Weights:
    """The gate that sends nobody, which Kullback-Leibler only reaches at infinity."""
    coef, intercept = weights.coef.copy(), weights.intercept.copy()
    coef[:, 0], intercept[0] = 0.0, -FURTHEST
    return Weights(coef, intercept)


# Candidate supports -------------------------------------------------------------------------------


def candidates(supports: Iterable[tuple[int, ...]], d: int) -> list[tuple[int, ...]]:
    """Supports, their truncations to the largest weights, and single features; no set twice.

    The L2,1 norm charges the size of weights, not their number, so its path misses supports that
    only the joint problem would choose: they have to be proposed.
    """
    return list(dict.fromkeys([(), *truncations(supports, MOST_CUTS), *singles(d)]))


class Path:
    """Fits along gamma for each share, each from the one before, and refits of their supports.

    All are made when they are asked for, and once.

    Parameters
    ----------
    rows : StandardRows
    costs : Costs
    gammas : sequence of float, from dear to cheap
    shares : sequence of float
        Mean shares of refits, each of which starts from the one before.
    settings : AlternationSettings
    """

    def __init__(
        self, rows: StandardRows, costs: Costs, gammas: Sequence[float], shares: Sequence[float],
        settings: AlternationSettings,
    ) -> None:  # fmt: skip
        self._rows, self._costs, self._gammas = rows, costs, gammas
        self._shares, self._settings = shares, settings
        self._fits, self._refits = dict[float, list[Fit]](), dict[tuple[int, ...], list[Fit]]()

    def fit(self, share: float, number: int) -> Fit:
        """The fit of a share at one of the gammas."""
        fits = self._fits.setdefault(share, [])
        while len(fits) <= number:
            penalty = PricePenalty.of(self._costs, self._gammas[len(fits)])
            start = fits[-1].weights if fits else first_weights(self._rows)
            fits.append(alternate(self._rows, penalty, share, start, self._settings))
        return fits[number]

    def refit(self, support: tuple[int, ...], number: int) -> Fit:
        """A support at one of the shares, unpenalised."""
        fits = self._refits.setdefault(support, [])
        while len(fits) <= number:
            start = fits[-1].weights if fits else None
            fits.append(refit(self._rows, support, self._shares[len(fits)], self._settings, start))
        return fits[number]


def truncations(supports: Iterable[tuple[int, ...]], cuts: int) -> list[tuple[int, ...]]:
    """So many truncations of each support to the largest weights, the last of them the whole."""
    return [
        tuple(sorted(support[:size]))
        for support in supports
        for size in np.geomspace(1, max(len(support), 1), cuts).round().astype(int)
    ]


def singles(d: int) -> list[tuple[int, ...]]:
    """Every single feature, where they are not too many."""
    return [(a,) for a in range(d)] if d <= MOST_SINGLES else []


def refit(
    rows: StandardRows,
    support: tuple[int, ...],
    p_full: float,
    settings: AlternationSettings,
    start: Weights | None = None,
) -> Fit:
    """The alternation on the columns of a support, all but unpenalised."""
    columns = np.array(support, dtype=np.intp)
    part = rows.select(columns)
    fit = alternate(part, REFIT, p_full, first_weights(part) if start is None else start, settings)
    return Fit(columns, fit.weights, fit.value, fit.trace)


def best_support(
    rows: StandardRows,
    proposals: list[tuple[int, ...]],
    costs: Costs,
    p_full: float,
    gamma: float,
    settings: AlternationSettings,
) -> Fit:
    """The refit with the least objective when each feature costs gamma times its price, as in (OPT)."""

    def worth(fit: Fit) -> float:
        mask = np.zeros(costs.n_features, dtype=bool)
        mask[fit.columns] = True
        return fit.value + gamma * float(costs.price(mask))

    few = rows.sample(SCREENED)
    screened = sorted((refit(few, s, p_full, settings) for s in proposals), key=worth)
    if few is rows:
        return screened[0]
    finals = [
        refit(rows, tuple(fit.columns.tolist()), p_full, settings, fit.weights)
        for fit in screened[:FINALISTS]
    ]
    return min(finals, key=worth)


# Policies -----------------------------------------------------------------------------------------


def linear_policies(
    fit: Fit, rows: StandardRows, task: Task, threshold: float = 0.0
) -> tuple[LinearTreePolicy, LinearTreePolicy]:
    """The gate, which sends what scores above the threshold, and the cheap model."""
    costs = task.costs
    coef = np.zeros((costs.n_features, fit.weights.coef.shape[1]))
    coef[fit.columns] = fit.weights.coef / rows.scale[fit.columns][:, None]
    intercept = fit.weights.intercept - np.sum(rows.mean[:, None] * coef, axis=0)
    gate = linear_policy(costs, GATE_OUTPUT, coef[:, :1], intercept[:1] - threshold, rows.mean)
    cheap = linear_policy(costs, task.cheap_output, coef[:, 1:], intercept[1:], rows.mean)
    return gate, cheap


def linear_policy(
    costs: Costs, output: Output, coef: Floats, intercept: Floats, mean: Floats
) -> LinearTreePolicy:
    """A linear model as a tree of one node: it buys its features one by one."""
    support = np.flatnonzero((coef != 0).any(axis=1))
    return LinearTreePolicy(costs, output, LinearTree.single(support, coef, intercept, mean))
