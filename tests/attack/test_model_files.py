"""Damaged model files of every kind are refused or obey the laws; a piece of the long attack."""

from __future__ import annotations

import pytest

from tests.attack.model_files import damage, judge, rows, write_samples

PIECES, FILES = 24, 100


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    return write_samples(tmp_path_factory.mktemp("samples"))


@pytest.fixture(scope="module")
def some_rows():
    return rows()


def test_whole_files_obey(samples, some_rows):
    assert {path.stem: judge(path, some_rows)[0] for path in samples} == {
        path.stem: "obeys" for path in samples
    }


@pytest.mark.parametrize("piece", range(PIECES))
def test_damaged_files_are_refused_or_obey(piece, samples, some_rows, tmp_path):
    for seed in range(piece * FILES, (piece + 1) * FILES):
        damage(samples, tmp_path / "damaged", seed)
        outcome, problem = judge(tmp_path / "damaged", some_rows)
        assert outcome != "wrong", f"{samples[seed % len(samples)].stem}, seed {seed}: {problem}"
