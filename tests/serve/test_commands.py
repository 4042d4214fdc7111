"""What looks after a store, by command: back up and restore, check, retain, keys."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from tests.serve.conftest import Steps
from worthwhile.cli import app
from worthwhile.serve import open_database

runner = CliRunner()


def run(*words, code=0):
    result = runner.invoke(app, ["serve", *map(str, words)])
    assert result.exit_code == code, result.output + str(result.exception)
    return result


@pytest.fixture
def used(make, heart):
    """A service with a case that goes on and one that has ended."""
    steps = Steps(make(), heart)
    goes_on = steps.tell(steps.open().json(), 0).json()
    return steps, goes_on, steps.run(1)


def test_a_backup_made_while_it_runs_is_a_store_to_start_with(used, make, heart, store, tmp_path):
    _, goes_on, ended = used
    copy = tmp_path / "copy.db"
    if store.startswith("postgresql"):
        shown = " ".join(run("backup", copy, "--store", store, code=2).output.split())
        assert "a PostgreSQL store is backed up by its own tools: pg_dump --format=custom" in shown
        assert not copy.exists()
        return
    run("backup", copy, "--store", store)
    assert "exists already" in run("backup", copy, "--store", store, code=2).output
    restored = Steps(make(store=str(copy)), heart)
    for case in (goes_on, ended):
        assert restored.client.get(f"/v1/sessions/{case['id']}").json() == case
    assert restored.tell(goes_on, 0).status_code == 200


def test_an_upgrade_is_checked_by_making_open_cases_again(used, store):
    found = json.loads(run("check", "--store", store).stdout)
    assert found == {"open": 1, "same": 1, "differ": []}
    database = open_database(store)
    try:  # as if another version had answered otherwise
        database.write_now(
            lambda cursor: cursor.run(
                "UPDATE events SET answer = REPLACE(answer, '\"spent\":', '\"spent\":9')"
            )
        )
    finally:
        database.close()
    found = json.loads(run("check", "--store", store, code=1).stdout)
    assert found["differ"][0]["problem"] == "spent would change"


def test_values_are_removed_and_amounts_stay(used, store):
    steps, goes_on, ended = used
    assert "Removed the values of 1 cases" in run("retain", "--days", 0, "--store", store).output
    assert steps.client.get(f"/v1/sessions/{goes_on['id']}").json() == goes_on
    gone = steps.client.get(f"/v1/sessions/{ended['id']}")
    assert (gone.status_code, gone.json()["error"]["code"]) == (410, "anonymised")
    database = open_database(store)
    try:
        rows = database.write_now(
            lambda cursor: cursor.run(
                "SELECT calls, answer FROM events WHERE case_id = ?", (ended["id"],)
            )
        )
        assert set(rows) == {(None, None)}
        (spent,) = database.write_now(
            lambda cursor: cursor.run("SELECT spent FROM cases WHERE id = ?", (ended["id"],))
        )[0]
    finally:
        database.close()
    assert spent == round(ended["spent"] * 10**9)


def test_a_store_that_is_not_there_is_not_made(tmp_path):
    shown = run("check", "--store", tmp_path / "nobody.db", code=2).output
    assert "no store at" in shown
    assert not (tmp_path / "nobody.db").exists()


def test_keys_by_command(tmp_path):
    store = tmp_path / "cases.db"
    secret = run("keys", "add", "ward", "--budget", 100, "--store", store).stdout.strip()
    assert secret.startswith("ww_")
    listed = run("keys", "list", "--store", store).output
    assert "ward" in listed
    assert secret not in listed
    run("keys", "revoke", "ward", "--store", store)
    assert "revoked" in run("keys", "list", "--store", store).output
    assert (
        "no key called 'nobody'" in run("keys", "revoke", "nobody", "--store", store, code=2).output
    )
