"""Ranks that hold the same rows and share the work give the file of the local fit, byte for byte."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.base import is_regressor

from tests.distributed.ranks import content, run_ranks
from tests.estimators.budget.test_bridges import CHEAP, DEAR, PRICE
from tests.estimators.budget.test_bridges import rows as rows_with_a_gap
from worthwhile import (
    BudgetClassifier,
    BudgetedForestClassifier,
    BudgetRegressor,
    SubmodularTreeClassifier,
    SubmodularTreeRegressor,
)
from worthwhile.core.collective import sharing_work, spread
from worthwhile.distributed import fit_together

N = 5_000
PRICES = [1, 2, 0.5, 0.5, 1, 3]


def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 6))
    signal = X[:, 0] + np.abs(X[:, 4]) + 0.5 * X[:, 1] * (X[:, 5] > 0)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, signal, rng.integers(1, 4, N).astype(float)


def forest(**how):
    return BudgetedForestClassifier(
        **{"budget": 6, "costs": PRICES, "n_trees": 7, "max_depth": 4, "price_power": 1.0, "random_state": 3, **how}
    )  # fmt: skip


def tree(kind, **how):
    return kind(**{"budget": 4, "costs": PRICES, "max_depth": 3, **how})


def budget(kind, **how):
    return kind(**{"budget": 4, "costs": PRICES, "n_trees": 16, "random_state": 3, **how})


CASES = {
    "frontier of classes": (budget(BudgetClassifier), 3, True),
    "frontier of errors in money": (budget(BudgetClassifier, budget=None, worth=20), 2, False),
    "frontier of numbers": (budget(BudgetRegressor, cross_validated=False), 4, False),
    "forest": (forest(), 3, False),
    "forest, another price power": (forest(price_power="auto", n_trees=3), 2, False),
    "forest with weights, few trees": (forest(n_trees=2, bootstrap=True), 4, True),
    "forest, several alphas": (forest(alpha=[0.0, 1.0], class_weight="balanced"), 2, False),
    "hard tree": (tree(SubmodularTreeClassifier), 2, False),
    "soft tree": (tree(SubmodularTreeClassifier, routing="soft"), 3, True),
    "columns on demand": (
        tree(SubmodularTreeRegressor, budget=2, costs=None, max_depth=2, certify=False),
        3,
        False,
    ),
    "budget chosen": (tree(SubmodularTreeRegressor, budget="auto", max_depth=2), 2, True),
}


@pytest.mark.parametrize("name", CASES)
def test_the_file_is_that_of_the_local_fit(name, tmp_path):
    model, size, weighted = CASES[name]
    X, signal, weight = rows()
    weight = weight if weighted else None
    y = signal if is_regressor(model) else np.digitize(signal, [0.0, 1.0])
    if "frontier" in name:
        X, y, weight = X[:1_200], y[:1_200], None if weight is None else weight[:1_200]
    if name == "columns on demand":  # of which few are ever looked at
        X = np.hstack([X, np.random.default_rng(1).normal(size=(N, 600))])
    expected = content(copy.deepcopy(model).fit(X, y, sample_weight=weight), tmp_path)

    def work(mesh):
        return fit_together(model, X, y, weight, mesh, n_jobs=1 + mesh.rank % 2), mesh.sent

    found = run_ranks(size, work)
    for fitted, _ in found:
        assert content(fitted, tmp_path) == expected
    assert min(sent for _, sent in found) > 1_000  # all of them had something to tell


def test_sets_that_close_gaps_are_those_of_the_local_fit(tmp_path):
    X, y = rows_with_a_gap(1_500)
    prices = [1.0] * CHEAP + [PRICE] * DEAR
    model = BudgetClassifier(costs=prices, n_trees=16, cross_validated=False, random_state=0)
    expected = copy.deepcopy(model).fit(X, y)
    without = copy.deepcopy(model).set_params(max_stages=3).fit(X, y)
    assert len(expected.policy_.library.member) > len(without.policy_.library.member)
    found = run_ranks(3, lambda mesh: fit_together(model, X, y, None, mesh, n_jobs=1))
    assert {content(fitted, tmp_path) for fitted in found} == {content(expected, tmp_path)}


@pytest.mark.parametrize("count", [0, 1, 7, 50])
def test_results_come_in_order_whoever_finds_them(count):
    def work(mesh):
        own = []

        def square(number):
            own.append(number)
            return np.array([number, number**2])

        with sharing_work(mesh):
            found = [pair.tolist() for pair in spread(map, square, range(count))]
        return found, len(own)

    told = run_ranks(3, work)
    for found, own in told:
        assert found == [[number, number**2] for number in range(count)]
        assert own <= -(-count // 3)
    assert sum(own for _, own in told) == count
