"""Two fitted models and a share, as one policy."""

from __future__ import annotations

from numbers import Real
from typing import Any

from worthwhile.policy.base import Policy
from worthwhile.policy.keys import MOST_SEED, WHOLE, Coin
from worthwhile.policy.mixture import MixturePolicy


def mix_policies(first: Policy, second: Policy, share: Any, seed: Any) -> Policy:
    """The policy that follows ``second`` for a share of the cases."""
    if isinstance(share, bool) or not isinstance(share, Real) or not 0 <= float(share) <= 1:
        raise ValueError(f"share is {share!r}: it is the share of the second model, from 0 to 1.")
    if type(seed) is not int or not 0 <= seed <= MOST_SEED:
        raise ValueError(f"seed is {seed!r}: it is a whole number from 0 to {MOST_SEED}.")
    if first.columns != second.columns:
        raise ValueError("the two models read columns of different kinds: mix models of one table.")
    coin = Coin(seed, round(float(share) * WHOLE))
    mixed = MixturePolicy(first.with_columns(None), second.with_columns(None), coin)
    return mixed.with_columns(first.columns)
