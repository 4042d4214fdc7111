"""Damaged files of models over text, categories and dates are refused, or answer with what they hold."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tests.attack.model_files import READERS, damage
from worthwhile import CostWeightedL1Classifier, GreedyMiserClassifier, Session
from worthwhile.datasets import make_lender
from worthwhile.exceptions import BadModelFile
from worthwhile.testing._subject import in_words

PIECES, FILES = 4, 30


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    X, y, costs = make_lender(150, seed=3)
    folder = tmp_path_factory.mktemp("samples")
    models = [
        GreedyMiserClassifier(costs=costs, n_rounds=3, max_depth=3, min_samples_leaf=5),
        CostWeightedL1Classifier(costs=costs, lam=0.001),
    ]
    paths = [folder / f"{number}.worthwhile" for number in range(len(models))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small data
        for model, path in zip(models, paths, strict=True):
            model.fit(X, y).save(path)
    return paths


def answer(policy):
    """Batch and session on a few codes; whatever the file holds, they agree on the bill."""
    rows = np.random.default_rng(0).integers(0, 4, (3, policy.n_features)).astype(float)
    outcome = policy.batch(rows)
    assert np.isfinite(outcome.raw).all()
    if policy.columns is None:
        return
    words = [in_words(policy.columns[c], value) for c, value in enumerate(rows[0])]
    if any(isinstance(word, str) and word.startswith("nonsense") for word in words):
        return
    session = Session(policy)
    while wanted := session.ask():
        session.tell({name: words[policy.costs.index(name)] for name in wanted})
    bill = policy.costs.price(outcome.acquired[0])
    assert session.spent == bill + float(policy.costs.evaluation) * int(outcome.evaluated[0])


@pytest.mark.parametrize("piece", range(PIECES))
def test_damaged_files_are_refused_or_answer(piece, samples, tmp_path):
    for seed in range(piece * FILES, (piece + 1) * FILES):
        damage(samples, tmp_path / "damaged", seed)
        for reader in READERS:
            try:
                found = reader(tmp_path / "damaged")
            except BadModelFile:
                continue
            if reader is not READERS[2]:
                answer(getattr(found, "policy_", found))
