"""Pipelines: bills and sessions speak of source columns, answers are those of the pipeline."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier

import worthwhile
from tests.estimators.priced.preprocessing import (
    COSTS,
    FRONTS,
    MODELS,
    NUMBERS,
    PLAIN,
    TEXT,
    encoded,
    fitted,
    loans,
)
from worthwhile import PricedModel
from worthwhile.exceptions import WorthwhileWarning
from worthwhile.testing import check_contract


@pytest.fixture(scope="module")
def table():
    return loans()


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
