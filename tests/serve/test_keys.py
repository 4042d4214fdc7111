"""Who may call: keys, their budgets, and other people's cases."""

from __future__ import annotations

import pytest

from tests.serve.conftest import Steps
from worthwhile.serve import (
    Settings,
    _keys,
    create_app,
    list_keys,
    new_key,
    open_database,
    revoke_key,
)


@pytest.fixture
def keys(store):
    database = open_database(store)
    secrets = {
        "ward": new_key(database, "ward"),
        "clinic": new_key(database, "clinic", budget=100),
        "head": new_key(database, "head", manager=True),
    }
    yield database, secrets
    database.close()


@pytest.fixture
def as_key(keys, make, heart):
    _, secrets = keys
    client = make()

    def steps(name: str) -> Steps:
        twin = Steps(client, heart)
        twin.client = _WithKey(client, secrets[name])
        return twin

    return steps


class _WithKey:
    def __init__(self, client, key):
        self._client, self._key = client, {"Authorization": f"Bearer {key}"}

    def get(self, url, **how):
        return self._client.get(url, headers=self._key, **how)

    def post(self, url, headers=None, **how):
        return self._client.post(url, headers={**(headers or {}), **self._key}, **how)


def _spent(database):
    return {key.name: (key.spent, key.reserved) for key in database.write_now(list_keys)}


def test_the_first_key_counts_while_the_service_runs(make, store, monkeypatch):
    monkeypatch.setattr(_keys, "LOOK", 0.0)
    client = make()
    assert client.get("/v1/models").status_code == 200
    assert "New case" in client.get("/cases").text
    database = open_database(store)
    secret = new_key(database, "ward")
    assert client.get("/v1/models").status_code == 401
    refused = client.get("/openapi.json", follow_redirects=False)
    assert refused.status_code == 401
    assert set(refused.json()) == {"error"}
    assert client.post("/v1/sessions", json={"model": "heart"}).status_code == 401
    assert client.get("/cases", follow_redirects=False).headers["location"] == "/sign-in"
    headers = {"Authorization": f"Bearer {secret}"}
    assert client.get("/v1/models", headers=headers).status_code == 200
    database.write_now(lambda cursor: revoke_key(cursor, "ward"))
    database.close()
    assert client.get("/v1/models").status_code == 401


def test_without_a_valid_key_nothing_is_answered(make, keys):
    client = make()
    for headers in ({}, {"Authorization": "Bearer ww_wrong"}, {"Authorization": "Basic eA=="}):
        for answer in (
            client.get("/v1/models", headers=headers),
            client.post("/v1/sessions", json={"model": "heart"}, headers=headers),
            client.get("/metrics", headers=headers),
        ):
            assert answer.status_code == 401
            assert answer.json()["error"]["code"] == "no_key"


def test_only_the_hash_of_a_key_is_kept(keys, store):
    database, secrets = keys
    rows = database.write_now(lambda cursor: cursor.run("SELECT * FROM api_keys"))
    assert secrets["ward"] not in repr(rows)


def test_other_peoples_cases_do_not_exist_but_for_managers(as_key):
    case = as_key("ward").open().json()
    for path in ("", "/ledger"):
        assert as_key("clinic").client.get(f"/v1/sessions/{case['id']}{path}").status_code == 404
        assert as_key("head").client.get(f"/v1/sessions/{case['id']}{path}").status_code == 200
    assert as_key("clinic").tell(case, 0).status_code == 404
    assert as_key("ward").client.get(f"/v1/sessions/{case['id']}").json() == case


def test_a_key_never_spends_more_than_its_budget(as_key, keys):
    database, _ = keys
    clinic = as_key("clinic")
    first = clinic.run(0, budget=60.0)
    spent, reserved = _spent(database)["clinic"]
    assert spent == round(first["spent"] * 10**9) > 0
    assert reserved == 0  # what was not spent is free again
    second = clinic.open(budget=30.0).json()
    assert _spent(database)["clinic"][1] == 30 * 10**9
    refused = clinic.open(budget=75.0)
    assert (refused.status_code, refused.json()["error"]["code"]) == (402, "key_budget")
    clinic.client.post(
        f"/v1/sessions/{second['id']}/stop", json={"seq": 0}, headers={"Idempotency-Key": "s"}
    )
    assert clinic.open(budget=40.0).status_code == 201


def test_a_case_of_a_limited_key_without_a_budget_gets_what_is_left(as_key):
    answer = as_key("clinic").open().json()
    assert answer["budget"] == 100.0


def test_a_revoked_key_is_useless_at_once(as_key, keys):
    database, _ = keys
    assert as_key("ward").open().status_code == 201
    database.write_now(lambda cursor: revoke_key(cursor, "ward"))
    assert as_key("ward").open().status_code == 401
    with pytest.raises(ValueError, match="no key called 'nobody'"):
        database.write_now(lambda cursor: revoke_key(cursor, "nobody"))


def test_keys_have_names_of_their_own(keys):
    database, _ = keys
    with pytest.raises(ValueError, match="a key called 'ward' already"):
        new_key(database, "ward")
    with pytest.raises(ValueError, match="name is empty"):
        new_key(database, " ")


def test_where_others_can_connect_keys_are_needed(model_file, tmp_path):
    settings = Settings(models=(str(model_file),), store=str(tmp_path / "x.db"), host="0.0.0.0")
    with pytest.raises(ValueError, match=r"host is '0\.0\.0\.0'.*no API keys"):
        create_app(settings)


def test_counters_are_for_managers(as_key):
    assert as_key("ward").client.get("/metrics").status_code == 404
    as_key("ward").run(0)
    text = as_key("head").client.get("/metrics").text
    assert 'worthwhile_cases_opened_total{model="heart"} 1.0' in text
