"""The methods of the ranking panel: each yields points of NDCG@5 and mean bill.

Everything is trained on training documents and measured on validation documents, by which settings
are chosen, and on test documents, which are only reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from worthwhile import (
    CascadeClassifier,
    Costs,
    EarlyExitRegressor,
    FeatureSubsets,
    GreedyMiserRegressor,
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
    alone: bool = False
    """Whether only stage-wise regression and Greedy Miser by itself are asked for."""
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
        costs=problem.costs, preset="paper", n_rounds=problem.rounds, max_depth=depth, n_jobs=1
    )


def plain_trees(problem: Problem, quick: bool) -> Iterator[Point]:
    """Stage-wise regression, feature subsets, and Early Exit."""
    held, train = problem.held, problem.train
    whole, _ = best_round(booster(problem).fit(train.X, train.y, problem.weight), held)
    setting = f"{whole.n_rounds_} trees"
    yield pointwise(problem, "stage-wise regression", setting, whole)
    if problem.alone:
        return
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
        if problem.alone:
            continue
        # A threshold so large that nobody leaves is one of the combination's settings, too.
        yield replace(alone, method="Greedy Miser + Early Exit", setting=f"{setting}, s=inf")
        spread = float(np.std(cut.predict(held.X)))
        for share in (0.6, 1.0, 1.5, 2.3):
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
        3, rho=1e-4, tau=0.2, anchor=10.0, costs=problem.costs, n_rounds=trees.n_rounds_, max_depth=2,
        max_iter=20, preset="paper", n_jobs=1,
    )  # fmt: skip
    path = model.fit_path(train.X, relevant, lams.tolist(), problem.weight, grades=train.y)
    weight = irrelevant_weight(held.y, held.times)
    for found in path:
        for leaving in (0.0, 0.3, 0.4, 0.5, 0.6, 0.7):
            moved = found.at(leaving=leaving, X=held.X, sample_weight=weight)
            setting = f"lam={found.lam:.2g}, {leaving:.0%} leave a stage"
            yield pointwise(problem, "Cronus", setting, moved, moved.decision_function)


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


METHODS = {"plain": plain_trees, "miser": miser, "Cronus": cronus}
"""What can be run by itself."""
