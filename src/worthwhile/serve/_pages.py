"""Pages for people: forms that post and redirect, without any script.

Each form carries the idempotency key of its step, so that a second click or the back button changes
nothing, and a token against forms of other sites.
"""

from __future__ import annotations

import hmac
import json
import secrets
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from worthwhile.costs import as_float
from worthwhile.serve import _history as history
from worthwhile.serve import _operations as operations
from worthwhile.serve._errors import ServiceError
from worthwhile.serve._keys import STAYS, Caller
from worthwhile.serve._promises import check_model
from worthwhile.serve._text import place_of

router = APIRouter(include_in_schema=False)

COOKIE, LOCAL = "worthwhile_sign_in", "worthwhile_local"
DAYS = 30
LISTED = 200


class Visitor:
    """Whoever looks at a page: the caller, and the token that forms must carry."""

    def __init__(self, caller: Caller, csrf: str, cookie: str | None = None) -> None:
        self.caller, self.csrf, self.cookie = caller, csrf, cookie
        self.signed_in = bool(caller.id)


async def visitor(request: Request) -> Visitor:
    """The visitor behind the cookie; 401 if there is none and keys are needed."""
    keys = request.app.state.keys
    if not await keys.are_required():
        token = request.cookies.get(LOCAL)
        return Visitor(Caller(), token or secrets.token_urlsafe(16), None if token else LOCAL)
    found = await keys.browser(request.cookies.get(COOKIE))
    if found is None:
        raise ServiceError(401, "no_key", "sign in first.")
    return Visitor(*found)


async def form_of(request: Request, visitor: Visitor | None) -> dict[str, str]:
    """The fields of a form that came from one of our own pages."""
    origin = request.headers.get("origin")
    if origin not in (None, "null") and place_of(origin) != request.headers.get("host"):
        raise ServiceError(403, "foreign_form", "the form came from another site.")
    try:
        fields = dict(parse_qsl((await request.body()).decode("utf-8"), keep_blank_values=True))
    except ValueError:
        raise ServiceError(400, "bad_form", "the form cannot be read.") from None
    if any("\x00" in text for pair in fields.items() for text in pair):
        raise ServiceError(400, "bad_form", "the form has text that cannot be stored.")
    if visitor is not None and not hmac.compare_digest(
        fields.get("csrf", "").encode(), visitor.csrf.encode()
    ):
        raise ServiceError(
            403, "stale_form", "the form is too old, or came from another site: open the page anew."
        )
    return fields


Seen = Annotated[Visitor, Depends(visitor)]


@cache
def _templates() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("worthwhile.serve", "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["quanta"] = as_float
    environment.filters["money"] = lambda amount: f"{amount:,.2f}"
    environment.filters["percent"] = lambda share: f"{share:.0%}"
    environment.filters["when"] = lambda text: text[:16].replace("T", " ")
    return environment


def page(
    request: Request, name: str, visitor: Visitor | None, status: int = 200, **content: Any
) -> Response:
    """A page from its template."""
    shared = {
        "caller": None if visitor is None else visitor.caller,
        "csrf": "" if visitor is None else visitor.csrf,
        "signed_in": visitor is not None and visitor.signed_in,
    }
    html = _templates().get_template(name).render(**shared, **content)
    response = HTMLResponse(html, status_code=status)
    if visitor is not None and visitor.cookie is not None:
        _set_cookie(request, response, visitor.cookie, visitor.csrf)
    return response


def problem(request: Request, error: ServiceError) -> Response:
    """A refusal as a page."""
    return page(request, "problem.html", None, error.status, message=str(error))


def _set_cookie(request: Request, response: Response, name: str, value: str) -> None:
    response.set_cookie(
        name,
        value,
        max_age=int(STAYS.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=request.app.state.settings.secure_cookies,
    )


def _to(path: str) -> Response:
    return RedirectResponse(path, status_code=303)


# Signing in --------------------------------------------------------------------------------------


@router.get("/")
async def home() -> Response:
    """To the cases."""
    return _to("/cases")


@router.get("/sign-in")
async def ask_for_key(request: Request) -> Response:
    """The form for an API key."""
    return page(request, "sign_in.html", None, message="")


@router.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """Take a key, and set the cookie."""
    fields = await form_of(request, None)
    try:
        cookie, _ = await request.app.state.keys.sign_in(fields.get("key", "").strip())
    except ServiceError:
        text = "This key is not known here. Ask whoever runs the service for one."
        return page(request, "sign_in.html", None, 401, message=text)
    response = _to("/cases")
    _set_cookie(request, response, COOKIE, cookie)
    return response


@router.post("/sign-out")
async def sign_out(request: Request, seen: Seen) -> Response:
    """Forget the cookie, here and there."""
    await form_of(request, seen)
    if cookie := request.cookies.get(COOKIE):
        await request.app.state.keys.sign_out(cookie)
    response = _to("/sign-in")
    response.delete_cookie(COOKIE)
    return response


# Cases -------------------------------------------------------------------------------------------


@router.get("/cases")
async def list_cases(request: Request, seen: Seen) -> Response:
    """Open cases, and those that ended last."""
    state, sees = request.app.state, seen.caller.sees
    rows = {
        name: await state.database.read(
            lambda cursor, name=name: operations.list_cases(cursor, sees, name, LISTED)
        )
        for name in ("open", "done", "stopped")
    }
    ended = sorted(rows["done"] + rows["stopped"], key=lambda case: case.changed, reverse=True)
    return page(
        request, "cases.html", seen, opened=[_row(state, c) for c in rows["open"]],
        ended=[_row(state, c) for c in ended[:LISTED]], models=state.models.current,
    )  # fmt: skip


def _row(state: Any, case: Any) -> dict[str, Any]:
    return {**case._asdict(), "spent": as_float(case.spent)}


@router.get("/cases/new")
async def new_case(request: Request, seen: Seen) -> Response:
    """The form for a new case."""
    return _new(request, seen, {}, "")


def _new(request: Request, seen: Visitor, fields: dict[str, str], message: str) -> Response:
    return page(
        request, "new.html", seen, 422 if message else 200, models=request.app.state.models.current,
        fields=fields, message=message, key=fields.get("key") or secrets.token_urlsafe(12),
    )  # fmt: skip


@router.post("/cases/new")
async def open_case(request: Request, seen: Seen) -> Response:
    """Open a case, and show it."""
    fields = await form_of(request, seen)
    try:
        budget, prices = _number(fields.get("budget", "")), _prices(fields.get("prices", ""))
        answer = await request.app.state.cases.open(
            seen.caller,
            {
                "model": fields.get("model", ""),
                "budget": budget,
                "one_by_one": True,
                "prices": prices,
                "label": fields.get("label", "")[:200],
                "key": fields.get("key", "")[:200] or None,  # a coin that nobody can choose
            },
            fields.get("key") or None,
        )
    except (ServiceError, ValueError) as error:
        return _new(request, seen, fields, str(error))
    return _to(f"/cases/{json.loads(answer)['id']}")


@router.get("/cases/{case}")
async def show_case(case: str, request: Request, seen: Seen) -> Response:
    """A case: what it asks for, its answer so far, its bill."""
    return await _show(request, seen, case)


async def _show(
    request: Request, seen: Visitor, case: str, message: str = "", typed: str = ""
) -> Response:
    cases = request.app.state.cases
    answer = await cases.view(seen.caller, case)
    stored = await cases.stored(seen.caller, case)
    ledger = (await cases.ledger(seen.caller, case)).to_records()
    return page(
        request, "case.html", seen, 422 if message else 200, case=answer, stored=stored,
        ledger=ledger, message=message, typed=typed, key=secrets.token_urlsafe(12),
        classes=(await cases.model_of(seen.caller, case)).describe()["classes"],
    )  # fmt: skip


@router.post("/cases/{case}/tell")
async def tell(case: str, request: Request, seen: Seen) -> Response:
    """Take the answer of a person."""
    fields = await form_of(request, seen)
    typed = fields.get("value", "")
    try:
        value = _answered(fields)
        await request.app.state.cases.tell(
            seen.caller,
            case,
            {
                "seq": int(fields.get("seq", "0")),
                "values": {fields.get("feature", ""): value},
                "prices": None,
            },
            fields.get("key") or secrets.token_urlsafe(12),
        )
    except ServiceError as error:
        if error.code in ("wrong_seq", "key_reused", "case_closed"):
            text = "This step was answered before. The case stands as shown; nothing was changed."
            return await _show(request, seen, case, text)
        if error.code != "bad_value":
            raise
        return await _show(request, seen, case, str(error), typed)
    except ValueError as error:
        return await _show(request, seen, case, str(error), typed)
    return _to(f"/cases/{case}")


@router.post("/cases/{case}/stop")
async def stop(case: str, request: Request, seen: Seen) -> Response:
    """End a case early."""
    fields = await form_of(request, seen)
    try:
        await request.app.state.cases.stop(
            seen.caller,
            case,
            {"seq": int(fields.get("seq", "0"))},
            fields.get("key") or secrets.token_urlsafe(12),
        )
    except (ServiceError, ValueError):
        text = (
            "The case has moved on meanwhile: look at it, and stop it again if you still want to."
        )
        return await _show(request, seen, case, text)
    return _to(f"/cases/{case}")


def _answered(fields: dict[str, str]) -> Any:
    """What a person answered: by a button, or in the field."""
    how = fields.get("how", "value")
    if how == "empty":
        return None
    if how == "unavailable":
        return {"unavailable": True}
    text = fields.get("value", "").strip()
    if fields.get("type") in ("number", "duration"):
        number = _number(text)
        if number is None:
            raise ValueError("Type a number, or use one of the other buttons.")
        return number
    if not text:
        raise ValueError("Type an answer, or use one of the other buttons.")
    return text


def _number(text: str) -> float | None:
    """A number as people write it, with a point or a comma; None if the field is empty."""
    text = text.strip()
    if not text:
        return None
    try:
        return float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number.") from None


def _prices(text: str) -> dict[str, float]:
    """Prices of today as people write them: a line each, name and amount with a colon between."""
    found = {}
    for line in filter(str.strip, text.splitlines()):
        name, _, amount = line.rpartition(":")
        try:
            price = _number(amount) if name.strip() else None
        except ValueError:
            price = None
        if price is None:
            raise ValueError(
                f"{line.strip()!r} is no price: write 'name: amount', one on each line."
            )
        found[name.strip()] = price
    return found


@router.post("/cases/{case}/truth")
async def set_truth(case: str, request: Request, seen: Seen) -> Response:
    """Take how a case came out."""
    fields = await form_of(request, seen)
    text = fields.get("truth", "").strip()
    cases = request.app.state.cases
    try:
        if not text:
            raise ValueError("Say how it came out first.")
        model = await cases.model_of(seen.caller, case)
        number = model.policy.output.classes is None
        await cases.set_truth(seen.caller, case, _number(text) if number else text)
    except ServiceError as error:
        if error.code != "bad_truth":
            raise
        return await _show(request, seen, case, str(error))
    except ValueError as error:
        return await _show(request, seen, case, str(error))
    return _to(f"/cases/{case}")


# Looking back ------------------------------------------------------------------------------------


@router.get("/spend")
async def spend(request: Request, seen: Seen) -> Response:
    """What was spent in the last days, by day, model and feature."""
    since = (datetime.now(UTC) - timedelta(days=DAYS)).date().isoformat()
    tables = {}
    for what in ("day", "model", "feature"):
        rows = await request.app.state.database.read(
            lambda cursor, what=what: history.spend_by(cursor, what, seen.caller.sees, since)
        )
        largest = max((int(amount) for _, amount, _ in rows), default=0) or 1
        tables[what] = [
            {
                "name": name or "evaluations",
                "amount": as_float(int(amount)),
                "count": count,
                "width": round(100 * int(amount) / largest, 1),
            }
            for name, amount, count in rows[:60]
        ]
    return page(request, "spend.html", seen, tables=tables, since=since)


@router.get("/promise")
async def promise(request: Request, seen: Seen) -> Response:
    """Whether each model keeps what it promised at training."""
    state = request.app.state
    found = {
        model.name: await check_model(state.database, model, seen.caller.sees)
        for model in state.models.current
    }
    return page(request, "promise.html", seen, found=found)
