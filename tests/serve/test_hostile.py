"""Requests that nobody should send: refused in the one shape, with nothing recorded."""

from __future__ import annotations

import json
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
