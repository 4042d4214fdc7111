"""Outputs: from raw columns to labels, values, probabilities and scores."""

from __future__ import annotations

import numpy as np
import pytest

from worthwhile.core import links
from worthwhile.policy import Output

TWO, THREE = np.array(["no", "yes"]), np.array([10, 20, 30])


def test_values_are_passed_through():
    output = Output("value")
    assert output.predict(np.array([[1.5], [2.5]])).tolist() == [1.5, 2.5]
    assert output.predict(np.array([[1.5, 2.5]])).tolist() == [[1.5, 2.5]]
    assert output.n_raw is None
    assert not output.has_probabilities


@pytest.mark.parametrize("kind", ["log-odds", "score"])
def test_the_sign_decides_between_two_classes_and_ties_go_to_the_first(kind):
    output = Output(kind, TWO)
    raw = np.array([[0.4], [-0.4], [0.0], [-0.0]])
    assert output.predict(raw).tolist() == ["yes", "no", "no", "no"]
    assert output.decision(raw).tolist() == [0.4, -0.4, 0.0, -0.0]
    assert output.n_raw == 1


@pytest.mark.parametrize("kind", ["logits", "probabilities", "scores"])
def test_the_largest_column_decides_and_ties_go_to_the_first(kind):
    output = Output(kind, THREE)
    raw = np.array([[0.1, 0.8, 0.1], [0.4, 0.2, 0.4]])
    assert output.predict(raw).tolist() == [20, 10]
    assert output.decision(raw).tolist() == raw.tolist()
    assert output.n_raw == 3


def test_probabilities_of_each_kind():
    raw = np.array([[0.7], [-3.0]])
    positive = links.sigmoid(raw[:, 0])
    assert (
        Output("log-odds", TWO).probabilities(raw).tolist()
        == np.column_stack([1 - positive, positive]).tolist()
    )
    logits = np.array([[1.0, 2.0, 3.0]])
    assert Output("logits", THREE).probabilities(logits).tolist() == links.softmax(logits).tolist()
    shares = np.array([[0.2, 0.3, 0.5]])
    given = Output("probabilities", THREE).probabilities(shares)
    assert given.tolist() == shares.tolist()
    assert given is not shares
    votes = np.array([[2.0, 1.0, 3.0, 1.0]])
    both = Output("votes", TWO)
    assert both.predict(votes).tolist() == ["no"]
    assert both.probabilities(votes).tolist() == [[0.75, 0.25]]
    assert both.n_raw == 4


def test_two_columns_become_one_score_as_scikit_learn_wants():
    assert Output("scores", TWO).decision(np.array([[0.25, 0.75]])).tolist() == [0.5]
    assert Output("votes", TWO).decision(np.array([[1.0, 3.0, 9.0, 9.0]])).tolist() == [2.0]


@pytest.mark.parametrize("kind", ["score", "scores"])
def test_scores_have_no_probabilities(kind):
    output = Output(kind, TWO)
    assert not output.has_probabilities
    with pytest.raises(AttributeError, match=f"a model with {kind} output has no probabilities"):
        output.probabilities(np.zeros((1, 2)))


def test_kinds_and_classes_must_fit():
    with pytest.raises(
        ValueError, match="output kind is 'guess': it is one of value, log-value, log-odds"
    ):
        Output("guess")
    with pytest.raises(ValueError, match="output kind 'value' has no classes"):
        Output("value", TWO)
    with pytest.raises(ValueError, match="output kind 'logits' needs classes"):
        Output("logits")


def test_a_logarithm_becomes_its_value_quietly():
    output = Output("log-value")
    assert output.n_raw == 1
    with np.errstate(all="raise"):
        said = output.predict(np.array([[0.0], [-800.0], [1e9]]))
    assert said[:2].tolist() == [1.0, 0.0]
    assert np.isfinite(said).all()
