"""Many rows at once: values at hand, or fetched by the operator's functions."""

from __future__ import annotations

import math
import sys
import types

import pytest

from worthwhile.runtime import UNAVAILABLE, Extractors, Paid
from worthwhile.serve import Settings, create_app


def test_rows_have_the_answers_and_bills_of_the_batch(client, model, heart):
    X = heart.data.iloc[:12]
    body = {"rows": X.astype(float).to_dict("records"), "budget": 90}
    found = client.post("/v1/models/heart/predict", json=body).json()["predictions"]
    assert [row["prediction"] for row in found] == model.predict(X, budget=90).tolist()
    assert [row["spent"] for row in found] == model.cost(X, budget=90).tolist()
    assert [row["probabilities"] for row in found] == model.predict_proba(X, 90).tolist()
    names = list(heart.data.columns)
    bought = [[name in row["bought"] for name in names] for row in found]
    assert bought == model.acquired(X, budget=90).tolist()


def test_a_bad_row_is_named(client):
    body = {"rows": [{"thal": 1.0}, {"thal": "much", "cp": "x", "ca": "y"}]}
    response = client.post("/v1/models/heart/predict", json=body)
    assert response.status_code == 422
    assert response.json()["error"]["message"].startswith("row 1: value of")


@pytest.fixture
def functions(heart, monkeypatch):
    """A module of the operator, whose functions note how they were called."""
    calls = []

    def fetch(name):
        def function(ids):
            calls.append((name, list(ids)))
            if name == "ca":
                return [UNAVAILABLE] * len(ids)
            if name == "thal":
                return [math.nan] * len(ids)
            return [float(heart.data[name].iloc[int(i)]) for i in ids]

        return function

    module = types.ModuleType("operators_functions")
    module.extractors = {name: fetch(name) for name in heart.data.columns}
    module.calls = calls
    monkeypatch.setitem(sys.modules, "operators_functions", module)
    return module


def test_the_servers_functions_drive_cases_in_bulk_and_every_step_is_kept(
    make, model, heart, functions
):
    client = make(extractors="operators_functions")
    ids = [str(i) for i in range(6)]
    body = {"ids": ids, "budget": 250}
    headers = {"Idempotency-Key": "batch-1"}
    found = client.post("/v1/models/heart/drive", json=body, headers=headers).json()["cases"]
    expected = model.predict_with(Extractors(functions.extractors), ids, budget=250)
    assert [case["prediction"] for case in found] == expected.predictions.tolist()
    assert [case["spent"] for case in found] == expected.spent.tolist()
    assert [case["of"] for case in found] == ids
    assert max(len(ids) for _, ids in functions.calls) > 1
    before = len(functions.calls)
    again = client.post("/v1/models/heart/drive", json=body, headers=headers).json()["cases"]
    assert again == found  # nothing was fetched or billed twice
    assert len(functions.calls) == before
    stored = client.get(f"/v1/sessions/{found[0]['id']}").json()
    assert stored["spent"] == found[0]["spent"]


def test_driving_without_functions_and_doubled_ids_are_refused(make, functions):
    body, headers = {"ids": ["1", "1"]}, {"Idempotency-Key": "x"}
    refused = make().post("/v1/models/heart/drive", json=body, headers=headers)
    assert refused.json()["error"]["code"] == "no_extractors"
    client = make(extractors="operators_functions")
    refused = client.post("/v1/models/heart/drive", json=body, headers=headers)
    assert refused.json()["error"]["code"] == "doubled_ids"


def test_functions_that_cannot_be_imported_are_named_before_anything_listens(model_file, tmp_path):
    settings = Settings(
        models=(str(model_file),), store=str(tmp_path / "x.db"), extractors="nowhere:functions"
    )
    with pytest.raises(ValueError, match="extractors is 'nowhere:functions'"):
        create_app(settings)


def test_a_call_may_state_what_it_cost(make, model, heart, functions):
    # Tokens of a language model, say: the list has a price, the call knows what it was.
    plain = functions.extractors["cp"]
    functions.extractors["cp"] = lambda ids: [Paid(v, 0.25) for v in plain(ids)]
    client = make(extractors="operators_functions")
    body, headers = {"ids": ["1"]}, {"Idempotency-Key": "x"}
    (case,) = client.post("/v1/models/heart/drive", json=body, headers=headers).json()["cases"]
    lines = client.get(f"/v1/sessions/{case['id']}/ledger").json()["entries"]
    assert {line["feature"]: line["amount"] for line in lines}["cp"] == "0.25"
    answers = model.predict_with(Extractors(functions.extractors), ["1"])
    assert answers.spent.tolist() == [case["spent"]]


def test_a_function_may_fetch_a_whole_group(make, heart, functions):
    group = heart.costs.groups["blood"]
    for name in group.features:
        del functions.extractors[name]
    calls = []

    def blood(ids):
        calls.append(list(ids))
        return {f: [float(heart.data[f].iloc[int(i)]) for i in ids] for f in group.features}

    functions.extractors["blood"] = blood
    client = make(extractors="operators_functions")
    body, headers = {"ids": [str(i) for i in range(20)]}, {"Idempotency-Key": "x"}
    cases = client.post("/v1/models/heart/drive", json=body, headers=headers).json()["cases"]
    assert all(case["done"] for case in cases)
    ids = [i for call in calls for i in call]
    assert len(ids) == len(set(ids)) > 0
