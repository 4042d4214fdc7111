"""What the theorems of dynamic selection speak of is measured so that it adds up."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.papers.dynamic_selection_2012_theorems import hinge, theorems


def test_what_wrong_actions_cost_is_what_a_policy_loses():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 5))
    y = (X[:, 0] + 0.5 * X[:, 1] * (X[:, 2] > 0) > 0).astype(int)
    found = theorems((X, y, None, None, None), rounds=3)
    assert found["horizon"] == 6
    assert len(found["rounds"]) == 3
    for line in found["rounds"]:
        assert line["lost"] == pytest.approx(found["oracle"] - line["reward"], abs=1e-9)
        assert line["lost"] <= line["u"] * line["wrong"] + 1e-9
        assert line["wrong"] <= line["hinge"]


def test_the_surrogate_is_above_the_number_of_errors():
    scores = np.array([[0.2, 0.9, 0.1], [2.0, 0.5, 0.0]])
    bought = np.array([[False, True], [False, False]])
    assert hinge(scores, bought, np.array([2, 0])) == pytest.approx([1.1, 0.0])
