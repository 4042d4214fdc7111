"""The cheapest gate that loses little: judged by rows that did not choose it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from worthwhile import (
    AdaptiveBoostingClassifier,
    AdaptiveLinearClassifier,
    L1GateClassifier,
    datasets,
)
from worthwhile.estimators.gates._drop import (
    HALVINGS,
    MOST_BLOCKS,
    Gain,
    Trial,
    best_within,
    deal,
    further,
)
from worthwhile.estimators.gates._judge import Pooled, Sweep, Verdict


def letters(n=3000):
    data = datasets.load_letters()
    X, y = data.data.to_numpy(dtype=float)[:n], (np.asarray(data.target)[:n] >= 13).astype(int)
    forest = RandomForestClassifier(30, random_state=0).fit(X[: n // 3], y[: n // 3])
    return X[n // 3 :], y[n // 3 :], forest


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 6)), min_size=1, max_size=8),
    st.lists(st.integers(-1, 7), min_size=1, max_size=4),
)
def test_best_within_is_what_looking_at_every_model_finds(models, budgets):
    score, cost = (np.array(column, dtype=float) for column in zip(*models, strict=True))
    for budget, found in zip(budgets, best_within(score, cost, np.array(budgets)), strict=True):
        allowed = [k for k in range(len(models)) if cost[k] <= max(budget, cost.min())]
        best = min(allowed, key=lambda k: (-score[k], cost[k]))
        assert (score[found], cost[found]) == (score[best], cost[best])


def test_rows_are_dealt_evenly_and_always_alike():
    for n in (1, 7, 1000):
        sizes = np.bincount(deal(n))
        assert len(sizes) == min(n, MOST_BLOCKS)
        assert np.ptp(sizes) <= 1
        np.testing.assert_array_equal(deal(n), deal(n))


def test_drops_are_those_of_the_half_that_did_not_choose():
    generator = np.random.default_rng(3)
    weight = np.full(10, 4.0)
    trial = Trial(
        generator.integers(0, 5, (6, 10)) * 1.0, np.arange(6.0)[:, None] * weight, weight,
        generator.integers(3, 5, 10) * 1.0,
    )  # fmt: skip
    losses, halves = [], np.random.default_rng(0)
    for _ in range(HALVINGS):
        half = halves.permutation(10) < 5
        for chooses in (half, ~half):
            best = int(np.argmax(trial.right[:, chooses].sum(axis=1)))
            behind = trial.existing[~chooses].sum() - trial.right[best, ~chooses].sum()
            losses.append(behind / weight[~chooses].sum())
    assert trial.drops(np.array([5.0]))[0] == pytest.approx(np.mean(losses))
    assert (np.diff(trial.drops(np.arange(6.0))) <= 0).all()


def test_luck_is_not_taken_for_accuracy():
    # Five hundred models, all three points worse than the existing one; one looks as good as it.
    generator = np.random.default_rng(0)
    right = (generator.random((500, 256)) < 0.87).astype(float)
    existing = (generator.random(256) < 0.90).astype(float)
    bill = np.tile(np.linspace(1, 2, 500)[:, None], (1, 256))
    assert right.mean(axis=1).max() > existing.mean()
    assert Trial(right, bill, np.ones(256), existing).cheapest(0.01) is None
    equal = Trial(np.vstack([right, existing]), np.vstack([bill, np.full((1, 256), 3.0)]),
                  np.ones(256), existing)  # fmt: skip
    assert equal.cheapest(1.0).model < 500


@pytest.mark.parametrize(
    "make",
    [
        lambda forest: AdaptiveBoostingClassifier(forest, n_rounds=12, max_depth=5, newton=True),
        lambda forest: AdaptiveLinearClassifier(forest, refit_supports=False),
        lambda forest: L1GateClassifier(forest),
    ],
)
def test_a_larger_drop_is_never_dearer_and_none_sends_everybody(make):
    X, y, forest = letters()
    held = X[1000:], y[1000:]
    models = make(forest).fit_path(
        X[:1000], y[:1000], [3.0], drops=[0.0, 0.02, 0.1, 1.0], validation=held
    )
    assert [model.budget for model in models] == [3.0, None, None, None, None]
    costs = [float(model.trace_["cost"][model.trace_["chosen"]].iloc[0]) for model in models[1:]]
    assert costs == sorted(costs, reverse=True)
    assert models[1].score(*held) >= forest.score(*held) - 0.005
    for model in models[1:]:
        assert model.point_["drop"] <= model.max_drop
    assert costs[-1] <= 1


def test_max_drop_alone_sets_rows_aside_and_agrees_with_the_path():
    X, y, forest = letters(1500)
    model = AdaptiveBoostingClassifier(forest, n_rounds=6, max_drop=0.05, random_state=0)
    alone = model.fit(X, y)
    path = model.fit_path(X, y, drops=[0.05])[0]
    assert alone.point_ == path.point_
    np.testing.assert_array_equal(alone.predict(X), path.predict(X))


def test_budget_and_max_drop_do_not_go_together():
    X, y, forest = letters(300)
    with pytest.raises(ValueError, match=r"budget=3 and max_drop=0\.01 are both given"):
        AdaptiveLinearClassifier(forest, budget=3, max_drop=0.01).fit(X, y)


def test_a_standard_error_may_not_lead_too_far_beyond_what_is_expected():
    # Two models without luck: the cheap one loses half a point, in one block of 200; the other nothing.
    weight, existing = np.full(200, 10.0), np.full(200, 9.0)
    right = np.vstack([existing - (np.arange(200) < 10), existing])
    bill = np.vstack([np.full(200, 10.0), np.full(200, 20.0)])
    trial = Trial(right, bill, weight, existing)
    error = float(trial.errors(np.array([0]))[0])
    assert error == pytest.approx(np.sqrt(10 * 0.95**2 + 190 * 0.05**2) / 2000)
    assert trial.cheapest(0.0051).model == 0
    assert trial.cheapest(0.0051, 0.005 + 0.99 * error).model == 1
    assert trial.cheapest(0.0051, 0.005 + 1.01 * error).model == 0
    assert trial.cheapest(0.0049, 0.005 + 1.01 * error).model == 1


def test_more_rows_are_worth_what_fewer_cost():
    """From fewer to more rows 6 of 100 are gained; all rows add a part of that."""
    fewer, more, weight = np.full(10, 8.0), np.full(10, 8.6), np.full(10, 10.0)
    gain = Gain.between(fewer, more, weight, 0.5)
    assert gain.mean == pytest.approx(0.03)
    assert gain.error == pytest.approx(0, abs=1e-12)
    assert Gain.between(more, fewer, weight, 0.5).mean == 0  # rows do no harm
    noisy = Gain.between(fewer, more + np.tile([-1, 1], 5), weight, 0.5)
    assert noisy.mean == pytest.approx(0.03)
    assert noisy.error == pytest.approx(0.5 * np.sqrt(10) / 100)
    assert further(0.5, 1.0) == 0
    assert 0 < further(0.6, 0.9) < further(0.4, 0.6) <= 1
    assert further(0.1, 0.15) == 1


def test_what_all_rows_gain_counts_where_rows_are_kept():
    """A model that keeps everybody and is a point and a half behind is within one, if rows gain a point."""
    right = np.array([np.full(200, 0.985), np.ones(200)]) * 50
    verdicts = [
        Verdict(0.985, 1.0, 0.0, 1, right[0], np.full(200, 50.0)),
        Verdict(1.0, 9.0, 1.0, 0, right[1], np.full(200, 450.0)),
    ]
    judge = Pooled(np.zeros(10000, dtype=int), np.full(200, 50.0), right[1], 9.0)
    points, makers = [{"threshold": 0.0}] * 2, [lambda: None] * 2
    assert Sweep(judge, verdicts, points, makers).cheapest(0.01).model == 1
    found = Sweep(judge, verdicts, points, makers, Gain(0.01, 0.0)).cheapest(0.01)
    assert found.model == 0
    assert found.drop == pytest.approx(0.005)
    doubtful = Sweep(judge, verdicts, points, makers, Gain(0.01, 0.02))
    assert doubtful.cheapest(0.01, 0.015).model == 1
