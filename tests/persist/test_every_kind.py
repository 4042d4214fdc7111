"""Model files of every public estimator: damaged ones are refused or obey the laws."""

from __future__ import annotations

import warnings

import pytest

import costwise
from tests.estimators.small import make, public_estimators
from tests.persist.mutate import mutate, survives

X, Y, _ = costwise.datasets.make_priced_classification(150, seed=2)


@pytest.mark.parametrize("name", public_estimators())
def test_damaged_files(name, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small data, and a mutation doubles members
        model = make(name).fit(X, Y.astype(float) if name.endswith("Regressor") else Y)
        model.save(tmp_path / "model")
        for seed in range(60):
            mutate(tmp_path / "model", tmp_path / "damaged", seed)
            assert survives(tmp_path / "damaged", X.to_numpy()[:8]) is None, f"seed {seed}"
