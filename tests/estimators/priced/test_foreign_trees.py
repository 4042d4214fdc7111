"""Trees of other libraries predict as there, and every row pays for its own paths."""

from __future__ import annotations

import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

import worthwhile
from tests.estimators.priced.foreign_models import MAIN, MODELS, cat, lgbm, xgb
from tests.naive.foreign_trees import paths
from worthwhile import AdaptiveLinearClassifier, EarlyExitClassifier, PricedModel
from worthwhile.estimators.priced import _catboost as _foreign_catboost
from worthwhile.policy.trees import TreePolicy
from worthwhile.policy.whole import WholePolicy
from worthwhile.testing import check_contract


@pytest.fixture(autouse=True)
def one_thread():
    """Models this small are fitted fastest by one thread."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="module")
def heart():
    """Heart data as floats with empty cells, three targets, prices; full cells for who needs them."""
    bunch = worthwhile.datasets.load_heart()
    full = bunch.data.astype(float).fillna(0.0)
    empty = np.random.default_rng(0).random(full.shape) < 0.1
    value = full["thalach"] + 10 * full["oldpeak"] - 20 * (bunch.target > 0)
    targets = {
        "two": np.asarray(bunch.target > 0).astype(int),
        "three": np.digitize(value, np.quantile(value, [0.3, 0.7])),
        "value": np.asarray(value),
    }
    return SimpleNamespace(full=full, data=full.mask(empty), targets=targets, costs=bunch.costs)


@pytest.fixture(scope="module")
def fitted(heart):
    """Models by name, fitted once."""
    store = {}

    def get(name):
        if name not in store:
            make, target = MODELS[name]
            X = heart.full if name.startswith("gradient") else heart.data
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                store[name] = SimpleNamespace(model=make().fit(X, heart.targets[target]), X=X)
        return store[name]

    return get


def agree(priced, model, X, precision):
    theirs = np.asarray(model.predict(X)).reshape(len(X))
    if priced.policy_.output.classes is None:
        np.testing.assert_allclose(priced.predict(X), theirs, rtol=precision, atol=precision)
        return
    assert (priced.predict(X) == theirs).all()
    if hasattr(priced, "predict_proba"):
        ours = priced.predict_proba(X)
        np.testing.assert_allclose(ours, model.predict_proba(X), rtol=precision, atol=precision)


def precision_of(name):
    return 1e-5 if name.startswith("xgboost") else 1e-12  # XGBoost adds in float32


@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_the_library_s_own(name, fitted, heart):
    case = fitted(name)
    priced = PricedModel(case.model, heart.costs)
    assert isinstance(priced.policy_, TreePolicy)
    assert priced.policy_.trees.problem(case.X.shape[1]) is None
    assert list(priced.feature_names_in_) == list(case.X.columns)
    agree(priced, case.model, case.X, precision_of(name))


@pytest.mark.parametrize("name", MODELS)
def test_bills_are_those_of_the_library_s_own_dump(name, fitted, heart, tmp_path):
    case = fitted(name)
    priced = PricedModel(case.model, heart.costs)
    rows = case.X.iloc[::60]
    acquired, cost = priced.acquired(rows), priced.cost(rows)
    for i, row in enumerate(rows.to_numpy()):
        read = paths(name, case.model, row, tmp_path)
        assert set(np.flatnonzero(acquired[i])) == read
        mask = np.isin(np.arange(case.X.shape[1]), list(read))
        assert cost[i] == heart.costs.price(mask[None, :])[0]


@pytest.mark.parametrize("name", MODELS)
def test_values_on_and_beside_a_threshold_go_where_the_library_sends_them(name, fitted, heart):
    case = fitted(name)
    priced = PricedModel(case.model, heart.costs)
    trees = priced.policy_.trees
    kind = np.float32 if trees.single else np.float64
    rows = []
    for node in np.flatnonzero(trees.feature >= 0)[:40]:
        at = kind(trees.threshold[node])
        with np.errstate(over="ignore"):
            beside = [np.nextafter(at, kind(side)) for side in (-np.inf, np.inf)]
        for value in (at, *beside):
            rows.append(case.X.iloc[node % len(case.X)].to_numpy().copy())
            rows[-1][trees.feature[node]] = value
    X = pd.DataFrame(rows, columns=case.X.columns)
    X = X[~np.isinf(X).any(axis=1)]  # beside the lowest number, which sets empty values apart
    agree(priced, case.model, X, precision_of(name))


@pytest.mark.parametrize("name", ["lightgbm two", "xgboost two", "catboost two", "histogram two"])
def test_empty_values_that_training_never_saw_go_where_the_library_sends_them(name, heart):
    make, target = MODELS[name]
    model = make().fit(heart.full - 1.0, heart.targets[target])
    agree(PricedModel(model), model, heart.data, precision_of(name))


@pytest.mark.parametrize("name", ["lightgbm two", "catboost two", "gradient two", "histogram two"])
def test_labels_are_kept(name, heart):
    model = MODELS[name][0]().fit(heart.full, np.where(heart.targets["two"] > 0, "ill", "well"))
    priced = PricedModel(model)
    assert priced.classes_.tolist() == ["ill", "well"]
    agree(priced, model, heart.full, 1e-12)


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_models_read_from_the_library_s_own_files(library, heart, tmp_path):
    X, y, path = heart.data, heart.targets["two"], str(tmp_path / "model.json")
    if library == "lightgbm":
        lgbm("LGBMClassifier").fit(X, y).booster_.save_model(path)
        again = sys.modules["lightgbm"].Booster(model_file=path)
        ours = PricedModel(again).predict_proba(X)[:, 1]
        np.testing.assert_allclose(ours, again.predict(X), rtol=1e-12)
        return
    make = {"xgboost": lambda: xgb("XGBClassifier"), "catboost": lambda: cat("CatBoostClassifier")}
    make[library]().fit(X, y).save_model(path, **({"format": "json"} if "cat" in library else {}))
    again = make[library]()
    again.load_model(path, **({"format": "json"} if "cat" in library else {}))
    agree(PricedModel(again), again, X, precision_of(library))


@pytest.mark.parametrize("library", ["lightgbm", "xgboost", "catboost"])
def test_rankings_and_losses_of_one_s_own_give_raw_values(library, heart):
    X, y, query = heart.data, heart.targets["three"], np.arange(len(heart.data)) // 10
    if library == "lightgbm":
        ranker = lgbm("LGBMRanker").fit(X, y, group=np.bincount(query))
        own = lgbm("LGBMRegressor", objective=lambda t, p: (p - t, np.ones(len(t)))).fit(X, y)
    elif library == "xgboost":
        ranker = xgb("XGBRanker").fit(X, y, qid=query)
        own = xgb("XGBRegressor", objective=lambda t, p: (p - t, np.ones(len(t)))).fit(X, y)
    else:
        ranker = own = cat("CatBoostRanker").fit(X, y, group_id=query)
    for model in (ranker, own):
        priced = PricedModel(model)
        assert isinstance(priced.policy_, TreePolicy)
        agree(priced, model, X, precision_of(library))


@pytest.mark.parametrize("name", [*MAIN, "xgboost hinge", "lightgbm forest", "catboost depthwise"])
def test_laws_hold(name, fitted, heart):
    case = fitted(name)
    check_contract(PricedModel(case.model, heart.costs), heart.data, rows=3)


@pytest.mark.parametrize(
    "name",
    ["lightgbm value", "lightgbm l1", "xgboost value", "catboost value", "gradient value", "histogram value"],
)  # fmt: skip
def test_without_money_the_answer_is_the_mean_over_the_training_rows(name, fitted, heart):
    case = fitted(name)
    dear = worthwhile.Costs(dict.fromkeys(case.X.columns, 1))
    nothing = PricedModel(case.model, dear).predict(case.X.iloc[:2], budget=0)
    np.testing.assert_allclose(nothing, case.model.predict(case.X).mean(), rtol=1e-5)


@pytest.mark.parametrize("name", ["lightgbm three", "xgboost two"])
def test_boosters_are_models_too(name, fitted, heart):
    case = fitted(name)
    booster = case.model.booster_ if "light" in name else case.model.get_booster()
    ours, theirs = PricedModel(booster, heart.costs), PricedModel(case.model, heart.costs)
    assert (ours.predict_proba(case.X) == theirs.predict_proba(case.X)).all()
    assert (ours.cost(case.X) == theirs.cost(case.X)).all()
    assert ours.classes_.tolist() == list(range(len(theirs.classes_)))


@pytest.mark.parametrize("name", ["lightgbm two", "xgboost two", "catboost two"])
def test_arrays_have_no_names(name, heart):
    make, target = MODELS[name]
    priced = PricedModel(make().fit(heart.data.to_numpy(), heart.targets[target]))
    assert not hasattr(priced, "feature_names_in_")
    assert priced.session().ask()[0] in range(heart.data.shape[1])


def test_names_with_spaces_are_kept_where_the_prices_have_them(heart):
    X = heart.data.rename(columns={"age": "age in years"})
    model = lgbm("LGBMClassifier").fit(X, heart.targets["two"])
    priced = PricedModel(model, dict.fromkeys(X.columns, 1))
    assert list(priced.feature_names_in_) == list(X.columns)
    agree(priced, model, X, 1e-12)


def test_models_stopped_early_are_read_up_to_their_best_round(heart):
    X, y = heart.data, heart.targets["two"]
    noise = np.random.default_rng(0).integers(0, 2, len(y))
    stopped = xgb("XGBClassifier", n_estimators=30, early_stopping_rounds=3, learning_rate=1.0)
    stopped.fit(X, y, eval_set=[(X, noise)], verbose=False)
    assert stopped.best_iteration + 1 < stopped.get_booster().num_boosted_rounds()
    agree(PricedModel(stopped), stopped, X, 1e-5)
    lightgbm = pytest.importorskip("lightgbm")
    stopped = lightgbm.LGBMClassifier(n_estimators=30, learning_rate=1.0, verbose=-1, n_jobs=1)
    stopped.fit(X, y, eval_set=[(X, noise)], callbacks=[lightgbm.early_stopping(3, verbose=False)])
    assert stopped.best_iteration_ < 30
    agree(PricedModel(stopped), stopped, X, 1e-12)


def test_files_need_none_of_the_libraries(fitted, heart, tmp_path):
    for name in MAIN:
        case = fitted(name)
        priced = PricedModel(case.model, heart.costs)
        priced.save(tmp_path / f"{name}.worthwhile")
        np.save(tmp_path / f"{name}.npy", priced.predict_proba(case.X, budget=20))
        case.X.to_pickle(tmp_path / f"{name}.pkl")
    code = (
        "import sys, pathlib, numpy, pandas\n"
        "for library in ('lightgbm', 'xgboost', 'catboost'): sys.modules[library] = None\n"
        "import worthwhile\n"
        "for path in pathlib.Path(sys.argv[1]).glob('*.worthwhile'):\n"
        "    rows = pandas.read_pickle(path.with_suffix('.pkl'))\n"
        "    said = worthwhile.load(path).predict_proba(rows, budget=20)\n"
        "    assert (said == numpy.load(path.with_suffix('.npy'))).all(), path\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)


@pytest.mark.parametrize("name", ["lightgbm two", "histogram two"])
def test_gates_and_exits_take_them(name, fitted, heart):
    case, y = fitted(name), heart.targets["two"]
    gate = AdaptiveLinearClassifier(case.model, costs=heart.costs, max_iter=2, random_state=0)
    gate.fit(heart.data, y)
    assert (gate.cost(heart.data) <= heart.costs.total).all()
    exits = EarlyExitClassifier(PricedModel(case.model, heart.costs), threshold=0.6, every=1)
    exits.fit(heart.data, y)
    assert exits.evaluated(heart.data).min() < 4


@pytest.mark.parametrize("kind", ["lightgbm", "xgboost", "histogram"])
def test_forest_cover(kind, data_folder, tmp_path):
    bunch = worthwhile.datasets.fetch_paper_set("forest", data_folder)
    chosen = np.random.default_rng(0).choice(len(bunch.target), 1500, replace=False)
    X = np.asarray(bunch.data)[chosen].astype(float)
    y = np.unique(np.asarray(bunch.target)[chosen], return_inverse=True)[1]
    model = MODELS[f"{kind} three"][0]().fit(X, y)
    priced = PricedModel(model)
    agree(priced, model, X, precision_of(kind))
    acquired = priced.acquired(X[:8])
    for i, row in enumerate(X[:8]):
        assert set(np.flatnonzero(acquired[i])) == paths(f"{kind} three", model, row, tmp_path)


def test_categories_of_others_can_be_read_whole():
    codes = np.random.default_rng(0).integers(0, 9, (300, 1))
    X, y = pd.DataFrame({"colour": codes[:, 0]}), (codes[:, 0] % 2).astype(float)
    histogram = HistGradientBoostingRegressor(max_iter=2, categorical_features=[0]).fit(X, y)
    whole = PricedModel(make_pipeline(histogram))
    assert whole.cost(pd.DataFrame({"colour": [1, 2]})).tolist() == [1.0, 1.0]


def test_numbers_that_stand_for_missing_values_are_refused(heart):
    X, y = heart.full, heart.targets["two"]
    with pytest.raises(ValueError, match=r"zero_as_missing=True.: train it without that"):
        PricedModel(lgbm("LGBMClassifier", zero_as_missing=True).fit(X, y)).predict(X)
    with pytest.raises(ValueError, match=r"model takes -1.0 for a missing value: put NaN there"):
        PricedModel(xgb("XGBClassifier", missing=-1.0).fit(X, y)).predict(X)


def test_catboost_columns_of_text_are_refused():
    X = pd.DataFrame({"note": ["good day", "bad day"] * 40, "age": range(80)})
    model = cat("CatBoostClassifier", text_features=["note"]).fit(X, [1, 0] * 40)
    with pytest.raises(
        ValueError, match="model reads feature 'note' as text: turn it into numbers"
    ):
        PricedModel(model).policy_  # noqa: B018


def test_a_probability_threshold_of_catboost_is_refused(heart):
    model = cat("CatBoostClassifier").fit(heart.data, heart.targets["two"])
    model.set_probability_threshold(0.3)
    with pytest.raises(ValueError, match=r"probability threshold of 0.3, and here the likelier"):
        PricedModel(model).policy_  # noqa: B018


def test_symmetric_trees_that_are_too_many_are_refused(fitted, monkeypatch):
    monkeypatch.setattr(_foreign_catboost, "MOST_NODES", 10)
    with pytest.raises(ValueError, match="4 symmetric trees with 64 nodes, more than 10"):
        PricedModel(fitted("catboost two").model).policy_  # noqa: B018


def test_a_booster_that_cannot_be_read_as_trees_is_refused(heart):
    linear = xgb("XGBRegressor", booster="gblinear", max_depth=None).fit(
        heart.full, heart.targets["value"]
    )
    with pytest.raises(
        TypeError, match="model is a Booster with objective 'reg:squarederror' that"
    ):
        PricedModel(linear.get_booster()).policy_  # noqa: B018
    counts = lgbm("LGBMRegressor", objective="poisson").fit(heart.full, heart.targets["two"])
    with pytest.raises(TypeError, match="model is a Booster with objective 'poisson' that cannot"):
        PricedModel(counts.booster_).policy_  # noqa: B018
    odd = make_pipeline(LinearRegression())
    odd.__sklearn_is_fitted__ = lambda: True
    with pytest.raises(TypeError, match="model is a Pipeline without n_features_in_"):
        PricedModel(odd).policy_  # noqa: B018


WHOLE = {
    "lightgbm link": lambda: lgbm("LGBMRegressor", objective="poisson"),
    "lightgbm linear leaves": lambda: lgbm("LGBMRegressor", linear_tree=True),
    "xgboost link": lambda: xgb("XGBRegressor", objective="count:poisson"),
    "xgboost probabilities": lambda: xgb("XGBRegressor", objective="reg:logistic"),
    "catboost link": lambda: cat("CatBoostRegressor", loss_function="Poisson"),
    "gradient start": lambda: GradientBoostingRegressor(n_estimators=2, init=LinearRegression()),
    "histogram link": lambda: HistGradientBoostingRegressor(max_iter=2, loss="poisson"),
}


@pytest.mark.parametrize("name", WHOLE)
def test_what_trees_cannot_say_is_read_as_a_whole(name, heart):
    model = WHOLE[name]().fit(heart.full, heart.targets["two"])
    priced = PricedModel(model, heart.costs)
    assert isinstance(priced.policy_, WholePolicy)
    np.testing.assert_allclose(priced.predict(heart.full), model.predict(heart.full), rtol=1e-6)
    assert (priced.cost(heart.full) == heart.costs.total).all()


@pytest.mark.parametrize("name", ["lightgbm two", "xgboost two", "histogram two"])
def test_forest_data_has_the_library_s_answers_and_bills(name, data_folder, tmp_path):
    archive = np.load(data_folder / "covtype.npz")
    X, y = archive["X"][:3000].astype(float), archive["y"][:3000] == 2
    model = MODELS[name][0]().fit(X, y.astype(int))
    priced = PricedModel(model)
    agree(priced, model, X, precision_of(name))
    for row, acquired in zip(X[:20], priced.acquired(X[:20]), strict=True):
        assert set(np.flatnonzero(acquired)) == paths(name, model, row, tmp_path)
