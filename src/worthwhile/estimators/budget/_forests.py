"""How much is grown, and forests one after the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from worthwhile.estimators._shared.coded_forests import WIDE, Style, Trees


class Shape(NamedTuple):
    """How much is grown: trees of a node, rows and trees that say what a purchase adds.

    ``styles``: kinds of forests by number of columns; without them the kind that suits a set is looked for.
    ``wide``: columns from which on trees with random cuts see more rows.
    ``boosted``: whether trees that correct one another are tried on wide sets; ``largest``: on so many of the
    largest of them, if not on all.
    ``parts``: of the rows, each answered by such trees on the others.
    """

    n_trees: int
    seed: int
    search_rows: int = 2000
    search_trees: int = 16
    styles: dict[int, Style] | None = None
    wide: int = WIDE
    boosted: bool = False
    largest: int = 0
    parts: int = 4


def no_trees() -> Trees:
    """The forest of the empty set."""
    empty = np.empty(0, dtype=np.int32)
    return Trees(
        empty, np.empty(0), empty, empty, np.zeros(1, dtype=np.int64), empty,
        np.empty(0, dtype=np.float32),
    )  # fmt: skip


def join_forests(forests: list[Trees]) -> Trees:
    """Forests one after the other, children, leaves and entries counted on."""
    nodes = np.cumsum([0, *(len(f.feature) for f in forests)])
    leaves = np.cumsum([0, *(len(f.start) - 1 for f in forests)])
    entries = np.cumsum([0, *(len(f.held) for f in forests)])
    child = [
        f.child + np.where(f.feature >= 0, node, leaf)
        for f, node, leaf in zip(forests, nodes, leaves, strict=False)
    ]
    start = [f.start[:-1] + entry for f, entry in zip(forests, entries, strict=False)]
    root = [f.root + node for f, node in zip(forests, nodes, strict=False)]
    return Trees(
        np.concatenate([f.feature for f in forests]),
        np.concatenate([f.threshold for f in forests]),
        np.concatenate(child).astype(np.int32),
        np.concatenate(root).astype(np.int32),
        np.append(np.concatenate(start), entries[-1]).astype(np.int64),
        np.concatenate([f.held for f in forests]),
        np.concatenate([f.share for f in forests]),
    )
