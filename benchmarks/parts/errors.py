"""Total cost per case, tests and errors, against optimal cost-sensitive trees.

    python -m benchmarks.parts.errors --data FOLDER [--keep FILE] [--splits 10] [--out PAGE] [--figure FILE]

Heart and pima with real prices and groups; a wrong answer costs 0.15, 0.3 or 0.9 of the price of all features.
Everybody gets the same four fifths of the rows. ``BudgetClassifier(costs=costs, worth=price)`` is fitted on them as it
is. The trees of pystreed are optimal for these very prices on the rows that they are given: with its defaults (depth 3)
and its own tuning of the size, or with depth, thresholds and size of leaves chosen on a quarter of the rows and fitted
again on all of them. LightGBM buys everything and decides by calibrated probabilities. Totals are of the last fifth;
bills are exact and by row.
"""

from __future__ import annotations

import itertools
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.common import Kept, machine, markdown, options, write
from benchmarks.parts._frontier_cases import Case, load_case
from worthwhile import BudgetClassifier, Costs

SETS = ("heart", "pima")
SHARES = (0.15, 0.3, 0.9)
DEPTHS, THRESHOLDS, LEAVES = (1, 2, 3, 4), (5, 10), (1, 5, 10)
"""What is tried for pystreed."""


# Peers --------------------------------------------------------------------------------------------


class Optimal:
    """A tree of pystreed over thresholds of the columns, with the bill of each row."""

    def __init__(self, costs: Costs, worth: float, thresholds: int, **how: Any) -> None:
        self.costs, self.worth, self.thresholds, self.how = costs, worth, thresholds, how

    def fit(self, X: Any, y: Any) -> Optimal:
        """Let it find the tree of the least total."""
        from pystreed import STreeDCostSensitiveClassifier
        from pystreed.data import CostSpecifier, FeatureCostSpecifier

        levels = np.linspace(0, 1, self.thresholds + 2)[1:-1]
        cuts = [np.unique(np.quantile(x, levels, method="lower")) for x in X.T]
        self.cuts = [c[c < x.max()] for c, x in zip(cuts, X.T, strict=True)]
        ends = np.cumsum([0, *map(len, self.cuts)])
        flat, specified = self.costs.flat, []
        group = {f: name for name, g in self.costs.groups.items() for f in g.features}
        for f in range(X.shape[1]):
            if len(self.cuts[f]):
                own, alone = flat.price[f] * 1e-9, flat.alone[f] * 1e-9
                first, last = int(ends[f]), int(ends[f + 1]) - 1
                specified.append(FeatureCostSpecifier(alone, own, group.get(f, f"g{f}"), first, last))  # fmt: skip
        self.feature = np.repeat(np.arange(X.shape[1]), np.diff(ends))
        prices = [[0.0, self.worth], [self.worth, 0.0]]
        model = STreeDCostSensitiveClassifier(time_limit=120, **self.how)
        model.fit(self._binary(X), y, CostSpecifier(prices, specified))
        self.tree = model.get_tree()
        return self

    def _binary(self, X: Any) -> Any:
        return np.column_stack(
            [x[:, None] > c[None, :] for x, c in zip(X.T, self.cuts, strict=True)]
        ).astype(np.int32)

    def total(self, X: Any, y: Any) -> tuple[float, float]:
        """Mean bill, and mean total."""
        tests = self._binary(X)
        bought, wrong = np.zeros(X.shape, dtype=bool), np.zeros(len(X))
        for row in range(len(X)):
            node = self.tree
            while node.is_branching_node():
                bought[row, self.feature[node.feature]] = True
                node = node.right_child if tests[row, node.feature] else node.left_child
            wrong[row] = node.label != y[row]
        bill = float(self.costs.price(bought).mean())
        return bill, bill + self.worth * float(wrong.mean())


def joined(case: Case) -> tuple[Any, Any]:
    """All rows that nobody is judged by."""
    (X, y), (X_more, y_more) = case.train, case.choose
    return np.vstack([X, X_more]), np.concatenate([y, y_more])


def optimal(case: Case, worth: float) -> tuple[float, float]:
    """With the defaults of pystreed, and its own tuning."""
    model = Optimal(case.costs, worth, THRESHOLDS[0], hyper_tune=True)
    return model.fit(*joined(case)).total(*case.test)


def optimal_tuned(case: Case, worth: float) -> tuple[float, float]:
    """With settings that are best on rows held out, fitted again on all."""

    def make(depth: int, thresholds: int, leaf: int) -> Optimal:
        how = {"max_depth": depth, "min_leaf_node_size": leaf}
        return Optimal(case.costs, worth, thresholds, **how)

    tried = list(itertools.product(DEPTHS, THRESHOLDS, LEAVES))
    seen = [make(*how).fit(*case.train).total(*case.choose)[1] for how in tried]
    return make(*tried[int(np.argmin(seen))]).fit(*joined(case)).total(*case.test)


def everything(case: Case, worth: float) -> tuple[float, float]:
    """LightGBM on all features; with one price for every error the likeliest class is the decision."""
    import lightgbm
    from sklearn.calibration import CalibratedClassifierCV

    plain = lightgbm.LGBMClassifier(min_child_samples=5, n_jobs=1, random_state=0, verbose=-1)
    model = CalibratedClassifierCV(plain, cv=5).fit(*joined(case))
    wrong = float((model.predict(case.test[0]) != case.test[1]).mean())
    return case.costs.total, case.costs.total + worth * wrong


def nothing(case: Case, worth: float) -> tuple[float, float]:
    """The most frequent class, for nothing."""
    labels, counts = np.unique(joined(case)[1], return_counts=True)
    wrong = float((case.test[1] != labels[np.argmax(counts)]).mean())
    return 0.0, worth * wrong


def ours(case: Case, worth: float) -> tuple[float, float]:
    """At its defaults."""
    model = BudgetClassifier(costs=case.costs, worth=worth, n_jobs=1, random_state=0)
    model.fit(*joined(case))
    X, y = case.test
    bill = float(model.cost(X).mean())
    return bill, bill + worth * float((model.predict(X) != y).mean())


METHODS = {
    "ours": ours, "pystreed": optimal, "pystreed, tuned": optimal_tuned, "LightGBM, all features": everything,
    "nothing bought": nothing,
}  # fmt: skip


# Tables -------------------------------------------------------------------------------------------


def run(name: str, share: float, seed: int, folder: str, kept: Kept) -> dict[str, Any]:
    """Totals of one split, as they were kept or are made now."""
    case = load_case(name, "real", folder, seed)
    worth = round(share * case.costs.total, 2)

    def make(method: Any) -> dict[str, float]:
        start = time.process_time()
        bill, total = method(case, worth)
        return {"bill": bill, "total": total, "seconds": time.process_time() - start}

    return {
        who: kept.get(f"{name} {share} {seed} {who}", lambda method=method: make(method))
        for who, method in METHODS.items()
    }


def page(results: dict[tuple[str, float], list[dict[str, Any]]]) -> str:
    """Mean totals, and ours less pystreed's with its standard error over the splits."""
    heads = ["set, price of an error", *METHODS, "ours - pystreed, tuned", "our bill", "its bill"]
    lines = []
    for (name, share), splits in results.items():
        means = [float(np.mean([split[who]["total"] for split in splits])) for who in METHODS]
        apart = [split["ours"]["total"] - split["pystreed, tuned"]["total"] for split in splits]
        error = float(np.std(apart, ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else 0.0
        bills = [np.mean([s[who]["bill"] for s in splits]) for who in ("ours", "pystreed, tuned")]
        lines.append([
            f"{name}, {share:g} of everything", *(f"{mean:.2f}" for mean in means),
            f"{np.mean(apart):+.2f} +- {error:.2f}", *(f"{bill:.2f}" for bill in bills),
        ])  # fmt: skip
    seconds = [
        float(np.mean([split[who]["seconds"] for splits in results.values() for split in splits]))
        for who in METHODS
    ]
    timed = ", ".join(f"{who} {s:.1f}" for who, s in zip(METHODS, seconds, strict=True))
    return f"{markdown(heads, lines)}\nSeconds of processor time per training: {timed}.\n"


def draw(results: dict[tuple[str, float], list[dict[str, Any]]], path: str) -> None:
    """Mean totals over those of buying nothing, by the price of an error; bars are standard errors."""
    import matplotlib.pyplot as plt

    figure, grid = plt.subplots(1, len(SETS), figsize=(4.4 * len(SETS), 3.2), layout="constrained")
    styles = {"ours": ("#0b3c5d", "-"), "pystreed": ("#d1495b", "--"), "pystreed, tuned": ("#b8860b", ":")}  # fmt: skip
    for ax, name in zip(grid, SETS, strict=True):
        for who, (colour, line) in styles.items():
            means, errors = [], []
            for share in SHARES:
                splits = results[name, share]
                base = np.mean([split["nothing bought"]["total"] for split in splits])
                shares = np.array([split[who]["total"] for split in splits]) / base
                means.append(shares.mean())
                errors.append(shares.std(ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else 0)
            ax.errorbar(
                SHARES,
                means,
                errors,
                color=colour,
                linestyle=line,
                marker="o",
                capsize=3,
                label=who,
            )
        ax.axhline(1, color="0.6", linewidth=0.8)
        ax.set_xscale("log")
        ax.set_xticks(SHARES, SHARES)
        ax.minorticks_off()
        ax.set_title(name)
        ax.set_xlabel("price of an error, in prices of everything")
        ax.spines[["top", "right"]].set_visible(False)
    grid[0].set_ylabel("total per case, buying nothing = 1")
    grid[0].legend(frameon=False)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--figure", metavar="FILE", help="draw the curves into this file")
    parser.add_argument("--keep", metavar="FILE", help="what was run, to go on with")
    parser.add_argument("--splits", type=int, default=10)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    rng = np.random.default_rng(0)
    BudgetClassifier(n_trees=2).fit(rng.normal(size=(50, 3)), np.arange(50) % 2)  # compiles
    kept = Kept(given.keep)
    seeds = range(given.seed, given.seed + given.splits)
    results = {
        (name, share): [run(name, share, seed, given.data, kept) for seed in seeds]
        for name in SETS
        for share in SHARES
    }
    write(
        given.out,
        f"# Total cost: tests and errors\n\n`python -m benchmarks.parts.errors --data FOLDER`, {given.splits} splits "
        f"from seed {given.seed} on. {machine()}.\n\n{page(results)}",
    )
    if given.figure:
        draw(results, given.figure)


if __name__ == "__main__":
    main()
