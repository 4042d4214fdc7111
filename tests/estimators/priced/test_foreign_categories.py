"""Category splits of other libraries: their own answers, for values that are new or empty too, and exact bills."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import worthwhile
from tests.estimators.priced.foreign_models import lgbm, xgb
from tests.naive import walk as naive
from worthwhile import PricedModel

LEVELS = (70, 5)


def table(n=500, seed=0, new=False):
    """Two columns of category codes, few and many levels, beside numbers; some empty, some new."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 1] = rng.integers(0, LEVELS[0] + 30 * new, n)
    X[:, 3] = 3 * rng.integers(0, LEVELS[1] + 2 * new, n) + 2
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.sin(1.7 * X[:, 1]) + X[:, 0] + (X[:, 3] == 5) + rng.normal(size=n) / 5
    return X, np.nan_to_num(y)


def lightgbm(kind, **more):
    return lgbm(f"LGBM{kind}", min_child_samples=5, min_data_per_group=1, cat_smooth=1, **more)


def fit(library, kind):
    X, y = table()
    y = (y > 0).astype(int) if kind == "Classifier" else y
    if library == "lightgbm":
        return lightgbm(kind).fit(X, y, categorical_feature=[1, 3])
    if library == "xgboost":
        types = ["q", "c", "q", "c"]
        return xgb(
            f"XGB{kind}", enable_categorical=True, max_cat_to_onehot=6, feature_types=types
        ).fit(X, y)
    model = {
        "Classifier": HistGradientBoostingClassifier,
        "Regressor": HistGradientBoostingRegressor,
    }
    return model[kind](max_iter=8, categorical_features=[1, 3], min_samples_leaf=5).fit(X, y)


def answers(model, X):
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "histogram"])
def test_answers_are_the_library_s_own_and_bills_those_of_the_paths(library, kind, tmp_path):
    model = fit(library, kind)
    priced = PricedModel(model, [1, 2, 4, 8])
    X, _ = table(700, 1, new=True)
    X[0, [1, 3]] = [1e6, -5]
    trees = priced.policy_.trees
    assert trees.category.any(), "the model should split by categories"
    tolerance = 1e-5 if library == "xgboost" else 1e-12
    np.testing.assert_allclose(
        answers(priced, X), answers(model, X), rtol=tolerance, atol=tolerance
    )
    acquired = priced.acquired(X)
    for row in range(60):
        assert set(np.flatnonzero(acquired[row])) == naive.walk(trees, X[row])[1]
    assert (priced.cost(X) == acquired @ [1.0, 2.0, 4.0, 8.0]).all()
    session = priced.session()
    while wanted := session.ask():
        session.tell({column: X[3, column] for column in wanted})
    assert session.spent == priced.cost(X[3:4])[0]
    priced.save(tmp_path / "m")
    again = worthwhile.load(tmp_path / "m")
    assert np.asarray(answers(again, X)).tobytes() == np.asarray(answers(priced, X)).tobytes()


def frame(X):
    """The table with columns of pandas' category type, of whole numbers."""
    named = pd.DataFrame(X, columns=list("abcd"))
    for name in "bd":
        named[name] = pd.Categorical([None if v != v else int(v) for v in named[name]])
    return named


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "histogram"])
def test_numbers_of_pandas_category_type_stand_for_themselves(library):
    X, y = table()
    rows = frame(X)
    if library == "lightgbm":
        model = lightgbm("Regressor").fit(rows, y)
    elif library == "xgboost":
        model = xgb("XGBRegressor", enable_categorical=True, max_cat_to_onehot=1).fit(rows, y)
    else:
        options = {"categorical_features": "from_dtype", "min_samples_leaf": 5}
        model = HistGradientBoostingRegressor(max_iter=8, **options).fit(rows, y)
    priced = PricedModel(model)
    assert priced.policy_.trees.category.any()
    plain = pd.DataFrame(X, columns=list("abcd"))
    np.testing.assert_allclose(priced.predict(plain), model.predict(rows), rtol=1e-5, atol=1e-5)


def fit_text(library, rows, target):
    if library == "lightgbm":
        return lightgbm("Regressor").fit(rows, target)
    if library == "xgboost":
        return xgb("XGBRegressor", enable_categorical=True, max_cat_to_onehot=2).fit(rows, target)
    options = {"categorical_features": "from_dtype", "min_samples_leaf": 5}
    return HistGradientBoostingRegressor(max_iter=3, **options).fit(rows, target)


WORDS = ["blue", "red", "Émeraude", "a b", "green"]


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "histogram"])
def test_text_is_spoken_in_batches_sessions_and_files(library, tmp_path):
    X, y = table()
    text = [None if v != v else WORDS[int(v - 2) // 3] for v in X[:, 3]]
    levels = ["red", "green", "blue", "Émeraude", "a b", "never"]
    rows = pd.DataFrame({"x": X[:, 0], "colour": pd.Categorical(text, categories=levels)})
    model = fit_text(library, rows, y + 3 * np.isin(X[:, 3], [5, 14]))
    priced = PricedModel(model, {"x": 1, "colour": 5})
    assert priced.policy_.trees.category.any()
    np.testing.assert_allclose(priced.predict(rows), model.predict(rows), rtol=1e-5, atol=1e-5)
    plain = rows.astype({"colour": object})
    assert priced.predict(plain).tobytes() == priced.predict(rows).tobytes()
    priced.save(tmp_path / "m")
    again = worthwhile.load(tmp_path / "m")
    assert again.predict(plain).tobytes() == priced.predict(rows).tobytes()
    cheaper = again.set_params(costs={"x": 1, "colour": 2})
    assert (cheaper.predict(plain) == priced.predict(rows)).all()
    row = int(np.flatnonzero(priced.acquired(rows)[:, 1])[0])
    session = priced.session()
    while wanted := session.ask():
        session.tell({name: plain[name].iloc[row] for name in wanted})
    assert session.prediction == priced.predict(rows)[row]
    if library != "xgboost":  # which refuses words that are new
        new = rows.assign(colour=pd.Categorical(["pink"] * len(rows), categories=["pink"]))
        np.testing.assert_allclose(priced.predict(new), model.predict(new), rtol=1e-12)


@pytest.mark.parametrize("library", ["lightgbm", "histogram"])
def test_what_is_neither_text_nor_a_whole_number_is_refused_by_name(library):
    X, y = table()
    rows = pd.DataFrame({"x": X[:, 0], "share": pd.Categorical(X[:, 3] / 4)})
    model = fit_text(library, rows, y + 3 * (X[:, 3] > 6))
    with pytest.raises(
        ValueError, match="splits feature 'share' by categories that are neither whole numbers"
    ):
        PricedModel(model).policy_  # noqa: B018  made on first use


def test_lightgbm_columns_that_cannot_be_told_apart_are_refused():
    X, y = table()
    rows = pd.DataFrame(
        {"x": X[:, 0], "b": pd.Categorical(X[:, 1]), "one": pd.Categorical([1] * len(X))}
    )
    model = lightgbm("Regressor").fit(rows, y)
    with pytest.raises(
        ValueError, match="so it is not known which is which: leave constant columns out"
    ):
        PricedModel(model).policy_  # noqa: B018  made on first use
