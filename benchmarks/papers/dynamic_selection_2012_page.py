"""The page of ``dynamic_selection_2012``: claims, tables and figures from the results that are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import markdown
from benchmarks.papers import dynamic_selection_2012_learning as rounds
from benchmarks.papers.claims import Claim
from benchmarks.papers.dynamic_selection_2012_learning import LOOK, SHORT, TEACHERS
from benchmarks.papers.frame import Records, ending

SETS = ("radar", "digits", "segmentation")
FIRST = 100
"""Number of the first division of the rows: none of these were looked at while the coach was made."""
WAYS = {
    "given": "a classifier that was given and is never trained again",
    "paper": "the paper's shared classifier",
    "ours": "our data classifier",
}
CLOSE = 0.005
"""Accuracy on development rows that may be missing to that of all features."""
SHOWN = (0.1, 0.5, 1)
"""Trade-offs of the tables; figures have all."""


def divisions(records: Records, name: str, way: str, coach: str) -> list[dict[str, Any]]:
    """Results over divisions of the rows."""
    ending = f" {way}, {coach}"
    return [
        own for key, own in records.items() if key.startswith(f"{name} ") and key.endswith(ending)
    ]


def orders(records: Records, name: str, way: str) -> list[dict[str, Any]]:
    """Fixed orders over the same divisions."""
    found = records.under(f"order {name}")
    return [own for key, own in found.items() if key.endswith(f" {way}")]


def later(records: Records, name: str, way: str, coach: str) -> list[dict[str, Any]]:
    """Results of the divisions that were run after the figures of the first were known."""
    ending = f" {way}, {coach}"
    found = records.under(name)
    return [
        own for key, own in found.items() if key.endswith(ending) and int(key.split()[0]) > FIRST
    ]


def points_at(parts: list[dict[str, Any]], lam: float) -> list[dict[str, float]]:
    """One trade-off over divisions."""
    return [next(p for p in part["points"] if p["lam"] == lam) for part in parts]


def lams_of(parts: list[dict[str, Any]]) -> list[float]:
    """Trade-offs that were learned."""
    return [point["lam"] for point in parts[0]["points"]]


def at_cost(curve: list[list[float]], cost: float) -> float:
    """Accuracy of the longest part of a fixed order that costs no more."""
    return max(point for point in curve if point[0] <= cost + 1e-9)[1]


def chosen(part: dict[str, Any]) -> dict[str, float]:
    """The cheapest trade-off that comes close enough to all features on development rows, or the closest."""
    bar = part["full_development"] - CLOSE
    near = [p for p in part["points"] if p["development"] >= bar]
    return (
        max(near, key=lambda p: p["lam"])
        if near
        else max(part["points"], key=lambda p: p["development"])
    )


def spread(values: list[float]) -> str:
    """Mean, and its standard error where there are several."""
    error = f" ± {np.std(values, ddof=1) / len(values) ** 0.5:.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):+.2f}{error}"


def gains(records: Records, way: str, coach: str) -> dict[str, list[float]]:
    """Reward of a coach minus that of DAgger at every trade-off and division, by set."""
    found = {}
    for name in SETS:
        pairs = zip(
            divisions(records, name, way, coach),
            divisions(records, name, way, "DAgger"),
            strict=False,
        )
        found[name] = [
            a["reward"] - b["reward"]
            for mine, dagger in pairs for a, b in zip(mine["points"], dagger["points"], strict=True)
        ]  # fmt: skip
    return {name: own for name, own in found.items() if own}


def above(records: Records, way: str, coach: str, order: str) -> dict[str, list[float]]:
    """Points above a fixed order at the same cost, at every trade-off and division, by set."""
    found = {}
    for name in SETS:
        pairs = zip(divisions(records, name, way, coach), orders(records, name, way), strict=False)
        found[name] = [
            100 * (point["accuracy"] - at_cost(fixed[order], point["cost"]))
            for part, fixed in pairs for point in part["points"] if point["cost"] < 0.5
        ]  # fmt: skip
    return {name: own for name, own in found.items() if own}


def several(values: dict[str, list[float]]) -> str:
    """Means by set, and in how many settings they are not below 0."""
    return "; ".join(
        f"{name} {np.mean(own):+.3f} ({sum(v >= 0 for v in own)} of {len(own)})" for name, own in values.items()
    )  # fmt: skip


def means_of(values: dict[str, list[float]]) -> str:
    """Means by set alone."""
    return ", ".join(f"{name} {np.mean(own):+.1f}" for name, own in values.items())


# Claims -----------------------------------------------------------------------------------------


def claims(records: Records) -> list[Claim]:
    """What the paper says."""
    found = []
    for way, (_, coach) in TEACHERS.items():
        found.append(_as_good(records, way, coach))
        found += _on_curve(records, way, coach)
        found.append(_coaching(records, way, coach))
        if all(orders(records, name, way) for name in SETS):
            found.append(_fixed(records, way, coach))
    gaps = [
        o["accuracy"] - p["accuracy"]
        for name in SETS for own in divisions(records, name, "paper", "paper's coach")
        for o, p in zip(own["oracle"], own["points"], strict=True)
    ]  # fmt: skip
    found.append(Claim(
        "Figure 1: a substantial gap to the oracle, who knows the labels", "yes",
        f"{100 * np.mean(gaps):.1f} points of accuracy, mean over sets and trade-offs",
        "the paper's classifier and coach",
        bool(np.mean(gaps) > 0.02),
    ))  # fmt: skip
    return [*found, *rounds.claims(records), *_theorems(records)]


def _as_good(records: Records, way: str, coach: str) -> Claim:
    texts, good = [], []
    for name in SETS:
        parts = divisions(records, name, way, coach)
        if not parts:
            continue
        cost = float(np.mean([chosen(part)["cost"] for part in parts]))
        gap = [100 * (chosen(part)["accuracy"] - part["full"]) for part in parts]
        texts.append(f"{name} {spread(gap)} at {cost:.2f}")
        good.append(np.mean(gap) >= -0.5 and cost <= 0.5)
    return Claim(
        f"Figure 1: full accuracy at half the price, {SHORT[way]}", "yes", "points: " + "; ".join(texts),
        "cheapest on development rows", all(good), way == "ours", way != "ours",
    )  # fmt: skip


def _on_curve(records: Records, way: str, coach: str) -> list[Claim]:
    """The same, read off the test curve as the paper does, on divisions that came after this was thought of."""
    texts, good = [], []
    for name in SETS:
        for part in later(records, name, way, coach)[:1]:
            cheap = [p for p in part["points"] if p["cost"] <= 0.5]
            best = max(cheap, key=lambda p: (p["accuracy"], -p["cost"]), default=None)
            gap = 100 * (best["accuracy"] - part["full"]) if best else float("nan")
            texts.append(f"{name} {gap:+.2f} at {best['cost']:.2f}" if best else f"{name} -")
            good.append(gap >= -0.5)
    text = f"Figure 1: the same, read off the test curve, {SHORT[way]}"
    why = "as the paper reads it; thought of after the first division, on another, run once"
    return (
        [Claim(text, "yes", "points: " + "; ".join(texts), why, all(good), way == "ours")]
        if texts
        else []
    )


def _coaching(records: Records, way: str, coach: str) -> Claim:
    own = gains(records, way, coach)
    flat = [value for values in own.values() for value in values]
    share = np.mean([value >= 0 for value in flat])
    return Claim(
        f"Section 5.2: more reward by coaching than by DAgger, {SHORT[way]}", "almost always",
        several(own), "all trade-offs (not worse in); 8 of 10",
        bool(share >= 0.8), way == "ours", way != "ours",
    )  # fmt: skip


def _fixed(records: Records, way: str, coach: str) -> Claim:
    forward, weight = (above(records, way, coach, order) for order in ("forward", "weight"))
    means = [np.mean(values) for own in (forward, weight) for values in own.values()]
    return Claim(
        f"Figure 1: above both fixed orders at the same cost, {SHORT[way]}", "yes",
        f"points above forward: {means_of(forward)}; above weight by cost: {means_of(weight)}",
        "same classifier; below half the price", all(mean >= 0 for mean in means), way == "ours",
        way == "paper",
    )  # fmt: skip


def bounds(own: dict[str, Any]) -> dict[str, float]:
    """What DAgger's best round loses against the oracle, and what the theorems allow."""
    last = max(own["rounds"], key=lambda line: line["reward"])
    first, horizon = own["on oracle's states"], own["horizon"]
    return {
        "lost": own["oracle"] - last["reward"], "lost at first": own["oracle"] - own["rounds"][0]["reward"],
        "theorem 1": horizon**2 * first["hinge"] / horizon, "theorem 2": last["u"] * last["hinge"],
        "u": last["u"], "by errors": last["u"] * last["wrong"], "mean": last["mean"],
    }  # fmt: skip


def _theorems(records: Records) -> list[Claim]:
    if "theorems" not in records:
        return []
    b = bounds(records["theorems"])
    return [
        Claim("Theorem 2: a policy loses at most u T eps against the oracle", "bound",
              f"{b['lost']:.3f} lost, bound {b['theorem 2']:.2f} (u = {b['u']:.2f})",
              "segmentation, DAgger, given classifier, lam 0.5", b["lost"] <= b["theorem 2"]),
        Claim("Theorem 1: what imitates the oracle's states alone loses at most T² eps", "bound",
              f"{b['lost at first']:.3f} lost, bound {b['theorem 1']:.1f}", "the first round of the same",
              b["lost at first"] <= b["theorem 1"]),
    ]  # fmt: skip


# The page ---------------------------------------------------------------------------------------


def curve_table(records: Records, way: str) -> str:
    """Accuracy at cost, by trade-off; means over divisions."""
    lines: list[list[Any]] = []
    for name in SETS:
        whole = {coach: divisions(records, name, way, coach) for coach in TEACHERS[way]}
        if not all(whole.values()):
            continue
        base = whole["DAgger"]
        for lam in (lam for lam in lams_of(base) if lam in SHOWN):
            cells = []
            for parts in whole.values():
                points = points_at(parts, lam)
                cost, accuracy = (np.mean([p[key] for p in points]) for key in ("cost", "accuracy"))
                cells.append(f"{accuracy:.3f} at {cost:.2f}")
            oracle = [next(o for o in part["oracle"] if o["lam"] == lam) for part in base]
            best = f"{np.mean([o['accuracy'] for o in oracle]):.3f} at {np.mean([o['cost'] for o in oracle]):.2f}"
            full = f"{np.mean([part['full'] for part in base]):.3f}"
            lines.append([f"{name}, {lam:g}", *cells, best, full])
    return markdown(["set, lam", *TEACHERS[way], "oracle", "all features"], lines)


def theorem_table(records: Records) -> str:
    """Round by round."""
    lines = [
        [number, line["reward"], line["wrong"], line["hinge"], line["u"], line["mean"], line["lost"],
         line["u"] * line["wrong"], line["u"] * line["hinge"]]
        for number, line in enumerate(records["theorems"]["rounds"], 1) if number in (1, 2, 3, 5, 10, 15)
    ]  # fmt: skip
    heads = [
        "round", "reward", "wrong actions a row", "surrogate loss a row", "u, the worst", "a wrong action, mean",
        "lost in all", "u x wrong actions", "bound: u x surrogate",
    ]  # fmt: skip
    return markdown(heads, lines)


def draw(records: Records, folder: Path) -> None:
    """A line of panels for each data classifier: accuracy against cost, and the learning curves of digits."""
    import matplotlib.pyplot as plt

    from worthwhile.plots._style import clean

    sets = [name for name in SETS if divisions(records, name, "paper", "DAgger")]
    if not sets:
        return
    size = (3 * len(sets) + 3, 2.8 * len(WAYS))
    figure, axes = plt.subplots(len(WAYS), len(sets) + 1, figsize=size, layout="constrained")
    for line, way in zip(axes, WAYS, strict=True):
        for axis, name in zip(line, sets, strict=False):
            _panel(axis, records, name, way)
            axis.set(xlabel="share of the full price", ylabel="accuracy")
            axis.set_title(f"{name}, {SHORT[way]}", fontsize=10)
        rounds.panel(line[-1], records, way)
        line[0].legend(frameon=False, fontsize=8, loc="lower right")
    for axis in axes.ravel():
        clean(axis)
    figure.savefig(folder / "dynamic-selection-2012.png", dpi=90)
    plt.close(figure)


def _panel(axis: Any, records: Records, name: str, way: str) -> None:
    for fixed in orders(records, name, way)[:1]:
        for order, style in (("forward", ":"), ("weight", "--")):
            label = "|w| / cost" if order == "weight" else order
            axis.plot(*zip(*fixed[order], strict=True), style, color="0.5", lw=1, label=label)
    for coach in TEACHERS[way]:
        parts = divisions(records, name, way, coach)
        if not parts:
            continue
        means = sorted(
            tuple(np.mean([p[key] for p in points_at(parts, lam)]) for key in ("cost", "accuracy"))
            for lam in lams_of(parts)
        )
        axis.plot(*zip(*means, strict=True), ".-", color=LOOK[coach], label=coach)
        if coach == "DAgger":
            oracle = sorted((o["cost"], o["accuracy"]) for o in parts[0]["oracle"])
            axis.plot(*zip(*oracle, strict=True), ".-", color="#1a9850", lw=1, label="oracle")
            axis.axhline(
                float(np.mean([part["full"] for part in parts])), color="0.8", lw=1, zorder=0
            )
    axis.set(xlim=(0, 1), ylim=(0.6, 1.01))


HOW = """The paper gives plots, and no sizes. Rows to train, choose and test on: {rows}. All factors cost the same.
Divisions begin with number 100, on which nothing was decided; each was run once. Rounds are chosen on development rows;
policies learn from at most 10,000 states. Segmentation has the paper's seven trade-offs (in the figure), radar and
digits three.

- **given**: a logistic regression fitted elsewhere (`classifier=fitted`) and never trained again, the paper's premise.
  Unknown factors are at their means. It has seen the rows that train the policies, which section 5.1 warns of.
- **paper**: the same kind, trained in folds, so that each row is answered for by one that has not seen it
  (`masked=False`).
- **ours**, the default: trained for missing factors, then again for those that first policies leave.

Teachers: DAgger (the oracle), the paper's coach (`coaching="confidence"`), and ours, the default: what a learner who
does not know the label may expect. **Our coach and our classifier are not the paper's**; the coach was made after test
figures of divisions 0 to 14 had been seen.
"""

LEARNED = """Digits at lam 0.5, development rows of the first division. The last panel of each line of the figure has
all rounds, from the first (square) to the last (star)."""

THEOREMS = """Segmentation, given classifier, DAgger, lam 0.5, {rows} training rows, horizon T = {horizon}; the oracle's
mean reward is {oracle:.3f}. A wrong action costs what the oracle could still have reached before it less after it; u is
the largest such cost, eps the mean surrogate loss over T steps, so that u T eps is u times the surrogate loss of a row.
On the oracle's states the first learner has {wrong:.2f} wrong actions and a loss of {hinge:.2f} a row. A wrong action
costs {mean:.3f} on average and {u:.2f} at worst: the bounds hold and are far from tight."""


def text(records: Records) -> str:
    """The long page."""
    from benchmarks.papers import dynamic_selection_2012

    counts = []
    for name in SETS:
        parts = divisions(records, name, "ours", "DAgger")
        if parts:
            rows = " / ".join(map(str, parts[0]["rows"]))
            more = len(divisions(records, name, "paper", "DAgger"))
            number = f"divisions: {len(parts)}, the paper's classifier {more}"
            counts.append(f"{name} {rows} ({number})")
    page = records.heading(dynamic_selection_2012.PAPER)
    page += "## Accuracy at cost (Figure 1)\n\n"
    page += "![Accuracy against cost, learning curves](../figures/dynamic-selection-2012.png)\n\n"
    page += HOW.format(rows="; ".join(counts)) + "\n"
    for way, name in WAYS.items():
        page += f"### {name[0].upper()}{name[1:]}\n\n{curve_table(records, way)}\n"
    if learned := rounds.table(records):
        page += f"## Round by round (Figure 1(a))\n\n{LEARNED}\n\n{learned}\n"
    if "theorems" in records:
        own = records["theorems"]
        last = max(own["rounds"], key=lambda line: line["reward"])
        said = THEOREMS.format(
            **own, **own["on oracle's states"] | {"mean": last["mean"], "u": last["u"]}
        )
        page += f"## What the theorems bound\n\n{said}\n\n{theorem_table(records)}"
    return page + ending(dynamic_selection_2012.PAPER, records)
