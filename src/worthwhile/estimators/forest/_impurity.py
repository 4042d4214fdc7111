"""Impurities as users name them."""

from __future__ import annotations

from typing import Any

import numpy as np

from worthwhile.core.forest import impurity as im

NAMES = {"pairs": im.PAIRS, "powers": im.POWERS, "entropy": im.ENTROPY, "gini": im.GINI}


def make_impurity(
    impurity: Any, alpha: float, power: float, criterion: str, n_classes: int
) -> im.Impurity:
    """The impurity that the parameters of a forest describe; refuses what has no guarantee."""
    code = im.MINIMAX if criterion == "minimax" else im.EXPECTED
    if not isinstance(impurity, str):
        weights, exponents = _terms(impurity, n_classes)
        return im.Impurity(im.POLYNOMIAL, 0.0, weights, exponents, code)
    if impurity in ("entropy", "gini") and code == im.MINIMAX:
        raise ValueError(
            f"impurity={impurity!r} is not monotone in the set of rows, so that minimax splits mean nothing: "
            "use criterion='expected', or impurity='pairs'."
        )
    return im.Impurity(NAMES[impurity], alpha if impurity == "pairs" else power, criterion=code)


def _terms(terms: Any, n_classes: int) -> tuple[Any, Any]:
    """Check the terms of a polynomial: [(weight, exponents of the classes), ...]."""
    advice = (
        f"give terms (weight, exponents) with a weight > 0 and {n_classes} exponents, each 0 or >= 1 and at least "
        "two of them positive, such as [(1.0, [1, 1, 0])]."
    )
    try:
        weights = np.array([weight for weight, _ in terms], dtype=np.float64)
        exponents = np.array([powers for _, powers in terms], dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"impurity is {terms!r}: {advice}") from None
    good = (
        len(weights) > 0
        and exponents.shape == (len(weights), n_classes)
        and bool((np.isfinite(weights) & (weights > 0)).all())
        and bool((np.isfinite(exponents) & ((exponents == 0) | (exponents >= 1))).all())
        and bool(((exponents > 0).sum(axis=1) >= 2).all())
    )
    if not good:
        raise ValueError(f"impurity is {terms!r}: {advice}")
    return weights, np.ascontiguousarray(exponents)
