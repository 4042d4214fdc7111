"""BudgetRF: random forests of cheap trees, under a budget for the mean bill."""

from __future__ import annotations

import copy
import math
import warnings
from dataclasses import KW_ONLY, dataclass, field
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from worthwhile.core.threads import Threads, count_threads
from worthwhile.core.trees import Trees
from worthwhile.costs import Costs, budget_quanta
from worthwhile.estimators._shared.covering import bill_of, covering, few_covering, present, sample
from worthwhile.estimators._shared.deprecation import once, with_old_names
from worthwhile.estimators._shared.held_out_choice import choose_point
from worthwhile.estimators._shared.importances import impurity_by_feature
from worthwhile.estimators._shared.parameters import ClassParameters, TrainingParameters
from worthwhile.estimators._shared.validation import read_validation, split_rows
from worthwhile.estimators._shared.weights import drop_weightless, exact_weight, read_weight
from worthwhile.estimators.base import CostAwareClassifier
from worthwhile.estimators.forest._growth import ForestRows, Growth, read_thresholds, ways_of
from worthwhile.estimators.forest._votes import Path, mean_bill, n_within, plant
from worthwhile.exceptions import WorthwhileWarning
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy

Floats = npt.NDArray[np.float64]

ALPHAS = (0.0, 2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 25.0, 35.0, 45.0)
"""The values that the paper chooses from."""

GRID_POWERS, GRID_DEPTHS = (4.0, 2.0, 1.0, 0.5, 0.25, 0.0), (1, 2, 4)
"""Where a sweep over powers of the prices starts, and levels of short trees in it."""

AUTO_POWERS, AUTO_TREES, SMALLEST_CHOICE = (1.0, 0.5, 0.25, 0.0), 10, 30
"""Powers of the prices that are chosen from, by forests of how many trees, with how many rows at least."""

PILOT = 4
"""Trees grown both ways when validation rows decide how."""


@with_old_names
@dataclass(eq=False, repr=False)
class BudgetedForestClassifier(ClassParameters, TrainingParameters, CostAwareClassifier):
    """A forest whose trees are cheap to walk, with as many of them as the budget pays for.

    Every split takes the feature with the least price per impurity taken away from its worse side.
    Trees are added until the mean bill on validation rows would pass the budget; a row pays for the
    union of the features on its paths.

    Parameters
    ----------
    budget : number or "auto", default="auto"
        Mean bill on the validation rows that the forest must keep. "auto": no limit but what
        ``price_power`` chooses. See :meth:`at`.
    costs : Costs, mapping or array, optional
        Prices of the features; None means 1 each.
    alpha : number, sequence of numbers or "validation", default=0.0
        Threshold of the Pairs impurity: larger values stop trees earlier, which makes them cheaper.
        Of several values (the paper's ten for "validation") the one with the best validation score
        within the budget is taken.
    n_trees : int, default=40
        Trees to grow at most.
    impurity : {"pairs", "powers", "entropy", "gini"} or list of terms, default="pairs"
        "powers" is ``(sum n_i)**power - sum n_i**power``. A list of terms ``(weight, exponents)``,
        one exponent per class, is a polynomial of the class weights. Entropy and Gini need
        ``criterion="expected"``.
    power : number, default=2
        Exponent of "powers".
    criterion : {"minimax", "expected", "auto"}, default="auto"
        Whether a split is judged by its worse side, as in the paper, or by the mean over its sides.
        "auto" goes with ``bootstrap``: "expected" on all rows or "minimax" on bootstrap samples,
        whichever scores better on the validation rows with the first four trees. The way of the
        paper without such rows, or where thresholds are not random.
    thresholds : {"random", "histogram", "exact"}, default="random"
        "random": ``n_thresholds`` per feature; "histogram": at most 255 quantile bins; "exact": all
        midpoints.
    n_thresholds : "auto", int or three ints, default="auto"
        Random thresholds per feature in nodes of more than 2000, more than 500, and fewer rows. The
        fewer, the more trees differ. "auto": the paper's 80, 40, 20 for bootstrap samples, a quarter
        of them where all trees see the same rows.
    bootstrap : bool or "auto", default="auto"
        Whether each tree sees a bootstrap sample, as in the paper. "auto": see ``criterion``.
    free_on_path : bool, default=False
        Charge a split for features, and groups, that the path to the node has bought no more than the
        cheapest feature costs: were they free, trees would never leave their first feature. The
        paper charges the full price at every split; bills count a feature once in any case.
    price_power : number or "auto", default="auto"
        Splits are judged by prices to this power: 1 is the paper's forest, which reads cheap
        features as long as they tell anything, whatever the budget; 0 looks at the impurity alone.
        Bills are not touched. "auto": from 1 to 0, judged by forests of a few trees on rows
        held out: the cheapest within one standard error of the best, or, under a budget, the best.
    preset : {"default", "paper"}, default="default"
        What "auto" stands for. "paper": the forest of the paper, whatever the rows say: its minimax
        criterion, bootstrap samples, its numbers of thresholds, prices as they are.
    max_depth : int, optional
        Levels of splits; None means until leaves are pure.
    validation_fraction : float or None, default=0.1
        Share of the rows held out to measure bills and scores when ``fit`` gets no validation set.
        None: all rows train and measure.
    random_state : int, RandomState or None
        Seed of hold-out, bootstrap and thresholds.
    categorical, dates, n_jobs, class_weight, calibrate, errors
        As in :class:`~worthwhile.GreedyMiserClassifier`, where they are described.

    Attributes
    ----------
    feature_importances_ : float64 array (d,)
        What splits on each feature take off the Gini impurity of rows of ``fit``; they add up to 1. Only of the
        forest as it was fitted.
    alpha_, price_power_ : float
        The threshold and the power that were taken.
    criterion_, bootstrap_ : str, bool
        How splits were judged, and whether trees saw bootstrap samples.
    n_trees_ : int
        Trees within the budget.
    trace_ : DataFrame
        One row per tree grown: n_trees, cost (mean validation bill), score (validation accuracy),
        features (tested by the trees so far). Rows past ``n_trees_`` are over the budget.
    alphas_ : DataFrame or None
        Trees, cost and score within the budget for each alpha tried.

    Notes
    -----
    Paper: Nan, Wang, Saligrama, "Feature-Budgeted Random Forest", ICML 2015, Algorithm 1, eq. 11.

    Differs from the paper: by default the validation rows decide between its forest and one of
    trees that see all rows, judge splits by the mean over both sides and differ by few random
    thresholds (Forest: three points less error at the same bill). The bound on the largest bill
    holds for "minimax" alone. A stump must take away more than 1e-7 of the impurity. Random
    thresholds compare values rounded to float32 where these are not such numbers already. The fee
    of a group is part of the price of each of its features in the risk. Missing values go to the
    side that leaves less impurity. If the first tree is over the budget, the answer is the training
    prior and costs nothing.

    Examples
    --------
    >>> from worthwhile import BudgetedForestClassifier, datasets
    >>> heart = datasets.load_heart()
    >>> model = BudgetedForestClassifier(alpha=2, costs=heart.costs, price_power=1, random_state=0)
    >>> model = model.fit(heart.data, heart.target)  # the cheapest: the paper's prices
    >>> cheap = model.at(budget=3)
    >>> 0 < cheap.n_trees_ < model.n_trees_, bool(cheap.trace_["cost"][cheap.n_trees_ - 1] <= 3)
    (True, True)
    """

    trade_off_parameters: ClassVar[tuple[str, ...]] = (
        "budget",
        "price_power",
        "max_depth",
    )
    _renamed: ClassVar[dict[str, str]] = {"max_trees": "n_trees"}
    policy_: TreePolicy = field(init=False)
    trace_: pd.DataFrame = field(init=False)
    feature_importances_: npt.NDArray[np.float64] = field(init=False)
    alphas_: pd.DataFrame | None = field(init=False)
    alpha_: float = field(init=False)
    price_power_: float = field(init=False)
    criterion_: str = field(init=False)
    bootstrap_: bool = field(init=False)
    bills_: list[int] = field(init=False)
    n_validation_: int = field(init=False)
    rest_: TreePolicy | None = field(init=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "budget": [Interval(Real, 0, None, closed="both"), StrOptions({"auto"})],
        "alpha": [Interval(Real, 0, None, closed="left"), StrOptions({"validation"}), "array-like"],
        "n_trees": [Interval(Integral, 1, None, closed="left")],
        "impurity": [StrOptions({"pairs", "powers", "entropy", "gini"}), list, tuple],
        "power": [Interval(Real, 2, None, closed="left")],
        "criterion": [StrOptions({"minimax", "expected", "auto"})],
        "thresholds": [StrOptions({"random", "histogram", "exact"})],
        "n_thresholds": [StrOptions({"auto"}), Integral, "array-like"],
        "bootstrap": ["boolean", StrOptions({"auto"})],
        "free_on_path": ["boolean"],
        "price_power": [Interval(Real, 0, None, closed="left"), StrOptions({"auto"})],
        "preset": [StrOptions({"default", "paper"})],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither"), None],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    budget: float | str = "auto"
    _: KW_ONLY
    alpha: Any = 0.0
    n_trees: int = 40
    impurity: Any = "pairs"
    power: float = 2
    criterion: str = "auto"
    thresholds: str = "random"
    n_thresholds: Any = "auto"
    bootstrap: bool | str = "auto"
    free_on_path: bool = False
    price_power: float | str = "auto"
    preset: str = "default"
    max_depth: int | None = None
    validation_fraction: float | None = 0.1
    random_state: Any = None

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, validation: Any = None
    ) -> BudgetedForestClassifier:
        """Grow the forest.

        Parameters
        ----------
        X : array or frame (n, d)
            NaN is a missing value.
        y : array (n,)
            Labels.
        sample_weight : array (n,), optional
            Weights of the rows.
        validation : pair (X, y), optional
            Rows to measure bills and scores on, instead of a share of the training rows.
        """
        self._validate_params()
        given = X, y
        X, y, costs = self._read_training(
            X, y, dtype=[np.float64, np.float32], weight=sample_weight
        )
        codes = self._read_labels(y)
        alphas = self._alphas()
        read_thresholds(self.n_thresholds)  # refuses what is no number of thresholds
        weight = exact_weight(read_weight(sample_weight, X, self.class_weight, y), len(X))
        weight, X, codes = drop_weightless(weight, X, codes)
        rng = np.random.default_rng(
            check_random_state(self.random_state).randint(2**31 - 1, size=4)
        )
        rows = self._rows(X, codes, weight, validation, rng)
        self.price_power_ = self._settled(*given, sample_weight, costs)
        seeds = rng.integers(2**63, size=self._n_trees(), dtype=np.uint64)
        with Threads(count_threads(self.n_jobs)) as threads:
            runs = self._grow_all(rows, costs, alphas, seeds, threads)
        self._choose(alphas, runs, costs)
        gains = impurity_by_feature(
            self._inner_policy.trees, rows.X, rows.codes, len(self.classes_), rows.weight
        )
        self.feature_importances_ = self._by_source(gains)
        return self

    @property
    def _limit(self) -> float:
        """The budget; no limit for "auto"."""
        return math.inf if isinstance(self.budget, str) else float(self.budget)

    def _settled(self, X: Any, y: Any, weight: Any, costs: Costs) -> float:
        """The power of the prices: as given, or for "auto" chosen on rows held out."""
        if not isinstance(self.price_power, str):
            return float(self.price_power)
        alike = len(np.unique(costs.flat.alone)) <= 1
        if self.preset == "paper" or alike or len(X) < SMALLEST_CHOICE:
            return AUTO_POWERS[0]
        quick = clone(self).set_params(n_trees=min(int(self.n_trees), AUTO_TREES))
        bill = bill_of(quick, *present(X, y, weight), "price_power")
        points = [{"price_power": power} for power in few_covering(bill, AUTO_POWERS)]
        best = math.isfinite(self._limit)
        return float(choose_point(quick, points, X, y, weight, best=best)["price_power"])

    def _grow_all(
        self, rows: ForestRows, costs: Costs, alphas: list[float], seeds: Any, threads: Threads
    ) -> list[tuple[Trees, Path]]:
        """All trees for every alpha, grown in the way that the first of them speak for."""
        k = len(self.classes_)
        mass: Floats = np.bincount(rows.codes, rows.weight, k).astype(np.float64)
        settings = {**self.get_params(deep=False), "price_power": self.price_power_}
        growth = Growth(settings, rows, costs.flat, k, threads)

        def look(grown: list[Any]) -> tuple[Trees, Path]:
            trees, label = plant(grown, mass / mass.sum(), threads, single=growth.single)
            path = Path(rows.X_valid, rows.codes_valid, trees, label, costs.flat, threads)
            return trees, path

        decide = rows.held_out and self.thresholds == "random" and self.preset == "default"
        ways = ways_of(self.criterion, self.bootstrap, self.impurity, decide=decide)
        pilots: list[Any] = [[] for _ in ways]
        best = 0
        if len(ways) > 1:
            pilots = [growth.grow(alphas[0], way, seeds[:PILOT]) for way in ways]
            best = int(np.argmax([look(grown)[1].score[-1] for grown in pilots]))
        way, grown = ways[best], pilots[best]
        self.criterion_, self.bootstrap_ = way.criterion, way.bootstrap
        runs = [look([*grown, *growth.grow(alphas[0], way, seeds[len(grown) :])])]
        return runs + [look(growth.grow(alpha, way, seeds)) for alpha in alphas[1:]]

    def _alphas(self) -> list[float]:
        if isinstance(self.alpha, str):
            return list(ALPHAS)
        alphas = np.atleast_1d(np.asarray(self.alpha, dtype=np.float64)).tolist()
        if not alphas or not all(0 <= alpha < math.inf for alpha in alphas):
            raise ValueError(
                f"alpha is {self.alpha!r}: give a number >= 0, several of them, or 'validation'."
            )
        return alphas

    def _n_trees(self) -> int:
        """Trees to grow: one where all would be the same."""
        if self.bootstrap or self.thresholds == "random":
            return self.n_trees
        if self.n_trees > 1:
            warnings.warn(
                f"thresholds={self.thresholds!r} with bootstrap=False makes all trees the same: one is grown. "
                "Use bootstrap=True, or n_trees=1.",
                WorthwhileWarning,
                stacklevel=3,
            )
        return 1

    def _rows(self, X: Any, codes: Any, weight: Floats, validation: Any, rng: Any) -> ForestRows:
        if validation is not None:
            return ForestRows(X, codes, weight, *read_validation(self, validation))
        if self.validation_fraction is not None:
            train, held = split_rows(len(X), self.validation_fraction, rng, codes)
            if len(held):
                return ForestRows(X[train], codes[train], weight[train], X[held], codes[held])
        return ForestRows(X, codes, weight, X, codes)

    def _choose(self, alphas: list[float], runs: list[tuple[Trees, Path]], costs: Costs) -> None:
        """Take the alpha with the best validation score within the budget; ties: cheaper, earlier."""
        table = []
        for alpha, (trees, path) in zip(alphas, runs, strict=True):
            kept = n_within(path.quanta, path.n_rows, self._limit)
            score = path.score[kept - 1] if kept else self._prior_score(trees, path)
            table.append((alpha, kept, path.cost(kept), score))
        best = min(range(len(table)), key=lambda i: (-table[i][3], table[i][2], i))
        trees, path = runs[best]
        self.alpha_ = alphas[best]
        names = ["alpha", "n_trees", "cost", "score"]
        self.alphas_ = pd.DataFrame(table, columns=names) if len(table) > 1 else None
        self.bills_, self.n_validation_ = path.quanta, path.n_rows
        self.trace_ = pd.DataFrame(
            {
                "n_trees": np.arange(1, trees.n_trees + 1),
                "cost": [mean_bill(paid, path.n_rows) for paid in path.quanta],
                "score": path.score,
                "features": path.features,
            }
        )
        self._keep(trees, costs)

    def _prior_score(self, trees: Trees, path: Path) -> float:
        return float(np.mean(path.codes == np.argmax(trees.base[: len(self.classes_)])))

    def _keep(self, trees: Trees, costs: Costs) -> None:
        """Split all trees at the budget: what is used, and what is kept for larger budgets."""
        kept = n_within(self.bills_, self.n_validation_, self._limit)
        if kept == 0:
            warnings.warn(
                f"budget={self.budget} does not pay for a single tree (the first has a mean bill of "
                f"{self.trace_['cost'][0]:g}): the model answers with the training prior. Use a larger budget, or a "
                "larger alpha for cheaper trees.",
                WorthwhileWarning,
                stacklevel=3,
            )
        self._divide(trees, kept, costs)

    def _divide(self, trees: Trees, kept: int, costs: Costs) -> None:
        output = Output("votes", self.classes_)
        self.policy_ = TreePolicy(costs, output, trees.first(kept))
        self.rest_ = None
        vars(self).pop("feature_importances_", None)  # those of other trees
        if kept < trees.n_trees:
            self.rest_ = TreePolicy(costs, output, trees.between(kept, trees.n_trees))

    @property
    def n_trees_(self) -> int:
        """Trees within the budget."""
        self._check_fitted()
        return int(self._inner_policy.trees.n_trees)

    def at(
        self, *, budget: float | None = None, stage: int | None = None
    ) -> BudgetedForestClassifier:
        """The fitted forest under another budget, without growing anything: a prefix of the same trees.

        ``alpha_`` stays as it was chosen. With ``stage`` instead: the first so many trees.
        """
        self._check_fitted()
        if (budget is None) == (stage is None):
            raise ValueError(f"budget={budget} and stage={stage} were given: give one of the two.")
        budget_quanta(budget)  # refuses what is no budget
        other = copy.copy(self)
        trees, costs = self._inner_policy.trees, self._inner_policy.costs
        if self.rest_ is not None:
            trees = Trees.join([trees, self.rest_.trees])
        if stage is None:
            other.budget = float("inf") if budget is None else budget
            other._keep(trees, costs)
            return other
        if not 0 <= stage <= trees.n_trees:
            raise ValueError(
                f"stage is {stage}: the forest has 0 to {trees.n_trees} trees to keep."
            )
        other._divide(trees, stage, costs)
        return other

    with_budget = once("with_budget", budget="budget")

    def trade_off_grid(self, X: Any, y: Any = None) -> list[dict[str, Any]]:
        """Short trees, then powers of the prices by bisection on the mean bill of five trees.

        Every number of trees of each forest is a point of its own (``at(stage=...)``).
        """
        alone = self._costs_for(X).flat.alone
        alone = np.unique(alone[alone > 0])
        point: dict[str, Any] = {"budget": float("inf"), "price_power": 1.0}
        if not len(alone):
            return [point]
        deepest = math.inf if self.max_depth is None else int(self.max_depth)
        short = [{**point, "max_depth": depth} for depth in GRID_DEPTHS if depth < deepest]
        whole = {**point, "max_depth": self.max_depth}
        if y is None or len(alone) == 1:
            return [*short, whole]
        probe = clone(self).set_params(budget=float("inf"), n_trees=min(int(self.n_trees), 5))
        found = covering(bill_of(probe, *sample(X, y), "price_power"), GRID_POWERS)
        return [*short, *({**whole, "price_power": power} for power in found)]
