"""Libraries of feature sets as buyers: batches, single rows, and files that lie."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from worthwhile import BudgetClassifier, Costs
from worthwhile.policy.base import run_case
from worthwhile.policy.library import LibraryPolicy


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, (np.nan_to_num(X[:, 0] + 0.6 * X[:, 1] * X[:, 2]) > 0).astype(int)


@pytest.fixture(scope="module")
def policy(rows):
    costs = Costs([1, 2, 3, 1, 0], groups={"g": {"fee": 1.5, "features": [1, 2]}}, evaluation=0.25)
    model = BudgetClassifier(costs=costs, n_trees=6, random_state=0).fit(*rows)
    return model.policy_.at(len(model.frontier_) - 1)


@pytest.mark.parametrize("limit", [None, 0, 10**9, 2_800_000_000, 10**10])
def test_batches_and_single_rows_agree(policy, rows, limit):
    for point in range(0, len(policy.library.rate), 3):
        here = policy.at(point)
        outcome = here.batch(rows[0][:40], limit)
        for i, row in enumerate(rows[0][:40]):
            raw, bought, evaluated = run_case(here, row, limit)
            assert np.array_equal(raw, outcome.raw[i])
            assert np.array_equal(bought, outcome.acquired[i])
            assert evaluated == outcome.evaluated[i]


def test_forests_that_do_not_fit_codes_answer_all_the_same(policy, rows, monkeypatch):
    expected = policy.at(1).batch(rows[0][:40])
    monkeypatch.setattr("worthwhile.core.forest.library_votes.EMPTY", 2)
    for part, other in zip(expected, policy.at(1).batch(rows[0][:40]), strict=True):
        assert np.array_equal(part, other)


def test_state_is_read_again(policy, rows):
    again = LibraryPolicy.from_state(policy.costs, policy.output, policy.state())
    assert np.array_equal(again.batch(rows[0]).raw, policy.batch(rows[0]).raw)
    assert again.fingerprint() == policy.fingerprint()


def at(name, where, value):
    """A change of one array."""

    def change(library):
        array = getattr(library, name).copy()
        array[where] = value(library, array) if callable(value) else value
        return replace(library, **{name: array})

    return change


def inner(library, array):
    return int(np.flatnonzero(library.feature >= 0)[0])


LIES = {
    "a child before its parent": (
        lambda lib: at("child", inner(lib, None), 0)(lib),
        "a child does not come after its parent",
    ),
    "a child past the end": (
        lambda lib: at("child", inner(lib, None), 2**31 - 1)(lib),
        "a child does not come after its parent",
    ),
    "a leaf that is not there": (
        lambda lib: at("child", int(np.flatnonzero(lib.feature < 0)[0]), 10**8)(lib),
        "a leaf has a number that does not exist",
    ),
    "a column that is not there": (
        lambda lib: at("feature", inner(lib, None), 1000)(lib),
        "a node tests a feature that does not exist",
    ),
    "a column that is not bought": (
        lambda lib: at("member", (slice(1, None), int(lib.feature[inner(lib, None)] >> 1)), False)(lib),
        "a tree tests a feature that its set does not have|a choice does not lead",
    ),
    "a first set with something": (at("member", (0, 0), True), "the first set is not empty"),
    "an output that is not there": (at("held", 0, 7), "a leaf has an output that does not exist"),
    "shares that are none": (at("share", 0, -1.0), "no probabilities"),
    "not a number": (at("share", 0, np.nan), "not a finite number"),
    "entries out of order": (at("start", 1, 10**9), "leaves do not fit their entries"),
    "a choice that goes back": (
        lambda lib: at("choice", (0, int(lib.cells[2])), 1)(lib),
        "a choice does not lead to a larger set",
    ),
    "a choice that leads nowhere": (at("choice", (0, 0), 10**6), "a set that does not exist"),
    "a cell of another set": (
        lambda lib: at("cut_child", int(lib.cut_root[1]) if lib.cut_feature[lib.cut_root[1]] < 0
                       else int(np.flatnonzero(lib.cut_feature < 0)[1]), 0)(lib),
        "a cell belongs to another set",
    ),
    "trees that no set has": (at("trees", 1, 1), "the empty set has a forest"),
    "a root out of order": (at("root", 1, 0), "roots are not ascending"),
    "money worth less than nothing": (at("rate", 0, -1.0), "negative worth"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_is_found(policy, lie):
    change, message = LIES[lie]
    settings, _ = policy.state()
    state = (settings, change(policy.library).arrays())
    with pytest.raises(ValueError, match=message):
        LibraryPolicy.from_state(policy.costs, policy.output, state)


@pytest.mark.parametrize("point", [-1, 10**6, 1.0, True, None])
def test_a_point_that_is_not_there_is_refused(policy, point):
    with pytest.raises(ValueError, match="point is"):
        LibraryPolicy.from_state(policy.costs, policy.output, ({"point": point}, policy.state()[1]))


def test_every_array_is_needed(policy):
    settings, arrays = policy.state()
    for name in arrays:
        less = {key: array for key, array in arrays.items() if key != name}
        with pytest.raises(ValueError, match="arrays are"):
            LibraryPolicy.from_state(policy.costs, policy.output, (settings, less))
