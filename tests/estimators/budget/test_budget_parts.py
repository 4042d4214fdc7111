"""A value that says nothing itself, but where to look."""

from __future__ import annotations

import numpy as np
import pytest

from worthwhile import BudgetClassifier
from worthwhile.core.threads import Threads
from worthwhile.datasets import make_contexts
from worthwhile.estimators._shared.coded_forests import Table
from worthwhile.estimators.budget._parts import find_parts
from worthwhile.estimators.budget._payoff import Classes
from worthwhile.estimators.budget._search import Shop


def parts_of(X, y, costs):
    with Threads(1) as threads:
        table = Table(X, y, None, np.ones(len(X)), 8, threads)
        return find_parts(table, Classes(y, 8, np.ones(len(X))), Shop(costs), threads, 0)


def test_the_context_is_found_and_its_block():
    X, y, costs = make_contexts(600, seed=3)
    step, parts = parts_of(X, y, costs)
    assert step == {0}
    assert len(parts) == 5
    for context, part in enumerate(parts):
        assert (X[part.rows, 0] == context).all()
        block = set(range(1 + 10 * context, 11 + 10 * context))
        assert len((part.sets[2] - {0}) & block) >= 8


def test_where_nothing_depends_on_it_there_are_no_parts():
    X, y, costs = make_contexts(600, seed=3)
    X[:, 0] = np.random.default_rng(0).integers(0, 5, 600)
    assert parts_of(X, y, costs) is None


def test_few_rows_have_no_parts():
    assert parts_of(*make_contexts(200, seed=3)) is None


def test_most_is_right_at_a_price_of_eleven():
    X, y, costs = make_contexts(800, seed=5)
    model = BudgetClassifier(11, costs=costs, random_state=0).fit(X[:600], y[:600])
    assert model.cost(X[600:]).mean() <= 11
    assert model.score(X[600:], y[600:]) > 0.5


@pytest.mark.parametrize("n", [0, -1, 1.5])
def test_a_number_of_rows_is_whole(n):
    with pytest.raises((TypeError, ValueError), match="n is"):
        make_contexts(n)


def test_the_block_of_the_context_holds_the_bits():
    X, y, _ = make_contexts(4000, seed=1)
    rows = (y == 5) & (X[:, 0] == 2)
    means = X[rows].mean(axis=0)
    np.testing.assert_allclose(means[21 + 5 : 21 + 8], [1, 0, 1], atol=0.15)
    others = np.delete(means, [0, *range(26, 29)])
    np.testing.assert_allclose(others, 0.5, atol=0.2)
