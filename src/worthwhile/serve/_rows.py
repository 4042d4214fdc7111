"""Many rows at once: values at hand, or fetched by functions that the operator registered."""

from __future__ import annotations

import asyncio
import importlib
import json
import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from worthwhile.exceptions import CostsError, SessionError
from worthwhile.policy.base import Policy
from worthwhile.runtime import UNAVAILABLE, Extractors, Session, split_paid
from worthwhile.serve._cases import Cases, read_answer, read_tell
from worthwhile.serve._errors import ServiceError
from worthwhile.serve._keys import Caller
from worthwhile.serve._models import Model
from worthwhile.serve._schemas import PredictRequest
from worthwhile.serve._settings import Limits


def load_extractors(place: str) -> Extractors | None:
    """The operator's functions, from ``module:name``."""
    if not place:
        return None
    module, _, name = place.partition(":")
    try:
        found = getattr(importlib.import_module(module), name or "extractors")
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"extractors is {place!r}, which cannot be imported ({error}): give 'module:name'."
        ) from None
    return found if isinstance(found, Extractors) else Extractors(found)


async def predict_rows(
    model: Model, request: PredictRequest, limits: Limits
) -> list[dict[str, Any]]:
    """Predict rows, each with its bill and what was bought, in a thread."""
    rows, keys = request.rows, request.keys
    check_count(len(rows), limits)
    if keys is not None and len(keys) != len(rows):
        text = f"{len(keys)} keys for {len(rows)} rows: send one for each row, or none at all."
        raise ServiceError(422, "bad_keys", text)

    def run() -> list[dict[str, Any]]:
        found = []
        for place, row in enumerate(rows):
            key = None if keys is None else keys[place]
            found.append(_predict(model, row, {"budget": request.budget, "key": key}, place))
        return found

    return await asyncio.get_running_loop().run_in_executor(None, run)


def check_count(count: int, limits: Limits) -> None:
    """Refuse more rows than are allowed."""
    if count > limits.rows:
        raise ServiceError(
            413, "too_many_rows", f"{count} rows, the limit is {limits.rows}: send them in parts."
        )


def _predict(
    model: Model, row: Mapping[str, Any], options: dict[str, Any], place: int
) -> dict[str, Any]:
    try:
        known, _ = read_tell(model.policy.costs, {"values": row})
        session = Session(model.policy, **options)
        while wanted := session.ask():
            session.tell({name: known.get(name, UNAVAILABLE) for name in wanted})
        prediction, shares = read_answer(session)
        return {
            "prediction": prediction,
            "probabilities": shares,
            "spent": session.spent,
            "bought": [entry.feature for entry in session.ledger if entry.kind == "bought"],
        }
    except (SessionError, CostsError, ValueError) as error:
        raise ServiceError(422, "bad_value", f"row {place}: {error}") from None


async def drive(
    cases: Cases,
    extractors: Extractors | None,
    who: Caller,
    name: str,
    request: Mapping[str, Any],
    key: str,
    limits: Limits,
) -> list[dict[str, Any]]:
    """Open a case per id, fetch what they ask for in bulk, and tell it: every step is kept.

    A request that is sent again with its key goes on with the same cases.
    """
    if extractors is None:
        raise ServiceError(
            404, "no_extractors", "the operator has registered no functions (setting 'extractors')."
        )
    ids = request["ids"]
    check_count(len(ids), limits)
    if len(set(map(str, ids))) < len(ids):
        raise ServiceError(422, "doubled_ids", "ids has an id twice: send each once.")
    # With a memory of its own: what one request has fetched must neither pile up nor serve the next.
    fresh = Extractors(
        extractors.functions,
        timeout=extractors.timeout,
        retries=extractors.retries,
        wait=extractors.wait,
    )
    open_request = {"model": name, "budget": request["budget"]}
    opened = {
        i: await cases.open(who, {**open_request, "label": str(i), "key": str(i)}, f"{key}/{i}")
        for i in ids
    }
    answers = {i: await cases.view(who, json.loads(text)["id"]) for i, text in opened.items()}
    policy = cases.models.get(name).policy
    while any(answer["ask"] for answer in answers.values()):
        await _round(cases, policy, fresh, who, answers)
    return [{"of": i, **answers[i]} for i in ids]


async def _round(
    cases: Cases, policy: Policy, extractors: Extractors, who: Caller, answers: dict[Any, dict[str, Any]]
) -> None:  # fmt: skip
    """Fetch what is asked for now, feature by feature, and tell each case."""
    wanted: dict[Any, list[Any]] = {}
    for i, answer in answers.items():
        for item in answer["ask"]:
            wanted.setdefault(item["feature"], []).append(i)
    loop = asyncio.get_running_loop()
    values: dict[Any, dict[Any, Any]] = {i: {} for i in answers}
    for feature, of in wanted.items():
        try:
            fetch = partial(extractors.fetch, feature, of, policy.costs, policy.columns)
            found = await loop.run_in_executor(None, fetch)
        except Exception:  # the operator's function has failed for good: go on without it
            found = [UNAVAILABLE] * len(of)
        for i, value in zip(of, found, strict=True):
            values[i][feature] = value
    for i, told in values.items():
        if told:
            answer = answers[i]
            bare, paid = split_paid(told)
            request = {
                "seq": answer["seq"],
                "values": {str(name): _json(value) for name, value in bare.items()},
                "prices": None if paid is None else {str(n): float(p) for n, p in paid.items()},
            }
            text = await cases.tell(who, answer["id"], request, f"drive/{answer['seq']}")
            answers[i] = json.loads(text)


def _json(value: Any) -> Any:
    """A fetched value as a request would carry it."""
    if value is UNAVAILABLE:
        return {"unavailable": True}
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and math.isnan(value) else value
