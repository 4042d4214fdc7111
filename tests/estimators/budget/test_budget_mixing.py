"""A budget met by two lines of the frontier and a share."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

import worthwhile
from worthwhile import BudgetClassifier, BudgetRegressor
from worthwhile.datasets import make_lender, make_priced_classification, make_priced_regression
from worthwhile.estimators.budget._mixing import Mix, bounds_of_pairs, hull, mix_lines
from worthwhile.exceptions import BadModelFile
from worthwhile.policy.keys import Coin
from worthwhile.policy.library import LibraryPolicy
from worthwhile.policy.mixture import MixturePolicy
from worthwhile.testing import check_contract

SMALL = {"n_trees": 4, "random_state": 0, "cross_validated": False}


@pytest.fixture(scope="module")
def data():
    return make_priced_classification(300, seed=3)


@pytest.fixture(scope="module")
def model(data):
    X, y, costs = data
    return BudgetClassifier(costs=costs, mix=True, **SMALL).fit(X, y)


def budgets_that_mix(model):
    bounds = model.frontier_["bound"]
    tried = np.linspace(bounds.iloc[0], bounds.iloc[-1], 9)[1:-1]
    found = [float(b) for b in tried if model.at(budget=b).mixture_ is not None]
    assert found
    return found


def above(bound, score, line):
    """How far a line lies above the chord of any two others, at its bound."""
    chords = [
        score[i] + (score[j] - score[i]) * (bound[line] - bound[i]) / (bound[j] - bound[i])
        for i in range(len(bound))
        for j in range(len(bound))
        if bound[i] < bound[line] < bound[j]
    ]
    return score[line] - max(chords, default=-np.inf)


def test_the_hull_has_the_lines_that_no_two_others_beat():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(2, 9))
        bound, score = np.sort(rng.random(n)), np.sort(rng.random(n))
        kept = hull(bound, score)
        assert kept == [
            i for i in range(n) if above(bound, score, i) >= 0
        ]  # of distinct scores, all lines with one are candidates


def test_of_pooled_lines_the_middle_one_is_mixed():
    bound = np.array([0.0, 1, 2, 3, 4, 5, 6])
    score = np.array([0.5, 0.8, 0.8, 0.8, 0.8, 0.8, 0.9])
    assert hull(bound, score) == [0, 3, 6]


def test_bounds_need_not_rise():
    bound, score = np.array([0.0, 4, 2, 8]), np.array([0.1, 0.2, 0.3, 0.5])
    assert hull(bound, score) == [0, 2, 3]


@pytest.mark.parametrize(
    ("limit", "found"),
    [(-1, None), (0, None), (1, Mix(0, 1, 0.5)), (2, None), (5, Mix(1, 2, 0.5)), (8, None)],
)
def test_shares_meet_the_budget(limit, found):
    bound, score = np.array([0.0, 2, 8]), np.array([0.0, 0.5, 1.0])
    assert mix_lines(bound, score, limit) == found
    if found is not None:
        assert found.of(bound) == limit


def test_by_default_nothing_is_mixed(data):
    X, y, costs = data
    one = BudgetClassifier(5, costs=costs, **SMALL).fit(X, y)
    assert one.mixture_ is None
    assert one.policy_.coin is None
    assert not BudgetClassifier().mix


def test_the_mean_of_the_bounds_is_the_budget(model):
    lines = model.frontier_
    bound = np.maximum.accumulate(lines["cost"] + 1.959964 * lines["cost_error"]).to_numpy()
    score = lines["score"].to_numpy()
    for budget in budgets_that_mix(model):
        mixed, single = model.at(budget=budget), model.at(budget=budget, mix=False)
        first, second, share = mixed.mixture_
        assert mixed.point_ == first
        assert (1 - share) * bound[first] + share * bound[second] == pytest.approx(budget)
        assert (1 - share) * bound[first] + share * bound[second] <= budget * (1 + 1e-6)
        assert single.mixture_ is None
        assert (1 - share) * score[first] + share * score[second] > score[single.point_]


def test_both_bounds_hold_at_once_and_none_is_below_that_of_a_cheaper_line():
    bounds = bounds_of_pairs([1.0, 2.0, 2.1, 3.0], [0.0, 0.5, 0.1, 0.0], 0.9)
    assert bounds == pytest.approx([1.0, 2.0 + 1.644854 * 0.5, 2.0 + 1.644854 * 0.5, 3.0])


def test_bounds_of_mixtures_are_students_where_folds_judge(data):
    X, y, costs = data
    one = BudgetClassifier(costs=costs, n_trees=4, random_state=0).fit(X, y)
    lines = one.frontier_  # of five folds
    bound = np.maximum.accumulate(lines["cost"] + 2.776445 * lines["cost_error"])
    np.testing.assert_allclose(lines["mixed_bound"], bound, rtol=1e-6)


@pytest.mark.parametrize(("judges", "sure"), [(1, 1.959964), (5, 2.776445), (2, 4.302653)])
def test_the_fewer_models_say_how_they_differ_the_wider_the_bounds(judges, sure):
    assert bounds_of_pairs([1.0], [1.0], 0.95, judges) == pytest.approx([1.0 + sure])


def test_each_case_follows_one_of_the_two_lines(model, data):
    X, keys = data[0], [f"k{number}" for number in range(len(data[0]))]
    budget = budgets_that_mix(model)[0]
    mixed = model.at(budget=budget)
    first, second, share = mixed.mixture_
    dear = mixed.policy_.coin.by_keys(keys)
    assert abs(dear.mean() - share) < 0.15
    sides = [model.at(stage=line) for line in (first, second)]
    expected = np.where(dear, sides[1].cost(X), sides[0].cost(X))
    assert np.array_equal(mixed.cost(X, key=keys), expected)
    for name in ("predict", "predict_proba", "decision_function", "acquired", "evaluated"):
        low, high = (getattr(side, name)(X) for side in sides)
        picked = np.where(dear.reshape(-1, *[1] * (low.ndim - 1)), high, low)
        assert np.array_equal(getattr(mixed, name)(X, key=keys), picked)
    for row in (0, 1, 2, 3):
        session = mixed.session(key=keys[row])
        while wanted := session.ask():
            session.tell({name: X[name].iloc[row] for name in wanted})
        assert session.spent == expected[row]


def test_more_money_keeps_who_had_the_dearer_line(model):
    budgets = budgets_that_mix(model)
    keys = [str(number) for number in range(300)]
    for low, high in itertools.pairwise(budgets):
        one, two = model.at(budget=low), model.at(budget=high)
        if one.mixture_[:2] == two.mixture_[:2]:
            assert (one.policy_.coin.by_keys(keys) <= two.policy_.coin.by_keys(keys)).all()


def test_fit_takes_the_mixture_of_its_budget(model, data):
    X, y, costs = data
    budget = budgets_that_mix(model)[0]
    direct = BudgetClassifier(budget, costs=costs, mix=True, **SMALL).fit(X, y)
    assert direct.mixture_ == model.at(budget=budget).mixture_
    assert direct.policy_.fingerprint() == model.at(budget=budget).policy_.fingerprint()


def test_without_a_budget_or_at_a_line_nothing_is_mixed(model):
    assert model.mixture_ is None
    assert model.at(stage=2).mixture_ is None
    with pytest.raises(ValueError, match="a line is one policy"):
        model.at(stage=2, mix=True)


def test_a_file_goes_on_mixing(model, data, tmp_path):
    X, keys = data[0], np.arange(len(data[0]))
    mixed = model.at(budget=budgets_that_mix(model)[0])
    mixed.save(tmp_path / "mixed.worthwhile")
    model.at(stage=1).save(tmp_path / "one.worthwhile")
    again = worthwhile.load(tmp_path / "mixed.worthwhile")
    assert again.mixture_ == mixed.mixture_
    assert again.seed_ == mixed.seed_
    assert np.array_equal(again.cost(X, key=keys), mixed.cost(X, key=keys))
    budget = budgets_that_mix(model)[-1]
    assert again.at(budget=budget).mixture_ == model.at(budget=budget).mixture_
    assert worthwhile.load(tmp_path / "one.worthwhile").at(budget=budget).mixture_ is not None
    sizes = [(tmp_path / f"{name}.worthwhile").stat().st_size for name in ("mixed", "one")]
    assert sizes[0] < 1.2 * sizes[1]


def test_a_mixture_of_other_policies_is_no_budget_model(model, tmp_path):
    policy, bad = model.policy_, model.at(stage=0)
    library = dataclasses.replace(policy.library, score=policy.library.score + 1)
    other = LibraryPolicy(policy.costs, policy.output, library, 1)
    bad.policy_ = MixturePolicy(policy.at(0), other, Coin(0, 5))
    bad.save(tmp_path / "bad.worthwhile")
    with pytest.raises(BadModelFile, match="not points of one frontier"):
        worthwhile.load(tmp_path / "bad.worthwhile")


def test_what_is_promised_lies_between_the_two(model):
    mixed = model.at(budget=budgets_that_mix(model)[0])
    first, second, share = mixed.mixture_
    said, cost = mixed._promised(), model.frontier_["cost"]
    assert said.figures["bill"].mean == pytest.approx(
        (1 - share) * cost[first] + share * cost[second]
    )


def test_with_prices_of_errors_no_money_goes_beyond_the_least_total(data):
    X, y, costs = data
    model = BudgetClassifier(costs=costs, worth=20, mix=True, **SMALL).fit(X, y)
    lines = model.frontier_
    best = BudgetClassifier(costs=costs, worth=20, **SMALL).fit(X, y).point_
    assert best <= int(np.argmin(lines["total"]))
    assert model.at(budget=1e6).point_ == best
    for budget in np.linspace(0, lines["bound"].iloc[best], 5):
        mixed = model.at(budget=float(budget))
        assert mixed.mixture_ is None or max(mixed.mixture_[:2]) <= best
        other = mixed.at(worth=40, budget=float(budget))
        assert other.mix
        assert other.mixture_ is None or other.mixture_[2] > 0


def test_totals_are_of_the_cases_with_their_keys(model, data):
    X, y, _ = data
    mixed = model.at(budget=budgets_that_mix(model)[0]).with_errors(40)
    keys = list(range(len(X)))
    wrong = 40 * (mixed.predict(X, key=keys) != y)
    assert np.array_equal(mixed.total_cost(X, y, key=iter(keys)), mixed.cost(X, key=keys) + wrong)
    with pytest.raises(ValueError, match="key has 2 entries"):
        mixed.total_cost(X, y, key=[1, 2])


def test_numbers_and_categories_and_calibration_are_mixed_too():
    X, y, costs = make_lender(200, seed=3)
    model = BudgetClassifier(costs=costs, mix=True, calibrate="sigmoid", **SMALL).fit(X, y)
    mixed = model.at(budget=budgets_that_mix(model)[0])
    keys = list(range(len(X)))
    first, second, _ = mixed.mixture_
    dear = mixed.policy_.coin.by_keys(map(str, keys))
    low, high = (model.at(stage=line).predict_proba(X) for line in (first, second))
    assert np.array_equal(mixed.predict_proba(X, key=keys), np.where(dear[:, None], high, low))
    check_contract(mixed, X, rows=4)
    X, y, costs = make_priced_regression(200, seed=3)
    numbers = BudgetRegressor(costs=costs, mix=True, **SMALL).fit(X, y)
    assert numbers.at(budget=budgets_that_mix(numbers)[0]).mixture_ is not None


@pytest.mark.parametrize("budget", [6, 15])
def test_mixing_keeps_the_laws(budget):
    check_contract(BudgetClassifier(budget, mix=True, n_trees=4, random_state=0), rows=6)
