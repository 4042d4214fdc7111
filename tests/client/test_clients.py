"""The clients: keys and retries by themselves."""

from __future__ import annotations

import asyncio
import math

import httpx
import pytest
from sklearn.tree import DecisionTreeClassifier

import worthwhile
from worthwhile.client import AsyncClient, Client, ServiceRefusal
from worthwhile.client._protocol import Call
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


def test_what_was_fetched_before_a_function_failed_is_told(app):
    def fail():
        raise OSError("the line is dead")

    async def run():
        async with AsyncClient("http://127.0.0.1", transport=httpx.ASGITransport(app)) as client:
            case = await client.open("heart", unavailable=[])
            (first,) = case.ask
            with pytest.raises(OSError, match="the line is dead"):
                await case.drive(
                    {**_functions(0), **{n: fail for n in HEART.data.columns if n != first}}
                )
            return first, await client.case(case.id)

    first, case = asyncio.run(run())
    assert [line["feature"] for line in asyncio.run(_ledger(app, case.id))] == [first]


async def _ledger(app, case_id):
    async with AsyncClient("http://127.0.0.1", transport=httpx.ASGITransport(app)) as client:
        return await (await client.case(case_id)).ledger()


def test_functions_of_one_round_run_at_once():
    from worthwhile.client._async import AsyncCase

    running, most = 0, 0

    async def slow():
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.01)
        running -= 1
        return 1.0

    class Service:
        async def send(self, call):
            return {"id": "x", "seq": 1, "ask": []}

    case = AsyncCase(Service(), {"id": "x", "seq": 0, "ask": [{"feature": "a"}, {"feature": "b"}]})
    asyncio.run(case.drive({"a": slow, "b": slow}))
    assert most == 2


def test_one_that_waits_tells_what_it_has_before_it_fails():
    from worthwhile.client._sync import Case

    sent = []

    class Service:
        def send(self, call):
            sent.append(call.body)
            return {"id": "x", "seq": 1, "ask": []}

    def fail():
        raise OSError("dead")

    case = Case(Service(), {"id": "x", "seq": 0, "ask": [{"feature": "a"}, {"feature": "b"}]})
    with pytest.raises(OSError, match="dead"):
        case.drive({"a": lambda: 1.0, "b": fail})
    assert sent == [{"seq": 0, "values": {"a": 1.0}}]


@pytest.mark.usefixtures("no_waiting")
def test_truth_is_told_through_lost_answers(app):
    with Client("http://127.0.0.1", transport=_Waiting(app)) as client:
        case = client.open("heart").drive(_functions(0))
        case.set_truth(HEART.target[0])
        found = client.send(Call("GET", "/v1/models/heart/promise", None, {}))
    assert found["judged"] == 1
