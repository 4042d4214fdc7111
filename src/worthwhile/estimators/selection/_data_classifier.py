"""Data classifiers that answer from any set of factors, and the folds that keep them honest."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from worthwhile.core import links
from worthwhile.core.threads import Threads, count_threads
from worthwhile.policy.output import Output
from worthwhile.policy.selection.rows import (
    Bools,
    FactorPrices,
    ForeignScorer,
    Ints,
    Layout,
    Linear,
)

Floats = npt.NDArray[np.float64]
Scorer = Linear | ForeignScorer
Masks = list[Bools]
"""Per copy of the training rows (n, n_factors): which factors are known."""

FULL_COPIES, MASKED_COPIES = 2, 2
"""How often each training row is seen in full, and with random factors left out, at first."""

STRENGTHS = (0.01, 0.1, 1.0)
"""Values of C among which the default classifier chooses; ties go to the smallest. Larger ones make
probabilities sharper than they are good: policies then stop too early."""

PARTS, JUDGES = 10, 500
"""Rows are set aside by tenths to choose C, until so many have been: one tenth of a small table would
leave the choice to chance."""

ABSENT = -30.0
"""Logit of a class that a fold has not seen."""


def output_of(scorer: Scorer, classes: npt.NDArray[Any]) -> Output:
    """What a data classifier's answers mean."""
    return Output("logits" if isinstance(scorer, Linear) else "probabilities", classes)


@dataclass(frozen=True)
class DataSettings:
    """How data classifiers are trained."""

    classifier: Any
    """A scikit-learn classifier to clone; None is multinomial logistic regression with a tuned C."""
    masked: bool
    n_folds: int | None
    n_jobs: int | None
    given: Scorer | None = None
    """A classifier that came fitted: it answers for all rows, and nothing is trained."""
    origin: Ints | None = None
    """Number of the row that each one is a copy of: copies are in one fold."""

    @classmethod
    def of(cls, estimator: Any, given: Scorer | None, origin: Ints) -> DataSettings:
        """As the parameters of an estimator say; a classifier that came fitted knows no marks."""
        masked = estimator.masked and given is None
        return cls(estimator.classifier, masked, estimator.n_folds, estimator.n_jobs, given, origin)


class _Constant:
    """Stands for a classifier where training rows have one class only."""

    def __init__(self, code: int) -> None:
        self.classes_ = np.array([code])

    def predict_proba(self, inputs: Floats) -> Floats:
        return np.ones((len(inputs), 1))


def fit_scorer(
    Z: Floats,
    codes: Ints,
    masks: Masks,
    n_classes: int,
    layout: Layout,
    settings: DataSettings,
    seed: int,
) -> Scorer:
    """Train one data classifier on standardised rows."""
    inputs, targets = Z, codes
    if settings.masked:
        inputs, targets = masked_rows(Z, codes, masks, layout)
    model = clone(settings.classifier)
    if "random_state" in model.get_params() and model.get_params()["random_state"] is None:
        model.set_params(random_state=seed)
    linear = isinstance(model, LogisticRegression)
    if len(np.unique(codes)) < 2 or (linear and inputs.shape[1] == 0):
        return _prior(codes, n_classes, layout, linear, settings.masked)
    with warnings.catch_warnings():
        # Where lbfgs stops is of no concern: any linear scores are legal ones.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(inputs, targets)
    if not linear:
        return ForeignScorer(model, n_classes, settings.masked)
    return _as_linear(model, n_classes, layout, settings.masked)


def _prior(codes: Ints, n_classes: int, layout: Layout, linear: bool, masked: bool) -> Scorer:
    if not linear:
        return ForeignScorer(_Constant(int(codes[0])), n_classes, masked)
    share = np.bincount(codes, minlength=n_classes) / len(codes)
    bias = np.log(np.maximum(share, np.exp(ABSENT)))
    return Linear(
        np.zeros((layout.n_entries, n_classes)), np.zeros((layout.n_factors, n_classes)), bias
    )


def _as_linear(model: Any, n_classes: int, layout: Layout, masked: bool) -> Linear:
    """Weights for all classes; two classes get half of the one weight each, with both signs."""
    coefficient, intercept = model.coef_, model.intercept_
    if len(model.classes_) == 2 and len(coefficient) == 1:
        coefficient = np.vstack([-coefficient, coefficient]) / 2
        intercept = np.array([-intercept[0], intercept[0]]) / 2
    weight = np.zeros((n_classes, coefficient.shape[1]))
    weight[model.classes_] = coefficient
    bias = np.full(n_classes, ABSENT)
    bias[model.classes_] = intercept
    e = layout.n_entries
    mark = weight[:, e:].T if masked else np.zeros((layout.n_factors, n_classes))
    return Linear(np.ascontiguousarray(weight[:, :e].T), np.ascontiguousarray(mark), bias)


def masked_rows(Z: Floats, codes: Ints, masks: Masks, layout: Layout) -> tuple[Floats, Ints]:
    """A copy of the rows per mask, with the marks of what is there as further columns."""
    owner, blocks = layout.owner(), []
    for marks in masks:
        known = np.hstack([marks, np.ones((len(Z), 1), dtype=bool)])
        blocks.append(np.hstack([Z * known[:, owner], marks]))
    return np.vstack(blocks), np.tile(codes, len(masks))


def random_masks(n: int, n_factors: int, rng: np.random.Generator) -> Masks:
    """Full rows, and rows with random factors left out, of which 0 to all but one stay."""
    everything = np.ones((n, n_factors), dtype=bool)
    if n_factors == 0:
        return [everything]
    masks = [everything] * FULL_COPIES
    for _ in range(MASKED_COPIES):
        stay = rng.integers(0, n_factors, n)
        rank = rng.random((n, n_factors)).argsort(axis=1).argsort(axis=1)
        masks.append(rank < stay[:, None])
    return masks


def masks_of_orders(when: Ints, rng: np.random.Generator) -> Masks:
    """Full rows, rows as their purchases ended, and rows on the way there.

    ``when`` (n, n_factors) is the step at which a factor was bought, -1 where it was not. The
    number of purchases so far is uniform from 0 to all but one.
    """
    bought = when >= 0
    count = bought.sum(axis=1)
    so_far = rng.integers(0, np.maximum(count, 1))
    return [np.ones_like(bought), bought, bought & (when < so_far[:, None])]


def assign_folds(codes: Ints, n_folds: int, rng: np.random.Generator) -> Ints:
    """Fold of each row: every class is dealt out evenly, in random order."""
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    folds = np.empty(len(codes), dtype=np.int64)
    folds[order] = np.arange(len(codes)) % n_folds
    return folds


def fit_folds(
    Z: Floats,
    codes: Ints,
    n_classes: int,
    layout: Layout,
    settings: DataSettings,
    seed: int,
    masks: Masks | None = None,
) -> tuple[Scorer, list[tuple[Ints, Scorer]]]:
    """The classifier of all rows, and for each fold its rows and the classifier of the others.

    ``masks`` say which factors the copies of the rows have; None: random ones. The folds depend on
    the seed alone.
    """
    if settings.given is not None:
        return settings.given, [(np.arange(len(Z)), settings.given)]
    rng = np.random.default_rng(seed)
    _, first, origin = np.unique(
        np.arange(len(Z)) if settings.origin is None else settings.origin,
        return_index=True, return_inverse=True,
    )  # fmt: skip
    n_folds = min(settings.n_folds or 1, len(first))
    folds = assign_folds(codes[first], n_folds, rng)[origin]
    training = [np.ones(len(Z), dtype=bool)]
    if n_folds > 1:
        training += [folds != fold for fold in range(n_folds)]
    seeds = rng.integers(0, 2**31, len(training))
    parts_aside = assign_folds(codes[first], min(PARTS, len(first)), rng)[origin]
    if not settings.masked:
        masks = [np.ones((len(Z), layout.n_factors), dtype=bool)]
    elif masks is None:
        masks = random_masks(len(Z), layout.n_factors, rng)

    def fit(rows: Bools, settings: DataSettings, seed: int) -> Scorer:
        chosen = [mask[rows] for mask in masks]
        return fit_scorer(Z[rows], codes[rows], chosen, n_classes, layout, settings, seed)

    def loss(C: float, part: int) -> float:
        aside = parts_aside == part
        scorer = fit(~aside, _logistic(settings, C), 0)
        return log_loss(scorer, Z[aside], codes[aside], [mask[aside] for mask in masks], layout)

    with threadpool_limits(1), Threads(count_threads(settings.n_jobs)) as threads:
        if settings.classifier is None:
            turns = range(min(int(parts_aside.max()) + 1, -(-JUDGES * PARTS // len(Z))))
            tried = [(C, part) for C in STRENGTHS for part in turns]
            losses = np.array(list(threads.map(lambda one: loss(*one), tried)))
            mean = losses.reshape(len(STRENGTHS), -1).mean(axis=1)
            settings = _logistic(settings, STRENGTHS[int(np.argmin(mean))])
        seeded = zip(training, seeds, strict=True)
        scorers = list(threads.map(lambda one: fit(one[0], settings, int(one[1])), seeded))
    if n_folds == 1:
        return scorers[0], [(np.arange(len(Z)), scorers[0])]
    parts = [(np.flatnonzero(folds == fold), scorers[fold + 1]) for fold in range(n_folds)]
    return scorers[0], parts


def _logistic(settings: DataSettings, C: float) -> DataSettings:
    return replace(settings, classifier=LogisticRegression(C=C, max_iter=200, tol=1e-3))


def log_loss(scorer: Scorer, Z: Floats, codes: Ints, masks: Masks, layout: Layout) -> float:
    """Mean log-loss on rows set aside, which are masked as training rows are."""
    assert isinstance(scorer, Linear)
    inputs, targets = masked_rows(Z, codes, masks, layout)
    raw = inputs @ np.vstack([scorer.weight, scorer.mark]) + scorer.bias
    return -float(links.log_softmax(raw)[np.arange(len(targets)), targets].mean())


class World:
    """Rows with their values, labels and data classifiers: where policies are tried out.

    Parameters
    ----------
    Z : float64 (n, entries)
        Standardised values.
    codes : int (n,)
        Labels as 0, 1, ...
    parts : list of (rows, scorer)
        Which data classifier answers for which rows.
    n_jobs : int, optional
        Threads of the oracle.

    Attributes
    ----------
    adds : float64 (n, n_factors, n_classes) or None
        What each factor adds to the logits of each row, where all classifiers are linear.
    """

    def __init__(
        self,
        Z: Floats,
        codes: Ints,
        n_classes: int,
        layout: Layout,
        prices: FactorPrices,
        parts: list[tuple[Ints, Scorer]],
        n_jobs: int | None = 1,
    ) -> None:
        self.Z, self.codes, self.n_classes = Z, codes, n_classes
        self.layout, self.prices = layout, prices
        self._parts = parts
        self._part_of = np.zeros(len(Z), dtype=np.int64)
        for number, (members, _) in enumerate(parts):
            self._part_of[members] = number
        self.n_jobs = n_jobs
        self.adds: Floats | None = None
        if all(isinstance(scorer, Linear) for _, scorer in parts):
            self.adds = self._sums()

    def _sums(self) -> Floats:
        """What each factor adds to the logits of each row: the oracle then only adds."""
        layout, n, k = self.layout, len(self.Z), self.n_classes
        self._base = np.zeros((n, k))
        adds = np.zeros((n, layout.n_factors, k))
        with threadpool_limits(1):
            for rows, scorer in self._parts:
                assert isinstance(scorer, Linear)
                for f in range(layout.n_factors + 1):
                    entries = layout.entries(f)
                    add = self.Z[rows, entries] @ scorer.weight[entries]
                    if f < layout.n_factors:
                        adds[rows, f] = add + scorer.mark[f]
                    else:
                        self._base[rows] = scorer.bias + add
        return adds

    def raw(self, rows: Ints, bought: Bools) -> Floats:
        """Logits of the linear classifiers, log probabilities of others, (m, n_classes)."""
        if self.adds is not None:
            sums: Floats = self._base[rows] + np.einsum("mf,mfk->mk", bought, self.adds[rows])
            return sums
        return self._foreign(rows, bought)

    def raw_after(self, rows: Ints, bought: Bools, factors: Ints, raw: Floats) -> Floats:
        """The same after buying one of the given factors (m, r) more: (m, r, n_classes)."""
        if self.adds is not None:
            after: Floats = raw[:, None, :] + self.adds[rows[:, None], factors]
            return after
        m, r = factors.shape
        more = np.repeat(bought, r, axis=0)
        more[np.arange(m * r), factors.ravel()] = True
        return self._foreign(np.repeat(rows, r), more).reshape(m, r, -1)

    def _foreign(self, rows: Ints, bought: Bools) -> Floats:
        owner = self.layout.owner()
        marks = np.hstack([bought, np.ones((len(bought), 1), dtype=bool)])
        z = self.Z[rows] * marks[:, owner]
        raw = np.empty((len(rows), self.n_classes))
        for number in np.unique(self._part_of[rows]):
            here = self._part_of[rows] == number
            scorer = self._parts[number][1]
            assert not isinstance(scorer, Linear)
            chances = scorer(z[here], bought[here].astype(np.float64))
            raw[here] = np.log(np.maximum(chances, np.exp(ABSENT)))
        return raw
