"""Truth that comes later, and what it says about the model's promise."""

from __future__ import annotations

import copy

import pytest


@pytest.fixture(scope="module")
def promising(model, heart, tmp_path_factory):
    """The model with a promise of what it does on all rows."""
    path = tmp_path_factory.mktemp("promising") / "heart.worthwhile"
    copy.copy(model).promise(heart.data, heart.target).save(path)
    return str(path)


@pytest.fixture
def ended(make, heart, promising):
    """Forty cases that have ended, with the truth of each."""
    from tests.serve.conftest import Steps

    steps = Steps(make(models=(promising,)), heart)
    cases = [(steps.run(row)["id"], int(heart.target[row])) for row in range(40)]
    return steps, cases


def _say(steps, case, truth):
    return steps.client.put(f"/v1/sessions/{case}/truth", json={"truth": truth})


def _promise(steps):
    return steps.client.get("/v1/models/heart/promise").json()


def test_truths_keep_the_promise_or_break_it(ended, model, heart):
    steps, cases = ended
    assert _promise(steps)["verdict"] == "No case with a known truth has ended yet."
    for case, truth in cases:
        assert _say(steps, case, truth).status_code == 204
    kept = _promise(steps)
    assert kept["judged"] == 40
    assert kept["holds"] is True, kept["verdict"]
    X = heart.data.iloc[:40]
    now = {line["name"]: line["now"] for line in kept["figures"]}
    assert now["bill"] == pytest.approx(model.cost(X).mean())
    assert now["accuracy"] == pytest.approx(model.score(X, heart.target[:40]))
    sure = model.predict_proba(X).max(axis=1).mean()
    assert now["calibration"] == pytest.approx(sure - now["accuracy"])
    for case, truth in cases:  # a later truth replaces the first
        _say(steps, case, 1 - truth)
    broken = _promise(steps)
    assert broken["holds"] is False
    assert broken["verdict"].startswith("The promise does not hold: accuracy is")


def test_values_that_changed_are_seen_in_what_was_told(make, heart, promising):
    from tests.serve.conftest import Steps

    steps = Steps(make(models=(promising,)), heart)
    odd = heart.data.copy()
    odd["thal"] = 3.0
    steps.heart = type("Odd", (), {"data": odd})
    for row in range(60):
        _say(steps, steps.run(row)["id"], 0)
    assert "thal" in [line["feature"] for line in _promise(steps)["drifted"]]


def test_cases_with_limits_of_their_own_are_left_out(ended):
    steps, cases = ended
    for case in (
        steps.run(0, budget=5.0)["id"],
        steps.run(0, prices={"age": 2.0})["id"],
        steps.run(0, unavailable=["thal"])["id"],
    ):
        assert _say(steps, case, 0).status_code == 204
    assert _promise(steps)["verdict"].endswith("has ended yet, but 3 with limits of their own.")
    assert _say(steps, cases[0][0], 0).status_code == 204
    found = _promise(steps)
    assert (found["judged"], found["left_out"]) == (1, 3)


def test_a_truth_must_be_one_that_the_model_knows(ended):
    steps, cases = ended
    refused = _say(steps, cases[0][0], "ill")
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "bad_truth")
    assert refused.json()["error"]["message"] == "truth is 'ill': the model knows 0, 1."
    assert _say(steps, cases[0][0], "1").status_code == 204  # as pages and shells write it
    assert _say(steps, "nobody", 1).status_code == 404


def test_a_model_without_a_promise_says_so(steps, heart):
    for row in range(3):
        _say(steps, steps.run(row)["id"], int(heart.target[row]))
    found = _promise(steps)
    assert found["holds"] is None
    assert found["verdict"].startswith("Nothing was promised")


def test_people_say_how_it_came_out_and_see_the_verdict(ended):
    steps, cases = ended
    client = steps.client
    text = client.get(f"/cases/{cases[0][0]}").text
    assert "How it came out" in text
    csrf = client.cookies["worthwhile_local"]
    form = {"csrf": csrf, "truth": "1"}
    kept = client.post(f"/cases/{cases[0][0]}/truth", data=form, follow_redirects=False)
    assert kept.status_code == 303
    assert '<option value="1" selected>' in client.get(f"/cases/{cases[0][0]}").text
    for truth, said in (("ill", "the model knows 0, 1"), ("", "Say how it came out first")):
        answer = client.post(f"/cases/{cases[0][0]}/truth", data={"csrf": csrf, "truth": truth})
        assert said in answer.text
    assert client.post(f"/cases/{cases[0][0]}/truth", data={"truth": "1"}).status_code == 403
    assert "cases are too few to judge" in client.get("/promise").text


def test_a_key_on_opening_is_kept(steps, make):
    case = steps.open(key="k", **{}).json()
    opened = steps.client.post("/v1/sessions", json={"model": "heart", "key": "patient 17"}).json()
    assert opened["done"] is case["done"] is False
    database = steps.client.app.state.database
    rows = database.write_now(
        lambda cursor: cursor.run("SELECT options FROM cases WHERE id = ?", (opened["id"],))
    )
    assert '"key": "patient 17"' in rows[0][0]
