"""Tree ensembles as buyers: every walk waits for the feature it needs next."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from costwise.core.trees import Trees
from costwise.costs import MOST_QUANTA, Costs, as_float
from costwise.exceptions import CostsError
from costwise.policy.base import Bundle, Case, Floats, Outcome, Policy, State
from costwise.policy.output import Output

MANY = 512
"""Rows from which shallow trees are scored instead of walked; below, it is not worth the tables."""


class TreePolicy(Policy):
    """Walks through trees, buying what the nodes on the way test.

    Parameters
    ----------
    costs : Costs
        Prices in column order.
    output : Output
        How raw outputs become predictions.
    trees : Trees
        The ensemble.
    """

    kind = "trees"

    def __init__(self, costs: Costs, output: Output, trees: Trees) -> None:
        super().__init__(costs, output)
        most = int(costs.flat.price.sum() + costs.flat.fee.sum())
        if most + trees.n_trees * costs.flat.evaluation > MOST_QUANTA:
            raise CostsError(
                f"evaluation is {costs.evaluation} for each of {trees.n_trees} trees: with all features a full bill is "
                f"over {as_float(MOST_QUANTA):,.0f}. Use a larger unit."
            )
        self.trees = trees
        self._lists: _Lists | None = None
        self._packed: Any = None
        self._tests: Any = None
        self._deep: Any = None
        self._walked = 0

    @property
    def reads(self) -> npt.NDArray[np.intp]:
        """Columns that some node tests."""
        columns: npt.NDArray[np.intp] = self.trees.features.astype(np.intp)
        return columns

    def begin(self) -> TreeCase:
        """Start a row at the roots."""
        if self._lists is None:
            self._lists = _Lists(self.trees)
        return TreeCase(self._lists, self.costs.flat.evaluation)

    def batch(self, X: Floats, limit: int | None = None, *, billed: bool = True) -> Outcome:
        """All rows by compiled walks, on all cores."""
        trees = self.trees
        raw = np.zeros((len(X), trees.n_outputs))
        if limit is not None:
            return self._batch_limited(X, limit, raw)
        acquired = np.zeros(X.shape if billed else (0, 0), dtype=bool)
        evaluated = np.full(len(X), trees.n_trees, dtype=np.int64)
        if len(X) >= MANY and self._is_shallow():
            self._score(self._read(X), raw, acquired)
        elif not (self._is_worth_laying_out(len(X)) and self._walk_deep(X, raw, acquired)):
            self._walk("walk", X, trees.average, raw, acquired)
        return Outcome(raw, acquired, evaluated)

    def _batch_limited(self, X: Floats, limit: int, raw: Floats) -> Outcome:
        flat = self.costs.flat
        acquired, evaluated = np.zeros(X.shape, dtype=bool), np.zeros(len(X), dtype=np.int64)
        self._walk(
            "walk_limited", X, self.trees.average, flat.price, flat.group, flat.fee,
            np.int64(flat.evaluation), np.int64(limit), raw, acquired, evaluated,
        )  # fmt: skip
        return Outcome(raw, acquired, evaluated)

    def _read(self, X: Floats) -> npt.NDArray[Any]:
        """The rows as walks compare them."""
        single = self.trees.single or X.dtype == np.float32
        return np.ascontiguousarray(X, dtype=np.float32 if single else np.float64)

    def _walk(self, name: str, X: Floats, *arguments: Any) -> None:
        """Run one of the kernels that can walk any trees."""
        from costwise.core import walk

        if self._packed is None:
            self._packed = self.trees.packed()
        trees = self.trees
        model = (self._packed, trees.value, trees.root, trees.output, trees.base)
        walk.in_threads(getattr(walk, name), len(X), self._read(X), *model, *arguments)

    def _is_worth_laying_out(self, n_rows: int) -> bool:
        """Whether so many rows have come that laying the trees out anew is the smaller effort."""
        self._walked += n_rows
        return n_rows >= MANY and self._walked * self.trees.n_trees >= len(self.trees.feature)

    def _walk_deep(self, X: Floats, raw: Floats, acquired: npt.NDArray[np.bool_]) -> bool:
        """Walk by way of ``core.deep``; False, with nothing done, where trees or values do not allow it."""
        from costwise.core import deep, walk

        trees = self.trees
        if self._deep is None:
            self._deep = deep.lay_out(trees) or ()
        if not self._deep:
            return False
        X = np.ascontiguousarray(X, dtype=np.float32 if X.dtype == np.float32 else np.float64)
        exact = np.ones(1, dtype=bool)
        walk.in_threads(
            deep.walk_deep, len(X), X, self._deep, trees.single, trees.base, trees.average, raw,
            acquired, exact,
        )  # fmt: skip
        if not exact[0]:
            raw[:], acquired[:] = 0.0, False
        return bool(exact[0])

    def _is_shallow(self) -> bool:
        """Whether all tests of a tree at once beat a walk."""
        from costwise.core import shallow

        if self._tests is None:
            self._tests = shallow.list_tests(self.trees) or ()
        return bool(self._tests)

    def _score(self, X: Floats, raw: Floats, acquired: npt.NDArray[np.bool_]) -> None:
        from costwise.core import shallow, walk

        trees = self.trees
        model = (X, self._tests, trees.value, trees.output, trees.base, trees.average)
        walk.in_threads(shallow.score, len(X), *model, raw, acquired)

    def state(self) -> State:
        """The arrays of the trees."""
        return {"average": self.trees.average, "single": self.trees.single}, self.trees.arrays()

    @classmethod
    def from_state(cls, costs: Costs, output: Output, state: State) -> TreePolicy:
        """Read and check the arrays of the trees."""
        settings, arrays = state
        expected = {
            "feature": "i4", "threshold": "f8", "left": "i4", "right": "i4", "missing_left": "b1",
            "value": "f8", "root": "i4", "output": "i4", "base": "f8",
        }  # fmt: skip
        check_arrays(arrays, expected, {"value": 2})
        for name in ("average", "single"):
            if not isinstance(settings.get(name), bool):
                raise ValueError(f"{name} is {settings.get(name)!r}, not true or false")
        trees = Trees(**arrays, average=settings["average"], single=settings["single"])
        if problem := trees.problem(costs.n_features):
            raise ValueError(problem)
        if output.n_raw is not None and output.n_raw != trees.n_outputs:
            raise ValueError(f"{trees.n_outputs} raw outputs for {output.n_raw}")
        return cls(costs, output, trees)


class _Lists:
    """The nodes as Python lists: for single rows they are several times faster than arrays."""

    def __init__(self, trees: Trees) -> None:
        self.feature: list[int] = trees.feature.tolist()
        self.threshold: list[float] = trees.threshold.tolist()
        self.left: list[int] = trees.left.tolist()
        self.right: list[int] = trees.right.tolist()
        self.missing: list[int] = np.where(trees.missing_left, trees.left, trees.right).tolist()
        self.root: list[int] = trees.root.tolist()
        self.output: list[int] = trees.output.tolist()
        self.base: list[float] = trees.base.tolist()
        self.value, self.width = trees.value, trees.width
        self.first_value: list[float] = trees.value[:, 0].tolist() if trees.width == 1 else []
        self.average, self.single = trees.average, trees.single
        self.first_lines: dict[int, list[int]] = {}  # trees that wait for a feature at the start
        for tree, root in enumerate(self.root):
            if (feature := self.feature[root]) >= 0:
                self.first_lines.setdefault(feature, []).append(tree)


class TreeCase(Case):
    """One row: each tree stands at a node, and the trees that wait for a feature stand in its line.

    Lines are served in the order in which they formed, so buying one feature at a time or all that
    are wanted at once comes to the same purchases.
    """

    def __init__(self, lists: _Lists, evaluation: int) -> None:
        self._lists = lists
        self._evaluation = evaluation
        self._at: list[int] = []
        self._known: dict[int, float] = {}
        self._refused: set[int] = set()
        self._line: dict[int, list[int]] = {}
        self._stopped: dict[int, list[int]] = {}
        self._started = False

    def wants(self, left: int | None) -> list[Bundle]:
        """The features at which lines stand; the first call sets the trees going."""
        if not self._started:
            self._started = True
            n_trees = len(self._lists.root)
            if self._evaluation and left is not None:
                n_trees = min(n_trees, left // self._evaluation)
            self.evaluated = n_trees
            self._at = self._lists.root[:n_trees]
            if n_trees < len(self._lists.root) or self._known or self._refused:
                self._walk([range(n_trees)])
            else:
                self._line = {f: line.copy() for f, line in self._lists.first_lines.items()}
        return [(feature,) for feature in self._line]

    def learn(self, feature: int, value: float) -> None:
        """Walk on every tree that stood in line for the feature."""
        self.learn_all({feature: value})

    def learn_all(self, values: Mapping[int, float]) -> None:
        """Walk on every tree that stood in line for one of the features, line after line."""
        self._walk(self._lines_of(values))

    def _lines_of(self, values: Mapping[int, float]) -> Iterator[list[int]]:
        """Take in one value after the other, and give the trees that stood in line for it."""
        single = self._lists.single
        for feature, value in values.items():
            self._known[feature] = float(np.float32(value)) if single else value
            self._refused.discard(feature)
            # It may have been refused before and turn up all the same.
            trees = self._line.pop(feature, None) or self._stopped.pop(feature, None)
            if trees:
                yield trees

    def refuse(self, bundle: Bundle) -> None:
        """Leave the trees that stand in line for it where they are."""
        for feature in bundle:
            self._refused.add(feature)
            if feature in self._line:
                self._stopped[feature] = self._line.pop(feature)

    def why(self, feature: int) -> str:
        """How many trees stand in line for it."""
        return f"{len(self._line.get(feature, ()))} of {self.evaluated} trees wait for it"

    def _walk(self, groups: Iterable[Iterable[int]]) -> None:
        """Let groups of trees go as far as they can, one group after the other."""
        lists, known, line, at = self._lists, self._known, self._line, self._at
        features, thresholds = lists.feature, lists.threshold
        lefts, rights, missing = lists.left, lists.right, lists.missing
        for tree in itertools.chain.from_iterable(groups):
            node = at[tree]
            while (feature := features[node]) >= 0:
                if feature not in known:
                    waiting = self._stopped if feature in self._refused else line
                    if feature in waiting:
                        waiting[feature].append(tree)
                    else:
                        waiting[feature] = [tree]
                    break
                value = known[feature]
                if value <= thresholds[node]:
                    node = lefts[node]
                elif value == value:
                    node = rights[node]
                else:
                    node = missing[node]
            at[tree] = node

    def answer(self) -> Floats:
        """Add up the nodes reached, in the order of the trees."""
        lists = self._lists
        total = [0.0] * len(lists.base)
        if lists.width == 1:
            for output, node in zip(lists.output, self._at, strict=False):
                total[output] += lists.first_value[node]
        else:
            total = _row_by_row_sum(lists.value[self._at]) if self._at else total
        if not lists.average:
            return np.array([b + t for b, t in zip(lists.base, total, strict=True)])
        if self.evaluated == 0:
            return np.array(lists.base)
        return np.array([t / self.evaluated for t in total])


def _row_by_row_sum(rows: Floats) -> list[float]:
    """Sum of rows, one row after the other: numpy's own sum would add in pairs."""
    total = np.zeros(rows.shape[1])
    for row in rows:
        total += row
    result: list[float] = total.tolist()
    return result


def check_arrays(
    arrays: dict[str, Any], expected: dict[str, str], dimensions: dict[str, int]
) -> None:
    """Refuse arrays with other names, dtypes or numbers of dimensions (1 where not stated)."""
    if set(arrays) != set(expected):
        raise ValueError(f"arrays are {sorted(arrays)}, not {sorted(expected)}")
    for name, dtype in expected.items():
        array = arrays[name]
        if not isinstance(array, np.ndarray) or array.dtype != np.dtype(dtype):
            raise ValueError(f"array {name} has not the dtype {dtype}")
        if array.ndim != dimensions.get(name, 1):
            raise ValueError(f"array {name} has {array.ndim} dimensions")
