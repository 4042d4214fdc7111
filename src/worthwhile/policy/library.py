"""A library of feature sets as a buyer: a walk from small sets to larger ones, no search."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from worthwhile.core.links import row_sums, shares_of
from worthwhile.costs import Costs
from worthwhile.policy._library_tables import DIMENSIONS, DTYPES, Library
from worthwhile.policy.base import Bundle, Case, Floats, Outcome, Policy, State
from worthwhile.policy.output import Output
from worthwhile.policy.trees import check_arrays

__all__ = ["Library", "LibraryCase", "LibraryPolicy"]

Array = npt.NDArray[Any]


class LibraryPolicy(Policy):
    """Rows go from feature set to feature set while the next is worth its price.

    Parameters
    ----------
    costs, output
        As for every policy.
    library : Library
        Sets, their forests, and what to do at each point of the frontier.
    point : int
        The point in use.
    """

    kind: ClassVar[str] = "library"

    def __init__(self, costs: Costs, output: Output, library: Library, point: int) -> None:
        super().__init__(costs, output)
        self.library, self.point = library, point
        self.price = costs.quanta(library.member)
        self._forests: dict[int, Any] = {}
        self._cuts: Any = None
        self._walks: _Walks | None = None

    def at(self, point: int) -> LibraryPolicy:
        """The same library at another point, neither calibrated nor with prices of errors."""
        return LibraryPolicy(self.costs, self.output.plain, self.library, point)

    def _priced(self, costs: Costs) -> LibraryPolicy:
        return LibraryPolicy(costs, self.output, self.library, self.point)

    @property
    def reads(self) -> npt.NDArray[np.intp]:
        """Columns of any set: without what was wanted, another may be gone to."""
        return np.flatnonzero(self.library.member.any(axis=0))

    def begin(self) -> LibraryCase:
        """Start a row at the empty set."""
        return LibraryCase(self)

    # What batches and single rows share ----------------------------------------------------------

    def absolute(self, votes: Floats) -> Floats:
        """Votes of trees (n, outputs) as answers: shares of classes, or numbers, which grew around a centre."""
        if self.library.n_outputs > 1:
            return shares_of(votes)
        base, unit = self.library.centre
        answers: Floats = votes * unit + base
        return answers

    def seen(self, votes: Floats) -> Floats:
        """What cuts may test about answers (n, outputs): they themselves, and the largest of several."""
        if votes.shape[1] == 1:
            return votes
        return np.column_stack([votes, votes.max(axis=1)])

    def finish(self, votes: Floats) -> Floats:
        """Raw outputs of answers (n, outputs)."""
        # Shares are kept in single precision: what they lack to a sum of 1 is put right here.
        return votes / row_sums(votes)[:, None] if votes.shape[1] > 1 else votes

    def fallback(self, node: int, fits: npt.NDArray[np.bool_]) -> int:
        """The set to go to instead of one that cannot be had; -1 to stop.

        Of the larger sets that ``fits`` allows it is that of the highest score less its price.
        """
        library = self.library
        larger = fits & ~(library.member[node] & ~library.member).any(axis=1)
        larger[: node + 1] = False
        candidates = np.flatnonzero(larger)
        if not len(candidates):
            return -1
        added = (self.price[candidates] - self.price[node]) * 1e-9
        worth = library.score[candidates] - library.rate[self.point] * added
        best = int(np.argmax(worth))
        return int(candidates[best]) if worth[best] > library.score[node] else -1

    # Batches -------------------------------------------------------------------------------------

    def batch(self, X: Floats, limit: int | None = None, *, billed: bool = True) -> Outcome:
        """All rows, node after node."""
        votes, end, evaluated = self._walk(X, partial(self._targets, limit))
        acquired = self.library.member[end] if billed else np.zeros((0, X.shape[1]), dtype=bool)
        return Outcome(self.finish(votes), acquired, evaluated)

    def ends(self, X: Floats) -> Array:
        """The node whose forest answers each row, (n,); 0 has none."""
        return self._walk(X, partial(self._targets, None))[1]

    def parting(self, other: LibraryPolicy, X: Floats, limit: int | None) -> Array:
        """The node of each row from which this policy and another point of its library part, (n,).

        They are together while both go to the same node, and would do so with all money there is.
        """

        def together(node: int, cell: Array, evaluated: Array) -> Array:
            target = self._targets(None, node, cell, evaluated)
            apart = target != other._targets(None, node, cell, evaluated)
            for policy in (self, other) if limit is not None else ():
                apart |= target != policy._targets(limit, node, cell, evaluated)
            return np.where(apart, -1, target)

        return self._walk(X, together)[1]

    def _walk(self, X: Floats, decide: Callable[..., Array]) -> tuple[Floats, Array, Array]:
        """Answers, last nodes and numbers of nodes of all rows: edges lead to later nodes only."""
        library = self.library
        X = np.ascontiguousarray(X, dtype=np.float32 if X.dtype == np.float32 else np.float64)
        votes = np.empty((len(X), library.n_outputs))
        end = np.zeros(len(X), dtype=np.intp)
        evaluated = np.zeros(len(X), dtype=np.int64)
        waiting: list[list[Array]] = [[] for _ in range(library.n_nodes)]
        waiting[0].append(np.arange(len(X)))
        for node, parts in enumerate(waiting):
            if not parts:
                continue
            rows = np.concatenate(parts)
            votes[rows], cell = self._visit(X, rows, node)
            evaluated[rows] += node > 0
            end[rows] = node
            target = decide(node, cell, evaluated[rows])
            for following in np.unique(target[target >= 0]).tolist():
                waiting[following].append(rows[target == following])
        return votes, end, evaluated

    def _targets(self, limit: int | None, node: int, cell: Array, evaluated: Array) -> Array:
        """Where rows at a node go; -1 to stop."""
        target: Array = self.library.choice[self.point][cell]
        return target if limit is None else self._within(node, target, limit, evaluated)

    def _within(self, node: int, target: Array, limit: int, evaluated: Array) -> Array:
        """Where rows go whose next set is too dear for what is left of their limit."""
        evaluation = self.costs.flat.evaluation
        due = self.price - self.price[node] + evaluation
        target = target.copy()
        for count in np.unique(evaluated).tolist():
            fits = due <= limit - int(self.price[node]) - count * evaluation
            refused = (evaluated == count) & (target >= 0) & ~fits[target]
            if refused.any():
                target[refused] = self.fallback(node, fits)
        return target

    def _forest(self, node: int) -> Any:
        """The forest of a node as batches walk it, laid out when the first rows come."""
        if node not in self._forests:
            from worthwhile.core.forest import library_votes

            library, (low, high) = self.library, self.library.nodes_of(node)
            self._forests[node] = library_votes.lay_out(
                library.feature[low:high], library.threshold[low:high], library.child[low:high],
                library.root_of(node), low, (library.start, library.held, library.share),
            )  # fmt: skip
        return self._forests[node]

    def _visit(self, X: Floats, rows: Array, node: int) -> tuple[Floats, Array]:
        """Answers of a node, and the cells of its rows."""
        from worthwhile.core.forest import library_votes
        from worthwhile.core.walks.general import in_threads

        library = self.library
        votes = np.zeros((len(rows), library.n_outputs))
        if node == 0:
            votes[:] = library.prior
        else:
            model = (self._forest(node), library.start, library.held, library.share)
            if model[0] is None:  # thousands of thresholds: one row at a time
                wide = X[rows].astype(np.float64)
                votes = np.array([_votes(library, node, row) for row in wide])
            else:
                in_threads(library_votes.add_votes, len(rows), X, rows, *model, votes)
            votes = self.absolute(votes)
        cell, at = np.empty(len(rows), dtype=np.int64), int(library.cut_root[node])
        if library.cut_feature[at] < 0:
            cell[:] = library.cut_child[at]
        else:
            seen = np.ascontiguousarray(self.seen(votes))
            if self._cuts is None:
                self._cuts = _pack(library.cut_feature, library.cut_threshold, library.cut_child)
            in_threads(library_votes.find_cells, len(rows), X, rows, seen, self._cuts, at, cell)
        return votes, cell

    # Files ---------------------------------------------------------------------------------------

    def state(self) -> State:
        """The tables, and the point in use."""
        return {"point": self.point}, self.library.arrays()

    @classmethod
    def from_state(cls, costs: Costs, output: Output, state: State) -> LibraryPolicy:
        """Read and check the tables."""
        settings, arrays = state
        check_arrays(arrays, DTYPES, DIMENSIONS)
        library = Library(**arrays)
        if problem := library.problem(costs.n_features):
            raise ValueError(problem)
        point = settings.get("point")
        if type(point) is not int or not 0 <= point < len(library.rate):
            raise ValueError(f"point is {str(point)[:40]}, not one of {len(library.rate)}")
        wanted = "value" if output.classes is None else "probabilities"
        if output.kind != wanted or output.n_raw not in (None, library.n_outputs):
            raise ValueError(f"{library.n_outputs} raw outputs for {output.kind}")
        return cls(costs, output, library, point)


def _pack(feature: Array, threshold: Array, child: Array) -> Array:
    """Cuts as the records that kernels walk."""
    from worthwhile.core.forest.library_votes import CUT

    nodes = np.empty(len(feature), dtype=CUT)
    nodes["feature"], nodes["threshold"], nodes["child"] = feature, threshold, child
    return nodes


class _Walks:
    """The tables as single rows walk by them."""

    def __init__(self, policy: LibraryPolicy) -> None:
        library = policy.library
        self.columns: list[tuple[int, ...]] = [
            tuple(np.flatnonzero(member).tolist()) for member in library.member
        ]
        self.price: list[int] = policy.price.tolist()
        self.choice: list[int] = library.choice[policy.point].tolist()
        self.cut_feature: list[int] = library.cut_feature.tolist()
        self.cut_threshold: list[float] = library.cut_threshold.tolist()
        self.cut_child: list[int] = library.cut_child.tolist()
        self.cut_root: list[int] = library.cut_root.tolist()


def _votes(library: Library, node: int, values: Floats) -> Floats:
    """Mean of the leaves that a row (d,) comes to in the trees of a node, which it steps through together."""
    at = library.root_of(node).astype(np.intp)
    empty = bool(np.isnan(values).any())
    tree, here = np.arange(len(at)), at
    while True:
        test = library.feature.take(here)
        on = (test >= 0).nonzero()[0]
        if not len(on):
            break
        tree, here, test = tree.take(on), here.take(on), test.take(on)
        x = values.take(test >> 1)
        right = x > library.threshold.take(here)
        if empty:
            right |= np.isnan(x) & (test & 1 == 0)
        here = np.add(
            library.child.take(here), right, dtype=np.intp
        )  # as indices are taken fastest
        at[tree] = here
    leaf = library.child.take(at)
    first, count = library.start[leaf], library.start[leaf + 1] - library.start[leaf]
    skipped = first - (np.cumsum(count) - count)
    entries = np.repeat(skipped, count) + np.arange(count.sum())
    total = np.bincount(library.held[entries], library.share[entries], library.n_outputs)
    return total / len(at)


class LibraryCase(Case):
    """One row: it stands at a set, and wants what the next one adds."""

    def __init__(self, policy: LibraryPolicy) -> None:
        if policy._walks is None:
            policy._walks = _Walks(policy)
        self._policy, self._walks = policy, policy._walks
        self._evaluation = policy.costs.flat.evaluation
        self._node, self._target = 0, -2  # -2: not yet decided
        self._path: tuple[int, ...] = ()
        self._votes = policy.library.prior[None, :]
        self._known: dict[int, float] = {}
        self._refused: list[frozenset[int]] = []
        self._begun = False

    def wants(self, left: int | None) -> list[Bundle]:
        """What the next set adds, bought whole; sets that are fully known are walked through."""
        while True:
            if self._target == -2:
                self._target = self._more_is_known(left)
            if self._target < 0:
                self._target = self._choose(left)
            if self._target < 0:
                return []
            if not self._begun:
                # Its price is due from here on, as a bill under a limit has to have room for it.
                self._begun = True
                self.evaluated += 1
                left = None if left is None else left - self._evaluation
            if missing := self._missing(self._target):
                return [missing]
            self._enter(self._target)

    def _missing(self, node: int) -> Bundle:
        return tuple(f for f in self._walks.columns[node] if f not in self._known)

    def _enter(self, node: int) -> None:
        self._votes = self._answer_of(node)
        self._node, self._target, self._begun = node, -2, False
        self._path += (node,)

    def _more_is_known(self, left: int | None) -> int:
        """The best larger set of which everything is known by chance; -1 if there is none."""
        if len(self._known) <= len(self._walks.columns[self._node]):
            return -1
        return self._best_known() if left is None or self._due() <= left else -1

    def _due(self) -> int:
        """Price of evaluating the next set, unless that was begun for one that could not be had."""
        return 0 if self._begun else self._evaluation

    def _best_known(self) -> int:
        """Of the sets that are larger than this one and fully known, that of the highest score."""
        library = self._policy.library
        known = np.zeros(library.member.shape[1], dtype=bool)
        known[list(self._known)] = True
        within = ~(library.member & ~known).any(axis=1)
        within &= ~(library.member[self._node] & ~library.member).any(axis=1)
        within[: self._node + 1] = False
        candidates = np.flatnonzero(within)
        return int(candidates[np.argmax(library.score[candidates])]) if len(candidates) else -1

    def _choose(self, left: int | None) -> int:
        """Where to go from here; -1 to stop."""
        walks = self._walks
        target = walks.choice[self._cell()]
        if target < 0 or self._can_be_had(target, left):
            return target
        fits = np.array([self._can_be_had(node, left) for node in range(len(walks.columns))])
        return self._policy.fallback(self._node, fits)

    def _can_be_had(self, node: int, left: int | None) -> bool:
        if self._refused:
            missing = frozenset(self._missing(node))
            if any(refused <= missing for refused in self._refused):
                return False
        if left is None:
            return True
        price = self._walks.price
        return price[node] - price[self._node] + self._due() <= left

    def _cell(self) -> int:
        walks = self._walks
        n, at = self._policy.n_features, walks.cut_root[self._node]
        seen = self._votes[0].tolist()
        seen += [max(seen)]  # as in LibraryPolicy.seen; without others beside it nothing tests it
        while (feature := walks.cut_feature[at]) >= 0:
            column = feature >> 1
            x = self._known[column] if column < n else seen[column - n]
            left = x <= walks.cut_threshold[at] if x == x else feature & 1
            at = walks.cut_child[at] + (0 if left else 1)
        return walks.cut_child[at]

    def learn(self, feature: int, value: float) -> None:
        """Keep the value; what it leads to is decided when somebody looks."""
        self._known[feature] = value
        if self._target < 0 or feature not in self._walks.columns[self._target]:
            self._target = -2

    def refuse(self, bundle: Bundle) -> None:
        """Go another way, around the sets that need all of it."""
        self._refused.append(frozenset(bundle))
        self._target = -2

    @property
    def where(self) -> tuple[tuple[int, ...], int]:
        """The sets that were walked through, and the next one."""
        return self._path, self._target

    def why(self, feature: int) -> str:
        """How many features the next set adds."""
        count = 0 if self._target < 0 else len(self._missing(self._target))
        return f"{'the last' if count == 1 else f'one of {count}'} that the next model adds"

    def answer(self) -> Floats:
        """That of the set where the row stands, or of the best one that is known by now."""
        votes = self._votes
        if not self._evaluation and len(self._known) > len(self._walks.columns[self._node]):
            best = self._best_known()
            votes = votes if best < 0 else self._answer_of(best)
        raw: Floats = self._policy.finish(votes)[0]
        return raw

    def _answer_of(self, node: int) -> Floats:
        """What the forest of a node says."""
        values = np.zeros(self._policy.n_features)
        columns = list(self._walks.columns[node])
        values[columns] = [self._known[column] for column in columns]
        return self._policy.absolute(_votes(self._policy.library, node, values)[None, :])
