"""The page of dynamic selection: what is compared, its tables, its figure and its text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import markdown
from benchmarks.parts.dynamic_selection import LAMS

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
SETS = ("radar", "digits", "small digits", "segmentation")
VARIED = ("small digits", "segmentation")
COMPARED = {"radar": 15, "small digits": 5, "segmentation": 10, "breast cancer": 5}
"""Sets that compare at all trade-offs, and how often their rows are divided anew."""
SEEDED = ("radar", "digits", "small digits", "segmentation")


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


def gap(full: float, point: dict[str, Any]) -> float:
    """Points below all features."""
    return 100 * (full - point["accuracy"])


def divided_lines(found: dict[str, Any]) -> list[list[Any]]:
    """Over divisions: cost of policies, and points below all features."""
    lines: list[list[Any]] = []
    for name, method, parts in divided(found):
        chosen = [
            [next(p for p in part["points"] if p["setting"] == lam) for part in parts]
            for lam in LAMS[1:5]
        ]
        cheap = [[p for p in part["points"] if p["cost"] < 0.5] for part in parts]
        chosen.append([max(c, key=lambda p: (p["dev accuracy"], p["setting"])) for c in cheap])
        cells = [
            f"{np.mean([p['cost'] for p in points]):.2f}: "
            + spread([gap(part["full"], p) for part, p in zip(parts, points, strict=True)])
            for points in chosen
        ]
        lines.append([f"{name}, {method}", *cells])
    return lines


def divided_order_lines(found: dict[str, Any]) -> list[list[Any]]:
    """Over divisions: points above the fixed orders at the same cost, where that is below half."""
    lines: list[list[Any]] = []
    for name, method, parts in divided(found):
        orders = [found.get(f"trade-offs of {name}, {order}") for order in ORDERS]
        cells: list[Any] = []
        for fixed in filter(None, orders):
            gains = [
                [
                    100 * (p["accuracy"] - at_cost(curve["points"], p["cost"]))
                    for p in part["points"] if p["cost"] < 0.5
                ]
                for part, curve in zip(parts, fixed, strict=True)
            ]  # fmt: skip
            cells.append(spread([float(np.mean(gain)) for gain in gains]))
        if len(cells) == len(ORDERS):
            lines.append([f"{name}, {method}", *cells])
    return lines


def divided(found: dict[str, Any]) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Results over divisions of the rows: data, method, divisions."""
    pairs = [(name, method) for name in COMPARED for method in METHODS]
    parts = [(n, m, found.get(f"trade-offs of {n}, {m}")) for n, m in pairs]
    return [(n, m, part) for n, m, part in parts if part]


def near_lines(found: dict[str, Any]) -> list[list[Any]]:
    """The cheapest trade-off that is close enough on development rows, on test rows."""
    lines: list[list[Any]] = []
    for name, method, result in learned(found):
        near = [p for p in result["points"] if p["dev accuracy"] >= result["full_dev"] - 0.005]
        point = max(near, key=lambda p: p["setting"], default=None)
        values = [point["setting"], point["cost"], point["accuracy"]] if point else [None] * 3
        below = gap(result["full"], point) if point else None
        alone = found.get(f"{name}, all features")
        lines.append([f"{name}, {method}", *values, result["full"], below, alone])
    return lines


def spread(values: list[float]) -> str:
    """Mean, and its standard error."""
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else float("nan")
    return f"{np.mean(values):.2f} ± {error:.2f}"


def mean_of(parts: list[dict[str, Any]], place: int) -> list[Any]:
    """Cost, accuracy, full accuracy and gap of one trade-off over the divisions."""
    points = [part["points"][place] for part in parts]
    gaps = [gap(part["full"], p) for part, p in zip(parts, points, strict=True)]
    means = [float(np.mean([p[key] for p in points])) for key in ("cost", "accuracy")]
    return [*means, float(np.mean([part["full"] for part in parts])), spread(gaps)]


def division_lines(found: dict[str, Any]) -> list[list[Any]]:
    """Digits over divisions into training and development rows, and their mean."""
    lines: list[list[Any]] = []
    for method in METHODS:
        parts = {n: found.get(f"digits, division {n}, {method}") for n in range(DIVISIONS)}
        done = {n: part for n, part in parts.items() if part}
        gaps = {n: gap(part["full"], part) for n, part in done.items()}
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


def text(found: dict[str, Any], missing: list[str], given: Any) -> str:
    """The page but its heading; ``missing`` names parts that were not computed."""
    image = f"![Curves](../figures/{Path(given.figure).name})\n\n" if given.figure else ""
    over = ["data, policy", *(f"lam {lam:g}" for lam in LAMS[1:5]), "best below half"]
    closest = ["lam", "cost", "accuracy", "all features", "points below", "logistic regression"]
    variants = ["data, variant", "seeds", "default", "variant", "variant - default"]
    rewards = ["data, what", "DAgger", "coaching", "coaching - DAgger", "seeds in favour"]
    heads = [
        "data, policy", "cost", "accuracy", "forward order at that cost", "weight order at that cost", "oracle",
    ]  # fmt: skip
    times = ", ".join(f"{name} {number} times" for name, number in COMPARED.items())
    assembled = "Assembled from parts that were computed two at a time; the time is about the sum of theirs.\n\n"
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
        f"The rows divided anew into training, development and test rows ({times}): mean cost, and points below all "
        "features on test rows (negative: above), ± standard error. Last, of the trade-offs that cost less than half "
        "there, the most accurate on development rows.\n\n"
        f"{markdown(over, divided_lines(found))}\n"
        f"Digits again, divided anew into training and development rows (the test rows stay), with adapt={COPIES}. Of "
        f"the trade-offs {', '.join(map(str, NEAR))} that cost less than half on development rows, the most accurate "
        "there; then each trade-off by itself. On test rows, means with their standard errors over divisions:\n\n"
        f"{markdown(['policy, division', *closest[:-1]], division_lines(found))}\n"
        "## Coaching against DAgger\n\n"
        f"Mean reward at lam 0.5, ± standard deviation over {SEEDS} seeds (digits: {SEEDS // 2}), all with the same "
        "rows for training, development and test.\n\n"
        f"{markdown(rewards, seed_lines(found))}\n"
        "Mean reward on test rows at each of the paper's trade-offs, one fit for all of them; coaching minus DAgger, ± "
        "standard error of the mean. The rows are divided anew each time.\n\n"
        f"{markdown(['data', *(f'lam {lam:g}' for lam in LAMS), 'mean', 'in favour'], grid_lines(found))}\n"
        "## Other choices\n\n"
        "Mean reward at lam 0.5 on test rows, ± standard deviation over seeds.\n\n"
        f"{markdown(variants, variant_lines(found))}\n"
        "## Above the fixed orders?\n\n"
        "At how many trade-offs a policy is at least as accurate on test rows as the longest part of a fixed order "
        "that costs no more, and by how many points on average.\n\n"
        f"{markdown(['data, policy, where', 'against forward', 'against weight'], above_lines(found))}\n"
        "The same over divisions: points above the orders, mean over the trade-offs that cost less than half, ± "
        "standard error.\n\n"
        f"{markdown(['data, policy', 'above forward', 'above weight'], divided_order_lines(found))}\n"
        "## Accuracy against cost\n\n"
        f"{markdown(heads, curve_lines(found))}\n"
        f"{'Not computed in this run: ' + '; '.join(missing) + '.' if missing else ''}\n"
    )
