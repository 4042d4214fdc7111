"""Requests that nobody should send: refused in the one shape, with nothing recorded."""

from __future__ import annotations

import json

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
