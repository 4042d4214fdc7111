"""What is worth buying next, from the largest sets backwards.

Rows stand at nodes, which are sets of what is known; edges lead to larger ones at a price. From the
last node to the first: what going on along an edge brings the rows of a cell, on average and with what
they do later, less its price. A cell takes the best edge, or stops where none brings anything.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import group, kernel

Library = group(
    __name__, "Library",
    payoff="float64[:, ::1]",  # (nodes, n): what an answer at a node is worth
    cell="int32[:, ::1]",  # (nodes, n)
    first="int64[::1]",  # (nodes + 1,): number of the first cell of each node
    start="int64[::1]",  # (nodes + 1,): where the edges of each node begin
    target="int32[::1]", price="float64[::1]",  # of the edges
)  # fmt: skip


@kernel(lean=True)
def _fall(line, counts, prior, cells, level, held, size):
    """Replace means in order by those of a line that never rises: neighbours that do are pooled."""
    blocks = 0
    for cell in range(cells):
        level[blocks], size[blocks] = line[cell], 1
        held[blocks] = max(counts[cell] + prior, 1e-9)  # there may be empty cells
        while blocks > 0 and level[blocks] > level[blocks - 1]:
            both = held[blocks] + held[blocks - 1]
            level[blocks - 1] += (level[blocks] - level[blocks - 1]) * held[blocks] / both
            held[blocks - 1] = both
            size[blocks - 1] += size[blocks]
            blocks -= 1
        blocks += 1
    cell = 0
    for block in range(blocks):
        for _ in range(size[block]):
            line[cell] = level[block]
            cell += 1


@kernel(lean=True)
def _estimate(seen, drawn, usual, cells, room, found):
    """What an edge brings the rows of each cell, carefully, from counts, sums and squares of gains."""
    counts, sums, squares = seen
    prior, falling, caution = drawn
    line, level, held, size = room
    if falling > 0.0:
        for cell in range(cells):
            line[cell] = (sums[cell] + prior * usual) / max(counts[cell] + prior, 1e-9)
        _fall(line, counts, prior, cells, level, held, size)
    for cell in range(cells):
        rows = counts[cell] + prior + falling
        estimate = (sums[cell] + prior * usual + falling * line[cell]) / rows
        spread = max(squares[cell] / max(counts[cell], 1.0) - estimate * estimate, 0.0)
        found[cell] = estimate - caution * np.sqrt(spread / rows)


@kernel(
    (Library, "boolean[::1]", "float64", "float64", "float64", "float64", "float64", "int32[::1]")
)
def induce(library, allowed, rate, prior, falling, caution, stops, choice):
    """Fill ``choice`` (cells,) with the edges to take, -1 to stop.

    Parameters
    ----------
    library : Library
    allowed : bool (nodes,)
        Nodes that may be gone to; at the others every row stops.
    rate : float
        What a unit of money is worth, in units of the payoff.
    prior, falling : float
        A cell's estimate is drawn to that of its node with the weight of so many rows, and to a line over all
        cells that never rises: they are numbered by how sure rows are, and the surer, the less is to gain.
    caution : float
        Standard errors by which an estimate is lowered: what is bought by mistake is paid for.
    stops : float
        Chance that a case has to end at the next node, for want of money or of a value: of purchases
        that lead to the same end, the more telling ones come first.
    """
    n_nodes, n = library.payoff.shape
    value = library.payoff.copy()
    most = 0
    for node in range(n_nodes):
        most = max(most, library.first[node + 1] - library.first[node])
    best, sums, counts = np.empty(most), np.empty(most), np.empty(most)
    squares, found = np.empty(most), np.empty(most)
    room = np.zeros(most), np.empty(most), np.empty(most), np.empty(most, np.int64)
    seen, drawn = (counts, sums, squares), (prior, falling, caution)
    for node in range(n_nodes - 1, -1, -1):
        low, cells = library.first[node], library.first[node + 1] - library.first[node]
        choice[low : low + cells] = -1
        if not allowed[node]:
            continue
        best[:cells] = 0.0
        counts[:cells] = 0.0
        for i in range(n):
            counts[library.cell[node, i]] += 1.0
        for edge in range(library.start[node], library.start[node + 1]):
            target = library.target[edge]
            if not allowed[target]:
                continue
            sums[:cells] = 0.0
            squares[:cells] = 0.0
            total, due = 0.0, rate * library.price[edge]
            for i in range(n):
                worth = value[target, i] + stops * (library.payoff[target, i] - value[target, i])
                gain = worth - due - library.payoff[node, i]
                sums[library.cell[node, i]] += gain
                squares[library.cell[node, i]] += gain * gain
                total += gain
            _estimate(seen, drawn, total / n, cells, room, found)
            for cell in range(cells):
                if found[cell] > best[cell]:
                    best[cell], choice[low + cell] = found[cell], edge
        for i in range(n):
            edge = choice[low + library.cell[node, i]]
            if edge >= 0:
                target = library.target[edge]
                worth = value[target, i] + stops * (library.payoff[target, i] - value[target, i])
                value[node, i] = worth - rate * library.price[edge]


@kernel((Library, "int32[::1]", "int32[::1]", "float64[::1]"))
def follow(library, choice, end, bill):
    """Where each row stops when it takes these edges, and what it has paid by then."""
    for i in range(end.shape[0]):
        node, paid = 0, 0.0
        edge = choice[library.first[0] + library.cell[0, i]]
        while edge >= 0:
            paid += library.price[edge]
            node = library.target[edge]
            edge = choice[library.first[node] + library.cell[node, i]]
        end[i], bill[i] = node, paid
