"""The query session: what it asks, what it pays, what it survives."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from worthwhile import Costs, EarlyExitRegressor, GreedyMiserRegressor, QuerySession
from worthwhile.exceptions import BudgetExceeded, SessionError
from worthwhile.runtime import UNAVAILABLE, Session

NAMES = ["age", "links", "words", "title", "body"]


@pytest.fixture(scope="module")
def fitted():
    import pandas as pd

    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(240, 5)).round(2), columns=NAMES)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = (X.fillna(0).to_numpy() @ [1.0, 0.5, 0.0, 2.0, -1.0]).round()
    costs = Costs(
        {"age": 0.5, "links": 1, "words": 2, "title": 3, "body": 5},
        {"text": {"fee": 1.25, "features": ["words", "title", "body"]}},
        evaluation=0.01,
    )
    model = GreedyMiserRegressor(n_rounds=12, min_samples_leaf=5, costs=costs).fit(X, y)
    return EarlyExitRegressor(model, threshold=0.8, every=2).fit(X, y), X


def drive(session, X):
    while wanted := session.ask():
        session.tell({i: {name: X.iloc[i][name] for name in names} for i, names in wanted.items()})
    return session


@pytest.mark.parametrize("budget", [None, 0, 3.5, 20, 60, 400])
@pytest.mark.parametrize("one_by_one", [False, True])
def test_a_session_is_the_batch(fitted, budget, one_by_one):
    model, X = fitted
    query, qid = X[:14], np.zeros(14)
    session = drive(model.session(budget, one_by_one, documents=14), query)
    assert session.scores.tobytes() == model.predict(query, budget, qid=qid).tobytes()
    assert np.array_equal(session.spent_by_document, model.cost(query, budget, qid=qid))
    bought = model.acquired(query, budget, qid=qid)
    for ledger, mask in zip(session.ledgers, bought, strict=True):
        names = {entry.feature for entry in ledger if entry.kind == "bought"}
        assert names == {name for name, has in zip(NAMES, mask, strict=True) if has}
    assert session.done
    if budget is not None:
        assert session.spent <= budget
        assert float(sum(ledger.total for ledger in session.ledgers)) <= budget


def test_one_document_is_a_plain_session(fitted):
    model, X = fitted
    session = drive(model.session(documents=1), X)
    plain = model.session()
    assert isinstance(plain, Session)
    while wanted := plain.ask():
        plain.tell({name: X.iloc[0][name] for name in wanted})
    assert session.scores[0] == plain.prediction
    assert session.spent == plain.spent


def test_documents_leave_and_are_ranked_below(fitted):
    model, X = fitted
    session = drive(model.session(documents=30), X)
    left = set(range(30)) - set(session.remaining)
    assert left
    assert len(session.remaining) >= 5
    assert set(session.ranking[: len(session.remaining)]) == set(session.remaining)
    assert session.spent < drive(QuerySession(_never(model).policy_, 30), X).spent


def _never(model):
    twin = EarlyExitRegressor(model.model, threshold=np.inf, every=2)
    X = np.zeros((2, 5))
    import pandas as pd

    return twin.fit(pd.DataFrame(X, columns=NAMES), [0.0, 1.0])


@pytest.mark.parametrize("budget", [None, 25])
def test_a_session_stored_after_every_step_goes_on(fitted, budget):
    model, X = fitted
    expected = drive(model.session(budget, documents=9), X)
    session = model.session(budget, documents=9)
    while wanted := session.ask():
        for i, names in wanted.items():
            for name in names:
                stored = json.loads(json.dumps(session.to_dict()))
                session = QuerySession.from_dict(model.policy_, stored)
                session.tell({i: {name: X.iloc[i][name]}})
    assert session.spent == expected.spent
    if budget is None:
        assert session.scores.tobytes() == expected.scores.tobytes()


def test_reading_an_answer_in_between_changes_nothing(fitted):
    model, X = fitted
    expected = drive(model.session(30, documents=8), X)
    session = model.session(30, documents=8)
    assert len(session.scores) == 8
    while wanted := session.ask():
        assert session.ask() == wanted
        session.tell({i: {n: X.iloc[i][n] for n in names} for i, names in wanted.items()})
        assert len(session.ranking) == 8
        session = QuerySession.from_dict(model.policy_, json.loads(json.dumps(session.to_dict())))
    assert session.scores.tobytes() == expected.scores.tobytes()
    assert session.known == expected.known


def seen(session):
    records = [ledger.to_records() for ledger in session.ledgers]
    return repr((session.known, session.spent, records, session.budget, session.to_dict()))


@pytest.mark.parametrize("budget", [None, 25])
def test_a_stored_session_is_the_same_at_every_moment(fitted, budget):
    """Each call is one moment: what was stored then looks the same, and says the same next."""
    model, X = fitted
    session = model.session(budget, documents=4)

    def check():
        twin = QuerySession.from_dict(model.policy_, json.loads(json.dumps(session.to_dict())))
        copied = copy.copy(session)
        assert seen(twin) == seen(session) == seen(copied)
        assert repr(twin.scores) == repr(copied.scores)
        assert twin.ask() == copied.ask()
        assert seen(twin) == seen(copied)

    check()
    while wanted := session.ask():
        check()
        document, names = next(iter(wanted.items()))
        session.tell({document: {names[0]: X.iloc[document][names[0]]}})
        check()
        assert len(session.scores) == 4
        check()


def test_what_cannot_be_had_is_not_paid(fitted):
    model, X = fitted
    session = model.session(documents=4)
    while wanted := session.ask():
        session.tell(
            {
                i: {n: UNAVAILABLE if n == "title" else X.iloc[i][n] for n in names}
                for i, names in wanted.items()
            }
        )
    assert np.isfinite(session.scores).all()
    for ledger in session.ledgers:
        kinds = {entry.feature: entry.kind for entry in ledger}
        assert kinds.get("title", "unavailable") == "unavailable"
    stored = json.loads(json.dumps(session.to_dict()))
    assert QuerySession.from_dict(model.policy_, stored).spent == session.spent


def test_known_values_are_free_and_stated_prices_hold(fitted):
    model, X = fitted
    session = model.session(40, documents=3)
    session.tell({2: {"title": float(X.iloc[2]["title"])}})
    assert session.spent == 0
    wanted = session.ask()
    assert "title" not in wanted.get(2, [])
    name = wanted[0][0]
    before = session.spent
    session.tell({0: {name: 1.0}}, price={0: {name: 0.75}})
    assert session.spent == pytest.approx(before + 0.75)
    assert session.budget == 40
    with pytest.raises(BudgetExceeded, match="price is 50 but the budget of 40"):
        session.tell({1: {wanted[1][0]: 1.0}}, price={1: 50})


@pytest.mark.parametrize(
    ("told", "price", "message"),
    [
        ([1], None, "values is a list"),
        ({9: {"age": 1.0}}, None, "document 9 is not one of 0 to 2"),
        ({True: {"age": 1.0}}, None, "document True"),
        ({0: {"height": 1.0}}, None, "height"),
        ({0: {"age": "old"}}, None, "value of 'age'"),
        ({0: {"age": float("inf")}}, None, "infinite"),
        ({0: [1.0]}, None, "values is a list"),
        ({0: {"age": 1.0}}, {1: 3}, "price names document 1"),
        ({0: {"age": 1.0}}, {0: {"title": 3}}, "price names 'title'"),
    ],
)
def test_nonsense_is_refused_and_nothing_recorded(fitted, told, price, message):
    model, _ = fitted
    session = model.session(documents=3)
    wanted = session.ask()
    with pytest.raises(SessionError, match=message):
        session.tell(told, price)
    assert session.ask() == wanted
    assert session.known == [{}, {}, {}]


def test_a_value_is_told_once(fitted):
    model, _ = fitted
    session = model.session(documents=2)
    session.tell({0: {"age": 1.0}})
    with pytest.raises(SessionError, match="told before"):
        session.tell({1: {"age": 1.0}, 0: {"age": 1.0}})
    assert session.known[1] == {}


def test_bad_sessions_are_refused(fitted):
    model, _ = fitted
    with pytest.raises(ValueError, match="documents is 0"):
        model.session(documents=0)
    with pytest.raises(TypeError, match="no rule for queries"):
        QuerySession(model.policy_.model, 3)
    stored = model.session(documents=2).to_dict()
    with pytest.raises(SessionError, match="format 9"):
        QuerySession.from_dict(model.policy_, {**stored, "format": 9})
    with pytest.raises(SessionError, match="another model"):
        QuerySession.from_dict(model.policy_, {**stored, "model": "x"})
    with pytest.raises(SessionError, match="not a stored session"):
        QuerySession.from_dict(model.policy_, {"format": 2})
    with pytest.raises(SessionError, match=r"version 0\.1\.0"):
        QuerySession.from_dict(model.policy_, {**stored, "format": 1})
    for documents, text in [("2", "documents is '2'"), (True, "documents is True")]:
        with pytest.raises(SessionError, match=text):
            QuerySession.from_dict(model.policy_, {**stored, "documents": documents})
    events = [["tell", {"-1": {"0": 1.0}}, {}]]
    with pytest.raises(SessionError, match="document '-1'"):
        QuerySession.from_dict(model.policy_, {**stored, "events": events})
