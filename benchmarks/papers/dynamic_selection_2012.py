"""Cost-sensitive Dynamic Feature Selection (2012): DAgger and coaching against fixed orders.

Radar (ionosphere, 32 factors), digits (USPS, 16 factors of 4 x 4 pixels) and segmentation (19 factors), all factors at
the same price; the paper's seven trade-offs on segmentation, three of them on the others. Three data classifiers:
``given`` is the paper's premise, a logistic regression that was fitted elsewhere and is never trained again; ``paper``
is trained on full rows, in folds, as in its section 5.1; ``ours`` is the default, trained for missing factors too. On
each: DAgger, and the paper's coach or ours. ``order`` is the fixed orders; ``theorems`` measures what the paper's
theorems bound. Costs are shares of the full price; rounds are chosen on development rows, a fifth of those for
training. Run by ``benchmarks.papers.all``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import lru_cache, partial
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.common import load
from benchmarks.papers import dynamic_selection_2012_page as page
from benchmarks.papers.dynamic_selection_2012_theorems import theorems
from benchmarks.papers.frame import Experiment, Paper
from benchmarks.parts.dynamic_selection import (
    LAMS,
    block_costs,
    full_accuracy,
    static_curve,
    test_reward,
)
from worthwhile import DynamicSelectionClassifier, datasets

DIVISIONS = {"segmentation": 2, "radar": 2, "digits": 2}
ROWS = {"radar": 246, "segmentation": 600, "digits": 1000}
"""Training rows, development rows among them."""
FEW = (0.1, 0.5, 1.0)
"""Trade-offs of radar and digits, which take longest."""
COACHES: dict[str, dict[str, Any]] = {
    "DAgger": {"coaching": False},
    "paper's coach": {"coaching": "confidence"},
    "our coach": {},
}

Rows = tuple[Any, Any, Any, Any, Any]


@lru_cache(maxsize=2)
def rows_of(name: str, division: int, folder: str | None, quick: bool) -> Rows:
    """Training rows, test rows, prices."""
    costs = None
    if name == "digits":
        data = datasets.fetch_paper_set("usps", folder)
        X, y, costs = data.data.to_numpy(np.float64), np.asarray(data.target), block_costs(16, 4)
    else:
        X, y, _ = load({"radar": "ionosphere"}.get(name, name), folder)
        X = X[:, 2:] if name == "radar" else X
    size = ROWS[name] // (3 if quick else 1)
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=size, random_state=division, stratify=y
    )
    return X, y, X_test, y_test, costs


def fitted_elsewhere(X: Any, y: Any, X_dev: Any, y_dev: Any) -> LogisticRegression:
    """A logistic regression on all features, the best of three penalties on development rows."""
    models = [LogisticRegression(C=C, max_iter=300).fit(X, y) for C in (0.01, 0.1, 1.0)]
    return max(models, key=lambda model: model.score(X_dev, y_dev))


def given_rows(X: Any, y: Any, X_dev: Any, y_dev: Any, X_test: Any) -> tuple[list[Any], Any]:
    """Rows on the scale of a classifier that is there already, and that classifier."""
    scale = StandardScaler().fit(X).transform
    rows = [scale(own) for own in (X, X_dev, X_test)]
    return rows, fitted_elsewhere(rows[0], y, rows[1], y_dev)


def policies(
    name: str, way: str, coach: str, division: int, folder: str | None, quick: bool
) -> dict[str, Any]:
    """One fit over the trade-offs, on test rows."""
    X, y, X_test, y_test, costs = rows_of(name, division, folder, quick)
    X, X_dev, y, y_dev = train_test_split(X, y, test_size=0.2, random_state=division, stratify=y)
    lams = LAMS if name == "segmentation" and not quick else FEW
    settings = COACHES[coach] | ({"masked": False} if way == "paper" else {})
    if way == "given":
        (X, X_dev, X_test), settings["classifier"] = given_rows(X, y, X_dev, y_dev, X_test)
    model = DynamicSelectionClassifier(
        0.5, extra_lams=lams, costs=costs, max_iter=3 if quick else 15, random_state=division,
        n_jobs=1, max_examples=10000, **settings,
    ).fit(X, y, validation=(X_dev, y_dev))  # fmt: skip
    trace = model.trace_[model.trace_["chosen"]].set_index("lam")
    points = []
    for lam in lams:
        used = model.at(lam=lam)
        points.append({
            "lam": lam, "cost": float(used.cost(X_test).mean() / used.costs_.total),
            "accuracy": float(used.score(X_test, y_test)), "reward": test_reward(used, X_test, y_test),
            "development": float(trace["accuracy"][lam]),
        })  # fmt: skip
    oracle = model.oracle_curve(X_test, y_test, lams)[["lam", "cost", "accuracy", "reward"]]
    learning = model.trace_[model.trace_["lam"] == 0.5][["cost", "reward"]]
    return {
        "points": points, "full": full_accuracy(model, X_test, y_test),
        "full_development": full_accuracy(model, X_dev, y_dev), "oracle": oracle.to_dict("records"),
        "learning": learning.to_numpy().tolist(), "rows": [len(X), len(X_dev), len(X_test)],
    }  # fmt: skip


def orders(name: str, way: str, division: int, folder: str | None, quick: bool) -> dict[str, Any]:
    """The two fixed orders of section 5, after each number of factors: [cost, accuracy]."""
    X, y, X_test, y_test, costs = rows_of(name, division, folder, quick)
    settings: dict[str, Any] = {"masked": way == "ours"}
    if way == "given":
        X, X_dev, y, y_dev = train_test_split(
            X, y, test_size=0.2, random_state=division, stratify=y
        )
        (X, _, X_test), settings["classifier"] = given_rows(X, y, X_dev, y_dev, X_test)
    found = {}
    for order in ("forward", "weight"):
        own = static_curve(order, X, y, X_test, y_test, costs=costs, **settings)
        found[order] = [[float(point["cost"]), float(point["accuracy"])] for point in own]
    return found


def experiments(given: argparse.Namespace) -> Iterator[Experiment]:
    """All of them, the first division of every set first."""

    def measured() -> dict[str, Any]:
        return theorems(rows_of("segmentation", page.FIRST, None, given.quick))

    yield Experiment("theorems", measured, {"set": "segmentation", "lam": 0.5}, page.FIRST)
    for number in range(1 if given.quick else max(DIVISIONS.values())):
        for name in (name for name, count in DIVISIONS.items() if number < count):
            needs = ("data",) if name == "digits" else ()
            settings = {"rows": ROWS[name], "trade-offs": LAMS if name == "segmentation" else FEW}
            rest = (page.FIRST + number, given.data, given.quick)
            # Later divisions are for what the paper itself did.
            ways = page.TEACHERS if number == 0 else {"paper": page.TEACHERS["paper"]}
            for way, coach in ((way, coach) for way, own in ways.items() for coach in own):
                label = f"{name} {rest[0]} {way}, {coach}"
                run = partial(policies, name, way, coach, *rest)
                yield Experiment(label, run, settings, rest[0], needs)
            for way in (*(("given",) if number == 0 else ()), "paper", "ours"):
                run = partial(orders, name, way, *rest)
                yield Experiment(f"order {name} {rest[0]} {way}", run, settings, rest[0], needs)


PAPER = Paper(
    "dynamic_selection_2012",
    "Cost-sensitive Dynamic Feature Selection (2012)",
    "ionosphere (radar), USPS (digits), segmentation",
    experiments,
    page.claims,
    page.text,
    page.draw,
    "Data classifiers: **given** is fitted elsewhere and never trained again, the paper's premise; **the paper's** is "
    "trained in folds, as in its section 5.1; **ours**, with our coach, is not the paper's. Costs are shares of the "
    "full price. Full accuracy: that of all features, within half a point, on development rows where it is chosen and "
    "on test rows where it is reached.",
    {
        "Figure 1(a)": "Digits: the last panel of each line, reward against cost by round, and its table.",
        "Figure 1(b)": "Radar: panels and tables.",
        "Figure 1(c)": "Digits: panels and tables.",
        "Figure 1(d)": "Segmentation: panels and tables.",
        "Theorems 1 and 2": "What the theorems bound, above.",
    },
)
