"""Workers whose memory is small beside the table."""

from __future__ import annotations

import gc
import pickle
from pathlib import Path

import numpy as np
import pytest

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from benchmarks.speed.dask_memory import SETTINGS, is_equal, train  # noqa: E402
from tests.distributed.ranks import content, local, table  # noqa: E402
from tests.distributed.test_equality import N, regressor  # noqa: E402
from worthwhile.dask import DaskGreedyMiserRegressor, _base, _kept  # noqa: E402
from worthwhile.dask._gang import Gang  # noqa: E402
from worthwhile.dask._kept import Kept  # noqa: E402


@pytest.fixture(scope="module")
def client():
    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "processes": False}
    with distributed.LocalCluster(**how) as cluster, distributed.Client(cluster) as client:
        yield client


def keep_and_forget(room):
    """On a worker: what two partitions take in memory and on disk, and what is left of them."""
    folder = Path(distributed.get_worker().local_directory)
    gc.collect()  # what earlier tests in this process have left
    before = _kept._in_memory[0]

    def used():
        return _kept._in_memory[0] - before, len(list(folder.glob("*.part")))

    pieces = [np.arange(1000.0), np.arange(3)]
    some = [Kept(pieces, before + room), Kept(pieces, before + room)]
    found = [used()]
    for kept in (*some, pickle.loads(pickle.dumps(some[1]))):
        assert len(kept) == 2
        assert (kept[0] == pieces[0]).all()
        assert (kept[1] == pieces[1]).all()
    sizes = [kept.__sizeof__() for kept in some]
    del some, kept
    gc.collect()
    return [*found, used()], sizes


def test_partitions_are_in_memory_while_there_is_room(client):
    """The second one goes to a file, is small for Dask, and both leave nothing behind."""
    used, sizes = client.submit(keep_and_forget, 9_000, pure=False).result(timeout=60)
    (memory, files), left = used
    assert 8_000 < memory < 9_000
    assert files == 1
    assert left == (0, 0)
    assert sizes[0] == memory
    assert sizes[1] == 0


def test_partitions_are_let_go_when_all_ranks_have_their_rows(client, tmp_path, monkeypatch):
    monkeypatch.setattr(_base, "ROOM", 1e-9)
    seen = []
    keep = Gang._note

    def note(self, event):
        keep(self, event)
        seen.append((len(self._records), len(self._job._table._futures)))

    monkeypatch.setattr(Gang, "_note", note)
    X, y, _ = table(0, N)
    model = regressor()
    fitted = DaskGreedyMiserRegressor(client=client, **model.get_params())
    fitted.fit(da.from_array(X, chunks=(9_000, 6)), y)
    assert seen[0] == (0, 0)
    assert all(futures == 0 for _, futures in seen)
    assert content(fitted, tmp_path) == content(local(model, X, y), tmp_path)


@pytest.mark.slow
def test_a_table_as_large_as_all_workers_together(tmp_path):
    """Three times the limit of each; the model is that of one machine which trains from a file."""
    limit, parts, features = 600, 72, 100
    trained = train(limit, parts, 3, features, SETTINGS)
    assert trained.lost == 0
    assert len(trained.most) == 3
    assert max(trained.most) < 0.95 * limit
    assert is_equal(trained.model, parts, features, SETTINGS)
