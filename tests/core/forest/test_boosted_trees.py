"""Trees that correct one another: against slow sums, and what they may not know."""

from __future__ import annotations

import numpy as np
import pytest

from tests.naive import boosted as naive
from worthwhile.core.forest.bagged_trees import Rows, leaf_of
from worthwhile.core.forest.boosted_trees import Kind, grow, purchase_order


def table(seed, n=120, d=5, lost=True, weighted=False):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 200 if seed % 2 else 9, size=(d, n)).astype(np.uint8)
    missing = np.full(d, -1)
    if lost:
        missing[1] = int(codes[1].max()) + 1
        codes[1, rng.random(n) < 0.3] = missing[1]
    weight = rng.integers(1, 4, n).astype(np.float64) if weighted else np.ones(n)
    return Rows(codes, missing, np.zeros(n, np.int32), weight, weight)


def kind_of(n_outputs, n_pool, parts=3, rounds=4, depth=3, sample=1.0, tried=1.0, rate=0.3, seed=1):
    return Kind(
        n_outputs, n_pool, parts, rounds, depth, sample, 10**6, tried, 4, rate, np.uint64(seed)
    )


def boosted(data, kind, target, part):
    votes = np.zeros(target.shape)
    columns = np.arange(len(data.codes), dtype=np.int32)
    return grow(data, kind, columns, target, part, votes), votes


def said(data, arrays, tree, row):
    """What the leaf of a tree says about a row."""
    feature, cut, child, root, share, _ = arrays
    at = leaf_of(data.codes, data.missing, feature, cut, child, root[tree], row)
    return share[child[at]].astype(float)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [1, 2, 4])
def test_rows_are_answered_by_the_trees_of_their_part_and_new_ones_by_all(outputs, weighted):
    data = table(outputs, weighted=weighted)
    rng = np.random.default_rng(7)
    target, part = rng.normal(size=(120, outputs)), np.arange(120, dtype=np.int32) % 3
    kind = kind_of(outputs, 100, sample=0.7, tried=0.6)
    arrays, votes = boosted(data, kind, target, part)
    base = arrays[5]
    answers = [
        [base[p] + sum(said(data, arrays, 4 * p + r, row) for r in range(4)) for p in range(3)]
        for row in range(120)
    ]
    for row in range(120):
        wanted = answers[row][part[row]] if row < 100 else np.mean(answers[row], axis=0)
        np.testing.assert_allclose(votes[row], wanted, atol=1e-9)


def test_an_answer_does_not_know_the_truth_of_its_row():
    data, rng = table(3), np.random.default_rng(0)
    target, part = rng.normal(size=(120, 2)), np.arange(120, dtype=np.int32) % 3
    kind = kind_of(2, 110, sample=0.7, tried=0.6)
    _, votes = boosted(data, kind, target, part)
    other = target.copy()
    own = np.r_[np.flatnonzero(part[:110] == 1), np.arange(110, 120)]
    other[own] += rng.normal(size=(len(own), 2))
    _, changed = boosted(data, kind, other, part)
    np.testing.assert_allclose(changed[part == 1][:36], votes[part == 1][:36], atol=1e-9)
    assert not np.allclose(changed[part == 0][:36], votes[part == 0][:36])


def nested(arrays, tree):
    """One tree of the kernel as nested tuples, and what its leaves hold from left to right."""
    feature, cut, child, root, share, _ = arrays
    held = []

    def build(at):
        if feature[at] < 0:
            held.append(share[child[at]])
            return None
        return int(feature[at]), int(cut[at]), build(child[at]), build(child[at] + 1)

    return build(root[tree]), held


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [1, 2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_trees_are_the_slow_ones(seed, outputs, weighted):
    data, rng = table(seed, weighted=weighted), np.random.default_rng(seed)
    target, part = rng.normal(size=(120, outputs)), rng.integers(0, 3, 120).astype(np.int32)
    kind = kind_of(outputs, 100, sample=0.7, tried=0.6, seed=seed)
    arrays, votes = boosted(data, kind, target, part)
    trees, held, expected = naive.grow(data, kind, np.arange(5), target, part)
    for number, (tree, leaves) in enumerate(zip(trees, held, strict=True)):
        found, said_there = nested(arrays, number)
        assert found == tree
        np.testing.assert_allclose(said_there, leaves, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(votes, expected, atol=1e-6)


@pytest.mark.parametrize("outputs", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_purchases_is_the_slow_one(seed, outputs):
    data, rng = table(seed, d=8), np.random.default_rng(seed)
    target, price = rng.normal(size=(120, outputs)), rng.random(8)
    kind = kind_of(outputs, 110, parts=1, sample=0.8, tried=0.9, depth=2, seed=seed)
    columns, rates = np.arange(8, dtype=np.int32), np.geomspace(1, 0.01, 6)
    order = purchase_order(data, kind, columns, target, price, rates)
    assert order.tolist() == naive.purchase_order(data, kind, columns, target, price, rates)
    assert len(order) > 2


def test_cheap_columns_are_bought_before_dear_twins_and_useless_ones_late():
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 50, size=(6, 400)).astype(np.uint8)
    codes[3] = codes[0]  # the same, dearer
    y = (codes[0] > 25) ^ (codes[1] > 30)
    target = np.eye(2)[y.astype(int)] - np.bincount(y, minlength=2) / 400
    weight = np.ones(400)
    data = Rows(codes, np.full(6, -1), np.zeros(400, np.int32), weight, weight)
    price = np.array([0.1, 0.1, 0.1, 0.5, 0.1, 0.1])
    columns, rates = np.arange(6, dtype=np.int32), np.geomspace(10, 0.01, 40)
    order = purchase_order(
        data, kind_of(2, 400, 1, 40, sample=0.8), columns, target, price, rates
    ).tolist()
    assert sorted(order[:2]) == [0, 1]
    assert 3 not in order[:2]
    assert len(set(order)) == len(order)
