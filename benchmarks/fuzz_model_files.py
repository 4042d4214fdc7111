"""Mutate model files by the hundred thousand: each is refused or loads to a model that obeys the laws.

Run from a checkout::

    python benchmarks/fuzz_model_files.py --files 100000

Prints how many files were refused, how many loaded, the peak memory, and every seed that broke
something; exits with 1 if any did.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # tests/ holds the mutations

import costwise
from costwise.exceptions import BadModelFile
from tests.estimators.small import make, public_estimators
from tests.persist.mutate import mutate, survives


def sample_models(folder: Path) -> tuple[list[Path], np.ndarray]:
    """A small model file of every public estimator and of wrapped forests, and rows to try them on."""
    X, y, costs = costwise.datasets.make_priced_classification(200, seed=0)
    models = [
        costwise.PricedModel(
            RandomForestClassifier(4, max_depth=4, random_state=0).fit(X, y), costs
        ),
        costwise.PricedModel(
            RandomForestRegressor(2, max_depth=3, random_state=0).fit(X.to_numpy(), y)
        ),
    ]
    models += [
        make(name).fit(X, y.astype(float) if name.endswith("Regressor") else y)
        for name in public_estimators()
    ]
    paths = []
    for number, model in enumerate(models):
        paths.append(folder / f"{number}.costwise")
        model.save(paths[-1])
    return paths, X.to_numpy()[:10]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--first-seed", type=int, default=0)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "Duplicate name")
    refused, broken, start = 0, [], time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths, rows = sample_models(folder)
        for seed in range(options.first_seed, options.first_seed + options.files):
            damaged = folder / "damaged"
            mutate(paths[seed % len(paths)], damaged, seed)
            try:
                if problem := survives(damaged, rows):
                    broken.append((seed, problem))
            except Exception as error:
                broken.append((seed, f"{type(error).__name__}: {error}"))
            try:
                costwise.load_policy(damaged)
            except BadModelFile:
                refused += 1
            except Exception as error:
                broken.append((seed, f"load_policy: {type(error).__name__}: {error}"))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{options.files:,} files in {time.perf_counter() - start:.0f} s, peak memory {peak:,.0f} MB"
    )
    print(f"refused: {refused:,}   loaded: {options.files - refused:,}   broken: {len(broken):,}")
    for seed, problem in broken[:20]:
        print(f"  seed {seed}: {problem}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
