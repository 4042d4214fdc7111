"""Fixtures shared by all tests."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "worthwhile"


def _kernel_cache() -> str:
    """A cache of compiled kernels for all workers, named after the sources of the kernels.

    The compiler does not notice that a function which a kernel calls from another file has changed.
    """
    digest = hashlib.sha256()
    for path in sorted((SOURCE / "core").rglob("*.py")):
        digest.update(path.read_bytes())
    return str(Path(tempfile.gettempdir()) / f"worthwhile-kernels-{digest.hexdigest()[:12]}")


os.environ.setdefault("NUMBA_CACHE_DIR", _kernel_cache())


def pytest_configure(config: pytest.Config) -> None:
    """Compile once, before the workers start, instead of once in each of them."""
    uncompiled = os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"
    if (
        not uncompiled
        and not hasattr(config, "workerinput")
        and config.getoption("numprocesses", None)
    ):
        import worthwhile

        worthwhile.warm_up()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Models without a seed of their own are the same in every run, so that no test hangs on chance."""
    np.random.seed(0)  # noqa: NPY002 - what random_state=None draws from


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the papers' data sets; tests that need it are skipped where it is missing."""
    folder = os.environ.get("WORTHWHILE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set WORTHWHILE_DATA to a folder with the papers' data sets")
    return Path(folder)
