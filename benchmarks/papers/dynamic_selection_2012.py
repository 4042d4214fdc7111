"""Cost-sensitive Dynamic Feature Selection (2012): DAgger and coaching against fixed orders.

    python benchmarks/papers/dynamic_selection_2012.py --data FOLDER [--quick] [--out FILE]
        [--keep FOLDER] [--only PART ...] [--figure FILE]

Radar (ionosphere, 32 factors), digits (USPS, 16 factors of 4 x 4 pixels, its own test rows), small
digits (8 x 8, 16 factors of 2 x 2), segmentation (19 factors); all factors cost the same. Costs are
shares of the full price. What is chosen is chosen on development rows, a fifth of those for training.
With --keep, results of finished parts are kept there and not computed again.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

sys.path.insert(0, str(Path(__file__).parents[1]))
from bench_dynamic_selection import LAMS, block_costs, full_accuracy, static_curve, test_reward
from common import heading, load, markdown, options, write

from costwise import DynamicSelectionClassifier, datasets

FINER = (0.05, 0.15)
"""Trade-offs between the paper's, about where the digits come close to the full answer."""

NEAR, COPIES, DIVISIONS = (0.05, 0.1, 0.25), 3, 3
"""To come close to the full answer on digits: trade-offs, ``adapt`` of the data classifier, and how
often rows are divided anew into training and development."""

SEEDS = 10
"""Fits that compare coaching with DAgger; half as many of digits, and to compare other choices."""

ORDERS = ("forward", "weight")
METHODS: dict[str, dict[str, Any]] = {"DAgger": {"coaching": False}, "coaching": {}}
VARIANTS: dict[str, dict[str, Any]] = {
    "coaching, classifier not adapted": {"adapt": False},
    "coaching, policy of trees": {"policy": "trees"},
}


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
    settings = {"lam": 0.5, "n_iterations": 3 if given.quick else 15} | settings
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
        used = model.at(lam)
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
        model, full_dev = fit(
            given, X, y, costs, seed, division=seed, **METHODS[method], extra_lams=LAMS
        )
        points = points_of(model, X_test, y_test, LAMS)
        full = full_accuracy(model, X_test, y_test)
        found.append({"points": points, "full": full, "full_dev": full_dev})
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
            "cost": float(model.at(at).cost(X_test).mean() / model.costs_.total),
            "accuracy": float(model.at(at).score(X_test, y_test)),
        }
        for at in NEAR
    }
    full = full_accuracy(model, X_test, y_test)
    return {"lam": lam, **points[lam], "full": full, "points": list(points.values())}


SETS = ("radar", "digits", "small digits", "segmentation")
VARIED = ("small digits", "segmentation")
COMPARED = {"radar": 15, "small digits": 5, "segmentation": 10, "breast cancer": 5}
"""Sets that compare at all trade-offs, and how often their rows are divided anew."""
SEEDED = ("radar", "digits", "small digits", "segmentation")
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


def at_cost(points: list[dict[str, Any]], cost: float) -> float:
    """Accuracy of the longest prefix of a fixed order that costs no more."""
    return max((p["cost"], p["accuracy"]) for p in points if p["cost"] <= cost + 1e-9)[1]


def learned(found: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """The learned policies that were computed: data, method, result."""
    pairs = [(name, method) for name in SETS for method in METHODS]
    return [(n, m, found[f"{n}, {m}"]) for n, m in pairs if f"{n}, {m}" in found]


def curve_lines(found: dict[str, Any]) -> list[list[Any]]:
    lines: list[list[Any]] = []
    for name, method, result in learned(found):
        oracle = {point["lam"]: point for point in result["oracle"]}
        for point in result["points"]:
            best = oracle.get(point["setting"])
            orders = [found.get(f"{name}, {order}") for order in ORDERS]
            lines.append([
                f"{name}, {method}, lam {point['setting']:g}", point["cost"], point["accuracy"],
                *(at_cost(order["points"], point["cost"]) if order else None for order in orders),
                f"{best['accuracy']:.3f} at {best['cost']:.3f}" if best else None,
            ])  # fmt: skip
    return lines


def above_lines(found: dict[str, Any]) -> list[list[Any]]:
    """How often, and by how much on average, policies are above the fixed orders at their cost."""
    lines: list[list[Any]] = []
    for name, method, result in learned(found):
        for low, high in ((0.0, 0.5), (0.5, 1.01)):
            points = [p for p in result["points"] if low <= p["cost"] < high]
            if not points:
                continue
            cells: list[Any] = []
            for order in ORDERS:
                fixed = found[f"{name}, {order}"]["points"]
                gains = [100 * (p["accuracy"] - at_cost(fixed, p["cost"])) for p in points]
                above = sum(gain >= 0 for gain in gains)
                cells.append(f"{above} of {len(gains)}, {np.mean(gains):+.1f} points")
            part = "below" if low == 0 else "above"
            lines.append([f"{name}, {method}, {part} half of the price", *cells])
    return lines


def near(result: dict[str, Any]) -> dict[str, Any] | None:
    """The cheapest trade-off that is within half a point of all features on development rows."""
    close = [p for p in result["points"] if p["dev accuracy"] >= result["full_dev"] - 0.005]
    return max(close, key=lambda p: p["setting"], default=None)


def divided_lines(found: dict[str, Any]) -> list[list[Any]]:
    """Over divisions: how far policies are above the fixed orders, and below all features."""
    lines: list[list[Any]] = []
    for name in COMPARED:
        orders = [found.get(f"trade-offs of {name}, {order}") for order in ORDERS]
        for method in METHODS:
            parts = found.get(f"trade-offs of {name}, {method}")
            if not parts or not all(orders):
                continue
            cells: list[Any] = []
            for order in orders:
                gains = [
                    np.mean([
                        100 * (p["accuracy"] - at_cost(fixed["points"], p["cost"]))
                        for p in part["points"] if p["cost"] < 0.5
                    ])
                    for part, fixed in zip(parts, order, strict=True)
                ]  # fmt: skip
                cells.append(spread(gains))
            chosen = [(part["full"], point) for part in parts if (point := near(part))]
            gaps = [100 * (full - point["accuracy"]) for full, point in chosen]
            cost = float(np.mean([point["cost"] for _, point in chosen]))
            lines.append([f"{name}, {method}", *cells, cost, spread(gaps)])
    return lines


def near_lines(found: dict[str, Any]) -> list[list[Any]]:
    """The cheapest trade-off that is close enough on development rows, on test rows."""
    lines: list[list[Any]] = []
    for name, method, result in learned(found):
        point = near(result)
        values = [point["setting"], point["cost"], point["accuracy"]] if point else [None] * 3
        gap = 100 * (result["full"] - point["accuracy"]) if point else None
        alone = found.get(f"{name}, all features")
        lines.append([f"{name}, {method}", *values, result["full"], gap, alone])
    return lines


def spread(values: list[float]) -> str:
    """Mean, and its standard error."""
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{np.mean(values):.2f} ± {error:.2f}"


def mean_of(parts: list[dict[str, Any]], place: int) -> list[Any]:
    """Cost, accuracy, full accuracy and gap of one trade-off over the divisions."""
    points = [part["points"][place] for part in parts]
    gaps = [100 * (part["full"] - p["accuracy"]) for part, p in zip(parts, points, strict=True)]
    means = [float(np.mean([p[key] for p in points])) for key in ("cost", "accuracy")]
    return [*means, float(np.mean([part["full"] for part in parts])), spread(gaps)]


def division_lines(found: dict[str, Any]) -> list[list[Any]]:
    """Digits over divisions into training and development rows, and their mean."""
    lines: list[list[Any]] = []
    for method in METHODS:
        parts = {n: found.get(f"digits, division {n}, {method}") for n in range(DIVISIONS)}
        done = {n: part for n, part in parts.items() if part}
        gaps = {n: 100 * (part["full"] - part["accuracy"]) for n, part in done.items()}
        for n, part in done.items():
            values = [part[key] for key in ("lam", "cost", "accuracy", "full")]
            lines.append([f"{method}, division {n}", *values, gaps[n]])
        if len(done) > 1:
            means = [
                float(np.mean([part[key] for part in done.values()]))
                for key in ("cost", "accuracy", "full")
            ]
            lines.append([f"{method}, mean", None, *means, spread(list(gaps.values()))])
            lines += [
                [f"{method}, mean of one trade-off", lam, *mean_of(list(done.values()), place)]
                for place, lam in enumerate(NEAR)
            ]
    return lines


def seed_lines(found: dict[str, Any]) -> list[list[Any]]:
    lines: list[list[Any]] = []
    for name in SEEDED:
        dagger, coach = (found.get(f"seeds of {name}, {m}") for m in METHODS)
        if not dagger or not coach:
            continue
        rounds = np.array([dagger["rounds"], coach["rounds"]])
        pairs = {
            "all rounds, development rows": rounds.mean(axis=2),
            "best round, test rows": np.array([dagger["tests"], coach["tests"]]),
        }
        for what, pair in pairs.items():
            gain = pair[1] - pair[0]
            texts = [f"{v.mean():.4f} ± {v.std(ddof=1):.4f}" for v in (*pair, gain)]
            lines.append([f"{name}, {what}", *texts, f"{(gain >= 0).sum()} of {len(gain)}"])
    return lines


def grid_lines(found: dict[str, Any]) -> list[list[Any]]:
    """Coaching minus DAgger at each trade-off, and over all of them."""
    lines: list[list[Any]] = []
    for name in COMPARED:
        dagger, coach = (found.get(f"trade-offs of {name}, {m}") for m in METHODS)
        if not dagger or not coach:
            continue
        rewards = [
            np.array([[p["reward"] for p in part["points"]] for part in parts])
            for parts in (dagger, coach)
        ]
        gain = rewards[1] - rewards[0]
        by_seed = gain.mean(axis=1)
        error = by_seed.std(ddof=1) / len(by_seed) ** 0.5 if len(by_seed) > 1 else float("nan")
        means = [f"{mean:+.3f}" for mean in gain.mean(axis=0)]
        favour = f"{(gain >= 0).sum()} of {gain.size}"
        lines.append([name, *means, f"{gain.mean():+.4f} ± {error:.4f}", favour])
    return lines


def variant_lines(found: dict[str, Any]) -> list[list[Any]]:
    lines: list[list[Any]] = []
    for name in VARIED:
        base = found.get(f"seeds of {name}, coaching")
        for variant in VARIANTS:
            other = found.get(f"seeds of {name}, {variant}")
            if not base or not other:
                continue
            n = len(other["tests"])
            pair = np.array([base["tests"][:n], other["tests"]])
            texts = [f"{v.mean():.4f} ± {v.std(ddof=1):.4f}" for v in (*pair, pair[1] - pair[0])]
            lines.append([f"{name}, {variant}", n, *texts])
    return lines


def draw(found: dict[str, Any], file: str) -> None:
    """Panels as in the paper: accuracy against cost of the sets, and the learning curves."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 6.2), layout="constrained")
    axes = figure.subplots(2, 3).ravel()
    look = {
        "weight": ("0.6", "--"), "forward": ("0.35", ":"), "DAgger": ("tab:blue", "-"), "coaching": ("tab:orange", "-"),
    }  # fmt: skip
    for axis, name in zip(axes, SETS, strict=False):
        for method, (color, line) in look.items():
            if f"{name}, {method}" not in found:
                continue
            points = sorted(
                (p["cost"], p["accuracy"]) for p in found[f"{name}, {method}"]["points"]
            )
            label = "|w| / cost" if method == "weight" else method
            marker = "o" if method in METHODS else None
            axis.plot(
                *zip(*points, strict=True), line, color=color, marker=marker, ms=3, label=label
            )
        result = found.get(f"{name}, DAgger")
        if result is None:
            continue
        oracle = sorted((p["cost"], p["accuracy"]) for p in result["oracle"])
        axis.plot(*zip(*oracle, strict=True), color="tab:green", lw=1, marker=".", label="oracle")
        axis.axhline(result["full"], color="0.8", lw=1, zorder=0)
        axis.set(title=name, xlabel="cost", ylabel="accuracy", xlim=(0, 1), ylim=(0.5, 1.01))
    axes[1].legend(fontsize=8, loc="lower right")
    for axis, name in zip(axes[4:], ("small digits", "digits"), strict=True):
        for method in METHODS:
            color, one = look[method][0], found.get(f"{name}, {method}")
            many = found.get(f"seeds of {name}, {method}")
            if not one and not many:
                continue
            curves = np.array(many["rounds"] if many else [one["learning"]])
            number = np.arange(1, curves.shape[1] + 1)
            axis.plot(number, curves.mean(axis=0), color=color, marker="o", ms=3, label=method)
            if len(curves) > 1:
                low, high = (curves.mean(axis=0) + s * curves.std(axis=0) for s in (-1, 1))
                axis.fill_between(number, low, high, color=color, alpha=0.15, lw=0)
        axis.set(
            title=f"{name}, learning at lam 0.5", xlabel="round", ylabel="reward, development rows"
        )
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=80)


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
        draw(found, given.figure)
    title, script = (
        "Cost-sensitive Dynamic Feature Selection (2012)",
        "papers/dynamic_selection_2012.py",
    )
    text = heading(title, script, given, time.perf_counter() - took) + page(found, given)
    write(given.out, text)


def page(found: dict[str, Any], given: Any) -> str:
    image = f"![Curves](../figures/{Path(given.figure).name})\n\n" if given.figure else ""
    divided = ["data, policy", "above forward", "above weight", "cost", "below all features"]
    closest = ["lam", "cost", "accuracy", "all features", "points below", "logistic regression"]
    variants = ["data, variant", "seeds", "default", "variant", "variant - default"]
    rewards = ["data, what", "DAgger", "coaching", "coaching - DAgger", "seeds in favour"]
    heads = [
        "data, policy", "cost", "accuracy", "forward order at that cost", "weight order at that cost", "oracle",
    ]  # fmt: skip
    missing = [part for part in PARTS if part not in found]
    assembled = (
        "Assembled from parts that were computed one by one, with code of neighbouring versions and not all at the "
        "same trade-offs: those in the last table are all there are. The time is about the sum of theirs.\n\n"
    )
    return (
        "The paper gives its figures as plots; in words: the accuracy of all features or more at a small cost, the "
        "same or more than fixed orders with a small part of the features, a large gap to the oracle, and more reward "
        "for coaching than for DAgger in almost all settings. Its digits may be another set of 16 x 16 images; splits "
        "are not stated there.\n\n"
        f"{assembled if given.kept else ''}{image}"
        "## As good as all features?\n\n"
        "One fit over all trade-offs. Of those within half a point of all features on development rows, the cheapest. "
        "Its cost (share of the full price) and accuracy on test rows, beside the same data classifier with all "
        "features, and logistic regression that was trained on the same rows for nothing else.\n\n"
        f"{markdown(['data, policy', *closest], near_lines(found))}\n"
        f"Digits again, divided anew into training and development rows (the test rows stay), with adapt={COPIES}. Of "
        f"the trade-offs {', '.join(map(str, NEAR))} that cost less than half on development rows, the most accurate "
        "there; then each trade-off by itself. On test rows, means with their standard errors over divisions:\n\n"
        f"{markdown(['policy, division', *closest[:-1]], division_lines(found))}\n"
        "## Coaching against DAgger\n\n"
        f"Mean reward at lam 0.5, ± standard deviation over {SEEDS} seeds (digits: {SEEDS // 2}), all with the same "
        "rows for training, development and test.\n\n"
        f"{markdown(rewards, seed_lines(found))}\n"
        "Mean reward on test rows at each of the paper's trade-offs, one fit for all of them; coaching minus DAgger, ± "
        "standard error of the mean. The rows are divided anew each time, "
        f"{', '.join(f'{name} {number} times' for name, number in COMPARED.items())}.\n\n"
        f"{markdown(['data', *(f'lam {lam:g}' for lam in LAMS), 'mean', 'in favour'], grid_lines(found))}\n"
        "## Other choices\n\n"
        "Mean reward at lam 0.5 on test rows, ± standard deviation over seeds.\n\n"
        f"{markdown(variants, variant_lines(found))}\n"
        "## Above the fixed orders?\n\n"
        "At how many trade-offs a policy is at least as accurate on test rows as the longest part of a fixed order "
        "that costs no more, and by how many points on average.\n\n"
        f"{markdown(['data, policy, where', 'against forward', 'against weight'], above_lines(found))}\n"
        "The same over divisions: points above the orders, mean over the trade-offs that cost less than half; then the "
        "cheapest trade-off within half a point of all features on development rows, its cost and how many points it "
        "is below all features on test rows. Means ± standard errors.\n\n"
        f"{markdown(divided, divided_lines(found))}\n"
        "## Accuracy against cost\n\n"
        f"{markdown(heads, curve_lines(found))}\n"
        f"{'Not computed in this run: ' + '; '.join(missing) + '.' if missing else ''}\n"
    )


if __name__ == "__main__":
    main()
