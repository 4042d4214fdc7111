"""The ``lam`` of a linear method where nobody named one."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from worthwhile.costs import Costs
from worthwhile.estimators._shared.bill_choice import Fitter, choose_by_bill
from worthwhile.estimators._shared.covering import few_covering, present
from worthwhile.estimators._shared.held_out_choice import choose_point

SHARES = (0.1, 0.01, 0.0003)
"""What a feature of mean price costs, in units of the variance, where the search starts."""

FITS = 12
"""Models whose bills are looked at, at most."""

LITTLE, FACTOR, TOP = 0.05, 4.0, 4.0**6
"""Share of the full bill that the first of them may buy; how that is looked for, and how far up."""


def choose_lam(
    estimator: Any, fitters: tuple[Fitter, Fitter], costs: Costs, X: Any, y: Any, weight: Any = None
) -> float:
    """The ``lam`` of the cheapest model within one standard error of the best, on rows held out.

    ``fitters`` give, for rows, a function from ``lam`` to the model of these rows: one that is trained quickly,
    and one as it will be used.
    """
    if costs.total == 0.0:
        return 0.0
    cover = functools.partial(auto_lams, costs=costs)
    fitter, in_earnest = fitters
    found = choose_by_bill(estimator, fitter, cover, X, y, weight, in_earnest=in_earnest)
    if found is not None:
        return found
    some = present(X, y, weight)
    fit = fitter(*some)
    points = [{"lam": lam} for lam in cover(lambda lam: float(fit(lam).cost(some[0]).mean()))]

    def fit_all(_: Any, points: Any, X: Any, y: Any, **more: Any) -> Iterator[Any]:
        fit = fitter(X, y, **more)
        for point in points:
            yield fit(point["lam"])

    return float(choose_point(estimator, points, X, y, weight, fit_all=fit_all)["lam"])


def auto_lams(bill: Callable[[float], float], costs: Costs) -> list[float]:
    """Values of ``lam`` of all bills, the first of which hardly buys anything.

    Examples
    --------
    >>> bought = lambda lam: 10.0 * (lam < 0.001) + 1.0 * (lam < 5)
    >>> [bought(lam) for lam in auto_lams(bought, Costs([10, 1]))]
    [0.0, 1.0, 1.0, 11.0]
    """
    usual, known = costs.n_features / costs.total, functools.cache(bill)
    top = usual
    while known(top) > LITTLE * costs.total and top < usual * TOP:
        top *= FACTOR
    lams = few_covering(known, [top, *(usual * share for share in SHARES)], FITS)
    return [float(f"{lam:.6g}") for lam in lams]
