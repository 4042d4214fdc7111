"""Which columns are bought together, which are free, and which are of no use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.columns import Expansion
from worthwhile.costs import Costs, FlatCosts
from worthwhile.estimators._shared.encoding import Encoding
from worthwhile.policy.base import LARGEST
from worthwhile.policy.selection.rows import Layout

Floats = npt.NDArray[np.float64]
Name = str | int


@dataclass(frozen=True)
class Factors:
    """Bundles of columns with a name each."""

    names: list[Name]
    members: list[list[int]]


def find_factors(costs: Costs, factors: Any) -> Factors:
    """Read ``factors=`` for resolved costs.

    None: a group whose fee is at least the sum of its members' own prices is one factor (taking
    its members one by one would save less than half of it), every other column is one alone.
    "groups": every group is a factor. "single": every column is one. A list of lists of features
    or a mapping from names to such lists: these, and every column not listed alone.
    """
    if factors is None or (isinstance(factors, str) and factors == "groups"):
        given = _from_groups(costs, every=factors is not None)
    elif isinstance(factors, str) and factors == "single":
        given = {}
    elif isinstance(factors, str) or not hasattr(factors, "__iter__"):
        raise ValueError(
            f"factors is {factors!r}: give None, 'groups', 'single', a list of lists of features, or a mapping "
            "from names to lists of features."
        )
    else:
        given = _from_lists(costs, factors)
    taken = {column for columns in given.values() for column in columns}
    alone = {costs.name(c): [c] for c in range(costs.n_features) if c not in taken}
    if doubled := set(given) & set(alone):
        raise ValueError(
            f"factors has the name {sorted(map(str, doubled))[0]!r}, which is also a feature outside that factor: "
            "use another name."
        )
    # In the order of their first column, so that names do not matter.
    found = sorted((given | alone).items(), key=lambda item: item[1][0])
    return Factors([name for name, _ in found], [columns for _, columns in found])


def _from_groups(costs: Costs, every: bool) -> dict[Name, list[int]]:
    """Groups as factors, each column in one: all of them as listed, or those that are cheap once open.

    That is: what all members share costs at least as much as everything that is left to pay then.
    """
    given: dict[Name, list[int]] = {}
    if every:
        lists = [(name, [costs.index(f) for f in g.features]) for name, g in costs.groups.items()]
    else:
        flat, members = costs.flat, costs.flat.members
        found = [np.flatnonzero(members[:, g]) for g in range(len(costs.groups))]
        lists = [
            (name, columns.tolist())
            for name, columns in zip(costs.groups, found, strict=True)
            if _is_cheap_once_open(flat, members, columns)
        ]
        lists.sort(key=lambda item: -len(item[1]))  # of groups that nest, the outermost
    taken: set[int] = set()
    for name, columns in lists:
        if left := [column for column in columns if column not in taken]:
            given[name] = left
            taken.update(left)
    return given


def _is_cheap_once_open(flat: FlatCosts, members: npt.NDArray[np.bool_], columns: Any) -> bool:
    common = int(flat.fee[members[columns].all(axis=0)].sum())
    mask = np.zeros((1, len(flat.price)), dtype=bool)
    mask[0, columns] = True
    return common > 0 and 2 * common >= int(flat.bill(mask)[0])


def _from_lists(costs: Costs, factors: Any) -> dict[Name, list[int]]:
    named = isinstance(factors, Mapping)
    given: dict[Name, list[int]] = {}
    seen: set[int] = set()
    for key in factors:
        features = factors[key] if named else key
        if isinstance(features, str) or not hasattr(features, "__iter__"):
            raise ValueError(
                f"factors has {features!r} where a list of features should be: give [['a', 'b'], ['c']]."
            )
        columns = sorted(costs.index(feature) for feature in features)
        if not columns:
            raise ValueError("factors has an empty factor: list its features, or drop it.")
        for column in columns:
            if column in seen:
                raise ValueError(
                    f"factors lists {costs.name(column)!r} twice: a feature belongs to one factor."
                )
            seen.add(column)
        name = key if named else "+".join(str(costs.name(c)) for c in columns[:3])
        if not named and len(columns) > 3:
            name += f"+{len(columns) - 3} more"
        if name in given:
            name = f"{name} ({len(given)})"
        given[name] = columns
    return given


def _made_of(factors: Factors, expansion: Expansion) -> Factors:
    """The columns that are made of the members of each factor."""
    first = expansion.first
    made = [
        [made for column in columns for made in range(first[column], first[column + 1])]
        for columns in factors.members
    ]
    return Factors(factors.names, made)


def make_layout(
    X: Floats, costs: Costs, factors: Any, encoding: Encoding | None = None
) -> tuple[Layout, list[Name]]:
    """Standardise the columns and cut them into factors.

    Where columns are made from those of the user's table, factors are of the latter, and whatever is
    made of a column is bought with it. Columns with a price of 0 in no group with a fee are free.
    Columns with one value in training can tell nothing, nor can those whose spread no float holds:
    they are left out, and a factor of nothing else with them.
    """
    if encoding is None or encoding.expansion is None:
        found, free = find_factors(costs, factors), costs.flat.alone == 0
    else:
        found = _made_of(find_factors(encoding.costs, factors), encoding.expansion)
        free = (encoding.costs.flat.alone == 0)[encoding.expansion.sources]
    holes = np.isnan(X)
    count = np.maximum((~holes).sum(axis=0), 1)
    mean = np.where(holes, 0.0, X).sum(axis=0) / count
    scale = np.sqrt((np.where(holes, 0.0, X - mean) ** 2).sum(axis=0) / count)
    lowest, highest = (
        np.where(holes, np.inf, X).min(axis=0),
        np.where(holes, -np.inf, X).max(axis=0),
    )
    useful = (highest > lowest) & (scale >= 1 / LARGEST) & (scale <= LARGEST)
    useful &= np.abs(mean) <= LARGEST  # what a model file may hold
    names, bundles = [], []
    for name, columns in zip(found.names, found.members, strict=True):
        kept = [c for c in columns if useful[c] and not free[c]]
        if kept:
            names.append(name)
            bundles.append(kept)
    bundles.append([int(c) for c in np.flatnonzero(useful & free)])
    features = np.array([c for bundle in bundles for c in bundle], dtype=np.int32)
    start = np.cumsum([0, *map(len, bundles)]).astype(np.int32)
    return Layout(features, start, mean[features], scale[features]), names
