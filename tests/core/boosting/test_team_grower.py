"""The fast grower grows what the general one grows, split for split."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worthwhile.core.boosting import leaves, team, team_grower
from worthwhile.core.boosting.grower import Grower, Rules
from worthwhile.core.boosting.node_rows import NodeRows
from worthwhile.core.boosting.purchases import Meetings, Purchases, RowPurchases
from worthwhile.core.boosting.rounding import coarse_curvature
from worthwhile.core.boosting.split_noise import noise_of
from worthwhile.core.boosting.team import Pace, meet, take
from worthwhile.core.boosting.team_grower import TeamGrower
from worthwhile.core.compile import kernel
from worthwhile.core.threads import Threads
from worthwhile.costs import FlatCosts
from worthwhile.estimators.boosting.binned_data import BinnedData

TEAMS = [1, 2, 3] if team.CAN_TEAM else [1]


def table(rng, n, d):
    """Columns of many kinds: fine, coarse, two-state, constant, exclusive, with gaps."""
    X = rng.normal(size=(n, d))
    X[:, 1::5] = np.round(X[:, 1::5])
    X[:, 2::5] = X[:, 2::5] > 0.5
    X[:, 3::5] = 1.0
    X[rng.random((n, d)) < 0.05] = np.nan
    # A category spread over three columns, and one more of which most rows are none.
    X[:, :3] = rng.integers(0, 3, n)[:, None] == np.arange(min(d, 3))
    X[:, 5:7] = rng.integers(0, 9, n)[:, None] == np.arange(min(max(d - 5, 0), 2))
    return X


def same(one, other):
    assert one.feature == other.feature
    assert one.cut == other.cut
    assert (one.left, one.right) == (other.left, other.right)
    assert [t.tolist() for t in one.total] == [t.tolist() for t in other.total]
    assert one.net == other.net
    words = [[None if w is None else w.tolist() for w in grown.words] for grown in (one, other)]
    assert words[0] == words[1]


class Case:
    """A table with prices and rounded gradients, to be grown on in several ways."""

    def __init__(self, rng, n, d, *, at_once=True, curved=False):
        self.X = table(rng, n, d)
        self.gradients = rng.integers(-(2**20), 2**20, n).astype(np.int32)
        self.curvature = rng.integers(0, 2**28, n).astype(np.int32)
        self.curved = curved
        opens = [np.flatnonzero(rng.random(3) < 0.4).tolist() for _ in range(d)]
        amounts = rng.integers(0, 4, d) * 10**9, np.array([2, 5, 1]) * 10**9
        self.costs = FlatCosts.of(amounts[0], opens, amounts[1])
        self.at_once = at_once
        # Some columns are codes of categories, of few levels and of many.
        self.categorical = rng.random(d) < rng.choice([0.0, 0.5])
        for column in np.flatnonzero(self.categorical):
            own = rng.integers(0, rng.choice([3, 20, 255]), n).astype(float)
            self.X[:, column] = np.where(rng.random(n) < 0.05, np.nan, own)

    def purchases(self):
        return Purchases(self.costs, at_once=self.at_once)

    def total(self, rows):
        chosen = self.gradients if rows is None else self.gradients[rows]
        total = [len(chosen), chosen.sum(dtype=np.int64)]
        if self.curved:
            second = coarse_curvature(self.curvature)
            total.append((second if rows is None else second[rows]).sum())
        return np.array(total)

    def begin(self, node_rows, rows):
        if not self.curved:
            return node_rows.begin(gradients=self.gradients, chosen=rows)
        second = coarse_curvature(self.curvature)
        statistics = np.stack([np.ones_like(second), self.gradients, second], axis=1)
        return node_rows.begin(statistics=statistics, chosen=rows)

    def general(self, data, threads, rules, rows, allowed, trees=2):
        purchases = self.purchases()
        node_rows = NodeRows(data.words, data.layout, threads)
        grower, grown = Grower(node_rows, purchases), []
        for _ in range(trees):
            pieces = self.begin(node_rows, rows)
            grown.append(grower.grow(pieces, self.total(rows), rules, allowed))
            purchases.settle()
        return grown, purchases.order

    def fast(self, data, threads, rules, rows, allowed, trees=2):
        purchases = self.purchases()
        grower, grown = TeamGrower(data.words, data.layout, purchases, threads), []
        for _ in range(trees):
            leaf = np.full(len(self.X), 9999, dtype=np.uint16) if rows is None else None
            curvature = self.curvature
            tree = grower.grow(
                self.gradients, rows, self.total(rows), rules, allowed, leaf, curvature
            )
            if leaf is not None:
                walked = leaves.Route(tree, data.layout).leaves(data.words, threads)
                assert (leaf == walked).all()
                assert tree.hessians.tolist() == [
                    curvature[leaf == node].sum(dtype=np.int64) for node in range(len(tree.feature))
                ]
            else:
                assert tree.hessians is None
            grown.append(tree)
            purchases.settle()
        return grown, purchases.order


def steady(patch):
    """The whole team grows every tree."""


def wavering(patch):
    """The team grows one tree, one thread the next."""
    patch.setattr(Pace, "note", lambda pace, seconds, used: pace._switch())


def unreliable(patch):
    """Somebody leaves the team while the first tree grows: it is grown again, alone."""
    answers = iter([True])
    patch.setattr(team_grower, "was_abandoned", lambda shared: next(answers, False))


CHANGES = [steady, wavering, unreliable]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    n=st.integers(1, 700),
    d=st.integers(1, 30),
    depth=st.integers(1, 4),
    min_leaf=st.sampled_from([1, 5, 60]),
    sampled=st.booleans(),
    at_once=st.booleans(),
    size=st.sampled_from(TEAMS),
    change=st.sampled_from(CHANGES),
    curved=st.booleans(),
    level=st.sampled_from([0.0, 0.5]),
)
def test_the_team_grows_the_trees_of_the_general_grower(
    seed, n, d, depth, min_leaf, sampled, at_once, size, change, curved, level
):
    rng = np.random.default_rng(seed)
    case = Case(rng, n, d, at_once=at_once, curved=curved)
    rate = float(rng.choice([0.0, 1e11, 1e12]))
    least = int(rng.choice([0, 2**20, 2**23])) if curved else 0
    smooth = float(rng.choice([0.0, 2.0**22])) if curved else 0.0
    rules = Rules(
        depth, min_leaf, rate, unit=0.5, floor=1e-6, smooth=smooth, least=least,
        noise=noise_of(level, seed),
    )  # fmt: skip
    rows = np.flatnonzero(rng.random(n) < 0.7).astype(np.int32) if sampled else None
    if rows is not None and not len(rows):
        rows = None
    allowed = rng.random(d) < 0.8 if sampled else np.ones(d, dtype=bool)
    with pytest.MonkeyPatch.context() as patch, Threads(size) as threads:
        patch.setattr(team_grower, "SMALL", 0)  # wake the team however little there is to do
        change(patch)
        data = BinnedData.prepare(case.X, threads, categorical=case.categorical)
        slow, slow_order = case.general(data, threads, rules, rows, allowed)
        fast, fast_order = case.fast(data, threads, rules, rows, allowed)
    for one, other in zip(fast, slow, strict=True):
        same(one, other)
    assert fast_order == slow_order


MANY = 100_000


def test_prices_by_row_and_wide_tables_and_tiny_ones_while_cold_are_left_to_the_general_grower(
    monkeypatch,
):
    rng = np.random.default_rng(0)
    case = Case(rng, 50, 4)
    with Threads(1) as threads:
        layout = BinnedData.prepare(case.X, threads).layout
        wide = BinnedData.prepare(
            rng.normal(size=(300, 8 * (team_grower.MAX_BLOCKS + 1))), threads
        ).layout
        meetings = Meetings(50, case.costs, threads)
        by_row = RowPurchases(case.costs, meetings, np.empty(0, dtype=np.int64))
    assert TeamGrower.suits(MANY, layout, case.purchases(), 3)
    monkeypatch.setattr(team_grower, "is_cold", lambda compiled: True)
    assert TeamGrower.suits(MANY, layout, case.purchases(), 3)
    assert not TeamGrower.suits(50, layout, case.purchases(), 3)
    monkeypatch.setattr(team_grower, "is_cold", lambda compiled: False)
    assert TeamGrower.suits(50, layout, case.purchases(), 3)
    assert not TeamGrower.suits(MANY, layout, by_row, 3)
    assert not TeamGrower.suits(MANY, wide, case.purchases(), 3)
    assert not TeamGrower.suits(MANY, layout, case.purchases(), team_grower.MAX_DEPTH + 1)
    assert not TeamGrower.suits(MANY, layout, case.purchases(), 0)


def pace_of(seconds, trees, off_core=0.0, team=4):
    """Sizes of the teams of trees that take ``seconds`` (one thread, the team), off core a share of it."""
    pace, sizes = Pace(team), []
    for number in range(trees):
        sizes.append(pace.size)
        alone, together = seconds(number) if callable(seconds) else seconds
        size = pace.size
        took = alone if size == 1 else together
        pace.note(took, (1 - off_core) * size * took)
    return sizes


def test_a_team_on_its_cores_stays():
    assert set(pace_of((0.1, 1.0), 500, off_core=Pace.MUCH / 2)) == {4}


def test_a_team_off_its_cores_gives_way_to_one_thread_that_is_faster_and_comes_back_to_see():
    sizes = pace_of((1.0, 3.0), 1000, off_core=0.5)
    first = sizes.index(1)
    assert first == Pace.WINDOW
    assert set(sizes[first : first + Pace.WINDOW + Pace.REST]) == {1}
    assert 4 in sizes[first + Pace.WINDOW + Pace.REST :]
    spent = sum(1.0 if size == 1 else 3.0 for size in sizes)
    assert spent < 1.2 * len(sizes) * 1.0


def test_a_team_off_its_cores_that_is_still_faster_grows_nearly_all_trees():
    sizes = pace_of((16.0, 1.0), 1000, off_core=0.5, team=16)
    spent = sum(16.0 if size == 1 else 1.0 for size in sizes)
    assert spent < 1.25 * len(sizes) * 1.0


def test_the_team_is_back_when_the_others_have_gone():
    sizes = pace_of(lambda number: (1.0, 3.0) if number < 200 else (1.0, 0.3), 600, off_core=0.5)
    assert sizes[199] == 1
    assert sizes[400:].count(4) > 0.8 * 200


def test_one_who_did_not_come_is_not_waited_for_again_soon():
    pace = Pace(3)
    pace.give_up()
    for _ in range(Pace.REST):
        assert pace.size == 1
        pace.note(1.0, 0.0)
    assert pace.size == 3


def test_one_thread_is_all_there_is():
    assert set(pace_of((1.0, 1.0), 200, off_core=0.9, team=1)) == {1}


@kernel()
def drill(shared, taken, late, me):
    """Take all tasks of a phase, meet, and look whether anything of that phase is still open."""
    for phase in range(taken.shape[1]):
        task = take(shared, phase)
        while task < taken.shape[2]:
            taken[me, phase, task] += 1
            task = take(shared, phase)
        meet(shared, taken.shape[0], 2 * phase + 1)
        for number in range(taken.shape[2]):
            if taken[:, phase, number].sum() != 1:
                late[me] += 1
        meet(shared, taken.shape[0], 2 * phase + 2)


@pytest.mark.compiled
def test_a_team_meets_and_takes_every_task_once():
    rounds, tasks = 50, 97
    taken = np.zeros((3, rounds, tasks), dtype=np.int64)
    shared = team.counters(rounds)
    late = np.zeros(3, dtype=np.int64)
    with Threads(3) as threads:
        threads.run(3, lambda me: drill(shared, taken, late, me))
    assert (taken.sum(axis=0) == 1).all()
    assert late.sum() == 0


@kernel()
def wait_for_all(shared, size):
    """Whether the whole team came."""
    return meet(shared, size, 1)


@pytest.mark.compiled
@pytest.mark.parametrize("missing", [0, 1])
def test_nobody_waits_for_one_who_was_interrupted(missing):
    shared, came = team.counters(1), []

    def work(me):
        if me == missing:
            raise KeyboardInterrupt
        came.append(wait_for_all(shared, 2))

    wait_for_all(team.counters(1), 1)  # compiled before the clock of the others ticks
    with Threads(2) as threads, pytest.raises(KeyboardInterrupt):
        threads.run(2, work, lambda: team.abandon(shared))
    assert came in ([False], [])  # the other one left without the whole team, or never started


HELD_UP = """
import threading
import numpy as np
from worthwhile.core.boosting import team_grower
from worthwhile.core.boosting.grower import Rules
from worthwhile.core.boosting.rounding import coarse_curvature
from worthwhile.core.boosting.purchases import Purchases
from worthwhile.core.threads import Threads
from worthwhile.costs import FlatCosts
from worthwhile.estimators.boosting.binned_data import BinnedData

team_grower.SMALL = 0
rng = np.random.default_rng(0)
X, gradients = rng.normal(size=(500, 6)), rng.integers(-(2**20), 2**20, 500).astype(np.int32)
total = np.array([500, gradients.sum(dtype=np.int64)])
rules = Rules(max_depth=3, min_leaf=5, rate=1e11, unit=0.5, floor=1e-6)
both, end = threading.Barrier(3), threading.Event()

def hold(task):
    both.wait()
    end.wait()

def grow(threads, trees):
    purchases = Purchases(FlatCosts.of(np.arange(6) * 10**9, [[]] * 6))
    grower = team_grower.TeamGrower(data.words, data.layout, purchases, threads)
    every = np.ones(6, dtype=bool)
    return [grower.grow(gradients, None, total, rules, every).feature for _ in range(trees)]

with Threads(1) as alone, Threads(2) as threads:
    data = BinnedData.prepare(X, alone)
    expected = grow(alone, 3)
    other = threading.Thread(target=lambda: threads.run(2, hold), daemon=True)
    other.start()
    both.wait()  # from here on the second thread is held up
    found = grow(threads, 3)
    end.set()
    other.join()
    assert found == expected and len(found[0]) > 3, (found, expected)
    assert grow(threads, 3) == expected
print("grown")
"""


@pytest.mark.compiled
def test_a_tree_is_grown_where_a_thread_of_the_team_never_comes():
    done = subprocess.run(
        [sys.executable, "-c", HELD_UP], capture_output=True, text=True, timeout=300
    )
    assert done.stdout == "grown\n", done.stderr
