"""Tree ensembles as buyers: every walk waits for the feature it needs next."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.trees import Trees
from worthwhile.costs import MOST_QUANTA, NO_LIMIT, Costs, as_float
from worthwhile.exceptions import CostsError
from worthwhile.policy.base import Bundle, Case, Floats, Outcome, Policy, State, without
from worthwhile.policy.output import Output

MANY = 512
"""Rows from which shallow trees are scored instead of walked; below, it is not worth the tables."""


@functools.cache
def _general_walks() -> Any:
    """The kernels that walk any trees, imported when the first batch comes: single rows are quick."""
    from worthwhile.core.walks import general

    return general


class TreePolicy(Policy):
    """Walks through trees, buying what the nodes on the way test.

    Parameters
    ----------
    costs, output
        As for every policy.
    trees : Trees
        The ensemble.
    """

    kind = "trees"

    def __init__(self, costs: Costs, output: Output, trees: Trees) -> None:
        super().__init__(costs, output)
        if costs.flat.total + trees.n_trees * costs.flat.evaluation > MOST_QUANTA:
            raise CostsError(
                f"evaluation is {costs.evaluation} for each of {trees.n_trees} trees: with all features a full bill is "
                f"over {as_float(MOST_QUANTA):,.0f}. Use a larger unit."
            )
        self.trees = trees
        self._nodes: _Nodes | None = None
        self._packed: Any = None
        self._tests: Any = None
        self._deep: Any = None
        self._walked = 0

    @property
    def reads(self) -> npt.NDArray[np.intp]:
        """Columns that some node tests."""
        return self.trees.features.astype(np.intp)

    def begin(self) -> TreeCase:
        """Start a row at the roots."""
        return TreeCase(self)

    def _node_arrays(self) -> _Nodes:
        if self._nodes is None:
            self._nodes = _Nodes(self.trees)
        return self._nodes

    def batch(self, X: Floats, limit: int | None = None, *, billed: bool = True) -> Outcome:
        """All rows by compiled walks, on all cores."""
        trees = self.trees
        raw = np.zeros((len(X), trees.n_outputs))
        if limit is not None:
            return self._batch_limited(X, limit, raw)
        acquired = np.zeros(X.shape if billed else (0, 0), dtype=bool)
        evaluated = np.empty(len(X), dtype=np.int64)
        evaluated.fill(trees.n_trees)
        if len(X) >= MANY and self._is_shallow():
            self._score(self._read(X), raw, acquired)
        elif not (self._is_worth_laying_out(len(X)) and self._walk_deep(X, raw, acquired)):
            self._walk("walk", X, trees.average, raw, acquired)
        return Outcome(raw, acquired, evaluated)

    def batch_without(
        self, X: Floats, limit: int | None, missing: Sequence[int], *, billed: bool = True
    ) -> Outcome:
        """By compiled walks: trees stop where they need what is not to be had, as if it were too dear."""
        raw = np.zeros((len(X), self.trees.n_outputs))
        return self._batch_limited(X, NO_LIMIT - 1 if limit is None else limit, raw, missing)

    def _priced(self, costs: Costs) -> TreePolicy:
        other = type(self)(costs, self.output, self.trees)
        for name in (
            "_nodes",
            "_packed",
            "_tests",
            "_deep",
            "_walked",
        ):  # made from the trees alone
            setattr(other, name, getattr(self, name))
        return other

    def _batch_limited(
        self, X: Floats, limit: int, raw: Floats, missing: Sequence[int] = ()
    ) -> Outcome:
        flat = without(self.costs.flat, missing)
        acquired, evaluated = np.zeros(X.shape, dtype=bool), np.zeros(len(X), dtype=np.int64)
        self._walk(
            "walk_limited", X, self.trees.average, flat.price, flat.begin, flat.opens, flat.fee,
            np.int64(flat.evaluation), np.int64(limit), raw, acquired, evaluated,
        )  # fmt: skip
        return Outcome(raw, acquired, evaluated)

    def staged(self, X: Floats, step: int) -> Iterator[Floats]:
        """Raw outputs (n, outputs) after every ``step`` trees, to the bit what those trees alone give."""
        trees = self.trees.without_base()
        total: Floats = np.zeros((len(X), trees.n_outputs))
        for start in range(0, trees.n_trees, step):
            # A walk adds tree after tree to zero and the base last; so do we, one step at a time.
            for tree in range(start, min(start + step, trees.n_trees)):
                part = TreePolicy(self.costs, self.output, trees.between(tree, tree + 1))
                total += part.batch(X, billed=False).raw
            yield self.trees.base + total

    def _read(self, X: Floats) -> npt.NDArray[Any]:
        """The rows as walks compare them."""
        single = self.trees.single or X.dtype == np.float32
        return np.ascontiguousarray(X, dtype=np.float32 if single else np.float64)

    def _walk(self, name: str, X: Floats, *arguments: Any) -> None:
        """Run one of the kernels that can walk any trees."""
        walk = _general_walks()
        if self._packed is None:
            trees = self.trees
            self._packed = (
                trees.packed(), trees.sets, trees.value, trees.root, trees.output, trees.base
            )  # fmt: skip
        walk.in_threads(getattr(walk, name), len(X), self._read(X), *self._packed, *arguments)

    def _is_worth_laying_out(self, n_rows: int) -> bool:
        """Whether so many rows have come that laying the trees out anew is the smaller effort."""
        self._walked += n_rows
        return n_rows >= MANY and self._walked * self.trees.n_trees >= len(self.trees.feature)

    def _walk_deep(self, X: Floats, raw: Floats, acquired: npt.NDArray[np.bool_]) -> bool:
        """Walk by way of ``core.walks.deep``; False, with nothing done, where trees or values do not allow it."""
        from worthwhile.core.walks import deep
        from worthwhile.core.walks import general as walk

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
        from worthwhile.core.walks import shallow

        if self._tests is None:
            self._tests = shallow.list_tests(self.trees) or ()
        return bool(self._tests)

    def _score(self, X: Floats, raw: Floats, acquired: npt.NDArray[np.bool_]) -> None:
        from worthwhile.core.walks import general as walk
        from worthwhile.core.walks import shallow

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
        if "category" in arrays or "sets" in arrays:
            expected |= {"category": "b1", "sets": "u8"}
        check_arrays(arrays, expected, {"value": 2})
        for name in ("average", "single"):
            if not isinstance(settings.get(name), bool):
                raise ValueError(f"{name} is {settings.get(name)!r}, not true or false")
        trees = Trees(**arrays, average=settings["average"], single=settings["single"])
        if problem := trees.problem(costs.n_features):
            raise ValueError(problem)
        if output.n_raw is not None and output.n_raw != trees.n_outputs:
            raise ValueError(f"{trees.n_outputs} raw outputs for {output.n_raw}")
        _check_shares(output, trees)
        return cls(costs, output, trees)


MOST_WEIGHT = 1e280
"""Of a class at a node: sums over all classes and trees stay finite."""


def _check_shares(output: Output, trees: Trees) -> None:
    """Refuse nodes whose values give no probabilities where the output makes some of them."""
    if output.kind not in ("probabilities", "votes"):
        return
    nodes = np.vstack([trees.value, trees.base]) if trees.width == trees.n_outputs else None
    if nodes is None or (output.kind == "probabilities" and not trees.average):
        raise ValueError(f"{output.kind} come from forests with a value per class at each node")
    if output.kind == "probabilities" and not ((nodes >= 0) & (nodes <= 1)).all():
        raise ValueError("a node has a probability that is not between 0 and 1")
    weights = nodes[:, trees.n_outputs // 2 :]
    fit = (weights >= 0).all() and (weights.max(axis=1) > 0).all() and weights.max() <= MOST_WEIGHT
    if output.kind == "votes" and not fit:
        raise ValueError("a node has weights of classes that give no probabilities")


class _Nodes:
    """The nodes as a single row walks by them, with indices that need no conversion."""

    def __init__(self, trees: Trees) -> None:
        self.root = trees.root.astype(np.intp)
        self.feature = trees.feature.astype(np.intp)
        self.threshold = trees.threshold
        self.child = np.stack([trees.right, trees.left], axis=1).astype(np.intp).ravel()
        """Where ``2 * node`` goes to the right, ``2 * node + 1`` to the left."""
        self.missing_left = trees.missing_left


class TreeCase(Case):
    """One row: every tree stands at a node and goes on in rounds.

    A round asks for all features at which trees stand, in the order of the trees; once each of them
    is known or refused, all trees walk on as far as they can. So buying one feature at a time or all
    that are wanted at once comes to the same purchases.
    """

    def __init__(self, policy: TreePolicy) -> None:
        self._trees, self._nodes = policy.trees, policy._node_arrays()
        self._evaluation = policy.costs.flat.evaluation
        self._at = self._nodes.root[:0]
        self._started = False
        self._round: dict[int, None] = {}  # what is neither known nor refused of it, in order
        self._refused: set[int] = set()
        self._news: dict[int, float] = {}  # known, but not walked by yet
        # One more than there are columns, and never known: where a leaf's -1 points to.
        self._values = np.zeros(policy.n_features + 1)
        self._known = np.zeros(policy.n_features + 1, dtype=bool)
        self._some_empty = False

    def wants(self, left: int | None) -> list[Bundle]:
        """What is left of the round, or else the next round; the first call sets the trees going."""
        if not self._started:
            self._started = True
            n_trees = self._trees.n_trees
            if self._evaluation and left is not None:
                n_trees = min(n_trees, left // self._evaluation)
            self.evaluated = n_trees
            self._at = self._nodes.root[:n_trees].copy()
            self._walk()  # by what was known before
        if not self._round:
            here = self._stand()
            self._round = dict.fromkeys(here[here >= 0].tolist())
            self._strike(self._refused)
        return list(zip(self._round, strict=True))

    def _strike(self, features: Iterable[int]) -> None:
        """Take features off the round."""
        for feature in features:
            self._round.pop(feature, None)

    def learn(self, feature: int, value: float) -> None:
        """Take it in; trees walk on when the round is over, or when somebody looks."""
        self.learn_all({feature: value})

    def learn_all(self, values: Mapping[int, float]) -> None:
        """The same for several values."""
        self._news.update(values)
        self._strike(values)
        self._refused.difference_update(values)  # it may turn up all the same

    def refuse(self, bundle: Bundle) -> None:
        """Leave the trees that stand at it where they are."""
        self._refused.update(bundle)
        self._strike(bundle)

    def why(self, feature: int) -> str:
        """How many trees stand at it."""
        count = int((self._stand() == feature).sum())
        return f"{count} of {self.evaluated} trees wait for it"

    def _stand(self) -> npt.NDArray[np.intp]:
        """Let all trees go as far as they can; the features at which they stand, -1 at leaves."""
        if self._news:
            self._take_in()
            self._walk()
        return self._nodes.feature.take(self._at)

    def _take_in(self) -> None:
        """Bring what was learned since the last walk into the arrays."""
        n = len(self._news)
        columns = np.fromiter(self._news, np.intp, n)
        values = np.fromiter(self._news.values(), np.float64, n)
        self._values[columns] = values.astype(np.float32) if self._trees.single else values
        self._known[columns] = True
        self._some_empty = self._some_empty or bool(np.isnan(values).any())
        self._news.clear()

    def _walk(self) -> None:
        """Move the trees that can go on, all of them one node at a time."""
        nodes, known, at = self._nodes, self._known, self._at
        feature = nodes.feature.take(at)
        moving = known.take(feature).nonzero()[0]
        node, feature = at.take(moving), feature.take(moving)
        while len(moving):
            value = self._values.take(feature)
            if self._trees.category is not None:
                left = self._trees.goes_left(node, value)
            else:
                left = value <= nodes.threshold.take(node)
                if self._some_empty:
                    left |= np.isnan(value) & nodes.missing_left.take(node)
            node = nodes.child.take(2 * node + left)
            at[moving] = node
            feature = nodes.feature.take(node)
            on = known.take(feature).nonzero()[0]
            moving, node, feature = moving.take(on), node.take(on), feature.take(on)

    def answer(self) -> Floats:
        """Add up the nodes reached, in the order of the trees."""
        self._stand()
        return answer_at(self._trees, self._at)


def answer_at(trees: Trees, at: npt.ArrayLike) -> Floats:
    """Raw output of the first trees, standing at these nodes: added one tree after the other.

    numpy's own sum would add in pairs, and give other bits than a batch.
    """
    values = trees.value.take(np.asarray(at, dtype=np.intp), axis=0)
    if trees.width == 1:
        total = np.bincount(trees.output[: len(values)], values[:, 0], trees.n_outputs)
    else:
        total = np.add.accumulate(values, axis=0)[-1:].sum(axis=0)  # zeros where nothing stands
    if not trees.average:
        return trees.base + total
    return total / len(values) if len(values) else trees.base.copy()


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
