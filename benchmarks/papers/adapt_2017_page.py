"""The page of ``adapt_2017``: claims, tables and figures from the results that are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import markdown
from benchmarks.papers.adapt_2017_parts import SAVED, WITHIN
from benchmarks.papers.claims import Claim
from benchmarks.papers.claims import table as claim_table
from benchmarks.papers.frame import Records, left_out

NAMES = {
    "letters": "Letters", "forest": "Forest", "miniboone": "MiniBooNE (sample)", "cifar": "CIFAR features",
    "yahoo": "Yahoo's shape",
}  # fmt: skip
PANELS = {
    ("forest", "miniboone"): "Figure 4a", ("forest", "forest"): "Figure 4b", ("forest", "yahoo"): "Figure 4c",
    ("RBF-SVM", "cifar"): "Figure 4d", ("RBF-SVM", "letters"): "Figure 5", ("forest", "letters"): "Figure 5",
}  # fmt: skip
"""Model that is there and set, and where the paper has them."""
LOOK: dict[str, dict[str, Any]] = {
    "ADAPT-GBRT": {"color": "#b2182b"},
    "ADAPT-LIN": {"color": "#2166ac"},
    "ADAPT-LIN, no refits": {"color": "#67a9cf", "ls": "--"},
    "ADAPT-LSTSQ": {"color": "#67a9cf"},
    "L1 gate": {"color": "0.6"},
    "Greedy Miser": {"color": "#1a9850"},
    "BudgetPrune": {"color": "#762a83"},
    "BudgetPrune, refitted": {"color": "#af8dc3"},
}
FULL = 0.995
"""Accuracy on Synthetic-2 that counts as full."""


def methods_of(records: Records, model: str, name: str) -> dict[str, Any]:
    """What was put in front of a model, in the order of ``LOOK``."""
    found = records.under(f"{model} {name},")
    return {method: found[method] for method in LOOK if method in found}


def cheapest(points: list[list[float]], least: float) -> list[float] | None:
    """The cheapest (cost, accuracy) that is accurate enough."""
    good = [point for point in points if point[1] >= least]
    return min(good) if good else None


def within(curve: list[list[float]], costs: np.ndarray) -> np.ndarray:
    """Best accuracy of a curve at most at these costs."""
    return np.array(
        [max((a for c, a in curve if c <= cost + 1e-9), default=np.nan) for cost in costs]
    )


def lead(mine: dict[str, Any], other: dict[str, Any]) -> float:
    """Points of accuracy on test rows by which one curve is above another, mean over costs both reach."""
    low = max(min(c for c, _ in own["curve"]) for own in (mine, other))
    costs = np.linspace(low, mine["cost"], 60)
    return float(100 * np.nanmean(within(mine["curve"], costs) - within(other["curve"], costs)))


# Claims -----------------------------------------------------------------------------------------


def claims(records: Records) -> list[Claim]:
    """What the paper says."""
    return [*_examples(records), *_savings(records), *_orders(records), *_beyond(records)]


def _examples(records: Records) -> list[Claim]:
    found = []
    if "synthetic-1" in records:
        own = records["synthetic-1"]
        gates = {name: own[f"{name} 10"] for name in ("ADAPT-LIN", "ADAPT-GBRT")}
        text = ", ".join(
            f"{n} {g['accuracy']:.3f} with {g['sent']:.0%} sent" for n, g in gates.items()
        )
        found.append(Claim(
            "Figure 2: after ten iterations both gates keep the SVM's accuracy, the linear one sends about 60 %",
            "in a picture", f"SVM {own['exact']:.3f}; {text}",
            "a plane made here from the text; p_full 0.6 and 0.5, no prices, five trees of depth 2 (more need no gate)",
            all(g["accuracy"] >= own["exact"] - WITHIN for g in gates.values()),
        ))  # fmt: skip
    if "synthetic-2" in records:
        own, label = records["synthetic-2"], "clusters of 26 %"
        gate = cheapest(own[f"L1 gate, {label}"], FULL)
        for name, owed in (
            ("ADAPT-LIN", "**rests on support refits, which the paper does not have**"),
            ("ADAPT-LIN, no refits", "the paper's algorithm alone"),
        ):
            point = cheapest(own[f"{name}, {label}"], FULL - 0.01)
            text = f"{point[1]:.2f} at {point[0]:.2f}" if point else "never"
            against = f"{gate[1]:.2f} at {gate[0]:.2f}" if gate else "never"
            found.append(Claim(
                f"Figure 3: full accuracy at 1.5, where the L1 gate needs 1.75 ({name})", "1.0 at 1.5; 1.0 at 1.75",
                f"{text}; L1 gate {against}", f"{owed}; cheapest of {len(own[f'{name}, {label}'])} trade-offs",
                bool(point and point[1] >= FULL and point[0] <= 1.55),
            ))  # fmt: skip
    return found


def _savings(records: Records) -> list[Claim]:
    found = []
    for (model, name), figure in PANELS.items():
        own = methods_of(records, model, name).get("ADAPT-GBRT")
        if not own:
            continue
        texts = []
        for rule, label in (
            ("fair", "max_drop"),
            ("plain", "by validation precision"),
            ("budget", "at the paper's cost"),
        ):
            if own[rule] and (rule != "plain" or name == "yahoo"):
                texts.append(
                    f"{label}: saves {own[rule]['saved']:.0%}, {-100 * own[rule]['lost']:+.1f} points"
                )
        what = "precision@5" if name == "yahoo" else "accuracy"
        spent = own["budget"]
        found.append(Claim(
            f"Section 5: saves {SAVED[name]:.0%} within a point of {what}, {NAMES[name]}, {model} ({figure})",
            f"{SAVED[name]:.0%}", "; ".join(texts),
            "reached where the most accurate on validation rows within the paper's cost loses a point at most; **that "
            "rule was made after test figures were seen**, this division is fresh and was run once",
            bool(spent and spent["lost"] <= WITHIN and spent["saved"] >= SAVED[name] - 0.01),
        ))  # fmt: skip
    return found


def _orders(records: Records) -> list[Claim]:
    found = []
    for (model, name), figure in PANELS.items():
        own = methods_of(records, model, name)
        if "ADAPT-GBRT" not in own:
            continue
        rivals = [m for m in ("Greedy Miser", "BudgetPrune") if m in own]
        leads = {m: lead(own["ADAPT-GBRT"], own[m]) for m in rivals}
        if leads:
            text = ", ".join(f"{value:+.1f} points above {m}" for m, value in leads.items())
            found.append(Claim(
                f"{figure}: ADAPT-GBRT above Greedy Miser and BudgetPrune on {NAMES[name]}, {model}", "yes", text,
                "mean over costs of the test curves; curves are of models that validation rows keep",
                all(value >= 0 for value in leads.values()),
            ))  # fmt: skip
        if name == "letters" and all(
            m in own for m in ("ADAPT-LIN", "ADAPT-LIN, no refits", "L1 gate")
        ):
            plain, ours = (
                lead(own[m], own["L1 gate"]) for m in ("ADAPT-LIN, no refits", "ADAPT-LIN")
            )
            trees = lead(own["ADAPT-GBRT"], own["ADAPT-LIN"])
            found.append(Claim(
                f"Figure 5: ADAPT-LIN above the L1 gate, ADAPT-GBRT above ADAPT-LIN, {model}", "yes",
                f"{plain:+.1f} points ({ours:+.1f} with support refits); {trees:+.1f}", "likewise",
                plain > 0 and trees > 0,
            ))  # fmt: skip
    return found


def _beyond(records: Records) -> list[Claim]:
    found = []
    if "oracle gate" in records:
        own = records["oracle gate"]
        cost = own["as trained"][0]
        oracle = max(line[1] for line in own["oracle"] if line[0] <= cost + 1e-9)
        found.append(Claim(
            "Section 3: the gate that knows the losses is out of reach of a gate with low cost", "in words",
            f"{oracle:.3f} against {own['as trained'][1]:.3f} at {cost:.1f}; the SVM alone {own['existing'][1]:.3f}",
            "Letters, one cheap model for both; the oracle's gate pays nothing", oracle > own["as trained"][1],
        ))  # fmt: skip
    if "stages" in records:
        own = records["stages"]
        pairs = [(own[f"stages {k}"], own[f"one stage {k}"]) for k in (2, 3)]
        text = "; ".join(
            f"{k} stages {a[1]:.3f} at {a[0]:.1f}, one {b[1]:.3f} at {b[0]:.1f}"
            for k, (a, b) in zip((2, 3), pairs, strict=True)
        )
        found.append(Claim(
            "Remark 2: a gate can stand before a gate; one stage does well already", "in words", text,
            "Letters, RBF-SVM; each stage within 0.8, 0.65 and 0.5 of its cost; the paper has no figure", None,
        ))  # fmt: skip
    return found


# The page ---------------------------------------------------------------------------------------


def cells(found: dict[str, Any] | None) -> list[str]:
    """What a rule took."""
    if not found:
        return ["-", "not reached"]
    error = found.get("lost_error")
    return [
        f"{found['saved']:.1%}",
        f"{-100 * found['lost']:+.2f}" + (f" ± {100 * error:.2f}" if error else ""),
    ]


def front_table(records: Records, model: str, name: str) -> str:
    """All methods around one model."""
    own = methods_of(records, model, name)
    first = next(iter(own.values()))
    base = first.get("existing", first["accuracy"])
    lines = [
        [method, *cells(one["budget"]), *cells(one["fair"]), *cells(one["plain"]), one["models"]]
        for method, one in own.items()
    ]
    heads = [
        f"saving {SAVED[name]:.0%}, as the paper", "saved", "points", "max_drop: saved", "points",
        "best on all: saved", "points", "models kept",
    ]  # fmt: skip
    rows = " / ".join(f"{n:,}" for n in first["rows"])
    what = "precision@5" if name == "yahoo" else "accuracy"
    return (
        f"### {NAMES[name]}, {model} ({PANELS[model, name]})\n\n{rows} rows to train, choose and test on. The {model} "
        f"has {what} {base:.4f} at {first['cost']:.2f}.\n\n{markdown(heads, lines)}\n"
    )


def example_tables(records: Records) -> str:
    """Figures 2 and 3 in numbers."""
    own = records["synthetic-1"]
    lines = [["RBF-SVM", own["exact"], 1.0]]
    for key in ("ADAPT-LIN 1", "ADAPT-LIN 10", "ADAPT-GBRT 1", "ADAPT-GBRT 10"):
        name, rounds = key.split()
        lines.append([f"{name}, iteration {rounds}", own[key]["accuracy"], own[key]["sent"]])
    text = (
        f"## Synthetic-1 (Figure 2)\n\n{markdown(['who answers', 'accuracy', 'sent on'], lines)}\n\n"
        "The trees of ADAPT-GBRT are one of six settings, chosen by their figures on these very rows.\n"
    )
    lines = []
    for key, points in records["synthetic-2"].items():
        point = cheapest(points, FULL) or [None, None]
        near = cheapest(points, FULL - 0.01) or [None, None]
        lines.append([key, point[0], near[0], near[1]])
    heads = ["method", "cost at full accuracy", "cost within a point", "accuracy there"]
    return text + (
        "## Synthetic-2 (Figure 3)\n\nThe paper: full accuracy at 1.5, where the L1 gate needs 1.75. **The 1.5 rests "
        "on support refits**, which are not the paper's: its algorithm alone, from its own start, stays at the line "
        '"no refits". ADAPT-LSTSQ is only named in the paper; its steps are derived here.\n\n'
        f"{markdown(heads, lines)}\n"
    )


def draw_examples(records: Records, folder: Path) -> None:
    """Figures 2 and 3."""
    import matplotlib.pyplot as plt
    from matplotlib.colors import ListedColormap

    from worthwhile.plots._style import clean

    figure, axes = plt.subplots(1, 6, figsize=(17, 3), layout="constrained")
    own = records["synthetic-1"]
    extent = (own["low"][0], own["high"][0], own["low"][1], own["high"][1])
    rows = np.array(own["rows"])
    pictures = {"RBF-SVM": own["exact picture"]} | {
        f"{name}, iteration {n}": own[f"{name} {n}"]["picture"]
        for name in ("ADAPT-LIN", "ADAPT-GBRT") for n in (1, 10)
    }  # fmt: skip
    colours = ListedColormap(["#d1e5f0", "#fddbc7", "#f5f0dc"])
    for axis, (title, picture) in zip(axes, pictures.items(), strict=False):
        side = int(len(picture) ** 0.5)
        grid = np.array(list(map(int, picture))).reshape(side, side)
        axis.imshow(
            grid, origin="lower", extent=extent, aspect="auto", cmap=colours, vmin=0, vmax=2
        )
        axis.scatter(rows[:, 0], rows[:, 1], c=np.where(rows[:, 2] > 0, "#b2182b", "#2166ac"), s=3)
        axis.set(title=title, xticks=[], yticks=[])
    for method in ("ADAPT-LIN", "ADAPT-LIN, no refits", "ADAPT-LSTSQ", "L1 gate"):
        points = records["synthetic-2"][f"{method}, clusters of 26 %"]
        costs = np.linspace(1, 2, 60)
        axes[5].step(costs, within(points, costs), where="post", label=method, **LOOK[method])
    axes[5].set(title="Figure 3: Synthetic-2", xlabel="mean cost", ylabel="accuracy")
    axes[5].legend(frameon=False, fontsize=7, loc="lower right")
    clean(axes[5])
    figure.savefig(folder / "adapt-2017-examples.png", dpi=75)
    plt.close(figure)


def draw(records: Records, folder: Path) -> None:
    """Figures 2 and 3, then 4, 5 and the oracle's gate."""
    import matplotlib.pyplot as plt

    from worthwhile.plots._style import clean

    if "synthetic-1" in records and "synthetic-2" in records:
        draw_examples(records, folder)
    panels = {key: label for key, label in PANELS.items() if methods_of(records, *key)}
    extra = [name for name in ("oracle gate", "stages") if name in records]
    count = len(panels) + len(extra)
    lines = 1 if count < 5 else 2
    shape = (lines, -(-count // lines))
    figure, grid = plt.subplots(
        *shape, figsize=(4 * shape[1], 3.5 * lines), squeeze=False, layout="constrained"
    )
    axes = grid.ravel()
    for axis, ((model, name), label) in zip(axes, panels.items(), strict=False):
        own = methods_of(records, model, name)
        for method, one in own.items():
            curve = np.array(sorted(one["curve"]))
            axis.plot(
                curve[:, 0],
                np.maximum.accumulate(curve[:, 1]),
                lw=1.3,
                label=method,
                **LOOK[method],
            )
        if own:
            first = next(iter(own.values()))
            top = first.get("existing", first["accuracy"])
            axis.plot(
                first["cost"], top, "*", color="black", ms=10, label=f"{model} alone", clip_on=False
            )
            low = top - (0.15 if name != "yahoo" else 0.1)
            axis.set(ylim=(low, top + 0.02))
        what = "precision@5" if name == "yahoo" else "accuracy"
        axis.set(title=f"{label}: {NAMES[name]}, {model}", xlabel="mean bill of a row", ylabel=what)
    if "oracle gate" in records:
        own, axis = records["oracle gate"], axes[len(panels)]
        for key, colour in (("oracle", "#1a9850"), ("learned", "#b2182b")):
            line = np.array(sorted(own[key]))
            axis.plot(line[:, 0], line[:, 1], ".-", color=colour, label=f"{key} gate")
        axis.plot(
            own["existing"][0], own["existing"][1], "*", color="black", ms=10, label="RBF-SVM alone"
        )
        axis.set(
            title="Section 3: the oracle's gate, Letters",
            xlabel="mean bill of a row",
            ylabel="accuracy",
        )
        axis.legend(frameon=False, fontsize=8)
    if "stages" in records:
        own, axis = records["stages"], axes[count - 1]
        for key, colour in (("stages", "#b2182b"), ("one stage", "0.5")):
            line = np.array([own[f"{key} {k}"][:2] for k in (1, 2, 3)])
            axis.plot(
                line[:, 0],
                line[:, 1],
                "o-",
                color=colour,
                label="one to three stages" if key == "stages" else key,
            )
        axis.plot(*own["existing"], "*", color="black", ms=10, label="RBF-SVM alone")
        axis.set(title="Remark 2: stages, Letters", xlabel="mean bill of a row", ylabel="accuracy")
        axis.legend(frameon=False, fontsize=8)
    for axis in axes[:count]:
        clean(axis)
    for axis in axes[count:]:
        axis.set_axis_off()
    for axis in axes[: len(panels)]:
        axis.legend(frameon=False, fontsize=7, loc="lower right")
    figure.savefig(folder / "adapt-2017.png", dpi=70)
    plt.close(figure)


HOW = """How figures were chosen. Rows are drawn with seed 100, on which no rule, depth or rate was decided; run once.
Every method is swept, and three rules choose on validation rows. **As the paper**: the most accurate that costs no
more than the existing model's cost less what the paper saves; a rule made after test figures of other divisions had
been seen. **max_drop**: `max_drop=0.01` of the gates, by halves of the validation rows that choose for each other.
**Best on all**: the cheapest within a point on the rows that chose it, which flatters the best of many. Points are
test accuracy against the existing model, ± standard error of the paired difference.

ADAPT-GBRT has its defaults but for 40 rounds (Forest: depth 8); a sweep has some hundred models, with every gate's
threshold moved, which the paper does not do (nor support refits for ADAPT-LIN; "no refits" is its algorithm alone).
Greedy Miser has its defaults with 80 rounds and eight values of lam, each cut on validation rows; BudgetPrune (2016)
six values of lam and 0, 3 or 6 levels kept, on 2,000 validation rows, from the same forest, or from one of 40 trees
where the existing model is an SVM. Bills of gated rows hold what the gate read, which the authors' evaluation leaves
out.

Sizes are shares of the paper's rows, so that all of it runs in minutes (those above are of a busy machine). MiniBooNE
is the authors' sample; CIFAR has features of our own; Yahoo is generated in its shape with its prices, and precision@5
(how far relevant documents lead, of five) is measured in place of accuracy: relations compare, figures do not.
"""


def text(records: Records) -> str:
    """The long page."""
    from benchmarks.papers import adapt_2017

    page = f"{records.heading(adapt_2017.PAPER)}{claim_table(claims(records))}\n"
    page += "![Examples](../figures/adapt-2017-examples.png)\n\n![Curves](../figures/adapt-2017.png)\n\n"
    page += HOW + "\n## What is saved (Figures 4 and 5)\n\n"
    page += "".join(front_table(records, m, n) for m, n in PANELS if methods_of(records, m, n))
    if "synthetic-1" in records and "synthetic-2" in records:
        page += example_tables(records)
    if "oracle gate" in records:
        own = records["oracle gate"]
        names = {
            "existing": "RBF-SVM alone",
            "cheap": "cheap model alone",
            "as trained": "learned gate",
        }
        lines = [[label, *own[key]] for key, label in names.items()]
        near = [line for line in own["oracle"] if line[0] <= own["as trained"][0] + 1e-9]
        lines.append(["oracle's gate at that cost", *max(near, key=lambda line: line[1])])
        page += (
            "## The oracle's gate (section 3)\n\nIt knows both losses of a row and keeps the row where the excess loss "
            "is at most eta times the cost saved. Around the same cheap model on the Letters, on test rows:\n\n"
            f"{markdown(['who answers', 'cost', 'accuracy', 'loss'], lines)}\n"
        )
    if "stages" in records:
        own = records["stages"]
        lines = [
            [k, f"{own[f'stages {k}'][2]:g}", *own[f"stages {k}"][:2], *own[f"one stage {k}"][:2]]
            for k in (1, 2, 3)
        ]
        heads = [
            "stages",
            "may spend, of the SVM's",
            "cost",
            "accuracy",
            "one stage: cost",
            "accuracy",
        ]
        page += (
            "## Several stages (Remark 2)\n\nOn the Letters in front of the SVM, 40 rounds of depth 5. Beside a gate "
            f"before gates, one gate that may spend as much.\n\n{markdown(heads, lines)}"
        )
    return page + left_out(adapt_2017.PAPER, records)
