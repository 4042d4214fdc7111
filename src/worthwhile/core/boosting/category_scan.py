"""The order in which categories are scanned, and the sets that scans find.

A category stands by the mean of its rounded gradients in the node, drawn towards the node's own mean as
if ``smooth`` more rows had that: categories of few rows stand in the middle, and go with the others of
their side. The order follows from whole numbers by one fixed formula, and ties go by the code.
"""

from __future__ import annotations

import numpy as np

from worthwhile.core.compile import kernel

TURNS = 12
"""Steps of the power method; where the order is not settled by then, means differ alike in two directions."""


@kernel(lean=True)
def order_codes(keys, order, n):
    """Sort the first ``n`` codes by their keys, then by code, both rising; in place (Shell's sort)."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            key, code, j = keys[i], order[i], i
            while j >= gap and (
                keys[j - gap] > key or (keys[j - gap] == key and order[j - gap] > code)
            ):
                keys[j], order[j] = keys[j - gap], order[j - gap]
                j -= gap
            keys[j], order[j] = key, code
        gap //= 3


@kernel(lean=True)
def write_set(order, start, stop, words):
    """Make ``words`` (4,) the set of the codes at these places of the order."""
    for k in range(words.shape[0]):
        words[k] = 0
    for k in range(start, stop):
        words[order[k] >> 6] |= np.int64(1) << (order[k] & 63)


@kernel(inline=True)
def below(k, outputs, width):
    """Place of what stands below the line for output k: the weight, or the output's own curvature."""
    return k + outputs if width > outputs + 1 else 0


@kernel()
def principal_order(histogram, bins, totals, smooth, outputs):
    """Codes (found,) that the node has, in order, from a wide histogram (states, S), and their number."""
    width = totals.shape[0]
    order, keys = np.empty(bins, np.int64), np.empty(bins)
    differences, found = np.empty((bins, outputs)), 0
    for b in range(bins):
        if histogram[b, 0] == 0:
            continue
        for k in range(1, outputs + 1):
            h = below(k, outputs, width)
            own, total = np.float64(histogram[b, h]), np.float64(totals[h])
            from_mean = np.float64(histogram[b, k]) * total - np.float64(totals[k]) * own
            differences[found, k - 1] = from_mean / (own + smooth)
        order[found] = b
        found += 1
    direction = _direction(differences, histogram, order, found)
    for i in range(found):
        keys[i] = 0.0
        for k in range(outputs):
            keys[i] += differences[i, k] * direction[k]
    order_codes(keys, order, found)
    return order, found


@kernel()
def _direction(differences, histogram, order, found):
    """The direction (outputs,) in which weighted differences vary most, by the power method.

    It starts from the output that varies most, so that with one output it is just that.
    """
    outputs = differences.shape[1]
    direction, image = np.zeros(outputs), np.empty(outputs)
    largest, start = -1.0, 0
    for k in range(outputs):
        variation = 0.0
        for i in range(found):
            variation += np.float64(histogram[order[i], 0]) * differences[i, k] * differences[i, k]
        if variation > largest:
            largest, start = variation, k
    direction[start] = 1.0
    for _ in range(TURNS if outputs > 1 and largest > 0 else 0):
        image[:] = 0.0
        for i in range(found):
            along = 0.0
            for k in range(outputs):
                along += differences[i, k] * direction[k]
            along *= np.float64(histogram[order[i], 0])
            for k in range(outputs):
                image[k] += along * differences[i, k]
        size = 0.0
        for k in range(outputs):
            size = max(size, abs(image[k]))
        for k in range(outputs):
            direction[k] = image[k] / size
    return direction
