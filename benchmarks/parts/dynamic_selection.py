"""Dynamic selection on the paper's kinds of data: curves, learning curves, time, memory.

    python -m benchmarks.parts.dynamic_selection [--quick] [--data FOLDER] [--only PART ...]
        [--rounds N] [--examples N] [--classifier {masked,paper,both}]

Parts: ionosphere, segmentation, digits (8 x 8, 16 factors of 2 x 2), seeds (coaching against
DAgger over 5 seeds), policies (linear against trees), usps (needs --data: 16 factors of 4 x 4;
time and memory of the full fit at one trade-off, time of a session step).
Costs are shares of the full price.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from worthwhile import Costs, DynamicSelectionClassifier, StaticOrderClassifier, datasets
from worthwhile.policy.selection.static_order import StaticOrderPolicy

LAMS = (0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0)
PARTS = ("ionosphere", "segmentation", "digits", "seeds", "policies", "usps")


def block_costs(side: int, width: int) -> Costs:
    pixels = np.arange(side * side).reshape(side, side)
    groups = {
        f"{i},{j}": {"fee": 1, "features": pixels[i : i + width, j : j + width].ravel()}
        for i in range(0, side, width)
        for j in range(0, side, width)
    }
    return Costs(np.zeros(side * side), groups)


def split(X: Any, y: Any, n_train: int, seed: int = 0) -> tuple[Any, ...]:
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[:n_train], order[n_train:]
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
    return X[train], y[train], X[test], y[test]


def load(name: str) -> tuple[Any, ...]:
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return (*split(X, y, 1200), block_costs(8, 2))
    data = getattr(datasets, f"load_{name}")()
    if name == "ionosphere":  # the paper has 32 factors: without the first two columns
        return (*split(data.data.iloc[:, 2:], data.target, 234), None)
    return (*split(data.data, data.target, 770), None)


def full_accuracy(model: DynamicSelectionClassifier, X: Any, y: Any) -> float:
    """Accuracy of the model's own data classifier with everything bought."""
    policy = model.policy_
    everything = range(policy.model.layout.n_factors)
    whole = StaticOrderPolicy(policy.costs, policy.output, policy.model, everything)
    return float((policy.output.predict(whole.batch(X).raw) == y).mean())


def static_curve(order: str, X: Any, y: Any, X_test: Any, y_test: Any, **settings: Any) -> Any:
    model = StaticOrderClassifier(order, random_state=0, **settings).fit(X, y)
    policy, lines = model.policy_, []
    for count in range(len(policy.order) + 1):
        part = StaticOrderPolicy(policy.costs, policy.output, policy.model, policy.order[:count])
        outcome = part.batch(X_test)
        share = policy.costs.price(outcome.acquired).mean() / policy.costs.total
        hit = (policy.output.predict(outcome.raw) == y_test).mean()
        lines.append({"method": order, "setting": count, "cost": share, "accuracy": hit})
    return lines


def dynamic_curve(model: DynamicSelectionClassifier, name: str, X: Any, y: Any) -> Any:
    lines = []
    for lam in sorted(model.policy_.lams):
        fitted = model.at(lam=lam)
        lines.append({
            "method": name, "setting": lam, "cost": fitted.cost(X).mean() / fitted.costs_.total,
            "accuracy": fitted.score(X, y),
        })  # fmt: skip
    return lines


def curves(name: str, options: Any) -> None:
    """Accuracy against cost of all methods of the paper's figures."""
    X, y, X_test, y_test, costs = load(name)
    lams = (0.1, 0.5) if options.quick else LAMS
    lines: list[dict[str, Any]] = []
    for masked in {"masked": (True,), "paper": (False,), "both": (True, False)}[options.classifier]:
        tag = "" if masked else " (paper's classifier)"
        for order in ("weight", "forward"):
            found = static_curve(order, X, y, X_test, y_test, costs=costs, masked=masked)
            step = max(1, len(found) // 8)
            lines += [line | {"method": order + tag} for line in found[::step]]
        for coaching in (False, True):
            model = DynamicSelectionClassifier(
                0.5, extra_lams=lams, costs=costs, coaching=coaching, masked=masked,
                max_iter=options.rounds, max_examples=options.examples, random_state=0,
            ).fit(X, y)  # fmt: skip
            method = ("coaching" if coaching else "dagger") + tag
            lines += dynamic_curve(model, method, X_test, y_test)
        oracle = model.oracle_curve(X_test, y_test, lams)
        for _, point in oracle.iterrows():
            lines.append({
                "method": "oracle (sees labels)" + tag, "setting": point["lam"],
                "cost": point["cost"], "accuracy": point["accuracy"],
            })  # fmt: skip
        print(f"{name}{tag}: full-feature accuracy {full_accuracy(model, X_test, y_test):.4f}")
    print(pd.DataFrame(lines).round(4).to_string(index=False), flush=True)


def seeds(options: Any) -> None:
    """Mean development reward round by round, coaching against DAgger, lam 0.5, 5 seeds."""
    for name in ("digits", "ionosphere", "segmentation"):
        X, y, X_test, y_test, costs = load(name)
        found = {}
        for coaching in (False, True):
            traces, tests = [], []
            for seed in range(2 if options.quick else 5):
                model = DynamicSelectionClassifier(
                    0.5, costs=costs, coaching=coaching, max_iter=options.rounds,
                    n_folds=5, max_examples=options.examples, random_state=seed,
                ).fit(X, y)  # fmt: skip
                traces.append(model.trace_["reward"].to_numpy())
                tests.append(test_reward(model, X_test, y_test))
            found["coaching" if coaching else "dagger"] = np.mean(traces, axis=0)
            print(
                f"{name} {'coaching' if coaching else 'dagger'}: best round {np.max(traces, axis=1).mean():.4f}, "
                f"on test rows {np.mean(tests):.4f} (sd of seeds {np.std(tests):.4f})"
            )
        print(pd.DataFrame(found).round(3).T.to_string(), flush=True)


def test_reward(model: DynamicSelectionClassifier, X: Any, y: Any) -> float:
    chances = model.predict_proba(X)
    codes = np.searchsorted(model.classes_, y)
    own = chances[np.arange(len(y)), codes]
    chances[np.arange(len(y)), codes] = -1
    share = model.cost(X) / model.costs_.total
    return float((own - chances.max(axis=1) - model.lam * share).mean())


def policies(options: Any) -> None:
    """The linear policy against boosted trees, on test rows."""
    for name in ("digits",) if options.quick else ("digits", "ionosphere", "segmentation"):
        X, y, X_test, y_test, costs = load(name)
        for policy in ("linear", "trees"):
            begun = time.perf_counter()
            model = DynamicSelectionClassifier(
                0.5, costs=costs, policy=policy, max_iter=options.rounds, n_folds=5,
                max_examples=options.examples, random_state=0,
            ).fit(X, y)  # fmt: skip
            print(
                f"{name} {policy}: test reward {test_reward(model, X_test, y_test):.4f}, accuracy "
                f"{model.score(X_test, y_test):.4f}, cost {model.cost(X_test).mean() / model.costs_.total:.3f}, "
                f"fit {time.perf_counter() - begun:.1f} s, step {step_time(model, X_test):.0f} us",
                flush=True,
            )


def step_time(model: DynamicSelectionClassifier, X: Any) -> float:
    """Microseconds per step (ask and tell) of a session, over 100 rows; the median of 5."""
    rows, times = X[:100].tolist(), []
    for _ in range(5):
        steps, begun = 0, time.perf_counter()
        for row in rows:
            session = model.session()
            while wanted := session.ask():
                session.tell({column: row[column] for column in wanted})
                steps += 1
        times.append((time.perf_counter() - begun) / max(steps, 1) * 1e6)
    return float(np.median(times))


def usps(folder: str, quick: bool) -> None:
    """The full fit of 7291 x 256 in 16 factors, at one trade-off."""
    data = datasets.fetch_paper_set("usps", folder)
    X, y = data.data.to_numpy(np.float64), data.target
    train = data.split == "train"
    X, y, X_test, y_test = X[train], y[train], X[~train], y[~train]
    if quick:
        X, y = X[:1000], y[:1000]
    lam, begun, used = 0.05, time.perf_counter(), time.process_time()
    model = DynamicSelectionClassifier(
        lam, costs=block_costs(16, 4), max_iter=2 if quick else 15, random_state=0
    ).fit(X, y)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"usps lam {lam}: fit of {X.shape} {time.perf_counter() - begun:.0f} s wall, "
        f"{time.process_time() - used:.0f} s CPU, peak {memory:.0f} MB; step {step_time(model, X_test):.0f} us; "
        f"accuracy {model.score(X_test, y_test):.4f} at cost {model.cost(X_test).mean() / 16:.3f}, "
        f"full {full_accuracy(model, X_test, y_test):.4f}; "
        f"oracle {model.oracle_curve(X_test, y_test, [lam]).round(3).to_dict('records')}",
        flush=True,
    )
    print(model.trace_.round(3).to_string(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds and rows")
    parser.add_argument("--data", help="folder with usps.npz")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--rounds", type=int, help="of imitation; 15 (quick: 2), usps always 15")
    parser.add_argument("--examples", type=int, default=8000, help="per policy; usps: the default")
    parser.add_argument("--classifier", choices=("masked", "paper", "both"), default="both")
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.quick else 15)
    for part in options.only:
        if part == "usps":
            if options.data:
                usps(options.data, options.quick)
        elif part == "seeds":
            seeds(options)
        elif part == "policies":
            policies(options)
        else:
            curves(part, options)


if __name__ == "__main__":
    main()
