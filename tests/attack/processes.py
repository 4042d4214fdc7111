"""Attack on files from several processes: races, kills, full disks, closed folders, pipes, Ctrl-C.

Every attack takes an empty folder and a seed, and fails with an AssertionError if something is lost
or broken. The moments of kills are random and cannot be repeated; what is promised holds at any of
them. The long mode is ``python -m benchmarks.attack.processes``.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from tests.attack import process_work as work
from worthwhile import Session, datasets
from worthwhile._writing import STALE
from worthwhile.persist import load_policy

Attack = Callable[[Path, int], None]

READY = """
import sys
from worthwhile.cli import main
print("ready", file=sys.stderr, flush=True)
main()
"""
"""From here on Ctrl-C is ours; before, the interpreter itself is still starting."""


@cache
def _context() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.attack.process_work"])
    return context


def _start(function: Any, *arguments: Any) -> Any:
    process = _context().Process(target=function, args=arguments, daemon=True)
    process.start()
    return process


def _kill(chance: random.Random, longest: float, function: str, *arguments: Any) -> None:
    """Kill a process some time after it has begun."""
    started = _context().Event()
    process = _start(work.begin, started, function, *arguments)
    assert started.wait(60)
    time.sleep(chance.uniform(0, longest))
    process.kill()
    process.join()


def _check_saved(path: Path, contents: list[bytes]) -> None:
    """The file is one of these; what a killed process left is removed once it is old."""
    assert path.read_bytes() in contents, "the file is neither the old one nor a new one"
    others = [p for p in path.parent.iterdir() if p != path]
    assert all(p.name.startswith(f".{path.name}.") for p in others), others
    for part in others:
        os.utime(part, (time.time() - STALE - 60,) * 2)
    path.write_bytes(contents[0])
    work.models()[1].save(path)
    assert os.listdir(path.parent) == [path.name]


def _model_bytes(folder: Path) -> list[bytes]:
    contents = []
    for model in work.models():
        model.save(folder / "model")
        contents.append((folder / "model").read_bytes())
    return contents


# Kills -------------------------------------------------------------------------------------------


def killed_save(folder: Path, seed: int) -> None:
    """The old file or a new one is there, whole."""
    contents, chance = _model_bytes(folder), random.Random(seed)
    _kill(chance, 0.05, "save", folder / "model")
    _check_saved(folder / "model", contents)


def killed_append(folder: Path, seed: int) -> None:
    """A journal keeps every unit that was finished, and goes on behind the last."""
    path, chance, done = folder / "journal", random.Random(seed), _context().Value("q", 0)
    for _ in range(2):
        _kill(chance, 0.05, "append", path, done)
        units = work.open_journal(path).units
        assert len(units) in (done.value, done.value + 1), "a finished unit is lost"
        assert units == {str(n): work.unit(n) for n in range(len(units))}
        done.value = len(units)


def killed_search(folder: Path, seed: int) -> None:
    """A search goes on where it was and ends where it would have ended."""
    path, chance = folder / "journal", random.Random(seed)
    counts = [_context().Value("q", 0) for _ in range(3)]
    expected = work.found_by(work.search(None, fits=counts[0]))
    _kill(chance, 0.3, "search", path, 0.005, counts[1])
    kept = max(0, path.read_bytes().count(b"\n") - 1) if path.exists() else 0
    assert work.found_by(work.search(path, fits=counts[2])) == expected
    assert counts[2].value == counts[0].value - kept, "models in the journal were trained again"
    units = path.read_bytes().count(b"\n") - 1  # the last models are trained on all rows, not kept
    assert kept >= min(counts[1].value, units) - 1, "more than the model in work is lost"


def killed_ask(folder: Path, seed: int) -> None:
    """A stored session is whole, and goes on to the same answer."""
    model, session, chance = folder / "model", folder / "session.json", random.Random(seed)
    work.models()[1].save(model)
    _kill(chance, 0.1, "ask", model, session)
    _check_session(model, session)


def _check_session(model: Path, path: Path) -> None:
    """What is stored can be gone on with, to the answer of a session that was never stored."""
    policy = load_policy(model)
    undisturbed = Session(policy, one_by_one=True)
    case = undisturbed
    if path.exists():
        case = Session.from_dict(policy, json.loads(path.read_text()))
    for either in (undisturbed, case):
        while wanted := either.ask():
            either.tell(dict.fromkeys(wanted, 0.5))
    assert case.spent == undisturbed.spent
    assert case.prediction == undisturbed.prediction
    assert case.ledger.entries == undisturbed.ledger.entries


# Races -------------------------------------------------------------------------------------------


def race_of_saves(folder: Path, seed: int) -> None:
    """Two processes save, a third reads a whole file each time; then one is killed."""
    contents, found = _model_bytes(folder), _context().Value("q", 0)
    savers = [_start(work.save, folder / "model") for _ in range(2)]
    reader = _start(work.read, folder / "model", 0.5, found)
    reader.join()
    for saver in savers:
        saver.kill()
        saver.join()
    assert reader.exitcode == 0, "a reader found a broken file"
    assert found.value
    _check_saved(folder / "model", contents)


def race_of_searches(folder: Path, seed: int) -> None:
    """Three searches share a journal."""
    path = folder / "journal"
    searches = [_start(work.search, path, 0.002) for _ in range(3)]
    for process in searches:
        process.join()
    assert [process.exitcode for process in searches] == [0, 0, 0]
    assert work.found_by(work.search(path)) == work.found_by(work.search(None))


def race_of_sessions(folder: Path, seed: int) -> None:
    """Two people walk the same case: whoever stores last, the file is one of the two."""
    model, session = folder / "model", folder / "session.json"
    work.models()[1].save(model)
    askers = [_start(work.ask, model, session) for _ in range(2)]
    for process in askers:
        process.join()
    assert [process.exitcode for process in askers] == [0, 0]
    _check_session(model, session)


# No room, no right -------------------------------------------------------------------------------


def _outcome(how: Any, *arguments: Any) -> tuple[str, Any]:
    """What a function did in another process: "returned" and what, or an error and its text."""
    ours, theirs = _context().Pipe(duplex=False)
    process = _start(how, theirs, *arguments)
    theirs.close()
    found: tuple[str, Any] = ours.recv()
    process.join()
    return found


def full_disk(folder: Path, seed: int) -> None:
    """A clear error, and what was there stays: a model, predictions, a journal."""
    model, answers, journal = folder / "model", folder / "answers.csv", folder / "journal"
    contents, limit = _model_bytes(folder), random.Random(seed).randrange(1, 2000)
    error, said = _outcome(work.within, limit, "save", model, False)
    assert (error, str(model) in said) == ("OSError", True), (error, said)
    assert model.read_bytes() == contents[1]
    answers.write_text("old")
    data = write_table(folder / "data.csv", 10)
    call = ("command", "predict", model, data, "-o", answers, "--force")
    _, (code, said) = _outcome(work.within, min(limit, 500), *call)
    assert code == 2, said
    assert "too large" in said
    assert answers.read_text() == "old"
    work.open_journal(journal).add("0", "whole")
    whole = journal.read_bytes()
    error, said = _outcome(work.within, len(whole) + limit, "append", journal, None)
    assert error == "OSError", (error, said)
    assert journal.read_bytes() == whole
    assert sorted(os.listdir(folder)) == ["answers.csv", "data.csv", "journal", "model"]


def closed_folder(folder: Path, seed: int) -> None:
    """A clear error, and what was there stays."""
    [content, _], model = _model_bytes(folder), folder / "model"
    model.write_bytes(content)
    folder.chmod(0o555)
    try:
        error, said = _outcome(work.as_nobody, model, "save", model, False)
        _, (code, told) = _outcome(
            work.as_nobody, model, "command", "ask", model, "--session", folder / "session.json"
        )
    finally:
        folder.chmod(0o755)
    assert error == "PermissionError", (error, said)
    assert code == 2, told
    assert "cannot be written into" in said + told
    assert model.read_bytes() == content
    assert os.listdir(folder) == ["model"]


# The command line, in processes of its own ---------------------------------------------------------


def write_table(path: Path, times: int) -> Path:
    """Rows of the heart data, several times over, with the target."""
    heart = datasets.load_heart()
    frame = heart.data.assign(disease=heart.target)
    path.write_text(frame.to_csv(index=False))
    rows = frame.to_csv(index=False, header=False)
    with path.open("a") as file:
        file.write(rows * (times - 1))
    return path


def _run(*arguments: Any, **how: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", READY, *map(str, arguments)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **how)


def broken_pipe(folder: Path, seed: int) -> None:
    """A reader that leaves ends a command quietly."""
    work.models()[0].save(folder / "model")
    data = write_table(folder / "data.csv", 40)
    commands = (
        ("predict", folder / "model", data, "-o", "/dev/stdout"),
        ("info", folder / "model"),
        ("info", folder / "model", "--json"),
    )
    process = _run(*commands[seed % len(commands)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    if seed % 2 == 0:
        process.stdout.readline()
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read()
    assert process.wait() in (0, 1), said
    for word in ("Traceback", "Error", "ignored"):
        assert word not in said, said


COMMANDS: dict[str, tuple[str, ...]] = {
    "predict": ("predict", "model", "data.csv", "-o", "out"),
    "fit": ("fit", "data.csv", "--target", "disease", "--budget", "60", "--method", "greedy-miser",
            "-o", "out"),
    "compare": ("compare", "data.csv", "--target", "disease", "--method", "decision-tree", "--effort", "3",
                "--splits", "1", "--budget", "20", "-o", "out"),
}  # fmt: skip


def interrupted(folder: Path, seed: int, longest: float = 6.0) -> None:
    """Ctrl-C at any moment: exit code 130 or a clean end, no traceback, a whole output or none."""
    chance = random.Random(seed)
    command = COMMANDS[chance.choice(list(COMMANDS))]
    work.models()[0].save(folder / "model")
    write_table(folder / "data.csv", 20 if command[0] == "predict" else 1)
    process = _run(*command, cwd=folder, stdout=subprocess.DEVNULL)
    assert process.stderr is not None
    assert process.stderr.readline() == "ready\n"
    time.sleep(chance.uniform(0, 1) ** 2 * longest)
    process.send_signal(signal.SIGINT)
    said = process.stderr.read()
    code = process.wait()
    assert code in (0, 130), f"{command[0]} ends with {code}: {said}"
    assert "Traceback" not in said, said
    left = sorted(os.listdir(folder))
    assert left in (["data.csv", "model"], ["data.csv", "model", "out"]), left
    if "out" in left:
        _check_output(command[0], folder / "out")


def _check_output(command: str, path: Path) -> None:
    if command == "fit":
        load_policy(path)
    elif command == "compare":
        json.loads(path.read_text())
    else:
        assert path.read_text().count("\n") == 1 + 20 * len(datasets.load_heart().target)


KILLS: tuple[Attack, ...] = (killed_save, killed_append, killed_search, killed_ask)
RACES: tuple[Attack, ...] = (race_of_saves, race_of_searches, race_of_sessions)
REFUSALS: tuple[Attack, ...] = (full_disk, closed_folder)
LINES: tuple[Attack, ...] = (broken_pipe, interrupted)
