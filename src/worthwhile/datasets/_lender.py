"""A lender's table as people have it: text, categories, dates and gaps beside numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from worthwhile.costs import Costs
from worthwhile.datasets._checks import share, whole

__all__ = ["make_lender"]

PRICES = {
    "purpose": 0, "amount": 0, "months": 0, "housing": 0, "phone": 0,
    "birth": 0.5, "town": 0.5, "employed": 2, "checking": 3, "savings": 3,
    "score": 1, "defaults": 1, "customer_since": 1,
}  # fmt: skip
"""What the lender pays per value; what stands in the application is free, or nearly."""

BUREAU = {"fee": 6, "features": ["score", "defaults", "customer_since"]}
"""The credit bureau takes a fee per case."""

CHECKING = ("none", "below 0", "0 to 200", "above 200")
SAVINGS = ("below 100", "100 to 500", "500 to 1000", "above 1000")
EMPLOYED = ("unemployed", "below 1 year", "1 to 4 years", "above 4 years")
PURPOSES = ("car, new", "car, used", "furniture", "television", "education", "business")
HOUSING = ("own", "rent", "free")
N_TOWNS = 40
TODAY = np.datetime64("2026-01-01")


def make_lender(
    n: int = 1000, seed: int = 0, *, missing: float = 0.03
) -> tuple[pd.DataFrame, NDArray[Any], Costs]:
    """Credit applications with text, categories, dates, booleans and gaps, and what each value costs.

    Thirteen columns: what the applicant writes down (``purpose``, ``amount``, ``months``,
    ``housing``, ``phone``) is free, ``birth`` and ``town`` cost a look at a document, ``employed``
    (an ordered category), ``checking`` and ``savings`` a call, and a credit bureau gives ``score``,
    ``defaults`` and the date ``customer_since`` for 1 each and a fee of 6 per case. The label, "good"
    or "bad", follows a logistic model of most of them; names of towns stand for a hidden wealth.

    Parameters
    ----------
    n : int, default=1000
        Number of rows.
    seed : int, default=0
        Seed of the draw.
    missing : float, default=0.03
        Probability that a value of ``savings``, ``employed``, ``score`` or ``customer_since`` is
        missing, each on its own. What is missing is bought and paid for.

    Returns
    -------
    X : DataFrame (n, 13)
    y : array of str (n,)
    costs : Costs

    Examples
    --------
    >>> X, y, costs = make_lender(5)
    >>> X["checking"].tolist(), str(X["birth"].dtype)[:10], X["phone"].dtype.name
    (['above 200', '0 to 200', '0 to 200', 'below 0', 'below 0'], 'datetime64', 'bool')
    >>> costs.price(["score", "defaults"])
    8.0
    """
    n, missing = whole(n, "n", 1), share(missing, "missing")
    rng = np.random.default_rng(seed)
    checking, savings = rng.integers(0, 4, n), rng.integers(0, 4, n)
    employed, purpose = rng.integers(0, 4, n), rng.integers(0, len(PURPOSES), n)
    housing, town = rng.integers(0, 3, n), rng.integers(0, N_TOWNS, n)
    wealth = np.random.default_rng(11).normal(size=N_TOWNS)  # of a town, the same for every seed
    age, member = rng.integers(20 * 365, 70 * 365, n), rng.integers(30, 20 * 365, n)
    amount, months = np.round(np.exp(rng.normal(7.8, 0.8, n))), rng.integers(1, 9, n) * 6
    defaults = rng.poisson(0.4, n)
    phone = rng.random(n) < 0.6
    need = (
        np.array([1.2, -1.0, 0.0, 0.8])[checking]
        + np.array([-0.4, -0.1, 0.3, 0.7])[savings]
        + 0.35 * (employed - 1.5)
        + np.array([-0.5, 0.5, 0.0, 0.3, -0.3, 0.1])[purpose]
        + np.array([0.3, -0.3, 0.0])[housing]
        + 0.5 * wealth[town]
        - 0.03 * (months - 27)
        - 0.6 * (np.log(amount) - 7.8)
        - 0.7 * (defaults - 0.4)
        + 0.4 * (age / 365 - 45) / 15
        + 0.3 * (member / 365 - 10) / 6
    )
    score = np.round(600 + 60 * (need + rng.normal(size=n)))
    good = 1.5 * need + 0.5 + rng.logistic(size=n) > 0
    gap = rng.random((4, n)) < missing
    X = pd.DataFrame(
        {
            "purpose": pd.Categorical(np.array(PURPOSES)[purpose], categories=sorted(PURPOSES)),
            "amount": amount,
            "months": months,
            "housing": np.array(HOUSING, dtype=object)[housing],
            "phone": phone,
            "birth": TODAY - age,
            "town": np.array([f"town {t:02d}" for t in range(N_TOWNS)], dtype=object)[town],
            "employed": pd.Categorical(
                np.array([*EMPLOYED, None], dtype=object)[np.where(gap[1], -1, employed)],
                categories=list(EMPLOYED),
                ordered=True,
            ),
            "checking": np.array(CHECKING, dtype=object)[checking],
            "savings": np.array([*SAVINGS, None], dtype=object)[np.where(gap[0], -1, savings)],
            "score": np.where(gap[2], np.nan, score),
            "defaults": pd.array(defaults, dtype="Int64"),
            "customer_since": np.where(gap[3], np.datetime64("NaT"), TODAY - member),
        }
    )
    y = np.where(good, "good", "bad")
    return X, y, Costs(PRICES, groups={"bureau": BUREAU}, unit="EUR")
