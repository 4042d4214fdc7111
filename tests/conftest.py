"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder with the papers' data sets; tests that need it are skipped where it is missing."""
    folder = os.environ.get("COSTWISE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set COSTWISE_DATA to a folder with the papers' data sets")
    return Path(folder)
