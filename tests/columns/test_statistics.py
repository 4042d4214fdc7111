"""Target statistics: those of the naive twin, and nothing of a row's own target in them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from tests.naive import target_statistics as naive
from worthwhile.columns import statistics


@pytest.mark.parametrize("n_levels", [1, 3, 40, 400])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_training_rows_have_the_means_of_the_twin(n_levels, width, weighted):
    rng = np.random.default_rng(n_levels)
    codes = (
        np.sort(rng.integers(0, n_levels, 300)) if width == 1 else rng.integers(0, n_levels, 300)
    )
    targets = rng.normal(size=(300, width))
    shuffle = np.random.default_rng(0).permutation(300)
    weight = rng.integers(0, 4, 300) * 0.5 if weighted else np.ones(300)
    expected = naive.training_means(
        codes, targets, weight, statistics.COMMON, statistics.SMOOTHING, shuffle
    )
    found = statistics.training_means(codes, n_levels, targets, weight)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("n_levels", [4, 20, 100, 300])
def test_categories_that_say_nothing_are_of_no_use_to_a_forest(n_levels):
    # With the means of other folds in their place it is right in up to 63 % of the rows it was not grown on.
    rng = np.random.default_rng(20)
    y = rng.permutation(np.arange(600) % 10 < 6)
    columns = [rng.integers(0, n_levels, 600) for _ in range(12)]
    alike = np.ones(600)
    X = np.hstack(
        [statistics.training_means(c, n_levels, y[:, None] * 1.0, alike) for c in columns]
    )
    forest = RandomForestClassifier(100, min_samples_leaf=5, oob_score=True, random_state=0)
    assert forest.fit(X, y).oob_score_ < 0.61


def test_weights_are_repetitions_in_prediction():
    rng = np.random.default_rng(5)
    codes, targets, times = rng.integers(0, 6, 80), rng.normal(size=(80, 2)), rng.integers(1, 4, 80)
    weighted = statistics.level_means(codes, 7, targets, times.astype(float))
    again = np.repeat(np.arange(80), times)
    repeated = statistics.level_means(codes[again], 7, targets[again], np.ones(len(again)))
    np.testing.assert_allclose(weighted, repeated, rtol=1e-12)
    assert not np.allclose(weighted, statistics.level_means(codes, 7, targets, np.ones(80)))
