"""What attacked processes do. They are forked from one that has imported this module, so each costs little."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import resource
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

from sklearn.tree import DecisionTreeClassifier

from tests.frontier.buyers import Buyer, rows
from worthwhile import BudgetSearchCV, PricedModel, datasets
from worthwhile.cli import app
from worthwhile.frontier._journal import Journal
from worthwhile.persist import load_policy

IDENTITY = {"X": "1"}
BUDGET = 60


@cache
def models() -> tuple[PricedModel, PricedModel]:
    """Two models whose files differ in length."""
    heart = datasets.load_heart()
    trees = [DecisionTreeClassifier(max_depth=d, random_state=0) for d in (3, 9)]
    first, second = (PricedModel(t.fit(heart.data, heart.target), heart.costs) for t in trees)
    return first, second


def save(path: Path, often: bool = True) -> None:
    """Save one model and the other, for ever or once."""
    for model in itertools.cycle(models()):
        model.save(path)
        if not often:
            return


def read(path: Path, seconds: float, found: Any) -> None:
    """Read a model file that others replace."""
    end, bills = time.monotonic() + seconds, [policy_bill(m.policy_) for m in models()]
    while time.monotonic() < end:
        assert policy_bill(load_policy(path)) in bills
        found.value += 1


def policy_bill(policy: Any) -> tuple[int, ...]:
    """Something that tells the two models apart."""
    return tuple(policy.reads.tolist())


def append(path: Path, done: Any) -> None:
    """Append to a journal, and count what is kept."""
    journal = open_journal(path)
    for number in itertools.count(len(journal.units)):
        journal.add(str(number), unit(number))
        done.value = number + 1


def unit(number: int) -> str:
    """A result so large that a kill may come in the middle of writing it."""
    return str(number % 10) * 4_000_000


def open_journal(path: Path) -> Journal:
    """The journal that :func:`append` writes."""
    return Journal(path, IDENTITY, lambda result: isinstance(result, str))


def search(path: Path | None, pause: float = 0.0, fits: Any = None) -> BudgetSearchCV:
    """A search whose models take a while each, and are counted."""
    fit = Buyer.fit

    def slow(self: Any, X: Any, y: Any, sample_weight: Any = None) -> Any:
        time.sleep(pause)
        if fits is not None:
            fits.value += 1
        return fit(self, X, y, sample_weight)

    Buyer.fit = slow
    try:
        return BudgetSearchCV(Buyer(), 0.6, cv=3, resume=path).fit(*rows())
    finally:
        Buyer.fit = fit


def found_by(search: BudgetSearchCV) -> tuple[Any, ...]:
    """What two searches must agree in."""
    return search.frontier_.to_dict(), search.best_params_, search.best_bound_


def ask(model: Path, session: Path) -> None:
    """Walk a case through a model on the command line; every answer is the same."""
    command("ask", model, "--session", session, "--json", answers="0.5\n" * 40)


def command(*arguments: Any, answers: str = "") -> tuple[int, str]:
    """Run the command line in this process: exit code, and what was said on both streams."""
    from worthwhile.cli import _terminal

    said = io.StringIO()
    sys.stdin = io.StringIO(answers)
    _terminal.notes.file = _terminal.out.file = said
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            app([str(a) for a in arguments])
        except SystemExit as end:
            return int(end.code or 0), said.getvalue()
    return 0, said.getvalue()


def within(result: Any, limit: int, function: str, *arguments: Any) -> None:
    """Call a function of this module in a process whose files may have ``limit`` bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    _report(result, function, *arguments)


def as_nobody(result: Any, model: Path, function: str, *arguments: Any) -> None:
    """Call a function of this module in a process that may not do everything."""
    models()[0].save(os.devnull)
    command("ask", model)  # nobody may not be allowed to import what these need
    if os.geteuid() == 0:
        os.setuid(65534)
    _report(result, function, *arguments)


def _report(result: Any, function: str, *arguments: Any) -> None:
    try:
        result.send(("returned", globals()[function](*arguments)))
    except Exception as error:
        result.send((type(error).__name__, str(error)))


def begin(started: Any, function: str, *arguments: Any) -> None:
    """Call a function of this module, and say that it begins: kills wait for that."""
    started.set()
    globals()[function](*arguments)


models()  # before the fork, so that processes find them ready
