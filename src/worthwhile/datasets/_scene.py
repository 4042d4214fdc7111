"""A problem of the shape of Scene-15: many image descriptors, one score per class from each."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from worthwhile.costs import Costs
from worthwhile.datasets._checks import whole

__all__ = ["make_scene_like"]

Singles = NDArray[np.float32]

FEES_MS = (5, 10, 20, 50, 100, 200, 400)
OWN_MS = (0.5, 1, 2)
N_FAMILIES = 8
"""Descriptors of a family make the same mistakes."""

_RECIPE_SEED, _ROWS_SEED = 20120628, 20120629


class Recipe(NamedTuple):
    """What each descriptor costs and tells; the same for every seed."""

    fee: NDArray[np.int64]
    """Time to extract the descriptor, in ms, (descriptors,)."""
    own: NDArray[np.float64]
    """Time of one class's score, in ms, (descriptors,)."""
    family: NDArray[np.int64]
    """Family, (descriptors,)."""
    quality: Singles
    """How far the score of the true class stands out, (descriptors, classes)."""


def make_scene_like(
    n: int = 1500, seed: int = 0, n_descriptors: int = 184, n_classes: int = 15
) -> tuple[pd.DataFrame, NDArray[np.int64], Costs]:
    """Images of scenes: descriptors that take time to extract, then a cheap score for each class.

    The shape of the Scene-15 task of Xu, Weinberger and Chapelle, "The Greedy Miser" (ICML 2012):
    184 descriptors, 15 classes, so 2760 features, each the output of a classifier for one class on
    one descriptor. A descriptor is a group: its fee is the time to extract it (5 to 400 ms), paid
    once; each of its scores then costs 0.5 to 2 ms.

    The score of descriptor ``d`` for class ``c`` is its quality there where ``c`` is the true
    class, plus noise of three sources: of the image (it looks like ``c`` to all descriptors), of
    the image and the family of ``d`` (eight families), and its own. Descriptors differ in quality,
    and each is better for some classes than for others; time is weakly tied to quality.

    **Best policy.** Stay inside descriptors already paid for while their scores tell classes
    apart; open a new one for what they leave open, of another family (descriptors of one family
    repeat each other's mistakes), and among equals the quick one. Noise of the image is shared by
    all descriptors, so some images stay unclear at any price.

    What a descriptor costs and tells depends on ``n_descriptors`` and ``n_classes`` alone: two
    seeds are two samples of one problem.

    Parameters
    ----------
    n : int, default=1500
        Number of images.
    seed : int, default=0
        Seed of the draw.
    n_descriptors : int, default=184
        Number of descriptors.
    n_classes : int, default=15
        Number of classes, labelled from 0 and of nearly equal size.

    Returns
    -------
    X : DataFrame of shape (n, n_descriptors * n_classes), float32
        Columns ``d000_c00``, ``d000_c01``, ...: descriptor and class.
    y : int64 array of shape (n,)
    costs : Costs
        In ms, with the groups ``d000``, ``d001``, ...

    Examples
    --------
    >>> from worthwhile.datasets import make_scene_like
    >>> X, y, costs = make_scene_like(60, seed=0, n_descriptors=4, n_classes=3)
    >>> X.shape, list(X.columns[:4]), list(costs.groups)
    ((60, 12), ['d000_c00', 'd000_c01', 'd000_c02', 'd001_c00'], ['d000', 'd001', 'd002', 'd003'])
    """
    n, seed = whole(n, "n", 1), whole(seed, "seed", 0)
    n_descriptors = whole(n_descriptors, "n_descriptors", 1)
    n_classes = whole(n_classes, "n_classes", 2)
    recipe = scene_like_recipe(n_descriptors, n_classes)
    rng = np.random.default_rng([_ROWS_SEED, seed])
    y = rng.permutation(np.arange(n) % n_classes)
    true = (y[:, None] == np.arange(n_classes)).astype(np.float32)
    image = rng.standard_normal((n, n_classes), dtype=np.float32)
    families = rng.standard_normal((N_FAMILIES, n, n_classes), dtype=np.float32)
    scores = np.empty((n, n_descriptors, n_classes), dtype=np.float32)
    for d in range(n_descriptors):
        own = rng.standard_normal((n, n_classes), dtype=np.float32)
        noise = np.float32(0.4) * image + np.float32(0.5) * families[recipe.family[d]] + own
        # The other classes' scores lie around -1, as an SVM's do.
        scores[:, d] = recipe.quality[d] * true - 1 + np.float32(0.5) * noise
    names = [[f"d{d:03d}_c{c:02d}" for c in range(n_classes)] for d in range(n_descriptors)]
    columns = [name for group in names for name in group]
    prices = dict(zip(columns, np.repeat(recipe.own, n_classes).tolist(), strict=True))
    groups = {
        f"d{d:03d}": {"fee": int(recipe.fee[d]), "features": names[d]} for d in range(n_descriptors)
    }
    X = pd.DataFrame(scores.reshape(n, -1), columns=columns)
    return X, y.astype(np.int64), Costs(prices, groups=groups, unit="ms")


def scene_like_recipe(n_descriptors: int, n_classes: int) -> Recipe:
    """What the descriptors of :func:`make_scene_like` cost and tell."""
    rng = np.random.default_rng([_RECIPE_SEED, n_descriptors, n_classes])
    level = rng.integers(0, len(FEES_MS), n_descriptors)
    own = np.array(OWN_MS)[rng.integers(0, len(OWN_MS), n_descriptors)]
    family = rng.integers(0, N_FAMILIES, n_descriptors)
    base = 0.2 + 0.6 * rng.random(n_descriptors) + 0.05 * level
    quality = base[:, None] * (0.4 + 1.2 * rng.random((n_descriptors, n_classes)))
    return Recipe(np.array(FEES_MS)[level], own, family, quality.astype(np.float32))
