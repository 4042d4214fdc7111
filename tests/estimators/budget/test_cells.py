"""Cells of a node: their order, and how fine they are."""

from __future__ import annotations

import numpy as np
import pytest

from worthwhile.core.threads import Threads
from worthwhile.estimators._shared.coded_forests import Table
from worthwhile.estimators.budget._cells import CELLS, FINE_CELLS, Cutter
from worthwhile.estimators.budget._forests import no_trees
from worthwhile.estimators.budget._induction import FALLING, Induction
from worthwhile.estimators.budget._nodes import Node
from worthwhile.estimators.budget._payoff import Classes, Numbers


def table(n=3000, n_classes=2, numbers=False):
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(n, 2)), rng.integers(0, n_classes, n)
    target = rng.normal(size=n) if numbers else None
    with Threads(1) as threads:
        return Table(
            X, 0 * codes if numbers else codes, target, np.ones(n), 1 if numbers else n_classes,
            threads,
        )  # fmt: skip


def votes_of(n, seed=0):
    """Shares of three classes that are surer in some rows."""
    return np.random.default_rng(seed).dirichlet([0.7, 0.7, 0.7], n)


@pytest.mark.parametrize("fine", [False, True])
def test_cells_are_numbered_from_the_least_sure_to_the_surest(fine):
    own, votes, others = table(n_classes=3), votes_of(3000), votes_of(3000, 1)
    gain = 1 - votes.max(axis=1) + 0.3 * (votes[:, 0] > 0.5)
    targets = np.column_stack([gain, -gain])
    cells = Cutter(own, own, fine).cut([0, 1], votes, others, targets)
    sureness = [votes[cells.cell == cell].max(axis=1).mean() for cell in range(cells.count)]
    assert cells.count > 3
    assert (np.diff(sureness) > 0).all()
    # Rows that are only sorted in come to cells of the same number.
    twins = Cutter(own, own, fine).cut([0, 1], votes, votes, targets)
    assert (twins.cell == twins.fresh).all()
    leaves = twins.feature < 0
    assert sorted(twins.child[leaves].tolist()) == list(range(twins.count))


def test_where_a_line_is_drawn_through_cells_they_are_many_by_sureness_alone():
    own, votes = table(n_classes=3), votes_of(3000)
    noise = np.random.default_rng(2).normal(size=(3000, 1))
    coarse, fine = (Cutter(own, own, f).cut([0, 1], votes, votes, noise) for f in (False, True))
    assert coarse.count < 5 < CELLS < fine.count <= FINE_CELLS
    tested = fine.feature[fine.feature >= 0]
    assert (
        tested == 2 * (2 + 3)
    ).mean() > 0.9  # after two columns and three classes, the largest vote


def falling_of(own, payoff):
    rng = np.random.default_rng(0)
    shape = (own.n_rows, own.n_outputs)
    nodes = [Node(frozenset(s), no_trees(), rng.random(shape)) for s in ([], [0], [0, 1])]
    with Threads(1) as threads:
        found = Induction(own, payoff, nodes, [[0, 1, 2]], np.array([0.0, 1, 2]), 0.0, threads, 0)
    return found._falling


def test_gains_are_drawn_to_a_falling_line_where_that_is_known_to_hold():
    for n, n_classes, expected in (
        (3000, 2, FALLING), (300, 2, FALLING), (3000, 7, FALLING), (300, 7, 0.0), (3000, 26, 0.0),
    ):  # fmt: skip
        own = table(n, n_classes)
        payoff = Classes(own.slot.astype(int), n_classes, own.weight)
        assert falling_of(own, payoff) == expected
    own = table()
    money = Classes(own.slot.astype(int), 2, own.weight, np.array([[0.0, 3.0], [1.0, 0.0]]))
    assert falling_of(own, money) == 0
    own = table(numbers=True)
    assert falling_of(own, Numbers(np.arange(3000.0), own.weight, "squared")) == 0
