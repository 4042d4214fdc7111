"""Cost-sensitive Dynamic Feature Selection (2012): DAgger and coaching against fixed orders.

    python -m benchmarks.papers.dynamic_selection_2012 --data FOLDER [--quick] [--out FILE]
        [--keep FOLDER] [--only PART ...] [--figure FILE]

Radar (ionosphere, 32 factors), digits (USPS, 16 factors of 4 x 4 pixels, its own test rows), small
digits (8 x 8, 16 factors of 2 x 2), segmentation (19 factors); all factors cost the same. Costs are
shares of the full price. What is chosen is chosen on development rows, a fifth of those for training.
With --keep, results of finished parts are kept there and not computed again.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.common import heading, load, options, write
from benchmarks.papers import dynamic_selection_2012_page as page
from benchmarks.papers.dynamic_selection_2012_page import (
    COMPARED,
    COPIES,
    DIVISIONS,
    METHODS,
    NEAR,
    ORDERS,
    SEEDED,
    SEEDS,
    SETS,
    VARIANTS,
    VARIED,
)
from benchmarks.parts.dynamic_selection import (
    LAMS,
    block_costs,
    full_accuracy,
    static_curve,
    test_reward,
)
from worthwhile import DynamicSelectionClassifier, datasets

FINER = (0.05, 0.15)
"""Trade-offs between the paper's, about where the digits come close to the full answer."""


def split(X: Any, y: Any, share: float, seed: int = 0) -> tuple[Any, ...]:
    X, X_test, y, y_test = train_test_split(X, y, test_size=share, random_state=seed, stratify=y)
    return X, y, X_test, y_test


def data_of(name: str, given: Any, division: int = 0) -> tuple[Any, Any, Any, Any, Any]:
    """Training rows, test rows, prices."""
    if name == "digits":
        data = datasets.fetch_paper_set("usps", given.data)
        X, y, train = data.data.to_numpy(np.float64), np.asarray(data.target), data.split == "train"
        most = 1000 if given.quick else None
        return X[train][:most], y[train][:most], X[~train], y[~train], block_costs(16, 4)
    if name == "small digits":
        return (*split(*load_digits(return_X_y=True), 0.3, division), block_costs(8, 2))
    if name == "breast cancer":
        return (*split(*load_breast_cancer(return_X_y=True), 0.3, division), None)
    X, y, _ = load({"radar": "ionosphere"}.get(name, name), given.data)
    return (*split(X[:, 2:] if name == "radar" else X, y, 0.3, division), None)


def fit(
    given: Any, X: Any, y: Any, costs: Any, seed: int, *, division: int = 0, **settings: Any
) -> Any:
    """A model, and how near its policies come to its full answer on development rows."""
    X, y, X_dev, y_dev = split(X, y, 0.2, division)
    settings = {"lam": 0.5, "max_iter": 3 if given.quick else 15} | settings
    model = DynamicSelectionClassifier(
        costs=costs, n_folds=5 if given.quick else 10, random_state=seed, **settings
    ).fit(X, y, validation=(X_dev, y_dev))
    return model, full_accuracy(model, X_dev, y_dev)


def curve(name: str, method: str, given: Any) -> dict[str, Any]:
    """Accuracy against cost of one method on test rows, with what the development rows said."""
    X, y, X_test, y_test, costs = data_of(name, given)
    if method in ORDERS:
        return {"points": static_curve(method, X, y, X_test, y_test, costs=costs)}
    lams = (0.25, 1.0) if given.quick else given.lams or (*LAMS, *FINER)
    model, full_dev = fit(given, X, y, costs, given.seed, **METHODS[method], extra_lams=lams)
    points = points_of(model, X_test, y_test, sorted({0.5, *lams}))
    oracle = model.oracle_curve(X_test, y_test, LAMS)
    return {
        "points": points, "full": full_accuracy(model, X_test, y_test), "full_dev": full_dev,
        "oracle": oracle[["lam", "cost", "accuracy"]].to_dict("records"),
        "learning": model.trace_.query("lam == 0.5")["reward"].tolist(),
    }  # fmt: skip


def points_of(model: Any, X_test: Any, y_test: Any, lams: Any) -> list[dict[str, float]]:
    """One fit at several trade-offs on test rows, with what the development rows said."""
    trace, points = model.trace_[model.trace_["chosen"]].set_index("lam"), []
    for lam in lams:
        used = model.at(lam=lam)
        points.append({
            "setting": lam, "cost": float(used.cost(X_test).mean() / used.costs_.total),
            "accuracy": float(used.score(X_test, y_test)), "dev accuracy": float(trace["accuracy"][lam]),
            "reward": test_reward(used, X_test, y_test),
        })  # fmt: skip
    return points


def plain(name: str, method: str, given: Any) -> float:
    """Accuracy of logistic regression with all features, trained on the same rows for that alone."""
    X, y, X_test, y_test, _ = data_of(name, given)
    X, y, X_dev, y_dev = split(X, y, 0.2)
    models = [
        make_pipeline(StandardScaler(), LogisticRegression(C=C, max_iter=300)).fit(X, y)
        for C in (0.01, 0.1, 1.0, 10.0, 100.0)
    ]
    return float(max(models, key=lambda model: model.score(X_dev, y_dev)).score(X_test, y_test))


def seeds(name: str, method: str, given: Any) -> dict[str, Any]:
    """Rewards at lam 0.5 over seeds: of the rounds on development rows, of the best on test rows."""
    X, y, X_test, y_test, costs = data_of(name, given)
    rounds, tests = [], []
    few = name == "digits" or method not in METHODS
    number = 2 if given.quick else SEEDS // 2 if few else SEEDS
    for seed in range(number):
        model, _ = fit(given, X, y, costs, seed, **(METHODS | VARIANTS)[method])
        rounds.append(model.trace_["reward"].tolist())
        tests.append(test_reward(model, X_test, y_test))
    return {"rounds": rounds, "tests": tests}


def grid(name: str, method: str, given: Any) -> list[dict[str, Any]]:
    """Test rows at the paper's trade-offs; each seed divides the rows anew."""
    found = []
    for seed in range(1 if given.quick else COMPARED[name]):
        X, y, X_test, y_test, costs = data_of(name, given, seed)
        if method in ORDERS:
            points = static_curve(method, X, y, X_test, y_test, costs=costs)
            found.append({"points": points})
            continue
        model, _ = fit(given, X, y, costs, seed, division=seed, **METHODS[method], extra_lams=LAMS)
        points = points_of(model, X_test, y_test, LAMS)
        found.append({"points": points, "full": full_accuracy(model, X_test, y_test)})
    return found


def division(name: str, method: str, number: int, given: Any) -> dict[str, Any]:
    """The most accurate trade-off below half of the price, both on development rows, on test rows."""
    X, y, X_test, y_test, costs = data_of(name, given)
    model, _ = fit(
        given, X, y, costs, number, division=number, **METHODS[method],
        lam=NEAR[0], extra_lams=NEAR, adapt=COPIES,
    )  # fmt: skip
    trace = model.trace_[model.trace_["chosen"]].set_index("lam")
    lam = float(trace.loc[trace["cost"] < 0.5, "accuracy"].idxmax())
    points = {
        at: {
            "cost": float(model.at(lam=at).cost(X_test).mean() / model.costs_.total),
            "accuracy": float(model.at(lam=at).score(X_test, y_test)),
        }
        for at in NEAR
    }
    full = full_accuracy(model, X_test, y_test)
    return {"lam": lam, **points[lam], "full": full, "points": list(points.values())}


PARTS: dict[str, tuple[Any, ...]] = {
    **{f"{name}, {m}": (curve, name, m) for name in SETS for m in (*ORDERS, *METHODS)},
    **{f"{name}, all features": (plain, name, "") for name in SETS},
    **{f"seeds of {name}, {m}": (seeds, name, m) for name in SEEDED for m in METHODS},
    **{f"seeds of {name}, {m}": (seeds, name, m) for name in VARIED for m in VARIANTS},
    **{
        f"trade-offs of {name}, {m}": (grid, name, m)
        for name in COMPARED
        for m in (*ORDERS, *METHODS)
    },
    **{
        f"digits, division {number}, {m}": (division, "digits", m, number)
        for number in range(DIVISIONS)
        for m in METHODS
    },
}


def compute(given: Any) -> tuple[dict[str, Any], float]:
    """Results by part, and the seconds that they took, now or when they were kept."""
    found, took = {}, 0.0
    for part, (work, *how) in PARTS.items():
        file = Path(given.keep) / f"{part}.json" if given.keep else None
        if file is not None and file.exists():
            found[part], seconds = json.loads(file.read_text())
        elif given.kept or (given.only and part not in given.only):
            continue
        else:
            start = time.perf_counter()
            found[part], seconds = work(*how, given), time.perf_counter() - start
            if file is not None:
                file.write_text(json.dumps([found[part], seconds]))
        took += seconds
    return found, took


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--keep", metavar="FOLDER", help="results of parts, for the next run")
    parser.add_argument("--kept", action="store_true", help="the page of what is kept already")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="compute these parts and stop")
    parser.add_argument("--lams", nargs="+", type=float, help="trade-offs beside 0.5")
    parser.add_argument("--figure", metavar="FILE", help="draw the curves into this file")
    given = parser.parse_args()
    if given.keep:
        Path(given.keep).mkdir(parents=True, exist_ok=True)
    found, took = compute(given)
    if given.only:
        return
    if given.figure:
        page.draw(found, given.figure)
    title, script = (
        "Cost-sensitive Dynamic Feature Selection (2012)",
        "papers.dynamic_selection_2012",
    )
    missing = [part for part in PARTS if part not in found]
    text = heading(title, script, given, time.perf_counter() - took)
    text += page.text(found, missing, given)
    write(given.out, text)


if __name__ == "__main__":
    main()
