"""Extractors: in bulk, once per row, and nothing paid is lost when one fails."""

from __future__ import annotations

import threading
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from costwise import Costs, Extractors, PricedModel, datasets
from costwise.exceptions import ExtractionFailed
from costwise.runtime import UNAVAILABLE, run_sessions

COSTS = Costs({"a": 1, "b": 2, "c": 3}, {"lab": {"fee": 1, "features": ["b", "c"]}})


@pytest.fixture(scope="module")
def heart():
    data = datasets.load_heart()
    forest = RandomForestClassifier(4, max_depth=3, random_state=0).fit(data.data, data.target)
    return PricedModel(forest, data.costs), data.data


class Clinic:
    """Functions over a frame that write down their calls; the ``fails_at``-th of them fails."""

    def __init__(self, frame, fails_at=None, times=1):
        self.frame, self.calls, self.fails_at, self.times = frame, [], fails_at, times

    def measure(self, name, ids):
        self.calls.append((name, tuple(ids)))
        number = len(self.calls) - 1
        if self.fails_at is not None and self.fails_at <= number < self.fails_at + self.times:
            raise OSError("line is down")
        return [self.frame[name].iloc[i] for i in ids]

    def functions(self):
        return {name: lambda ids, name=name: self.measure(name, ids) for name in self.frame.columns}


# Fetching ------------------------------------------------------------------------------------------


def test_values_are_remembered_per_id_and_called_in_bulk():
    calls = []

    def age(ids):
        calls.append(list(ids))
        return [10 * i for i in ids]

    extractors = Extractors({"age": age})
    assert extractors.fetch("age", [3, 1, 3]) == [30, 10, 30]
    assert extractors.fetch("age", [1, 2]) == [10, 20]
    assert calls == [[3, 1], [2]]


def test_a_group_function_is_called_once_for_all_its_features():
    calls = []

    def lab(ids):
        calls.append(list(ids))
        return pd.DataFrame({"b": ids, "c": [i + 0.5 for i in ids], "note": ["x"] * len(ids)})

    extractors = Extractors({"a": lambda ids: ids, "lab": lab})
    assert extractors.fetch("b", [1, 2], COSTS) == [1, 2]
    assert extractors.fetch("c", [2, 1], COSTS) == [2.5, 1.5]
    assert calls == [[1, 2]]
    extractors.check(COSTS, [0, 1, 2])


def test_a_function_of_the_feature_itself_comes_before_its_group():
    extractors = Extractors(
        {"b": lambda ids: [7] * len(ids), "lab": lambda ids: {"b": [8] * len(ids)}}
    )
    assert extractors.fetch("b", [1], COSTS) == [7]


BAD_RESULTS = [
    ("a", lambda ids: [1], ValueError, "extractor of 'a' returned 1 values of 'a' for 2 ids"),
    ("a", lambda ids: {1: 5.0, 2: 6.0}, TypeError, "extractor of 'a' returned a dict: return one value per id"),
    ("a", lambda ids: "xy", TypeError, "extractor of 'a' returned a str"),
    ("a", lambda ids: [1.0, "high"], ValueError, "value of 'a' is 'high', a str"),
    ("a", lambda ids: [1.0, np.inf], ValueError, "value of 'a' is infinite"),
    ("lab", lambda ids: [1, 2], TypeError, "extractor of group 'lab' returned a list: return a mapping"),
    ("lab", lambda ids: {"c": [1, 2]}, ValueError, "extractor of group 'lab' returned no 'b'"),
    ("lab", lambda ids: {"b": [1, 2], "c": [1]}, ValueError, "returned 1 values of 'c' for 2 ids"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "function", "error", "text"), BAD_RESULTS)
def test_bad_results_are_refused_and_not_remembered(name, function, error, text):
    extractors = Extractors({name: function})
    feature = "b" if name == "lab" else name
    with pytest.raises(error, match=text):
        extractors.fetch(feature, [1, 2], COSTS)
    extractors.functions[name] = lambda ids: (
        {"b": [5] * len(ids)} if name == "lab" else [5] * len(ids)
    )
    assert extractors.fetch(feature, [1, 2], COSTS) == [5, 5]


def test_unusable_arguments_are_refused():
    with pytest.raises(TypeError, match="extractor of 'a' is a int: give a function of ids"):
        Extractors({"a": 3})
    with pytest.raises(ValueError, match="timeout is 0: give seconds > 0, or None"):
        Extractors({}, timeout=0)
    with pytest.raises(ValueError, match=r"retries is -1 and wait 0.0: both are >= 0"):
        Extractors({}, retries=-1)
    with pytest.raises(ValueError, match="no extractor for 'a': add a function"):
        Extractors({}).fetch("a", [1])
    with pytest.raises(ValueError, match="no extractor for 'b', 'c': the model may ask for it"):
        Extractors({"a": len}).check(COSTS, [0, 1, 2])


def test_a_failed_call_is_repeated_with_growing_waits(monkeypatch):
    waits, calls = [], []
    monkeypatch.setattr(time, "sleep", waits.append)

    def shaky(ids):
        calls.append(ids)
        if len(calls) < 3:
            raise OSError("again")
        return [1.0]

    assert Extractors({"a": shaky}, retries=2, wait=0.5).fetch("a", [1]) == [1.0]
    assert waits == [0.5, 1.0]
    calls.clear()
    with pytest.raises(OSError, match="again"):
        Extractors({"a": shaky}, retries=1).fetch("a", [1])
    assert len(calls) == 2


def test_a_call_that_takes_too_long_has_failed():
    stop = threading.Event()
    extractors = Extractors({"a": lambda ids: stop.wait(20)}, timeout=0.05)
    with pytest.raises(TimeoutError, match=r"no answer within 0.05 s"):
        extractors.fetch("a", [1])
    stop.set()
    quick = Extractors({"a": lambda ids: [2.0], "b": lambda ids: 1 / 0}, timeout=20)
    assert quick.fetch("a", [1]) == [2.0]
    with pytest.raises(ZeroDivisionError):
        quick.fetch("b", [1])


# Many rows -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [None, 120])
def test_bulk_answers_are_those_of_the_batch_with_one_call_per_feature_and_round(heart, budget):
    model, X = heart
    clinic, ids = Clinic(X), list(range(20))
    answers = model.predict_with(clinic.functions(), ids, budget)
    assert answers.ids == ids
    assert (answers.predictions == model.predict(X[:20], budget)).all()
    assert answers.probabilities.tobytes() == model.predict_proba(X[:20], budget).tobytes()
    assert answers.spent.tolist() == model.cost(X[:20], budget).tolist()
    rounds = replay_rounds(model, X, ids, budget)
    assert [name for name, _ in clinic.calls] == [name for names in rounds for name in names]
    seen = [(name, i) for name, called in clinic.calls for i in called]
    assert len(seen) == len(set(seen)) == model.acquired(X[:20], budget).sum()


def replay_rounds(model, X, ids, budget):
    """Features wanted in each round, driving the sessions by hand."""
    sessions, rounds = [model.session(budget) for _ in ids], []
    while any(wanted := [session.ask() for session in sessions]):
        rounds.append(sorted({n for names in wanted for n in names}, key=model.costs_.index))
        for i, session, names in zip(ids, sessions, wanted, strict=True):
            session.tell({name: X[name].iloc[i] for name in names}) if names else None
    return rounds


def test_the_same_id_twice_is_one_case(heart):
    model, X = heart
    clinic = Clinic(X)
    answers = model.predict_with(clinic.functions(), [3, 5, 3])
    assert answers.spent.tolist() == model.cost(X.iloc[[3, 5, 3]]).tolist()
    assert all(len(set(ids)) == len(ids) for _, ids in clinic.calls)


def test_unusable_runs_are_refused_before_anything_is_bought(heart):
    model, X = heart
    clinic = Clinic(X)
    functions = clinic.functions()
    with pytest.raises(ValueError, match="on_failure is 'cry': it is 'raise' or 'answer'"):
        model.predict_with(functions, [1], on_failure="cry")
    with pytest.raises(TypeError, match=r"ids has \[1\], a list: values are kept per id"):
        model.predict_with(functions, [0, [1]])
    with pytest.raises(ValueError, match="1 sessions for 2 ids: give one per id"):
        run_sessions(model.policy_, functions, [1, 2], sessions=[model.session()])
    with pytest.raises(ValueError, match="no extractor for"):
        model.predict_with({}, [1])
    assert clinic.calls == []


def test_a_failure_at_any_call_loses_nothing_and_can_be_resumed(heart):
    model, X = heart
    ids = [0, 1, 2, 3, 4]
    smooth = Clinic(X)
    expected = model.predict_with(smooth.functions(), ids)
    assert len(smooth.calls) > 3
    for fails_at in range(len(smooth.calls)):
        clinic = Clinic(X, fails_at)
        with pytest.raises(
            ExtractionFailed, match=r"failed for good \(OSError: line is down\)"
        ) as failed:
            model.predict_with(clinic.functions(), ids)
        error = failed.value
        fetched = {
            (n, i) for k, (n, called) in enumerate(clinic.calls) if k != fails_at for i in called
        }
        kept = {(name, i) for i, session in error.sessions.items() for name in session.known}
        assert kept == fetched, "all that was paid for is in the sessions"
        assert error.feature == clinic.calls[fails_at][0]
        for session in error.sessions.values():
            assert session.spent == model.costs_.price(list(session.known))
            assert session.prediction in model.classes_
        answers = run_sessions(
            model.policy_, clinic.functions(), ids, sessions=[error.sessions[i] for i in ids]
        )
        assert (answers.predictions == expected.predictions).all()
        assert answers.spent.tolist() == expected.spent.tolist()
        assert answers.probabilities.tobytes() == expected.probabilities.tobytes()
        again = [(n, i) for k, (n, c) in enumerate(clinic.calls) if k != fails_at for i in c]
        assert len(again) == len(set(again)), "nothing is fetched twice"


def test_a_failure_with_repeated_ids_can_be_resumed(heart):
    model, X = heart
    ids = [2, 4, 2]
    clinic = Clinic(X, fails_at=1)
    with pytest.raises(ExtractionFailed) as failed:
        model.predict_with(clinic.functions(), ids)
    sessions = [failed.value.sessions[i] for i in ids]
    answers = run_sessions(model.policy_, clinic.functions(), ids, sessions=sessions)
    assert answers.spent.tolist() == model.cost(X.iloc[ids]).tolist()


def test_a_bad_value_is_a_failure_like_any_other(heart):
    model, X = heart
    functions = Clinic(X).functions()
    expected = model.predict_with(functions, [0, 1, 2])
    first = model.session().ask()[0]
    extractors = Extractors({**functions, first: lambda ids: ["?"] * len(ids)})
    with pytest.raises(
        ExtractionFailed, match=f"extractor of {first!r} failed for good .SessionError"
    ) as failed:
        model.predict_with(extractors, [0, 1, 2])
    extractors.functions[first] = functions[first]
    answers = run_sessions(
        model.policy_, extractors, [0, 1, 2], sessions=list(failed.value.sessions.values())
    )
    assert answers.spent.tolist() == expected.spent.tolist()


def test_on_failure_answer_goes_on_without_the_feature(heart):
    model, X = heart
    for broken in model.session().ask():
        clinic = Clinic(X)
        functions = {**clinic.functions(), broken: lambda ids: 1 / 0}
        answers = model.predict_with(functions, [0, 1, 2], on_failure="answer")
        for session in answers.sessions:
            assert session.done
            assert broken not in session.known
            assert session.spent == model.costs_.price(list(session.known))
            assert [e.kind for e in session.ledger if e.feature == broken] == ["unavailable"]
        assert set(answers.predictions) <= set(model.classes_)


def test_an_extractor_may_say_that_a_value_cannot_be_had_or_is_empty(heart):
    model, X = heart
    first = model.session().ask()[0]
    for value, paid in ((UNAVAILABLE, False), (None, True)):
        functions = {**Clinic(X).functions(), first: lambda ids, value=value: [value] * len(ids)}
        session = model.predict_with(functions, [0]).sessions[0]
        assert (first in session.known) is paid
