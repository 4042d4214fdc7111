"""What a user gets with nothing set: boosters side by side, and every class beside its script's settings.

    python -m benchmarks.parts.defaults [--data FOLDER] [--sets a,b] [--learners a,b] [--splits 3]
        [--keep benchmarks/parts/defaults.jsonl] [--out docs/reproduction/defaults.md] [--page]

All features are free here: only what the models are worth counts. Defaults were chosen on other sets than
these. Fits run on one thread each, so that their times compare; what is done is kept, and not done again.
``--page`` writes the page from what was kept. A class is added by a line of ``CLASSES``.
"""

from __future__ import annotations

import importlib.util
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.base import is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import worthwhile
from benchmarks.common import Kept, load, machine, markdown, options, write
from benchmarks.parts import _rankers

KEPT = "benchmarks/parts/defaults.jsonl"
SHARE = 0.7
"""Of the rows that train."""


def letters_n_to_z(folder: str | None) -> tuple[Any, Any]:
    """The 13 letters of the second half of the alphabet."""
    X, y, _ = load("letters", folder)
    second = y >= np.unique(y)[13]
    return some(X[second], y[second], 4000)


def some(X: Any, y: Any, rows: int) -> tuple[Any, Any]:
    """At most so many rows, the same ones each time."""
    chosen = np.sort(np.random.default_rng(0).permutation(len(y))[:rows])
    return X[chosen], y[chosen]


def rows_of(name: str, rows: int) -> Callable[[str | None], tuple[Any, Any]]:
    return lambda folder: load(name, folder, rows)[:2]


SETS: dict[str, Callable[[str | None], tuple[Any, Any]]] = {
    "heart": rows_of("heart", 10**6),
    "ionosphere": rows_of("ionosphere", 10**6),
    "pima": rows_of("pima", 10**6),
    "segmentation": rows_of("segmentation", 10**6),
    "miniboone_sample": rows_of("miniboone_sample", 10**6),
    "letters N-Z": letters_n_to_z,
    "forest": rows_of("forest", 4000),
    "26 letters": rows_of("letters", 4000),
    "cifar10_hog400": rows_of("cifar10_hog400", 1000),
    "usps": rows_of("usps", 1000),
}
"""Ten sets, by what fits take; none of them chose a default."""


def lightgbm(seed: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, verbose=-1, random_state=seed)


def catboost(seed: int) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        thread_count=1, verbose=0, random_seed=seed, allow_writing_files=False
    )


LEARNERS: dict[str, tuple[str, Callable[[int], Any]]] = {
    # module it needs, and the learner with nothing set but threads, seed and silence
    "Greedy Miser": ("worthwhile", lambda seed: worthwhile.GreedyMiserClassifier(n_jobs=1)),
    "LightGBM": ("lightgbm", lightgbm),
    "HistGradientBoosting": (
        "sklearn", lambda seed: HistGradientBoostingClassifier(random_state=seed)
    ),
    "CatBoost": ("catboost", catboost),
}  # fmt: skip


def boosted(X: Any, y: Any) -> dict[str, Any]:
    """Trees for Early Exit to leave, as the paper's script grows them."""
    model = worthwhile.GreedyMiserClassifier(preset="paper", n_rounds=200, max_depth=3, n_jobs=1)
    return {"model": model.fit(X, y)}


def forest(X: Any, y: Any) -> dict[str, Any]:
    """A forest for BudgetPrune to prune, as the paper's script grows it."""
    grown = RandomForestClassifier(40, criterion="entropy", random_state=0, n_jobs=1)
    return {"forest": grown.fit(X, y), "n_jobs": 1}


def in_front(X: Any, y: Any) -> dict[str, Any]:
    """A forest for gates to stand in front of, as the paper's script grows it; it knows these rows."""
    return {"existing": forest(X, y)["forest"], "random_state": 0, "n_jobs": 1}


def alone(X: Any, y: Any) -> dict[str, Any]:
    return {"n_jobs": 1}


@dataclass(frozen=True)
class Case:
    """A class with nothing set, and as the script of its paper sets it, on a set of that paper."""

    name: str
    data: str
    rows: int
    script: dict[str, Any]
    binary: bool = False
    """Second half of the classes against the first, as the paper has it."""
    given: Callable[[Any, Any], dict[str, Any]] = alone
    """What both get: a model that the class stands on, from the training rows."""

    def make(self, params: dict[str, Any]) -> Callable[[Any, Any], Any]:
        """The class with these settings, from training rows."""
        return lambda X, y: getattr(worthwhile, self.name)(**self.given(X, y), **params)


MINIBOONE = "miniboone_sample"

CLASSES = [
    Case(
        "GreedyMiserClassifier", "letters", 4000,
        {"max_depth": 8, "newton": True, "learning_rate": 0.2, "min_samples_leaf": 10, "n_rounds": 200,
         "split_noise": 0},
        binary=True,
    ),
    Case(
        "GreedyMiserClassifier", MINIBOONE, 10**6,
        {"max_depth": 3, "newton": True, "learning_rate": 0.1, "min_samples_leaf": 10, "n_rounds": 100,
         "split_noise": 0},
    ),
    Case("SubmodularTreeClassifier", MINIBOONE, 1500, {"budget": 10, "routing": "soft"}),
    Case("CostSensitiveTreeClassifier", MINIBOONE, 1500, {"lam": 0.07, "max_iter": 30}),
    Case("CascadeClassifier", MINIBOONE, 1500, {"lam": 0.001, "n_stages": 3, "max_depth": 2, "preset": "paper"}),
    Case("BudgetedForestClassifier", MINIBOONE, 1500, {"preset": "paper"}),
    Case("BudgetedForestClassifier", "forest", 4000, {"preset": "paper"}),
    Case("PrunedForestClassifier", MINIBOONE, 1500, {"lam": 0.006, "keep_levels": 5}, given=forest),
    Case("EarlyExitClassifier", MINIBOONE, 1500, {"threshold": 0.9}, given=boosted),
    Case("DynamicSelectionClassifier", "ionosphere", 10**6, {"lam": 0.5, "adapt": 3}),
    Case("StaticOrderClassifier", "ionosphere", 10**6, {"masked": False}),
    Case("CostWeightedL1Classifier", MINIBOONE, 1500, {"lam": 0.0122, "tol": 1e-6, "n_path": 4}),
    Case("CostWeightedL1Regressor", MINIBOONE, 1500, {"lam": 0.003, "tol": 1e-9}),
    Case("SubmodularTreeRegressor", MINIBOONE, 1500, {"budget": 10, "routing": "soft"}),
    Case("CostSensitiveTreeRegressor", MINIBOONE, 1500, {"lam": 0.07, "max_iter": 30}),
    Case("AdaptiveBoostingClassifier", MINIBOONE, 1500, {"max_drop": 0.01, "n_rounds": 300}, given=in_front),
    Case("AdaptiveLinearClassifier", MINIBOONE, 1500, {"max_drop": 0.01}, given=in_front),
    Case("L1GateClassifier", MINIBOONE, 1500, {"max_drop": 0.01}, given=in_front),
]  # fmt: skip


def measure(make: Callable[[Any, Any], Any], rows: tuple[Any, Any], seed: int) -> dict[str, float]:
    """Accuracy, log-loss, seconds of one core, and the mean bill as a share of all features' price."""
    X, y = rows
    codes = np.unique(y, return_inverse=True)[1]
    train, test = train_test_split(
        np.arange(len(y)), train_size=SHARE, random_state=seed, stratify=codes
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(X[train], codes[train])
        start = time.process_time()
        model.fit(X[train], codes[train] if is_classifier(model) else 2.0 * codes[train] - 1)
        seconds = time.process_time() - start
    found = {**_right(model, X[test], codes[test]), "seconds": seconds, "rows": len(test)}
    if hasattr(model, "costs_"):
        found["bill"] = float(
            model.cost(X[test]).mean() / model.costs_.price(np.ones(X.shape[1], bool))
        )
    return found


def _right(model: Any, X: Any, codes: Any) -> dict[str, float]:
    """Accuracy and log-loss; of what predicts numbers, which learned +1 and -1, how often the sign is right."""
    if not is_classifier(model):
        return {"accuracy": float(((model.predict(X) > 0) == codes).mean())}
    proba = np.asarray(model.predict_proba(X))
    return {
        "accuracy": float((proba.argmax(axis=1) == codes).mean()),
        "loss": float(log_loss(codes, proba, labels=np.arange(proba.shape[1]))),
    }


def measure_new(make: Callable[[int], Any], rows: tuple[Any, Any], seed: int) -> dict[str, float]:
    return measure(lambda X, y: make(seed), rows, seed)


def run_boosters(given: Any, kept: Kept) -> None:
    """All learners on all sets and splits, one set after the other."""
    names = given.learners.split(",") if given.learners else list(LEARNERS)
    for name in given.sets.split(",") if given.sets else SETS:
        rows = SETS[name](given.data)
        for learner in names:
            module, make = LEARNERS[learner]
            if importlib.util.find_spec(module) is None:
                continue
            if learner == "Greedy Miser":
                make(0).set_params(n_rounds=1).fit(*some(*rows, 500))  # compiles once
            for seed in range(given.splits):
                key = f"{name}/{learner}/{seed}"
                kept.get(key, partial(measure_new, make, rows, seed))
                print(key, kept.found[key], flush=True)


def run_classes(given: Any, kept: Kept) -> None:
    """Each class twice: with nothing set, and as its script sets it."""
    for case in CLASSES:
        if given.only and given.only not in case.name:
            continue
        X, y, _ = load(case.data, given.data, case.rows)
        if case.binary:
            y = (np.unique(y, return_inverse=True)[1] >= len(np.unique(y)) // 2).astype(int)
        for label, params in (("defaults", {}), ("script", case.script)):
            for seed in range(given.splits):
                key = f"class {case.name} {case.data}/{label}/{seed}"
                kept.get(key, partial(measure, case.make(params), (X, y), seed))
                print(key, kept.found[key], flush=True)


def results(kept: Kept, key: str, splits: int) -> list[dict[str, float]]:
    return [kept.found[f"{key}/{s}"] for s in range(splits) if f"{key}/{s}" in kept.found]


def of_all(kept: Kept, splits: int) -> dict[str, list[list[dict[str, float]]]]:
    """By set, the results of every learner on the splits that all of them have run."""
    found = {}
    for name in SETS:
        parts = [results(kept, f"{name}/{learner}", splits) for learner in LEARNERS]
        if common := min(len(part) for part in parts):
            found[name] = [part[:common] for part in parts]
    return found


def booster_table(kept: Kept, splits: int) -> str:
    """Accuracies, mean ranks and times, over the sets on which all learners have run."""
    lines, ranks, ratios = [], [], []
    every = of_all(kept, splits)
    for name, found in every.items():
        means = [float(np.mean([one["accuracy"] for one in part])) for part in found]
        seconds = [float(np.median([one["seconds"] for one in part])) for part in found]
        ranks.append(rankdata([-round(mean, 4) for mean in means]))
        ratios.append([took / seconds[1] for took in seconds])
        count = len(found[0])
        error = np.mean(
            [np.std([one["accuracy"] for one in part], ddof=1) if count > 1 else 0 for part in found]
        ) / np.sqrt(count)  # fmt: skip
        shown = f"{100 * error:.2f}" if count > 1 else "-"
        lines.append([name, *(f"{100 * mean:.2f}" for mean in means), shown, str(count)])
    if not lines:
        return "Nothing was run.\n"
    lines.append(["mean rank", *(f"{rank:.2f}" for rank in np.mean(ranks, axis=0)), "-", "-"])
    lines.append(
        ["time to LightGBM's, median", *(f"{r:.2f}" for r in np.median(ratios, axis=0)), "-", "-"]
    )
    missing = [name for name in SETS if name not in every]
    first, *others = np.mean(ranks, axis=0)
    text = (
        f"\nGreedy Miser's mean rank is to be no worse than any other's: over these {len(ranks)} sets it "
        f"{'is' if first <= min(others) else 'is not yet'}."
    )
    if missing:
        text += f" Not run with all learners yet: {', '.join(missing)}."
    heads = ["accuracy, %", *LEARNERS, "standard error", "splits"]
    return markdown(heads, lines) + text + "\n"


def loss_table(kept: Kept, splits: int) -> str:
    """Log-losses on the same splits: whether probabilities hold."""
    lines, ranks = [], []
    for name, found in of_all(kept, splits).items():
        means = [float(np.mean([one["loss"] for one in part])) for part in found]
        ranks.append(rankdata(np.round(means, 4)))
        lines.append([name, *(f"{mean:.3f}" for mean in means)])
    if not lines:
        return "Nothing was run.\n"
    lines.append(["mean rank", *(f"{rank:.2f}" for rank in np.mean(ranks, axis=0))])
    return markdown(["log-loss", *LEARNERS], lines)


def class_table(kept: Kept, splits: int) -> str:
    """Defaults beside the settings of the scripts."""
    lines = []
    for case in CLASSES:
        key = f"class {case.name} {case.data}"
        ours, script = (results(kept, f"{key}/{label}", splits) for label in ("defaults", "script"))
        common = min(len(ours), len(script))
        if not common:
            continue
        ours, script = ours[:common], script[:common]
        gaps = [a["accuracy"] - b["accuracy"] for a, b in zip(ours, script, strict=True)]
        p = float(np.mean([one["accuracy"] for one in script]))
        error = float(np.sqrt(p * (1 - p) / ours[0]["rows"]))
        verdict = "yes" if np.mean(gaps) >= -error else "no"
        lines.append(
            [
                f"`{case.name}`", case.data,
                *(f"{100 * np.mean([one['accuracy'] for one in part]):.2f}" for part in (ours, script)),
                f"{100 * error:.2f}", verdict, *(_bill(part) for part in (ours, script)),
            ]
        )  # fmt: skip
    heads = [
        "class", "set", "defaults", "script", "standard error", "within it", "bill, % of all", "script's",
    ]  # fmt: skip
    return markdown(heads, lines) if lines else "Nothing was run.\n"


def _bill(part: list[dict[str, float]]) -> str:
    bills = [one["bill"] for one in part if "bill" in one]
    return f"{100 * np.mean(bills):.0f}" if bills else "-"


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--sets", help=f"some of: {', '.join(SETS)}")
    parser.add_argument("--learners", help=f"some of: {', '.join(LEARNERS)}")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--keep", default=KEPT, metavar="FILE")
    parser.add_argument(
        "--page", action="store_true", help="only write the page from what was kept"
    )
    parser.add_argument("--classes", action="store_true", help="only the classes, not the boosters")
    parser.add_argument("--only", help="of the classes, only those whose name has this in it")
    given = parser.parse_args()
    given.data = given.data or os.environ.get("WORTHWHILE_DATA")
    kept = Kept(given.keep)
    if not given.page:
        if not given.classes:
            run_boosters(given, kept)
        if not given.sets:
            run_classes(given, kept)
            if not given.only or any(given.only in name for name in _rankers.CLASSES):
                _rankers.run(given.data, kept)
    text = (
        "# With nothing set\n\n"
        f"`python -m benchmarks.parts.defaults --splits {given.splits}`. {machine()}.\n\n"
        "## Boosters at their defaults, all features free\n\n"
        f"Mean accuracy over up to {given.splits} random splits of 70 / 30; ranks by mean accuracy, ties shared. Time "
        "is processor time of one thread.\n\n"
        f"{booster_table(kept, given.splits)}\n"
        f"{loss_table(kept, given.splits)}\n"
        "Greedy Miser's defaults (Newton steps, trees of depth 6, 200 rounds, leaves of 20 rows, noise of 0.5 in "
        "splits, a rate of 0.1 and less below 2,000 rows, early stopping from 10,000 rows on) were chosen on nine "
        "other sets.\n\n"
        "## Each class beside the settings of its script\n\n"
        f"{class_table(kept, given.splits)}\n"
        f"{_rankers.table(kept)}"
    )
    write(given.out, text)


if __name__ == "__main__":
    main()
