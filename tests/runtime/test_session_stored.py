"""Sessions that are stored: resumed at every step, in other processes, and refused when damaged."""

from __future__ import annotations

import copy
import json
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from tests.ensembles import random_costs, random_rows, random_trees
from tests.runtime.session_policies import chain, finish
from worthwhile import Costs, PricedModel, Session, datasets
from worthwhile.exceptions import BudgetExceeded, SessionError
from worthwhile.policy import Output, TreePolicy
from worthwhile.runtime import UNAVAILABLE


def stored(session, policy):
    return Session.from_dict(policy, json.loads(json.dumps(session.to_dict())))


def at_rest(session):
    """All that can be seen without moving the session on."""
    return repr((
        session.known, session.spent, session.ledger.to_records(), session.budget,
        session.one_by_one, [session.quote(f) for f in session.policy.costs.features],
        session.to_dict(),
    ))  # fmt: skip


def moved(session):
    """What it says when asked, and what it looks like then."""
    said = session.prediction, session.done, session.ask(), session.spent
    return repr(said) + at_rest(session)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), seed=st.integers(0, 10**6))
def test_a_session_resumed_after_any_step_goes_on_the_same(data, seed):
    """Asking, telling in part, known values, stated prices, reading: whatever came before."""
    rng = np.random.default_rng(seed)
    policy = TreePolicy(
        random_costs(rng, evaluation=data.draw(st.sampled_from(["0", "0.4"]))),
        Output("value"),
        random_trees(rng),
    )
    values = random_rows(rng, 1)[0].tolist()
    session = Session(
        policy, budget=data.draw(st.sampled_from([None, 3, 6])), one_by_one=data.draw(st.booleans())
    )
    for _ in range(8):
        step = data.draw(st.sampled_from(["ask", "read", "tell", "known", "stated", "gone"]))
        left = [f for f in range(5) if f not in session._known and f not in session._gone]
        if step == "read":
            assert isinstance(session.prediction, float)
        elif step == "ask":
            session.ask()
        elif step == "tell" and (wanted := session.ask()):
            session.tell({wanted[-1]: values[wanted[-1]]})
        elif step == "gone" and (wanted := session.ask()):
            session.tell({wanted[0]: UNAVAILABLE})
        elif step in ("known", "stated") and left:
            feature = data.draw(st.sampled_from(left))
            try:
                session.tell({feature: values[feature]}, 0.1 if step == "stated" else None)
            except BudgetExceeded:
                continue
        twin, other = stored(session, policy), copy.copy(session)
        assert at_rest(twin) == at_rest(session) == at_rest(other)
        assert moved(twin) == moved(other)
        assert at_rest(stored(twin, policy)) == at_rest(twin)
    twin = stored(session, policy)
    for other in (session, twin):
        finish(other, values)
        assert at_rest(stored(other, policy)) == at_rest(other)
    assert moved(session) == moved(twin)


def priced_evaluations():
    return chain(Costs({"a": 1, "b": 2, "c": 4}, evaluation=1))


def test_a_session_resumed_at_its_end_has_the_same_bill():
    """The last plan evaluates the tree, which costs 1, and asks for nothing."""
    policy = priced_evaluations()
    session = Session(policy)
    session.tell(dict.fromkeys("abc", 1.0))
    assert session.ask() == []
    assert (session.spent, session.prediction) == (1.0, 3.0)
    assert stored(session, policy).spent == 1.0


def test_a_resumed_session_refuses_the_price_that_the_original_refuses():
    policy = priced_evaluations()
    session = Session(policy, budget=2)
    assert session.prediction == 1.5  # plans: the evaluation is paid, and "a" reserved
    for other in (session, stored(session, policy)):
        with pytest.raises(BudgetExceeded, match="has only 0 left"):
            other.tell({"c": 1.0}, price=1)


@pytest.mark.parametrize("copy_of", [copy.copy, copy.deepcopy])
def test_a_copy_of_a_session_goes_its_own_way(copy_of):
    session = Session(priced_evaluations(), budget=20)
    session.tell({session.ask()[0]: 1.0})
    before = at_rest(session)
    twin = copy_of(session)
    assert at_rest(twin) == before
    finish(twin, dict.fromkeys("abc", 1.0))
    assert at_rest(session) == before
    assert session.ask() == ["b"]


OTHER_PROCESS = """
import json, sys
import worthwhile
path, data, told = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
session = worthwhile.Session.from_dict(worthwhile.load_policy(path), data)
session.tell(told)
wanted = session.ask()
print(json.dumps([session.to_dict(), wanted, str(session.prediction), session.spent,
                  session.ledger.to_records(), "sklearn" in sys.modules, "numba" in sys.modules]))
"""


def test_a_session_goes_from_process_to_process_at_every_step(tmp_path):
    heart = datasets.load_heart()
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(heart.data, heart.target)
    model, patient = PricedModel(tree, heart.costs), heart.data.iloc[0].to_dict()
    path = tmp_path / "tree.worthwhile"
    model.save(path)
    session = model.session(budget=250)
    wanted = session.ask()
    while wanted:
        told = {name: patient[name] for name in wanted}
        here = Session.from_dict(model.policy_, session.to_dict())
        session.tell(told)
        expected = [
            session.ask(),
            str(session.prediction),
            session.spent,
            session.ledger.to_records(),
        ]
        done = subprocess.run(
            [sys.executable, "-c", OTHER_PROCESS, path, json.dumps(here.to_dict()), json.dumps(told)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        data, wanted, *rest, with_sklearn, with_numba = json.loads(done.stdout)
        assert [wanted, *rest] == expected
        assert not with_sklearn
        assert not with_numba
        session = Session.from_dict(model.policy_, data)
    assert session.prediction == model.predict(heart.data[:1], budget=250)[0]
    assert session.spent == model.cost(heart.data[:1], budget=250)[0]


def test_a_stored_session_is_refused_by_another_model():
    session = Session(chain())
    others = [
        chain(Costs({"a": 1, "b": 2, "c": 5})),
        chain(output=Output("log-odds", np.array(["no", "yes"]))),
        TreePolicy(session.policy.costs, Output("value"), session.policy.trees.first(0)),
    ]
    for other in others:
        with pytest.raises(SessionError, match="the stored session belongs to another model"):
            Session.from_dict(other, session.to_dict())
    spoken = chain(output=Output("log-odds", np.array(["no", "yes"])))
    other_labels = chain(output=Output("log-odds", np.array(["well", "ill"])))
    with pytest.raises(SessionError, match="belongs to another model"):
        Session.from_dict(other_labels, Session(spoken).to_dict())


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"format": 1}, "was stored by version 0.1.0.* finish it with that version"),
        ({"format": 3}, "stored session has format 3: this version reads 2"),
        ({"one_by_one": "false"}, "one_by_one is 'false'"),
        ({"budget": 3}, "budget is 3"),
        ({"budget": "sNaN"}, "not a stored session"),
        ({"events": [["sleep"]]}, "unknown event 'sleep'"),
        ({"events": [["ask", 1]]}, "not a stored session"),
        ({"events": [["tell", {"-1": 1.0}, {}]]}, "column '-1'"),
        ({"events": [["tell", {"01": 1.0}, {}]]}, "column '01'"),
        ({"events": [["tell", {"0": 1.0}, {"0": 1.5}]]}, "price 1.5"),
        ({"events": [["tell", {"0": 1.0}, {"0": True}]]}, "price True"),
        ({"events": [["tell", {"0": 1.0}, {"0": -1}]]}, "price -1"),
        ({"budget": "much"}, "not a stored session"),
        ({"budget": "-1"}, "not a stored session"),
        ({"events": 3}, "not a stored session"),
        ({"events": [[]]}, "not a stored session"),
        ({"events": [["tell", {}]]}, "not a stored session"),
        ({"events": [["tell", {"9": 1.0}, {}]]}, "column '9'"),
        ({"events": [["tell", {"x": 1.0}, {}]]}, "column 'x'"),
        ({"events": [["tell", {"0": "high"}, {}]]}, "value 'high'"),
        ({"events": [["tell", {"0": True}, {}]]}, "value True"),
        ({"events": [["tell", {"0": 10**400}, {}]]}, "value of 'a' cannot be held as a float64"),
    ],
)
def test_damaged_stored_sessions_are_refused(change, text):
    data = Session(chain()).to_dict()
    with pytest.raises(SessionError, match=text):
        Session.from_dict(chain(), {**data, **change})
    data.pop(next(iter(change)))
    with pytest.raises(SessionError, match="not a stored session: KeyError"):
        Session.from_dict(chain(), data)
