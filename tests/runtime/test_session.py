"""Sessions: what may be told, what is paid, and what is kept."""

from __future__ import annotations

import copy
import math
import pickle
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

from tests.ensembles import random_costs, random_rows, random_trees
from tests.runtime.session_policies import NAMES, ONES, chain, finish, whole
from worthwhile import Costs, PricedModel, Session, datasets
from worthwhile.exceptions import BudgetExceeded, SessionError
from worthwhile.policy import Output, TreePolicy, run_case
from worthwhile.runtime import UNAVAILABLE

# A run ---------------------------------------------------------------------------------------------


def test_a_run_asks_step_by_step_and_keeps_the_bill():
    session = Session(chain())
    steps = []
    while wanted := session.ask():
        steps.append((wanted, session.prediction, session.spent, session.done))
        session.tell(dict.fromkeys(wanted, 1.0))
    assert steps == [(["a"], 1.5, 0.0, False), (["b"], 2.0, 1.0, False), (["c"], 2.5, 3.5, False)]
    assert (session.prediction, session.spent, session.done) == (3.0, 7.5, True)
    assert session.ledger.total == Decimal("7.5")
    assert [(e.feature, e.price, e.fee, e.group) for e in session.ledger] == [
        ("a", 1, 0, None), ("b", 2, Decimal("0.5"), "g"), ("c", 4, 0, None),
    ]  # fmt: skip
    assert session.known == ONES
    assert session.budget is None


def test_asking_twice_gives_the_same_list():
    session = Session(chain())
    assert session.ask() == session.ask() == ["a"]
    assert len(session.to_dict()["events"]) == 1


def test_after_done_nothing_is_asked_and_more_may_still_be_known():
    session = finish(Session(chain()), {"a": 0.0})
    assert session.ask() == []
    session.tell({"c": 1.0})
    assert (session.prediction, session.spent) == (0.0, 1.0)


def test_quote_says_what_a_feature_would_cost_now():
    session = Session(chain())
    assert [session.quote(name) for name in NAMES] == [1.0, 2.5, 4.5]
    finish(session, {"a": 1.0, "b": 0.0})
    assert [session.quote(name) for name in NAMES] == [0.0, 0.0, 4.0]
    with pytest.raises(SessionError, match="unknown feature 'z'"):
        session.quote("z")


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    budget=st.one_of(st.none(), st.integers(0, 12)),
    evaluation=st.sampled_from(["0", "0.4"]),
)
def test_one_by_one_or_at_once_comes_to_the_same(seed, budget, evaluation):
    rng = np.random.default_rng(seed)
    policy = TreePolicy(
        random_costs(rng, evaluation=evaluation),
        Output("value"),
        random_trees(rng, categories=seed % 2 == 1),
    )
    row = random_rows(rng, 1)[0]
    limit = None if budget is None else budget * 10**9
    raw, bought, evaluated = run_case(policy, row, limit)
    batch = policy.batch(row[None, :], limit)
    assert batch.raw[0].tobytes() == raw.tobytes()
    assert (batch.acquired[0] == bought).all()
    assert batch.evaluated[0] == evaluated
    for one_by_one in (False, True):
        session = finish(
            Session(policy, budget=budget, one_by_one=one_by_one), dict(enumerate(row.tolist()))
        )
        assert session.prediction == raw[0]
        assert sorted(session.known) == np.flatnonzero(bought).tolist()
        due = int(policy.costs.quanta(bought)) + evaluated * policy.costs.flat.evaluation
        assert session.spent == due / 10**9
        assert session.ledger.total == Decimal(due).scaleb(-9)


# What may be told ------------------------------------------------------------------------------------


def test_empty_values_are_paid_and_unavailable_ones_are_not():
    for empty in (None, math.nan, np.float32("nan")):
        session = Session(chain())
        session.ask()
        session.tell({"a": empty})
        assert session.spent == 1.0
        assert math.isnan(session.known["a"])
    session = Session(chain())
    session.ask()
    session.tell({"a": UNAVAILABLE})
    assert (session.spent, session.ask(), session.prediction) == (0.0, [], 1.5)
    assert session.ledger.entries[0].kind == "unavailable"
    assert session.known == {}


def test_unavailable_is_one_object_however_it_travels():
    assert copy.deepcopy(UNAVAILABLE) is UNAVAILABLE
    assert pickle.loads(pickle.dumps(UNAVAILABLE)) is UNAVAILABLE
    assert repr(UNAVAILABLE) == "UNAVAILABLE"


def test_what_was_not_asked_for_is_known_already_and_free():
    session = Session(chain())
    session.tell({"b": 1.0, "a": 1})
    assert session.spent == 0.0
    assert [e.kind for e in session.ledger] == ["known", "known"]
    assert session.ask() == ["c"]
    session.tell({"c": True})
    assert session.spent == 4.5, "the fee was not paid with what was known"
    assert session.prediction == 3.0


def test_a_stated_price_is_billed_as_stated_and_leaves_the_fee_due():
    session = Session(chain())
    session.tell({"b": 1.0}, price=0.25)
    session.ask()
    session.tell({"a": 1.0}, price={"a": Decimal("0.1")})
    session.ask()
    session.tell({"c": 1.0})
    assert [(e.kind, e.amount) for e in session.ledger] == [
        ("stated", Decimal("0.25")), ("stated", Decimal("0.1")), ("bought", Decimal("4.5")),
    ]  # fmt: skip
    assert session.spent == 4.85


def test_a_stated_price_over_the_budget_is_refused_and_nothing_recorded():
    session = Session(chain(), budget=3)
    before = session.to_dict()
    with pytest.raises(BudgetExceeded, match=r"price is 3.5 but the budget of 3 has only 3 left"):
        session.tell({"b": 1.0}, price=3.5)
    assert session.to_dict() == before
    session.ask()
    with pytest.raises(BudgetExceeded, match="has only 2 left beside what was asked for"):
        session.tell({"b": 1.0}, price=2.5)
    session.tell({"b": 1.0}, price=2)
    session.tell({"a": 1.0})
    assert (session.spent, session.ask(), session.prediction) == (3.0, [], 2.5)


def test_values_of_all_number_types_are_taken():
    for value in (1, 1.0, True, np.int8(1), np.float32(1), np.bool_(True), Decimal(1)):
        session = Session(chain())
        session.ask()
        session.tell({"a": value})
        assert session.known == {"a": 1.0}


NONSENSE = [
    (({"z": 1.0},), "unknown feature 'z': the features are 'a', 'b', 'c'. Nothing was recorded"),
    (({0: 1.0},), "unknown feature 0"),
    (({"a": "high"},), "value of 'a' is 'high', a str: give a number, NaN or None"),
    (({"a": [1.0]},), "value of 'a' is .*, a list"),
    (({"a": 1j},), "value of 'a' is 1j, a complex"),
    (({"a": math.inf},), "value of 'a' is infinite: give a finite number"),
    (({"a": 1.0, "z": 1.0},), "unknown feature 'z'"),
    (([("a", 1.0)],), "values is a list: give a mapping from feature to value"),
    (({"a": 1.0}, -1), "price of 'a' is -1: a price is a number >= 0.*Nothing was recorded"),
    (({"a": 1.0}, "dear"), "price of 'a' is 'dear'"),
    (({"a": 1.0}, {"b": 1}), "price names 'b', which has no value here"),
    (({"a": UNAVAILABLE}, 1), "price names 'a', which has no value here"),
    (({"a": 1.0}, {"z": 1}), "unknown feature 'z'"),
]  # fmt: skip


@pytest.mark.parametrize(("told", "text"), NONSENSE)
def test_nonsense_is_refused_and_nothing_recorded(told, text):
    session = Session(chain())
    session.ask()
    before = session.to_dict()
    with pytest.raises(SessionError, match=text):
        session.tell(*told)
    assert session.to_dict() == before
    assert (session.spent, len(session.ledger), session.known) == (0.0, 0, {})
    assert finish(session, ONES).prediction == 3.0


@pytest.mark.parametrize("first", [1.0, None, UNAVAILABLE])
def test_telling_twice_is_refused(first):
    session = Session(chain())
    session.ask()
    session.tell({"a": first})
    spent = session.spent
    with pytest.raises(SessionError, match="'a' was told before: a value is told once"):
        session.tell({"a": 2.0})
    assert session.spent == spent


@pytest.mark.parametrize("key", [True, 1.0])
def test_a_key_that_equals_the_column_asked_for_is_no_name_of_it(key):
    session = Session(chain(Costs([1, 2, 4])))
    session.tell({0: 1.0})
    assert session.ask() == [1]
    with pytest.raises(SessionError, match="Nothing was recorded"):
        session.tell({key: 1.0})
    assert session.ask() == [1]
    assert session.spent == 0


def test_changing_the_list_that_was_asked_for_changes_nothing():
    session = Session(chain())
    session.ask().clear()
    assert session.ask() == ["a"]
    session.tell({"a": 1.0})
    assert (session.ask(), session.spent) == (["b"], 1.0)


def test_telling_in_part_leaves_the_rest_asked_for():
    session = Session(whole())
    assert session.ask() == ["a", "b"]
    session.tell({"b": 2.0})
    assert session.ask() == ["a"]
    session.tell({"a": 1.0})
    assert (session.prediction, session.spent, session.ask()) == (3.0, 9.0, [])


# Budgets -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("budget", "bought", "answer"),
    [(0, [], 1.5), (0.9, [], 1.5), (1, ["a"], 2.0), (3.4, ["a"], 2.0), (3.5, ["a", "b"], 2.5), (7.5, list("abc"), 3.0)],
)  # fmt: skip
def test_a_budget_stops_the_walk_at_the_mean_of_the_node_reached(budget, bought, answer):
    session = finish(Session(chain(), budget=budget), ONES)
    assert (list(session.known), session.prediction) == (bought, answer)
    assert session.spent <= session.budget == budget


def test_a_feature_that_was_too_dear_and_turns_up_is_used():
    session = finish(Session(chain(), budget=1), ONES)
    assert session.prediction == 2.0
    session.tell({"b": 1.0})
    assert (session.prediction, session.spent) == (2.5, 1.0)
    session.tell({"c": 1.0})
    assert (session.prediction, session.spent) == (3.0, 1.0)


def test_a_bundle_is_bought_whole_or_not_at_all():
    assert Session(whole(), budget=8.9).ask() == []
    assert Session(whole(), budget=9).ask() == ["a", "b"]
    assert Session(whole(), budget=9, one_by_one=True).ask() == ["a"]


def test_without_a_part_the_rest_of_a_bundle_is_not_wanted():
    session = Session(whole(), budget=9)
    session.ask()
    session.tell({"a": UNAVAILABLE})
    assert session.ask() == []
    assert (session.prediction, session.spent) == (-1.0, 0.0)


def test_what_was_asked_for_and_given_up_is_still_billed_but_not_over_the_budget():
    session = Session(whole(), budget=9)
    session.ask()
    session.tell({"a": UNAVAILABLE})
    session.tell({"b": 2.0})
    assert session.spent == 5.0
    session = Session(whole(), budget=9)
    session.ask()
    session.tell({"a": UNAVAILABLE})
    session.tell({"c": 1.0}, price=8)
    with pytest.raises(BudgetExceeded, match="price is 5 but the budget of 9 has only 1 left"):
        session.tell({"b": 2.0})
    assert session.spent == 8.0


def test_evaluations_are_on_the_bill():
    costs = Costs({"a": 1, "b": 2, "c": 4}, evaluation=0.25)
    session = finish(Session(chain(costs)), {"a": 0.0})
    assert [(e.feature, e.kind, e.amount, e.count) for e in session.ledger] == [
        (None, "evaluation", Decimal("0.25"), 1), ("a", "bought", Decimal(1), 1),
    ]  # fmt: skip
    assert session.spent == 1.25
    assert finish(Session(chain(costs), budget=0.2), ONES).prediction == 0.0, "no tree: the base"


# Real prices ---------------------------------------------------------------------------------------


def test_heart_sessions_ask_one_by_one_and_the_bill_is_the_hand_computed_one():
    """Turney's prices; fees: blood 2.10 (chol, fbs), thallium 101.90 (thalach, thal), exercise
    86.30 (exang, oldpeak, slope).
    """
    heart = datasets.load_heart()
    forest = RandomForestClassifier(3, max_depth=3, random_state=1).fit(heart.data, heart.target)
    model = PricedModel(forest, heart.costs)
    own = {
        "age": 100, "sex": 100, "cp": 100, "trestbps": 100, "chol": 517, "fbs": 310,
        "restecg": 1550, "thalach": 100, "exang": 100, "oldpeak": 100, "slope": 100, "ca": 10090, "thal": 100,
    }  # fmt: skip
    shared = 0
    for row in range(12):
        session, cents, asked = model.session(one_by_one=True), 0, []
        while wanted := session.ask():
            assert len(wanted) == 1
            asked += wanted
            session.tell({wanted[0]: heart.data.iloc[row][wanted[0]]})
        for name in asked:
            cents += own[name]
        if "chol" in asked or "fbs" in asked:
            cents += 210
        if "thalach" in asked or "thal" in asked:
            cents += 10190
        if "exang" in asked or "oldpeak" in asked or "slope" in asked:
            cents += 8630
        shared += ("thalach" in asked and "thal" in asked) or (
            "oldpeak" in asked and "slope" in asked
        )
        assert session.ledger.total == Decimal(cents) / 100
        assert session.spent == cents / 100 == model.cost(heart.data[row : row + 1])[0]
        assert session.prediction == forest.predict(heart.data[row : row + 1])[0]
    assert shared, "some patient must take two tests that share a fee"


def test_one_heart_patient_to_the_cent():
    """thal opens the thallium group (101.90 + 1.00), thalach joins it (1.00), chol opens blood
    (2.10 + 5.17): 111.17, in any order.
    """
    costs = datasets.load_heart().costs
    assert (
        costs.price(["thal", "thalach", "chol"])
        == costs.price(["chol", "thalach", "thal"])
        == 111.17
    )
    assert costs.price(list(costs.features)) == 323.97
