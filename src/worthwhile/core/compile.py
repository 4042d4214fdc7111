"""The one way to compile a kernel.

Policy, in one place: no GIL (our thread pool runs kernels side by side), cached on disk, fastmath
off (it may assume that there are no NaNs, and reordered sums would break batch == session),
division as numpy does it (a test for zero before every division keeps loops from being vectorised),
never ``parallel=True`` (its default threading layer aborts when two threads call at once).
"""

from __future__ import annotations

import importlib
import logging
import os
import pkgutil
import subprocess
import sys
import uuid
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numba
from numba.core import sigutils, types

from worthwhile.core.threads import count_threads

KERNELS: list[Any] = []
"""Every compiled function that was declared with explicit signatures, for :func:`warm_up`."""

_BESIDE: dict[Any, subprocess.Popen[bytes]] = {}
"""Kernels that another process compiles."""

_logger = logging.getLogger("worthwhile")


def group(module: str, name: str, **fields: str) -> Any:
    """Make a named tuple of arrays and numbers that kernels take as one argument.

    Parameters
    ----------
    module, name : str
        Where it is assigned to: the cache on disk looks it up there.
    **fields : str
        Types of the fields, as in a signature.
    """
    named = namedtuple(name, fields, module=module)  # type: ignore[misc]
    made: Any = named
    made.numba_type = types.BaseTuple.from_types(
        _types(f"void({', '.join(fields.values())})"), made
    )
    return made


def _types(signature: str | tuple[Any, ...]) -> tuple[Any, ...]:
    """Types of the arguments: of a text, or one by one, each a text or a group."""
    if isinstance(signature, str):
        return tuple(sigutils.normalize_signature(signature)[0])
    return tuple(
        _types(f"void({part})")[0] if isinstance(part, str) else part.numba_type
        for part in signature
    )


def kernel(
    *signatures: str | tuple[str | type, ...], inline: bool = False, lean: bool = False
) -> Callable[[Callable[..., Any]], Any]:
    """Declare a compiled function.

    Parameters
    ----------
    *signatures : str, or tuple of str and groups
        Fixed signatures (an int where a float was compiled would compile everything again): a text,
        or the arguments one by one where some are a :func:`group`. Left out only for small helpers
        that other kernels call.
    inline : bool
        Inline at every call site; for helpers of a few lines.
    lean : bool
        Do not count references to arrays; for helpers that allocate nothing. They compile faster,
        and where they are called often, counting can take a quarter of the time.
    """
    options: dict[str, Any] = {"no_cfunc_wrapper": True}
    if lean:
        options["_nrt"] = False

    def declare(function: Callable[..., Any]) -> Any:
        # Signatures are compiled on first call, not on import: importing must stay cheap.
        compiled = numba.njit(
            nogil=True,
            cache=True,
            fastmath=False,
            error_model="numpy",
            inline="always" if inline else "never",
            **options,
        )(function)
        _name_files_apart(compiled)
        if signatures:
            compiled.worthwhile_signatures = signatures
            KERNELS.append(compiled)
        return compiled

    return declare


def _name_files_apart(compiled: Any) -> None:
    """Give every file of the cache a name of its own.

    Numba numbers the files of a kernel by its index. Processes that compile different signatures of
    one kernel at once may take the same number; the index of one then leads to the code of the other,
    for good. With names of their own, the worst is that an entry is lost and compiled again.
    """
    file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if file is not None:
        numbered = file._data_name

        def name(number: int) -> str:
            stem, ending = os.path.splitext(numbered(number))
            return f"{stem}.{uuid.uuid4().hex[:12]}{ending}"

        file._data_name = name


def is_cold(compiled: Any) -> bool:
    """Whether a kernel is neither in memory nor in the cache on disk."""
    if getattr(compiled, "signatures", True):
        return False
    index = getattr(getattr(compiled._cache, "_cache_file", None), "_index_path", None)
    return index is not None and not os.path.exists(index)


def say_if_cold(compiled: Any) -> None:
    """Tell the user before the first fit on a machine spends its time compiling."""
    if is_cold(compiled):
        _logger.warning(
            "worthwhile compiles its kernels, once for this machine: about 10 to 15 seconds. "
            "worthwhile.warm_up() does it ahead of time."
        )


def compile_beside(compiled: Any) -> None:
    """Have a cold kernel compiled by another process while this one goes on to compile the rest.

    A large kernel is most of a first fit, and numba compiles one at a time in a process. Whoever
    calls it says :func:`wait_for` before. Where no process can be had, the first call compiles it.
    """
    alone = not sys.executable or getattr(sys, "frozen", False) or count_threads(None) == 1
    if alone or compiled in _BESIDE or not is_cold(compiled):
        return
    where, quiet = (compiled.__module__, compiled.__name__), subprocess.DEVNULL
    command = f"from worthwhile.core.compile import compile_named; compile_named{where!r}"
    try:
        _BESIDE[compiled] = subprocess.Popen(
            [sys.executable, "-c", command], stdin=quiet, stdout=quiet, stderr=quiet
        )
    except OSError:
        _logger.debug("no second process for %s", where)


def wait_for(compiled: Any) -> None:
    """Wait until no other process compiles the kernel."""
    if (child := _BESIDE.get(compiled)) is not None:
        child.wait()
        _BESIDE.pop(compiled, None)  # another thread may have waited, too


def compile_named(module: str, name: str) -> None:
    """Compile a kernel for its fixed signatures and put it into the cache on disk."""
    _compile(getattr(importlib.import_module(module), name))


def _compile(compiled: Any) -> None:
    for signature in compiled.worthwhile_signatures:
        # By types, as a call does: what is compiled by text is cached under that text, and never found.
        compiled.compile(_types(signature))


def warm_up() -> int:
    """Compile every registered kernel for its fixed signatures; return how many there are.

    For container images and first starts: later processes find the kernels in the cache.
    """
    core = importlib.import_module("worthwhile.core")
    for module in pkgutil.walk_packages(core.__path__, "worthwhile.core."):
        importlib.import_module(module.name)
    for compiled in KERNELS:
        _compile(compiled)
    return len(KERNELS)
