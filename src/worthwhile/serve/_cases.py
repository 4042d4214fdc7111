"""Cases: sessions that are asked and told by request, each step on disk before it is answered.

A case in memory is a :class:`~worthwhile.Session` and the number of its last step. A request takes it
out, computes, writes, and puts it back only after the write: whatever fails in between, the next
request finds nothing in memory and makes the stored calls again.
"""

from __future__ import annotations

import hashlib
import json
import math
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from worthwhile import _tracing as tracing
from worthwhile.costs import Costs, as_float, budget_quanta, to_quanta
from worthwhile.exceptions import CostsError, SessionError
from worthwhile.runtime import UNAVAILABLE, Ledger, Session
from worthwhile.serve import _operations as operations
from worthwhile.serve._audit import now
from worthwhile.serve._database import Database
from worthwhile.serve._errors import ServiceError
from worthwhile.serve._keys import Caller
from worthwhile.serve._metrics import Metrics
from worthwhile.serve._models import Model, Models, describe_column
from worthwhile.serve._openings import Open, Room
from worthwhile.serve._operations import Step, StoredCase
from worthwhile.serve._promises import read_truth
from worthwhile.serve._settings import Limits

OPTIONS = ("budget", "one_by_one", "prices", "unavailable", "key")
"""What a session is opened with."""


@dataclass
class _Live:
    """A case in memory."""

    stored: StoredCase
    session: Session
    model: Model
    lines: int = 0
    """Lines of the ledger that are on disk."""
    calls: int = 0
    """Calls of the session that are on disk."""

    @property
    def weight(self) -> int:
        """How much memory it takes, in units of about 10 kB: a small model's case is one."""
        return 1 + self.lines // 10 + self.session.policy.n_features // 1000


class _Memory:
    """Cases in memory, those used last; as heavy together as ``most`` of a small model."""

    def __init__(self, most: int) -> None:
        self._most, self._weight = most, 0
        self._cases: OrderedDict[str, tuple[int, _Live]] = OrderedDict()

    def take(self, case_id: str) -> _Live | None:
        """A case, which is then no longer here."""
        weight, live = self._cases.pop(case_id, (0, None))
        self._weight -= weight
        return live

    def put(self, live: _Live) -> None:
        """Keep a case; others may have to go."""
        self.take(live.stored.id)
        self._cases[live.stored.id] = live.weight, live
        self._weight += live.weight
        while self._weight > self._most:
            self.take(next(iter(self._cases)))

    def __len__(self) -> int:
        return len(self._cases)


class Cases:
    """Opens, advances and shows cases."""

    def __init__(
        self, database: Database, models: Models, limits: Limits, metrics: Metrics
    ) -> None:
        self._database, self.models, self._metrics = database, models, metrics
        self._room = Room(limits.open_cases)
        self._memory = _Memory(limits.cached_cases)

    # Requests ------------------------------------------------------------------------------------

    async def open(self, caller: Caller, request: Mapping[str, Any], key: str | None) -> str:
        """Begin a case; ``request`` has "model", and may have a "label" and ``OPTIONS``.

        The answer here, in :meth:`tell` and in :meth:`stop` is JSON: as it was kept, so it is sent.
        """
        model = self.models.get(request["model"])
        options = {
            name: request[name] for name in OPTIONS if request.get(name) not in (None, {}, [])
        }
        begun, reserved = tracing.now(), self._limit_by_key(caller, model, options)
        session = _begin(model, options)
        moment = now()
        stored = StoredCase(
            f"case-{secrets.token_urlsafe(16)}", caller.id, request.get("label") or "", model.name, model.version,
            options, 0, 0, reserved, "open", None, moment, moment,
        )  # fmt: skip
        live = _Live(stored, session, model)
        step = self._step(live, 0, key, _digest(request))
        again = await self._database.write(Open(stored, step, self._room))
        if again is not None:
            return again
        self._metrics.opened(model.name).inc()
        self._note_spent(caller, live, step, begun)
        self._keep(live, step)
        return step.answer

    async def tell(self, caller: Caller, case_id: str, request: Mapping[str, Any], key: str) -> str:
        """Take values ("values") for step "seq"; "prices" are stated ones."""
        return await self._advance(caller, case_id, request, key, stop=False)

    async def stop(self, caller: Caller, case_id: str, request: Mapping[str, Any], key: str) -> str:
        """End a case with the answer that it has."""
        return await self._advance(caller, case_id, request, key, stop=True)

    async def view(self, caller: Caller, case_id: str) -> dict[str, Any]:
        """A case as it stands."""
        live = await self._take(caller, case_id, check=True)
        answer = answer_of(live.session, live.stored)
        self._put(live)
        return answer

    async def ledger(self, caller: Caller, case_id: str) -> Ledger:
        """What was paid for, line by line."""
        live = await self._take(caller, case_id, check=True)
        self._put(live)
        return live.session.ledger

    async def stored(self, caller: Caller, case_id: str) -> StoredCase:
        """The row of a case."""
        return await self._database.look_up(
            lambda cursor: operations.read_case(cursor, case_id, caller.sees)
        )

    async def model_of(self, caller: Caller, case_id: str) -> Model:
        """The model that a case began with."""
        stored = await self.stored(caller, case_id)
        return await self.models.version(stored.model, stored.version)

    async def set_truth(self, caller: Caller, case_id: str, truth: Any) -> None:
        """Keep how a case came out."""
        model = await self.model_of(caller, case_id)
        label = read_truth(model.policy, truth)
        await self._database.write(
            lambda cursor: operations.set_truth(cursor, case_id, caller.sees, label)
        )

    # How a step is made --------------------------------------------------------------------------

    async def _advance(
        self, caller: Caller, case_id: str, request: Mapping[str, Any], key: str, *, stop: bool
    ) -> str:
        hashed, begun = _digest({**request, "stop": stop}), tracing.now()
        live = await self._take(caller, case_id)
        if request["seq"] != live.stored.seq or live.stored.state != "open":
            # An old request sent again, a late one, or another process has moved the case on.
            return await self._repeat(live, request, key, hashed)
        if not stop:
            try:
                live.session.tell(*read_tell(live.session.policy.costs, request))
            except (SessionError, CostsError) as error:
                self._put(live)  # nothing was recorded
                raise ServiceError(422, "bad_value", str(error)) from None
        step = self._step(live, live.stored.seq + 1, key, hashed, stop=stop)
        again = await self._database.write(operations.Advance(live.stored, step))
        if again is not None:
            self._metrics.repeated.inc()
            return again  # what is in memory is behind: it was taken out, and stays out
        self._metrics.told(live.model.name).inc()
        self._note_spent(caller, live, step, begun)
        self._keep(live, step)
        return step.answer

    async def _repeat(self, live: _Live, request: Mapping[str, Any], key: str, hashed: str) -> str:
        step = Step(request["seq"] + 1, key, hashed, [], "", 0, [], "open")
        try:
            answer = await self._database.look_up(
                lambda cursor: operations.stored_answer(cursor, live.stored.id, step)
            )
        except ServiceError:
            self._metrics.conflicts.inc()
            raise
        self._metrics.repeated.inc()
        return answer

    def _step(
        self, live: _Live, seq: int, key: str | None, hashed: str, *, stop: bool = False
    ) -> Step:
        """What is written for this step. The session is asked here, and must be asked alike when it is revived."""
        session = live.session
        stored = live.stored._replace(seq=seq)
        done = session.done
        state = "stopped" if stop and not done else "done" if done else "open"
        answer = to_json(answer_of(session, stored._replace(state=state)))
        entries = session.ledger.entries
        lines = [
            (
                place, "" if entry.feature is None else str(entry.feature), entry.kind,
                to_quanta(entry.amount, "amount"),
            )
            for place, entry in enumerate(entries[live.lines :], live.lines)
        ]  # fmt: skip
        amount = sum(line[3] for line in lines)
        calls = session.events_since(live.calls)
        return Step(seq, key, hashed, calls, answer, amount, lines, state)

    def _keep(self, live: _Live, step: Step) -> None:
        """Take note of what is on disk now."""
        stored = live.stored
        live.stored = stored._replace(
            seq=step.seq,
            spent=stored.spent + step.amount,
            reserved=operations.left_aside(stored, step),
            state=step.state,
        )
        live.lines += len(step.lines)
        live.calls += len(step.calls)
        self._put(live)

    def _note_spent(self, caller: Caller, live: _Live, step: Step, begun: int) -> None:
        """Count what was bought, and show each purchase as a span of the request that told it."""
        owner = caller.name if caller.id == live.stored.owner else live.stored.owner
        for _, feature, kind, amount in step.lines:
            tracing.note_span(
                "worthwhile.purchase", begun, model=live.model.name, case=live.stored.id, feature=feature,
                kind=kind, amount=as_float(amount),
            )  # fmt: skip
            if amount:
                self._metrics.spend(live.model.name, owner, feature).inc(as_float(amount))

    # Cases in memory -----------------------------------------------------------------------------

    async def _take(self, caller: Caller, case_id: str, *, check: bool = False) -> _Live:
        """The case out of memory, or revived; with ``check``, only if the store knows no later step."""
        live = self._memory.take(case_id)
        if live is None or check or not caller.may_see(live.stored.owner):
            stored = await self.stored(caller, case_id)
            if live is None or live.stored.seq != stored.seq or live.stored.state != stored.state:
                live = await self._revive(stored)
            else:
                self._metrics.hits.inc()
        else:
            self._metrics.hits.inc()
        return live

    def _put(self, live: _Live) -> None:
        if live.stored.state != "open":
            return  # its values may be removed from the store, and must not stay here
        self._memory.put(live)

    async def _revive(self, stored: StoredCase) -> _Live:
        self._metrics.replays.inc()
        model = await self.models.version(stored.model, stored.version)
        steps = await self._database.read(lambda cursor: operations.read_calls(cursor, stored.id))
        live = _Live(stored, replay(model, stored, steps[: stored.seq + 1]), model)
        live.lines = len(live.session.ledger.entries)
        live.calls = live.session.n_events
        return live

    def _limit_by_key(self, caller: Caller, model: Model, options: dict[str, Any]) -> int:
        """Give a case of a key with a budget a limit of its own, and say how much to set aside."""
        try:
            limit = budget_quanta(options.get("budget"))
        except CostsError as error:
            raise ServiceError(422, "bad_budget", str(error)) from None
        if caller.left is None:
            return 0
        if limit is None:
            limit = min(model.policy.costs.flat.total, caller.left)
            options["budget"] = as_float(limit)
        return limit


def replay(model: Model, stored: StoredCase, steps: list[list[Any]]) -> Session:
    """A session anew from its stored calls, asked after each step as the first one was."""
    session = _begin(model, stored.options)
    session.done  # noqa: B018  the opening step asks, too
    for calls in steps:
        session.apply(calls)
    answer_of(session, stored)
    return session


def _begin(model: Model, options: Mapping[str, Any]) -> Session:
    try:
        return Session(
            model.policy,
            budget=options.get("budget"),
            one_by_one=bool(options.get("one_by_one", False)),
            prices=options.get("prices"),
            unavailable=options.get("unavailable", ()),
            key=options.get("key"),
        )
    except (CostsError, SessionError, ValueError) as error:
        raise ServiceError(422, "bad_options", str(error)) from None


def answer_of(session: Session, stored: StoredCase) -> dict[str, Any]:
    """A case as it is told of."""
    policy = session.policy
    wanted = session.ask() if stored.state == "open" else []
    columns = {name: policy.costs.index(name) for name in wanted}
    ask = [
        {
            "feature": name,
            "price": session.quote(name),
            "why": session.why(name),
            **describe_column(policy, columns[name]),
        }
        for name in wanted
    ]
    prediction, shares = read_answer(session)
    probabilities = None
    if shares is not None and policy.output.classes is not None:
        labels = policy.output.classes.tolist()
        probabilities = {str(c): p for c, p in zip(labels, shares, strict=True)}
    return {
        "id": stored.id,
        "model": stored.model,
        "version": stored.version,
        "seq": stored.seq,
        "state": stored.state,
        "ask": ask,
        "prediction": prediction,
        "probabilities": probabilities,
        "spent": session.spent,
        "budget": session.budget,
        "unit": policy.costs.unit,
        "done": stored.state != "open" or not ask,
    }


def read_answer(session: Session) -> tuple[Any, list[float] | None]:
    """Prediction and probabilities as JSON can have them.

    Values that are finite may be so large that a sum of them is not; they were paid for all the same,
    and the step is kept, with null for what is no number.
    """
    prediction, shares = session.prediction, None
    if session.policy.output.has_probabilities:
        shares = session.probabilities.tolist()
    if hasattr(prediction, "item"):
        prediction = prediction.item()
    if isinstance(prediction, float) and not math.isfinite(prediction):
        prediction = None
    return prediction, shares if shares is not None and all(map(math.isfinite, shares)) else None


def read_tell(costs: Costs, request: Mapping[str, Any]) -> tuple[dict[Any, Any], Any]:
    """Values and stated prices of a request, as ``Session.tell`` takes them.

    null came back empty, ``{"unavailable": true}`` cannot be had. Where features have no names, JSON
    still writes their numbers as text.
    """

    def feature(name: str) -> Any:
        return int(name) if costs.feature_names is None and name.isdecimal() else name

    told: dict[Any, Any] = {}
    for name, value in request["values"].items():
        if isinstance(value, (dict, list)):
            if value != {"unavailable": True}:
                raise SessionError(
                    f"value of {name!r} is an object or a list: give a number, text or null, or "
                    '{"unavailable": true}. Nothing was recorded.'
                )
            value = UNAVAILABLE
        told[feature(name)] = value
    prices = request.get("prices") or {}
    return told, {feature(n): Decimal(str(p)) for n, p in prices.items()} or None


def to_json(answer: Any) -> str:
    """An answer as it is sent."""
    return json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _digest(request: Mapping[str, Any]) -> str:
    """Hash of a request, whatever the order of its fields."""
    text = json.dumps(request, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
