"""A loss over the documents of queries: LambdaMART."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from worthwhile.core.boosting import lambdarank as lambdas
from worthwhile.core.collective import Collective
from worthwhile.core.queries import Queries
from worthwhile.core.threads import Threads
from worthwhile.estimators.boosting.losses import Loss

Floats = npt.NDArray[np.float64]

CUT = 30
"""Ranks down to which pairs of documents count."""

LEAST_CURVATURE = 1e-6
"""Of a document: keeps steps finite in leaves whose pairs are all decided."""


class LambdaRank(Loss):
    """Pairs of documents, each worth the change of NDCG if the two were swapped.

    The loss that is reported is ``1 - NDCG@k``, mean over the queries that have something to rank;
    the gradients are those of the weighted pairwise log-loss. Leaves take Newton steps.

    Parameters
    ----------
    y : float64 (n,)
        Grades, at least 0.
    queries : Queries
        Which rows belong together.
    weight : float64 (n,), or empty
        Sample weights: a pair counts with the product of the two.
    k : int
        Documents that count in the loss.

    Notes
    -----
    Burges, "From RankNet to LambdaRank to LambdaMART", Microsoft Research (2010). The weight of a
    pair is divided by the distance of its scores, and the sum of a query is dampened by its
    logarithm, as LightGBM does.
    """

    def __init__(self, y: Floats, queries: Queries, weight: Floats, k: int = 5) -> None:
        y = np.ascontiguousarray(y, dtype=np.float64)
        if not (y >= 0).all() or (y > 60).any():
            raise ValueError(
                "y has a grade below 0 or above 60: loss='lambdarank' takes grades such as 0 to 4."
            )
        self.queries, self.k = queries, k
        self._gain: Floats = queries.sorted(np.exp2(y) - 1.0)
        self._best, deep = self._best_dcg(k), self._best_dcg(CUT)
        self._inverse = np.divide(1.0, deep, out=np.zeros(len(deep)), where=deep > 0)
        self._curvature: Floats = np.empty(0)
        super().__init__(y, weight)
        self._weight: Floats = queries.sorted(self.weight) if len(self.weight) else self.weight

    def join(self, collective: Collective) -> None:
        """Let the queries of other ranks count too; those of this one are whole."""
        super().join(collective)
        documents = collective.gather(np.array([len(self.y)]))
        before = sum(int(n[0]) for n in documents[: collective.rank])
        self._parts = lambdas.cut_into_parts(self.queries.bounds, before)
        self._ranked = int(collective.sum(np.array([(self._inverse > 0).sum()]))[0])

    def _best_dcg(self, depth: int) -> Floats:
        best = np.zeros(len(self.queries))
        gain = np.append(self._gain, 0.0)
        for numbers, places in self.queries.tables():
            top = -np.sort(-gain[places], axis=1)[:, :depth]
            for rank in range(top.shape[1]):
                best[numbers] += top[:, rank] / math.log2(rank + 2.0)
        return best

    def base(self) -> Floats:
        """Zero: only differences of scores matter."""
        return np.zeros(1)

    def gradients(self, total: Floats, base: Floats, out: Floats, threads: Threads) -> float:
        """Fill ``out`` (1, n) with negative gradients; the curvatures are kept for the leaves."""
        queries = self.queries
        score = np.ascontiguousarray(queries.sorted(base[0] + total[0]))
        filled = out.shape[1] > 0
        gradient, curvature = np.empty((2, len(score) if filled else 0))
        losses = np.zeros(len(self._parts) - 1)

        def work(part: int) -> None:
            losses[part] = lambdas.lambda_gradients(
                score, self._gain, self._weight, queries.bounds, self._best, self._inverse, CUT, self.k,
                gradient, curvature, self._parts[part], self._parts[part + 1],
            )  # fmt: skip

        threads.run(len(losses), work)
        if filled:
            out[0] = queries.restored(gradient)
            self._curvature = queries.restored(curvature) + LEAST_CURVATURE
        return self._everybody.fsum(losses) / max(1, self._ranked)

    def curvature(self, gradient: Floats, threads: Threads) -> Floats:
        """The curvatures that belong to the last gradients."""
        return self._curvature[None, :]
