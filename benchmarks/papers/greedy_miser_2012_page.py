"""The page of ``greedy_miser_2012``: tables, figures and claims from the results that it kept."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import markdown, write_page
from benchmarks.papers.claims import Claim, table

CLOSE = 0.99
"""Share of the NDCG@5 of stage-wise regression that counts as matching it."""

Results = dict[str, Any]


def by_share(results: Results, kind: str) -> dict[float, dict[str, Any]]:
    """Trainings of one kind by their lam as a share of the largest, from 0 up."""
    found = {
        float(key.split()[-1]): value
        for key, value in results.items()
        if key.startswith(f"{kind} ")
    }
    return dict(sorted(found.items()))


def matching(results: Results, account: str) -> tuple[float, dict[str, Any]]:
    """The cheapest Greedy Miser whose validation NDCG@5 is nearly that of stage-wise regression."""
    curve = by_share(results, "ranking")
    close = [
        (share, own) for share, own in curve.items() if own["held"] >= CLOSE * curve[0.0]["held"]
    ]
    return min(close, key=lambda pair: pair[1][account])


def scene_curve(results: Results) -> dict[tuple[str, float], np.ndarray]:
    """(ms, validation accuracy, test accuracy) of each method and setting, one line per draw."""
    found: dict[tuple[str, float], list[list[float]]] = {}
    for key, lines in results.items():
        if key.startswith("scene "):
            for method, setting, *figures in lines:
                found.setdefault((method, setting), []).append(figures)
    return {key: np.array(lines) for key, lines in found.items()}


def claims(results: Results) -> list[Claim]:
    """What the paper says of its figures."""
    full = by_share(results, "ranking")[0.0]
    by_validation = "cheapest lam whose validation NDCG@5 is at least 0.99 of stage-wise; depth 4 after 3 was seen too"
    found = []
    for account, name in (("by_model", "cost of the model"), ("by_row", "mean bill of a document")):
        _, best = matching(results, account)
        share = best[account] / full[account]
        found.append(
            Claim(
                f"Figure 1: nearly the NDCG@5 of stage-wise regression at a tenth of the cost ({name})",
                "1/10",
                f"{share:.3f} at {best['test'] / full['test'] - 1:+.1%}",
                by_validation,
                share <= 0.105,
            )
        )
    close = [own for own in results["exits"] if own["held"] >= CLOSE * full["held"]]
    least = min((own["by_model"] / full["by_model"] for own in close), default=1.0)
    found.append(
        Claim("Figure 1: Early Exit needs about half", "1/2", f"{least:.2f}", "the same rule", None)
    )
    bought = [own["prices"].get("200", 0.0) for share, own in by_share(results, "ranking").items()]
    always = sum(b > 0 for b in bought)
    found.append(
        Claim(
            "Figure 2: the feature of price 200 is always bought",
            "always",
            f"{always} of {len(bought)} lams",
            "generated documents: how much that feature tells is the generator's",
            always == len(bought),
        )
    )
    return found + scene_claims(results)


def scene_claims(results: Results) -> list[Claim]:
    """What the paper says of Figure 3."""
    curve = scene_curve(results)
    if not curve:
        return []
    svm, plain = curve[("SVM, averaged kernel", 0.0)], curve[("stage-wise", 0.0)]
    misers = {key: lines for key, lines in curve.items() if key[0] == "Greedy Miser"}
    close = [own for own in misers.values() if own[:, 1].mean() >= svm[:, 1].mean() - 0.01]
    share = min((own[:, 0].mean() / svm[:, 0].mean() for own in close), default=np.nan)
    best = max(misers.values(), key=lambda own: own[:, 1].mean())
    exits = max(
        (own for key, own in curve.items() if key[0] == "Early Exit"),
        key=lambda own: own[:, 1].mean(),
    )
    lasso = max(own[:, 2].mean() for key, own in curve.items() if key[0] == "L1")
    rule = f"validation accuracy within a point, mean of {len(svm)} draws"
    return [
        Claim(
            "Figure 3: the accuracy of an SVM on the averaged kernel at half its time", "1/2",
            f"{share:.3f} of the time" if np.isfinite(share) else
            f"not matched: {best[:, 2].mean():.3f} against {svm[:, 2].mean():.3f}", rule, bool(share <= 0.5),
        ),
        Claim(
            "Figure 3: Early Exit on classes saves little", "little",
            f"{exits[:, 0].mean() / plain[:, 0].mean():.2f} of stage-wise's time at its best", rule, None,
        ),
        Claim("Figure 3: L1 stays below the others", "at most 0.74", f"{lasso:.3f}", "its best setting on test rows",
              bool(lasso < best[:, 2].mean())),
    ]  # fmt: skip


def ranking_table(results: Results) -> str:
    """Models one by one."""
    curve = by_share(results, "ranking")
    full = curve[0.0]
    named = [
        (f"lam {share:.2g} of most" if share else "stage-wise", own) for share, own in curve.items()
    ]
    named += [(f"features up to {cap}", results[f"subset {cap}"]) for cap in (1, 20, 100)]
    named += [(f"Early Exit, s = {own['share']:g} sd", own) for own in results["exits"]]
    lines = [
        [name, own["by_model"], own["by_model"] / full["by_model"], own["by_row"], own["test"],
         f"{own['test'] / full['test'] - 1:+.1%}", own.get("rounds")]
        for name, own in named
    ]  # fmt: skip
    heads = ["model", "cost of model", "share", "mean bill", "NDCG@5", "to stage-wise", "trees"]
    return markdown(heads, lines)


def price_table(results: Results) -> str:
    """Figure 2 in numbers: which share of the features of each price is bought."""
    curve = by_share(results, "ranking")
    levels = sorted(next(iter(curve.values()))["prices"], key=float)
    lines = [
        [f"{share:.2g}", *(f"{own['prices'][level]:.0%}" for level in levels)]
        for share, own in curve.items()
    ]
    return markdown(["lam, of most", *(f"price {level}" for level in levels)], lines)


def rate_table(results: Results) -> str:
    """How little depends on the learning rate."""
    lines = []
    for key, own in results.items():
        if key.startswith("rate "):
            _, rate, share = key.split()
            lines.append([rate, share, own["by_model"], own["test"], own["rounds"]])
    shares = {line[1] for line in lines}
    for share, own in by_share(results, "ranking").items():
        if f"{share:g}" in shares:
            lines.append(["0.1", f"{share:g}", own["by_model"], own["test"], own["rounds"]])
    lines.sort(key=lambda line: (float(line[1]), float(line[0])))
    return markdown(["rate", "lam, of most", "cost of model", "NDCG@5", "trees"], lines)


def split_table(results: Results) -> str:
    """Best use of one budget for features and trees together, by the price of a tree."""
    curve = by_share(results, "ranking")
    full = curve[0.0]["by_model"]
    lines = []
    for tree in (0.1, 1.0, 10.0):
        for part in (0.05, 0.2, 0.5):
            budget = part * full
            points = [
                (held, cost, number, test)
                for own in curve.values()
                for number, cost, held, test in own["trace"]
                if cost + tree * number <= budget
            ]
            if points:
                _, cost, number, test = max(points)
                lines.append([f"{tree:g}", budget, cost, tree * number, int(number), test])
    heads = ["price of a tree", "budget", "for features", "for trees", "trees", "NDCG@5"]
    return markdown(heads, lines)


def monotone(results: Results) -> str:
    """Whether the curve over lam falls, in standard errors."""
    curve, worst = list(by_share(results, "ranking").values()), 0.0
    for dear, cheap in itertools.pairwise(curve):
        gap = np.subtract(cheap["groups"], dear["groups"])
        worst = max(worst, float(gap.mean() / (gap.std(ddof=1) / np.sqrt(len(gap)) + 1e-12)))
    falls = all(a["by_model"] >= b["by_model"] for a, b in itertools.pairwise(curve))
    return (
        f"With rising lam the cost {'never rises' if falls else 'rises somewhere'}; the largest rise of NDCG@5 "
        f"from one to the next is {worst:.1f} standard errors (within noise below about 2).\n"
    )


def scene_table(results: Results) -> str:
    """Figure 3 in numbers."""
    lines = [
        [method, setting, own[:, 0].mean(), own[:, 2].mean(),
         own[:, 2].std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else None]
        for (method, setting), own in scene_curve(results).items()
    ]  # fmt: skip
    return markdown(["method", "setting", "ms by row", "accuracy", "standard error"], lines)


def draw(results: Results, folder: Path) -> None:
    """Figures 1 (left), 2 and 3."""
    import matplotlib.pyplot as plt

    from worthwhile.plots._style import clean

    folder.mkdir(parents=True, exist_ok=True)
    curve = by_share(results, "ranking")
    figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
    for share, own in curve.items():
        steps = np.array(own["trace"])
        axes[0].plot(steps[:, 1], steps[:, 3], "--", color="0.6" if share else "0.2", lw=0.8)
    best = [(own["by_model"], own["test"]) for own in curve.values()]
    axes[0].plot(
        *zip(*best, strict=True), "o-", color="#b2182b", ms=4, label="best round on validation"
    )
    axes[0].set(
        xscale="log", xlabel="cost of the model", ylabel="NDCG@5", title="Figure 1, left: traces"
    )
    axes[0].legend(frameon=False)
    levels = sorted(next(iter(curve.values()))["prices"], key=float)
    shares = [max(share, min(s for s in curve if s) / 3) for share in curve]
    for level in levels:
        axes[1].plot(
            shares, [own["prices"][level] for own in curve.values()], ".-", label=f"price {level}"
        )
    axes[1].set(
        xscale="log",
        xlabel="lam, of most (left end: 0)",
        ylabel="bought",
        title="Figure 2: by price",
    )
    axes[1].legend(frameon=False, fontsize=8)
    scenes: dict[str, list[np.ndarray]] = {}
    for (method, _), own in scene_curve(results).items():
        scenes.setdefault(method, []).append(own.mean(axis=0))
    for method, points in scenes.items():
        line = np.array(sorted(points, key=lambda p: p[0]))
        axes[2].plot(line[:, 0], line[:, 2], ".-" if len(line) > 1 else "s", label=method)
    axes[2].set(xscale="log", xlabel="ms by image", ylabel="accuracy", title="Figure 3: scenes")
    axes[2].legend(frameon=False, fontsize=8)
    for ax in axes:
        clean(ax)
    figure.savefig(folder / "greedy-miser-2012.png", dpi=90)
    plt.close(figure)


def text(results: Results) -> str:
    """The page."""
    *sizes, rounds = results["sizes"]
    documents = " / ".join(str(size[0]) for size in sizes)
    queries = " / ".join(str(size[1]) for size in sizes)
    return f"""# The Greedy Miser (ICML 2012)

`python -m benchmarks.papers.greedy_miser_2012 --save benchmarks/papers/results/greedy_miser_2012.jsonl --page docs`.
{results["machine"]}.

{table(claims(results))}
![Traces, purchases by price, scenes](../figures/greedy-miser-2012.png)

## Ranking (Figures 1 and 2)

{documents} documents of {queries} queries of Yahoo's shape for training / validation / test, at most {rounds} trees of
depth 4 (the paper: 473134 documents, 3000 trees). Rounds are chosen on validation documents.

{ranking_table(results)}
{monotone(results)}
Which share of the features of each price the model has bought at its best round:

{price_table(results)}
Other learning rates, each with its best round:

{rate_table(results)}
One budget for features and trees together (the constraint of equation 2), split by what validation documents prefer:

{split_table(results)}
## Scenes (Figure 3)

Generated in the shape of Scene-15: 184 descriptors, 15 scores from each; the first score of a descriptor pays for its
extraction. 1050 / 300 / 2685 images, 300 rounds of 15 trees of depth 3, means over draws.

{scene_table(results)}
"""


def write(results: Results, docs: Path) -> None:
    """Put the page and its figures below a folder of documentation."""
    draw(results, docs / "figures")
    write_page(docs / "reproduction" / "greedy_miser_2012.md", text(results))
