"""Batch walks through tree ensembles: values and purchases in one pass over the trees."""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.threads import Threads, count_threads
from worthwhile.core.trees import CATEGORY, MISSING_LEFT

# What is known about a feature of the row in hand.
UNKNOWN, WAITED, BOUGHT, REFUSED = 0, 1, 2, 3

ABREAST = 8
"""Rows that walk side by side, or trees where there are few rows: one waits while others step on."""

BLOCK_BYTES = 1 << 19
"""Rows of this size stay in the cache while one tree after the other passes over them."""


@kernel(lean=True)
def holds(sets, where, x):
    """Whether the set that begins at ``where`` holds a code; see :class:`worthwhile.core.trees.Trees`."""
    first = np.uint64(where)
    if not (x > -1 and x < 64.0 * sets[first]):
        return False
    code = np.uint64(np.int64(x))
    word = sets[first + np.uint64(1) + (code >> np.uint64(6))]
    return (word >> (code & np.uint64(63))) & np.uint64(1) != 0


@kernel(lean=True)
def _next_node(node, sets, x):
    """Child that a row with value ``x`` goes to.

    ``sets`` is None where no node tests for membership: such kernels are compiled without that test.
    """
    left, right = node["left"], node["right"]  # loaded before the test: a select, not a jump
    if x != x:
        return left if node["flags"] & MISSING_LEFT else right
    if sets is not None and node["flags"] & CATEGORY:
        return left if holds(sets, node["threshold"], x) else right
    return left if x <= node["threshold"] else right


@kernel(lean=True)
def add_nodes(raw, low, n, value, at, output):
    """Add what the nodes reached by rows ``low..low + n`` say to their raw outputs.

    A loop of its own, since a call with arrays costs more than an addition.
    """
    if value.shape[1] == 1:
        for j in range(n):
            raw[low + j, output] += value[at[j], 0]
    else:
        for j in range(n):
            for k in range(value.shape[1]):
                raw[low + j, k] += value[at[j], k]


@kernel(lean=True)
def add_trees(raw, row, value, at, output, n_trees):
    """Add what the nodes reached in the first trees say to the raw output of one row."""
    for tree in range(n_trees):
        if value.shape[1] == 1:
            raw[row, output[tree]] += value[at[tree], 0]
        else:
            for k in range(value.shape[1]):
                raw[row, k] += value[at[tree], k]


@kernel(lean=True)
def finish(raw, low, high, base, average, n_trees):
    """Turn the sums over trees into the raw outputs of rows ``low..high``."""
    for row in range(low, high):
        for k in range(raw.shape[1]):
            if not average:
                raw[row, k] = base[k] + raw[row, k]
            elif n_trees > 0:
                raw[row, k] = raw[row, k] / n_trees
            else:
                raw[row, k] = base[k]


@kernel(lean=True)
def _descend(X, row, step, nodes, sets, at, abreast, acquired):
    """Walk on from the nodes ``at`` (abreast,) to the leaves: the j-th for row ``row + j * step``."""
    billed = acquired.shape[0] > 0
    walking = True
    while walking:
        walking = False
        for j in range(abreast):
            node = nodes[at[j]]
            if node["feature"] >= 0:
                own, feature = row + j * step, np.uint64(node["feature"])
                if billed:
                    acquired[own, feature] = True
                at[j] = _next_node(node, sets, X[own, feature])
                walking = True


@kernel()
def _walk_row(X, row, nodes, sets, value, root, output, raw, acquired):
    """Walk one row through all trees, some of them side by side."""
    at = np.empty(ABREAST, np.uint64)
    for low in range(0, root.shape[0], ABREAST):
        abreast = min(ABREAST, root.shape[0] - low)
        for j in range(abreast):
            at[j] = root[low + j]
        _descend(X, row, 0, nodes, sets, at, abreast, acquired)
        add_trees(raw, row, value, at, output[low:], abreast)


@kernel()
def walk(X, nodes, sets, value, root, output, base, average, raw, acquired, start, stop):
    """Walk rows ``start..stop`` through all trees.

    ``raw`` (n, outputs) must come in as zeros. ``acquired`` (n, d) is filled where it has rows;
    pass shape (0, 0) when no bill is wanted. Small helpers are left to the compiler to inline:
    numba's own inlining made this loop twice as slow.
    """
    if stop - start < ABREAST:
        for row in range(start, stop):
            _walk_row(X, row, nodes, sets, value, root, output, raw, acquired)
        finish(raw, start, stop, base, average, root.shape[0])
        return
    at = np.empty(ABREAST, np.uint64)  # unsigned: no test for a negative index
    block = max(8 * ABREAST, BLOCK_BYTES // (X.shape[1] * X.itemsize))
    for low in range(start, stop, block):
        high = min(low + block, stop)
        for tree in range(root.shape[0]):
            for row in range(low, high, ABREAST):
                abreast = min(ABREAST, high - row)
                for j in range(abreast):
                    at[j] = root[tree]
                _descend(X, row, 1, nodes, sets, at, abreast, acquired)
                add_nodes(raw, row, abreast, value, at, output[tree])
        finish(raw, low, high, base, average, root.shape[0])


@kernel(lean=True)
def _fits(feature, price, begin, opens, opened, fee, left):
    """What a feature would cost now, or -1 if that is more than what is left."""
    amount = price[feature]
    for entry in range(begin[feature], begin[feature + 1]):
        if not opened[opens[entry]]:
            amount += fee[opens[entry]]
    return amount if amount <= left else -1


@kernel(lean=True)
def _open(feature, begin, opens, opened):
    """Note the fees of a feature as paid."""
    for entry in range(begin[feature], begin[feature + 1]):
        opened[opens[entry]] = True


@kernel()
def walk_limited(
    X, nodes, sets, value, root, output, base, average, price, begin, opens, fee, evaluation, limit, raw,
    acquired, evaluated, start, stop,
):  # fmt: skip
    """The same under a budget per row: features are bought in rounds.

    A round is for the features at which trees stand, in the order of the trees; each is bought if it
    fits into what is left, otherwise every tree that needs it stops where it stands. Then all trees
    walk on. This is the order in which a session asks (see ``policy.tree.TreeCase``).
    """
    n_features, n_trees = X.shape[1], root.shape[0]
    at = np.empty(n_trees, np.int32)
    wanted = np.empty(n_features, np.int32)
    state = np.empty(n_features, np.int8)
    opened = np.empty(fee.shape[0], np.bool_)
    for row in range(start, stop):
        state[:] = UNKNOWN
        opened[:] = False
        money = limit
        used = n_trees if evaluation == 0 else min(n_trees, money // evaluation)
        money -= used * evaluation
        evaluated[row] = used
        for tree in range(used):  # an array assigned to another takes two seconds longer to compile
            at[tree] = root[tree]
        n_wanted = -1
        while n_wanted != 0:
            n_wanted = 0
            for tree in range(used):
                feature = nodes[at[tree]]["feature"]
                while feature >= 0 and state[feature] == BOUGHT:
                    at[tree] = _next_node(nodes[at[tree]], sets, X[row, feature])
                    feature = nodes[at[tree]]["feature"]
                if feature >= 0 and state[feature] == UNKNOWN:
                    state[feature] = WAITED
                    wanted[n_wanted] = feature
                    n_wanted += 1
            for place in range(n_wanted):
                feature = wanted[place]
                amount = _fits(feature, price, begin, opens, opened, fee, money)
                state[feature] = REFUSED if amount < 0 else BOUGHT
                if amount >= 0:
                    money -= amount
                    acquired[row, feature] = True
                    _open(feature, begin, opens, opened)
        add_trees(raw, row, value, at, output, used)
        finish(raw, row, row + 1, base, average, used)


def in_threads(walker, n_rows, *arguments, n_jobs=None):
    """Run a walk over all rows, a share of them per thread; rows do not depend on each other."""
    n_threads = 1 if n_rows < 512 else count_threads(n_jobs)
    step = -(-n_rows // n_threads)
    if n_threads == 1:
        walker(*arguments, 0, n_rows)
        return
    with Threads(n_threads) as threads:
        threads.run(n_threads, lambda i: walker(*arguments, i * step, min((i + 1) * step, n_rows)))
