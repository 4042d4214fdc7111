"""A service over a small forest with prices, groups and an evaluation price."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from sklearn.ensemble import RandomForestClassifier

import worthwhile
from worthwhile.serve import Settings, create_app

ROWS = 40


@pytest.fixture(scope="session")
def heart() -> Any:
    return worthwhile.datasets.load_heart()


@pytest.fixture(scope="session")
def model(heart: Any) -> Any:
    forest = RandomForestClassifier(8, max_depth=4, random_state=0).fit(heart.data, heart.target)
    return worthwhile.PricedModel(forest, heart.costs)


@pytest.fixture(scope="session")
def model_file(model: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "heart.worthwhile"
    model.save(path)
    return path


@pytest.fixture(params=["sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Both kinds of stores; PostgreSQL where a server is named."""
    if request.param == "sqlite":
        yield str(tmp_path / "cases.db")
        return
    url = os.environ.get("WORTHWHILE_TEST_POSTGRES")
    if not url:
        pytest.skip("set WORTHWHILE_TEST_POSTGRES to the URL of a PostgreSQL server to test on it")
    import psycopg

    schema = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    yield f"{url}?options=-csearch_path%3D{schema}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture
def make(model_file: Path, store: str) -> Iterator[Callable[..., TestClient]]:
    """Starts services on the store, each as a process would: with nothing in memory."""
    running: list[TestClient] = []

    def start(**settings: Any) -> TestClient:
        chosen = Settings(**{"models": (str(model_file),), "store": store, **settings})
        client = TestClient(create_app(chosen), base_url="http://127.0.0.1")
        client.__enter__()
        running.append(client)
        return client

    yield start
    for client in running:
        client.__exit__(None, None, None)


@pytest.fixture
def client(make: Callable[..., TestClient]) -> TestClient:
    return make()


class Steps:
    """Drives cases by requests as a program would."""

    def __init__(self, client: TestClient, heart: Any) -> None:
        self.client, self.heart = client, heart

    def open(self, key: str | None = None, **body: Any) -> Any:
        headers = {} if key is None else {"Idempotency-Key": key}
        return self.client.post("/v1/sessions", json={"model": "heart", **body}, headers=headers)

    def values(self, answer: dict[str, Any], row: int) -> dict[str, float]:
        patient = self.heart.data.iloc[row]
        return {item["feature"]: float(patient[item["feature"]]) for item in answer["ask"]}

    def tell(self, answer: dict[str, Any], row: int, key: str | None = None, **more: Any) -> Any:
        body = {"seq": answer["seq"], "values": self.values(answer, row), **more}
        return self.client.post(
            f"/v1/sessions/{answer['id']}/tell",
            json=body,
            headers={"Idempotency-Key": key or secrets.token_hex(8)},
        )

    def run(self, row: int, **body: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.open(**body).json()
        while answer["ask"]:
            response = self.tell(answer, row)
            assert response.status_code == 200, response.text
            answer = response.json()
        return answer


@pytest.fixture
def steps(client: TestClient, heart: Any) -> Steps:
    return Steps(client, heart)


@pytest.fixture(scope="session")
def rows() -> range:
    return range(0, ROWS, 4)


@pytest.fixture(scope="session")
def generator() -> np.random.Generator:
    return np.random.default_rng(0)
