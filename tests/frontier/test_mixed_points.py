"""Two points and a share: hulls, curves and comparisons that mix."""

from __future__ import annotations

import numpy as np
import pytest

from worthwhile import compare
from worthwhile.datasets import make_priced_classification
from worthwhile.frontier import Comparison, Frontier


def some(mix=True, n=12, seed=0):
    rng = np.random.default_rng(seed)
    cost = np.concatenate([[0.0], rng.uniform(1, 20, n - 1)])
    score = 0.5 + 0.4 * (1 - np.exp(-cost / 5)) + rng.normal(0, 0.05, n)
    return Frontier(
        [
            {"cost": c, "score": s, "bound": 1.1 * c, "test_cost": 0.9 * c, "test_score": s - 0.02}
            for c, s in zip(cost, score, strict=True)
        ],
        full_cost=25,
        mix=mix,
    )


def naive(frontier, budget, bills):
    """The best score of any two points and any share within a budget, by trying all pairs."""
    best = -np.inf
    for i in range(len(frontier)):
        for j in range(len(frontier)):
            low, high = bills[i], bills[j]
            share = (
                1.0 if high <= budget else (budget - low) / (high - low) if low <= budget else -1
            )
            if 0 <= share <= 1:
                best = max(best, (1 - share) * frontier.score[i] + share * frontier.score[j])
    return best


@pytest.mark.parametrize("cautious", [False, True])
def test_no_two_points_and_share_do_better(cautious):
    for seed in range(6):
        frontier = some(seed=seed)
        bills = frontier.bound if cautious else frontier.cost
        for budget in np.linspace(0, 25, 11):
            found = frontier.mixed(budget, cautious=cautious)
            assert found.score == pytest.approx(naive(frontier, budget, bills))
            assert frontier.step(budget, cautious=cautious)[0] == pytest.approx(found.score)
            assert (found.bound if cautious else found.cost) <= budget + 1e-9
            if found.share > 0:
                assert (found.bound if cautious else found.cost) == pytest.approx(budget)


def test_test_rows_get_what_validation_chose():
    frontier = some()
    budgets = [3.0, 7.0, 11.0]
    found = [frontier.mixed(budget) for budget in budgets]
    assert frontier.step(budgets, part="test") == pytest.approx([one.test_score for one in found])
    assert frontier.bills(budgets, part="test") == pytest.approx([one.test_cost for one in found])
    for one in found:
        assert one.test_score == pytest.approx(one.score - 0.02)


def test_by_default_points_stay_single():
    frontier = some(mix=False)
    for budget in (3.0, 7.0):
        point = frontier.best(budget)
        assert frontier.step(budget)[0] == point.score
        assert frontier.bills(budget)[0] == point.cost
        assert frontier.reaching(point.score).share == 0


def test_what_nothing_fits_is_refused():
    frontier = Frontier([{"cost": 2, "score": 0.5}, {"cost": 4, "score": 0.8}], mix=True)
    assert np.isnan(frontier.step([1.0])[0])
    with pytest.raises(ValueError, match="no point fits"):
        frontier.mixed(1)
    with pytest.raises(ValueError, match="budget is nan"):
        frontier.mixed(float("nan"))
    assert frontier.mixed(9).second.cost == 4
    assert frontier.mixed(9).share == 0


def test_a_score_is_reached_at_its_cost():
    frontier = Frontier([{"cost": 2, "score": 0.5}, {"cost": 4, "score": 0.8}], mix=True)
    found = frontier.reaching(0.65)
    assert (found.share, found.cost, found.score) == pytest.approx((0.5, 3, 0.65))
    assert frontier.reaching(0.4).cost == 2
    assert frontier.reaching(0.8).cost == 4
    with pytest.raises(ValueError, match="no point reaches it"):
        frontier.reaching(0.9)


def test_areas_are_those_of_the_hull():
    frontier = Frontier(
        [{"cost": 2, "score": 0.4}, {"cost": 4, "score": 0.8}], full_cost=10, mix=True
    )
    assert frontier.area() == pytest.approx((2 * 0.6 + 6 * 0.8) / 10)
    single = Frontier(frontier.points, full_cost=10)
    assert single.area() == pytest.approx((2 * 0.4 + 6 * 0.8) / 10)
    assert frontier.mean_score(part="validation") > single.mean_score(part="validation")


def test_the_flag_stays_with_views_and_in_files():
    frontier = some()
    again = Frontier.from_dict(frontier.to_dict())
    assert again.mix
    assert frontier.pareto().mix
    assert frontier.hull().mix
    assert Frontier.join({"a": frontier, "b": frontier}).mix
    assert "mix" not in some(mix=False).to_dict()
    assert not Frontier.from_dict(some(mix=False).to_dict()).mix


def test_comparisons_mix_for_every_method_and_peer():
    X, y, costs = make_priced_classification(160, seed=1)
    how = {"budgets": [3, 8], "n_splits": 2, "effort": 4}
    names = ["cost-weighted-l1", "decision-tree"]
    single, mixed = (compare(X, y, costs, names, mix=mix, **how) for mix in (False, True))
    for split in range(2):
        for name in names:
            one, two = single.frontier(name, split), mixed.frontier(name, split)
            assert np.array_equal(one.score, two.score)  # the same sweep
            assert (two.step([3, 8]) >= one.step([3, 8]) - 1e-12).all()
    choice = mixed.best(8)
    assert len(choice.mixed) == 2
    assert choice.score == pytest.approx(np.mean([one.score for one in choice.mixed]))
    assert choice.test_cost == pytest.approx(np.mean([one.test_cost for one in choice.mixed]))
    assert "%" in choice._repr_html_()
    assert single.best(8).mixed == ()
    assert Comparison.from_dict(mixed.to_dict()).table().equals(mixed.table())
    assert mixed.bills(names[0]).shape == (2, 2)
