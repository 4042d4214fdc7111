"""The papers' synthetic problems have the best policies their docstrings promise."""

from __future__ import annotations

import numpy as np
import pytest

from worthwhile import datasets


def test_quarter_bits_are_the_papers_1024_examples():
    X, y, costs = datasets.make_quarter_bits()
    weights = 2 ** np.arange(9, -1, -1)
    assert (X.to_numpy() @ weights == np.arange(1024)).all()
    for low, label in [(1, 1), (257, 2), (513, 3), (769, 4)]:
        assert (y[low : low + 255] == label).all()
    assert y[[0, 256, 512, 768]].tolist() == [2, 3, 4, 1]
    assert costs.total == 10
    # Threshold-pairs impurity of all rows, over pairs of classes counted once.
    n = np.bincount(y)[1:]
    assert n.tolist() == [256] * 4
    assert (n.sum() ** 2 - (n**2).sum()) // 2 == 393216


def test_quarter_bits_best_policies_cost_what_is_said():
    X, y, _ = datasets.make_quarter_bits()
    bits = X.to_numpy().astype(int)
    quarter = 1 + 2 * bits[:, 0] + bits[:, 1]
    assert (quarter != y).sum() == 4
    # Two bits, then on until one is set: exact, and 10 bits for the exceptions alone.
    set_at = np.where(bits[:, 2:].any(axis=1), bits[:, 2:].argmax(axis=1) + 1, 8)
    assert (2 + set_at).mean() == 3.9921875
    # Every single change of row 0 changes its label, so an exact policy reads all of it.
    assert all(y[1 << k] != y[0] for k in range(10))


@pytest.mark.parametrize("seed", [0, 1])
def test_synthetic_1_is_easy_left_contrary_right_and_curved_in_the_centre(seed):
    X, y, costs = datasets.make_synthetic_1(1000, seed)
    x1, x2 = X["x1"].to_numpy(), X["x2"].to_numpy()
    left, right = x1 < -1, x1 > 1
    centre = ~left & ~right
    assert (left.sum(), centre.sum(), right.sum()) == (400, 400, 200)
    assert (y[left] == np.sign(x2[left])).all()
    assert (y[right] == -np.sign(x2[right])).all()
    inside = np.hypot(x1[centre], x2[centre]) < 0.7
    assert (y[centre] == np.where(inside, 1, -1)).all()
    assert abs(y.mean()) < 0.01
    assert costs.total == 0


@pytest.mark.parametrize("separation", [1.0, 2.0])
@pytest.mark.parametrize(
    ("shares", "best", "tempting"),
    [((0.26, 0.26, 0.24, 0.24), 1.52, 1.74), ((0.25, 0.25, 0.25, 0.25), 1.5, 1.75)],
)
def test_synthetic_2_costs_of_both_gates(separation, shares, best, tempting):
    X, y, costs = datasets.make_synthetic_2(2000, 3, shares=shares, separation=separation)
    x1, x2 = X["x1"].to_numpy(), X["x2"].to_numpy()
    needs_both = x2 > separation / 2
    answer = np.where(needs_both, np.where(x1 < 0, 1, -1), np.where(x2 > -separation / 2, 1, -1))
    bought = np.column_stack([needs_both, np.ones(len(X), dtype=bool)])
    tolerance = 0.005 if separation == 1.0 else 0.0  # clusters touch a little at 1
    assert (answer != y).mean() <= tolerance
    assert abs(costs.price(bought).mean() - best) <= tolerance
    assert 1 + (x1 > 0).mean() == pytest.approx(tempting, abs=1e-12)


def test_generators_repeat_themselves_and_follow_the_seed():
    for make in [datasets.make_synthetic_1, datasets.make_synthetic_2]:
        X, y, _ = make(100, 5)
        again, labels, _ = make(100, 5)
        other, _, _ = make(100, 6)
        assert X.equals(again)
        assert (y == labels).all()
        assert not X.equals(other)


def test_sizes_add_up_for_any_n():
    for n in range(10, 40):
        assert len(datasets.make_synthetic_1(n)[0]) == n
        assert len(datasets.make_synthetic_2(n)[1]) == n


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: datasets.make_synthetic_1(9), "n is 9: it is a whole number of at least 10"),
        (lambda: datasets.make_synthetic_1(20, -1), "seed is -1: .* at least 0"),
        (lambda: datasets.make_synthetic_1(20.0), "n is 20.0: it is a whole number"),
        (lambda: datasets.make_synthetic_2(True), "n is True: it is a whole number"),
        (lambda: datasets.make_synthetic_2(20, shares=(0.5, 0.5)), "shares is .*: give four"),
        (lambda: datasets.make_synthetic_2(20, shares=(0.5, 0.5, 0, 0)), "four positive numbers"),
        (lambda: datasets.make_synthetic_2(20, shares=(1, 1, 1, 1)), "add up to 1"),
        (lambda: datasets.make_synthetic_2(20, separation=-1), "separation is -1: .* at least 0"),
        (lambda: datasets.make_synthetic_2(20, separation=float("nan")), "separation is nan"),
        (lambda: datasets.make_synthetic_2(20, separation="2"), "separation is '2'"),
    ],
)
def test_bad_arguments_are_refused_by_name(call, text):
    with pytest.raises(ValueError, match=text):
        call()
