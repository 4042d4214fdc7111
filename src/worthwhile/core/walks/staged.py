"""Tree ensembles evaluated stage by stage, with rows that leave in between."""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.walks.general import (
    ABREAST,
    BOUGHT,
    REFUSED,
    UNKNOWN,
    WAITED,
    _fits,
    _next_node,
    _open,
    add_trees,
)

PROXIMITY, SCORE, RANK, CAPACITY = 0, 1, 2, 3
"""Rules by which documents of a query leave; see ``policy.exit``."""


@kernel()
def walk_stage(X, nodes, sets, value, root, output, first, last, rows, raw, acquired):
    """Walk the listed rows through trees ``first..last - 1`` and add what they say to ``raw``.

    ``acquired`` (n, d) is filled where it has rows; pass shape (0, 0) when no bill is wanted.
    """
    billed = acquired.shape[0] > 0
    at = np.empty(ABREAST, np.uint64)
    for tree in range(first, last):
        for low in range(0, rows.shape[0], ABREAST):
            abreast = min(ABREAST, rows.shape[0] - low)
            for j in range(abreast):
                at[j] = root[tree]
            walking = True
            while walking:
                walking = False
                for j in range(abreast):
                    node = nodes[at[j]]
                    if node.feature >= 0:
                        feature = np.uint64(node.feature)
                        if billed:
                            acquired[rows[low + j], feature] = True
                        at[j] = _next_node(node, sets, X[rows[low + j], feature])
                        walking = True
            if value.shape[1] == 1:
                for j in range(abreast):
                    raw[rows[low + j], output[tree]] += value[at[j], 0]
            else:
                for j in range(abreast):
                    for k in range(value.shape[1]):
                        raw[rows[low + j], k] += value[at[j], k]


@kernel()
def walk_stage_limited(
    X, nodes, sets, value, root, output, first, last, rows, bounds, price, begin, opens, fee, evaluation, money,
    raw, state, opened, evaluated, ended,
):  # fmt: skip
    """The same for queries that each have money left: first come, first served among all documents.

    Parameters
    ----------
    rows, bounds : int64
        Active rows, query after query, and where each query begins.
    money : int64 (queries,)
        What each query has left, in quanta; lowered.
    state : int8 (n, d)
        What is known about each feature of each row; kept from stage to stage.
    opened : bool (n, fees)
        Fees that are paid; kept likewise.
    ended : bool (queries,)
        Set where the stage cannot be evaluated for all documents: then it is for none.
    """
    n_features, size = X.shape[1], last - first
    largest = 0
    for query in range(bounds.shape[0] - 1):
        largest = max(largest, bounds[query + 1] - bounds[query])
    at = np.empty(largest * size, np.int32)
    following = np.empty(largest * size, np.int32)  # next walk in the line for the same value
    head_of_line = np.empty(largest * n_features, np.int32)
    tail_of_line = np.empty(largest * n_features, np.int32)
    queue = np.empty(largest * n_features, np.int32)
    for query in range(bounds.shape[0] - 1):
        start = bounds[query]
        n_walks = (bounds[query + 1] - start) * size
        if n_walks == 0:
            continue
        if n_walks * evaluation > money[query]:
            ended[query] = True
            continue
        money[query] -= n_walks * evaluation
        head = tail = step = 0
        pending = -1  # walks whose current value has just become known
        while True:
            if step < n_walks:  # the start: every walk lines up once, document after document
                walk = step
                at[walk] = root[first + walk % size]
                step += 1
            elif pending >= 0:
                walk = pending
                pending = following[walk]
            elif head < tail:
                item = queue[head]
                head += 1
                row, feature = rows[start + item // n_features], item % n_features
                amount = _fits(feature, price, begin, opens, opened[row], fee, money[query])
                if amount < 0:
                    state[row, feature] = REFUSED
                else:
                    money[query] -= amount
                    _open(feature, begin, opens, opened[row])
                    state[row, feature] = BOUGHT
                    pending = head_of_line[item]
                continue
            else:
                break
            document = walk // size
            row = rows[start + document]
            while nodes[at[walk]].feature >= 0 and state[row, nodes[at[walk]].feature] == BOUGHT:
                at[walk] = _next_node(nodes[at[walk]], sets, X[row, nodes[at[walk]].feature])
            feature = nodes[at[walk]].feature
            if feature >= 0 and state[row, feature] != REFUSED:
                item = document * n_features + feature
                following[walk] = -1
                if state[row, feature] == UNKNOWN:
                    state[row, feature] = WAITED
                    head_of_line[item] = walk
                    queue[tail] = item
                    tail += 1
                else:
                    following[tail_of_line[item]] = walk
                tail_of_line[item] = walk
        for place in range(start, bounds[query + 1]):
            document = at[(place - start) * size : (place - start + 1) * size]
            add_trees(raw, rows[place], value, document, output[first:last], size)
            evaluated[rows[place]] += size


@kernel()
def _push(heap, count, capacity, score):
    """Offer a score to the heap of the best so far, smallest on top; return how many it holds."""
    if count < capacity:
        place = count
        count += 1
        while place > 0 and heap[(place - 1) // 2] > score:
            heap[place] = heap[(place - 1) // 2]
            place = (place - 1) // 2
        heap[place] = score
        return count
    if score <= heap[0]:
        return count
    place = 0
    while True:
        child = 2 * place + 1
        if child >= count:
            break
        if child + 1 < count and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= score:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = score
    return count


@kernel()
def leave(score, bounds, rule, level, keep, stays):
    """Decide at one exit which documents of each query go on.

    Parameters
    ----------
    score : float64 (n,)
        Partial scores of the active documents, query after query.
    bounds : int64 (queries + 1,)
        Where each query begins.
    rule : int
        One of the codes above.
    level : float64
        The gap, the floor, or the number of documents.
    keep : int
        With the proximity rule, documents that are never removed.
    stays : bool (n,)
        Overwritten.
    """
    heap = np.empty(max(1, score.shape[0]))
    for query in range(bounds.shape[0] - 1):
        start, stop = bounds[query], bounds[query + 1]
        m = stop - start
        best = keep
        if rule in (RANK, CAPACITY):
            best = m if level >= m else int(level)
        if rule == SCORE:
            for i in range(start, stop):
                stays[i] = score[i] >= level
            continue
        if best >= m:
            stays[start:stop] = True
            continue
        count = 0
        if rule == CAPACITY:
            for i in range(start, stop):
                stays[i] = count < best or score[i] > heap[0]
                count = _push(heap, count, best, score[i])
            continue
        for i in range(start, stop):
            count = _push(heap, count, best, score[i])
        limit = heap[0]  # the score of the last of the best
        places = best
        for i in range(start, stop):
            if score[i] > limit:
                places -= 1
        for i in range(start, stop):
            if score[i] == limit and places > 0:
                places -= 1
                stays[i] = True
            elif rule == RANK:
                stays[i] = score[i] > limit
            else:
                stays[i] = score[i] > limit or limit - score[i] < level


@kernel()
def sort_falling(score, exit_of, order):
    """Sort row numbers by exit (where there are exits), then score, both falling; in place.

    Equal ones stay in order. Merges runs of growing length; the compiler needs ten times as long
    for numpy's argsort.
    """
    spare = np.empty_like(order)
    exits = exit_of.shape[0] > 0
    m = order.shape[0]
    length = 1
    while length < m:
        for low in range(0, m, 2 * length):
            i, middle = low, min(low + length, m)
            j, high = middle, min(low + 2 * length, m)
            for k in range(low, high):
                take_left = j >= high
                if i < middle and j < high:
                    a, b = order[i], order[j]
                    take_left = score[a] >= score[b]
                    if exits and exit_of[a] != exit_of[b]:
                        take_left = exit_of[a] > exit_of[b]
                if take_left:
                    spare[k] = order[i]
                    i += 1
                else:
                    spare[k] = order[j]
                    j += 1
        for k in range(m):
            order[k] = spare[k]
        length *= 2


@kernel()
def ranking_scores(score, exit_of, bounds):
    """Lower the scores of documents that left until their order is the ranking; in place.

    Whoever left later stands above whoever left earlier: a group that left together is moved down
    as a whole, to 1 below the lowest of those above it, where it is not below them already.
    """
    for query in range(bounds.shape[0] - 1):
        start, stop = bounds[query], bounds[query + 1]
        moved = False
        for i in range(start + 1, stop):
            moved = moved or exit_of[i] != exit_of[start]
        if not moved:
            continue
        order = np.arange(start, stop)
        sort_falling(score, exit_of, order)
        shift = 0.0
        before, above, level = 0.0, np.inf, exit_of[order[0]]
        for i in order:
            own = score[i]
            if exit_of[i] != level:
                level = exit_of[i]
                shift = min(0.0, (above - 1.0) - own)
                score[i] = min(own + shift, np.nextafter(above, -np.inf))
            elif own == before and above < np.inf:
                score[i] = above
            else:  # what rounding would make equal stays apart
                score[i] = min(own + shift, np.nextafter(above, -np.inf))
            before, above = own, score[i]
