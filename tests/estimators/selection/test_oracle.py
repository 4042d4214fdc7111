"""The oracle and the coach against their naive twins, and the invariants of rewards."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive import selection as naive
from worthwhile import Costs
from worthwhile.estimators.selection import _states as selection_states
from worthwhile.estimators.selection._coach import ConfidenceCoach, RewardCoach, decide
from worthwhile.estimators.selection._data_classifier import World
from worthwhile.estimators.selection._imitation import (
    LinearLearner,
    Schedule,
    roll_out,
    visited_masks,
)
from worthwhile.estimators.selection._oracle import Prospect, Reward, look_ahead, shares
from worthwhile.estimators.selection._states import Examples, States, look, policy_features
from worthwhile.policy.selection.choosers import LinearChooser
from worthwhile.policy.selection.rows import N_METAS, FactorPrices, Layout, Linear


def make_world(seed, n=6, n_factors=4, n_classes=3, *, shared=False):
    """Rows with one feature per factor and random weights."""
    rng = np.random.default_rng(seed)
    prices = rng.integers(1, 9, n_factors)
    groups = {"lab": {"fee": 5, "features": sorted({0, n_factors - 1})}} if shared else None
    costs = Costs(prices, groups)
    start = np.append(np.arange(n_factors + 1), n_factors).astype(np.int32)
    layout = Layout(
        np.arange(n_factors, dtype=np.int32), start, np.zeros(n_factors), np.ones(n_factors)
    )
    scorer = Linear(
        rng.normal(size=(n_factors, n_classes)),
        rng.normal(size=(n_factors, n_classes)),
        rng.normal(size=n_classes),
    )
    Z, codes = rng.normal(size=(n, n_factors)), rng.integers(0, n_classes, n)
    factor_prices = FactorPrices(costs, layout)
    world = World(Z, codes, n_classes, layout, factor_prices, [(np.arange(n), scorer)])
    return world, [naive_row(world, scorer, prices, groups, i) for i in range(n)]


def naive_row(world, scorer, prices, groups, i):
    adds = [
        [float(world.Z[i, f] * scorer.weight[f, k] + scorer.mark[f, k]) for k in range(len(scorer.bias))]
        for f in range(len(prices))
    ]  # fmt: skip
    return {
        "base": scorer.bias.tolist(),
        "adds": adds,
        "price": prices.tolist(),
        "groups": [(g["fee"], g["features"]) for g in (groups or {}).values()],
        "label": int(world.codes[i]),
    }


def as_sets(bought):
    return [set(np.flatnonzero(row).tolist()) for row in bought]


worlds = st.builds(
    make_world, st.integers(0, 10**6), n_factors=st.integers(1, 5),
    n_classes=st.integers(2, 4), shared=st.booleans(),
)  # fmt: skip
lams = st.sampled_from([0.0, 0.1, 0.5, 2.0])


@settings(max_examples=40, deadline=None)
@given(worlds, lams, st.integers(0, 10**6))
def test_labels_are_those_of_the_naive_oracle_and_coach(made, lam, seed):
    world, rows = made
    rng = np.random.default_rng(seed)
    n, n_factors = world.Z.shape
    count = int(rng.integers(0, n_factors))
    bought = rng.random((n, n_factors)).argsort(axis=1).argsort(axis=1) < count
    prospect = look_ahead(world, np.arange(n), bought, Reward(lam))
    likes = rng.dirichlet(np.ones(n_factors + 1), n)
    found, coached = prospect.labels(), prospect.labels(0.5 * likes)
    for i, (row, known) in enumerate(zip(rows, as_sets(bought), strict=True)):
        expected = naive.oracle_action(row, known, lam)
        assert found[i] == (n_factors if expected == "stop" else expected)
        liked = dict(enumerate(likes[i])) | {"stop": likes[i, -1]}
        expected = naive.coach_action(row, known, lam, 0.5, liked)
        assert coached[i] == (n_factors if expected == "stop" else expected)


@settings(max_examples=30, deadline=None)
@given(worlds, lams)
def test_the_oracle_beats_its_start_its_end_and_its_prefixes_but_no_exhaustive_search(made, lam):
    world, rows = made
    result = roll_out(world, Reward(lam), None)
    for row, bought in zip(rows, as_sets(result.bought), strict=True):
        reached = naive.reward(row, bought, lam)
        states, _ = naive.greedy_path(row, frozenset(), lam)
        assert bought == naive.oracle_end(row, lam)
        assert reached >= max(naive.reward(row, s, lam) for s in states) - 1e-12
        assert reached <= naive.best_reward(row, lam) + 1e-12


def test_the_oracle_stays_below_the_exhaustive_optimum_of_eight_factors():
    world, rows = make_world(5, n=4, n_factors=8)
    for lam in (0.0, 0.5):
        result = roll_out(world, Reward(lam), None)
        best = [naive.best_reward(row, lam) for row in rows]
        found = [naive.reward(r, b, lam) for r, b in zip(rows, as_sets(result.bought), strict=True)]
        assert all(f <= b + 1e-12 for f, b in zip(found, best, strict=True))
        assert np.mean(found) == pytest.approx(result.reward)


def test_rewards_of_a_one_factor_problem_by_hand():
    layout = Layout(np.array([0], np.int32), np.array([0, 1, 1], np.int32), np.zeros(1), np.ones(1))
    prices = FactorPrices(Costs([7]), layout)
    scorer = Linear(np.array([[0.0, 2.0]]), np.zeros((1, 2)), np.zeros(2))
    world = World(np.array([[1.0]]), np.array([1]), 2, layout, prices, [(np.array([0]), scorer)])
    p = 1 / (1 + math.exp(-2))
    for lam, stops in ((0.5, False), (0.76, False), (0.77, True), (0.9, True)):
        prospect = look_ahead(world, np.array([0]), np.zeros((1, 1), dtype=bool), Reward(lam))
        assert prospect.here == pytest.approx([0.0])
        assert prospect.actions == pytest.approx(np.array([[2 * p - 1 - lam]]))
        assert (prospect.labels()[0] == 1) == stops, lam
    logit = look_ahead(world, np.array([0]), np.zeros((1, 1), dtype=bool), Reward(0.5, logit=True))
    assert logit.actions == pytest.approx(np.array([[2.0 - 0.5]]))


def test_ties_stop_here_and_go_to_the_first_factor():
    prospect = Prospect(
        np.array([0.3, 0.2]), np.array([[0.3, 0.3], [0.4, 0.4]]), np.array([0, 0]), np.array([0.3, 0.4])
    )  # fmt: skip
    assert prospect.labels().tolist() == [2, 0]


def test_stopping_looks_ahead_over_a_dip_in_a_two_factor_problem():
    """Neither factor helps alone, both together do: the oracle walks through the dip."""
    base, alone, both = 0.0, -1.0, 4.0
    layout = Layout(
        np.array([0, 1], np.int32), np.array([0, 1, 2, 2], np.int32), np.zeros(2), np.ones(2)
    )
    prices = FactorPrices(Costs([1, 1]), layout)
    scorer = Linear(np.array([[0.0, alone], [0.0, both]]), np.zeros((2, 2)), np.array([0.0, base]))
    world = World(np.ones((1, 2)), np.array([0]), 2, layout, prices, [(np.array([0]), scorer)])
    # The true class is 0: factor 0 helps (its logit of class 1 falls), factor 1 harms.
    result = roll_out(world, Reward(0.1), None)
    assert result.bought.tolist() == [[True, False]]
    flipped = World(np.ones((1, 2)), np.array([1]), 2, layout, prices, [(np.array([0]), scorer)])
    assert roll_out(flipped, Reward(0.1), None).bought.tolist() == [[False, True]]
    # From the state with only the harmful factor, going on pays.
    harmed = np.array([[True, False]])
    assert look_ahead(flipped, np.array([0]), harmed, Reward(0.1)).labels().tolist() == [1]


@settings(max_examples=20, deadline=None)
@given(worlds)
def test_a_large_lam_buys_nothing_and_costs_are_shares(made):
    world, _ = made
    lowest = shares(world.prices, np.eye(world.layout.n_factors, dtype=bool)).min()
    result = roll_out(world, Reward(2.0 / lowest + 1e-6), None)
    assert not result.bought.any()
    assert result.cost == 0
    everything = np.ones((1, world.layout.n_factors), dtype=bool)
    assert shares(world.prices, everything) == pytest.approx([1.0])


@settings(max_examples=20, deadline=None)
@given(worlds, lams)
def test_a_coach_without_weight_is_the_oracle(made, lam):
    world, _ = made
    start = np.zeros((len(world.Z), world.layout.n_factors), dtype=bool)
    prospect = look_ahead(world, np.arange(len(world.Z)), start, Reward(lam))
    likes = np.random.default_rng(0).dirichlet(np.ones(start.shape[1] + 1), len(start))
    assert (prospect.labels(0.0 * likes) == prospect.labels()).all()


def make_learner(world, rows, rng):
    """A random linear policy, and its scores at the end of a path of one row, in plain numbers."""
    d, k = world.layout.n_factors, world.n_classes
    base = Linear(*(rng.normal(size=shape) for shape in ((d, d + 1), (d, d + 1), (d + 1,))))
    meta = rng.normal(size=(N_METAS + k, d + 1))

    def seen(i, state):
        p = naive.chances(rows[i]["base"], rows[i]["adds"], state)
        return max(p), p.index(max(p)), naive.cost(rows[i]["price"], rows[i]["groups"], state)

    def scores_of(i):
        def scores(path):
            before = seen(i, path[-2]) if len(path) > 1 else seen(i, path[-1])
            metas = naive.meta_features(seen(i, path[-1]), before, k)
            return [
                base.bias[a]
                + sum(world.Z[i, f] * base.weight[f, a] + base.mark[f, a] for f in path[-1])
                + sum(value * weight for value, weight in zip(metas, meta[:, a], strict=True))
                for a in range(d + 1)
            ]

        return scores

    return LinearChooser(base, meta), scores_of


def states_of(examples, world):
    """Rows, sets of factors, features and labels of the examples."""
    found = States(
        np.concatenate(examples.rows).astype(int), np.concatenate(examples.bought),
        np.concatenate(examples.metas).astype(float), np.concatenate(examples.guess).astype(int),
    )  # fmt: skip
    phi = policy_features(world, found).tolist()
    labels = np.concatenate(examples.labels).tolist()
    return list(zip(found.rows.tolist(), as_sets(found.bought), phi, labels, strict=True))


@settings(max_examples=30, deadline=None)
@given(worlds, lams, st.integers(0, 10**6))
def test_the_coach_of_rewards_adds_what_the_naive_regression_expects(made, lam, seed):
    world, rows = made
    rng = np.random.default_rng(seed)
    n, n_factors = world.Z.shape
    coach, kept = RewardCoach(3.0), ([], [])
    for number in (1, 2, 3, 4):
        coach.begin(number)
        examples, gains, chooser = Examples(), {}, None
        if number > 1:
            chooser, scores_of = make_learner(world, rows, rng)
            gains = {i: naive.learner_gains(rows[i], lam, scores_of(i)) for i in range(n)}
        roll_out(world, Reward(lam), chooser, examples, coach)
        features, lines = [], []
        for i, known, phi, label in states_of(examples, world):
            if kept[0]:
                likes = naive.expected_values(*kept, [phi])[0]
                liked = dict(enumerate(likes)) | {"stop": likes[-1]}
                eta = 3.0 * math.exp((1 - number) / 3)
                expected = naive.coach_action(rows[i], known, lam, eta, liked)
            else:
                expected = naive.oracle_action(rows[i], known, lam)
            assert label == (n_factors if expected == "stop" else expected)
            if gains:
                features.append(phi)
                lines.append(gains[i].pop(frozenset(known)))
        assert not any(gains.values()), "a state that the learner passes was not labelled"
        kept[0].extend(features)
        kept[1].extend(lines)
    coach.begin(5)
    found = np.array([*features, [0.0] * len(phi)])
    expected = naive.expected_values(*kept, found.tolist())
    ones = np.ones((len(found), 1))
    assert np.hstack([found, ones]) @ coach._weight == pytest.approx(expected, abs=1e-5)


def test_the_coach_of_confidence_adds_how_likely_the_learner_takes_an_action():
    world, rows = make_world(8)
    n, n_factors = world.Z.shape
    bought = np.tile([True, False, False, False], (n, 1))
    states, _ = look(world, np.arange(n), bought, np.full((n, 3), np.nan))
    prospect = look_ahead(world, np.arange(n), bought, Reward(0.5))
    scores = np.random.default_rng(1).normal(size=(n, n_factors + 1))
    scores[:, 0] = 20.0  # bought: it must not take the others' part
    coach = ConfidenceCoach(5.0)
    coach.begin(2)
    labels = coach.label(world, states, prospect, decide(scores, bought))
    for i, row in enumerate(rows):
        powers = {f: math.exp(scores[i, f]) for f in (1, 2, 3)}
        powers["stop"] = math.exp(scores[i, n_factors])
        likes = {action: power / sum(powers.values()) for action, power in powers.items()}
        expected = naive.coach_action(row, {0}, 0.5, 5.0 / math.e, likes)
        assert labels[i] == (n_factors if expected == "stop" else expected)
    assert (labels != prospect.labels()).any()


def test_features_built_in_blocks_are_those_built_at_once(monkeypatch):
    world, rows = make_world(9, n=11)
    found = []
    for block in (4, 4096):
        monkeypatch.setattr(selection_states, "BLOCK", block)
        rng, coach, examples = np.random.default_rng(0), RewardCoach(10.0), Examples()
        for number in (1, 2, 3):
            coach.begin(number)
            chooser = None if number == 1 else make_learner(world, rows, rng)[0]
            roll_out(world, Reward(0.5), chooser, examples, coach)
        coach.begin(4)
        found.append((coach._weight, np.concatenate(examples.labels)))
    assert found[0][0] == pytest.approx(found[1][0], abs=1e-10)
    assert found[0][1].tolist() == found[1][1].tolist()


@pytest.mark.parametrize(("kind", "rounds"), [(ConfidenceCoach, 1), (RewardCoach, 3)])
def test_eta_falls_by_e_in_one_round_or_in_three(kind, rounds):
    coach = kind(0.7)
    for number, eta in ((1, 0.7), (1 + rounds, 0.7 / np.e), (1 + 2 * rounds, 0.7 / np.e**2)):
        coach.begin(number)
        assert coach.eta == pytest.approx(eta)


def test_who_stops_is_told_from_who_ties():
    """At a tie a factor is bought, as policies do."""
    found = decide(np.array([[1.0, 2.0, 2.0], [1.0, 2.0, 2.0], [1.0, 2.0, 2.1]]),
                   np.array([[False, False], [False, True], [False, False]]))  # fmt: skip
    assert found.action.tolist() == [1, 2, 2]
    assert found.favourite.tolist() == [1, 0, 1]


def test_examples_hold_every_visited_state_and_sampling_is_uniform_and_bounded():
    world, rows = make_world(3, n=8, n_factors=4)
    examples = Examples()
    result = roll_out(world, Reward(0.3), None, examples)
    steps = result.bought.sum(axis=1)
    # One example per purchase and one for stopping, which is forced and not recorded at the end.
    assert len(examples) == int((steps + (steps < 4)).sum())
    phi, labels = examples.draw(world, 5, np.random.default_rng(0))
    assert phi.shape == (5, 4 + 4 + 6 + world.n_classes)
    assert labels.shape == (5,)
    for i in range(8):
        own = np.concatenate(examples.rows) == i
        labelled = np.concatenate(examples.labels)[own]
        states = np.concatenate(examples.bought)[own]
        for label, state in zip(labelled, as_sets(states), strict=True):
            expected = naive.oracle_action(rows[i], state, 0.3)
            assert label == (4 if expected == "stop" else expected)


def test_copies_of_visits_share_the_trade_offs_and_bring_full_rows_every_other_time():
    world, _ = make_world(4, n=300)
    rewards = [Reward(0.0), Reward(1000.0)]
    learner, schedule = LinearLearner(world.layout, world.n_classes, 1), Schedule(2, 0.5, 1000, 0)
    masks = visited_masks(world, rewards, learner, schedule, copies=3)
    assert [bool(mask.all()) for mask in masks] == [True, False, False, False, True, False, False]
    never = [(ends.sum(axis=1) == 0).mean() for ends in (masks[1], masks[3], masks[5])]
    # About half of the rows are drawn for the trade-off that buys nothing, others each time.
    assert 0.35 < min(never) <= max(never) < 0.9
    assert (masks[1] != masks[3]).any()
    assert not (masks[2] & ~masks[1]).any()
    assert not (masks[6] & ~masks[5]).any()
    (only, *_) = visited_masks(world, rewards[1:], learner, schedule)[1:]
    assert not only.any()
