"""The flat arrays of a tree ensemble: what growers write and walks read."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np

NODE = np.dtype(
    [
        # One node fills 24 bytes, so that a step of a walk touches one cache line.
        ("threshold", np.float64),
        ("feature", np.int32),
        ("left", np.int32),
        ("right", np.int32),
        ("missing_left", np.int32),
    ]
)


@dataclass(frozen=True, eq=False)
class Trees:
    """Binary trees in one set of arrays, tree after tree, children after their parents.

    Attributes
    ----------
    feature : int32 (nodes,)
        Column tested at a node; -1 at a leaf.
    threshold : float64 (nodes,)
        A row goes left iff its value <= threshold.
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

    Examples
    --------
    >>> import numpy as np
    >>> stump = Trees.build(feature=[0, -1, -1], threshold=[0.5, 0, 0], left=[1, -1, -1],
    ...                     right=[2, -1, -1], value=[[0.3], [0.0], [1.0]], root=[0], base=[0.0])
    >>> stump.n_trees, stump.n_outputs, stump.features.tolist()
    (1, 1, [0])
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    missing_left: np.ndarray
    value: np.ndarray
    root: np.ndarray
    output: np.ndarray
    base: np.ndarray
    average: bool = False
    single: bool = False

    @classmethod
    def build(
        cls, feature, threshold, left, right, value, root, base, missing_left=None, output=None, average=False,
        single=False,
    ):  # fmt: skip
        """Make trees from anything array-like, with the dtypes that walks need."""
        feature = np.ascontiguousarray(feature, dtype=np.int32)
        root = np.ascontiguousarray(root, dtype=np.int32)
        return cls(
            feature=feature,
            threshold=np.ascontiguousarray(threshold, dtype=np.float64),
            left=np.ascontiguousarray(left, dtype=np.int32),
            right=np.ascontiguousarray(right, dtype=np.int32),
            missing_left=np.ascontiguousarray(
                np.zeros(len(feature)) if missing_left is None else missing_left, dtype=bool
            ),
            value=np.ascontiguousarray(value, dtype=np.float64),
            root=root,
            output=np.ascontiguousarray(
                np.zeros(len(root)) if output is None else output, dtype=np.int32
            ),
            base=np.ascontiguousarray(base, dtype=np.float64),
            average=bool(average),
            single=bool(single),
        )

    @property
    def n_trees(self):
        """Number of trees."""
        return len(self.root)

    @property
    def n_outputs(self):
        """Number of columns of the raw output."""
        return len(self.base)

    @property
    def width(self):
        """Number of values at a node: 1, or one per output."""
        return self.value.shape[1]

    @property
    def features(self):
        """Columns that some node tests, ascending."""
        return np.unique(self.feature[self.feature >= 0])

    def packed(self):
        """The nodes as records of one cache line each."""
        nodes = np.empty(len(self.feature), dtype=NODE)
        for name in NODE.names:
            nodes[name] = getattr(self, name)
        return nodes

    def first(self, n_trees):
        """The ensemble of the first trees only."""
        end = len(self.feature) if n_trees >= self.n_trees else int(self.root[n_trees])
        nodes = ("feature", "threshold", "left", "right", "missing_left", "value")
        return replace(
            self,
            **{name: getattr(self, name)[:end] for name in nodes},
            root=self.root[:n_trees],
            output=self.output[:n_trees],
        )

    def arrays(self):
        """The arrays by name, for model files."""
        return {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name not in ("average", "single")
        }

    def problem(self, n_features):
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
        tree = np.searchsorted(self.root, np.arange(n), side="right")
        end = np.append(self.root[1:], n)[tree - 1]
        here = np.arange(n)
        for child in (self.left, self.right):
            if (inner & ((child <= here) | (child >= end))).any() or (~inner & (child != -1)).any():
                return "a child does not come after its parent within its tree"
        if not np.isfinite(self.threshold[inner]).all():
            return "a threshold is not a finite number"
        if ((self.output < 0) | (self.output >= self.n_outputs)).any():
            return "a tree adds to an output that does not exist"
        if self.width == self.n_outputs and (self.output != 0).any():
            return "trees that add to all outputs name a single one"
        return None
