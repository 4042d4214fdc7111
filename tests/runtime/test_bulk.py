"""Many sessions at once: in bulk, once per row, and nothing paid is lost when one fails or Ctrl-C comes."""

from __future__ import annotations

import itertools
import sys

import pytest
from sklearn.ensemble import RandomForestClassifier

from tests.runtime.session_policies import chain
from worthwhile import Costs, Extractors, PricedModel, Session, datasets
from worthwhile.exceptions import ExtractionFailed
from worthwhile.runtime import UNAVAILABLE, run_sessions


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


class Interrupted(Clinic):
    """Somebody presses Ctrl-C during one of the calls."""

    def measure(self, name, ids):
        if len(self.calls) == self.fails_at:
            self.calls.append((name, ()))
            raise KeyboardInterrupt
        return super().measure(name, ids)


def test_ctrl_c_at_any_call_loses_nothing_and_can_be_resumed(heart):
    model, X = heart
    ids = [0, 1, 2, 3, 4]
    smooth = Clinic(X)
    expected = model.predict_with(smooth.functions(), ids)
    for at in range(len(smooth.calls)):
        clinic = Interrupted(X, at, times=0)
        with pytest.raises(KeyboardInterrupt) as stopped:
            model.predict_with(clinic.functions(), ids)
        error = stopped.value
        assert "resume=error.sessions" in error.__notes__[0]
        fetched = {(name, i) for name, called in clinic.calls for i in called}
        kept = {(name, i) for i, session in error.sessions.items() for name in session.known}
        assert kept == fetched, "all that was paid for is in the sessions"
        answers = model.predict_with(clinic.functions(), ids, resume=error.sessions)
        assert answers.spent.tolist() == expected.spent.tolist()
        assert answers.probabilities.tobytes() == expected.probabilities.tobytes()
        calls = [(name, i) for name, called in clinic.calls for i in called]
        assert len(calls) == len(set(calls)), "nothing is fetched twice"


def test_ctrl_c_at_any_line_leaves_sessions_that_can_go_on(heart):
    """Between two lines of the runtime a session may be half told; the ones on the error are not."""
    model, X = heart
    ids = [0, 1, 2]
    expected = model.predict_with(Clinic(X).functions(), ids)

    def run(stop_at):
        clinic, count = Clinic(X), itertools.count()

        def trace(frame, event, arg):
            if "worthwhile/runtime/" not in frame.f_code.co_filename.replace("\\", "/"):
                return None
            if event == "line" and next(count) == stop_at:
                sys.settrace(None)
                raise KeyboardInterrupt
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            return model.predict_with(clinic.functions(), ids), next(count)
        except KeyboardInterrupt as error:
            return error, stop_at
        finally:
            sys.settrace(before)

    total = run(-1)[1]
    reached = 0
    for stop_at in range(0, total, 7):
        error, _ = run(stop_at)
        if getattr(error, "sessions", None) is None:
            continue  # before there was anything to keep
        reached += 1
        again = model.predict_with(error.extractors, ids, resume=error.sessions)
        assert again.spent.tolist() == expected.spent.tolist()
        assert again.probabilities.tobytes() == expected.probabilities.tobytes()
        for session, smooth in zip(again.sessions, expected.sessions, strict=True):
            assert session.ledger.total == smooth.ledger.total
            assert session.known == smooth.known
            assert {e.kind for e in session.ledger} == {"bought"}
    assert reached > total / 10


def test_ctrl_c_after_a_value_that_cannot_be_had_keeps_the_sessions(monkeypatch):
    policy = chain(Costs({"a": 1, "b": 2, "c": 4}))
    ask, asked = Session.ask, []

    def interrupted(session):
        asked.append(session)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return ask(session)

    monkeypatch.setattr(Session, "ask", interrupted)
    functions = {name: lambda ids: [UNAVAILABLE] * len(ids) for name in "abc"}
    with pytest.raises(KeyboardInterrupt) as stopped:
        run_sessions(policy, functions, [1])
    assert [session.spent for session in stopped.value.sessions.values()] == [0.0]


def test_what_a_group_returned_beside_is_kept_on_the_error():
    policy = chain(Costs({"a": 1, "b": 2, "c": 4}, {"g": {"fee": 0.5, "features": ["b", "c"]}}))
    calls = []

    def group(ids):
        calls.append("g")
        return {"b": [1.0] * len(ids), "c": [1.0] * len(ids)}

    def stop(ids):
        raise KeyboardInterrupt

    functions = {"a": lambda ids: [1.0] * len(ids), "b": stop, "g": group}
    with pytest.raises(KeyboardInterrupt) as stopped:
        run_sessions(policy, functions, [1])
    extractors = stopped.value.extractors
    extractors.functions.pop("b")
    answers = run_sessions(policy, extractors, [1], sessions=stopped.value.sessions)
    assert (answers.predictions.tolist(), calls) == ([3.0], ["g"])


def test_sessions_that_cannot_be_resumed_are_refused(heart):
    model, X = heart
    functions = Clinic(X).functions()
    one, two = model.session(), model.session()
    with pytest.raises(ValueError, match="no session for id 2: give one per id"):
        model.predict_with(functions, [1, 2], resume={1: one})
    with pytest.raises(ValueError, match="ids 1 and 2 share a session"):
        model.predict_with(functions, [1, 2], resume=[one, one])
    with pytest.raises(ValueError, match="id 1 has two sessions"):
        model.predict_with(functions, [1, 1], resume=[one, two])
    with pytest.raises(ValueError, match="budget is 5: sessions that are resumed have their own"):
        model.predict_with(functions, [1], 5, resume=[one])
    with pytest.raises(ValueError, match="session of id 1 belongs to another model"):
        model.predict_with(functions, [1], resume=[Session(chain())])


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
