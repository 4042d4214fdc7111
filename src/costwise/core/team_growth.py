"""The kernel of :mod:`costwise.core.team_grower`: a whole tree, grown by a team of threads.

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

from costwise.core.compile import kernel
from costwise.core.dtypes import BLOCK, CODES, COUNT_BITS, QUANTUM
from costwise.core.histogram import add_in_order, add_prepared, clear, pack
from costwise.core.partition import BLOCK_, BYTE, divide_rows, goes_left
from costwise.core.partition import CUT as CUT_
from costwise.core.splitting import choose, scan_packed_block
from costwise.core.team import meet, take

_COUNT = np.int64((1 << COUNT_BITS) - 1)

# Columns of the tree: its split, its children, its packed sum, and whether its rows lie together.
FEATURE, CUT, LEFT, RIGHT, TOTAL, STATE = range(6)
APART, TOGETHER, DIVIDED = range(3)

# Columns of a level: number of the node in the tree, whether it is scored.
NODE, SCORED = range(2)

# Columns of a job: place in the level of the child to build, of its sibling (-1: none), and of their
# parent in the level above.
SMALL, LARGE, PARENT = range(3)

# Entries of the plan: nodes, level, jobs, nodes to divide, splits taken, and whether the tree is done.
NODES, IN_LEVEL, JOBS, DIVIDES, TAKEN, DONE = range(6)

# Columns of a pick: the split taken at a place of the level (-1: none), the sum on its left, its node.
PICKED, PICKED_CUT, PICKED_LEFT, PICKED_NODE = range(4)

# What a tree needs of a block of columns: nothing, the first half of them, or all.
UNUSED, HALF, WHOLE = range(3)


@kernel(inline=True)
def split_of(feature, cut, layout, split):
    """Write a split as :mod:`costwise.core.partition` takes it."""
    members, _, place, columns = layout
    m = place[feature]
    split[0], split[1] = columns[m] // BLOCK, columns[m] % BLOCK
    for k in range(1, members.shape[1]):
        split[1 + k] = members[m, k]
    split[CUT_] = cut


@kernel(inline=True)
def _next(shared, team, phase, last):
    """Number of the next task: of the team's, or, alone, the one after the last."""
    return take(shared, phase) if team > 1 else last + 1


@kernel(lean=True)
def _sweep(
    data, layout, use, tree, bounds, level, jobs, plan, divides, private, room, shared, team, depth
):
    """Split the chosen nodes and add up the smaller child of each, chunk by chunk."""
    words, rows, gradients, all_rows = data
    tables, splits, right_rows, packed = room
    for job in range(plan[JOBS]):
        for b in range(words.shape[0]):
            clear(private[job, b])
    for k in range(plan[DIVIDES]):
        split_of(tree[divides[k], FEATURE], tree[divides[k], CUT], layout, splits[k])
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
            here[tree[node, LEFT], 0], here[tree[node, LEFT], 1] = low, middle
            here[tree[node, RIGHT], 0], here[tree[node, RIGHT], 1] = middle, high
        for job in range(plan[JOBS]):
            node = level[jobs[job, SMALL], NODE]
            low, high = here[node, 0], here[node, 1]
            in_order = all_rows and depth == 0
            for i in range(low, low if in_order else high):
                packed[i - low] = pack(gradients[np.uint32(rows[i])])
            for b in range(words.shape[0]):
                if use[b] == UNUSED:
                    continue
                half = use[b] == HALF
                if in_order:
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
def _scan(
    layout,
    use,
    allowed,
    level,
    totals,
    jobs,
    plan,
    private,
    above,
    held,
    found,
    min_leaf,
    scratch,
    shared,
    phase,
):
    """Histograms of all nodes of the level, and the best cut of every feature in them."""
    team = private.shape[0]
    b = _next(shared, team, phase, -1)
    while b < use.shape[0]:
        for job in range(plan[JOBS] if use[b] != UNUSED else 0):
            small, large = jobs[job, SMALL], jobs[job, LARGE]
            _add_up(private, job, b, held[small, b])
            if large >= 0:
                _difference(above[jobs[job, PARENT], b], held[small, b], held[large, b])
            for side in range(2):
                child = jobs[job, side]
                if child >= 0 and level[child, SCORED]:
                    scan_packed_block(
                        held[child, b], b, child, layout, allowed, totals, min_leaf, scratch, found
                    )
        b = _next(shared, team, phase, b)


@kernel(inline=True)
def _buy(feature, money):
    """Let what a split needs be free from now on; see :class:`costwise.core.purchases.Purchases`."""
    prices, price, group, bought, opened = money
    bought[feature] = True
    prices[0, feature] = 0.0
    g = group[feature]
    if g >= 0 and not opened[g]:
        opened[g] = True
        for other in range(price.shape[0]):
            if group[other] == g and not bought[other]:
                prices[0, other] = price[other] * QUANTUM


@kernel(inline=True)
def _take_splits(net, order, level, plan, picks, pending, found, money, unit, rate, floor, at_once):
    """Take splits of the level, best net worth first."""
    gain, cut, left = found
    prices = money[0]
    count, d = plan[IN_LEVEL], gain.shape[1]
    for k in range(count):
        pending[k] = level[k, SCORED] == 1
        picks[k, PICKED], picks[k, PICKED_NODE] = -1, level[k, NODE]
    while True:
        pick = choose(gain[:count], unit, prices, rate, pending, floor)
        if pick < 0:
            return
        k, feature = pick // d, pick % d
        pending[k] = False
        net[level[k, NODE]] = gain[k, feature] * unit - rate * prices[0, feature]
        order[plan[TAKEN]] = feature
        plan[TAKEN] += 1
        if at_once and not money[3][feature]:
            _buy(feature, money)
        picks[k, PICKED], picks[k, PICKED_CUT] = feature, cut[k, feature]
        picks[k, PICKED_LEFT] = left[k, feature]


@kernel(inline=True)
def _add_leaf(tree, plan, total):
    node = plan[NODES]
    plan[NODES] += 1
    tree[node, FEATURE] = tree[node, CUT] = tree[node, LEFT] = tree[node, RIGHT] = -1
    tree[node, TOTAL], tree[node, STATE] = total, APART
    return node


@kernel(inline=True)
def _plan_level(tree, level, totals, jobs, plan, divides, picks, gain, min_leaf, last):
    """Write the splits taken into the tree and plan the level of their children."""
    count = plan[IN_LEVEL]
    plan[IN_LEVEL] = plan[JOBS] = plan[DIVIDES] = 0
    for k in range(count):
        if picks[k, PICKED] < 0:
            continue
        node = picks[k, PICKED_NODE]
        tree[node, FEATURE], tree[node, CUT] = picks[k, PICKED], picks[k, PICKED_CUT]
        lefts = picks[k, PICKED_LEFT]
        rights = tree[node, TOTAL] - lefts
        tree[node, LEFT] = _add_leaf(tree, plan, lefts)
        tree[node, RIGHT] = _add_leaf(tree, plan, rights)
        weight_left, weight_right = lefts & _COUNT, rights & _COUNT
        if last or max(weight_left, weight_right) < 2 * min_leaf:
            continue  # nothing below can be split, so its rows need not move
        divides[plan[DIVIDES]] = node
        plan[DIVIDES] += 1
        tree[node, STATE] = DIVIDED
        tree[tree[node, LEFT], STATE] = tree[tree[node, RIGHT], STATE] = TOGETHER
        first = plan[IN_LEVEL]
        plan[IN_LEVEL] += 2
        level[first, NODE], level[first + 1, NODE] = tree[node, LEFT], tree[node, RIGHT]
        totals[first], totals[first + 1] = lefts, rights
        level[first, SCORED] = weight_left >= 2 * min_leaf
        level[first + 1, SCORED] = weight_right >= 2 * min_leaf
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
def _label(data, layout, tree, bounds, plan, leaf, curvature, bends, room, shared, team, phase):
    """Write the number of every row's leaf; splits whose rows were not moved are looked up.

    Adds up in ``bends`` (nodes,) the curvature of the rows of each leaf, where there is one.
    """
    words, rows, all_rows = data[0], data[1], data[3]
    moved = not all_rows or tree[0, STATE] == DIVIDED
    curved = curvature.shape[0] > 0
    # Children are numbered left, right: a row goes to the last one, or to the one before it.
    sides, splits = room[0], room[1]
    for node in range(plan[NODES]):
        if tree[node, STATE] == TOGETHER and tree[node, FEATURE] >= 0:
            split_of(tree[node, FEATURE], tree[node, CUT], layout, splits[node])
            goes_left(splits[node], sides[node])
        else:
            splits[node, BLOCK_] = splits[node, BYTE] = 0
            for code in range(CODES):
                sides[node, code] = 0
    c = _next(shared, team, phase, -1)
    while c < bounds.shape[0]:
        for node in range(plan[NODES]):
            if tree[node, STATE] != TOGETHER:
                continue
            block, shift = words[splits[node, BLOCK_]], np.uint64(8 * splits[node, BYTE])
            last = node if tree[node, FEATURE] < 0 else tree[node, RIGHT]
            side, number = sides[node], np.uint16(last)
            whole, left = np.int64(0), np.int64(0)
            for i in range(bounds[c, node, 0], bounds[c, node, 1]):
                row = np.uint32(rows[i]) if moved else np.uint32(i)
                goes = side[(block[row] >> shift) & np.uint64(255)]
                leaf[row] = number - goes
                if curved:
                    bend = np.int64(curvature[row])
                    whole += bend
                    left += bend * np.int64(goes)
            bends[last] += whole - left
            bends[last - (last != node)] += left
        c = _next(shared, team, phase, c)


@kernel(
    "void(uint64[:,::1], int32[::1], int32[::1], boolean, int32[:,::1], int32[::1], int32[::1],"
    " int64[::1], boolean[::1], float64[:,::1], int64[::1], int32[::1], boolean[::1], boolean[::1],"
    " float64, float64, float64, boolean, int64, int64, int64[:,::1], float64[::1], int64[::1],"
    " int64[:,:,::1], int64[:,::1], int64[:,::1], int64[::1], int64[::1], int64[:,::1],"
    " int64[:,:,:,::1], int64[:,:,:,::1], float64[:,::1], int32[:,::1], int64[:,::1], uint16[::1],"
    " int32[::1], int64[:,::1], uint8[::1], int64[::1], boolean[::1], uint8[:,:,::1], int64[:,:,::1],"
    " int32[:,::1], int64[:,::1], int64[:,:,::1], float64[:,::1], int64[::1], int64)",
    lean=True,
)
def grow_together(
    words, rows, gradients, all_rows, members, offsets, place, columns, allowed, prices, price, group,
    bought, opened, unit, rate, floor, at_once, min_leaf, max_depth, tree, net, order, bounds, level, jobs, plan,
    divides, picks, private, held, gain, cut, left, leaf, curvature, bends, use, totals, pending,
    tables, splits, right_rows, packed, sums, gains, shared, me,
):  # fmt: skip
    """Grow a tree; every thread of the team calls this with its number ``me``.

    ``plan``, ``level`` and ``jobs`` describe the root to begin with. ``leaf`` is empty where the
    leaves of rows are not asked for, ``curvature`` where its sums per leaf (team, nodes) are not.
    Nothing is allocated here, nor in what it calls: such kernels compile a third faster.
    """
    team, times = private.shape[0], 0
    data, layout = (words, rows, gradients, all_rows), (members, offsets, place, columns)
    found, money = (gain, cut, left), (prices, price, group, bought, opened)
    room = tables[me], splits[me], right_rows[me], packed[me]
    scratch = sums[me, 0], sums[me, 1], gains[me]
    for depth in range(max_depth):
        if plan[DONE]:
            break
        _sweep(
            data, layout, use, tree, bounds, level, jobs, plan, divides, private[me], room, shared, team, depth
        )  # fmt: skip
        if team > 1 and not meet(shared, team, times + 1):
            return
        _scan(
            layout, use, allowed, level, totals, jobs, plan, private, held[(depth + 1) % 2], held[depth % 2],
            found, min_leaf, scratch, shared, max_depth + 1 + depth,
        )  # fmt: skip
        if team > 1 and not meet(shared, team, times + 2):
            return
        if me == 0:
            _take_splits(
                net, order, level, plan, picks, pending, found, money, unit, rate, floor, at_once
            )
            _plan_level(
                tree, level, totals, jobs, plan, divides, picks, gain, min_leaf, depth == max_depth - 1
            )  # fmt: skip
        if team > 1 and not meet(shared, team, times + 3):
            return
        times += 3
    if leaf.shape[0] > 0:
        _label(
            data, layout, tree, bounds, plan, leaf, curvature, bends[me], room, shared, team, max_depth
        )  # fmt: skip
