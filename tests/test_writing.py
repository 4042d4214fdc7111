"""Files are whole or not there: races, kills, full disks, links, devices, modes."""

from __future__ import annotations

import contextlib
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import threading
import time

import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import worthwhile
from worthwhile._writing import STALE, check_target, is_stream, open_whole, write_whole
from worthwhile.cli import ask
from worthwhile.report import _page, write_report

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="links, pipes and modes as POSIX has them"
)

WRITER = """
import sys
from worthwhile._writing import write_whole
path, letter = sys.argv[1:]
for _ in range(60):
    write_whole(path, letter * 300_000)
"""

KILLED = """
import sys, time
from worthwhile._writing import open_whole
with open_whole(sys.argv[1]) as file:
    file.write(b"half of it")
    file.flush()
    print("ready", flush=True)
    time.sleep(600)
"""

FULL = """
import resource, sys
from worthwhile._writing import write_whole
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_whole(sys.argv[1], "x" * 100_000)
except OSError as error:
    print(error)
"""

STDOUT = """
from worthwhile._writing import write_whole
print("before", flush=True)
write_whole("/dev/stdout", "in between\\n")
print("after", flush=True)
"""


def run(code, *arguments, **how):
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)], text=True, stdout=subprocess.PIPE, **how
    )


@contextlib.contextmanager
def umask(mask):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_processes_that_write_at_once_never_show_half_a_file(tmp_path):
    path = tmp_path / "model"
    write_whole(path, "a" * 300_000)
    writers = [run(WRITER, path, letter) for letter in "bcd"]
    seen, reads = set(), 0
    while any(writer.poll() is None for writer in writers):
        content = path.read_text()
        assert len(content) == 300_000
        assert content == content[0] * 300_000
        seen.add(content[0])
        reads += 1
    for writer in writers:
        writer.stdout.close()
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    assert os.listdir(tmp_path) == ["model"]
    assert len(seen) > 1, f"{reads} reads saw no replacement"


def test_a_killed_process_leaves_the_old_file_and_its_part_is_removed_later(tmp_path):
    path = tmp_path / "model"
    path.write_text("old")
    process = run(KILLED, path)
    assert process.stdout.readline() == "ready\n"
    process.kill()
    process.wait()
    process.stdout.close()
    assert path.read_text() == "old"
    [left] = set(os.listdir(tmp_path)) - {"model"}
    assert left.startswith(".model.")
    assert left.endswith(".part")
    beside = tmp_path / f"{left[:-5]}.more.part"  # of a file called model.<number>.more
    beside.write_text("")
    write_whole(path, "new")
    assert (tmp_path / left).exists(), "it may belong to a process that still writes"
    long_ago = time.time() - STALE - 60
    for part in (tmp_path / left, beside):
        os.utime(part, (long_ago, long_ago))
    write_whole(path, "newer")
    assert path.read_text() == "newer"
    assert set(os.listdir(tmp_path)) == {"model", beside.name}


@pytest.mark.parametrize("old", [None, "old"])
def test_a_full_disk_leaves_what_was_there(tmp_path, old):
    path = tmp_path / "model"
    if old is not None:
        path.write_text(old)
    process = run(FULL, path)
    said, _ = process.communicate()
    assert str(path) in said, "which file did not fit?"
    assert "large" in said
    assert [p.read_text() for p in tmp_path.iterdir()] == ([] if old is None else ["old"])


@pytest.mark.parametrize("stopped", [KeyboardInterrupt, SystemExit, ValueError])
def test_whatever_stops_the_writing_leaves_what_was_there(tmp_path, stopped):
    path = tmp_path / "model"
    path.write_text("old")

    def write():
        with open_whole(path, text=True) as file:
            file.write("half")
            raise stopped

    with pytest.raises(stopped):
        write()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model"]


def test_the_bytes_are_on_disk_before_the_name_and_the_name_before_the_return(
    tmp_path, monkeypatch
):
    done = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(handle):
        done.append(
            "folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else os.fstat(handle).st_size
        )
        fsync(handle)

    def note_replace(*paths):
        done.append("replace")
        replace(*paths)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    write_whole(tmp_path / "model", "12345")
    assert done == [5, "replace", "folder"]


def test_a_new_file_has_the_mode_of_the_umask_and_an_old_one_keeps_its_own(tmp_path):
    path = tmp_path / "model"
    with umask(0o027):
        write_whole(path, "new")
        assert mode(path) == 0o640
        path.chmod(0o604)
        write_whole(path, "newer")
    assert mode(path) == 0o604


def test_links_are_followed_and_stay(tmp_path):
    there, here = tmp_path / "there", tmp_path / "here"
    there.mkdir()
    here.mkdir()
    (there / "model").write_text("old")
    (there / "second").symlink_to("model")
    (here / "link").symlink_to("../there/second")
    (here / "dangling").symlink_to(there / "not yet")
    write_whole(here / "link", "new")
    write_whole(here / "dangling", "made")
    assert (here / "link").is_symlink()
    assert (there / "second").is_symlink()
    assert (there / "model").read_text() == "new"
    assert (there / "not yet").read_text() == "made"
    assert sorted(os.listdir(here)) == ["dangling", "link"]
    assert sorted(os.listdir(there)) == ["model", "not yet", "second"]


def test_a_circle_of_links_is_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        write_whole(tmp_path / "a", "x")
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


def test_devices_are_written_to_not_replaced(tmp_path):
    link = tmp_path / "nowhere"
    link.symlink_to(os.devnull)
    for path in (os.devnull, link):
        assert is_stream(path)
        write_whole(path, "x")
        with open_whole(path, text=True) as file:
            file.write("x")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)
    assert os.listdir(tmp_path) == ["nowhere"]


def test_a_pipe_is_written_to_not_replaced(tmp_path):
    path, got = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: got.append(path.read_bytes()), daemon=True)
    reader.start()
    write_whole(path, "through the pipe")
    reader.join(60)
    assert got == [b"through the pipe"]
    assert stat.S_ISFIFO(os.stat(path).st_mode)
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="no such device")
def test_standard_output_goes_on_where_it_stands(tmp_path):
    said, _ = run(STDOUT).communicate()
    assert said == "before\nin between\nafter\n"
    path = tmp_path / "out"
    with path.open("w") as file:
        subprocess.run([sys.executable, "-c", STDOUT], stdout=file, check=True)
    assert path.read_text() == said
    assert os.listdir(tmp_path) == ["out"]


def test_what_cannot_be_written_is_refused(tmp_path):
    for path in (tmp_path, f"{tmp_path}/"):
        with pytest.raises(IsADirectoryError, match="is a folder"):
            write_whole(path, "x")
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere.* to write into"):
        check_target(tmp_path / "nowhere" / "model")
    assert os.listdir(tmp_path) == []


def _as_nobody(function, *arguments):
    """What a function raises in a child process that is not the administrator."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        said = "nothing"
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            function(*arguments)
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with open(reading) as file:
        said = file.read()
    os.waitpid(child, 0)
    return said


def test_a_folder_that_is_closed_and_a_protected_file_are_refused():
    with tempfile.TemporaryDirectory() as name:  # another user can look into its parents
        folder, path = pathlib.Path(name), pathlib.Path(name, "model")
        path.write_text("old")
        path.chmod(0o444)
        folder.chmod(0o777)
        assert "is protected against writing" in _as_nobody(write_whole, path, "new")
        path.chmod(0o666)
        folder.chmod(0o555)
        for function in (check_target, lambda path: write_whole(path, "new")):
            said = _as_nobody(function, path)
            assert said.startswith("PermissionError: cannot write")
            assert "cannot be written into" in said
        folder.chmod(0o755)
        assert path.read_text() == "old"
        assert os.listdir(folder) == ["model"]


WRITERS = {
    "model file": lambda path: MODEL.save(path),
    "prices": lambda path: COSTS.to_yaml(path),
    "svmlight": lambda path: worthwhile.datasets.write_svmlight(path, [[1.0]], [1], [5]),
    "packed svmlight": lambda path: worthwhile.datasets.write_svmlight(path, [[1.0]], [1], [5]),
    "session": lambda path: ask._keep(MODEL.session(), path),
    "report": lambda path: write_report({}, path),
}
COSTS = worthwhile.Costs({"a": 1, "b": 2})
MODEL = worthwhile.PricedModel(
    DecisionTreeClassifier().fit(pd.DataFrame({"a": [0, 1], "b": [0, 1]}), [0, 1]), COSTS
)


@pytest.mark.parametrize("name", WRITERS)
def test_everything_that_writes_files_follows_links_and_keeps_modes(name, tmp_path, monkeypatch):
    monkeypatch.setattr(_page, "render", lambda summary: "<html>")
    kept, link = tmp_path / "kept", tmp_path / ("link.gz" if "packed" in name else "link")
    kept.write_text("old")
    kept.chmod(0o640)
    link.symlink_to(kept)
    WRITERS[name](link)
    assert link.is_symlink()
    assert kept.read_bytes() != b"old"
    assert mode(kept) == 0o640
    assert sorted(os.listdir(tmp_path)) == ["kept", link.name]
    first = kept.read_bytes()
    WRITERS[name](tmp_path / f"new{link.suffix}")
    assert (tmp_path / f"new{link.suffix}").read_bytes() == first
    pipe, got = tmp_path / f"pipe{link.suffix}", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()
    WRITERS[name](pipe)
    reader.join(60)
    assert got == [first]


def test_the_longest_name_can_be_written(tmp_path):
    path = tmp_path / ("ü" * 127)
    write_whole(path, "1")
    write_whole(path, "2")
    assert path.read_text() == "2"
    assert len(os.listdir(tmp_path)) == 1
