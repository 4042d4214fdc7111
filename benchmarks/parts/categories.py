"""Category columns: Greedy Miser with free features beside LightGBM's and CatBoost's own categories.

    python -m benchmarks.parts.categories --data FOLDER [--quick] [--out docs/reproduction/categories.md]

Accuracy: two tables of people with text columns (``german_credit.csv``, ``adult.csv.gz``), five random
splits, the same number of trees, learning rate and depth, Newton steps, all training rows, everything else by
default. Leaves have at least 5 rows: LightGBM estimates how many there are from their curvature, so that with
20 it has leaves of far fewer where classes are uncertain, and the two would not mean the same. Speed:
500,000 rows of ten categories of 2 to 200 levels and ten numbers, binned and trained in turns with LightGBM,
with the same threads.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks.common import heading, markdown, options, write
from worthwhile import GreedyMiserClassifier

TABLES = {
    # file, trees, learning rate, depth
    "german_credit.csv": (150, 0.05, 4),
    "adult.csv.gz": (150, 0.1, 5),
}

OURS = "Greedy Miser, categories"

LEVELS = (2, 3, 5, 8, 12, 20, 40, 80, 140, 200)
"""Of the ten categories of the large table."""


def read(path: Path) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """The columns of a table, which of them are text, and its two classes as 0 and 1."""
    table = pd.read_csv(path)
    X, y = table.iloc[:, :-1], pd.factorize(table.iloc[:, -1], sort=True)[0]
    text = np.array([not pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes])
    return X, text, y


def codes_of(X: pd.DataFrame, text: np.ndarray) -> np.ndarray:
    """Text as the codes of its values, NaN where it is empty."""
    coded = X.copy()
    for name in X.columns[text]:
        codes = pd.factorize(X[name], sort=True)[0].astype(float)
        coded[name] = np.where(codes < 0, np.nan, codes)
    return coded.to_numpy(dtype=float)


def contenders(X: pd.DataFrame, text: np.ndarray, leaf: int, trees: int, rate: float, depth: int):
    """By name: a function from training rows, classes and test rows to probabilities."""
    import catboost
    import lightgbm

    codes = pd.DataFrame(codes_of(X, text), columns=X.columns)
    names = list(X.columns[text])
    typed = X.astype(dict.fromkeys(names, "category"))
    filled = X.fillna(dict.fromkeys(names, "none"))
    ours = GreedyMiserClassifier(
        n_rounds=trees,
        learning_rate=rate,
        max_depth=depth,
        min_samples_leaf=leaf,
        validation_fraction=None,
    )
    light = lightgbm.LGBMClassifier(
        n_estimators=trees, learning_rate=rate, max_depth=depth, num_leaves=2**depth, min_child_samples=leaf,
        verbose=-1,
    )  # fmt: skip
    cat = catboost.CatBoostClassifier(
        iterations=trees, learning_rate=rate, depth=depth, cat_features=names, verbose=0, allow_writing_files=False
    )  # fmt: skip

    def on(model, rows):
        def run(train, y, test):
            return model.fit(rows.iloc[train], y).predict_proba(rows.iloc[test])[:, 1]

        return run

    return {
        OURS: on(ours, X),
        "Greedy Miser, codes as numbers": on(ours, codes),
        "LightGBM, categories": on(light, typed),
        "LightGBM, codes as numbers": on(light, codes),
        "CatBoost, categories": on(cat, filled),
    }


def accuracy(folder: Path, n_splits: int, leaf: int, seed: int) -> str:
    """Log-loss and area under the curve on new rows, means over splits and their standard errors."""
    lines = []
    for file, (trees, rate, depth) in TABLES.items():
        X, text, y = read(folder / file)
        splits = StratifiedShuffleSplit(n_splits, test_size=0.25, random_state=seed)
        found: dict[str, list[tuple[float, float]]] = {}
        for train, test in splits.split(X, y):
            for name, run in contenders(X, text, leaf, trees, rate, depth).items():
                said = run(train, y[train], test)
                scores = log_loss(y[test], said), roc_auc_score(y[test], said)
                found.setdefault(name, []).append(scores)
        best = np.array(found[OURS])[:, 0]
        for name, scores in found.items():
            loss, area = np.array(scores).T
            behind = loss - best
            lines.append(
                [file.partition(".")[0], name, f"{loss.mean():.4f}", f"{area.mean():.4f}",
                 f"{behind.mean():+.4f} ± {behind.std(ddof=1) / np.sqrt(len(behind)):.4f}"]
            )  # fmt: skip
    return markdown(
        ["table", "method", "log-loss", "AUC", "log-loss above Greedy Miser's (standard error)"],
        lines,
    )


def large(n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Ten columns of categories and ten of numbers in turns, and two classes."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 2 * len(LEVELS))))
    score = X[1] + np.abs(X[3]) + X[5] * X[7]
    for k, levels in enumerate(LEVELS):
        codes = rng.integers(0, levels, n_rows)
        words = [f"level {code:03d}" for code in range(levels)]
        X[2 * k] = pd.Categorical.from_codes(codes, categories=words)
        score += rng.normal(size=levels)[codes] / 2
    X.columns = [f"column {name}" for name in X.columns]
    return X, (score + rng.logistic(size=n_rows) > 0).to_numpy().astype(int)


def speed(n_rows: int, turns: int, trees: int, given: Any) -> str:
    """Seconds of both, in turns, and their ratio; frame to fitted model."""
    import lightgbm

    X, y = large(n_rows, given.seed)
    shape = {"learning_rate": 0.1, "max_depth": 5, "n_jobs": given.threads}
    models = {
        "Greedy Miser": GreedyMiserClassifier(n_rounds=trees, validation_fraction=None, **shape),
        "LightGBM": lightgbm.LGBMClassifier(
            n_estimators=trees, num_leaves=32, min_child_samples=20, verbose=-1, **shape
        ),
    }
    models["Greedy Miser"].fit(X, y)  # compiles, where nobody has
    seconds: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(turns):
        for name, model in models.items():
            start = time.perf_counter()
            model.fit(X, y)
            seconds[name].append(time.perf_counter() - start)
    some = X[:20000]
    losses = {
        name: log_loss(y[:20000], model.predict_proba(some)) for name, model in models.items()
    }
    ratio = [a / b for a, b in zip(*seconds.values(), strict=True)]
    lines = [
        [name, f"{statistics.median(took):.1f}", f"{losses[name]:.4f}"]
        for name, took in seconds.items()
    ]
    lines.append(["ratio of times", f"{statistics.median(ratio):.2f}", ""])
    return markdown(["", "seconds", "training log-loss"], lines)


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--threads", type=int, help="of both, for the times; all cores by default")
    parser.add_argument("--leaf", type=int, default=5, help="least rows of a leaf, for accuracy")
    given = parser.parse_args()
    if not given.data:
        parser.error("--data FOLDER with german_credit.csv and adult.csv.gz")
    start = time.perf_counter()
    n_rows, turns, trees = (50_000, 3, 50) if given.quick else (500_000, 3, 100)
    timed = speed(n_rows, turns, trees, given)
    scored = accuracy(Path(given.data), 2 if given.quick else 5, given.leaf, given.seed)
    text = heading("Category columns", "parts.categories", given, start)
    title = f"Training {n_rows:,} rows, {trees} trees, threads: {given.threads or 'all'}"
    text += f"## Accuracy on new rows\n\n{scored}\n## {title}\n\n{timed}"
    write(given.out, text)


if __name__ == "__main__":
    main()
