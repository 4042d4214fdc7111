"""The flat arrays of a tree ensemble: what growers write and walks read; joined and cut here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.code_sets import Words, in_sets, only_these, problem_of

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

NODE = np.dtype(
    [
        # One node fills 24 bytes, so that a step of a walk touches one cache line.
        ("threshold", np.float64),
        ("feature", np.int32),
        ("left", np.int32),
        ("right", np.int32),
        ("flags", np.int32),
    ]
)

MISSING_LEFT, CATEGORY = 1, 2
"""Bits of the flags of a node: empty values go left; the test is for membership in a set."""

NODE_ARRAYS = ("feature", "threshold", "left", "right", "missing_left", "value")


def shifted(child: Array, by: Any) -> Array:
    """Children counted from another node on; -1 stays what it is."""
    moved: Array = np.where(child >= 0, child + by, -1)
    return moved


def join_nodes(parts: Sequence[Mapping[str, Array]]) -> tuple[dict[str, Array], Array]:
    """Nodes of one or more parts as one, and where each part begins.

    Children ``left`` and ``right`` are counted from 0 in each part and negative at leaves; whatever
    else the parts hold is put one after the other.

    Examples
    --------
    >>> stump = {"left": np.array([1, -1, -1]), "right": np.array([2, -1, -1])}
    >>> nodes, first = join_nodes([stump, stump])
    >>> nodes["right"].tolist(), first.tolist()
    ([2, -1, -1, 5, -1, -1], [0, 3])
    """
    sizes = [len(part["left"]) for part in parts]
    first = np.cumsum([0, *sizes])[:-1]
    nodes = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    start = np.repeat(first, sizes)
    for side in ("left", "right"):
        nodes[side] = shifted(nodes[side], start)
    return nodes, first


@dataclass(frozen=True, eq=False)
class Trees:
    """Binary trees in one set of arrays, tree after tree, children after their parents.

    Attributes
    ----------
    feature : int32 (nodes,)
        Column tested at a node; -1 at a leaf.
    threshold : float64 (nodes,)
        A row goes left iff its value <= threshold. At a node that tests for membership, where in
        ``sets`` its set begins: a row goes left iff its value, a category's code, is in the set.
    left, right : int32 (nodes,)
        Children as indices into these arrays, after their parent; -1 at a leaf.
    missing_left : bool (nodes,)
        Where a value that came back empty (NaN) goes.
    value : float64 (nodes, width)
        What a walk that ends here adds. Internal nodes keep their mean, so a walk that runs out of
        budget has an answer.
    root : int32 (n_trees,)
        First node of each tree; a tree owns the nodes up to the next root.
    output : int32 (n_trees,)
        Column of the raw output that a width-1 tree adds to; 0 for trees that add to all columns.
    base : float64 (n_outputs,)
        Raw output before any tree.
    average : bool
        Divide the sum over the evaluated trees by their number (forests) instead of adding it to
        ``base`` (boosting); ``base`` is then the answer of no tree at all.
    single : bool
        Compare values rounded to float32, as scikit-learn's trees do.
    category : bool (nodes,), or None
        Which nodes test for membership in a set of codes; None where no node does.
    sets : uint64 (words,), or None
        The sets; see :mod:`worthwhile.core.code_sets`.

    Examples
    --------
    >>> import numpy as np
    >>> stump = Trees.build(feature=[0, -1, -1], threshold=[0.5, 0, 0], left=[1, -1, -1],
    ...                     right=[2, -1, -1], value=[[0.3], [0.0], [1.0]], root=[0], base=[0.0])
    >>> stump.n_trees, stump.n_outputs, stump.features.tolist()
    (1, 1, [0])
    >>> two = Trees.join([stump, stump])
    >>> two.left.tolist(), two.root.tolist()
    ([1, -1, -1, 4, -1, -1], [0, 3])
    >>> two.between(1, 2).left.tolist()
    [1, -1, -1]
    """

    feature: Ints
    threshold: Floats
    left: Ints
    right: Ints
    missing_left: Bools
    value: Floats
    root: Ints
    output: Ints
    base: Floats
    average: bool = False
    single: bool = False
    category: Bools | None = None
    sets: Words | None = None

    @classmethod
    def build(
        cls,
        feature: npt.ArrayLike,
        threshold: npt.ArrayLike,
        left: npt.ArrayLike,
        right: npt.ArrayLike,
        value: npt.ArrayLike,
        root: npt.ArrayLike,
        base: npt.ArrayLike,
        missing_left: npt.ArrayLike | None = None,
        output: npt.ArrayLike | None = None,
        average: bool = False,
        single: bool = False,
        category: npt.ArrayLike | None = None,
        sets: npt.ArrayLike | None = None,
    ) -> Trees:
        """Make trees from anything array-like, with the dtypes that walks need."""
        feature = np.ascontiguousarray(feature, dtype=np.int32)
        root = np.ascontiguousarray(root, dtype=np.int32)
        if category is None or not np.any(category):
            category = sets = None
        return cls(
            feature=feature,
            threshold=np.ascontiguousarray(threshold, dtype=np.float64),
            left=np.ascontiguousarray(left, dtype=np.int32),
            right=np.ascontiguousarray(right, dtype=np.int32),
            missing_left=np.ascontiguousarray(
                np.zeros(len(feature)) if missing_left is None else missing_left, dtype=np.bool_
            ),
            value=np.ascontiguousarray(value, dtype=np.float64),
            root=root,
            output=np.ascontiguousarray(
                np.zeros(len(root)) if output is None else output, dtype=np.int32
            ),
            base=np.ascontiguousarray(base, dtype=np.float64),
            average=bool(average),
            single=bool(single),
            category=None if category is None else np.ascontiguousarray(category, dtype=np.bool_),
            sets=None if sets is None else np.ascontiguousarray(sets, dtype=np.uint64),
        )

    @classmethod
    def none(cls, base: npt.ArrayLike, width: int = 1) -> Trees:
        """No trees at all: the answer is ``base``."""
        return cls.build([], [], [], [], np.empty((0, width)), [], base)

    @classmethod
    def join(cls, parts: Sequence[Trees]) -> Trees:
        """The trees of all parts in one ensemble; base, ``average`` and ``single`` are the first's."""
        nodes, first = join_nodes(
            [{name: getattr(part, name) for name in NODE_ARRAYS} for part in parts]
        )
        category, sets, before = [], [np.empty(0, dtype=np.uint64)], []
        for part in parts:
            none = np.zeros(len(part.feature), dtype=bool)
            category.append(none if part.category is None else part.category)
            before.append(category[-1] * sum(map(len, sets)))
            sets += [] if part.sets is None else [part.sets]
        nodes["threshold"] = nodes["threshold"] + np.concatenate(before)
        return cls.build(
            **nodes,
            category=np.concatenate(category),
            sets=np.concatenate(sets),
            root=np.concatenate([part.root + n for part, n in zip(parts, first, strict=True)]),
            output=np.concatenate([part.output for part in parts]),
            base=parts[0].base,
            average=parts[0].average,
            single=parts[0].single,
        )

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.root)

    @property
    def n_outputs(self) -> int:
        """Number of columns of the raw output."""
        return len(self.base)

    @property
    def width(self) -> int:
        """Number of values at a node: 1, or one per output."""
        return int(self.value.shape[1])

    @property
    def per_round(self) -> int:
        """Number of trees that a booster adds at a time: as many as it takes to reach all outputs."""
        return 1 if self.width == self.n_outputs else self.n_outputs

    @property
    def features(self) -> Ints:
        """Columns that some node tests, ascending."""
        return np.unique(self.feature[self.feature >= 0])

    @property
    def bounds(self) -> npt.NDArray[np.int64]:
        """First node of each tree, and the end of the last, (n_trees + 1,)."""
        return np.append(self.root, len(self.feature)).astype(np.int64)

    @property
    def tree_of(self) -> npt.NDArray[np.int64]:
        """Number of the tree that each node belongs to, (nodes,)."""
        return np.repeat(np.arange(self.n_trees, dtype=np.int64), np.diff(self.bounds))

    def tests(self, n_features: int) -> Bools:
        """Which columns each tree tests somewhere, (n_trees, n_features)."""
        tested = np.zeros((self.n_trees, n_features), dtype=bool)
        inner = self.feature >= 0
        tested[self.tree_of[inner], self.feature[inner]] = True
        return tested

    def levels(self) -> list[Ints]:
        """Internal nodes of all trees, level after level from the roots on."""
        levels = []
        at = self.root
        while len(at := at[self.feature[at] >= 0]):
            levels.append(at)
            at = np.concatenate([self.left[at], self.right[at]])
        return levels

    def packed(self) -> Array:
        """The nodes as records of one cache line each."""
        nodes = np.empty(len(self.feature), dtype=NODE)
        for name in ("threshold", "feature", "left", "right"):
            nodes[name] = getattr(self, name)
        nodes["flags"] = MISSING_LEFT * self.missing_left
        if self.category is not None:
            nodes["flags"] += CATEGORY * self.category
        return nodes

    def goes_left(self, node: Array, value: Array) -> Bools:
        """Whether values go left at internal nodes, (k,) each; round them first where ``single``."""
        left: Bools = value <= self.threshold[node]
        if self.category is not None and len(by_set := np.flatnonzero(self.category[node])):
            assert self.sets is not None
            left[by_set] = in_sets(self.sets, self.threshold[node[by_set]], value[by_set])
        return left | (np.isnan(value) & self.missing_left[node])

    def _at(self, nodes: Any) -> dict[str, Any]:
        """What the arrays hold at some nodes; sets stay where they are."""
        names = NODE_ARRAYS if self.category is None else (*NODE_ARRAYS, "category")
        return {name: getattr(self, name)[nodes] for name in names}

    def first(self, n_trees: int) -> Trees:
        """The ensemble of the first trees only; nothing is copied."""
        return self.between(0, n_trees)

    def between(self, start: int, stop: int) -> Trees:
        """The ensemble of the trees ``start`` to ``stop - 1`` only."""
        bounds = self.bounds
        low, high = (int(bounds[min(n, self.n_trees)]) for n in (start, stop))
        nodes = self._at(slice(low, high))
        root = self.root[start:stop]
        if low:
            for side in ("left", "right"):
                nodes[side] = shifted(nodes[side], np.int32(-low))
            root = root - np.int32(low)
        return replace(self, **nodes, root=root, output=self.output[start:stop])

    def only(self, order: npt.ArrayLike) -> Trees:
        """The ensemble of these trees only, in this order."""
        order = np.asarray(order, dtype=np.intp)
        bounds = self.bounds
        sizes = np.diff(bounds)[order]
        root = np.cumsum(sizes) - sizes
        shift = np.repeat(root - bounds[order], sizes)
        nodes = np.arange(len(shift)) - shift
        parts = self._at(nodes)
        for side in ("left", "right"):
            parts[side] = shifted(parts[side], shift).astype(np.int32)
        return replace(self, **parts, root=root.astype(np.int32), output=self.output[order])

    def pruned(self, expanded: Bools) -> Trees:
        """The trees cut off at nodes that are not expanded, (nodes,).

        Expanded nodes are internal, and so are all nodes above them.
        """
        kept = np.zeros(len(self.feature), dtype=bool)
        for reached in (self.root, self.left[expanded], self.right[expanded]):
            kept[reached] = True
        number = (np.cumsum(kept) - 1).astype(np.int32)
        inner = expanded[kept]
        return replace(
            self,
            feature=np.where(inner, self.feature[kept], np.int32(-1)),
            threshold=np.where(inner, self.threshold[kept], 0.0),
            left=np.where(inner, number[self.left[kept]], np.int32(-1)),
            right=np.where(inner, number[self.right[kept]], np.int32(-1)),
            missing_left=self.missing_left[kept],
            value=self.value[kept],
            root=number[self.root],
            category=None if self.category is None else self.category[kept] & inner,
        )

    def without_base(self) -> Trees:
        """The same trees, adding to nothing."""
        return replace(self, base=np.zeros_like(self.base))

    def arrays(self) -> dict[str, Array]:
        """The arrays by name, for model files: those of sets only where there are some."""
        trees = self._with_own_sets()
        arrays = {f.name: getattr(trees, f.name) for f in fields(self)}
        return {name: array for name, array in arrays.items() if isinstance(array, np.ndarray)}

    def _with_own_sets(self) -> Trees:
        """The same trees with the sets that their nodes test, in the order of the nodes."""
        if self.category is None or not self.category.any():
            return replace(self, category=None, sets=None)
        assert self.sets is not None
        start, sets = only_these(self.sets, self.threshold[self.category])
        threshold = self.threshold.copy()
        threshold[self.category] = start
        return replace(self, threshold=threshold, sets=sets)

    def problem(self, n_features: int) -> str | None:
        """What makes the arrays unsafe to walk, in words; None if nothing does."""
        n, n_trees = len(self.feature), len(self.root)
        if any(
            len(a) != n
            for a in (self.threshold, self.left, self.right, self.missing_left, self.value)
        ):
            return "node arrays differ in length"
        if len(self.output) != n_trees:
            return "root and output differ in length"
        if self.width not in (1, self.n_outputs) or self.n_outputs < 1:
            return f"{self.width} values per node for {self.n_outputs} outputs"
        if not (np.isfinite(self.value).all() and np.isfinite(self.base).all()):
            return "a value is not a finite number"
        if n_trees == 0:
            return None if n == 0 else "nodes without a tree"
        # Compared, not subtracted: a hostile difference of int32 may wrap around.
        if self.root[0] != 0 or (self.root[1:] <= self.root[:-1]).any() or self.root[-1] >= n:
            return "roots are not ascending node numbers from 0"
        if ((self.feature < -1) | (self.feature >= n_features)).any():
            return f"a node tests a feature outside 0..{n_features - 1}"
        inner = self.feature >= 0
        here, end = np.arange(n), self.bounds[1:][self.tree_of]
        for child in (self.left, self.right):
            if (inner & ((child <= here) | (child >= end))).any() or (~inner & (child != -1)).any():
                return "a child does not come after its parent within its tree"
        if not np.isfinite(self.threshold[inner]).all():
            return "a threshold is not a finite number"
        if problem := self._problem_of_sets(inner):
            return problem
        if ((self.output < 0) | (self.output >= self.n_outputs)).any():
            return "a tree adds to an output that does not exist"
        if self.width == self.n_outputs and (self.output != 0).any():
            return "trees that add to all outputs name a single one"
        # Every part is finite; the sum of the largest of each tree must be, too.
        largest = np.maximum.reduceat(np.abs(self.value).max(axis=1), self.root)
        with np.errstate(over="ignore"):
            if not np.isfinite(np.add.reduce(largest) + np.abs(self.base).max()):
                return "values of the trees add up to more than a number can be"
        return None

    def _problem_of_sets(self, inner: Bools) -> str | None:
        """What makes the sets unsafe to look into, in words; None if nothing does."""
        if self.category is None and self.sets is None:
            return None
        if self.category is None or self.sets is None:
            return "sets without nodes that look into them, or such nodes without sets"
        if len(self.category) != len(inner) or (self.category & ~inner).any():
            return "a node without a test looks into a set"
        return problem_of(self.sets, self.threshold[self.category])
