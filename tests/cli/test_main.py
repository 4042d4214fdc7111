"""The entry point: Ctrl-C while it is loading, readers that leave, exit codes."""

from __future__ import annotations

import signal
import subprocess
import sys
import types
from pathlib import Path

import pytest

from worthwhile import cli
from worthwhile.cli._terminal import explained


@pytest.fixture(autouse=True)
def _restored():
    handler = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, handler)


def ending(monkeypatch, what):
    """Exit code of the command where the application does this."""

    def app():
        raise what

    monkeypatch.setitem(sys.modules, "worthwhile.cli._app", types.SimpleNamespace(app=app))
    with pytest.raises(SystemExit) as end:
        cli.main()
    return end.value.code


@pytest.mark.parametrize("code", [0, 1, 2, 130])
def test_exit_codes_are_those_of_the_command(monkeypatch, code):
    assert ending(monkeypatch, SystemExit(code)) == code


def test_ctrl_c_outside_of_a_command_is_no_error(monkeypatch, capsys):
    assert ending(monkeypatch, KeyboardInterrupt()) == 130
    assert capsys.readouterr().err == ""
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN, (
        "at its end nothing can be interrupted"
    )


def test_loading_the_entry_point_loads_nothing_that_takes_time():
    code = "import sys, worthwhile.cli; print({'typer', 'rich', 'numpy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_reader_that_leaves_is_no_error_of_the_user():
    with pytest.raises(BrokenPipeError), explained():
        raise BrokenPipeError


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no device that is always full")
def test_standard_output_that_is_full_is_said_in_a_line():
    command = f"{sys.executable} -m worthwhile --version > /dev/full"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "Error: No space left on device.\n"
