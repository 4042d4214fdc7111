"""Models that toss a coin: the key of a case decides in the service as it does in a batch."""

from __future__ import annotations

import pytest

import worthwhile
from tests.serve.conftest import Steps

KEYS = [f"order-{number}" for number in range(80)]


@pytest.fixture(scope="module")
def table():
    return worthwhile.datasets.make_priced_classification(300, seed=0)


@pytest.fixture(scope="module")
def mixture(table, tmp_path_factory):
    X, y, costs = table
    model = worthwhile.BudgetClassifier(6, costs=costs, mix=True, n_trees=4, random_state=0)
    model.fit(X, y)
    assert 0 < model.mixture_[2] < 1
    path = tmp_path_factory.mktemp("mixture") / "heart.worthwhile"
    model.save(path)
    return model, path


def _run(client, X, row, key):
    """A case to its end, by a service that is asked anew for every step."""
    first = client.post("/v1/sessions", json={"model": "heart", "key": key})
    assert first.status_code == 201, first.text
    answer = first.json()
    while answer["ask"]:
        values = {item["feature"]: float(X[item["feature"]].iloc[row]) for item in answer["ask"]}
        path, body = f"/v1/sessions/{answer['id']}/tell", {"seq": answer["seq"], "values": values}
        told = client.post(path, json=body, headers={"Idempotency-Key": f"k{answer['seq']}"})
        assert told.status_code == 200, told.text
        answer = told.json()
    return answer


def test_a_key_falls_in_a_case_as_it_does_in_a_batch(make, mixture, table):
    model, path = mixture
    X = table[0].iloc[: len(KEYS)]
    client = make(models=(str(path),))
    bills = model.cost(X, key=KEYS)
    matters = bills != model.cost(X)
    assert matters.any()
    for row in [*matters.nonzero()[0][:3], *(~matters).nonzero()[0][:3]]:
        answer = _run(client, X, row, KEYS[row])
        assert answer["spent"] == bills[row]
        assert [answer["prediction"]] == model.predict(X.iloc[[row]], key=[KEYS[row]]).tolist()
        ledger = client.get(f"/v1/sessions/{answer['id']}/ledger").json()
        assert ledger["key"] == KEYS[row]


def test_a_case_keeps_its_key_through_a_restart(make, mixture, table):
    model, path = mixture
    X = table[0].iloc[: len(KEYS)]
    dear = int((model.cost(X, key=KEYS) - model.cost(X)).argmax())
    before = make(models=(str(path),))
    body = {"model": "heart", "key": KEYS[dear]}
    opened = before.post("/v1/sessions", json=body, headers={"Idempotency-Key": "a"}).json()
    after = make(models=(str(path),))
    assert after.get(f"/v1/sessions/{opened['id']}").json() == opened
    assert after.get(f"/v1/sessions/{opened['id']}/ledger").json()["key"] == KEYS[dear]


def test_rows_have_keys_of_their_own(make, mixture, table):
    model, path = mixture
    X = table[0].iloc[: len(KEYS)]
    client, rows = make(models=(str(path),)), X.astype(float).to_dict("records")
    url = "/v1/models/heart/predict"
    found = client.post(url, json={"rows": rows, "keys": KEYS}).json()["predictions"]
    assert [row["spent"] for row in found] == model.cost(X, key=KEYS).tolist()
    refused = client.post(url, json={"rows": rows, "keys": KEYS[:3]})
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "bad_keys")


def test_without_a_coin_a_key_changes_nothing(steps: Steps, model, heart):
    assert steps.run(3, key="order-3")["spent"] == model.cost(heart.data.iloc[[3]])[0]
