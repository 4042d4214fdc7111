from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ensembles import opens_of
from tests.naive import linear as naive
from worthwhile.core.linear import greedy_selection as gr
from worthwhile.core.linear import moments as mo
from worthwhile.core.linear.fit_gain import MomentsEngine, QREngine
from worthwhile.costs import FlatCosts

NOTHING = np.array([], dtype=int)


def make(seed, n=60, d=6, m=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.4 * rng.normal(size=(d, d))) + rng.normal(size=d)
    Y = X @ rng.normal(size=(d, m)) + rng.normal(size=(n, m))
    return X, Y, rng.random(n) + 0.05, rng.integers(1, 6, size=d).astype(np.int64)


def centred(X, Y, weight):
    M = mo.moments(mo.WeightedRows(X, Y, np.zeros(X.shape[1]), NOTHING, weight=weight))
    return mo.Centred.of(M, X.shape[1])


def engine_of(name, X, Y, weight):
    c = centred(X, Y, weight)
    if name == "moments":
        return MomentsEngine(c.gram, c.square, c.cross, c.y_square, c.about_shift)
    if name == "columns":
        return MomentsEngine(lambda a: c.gram[a], c.square, c.cross, c.y_square, c.about_shift)
    root = np.sqrt(weight)[:, None]
    return QREngine(root * (X - c.x_mean), root * (Y - c.y_mean), c.about_shift)


def prices(price, group=None, fee=()):
    opens = [[]] * len(price) if group is None else [[g] if g >= 0 else [] for g in group]
    return FlatCosts.of(price, opens, fee)


@given(st.integers(0, 100_000), st.integers(1, 3), st.integers(1, 20))
@settings(max_examples=40, deadline=None)
def test_engines_choose_alike_and_as_refitting_every_set_would(seed, m, budget):
    X, Y, weight, price = make(seed, m=m)
    expected = naive.greedy(X, Y, weight, price, budget)
    for name in ("moments", "columns", "qr"):
        engine = engine_of(name, X, Y, weight)
        taken = gr.select(engine, prices(price), budget, "stop")
        assert taken.features.tolist() == expected
        assert taken.spent == price[expected].sum() <= budget
        if expected:
            assert taken.fit[-1] == pytest.approx(naive.fit_of(X, Y, weight, expected), abs=1e-9)
            beta = engine.solve()
            c = centred(X, Y, weight)
            np.testing.assert_allclose(
                c.gram[np.ix_(expected, expected)] @ beta, c.cross[expected], atol=1e-7
            )


@given(st.integers(0, 100_000), st.integers(1, 25))
@settings(max_examples=40, deadline=None)
def test_skip_goes_on_from_stop_within_the_budget(seed, budget):
    X, Y, weight, price = make(seed, d=8)
    group, fee = np.array([-1, 0, 0, -1, 1, 1, 1, -1]), [3, 2]
    for p in (prices(price), prices(price, group, fee)):
        stop = gr.select(engine_of("moments", X, Y, weight), p, budget, "stop")
        skip = gr.select(engine_of("moments", X, Y, weight), p, budget, "skip")
        assert skip.features[: len(stop.features)].tolist() == stop.features.tolist()
        assert skip.prefix == len(stop.features)
        assert skip.prefix_spent == stop.spent <= skip.spent <= budget
        assert (np.diff(skip.fit) >= -1e-12).all()


@given(st.integers(0, 100_000), st.integers(0, 25))
@settings(max_examples=30, deadline=None)
def test_fees_are_charged_once_and_engines_agree_on_blocks(seed, budget):
    X, Y, weight, price = make(seed, d=7)
    price[5] = 0
    if seed % 2:
        p = prices(price, [0, 0, 0, 1, 1, 1, -1], [4, 2])
    else:  # the second fee stands within the first, and a third crosses both
        p = FlatCosts.of(price, [[0], [0], [0, 2], [0, 1], [0, 1, 2], [0, 1], []], [4, 2, 3])
    results = [gr.select(engine_of(name, X, Y, weight), p, budget) for name in ("moments", "qr")]
    assert results[0].features.tolist() == results[1].features.tolist()
    taken = results[0].features
    opened = {g for a in taken for g in opens_of(p)[a]}
    assert (
        results[0].spent
        == sum(int(price[a]) for a in taken) + sum(int(p.fee[g]) for g in opened)
        <= budget
    )
    if opened.issuperset(opens_of(p)[5]):
        assert 5 in taken  # free once its fees are paid


def test_a_fee_shared_by_two_features_is_judged_on_both():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 500))
    # Each member alone is worth less per price than the lone feature; the pair is worth more.
    X = np.column_stack([a, b, 0.9 * (a + b) + rng.normal(size=500)])
    Y = (a + b)[:, None]
    p = prices([1, 1, 9], [0, 0, -1], [6])
    taken = gr.select(engine_of("moments", X, Y, np.ones(500)), p, 8)
    assert sorted(taken.features.tolist()) == [0, 1]
    assert taken.spent == 8


def test_group_block_stops_where_the_ratio_of_the_whole_block_falls():
    S, r = np.eye(3), np.array([[3.0], [2.0], [0.1]])
    prices = np.array([1, 1, 1]), np.ones((3, 1), dtype=bool), np.array([2])
    gain, cost, members = gr.group_block(S, r, *prices, 10)
    assert (gain, cost, members) == (13.0, 4, [0, 1])
    assert gr.group_block(S, r, *prices, 2)[2] == []
    assert gr.group_block(S, r, *prices, 3)[2] == [0]


def test_group_block_counts_every_fee_once():
    S, r = np.eye(3), np.array([[3.0], [2.0], [1.9]])
    opens = np.array([[True, False], [True, True], [True, True]])
    gain, cost, members = gr.group_block(S, r, np.zeros(3, dtype=int), opens, np.array([2, 1]), 10)
    assert (gain, cost, members) == (pytest.approx(16.61), 3, [0, 1, 2])


@given(st.integers(0, 100_000))
@settings(max_examples=20, deadline=None)
def test_orthonormal_features_come_in_order_of_correlation_with_certificate_one(seed):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(np.column_stack([np.ones(40), rng.normal(size=(40, 6))]))[0][:, 1:]
    y = Q @ rng.normal(size=6) + 0.1 * rng.normal(size=40)
    weight = np.ones(40)
    taken = gr.select(engine_of("moments", Q, y[:, None], weight), prices(np.ones(6)), 6)
    correlation = np.abs(Q.T @ (y - y.mean()))
    assert taken.features.tolist() == np.argsort(-correlation).tolist()
    gains = np.diff(np.concatenate([[0], taken.fit]))
    np.testing.assert_allclose(
        gains, np.sort(correlation**2)[::-1] / ((y - y.mean()) ** 2).sum(), atol=1e-10
    )
    c = centred(Q, y[:, None], weight)
    assert gr.smallest_eigenvalue(c.gram, c.square, 0 * c.square, np.arange(6)) == pytest.approx(
        1.0
    )


@given(st.integers(0, 100_000), st.integers(2, 12))
@settings(max_examples=25, deadline=None)
def test_guarantee_holds_against_brute_force(seed, budget):
    X, Y, weight, price = make(seed, d=5)
    taken = gr.select(engine_of("moments", X, Y, weight), prices(price), budget, "skip")
    c = centred(X, Y, weight)
    gamma = gr.smallest_eigenvalue(c.gram, c.square, 0 * c.square, np.arange(5))
    fit = taken.fit[taken.prefix - 1] if taken.prefix else 0.0
    best = naive.best_fit(X, Y, weight, price, taken.prefix_spent)
    assert fit >= (1 - np.exp(-gamma)) * best - 1e-12


def test_free_features_come_first_and_cost_nothing():
    X, Y, weight, price = make(5)
    price[[1, 4]] = 0
    taken = gr.select(engine_of("moments", X, Y, weight), prices(price), 0)
    assert sorted(taken.features.tolist()) == [1, 4]
    assert taken.spent == 0
    everything = gr.select(engine_of("qr", X, Y, weight), prices(0 * price), 0)
    assert sorted(everything.features.tolist()) == list(range(6))


@pytest.mark.parametrize("name", ["moments", "qr"])
@pytest.mark.parametrize("price", [0, 1])
def test_the_pivot_says_how_much_of_a_column_the_others_leave(name, price):
    rng = np.random.default_rng(0)
    a, b = np.linalg.qr(rng.normal(size=(80, 2)))[0].T
    a, b = a - a.mean(), b - b.mean()
    X = np.column_stack([a, a + 0.01 * b])  # free ones are taken together, others one by one
    left = 1 - np.corrcoef(X.T)[0, 1] ** 2
    taken = gr.select(engine_of(name, X, b[:, None], np.ones(80)), prices([price, price]), 2)
    assert len(taken.features) == 2
    assert taken.pivot == pytest.approx(left, rel=1e-3)


@pytest.mark.parametrize("name", ["moments", "qr"])
def test_constant_and_collinear_columns_are_left_out_and_the_cheaper_twin_is_taken(name):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 80)) + 1e3
    X = np.column_stack([np.full(80, 7.0), a, a, b, a + b])
    Y = (a + 2 * b)[:, None]
    price = np.array([1, 3, 2, 2, 50])
    taken = gr.select(engine_of(name, X, Y, np.ones(80)), prices(price), 1000)
    assert sorted(taken.features.tolist()) == [2, 3]
    assert taken.fit[-1] == pytest.approx(1.0)


def test_scaling_columns_changes_no_choice():
    X, Y, weight, price = make(9)
    scaled = X * np.array([1e-6, 1e5, 3.0, 1e-2, 7e8, 1.0])
    first = gr.select(engine_of("moments", X, Y, weight), prices(price), 9)
    second = gr.select(engine_of("moments", scaled, Y, weight), prices(price), 9)
    assert first.features.tolist() == second.features.tolist()


def test_long_selections_stay_exact_through_the_refresh():
    X, Y, weight, _ = make(3, n=400, d=90, m=2)
    engine = engine_of("moments", X, Y, weight)
    taken = gr.select(engine, prices(np.ones(90)), 90)
    assert len(taken.features) == 90
    c = centred(X, Y, weight)
    beta = np.linalg.solve(c.gram, c.cross)
    np.testing.assert_allclose(engine.solve(), beta[taken.features], rtol=1e-6, atol=1e-8)
