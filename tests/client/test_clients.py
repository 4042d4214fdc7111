"""The clients: keys and retries by themselves."""

from __future__ import annotations

import asyncio
import math

import httpx
import pytest
from sklearn.tree import DecisionTreeClassifier

import worthwhile
from worthwhile.client import AsyncClient, Client, ServiceRefusal
from worthwhile.runtime import UNAVAILABLE
from worthwhile.serve import Settings, create_app

HEART = worthwhile.datasets.load_heart()


@pytest.fixture
def model():
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(HEART.data, HEART.target)
    return worthwhile.PricedModel(tree, HEART.costs)


@pytest.fixture
def app(model, tmp_path):
    model.save(tmp_path / "heart.worthwhile")
    app = create_app(
        Settings(models=(str(tmp_path / "heart.worthwhile"),), store=str(tmp_path / "cases.db"))
    )
    yield app
    app.state.database.close()


class _Flaky(httpx.AsyncBaseTransport):
    """Passes each request on, and loses the answer of every other one."""

    def __init__(self, app) -> None:
        self._inner, self.sent, self.lost = httpx.ASGITransport(app), 0, 0

    async def handle_async_request(self, request):
        response = await self._inner.handle_async_request(request)
        self.sent += 1
        if self.sent % 2:
            self.lost += 1
            raise httpx.ReadTimeout("lost", request=request)
        return response


class _Waiting(httpx.BaseTransport):
    """The same for a client that waits."""

    def __init__(self, app) -> None:
        self.inner = _Flaky(app)

    def handle_request(self, request):
        async def run():
            twin = httpx.Request(
                request.method, request.url, headers=request.headers, content=request.read()
            )
            response = await self.inner.handle_async_request(twin)
            return response.status_code, response.headers, await response.aread()

        status, headers, content = asyncio.run(run())
        return httpx.Response(status, headers=headers, content=content)


@pytest.fixture
def no_waiting(monkeypatch):
    monkeypatch.setattr("worthwhile.client._protocol.wait_before", lambda attempt: 0.0)


def _functions(row):
    patient = HEART.data.iloc[row]
    return {name: (lambda name=name: patient[name]) for name in HEART.data.columns}


@pytest.mark.usefixtures("no_waiting")
def test_a_case_is_driven_through_lost_answers_and_billed_once(app, model):
    transport = _Waiting(app)
    with Client("http://127.0.0.1", transport=transport) as client:
        for row in range(5):
            case = client.open("heart", label=f"row {row}").drive(_functions(row))
            X = HEART.data.iloc[[row]]
            assert case.prediction == model.predict(X)[0]
            assert case.spent == model.cost(X)[0]
            assert case.done
            assert case.ledger()[-1]["total"] == str(case.spent)
            assert client.case(case.id).state == case.state
    assert transport.inner.lost > 5


@pytest.mark.usefixtures("no_waiting")
def test_the_same_awaited(app, model):
    async def run():
        async with AsyncClient("http://127.0.0.1", transport=_Flaky(app)) as client:
            case = await client.open("heart", budget=200)
            await case.drive(_functions(7))
            return case.prediction, case.spent, (await case.ledger())[-1]["total"]

    X = HEART.data.iloc[[7]]
    prediction, spent, total = asyncio.run(run())
    assert (prediction, spent) == (model.predict(X, 200)[0], model.cost(X, 200)[0])
    assert float(total) == spent


def test_refusals_carry_what_the_service_said(app):
    async def run():
        async with AsyncClient("http://127.0.0.1", transport=httpx.ASGITransport(app)) as client:
            with pytest.raises(ServiceRefusal, match="no model is called 'nobody'") as refusal:
                await client.open("nobody")
            case = await client.open("heart")
            with pytest.raises(ServiceRefusal, match="unknown feature"):
                await case.tell({"nothing": 1})
            await case.tell({case.ask[0]: math.nan})
            await case.tell({case.ask[0]: UNAVAILABLE})
            other = await client.open("heart")
            await other.stop()
            return refusal.value, case, other

    refusal, case, other = asyncio.run(run())
    assert (refusal.status, refusal.code, refusal.details) == (
        404,
        "unknown_model",
        {"models": ["heart"]},
    )
    assert case.done  # a tree stands still where its next value cannot be had
    assert (other.done, other.spent) == (True, 0.0)


@pytest.mark.usefixtures("no_waiting")
def test_a_service_that_is_not_there_is_given_up(app):
    class Gone(httpx.BaseTransport):
        tries = 0

        def handle_request(self, request):
            self.tries += 1
            raise httpx.ConnectError("gone", request=request)

    transport = Gone()
    with (
        Client("http://127.0.0.1", transport=transport, retries=3) as client,
        pytest.raises(httpx.ConnectError),
    ):
        client.models()
    assert transport.tries == 4
