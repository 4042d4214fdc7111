"""Cases over HTTP: the answers of the batch, billed once, kept through restarts."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from worthwhile.serve import check_cases, open_database, retain


@pytest.mark.parametrize("budget", [None, 50.0])
def test_a_case_ends_with_the_answer_and_the_bill_of_the_batch(steps, model, heart, rows, budget):
    for row in rows:
        answer = steps.run(row, budget=budget)
        X = heart.data.iloc[[row]]
        assert answer["prediction"] == model.predict(X, budget=budget)[0]
        assert list(answer["probabilities"].values()) == model.predict_proba(X, budget)[0].tolist()
        assert answer["spent"] == model.cost(X, budget=budget)[0]
        assert answer["state"] == "done"
        assert answer["done"]


def test_a_step_sent_again_is_answered_alike_and_billed_once(steps):
    first = steps.open("open-1").json()
    assert steps.open("open-1").json() == first
    told = steps.tell(first, 0, "step-1").json()
    again = steps.tell(first, 0, "step-1")
    assert again.status_code == 200
    assert again.json() == told
    assert steps.client.get(f"/v1/sessions/{first['id']}").json()["spent"] == told["spent"]
    assert len(steps.client.get(f"/v1/sessions/{first['id']}/ledger").json()["entries"]) == len(
        first["ask"]
    )


def test_a_key_with_another_request_is_refused(steps):
    first = steps.open("open-1").json()
    other = steps.open("open-1", budget=3.0)
    assert (other.status_code, other.json()["error"]["code"]) == (422, "key_reused")
    told = steps.tell(first, 0, "step-1").json()
    late = steps.tell(first, 1, "step-1")
    assert (late.status_code, late.json()["error"]["code"]) == (422, "key_reused")
    ahead = steps.tell(told, 0, "step-1")
    assert (ahead.status_code, ahead.json()["error"]["code"]) == (422, "key_reused")
    assert steps.client.get(f"/v1/sessions/{first['id']}").json() == told


def test_a_late_step_is_a_conflict_that_says_where_the_case_stands(steps):
    first = steps.open().json()
    steps.tell(first, 0)
    late = steps.tell(first, 0)
    assert late.status_code == 409
    assert late.json()["error"]["code"] == "wrong_seq"
    assert late.json()["error"]["details"] == {"seq": 1}


def test_a_restarted_service_goes_on_where_it_stopped(make, heart, model):
    from tests.serve.conftest import Steps

    steps = Steps(make(), heart)
    answer = steps.open(budget=120.0).json()
    while answer["ask"]:
        assert steps.client.get(f"/v1/sessions/{answer['id']}").json() == answer
        steps = Steps(make(), heart)  # nothing in memory
        assert steps.client.get(f"/v1/sessions/{answer['id']}").json() == answer
        answer = steps.tell(answer, 5).json()
    assert answer["spent"] == model.cost(heart.data.iloc[[5]], budget=120)[0]


def test_two_processes_at_one_step_have_one_winner(make, heart):
    from tests.serve.conftest import Steps

    both = [Steps(make(), heart), Steps(make(), heart)]
    answer = both[0].open().json()
    both[1].client.get(f"/v1/sessions/{answer['id']}")  # in the memory of both
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda s=s, n=n: found.append(s.tell(answer, n, f"k{n}")))
        for n, s in enumerate(both)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(response.status_code for response in found) == [200, 409]
    winner = next(response.json() for response in found if response.status_code == 200)
    for steps in both:
        assert steps.client.get(f"/v1/sessions/{answer['id']}").json() == winner


def test_a_value_that_came_back_empty_is_paid_and_one_that_cannot_be_had_is_not(steps):
    first = steps.open().json()
    names = [item["feature"] for item in first["ask"]]
    values = dict.fromkeys(names)
    values[names[0]] = {"unavailable": True}
    told = steps.client.post(
        f"/v1/sessions/{first['id']}/tell",
        json={"seq": 0, "values": values},
        headers={"Idempotency-Key": "x"},
    )
    assert told.status_code == 200
    entries = steps.client.get(f"/v1/sessions/{first['id']}/ledger").json()["entries"]
    kinds = {entry["feature"]: entry["kind"] for entry in entries}
    assert kinds[names[0]] == "unavailable"
    assert {kinds[name] for name in names[1:]} == {"bought"}
    assert str(told.json()["spent"]) == entries[-1]["total"]


def test_a_stated_price_is_billed(steps):
    first = steps.open().json()
    name = first["ask"][0]["feature"]
    told = steps.client.post(
        f"/v1/sessions/{first['id']}/tell",
        json={"seq": 0, "values": {name: 1.0}, "prices": {name: 0.25}},
        headers={"Idempotency-Key": "x"},
    )
    assert told.json()["spent"] == 0.25


def test_a_stopped_case_keeps_its_answer_and_takes_nothing_more(steps):
    first = steps.open().json()
    stopped = steps.client.post(
        f"/v1/sessions/{first['id']}/stop", json={"seq": 0}, headers={"Idempotency-Key": "s"}
    ).json()
    assert stopped["state"] == "stopped"
    assert stopped["ask"] == []
    assert stopped["prediction"] == first["prediction"]
    late = steps.tell(first | {"seq": 1}, 0)
    assert (late.status_code, late.json()["error"]["code"]) == (409, "case_closed")


def test_old_cases_stay_with_the_model_they_began_with(make, heart, model, model_file, tmp_path):
    from sklearn.tree import DecisionTreeClassifier

    import worthwhile
    from tests.serve.conftest import Steps

    before = Steps(make(), heart)
    answer = before.open().json()
    folder = tmp_path / "new"
    folder.mkdir()
    other = DecisionTreeClassifier(max_depth=2, random_state=1).fit(heart.data, heart.target)
    worthwhile.PricedModel(other, heart.costs).save(folder / "heart.worthwhile")
    after = Steps(make(models=(str(folder / "heart.worthwhile"),)), heart)
    assert after.open().json()["version"] != answer["version"]
    while answer["ask"]:
        answer = after.tell(answer, 3).json()
    assert answer["spent"] == model.cost(heart.data.iloc[[3]])[0]
    assert answer["prediction"] == model.predict(heart.data.iloc[[3]])[0]


def test_open_cases_are_checked_before_an_upgrade(make, heart, store):
    from tests.serve.conftest import Steps

    steps = Steps(make(), heart)
    first = steps.open().json()
    steps.tell(first, 0)
    steps.open()
    database = open_database(store)
    assert check_cases(database) == {"open": 2, "same": 2, "differ": []}
    database.write_now(
        lambda cursor: cursor.run(
            "UPDATE events SET answer = REPLACE(answer, '\"seq\":1', '\"seq\":7') WHERE case_id = ?",
            (first["id"],),
        )
    )
    found = check_cases(database)
    database.close()
    assert (found["same"], len(found["differ"])) == (1, 1)
    assert found["differ"][0]["problem"] == "seq would change"


def test_values_are_forgotten_after_a_time_and_amounts_stay(make, heart, store):
    from tests.serve.conftest import Steps

    steps = Steps(make(), heart)
    ended = steps.run(0)
    steps.open()
    database = open_database(store)
    assert retain(database, 1) == 0
    assert retain(database, 0) == 1
    kept = database.write_now(
        lambda c: c.run("SELECT calls, answer, SUM(amount) FROM events GROUP BY calls, answer")
    )
    spent = database.write_now(lambda c: c.run("SELECT SUM(amount) FROM purchases"))[0][0]
    database.close()
    assert any(calls is None and answer is None for calls, answer, _ in kept)
    assert int(spent) == round(ended["spent"] * 10**9)
    fresh = make()
    gone = fresh.get(f"/v1/sessions/{ended['id']}")
    assert (gone.status_code, gone.json()["error"]["code"]) == (410, "anonymised")


def test_prices_of_today_and_what_cannot_be_had(steps, model, heart):
    prices = {"cp": 0.25, "thal": 7.0}
    for row in (0, 3, 9):
        X, how = heart.data.iloc[[row]], {"prices": prices, "unavailable": ["ca"]}
        answer = steps.run(row, budget=150.0, **how)
        assert answer["spent"] == model.cost(X, budget=150, **how)[0]
        assert answer["prediction"] == model.predict(X, budget=150, **how)[0]


def test_prices_of_today_outlive_a_restart(make, heart):
    from tests.serve.conftest import Steps

    answer = Steps(make(), heart).open(prices={"cp": 0.25}).json()
    assert Steps(make(), heart).client.get(f"/v1/sessions/{answer['id']}").json() == answer


def test_prices_of_nothing_are_refused(steps):
    refused = steps.open(prices={"nothing": 1.0})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "bad_options")
    refused = steps.open(unavailable=["nothing"])
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "bad_options")


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_memory_holds_so_many_cases_and_heavy_ones_count_for_several(make, heart):
    from tests.serve.conftest import Steps
    from worthwhile.serve import Limits

    steps = Steps(make(limits=Limits(cached_cases=5)), heart)
    memory = steps.client.app.state.cases._memory
    cases = [steps.open().json() for _ in range(9)]
    assert len(memory) == 5
    for case in cases:  # those that were forgotten are revived
        assert steps.tell(case, 0).status_code == 200
    assert len(memory) == 5
    for live in [memory.take(case["id"]) for case in cases]:
        if live is not None:
            live.lines = 20
            memory.put(live)
    assert len(memory) == 1  # of weight 3 each


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_old_versions_of_models_are_forgotten_and_read_again(make, heart, monkeypatch, tmp_path):
    from sklearn.tree import DecisionTreeClassifier

    import worthwhile
    from tests.serve.conftest import Steps

    monkeypatch.setattr("worthwhile.serve._models.OLD_VERSIONS", 2)
    begun = []
    for depth in range(1, 6):
        path = tmp_path / str(depth) / "heart.worthwhile"
        path.parent.mkdir()
        tree = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(heart.data, heart.target)
        worthwhile.PricedModel(tree, heart.costs).save(path)
        steps = Steps(make(models=(str(path),)), heart)
        begun.append(steps.open().json())
    for _ in range(2):
        for case in begun:
            assert steps.client.get(f"/v1/sessions/{case['id']}").json() == case
    assert len(steps.client.app.state.models._known) <= 3
