"""Prices on the path to a node, where fees are shared in any pattern."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from worthwhile.core.forest.stump_choice import path_prices
from worthwhile.costs import FlatCosts


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_what_the_path_has_paid_counts_like_the_cheapest(seed):
    rng = np.random.default_rng(seed)
    opens = [np.flatnonzero(rng.random(4) < 0.4).tolist() for _ in range(6)]
    costs = FlatCosts.of(rng.integers(0, 5, 6), opens, rng.integers(0, 5, 4))
    on_path, found = rng.random(6) < 0.4, np.empty(6)
    path_prices(
        costs.price.astype(float), costs.begin, costs.opens, costs.fee.astype(float), on_path,
        np.empty(4, dtype=bool), found,
    )  # fmt: skip
    least = min((price for price in costs.alone if price > 0), default=0)
    due = costs.after(on_path).alone
    for f in range(6):
        assert found[f] == (max(due[f], least) if costs.alone[f] > 0 else 0)
