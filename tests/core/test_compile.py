"""One way to compile: what `core/compile.py` decides holds for every kernel."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import worthwhile
from worthwhile.core import compile as compiling
from worthwhile.core.boosting import gradients

SOURCE = Path(worthwhile.__file__).parent


def names_of_numba(path):
    """Lines on which a module takes something from numba by itself."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        else:
            continue
        if any(module.split(".")[0] == "numba" for module in modules):
            yield node.lineno


def kernels_below_module_level(path):
    """Lines on which a function or class creates a kernel of its own."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for outer in ast.walk(tree):
        if not isinstance(outer, ast.FunctionDef | ast.ClassDef):
            continue
        for inner in ast.walk(outer):
            if isinstance(inner, ast.FunctionDef) and inner is not outer:
                for call in inner.decorator_list:
                    if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "kernel":
                        yield call.lineno


def test_only_four_modules_speak_to_numba():
    # compile.py declares kernels, the others have instructions of the processor that they use.
    boosting = SOURCE / "core" / "boosting"
    instructions = {boosting / f"{name}.py" for name in ("team", "paired_sums", "fetching")}
    own = {SOURCE / "core" / "compile.py", *instructions}
    found = {
        f"{path.relative_to(SOURCE)}:{line}"
        for path in SOURCE.rglob("*.py")
        for line in names_of_numba(path)
        if path not in own
    }
    assert not found, "declare kernels with worthwhile.core.compile.kernel"


def test_no_kernel_is_created_within_a_function():
    found = {
        f"{path.relative_to(SOURCE)}:{line}"
        for path in SOURCE.rglob("*.py")
        for line in kernels_below_module_level(path)
    }
    assert not found, "it would be compiled again in every call"


FOUND_BY_A_CALL = """
import numpy as np
from worthwhile.core.boosting.gradients import friedman
{before}
out = np.zeros((1, 3))
friedman(np.ones((1, 3)), out, 0, 3)
print(sum(friedman.stats.cache_hits.values()), sum(friedman.stats.cache_misses.values()))
"""


def calls(tmp_path, before):
    """Whether a call of a kernel in a new process finds it in the cache: hits and misses."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    script = FOUND_BY_A_CALL.format(before=before)
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.compiled
def test_what_is_compiled_ahead_is_found_by_a_call(tmp_path):
    ahead = "from worthwhile.core.compile import compile_named"
    ahead += f"; compile_named({gradients.__name__!r}, 'friedman')"
    compiled = subprocess.run(
        [sys.executable, "-c", ahead], env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    )
    assert compiled.returncode == 0
    assert calls(tmp_path, "") == ["1", "0"]


@pytest.mark.compiled
def test_a_kernel_compiled_by_another_process_is_waited_for(tmp_path):
    beside = (
        "from worthwhile.core import compile as c; c.count_threads = lambda jobs: 2; "
        "c.compile_beside(friedman); assert friedman in c._BESIDE; c.wait_for(friedman)"
    )
    assert calls(tmp_path, beside) == ["1", "0"]


def test_no_process_is_started_where_it_is_of_no_use(monkeypatch):
    def refuse(*arguments, **options):
        raise OSError("no processes here")

    monkeypatch.setattr(compiling.subprocess, "Popen", refuse)
    monkeypatch.setattr(compiling, "count_threads", lambda jobs: 2)
    monkeypatch.setattr(compiling, "is_cold", lambda compiled: True)
    compiling.compile_beside(gradients.friedman)  # cannot be had
    assert not compiling._BESIDE
    compiling.wait_for(gradients.friedman)
    monkeypatch.setattr(compiling.subprocess, "Popen", None)
    monkeypatch.setattr(compiling, "is_cold", lambda compiled: False)
    compiling.compile_beside(gradients.friedman)  # is there already
    monkeypatch.setattr(compiling, "is_cold", lambda compiled: True)
    monkeypatch.setattr(compiling, "count_threads", lambda jobs: 1)
    compiling.compile_beside(gradients.friedman)  # one core
    monkeypatch.setattr(compiling, "count_threads", lambda jobs: 2)
    monkeypatch.setattr(compiling.sys, "executable", "")
    compiling.compile_beside(gradients.friedman)  # within another program
    assert not compiling._BESIDE


def twice(x):
    return x + x


@pytest.mark.compiled
def test_processes_that_compile_one_kernel_at_once_do_not_take_each_others_code(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    first, second, third = (compiling.kernel()(twice) for _ in range(3))  # as in three processes
    keep = first._cache._cache_file._save_data

    def save_late(name, data):
        """The second process read the index before, and writes between the first one's two files."""
        monkeypatch.setattr(second._cache._cache_file, "_load_index", dict)
        assert second(2) == 4
        keep(name, data)

    monkeypatch.setattr(first._cache._cache_file, "_save_data", save_late)
    assert first(np.array([1.0, 2.0])).tolist() == [2.0, 4.0]
    assert third(5) == 10
    assert third.stats.cache_hits, "what the second process wrote is in use"
    assert third(np.array([3.0])).tolist() == [6.0]


Pair = compiling.group(__name__, "Pair", numbers="float64[::1]", factor="int64")


def scaled(pair, place):
    return pair.numbers[place] * pair.factor


@pytest.mark.compiled
def test_a_group_is_one_argument_of_a_fixed_type(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    declared = [compiling.kernel((Pair, "int64"))(scaled) for _ in range(2)]  # as in two processes
    compiling.KERNELS[:] = [known for known in compiling.KERNELS if known not in declared]
    for compiled in declared:
        compiling._compile(compiled)
        assert compiled(Pair(np.array([1.0, 2.0]), 3), 1) == 6.0
        assert len(compiled.signatures) == 1, "the call compiled it again, for other types"
    assert declared[1].stats.cache_hits
