"""Tables as people have them go into every estimator, and come out of sessions and files."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest

import worthwhile
from tests.estimators.small import make, public_estimators
from worthwhile import (
    AdaptiveLinearClassifier,
    CostWeightedL1Classifier,
    EarlyExitClassifier,
    GreedyMiserClassifier,
    Session,
    StaticOrderClassifier,
)
from worthwhile.datasets import make_lender
from worthwhile.exceptions import SessionError
from worthwhile.testing import check_contract

LIGHT = "import sys; from worthwhile.persist import load_policy; load_policy(sys.argv[1]).reads; "


@pytest.fixture(scope="module")
def loans():
    X, y, costs = make_lender(240, seed=1)
    return X, y, costs


@pytest.fixture(scope="module")
def miser(loans):
    X, y, costs = loans
    return GreedyMiserClassifier(costs=costs, n_rounds=10, min_samples_leaf=5).fit(X, y)


@pytest.mark.parametrize("name", public_estimators())
def test_every_estimator_keeps_the_laws_on_a_table_with_all_kinds_of_columns(name, loans):
    X, y, costs = loans
    estimator = make(name)
    regression = name.endswith("Regressor") or name == "FeatureSubsets"
    target = (y == "good") + X["months"].to_numpy() / 50 if regression else y
    check_contract(estimator, X, target, costs=costs, rows=5)


def run(session, row):
    while wanted := session.ask():
        session.tell({name: row[name] for name in wanted})
    return session


def test_sessions_speak_the_language_of_the_table(loans, miser):
    X = loans[0]
    row = {"checking": "none", "birth": "1980-05-01", "score": 640, "employed": "1 to 4 years"}
    session = miser.session()
    session.tell(row)
    assert session.known == row
    assert session.choices("checking") == ["0 to 200", "above 200", "below 0", "none"]
    assert session.choices("amount") is None
    assert session.kind("birth") == "date"
    stored = json.loads(json.dumps(session.to_dict()))
    assert Session.from_dict(miser.policy_, stored).known == row
    with pytest.raises(
        SessionError, match=r"value of 'housing' is 'tent', which is not known: give one of 'free'"
    ):
        session.tell({"housing": "tent"})
    case = X.iloc[7]
    done = run(miser.session(), case)
    assert done.prediction == miser.predict(X[7:8])[0]
    assert done.spent == miser.cost(X[7:8])[0]


def test_the_same_rows_in_every_library_give_the_same_answers(loans, miser):
    X = loans[0]
    plain = X.astype({"purpose": str, "employed": str}).replace({"employed": {"nan": None}})
    expected = miser.predict_proba(X)
    for table in (polars.from_pandas(plain), pyarrow.Table.from_pandas(plain), plain):
        np.testing.assert_array_equal(miser.predict_proba(table), expected)


def test_new_values_count_as_empty(loans, miser):
    X = loans[0][:5]
    new = X.assign(checking="gold", town="elsewhere")
    empty = X.assign(checking=None, town=None)
    np.testing.assert_array_equal(miser.predict_proba(new), miser.predict_proba(empty))


def test_what_cannot_be_read_is_refused_where_it_is_bought(loans, miser):
    X = loans[0]
    read = miser.acquired(X)[:, X.columns.get_loc("score")]
    row = int(np.flatnonzero(read)[0])
    bad = X.astype({"score": object})
    bad.iloc[row, X.columns.get_loc("score")] = "high"
    with pytest.raises(
        ValueError, match=rf"X has 'high' in row {row}, feature 'score', which the model reads"
    ):
        miser.predict(bad)


def test_a_missing_column_is_refused_by_name_only_if_it_may_be_read(loans):
    X, y, costs = loans
    model = GreedyMiserClassifier(costs=costs, n_rounds=3, max_depth=1, min_samples_leaf=5).fit(
        X, y
    )
    reads = [X.columns[c] for c in model.policy_.reads]
    assert len(reads) < X.shape[1]
    np.testing.assert_array_equal(model.predict(X[reads]), model.predict(X))
    with pytest.raises(ValueError, match=f"X has no column '{reads[0]}', which the model may read"):
        model.predict(X.drop(columns=reads[0]))


def test_a_missing_column_may_be_said_to_be_unavailable(loans, miser):
    X = loans[0]
    name = X.columns[miser.policy_.reads[0]]
    expected = miser.predict_proba(X, unavailable=[name])
    found = miser.predict_proba(X.drop(columns=name), unavailable=[name])
    np.testing.assert_array_equal(found, expected)
    assert not miser.acquired(X.drop(columns=name), unavailable=[name])[
        :, miser.policy_.reads[0]
    ].any()


def test_files_hold_the_columns_and_need_no_pandas(loans, miser, tmp_path):
    import subprocess
    import sys

    path = tmp_path / "m.worthwhile"
    miser.save(path)
    again = worthwhile.load(path)
    np.testing.assert_array_equal(again.predict_proba(loans[0]), miser.predict_proba(loans[0]))
    assert again.columns_ == miser.columns_
    check = LIGHT + "print([m for m in ('numba', 'sklearn', 'pandas') if m in sys.modules])"
    said = subprocess.run([sys.executable, "-c", check, path], capture_output=True, text=True)
    assert said.stdout.strip() == "[]", said.stderr


def test_arrays_of_objects_have_columns_by_number(loans):
    X, y, _ = loans
    model = StaticOrderClassifier(random_state=0).fit(X.to_numpy(dtype=object), y)
    assert model.columns_[8].levels == ("0 to 200", "above 200", "below 0", "none")
    session = model.session()
    session.tell({8: "none"})
    assert session.known == {8: "none"}


def test_a_gate_reads_columns_as_the_model_behind_it(loans, miser):
    X, y, _costs = loans
    gate = AdaptiveLinearClassifier(miser, max_iter=3, random_state=0).fit(X, y)
    assert gate.columns_ == miser.columns_
    sent = gate.sent(X)
    np.testing.assert_array_equal(gate.predict(X)[sent], miser.predict(X)[sent])


def test_a_function_behind_a_gate_sees_the_users_words(loans):
    X, y, costs = loans
    seen = []

    def function(frame):
        seen.append(frame)
        return np.column_stack([frame["checking"] == "none", frame["checking"] != "none"]) * 1.0

    AdaptiveLinearClassifier((function, ["checking"]), costs=costs, max_iter=2, random_state=0).fit(
        X, y
    )
    assert set(seen[0]["checking"]) == set(X["checking"])
    assert str(seen[0]["birth"].dtype).startswith("datetime64")


def test_a_gate_refuses_a_model_that_knows_numbers_alone(loans):
    X, y, _ = loans
    numbers = X.assign(**{name: range(len(X)) for name in X.columns})
    existing = CostWeightedL1Classifier().fit(numbers, y)
    with pytest.raises(ValueError, match="existing was fitted on numbers alone, but X has text"):
        AdaptiveLinearClassifier(existing, random_state=0).fit(X, y)


def test_early_exit_takes_the_columns_of_its_model(loans, miser):
    X, y, _ = loans
    model = EarlyExitClassifier(miser, 0.9, every=2).fit(X, y)
    assert model.columns_ == miser.columns_
    assert (model.cost(X) <= miser.cost(X)).all()


def test_validation_rows_are_read_the_same_way(loans):
    X, y, costs = loans
    model = GreedyMiserClassifier(costs=costs, n_rounds=5, min_samples_leaf=5)
    model.fit(X[:150], y[:150], validation=(X[150:][X.columns[::-1]], y[150:]))
    assert "validation" in "".join(model.trace_.columns) or len(model.trace_)


def test_training_rows_do_not_see_their_own_labels():
    """A category without a meaning, one level per few rows, must not look useful."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    X = pd.DataFrame(
        {"noise": [f"v{i}" for i in rng.integers(0, 200, 600)], "x": rng.normal(size=600)}
    )
    model = StaticOrderClassifier(random_state=0).fit(X, y)
    assert model.score(X, y) < 0.75


@pytest.mark.parametrize(
    "name",
    [name for name in public_estimators() if "categorical" in make(name).get_params(deep=False)],
)
def test_what_columns_are_may_be_said(name):
    """Kept by clones and files, and refused by name where there is no such column."""
    X, y, _ = make_lender(120, seed=2)
    X = X[["months", "amount", "birth", "checking"]].assign(birth=X["birth"].astype(str))
    estimator = make(name).set_params(categorical=["months"], dates=["birth"])
    target = X["amount"].to_numpy() if name.endswith("Regressor") else y
    model = estimator.fit(X, target)
    kinds = [model.columns_[c].kind for c in range(4)]
    assert kinds == ["category", "number", "date", "category"]
    with pytest.raises(ValueError, match="categorical names 'colour', which X does not have"):
        estimator.set_params(categorical=["colour"]).fit(X, target)


def test_nearly_all_estimators_may_be_told():
    told = [name for name in public_estimators() if "categorical" in make(name).get_params()]
    inside = {"EarlyExitClassifier", "EarlyExitRegressor"}  # columns are those of their model
    assert set(public_estimators()) - set(told) - {"FeatureSubsets"} == inside


@pytest.mark.parametrize("name", ["BudgetedForestClassifier", "CascadeClassifier"])
def test_weights_count_in_the_mean_targets_of_categories(loans, name):
    """What predictions take for a level is what it would be with every row as often as it counts."""
    X, y, costs = loans
    times = np.random.default_rng(0).integers(1, 4, len(X))
    again = np.repeat(np.arange(len(X)), times)
    tables = [
        make(name).set_params(costs=costs).fit(*given).policy_.expansion.tables
        for given in ((X, y, times), (X.iloc[again], y[again]), (X, y))
    ]
    assert tables[0].keys() == tables[1].keys() != set()
    for column, table in tables[0].items():
        np.testing.assert_allclose(table, tables[1][column], rtol=1e-9)
    assert any(not np.allclose(t, tables[2][c], equal_nan=True) for c, t in tables[0].items())


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (polars.DataFrame({"a": [0.0, 1.0]}).lazy(), "LazyFrame.*collect"),
        (np.array([(0.0,), (1.0,)], dtype=[("a", float)]), "array of records: give pandas"),
    ],
)
def test_what_is_no_table_yet_is_refused_with_what_to_do(X, said):
    with pytest.raises(TypeError, match=said):
        worthwhile.BudgetClassifier().fit(X, [0, 1])


def test_names_that_stand_twice_are_refused_and_sparse_columns_read():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "a"])
    y = X["b"] > 0
    with pytest.raises(ValueError, match="two columns named 'a'"):
        CostWeightedL1Classifier().fit(X, y)
    with pytest.raises(ValueError, match="two columns named 'a'"):
        worthwhile.compare(X, y, None, ["decision-tree"], n_splits=1)
    X.columns = ["a", "b", "c"]
    sparse = X.astype(pd.SparseDtype(float))
    model = CostWeightedL1Classifier(1e-3).fit(sparse, y)
    dense = CostWeightedL1Classifier(1e-3).fit(X, y)
    assert model.policy_.fingerprint() == dense.policy_.fingerprint()
    assert np.array_equal(model.predict(sparse), dense.predict(X))
