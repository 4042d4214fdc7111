"""What the readers of other libraries' trees share: columns, refusals, flat arrays with means.

Each reader takes the arrays of the library's own model format, which hold all that is needed: splits,
leaves, links, and how much of the training data lies under each leaf. Treelite (extra ``trees``)
reads most of these models too, but not CatBoost's, and would be one more package between a model and
its bill.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from worthwhile.columns import Column, Columns
from worthwhile.columns.column import MOST_LEVELS
from worthwhile.core.code_sets import pack_sets
from worthwhile.core.trees import Trees
from worthwhile.costs import Costs
from worthwhile.policy.trees import TreePolicy

Array = npt.NDArray[Any]

MOST_CODE = 2**24
"""Numbers below this stand in sets themselves; they are exact in float32."""

AS_A_WHOLE = (
    "or pay for all its features, with PricedModel(sklearn.pipeline.make_pipeline(model), ...)."
)
"""What is left to those whose model cannot be read node by node."""


def comes_from(model: Any, library: str) -> bool:
    """Whether a model is of a library, without importing it.

    Examples
    --------
    >>> comes_from(np.zeros(3), "numpy"), comes_from([], "numpy")
    (True, False)
    """
    return any(kind.__module__.partition(".")[0] == library for kind in type(model).__mro__)


def is_booster(model: Any) -> bool:
    """Whether a model is the bare ``Booster`` of LightGBM or XGBoost: fitted, without a ``fit``."""
    return type(model).__name__ == "Booster" and (
        comes_from(model, "lightgbm") or comes_from(model, "xgboost")
    )


def columns(model: Any, prices: Any = None) -> tuple[int, list[str] | None]:
    """Number of columns of a fitted model, and their names where it was fitted on a frame.

    Names that a library makes up for bare arrays (``Column_0``; ``0``) are not names. LightGBM
    writes spaces in names as ``_``; where the prices have the true names, those are taken.
    """
    names: Any
    if is_booster(model):
        if comes_from(model, "lightgbm"):
            count, names = model.num_feature(), model.feature_name()
        else:
            count, names = model.num_features(), model.feature_names
    elif comes_from(model, "catboost"):  # n_features_in_ is lost when a model is read from a file
        count, names = len(model.feature_names_), model.feature_names_
    elif hasattr(model, "n_features_in_"):
        count = model.n_features_in_
        names = getattr(model, "feature_names_in_", None)
    else:
        raise TypeError(
            f"model is a {type(model).__name__} without n_features_in_: give a fitted scikit-learn estimator."
        )
    names = None if names is None else [str(name) for name in names]
    if names is not None and (pattern := _made_up(model)):
        if names == [pattern.format(i) for i in range(int(count))]:
            return int(count), None
        true = {str(name).replace(" ", "_"): str(name) for name in _priced_names(prices)}
        names = [true.get(name, name) for name in names]
    return int(count), names


def _made_up(model: Any) -> str | None:
    """The pattern of names that a library gives to columns without one."""
    patterns = {"lightgbm": "Column_{}", "catboost": "{}"}
    return next((patterns[library] for library in patterns if comes_from(model, library)), None)


def _priced_names(prices: Any) -> Sequence[Any]:
    if isinstance(prices, Costs):
        return prices.feature_names or ()
    return list(prices) if isinstance(prices, Mapping) else ()


def refuse_categories(costs: Costs, column: int) -> NoReturn:
    """Refuse a split by categories that have no place in a table of ours."""
    raise ValueError(
        f"model splits feature {costs.name(column)!r} by categories that are neither whole numbers from 0 on nor up to "
        f"{MOST_LEVELS} texts, and cannot be priced by row: number them and train again, {AS_A_WHOLE}"
    )


class CategorySets:
    """The sets of categories that the nodes of a foreign ensemble test, in terms of the user's values.

    Categories that are whole numbers stand for themselves; text gets codes in the order of the alphabet,
    which a policy keeps with its columns.

    Parameters
    ----------
    costs : Costs
        Knows the columns by name.
    levels : dict
        Values of the codes 0, 1, ... of a column, where the library numbers them itself; where it takes
        the user's numbers as they are, the column is not in it.

    Examples
    --------
    >>> sets = CategorySets(Costs([1]), {0: [10, 20, 30]})
    >>> sets.add(0, [0, 2]), sets.all
    (0, [[10, 30]])
    """

    def __init__(self, costs: Costs, levels: Mapping[int, Sequence[Any]]) -> None:
        self._costs, self._levels = costs, levels
        self._numbers: dict[int, list[int]] = {}
        self._text: dict[int, tuple[str, ...]] = {}
        self.all: list[list[int]] = []

    def add(self, column: int, codes: Sequence[int]) -> int:
        """Keep a set of a column's codes; return its number."""
        if column in self._levels:
            if column not in self._numbers:
                self._numbers[column] = self._number(column)
            codes = [self._numbers[column][code] for code in codes]
        self.all.append(list(codes))
        return len(self.all) - 1

    def _number(self, column: int) -> list[int]:
        """What stands in sets for the library's codes 0, 1, ... of a column."""
        levels = self._levels[column]
        if all(_is_code(level) for level in levels):
            return [int(level) for level in levels]
        if len(levels) > MOST_LEVELS or not all(isinstance(level, str) for level in levels):
            refuse_categories(self._costs, column)
        self._text[column] = tuple(sorted(levels))
        code = {level: number for number, level in enumerate(self._text[column])}
        return [code[level] for level in levels]

    def dress(self, policy: TreePolicy) -> TreePolicy:
        """The policy of the trees, for tables with the text that was met."""
        if not self._text:
            return policy
        kinds = [Column()] * policy.n_features
        for column, levels in self._text.items():
            kinds[column] = Column("category", levels)
        return policy.with_columns(Columns(kinds))


def _is_code(level: Any) -> bool:
    """Whether a category is a number that can itself stand in a set."""
    try:
        return 0 <= level < MOST_CODE and level == int(level)
    except (TypeError, ValueError):
        return False


def bits_of(words: Array) -> list[int]:
    """Numbers of the bits that are set in words of 32 bits.

    Examples
    --------
    >>> bits_of(np.array([5, 2], dtype=np.uint32))
    [0, 2, 33]
    """
    bits = np.unpackbits(np.ascontiguousarray(words, dtype="<u4").view(np.uint8), bitorder="little")
    found: list[int] = np.flatnonzero(bits).tolist()
    return found


def refuse_booster(model: Any, objective: str) -> None:
    """Refuse a bare booster that cannot be read as trees; estimators are then read as a whole."""
    if is_booster(model):
        raise TypeError(
            f"model is a Booster with objective {objective!r} that cannot be read as trees of values or log-odds: give "
            "the estimator (LGBMRegressor, XGBClassifier, ...), which is then read as a whole."
        )


def assemble(
    nodes: dict[str, Array],
    root: Sequence[int] | Array,
    base: Array,
    output: Array | None = None,
    *,
    average: bool = False,
    single: bool = False,
    sets: Sequence[Sequence[int]] = (),
) -> Trees:
    """Flat trees from the concatenated nodes of a foreign ensemble.

    Nodes are put into order (tree by tree, level by level), what no walk can reach is dropped, and
    every internal node gets the mean of the leaves under it.

    Parameters
    ----------
    nodes : dict
        ``feature``, ``threshold``, ``left``, ``right`` (indices into these arrays, negative at
        leaves), ``missing_left``, ``value`` (nodes, width), and ``weight``: how much of the
        training data each leaf stands for. With ``sets``, ``category`` too: where it is true, the
        threshold is the number of a set, and its members go left.
    root : sequence of int
        Root of each tree.
    sets : sequence of sequences of int
        Sets of codes.
    base, output, average, single
        As in :class:`~worthwhile.core.trees.Trees`.

    Examples
    --------
    >>> stump = {"feature": [0, 0, 0], "threshold": [0.5, 0, 0], "left": [2, -1, -1],
    ...          "right": [1, -1, -1], "missing_left": [True, False, False],
    ...          "value": [[0.0], [4.0], [1.0]], "weight": [0, 1, 2]}
    >>> trees = assemble({name: np.array(array) for name, array in stump.items()}, [0], np.zeros(1))
    >>> trees.value[:, 0].tolist(), trees.left.tolist()
    ([2.0, 1.0, 4.0], [1, -1, -1])
    """
    left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
    levels = [np.asarray(root, dtype=np.int64)]
    tree = np.full(len(left), -1, dtype=np.int64)
    tree[levels[0]] = np.arange(len(levels[0]))
    while len(inner := levels[-1][left[levels[-1]] >= 0]):
        tree[left[inner]] = tree[right[inner]] = tree[inner]
        levels.append(np.column_stack([left[inner], right[inner]]).ravel())
    value = _means(nodes, left, right, levels)
    order = np.concatenate(levels)
    order = order[np.argsort(tree[order], kind="stable")]
    place = np.full(len(left), -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    leaf = left[order] < 0
    # Infinite thresholds set empty values apart from all others; files hold finite ones.
    threshold = np.where(leaf, 0.0, np.nan_to_num(nodes["threshold"][order]))
    category = nodes["category"][order] & ~leaf if len(sets) else np.zeros(len(order), dtype=bool)
    first, words = pack_sets(sets)
    threshold[category] = first[threshold[category].astype(np.intp)]
    return Trees.build(
        feature=np.where(leaf, -1, nodes["feature"][order]),
        threshold=threshold,
        left=np.where(leaf, -1, place[left[order]]),
        right=np.where(leaf, -1, place[right[order]]),
        missing_left=nodes["missing_left"][order] & ~leaf,
        value=value[order],
        root=place[levels[0]],
        base=base,
        output=output,
        average=average,
        single=single,
        category=category,
        sets=words,
    )


def _means(nodes: dict[str, Array], left: Array, right: Array, levels: list[Array]) -> Array:
    """Values with the weighted mean of their leaves at internal nodes, from the leaves up."""
    value = np.array(nodes["value"], dtype=np.float64)
    weight = np.array(nodes["weight"], dtype=np.float64)
    for level in reversed(levels):
        inner = level[left[level] >= 0]
        a, b = left[inner], right[inner]
        total = weight[a] + weight[b]
        # Leaves that no training row reached count alike among themselves.
        share = np.divide(weight[a], total, out=np.full(len(inner), 0.5), where=total > 0)[:, None]
        value[inner] = value[a] * share + value[b] * (1.0 - share)
        weight[inner] = total
    return value
