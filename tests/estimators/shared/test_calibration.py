"""The slope that turns scores into probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from worthwhile.core import links
from worthwhile.estimators._shared.calibration import FLATTEST, STEEPEST, best_slope


def log_loss(slope, score, codes, weight):
    if score.shape[1] == 1:
        score = np.column_stack([np.zeros(len(score)), score])
    chosen = links.log_softmax(slope * score)[np.arange(len(score)), codes]
    return -float(weight @ chosen)


def noisy(n_classes, truth, n=800, seed=0):
    """Scores, and labels drawn as if the best slope were ``truth``."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(n, 1 if n_classes == 2 else n_classes))
    full = np.column_stack([np.zeros(n), score]) if n_classes == 2 else score
    chances = np.cumsum(links.softmax(truth * full), axis=1)
    codes = (rng.random((n, 1)) > chances[:, :-1]).sum(axis=1)
    return score, codes, rng.integers(0, 4, n).astype(float)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("truth", [0.1, 1.0, 9.0])
def test_the_slope_has_the_least_log_loss(n_classes, truth):
    score, codes, weight = noisy(n_classes, truth)
    found = best_slope(score, codes, weight)
    known = minimize_scalar(log_loss, (0.0, 40.0), args=(score, codes, weight), tol=1e-12)
    assert found == pytest.approx(known.x, rel=1e-5)


def test_weights_equal_repetition():
    score, codes, weight = noisy(3, 2.0)
    repeated = np.repeat(np.arange(len(codes)), weight.astype(int))
    assert best_slope(score, codes, weight) == pytest.approx(
        best_slope(score[repeated], codes[repeated]), rel=1e-7
    )


def test_scores_that_separate_the_classes_stop_at_the_steepest_slope():
    codes = np.arange(40) % 2
    score = np.where(codes == 1, 0.01, -0.01)[:, None]
    assert best_slope(score, codes) == STEEPEST == 50.0
    wide = np.where(codes[:, None] == np.arange(3), 0.01, 0.0)
    assert best_slope(wide, codes) == STEEPEST


def test_scores_that_speak_against_the_labels_stop_at_the_flattest_slope():
    codes = np.arange(40) % 2
    score = np.where(codes == 1, -1.0, 1.0)[:, None]
    assert best_slope(score, codes) == FLATTEST == 1e-3


@pytest.mark.parametrize("n_classes", [1, 3])
def test_scores_that_say_nothing_keep_the_slope_of_one(n_classes):
    assert best_slope(np.zeros((10, n_classes)), np.zeros(10, dtype=int)) == 1.0


@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
def test_scaling_the_scores_scales_the_slope_back(size):
    score, codes, _ = noisy(2, 1.0)
    plain = best_slope(score, codes)
    assert best_slope(score * size, codes) == pytest.approx(min(plain / size, STEEPEST), rel=1e-6)


def test_many_classes_do_not_throw_newton_to_where_nothing_curves():
    # One class of a thousand stands out, and is right every second time: the best slope is the log
    # of 999. At a slope of 1 there is so little curvature that a whole step goes past 180.
    score = np.zeros((10, 1000))
    score[:, 7] = 1.0
    codes = np.where(np.arange(10) % 2, 7, 3)
    assert best_slope(score, codes) == pytest.approx(np.log(999), rel=1e-6)
