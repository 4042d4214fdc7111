"""Bills and votes of every prefix of a forest against counting by hand."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ensembles import random_costs, random_rows, random_trees
from tests.naive import walk as naive
from worthwhile.core.forest.prefix_bills import CHUNK, Prefixes, write_votes
from worthwhile.core.threads import Threads


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.sampled_from([1, 7, CHUNK + 3]), jobs=st.integers(1, 3))
def test_every_prefix_pays_and_votes_as_counted_by_hand(seed, n, jobs):
    rng = np.random.default_rng(seed)
    trees, costs = random_trees(rng, n_trees=4, categories=seed % 2 == 1), random_costs(rng)
    X, codes = random_rows(rng, n), rng.integers(3, size=n)
    label = rng.integers(3, size=len(trees.feature))
    ballots = [Counter() for _ in X]
    bought = np.zeros(X.shape, dtype=bool)
    rows, paid = Prefixes(X, trees, costs.flat), 0
    voters = (label, codes, np.zeros((n, 3), dtype=np.int32))
    with Threads(jobs) as threads:
        for tree in range(trees.n_trees):
            newly, right = rows.follow(tree, threads, voters)
            for row, values in enumerate(X):
                end, looked = naive.leaf(trees, tree, values)
                assert rows.ends[row] == end
                bought[row, looked] = True
                ballots[row][int(label[end])] += 1
            paid += newly
            assert paid == int(costs.quanta(bought).sum())
            winners = [max(range(3), key=lambda k, b=b: (b[k], -k)) for b in ballots]
            assert right == sum(w == code for w, code in zip(winners, codes, strict=True))


def test_nodes_vote_for_the_first_heaviest_class():
    counts = np.array([[0.0, 2.0, 2.0], [3.0, 0.0, 1.0], [0.0, 0.0, 0.5]])
    value, label = np.full((3, 6), 9.0), np.full(3, 9)
    write_votes(counts, value, label)
    assert label.tolist() == [1, 0, 2]
    assert value[:, :3].tolist() == np.eye(3)[label].tolist()
    assert value[:, 3:].tolist() == counts.tolist()
