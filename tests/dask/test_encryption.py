"""Connections between workers are encrypted where those of the cluster are."""

from __future__ import annotations

import shutil
import ssl
import subprocess

import pytest

from tests.distributed.ranks import content, local, table
from tests.distributed.test_equality import N, regressor

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")

from distributed.security import Security  # noqa: E402

from worthwhile.dask import DaskGreedyMiserRegressor  # noqa: E402
from worthwhile.distributed import Mesh  # noqa: E402

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="certificates are made by openssl"
)


@pytest.fixture
def security(tmp_path):
    """A certificate that signs itself, of client, scheduler and workers."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    words = [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=127.0.0.1",
    ]
    subprocess.run(
        ["openssl", *words, "-keyout", key, "-out", certificate], check=True, capture_output=True
    )
    sides = {}
    for side in ("client", "scheduler", "worker"):
        sides |= {f"tls_{side}_cert": str(certificate), f"tls_{side}_key": str(key)}
    return Security(tls_ca_file=str(certificate), require_encryption=True, **sides)


def test_training_is_encrypted_and_gives_the_same_file(security, tmp_path, monkeypatch):
    kinds = []
    add = Mesh._add

    def note(self, rank, peer):
        kinds.append(type(peer))
        add(self, rank, peer)

    monkeypatch.setattr(Mesh, "_add", note)
    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "processes": False}
    X, y, _ = table(0, N)
    model = regressor()
    with (
        distributed.LocalCluster(protocol="tls://", security=security, **how) as cluster,
        distributed.Client(cluster, security=security) as client,
    ):
        assert all(w.startswith("tls://") for w in client.scheduler_info()["workers"])
        fitted = DaskGreedyMiserRegressor(client=client, timeout=60.0, **model.get_params())
        fitted.fit(da.from_array(X, chunks=(9_000, 6)), y)
        assert kinds == [ssl.SSLSocket] * 2
    assert content(fitted, tmp_path) == content(local(model, X, y), tmp_path)
