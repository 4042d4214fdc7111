"""What comes back late changes nothing: lines are served in the order in which they formed."""

from __future__ import annotations

import numpy as np
import pytest

from worthwhile import (
    CascadeClassifier,
    Costs,
    EarlyExitClassifier,
    EarlyExitRegressor,
    GreedyMiserClassifier,
    GreedyMiserRegressor,
)

N_FEATURES, N_DOCUMENTS = 8, 5


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, N_FEATURES)).round(2)
    X[rng.random(X.shape) < 0.05] = np.nan
    score = np.nan_to_num(X) @ rng.normal(size=N_FEATURES)
    costs = Costs([1.1, 2.3, 0.7, 3.9, 1.3, 2.9, 0.9, 4.1], {"lab": {"fee": 2, "features": [1, 3]}})
    return X, score, costs


def cascade(X, score, costs):
    return CascadeClassifier(n_stages=3, lam=0.001, random_state=0, costs=costs).fit(X, score > 0)


def staged(X, score, costs):
    model = GreedyMiserClassifier(n_rounds=12, min_samples_leaf=5, costs=costs).fit(X, score > 0)
    return EarlyExitClassifier(model, 0.9, every=4).fit(X, score > 0)


@pytest.mark.parametrize("make", [cascade, staged])
def test_values_of_a_row_may_come_back_in_any_order_under_a_budget(make, data):
    X, *_ = data
    model, rng = make(*data), np.random.default_rng(0)
    budgets = np.linspace(2, model.costs_.total, 12).round(2)
    for budget in budgets:
        expected = model.acquired(X[:25], budget=budget), model.predict_proba(X[:25], budget=budget)
        for row, mask, shares in zip(X, *expected, strict=False):
            session = model.session(budget=budget)
            while wanted := session.ask():
                for name in rng.permutation(wanted).tolist():
                    session.tell({name: float(row[name])})
            bought = {entry.feature for entry in session.ledger if entry.kind == "bought"}
            assert bought == set(np.flatnonzero(mask)), f"budget {budget}"
            assert session.probabilities.tobytes() == shares.tobytes()


def test_documents_may_come_back_in_any_order_under_a_budget(data):
    X, score, costs = data
    ranker = GreedyMiserRegressor(n_rounds=12, min_samples_leaf=5, costs=costs).fit(X, score)
    model, rng = EarlyExitRegressor(ranker, every=4).fit(X, score), np.random.default_rng(1)
    query, qid = X[:N_DOCUMENTS], np.zeros(N_DOCUMENTS)
    for budget in np.linspace(5, costs.total * N_DOCUMENTS, 60).round(2):
        session = model.session(budget=budget, documents=N_DOCUMENTS)
        while wanted := session.ask():
            items = [(document, name) for document, names in wanted.items() for name in names]
            for document, name in rng.permutation(items).tolist():
                session.tell({document: {name: float(query[document, name])}})
        assert np.array_equal(session.spent_by_document, model.cost(query, budget, qid=qid)), budget
        assert session.scores.tobytes() == model.predict(query, budget, qid=qid).tobytes()


def test_an_answer_uses_what_was_told_before_its_turn(data):
    X, score, costs = data
    plain = GreedyMiserClassifier(n_rounds=12, min_samples_leaf=5, costs=costs).fit(X, score > 0)
    model = EarlyExitClassifier(plain, 0.9, every=12).fit(X, score > 0)  # a single stage
    early = 0
    for row in X[:20]:
        session, expected = model.session(), plain.session()
        while wanted := session.ask():
            for name in reversed(wanted):
                early += name != wanted[0]
                for either in (session, expected):
                    either.tell({name: float(row[name])}, price=0)
                assert session.probabilities.tobytes() == expected.probabilities.tobytes()
    assert early
