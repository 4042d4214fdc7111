"""The guarantee of greedy selection at one node: Theorem 2.2 of the ASTC paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from worthwhile.core.linear import greedy_selection as gr
from worthwhile.core.linear import moments as mo
from worthwhile.costs import as_float


@dataclass(frozen=True)
class Certificate:
    """How far greedy selection at a node can be from the best set of the same cost.

    Attributes
    ----------
    ratio : float
        Lower bound on the submodularity ratio: the smallest eigenvalue of the weighted correlation
        matrix of all features that the node could have bought, 0 if they are collinear.
    guarantee : float
        ``1 - exp(-ratio)``: the fit is at least this share of the best fit any set of cost at most
        ``cost`` has. 0 says nothing.
    cost : float
        What the greedy choices cost up to the first that did not fit the budget.
    features : int
        How many features the node could have bought.
    why_vacuous : str
        Why the guarantee says nothing; empty where it says something.

    Examples
    --------
    >>> print(Certificate(0.5, 0.39346934, 12.0, 9, ""))
    at least 39.3 % of the best fit for cost 12 among 9 features (submodularity ratio >= 0.5)
    >>> print(Certificate(0.0, 0.0, 12.0, 9, "the features are collinear"))
    no guarantee: the features are collinear
    """

    ratio: float
    guarantee: float
    cost: float
    features: int
    why_vacuous: str

    def __str__(self) -> str:
        if self.why_vacuous:
            return f"no guarantee: {self.why_vacuous}"
        return (
            f"at least {100 * self.guarantee:.3g} % of the best fit for cost {self.cost:g} among "
            f"{self.features} features (submodularity ratio >= {self.ratio:.3g})"
        )


def certify(
    engine: Any, centred: mo.Centred, place: Any, chosen: gr.Selection, budget: int
) -> Certificate:
    """The certificate of one node's selection."""
    cost = as_float(chosen.prefix_spent)
    considered = np.flatnonzero(place.prices.alone <= budget)
    if isinstance(place.prices, gr.SharedPrices):
        return Certificate(
            0.0, 0.0, cost, len(considered), "the theorem does not cover inputs made of features"
        )
    if place.prices.fee.any():
        return Certificate(
            0.0, 0.0, cost, len(considered), "the theorem does not cover shared fees"
        )
    gram = centred.gram
    if gram is None:
        Z = np.vstack([place.rows.augmented(block) for block in place.rows.blocks()])
        gram = mo.Centred.of(Z.T @ Z, place.rows.X.shape[1]).gram
    smallest = gr.smallest_eigenvalue(gram, centred.square, engine.floor, considered)
    # Rounding leaves an eigenvalue of this size where there is none.
    ratio = smallest if smallest > 1e-12 * max(len(considered), 1) else 0.0
    why = "" if ratio else "the features are collinear"
    return Certificate(ratio, float(-np.expm1(-ratio)), cost, len(considered), why)


def certificate_frame(certificates: list[Certificate | None]) -> pd.DataFrame:
    """One row per node; a node that repeats its parent (None) has chosen nothing."""
    nothing = Certificate(0.0, 0.0, 0.0, 0, "the node repeats its parent")
    rows = [
        {
            "ratio": c.ratio, "guarantee": c.guarantee, "cost": c.cost, "features": c.features,
            "statement": str(c),
        }
        for c in (certificate or nothing for certificate in certificates)
    ]  # fmt: skip
    return pd.DataFrame(rows)
