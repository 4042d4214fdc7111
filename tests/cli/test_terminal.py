"""`worthwhile ask` in a real terminal: left with Ctrl-C, resumed, and answered to the end."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time

import pytest

import worthwhile

pty = pytest.importorskip("pty")  # a terminal as POSIX has it
fcntl, termios = pytest.importorskip("fcntl"), pytest.importorskip("termios")


def _listen_to_ctrl_c():
    """Own the terminal, and hear its Ctrl-C also where the tests run in the background."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """A command on a pseudo-terminal: read what it shows, type what a person would."""

    def __init__(self, *arguments):
        self._ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "worthwhile", *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            preexec_fn=_listen_to_ctrl_c,
            env=os.environ | {"COLUMNS": "100", "TERM": "dumb"},
        )  # fmt: skip
        os.close(theirs)
        self.shown = ""

    def wait_for(self, text, or_else=None):
        """Read until the text was shown and forget all up to it; False if the other came instead."""
        end = time.monotonic() + 60
        while text not in self.shown:
            if or_else is not None and or_else in self.shown:
                return False
            assert time.monotonic() < end, f"waited for {text!r}, saw {self.shown!r}"
            if select.select([self._ours], [], [], 0.2)[0]:
                try:
                    self.shown += os.read(self._ours, 4096).decode()
                except OSError:  # the other end is closed
                    raise AssertionError(f"ended without {text!r}: {self.shown!r}") from None
        self.shown = self.shown.partition(text)[2]
        return True

    def type(self, text):
        os.write(self._ours, text.encode())

    def interrupt(self):
        """Type Ctrl-C until it ends: one that comes before the prompt reads may be lost."""
        for _ in range(20):
            self.type("\x03")
            time.sleep(1)
            if self.process.poll() is not None:
                return

    def close(self):
        code = self.process.wait(timeout=60)
        os.close(self._ours)
        return code


@pytest.fixture
def model(tmp_path):
    heart = worthwhile.datasets.load_heart()
    path = tmp_path / "heart.worthwhile"
    worthwhile.GreedyMiserClassifier(costs=heart.costs, lam=1e-3, n_rounds=30).fit(
        heart.data, heart.target
    ).save(path)
    return path


def test_a_person_leaves_with_ctrl_c_and_goes_on(model, tmp_path):
    kept = tmp_path / "patient.json"
    first = Terminal("ask", model, "--session", kept)
    first.wait_for("cp (1.00 CAD")
    first.type("4\n")
    first.wait_for("1.00 CAD spent")
    first.type("much\n")
    first.wait_for("not a number")
    first.wait_for("for it): ")
    first.interrupt()
    first.wait_for("Go on with: worthwhile ask")
    assert first.close() == 130
    assert kept.exists()

    second = Terminal("ask", model, "--session", kept)
    second.wait_for("Resumed from")
    second.wait_for("1.00 CAD spent")
    second.wait_for("for it): ")
    second.type("unknown\n")
    second.wait_for("2.00 CAD spent")
    while second.wait_for("for it): ", "total"):
        second.type("na\n")
    second.wait_for("2 CAD")
    assert second.close() == 0
