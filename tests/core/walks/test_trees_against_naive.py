"""The compiled core grows the trees of the naive twin."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ensembles import nested, opens_of
from tests.naive import trees as naive
from tests.naive.noise import factor
from worthwhile.core.boosting.split_noise import noise_of
from worthwhile.core.threads import Threads
from worthwhile.costs import FlatCosts
from worthwhile.estimators.boosting.binned_data import BinnedData
from worthwhile.estimators.boosting.booster import Booster, BoosterSettings, Sample, Tree, assemble


def flat(price, opens=None, fee=()):
    return FlatCosts.of(price, [[]] * len(price) if opens is None else opens, fee)


def naive_prices(kind, costs, *more):
    return kind(costs.price.tolist(), opens_of(costs), costs.fee.tolist(), *more)


@st.composite
def problems(draw, missing=True):
    n = draw(st.integers(2, 40))
    d = draw(st.integers(1, 6))
    seed = draw(st.integers(0, 2**16))
    rng = np.random.default_rng(seed)
    levels = rng.choice([2, 3, 5, 50], size=d)
    X = np.column_stack([rng.integers(0, k, n) for k in levels]).astype(float)
    X += np.where(levels == 50, 0.25, 0.0)
    if missing and draw(st.booleans()):
        X[rng.random((n, d)) < 0.2] = np.nan
    G = int(rng.integers(0, 4))
    opens = [np.flatnonzero(rng.random(G) < 0.4).tolist() for _ in range(d)]
    price = rng.integers(0, 4, d) * 10**9
    fee = rng.integers(0, 4, G) * 10**9
    return X, rng, flat(price, opens, fee)


def grown(X, gradients, costs, config, weight=None, n_threads=1, sample=None):
    with Threads(n_threads) as threads:
        data = BinnedData.prepare(X, threads, weight)
        booster = Booster(data, costs, config, threads)
        tree = booster.grow(gradients, sample)
        total = np.zeros((len(gradients), len(X)))
        booster.add(tree, total)
        flat_trees = assemble([tree], data.bins, np.zeros(len(gradients)), len(gradients))
    return nested(flat_trees, 0), booster, total, tree, flat_trees


@settings(max_examples=60, deadline=None)
@given(
    problems(),
    st.sampled_from([0.0, 0.3, 2.0]),
    st.integers(0, 4),
    st.integers(1, 4),
    st.integers(1, 2),
)
def test_one_tree_of_unit_weights(problem, lam, max_depth, min_leaf, n_threads):
    X, rng, costs = problem
    gradients = (
        rng.normal(size=(1, len(X)))
        if rng.random() < 0.5
        else rng.integers(-3, 4, (1, len(X))) * 1.0
    )
    config = BoosterSettings(
        lam=lam, lam_scale="sum", learning_rate=1.0, max_depth=max_depth, min_samples_leaf=min_leaf
    )
    prices = naive_prices(naive.Prices, costs)
    root, exponent = naive.grow(X, gradients, prices, lam, max_depth, min_leaf)
    tree, booster, total, _, _ = grown(X, gradients, costs, config, n_threads=n_threads)
    assert tree == naive.describe(root, exponent)
    assert booster.purchases.order == prices.order
    for leaf in naive.leaves(root):
        assert (total[0, leaf.rows] == naive.mean_of(leaf, exponent)[0]).all()


@settings(max_examples=40, deadline=None)
@given(problems(), st.sampled_from([0.0, 0.3]), st.integers(1, 3), st.integers(1, 3))
def test_one_tree_of_vector_leaves(problem, lam, max_depth, outputs):
    X, rng, costs = problem
    gradients = rng.normal(size=(outputs, len(X)))
    config = BoosterSettings(
        lam=lam, lam_scale="sum", learning_rate=1.0, max_depth=max_depth, min_samples_leaf=2
    )
    prices = naive_prices(naive.Prices, costs)
    root, exponent = naive.grow(X, gradients, prices, lam, max_depth, 2)
    assert grown(X, gradients, costs, config)[0] == naive.describe(root, exponent)


@settings(max_examples=40, deadline=None)
@given(
    problems(), st.sampled_from([0.0, 0.3]), st.integers(1, 3), st.sampled_from([0.3, 2.0]), st.integers(0, 2**31)
)  # fmt: skip
def test_one_tree_with_noise(problem, lam, outputs, level, seed):
    X, rng, costs = problem
    gradients = rng.normal(size=(outputs, len(X)))
    config = BoosterSettings(
        lam=lam, lam_scale="sum", learning_rate=1.0, max_depth=4, min_samples_leaf=1
    )
    names, prices = (seed, 3, 1), naive_prices(naive.Prices, costs)
    root, exponent = naive.grow(
        X, gradients, prices, lam, 4, 1, noise=lambda node, f: factor(level, *names, node, f)
    )
    sample = Sample(noise=noise_of(level, *names))
    tree, booster, *_ = grown(X, gradients, costs, config, sample=sample)
    assert tree == naive.describe(root, exponent)
    assert booster.purchases.order == prices.order


@settings(max_examples=40, deadline=None)
@given(problems(missing=False), st.sampled_from([0.0, 0.3]), st.integers(1, 3))
def test_integer_weights_equal_repetition(problem, lam, max_depth):
    X, rng, costs = problem
    gradients = rng.normal(size=(1, len(X)))
    weight = rng.integers(1, 4, len(X)).astype(float)
    times = weight.astype(int)
    config = BoosterSettings(lam=lam, learning_rate=1.0, max_depth=max_depth, min_samples_leaf=2)
    weighted = grown(X, gradients, costs, config, weight)[0]
    repeated = grown(
        np.repeat(X, times, axis=0), np.repeat(gradients, times, axis=1), costs, config
    )[0]
    assert weighted == repeated


@settings(max_examples=30, deadline=None)
@given(problems(), st.sampled_from([0.1, 1.0]), st.booleans())
def test_row_prices_over_several_trees(problem, lam, weighted):
    X, rng, costs = problem
    weights = rng.integers(1, 3, len(X)) if weighted else np.ones(len(X), dtype=int)
    config = BoosterSettings(
        lam=lam, lam_scale="sum", max_depth=2, min_samples_leaf=1, penalty="row"
    )
    prices, opens = naive_prices(naive.RowPrices, costs, [set() for _ in X]), opens_of(costs)
    with Threads(1) as threads:
        data = BinnedData.prepare(X, threads, weights.astype(float))
        booster = Booster(data, costs, config, threads)
        for _ in range(3):
            gradients = rng.normal(size=(1, len(X)))
            root, exponent = naive.grow(X, gradients, prices, lam, 2, 1, weights.tolist())
            tree = booster.grow(gradients)
            booster.add(tree, np.zeros((1, len(X))))
            found = nested(assemble([tree], data.bins, np.zeros(1), 1), 0)
            assert found == naive.describe(root, exponent, 0.1)
    paid = sum(
        sum(int(costs.price[f]) for f in met)
        + sum(int(costs.fee[g]) for g in {g for f in met for g in opens[f]})
        for met in prices.met
    )
    assert booster.meetings.quanta() == paid


@settings(max_examples=20, deadline=None)
@given(problems(), st.sampled_from([0.0, 0.02, 0.5]))
def test_boosting_by_the_book(problem, lam):
    X, rng, costs = problem
    y = rng.normal(size=len(X))
    prices = naive_prices(naive.Prices, costs)
    expected, losses = naive.boost_squared(X, y, prices, lam, 4, 0.5, 2, 2)
    config = BoosterSettings(
        lam=lam, lam_scale="sum", learning_rate=0.5, max_depth=2, min_samples_leaf=2
    )
    with Threads(1) as threads:
        data = BinnedData.prepare(X, threads)
        booster = Booster(data, costs, config, threads)
        total, trees = np.zeros((1, len(X))), []
        for _ in range(4):
            trees.append(booster.grow(y - total))
            booster.add(trees[-1], total)
    ensemble = assemble(trees, data.bins, np.zeros(1), 1)
    assert [nested(ensemble, root) for root in ensemble.root] == expected
    assert booster.purchases.order == prices.order
    assert all(a >= b - 1e-9 for a, b in itertools.pairwise(losses))


@pytest.mark.parametrize("penalty", ["model", "row"])
def test_sampled_trees_follow_rows_outside_the_sample(penalty):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 4))
    gradients = rng.normal(size=(1, 500))
    rows = np.sort(rng.choice(500, 150, replace=False)).astype(np.int32)
    config = BoosterSettings(learning_rate=1.0, min_samples_leaf=5, penalty=penalty)
    with Threads(1) as threads:
        data = BinnedData.prepare(X, threads)
        booster = Booster(data, flat([10**9] * 4), config, threads, track=True)
        total = np.zeros((1, 500))
        tree: Tree = booster.grow(gradients, Sample(rows=rows))
        booster.add(tree, total)
        ensemble = assemble([tree], data.bins, np.zeros(1), 1)
    from worthwhile.core.walks import general as walk

    raw, acquired = np.zeros((500, 1)), np.zeros((500, 4), dtype=bool)
    walk.walk(
        X, ensemble.packed(), ensemble.sets, ensemble.value, ensemble.root, ensemble.output, ensemble.base, False, raw,
        acquired, 0, 500,
    )  # fmt: skip
    assert (raw[:, 0] == total[0]).all()
    assert booster.meetings.quanta() == acquired.sum() * 10**9
