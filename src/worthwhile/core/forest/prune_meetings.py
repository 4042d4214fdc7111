"""Which rows need which features at which nodes of a forest: the ground of pruning.

A row meets a feature (or a fee that it opens) at a node where it would acquire it.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel
from worthwhile.core.walks.general import _next_node as next_node


@kernel()
def count_meetings(
    X, nodes, sets, root, fees, wrong, label, codes, weights, seen, errors, counts, start, stop
):
    """Count what rows ``start..stop`` meet for the first time on their path through one tree.

    ``counts`` (n,) gets the number of items (features and fees) that each row meets, ``errors``
    (nodes,) the weight of rows that a node's label gets wrong (where ``wrong``). ``seen`` (items,)
    is scratch: the last row that met an item. ``fees``: where those of each feature begin, and they.
    """
    begin, opens = fees
    d = begin.shape[0] - 1
    for row in range(start, stop):
        at, found = root, 0
        while True:
            if wrong and label[at] != codes[row]:
                errors[at] += weights[row]
            f = nodes[at].feature
            if f < 0:
                break
            if seen[f] != row:
                seen[f] = row
                found += 1
            for entry in range(begin[f], begin[f + 1]):
                if seen[d + opens[entry]] != row:
                    seen[d + opens[entry]] = row
                    found += 1
            at = next_node(nodes[at], sets, X[row, f])
        counts[row] = found


@kernel()
def note_meetings(X, nodes, sets, root, fees, seen, first, at_node, pair, start, stop):
    """Write the meetings that :func:`count_meetings` counted: the node, and row * items + item."""
    begin, opens = fees
    d, items = begin.shape[0] - 1, seen.shape[0]
    for row in range(start, stop):
        at, place = root, first[row]
        while nodes[at].feature >= 0:
            f = nodes[at].feature
            if seen[f] != row:
                seen[f] = row
                at_node[place], pair[place] = at, np.int64(row) * items + f
                place += 1
            for entry in range(begin[f], begin[f + 1]):
                fee = d + opens[entry]
                if seen[fee] != row:
                    seen[fee] = row
                    at_node[place], pair[place] = at, np.int64(row) * items + fee
                    place += 1
            at = next_node(nodes[at], sets, X[row, f])


@kernel()
def solve_trees(first, last, left, right, error, toll, burden, worth, expanded):
    """Best pruning of the trees in nodes ``first..last`` when expanding node h costs burden[h] + toll[h].

    Children come after their parents. ``worth`` gets the value of each subtree; ties are pruned.
    ``expanded`` says where the walk goes on; descendants of pruned nodes are not expanded.
    """
    for h in range(last - 1, first - 1, -1):
        worth[h] = error[h]
        expanded[h] = False
        if left[h] >= 0:
            on = burden[h] + toll[h] + worth[left[h]] + worth[right[h]]
            if on < error[h]:
                worth[h] = on
                expanded[h] = True
    for h in range(first, last):
        if left[h] >= 0 and not expanded[h]:
            expanded[left[h]] = False
            expanded[right[h]] = False


@kernel()
def add_burdens(at_node, pair, beta, burden, charged):
    """Sum the multipliers per node and per pair, meeting after meeting."""
    burden[:] = 0.0
    charged[:] = 0.0
    for e in range(at_node.shape[0]):
        burden[at_node[e]] += beta[e]
        charged[pair[e]] += beta[e]


@kernel()
def use_pairs(at_node, pair, expanded, users):
    """Count for each pair the trees that need it."""
    users[:] = 0
    for e in range(at_node.shape[0]):
        if expanded[at_node[e]]:
            users[pair[e]] += 1


@kernel()
def subgradient_norm(at_node, pair, expanded, bought):
    """Squared length of the subgradient: need of a tree minus purchase, per meeting."""
    found = 0
    for e in range(at_node.shape[0]):
        found += expanded[at_node[e]] != bought[pair[e]]
    return found


@kernel()
def step_multipliers(at_node, pair, expanded, bought, size, beta):
    """One step uphill, kept at zero or above."""
    for e in range(at_node.shape[0]):
        need = 1.0 if expanded[at_node[e]] else 0.0
        need -= 1.0 if bought[pair[e]] else 0.0
        beta[e] = max(beta[e] + size * need, 0.0)


@kernel()
def polish_trees(
    tree_first,
    begin,
    at_node,
    pair,
    price,
    left,
    right,
    error,
    toll,
    users,
    burden,
    worth,
    expanded,
):
    """Solve tree after tree with the purchases of all others given; return how many trees changed.

    A tree pays for a pair only if no other tree has bought it. The objective never rises.
    """
    changed = 0
    for t in range(tree_first.shape[0] - 1):
        first, last = tree_first[t], tree_first[t + 1]
        for h in range(first, last):
            burden[h] = 0.0
        for e in range(begin[t], begin[t + 1]):
            if expanded[at_node[e]]:
                users[pair[e]] -= 1
        for e in range(begin[t], begin[t + 1]):
            if users[pair[e]] == 0:
                burden[at_node[e]] += price[pair[e]]
        before = np.int64(0)
        for h in range(first, last):
            before += (h - first + 1) * np.int64(expanded[h])
        solve_trees(first, last, left, right, error, toll, burden, worth, expanded)
        now = np.int64(0)
        for h in range(first, last):
            now += (h - first + 1) * np.int64(expanded[h])
        changed += now != before
        for e in range(begin[t], begin[t + 1]):
            if expanded[at_node[e]]:
                users[pair[e]] += 1
    return changed
