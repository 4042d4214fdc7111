"""Steps that share a commit: each has its own outcome, and the sums are those of steps taken one by one."""

from __future__ import annotations

import asyncio
import sqlite3

import httpx
import pytest

from worthwhile.serve import list_keys, new_key, open_database
from worthwhile.serve._batches import Waiting
from worthwhile.serve._settings import Limits

COUNT = 12


def at_once(app, requests, secret=None):
    """Answers to requests that are all under way at the same time."""

    async def send():
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://127.0.0.1", headers=headers
        ) as client:
            calls = (
                client.post(url, json=body, headers={"Idempotency-Key": key})
                for url, body, key in requests
            )
            return await asyncio.gather(*calls)

    return asyncio.run(send())


def opened(app, secret=None):
    requests = [("/v1/sessions", {"model": "heart"}, f"open-{n}") for n in range(COUNT)]
    return [response.json() for response in at_once(app, requests, secret)]


def telling(case, key, value=1.0):
    values = {item["feature"]: value for item in case["ask"]}
    return f"/v1/sessions/{case['id']}/tell", {"seq": case["seq"], "values": values}, key


def test_of_two_equal_steps_in_one_commit_one_is_taken_and_both_are_answered_alike(make):
    app = make().app
    cases = opened(app)
    answers = at_once(app, [telling(case, "same") for case in cases for _ in range(2)])
    assert {answer.status_code for answer in answers} == {200}
    for one, other in zip(answers[::2], answers[1::2], strict=True):
        assert one.json() == other.json()
        assert one.json()["seq"] == 1


def test_of_two_different_steps_in_one_commit_one_wins(make):
    app = make().app
    cases = opened(app)
    requests = [telling(case, f"key-{n}", float(n)) for case in cases for n in range(2)]
    answers = at_once(app, requests)
    for pair in zip(answers[::2], answers[1::2], strict=True):
        assert sorted(answer.status_code for answer in pair) == [200, 409]


def test_steps_in_one_commit_are_charged_to_their_keys_to_the_last_quantum(make, store):
    database = open_database(store)
    secret = new_key(database, "ward", 100_000)
    app = make().app
    cases, bills = opened(app, secret), {}
    while waiting := [case for case in cases if case["ask"]]:
        answers = at_once(app, [telling(case, f"k{case['seq']}") for case in waiting], secret)
        assert {answer.status_code for answer in answers} == {200}
        cases = [answer.json() for answer in answers]
        bills |= {case["id"]: case["spent"] for case in cases}
    (key,) = database.write_now(list_keys)
    bought = database.write_now(lambda cursor: cursor.run("SELECT SUM(amount) FROM purchases"))
    database.close()
    assert len(bills) == COUNT
    assert key.spent == int(bought[0][0]) == sum(round(bill * 10**9) for bill in bills.values())
    assert key.reserved == 0


def opening(key, **body):
    return "/v1/sessions", {"model": "heart", **body}, key


def stored(store, sql):
    database = open_database(store)
    found = database.write_now(lambda cursor: cursor.run(sql))
    database.close()
    return found


def test_of_equal_openings_in_one_commit_one_case_is_made(make, store):
    app = make().app
    opened(app)  # the first of all counts how many are open, by itself
    answers = at_once(app, [opening(f"again-{n // 3}") for n in range(3 * COUNT)])
    assert {answer.status_code for answer in answers} == {201}
    for n in range(COUNT):
        assert len({answer.text for answer in answers[3 * n : 3 * n + 3]}) == 1
    assert len({answer.json()["id"] for answer in answers}) == COUNT
    assert stored(store, "SELECT COUNT(*) FROM cases") == [(2 * COUNT,)]
    assert stored(store, "SELECT COUNT(*) FROM openings") == [(2 * COUNT,)]
    assert stored(store, "SELECT COUNT(*) FROM audit WHERE action = 'open'") == [(2 * COUNT,)]


def test_a_key_of_another_opening_is_refused_in_one_commit(make):
    app = make().app
    opened(app)
    requests = [opening(f"k{n}", budget=b) for n in range(COUNT) for b in (10.0, 20.0)]
    answers = at_once(app, requests)
    for pair in zip(answers[::2], answers[1::2], strict=True):
        assert sorted(answer.status_code for answer in pair) == [201, 422]


@pytest.mark.parametrize("budget", [None, 100_000])
def test_openings_in_one_commit_set_aside_what_their_key_may_spend(make, store, budget):
    database = open_database(store)
    secret = new_key(database, "ward", budget)
    app = make().app
    cases = opened(app, secret) + opened_again(app, secret)
    (key,) = database.write_now(list_keys)
    database.close()
    aside = 0 if budget is None else sum(round(case["budget"] * 10**9) for case in cases)
    assert len({case["id"] for case in cases}) == 2 * COUNT
    assert (key.spent, key.reserved) == (0, aside)
    assert stored(store, "SELECT DISTINCT owner FROM cases") == [(key.id,)]


def opened_again(app, secret):
    requests = [opening(f"again-{n}") for n in range(COUNT)]
    return [response.json() for response in at_once(app, requests, secret)]


def test_no_more_cases_than_allowed_are_opened_in_one_commit(make, store):
    app = make(limits=Limits(open_cases=30)).app
    answers = at_once(app, [opening(f"k{n}") for n in range(40)])
    again = at_once(app, [opening(f"l{n}") for n in range(10)])
    assert [answer.status_code for answer in answers + again].count(201) == 30
    assert {answer.status_code for answer in answers + again} == {201, 429}
    assert stored(store, "SELECT COUNT(*) FROM cases") == [(30,)]


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
def test_openings_go_together_and_one_that_spoils_the_statement_goes_alone(make, monkeypatch):
    from worthwhile.serve._openings import Open

    app, sizes = make().app, []
    usual, together = Open._to_dict, Open.together

    def poison(self, at):
        found = usual(self, at)
        return {**found, "amount": 2**70} if self.step.key == "k3" else found

    def note(cursor, works):
        sizes.append(len(works))
        return together(cursor, works)

    opened(app)
    monkeypatch.setattr(Open, "together", staticmethod(note))
    answers = at_once(app, [opening(f"j{n}") for n in range(COUNT)])
    monkeypatch.setattr(Open, "_to_dict", poison)
    answers += at_once(app, [opening(f"k{n}") for n in range(COUNT)])
    assert {answer.status_code for answer in answers} == {201}
    assert max(sizes) > 1


class _Broken:
    """A connection that cannot commit."""

    def __init__(self, connection):
        self._connection = connection

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def execute(self, sql, *parameters):
        if sql == "COMMIT":
            raise sqlite3.OperationalError("disk I/O error")
        return self._connection.execute(sql, *parameters)


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_commit_that_fails_is_acknowledged_to_nobody_and_can_be_sent_again(make):
    app = make().app
    cases, database = opened(app), app.state.database
    requests = [telling(case, "k") for case in cases]
    database._writer = _Broken(database._writer)
    failed = at_once(app, requests)
    database._writer = database._writer._connection
    assert {answer.status_code for answer in failed} == {503}
    assert {answer.json()["error"]["code"] for answer in failed} == {"store_failed"}
    done = at_once(app, requests)
    assert {answer.status_code for answer in done} == {200}
    assert {answer.json()["seq"] for answer in done} == {1}


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
def test_a_process_waits_for_another_that_is_writing(make, store):
    app = make().app
    cases = opened(app)
    other = sqlite3.connect(store, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")

    async def let_go():
        await asyncio.sleep(0.3)
        other.execute("COMMIT")

    async def both():
        loop = asyncio.get_running_loop()
        sent = loop.run_in_executor(None, at_once, app, [telling(case, "k") for case in cases])
        await let_go()
        return await sent

    assert {answer.status_code for answer in asyncio.run(both())} == {200}
    other.close()


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
def test_a_step_that_spoils_a_statement_does_not_spoil_the_others(make, monkeypatch):
    from worthwhile.serve._operations import Advance

    app = make().app
    cases = opened(app)
    usual, poisoned = Advance._to_dict, cases[3]["id"]

    def poison(self, at):
        found = usual(self, at)
        return {**found, "amount": 2**70} if self.case.id == poisoned else found

    monkeypatch.setattr(Advance, "_to_dict", poison)
    answers = at_once(app, [telling(case, "k") for case in cases])
    assert {answer.status_code for answer in answers} == {200}  # by itself it is taken, too


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
def test_one_statement_takes_each_case_one_step_and_says_which(make, store):
    from worthwhile.serve._operations import Advance, Step, read_case

    cases = opened(make().app)[:2]
    database = open_database(store)
    first, second = (
        database.write_now(lambda cursor, case=case: read_case(cursor, case["id"], None))
        for case in cases
    )
    works = [
        Advance(case, Step(1, key, "hash", [], "{}", 5, [(0, "cp", "bought", 5)], "open"))
        for case, key in ((first, "a"), (first, "b"), (second, "a"))
    ]
    done = database.write_now(lambda cursor: Advance.together(cursor, works))
    again = database.write_now(lambda cursor: Advance.together(cursor, works))
    kept = database.write_now(lambda c: c.run("SELECT seq, key FROM events WHERE seq > 0"))
    database.close()
    assert done == [True, False, True]
    assert again == [False] * 3
    assert kept == [(1, "a")] * 2


def test_jobs_that_come_while_others_are_written_share_the_next_commit():
    batches = []

    async def write(batch):
        batches.append(len(batch))
        await asyncio.sleep(0.01)
        return [(job.future, job.work, None) for job in batch]

    async def run():
        waiting = Waiting(write)
        first = asyncio.create_task(waiting.add(0))
        await asyncio.sleep(0.001)
        return await asyncio.gather(first, *(waiting.add(n) for n in range(1, 100)))

    assert asyncio.run(run()) == list(range(100))
    assert batches == [1, 64, 35]


def test_a_batch_that_fails_unexpectedly_leaves_nobody_waiting():
    async def write(batch):
        raise KeyError("bug")

    async def run():
        waiting = Waiting(write)
        return await asyncio.gather(*(waiting.add(n) for n in range(3)), return_exceptions=True)

    assert [type(found) for found in asyncio.run(run())] == [KeyError] * 3
