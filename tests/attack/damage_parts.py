"""Damage to single parts of a model file: cells, headers, bytes, members.

Operators take the members of a file (name and content) and give others.
"""

from __future__ import annotations

import io
import random
from typing import Any

import numpy as np

from worthwhile.persist._archive import write_array

Members = list[tuple[str, bytes]]

ODD_NUMBERS = [np.nan, np.inf, -np.inf, -1, -2, 0, 1, 2**31 - 1, -(2**31), 1e308, 5e-324]


def pick_array(members: Members, chance: random.Random) -> tuple[int, np.ndarray[Any, Any]] | None:
    """Place and content of some array; None where there is none, or it cannot be read any more."""
    arrays = [i for i, (name, _) in enumerate(members) if name.endswith(".npy")]
    place = chance.choice(arrays) if arrays else None
    found = None if place is None else read_array(members[place][1])
    return None if place is None or found is None else (place, found)


def array_cell(members: Members, chance: random.Random) -> Members:
    """Another number in one place, or in all from there on: children, features, thresholds."""
    picked = pick_array(members, chance)
    if picked is None or picked[1].size == 0:
        return members
    place, array = picked
    flat = array.reshape(-1)
    first = chance.randrange(flat.size)
    cell = slice(first, chance.choice([first + 1, first + 1, first + 1, None]))
    if array.dtype.kind == "f":
        flat[cell] = chance.choice(ODD_NUMBERS)
    elif array.dtype.kind in "iu":
        info = np.iinfo(array.dtype)
        flat[cell] = min(
            max(int(chance.choice([-1, -2, 0, 1, first, info.max, info.min])), info.min), info.max
        )
    elif array.dtype.kind == "b":
        flat[cell] = ~flat[cell]
    elif array.dtype.kind == "U":
        flat[cell] = "?"
    return replaced(members, place, (members[place][0], write_array(array)))


def array_shape(members: Members, chance: random.Random) -> Members:
    """Another dtype, length or number of dimensions; or a header that lies about them."""
    picked = pick_array(members, chance)
    if picked is None:
        return members
    place, array = picked
    name, content = members[place]
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
        return replaced(members, place, (name, content[: start + 9] + lie + b", " + content[end:]))
    else:
        content = content.replace(b"<", chance.choice([b">", b"|"]), 1).replace(
            b"False", b"True", 1
        )
        return replaced(members, place, (name, content))
    return replaced(members, place, (name, write_array(array)))


def some_bytes(members: Members, chance: random.Random) -> Members:
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
    return replaced(members, place, (name, bytes(data)))


def some_members(members: Members, chance: random.Random) -> Members:
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
        return replaced(members, place, (name, members[place][1]))
    if action == 4 and chance.random() < 0.02:
        return replaced(members, place, (members[place][0], b"\x00" * (64 * 2**20)))
    return [*members, ("arrays/0777.npy", b"")]


def read_array(content: bytes) -> np.ndarray[Any, Any] | None:
    try:
        return np.load(io.BytesIO(content), allow_pickle=False)
    except Exception:  # whatever numpy makes of a damaged array
        return None


def replaced(members: Members, place: int, new: tuple[str, bytes]) -> Members:
    return [*members[:place], new, *members[place + 1 :]]
