"""Splits of categories: against the naive twin, against all subsets, whatever the codes are called."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ensembles import nested
from tests.naive import trees as naive
from worthwhile.core.boosting.category_scan import principal_order
from worthwhile.core.threads import Threads
from worthwhile.costs import Costs
from worthwhile.estimators.boosting.binned_data import BinnedData
from worthwhile.estimators.boosting.booster import Booster, BoosterSettings, assemble
from worthwhile.policy import Output, TreePolicy

SETTINGS = BoosterSettings(lam_scale="sum", learning_rate=1.0, min_samples_leaf=1)


def free(d):
    return Costs(np.zeros(d)).flat


def grown(
    X,
    gradients,
    config,
    categorical,
    weight=None,
    costs=None,
    n_threads=1,
    others=(),
    curvature=None,
):
    """The tree of one round as arrays, what it says of all rows, and the bins."""
    with Threads(n_threads) as threads:
        data = BinnedData.prepare(X, threads, weight, others, categorical)
        booster = Booster(data, free(X.shape[1]) if costs is None else costs, config, threads)
        tree = booster.grow(gradients, curvature=curvature)
        total = np.zeros((len(gradients), len(X)))
        booster.add(tree, total)
        told = [np.zeros((len(gradients), len(other))) for other in others]
        for words, raw in zip(data.others, told, strict=True):
            booster.follow(tree, words, raw, None)
        trees = assemble([tree], data.bins, np.zeros(len(gradients)), len(gradients))
    return trees, total, told


def said(trees, X):
    """What walks by values say."""
    return TreePolicy(Costs(np.ones(X.shape[1])), Output("value"), trees).batch(X).raw.T


@st.composite
def tables(draw, missing=True):
    """Codes of few and of many levels beside numbers; which columns are categories."""
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    n, d = draw(st.integers(2, 60)), draw(st.integers(1, 5))
    levels = rng.choice([2, 3, 6, 100, 255], size=d)
    X = np.column_stack([rng.integers(0, k, n) for k in levels]).astype(float)
    if missing and draw(st.booleans()):
        X[rng.random((n, d)) < 0.2] = np.nan
    return X, rng, rng.random(d) < 0.7


@settings(max_examples=60, deadline=None)
@given(
    tables(), st.sampled_from([0.0, 0.3]), st.integers(1, 4), st.integers(1, 4),
    st.sampled_from([0.0, 1.0, 10.0]), st.booleans(),
)  # fmt: skip
def test_trees_are_those_of_the_twin(table, lam, max_depth, min_leaf, smooth, weighted):
    X, rng, categorical = table
    gradients = rng.integers(-9, 10, (1, len(X))) * 1.0
    if rng.random() < 0.5:
        gradients = rng.normal(size=(1, len(X)))
    weight = rng.integers(1, 4, len(X)).astype(float) if weighted else None
    costs = Costs(rng.integers(0, 4, X.shape[1])).flat
    config = replace(
        SETTINGS, lam=lam, max_depth=max_depth, min_samples_leaf=min_leaf, category_smooth=smooth
    )
    prices = naive.Prices(costs.price.tolist(), [[]] * X.shape[1], [])
    root, exponent = naive.grow(
        X, gradients, prices, lam, max_depth, min_leaf, None if weight is None else weight.astype(int).tolist(),
        categorical=np.flatnonzero(categorical), smooth=smooth,
    )  # fmt: skip
    trees, total, _ = grown(X, gradients, config, categorical, weight, costs)
    assert nested(trees, 0) == naive.describe(root, exponent)
    assert trees.problem(X.shape[1]) is None
    assert said(trees, X).tobytes() == total.tobytes(), "codes and values go the same way"


@settings(max_examples=60, deadline=None)
@given(
    tables(), st.sampled_from([0.0, 0.3]), st.integers(1, 3), st.integers(1, 4),
    st.sampled_from([0.0, 1.0]), st.booleans(),
)  # fmt: skip
def test_trees_that_gain_by_newton_steps_are_those_of_the_twin(
    table, lam, max_depth, min_leaf, smooth, weighted
):
    """Rows count by their curvature, of numbers and of categories; leaves need rows and curvature."""
    X, rng, categorical = table
    probability, y = rng.uniform(0.001, 0.999, len(X)), rng.random(len(X)) < 0.5
    gradients = (y - probability)[None, :]
    curvature = np.abs(gradients) * (1 - np.abs(gradients))
    weight = rng.integers(1, 4, len(X)).astype(float) if weighted else None
    whole = [1] * len(X) if weight is None else weight.astype(int).tolist()
    costs = Costs(rng.integers(0, 4, X.shape[1])).flat
    config = replace(
        SETTINGS, lam=lam, max_depth=max_depth, min_samples_leaf=min_leaf, category_smooth=smooth,
        by_curvature=True,
    )  # fmt: skip
    prices = naive.Prices(costs.price.tolist(), [[]] * X.shape[1], [])
    root, exponent = naive.grow(
        X, gradients, prices, lam, max_depth, min_leaf, whole, categorical=np.flatnonzero(categorical),
        smooth=smooth * 2.0**21, curvature=curvature, least=math.ceil(0.05 * min_leaf * 2.0**21),
    )  # fmt: skip
    trees, total, _ = grown(X, gradients, config, categorical, weight, costs, curvature=curvature)

    def step(node, exponent):
        return naive.newton_step_of(node, exponent, curvature, whole)

    expected = naive.describe(root, exponent, value_of=step)
    if weighted:  # a power of two in the weights is taken out again, but for the last bit
        assert structure(nested(trees, 0)) == structure(expected)
    else:
        assert nested(trees, 0) == expected
    assert said(trees, X).tobytes() == total.tobytes()


def structure(tree):
    """Splits alone."""
    if len(tree) == 1:
        return ()
    return (*tree[:3], *(structure(child) for child in tree[4:]))


def test_equal_curvature_changes_nothing():
    """Then a Newton step is a mean: the same trees at the same prices."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4))
    gradients = rng.choice([-0.5, 0.5], (1, 200)) * 1.0
    costs = Costs([1, 2, 3, 1]).flat
    config = replace(SETTINGS, lam=0.4, max_depth=3, min_samples_leaf=5)
    numbers = np.zeros(4, bool)
    plain = grown(X, gradients, config, numbers, costs=costs)[0]
    by_curvature = grown(
        X, gradients, replace(config, by_curvature=True), numbers, costs=costs,
        curvature=np.full((1, 200), 0.25),
    )[0]  # fmt: skip
    assert len(plain.feature) > 3
    assert structure(nested(by_curvature, 0)) == structure(nested(plain, 0))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**16), st.integers(2, 9), st.booleans())
def test_no_subset_is_better_than_the_one_found(seed, levels, missing):
    """Fisher's theorem: with nothing smoothed, the best of all subsets is found."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, (50, 1)).astype(float)
    if missing:
        X[rng.random(50) < 0.2] = np.nan
    gradients = rng.normal(size=(1, 50))
    rounded, exponent = naive.round_gradients(gradients)
    total, best = naive.sums(range(50), [1] * 50, rounded), 0.0
    codes = sorted(set(X[~np.isnan(X)].tolist()))
    for size in range(len(codes) + 1):
        for chosen in itertools.combinations(codes, size):
            for with_missing in (False, True) if missing else (False,):
                taken = np.isin(X[:, 0], chosen) | (np.isnan(X[:, 0]) & with_missing)
                part = naive.sums(np.flatnonzero(taken).tolist(), [1] * 50, rounded)
                if 0 < part[0] < 50:
                    best = max(best, naive.worth(part, total))
    config = replace(SETTINGS, max_depth=1, category_smooth=0.0)
    with Threads(1) as threads:
        data = BinnedData.prepare(X, threads, categorical=np.ones(1, bool))
        gain = Booster(data, free(1), config, threads).root_gains(gradients)[0]
    assert gain == pytest.approx(best * 0.5 * 4.0**-exponent, rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 3))
def test_the_names_of_the_codes_do_not_matter(table, outputs):
    X, rng, categorical = table
    gradients = rng.normal(size=(outputs, len(X)))
    config = replace(SETTINGS, max_depth=3, category_smooth=2.0)
    other = X.copy()
    for column in np.flatnonzero(categorical):
        names = rng.permutation(255).astype(float)
        here = ~np.isnan(X[:, column])
        other[here, column] = names[X[here, column].astype(int)]
    one = grown(X, gradients, config, categorical)[1]
    two = grown(other, gradients, config, categorical)[1]
    np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(tables(), st.integers(1, 3), st.sampled_from([0.0, 5.0]))
def test_integer_weights_equal_repetition(table, outputs, smooth):
    X, rng, categorical = table
    gradients = rng.normal(size=(outputs, len(X)))
    times = rng.integers(1, 4, len(X))
    config = replace(SETTINGS, max_depth=3, category_smooth=smooth)
    weighted = grown(X, gradients, config, categorical, times.astype(float))[0]
    repeated = grown(
        np.repeat(X, times, axis=0), np.repeat(gradients, times, axis=1), config, categorical
    )[0]
    assert nested(weighted, 0) == nested(repeated, 0)


@settings(max_examples=20, deadline=None)
@given(tables(), st.integers(1, 3))
def test_further_rows_go_where_walks_send_them(table, outputs):
    """Rows with codes that training never saw, or never saw in a node."""
    X, rng, categorical = table
    more = np.where(
        categorical, rng.integers(0, 255, (40, X.shape[1])), rng.normal(size=(40, X.shape[1]))
    )
    more[rng.random(more.shape) < 0.2] = np.nan
    gradients = rng.normal(size=(outputs, len(X)))
    config = replace(SETTINGS, max_depth=3)
    trees, _, (told,) = grown(X, gradients, config, categorical, others=[more])
    assert said(trees, more).tobytes() == told.tobytes()
    alone = grown(X, gradients, config, categorical)[0]
    assert nested(alone, 0) == nested(trees, 0), "rows held out do not change the tree"


def test_codes_that_a_node_has_not_seen_go_with_most_rows():
    X = np.repeat([0.0, 1.0, 4.0], [30, 20, 10])[:, None]
    gradients = np.where(X[:, 0] == 1, 1.0, -1.0)[None, :]
    trees, _, _ = grown(X, gradients, replace(SETTINGS, max_depth=1), np.ones(1, bool))
    assert nested(trees, 0)[1] == frozenset({1})
    unseen = np.array([[2.0], [3.0], [200.0], [np.nan]])
    assert (said(trees, unseen) == -1.0).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("smooth", "expected"), [(0.0, {2}), (1e6, {0})])
def test_categories_of_few_rows_stand_in_the_middle(smooth, expected, weighted):
    """A single row far out is set apart by itself, or not: both layouts of histograms."""
    X = np.repeat([0.0, 1.0, 2.0], [50, 50, 1])[:, None]
    gradients = np.repeat([0.9, 1.0, 2.0], [50, 50, 1])[None, :]
    weight = np.full(101, 2.0) if weighted else None
    config = replace(SETTINGS, max_depth=1, category_smooth=smooth)
    trees = grown(X, gradients, config, np.ones(1, bool), weight)[0]
    assert nested(trees, 0)[1] == expected


def test_with_several_outputs_categories_stand_along_the_direction_in_which_they_differ_most():
    rng = np.random.default_rng(0)
    along = rng.permutation(12)
    direction = np.array([3.0, -2.0, 1.0])
    sums = np.rint(1000 * (along[:, None] * direction + 0.1 * rng.normal(size=(12, 3)))).astype(int)
    histogram = np.column_stack([np.full(12, 10), sums])
    order, found = principal_order(histogram, 12, histogram.sum(axis=0), 0.0, 3)
    assert found == 12
    assert along[order].tolist() in (list(range(12)), list(range(11, -1, -1)))


@pytest.mark.parametrize("bad", [-1.0, 0.5, 255.0, np.inf])
def test_what_is_no_code_is_refused(bad):
    X = np.array([[0.0], [bad], [np.nan]])
    with Threads(1) as threads, pytest.raises(ValueError, match="a categorical column holds"):
        BinnedData.prepare(X, threads, categorical=np.ones(1, bool))
