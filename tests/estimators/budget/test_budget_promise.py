"""What a frontier says holds for rows that nobody has seen."""

from __future__ import annotations

import numpy as np
import pytest

from worthwhile import BudgetClassifier, BudgetRegressor, datasets
from worthwhile.estimators.budget._induction import Points, Seen
from worthwhile.estimators.budget._promise import Promise, deal_folds, promise, smoothed, thinned


def noise(n, seed):
    """Nothing to learn, though some columns always seem to say something."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 8)), rng.integers(0, 2, n)


def loans(n, seed):
    """Two cheap signals, a dear one, words of chance, and much that nobody can know."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    X[:, 3] = rng.integers(0, 4, n)
    pull = 0.8 * X[:, 0] + 0.5 * X[:, 1] * (X[:, 3] > 1) + 0.7 * X[:, 4]
    return X, (pull + 1.2 * rng.normal(size=n) > 0.5).astype(int)


PRICES = [1, 1, 2, 1, 6, 1, 3, 1]


@pytest.mark.parametrize("make", [noise, loans])
def test_scores_and_bills_hold_for_new_rows(make):
    flattering, kept, budgets = [], [], (1.5, 4, 9)
    fresh, truth = make(20_000, 999)
    for seed in range(6):
        model = BudgetClassifier(costs=PRICES, n_trees=12, random_state=seed).fit(*make(240, seed))
        for budget in budgets:
            point = model.at(budget=budget)
            said = point.frontier_.iloc[point.point_]
            flattering.append((said["score"] - point.score(fresh, truth)) / said["score_error"])
            kept.append(point.cost(fresh).mean() <= budget)
    assert abs(np.mean(flattering)) < 1
    assert np.mean(np.abs(flattering) < 3) > 0.9
    assert np.mean(kept) >= 0.9


def test_without_folds_noise_looks_like_something():
    best = np.array(
        [
            [
                BudgetClassifier(n_trees=12, cross_validated=folds, random_state=0)
                .fit(*noise(200, seed)).frontier_["score"].max()
                for folds in (False, True)
            ]
            for seed in range(5)
        ]
    )  # fmt: skip
    plain, honest = best.mean(axis=0)
    assert plain > honest + 0.01
    assert honest < 0.6


def test_many_rows_are_judged_by_others_than_those_of_the_choices():
    X, y = noise(9000, 1)
    model = BudgetClassifier(n_trees=8, random_state=0).fit(X, y)
    assert model.frontier_["score"].between(0.46, 0.54).all()
    assert model.training_stages_ == 4  # no folds


def test_numbers_too():
    rng = np.random.default_rng(3)
    X, fresh = rng.normal(size=(200, 5)), rng.normal(size=(5000, 5))
    y, truth = (Z[:, 0] + rng.normal(size=len(Z)) for Z in (X, fresh))
    model = BudgetRegressor(1.5, n_trees=16, random_state=0).fit(X, y)
    said = model.frontier_.iloc[model.point_]
    assert abs(said["score"] - model.score(fresh, truth)) < 3 * said["score_error"]
    assert model.cost(fresh).mean() <= 1.5


def test_confidence_widens_the_bound():
    X, y = loans(200, 0)
    found = [
        BudgetClassifier(costs=PRICES, n_trees=4, confidence=c, random_state=0).fit(X, y).frontier_
        for c in (0.5, 0.99)
    ]
    np.testing.assert_allclose(found[0]["bound"], found[0]["cost"], rtol=0, atol=1e-9)
    assert (found[1]["bound"] - found[1]["cost"] > 2.3 * found[1]["cost_error"] - 1e-12).all()


def test_a_budget_of_just_the_bound_of_a_line_is_enough_for_it():
    model = BudgetClassifier(costs=PRICES, n_trees=4, random_state=0).fit(*loans(200, 0))
    bound, score = (model.frontier_[name].to_numpy() for name in ("bound", "score"))
    better = np.flatnonzero((score > score[0]) & (bound == np.maximum.accumulate(bound)))
    assert len(better) > 2
    assert [model.at(budget=bound[line]).point_ for line in better] == better.tolist()


# The pieces -------------------------------------------------------------------------------------


def test_every_row_is_held_out_once_and_classes_are_spread():
    slot = np.arange(203) % 3
    held = []
    for rows, n_pool in deal_folds(slot, 0):
        assert sorted(rows) == list(range(203))
        out = rows[n_pool:]
        held += out.tolist()
        assert np.ptp(np.bincount(slot[out])) <= 2
    assert sorted(held) == list(range(203))


@pytest.mark.parametrize(("n", "folds"), [(600, 5), (2000, 2), (5000, 1)])
def test_some_hundred_rows_are_enough(n, folds):
    dealt = deal_folds(np.zeros(n, dtype=int), 0)
    assert len(dealt) == folds
    assert sum(n - n_pool for _, n_pool in dealt) >= 600


def points_of(bills):
    return Points(np.zeros((len(bills), 1), dtype=np.int32), np.zeros(len(bills)), np.array(bills))


def test_between_two_policies_of_a_fold_figures_are_shares():
    fold = points_of([0.0, 2.0])
    seen = Seen(np.array([[0.0, 0.0], [2.0, 4.0]]), np.array([[0.0, 1.0], [1.0, 1.0]]), np.ones(2))
    said = promise(points_of([0.0, 1.0, 2.0]), (np.zeros(3), np.full(3, 9.0)), [(fold, seen)])
    np.testing.assert_allclose(said.bill, [0.0, 1.5, 3.0])
    np.testing.assert_allclose(said.score, [0.5, 0.75, 1.0])
    # Weights count, and a policy that costs all rows the same does so for certain.
    heavy = Seen(seen.bill, seen.score, np.array([3.0, 1.0]))
    said = promise(points_of([2.0]), (np.full(1, 2.0), np.full(1, 2.0)), [(fold, heavy)])
    assert said.bill[0] == 2.0
    assert said.bill_error[0] == 0.0
    assert promise(points_of([1.0]), (np.zeros(1), np.ones(1) * 9), [(fold, heavy)]).score[
        0
    ] == pytest.approx(0.75 * 0.5 + 0.25)


def test_folds_that_differ_widen_the_error():
    one, two = (Seen(np.full((1, 50), bill), np.ones((1, 50)), np.ones(50)) for bill in (1.0, 3.0))
    said = promise(
        points_of([2.0]),
        (np.zeros(1), np.full(1, 9.0)),
        [(points_of([2.0]), s) for s in (one, two)],
    )
    assert said.bill[0] == 2.0
    assert said.bill_error[0] == pytest.approx(np.std([1, 3], ddof=1), rel=0.01)


def test_scores_do_not_fall_and_noise_is_averaged():
    raw = np.array([0.5, 0.6, 0.4, 0.5, 0.7])
    np.testing.assert_allclose(smoothed(raw), [0.5, 0.5, 0.5, 0.5, 0.7])


# Stages -----------------------------------------------------------------------------------------


def same_policy(a, b):
    ours, theirs = a.policy_.state()[1], b.policy_.state()[1]
    return all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_a_limit_of_time_can_be_repeated_as_a_number_of_stages():
    X, y = loans(200, 0)
    shape = {"costs": PRICES, "n_trees": 4, "random_state": 0}
    full = BudgetClassifier(**shape).fit(X, y)
    late = BudgetClassifier(time_limit=0, **shape).fit(X, y)
    again = BudgetClassifier(max_stages=0, **shape).fit(X, y)
    assert (full.training_stages_, late.training_stages_, again.training_stages_) == (8, 0, 0)
    assert same_policy(late, again)
    assert late.frontier_.equals(again.frontier_)
    assert same_policy(full, BudgetClassifier(max_stages=8, time_limit=1e6, **shape).fit(X, y))
    assert late.frontier_["score_error"].iloc[0] > full.frontier_["score_error"].iloc[0]


def test_progress_is_shown_when_asked_for(capsys):
    BudgetClassifier(n_trees=2, verbose=1, random_state=0).fit(*loans(60, 0))
    assert "stages" in capsys.readouterr().err


@pytest.mark.parametrize("given", [{"max_stages": -1}, {"time_limit": -1}, {"confidence": 1.0}])
def test_bad_limits_are_refused(given):
    with pytest.raises(ValueError, match=next(iter(given))):
        BudgetClassifier(**given).fit(*loans(60, 0))


def test_lines_that_say_the_same_are_listed_once():
    bill = np.array([0.0, 1.0, 1.01, 1.019, 1.021, 5.0, 5.05])
    score = np.array([0.0, 0.1, 0.2, 0.5, 0.6, 0.7, 0.7])
    said = Promise(bill, bill, score, score)
    assert thinned(said, False) == [0, 1, 4, 5, 6]
    dear = Promise(bill, bill, np.array([0.0, 0.1, 0.2, 2.0, 0.6, 0.7, 0.7]), score)
    assert thinned(dear, True) == [0, 1, 3, 5, 6]
    assert thinned(dear, False) == [0, 1, 4, 5, 6]


def test_no_two_lines_of_a_frontier_cost_about_the_same():
    X, y, costs = datasets.make_lender(300, seed=5)
    cost = BudgetClassifier(costs=costs, n_trees=8, random_state=0).fit(X, y).frontier_["cost"]
    assert (np.diff(cost.to_numpy()[:-1]) > 0.02 * cost.to_numpy()[:-2]).all()
