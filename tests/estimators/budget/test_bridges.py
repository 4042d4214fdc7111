"""Sets that join both sides of a gap in the bills of policies."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from worthwhile import BudgetClassifier
from worthwhile.costs import Costs
from worthwhile.estimators.budget import _bridges, _fit
from worthwhile.estimators.budget._induction import Points
from worthwhile.estimators.budget._search import Shop

CHEAP, DEAR, PRICE = 40, 3, 60.0


def rows(n, seed=0):
    """Three dear columns say which of eight classes it is; each of many cheap ones says a little."""
    rng = np.random.default_rng(seed)
    dear = rng.normal(size=(n, DEAR))
    bits = dear > 0
    cheap = rng.normal(size=(n, CHEAP)) + 0.5 * bits[:, np.arange(CHEAP) % DEAR]
    return np.hstack([cheap, dear]), bits @ (2 ** np.arange(DEAR))


def trained(rounds, monkeypatch, n=1500, **more):
    """A model, and the inductions that its gaps were looked for in."""
    seen = []
    find = _bridges.find_bridges

    def watched(induction, points, shop):
        found = find(induction, points, shop)
        seen.append((induction, points, found))
        return found

    monkeypatch.setattr(_fit, "ROUNDS", rounds)
    monkeypatch.setattr(_fit, "find_bridges", watched)
    X, y = rows(n)
    prices = Costs(np.r_[np.ones(CHEAP), np.full(DEAR, PRICE)])
    model = BudgetClassifier(
        costs=prices, n_jobs=1, random_state=0, cross_validated=False, **more
    ).fit(X, y)
    return model, seen


def used(model, share):
    """What is bought for a budget of a share of the price of everything, as a share of that."""
    most = float(model.frontier_["cost"].max())
    return max(cost for cost in model.frontier_["cost"] if cost <= share * most) / most


def test_a_budget_in_a_gap_is_used(monkeypatch):
    without, _ = trained(0, monkeypatch)
    with_bridges, seen = trained(_bridges.ROUNDS, monkeypatch)
    assert used(without, 0.7) < 0.3
    assert used(with_bridges, 0.7) > 0.5
    assert 0 < sum(bool(bridges) for _, _, bridges in seen) <= _bridges.ROUNDS


def test_bridges_hold_what_both_sides_buy(monkeypatch):
    _, seen = trained(1, monkeypatch)
    ((induction, points, bridges),) = seen
    assert bridges
    for node, larger in bridges:
        sets = [induction.member[node], *larger]
        assert all(small < large for small, large in itertools.pairwise(sets))
        beside = [member for member in induction.member if member and member <= larger[-1]]
        assert any(not member <= sets[0] for member in beside)
    bills = points.bill[1:] / points.bill[:-1].clip(1e-9)
    assert bills.max() > 1 / (1 - _bridges.GAP)


def test_visits_are_those_of_a_walk(monkeypatch):
    _, seen = trained(1, monkeypatch)
    induction, points, _ = seen[0]
    tables = induction._tables
    for choice in points.choice[:: max(1, len(points.choice) // 5)]:
        count = np.zeros(len(induction.member))
        for row, share in enumerate(induction._share):
            at = 0
            while (edge := choice[induction.first[at] + tables.cell[at, row]]) >= 0:
                at = induction.target[edge]
                count[at] += share
        np.testing.assert_allclose(induction.visits(choice), count, atol=1e-12)


class Walks:
    """Two policies: everybody to one set, or everybody to another one."""

    member = (frozenset(), frozenset({0}), frozenset({1}))

    def visits(self, choice):
        return np.eye(3)[choice[0] + 1]


@pytest.mark.parametrize(
    ("bills", "expected"),
    [
        ([3.0, 10.0], [(1, [frozenset({0, 1, 2})])]),  # 2 comes free with 1
        ([8.0, 10.0], []),  # no gap
        ([0.0, 10.0], []),  # before anything is bought there is nothing to go on from
        ([0.01, 0.1], []),  # next to nothing
    ],
)
def test_what_is_a_gap(bills, expected):
    shop = Shop(Costs([3.0, 10.0, 0.0, 50.0], requires={2: [1]}))
    points = Points(np.array([[0], [1]]), np.zeros(2), np.array(bills))
    assert _bridges.find_bridges(Walks(), points, shop) == expected


def test_parts_are_not_taken_for_the_whole(monkeypatch):
    """Nodes for parts of the rows have the columns of a set, and answer for some rows only."""
    made = []
    arrange = _fit.Workshop._arrange

    def watched(self, nodes, chains, shop):
        made.append((nodes, chains))
        arrange(self, nodes, chains, shop)

    monkeypatch.setattr(_fit.Workshop, "_arrange", watched)
    trained(_bridges.ROUNDS, monkeypatch)
    first, last = len(made[0][1]), made[-1]
    assert all(not node.of_part for chain in last[1][first:] for node in chain[1:])


def test_without_the_stage_no_gap_is_looked_for(monkeypatch):
    _, seen = trained(_bridges.ROUNDS, monkeypatch, max_stages=3)
    assert not seen
    model, seen = trained(_bridges.ROUNDS, monkeypatch, max_stages=4)
    assert seen
    assert model.training_stages_ == 4
