"""Ranks of one fit, as threads of one process with real sockets between them."""

from __future__ import annotations

import copy
import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from worthwhile.core.boosting.gradients import ROWS
from worthwhile.distributed import Listener, Mesh, Part, Shard, plan_fit, train

TIMEOUT = 120.0
"""Seconds after which a mesh of the tests gives up: kernels may have to be compiled first."""


def run_ranks(size, work, timeout=TIMEOUT):
    """What ``work(mesh)`` returns on every rank; the error of the first rank that has one."""
    listeners = [Listener() for _ in range(size)]
    addresses = [listener.address for listener in listeners]

    def rank_of(rank):
        with Mesh(rank, addresses, listeners[rank], b"secret", timeout=timeout) as mesh:
            return work(mesh)

    with ThreadPoolExecutor(size) as pool:
        calls = [pool.submit(rank_of, rank) for rank in range(size)]
        return [call.result(timeout=120) for call in calls]


def local(model, X, y, weight=None, **how):
    return copy.deepcopy(model).fit(X, y, weight, **how)


def cut_at(plan, blocks):
    """The plan with shares that begin at these blocks of 16,384 rows, of which some may be empty."""

    def cut(parts):
        if parts is None:
            return None
        rows, y = (np.concatenate([getattr(p, name) for p in parts]) for name in ("rows", "y"))
        edges = [0, *(min(len(rows), ROWS * block) for block in blocks), len(rows)]
        return [Part(rows[a:b], y[a:b], None) for a, b in itertools.pairwise(edges)]

    return replace(plan, train=cut(plan.train), held=cut(plan.held))


def spread(model, X, y, weight=None, size=2, recut=lambda plan: plan, qid=None, **how):
    """The models that all ranks have after a fit on shards of a table."""
    model = copy.deepcopy(model)
    read, targets, costs = model._read_training(X, y, dtype="numeric")
    plan = recut(plan_fit(model, targets, weight, costs, size, None, qid))

    def work(mesh):
        shard = Shard.of(plan, mesh.rank, lambda rows: read[rows])
        return train(shard, mesh, 1 + mesh.rank % 2, **how)

    return run_ranks(size, work)


def content(model, folder):
    path = folder / "model.ww"
    model.save(path)
    return path.read_bytes()


def table(seed, n, kinds="plain"):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = X[:, 2] > 1
    X[:, 3] = (X[:, 3] > 1) & (X[:, 2] == 0)
    signal = X[:, 0] + np.abs(X[:, 4]) + X[:, 2] + 0.5 * X[:, 1] * (X[:, 5] > 0)
    if kinds == "missing":
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, signal, rng
