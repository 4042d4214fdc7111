"""Linear machines of the purchasing policy against liblinear's."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from worthwhile.core.threads import Threads
from worthwhile.estimators.selection import _svm as svm


def examples(n=700, width=12, n_actions=5, seed=0):
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(n, width)) @ rng.normal(size=(width, width))  # columns correlate
    phi[:, -1] = 0.0
    labels = np.argmax(phi[:, :n_actions] + 2 * rng.normal(size=(n, n_actions)), axis=1)
    return phi, labels[:, None] == np.arange(n_actions)


def fit(phi, positive, count=1):
    with threadpool_limits(1), Threads(count) as threads:
        return svm.fit_machines(phi, positive, threads)


def objective(phi, positive, weight, bias):
    slack = np.maximum(1 - np.where(positive, 1, -1) * (phi @ weight + bias), 0)
    return (weight @ weight + bias**2) / 2 + (slack**2).sum()


def test_machines_solve_the_problem_of_liblinear(monkeypatch):
    monkeypatch.setattr(svm, "TOLERANCE", 1e-4)
    phi, positive = examples()
    found = fit(phi, positive)
    for action in range(positive.shape[1]):
        known = LinearSVC(dual=False, tol=1e-8).fit(phi, positive[:, action])
        best = objective(phi, positive[:, action], known.coef_[0], known.intercept_[0])
        ours = objective(phi, positive[:, action], found.weight[:, action], found.bias[action])
        assert ours == pytest.approx(best, rel=1e-4)
        assert found.weight[:, action] == pytest.approx(known.coef_[0], abs=2e-3)


def test_the_regulariser_holds_the_weights_where_examples_are_few_and_small(monkeypatch):
    monkeypatch.setattr(svm, "TOLERANCE", 1e-5)
    phi, positive = examples(n=25)
    phi *= 0.1
    found = fit(phi, positive)
    for action in range(positive.shape[1]):
        known = LinearSVC(dual=False, tol=1e-10, max_iter=10_000).fit(phi, positive[:, action])
        assert found.weight[:, action] == pytest.approx(known.coef_[0], abs=1e-4)
        assert found.bias[action] == pytest.approx(known.intercept_[0], abs=1e-4)


@pytest.mark.parametrize("size", [0.1, 0.4])
def test_one_newton_step_solves_a_problem_that_is_quadratic_all_the_way(monkeypatch, size):
    # Two opposite examples of opposite sides: w^2 / 2 + 2 (1 - size w)^2, never past the hinge.
    monkeypatch.setattr(svm, "NEWTON_STEPS", 1)
    monkeypatch.setattr(svm, "INNER_TOLERANCE", 1e-6)
    found = fit(np.array([[size], [-size]]), np.array([[True], [False]]))
    assert found.weight[0, 0] == pytest.approx(4 * size / (1 + 4 * size**2), rel=1e-5)
    assert found.bias[0] == pytest.approx(0.0, abs=1e-6)


def test_the_usual_tolerance_is_as_good_as_liblinear_s():
    phi, positive = examples(seed=1)
    found = fit(phi, positive)
    for action in range(positive.shape[1]):
        known = LinearSVC(dual=False, tol=0.1).fit(phi, positive[:, action])
        best = objective(phi, positive[:, action], known.coef_[0], known.intercept_[0])
        ours = objective(phi, positive[:, action], found.weight[:, action], found.bias[action])
        assert ours <= best * 1.002


def test_threads_change_nothing(monkeypatch):
    monkeypatch.setattr(svm, "BLOCK", 64)
    phi, positive = examples()
    one, three = fit(phi, positive), fit(phi, positive, count=3)
    assert one.weight.tobytes() == three.weight.tobytes()
    assert one.bias.tobytes() == three.bias.tobytes()


def test_a_machine_of_one_positive_example_and_separable_ones_come_to_an_end():
    phi = np.vstack([np.eye(6), -np.eye(6)]) * 100
    positive = np.zeros((12, 2), dtype=bool)
    positive[0, 0] = True
    positive[:6, 1] = True
    found = fit(phi, positive)
    scores = phi @ found.weight + found.bias
    assert np.isfinite(scores).all()
    assert ((scores > 0) == positive).all()
