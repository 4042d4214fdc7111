"""The page of ``adapt_2017``: claims, tables and figures from the results that are kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.common import best_within, markdown
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
CHOSEN = "validation, within the paper's cost; fresh rows"
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


def lead(mine: dict[str, Any], other: dict[str, Any]) -> float:
    """Points of accuracy on test rows by which one curve is above another, mean over costs both reach."""
    low = max(min(c for c, _ in own["curve"]) for own in (mine, other))
    costs = np.linspace(low, mine["cost"], 60)
    return float(
        100 * np.nanmean(best_within(mine["curve"], costs) - best_within(other["curve"], costs))
    )


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
            "Figure 2: both gates keep the SVM's accuracy; the linear one sends about 60 %", "picture",
            f"SVM {own['exact']:.3f}; {text}",
            "plane made from the text; fresh draw, as trees were chosen on the first",
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
        text = f"Figure 3: full accuracy at 1.5; the L1 gate needs 1.75 (here {against})"
        chosen = "cheapest of 16 trade-offs, fresh draw"
        found.append(settle(text, "1.0 at 1.5", tries, chosen, main=True))
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
        what, most, chosen = "a point", WITHIN, CHOSEN
        if name == "yahoo":  # a point would be a fifth of it
            what, most = "1 % of precision@5", WITHIN * own["existing"]
            chosen += f"; of {own['existing']:.3f}"
        tries = []
        for label, one in (("as trained", plain_of(own)), (MOVED, own)):
            if spent := one and one["budget"]:
                good = spent["lost"] <= most and spent["saved"] >= SAVED[name] - 0.01
                saved, points = cells(spent)
                tries.append(Try(label, f"{saved} at {points}", bool(good), label == MOVED))
        text = f"{figure}: saving within {what}, {NAMES[name]}, {model}"
        tries = tries or [Try("as trained", "no gate within the paper's cost", reached=False)]
        main = (model, name) not in (("forest", "yahoo"), ("forest", "letters"))
        found.append(settle(text, f"{SAVED[name]:.0%}", tries, chosen, main=main))
    return found


def leads(records: Records, mine: str, other: str, *, plain: bool) -> dict[str, float]:
    """Points by which one curve is above another, by panel; of gates as trained, or with thresholds moved."""
    found = {}
    for (model, name), figure in PANELS.items():
        own = methods_of(records, model, name)
        if mine in own and other in own:
            pair = [plain_of(own[m]) or own[m] if plain else own[m] for m in (mine, other)]
            twice = list(PANELS.values()).count(figure) > 1
            place = figure.removeprefix("Figure ") + (f" {model}" if twice else "")
            found[place] = lead(*pair)
    return found


GATE, LINEAR = ("ADAPT-GBRT", "ADAPT-GBRT"), ("ADAPT-LIN, no refits", "ADAPT-LIN")
PAIRS = (
    ("Figures 4 and 5: ADAPT-GBRT above Greedy Miser", GATE, ("Greedy Miser",) * 2, MOVED),
    ("Figures 4 and 5: ADAPT-GBRT above BudgetPrune", GATE, ("BudgetPrune",) * 2, MOVED),
    ("Figure 5: ADAPT-GBRT above ADAPT-LIN", GATE, LINEAR, MOVED),
    ("Figure 5: ADAPT-LIN above the L1 gate", LINEAR, ("L1 gate",) * 2, f"{MOVED} and support refits"),
)  # fmt: skip
"""Who is to be above whom: as trained, and with what of ours."""


def _orders(records: Records) -> list[Claim]:
    """Who is above whom, in all panels that have both."""
    found = []
    for text, mine, other, label in PAIRS:
        tries = []
        for k, kind in enumerate(("as trained", label)):
            if values := leads(records, mine[k], other[k], plain=k == 0):
                worst = min(values, key=lambda place: values[place])
                said = f"least {values[worst]:+.1f} ({worst})"
                tries.append(Try(kind, said, values[worst] >= 0, k == 1))
        if tries:
            main = other != LINEAR
            found.append(settle(text, "yes", tries, "points between test curves", main=main))
    return found


def lead_table(records: Records) -> str:
    """The same panel by panel."""
    rows = {
        (text.split(": ")[1], kind): leads(records, mine[k], other[k], plain=k == 0)
        for text, mine, other, label in PAIRS
        for k, kind in enumerate(("as trained", label)) if k == 0 or mine == LINEAR
    }  # fmt: skip
    places = dict.fromkeys(place for own in rows.values() for place in own)
    lines = [
        [f"{text}, {kind}", *(f"{own[place]:+.1f}" if place in own else "-" for place in places)]
        for (text, kind), own in rows.items()
    ]
    return f"### Points between curves\n\n{markdown(['mean over costs', *places], lines)}\n"


def _beyond(records: Records) -> list[Claim]:
    found = []
    for name in [n for n in ("fresh oracle gate", "oracle gate") if n in records][:1]:
        own = records[name]
        cost = own["as trained"][0]
        oracle = max(line[1] for line in own["oracle"] if line[0] <= cost + 1e-9)
        found.append(Claim(
            "Section 3: the gate that knows the losses is out of reach of a cheap gate", "words",
            f"{oracle:.3f} against {own['as trained'][1]:.3f} at {cost:.1f}; the SVM alone {own['existing'][1]:.3f}",
            "Letters, one cheap model; the oracle's gate pays nothing; 40 rounds after 300 tied on "
            + ("other rows, these are fresh" if name.startswith("fresh") else "these rows"),
            oracle > own["as trained"][1],
        ))  # fmt: skip
    if "stages" in records:
        own = records["stages"]
        pairs = [(own[f"stages {k}"], own[f"one stage {k}"]) for k in (2, 3)]
        text = "; ".join(
            f"{k} stages {a[1]:.3f} at {a[0]:.1f}, one {b[1]:.3f} at {b[0]:.1f}"
            for k, (a, b) in zip((2, 3), pairs, strict=True)
        )
        found.append(Claim(
            "Remark 2: a gate can stand before a gate; one stage does well already", "words", text,
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


def cell(found: dict[str, Any] | None) -> str:
    """The same in one cell."""
    return ", ".join(cells(found)) if found else "not reached"


def front_table(records: Records, model: str, name: str) -> str:
    """All methods around one model."""
    own = methods_of(records, model, name)
    first = next(iter(own.values()))
    base = first.get("existing", first["accuracy"])
    lines = []
    for method, one in own.items():
        plain = plain_of(one)
        spent = [cell((plain or one)["budget"]), cell(one["budget"]) if plain else "-"]
        lines.append([method, *spent])
    heads = ["saved, points", f"saving {SAVED[name]:.0%}, as the paper", MOVED]
    rows, theirs = (" / ".join(f"{n:,}" for n in own) for own in (first["rows"], TABLE_1[name][0]))
    what = "precision@5" if name == "yahoo" else "accuracy"
    return (
        f"### {PANELS[model, name]}: {NAMES[name]}, {model}\n\n{rows} rows (the paper: {theirs}), {TABLE_1[name][1]} "
        f"features. The {model} has {what} {base:.4f} at {first['cost']:.2f}.\n\n{markdown(heads, lines)}\n"
    )


def forty_table(records: Records) -> str:
    """What gates of few rounds gave on other rows, which is why they have more."""
    lines = []
    for model, name in PANELS:
        if one := methods_of(records, f"forty {model}", name).get("ADAPT-GBRT"):
            plain = plain_of(one)
            spent = [cell(plain["budget"]) if plain else "-", cell(one["budget"])]
            lines.append([f"{NAMES[name]}, {model}", f"{SAVED[name]:.0%}", *spent])
    if not lines:
        return ""
    return (
        "### The run before: 40 rounds\n\nOn another division (seed 100), in the present code. The sweep of gates is "
        "made for 300 rounds, which did better on a third division (seed 7: Letters): so they were allowed, and the "
        "rows above drawn anew.\n\n"
        f"{markdown(['saved, points', 'paper', 'as trained', MOVED], lines)}\n"
    )


def example_tables(records: Records) -> str:
    """Figures 2 and 3 in numbers."""
    own = records["synthetic-1"]
    lines = [["RBF-SVM", own["exact"], 1.0]]
    for key in ("ADAPT-LIN 1", "ADAPT-LIN 10", "ADAPT-GBRT 1", "ADAPT-GBRT 10"):
        name, rounds = key.split()
        lines.append([f"{name}, iteration {rounds}", own[key]["accuracy"], own[key]["sent"]])
    text = (
        "## Figures 2 and 3: Synthetic-1 and Synthetic-2\n\n![Examples](../figures/adapt-2017-examples.png)\n\n"
        "Synthetic-1: the trees of ADAPT-GBRT are one of six settings, chosen by their figures on these very rows; the "
        f"claim is of a fresh draw.\n\n{markdown(['who answers', 'accuracy', 'sent on'], lines)}\n"
    )
    lines = []
    for key, points in records["synthetic-2"].items():
        if not key.endswith("26 %"):  # the text needs the first two clusters to be larger
            continue
        point = cheapest(points, FULL) or [None, None]
        near = cheapest(points, FULL - 0.01) or [None, None]
        lines.append([key, point[0], near[0], near[1]])
    heads = ["method", "cost at full accuracy", "cost within a point", "accuracy there"]
    return text + (
        "Synthetic-2: **the 1.5 rests on support refits**, which are not the paper's; its algorithm alone is the line "
        '"no refits". ADAPT-LSTSQ is only named in the paper; its steps are derived here.\n\n'
        f"{markdown(heads, lines)}\n"
    )


HOW = """Rows are drawn with seed 300, on which nothing was decided; run once. Every method is swept and chosen on
validation rows. **As the paper**: the best within the paper's cost, gates as trained; **thresholds moved**: the same of
gates at other thresholds too. Points are test accuracy against the existing model, ± standard error of the paired
difference.

Gates have up to 300 rounds at rate 0.2, of depth 3, 5 or 8 as validation rows prefer (Forest 8; Yahoo and CIFAR 3, as
in the authors' program). Greedy Miser has up to 600 rounds of depth 6 (Yahoo and CIFAR 3) and eight values of lam;
BudgetPrune (2016) six values of lam and 0, 3 or 6 levels kept, from the same forest or, beside an SVM, one of 40 trees.
Bills hold what the gate read, which the authors' evaluation leaves out. "No refits" is the paper's ADAPT-LIN alone.

Sizes are parts of the paper's. MiniBooNE is the authors' sample; CIFAR has features of our own; Yahoo is generated with
its prices and judged by precision@5 (0.022 by chance; error over 20 groups of queries). Figure 4c ends at a cost near
100, where a plain forest costs thousands: so BudgetRF is an existing model too. In front of it no gate is cheap enough:
bills of a sweep are spread over what boosted trees would spend, which is far above BudgetRF's.
"""


def text(records: Records) -> str:
    """The long page."""
    from benchmarks.papers import adapt_2017

    page = records.heading(adapt_2017.PAPER)
    page += f"## Figures 4 and 5: what is saved\n\n![Curves](../figures/adapt-2017.png)\n\n{HOW}\n"
    page += "".join(front_table(records, m, n) for m, n in PANELS if methods_of(records, m, n))
    page += lead_table(records) + forty_table(records)
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
            "## The oracle's gate (section 3)\n\nIt keeps a row where the excess loss is at most eta times the cost "
            "saved. Around one cheap model of 40 rounds, Letters, test rows (with 300, which came first on "
            "these rows, the best within the budget is the cheap model alone, and both gates are one):\n\n"
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
            "## Several stages (Remark 2)\n\nLetters, SVM, depth 5: a gate before gates, and one that may spend as "
            f"much.\n\n{markdown(heads, lines)}"
        )
    return page + ending(adapt_2017.PAPER, records)
