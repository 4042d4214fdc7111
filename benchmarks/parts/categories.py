"""Category columns: Greedy Miser with free features beside LightGBM's and CatBoost's own categories.

    python -m benchmarks.parts.categories --data FOLDER [--quick] [--out docs/reproduction/categories.md]

Accuracy: two tables of people with text columns (``german_credit.csv``, ``adult.csv.gz``), five random
splits, the same number of trees, learning rate, depth and leaf size, Newton steps, everything else by
default. Speed: 500,000 rows of ten categories of 2 to 200 levels and ten numbers, binned and trained in
turns with LightGBM, with the same threads.
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

LEVELS = (2, 3, 5, 8, 12, 20, 40, 80, 140, 200)
"""Of the ten categories of the large table."""


class Coded(GreedyMiserClassifier):
    """Greedy Miser on codes of categories, to be told which columns hold them."""

    coded: Any = None

    def _categorical(self) -> Any:
        return self.coded


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


def contenders(X: pd.DataFrame, text: np.ndarray, trees: int, rate: float, depth: int):
    """By name: a function from training rows, classes and test rows to probabilities."""
    import catboost
    import lightgbm

    codes, shape = codes_of(X, text), {"n_rounds": trees, "learning_rate": rate, "max_depth": depth}
    names = list(X.columns[text])

    def ours(native):
        def run(train, y, test):
            model = Coded(newton=True, min_samples_leaf=20, **shape)
            model.coded = text if native else None
            return model.fit(codes[train], y).predict_proba(codes[test])[:, 1]

        return run

    def light(train, y, test):
        rows = X.astype(dict.fromkeys(names, "category"))
        model = lightgbm.LGBMClassifier(
            n_estimators=trees, learning_rate=rate, max_depth=depth, num_leaves=2**depth,
            min_child_samples=20, verbose=-1,
        )  # fmt: skip
        return model.fit(rows.iloc[train], y).predict_proba(rows.iloc[test])[:, 1]

    def cat(train, y, test):
        rows = X.fillna(dict.fromkeys(names, "none"))
        model = catboost.CatBoostClassifier(
            iterations=trees, learning_rate=rate, depth=depth, cat_features=names, verbose=0, allow_writing_files=False
        )  # fmt: skip
        return model.fit(rows.iloc[train], y).predict_proba(rows.iloc[test])[:, 1]

    return {
        "Greedy Miser, categories": ours(True),
        "Greedy Miser, codes as numbers": ours(False),
        "LightGBM, categories": light,
        "CatBoost, categories": cat,
    }


def accuracy(folder: Path, n_splits: int, seed: int) -> str:
    """Log-loss and area under the curve on new rows, means over splits and their standard errors."""
    lines = []
    for file, (trees, rate, depth) in TABLES.items():
        X, text, y = read(folder / file)
        splits = StratifiedShuffleSplit(n_splits, test_size=0.25, random_state=seed)
        found: dict[str, list[tuple[float, float]]] = {}
        for train, test in splits.split(X, y):
            for name, run in contenders(X, text, trees, rate, depth).items():
                said = run(train, y[train], test)
                scores = log_loss(y[test], said), roc_auc_score(y[test], said)
                found.setdefault(name, []).append(scores)
        best = np.array(found["Greedy Miser, categories"])[:, 0]
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


def large(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ten categories and ten numbers in turns, which are which, and two classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 2 * len(LEVELS)))
    score = X[:, 1] + np.abs(X[:, 3]) + X[:, 5] * X[:, 7]
    for k, levels in enumerate(LEVELS):
        X[:, 2 * k] = rng.integers(0, levels, n_rows)
        score += rng.normal(size=levels)[X[:, 2 * k].astype(int)] / 2
    return X, np.arange(X.shape[1]) % 2 == 0, (score + rng.logistic(size=n_rows) > 0).astype(int)


def speed(n_rows: int, turns: int, trees: int, seed: int) -> str:
    """Seconds of both, in turns, and their ratio."""
    import lightgbm

    X, text, y = large(n_rows, seed)
    shape = {"learning_rate": 0.1, "max_depth": 5}

    def ours():
        model = Coded(newton=True, n_rounds=trees, min_samples_leaf=20, **shape)
        model.coded = text
        return model.fit(X, y).predict_proba(X[:20000])[:, 1]

    def light():
        options = {"num_leaves": 32, "min_child_samples": 20, "verbose": -1} | shape
        model = lightgbm.LGBMClassifier(n_estimators=trees, **options)
        fitted = model.fit(X, y, categorical_feature=np.flatnonzero(text).tolist())
        return fitted.predict_proba(X[:20000])[:, 1]

    rows, seconds = {"Greedy Miser": ours, "LightGBM": light}, {}
    losses = {}
    ours()  # compiles, where nobody has
    for _ in range(turns):
        for name, run in rows.items():
            start = time.perf_counter()
            said = run()
            seconds.setdefault(name, []).append(time.perf_counter() - start)
            losses[name] = log_loss(y[:20000], said)
    ratio = [a / b for a, b in zip(seconds["Greedy Miser"], seconds["LightGBM"], strict=True)]
    lines = [
        [name, f"{statistics.median(took):.1f}", f"{losses[name]:.4f}"]
        for name, took in seconds.items()
    ]
    lines.append(["ratio of times", f"{statistics.median(ratio):.2f}", ""])
    return markdown(["", "seconds", "training log-loss"], lines)


def main() -> None:
    parser = options(__doc__)
    given = parser.parse_args()
    if not given.data:
        parser.error("--data FOLDER with german_credit.csv and adult.csv.gz")
    start = time.perf_counter()
    n_rows, turns, trees = (50_000, 3, 50) if given.quick else (500_000, 3, 100)
    timed = speed(n_rows, turns, trees, given.seed)
    scored = accuracy(Path(given.data), 2 if given.quick else 5, given.seed)
    text = heading("Category columns", "parts.categories", given, start)
    text += f"## Accuracy on new rows\n\n{scored}\n## Training {n_rows:,} rows, {trees} trees\n\n{timed}"
    write(given.out, text)


if __name__ == "__main__":
    main()
