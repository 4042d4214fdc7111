"""The one to use for classes: a budget or the price of an error, and nothing else to set."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from worthwhile.core.threads import Threads, count_threads
from worthwhile.costs import Errors, budget_quanta
from worthwhile.estimators._shared.coded_forests import Table
from worthwhile.estimators._shared.parameters import ClassParameters
from worthwhile.estimators._shared.weights import (
    drop_weightless,
    read_weight,
    relative_weight,
)
from worthwhile.estimators.base import CostAwareClassifier
from worthwhile.estimators.budget._base import CONSTRAINTS, BudgetModel
from worthwhile.estimators.budget._payoff import Classes
from worthwhile.policy.output import Output

Floats = npt.NDArray[np.float64]

LEAST_SETS = 12
"""Sets, about, that have a share of each class for every row at once."""


def _memory() -> float:
    """Bytes of this machine, where they can be known."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def _refuse_too_many(n_rows: int, n_classes: int, most: float) -> None:
    """Refuse classes whose shares could not be held: the system would end the process without a word."""
    needed = 8.0 * LEAST_SETS * n_rows * n_classes
    if needed > most:
        raise ValueError(
            f"y has {n_classes} classes in {n_rows} rows: their shares take {needed / 2**30:.0f} GiB or more, and "
            f"there are {most / 2**30:.0f}. Give fewer rows, or join rare classes."
        )


@dataclass(eq=False, repr=False, kw_only=True)
class BudgetClassifier(ClassParameters, BudgetModel, CostAwareClassifier):
    """Answers that are worth their price: the whole frontier from one training.

    A library of feature sets, each with a forest, and rules that lead every case from small sets
    to larger ones while that is worth the price. Sets are found by forward search over what can be
    bought (a feature, or all of a group with a fee); rules by backward induction on the answers of
    trees to rows that they were not grown on, for many worths of money. ``frontier_`` has what each
    costs and how often it is right; :meth:`at` goes from one to another.

    Parameters
    ----------
    budget : number, optional
        Mean bill per case. Without it, and without prices of errors: the cheapest point within one
        standard error of the best.
    costs : Costs, mapping or array, optional
        Prices of the features; None means 1 each.
    categorical, dates : lists of columns, optional
        Columns, by name or number, that are categories or dates (as text in ISO form), where their types
        do not say so.
    errors : mapping {true: {predicted: price}}, Errors or number, optional
        Prices of wrong answers, in the unit of the prices of features; what is left out costs 0.
        Answers are then those of the least expected price, a case is bought for while that saves
        more than it costs, and the point in use has the least total, or is a cheaper one within half a
        standard error of it.
    worth : number, optional
        Or what a right answer is worth: every wrong one costs so much.
    refer : number, optional
        Price of handing a case to a person, where errors have prices: "refer" is then predicted, or
        what ``Errors(refer_label=...)`` names; :meth:`referred` says which.
    mix : bool, default=False
        Whether a budget may be met by two lines of ``frontier_`` and a share of the cases for the dearer
        one. That uses nearly all of the budget, and chance decides who gets a test: see the guide on
        mixing, and give ``key=`` when you predict.
    n_trees : int, default=48
        Trees of a forest; three times as many up to 1,000 rows, and a quarter more where random cuts are made
        on many columns.
    cross_validated : bool, default=True
        Whether up to 5,000 rows are held out in turn, so that ``frontier_`` says what new rows will
        cost and be worth. Without it training is several times faster and the figures flatter: for
        those who measure on rows of their own.
    confidence : float, default=0.95
        Certainty that the mean bill of new rows stays within the budget.
    max_stages, time_limit : int and seconds, optional
        Where training stops early: after so many stages, or with the stage in which the time is over.
        Stages are further lists of purchases, lists for parts of the rows, sets that close gaps, and the
        folds that the figures of ``frontier_`` come from; the first list, its forests and a first fold are
        always made.
    n_jobs : int, optional
        Threads; None means all cores. The model does not depend on it.
    random_state : int, RandomState or None
        Seed of everything random.
    class_weight : dict or "balanced", optional
    calibrate : {"temperature", "sigmoid", "isotonic"}, optional
        As in :class:`~worthwhile.GreedyMiserClassifier`, where both are described.
    verbose : int, default=0
        1 shows progress on stderr, with the time that remains.

    Attributes
    ----------
    frontier_ : DataFrame
        One line per point, cheapest first: mean bill, its standard error, the bound that the mean
        bill of new rows stays below with the stated confidence, and that of a line that is mixed with
        another; share of right answers (minus the
        price of errors, where they have prices) and its standard error; what a unit of money is worth
        there; and the total per case, where errors have prices. All of it is measured on rows that
        had no part in making the policy.
    point_ : int
        Line of the point in use.
    mixture_ : tuple of two lines and a share, or None
        Which lines are mixed, and the share of the cases that follow the second; ``point_`` is the first.
    seed_ : int
        Seed of what is random, and of the coin.
    n_stages_ : int
        Number of lines.
    training_stages_ : int
        Stages of the training: ``max_stages`` of so many gives the same model without a limit of time.
    feature_importances_ : float64 array (d,)
        How far splits on each feature move the answers to training rows, at most 2,000 of them; they add up to 1,
        or are 0 where the point in use buys nothing. A file holds no rows, so not them: :meth:`importances` takes
        rows of yours, and has what features cost, too.

    Notes
    -----
    What ``frontier_`` says holds for new rows: up to 5,000 rows the whole training is done again
    without a fifth of the rows, once for each fifth or until 600 rows were left out, and a
    line's figures are those of the rows left out, under the policies of about the same bill that were
    found without them. With more rows, the model itself is measured on rows that no choice was made on,
    by trees that did not see them. For a budget, lines are gone through from the cheapest on, up to
    the first whose mean bill may exceed it with more than ``1 - confidence``.

    A file holds the whole frontier, but not what :meth:`at` needs for other prices of errors.

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import BudgetClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 4))
    >>> y = X[:, 1] + 0.5 * X[:, 3] > 0
    >>> model = BudgetClassifier(budget=2, costs=[1, 1, 1, 5], random_state=0).fit(X, y)
    >>> bool(model.cost(X).mean() <= 2), bool(model.score(X, y) > 0.8)
    (True, True)
    >>> richer = model.at(budget=6)
    >>> bool(richer.score(X, y) > model.score(X, y))
    True
    >>> careful = model.at(worth=100)  # a wrong answer costs 100
    >>> bool(careful.cost(X).mean() > model.cost(X).mean())
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = CONSTRAINTS

    worth: Any = None
    refer: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BudgetClassifier:
        """Learn the whole frontier.

        Parameters
        ----------
        X : array or frame (n, d)
            Rows; NaN is an empty value.
        y : array (n,)
            Labels.
        sample_weight : array (n,), optional
            Weights of the rows.
        """
        self._validate_params()
        budget_quanta(self.budget)
        given = X
        X, y, costs = self._read_training(X, y, weight=sample_weight)
        weight, X, y = drop_weightless(read_weight(sample_weight, X, self.class_weight, y), X, y)
        codes = self._read_labels(y)
        _refuse_too_many(len(X), len(self.classes_), _memory())
        weight = relative_weight(weight, len(X))
        with Threads(count_threads(self.n_jobs)) as threads:
            table = Table(X, codes, None, weight, len(self.classes_), threads)
            return self._learn(table, codes, costs, threads)._remember(given)

    def _read_errors(self) -> Errors | None:
        if self.errors is not None and self.worth is not None:
            raise ValueError(
                "errors and worth are both given: worth=w is short for w for every error."
            )
        if self.errors is None and self.worth is None and self.refer is not None:
            raise ValueError(
                "refer is given without errors: a person is worth asking only where errors cost."
            )
        found = Errors.of(self.errors) if self.worth is None else Errors(worth=self.worth)
        return found if found is None or self.refer is None else found.referring(self.refer)

    def _payoff(self, truth: Any, weight: Floats) -> Classes:
        errors, n_classes = self._read_errors(), len(self.classes_)
        table = None if errors is None else errors.for_classes(self.classes_)
        return Classes(truth, n_classes, weight, table)

    def _output(self) -> Output:
        return Output("probabilities", self.classes_)

    def at(
        self,
        *,
        budget: Any = None,
        stage: int | None = None,
        errors: Any = None,
        worth: Any = None,
        refer: Any = None,
        mix: bool | None = None,
    ) -> Self:
        """Return a copy at another point of the frontier; nothing is trained again.

        Parameters
        ----------
        budget : number, optional
            Mean bill that the copy keeps to.
        stage : int, optional
            Or the line of ``frontier_`` itself.
        errors, worth, refer : optional
            Or other prices of errors, with a frontier of their own.
        mix : bool, optional
            Whether two lines may be mixed to meet the budget; by default as the model itself.
        """
        if errors is None and worth is None and refer is None:
            return self._at(budget, stage, mix)
        if stage is not None:
            raise ValueError("at takes prices of errors or a stage: other prices have other lines.")
        return self._at_errors(mix, budget=budget, errors=errors, worth=worth, refer=refer)

    def referred(self, X: Any, budget: Any = None, *, key: Any = None) -> npt.NDArray[np.bool_]:
        """Which cases are better handed to a person, bool (n,): where that costs less than an error."""
        self._check_fitted()
        errors = self.policy_.output.errors
        if errors is None or errors.refer is None:
            raise ValueError("nothing is referred: give the price of it, refer=, beside errors=.")
        answers = self.predict(X, budget, key=key)
        return np.array([answer == errors.refer_label for answer in answers.tolist()])
