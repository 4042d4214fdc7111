"""Damage to the structure of a model file: fields, references, parts of a file of another kind.

Operators take the members of a file and give others; files whose ``model.json`` another operator has
broken already stay as they are.
"""

from __future__ import annotations

import json
import random
from typing import Any

from tests.attack.damage_parts import Members

ODD_VALUES: list[Any] = [
    None, True, 0, -1, 1, 2**31 - 1, 2**31, -(2**63), 2**63, 10**400, 1e308, -0.0, "", "x", "nan", "\x00", [], {},
    [None], {"$float": "nan"}, {"$float": "inf"}, {"$array": "arrays/0000.npy"}, {"$array": "arrays/9999.npy"},
    {"$array": "../../etc/passwd"}, {"$foreign": "foreign/0000.skops"}, {"$estimator": {"class": "os.system"}},
    {"$policy": {}}, {"$tuple": 3}, {"$dict": [[[], 1]]}, {"$costs": {}}, {"$nope": 1}, {"a": 1, "b": 2},
]  # fmt: skip
EXTREMES = [
    0,
    -1,
    10**9,
    2**31,
    2**53 + 1,
    2**63 - 1,
    -(2**63),
    10**30,
    5e-324,
    1e-300,
    1e300,
    -1e300,
]
STRANGE_KEYS = [
    "__class__",
    "predict",
    "policy_",
    "x_",
    "trace_",
    "n_features_in_",
    "$array",
    "kind",
    "",
]
MOST_REFERENCES = 40


def field(members: Members, chance: random.Random, donor: Members) -> Members:
    """A field changed, dropped, given a second name or buried in lists."""
    tree = _document(members)
    if tree is None:
        return members
    *parents, last = chance.choice(places(tree) or [("format",)])
    node = at(tree, parents)
    action = chance.random()
    if action < 0.6:
        node[last] = chance.choice(ODD_VALUES)
    elif action < 0.75:
        del node[last]
    elif action < 0.9 and isinstance(node, dict):
        node[chance.choice(STRANGE_KEYS)] = node[last]
    elif _is_number(node[last]):
        node[last] = node[last] + chance.choice([-1, 1, 1000, 0.5])
    else:
        for _ in range(chance.choice([3, 3000])):  # deep nesting
            node[last] = [node[last]]
    return _with(members, tree)


def extreme(members: Members, chance: random.Random, donor: Members) -> Members:
    """A number at the end of some range."""
    tree = _document(members)
    numbers = [place for place in places(tree) if _is_number(at(tree, place))]
    if not numbers:
        return members
    *parents, last = chance.choice(numbers)
    at(tree, parents)[last] = chance.choice(EXTREMES)
    return _with(members, tree)


def unknown(members: Members, chance: random.Random, donor: Members) -> Members:
    """A key, a fitted attribute or a member that no model file has."""
    tree = _document(members)
    action = chance.randrange(3)
    if action == 0:
        name = chance.choice(["arrays/9998.npy", "foreign/9998.skops"])
        return [*members, (name, chance.choice(members)[1] if members else b"")]
    inside = [place for place in [(), *places(tree)] if isinstance(at(tree, place), dict)]
    if action == 1:  # not in objects that are a single tag, where a second key is refused at once
        inside = [place for place in inside if len(at(tree, place)) != 1] or inside
    else:
        inside = [place for place in inside if place and place[-1] in ("fitted", "params")]
    if not inside:
        return members
    node = at(tree, chance.choice(inside))
    node[chance.choice(STRANGE_KEYS)] = chance.choice([*ODD_VALUES, *node.values()])
    return _with(members, tree)


def reference(members: Members, chance: random.Random, donor: Members) -> Members:
    """A reference that points to another member, of whatever kind."""
    tree = _document(members)
    if not (tags := references(tree)) or not members:
        return members
    node = at(tree, chance.choice(tags))
    node[next(iter(node))] = chance.choice(members)[0]
    return _with(members, tree)


def repeated(members: Members, chance: random.Random, donor: Members) -> Members:
    """One array named in many places: instead of others, or as a list of itself."""
    tree = _document(members)
    if not (tags := references(tree)):
        return members
    one = dict(at(tree, chance.choice(tags)))
    if chance.random() < 0.5:
        for place in chance.sample(tags, chance.randrange(1, len(tags) + 1)):
            *parents, last = place
            at(tree, parents)[last] = dict(one)
    else:
        *parents, last = chance.choice(places(tree))
        at(tree, parents)[last] = [dict(one) for _ in range(chance.randrange(2, MOST_REFERENCES))]
    return _with(members, tree)


def transplant(members: Members, chance: random.Random, donor: Members) -> Members:
    """A part of a file of another kind in place of this file's: policy, arrays, prices, class."""
    tree, other = _document(members), _document(donor)
    if tree is None or other is None:
        return members
    keys = {place[-1] for place in places(tree)} & {place[-1] for place in places(other)}
    keys = sorted(key for key in keys if isinstance(key, str))
    if not keys:
        return members
    key = chance.choice([*keys, *(key for key in PARTS if key in keys)])
    *parents, last = chance.choice([place for place in places(tree) if place[-1] == key])
    part = at(other, chance.choice([place for place in places(other) if place[-1] == key]))
    part, carried = _carry(part, dict(donor))
    at(tree, parents)[last] = part
    return [*_with(members, tree), *carried]


PARTS = 4 * [
    "class",
    "policy",
    "$policy",
    "kind",
    "output",
    "classes",
    "costs",
    "settings",
    "arrays",
]
"""Keys that a transplant prefers."""


def _carry(part: Any, donor: dict[str, bytes]) -> tuple[Any, Members]:
    """A part with the members that it refers to, under names that this file has not used."""
    part, carried, names = json.loads(json.dumps(part)), [], {}
    holder = {"part": part}
    for place in references(holder):
        node = at(holder, place)
        tag, old = next(iter(node.items()))
        if old in donor:
            folder, ending = ("arrays", "npy") if tag == "$array" else ("foreign", "skops")
            names.setdefault(old, f"{folder}/{5000 + len(names):04d}.{ending}")
            node[tag] = names[old]
    carried = [(new, donor[old]) for old, new in names.items()]
    return holder["part"], carried


def places(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places in a JSON tree."""
    found = [path] if path else []
    if isinstance(node, dict):
        for key, value in node.items():
            found += places(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node[:50]):
            found += places(value, (*path, index))
    return found


def references(tree: Any) -> list[tuple[Any, ...]]:
    """Places of objects that refer to a member."""
    return [
        place
        for place in places(tree)
        if isinstance(node := at(tree, place), dict)
        and len(node) == 1
        and next(iter(node)) in ("$array", "$foreign")
        and isinstance(next(iter(node.values())), str)
    ]


def at(tree: Any, place: Any) -> Any:
    """What is at a place."""
    for step in place:
        tree = tree[step]
    return tree


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _document(members: Members) -> Any:
    """The JSON of a file, or None where it cannot be read."""
    try:
        tree = json.loads(dict(members)["model.json"])
        places(tree)  # not so deep that operators cannot walk it
    except (KeyError, ValueError, RecursionError):
        return None
    return tree if isinstance(tree, dict) else None


def _with(members: Members, tree: Any) -> Members:
    try:
        text = json.dumps(tree).encode()
    except (RecursionError, ValueError):
        text = b"[" * 100_000
    return [(name, text if name == "model.json" else content) for name, content in members]
