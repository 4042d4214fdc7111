"""The eight methods of the ranking benchmark: each yields points of NDCG@5 and mean bill.

Everything is trained on training documents and measured on validation documents, by which settings
are chosen, and on test documents, which are only reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from worthwhile import (
    BudgetedForestClassifier,
    CascadeClassifier,
    Costs,
    EarlyExitRegressor,
    FeatureSubsets,
    GreedyMiserRegressor,
    SubmodularTreeRegressor,
)
from worthwhile.metrics import irrelevant_weight, ndcg_at_k, replicate_irrelevant

EVERY = 10
"""Rounds from one candidate for the best round to the next; from one exit to the next where not stated."""

GROUPS = 20
"""Groups of test queries, whose spread gives standard errors."""


@dataclass
class Documents:
    """Documents with grades and queries; irrelevant ones repeated where the paper does so."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray
    times: int = 1

    def __post_init__(self) -> None:
        self.rows = replicate_irrelevant(self.y, self.times)
        self.queries, self.grades = self.qid[self.rows], self.y[self.rows]

    def repeated(self, values: np.ndarray) -> np.ndarray:
        """Values of the distinct documents, for all of them."""
        return values[self.rows]

    def ndcg(self, score: np.ndarray) -> float:
        """NDCG@5 of scores of all documents."""
        return ndcg_at_k(self.grades, score, self.queries)

    def by_group(self, score: np.ndarray) -> list[float]:
        """NDCG@5 in each group of queries."""
        group = np.unique(self.queries, return_inverse=True)[1] % GROUPS
        masks = [group == g for g in range(GROUPS)]
        return [ndcg_at_k(self.grades[m], score[m], self.queries[m]) for m in masks]


@dataclass
class Problem:
    """Training, validation and test documents, and prices."""

    name: str
    train: Documents
    held: Documents
    test: Documents
    costs: Costs
    rounds: int
    misers: tuple[float, float] = (-3.4, -1.4)
    """Powers of ten between which Greedy Miser's lam lies, as a share of the one that buys nothing."""
    lams: int = 8
    """How many of them, evenly spaced."""
    finer: tuple[float, ...] = ()
    """Further powers, where stage-wise regression is about to be matched."""
    chain: tuple[float, float] = (-1.6, -0.6)
    """Powers of ten between which Cronus' lam lies, for a mean price of 1."""
    more: int = 1
    """How many times as many trees Greedy Miser and Cronus may have: on features bought already they are
    free for the one, and the other starts from small ones and keeps only some."""
    every: int = EVERY
    """Rounds from one exit to the next."""
    shares: tuple[float, ...] = (0.0, 0.3, 0.6, 0.8, 1.0, 1.5, 2.5)
    """Thresholds of Early Exit, in standard deviations of the score."""
    weight: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.weight = irrelevant_weight(self.train.y, self.train.times)


@dataclass
class Point:
    """One setting of a method: on validation documents, and on test documents."""

    method: str
    setting: str
    held: list[Any]
    test: list[Any]
    """Bill by row, bill by model (None where the method has none), NDCG@5."""
    groups: list[float]
    """NDCG@5 of groups of test queries."""

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def measure(problem: Problem, method: str, setting: str, say) -> Point:
    """``say(documents)`` gives scores, bills by row and bills by model (or None) of all documents."""
    held_score, *held_bills = say(problem.held)
    test_score, *test_bills = say(problem.test)

    def means(bills) -> list[Any]:
        return [None if bill is None else float(bill.mean()) for bill in bills]

    return Point(
        method,
        setting,
        [*means(held_bills), problem.held.ndcg(held_score)],
        [*means(test_bills), problem.test.ndcg(test_score)],
        problem.test.by_group(test_score),
    )


def pointwise(problem: Problem, method: str, setting: str, model, score=None) -> Point:
    """A model whose documents do not see each other."""

    def say(documents: Documents):
        scores = (score or model.predict)(documents.X)
        by_model = None
        if isinstance(model, GreedyMiserRegressor):
            by_model = model.cost(documents.X, accounting="model")
        bill = documents.repeated(model.cost(documents.X))
        return documents.repeated(scores), bill, by_model

    return measure(problem, method, setting, say)


def with_exits(problem: Problem, method: str, setting: str, model, threshold: float) -> Point:
    """Documents of a query decide together; copies of irrelevant documents take part."""
    exits = EarlyExitRegressor(model, threshold=threshold, every=problem.every)
    exits.fit(problem.train.X[:50], problem.train.y[:50])

    def say(documents: Documents):
        X, qid = documents.repeated(documents.X), documents.queries
        by_model = exits.cost(X, qid=qid, accounting="model")
        return exits.predict(X, qid=qid), exits.cost(X, qid=qid), by_model

    return measure(problem, method, setting, say)


def best_round(model: GreedyMiserRegressor, held: Documents) -> tuple[GreedyMiserRegressor, float]:
    """The model cut to its best round on validation documents, and how good it is there."""
    found = []
    for number, score in enumerate(model.staged_predict(held.X), start=1):
        if number % EVERY == 0:
            found.append((held.ndcg(held.repeated(score)), -number))
    best, rounds = max(found)
    return model.at(stage=-rounds), best


def booster(problem: Problem, depth: int = 3) -> GreedyMiserRegressor:
    return GreedyMiserRegressor(
        costs=problem.costs, preset="paper", n_rounds=problem.rounds, max_depth=depth
    )


def plain_trees(problem: Problem, quick: bool) -> Iterator[Point]:
    """Stage-wise regression, feature subsets, and Early Exit."""
    held, train = problem.held, problem.train
    whole, _ = best_round(booster(problem).fit(train.X, train.y, problem.weight), held)
    setting = f"{whole.n_rounds_} trees"
    yield pointwise(problem, "stage-wise regression", setting, whole)
    prices = sorted({float(p) for p in problem.costs.prices.values()})
    # The paper's caps are four of seven prices, the last of them all features; else, quartiles.
    caps = [1, 20, 100] if prices[-1] == 200 else np.quantile(prices, [0.25, 0.5, 0.75])
    for cap in caps if len(prices) > 1 else []:
        model = FeatureSubsets(booster(problem), cap=float(cap))
        cut, _ = best_round(model.fit(train.X, train.y, problem.weight).model_, held)
        yield pointwise(problem, "feature subsets", f"price at most {cap:g}", cut)
    spread = float(np.std(whole.predict(held.X)))
    for share in problem.shares:
        yield with_exits(problem, "Early Exit", f"s={share:g} sd", whole, share * spread)


def miser(problem: Problem, quick: bool) -> Iterator[Point]:
    """Greedy Miser, alone and with Early Exit."""
    held, train = problem.held, problem.train
    plain = booster(problem).set_params(n_rounds=problem.more * problem.rounds)
    top = plain.lam_max(train.X, train.y, problem.weight)
    powers = np.union1d(np.linspace(*problem.misers, 4 if quick else problem.lams), problem.finer)
    for power in powers.tolist():
        model = plain.set_params(lam=top * 10**power).fit(train.X, train.y, problem.weight)
        cut, _ = best_round(model, held)
        setting = f"lam={10**power:.2g} of most"
        alone = pointwise(problem, "Greedy Miser", setting, cut)
        yield alone
        # A threshold so large that nobody leaves is one of the combination's settings, too.
        yield replace(alone, method="Greedy Miser + Early Exit", setting=f"{setting}, s=inf")
        spread = float(np.std(cut.predict(held.X)))
        for share in (0.6, 1.0, 1.3, 1.5, 1.8, 2.3, 3.0, 5.0):
            both = f"{setting}, s={share:g} sd"
            yield with_exits(problem, "Greedy Miser + Early Exit", both, cut, share * spread)


def cronus(problem: Problem, quick: bool) -> Iterator[Point]:
    """Trees of depth 2 to choose from; thresholds are placed on validation documents."""
    train, held = problem.train, problem.held
    relevant = train.y >= (2 if train.y.max() > 2 else 1)
    many = booster(problem, 2).set_params(n_rounds=problem.more * problem.rounds)
    trees, _ = best_round(many.fit(train.X, train.y, problem.weight), held)
    dear = problem.costs.n_features / float(problem.costs.total)
    lams = dear * np.logspace(*problem.chain, 3 if quick else 5)
    model = CascadeClassifier(
        3, costs=problem.costs, n_rounds=trees.n_rounds_, max_depth=2, max_iter=20
    )
    path = model.fit_path(train.X, relevant, lams.tolist(), problem.weight, grades=train.y)
    weight = irrelevant_weight(held.y, held.times)
    for found in path:
        for leaving in (0.0, 0.3, 0.4, 0.5, 0.6, 0.7):
            moved = found.at(leaving=leaving, X=held.X, sample_weight=weight)
            setting = f"lam={found.lam:.2g}, {leaving:.0%} leave a stage"
            yield pointwise(problem, "Cronus", setting, moved, moved.decision_function)


def astc(problem: Problem, quick: bool) -> Iterator[Point]:
    """Trees of linear models."""
    train, total = problem.train, float(problem.costs.total)
    shares = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3)[:: 2 if quick else 1]
    for budget in sorted({max(1.0, share * total) for share in shares}):
        for depth in (1, 4):
            model = SubmodularTreeRegressor(budget=budget, max_depth=depth, costs=problem.costs)
            model.fit(train.X, train.y.astype(float), sample_weight=problem.weight)
            setting = f"depth {depth}, budget={budget:.3g} a node"
            yield pointwise(problem, "ASTC", setting, model)


def budget_rf(problem: Problem, quick: bool) -> Iterator[Point]:
    """Forests; the score is the expected grade by the class weights in the leaves."""
    train = problem.train
    wide = train.X.shape[1] > 100
    trees = 6 if quick or wide else 40
    for share in (0.0005, 0.003) if wide else (0.0001, 0.0005, 0.003):
        # The threshold counts documents of a class: a share of them means the same on all sets.
        alpha = share * float(problem.weight.sum())
        forest = BudgetedForestClassifier(
            costs=problem.costs,
            n_trees=trees,
            random_state=0,
            alpha=alpha,
            bootstrap=True,
            price_power=1.0,
        ).fit(train.X, train.y, sample_weight=problem.weight)
        bills = forest.trace_["cost"].to_numpy()
        for kept in (1, 2, 5, 10, 20, 40):
            if kept > len(bills):
                continue
            model = forest.at(budget=float(bills[kept - 1]))

            def expected(X, model=model):
                return model.predict_proba(X) @ model.classes_.astype(float)

            setting = f"alpha={alpha:.3g}, {kept} trees"
            yield pointwise(problem, "BudgetRF", setting, model, expected)


def mean_point(points: Sequence[Point]) -> Point:
    """The same setting of several runs."""

    def mean(rows: list[list[Any]]) -> list[Any]:
        return [None if None in own else float(np.mean(own)) for own in zip(*rows, strict=True)]

    return Point(
        points[0].method,
        points[0].setting,
        mean([point.held for point in points]),
        mean([point.test for point in points]),
        mean([point.groups for point in points]),
    )


METHODS = {
    "plain": plain_trees,
    "miser": miser,
    "Cronus": cronus,
    "ASTC": astc,
    "BudgetRF": budget_rf,
}
"""What can be run by itself."""
