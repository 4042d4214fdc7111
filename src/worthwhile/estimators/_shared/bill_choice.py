"""Choosing what to spend on rows held out, where a parameter buys other things on other rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.estimators._shared.held_out_choice import Part, divided, row_losses, take
from worthwhile.exceptions import WorthwhileWarning

Floats = npt.NDArray[np.float64]
Fitter = Callable[..., Callable[[float], Any]]
Cover = Callable[[Callable[[float], float]], Sequence[float]]

NEAR = 0.02
"""Share of a bill by which one that counts as the same may be above it."""


@dataclass(frozen=True, eq=False)
class _Seen:
    """A model of some rows: its value, its mean bill there, and bill and losses of the rows held out."""

    value: float
    bill: float
    held_bill: float
    losses: Floats


def choose_by_bill(
    estimator: Any, fitter: Fitter, cover: Cover, X: Any, y: Any, sample_weight: Any = None,
    *, in_earnest: Fitter | None = None,
) -> float | None:  # fmt: skip
    """A value of a parameter whose model costs least within one standard error of the best.

    Each fold looks for models of all bills by itself, and what is chosen is a bill: where few rows train, the
    same value buys little in one fold and all there is in another. The value is the one that has this bill on
    all rows.

    Parameters
    ----------
    estimator : estimator
        What is chosen for.
    fitter : function (X, y, **more)
        Gives a function from a value to the model of these rows.
    cover : function
        Gives, for a function from a value to a mean bill, values that cover the bills.
    X, y, sample_weight
        Rows.
    in_earnest : function like ``fitter``, optional
        Gives the models that will be used, where others are trained more quickly to choose: if what was chosen
        then buys less than half as much, the next dearer one is taken.

    Returns
    -------
    float or None
        None where rows are so many that a value means the same for all of them, or too few to hold any out.
    """
    parts, errors = divided(estimator, X, y, sample_weight), estimator._read_errors()
    if len(parts) == 1:
        return None
    curves = [_look(fitter, cover, part, errors) for part in parts]
    targets = sorted({one.bill for curve in curves for one in curve})
    picks = [[_within(curve, target) for curve in curves] for target in targets]
    bills = [sum(one.held_bill for one in pick) for pick in picks]
    losses = np.array([np.concatenate([one.losses for one in pick]) for pick in picks])
    count = np.concatenate([part.count for part in parts])
    best = take(bills, losses, count, errors is not None)
    (everything,) = divided(estimator, X, y, sample_weight, validation=(X, y))
    # A bill of the folds, each by its own model: the mean of what these buy on their rows.
    spent = float(np.mean([one.bill for one in picks[best]]))
    curve = _look(fitter, cover, everything, errors)
    chosen = _nearest(curve, spent)
    if in_earnest is not None:
        fit, rows = in_earnest(*everything.rows, **everything.more), everything.rows[0]
        while chosen < len(curve) - 1:
            if float(fit(curve[chosen].value).cost(rows).mean()) >= curve[chosen].bill / 2:
                break
            chosen += 1
    return curve[chosen].value


def _look(fitter: Fitter, cover: Cover, part: Part, errors: Any) -> list[_Seen]:
    """Models of some rows whose bills leave no holes, the cheapest first; values have six digits."""
    known = dict[float, _Seen]()

    def bill(value: float) -> float:
        value = float(f"{value:.6g}")
        if value not in known:
            model = fit(value)
            paid = float(model.cost(part.rows[0]).mean())
            held = float(model.cost(part.judge[0]).sum())
            known[value] = _Seen(value, paid, held, row_losses(model, *part.judge, errors))
        return known[value].bill

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorthwhileWarning)
        fit = fitter(*part.rows, **part.more)
        cover(bill)
    # Of equal bills the largest value first: what comes after it is never cheaper on other rows.
    return sorted(known.values(), key=lambda one: (one.bill, -one.value))


def _nearest(curve: Sequence[_Seen], bill: float) -> int:
    """Place of the model whose bill is nearest; none that buys less than half, where one buys more."""
    fits = [k for k, one in enumerate(curve) if one.bill >= bill / 2] or [len(curve) - 1]
    return min(fits, key=lambda k: (abs(curve[k].bill - bill), -curve[k].value))


def _within(curve: Sequence[_Seen], bill: float) -> _Seen:
    """The dearest model within a bill, of equal ones that of the largest value; the cheapest where none is."""
    fits = [one for one in curve if one.bill <= bill * (1 + NEAR)]
    return max(fits, key=lambda one: (one.bill, one.value)) if fits else curve[0]
