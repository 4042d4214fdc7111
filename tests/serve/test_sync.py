"""On disk before it is answered: seen from outside, in the system calls of the running service."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time

import pytest

from tests.attack.service import Service
from worthwhile.client import Client

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")

SYNCED = re.compile(r"(fsync|fdatasync)(\(\d+\)| resumed>\)?).*= 0")
REQUEST, ANSWER = re.compile(r'"POST /v1/'), re.compile(r'"HTTP/1\.1 20[01] ')


def watch(service, log):
    """strace on a running process, once it says so."""
    calls = "trace=fsync,fdatasync,read,recvfrom,write,writev,sendto,sendmsg"
    words = ["strace", "-f", "-s", "40", "-e", calls, "-o", str(log), "-p", str(service.pid)]
    watcher = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert watcher.stderr is not None
    line = watcher.stderr.readline()
    if "attached" not in line:
        watcher.wait(60)
        pytest.skip(f"strace may not watch here: {line.strip()}")
    time.sleep(0.5)  # its threads, too
    return watcher


def test_every_step_is_synced_between_its_request_and_its_answer(tmp_path, model_file, heart):
    service = Service(model_file, str(tmp_path / "cases.db"), tmp_path)
    service.start()
    steps = 0
    try:
        watcher = watch(service, tmp_path / "calls")
        with Client(service.url, timeout=60.0) as client:
            for row in range(6):
                case = client.open("heart", one_by_one=True)
                steps += 1
                while case.ask:
                    (name,) = case.ask
                    case.tell({name: float(heart.data[name].iloc[row])})
                    steps += 1
        watcher.send_signal(signal.SIGINT)
        watcher.wait(60)
    finally:
        service.kill(signal.SIGTERM)
    answered, synced = 0, False
    for line in (tmp_path / "calls").read_text().splitlines():
        if REQUEST.search(line):
            synced = False
        elif SYNCED.search(line):
            synced = True
        elif ANSWER.search(line):
            assert synced, f"step {answered} was answered before it was on disk"
            answered += 1
    assert answered == steps > 20
