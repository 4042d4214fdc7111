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
from tests.attack.file_laws import model_problem, policy_problem, saved_problem
from tests.attack.model_samples import sample_models
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
    found: dict[str, Any] = {}
    for reader in READERS:
        try:
            found[reader.__name__] = reader(path)
        except BadModelFile as refusal:
            found[reader.__name__] = refusal
        except Exception as error:
            return "wrong", f"{reader.__name__} raises {type(error).__name__}: {error}"
    try:
        problem = _problem(**found, rows=rows, again=path.with_suffix(".again"))
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
    if problem:
        return "wrong", f"after loading: {problem}"
    both = isinstance(found["load"], BadModelFile) and isinstance(
        found["load_policy"], BadModelFile
    )
    return ("refused" if both else "obeys"), ""


def _problem(load: Any, load_policy: Any, describe: Any, rows: Array, again: Path) -> str | None:
    """What is wrong with what the readers gave, refusals included."""
    loaded, light = (not isinstance(found, BadModelFile) for found in (load, load_policy))
    if loaded and isinstance(describe, BadModelFile):
        return f"describe refuses what load takes: {describe}"
    if not loaded:
        return policy_problem(load_policy, rows) if light else None
    if light and load.policy_.fingerprint() != load_policy.fingerprint():
        return "load and load_policy give different models"
    if not light and "another library" not in str(load_policy):
        return f"load_policy refuses what load takes: {load_policy}"
    return model_problem(load, rows) or saved_problem(load, again)


@cache
def _members(path: Path) -> Members:
    return list(read_archive(path, 2**30).items())
