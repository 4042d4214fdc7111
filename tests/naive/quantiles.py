"""Quantiles by repetition."""

from __future__ import annotations

import numpy as np


def quantile(values, weight, share):
    """The value below which a share of the rows lies; halfway where that falls between two."""
    repeated = sorted(np.repeat(values, 1 if weight is None else weight).tolist())
    wanted = share * len(repeated)
    for count, value in enumerate(repeated, start=1):
        if count == wanted and count < len(repeated):
            return value / 2 + repeated[count] / 2
        if count >= wanted:
            return value
    return repeated[-1]


def below(children, node):
    """Leaves below a node."""
    left, right = children[node]
    return [node] if left < 0 else below(children, left) + below(children, right)
