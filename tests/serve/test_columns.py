"""Tables with words and dates: the service speaks of them as the table does."""

from __future__ import annotations

import datetime

import pytest
from fastapi.testclient import TestClient

import worthwhile
from worthwhile.serve import Settings, create_app

X, Y, COSTS = worthwhile.datasets.make_lender(300, seed=0)


@pytest.fixture(scope="module")
def model():
    return worthwhile.GreedyMiserClassifier(lam=0.001, n_rounds=20, costs=COSTS).fit(X, Y)


@pytest.fixture
def client(model, tmp_path):
    model.save(tmp_path / "lender.worthwhile")
    settings = Settings(models=(str(tmp_path / "lender.worthwhile"),), store=str(tmp_path / "c.db"))
    with TestClient(create_app(settings), base_url="http://127.0.0.1") as client:
        yield client


def _json(value):
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if value is None or value != value:
        return None
    return value.item() if hasattr(value, "item") else value


def test_words_and_dates_give_the_answers_of_the_batch(client, model):
    for row in range(8):
        answer = client.post("/v1/sessions", json={"model": "lender"}).json()
        while answer["ask"]:
            values = {
                item["feature"]: _json(X[item["feature"]].iloc[row]) for item in answer["ask"]
            }
            response = client.post(
                f"/v1/sessions/{answer['id']}/tell",
                json={"seq": answer["seq"], "values": values},
                headers={"Idempotency-Key": f"{row}-{answer['seq']}"},
            )
            assert response.status_code == 200, response.text
            answer = response.json()
        assert answer["prediction"] == model.predict(X.iloc[[row]])[0]
        assert answer["spent"] == model.cost(X.iloc[[row]])[0]


def test_features_are_told_of_with_their_types_and_choices(client, model):
    features = client.get("/v1/models").json()["models"][0]["features"]
    by_name = {item["feature"]: item for item in features}
    columns = model.policy_.columns
    for name, item in by_name.items():
        column = columns[list(X.columns).index(name)]
        assert item["type"] == column.kind
        if column.kind == "category":
            assert item["choices"] == list(column.levels)
    assert {"number", "category"} <= {item["type"] for item in features}


def test_a_word_that_is_not_known_is_refused_with_those_that_are(client, model):
    answer = client.post("/v1/sessions", json={"model": "lender"}).json()
    name = next(
        str(n)
        for n, c in zip(X.columns, model.policy_.columns, strict=True)
        if c.kind == "category" and not c.other
    )
    response = client.post(
        f"/v1/sessions/{answer['id']}/tell",
        json={"seq": 0, "values": {name: "nonsense"}},
        headers={"Idempotency-Key": "x"},
    )
    assert response.status_code == 422
    assert "give one of" in response.json()["error"]["message"]


def test_the_document_has_names_types_and_choices(client, model):
    document = client.get("/v1/openapi.json").json()
    assert client.get("/openapi.json").json() == document
    schemas = document["components"]["schemas"]
    assert schemas["OpenRequest"]["properties"]["model"]["enum"] == ["lender"]
    features = schemas["Values_of_lender"]["properties"]
    reads = [model.costs_.name(column) for column in model.policy_.reads]
    assert list(features) == reads
    columns = {name: model.columns_[model.costs_.index(name)] for name in reads}
    kinds = {name: features[name]["anyOf"][0] for name in reads}
    for name, column in columns.items():
        if column.levels:
            assert kinds[name] == {"enum": list(column.levels)}
        if column.kind == "number":
            assert kinds[name] == {"type": "number"}
        if column.kind == "date":
            assert kinds[name] == {"type": "string", "format": "date"}
    assert {column.kind for column in columns.values()} >= {"number", "category"}
    told = schemas["TellRequest"]["properties"]["values"]["anyOf"]
    assert {"$ref": "#/components/schemas/Values_of_lender"} in told


def test_metadata_as_the_open_inference_protocol_has_it(client, model):
    found = client.get("/v2/models/lender").json()
    assert found["versions"] == [client.get("/v1/models").json()["models"][0]["version"]]
    assert {item["datatype"] for item in found["inputs"]} >= {"FP64", "BYTES"}
    assert client.get("/v2/models/lender/ready").json() == {"ready": True}
    assert client.get("/v2/models/nobody").status_code == 404
    assert client.get("/v2/health/live").json() == {"live": True}


def test_an_older_version_predicts_by_its_number(client, model):
    version = client.get("/v2/models/lender").json()["versions"][0]
    rows = [{name: _json(value) for name, value in X.iloc[0].items()}]
    found = [
        client.post(f"/v1/models/lender{place}/predict", json={"rows": rows}).json()
        for place in ("", f"/versions/{version}")
    ]
    assert found[0] == found[1]
    other = client.post("/v1/models/lender/versions/abc/predict", json={"rows": rows})
    assert other.status_code == 404
