"""Curves of the frontier benchmark, and the page made from them."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import machine, markdown
from benchmarks.parts._frontier_cases import Case

SHARES = np.geomspace(0.005, 1, 60)
WITHIN = 0.99
"""Share of the peers' best accuracy whose price is compared."""

PAIRED_ROWS = 1000
"""Sets of so many rows are compared row by row."""


def most_frequent(case: Case) -> Any:
    """The class that is answered for nothing."""
    labels, counts = np.unique(case.train[1], return_counts=True)
    return labels[np.argmax(counts)]


def with_nothing(lines: list[Any], case: Case) -> Any:
    """Figures of the models, after those of the most frequent class."""
    free = [float((y == most_frequent(case)).mean()) for _, y in (case.choose, case.test)]
    return np.array([[0.0, free[0], 0.0, free[1]], *(line[:4] for line in lines)])


class Models:
    """Some models and, for nothing, the most frequent class: their figures, and the test rows each got right."""

    def __init__(self, lines: list[Any], case: Case) -> None:
        self.lines = with_nothing(lines, case)
        free = np.packbits(case.test[1] == most_frequent(case))
        self._right = [free, *(unpacked(line[4]) for line in lines)]
        self._n = len(case.test[1])

    def right(self, model: int) -> Any:
        """Which test rows a model got right."""
        return np.unpackbits(self._right[model], count=self._n).astype(np.float32)

    def chosen(self, budgets: Any) -> list[tuple[int, int, float]]:
        """At each budget the model that is best on validation."""
        found = []
        for budget in budgets:
            fits = np.flatnonzero(self.lines[:, 0] <= budget * (1 + 1e-9))
            best = int(fits[np.argmax(self.lines[fits, 1])])
            found.append((best, best, 0.0))
        return found

    def mixed(self, budgets: Any) -> list[tuple[int, int, float]]:
        """The same for two models and a share of the second: the upper hull of the validation points."""
        lines, hull = self.lines, list[int]()
        for i in np.lexsort((-lines[:, 1], lines[:, 0])).tolist():
            if hull and lines[i, 1] <= lines[hull[-1], 1]:
                continue
            while len(hull) > 1:
                a, b = lines[hull[-2]], lines[hull[-1]]
                if (b[1] - a[1]) * (lines[i, 0] - a[0]) > (lines[i, 1] - a[1]) * (b[0] - a[0]):
                    break
                hull.pop()
            hull.append(i)
        bills, found = lines[hull, 0], []
        for budget in budgets:
            after = int(np.searchsorted(bills, budget, side="right"))
            low, high = hull[after - 1], hull[min(after, len(hull) - 1)]
            share = (
                0.0 if high == low else (budget - lines[low, 0]) / (lines[high, 0] - lines[low, 0])
            )
            found.append((low, high, float(share)))
        return found

    def curve(self, picks: Iterable[tuple[int, int, float]]) -> Any:
        """Test accuracies."""
        score = self.lines[:, 3]
        return np.array([(1 - share) * score[a] + share * score[b] for a, b, share in picks])


def unpacked(text: str) -> Any:
    """Bits kept as text."""
    return np.frombuffer(base64.b64decode(text), dtype=np.uint8)


def together(parts: list[Models]) -> Models:
    """All models of several peers."""
    found = object.__new__(Models)
    found._n = parts[0]._n
    found.lines = np.vstack([part.lines for part in parts])
    found._right = [right for part in parts for right in part._right]
    return found


class Split:
    """Curves of all on one split: ``curves[how][who]`` with how "one" or "mixed"; ``below[how]`` counts budgets."""

    def __init__(self, case: Case, kept: dict[str, Any], peers: Iterable[str]) -> None:
        self.n_rows = sum(len(part[1]) for part in case[:3])
        self.fits = kept["ours"]["seconds"] / max(kept["one fit"]["seconds"], 1e-9)
        models = {who: Models(kept[who]["result"], case) for who in (*peers, "ours")}
        self.peers = list(peers)
        models["any peer"] = together([models[peer] for peer in self.peers])
        budgets = SHARES * case.costs.total
        self.curves: dict[str, dict[str, Any]] = {}
        self.below: dict[str, dict[str, int]] = {}
        for how in ("one", "mixed"):
            choose = Models.chosen if how == "one" else Models.mixed
            picks = {who: choose(found, budgets) for who, found in models.items()}
            self.curves[how] = {who: models[who].curve(pick) for who, pick in picks.items()}
            self.below[how] = {
                who: sum(clearly_below(models["ours"], mine, models[who], theirs)
                         for mine, theirs in zip(picks["ours"], picks[who], strict=True))
                for who in (*self.peers, "any peer")
            }  # fmt: skip


def prices_of_near_best(curves: dict[str, Any]) -> tuple[float, float]:
    """Shares of the whole price at which any peer and ours come near the peers' best accuracy; 1 if never."""
    goal = WITHIN * float(curves["any peer"].max())
    theirs, mine = (
        float(SHARES[np.argmax(curves[who] >= goal)]) if curves[who].max() >= goal else 1.0
        for who in ("any peer", "ours")
    )
    return theirs, mine


def clearly_below(ours: Models, mine: Any, theirs: Models, other: Any) -> bool:
    """Whether the paired 95 % interval of ours less theirs lies below 0."""
    scores = []
    for models, (first, second, share) in ((ours, mine), (theirs, other)):
        right = models.right(first)
        scores.append(right if share == 0 else (1 - share) * right + share * models.right(second))
    difference = scores[0] - scores[1]
    return bool(difference.mean() + 1.96 * difference.std() / len(difference) ** 0.5 < 0)


def page(results: dict[tuple[str, str], list[Split]], given: Any) -> str:
    """Tables of all cases that were run."""
    heads = [
        "case", "splits", "any peer", "ours", "lead", "any peer, mixed", "ours, mixed", "lead, mixed",
        "best single peer", "LightGBM fits",
    ]  # fmt: skip
    table, near = [], []
    for (name, prices), splits in results.items():
        one, both = ({who: mean(s.curves[how][who] for s in splits) for who in splits[0].curves[how]}
                     for how in ("one", "mixed"))  # fmt: skip
        single = max(splits[0].peers, key=lambda peer, one=one: one[peer])
        table.append([
            f"{name}, {prices}", len(splits), one["any peer"], one["ours"], one["ours"] - one["any peer"],
            both["any peer"], both["ours"], both["ours"] - both["any peer"],
            f"{single} {one[single]:.4f}", mean(s.fits for s in splits),
        ])  # fmt: skip
        near.append([f"{name}, {prices}", *near_best(splits), *below(splits)])
    numbers = [[line[i] for line in table] for i in range(2, 8)]
    fits = [line[9] for line in table]
    table.append(["mean", "", *map(mean, numbers), "", f"median {np.median(fits):.1f}"])
    shown = [
        [f"{c:.4f}" if isinstance(c, float) and i < 9 else c for i, c in enumerate(line)]
        for line in table
    ]
    ratios = {i: [line[i] for line in near] for i in (3, 4, 7, 8)}
    headline = best_and_typical([line[0] for line in near], ratios[3]) + "\n"
    near.append(["mean", *(mean(ratios[i]) if i in ratios else "" for i in range(1, 13))])
    more = [
        "case", "any peer", "ours", "ratio", "split by split", "any peer, mixed", "ours, mixed", "ratio, mixed",
        "split by split, mixed", "clearly below any peer", "below a single peer", "mixed, below any peer",
        "mixed, below a single peer",
    ]  # fmt: skip
    return (
        f"# The frontier, against peers\n\n`python -m benchmarks.parts.frontier --data FOLDER --keep FILE`, "
        f"splits from seed {given.seed} on. {machine()}.\n\n{markdown(heads, shown)}\n"
        f"## What is paid for nearly the best, and where a peer is clearly ahead\n\n{markdown(more, near)}\n{headline}"
    )


def best_and_typical(cases: list[str], ratios: list[float]) -> str:
    """One sentence of what ours asks for nearly the best accuracy, as a share of what the peers ask."""
    order = np.argsort(ratios, kind="stable")
    best, worst = (f"{ratios[i]:.2g} of it on {cases[i]}" for i in (order[0], order[-1]))
    return (
        f"For 99 % of the best accuracy of any peer, ours asks for {np.median(ratios):.2f} of their money in the "
        f"typical case, the median; {best}, the best case, and {worst}, the worst."
    )


def near_best(splits: list[Split]) -> list[float]:
    """Shares of the whole price for nearly the peers' best accuracy, of one model and mixed.

    Those of any peer and of ours by the mean curves of all splits, their ratio, and the ratio of means over
    splits, each with a best accuracy of its own.
    """
    found = []
    for how in ("one", "mixed"):
        curves = {
            who: np.mean([s.curves[how][who] for s in splits], axis=0)
            for who in ("any peer", "ours")
        }
        theirs, mine = prices_of_near_best(curves)
        apart = np.mean([prices_of_near_best(s.curves[how]) for s in splits], axis=0)
        found += [theirs, mine, mine / theirs, float(apart[1] / apart[0])]
    return found


def below(splits: list[Split]) -> list[Any]:
    """Of the 60 budgets, at how many ours is clearly below any peer, and below the worst single rival."""
    if splits[0].n_rows < PAIRED_ROWS:
        return ["-"] * 4
    found = []
    for how in ("one", "mixed"):
        counts = [s.below[how] for s in splits]
        rival = max(splits[0].peers, key=lambda peer: sum(c[peer] for c in counts))
        most = mean(c[rival] for c in counts)
        found += [mean(c["any peer"] for c in counts), f"{rival} {most:.3g}" if most else "0"]
    return found


def mean(values: Any) -> float:
    """Mean of numbers or of curves, over all of them."""
    return float(np.mean(list(values)))


def draw(results: dict[tuple[str, str], list[Split]], path: str) -> None:
    """Curves of all cases, small multiples."""
    import matplotlib.pyplot as plt

    columns = 4
    rows = -(-len(results) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(3.1 * columns, 2.3 * rows), squeeze=False)
    looks = [
        ("any peer", "tab:gray", "the best of eight peers"),
        ("ours", "tab:blue", "BudgetClassifier"),
    ]
    for axis, ((name, prices), splits) in zip(axes.flat, results.items(), strict=False):
        for who, colour, name_of in looks:
            for how, line, label in (
                ("one", "-", name_of),
                ("mixed", ":", f"{name_of}, two mixed"),
            ):
                curve = np.mean([s.curves[how][who] for s in splits], axis=0)
                axis.plot(100 * SHARES, curve, line, color=colour, lw=1.3, label=label)
        axis.set_xscale("log")
        axis.set_title(f"{name}, {prices} prices", fontsize=10)
        axis.tick_params(labelsize=8)
        axis.set_xticks([1, 10, 100], ["1 %", "10 %", "100 %"])
    for axis in axes.flat[len(results) :]:
        axis.set_visible(False)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=4, fontsize=11, frameon=False)
    figure.supylabel("test accuracy", fontsize=11)
    figure.supxlabel("mean bill, as a share of the price of everything", fontsize=11, y=0.035)
    figure.tight_layout(rect=(0.01, 0.05, 1, 1))
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=70)
    plt.close(figure)
