"""Between two points of a trade-off: how far a budget reaches."""

from __future__ import annotations

import pytest

from worthwhile.frontier._tune import Refit, spend


def spent(bound_of, budget=10.0, most=20):
    """The best model by bisection from lam=8 (cheap) towards lam=1, and all that were fitted."""
    tried = []

    def fit(params):
        tried.append(params["lam"])
        bound = bound_of(params["lam"])
        return Refit(None, params, bill=bound - 1, expected=bound, bound=bound)

    start = Refit(None, {"lam": 8.0}, bill=0.0, expected=1.0, bound=1.0)
    return spend(start, {"lam": 1.0}, budget, most, fit), tried


@pytest.mark.parametrize("reach", [2.0, 3.0, 6.5])
def test_the_dearest_model_within_the_budget_is_found(reach):
    best, _ = spent(lambda lam: 10.0 * reach / lam)
    assert 9.9 <= best.bound <= 10.0
    assert best.params["lam"] == pytest.approx(reach, rel=0.011)


def test_a_bound_that_is_the_budget_keeps_it():
    best, tried = spent(lambda lam: 10.0)
    assert best.bound == 10.0
    assert len(tried) == 1  # and nothing is left to spend


def test_where_bills_do_not_rise_evenly_the_dearest_that_fits_is_kept():
    best, tried = spent(lambda lam: 9.0 if lam > 2.0 else 5.0, most=8)
    assert best.bound == 9.0
    assert min(tried) < 2.0


def test_what_is_over_the_budget_is_never_the_answer():
    best, tried = spent(lambda lam: 11.0, most=6)
    assert best.params == {"lam": 8.0}
    assert len(tried) == 6
