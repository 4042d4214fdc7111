"""Everything a report shows, as plain values."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

import worthwhile
from worthwhile.estimators.reading import column_names
from worthwhile.frontier import Comparison
from worthwhile.metrics import TotalCost
from worthwhile.report._models import (
    NOTHING,
    Folds,
    Measured,
    measure_choices,
    measure_peer,
    scoring_of,
)

N_STOPS = 24
"""Positions of the budget slider."""

MOST_STEPS = 40
"""Purchases of a single case that are shown one by one."""

BAND = 0.68
"""Confidence of the bands: with few splits and few rows, surer ones would fill the picture."""

NEARLY = 0.01
"""How far from the best score that half the money buys the headline's model may be."""


def summarise(
    comparison: Comparison,
    X: Any,
    y: Any,
    costs: worthwhile.Costs,
    *,
    title: str = "worthwhile report",
    n_cases: int = 4,
    classes: Mapping[Any, str] | None = None,
    scoring: Any = None,
    settings: Mapping[str, Any] | None = None,
    budgets: Sequence[float] = (),
    random_state: int = 0,
) -> dict[str, Any]:
    """Turn a comparison into what the page shows.

    The curves are the comparison's: means over its splits, with intervals. Every position of the
    budget slider is one model, and all that is said about it (score, bill, purchases, single cases)
    comes from training it anew on four fifths of the rows, five times, and looking at the others.
    Which model it is was chosen by the comparison, on its validation rows.

    Parameters
    ----------
    comparison : Comparison
        From :func:`~worthwhile.compare`.
    X, y, costs
        The data and prices that it was made with.
    title : str
        Heading of the page.
    n_cases : int, default=4
        Rows whose purchases are shown step by step.
    classes : mapping, optional
        What to call the labels, such as ``{0: "healthy", 1: "ill"}``.
    scoring : str or callable, optional
        The scoring of the comparison, where it was a function of your own.
    settings : mapping, optional
        Further facts for the end of the page.
    budgets : sequence of numbers, optional
        Positions of the slider beside the usual ones.
    random_state : int, default=0
        Seed of the parts and the fits.

    Returns
    -------
    dict
        JSON values only.
    """
    resolved = worthwhile.Costs.of(costs, X.shape[1], column_names(X))
    folds = Folds.of(X, y, costs, scoring_of(comparison, scoring), random_state)
    stops = np.geomspace(comparison.full_cost * 0.005, comparison.full_cost, N_STOPS)
    stops = np.unique([*stops, *budgets])
    models, chosen = measure_choices(comparison, folds, stops.tolist())
    peer = measure_peer(comparison, folds)
    rows = _rows_to_show(models, n_cases)
    told = _to_tell(models, resolved, comparison.in_money)
    facts = {
        "rows": len(y),
        "features": X.shape[1],
        "price of everything": resolved.total,
        "unit": resolved.unit or "units",
        "splits": len(comparison.runs),
        "score": comparison.score_name,
        "worthwhile": worthwhile.__version__,
        "python": platform.python_version(),
        **(settings or {}),
    }
    names = {_plain(label): str(name) for label, name in (classes or {}).items()}
    return {
        "title": title,
        "headline": _headline(models, told, peer, resolved, comparison.score_name),
        "unit": resolved.unit,
        "score_name": "minus the total per case" if comparison.in_money else comparison.score_name,
        "labels": {name: _label(name, folds) for name in (NOTHING, *comparison.methods)},
        "full_cost": resolved.total,
        "start": chosen.index(models.index(told)),
        "methods": [_method(comparison, name) for name in comparison.methods],
        "models": [_model(one, folds, resolved, rows, names) for one in models],
        "peer": None
        if peer is None
        else {"method": peer.method, "score": peer.score, "cost": peer.cost},
        "picks": [
            {"budget": float(budget), "model": i} for budget, i in zip(stops, chosen, strict=True)
        ],
        "table": _table(comparison),
        "features": _features(resolved),
        "failures": dict(comparison.failures),
        "settings": {str(k): _plain(v) for k, v in facts.items()},
    }


def _to_tell(models: Sequence[Measured], costs: worthwhile.Costs, in_money: bool) -> Measured:
    """The model of the headline: nearly as good as the best that half the money buys; in money, the best."""
    if in_money:
        return max(models, key=lambda m: m.score)
    best = max(m.score for m in models if m.cost <= max(costs.total / 2, models[0].cost))
    return min((m for m in models if m.score >= best - NEARLY), key=lambda m: m.cost)


def _headline(
    models: Sequence[Measured], told: Measured, peer: Measured | None, costs: worthwhile.Costs, score_name: str
) -> str:  # fmt: skip
    """What one model brings and costs, and beside it the best one and what is used today."""
    unit = f" {costs.unit}" if costs.unit else ""
    if score_name == TotalCost.name:
        free = min(models, key=lambda m: m.cost)
        return (
            f"{-told.score:.2f}{unit} a case in all: {told.cost:.2f} for tests, {-told.score - told.cost:.2f} for "
            f"errors; without tests errors would cost {-free.score:.2f}."
        )
    right = score_name == "accuracy"
    share = 100 * told.cost / (costs.total or 1.0)
    said = (
        f"{_percent(told.score)} of new cases right" if right else f"{score_name} {told.score:.3f}"
    )
    said += f" for {told.cost:.2f}{unit} a case, {share:.{0 if share >= 1 else 1}f} % of the price of everything"
    best, beside = max(models, key=lambda m: m.score), dict[str, Measured]()
    if best is not told:
        beside["the best found has"] = best
    if peer is not None and peer.method != told.method:
        beside[peer.method if beside else f"{peer.method} has"] = peer
    others = [
        f"{name} {_percent(one.score) if right else f'{one.score:.3f}'} for {one.cost:.2f}{unit}"
        for name, one in beside.items()
    ]
    return f"{said}; {', '.join(others)}." if others else f"{said}, which is the best found."


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _label(method: str, folds: Folds) -> str:
    """What a method is called on the page, where a slider is about budgets, too."""
    if method != "budget":
        return method
    return "BudgetRegressor" if folds.of_numbers(folds.y) else "BudgetClassifier"


def _method(comparison: Comparison, name: str) -> dict[str, Any]:
    """The curve of a method: mean test score and cost at each budget of a fine grid."""
    budgets = np.geomspace(max(comparison.full_cost * 0.003, 1e-9), comparison.full_cost, 48)
    mean, low, high = comparison.curve(name, budgets, BAND)
    bills = np.nanmean(comparison.bills(name, budgets), axis=0)
    points = [
        {
            "budget": _plain(b),
            "cost": _plain(c),
            "score": _plain(s),
            "low": _plain(lo),
            "high": _plain(hi),
        }
        for b, c, s, lo, hi in zip(budgets, bills, mean, low, high, strict=True)
        if not (math.isnan(c) or math.isnan(s))
    ]
    return {"name": name, "peer": name in comparison.peers, "points": points}


def _features(costs: worthwhile.Costs) -> list[dict[str, Any]]:
    groups = {f: " + ".join(costs.fees_of(f)) or None for f in costs.features}
    return [
        {"name": str(f), "price": float(price), "group": groups[f], "alone": costs.price([f])}
        for f, price in costs.prices.items()
    ]


def _rows_to_show(models: Sequence[Measured], count: int) -> list[int]:
    """Cheap and dear rows of the model whose bills differ most; the same for every position."""
    bills = max(models, key=lambda model: float(model.bills.std())).bills
    order = np.argsort(bills, kind="stable")
    places = [round(q * (len(order) - 1)) for q in np.linspace(0, 1, count)]
    return list(dict.fromkeys(int(order[place]) for place in places))


def _model(
    model: Measured, folds: Folds, costs: worthwhile.Costs, rows: Sequence[int], names: Mapping[Any, str]
) -> dict[str, Any]:  # fmt: skip
    return {
        "method": model.method,
        "score": model.score,
        "error": model.error,
        "cost": model.cost,
        "params": {str(k): _plain(v) for k, v in model.params.items()},
        "stage": model.stage,
        "shares": [round(float(share), 4) for share in model.shares],
        "cases": [_case(model, folds, row, costs, names) for row in rows],
    }


def _case(
    model: Measured, folds: Folds, row: int, costs: worthwhile.Costs, names: Mapping[Any, str]
) -> dict[str, Any]:
    """One row through the model that was trained without it."""

    def called(label: Any) -> Any:
        return names.get(_plain(label), _plain(label))

    case = {"row": row, "truth": called(folds.y[row]), "steps": list[Any](), "left_out": 0}
    fitted = model.models[folds.part[row]]
    if fitted is None:
        prior = folds.prior(int(folds.part[row]))
        return case | {"answer": called(prior), "spent": 0.0}
    values = folds.X.iloc[row] if hasattr(folds.X, "iloc") else np.asarray(folds.X)[row]
    session = fitted.session(one_by_one=True)
    while wanted := session.ask():
        column = costs.index(wanted[0])
        value = values.iloc[column] if hasattr(values, "iloc") else values[column]
        session.tell({wanted[0]: value})
        if len(case["steps"]) >= MOST_STEPS:
            case["left_out"] += 1
            continue
        case["steps"].append(
            {
                "feature": str(wanted[0]),
                "value": _plain(value),
                "spent": session.spent,
                "answer": called(session.prediction),
                "confidence": _confidence(session),
            }
        )
    return case | {"answer": called(session.prediction), "spent": session.spent}


def _confidence(session: Any) -> float | None:
    if not session.policy.output.has_probabilities:
        return None
    return float(session.probabilities.max())


def _table(comparison: Comparison) -> dict[str, Any]:
    table = comparison.table()
    columns: list[Any] = list(table.columns)
    return {
        "heads": [[name, len(list(same))] for name, same in groupby(str(c[0]) for c in columns)],
        "columns": [[str(part) for part in column] for column in columns],
        "rows": [
            {
                "name": str(name),
                "peer": name in comparison.peers,
                "texts": [
                    _text(value, str(what), comparison.score_name)
                    for value, (_, what) in zip(row, columns, strict=True)
                ],
            }
            for name, row in zip(table.index, table.to_numpy(), strict=True)
        ],
    }


def _text(value: float, what: str, score_name: str) -> str:
    """A figure of the table: shares as percentages, money and seconds to two places."""
    if math.isnan(value):
        return "-"
    if what == score_name == "accuracy":
        return _percent(value)
    return f"{value:.{3 if what in (score_name, 'area', 'mean over budgets') else 2}f}"


def _plain(value: Any) -> Any:
    """A JSON value; what is not a number is None."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
