"""Races, kills, full disks, pipes and Ctrl-C break no file; a piece of the long attack."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.attack import processes

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and limits as POSIX has them")


@pytest.mark.parametrize("attack", processes.KILLS, ids=lambda attack: attack.__name__)
def test_kills(attack, tmp_path):
    for seed in range(6):
        folder = tmp_path / str(seed)
        folder.mkdir()
        attack(folder, seed)


@pytest.mark.parametrize(
    "attack", processes.RACES + processes.REFUSALS, ids=lambda attack: attack.__name__
)
def test_races_and_refusals(attack, open_folder):
    attack(open_folder, 0)


@pytest.fixture
def open_folder():
    """A folder that another user can look into."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.parametrize("seed", range(3))
def test_broken_pipes(seed, tmp_path):
    processes.broken_pipe(tmp_path, seed)


@pytest.mark.parametrize("seed", range(3))
def test_interrupts(seed, tmp_path):
    processes.interrupted(tmp_path, seed, longest=2.0)
