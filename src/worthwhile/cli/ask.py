"""``worthwhile ask``: one case in the terminal; it asks for the next value and says what it costs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.panel import Panel
from rich.prompt import Prompt
from rich.text import Text

from worthwhile._writing import write_whole
from worthwhile.cli._codes import INTERRUPTED
from worthwhile.cli._options import Model, Today, Unavailable, read_request
from worthwhile.cli._terminal import explained, fail, money, notes, out, print_json
from worthwhile.exceptions import SessionError

WORDS = {"unknown": None, "?": None, "empty": None}
GONE = {"na", "n/a", "none", "not available", "-"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(ask)


def ask(
    model: Model,
    budget: Annotated[float | None, typer.Option(help="Never spend more than this.")] = None,
    session: Annotated[
        Path | None,
        typer.Option(
            help="Keep the session in this file after every step, and resume it from there."
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            help="What tells the case from others: models that mix two toss their coin by it."
        ),
    ] = None,
    price: Today = None,
    unavailable: Unavailable = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the result as JSON at the end.")
    ] = False,
) -> None:
    """Walk one case through a model: it asks, you answer, it keeps the bill.

    Answer with a number, a date such as 1980-05-01, or one of the choices, by its number or its text;
    [bold]unknown[/bold] if it was asked for and came back empty (it is paid),
    or [bold]na[/bold] if it cannot be had (it is not paid).
    Ctrl-C leaves; with --session the same command goes on where it stopped.

    Example: worthwhile ask model.worthwhile --budget 120 --session patient-17.json
    """
    from worthwhile.persist import load_policy

    with explained():
        if sys.stdin is None or sys.stdin.closed:
            fail("standard input is closed, so that nothing can be answered: run it in a terminal.")
        policy = load_policy(model)
        request = read_request(policy.costs, price, unavailable)
        case = _open(policy, budget, session, {**request, "key": key})
        try:
            _drive(case, session)
        except (KeyboardInterrupt, EOFError):
            kept = f" Go on with: worthwhile ask {model} --session {session}" if session else ""
            notes.print(f"\nLeft after {money(case.spent, policy.costs.unit)}.{kept}")
            raise typer.Exit(INTERRUPTED) from None
        _conclude(case, as_json)


def _open(policy: Any, budget: float | None, path: Path | None, request: dict[str, Any]) -> Any:
    from worthwhile.runtime import Session

    if path is None or not path.exists():
        return Session(policy, budget=budget, one_by_one=True, **request)
    if budget is not None:
        raise ValueError(
            f"{path} holds a session with its own budget: leave --budget out to resume it."
        )
    if request["prices"] or request["unavailable"]:
        raise ValueError(
            f"{path} holds a session with its own prices: leave --price and --unavailable out to resume it."
        )
    if request["key"] is not None:
        raise ValueError(f"{path} holds a session with its own key: leave --key out to resume it.")
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise ValueError(
            f"{path} is not a stored session: give a new file name to start one."
        ) from None
    case = Session.from_dict(policy, stored)
    notes.print(f"Resumed from {path}: {money(case.spent, policy.costs.unit)} spent so far.")
    return case


def _keep(case: Any, path: Path | None) -> None:
    if path is not None:
        write_whole(path, json.dumps(case.to_dict()))


def _drive(case: Any, path: Path | None) -> None:
    """Ask until the model knows enough."""
    unit = case.policy.costs.unit
    while wanted := case.ask():
        name = wanted[0]
        _keep(case, path)
        left = "" if case.budget is None else f", {money(case.budget - case.spent, unit)} left"
        why = case.why(name)
        notes.print(f"{_so_far(case)}; {money(case.spent, unit)} spent{left}", style="dim")
        _list_choices(case, name)
        answer = Prompt.ask(
            Text.assemble((str(name), "bold"), f" ({money(case.quote(name), unit)}; {why})"),
            console=notes,
        )
        try:
            case.tell({name: _value(answer, case, name)})
        except (SessionError, ValueError) as error:
            notes.print(_refused(error, name), style="red")
            continue
        _keep(case, path)


def _refused(error: Exception, name: Any) -> str:
    """Why an answer was not taken, in the words of this terminal."""
    from worthwhile.columns import UnknownValue

    why = error.__context__  # what the column said, before the session spoke of NaN and UNAVAILABLE
    if not isinstance(why, UnknownValue):
        return str(error)
    return f"{name} {why}, 'unknown' if it came back empty, 'na' if it cannot be had."


def _list_choices(case: Any, name: Any) -> None:
    """The values of a category, numbered."""
    for number, choice in enumerate(case.choices(name) or (), start=1):
        notes.print(f"  {number:3d}  {choice}")


def _value(answer: str, case: Any, name: Any) -> Any:
    """What was typed as a value of the column."""
    from worthwhile.runtime import UNAVAILABLE

    text = answer.strip()
    choices = case.choices(name)
    if choices is not None and (chosen := _chosen(text, choices)) is not None:
        return chosen
    if text.lower() in GONE:
        return UNAVAILABLE
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    if choices is not None or case.kind(name) not in ("number", "duration"):
        return text  # the column reads it, or says what it reads
    try:
        return float(text)
    except ValueError:
        raise ValueError(
            f"{answer!r} is not a number: answer with a number, 'unknown' or 'na'."
        ) from None


def _chosen(text: str, choices: list[Any]) -> Any:
    """A choice by its text, else by its number in the list; None if it is neither."""
    for choice in choices:
        if str(choice) == text:
            return choice
    if text.isdecimal() and 1 <= int(text) <= len(choices):
        return choices[int(text) - 1]
    return next((choice for choice in choices if str(choice).lower() == text.lower()), None)


def _so_far(case: Any) -> str:
    output = case.policy.output
    if output.has_probabilities:
        return f"so far: {case.prediction} ({case.probabilities.max():.0%})"
    return f"so far: {case.prediction}"


def _conclude(case: Any, as_json: bool) -> None:
    if as_json:
        probabilities = case.probabilities if case.policy.output.has_probabilities else None
        print_json(
            {
                "prediction": case.prediction,
                "probabilities": probabilities,
                "key": case.key,
                "spent": case.spent,
                "ledger": case.ledger.to_records(),
            }
        )
        return
    title = Text(_so_far(case).replace("so far", "answer"))  # a panel reads markup even so
    out.print(Panel(str(case.ledger), title=title, expand=False))
