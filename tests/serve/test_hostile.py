"""Requests that nobody should send: refused in the one shape, with nothing recorded."""

from __future__ import annotations

import asyncio
import json
import secrets
import sqlite3

import pytest

from worthwhile.serve import Limits


def _is_refusal(response, *statuses):
    assert response.status_code in statuses, response.text
    error = response.json()["error"]
    assert set(error) == {"code", "message", "details"}
    assert error["message"]
    return error


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"model": "nobody"},
        {"model": "heart", "budget": -1},
        {"model": "heart", "budget": "much"},
        {"model": "heart", "budget": "5"},
        {"model": "heart", "budget": True},
        {"model": "heart", "prices": {"age": True}},
        {"model": "heart", "prices": {"age": "1"}},
        {"model": "heart", "colour": "red"},
        {"model": ["heart"]},
        {"model": "heart", "label": "x" * 201},
        [],
        None,
    ],
)
def test_openings(client, body):
    _is_refusal(client.post("/v1/sessions", json=body), 404, 422)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"nobody": 1},
        {"thal": "much"},
        {"thal": [1]},
        {"thal": {"unavailable": False}},
        {"thal": {"other": True}},
        {"thal": 10**400},
        {"x" * 5000: 1},
    ],
)
def test_values(steps, values):
    first = steps.open().json()
    path = f"/v1/sessions/{first['id']}/tell"
    body = {"seq": 0, "values": values}
    _is_refusal(steps.client.post(path, json=body, headers={"Idempotency-Key": "x"}), 422)
    assert steps.client.get(f"/v1/sessions/{first['id']}").json() == first
    assert steps.tell(first, 0, "x").status_code == 200  # the key was not used up


@pytest.mark.parametrize(
    "text", ['{"seq": 0, "values": {"thal": NaN}}', "{", "[" * 100_000, "\x00"]
)
def test_bodies_that_are_no_json(steps, text):
    first = steps.open().json()
    response = steps.client.post(
        f"/v1/sessions/{first['id']}/tell",
        content=text,
        headers={"Idempotency-Key": "x", "Content-Type": "application/json"},
    )
    _is_refusal(response, 400, 422)
    assert steps.client.get(f"/v1/sessions/{first['id']}").json() == first


def test_steps_need_a_key(steps):
    first = steps.open().json()
    body = {"seq": 0, "values": steps.values(first, 0)}
    error = _is_refusal(steps.client.post(f"/v1/sessions/{first['id']}/tell", json=body), 400)
    assert error["code"] == "no_idempotency_key"


def test_unknown_places(client):
    for path in ("/v1/sessions/nobody", "/v1/sessions/nobody/ledger", "/v1/nothing"):
        _is_refusal(client.get(path), 404)
    _is_refusal(client.delete("/v1/sessions"), 405)
    _is_refusal(client.get("/v1/sessions/" + "x" * 500), 404, 422)


def test_large_bodies(make):
    client = make(limits=Limits(body_bytes=2000))
    body = json.dumps({"model": "heart", "label": "x" * 5000})
    assert _is_refusal(client.post("/v1/sessions", content=body), 413)["code"] == "too_large"

    def parts():  # without a declared length
        for _ in range(10):
            yield b" " * 1000

    _is_refusal(client.post("/v1/sessions", content=parts()), 413)


def test_many_rows_and_many_cases(make, heart):
    client = make(limits=Limits(rows=2, open_cases=2))
    rows = [{"age": 1.0}] * 3
    error = _is_refusal(client.post("/v1/models/heart/predict", json={"rows": rows}), 413)
    assert error["code"] == "too_many_rows"
    for _ in range(2):
        assert client.post("/v1/sessions", json={"model": "heart"}).status_code == 201
    _is_refusal(client.post("/v1/sessions", json={"model": "heart"}), 429)


def test_another_host_name_is_not_ours(client):
    # A page elsewhere whose name points to this machine must not drive the service through a browser.
    for host in ("evil.example", "evil.example:8642", "127.0.0.1.evil.example"):
        response = client.get("/v1/models", headers={"Host": host})
        assert _is_refusal(response, 421)["code"] == "wrong_host"
    for host in ("localhost", "127.0.0.1:8642", "[::1]:8642"):
        assert client.get("/v1/models", headers={"Host": host}).status_code == 200


# Text that no database can hold ------------------------------------------------------------------

ODD = ["\x00", "a\x00b", "\ud800", "\udc00x"]


@pytest.mark.parametrize("odd", ODD)
def test_text_that_cannot_be_stored(steps, odd):
    first = steps.open().json()
    case = f"/v1/sessions/{first['id']}"
    key = {"Idempotency-Key": "x", "Content-Type": "application/json"}
    for method, path, body in (
        ("POST", "/v1/sessions", {"model": "heart", "label": odd}),
        ("POST", "/v1/sessions", {"model": odd}),
        ("POST", "/v1/sessions", {"model": "heart", odd: 1}),
        ("POST", "/v1/sessions", {"model": "heart", "key": odd}),
        ("POST", f"{case}/tell", {"seq": 0, "values": {"thal": odd}}),
        ("POST", f"{case}/tell", {"seq": 0, "values": {odd: 1}}),
        ("PUT", f"{case}/truth", {"truth": odd}),
        ("POST", "/v1/models/heart/predict", {"rows": [{odd: 1}]}),
    ):
        answer = steps.client.request(method, path, content=json.dumps(body), headers=key)
        assert _is_refusal(answer, 422)["code"] == "bad_text"
    assert steps.client.get(case).json() == first


def test_letters_beyond_the_usual_are_kept(steps):
    label = "Zimmer 17, Ärztin 🙂"
    for text in (json.dumps({"model": "heart", "label": label}),
                 json.dumps({"model": "heart", "label": label}, ensure_ascii=False)):  # fmt: skip
        answer = steps.client.post(
            "/v1/sessions", content=text.encode(), headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 201
        assert label in steps.client.get(f"/cases/{answer.json()['id']}").text


@pytest.mark.parametrize(
    "path", ["/v1/sessions/%00", "/v1/sessions/%ED%A0%80", "/cases/%00", "/v1/models/%00/promise"]
)
def test_odd_paths(client, path):
    response = client.get(path)
    assert response.status_code == 404, response.text


def test_odd_forms(client):
    client.get("/cases/new")
    form = {"csrf": client.cookies["worthwhile_local"], "model": "heart", "label": "\x00"}
    assert client.post("/cases/new", data=form).status_code == 400
    content = b"csrf=%FF%FE&model=%80"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert client.post("/cases/new", content=content, headers=headers).status_code == 403


def test_a_body_that_is_no_text(client):
    headers = {"Content-Type": "application/json"}
    _is_refusal(client.post("/v1/sessions", content=b"\xff\xfe{}", headers=headers), 400, 422)


def test_a_store_that_fails_is_said_in_the_one_shape(make, monkeypatch):
    client = make()

    async def full(work):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr(client.app.state.database, "write", full)
    error = _is_refusal(client.post("/v1/sessions", json={"model": "heart"}), 503)
    assert error["code"] == "store_failed"
    assert "send it again with the same Idempotency-Key" in error["message"]


def test_what_nobody_expected_has_the_one_shape_too(make, monkeypatch):
    from fastapi.testclient import TestClient

    app = make().app
    client = TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)

    async def broken(work):
        raise RuntimeError("a secret of the inside")

    monkeypatch.setattr(app.state.database, "write", broken)
    error = _is_refusal(client.post("/v1/sessions", json={"model": "heart"}), 500)
    assert error["code"] == "internal"
    assert "secret" not in error["message"]


def _sent_raw(client, path, body):
    headers = {"Content-Type": "application/json", "Idempotency-Key": secrets.token_hex(4)}
    return client.post(path, content=body, headers=headers)


@pytest.mark.parametrize(
    "body",
    [
        b'{"model": "heart", "label": "\xed\xa0\x80"}',  # half a pair, as if it were UTF-8
        b'{"model": "heart", "label": "\xff"}',
        '{"model": "heart", "label": "\\u0000"}'.encode("utf-16"),
        '{"model": "heart"}'.encode("utf-16-le"),
        '{"model": "heart"}'.encode("utf-32"),
    ],
)
def test_other_encodings_are_refused_before_anything_is_read(client, body):
    error = _is_refusal(_sent_raw(client, "/v1/sessions", body), 400)
    assert error["code"] == "bad_text"


@pytest.mark.parametrize("host", ["[::1", "[", "127.0.0.1@evil.example", "evil.example:80"])
def test_hosts_that_are_not_ours_or_nobodys_are_refused(client, host):
    _is_refusal(client.get("/v2", headers={"Host": host}), 421)


def test_an_origin_that_nobody_can_read_is_foreign(client):
    page = client.post("/sign-in", data={"key": "x"}, headers={"Origin": "http://["})
    assert page.status_code == 403


def test_a_value_that_fits_no_type_has_one_problem_with_a_plain_text(steps):
    first = steps.open().json()
    body = b'{"seq": 0, "values": {"oldpeak": 1e400, "cp": 1}}'
    error = _is_refusal(_sent_raw(steps.client, f"/v1/sessions/{first['id']}/tell", body), 422)
    assert error["message"].startswith("body.values.oldpeak: Give a finite number, text, true")
    assert len(error["details"]["problems"]) == 1


def test_a_request_that_never_ends_is_given_up(client, monkeypatch):
    monkeypatch.setattr("worthwhile.serve._app.BODY_SECONDS", 0.05)
    sent = []

    async def receive():
        await asyncio.sleep(5)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "http_version": "1.1", "method": "POST", "path": "/v1/sessions", "query_string": b"",
        "root_path": "", "scheme": "http", "headers": [(b"host", b"127.0.0.1"), (b"content-length", b"9")],
    }  # fmt: skip
    asyncio.run(client.app(scope, receive, send))
    assert sent[0]["status"] == 408
    assert b'"too_slow"' in sent[1]["body"]


@pytest.mark.parametrize("store", ["sqlite"], indirect=True)
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_values_whose_sum_is_no_number_are_kept_and_billed_all_the_same(make, tmp_path, kind):
    import numpy as np

    import worthwhile

    X = np.random.default_rng(0).normal(size=(60, 2))
    y = 1000 * X[:, 0] + 900 * X[:, 1]
    made = getattr(worthwhile, f"CostWeightedL1{kind}")(lam=1e-6, costs=np.ones(2))
    made.fit(X, y > 0 if kind == "Classifier" else y).save(tmp_path / "line.worthwhile")
    client = make(models=(str(tmp_path / "line.worthwhile"),))
    case = client.post("/v1/sessions", json={"model": "line"}).json()
    url, body = f"/v1/sessions/{case['id']}", b'{"seq": 0, "values": {"0": 1.7e308, "1": -1.7e308}}'
    told = _sent_raw(client, f"{url}/tell", body)
    assert told.status_code == 200, told.text
    answer = told.json()
    assert (answer["spent"], answer["probabilities"]) == (2.0, None)
    assert client.get(url).json() == answer
    assert client.get(f"/cases/{case['id']}").status_code == 200
    client.put(f"{url}/truth", json={"truth": 1.5 if kind == "Regressor" else False})
    assert client.get("/v1/models/line/promise").json()["judged"] == 0
    rows = client.post("/v1/models/line/predict", json={"rows": [{"0": 1.7e308, "1": -1.7e308}]})
    assert rows.json()["predictions"][0]["probabilities"] is None
