"""Random tree ensembles and prices for property tests."""

from __future__ import annotations

import itertools

import numpy as np

from tests.naive.walk import members
from worthwhile.core.trees import Trees
from worthwhile.costs import Costs


def random_trees(
    rng, n_trees=4, n_features=5, n_outputs=1, vector=False, depth=3, average=False, single=False,
    categories=False,
):  # fmt: skip
    """Trees of random shape; thresholds on a coarse grid, so that values meet them exactly.

    With ``categories``, about half of the nodes test for membership in sets of one to three words.
    """
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
    sets = random_sets(rng, feature, threshold) if categories else {}
    return Trees.build(
        feature=feature, threshold=threshold, left=left, right=right,
        value=rng.standard_normal((len(feature), width)).reshape(len(feature), width),
        root=root, base=rng.standard_normal(n_outputs),
        missing_left=rng.random(len(feature)) < 0.5,
        output=np.zeros(n_trees) if width == n_outputs else rng.integers(n_outputs, size=n_trees),
        average=average, single=single, **sets,
    )  # fmt: skip


def random_sets(rng, feature, threshold):
    """Let some of the internal nodes test for membership; changes their thresholds."""
    category, words = [f >= 0 and rng.random() < 0.5 for f in feature], []
    for node in np.flatnonzero(category):
        threshold[node] = len(words)
        size = int(rng.integers(1, 4))
        words += [size, *rng.integers(2**64, size=size, dtype=np.uint64)]
    return {"category": category, "sets": np.array(words, dtype=np.uint64)}


def nested(trees, node):
    """The tree below a node as tuples within tuples, free of any numbering."""
    value = trees.value[node].tolist()
    if trees.feature[node] < 0:
        return (value,)
    children = [nested(trees, child) for child in (trees.left[node], trees.right[node])]
    by_set = trees.category is not None and trees.category[node]
    test = frozenset(members(trees, node)) if by_set else float(trees.threshold[node])
    return int(trees.feature[node]), test, bool(trees.missing_left[node]), value, *children


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
    """Values on the grid of the thresholds and off it, some codes of categories, and some NaN."""
    shape = (n, n_features)
    X = np.where(rng.random(shape) < 0.5, rng.integers(-4, 5, shape) / 2, rng.normal(size=shape))
    X = np.where(rng.random(shape) < 0.2, rng.integers(0, 200, shape), X)
    X[rng.random(shape) < 0.15] = np.nan
    return X
