"""What every estimator gets from its base: all-or-nothing fits, quiet refusals, honest methods."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC

from tests.estimators.small import make, public_estimators
from tests.testing.dishonest.honest import HonestTrees
from worthwhile import Costs, CostWeightedL1Classifier, PricedModel
from worthwhile.core.threads import Threads
from worthwhile.datasets import make_priced_classification


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


def test_an_infinite_value_in_a_list_is_refused_as_in_an_array():
    X, y = make_classification(60, 4, random_state=0)
    model = CostWeightedL1Classifier(1e-6).fit(X, y)
    for given in ([[np.inf, 1.0, 0.0, 0.0]], np.array([[np.inf, 1.0, 0.0, 0.0]])):
        with pytest.raises(ValueError, match="infinite value in row 0, feature 0"):
            model.predict(given)


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


@pytest.mark.parametrize("depth", [1, 2])
def test_an_interrupt_that_a_kernel_wrapped_is_one_again(data, monkeypatch, depth):
    X, y, costs = data
    error: BaseException = KeyboardInterrupt()
    for _ in range(depth):  # as numba and Python wrap it
        wrapped = SystemError("returned a result with an exception set")
        wrapped.__cause__, error = error, wrapped

    def interrupted(*_, **__):
        raise error

    model = HonestTrees(costs, random_state=0).fit(X, y)
    monkeypatch.setattr(HonestTrees, "make_policy", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    monkeypatch.setattr(type(model.policy_), "serve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.predict(X)
    with pytest.raises(KeyboardInterrupt), Threads(2) as threads:
        threads.run(1, interrupted)


def test_other_errors_of_the_interpreter_stay(data, monkeypatch):
    X, y, costs = data

    def broken(*_, **__):
        raise SystemError("nothing that anybody did")

    monkeypatch.setattr(HonestTrees, "make_policy", broken)
    with pytest.raises(SystemError):
        HonestTrees(costs, random_state=0).fit(X, y)


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


def as_pandas(X):
    return X


def as_polars(X):
    return pl.DataFrame({name: pl.Series(X[name].tolist(), dtype=pl.Object) for name in X.columns})


def as_categories(X):
    return X.astype(str).astype("category")


def as_array(X):
    return X.to_numpy()


@pytest.mark.parametrize("form", [as_pandas, as_polars, as_categories, as_array])
def test_text_is_refused_only_where_it_is_bought(data, form):
    X, y, costs = data
    by_name = form is not as_array
    model = HonestTrees(costs if by_name else None, random_state=0)
    model.fit(X if by_name else X.to_numpy(), y)
    bought = model.acquired(X if by_name else X.to_numpy())
    assert not bought[:, model.policy_.reads].all()
    text = X.astype(object).where(bought, "high")
    expected = model.predict_proba(X if by_name else X.to_numpy())
    assert model.predict_proba(form(text)).tobytes() == expected.tobytes()
    assert (model.acquired(form(text)) == bought).all()
    column = int(np.flatnonzero(bought[3])[0])
    text.iloc[3, column] = "low"
    for method in (model.predict, model.predict_proba, model.acquired, model.cost):
        with pytest.raises(
            ValueError, match=f"X has 'low' in row 3, feature .*{column}.*which the model reads"
        ):
            method(form(text))


STRICT = [1e300, -1e300, 1e-320, 5e-324]


def strange(X, value, rng):
    """Some cells, bought or not, replaced."""
    return X.mask(rng.random(X.shape) < 0.4, value)


def foreign(name, X, y):
    models = {
        "forest": RandomForestClassifier(3, max_depth=3, random_state=0),
        "logistic": LogisticRegression(),
        "svm": LinearSVC(),
        "boosted": HistGradientBoostingClassifier(max_iter=3),
    }
    return PricedModel(models[name].fit(X, y), background=X)


@pytest.mark.parametrize("value", STRICT)
@pytest.mark.parametrize("kind", ["trees", "forest", "logistic", "svm", "boosted"])
def test_strict_settings_of_numpy_change_nothing(data, kind, value):
    X, y, costs = data
    model = HonestTrees(costs, random_state=0).fit(X, y) if kind == "trees" else foreign(kind, X, y)
    odd = strange(X, value, np.random.default_rng(0))
    methods = ["predict", "acquired", "cost", "evaluated", "decision_function"]
    methods += ["predict_proba", "predict_log_proba"] if hasattr(model, "predict_proba") else []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [getattr(model, method)(odd) for method in methods]
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("error")
        got = [getattr(model, method)(odd) for method in methods]
        session = model.session(budget=1000)
        while wanted := session.ask():
            assert session.why(wanted[0])
            session.tell({name: odd.loc[0, name] for name in wanted})
        assert session.prediction == expected[0][0]
        assert session.spent == expected[2][0]
        assert type(session).from_dict(model.policy_, session.to_dict()).spent == session.spent
    for new, old in zip(got, expected, strict=True):
        assert new.tobytes() == old.tobytes()


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


THREADED = [name for name in public_estimators() if hasattr(make(name), "n_jobs")]


@pytest.mark.parametrize("name", THREADED)
def test_n_jobs_is_refused_before_the_data_is_read(name):
    for wrong, error in ((0, ValueError), (True, TypeError)):
        with pytest.raises(error, match=f"n_jobs is {wrong}: use a whole number of threads"):
            make(name).set_params(n_jobs=wrong).fit("no data", None)
