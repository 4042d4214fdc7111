"""The kernel of :mod:`worthwhile.core.boosting.team_grower`: a whole tree, grown by a team of threads.

Every level takes three steps, and the team meets after each:

1. *sweep*: chunk by chunk, while its codes are in cache, split the nodes that were chosen on the
   level above and add the smaller child of each to the histograms that a thread has to itself;
2. *scan*: block by block, add up the histograms of all threads, subtract to get the larger
   children, and find the best cut of every feature;
3. *choose*, by one thread: take splits, best net worth first, and plan the next level.

Which thread takes which chunk is left to chance; sums of integers do not depend on it.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.boosting.curved_splitting import scan_curved_block
from worthwhile.core.boosting.histogram import add_curved, add_in_order, add_prepared, clear, pack
from worthwhile.core.boosting.layout import CATEGORY
from worthwhile.core.boosting.partition import BLOCK_, BYTE, SET, divide_rows, goes_left
from worthwhile.core.boosting.partition import CUT as CUT_
from worthwhile.core.boosting.rounding import coarse
from worthwhile.core.boosting.split_noise import draw_factors
from worthwhile.core.boosting.splitting import choose, scan_packed_block
from worthwhile.core.boosting.team import meet, take
from worthwhile.core.compile import group, kernel
from worthwhile.core.dtypes import BLOCK, CODES, COUNT_BITS, QUANTUM

_COUNT = np.int64((1 << COUNT_BITS) - 1)

# Columns of the tree: its split, its children, its packed sum, whether its rows lie together, its curvature.
FEATURE, CUT, LEFT, RIGHT, TOTAL, STATE, CURVATURE = range(7)
APART, TOGETHER, DIVIDED = range(3)

# Columns of a level: number of the node in the tree, whether it is scored.
NODE, SCORED = range(2)

# Columns of a job: place in the level of the child to build, of its sibling (-1: none), and of their
# parent in the level above.
SMALL, LARGE, PARENT = range(3)

# Entries of the plan: nodes, level, jobs, nodes to divide, splits taken, and whether the tree is done.
NODES, IN_LEVEL, JOBS, DIVIDES, TAKEN, DONE = range(6)

# Columns of a pick: the split taken at a place of the level (-1: none), the sum and the curvature on its left,
# its node.
PICKED, PICKED_CUT, PICKED_LEFT, PICKED_NODE, PICKED_CURVATURE = range(5)

# What a tree needs of a block of columns: nothing, the first half of them, or all.
UNUSED, HALF, WHOLE = range(3)

# What the kernel takes, in groups. Every array is made by the grower: nothing is allocated here, nor in
# what is called, since such kernels compile a third faster.

Table = group(
    __name__, "Table",
    words="uint64[:,::1]", rows="int32[::1]", gradients="int32[::1]", all_rows="boolean", curvature="int32[::1]",
)  # fmt: skip
"""Code words (blocks, n), the rows by position, the rounded gradients by row, whether all take part, and the
rounded curvature by row, where gains go by it (else empty)."""

Columns = group(
    __name__, "Columns",
    members="int32[:,::1]", offsets="int32[::1]", place="int32[::1]", columns="int64[::1]",
)  # fmt: skip
"""Where features lie in the words; see :class:`worthwhile.core.boosting.layout.Layout`."""

Terms = group(
    __name__, "Terms",
    allowed="boolean[::1]", use="uint8[::1]", unit="float64", rate="float64", floor="float64",
    at_once="boolean", min_leaf="int64", max_depth="int64", smooth="float64",
    least="int64", key="uint64", table="float64[::1]",
)  # fmt: skip
"""Features that may be split, what of each block they need, :class:`worthwhile.core.boosting.grower.Rules`
with the key and the table of their noise."""

Money = group(
    __name__, "Money",
    prices="float64[:,::1]", price="int64[::1]", begin="int32[::1]", opens="int32[::1]", fee="int64[::1]",
    bought="boolean[::1]", opened="boolean[::1]",
)  # fmt: skip
"""What a split would add now, :class:`worthwhile.costs.FlatCosts`, and what is paid: features and fees."""

Tree = group(
    __name__, "Tree",
    nodes="int64[:,::1]", net="float64[::1]", order="int64[::1]", bounds="int64[:,:,::1]",
    words="int64[:,::1]",
)  # fmt: skip
"""Its nodes (nodes, 6), the net worth of their splits, the features in the order in which splits were
taken, where the rows of each node begin and end in every chunk (chunks, nodes, 2), and the sets (nodes, 4)
of categories that go left."""

Level = group(
    __name__, "Level",
    plan="int64[::1]", nodes="int64[:,::1]", totals="int64[::1]", jobs="int64[:,::1]",
    divides="int64[::1]", picks="int64[:,::1]", pending="boolean[::1]", curvatures="int64[::1]",
    factor="float64[:,::1]",
)  # fmt: skip
"""The plan, the nodes of the level and their packed sums, the jobs, the nodes to divide, the splits taken,
the nodes that may still be split, their curvatures, and their noise. To begin with it describes the root."""

Found = group(
    __name__, "Found",
    gain="float64[:,::1]", cut="int32[:,::1]", left="int64[:,::1]", sets="int64[:,:,::1]",
    left_curvature="int64[:,::1]",
)  # fmt: skip
"""Best cut of every node and feature: gain, cut, packed sum of the left side, sets of categories, and the
curvature of the left side where gains go by it."""

Histograms = group(
    __name__, "Histograms", private="int64[:,:,:,::1]", held="int64[:,:,:,::1]"
)  # fmt: skip
"""Those of each thread (team, jobs, blocks, bins), and those of this level and the one above."""

Leaves = group(
    __name__, "Leaves", leaf="uint16[::1]", curvature="int32[::1]", hessians="int64[:,::1]"
)  # fmt: skip
"""Leaf of every row (empty: not asked for), curvature of every row (empty: none), and its sums per leaf,
the diagonal of the Hessian, that each thread adds up (team, nodes)."""

Room = group(
    __name__, "Room",
    tables="uint8[:,:,::1]", splits="int64[:,:,::1]", right_rows="int32[:,::1]",
    packed="int64[:,::1]", sums="int64[:,:,::1]", gains="float64[:,:,::1]", second="int64[:,::1]",
)  # fmt: skip
"""What each thread works in."""


@kernel(inline=True)
def split_of(node, tree, columns, split):
    """Write the split of a node as :mod:`worthwhile.core.boosting.partition` takes it."""
    members, _, place, column = columns
    m = place[tree.nodes[node, FEATURE]]
    split[0], split[1] = column[m] // BLOCK, column[m] % BLOCK
    for k in range(1, members.shape[1]):
        split[1 + k] = members[m, k]
    split[CUT_] = tree.nodes[node, CUT]
    for k in range(tree.words.shape[1]):
        split[SET + k] = tree.words[node, k]


@kernel(inline=True)
def _next(shared, team, phase, last):
    """Number of the next task: of the team's, or, alone, the one after the last."""
    return take(shared, phase) if team > 1 else last + 1


@kernel(lean=True)
def _sweep(table, columns, use, tree, level, private, room, shared, team, depth):
    """Split the chosen nodes and add up the smaller child of each, chunk by chunk."""
    words, rows, gradients, all_rows, curvature = table
    nodes, bounds, plan, jobs, divides = (
        tree.nodes, tree.bounds, level.plan, level.jobs, level.divides,
    )  # fmt: skip
    tables, splits, right_rows, packed, second = room
    curved = curvature.shape[0] > 0
    for job in range(plan[JOBS]):
        for b in range(words.shape[0]):
            clear(private[job, b])
    for k in range(plan[DIVIDES]):
        split_of(divides[k], tree, columns, splits[k])
        goes_left(splits[k], tables[k])
    c = _next(shared, team, depth, -1)
    while c < bounds.shape[0]:
        here = bounds[c]
        for k in range(plan[DIVIDES]):
            node = divides[k]
            low, high = here[node, 0], here[node, 1]
            middle = divide_rows(
                words[splits[k, BLOCK_]], np.uint64(8 * splits[k, BYTE]), tables[k], rows,
                all_rows and depth == 1, low, high, right_rows,
            )  # fmt: skip
            here[nodes[node, LEFT], 0], here[nodes[node, LEFT], 1] = low, middle
            here[nodes[node, RIGHT], 0], here[nodes[node, RIGHT], 1] = middle, high
        for job in range(plan[JOBS]):
            node = level.nodes[jobs[job, SMALL], NODE]
            low, high = here[node, 0], here[node, 1]
            in_order = all_rows and depth == 0
            for i in range(low, low if in_order and not curved else high):
                row = np.uint32(i) if in_order else np.uint32(rows[i])
                packed[i - low] = pack(gradients[row])
                if curved:
                    second[i - low] = coarse(curvature[row])
            for b in range(words.shape[0]):
                if use[b] == UNUSED:
                    continue
                half = use[b] == HALF
                if curved:
                    add_curved(
                        words[b], rows, packed, second, low, high, half, in_order, private[job, b]
                    )
                elif in_order:
                    add_in_order(words[b], gradients, low, high, half, private[job, b])
                else:
                    add_prepared(words[b], rows, packed, low, high, half, private[job, b])
        c = _next(shared, team, depth, c)


@kernel(inline=True)
def _add_up(private, job, block, out):
    """Sum of the histograms of all threads."""
    clear(out)
    for thread in range(private.shape[0]):
        own = private[thread, job, block]
        for i in range(out.shape[0]):
            out[i] += own[i]


@kernel(inline=True)
def _difference(whole, part, out):
    for i in range(out.shape[0]):
        out[i] = whole[i] - part[i]


@kernel(lean=True)
def _scan(columns, terms, level, histograms, found, scratch, shared, depth, curved):
    """Histograms of all nodes of the level, and the best cut of every feature in them."""
    private, use, plan, jobs = histograms.private, terms.use, level.plan, level.jobs
    above, held = histograms.held[(depth + 1) % 2], histograms.held[depth % 2]
    team, phase = private.shape[0], terms.max_depth + 1 + depth
    limits = terms.min_leaf, terms.smooth, terms.least
    sums, gains = scratch
    packed_room = sums[0], sums[1], gains[0], gains[1], sums[2]
    curved_room = sums[0], sums[1], sums[2], sums[3], sums[4], gains[0], gains[1]
    packed_found = found.gain, found.cut, found.left, found.sets
    b = _next(shared, team, phase, -1)
    while b < use.shape[0]:
        for job in range(plan[JOBS] if use[b] != UNUSED else 0):
            small, large = jobs[job, SMALL], jobs[job, LARGE]
            _add_up(private, job, b, held[small, b])
            if large >= 0:
                _difference(above[jobs[job, PARENT], b], held[small, b], held[large, b])
            for side in range(2):
                child = jobs[job, side]
                if child < 0 or not level.nodes[child, SCORED]:
                    continue
                if curved:
                    scan_curved_block(
                        held[child, b], b, child, columns, terms.allowed, (level.totals, level.curvatures), limits,
                        curved_room, found,
                    )  # fmt: skip
                else:
                    scan_packed_block(
                        held[child, b], b, child, columns, terms.allowed, level.totals, limits, packed_room,
                        packed_found,
                    )  # fmt: skip
        b = _next(shared, team, phase, b)


@kernel(inline=True)
def _buy(feature, money):
    """Let what a split needs be free from now on; see :class:`worthwhile.core.boosting.purchases.Purchases`."""
    prices, price, begin, opens, fee, bought, opened = money
    bought[feature] = True
    prices[0, feature] = 0.0
    new = False
    for entry in range(begin[feature], begin[feature + 1]):
        new = new or not opened[opens[entry]]
        opened[opens[entry]] = True
    if new:
        for other in range(price.shape[0]):
            if not bought[other] and begin[other] < begin[other + 1]:
                amount = price[other]
                for entry in range(begin[other], begin[other + 1]):
                    if not opened[opens[entry]]:
                        amount += fee[opens[entry]]
                prices[0, other] = amount * QUANTUM


@kernel(inline=True)
def _take_splits(columns, terms, money, tree, level, found):
    """Take splits of the level, best net worth first."""
    gain, cut, left, sets, left_curvature = found
    prices, plan, picks, pending = money.prices, level.plan, level.picks, level.pending
    factor, noisy = level.factor, terms.table.shape[0] > 0
    count, d = plan[IN_LEVEL], gain.shape[1]
    for k in range(count):
        if noisy:
            draw_factors(terms.key, terms.table, level.nodes[k, NODE], factor[k])
        pending[k] = level.nodes[k, SCORED] == 1
        picks[k, PICKED], picks[k, PICKED_NODE] = -1, level.nodes[k, NODE]
    while True:
        pick = choose(
            gain[:count], terms.unit, prices, terms.rate, pending, terms.floor,
            factor[: count if noisy else 0],
        )  # fmt: skip
        if pick < 0:
            return
        k, feature = pick // d, pick % d
        pending[k] = False
        tree.net[picks[k, PICKED_NODE]] = (
            gain[k, feature] * terms.unit - terms.rate * prices[0, feature]
        )
        tree.order[plan[TAKEN]] = feature
        plan[TAKEN] += 1
        if terms.at_once and not money.bought[feature]:
            _buy(feature, money)
        picks[k, PICKED], picks[k, PICKED_CUT] = feature, cut[k, feature]
        picks[k, PICKED_LEFT] = left[k, feature]
        picks[k, PICKED_CURVATURE] = left_curvature[k, feature]
        category = columns.members[columns.place[feature], CATEGORY]
        for word in range(tree.words.shape[1] if category > 0 else 0):
            tree.words[picks[k, PICKED_NODE], word] = sets[k, category - 1, word]


@kernel(inline=True)
def _add_leaf(nodes, plan, total, curvature):
    node = plan[NODES]
    plan[NODES] += 1
    nodes[node, FEATURE] = nodes[node, CUT] = nodes[node, LEFT] = nodes[node, RIGHT] = -1
    nodes[node, TOTAL], nodes[node, STATE], nodes[node, CURVATURE] = total, APART, curvature
    return node


@kernel(inline=True)
def _plan_level(nodes, level, gain, min_leaf, last):
    """Write the splits taken into the tree and plan the level of their children."""
    plan, here, totals, jobs, divides, picks, _, curvatures, _ = level
    count = plan[IN_LEVEL]
    plan[IN_LEVEL] = plan[JOBS] = plan[DIVIDES] = 0
    for k in range(count):
        if picks[k, PICKED] < 0:
            continue
        node = picks[k, PICKED_NODE]
        nodes[node, FEATURE], nodes[node, CUT] = picks[k, PICKED], picks[k, PICKED_CUT]
        lefts = picks[k, PICKED_LEFT]
        rights = nodes[node, TOTAL] - lefts
        curvature = picks[k, PICKED_CURVATURE]
        rest = nodes[node, CURVATURE] - curvature
        nodes[node, LEFT] = _add_leaf(nodes, plan, lefts, curvature)
        nodes[node, RIGHT] = _add_leaf(nodes, plan, rights, rest)
        weight_left, weight_right = lefts & _COUNT, rights & _COUNT
        if last or max(weight_left, weight_right) < 2 * min_leaf:
            continue  # nothing below can be split, so its rows need not move
        divides[plan[DIVIDES]] = node
        plan[DIVIDES] += 1
        nodes[node, STATE] = DIVIDED
        nodes[nodes[node, LEFT], STATE] = nodes[nodes[node, RIGHT], STATE] = TOGETHER
        first = plan[IN_LEVEL]
        plan[IN_LEVEL] += 2
        here[first, NODE], here[first + 1, NODE] = nodes[node, LEFT], nodes[node, RIGHT]
        totals[first], totals[first + 1] = lefts, rights
        curvatures[first], curvatures[first + 1] = curvature, rest
        here[first, SCORED] = weight_left >= 2 * min_leaf
        here[first + 1, SCORED] = weight_right >= 2 * min_leaf
        smaller = 0 if weight_left <= weight_right else 1
        job = plan[JOBS]
        plan[JOBS] += 1
        jobs[job, SMALL], jobs[job, LARGE] = first + smaller, first + 1 - smaller
        jobs[job, PARENT] = k
    plan[DONE] = plan[JOBS] == 0
    for k in range(plan[IN_LEVEL]):
        for feature in range(gain.shape[1]):
            gain[k, feature] = -np.inf


@kernel(lean=True)
def _label(table, columns, tree, n_nodes, leaf, curvature, hessians, room, shared, team, phase):
    """Write the number of every row's leaf; splits whose rows were not moved are looked up.

    Adds up in ``hessians`` (nodes,) the curvature of the rows of each leaf, where there is one.
    """
    words, rows, _, all_rows, _ = table
    nodes, bounds = tree.nodes, tree.bounds
    moved = not all_rows or nodes[0, STATE] == DIVIDED
    curved = curvature.shape[0] > 0
    # Children are numbered left, right: a row goes to the last one, or to the one before it.
    sides, splits = room[0], room[1]
    for node in range(n_nodes):
        if nodes[node, STATE] == TOGETHER and nodes[node, FEATURE] >= 0:
            split_of(node, tree, columns, splits[node])
            goes_left(splits[node], sides[node])
        else:
            splits[node, BLOCK_] = splits[node, BYTE] = 0
            for code in range(CODES):
                sides[node, code] = 0
    c = _next(shared, team, phase, -1)
    while c < bounds.shape[0]:
        for node in range(n_nodes):
            if nodes[node, STATE] != TOGETHER:
                continue
            block, shift = words[splits[node, BLOCK_]], np.uint64(8 * splits[node, BYTE])
            last = node if nodes[node, FEATURE] < 0 else nodes[node, RIGHT]
            side, number = sides[node], np.uint16(last)
            whole, left = np.int64(0), np.int64(0)
            for i in range(bounds[c, node, 0], bounds[c, node, 1]):
                row = np.uint32(rows[i]) if moved else np.uint32(i)
                goes = side[(block[row] >> shift) & np.uint64(255)]
                leaf[row] = number - goes
                if curved:
                    second = np.int64(curvature[row])
                    whole += second
                    left += second * np.int64(goes)
            hessians[last] += whole - left
            hessians[last - (last != node)] += left
        c = _next(shared, team, phase, c)


@kernel(
    (
        Table, Columns, Terms, Money, Tree, Level, Found, Histograms, Leaves, Room, "int64[::1]",
        "int64",
    ),
    lean=True,
)  # fmt: skip
def grow_together(
    table, columns, terms, money, tree, level, found, histograms, leaves, room, shared, me
):
    """Grow a tree; every thread of the team calls this with its number ``me``.

    ``shared`` are the :func:`worthwhile.core.boosting.team.counters`: when they say that the tree was abandoned,
    it has to be grown again.
    """
    private, plan, max_depth = histograms.private, level.plan, terms.max_depth
    team, times = private.shape[0], 0
    own = room.tables[me], room.splits[me], room.right_rows[me], room.packed[me], room.second[me]
    scratch, curved = (room.sums[me], room.gains[me]), table.curvature.shape[0] > 0
    for depth in range(max_depth):
        if plan[DONE]:
            break
        _sweep(table, columns, terms.use, tree, level, private[me], own, shared, team, depth)
        if team > 1 and not meet(shared, team, times + 1):
            return
        _scan(columns, terms, level, histograms, found, scratch, shared, depth, curved)
        if team > 1 and not meet(shared, team, times + 2):
            return
        if me == 0:
            _take_splits(columns, terms, money, tree, level, found)
            _plan_level(tree.nodes, level, found.gain, terms.min_leaf, depth == max_depth - 1)
        if team > 1 and not meet(shared, team, times + 3):
            return
        times += 3
    if leaves.leaf.shape[0] > 0:
        _label(
            table, columns, tree, plan[NODES], leaves.leaf, leaves.curvature, leaves.hessians[me], own,
            shared, team, max_depth,
        )  # fmt: skip
