"""Attack on model files: damaged copies, and whether the library refuses them or obeys its laws.

Files are damaged inside their members and packed again with right checksums: flipped bytes of the zip
itself would be caught by its checksums before any check of ours is reached. The long mode is
``python -m benchmarks.attack.model_files``.
"""

from __future__ import annotations

import random
import warnings
import zipfile
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import worthwhile
from tests.attack import damage_parts, damage_structure
from tests.attack.damage_parts import Members
from tests.estimators.small import make, public_estimators
from worthwhile.exceptions import BadModelFile
from worthwhile.persist import describe
from worthwhile.persist._archive import read_archive

PARTS = (
    damage_parts.array_cell,
    damage_parts.array_cell,
    damage_parts.array_shape,
    damage_parts.some_bytes,
    damage_parts.some_members,
)
STRUCTURE = (
    damage_structure.field,
    damage_structure.field,
    damage_structure.extreme,
    damage_structure.unknown,
    damage_structure.reference,
    damage_structure.repeated,
    damage_structure.transplant,
    damage_structure.transplant,
)
READERS = (worthwhile.load, worthwhile.load_policy, describe)


def write_samples(folder: Path) -> list[Path]:
    """A small model file of every public estimator and of two wrapped forests."""
    X, y, costs = worthwhile.datasets.make_priced_classification(150, seed=2)
    forest = RandomForestClassifier(4, max_depth=4, random_state=0).fit(X, y)
    regression = RandomForestRegressor(2, max_depth=3, random_state=0).fit(X.to_numpy(), y)
    models = {
        "PricedModel-classifier": worthwhile.PricedModel(forest, costs),
        "PricedModel-regressor": worthwhile.PricedModel(regression),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small data
        for name in public_estimators():
            models[name] = make(name).fit(X, y.astype(float) if name.endswith("Regressor") else y)
    paths = [folder / f"{name}.worthwhile" for name in models]
    for path, model in zip(paths, models.values(), strict=True):
        model.save(path)
        for reader in READERS:
            reader(path)  # what whole files are refused for would hide what damaged ones do
    return paths


def rows() -> np.ndarray[Any, Any]:
    """Rows that models are tried on."""
    return worthwhile.datasets.make_priced_classification(8, seed=3)[0].to_numpy()


def damage(paths: list[Path], target: Path, seed: int) -> None:
    """Write a damaged copy of one of the files; the same seed does the same damage."""
    chance = random.Random(seed)
    members, donor = _members(paths[seed % len(paths)]), _members(chance.choice(paths))
    kinds = [*PARTS, *(partial(operator, donor=donor) for operator in STRUCTURE)]
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        members = chance.choice(kinds)(members, chance)
    with (
        zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        warnings.catch_warnings(),
    ):
        warnings.filterwarnings("ignore", "Duplicate name")
        for name, content in members:
            archive.writestr(name, content)


def judge(path: Path, rows: np.ndarray[Any, Any]) -> tuple[str, str]:
    """ "refused", "obeys" or "wrong", and what is wrong."""
    outcomes = []
    for reader, check in zip(READERS, (_model, _policy, None), strict=True):
        try:
            found = reader(path)
        except BadModelFile:
            outcomes.append("refused")
            continue
        except Exception as error:
            return "wrong", f"{reader.__name__} raises {type(error).__name__}: {error}"
        try:
            problem = check(found, rows) if check else None
        except Exception as error:
            return "wrong", f"after {reader.__name__}: {type(error).__name__}: {error}"
        if problem:
            return "wrong", f"after {reader.__name__}: {problem}"
        outcomes.append("obeys")
    return ("obeys" if "obeys" in outcomes[:2] else "refused"), ""


def _model(model: Any, rows: np.ndarray[Any, Any]) -> str | None:
    """What an estimator does wrong, None if nothing."""
    rows = rows[:, np.arange(model.n_features_in_) % rows.shape[1]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows without names
        answers = model.predict(rows)
        if len(answers) != len(rows):
            return f"{len(answers)} predictions of {len(rows)} rows"
        if hasattr(model, "classes_"):
            if not np.isin(answers, model.classes_).all():
                return "a prediction is not a class"
            if hasattr(model, "predict_proba"):
                chances = model.predict_proba(rows)
                if not ((chances >= 0) & (chances <= 1)).all():
                    return "a probability is not between 0 and 1"
        elif not np.isfinite(answers).all():
            return "a prediction is not finite"
    return _policy(model.policy_, rows)


def _policy(policy: Any, rows: np.ndarray[Any, Any]) -> str | None:
    """What a policy does wrong: honesty, sessions, bills, budgets."""
    costs = policy.costs
    rows = rows[:, np.arange(costs.n_features) % rows.shape[1]]
    outcome = policy.batch(rows)
    if not np.isfinite(outcome.raw).all():
        return "the answer is not finite"
    if (policy.batch(np.where(outcome.acquired, rows, np.nan)).raw != outcome.raw).any():
        return "the answer depends on what was not bought"
    bill = costs.price(outcome.acquired[0]) + float(costs.evaluation) * int(outcome.evaluated[0])
    if _spent(policy, rows[0], None) != bill:
        return "session and batch differ in the bill"
    if _spent(policy, rows[0], bill / 2) > bill / 2:
        return "a session spends more than its budget"
    return None


def _spent(policy: Any, row: np.ndarray[Any, Any], budget: float | None) -> float:
    session = worthwhile.Session(policy, budget=budget)
    while wanted := session.ask():
        session.tell({name: row[policy.costs.index(name)] for name in wanted})
    return session.spent


@cache
def _members(path: Path) -> Members:
    return list(read_archive(path, 2**30).items())
