"""Damage model files inside their members and pack them again with right checksums.

Flipping bytes of the zip itself would be caught by its checksums before any check of ours is
reached; these mutations get through to the checks.
"""

from __future__ import annotations

import json
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

import costwise
from costwise.exceptions import BadModelFile
from costwise.persist._archive import read_archive, write_array

ODD_VALUES: list[Any] = [
    None, True, 0, -1, 1, 2**31 - 1, 2**31, -(2**63), 2**63, 10**400, 1e308, -0.0, "", "x", "nan", "\x00", [], {},
    [None], {"$float": "nan"}, {"$float": "inf"}, {"$array": "arrays/0000.npy"}, {"$array": "arrays/9999.npy"},
    {"$array": "../../etc/passwd"}, {"$foreign": "foreign/0000.skops"}, {"$estimator": {"class": "os.system"}},
    {"$policy": {}}, {"$tuple": 3}, {"$dict": [[[], 1]]}, {"$costs": {}}, {"$nope": 1}, {"a": 1, "b": 2},
]  # fmt: skip

ODD_NUMBERS = [np.nan, np.inf, -np.inf, -1, -2, 0, 1, 2**31 - 1, -(2**31), 1e308, 5e-324]


def mutate(path: Path, target: Path, seed: int) -> None:
    """Write a damaged copy of a model file; the same seed does the same damage."""
    chance = random.Random(seed)
    members = list(read_archive(path, 2**30).items())
    for _ in range(chance.choice([1, 1, 1, 2, 3])):
        kind = chance.choice(
            [_json_field, _json_field, _array_cell, _array_cell, _array_shape, _bytes, _members]
        )
        members = kind(members, chance)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members:
            archive.writestr(name, content)


def survives(path: Path, rows: np.ndarray[Any, Any]) -> str | None:
    """Load a damaged file; None if it is refused or obeys the laws, else what went wrong."""
    try:
        model = costwise.load(path)
    except BadModelFile:
        return None
    rows = rows[:, np.arange(model.n_features_in_) % rows.shape[1]]
    outcome = model.policy_.batch(rows)
    if not np.isfinite(outcome.raw).all():
        return "the answer is not finite"
    if (model.policy_.batch(np.where(outcome.acquired, rows, np.nan)).raw != outcome.raw).any():
        return "the answer depends on what was not bought"
    session = costwise.Session(model.policy_)
    while wanted := session.ask():
        session.tell({name: rows[0][model.costs_.index(name)] for name in wanted})
    if session.spent != model.costs_.price(outcome.acquired[0]) + float(
        model.costs_.evaluation
    ) * int(outcome.evaluated[0]):
        return "session and batch differ in the bill"
    return None


def _places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places in a JSON tree."""
    found = [path] if path else []
    if isinstance(node, dict):
        for key, value in node.items():
            found += _places(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node[:50]):
            found += _places(value, (*path, index))
    return found


def _json_field(members: list[tuple[str, bytes]], chance: random.Random) -> list[tuple[str, bytes]]:
    found = dict(members)
    try:
        tree = json.loads(found["model.json"])
    except (KeyError, ValueError, RecursionError):
        return members
    *parents, last = chance.choice(_places(tree) or [("format",)])
    node = tree
    for step in parents:
        node = node[step]
    action = chance.random()
    if action < 0.6:
        node[last] = chance.choice(ODD_VALUES)
    elif action < 0.75:
        del node[last]
    elif action < 0.9 and isinstance(node, dict):
        node[chance.choice(["__class__", "predict", "policy_", "x_", "$array"])] = node[last]
    elif isinstance(node[last], (int, float)) and not isinstance(node[last], bool):
        node[last] = node[last] + chance.choice([-1, 1, 1000, 0.5])
    else:
        for _ in range(chance.choice([3, 3000])):  # deep nesting
            node[last] = [node[last]]
    try:
        text = json.dumps(tree).encode()
    except (RecursionError, ValueError):
        text = b"[" * 100_000
    return [(name, text if name == "model.json" else content) for name, content in members]


def _pick_array(members: list[tuple[str, bytes]], chance: random.Random) -> int | None:
    arrays = [i for i, (name, _) in enumerate(members) if name.endswith(".npy")]
    return chance.choice(arrays) if arrays else None


def _array_cell(members: list[tuple[str, bytes]], chance: random.Random) -> list[tuple[str, bytes]]:
    """Another number somewhere: child indices, features, thresholds, values."""
    place = _pick_array(members, chance)
    if place is None:
        return members
    name, content = members[place]
    array = _read(content)
    if array is None or array.size == 0:
        return members
    flat = array.reshape(-1)
    cell = chance.randrange(flat.size)
    if array.dtype.kind == "f":
        flat[cell] = chance.choice(ODD_NUMBERS)
    elif array.dtype.kind in "iu":
        info = np.iinfo(array.dtype)
        flat[cell] = min(
            max(int(chance.choice([-1, -2, 0, 1, cell, info.max, info.min])), info.min), info.max
        )
    elif array.dtype.kind == "b":
        flat[cell] = not flat[cell]
    elif array.dtype.kind == "U":
        flat[cell] = "?"
    return _replaced(members, place, (name, write_array(array)))


def _array_shape(
    members: list[tuple[str, bytes]], chance: random.Random
) -> list[tuple[str, bytes]]:
    """Another dtype, length or number of dimensions; or a header that lies about them."""
    place = _pick_array(members, chance)
    if place is None:
        return members
    name, content = members[place]
    array = _read(content)
    if array is None:
        return members
    action = chance.randrange(6)
    if action == 0:
        array = array[: chance.randrange(len(array) + 1)] if array.ndim else array
    elif action == 1:
        array = np.concatenate([array, array]) if array.ndim else array
    elif action == 2 and array.dtype.kind != "U":
        array = array.astype(
            chance.choice(["f4", "f8", "i1", "i4", "i8", "u8", "b1", "c16", "S4", "m8[s]"])
        )
    elif action == 3:
        array = array.reshape(1, *array.shape)
    elif action == 4:
        lie = chance.choice([b"(10000000000,)", b"(-1,)", b"(99,99)", b"()", b"(0,)"])
        start, end = content.index(b"'shape': "), content.index(b"}", content.index(b"'shape': "))
        return _replaced(members, place, (name, content[: start + 9] + lie + b", " + content[end:]))
    else:
        content = content.replace(b"<", chance.choice([b">", b"|"]), 1).replace(
            b"False", b"True", 1
        )
        return _replaced(members, place, (name, content))
    return _replaced(members, place, (name, write_array(array)))


def _bytes(members: list[tuple[str, bytes]], chance: random.Random) -> list[tuple[str, bytes]]:
    """A few bytes changed, cut or added anywhere in a member."""
    if not members:
        return members
    place = chance.randrange(len(members))
    name, content = members[place]
    data = bytearray(content)
    action = chance.randrange(4)
    if action == 0 and data:
        for _ in range(chance.choice([1, 4, 32])):
            data[chance.randrange(len(data))] = chance.randrange(256)
    elif action == 1:
        del data[chance.randrange(len(data) + 1) :]
    elif action == 2:
        data += bytes(chance.randrange(256) for _ in range(16))
    else:
        data[:0] = b"\x00" * chance.randrange(1, 9)
    return _replaced(members, place, (name, bytes(data)))


def _members(members: list[tuple[str, bytes]], chance: random.Random) -> list[tuple[str, bytes]]:
    """Members dropped, doubled, swapped, renamed, or huge when inflated."""
    if not members:
        return members
    place, other = chance.randrange(len(members)), chance.randrange(len(members))
    action = chance.randrange(6)
    if action == 0:
        return members[:place] + members[place + 1 :]
    if action == 1:
        return [*members, members[place]]
    if action == 2:
        swapped = list(members)
        swapped[place], swapped[other] = (
            (members[place][0], members[other][1]),
            (members[other][0], members[place][1]),
        )
        return swapped
    if action == 3:
        name = chance.choice(
            ["../evil.npy", "arrays/0000.npy", "arrays/99999.npy", "code.py", "x", "arrays/"]
        )
        return _replaced(members, place, (name, members[place][1]))
    if action == 4 and chance.random() < 0.02:
        return _replaced(members, place, (members[place][0], b"\x00" * (64 * 2**20)))
    return [*members, ("arrays/0777.npy", b"")]


def _read(content: bytes) -> np.ndarray[Any, Any] | None:
    import io

    try:
        return np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:  # whatever numpy makes of a damaged array
        return None


def _replaced(
    members: list[tuple[str, bytes]], place: int, new: tuple[str, bytes]
) -> list[tuple[str, bytes]]:
    return [*members[:place], new, *members[place + 1 :]]
