"""What every estimator gets from its base: all-or-nothing fits, quiet refusals, honest methods."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

from costwise import Costs, PricedModel
from costwise.datasets import make_priced_classification
from tests.testing.dishonest import HonestTrees


@pytest.fixture(scope="module")
def data():
    return make_priced_classification(120, 0, n_signals=2, n_noise=1)


class Interrupted(HonestTrees):
    """Stops in the middle of its fit when told to."""

    stop = False

    def make_policy(self, costs, output, trees):
        self.half_done_ = True
        if Interrupted.stop:
            raise KeyboardInterrupt
        return super().make_policy(costs, output, trees)


def test_a_refused_fit_leaves_the_model_as_it_was(data):
    X, y, costs = data
    model = HonestTrees(costs, random_state=0).fit(X, y)
    before, names = model.predict_proba(X), list(model.feature_names_in_)
    with pytest.raises(ValueError, match="which the data does not have"):
        model.fit(X.iloc[:, :3], y)
    with pytest.raises(ValueError, match="y has a single class"):
        model.fit(X, np.zeros(len(X)))
    assert list(model.feature_names_in_) == names
    assert model.n_features_in_ == len(names)
    assert model.classes_.tolist() == [0, 1]
    assert model.predict_proba(X).tobytes() == before.tobytes()


def test_an_interrupted_fit_leaves_the_model_as_it_was(data, monkeypatch):
    X, y, costs = data
    fresh = Interrupted(costs)
    monkeypatch.setattr(Interrupted, "stop", True)
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    assert set(vars(fresh)) == {"costs", "random_state", "n_jobs"}


def test_fit_keeps_its_signature():
    assert list(inspect.signature(HonestTrees.fit).parameters) == ["self", "X", "y"]


def test_infinity_in_cells_that_are_not_read_makes_no_noise(data):
    X, y, costs = data
    model = HonestTrees(costs, random_state=0).fit(X, y)
    bought = model.acquired(X)
    poisoned = np.where(bought, X, np.where(np.arange(len(X))[:, None] % 2, np.inf, -np.inf))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        again = model.predict(X.assign(**dict(zip(X.columns, poisoned.T, strict=True))))
    assert (again == model.predict(X)).all()


def test_infinity_that_is_read_is_refused_with_row_and_name(data):
    X, y, costs = data
    model = HonestTrees(costs, random_state=0).fit(X, y)
    column = X.columns[np.flatnonzero(model.acquired(X)[3])[0]]
    bad = X.copy()
    bad.loc[3, column] = np.inf
    with pytest.raises(ValueError, match=f"X has an infinite value in row 3, feature {column!r}"):
        model.predict(bad)


def test_text_in_a_column_that_is_read_is_refused(data):
    X, y, costs = data
    model = HonestTrees(costs, random_state=0).fit(X, y)
    name = X.columns[model.policy_.reads[0]]
    with pytest.raises(ValueError, match=f"column {name!r} has values that are not numbers"):
        model.predict(X.assign(**{name: "high"}))


def test_a_priced_regressor_has_no_methods_of_classifiers(data):
    X, y, costs = data
    priced = PricedModel(LinearRegression().fit(X, y), costs)
    for method in ("predict_proba", "predict_log_proba", "decision_function"):
        assert not hasattr(priced, method)
    classifier = PricedModel(LogisticRegression().fit(X, y), costs)
    for method in ("predict_proba", "predict_log_proba", "decision_function"):
        assert hasattr(classifier, method)


def test_a_background_answers_even_for_less_than_one_evaluation(data):
    X, y, costs = data
    dear = Costs.from_dict({**costs.to_dict(), "evaluation": "3"})
    linear = LinearRegression().fit(X, y)
    priced = PricedModel(linear, dear, background=X)
    mean = linear.predict(X.mean().to_frame().T)[0]
    assert priced.predict(X[:2], budget=2) == pytest.approx([mean, mean])
    assert priced.cost(X[:2], budget=2).tolist() == [0.0, 0.0]
    assert priced.session(budget=2).prediction == pytest.approx(mean)
