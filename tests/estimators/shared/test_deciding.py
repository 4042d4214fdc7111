"""Prices of errors in every method: the same decisions in batches, sessions and files."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import worthwhile
from worthwhile import Errors
from worthwhile.estimators._shared.held_out_choice import choose_point
from worthwhile.testing import check_contract

ERRORS = Errors({"ill": {"well": 40}, "well": {"ill": 6}}, refer=3)
COSTS = [1, 2, 1, 4, 1]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 5))
    y = np.where(X[:, 1] + 0.5 * X[:, 3] + 0.8 * rng.normal(size=240) > 0.6, "ill", "well")
    return X, y


SMALL = {
    "GreedyMiserClassifier": {"lam": 0.01, "n_rounds": 5, "calibrate": "sigmoid"},
    "CostWeightedL1Classifier": {"lam": 0.01},
    "BudgetedForestClassifier": {"n_trees": 4, "random_state": 0, "calibrate": "isotonic"},
    "StaticOrderClassifier": {"n_folds": None, "masked": False},
    "CascadeClassifier": {"n_stages": 2, "lam": 0.01, "random_state": 0},
    "L1GateClassifier": {"C": 1.0, "random_state": 0},
    "BudgetClassifier": {"n_trees": 8, "random_state": 0},
}


@pytest.fixture(scope="module", params=SMALL)
def model(request, data):
    settings = {"calibrate": False, "costs": COSTS, "errors": ERRORS} | SMALL[request.param]
    if "Gate" in request.param:
        settings["existing"] = worthwhile.CostWeightedL1Classifier(0.001).fit(*data)
    return getattr(worthwhile, request.param)(**settings).fit(*data)


def test_decisions_have_the_least_expected_price(model, data):
    decided = ERRORS.decide(model.predict_proba(data[0]), model.classes_)
    assert model.predict(data[0]).tolist() == decided.tolist()


def test_sessions_and_files_decide_as_batches_do(model, data, tmp_path):
    X, answers = data[0][:12], model.predict(data[0])[:12].tolist()
    model.save(tmp_path / "model.worthwhile")
    again = worthwhile.load(tmp_path / "model.worthwhile")
    assert again.predict(X).tolist() == answers
    assert again.policy_.output.errors == ERRORS
    assert again.policy_.fingerprint() == model.policy_.fingerprint()
    light = worthwhile.load_policy(tmp_path / "model.worthwhile")
    for row, answer in zip(X, answers, strict=True):
        for policy in (model.policy_, light):
            session = worthwhile.Session(policy)
            while wanted := session.ask():
                session.tell({name: row[name] for name in wanted})
            assert session.prediction == answer


def test_totals_are_bills_and_prices_of_errors(model, data):
    X, y = data
    total = model.cost(X) + ERRORS.prices(y, model.predict(X))
    assert model.total_cost(X, y).tolist() == total.tolist()
    promised = model.promise(X, y).promise_.figures["total"].mean
    assert promised == pytest.approx(total.mean())


def test_a_copy_decides_otherwise_and_buys_the_same(model, data):
    X, y = data
    plain = model.with_errors(None)
    assert plain.policy_.output.errors is None
    assert set(plain.predict(X)) <= {"ill", "well"}
    assert (plain.acquired(X) == model.acquired(X)).all()
    back = plain.with_errors(ERRORS)
    assert back.predict(X).tolist() == model.predict(X).tolist()
    assert back.policy_.fingerprint() == model.policy_.fingerprint() != plain.policy_.fingerprint()
    with pytest.raises(ValueError, match="errors have no prices"):
        plain.total_cost(X, y)


def test_prices_of_today_keep_the_decisions(model, data):
    X = data[0]
    dearer = model.predict(X, prices={0: 2})
    same = (model.acquired(X, prices={0: 2}) == model.acquired(X)).all(axis=1)
    assert (dearer == model.predict(X))[same].all()


def test_a_case_that_is_referred_is_not_answered_right(data):
    X, y = data
    model = worthwhile.GreedyMiserClassifier(0.01, n_rounds=3, calibrate=False, errors=ERRORS)
    answers = model.fit(X, y).predict(X)
    assert (answers == "refer").any()
    assert model.score(X, y) == (answers == y).mean()


def test_labels_of_another_type_than_the_classes(data):
    X, y = data
    codes = (y == "ill").astype(int)
    model = worthwhile.CostWeightedL1Classifier(
        0.01, calibrate=False, errors=Errors(worth=9, refer=2)
    )
    answers = model.fit(X, codes).predict(X)
    assert set(answers.tolist()) == {0, 1, "refer"}
    assert 0 < model.score(X, codes) < 1


def test_probabilities_are_calibrated_where_that_helps_and_it_is_said_how_well(data):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 6))
    y = (X[:, 0] + 2 * rng.normal(size=400) > 0).astype(int)  # boosting is far too sure of itself
    model = worthwhile.GreedyMiserClassifier(
        0.0001, n_rounds=60, learning_rate=0.3, min_samples_leaf=2, errors=5
    ).fit(X, y)
    said = model.calibration_
    assert said["kind"] == "sigmoid" == model.policy_.output.calibration.kind
    assert said["brier"] < said["brier_before"]
    assert said["error"] < said["error_before"]
    assert said["rows"] == 400
    plain = worthwhile.GreedyMiserClassifier(
        0.0001, n_rounds=60, learning_rate=0.3, min_samples_leaf=2, errors=5, calibrate=False
    ).fit(X, y)
    assert plain.policy_.output.calibration is None
    assert not hasattr(plain, "calibration_")


def test_a_map_that_does_not_help_is_not_kept():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    model = worthwhile.CostWeightedL1Classifier(0.2, errors=5).fit(X, y)
    said = model.calibration_
    assert (said["kind"] is None) == (model.policy_.output.calibration is None)
    assert (said["kind"] is None) == (said["brier"] >= said["brier_before"])


def test_greedy_miser_takes_the_lam_of_the_least_total(data):
    X, y = data
    bills = []
    for worth in (0.5, 50, 5000):
        model = worthwhile.GreedyMiserClassifier(
            costs=COSTS, errors=Errors(worth=worth), n_rounds=10, calibrate=False, random_state=0
        ).fit(X, y)
        bills.append(float(model.cost(X).mean()))
        assert model.lam == 0.0
    assert bills[0] == 0 < bills[1] <= bills[2]


def test_choices_on_rows_held_out_go_by_the_total(data):
    points = [{"lam": 10.0}, {"lam": 0.001}]
    miser = worthwhile.GreedyMiserClassifier(costs=COSTS, n_rounds=5, calibrate=False)
    for worth, best in ((0.5, points[0]), (5000, points[1])):
        assert choose_point(miser.set_params(errors=worth), points, *data) == best


@pytest.mark.filterwarnings("ignore::worthwhile.exceptions.WorthwhileWarning")
def test_gates_are_chosen_by_the_total(data):
    X, y = data
    existing = LogisticRegression().fit(X, y)
    bills = []
    for worth in (0.5, 500):
        gate = worthwhile.AdaptiveLinearClassifier(
            existing, costs=COSTS, errors=worth, calibrate=False, max_iter=4, random_state=0
        )
        bills.append(float(gate.fit(X, y).cost(X).mean()))
    assert bills[0] < bills[1]


def test_numbers_have_a_price_per_unit_of_the_loss():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 3))
    y = 2 * X[:, 0] + rng.normal(size=200)
    dear = worthwhile.GreedyMiserRegressor(costs=[1, 1, 1], errors=50, n_rounds=10).fit(X, y)
    cheap = worthwhile.GreedyMiserRegressor(costs=[1, 1, 1], errors=0.01, n_rounds=10).fit(X, y)
    assert cheap.cost(X).mean() == 0 < dear.cost(X).mean()
    off = dear.predict(X) - y
    assert dear.total_cost(X, y).tolist() == (dear.cost(X) + 50 * off**2).tolist()
    median = worthwhile.GreedyMiserRegressor(0.1, loss="absolute", errors=2, n_rounds=3).fit(X, y)
    assert median.policy_.output.errors == Errors(absolute=2)


@pytest.mark.parametrize(
    ("errors", "kind", "message"),
    [
        ({"dead": {"ill": 1}}, ValueError, "errors names the class 'dead'"),
        (Errors(squared=1), ValueError, "for classes give a table or worth"),
        ("much", TypeError, "errors is a str"),
    ],
)
def test_prices_that_do_not_fit_are_refused_before_work(errors, kind, message, data):
    model = worthwhile.GreedyMiserClassifier(errors=errors)
    with pytest.raises(kind, match=message):
        model.fit(*data)
    assert not hasattr(model, "policy_")


def test_laws_with_prices_of_errors():
    check_contract(
        worthwhile.GreedyMiserClassifier(
            0.001,
            n_rounds=3,
            min_samples_leaf=5,
            errors=Errors(worth=8, refer=3),
            calibrate="sigmoid",
        )
    )


def test_both_sides_of_a_mixture_decide_by_the_prices(data):
    X, y = data
    model = worthwhile.GreedyMiserClassifier(
        0.001, costs=COSTS, n_rounds=6, calibrate=False, errors=ERRORS
    ).fit(X, y)
    mixed = worthwhile.PricedModel.mixed(model.at(stage=1), model, share=0.5)
    answers, keys = mixed.predict(X, key=range(len(X))), [str(row) for row in range(len(X))]
    decided = ERRORS.decide(mixed.predict_proba(X, key=range(len(X))), mixed.classes_)
    assert answers.tolist() == decided.tolist()
    for row in range(6):
        session = mixed.session(key=keys[row])
        while wanted := session.ask():
            session.tell({name: X[row, name] for name in wanted})
        assert session.prediction == answers[row]
    other = model.with_errors(Errors(worth=2))
    with pytest.raises(ValueError, match="other prices of errors"):
        worthwhile.PricedModel.mixed(model.at(stage=1), other, share=0.5)
