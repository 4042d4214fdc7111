"""The page of ``adapt_2017``: claims, tables and figures from the results that are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.common import markdown
from benchmarks.papers.adapt_2017_parts import SAVED, WITHIN
from benchmarks.papers.claims import Claim, Try, settle
from benchmarks.papers.frame import Records, ending
from benchmarks.papers.sets import FULL_MINIBOONE, SIZES

NAMES = {
    "letters": "Letters", "forest": "Forest", "miniboone": "MiniBooNE (sample)", "cifar": "CIFAR features",
    "yahoo": "Yahoo's shape",
}  # fmt: skip
PANELS = {
    ("forest", "miniboone"): "Figure 4a", ("forest", "forest"): "Figure 4b", ("BudgetRF", "yahoo"): "Figure 4c",
    ("forest", "yahoo"): "Figure 4c", ("RBF-SVM", "cifar"): "Figure 4d",
    ("RBF-SVM", "letters"): "Figure 5", ("forest", "letters"): "Figure 5",
}  # fmt: skip
"""Model that is there and set, and where the paper has them."""
TABLE_1 = {
    name: (FULL_MINIBOONE if name == "miniboone" else SIZES[name], features)
    for name, features in {"letters": 16, "miniboone": 50, "forest": 54, "cifar": 400, "yahoo": 519}.items()
}  # fmt: skip
"""Rows of the paper, and features."""
METHODS = (
    "ADAPT-GBRT", "ADAPT-LIN", "ADAPT-LIN, no refits", "ADAPT-LSTSQ", "L1 gate", "Greedy Miser", "BudgetPrune",
    "BudgetPrune, refitted",
)  # fmt: skip
MOVED = "thresholds moved"
FULL = 0.995
"""Accuracy on Synthetic-2 that counts as full."""


def methods_of(records: Records, model: str, name: str) -> dict[str, Any]:
    """What was put in front of a model, in the order of ``METHODS``."""
    found = records.under(f"{model} {name},")
    return {method: found[method] for method in METHODS if method in found}


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
    if "fresh synthetic-1" in records:
        own = records["fresh synthetic-1"]
        gates = {name: own[f"{name} 10"] for name in ("ADAPT-LIN", "ADAPT-GBRT")}
        text = ", ".join(
            f"{n} {g['accuracy']:.3f} with {g['sent']:.0%} sent" for n, g in gates.items()
        )
        found.append(Claim(
            "Figure 2: both gates keep the SVM's accuracy; the linear one sends about 60 %", "in a picture",
            f"SVM {own['exact']:.3f}; {text}",
            "a plane made here from the text; a fresh draw, as the trees were chosen by their figures on the first",
            all(g["accuracy"] >= own["exact"] - WITHIN for g in gates.values())
            and abs(gates["ADAPT-LIN"]["sent"] - 0.6) <= 0.05,
        ))  # fmt: skip
    if "fresh synthetic-2" in records:
        own, label = records["fresh synthetic-2"], "clusters of 26 %"
        gate = cheapest(own[f"L1 gate, {label}"], FULL)
        against = f"{gate[1]:.2f} at {gate[0]:.2f}" if gate else "never"
        tries = []
        for name, kind in (("ADAPT-LIN, no refits", "as in the paper"), ("ADAPT-LIN", "support refits")):  # fmt: skip
            point = cheapest(own[f"{name}, {label}"], FULL - 0.01)
            text = f"{point[1]:.2f} at {point[0]:.2f}" if point else "never"
            good = bool(point and point[1] >= FULL and point[0] <= 1.55)
            tries.append(Try(kind, text, good, kind == "support refits"))
        text = f"Figure 3: full accuracy at 1.5, where the L1 gate needs 1.75 (here {against})"
        found.append(settle(text, "1.0 at 1.5", tries, "cheapest of 16 trade-offs, fresh draw"))
    return found


def second(records: Records, model: str, name: str) -> dict[str, Any] | None:
    """ADAPT-GBRT on a second division of the rows, where there is one."""
    found: dict[str, Any] | None = records.get(f"again {model} {name}, ADAPT-GBRT")
    return found


def both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """What rule S takes, mean of two divisions; as trained too where both have it."""
    pair = (one["budget"], other["budget"])
    mean: dict[str, Any] | None = None
    if all(pair):
        mean = {key: sum(own[key] for own in pair) / 2 for key in ("saved", "lost")}
        mean["lost_error"] = float(np.hypot(*(own["lost_error"] for own in pair)) / 2)
    found = {"budget": mean, "cost": one.get("cost")}
    if "as trained" in one and "as trained" in other:
        found["as trained"] = both(one["as trained"], other["as trained"])
    return found


def plain_of(one: dict[str, Any]) -> dict[str, Any] | None:
    """A gate whose threshold stays where training put it: the paper's."""
    return one["as trained"] | {"cost": one["cost"]} if "as trained" in one else None


def _savings(records: Records) -> list[Claim]:
    found = []
    for (model, name), figure in PANELS.items():
        own = methods_of(records, model, name).get("ADAPT-GBRT")
        if not own:
            continue
        what, most, chosen = "a point of accuracy", WITHIN, "rule S, fresh division"
        if (more := second(records, model, name)) is not None:
            own = both(own, more)
            chosen = "rule S, mean of two fresh divisions"
        if name == "yahoo":  # a point would be a fifth of it
            what, most = "1 % of precision@5", WITHIN * own["existing"]
            chosen += f"; of {own['existing']:.3f}"
        tries = []
        for label, one in (("as trained", plain_of(own)), (MOVED, own)):
            if spent := one and one["budget"]:
                good = spent["lost"] <= most and spent["saved"] >= SAVED[name] - 0.01
                saved, points = cells(spent)
                text = f"saves {saved}, {points} points"
                tries.append(Try(label, text, bool(good), label == MOVED))
        text = f"Section 5, {figure}: saves {SAVED[name]:.0%} within {what}, {NAMES[name]}, {model}"
        found.append(settle(text, f"{SAVED[name]:.0%}", tries, chosen))
    return found


def _above(
    mine: dict[str, Any], others: dict[str, dict[str, Any]], label: str = MOVED
) -> list[Try]:
    """A gate's curve against others, as they were trained and with thresholds moved."""
    tries = []
    plain = {m: plain_of(other) or other for m, other in others.items()}
    for name, one, beside in (("as trained", plain_of(mine), plain), (label, mine, others)):
        if one:
            leads = {m: lead(one, other) for m, other in beside.items()}
            text = ", ".join(f"{value:+.1f} points above {m}" for m, value in leads.items())
            good = all(value >= 0 for value in leads.values())
            tries.append(Try(name, text, good, name == label))
    return tries


def _orders(records: Records) -> list[Claim]:
    found = []
    for (model, name), figure in PANELS.items():
        own = methods_of(records, model, name)
        rivals = {m: own[m] for m in ("Greedy Miser", "BudgetPrune") if m in own}
        if "ADAPT-GBRT" not in own or not rivals:
            continue
        text = f"{figure}: ADAPT-GBRT above {' and '.join(rivals)}, {NAMES[name]}, {model}"
        found.append(settle(text, "yes", _above(own["ADAPT-GBRT"], rivals), "rule C"))
        if "ADAPT-LIN, no refits" in own:
            gate = {"the L1 gate": own["L1 gate"]}
            tries = _above(own["ADAPT-LIN, no refits"], gate)[:1]
            tries += _above(own["ADAPT-LIN"], gate, f"{MOVED} and support refits")[-1:]
            text = f"Figure 5: ADAPT-LIN above the L1 gate, {model}"
            found.append(settle(text, "yes", tries, "rule C"))
            tries = _above(own["ADAPT-GBRT"], {"ADAPT-LIN": own["ADAPT-LIN"]})
            text = f"Figure 5: ADAPT-GBRT above ADAPT-LIN, {model}"
            found.append(settle(text, "yes", tries, "rule C; ADAPT-LIN with refits"))
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
    if (more := second(records, model, name)) is not None:
        own["ADAPT-GBRT, second division"] = more
    lines = []
    for method, one in own.items():
        # max_drop judges accuracy, not precision.
        fair = ["-", "-"] if name == "yahoo" else cells(one["fair"])
        lines.append([method, *cells(one["budget"]), *fair, *cells(one["plain"]), one["models"]])
        if plain := plain_of(one):
            count = len(plain["curve"])
            lines.append([f"{method}, as trained", *cells(plain["budget"]), *["-"] * 4, count])
    heads = [
        f"saving {SAVED[name]:.0%}, as the paper", "saved", "points", "max_drop: saved", "points",
        "best on all: saved", "points", "models kept",
    ]  # fmt: skip
    rows, theirs = (" / ".join(f"{n:,}" for n in own) for own in (first["rows"], TABLE_1[name][0]))
    what = "precision@5" if name == "yahoo" else "accuracy"
    return (
        f"### {NAMES[name]}, {model} ({PANELS[model, name]})\n\n{rows} rows to train, choose and test on "
        f"(the paper: {theirs}), {TABLE_1[name][1]} features. The {model} has {what} {base:.4f} at "
        f"{first['cost']:.2f}.\n\n{markdown(heads, lines)}\n"
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


HOW = """How figures were chosen. Rows are drawn with seed 100, on which no rule, depth or rate was decided; run once.
Letters with the SVM have a second division (seed 200), as gates as trained were looked at only after the first.
Every method is swept, and three rules choose on validation rows. **As the paper**: the most accurate that costs no
more than the existing model's cost less what the paper saves; a rule made after test figures of other divisions had
been seen. **max_drop**: `max_drop=0.01` of the gates, by halves of the validation rows that choose for each other.
**Best on all**: the cheapest within a point on the rows that chose it, which flatters the best of many. Points are
test accuracy against the existing model, ± standard error of the paired difference.

ADAPT-GBRT has 40 rounds at rate 0.2, of depth 3, 5 or 8 as validation rows prefer (Forest 8; Yahoo and CIFAR 3, the
depth of the authors' program); a sweep has some hundred models, with every gate's threshold moved, which the paper does
not do: "as trained" are the gates of the same sweep without that. Nor does it have support refits for ADAPT-LIN; "no
refits" is its algorithm alone. Greedy Miser has 80 rounds of depth 6
(Yahoo and CIFAR 3) and eight values of lam, each cut on validation rows; BudgetPrune (2016) six values of lam and 0, 3
or 6 levels kept, on 2,000 validation rows, from the same forest, or from one of 40 trees where the existing model is an
SVM. Bills of gated rows hold what the gate read, which the authors' evaluation leaves out.

Sizes are parts of the paper's rows, so that all of it runs in minutes. MiniBooNE is the authors' sample; CIFAR has
features of our own; Yahoo is generated in its shape with its prices, and precision@5 (how far relevant documents lead,
of five; 0.022 by chance) is measured in place of accuracy, with the error over 20 groups of queries. The costs of
Figure 4c end near 100 where a plain forest costs thousands: so BudgetRF is an existing model too.
"""


def text(records: Records) -> str:
    """The long page."""
    from benchmarks.papers import adapt_2017

    page = records.heading(adapt_2017.PAPER)
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
            "is at most eta times the cost saved (the figure has excess loss against cost saved). Around the same "
            "cheap model on the Letters, on test rows:\n\n"
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
    return page + ending(adapt_2017.PAPER, records)
