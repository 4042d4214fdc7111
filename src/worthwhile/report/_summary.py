"""Everything a report shows, as plain values."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import worthwhile
from worthwhile.estimators.base import column_names
from worthwhile.frontier import Choice, Comparison, train_choice

N_STOPS = 24
"""Positions of the budget slider."""


def summarise(
    comparison: Comparison,
    X: Any,
    y: Any,
    costs: worthwhile.Costs,
    *,
    title: str = "worthwhile report",
    n_cases: int = 4,
    settings: Mapping[str, Any] | None = None,
    random_state: int = 0,
) -> dict[str, Any]:
    """Turn a comparison into what the page shows.

    Every model that the budget slider can pick is fitted once on all rows, to tell what it buys.

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
    settings : mapping, optional
        Further facts for the end of the page.
    random_state : int, default=0
        Seed of the fits.

    Returns
    -------
    dict
        JSON values only.
    """
    resolved = worthwhile.Costs.of(costs, X.shape[1], column_names(X))
    picks, models = _picks(comparison, X, y, costs, random_state)
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
    return {
        "title": title,
        "unit": resolved.unit,
        "score_name": comparison.score_name,
        "full_cost": resolved.total,
        "methods": [_method(comparison, name) for name in comparison.methods],
        "picks": picks,
        "table": _table(comparison),
        "features": _features(resolved),
        "cases": _cases(picks, models, X, y, resolved, n_cases),
        "failures": dict(comparison.failures),
        "settings": {str(k): _plain(v) for k, v in facts.items()},
    }


def _method(comparison: Comparison, name: str) -> dict[str, Any]:
    """The curve of a method: mean test score and cost at each budget of a fine grid."""
    budgets = np.geomspace(max(comparison.full_cost * 0.003, 1e-9), comparison.full_cost, 48)
    mean, low, high = comparison.curve(name, budgets)
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


def _picks(
    comparison: Comparison, X: Any, y: Any, costs: Any, seed: int
) -> tuple[list[dict[str, Any]], list[Any]]:
    """What the slider picks at each of its stops, with what that model buys."""
    budgets = np.geomspace(comparison.full_cost * 0.005, comparison.full_cost, N_STOPS)
    fitted: dict[str, Any] = {}
    picks, models = [], []
    for budget in budgets:
        choice = comparison.best(float(budget))
        key = _key(choice)
        if key not in fitted:
            fitted[key] = train_choice(choice, X, y, costs, seed)
        model = fitted[key]
        shares = np.zeros(X.shape[1]) if model is None else model.acquired(X).mean(axis=0)
        point = choice.points[0]
        picks.append(
            {
                "budget": float(budget),
                "method": choice.method if model is not None else "nothing bought",
                "score": choice.test_score,
                "cost": choice.test_cost,
                "params": {str(k): _plain(v) for k, v in point.params.items()},
                "stage": point.stage,
                "shares": [round(float(share), 4) for share in shares],
            }
        )
        models.append(model)
    return picks, models


def _key(choice: Choice) -> str:
    point = choice.points[0]
    return repr((choice.method, sorted(point.params.items(), key=str), point.stage))


def _features(costs: worthwhile.Costs) -> list[dict[str, Any]]:
    groups = {f: " + ".join(costs.fees_of(f)) or None for f in costs.features}
    return [
        {"name": str(f), "price": float(price), "group": groups[f], "alone": costs.price([f])}
        for f, price in costs.prices.items()
    ]


def _cases(
    picks: Sequence[dict[str, Any]],
    models: Sequence[Any],
    X: Any,
    y: Any,
    costs: worthwhile.Costs,
    count: int,
) -> list[dict[str, Any]]:
    """Single rows, cheap and dear ones, walked through the model whose bills differ most."""
    spread = [0.0 if model is None else float(model.cost(X).std()) for model in models]
    chosen = int(np.argmax(spread))
    if spread[chosen] == 0.0:
        return []
    model = models[chosen]
    bills = model.cost(X)
    order = np.argsort(bills, kind="stable")
    rows = [int(order[round(q * (len(order) - 1))]) for q in np.linspace(0, 1, count)]
    return [_case(model, X, y, row, costs, picks[chosen]) for row in dict.fromkeys(rows)]


def _case(
    model: Any, X: Any, y: Any, row: int, costs: worthwhile.Costs, pick: dict[str, Any]
) -> dict[str, Any]:
    values = np.asarray(X, dtype=np.float64)[row]
    session = model.session(one_by_one=True)
    steps = []
    while wanted := session.ask():
        name = wanted[0]
        session.tell({name: values[costs.index(name)]})
        steps.append(
            {
                "feature": str(name),
                "value": _plain(values[costs.index(name)]),
                "spent": session.spent,
                "answer": _plain(session.prediction),
                "confidence": _confidence(session),
            }
        )
    return {
        "row": row,
        "truth": _plain(np.asarray(y)[row]),
        "answer": _plain(session.prediction),
        "spent": session.spent,
        "method": pick["method"],
        "steps": steps,
    }


def _confidence(session: Any) -> float | None:
    if not session.policy.output.has_probabilities:
        return None
    return float(session.probabilities.max())


def _table(comparison: Comparison) -> dict[str, Any]:
    table = comparison.table()
    return {
        "columns": [[str(part) for part in column] for column in table.columns],
        "rows": [
            {
                "name": str(name),
                "peer": name in comparison.peers,
                "values": [_plain(v) for v in row],
            }
            for name, row in zip(table.index, table.to_numpy(), strict=True)
        ],
    }


def _plain(value: Any) -> Any:
    """A JSON value; what is not a number is None."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
