"""Random tree ensembles and prices for property tests."""

from __future__ import annotations

import itertools

import numpy as np

from worthwhile.core.trees import Trees
from worthwhile.costs import Costs


def random_trees(
    rng, n_trees=4, n_features=5, n_outputs=1, vector=False, depth=3, average=False, single=False
):
    """Trees of random shape; thresholds on a coarse grid, so that values meet them exactly."""
    feature, threshold, left, right = [], [], [], []

    def grow(level):
        node = len(feature)
        inner = level < depth and rng.random() < 0.8
        feature.append(int(rng.integers(n_features)) if inner else -1)
        threshold.append(float(rng.integers(-3, 4)) / 2 if inner else 0.0)
        left.append(-1)
        right.append(-1)
        if inner:
            left[node] = grow(level + 1)
            right[node] = grow(level + 1)
        return node

    root = [grow(0) for _ in range(n_trees)]
    width = n_outputs if vector else 1
    return Trees.build(
        feature=feature, threshold=threshold, left=left, right=right,
        value=rng.standard_normal((len(feature), width)).reshape(len(feature), width),
        root=root, base=rng.standard_normal(n_outputs),
        missing_left=rng.random(len(feature)) < 0.5,
        output=np.zeros(n_trees) if width == n_outputs else rng.integers(n_outputs, size=n_trees),
        average=average, single=single,
    )  # fmt: skip


def nested(trees, node):
    """The tree below a node as tuples within tuples, free of any numbering."""
    value = trees.value[node].tolist()
    if trees.feature[node] < 0:
        return (value,)
    children = [nested(trees, child) for child in (trees.left[node], trees.right[node])]
    return (
        int(trees.feature[node]), float(trees.threshold[node]), bool(trees.missing_left[node]), value, *children,
    )  # fmt: skip


def random_costs(rng, n_features=5, evaluation=0, names=False):
    """Whole and broken prices, some free; fees that features share in some pattern."""
    prices = [str(p) for p in rng.choice(["0", "0.1", "1", "2.5", "3"], size=n_features)]
    keys = [f"f{i}" for i in range(n_features)] if names else list(range(n_features))
    members = rng.permutation(n_features)
    groups = {"g": {"fee": "2.1", "features": [keys[i] for i in members[:2]]}}
    if n_features > 3:
        groups["h"] = {"fee": "0.3", "features": [keys[i] for i in members[2:4]]}
    if members[0] % 2 and n_features > 3:  # nested, and a feature in two groups
        groups["h"]["within"] = ["g"]
        groups["k"] = {"fee": "0.7", "features": [keys[i] for i in members[1:3]]}
    return Costs.from_dict(
        {
            "unit": "",
            "evaluation": str(evaluation),
            "names": keys if names else None,
            "prices": prices,
            "groups": groups,
        }
    )


def opens_of(costs):
    """The fees that each feature of some flat costs opens."""
    ends = costs.begin.tolist()
    return [costs.opens[a:b].tolist() for a, b in itertools.pairwise(ends)]


def random_rows(rng, n, n_features=5):
    """Values on the grid of the thresholds and off it, and some NaN."""
    shape = (n, n_features)
    X = np.where(rng.random(shape) < 0.5, rng.integers(-4, 5, shape) / 2, rng.normal(size=shape))
    X[rng.random(shape) < 0.15] = np.nan
    return X
