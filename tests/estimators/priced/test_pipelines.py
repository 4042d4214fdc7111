"""Pipelines: bills and sessions speak of source columns, answers are those of the pipeline."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier

import worthwhile
from worthwhile import PricedModel
from worthwhile.exceptions import WorthwhileWarning
from worthwhile.testing import check_contract

NUMBERS, TEXT = ["age", "amount", "rate"], ["job", "home"]
COSTS = worthwhile.Costs(
    {"age": 1, "amount": 2, "rate": 3, "job": 5, "home": 7},
    groups={"form": {"fee": 11, "features": ["amount", "job"]}},
)


@pytest.fixture(scope="module")
def table():
    """Numbers and text, some of both empty."""
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "amount": rng.lognormal(3, 1, n),
            "rate": rng.integers(1, 5, n).astype(float),
            "job": rng.choice(["cook", "smith", "tailor", "judge"], n),
            "home": rng.choice(["own", "rent"], n),
        }
    )
    signal = (
        frame["age"] / 20 + 2 * (frame["job"] == "cook") - (frame["home"] == "own") + frame["rate"]
    )
    y = np.where(signal + rng.normal(size=n) > 5.5, "good", "bad")
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "job"] = np.nan
    return frame, y


def encoded(text, numbers=None):
    """One transformer for text, one for numbers."""
    filled = make_pipeline(SimpleImputer(strategy="most_frequent"), text)
    return make_column_transformer((filled, TEXT), (numbers or SimpleImputer(), NUMBERS))


FRONTS = {
    "one-hot": lambda: encoded(OneHotEncoder(handle_unknown="ignore")),
    "one-hot, dropped": lambda: encoded(OneHotEncoder(drop="first")),
    "one-hot, rare together": lambda: encoded(
        OneHotEncoder(max_categories=3, handle_unknown="infrequent_if_exist")
    ),
    "one-hot, dense": lambda: encoded(OneHotEncoder(sparse_output=False)),
    "one-hot, empty as a value": lambda: make_column_transformer(
        (OneHotEncoder(), TEXT), (SimpleImputer(), NUMBERS)
    ),
    "ordinal": lambda: encoded(OrdinalEncoder()),
    "target": lambda: encoded(TargetEncoder(random_state=0)),
    "scaled": lambda: encoded(OneHotEncoder(), make_pipeline(SimpleImputer(), StandardScaler())),
    "scaled first": lambda: encoded(OneHotEncoder(), make_pipeline(StandardScaler(), SimpleImputer())),
    "robust": lambda: encoded(OneHotEncoder(), make_pipeline(RobustScaler(), SimpleImputer())),
    "min and max": lambda: encoded(OneHotEncoder(), make_pipeline(SimpleImputer(), MinMaxScaler())),
    "largest": lambda: encoded(OneHotEncoder(), make_pipeline(SimpleImputer(), MaxAbsScaler())),
    "indicator": lambda: encoded(OneHotEncoder(), SimpleImputer(add_indicator=True)),
    "union": lambda: encoded(
        OneHotEncoder(),
        make_union(SimpleImputer(), MissingIndicator(), FunctionTransformer(np.isnan)),
    ),
    "power": lambda: encoded(OneHotEncoder(), make_pipeline(PowerTransformer(), SimpleImputer())),
    "quantiles": lambda: encoded(
        OneHotEncoder(), make_pipeline(QuantileTransformer(n_quantiles=20), SimpleImputer())
    ),
    "bins": lambda: encoded(
        OneHotEncoder(), make_pipeline(SimpleImputer(), KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"))
    ),
    "splines": lambda: encoded(OneHotEncoder(), make_pipeline(SimpleImputer(), SplineTransformer())),
    "logarithm": lambda: encoded(
        OneHotEncoder(), make_pipeline(SimpleImputer(), FunctionTransformer(np.log1p))
    ),
    "products": lambda: encoded(
        OneHotEncoder(), make_pipeline(SimpleImputer(), PolynomialFeatures(2))
    ),
    "selected": lambda: make_pipeline(encoded(OneHotEncoder()), SelectKBest(k=4)),
    "some left out": lambda: make_column_transformer(
        (OneHotEncoder(), ["home"]), ("passthrough", ["rate"])
    ),
    "the rest passed on": lambda: make_column_transformer(
        (OneHotEncoder(), TEXT), remainder=SimpleImputer()
    ),
    "by type": lambda: make_column_transformer(
        (OneHotEncoder(), make_column_selector(dtype_exclude="number")),
        (SimpleImputer(), make_column_selector(dtype_include="number")),
    ),
}  # fmt: skip
PLAIN = set(FRONTS) - {"power", "quantiles", "bins", "splines", "logarithm", "products", "union"}
"""What needs no transformer of another library at prediction."""
MODELS = {
    "tree": lambda: DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": lambda: RandomForestClassifier(5, max_depth=4, random_state=0),
    "boosted": lambda: GradientBoostingClassifier(n_estimators=5, random_state=0),
    "linear": lambda: LogisticRegression(max_iter=2000),
}


def fitted(front, model, table):
    X, y = table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(FRONTS[front](), MODELS[model]()).fit(X, y)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("front", FRONTS)
def test_answers_are_those_of_the_pipeline_and_bills_speak_of_source_columns(table, front, model):
    X, _ = table
    pipeline = fitted(front, model, table)
    priced = PricedModel(pipeline, COSTS)
    np.testing.assert_allclose(
        priced.predict_proba(X), pipeline.predict_proba(X), rtol=1e-6, atol=1e-9
    )
    assert (priced.predict(X) == pipeline.predict(X)).all()
    acquired = priced.acquired(X)
    assert acquired.shape == X.shape
    bills = [COSTS.price(X.columns[row].tolist()) for row in acquired]
    assert priced.cost(X).tolist() == pytest.approx(bills)
    assert priced.costs_.features == tuple(X.columns)
    assert (priced.policy_.front.transformer is None) == (front in PLAIN)


@pytest.mark.parametrize(
    "front", ["one-hot, empty as a value", "indicator", "products", "some left out"]
)
def test_laws_hold_behind_preprocessing(table, front):
    X, _ = table
    priced = PricedModel(fitted(front, "tree", table), COSTS)
    check_contract(priced, X, rows=2, trusted=["numpy.dtype"])


@pytest.mark.parametrize("model", ["tree", "forest"])
def test_a_tree_reads_the_sources_of_the_one_hot_columns_that_it_tests(table, model):
    X, _ = table
    pipeline = fitted("one-hot", model, table)
    encoder, forest = pipeline[0], pipeline[-1]
    names = [name.split("__")[1] for name in encoder.get_feature_names_out()]
    source = [list(X.columns).index(name.split("_")[0]) for name in names]
    inputs = np.asarray(encoder.transform(X).astype(np.float32))
    expected = np.zeros(X.shape, dtype=bool)
    for tree in getattr(forest, "estimators_", [forest]):  # walked by hand
        path = tree.tree_.decision_path(inputs).toarray().astype(bool)
        for row, node in zip(*np.nonzero(path), strict=True):
            if tree.tree_.feature[node] >= 0:
                expected[row, source[tree.tree_.feature[node]]] = True
    np.testing.assert_array_equal(PricedModel(pipeline, COSTS).acquired(X), expected)
    assert expected.mean() < 1


def test_sessions_ask_for_columns_of_the_table_and_take_their_words(table):
    X, _ = table
    priced = PricedModel(fitted("one-hot", "tree", table), COSTS)
    for row in range(10):
        session = priced.session(one_by_one=True)
        asked = []
        while wanted := session.ask():
            asked += wanted
            session.tell({name: X[name].iloc[row] for name in wanted})
        assert set(asked) <= set(X.columns)
        assert session.spent == priced.cost(X)[row]
        np.testing.assert_array_equal(session.probabilities, priced.predict_proba(X)[row])
    assert priced.session().choices("home") == ["own", "rent"]


def test_text_that_was_never_seen_is_taken_as_the_pipeline_takes_it(table):
    X, _ = table
    new = X.head(20).assign(job="pilot")
    for front in ("one-hot", "one-hot, rare together"):
        pipeline = fitted(front, "linear", table)
        np.testing.assert_allclose(
            PricedModel(pipeline, COSTS).predict_proba(new), pipeline.predict_proba(new)
        )
    strict = PricedModel(fitted("one-hot, dense", "tree", table), COSTS)
    with pytest.raises(worthwhile.exceptions.SessionError, match="give one of 'cook', 'judge'"):
        strict.session().tell({"job": "pilot"})


def test_what_mixes_columns_is_billed_whole_and_says_so_once(table):
    X, y = table
    front = encoded(OneHotEncoder(), make_pipeline(SimpleImputer(), PCA(2)))
    pipeline = make_pipeline(front, DecisionTreeClassifier(max_depth=3, random_state=0)).fit(X, y)
    priced = PricedModel(pipeline, COSTS)
    with pytest.warns(WorthwhileWarning, match=r"step PCA mixes columns: .* billed whole"):
        acquired = priced.acquired(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        priced.predict(X)
    together = acquired[:, :3]
    assert together.any()
    assert (together.all(axis=1) == together.any(axis=1)).all()
    np.testing.assert_allclose(priced.predict_proba(X), pipeline.predict_proba(X))
    asked = []
    for row in range(20):
        session = priced.session()
        while wanted := session.ask():
            asked.append(set(wanted))
            session.tell({name: X[name].iloc[row] for name in wanted})
        assert session.spent == priced.cost(X)[row]
    assert any(wanted >= set(NUMBERS) for wanted in asked)


def test_a_function_of_unknown_kind_is_taken_to_mix_columns(table):
    X, y = table

    def ratio(table):
        return np.column_stack([table, table[:, 0] / table[:, 1]])

    numbers = make_pipeline(SimpleImputer(), FunctionTransformer(ratio, feature_names_out=None))
    front = make_column_transformer((numbers, NUMBERS), (OneHotEncoder(), ["home"]))
    pipeline = make_pipeline(front, MODELS["tree"]()).fit(X, y)
    with pytest.warns(WorthwhileWarning, match="FunctionTransformer"):
        acquired = PricedModel(pipeline, COSTS).acquired(X)
    assert (acquired[:, :3].all(axis=1) == acquired[:, :3].any(axis=1)).all()


def test_a_transformer_that_lies_about_its_columns_is_found_out(table):
    class Scaler(StandardScaler):
        """Says nothing of what it does."""

    X, y = table
    numbers = X[NUMBERS].fillna(0)
    pipeline = make_pipeline(Scaler(), MODELS["tree"]()).fit(numbers, y)
    with pytest.warns(WorthwhileWarning, match="Scaler"):
        acquired = PricedModel(pipeline).acquired(numbers)
    assert acquired.all()


@pytest.mark.parametrize("arrays", [False, True])
def test_arrays_and_numbers_alone(table, arrays):
    X, y = table
    numbers = X[NUMBERS].fillna(0)
    numbers = numbers.to_numpy() if arrays else numbers
    pipeline = make_pipeline(StandardScaler(), MODELS["forest"]()).fit(numbers, y)
    priced = PricedModel(pipeline, [1, 2, 3])
    np.testing.assert_array_equal(priced.predict_proba(numbers), pipeline.predict_proba(numbers))
    assert priced.policy_.exact
    check_contract(priced, numbers, rows=2)


def test_regressors(table):
    X, _ = table
    y = X["rate"] + X["age"].fillna(0)
    pipeline = make_pipeline(
        FRONTS["target"](), RandomForestRegressor(5, max_depth=4, random_state=0)
    ).fit(X, y)
    priced = PricedModel(pipeline, COSTS)
    np.testing.assert_allclose(priced.predict(X), pipeline.predict(X))
    check_contract(priced, X, rows=2)


def test_histogram_boosting_behind_an_encoder(table):
    X, y = table
    front = make_column_transformer((OrdinalEncoder(), TEXT), remainder="passthrough")
    pipeline = make_pipeline(front, HistGradientBoostingClassifier(max_iter=5)).fit(X, y)
    np.testing.assert_allclose(
        PricedModel(pipeline, COSTS).predict_proba(X), pipeline.predict_proba(X), rtol=1e-5
    )


def test_budgets_with_a_sample_to_stand_for_what_is_not_bought(table):
    X, _ = table
    pipeline = fitted("one-hot", "linear", table)
    priced = PricedModel(pipeline, COSTS, background=X)
    assert priced.cost(X, budget=12).max() <= 12
    assert priced.acquired(X, budget=12).any()
    check_contract(priced, X, rows=2)
    fallen = PricedModel(pipeline, COSTS, fallback="bad")
    assert (fallen.predict(X, budget=3) == "bad").all()


def test_a_union_of_the_same_columns_twice(table):
    X, y = table
    front = FeatureUnion([("a", FRONTS["one-hot"]()), ("b", FRONTS["ordinal"]())])
    pipeline = make_pipeline(front, MODELS["forest"]()).fit(X, y)
    priced = PricedModel(pipeline, COSTS)
    np.testing.assert_allclose(priced.predict_proba(X), pipeline.predict_proba(X))
    check_contract(priced, X, rows=2)


def test_one_of_ours_behind_an_encoder(table):
    X, y = table
    ours = worthwhile.GreedyMiserClassifier(n_rounds=5, lam=0.001)
    pipeline = make_pipeline(FRONTS["one-hot, dense"](), ours).fit(X, y)
    priced = PricedModel(pipeline, COSTS)
    np.testing.assert_array_equal(priced.predict_proba(X), pipeline.predict_proba(X))
    check_contract(priced, X, rows=2)


def test_a_model_file_holds_plain_arrays_and_new_prices_can_be_given(table, tmp_path):
    X, _ = table
    priced = PricedModel(fitted("scaled", "forest", table), COSTS)
    priced.save(tmp_path / "model")
    again = worthwhile.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), priced.predict_proba(X))
    again.costs = dict.fromkeys(X.columns, 1)
    assert again.cost(X).tolist() == priced.acquired(X).sum(axis=1).tolist()
    policy = worthwhile.load_policy(tmp_path / "model")  # nothing foreign in it
    assert policy.fingerprint() == priced.policy_.fingerprint()


@pytest.mark.parametrize(("model", "place"), [("linear", 0), ("linear", -1), ("forest", 0)])
def test_a_level_without_a_number_is_refused_where_the_model_takes_none(table, model, place):
    policy = PricedModel(fitted("one-hot", model, table), COSTS).policy_
    settings, arrays = policy.state()
    holed = arrays["table 0"].copy()
    holed[place] = np.nan  # of the first level; or, in the last place, of empty cells
    state = settings, {**arrays, "table 0": holed}
    if (model, place) == ("linear", 0):
        with pytest.raises(
            ValueError, match="a level has no number, and the model inside does not"
        ):
            type(policy).from_state(policy.costs, policy.output, state)
    else:
        type(policy).from_state(policy.costs, policy.output, state)


def test_searches_over_pipelines_speak_of_source_columns(table, tmp_path):
    X, y = table
    miser = worthwhile.GreedyMiserClassifier(n_rounds=20, costs=COSTS, min_samples_leaf=5)
    search = worthwhile.BudgetSearchCV(
        make_pipeline(FRONTS["one-hot, dense"](), miser),
        budget=25,
        trade_off=[{"greedymiserclassifier__lam": lam} for lam in (0.0, 0.001, 0.01)],
        scoring="neg_log_loss",
        cv=2,
        refine=0,
        tune=0,
        confidence=0.5,
    ).fit(X, y)
    assert search.costs_.features == tuple(X.columns)
    assert search.frontier_.unit == COSTS.unit
    # What it is and buys, with nothing but the pipeline of scikit-learn and the miser behind it.
    pipeline = search.best_estimator_.best_estimator_.model
    made = pipeline[:-1].transform(X)
    np.testing.assert_array_equal(search.predict_proba(X), pipeline[-1].predict_proba(made))
    names = [name.split("__")[1] for name in pipeline[0].get_feature_names_out()]
    source = [list(X.columns).index(name.split("_")[0]) for name in names]
    expected = np.zeros(X.shape, dtype=bool)
    for row, place in zip(*np.nonzero(pipeline[-1].acquired(made)), strict=True):
        expected[row, source[place]] = True
    np.testing.assert_array_equal(search.acquired(X), expected)
    assert expected[:, 3:].any(), "text is bought"
    assert (search.predict(X) == y).mean() > 0.75
    bills = [COSTS.price(X.columns[row].tolist()) for row in search.acquired(X)]
    assert search.cost(X).tolist() == pytest.approx(bills)
    assert 0 < search.cost(X).mean() <= 25
    assert set(search.session(budget=20).ask()) <= set(X.columns)
    search.save(tmp_path / "model")
    again = worthwhile.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), search.predict_proba(X))


@pytest.mark.parametrize("kind", ["linear tree", "dynamic", "cascade", "forest"])
def test_others_of_ours_behind_an_encoder(table, kind):
    """Policies that know more than they asked for would decide otherwise: batches and sessions agree."""
    X, y = table
    last = {
        "linear tree": lambda: worthwhile.SubmodularTreeClassifier(max_depth=2, budget=12),
        "dynamic": lambda: worthwhile.DynamicSelectionClassifier(max_iter=1, random_state=0),
        "cascade": lambda: worthwhile.CascadeClassifier(n_stages=2, random_state=0),
        "forest": lambda: worthwhile.BudgetedForestClassifier(n_trees=3, random_state=0),
    }[kind]()
    pipeline = make_pipeline(FRONTS["one-hot, dense"](), last).fit(X, y)
    priced = PricedModel(pipeline, COSTS)
    made = pipeline[:-1].transform(X)
    if not priced.policy_.chooses_by_price:  # which other prices were given to learn
        np.testing.assert_allclose(priced.predict_proba(X), pipeline[-1].predict_proba(made))
    check_contract(priced, X, rows=3)


def test_the_trade_off_of_a_pipeline_is_that_of_its_last_step(table):
    from worthwhile.frontier._pipelines import PricedPipeline

    X, y = table
    miser = worthwhile.GreedyMiserClassifier(n_rounds=4, costs=COSTS, min_samples_leaf=5)
    whole = PricedPipeline(make_pipeline(FRONTS["one-hot, dense"](), miser))
    grid = whole.trade_off_grid(X, y)
    assert grid
    assert all(list(point) == ["greedymiserclassifier__lam"] for point in grid)
    whole.set_params(**grid[-1]).fit(X, y)
    assert whole.n_rounds_ == 4
    cut = whole.at(stage=2)
    last = whole.best_estimator_.model[-1]
    made = whole.best_estimator_.model[:-1].transform(X)
    np.testing.assert_array_equal(cut.predict_proba(X), last.at(stage=2).predict_proba(made))
    # The miser inside was fitted with prices of sources: its own bill is that of the table.
    np.testing.assert_allclose(last.cost(made), whole.cost(X))


def test_compare_takes_estimators_and_pipelines_by_names_of_the_caller(table):
    X, y = table
    l1 = worthwhile.CostWeightedL1Classifier()
    mine = {"as it is": l1, "one-hot": make_pipeline(FRONTS["one-hot, dense"](), l1)}
    found = worthwhile.compare(X, y, COSTS, mine, [20], n_splits=1, effort=2)
    assert not found.failures
    assert set(found.methods) == set(mine)
    with pytest.raises(ValueError, match="methods has 'tree' as a DecisionTreeClassifier: give"):
        worthwhile.compare(X, y, COSTS, {"tree": MODELS["tree"]()})


def test_peers_take_text_too(table):
    X, y = table
    found = worthwhile.compare(X, y, COSTS, ["decision-tree"], [20], n_splits=1, effort=2)
    assert not found.failures


@pytest.mark.parametrize(
    "method", ["pruned-forest", "adaptive-linear", "adaptive-boosting", "l1-gate"]
)
def test_what_starts_from_a_forest_takes_text_too(table, method):
    X, y = table
    found = worthwhile.compare(X, y, COSTS, [method], [20], n_splits=1, effort=1)
    assert not found.failures
    assert found.methods == [method]


def test_a_search_over_a_pipeline_of_others_is_refused(table):
    X, y = table
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    with pytest.raises(TypeError, match="estimator ends with a LogisticRegression: a search needs"):
        worthwhile.BudgetSearchCV(pipeline, budget=3).fit(X, y)


@pytest.fixture(scope="module")
def vectorized():
    """skrub's guess of what to do with a table of text, dates and gaps, and a tree behind it."""
    skrub = pytest.importorskip("skrub")
    X, y, costs = worthwhile.datasets.make_lender(300, seed=0)
    columns = ["amount", "birth", "town", "checking", "score"]
    tree = DecisionTreeClassifier(max_depth=5, random_state=0)
    costs = worthwhile.Costs(dict(zip(columns, (1, 2, 3, 4, 5), strict=True)))
    return make_pipeline(skrub.TableVectorizer(), tree).fit(X[columns], y), X[columns], costs


def test_a_table_vectorizer_is_seen_through(vectorized):
    pipeline, X, costs = vectorized
    priced = PricedModel(pipeline, costs, background=X)
    np.testing.assert_array_equal(priced.predict_proba(X), pipeline.predict_proba(X))
    inputs = pipeline[:-1].transform(X)
    source = [pipeline[0].output_to_input_[name] for name in inputs.columns]
    path = pipeline[-1].tree_.decision_path(inputs.to_numpy(np.float32)).toarray().astype(bool)
    expected = np.zeros(X.shape, dtype=bool)  # walked by hand
    for row, node in zip(*np.nonzero(path), strict=True):
        if (tested := pipeline[-1].tree_.feature[node]) >= 0:
            expected[row, list(X.columns).index(source[tested])] = True
    np.testing.assert_array_equal(priced.acquired(X), expected)
    assert 0 < expected.mean() < 1
    assert priced.session().kind("birth") == "date"
    assert "none" in priced.session().choices("checking"), "which skrub itself takes for nothing"
    for row in range(6):
        session = priced.session(one_by_one=True)
        while wanted := session.ask():
            session.tell({name: X[name].iloc[row] for name in wanted})
        assert session.spent == priced.cost(X)[row]
        np.testing.assert_array_equal(session.probabilities, priced.predict_proba(X)[row])


def test_text_that_an_encoder_does_not_list_needs_rows(vectorized):
    pipeline, X, costs = vectorized
    with pytest.raises(ValueError, match="column 'town' is text whose values its encoder does not"):
        PricedModel(pipeline, costs).predict(X)


REFUSED = {
    "text that no encoder knows": (
        lambda X: make_pipeline(
            make_column_transformer((_vectorizer(), "home"), ("drop", ["job"]), remainder=SimpleImputer()),
            DecisionTreeClassifier(max_depth=2),
        ),
        "the preprocessing cannot be tried out",
    ),
    "too many categories": (
        lambda X: make_pipeline(OneHotEncoder(), DecisionTreeClassifier(max_depth=2)),
        "has 300 categories: at most 254 can be priced",
    ),
}  # fmt: skip


def _vectorizer():
    from sklearn.feature_extraction.text import CountVectorizer

    return CountVectorizer()


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_priced_is_refused(table, kind):
    X, y = table
    make, words = REFUSED[kind]
    if "many" in kind:
        X = pd.DataFrame({"zip": [f"z{i}" for i in range(len(X))], "home": X["home"]})
    pipeline = make(X).fit(X, y)
    with pytest.raises(ValueError, match=words):
        PricedModel(pipeline).predict(X)
