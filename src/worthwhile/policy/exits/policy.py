"""Staged tree ensembles with exits: rows alone, or the documents of a query together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from worthwhile.core.queries import Queries
from worthwhile.costs import NO_LIMIT, Costs
from worthwhile.policy.base import Floats, Outcome, Policy, State, without
from worthwhile.policy.exits.case import Lists, QueryCase, StagedCase
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy, check_arrays

Ints = npt.NDArray[np.int64]
Masks = npt.NDArray[np.bool_]

QUERY_RULES = ("proximity", "score", "rank", "capacity")
"""Rules for documents of a query, numbered as in ``core.walks.staged``."""

RULES = (*QUERY_RULES, "probability")

LOWEST = {"proximity": 0.0, "score": -math.inf, "rank": 1.0, "capacity": 1.0, "probability": 0.0}
"""The lowest level that makes sense for each rule."""

BLOCK = 8192
"""Rows that go through all stages together, so that they stay in cache."""


class ExitPolicy(Policy):
    """Trees in stages, after each of which rows may leave.

    Parameters
    ----------
    model : TreePolicy
        The ensemble, its prices and its output.
    ends : int64 (stages,)
        Number of trees after each stage, ascending; the last is all trees.
    rule : str
        "probability": a row leaves when its largest class probability is above the level. The
        others need the documents of a query: "proximity" (leave when the score is at least the
        level below that of the ``keep``-th best), "score" (below the level), "rank" (not among the
        best so many), "capacity" (as rank, but only among the documents before it in the query).
    levels : float64 (stages - 1,)
        Level at each exit; nobody leaves after the last stage, where nothing is left to save.
    keep : int
        Documents that the proximity rule never removes.
    """

    kind: ClassVar[str] = "exits"

    def __init__(
        self, model: TreePolicy, ends: npt.NDArray[np.int64], rule: str, levels: Floats, keep: int
    ) -> None:
        super().__init__(model.costs, model.output)
        self.model = model
        self.ends = ends
        self.rule = rule
        self.levels = levels
        self.keep = keep
        self._lists: Lists | None = None
        self._packed: Any = None
        starts = [0, *ends.tolist()]
        self._stages: list[tuple[int, int]] = list(itertools.pairwise(starts))

    @property
    def reads(self) -> npt.NDArray[np.intp]:
        """Columns that some node tests."""
        return self.model.reads

    @property
    def alone(self) -> bool:
        """Whether rows decide for themselves."""
        return self.rule == "probability"

    def _nodes(self) -> Lists:
        if self._lists is None:
            self._lists = Lists(self.model.trees)
        return self._lists

    def begin(self) -> StagedCase:
        """Start a row; where queries decide, a row alone never leaves."""
        return StagedCase(self)

    def begin_query(self, n_documents: int) -> QueryCase:
        """Start the documents of a query."""
        return QueryCase(self, n_documents)

    # Batches -------------------------------------------------------------------------------------

    def batch(
        self,
        X: Floats,
        limit: int | None = None,
        *,
        billed: bool = True,
        queries: Queries | None = None,
    ) -> Outcome:
        """All rows, each for itself with at most ``limit`` quanta.

        With ``queries``, documents decide together, the limit is for the whole query, and the raw
        output is the score whose order is the ranking.
        """
        if queries is not None:
            return self._run(X, queries, limit, billed, together=True)
        if not self.alone and limit is None:
            return self.model.batch(X, billed=billed)
        return self._run(X, Queries.single(len(X)), limit, billed)

    def batch_without(
        self,
        X: Floats,
        limit: int | None,
        missing: Sequence[int],
        *,
        billed: bool = True,
        queries: Queries | None = None,
    ) -> Outcome:
        """The same where some columns are not to be had: as if they were too dear."""
        limit = NO_LIMIT - 1 if limit is None else limit
        together = queries is not None
        queries = Queries.single(len(X)) if queries is None else queries
        return self._run(X, queries, limit, billed, together, missing)

    def _run(
        self, X: Floats, queries: Queries, limit: int | None, billed: bool, together: bool = False,
        missing: Sequence[int] = (),
    ) -> Outcome:  # fmt: skip
        from worthwhile.core.threads import Threads, count_threads
        from worthwhile.core.walks import general as walk
        from worthwhile.core.walks import staged as exits

        run = _Batch(self, X, queries, limit, billed, together)
        run.prices = without(self.costs.flat, missing)
        cuts = np.searchsorted(queries.bounds, np.arange(0, len(X) + BLOCK, BLOCK))
        cuts = np.unique(np.minimum(cuts, len(queries))).tolist()
        blocks = list(itertools.pairwise(cuts))
        with Threads(min(count_threads(None), max(1, len(blocks)))) as threads:
            threads.run(len(blocks), lambda i: run.stages(*blocks[i]))
        raw = self.finish(run.raw, run.evaluated, run.exit_of)
        if together:
            score = np.array(queries.sorted(raw[:, 0]))
            exits.ranking_scores(score, queries.sorted(run.exit_of), queries.bounds)
            raw = queries.restored(score)[:, None]
        acquired = run.acquired if run.state is None else np.equal(run.state, walk.BOUGHT)
        return Outcome(raw, acquired, run.evaluated)

    def finish(self, raw: Floats, evaluated: Ints, completed: Any) -> Floats:
        """Raw output from the sums over the trees evaluated so far.

        ``completed`` is the number of stages that rows which decide for themselves went through.
        """
        trees = self.model.trees
        if not trees.average:
            added: Floats = trees.base + raw
            return added
        base = np.broadcast_to(trees.base, raw.shape)
        counts = evaluated[:, None]
        mean: Floats = np.divide(raw, counts, out=base.copy(), where=counts > 0)
        return mean

    def staying(self, number: int, raw: Floats, evaluated: Ints, bounds: Ints) -> Masks:
        """Which rows go on after stage ``number``; ``raw`` are the sums so far."""
        from worthwhile.core.walks import staged as exits

        output = self.finish(raw, evaluated, None)
        level = float(self.levels[number])
        stays = np.ones(len(raw), dtype=bool)
        if self.alone:
            np.less_equal(self.output.plain.probabilities(output).max(axis=1), level, out=stays)
        else:
            score = np.ascontiguousarray(output[:, 0])
            exits.leave(score, bounds, QUERY_RULES.index(self.rule), level, self.keep, stays)
        return stays

    # Files ---------------------------------------------------------------------------------------

    def state(self) -> State:
        """The ensemble as a policy of its own, and the exits."""
        return (
            {"rule": self.rule, "keep": self.keep},
            {"model": self.model, "ends": self.ends, "levels": self.levels},
        )

    @classmethod
    def from_state(cls, costs: Costs, output: Output, state: State) -> ExitPolicy:
        """Read and check the exits."""
        settings, arrays = dict(state[0]), dict(state[1])
        model = arrays.pop("model", None)
        if not isinstance(model, TreePolicy) or model.n_features != costs.n_features:
            raise ValueError("the staged model is not an ensemble of trees over the same features")
        check_arrays(arrays, {"ends": "i8", "levels": "f8"}, {})
        # Prices and output are those of the whole, whatever the part says.
        model = TreePolicy.from_state(costs, output, model.state())
        ends, levels = arrays["ends"], arrays["levels"]
        rule, keep = settings.get("rule"), settings.get("keep")
        if rule not in RULES or (rule == "probability" and not output.has_probabilities):
            raise ValueError(f"the rule {str(rule)[:40]!r} does not fit")
        if rule != "probability" and model.trees.n_outputs != 1:
            raise ValueError("documents are ranked by one score")
        if isinstance(keep, bool) or not isinstance(keep, int) or keep < 1:
            raise ValueError(f"keep is {str(keep)[:40]}, not a number of documents")
        if len(levels) != max(0, len(ends) - 1) or np.isnan(levels).any():
            raise ValueError("there is not one level per exit")
        if (levels < LOWEST[rule]).any():
            raise ValueError(f"a level of the rule {rule!r} is below {LOWEST[rule]:g}")
        n_trees = model.trees.n_trees
        if len(ends) and (ends[0] < 1 or (ends[1:] <= ends[:-1]).any()):
            raise ValueError("stages do not end at ascending numbers of trees")
        if (ends[-1] if len(ends) else 0) != n_trees:
            raise ValueError(f"the last stage does not end at tree {n_trees}")
        return cls(model, ends, rule, levels, keep)


class _Batch:
    """Arrays of one call; blocks of queries go through the stages independently."""

    def __init__(
        self, policy: ExitPolicy, X: Floats, queries: Queries, limit: int | None, billed: bool, together: bool
    ) -> None:  # fmt: skip
        trees = policy.model.trees
        single = trees.single or X.dtype == np.float32
        self.X = np.ascontiguousarray(X, dtype=np.float32 if single else np.float64)
        self.policy, self.queries, self.limit = policy, queries, limit
        self.prices = policy.costs.flat
        self.decides = together or policy.alone
        self.raw = np.zeros((len(X), trees.n_outputs))
        self.evaluated = np.zeros(len(X), dtype=np.int64)
        self.exit_of = np.full(len(X), len(policy.ends), dtype=np.int32)
        self.state = None if limit is None else np.zeros(X.shape, dtype=np.int8)
        keep_bill = billed and limit is None
        self.acquired = np.zeros(X.shape if keep_bill else (0, X.shape[1]), dtype=bool)
        self.opened = np.zeros((len(X), len(policy.costs.flat.fee)), dtype=bool)
        if policy._packed is None:
            policy._packed = trees.packed()
        self.model = (self.X, policy._packed, trees.sets, trees.value, trees.root, trees.output)

    def stages(self, first_query: int, last_query: int) -> None:
        """Take some queries through all stages."""
        queries, policy = self.queries, self.policy
        bounds = queries.bounds[first_query : last_query + 1]
        start, stop = int(bounds[0]), int(bounds[-1])
        rows = np.arange(start, stop) if queries.rows is None else queries.rows[start:stop]
        bounds = bounds - start
        money = np.full(last_query - first_query, self.limit or 0, dtype=np.int64)
        for number, (first, last) in enumerate(policy._stages):
            ended = self._walk(first, last, rows, bounds, money)
            out = np.repeat(ended, np.diff(bounds))
            if policy.alone:
                self.exit_of[rows[out]] = number
            if number == len(policy._stages) - 1:
                return
            stays = np.ones(len(rows), dtype=bool)
            if self.decides:
                stays = policy.staying(number, self.raw[rows], self.evaluated[rows], bounds)
            self.exit_of[rows[~stays & ~out]] = number + 1
            stays &= ~out
            if stays.all():
                continue
            rows = rows[stays]
            bounds = np.append(0, np.cumsum(stays))[bounds]
            if not len(rows):
                return

    def _walk(self, first: int, last: int, rows: Any, bounds: Any, money: Any) -> Masks:
        """Evaluate a stage; which queries could not pay for it."""
        from worthwhile.core.walks import staged as exits

        ended = np.zeros(len(bounds) - 1, dtype=bool)

        if self.state is None:
            exits.walk_stage(*self.model, first, last, rows, self.raw, self.acquired)
            self.evaluated[rows] += last - first
            return ended
        flat = self.prices
        exits.walk_stage_limited(
            *self.model, first, last, rows, bounds, flat.price, flat.begin, flat.opens, flat.fee,
            np.int64(flat.evaluation), money, self.raw, self.state, self.opened, self.evaluated, ended,
        )  # fmt: skip
        return ended
