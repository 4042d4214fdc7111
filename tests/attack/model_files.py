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

import worthwhile
from tests.attack import damage_parts, damage_structure
from tests.attack.damage_parts import Members
from tests.attack.model_samples import sample_models
from worthwhile.exceptions import BadModelFile
from worthwhile.persist import describe
from worthwhile.persist._archive import read_archive
from worthwhile.testing._subject import in_words

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
Array = np.ndarray[Any, Any]
READERS = (worthwhile.load, worthwhile.load_policy, describe)


def write_samples(folder: Path) -> list[Path]:
    """A small model file of every kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small data
        models = sample_models()
    paths = [folder / f"{name}.worthwhile" for name in models]
    for path, model in zip(paths, models.values(), strict=True):
        model.save(path)
        worthwhile.load(path)  # what whole files are refused for would hide what damaged ones do
    return paths


def rows() -> Array:
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


def judge(path: Path, rows: Array) -> tuple[str, str]:
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


def _model(model: Any, rows: Array) -> str | None:
    """What an estimator does wrong, None if nothing."""
    policy = model.policy_
    X = codes = _codes(policy, rows)
    if policy.columns is not None:
        X = np.array([_words(policy, row) for row in codes], dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows without names
        answers = model.predict(X)
        if len(answers) != len(X):
            return f"{len(answers)} predictions of {len(X)} rows"
        if hasattr(model, "classes_"):
            if not np.isin(answers, model.classes_).all():
                return "a prediction is not a class"
            if hasattr(model, "predict_proba"):
                chances = model.predict_proba(X)
                if not ((chances >= 0) & (chances <= 1)).all():
                    return "a probability is not between 0 and 1"
        elif not np.isfinite(answers).all():
            return "a prediction is not finite"
    return _policy(policy, rows)


def _policy(policy: Any, rows: Array) -> str | None:
    """What a policy does wrong: honesty, sessions, bills, budgets."""
    costs, rows = policy.costs, _codes(policy, rows)
    outcome = policy.batch(rows)
    if not np.isfinite(outcome.raw).all():
        return "the answer is not finite"
    again = policy.batch(np.where(outcome.acquired, rows, np.nan)).raw
    same = (again == outcome.raw) if policy.exact else np.isclose(again, outcome.raw, 1e-5)
    if not same.all():
        return "the answer depends on what was not bought"
    bill = costs.price(outcome.acquired[0], int(outcome.evaluated[0]))
    if _spent(policy, rows[0], None) != bill:
        return "session and batch differ in the bill"
    try:
        policy.check_budget()
    except ValueError:
        return None  # it needs all its features
    if _spent(policy, rows[0], bill / 2) > bill / 2:
        return "a session spends more than its budget"
    return None


def _codes(policy: Any, rows: Array) -> Array:
    """Rows as the numbers of the policy's columns."""
    rows = rows[:, np.arange(policy.n_features) % rows.shape[1]].copy()
    for place, column in enumerate(policy.columns or ()):
        if column.kind == "boolean":
            rows[:, place] = rows[:, place] > 0
        elif column.kind in ("category", "ordered") and not column.n_codes:
            rows[:, place] = np.nan  # of no levels: it can only be empty
        elif column.kind != "number":
            whole = np.floor(np.abs(rows[:, place]) * 1000)
            # A model of another library may refuse what was never seen, and says so itself.
            codes = column.n_codes if policy.exact else len(column.levels)
            rows[:, place] = whole % (codes or 20_000)
    return rows


def _words(policy: Any, row: Array) -> list[Any]:
    """A row as its user would say it."""
    if policy.columns is None:
        return list(row)
    return [in_words(column, number) for column, number in zip(policy.columns, row, strict=True)]


def _spent(policy: Any, row: Array, budget: float | None) -> float:
    session, words = worthwhile.Session(policy, budget=budget), _words(policy, row)
    while wanted := session.ask():
        session.tell({name: words[policy.costs.index(name)] for name in wanted})
    return session.spent


@cache
def _members(path: Path) -> Members:
    return list(read_archive(path, 2**30).items())
