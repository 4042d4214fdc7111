"""The page of the ASTC paper: its figure, its tables and what they show, from a file of results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import markdown

TITLES = {
    "yahoo": "Yahoo shape", "forest": "Forest", "cifar": "CIFAR features", "miniboone": "MiniBooNE sample",
}  # fmt: skip
PAPER = {
    "yahoo": "119 52 41 21 15 9.2 6.6 at budgets 10 52 86 169 468 800 1495",
    "forest": "8.4 7.0 6.3 4.9 3.1 1.4 at budgets 3 5 8 13 23 50",
    "cifar": "5.6 2.3 0.68 0.25 0.14 at budgets 9 24 76 180 239",
    "miniboone": "7.4 7.9 5.5 5.2 4.1 3.1 2.0 at budgets 4 5 12 14 18 33 47",
}
"""Speed-ups of ASTC over CSTC in Tables 1 and 2."""
AXES = {
    "yahoo": ".09 to .13",
    "forest": ".23 to .32",
    "cifar": ".32 to .44",
    "miniboone": ".10 to .24",
}
"""Of figure 3."""
STYLES: dict[str, dict[str, Any]] = {
    "L1": {"color": "0.55"},
    "CSTC": {"color": "tab:red"},
    "CSTC, all rows": {"color": "tab:red", "linestyle": "", "marker": "s", "markersize": 6},
    "ASTC": {"color": "tab:blue"},
    "ASTC, soft": {"color": "tab:cyan"},
}


def speeds(results: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Comparisons with CSTC on one data set, most rows first, then dearest money first."""
    found = [value for key, value in results.items() if key.startswith(f"speed {name} ")]
    return sorted(found, key=lambda row: (-row["rows"], -row["lam"]))


def lines(results: dict[str, Any], name: str) -> dict[str, list[dict[str, Any]]]:
    """Points of the four methods."""
    own = results.get(f"curves {name}", {})
    found = {method: own.get(method, []) for method in ("L1", "ASTC", "ASTC, soft")}
    counts = sorted({row["rows"] for row in speeds(results, name)})
    for rows, method in zip(counts, ("CSTC", "CSTC, all rows"), strict=False):
        found[method] = [row["CSTC"] for row in speeds(results, name) if row["rows"] == rows]
    return found


def label(results: dict[str, Any], name: str, method: str) -> str:
    """The method, and its rows where they are fewer than those of the others."""
    counts = sorted({row["rows"] for row in speeds(results, name)})
    fewer = method == "CSTC" and counts[0] < results[f"curves {name}"]["rows"]
    return f"CSTC, {counts[0]:,} rows" if fewer else method


def draw(results: dict[str, Any], path: Path) -> None:
    """Figure 3: score against cost, one panel per data set."""
    import matplotlib.pyplot as plt

    names = [name for name in TITLES if f"curves {name}" in results]
    figure, axes = plt.subplots(
        1, len(names), figsize=(3.6 * len(names), 3.4), layout="constrained", squeeze=False
    )
    for ax, name in zip(axes[0], names, strict=True):
        found = lines(results, name)
        for method in (style for style in STYLES if style in found):
            points = sorted((p["test_cost"], p["test"]) for p in found[method])
            style = {"marker": "o", "markersize": 3} | STYLES[method]
            ax.plot(*zip(*points, strict=True), label=label(results, name, method), **style)
        most = max(p["test_cost"] for m in found if m != "L1" for p in found[m])
        ax.set(title=TITLES[name], xlabel="mean price of a row", xlim=(0, 1.05 * most))
        ax.set_ylabel("precision@5 (higher is better)" if name == "yahoo" else "test error")
        if ax in (axes[0][0], axes[0][-1]):
            ax.legend(fontsize=8)
    figure.savefig(path, dpi=80)


def between(points: list[dict[str, Any]], part: str, costs: list[float]) -> list[float]:
    """Score of a method at prices between those of its models, on a straight line; NaN outside."""
    at = np.array(sorted((p[f"{part}_cost"], p[part]) for p in points))
    found = np.interp(costs, at[:, 0], at[:, 1])
    inside = (np.array(costs) >= at[0, 0] - 1e-9) & (np.array(costs) <= at[-1, 0])
    return np.where(inside, found, np.nan).tolist()


def against(results: dict[str, Any], name: str) -> list[list[Any]]:
    """For every CSTC model: ASTC on the same rows at the same price."""
    rows = []
    sign = 1 if name == "yahoo" else -1
    own = results.get(f"curves {name}", {"rows": 0})
    for n in sorted({row["rows"] for row in speeds(results, name)}, reverse=True):
        slow = [row["CSTC"] for row in speeds(results, name) if row["rows"] == n]
        fast = {
            method: [row[method] for row in speeds(results, name) if row["rows"] == n]
            + (own[method] if own["rows"] == n else [])
            for method in ("ASTC", "ASTC, soft")
        }
        held = [p["held_cost"] for p in slow]
        chosen = max(fast, key=lambda m: sign * np.nanmean(between(fast[m], "held", held)))
        scores = between(fast[chosen], "test", [p["test_cost"] for p in slow])
        for point, score in zip(slow, scores, strict=True):
            gap = sign * (score - point["test"])
            rows.append([
                f"{TITLES[name]}, {n} rows", point["test_cost"], point["test"], chosen, score,
                "-" if np.isnan(gap) else f"{gap:+.4f}", f"{point['noise']:.4f}",
            ])  # fmt: skip
    return rows


def speed_table(results: dict[str, Any]) -> str:
    """Tables 1 and 2."""
    table = []
    for name in TITLES:
        for row in speeds(results, name):
            slow, hard, soft = (row[m] for m in ("CSTC", "ASTC", "ASTC, soft"))
            table.append([
                f"{TITLES[name]}, {row['rows']} rows" + (", one core" if ", 1 cores" in row["machine"] else ""),
                row["path"], slow["seconds"], hard["seconds"],
                f"{slow['seconds'] / hard['seconds']:.3g} x", soft["seconds"],
                f"{slow['seconds'] / soft['seconds']:.3g} x", slow["test"], hard["test"], soft["test"],
            ])  # fmt: skip
    heads = [
        "data", "mean price of a path", "CSTC, s", "ASTC, s", "faster", "soft, s", "faster",
        "CSTC's score", "ASTC's", "soft's",
    ]  # fmt: skip
    return markdown(heads, table)


def hardware_table(found: dict[str, Any]) -> str:
    """Time against dsyrk, and memory."""
    rows = [
        [
            f"{row['budget']:g}", "yes" if row["certify"] else "no", row["features"], row["seconds"],
            f"{row['ratio']:.2f}", f"{row['memory'] / 2**20:.0f} MB = {row['grams']:.1f}",
        ]
        for row in found["rows"]
    ]  # fmt: skip
    heads = [
        "budget per node", "certificates", "features of the largest leaf", "seconds", "ratio",
        "memory beyond the data, in Grams",
    ]  # fmt: skip
    return markdown(heads, rows)


def solver_table(results: dict[str, Any]) -> str:
    """Block descent against L-BFGS."""
    rows = []
    for name in TITLES:
        found = results.get(f"solver {name}")
        for row in found["rows"] if found else []:
            n, d = found["shape"]
            rows.append([
                f"{TITLES[name]}, {n} x {d}", f"{100 * row['left']:g} %", f"{row['objective']:.4f}",
                row["block"], row["joint"], f"{row['block'] / row['joint']:.2f}",
            ])  # fmt: skip
    return markdown(
        ["data", "left of the descent", "J", "block descent, s", "L-BFGS, s", "ratio"], rows
    )


def text(results: dict[str, Any]) -> str:
    """The page."""
    from string import Template

    template = Template((Path(__file__).parent / "astc_2014_page.md").read_text())
    heads = ["data", "price", "CSTC's score", "chosen", "its score", "better by", "standard error"]
    hardware = results.get("hardware", {"rows": [], "syrk": np.nan, "data": 0, "machine": ""})
    return template.substitute(
        machine=hardware["machine"], speeds=speed_table(results), solver=solver_table(results),
        against=markdown(heads, [row for name in TITLES for row in against(results, name)]),
        paper="\n".join(f"- {TITLES[name]}: {said}; axis of figure 3 {AXES[name]}." for name, said in PAPER.items()),
        hardware=hardware_table(hardware), syrk=f"{hardware['syrk']:.2f}", data=f"{hardware['data'] / 2**20:.0f}",
    )  # fmt: skip
