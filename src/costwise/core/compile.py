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
from collections.abc import Callable
from typing import Any

import numba

KERNELS: list[Any] = []
"""Every compiled function that was declared with explicit signatures, for :func:`warm_up`."""

_logger = logging.getLogger("costwise")


def kernel(
    *signatures: str, inline: bool = False, lean: bool = False
) -> Callable[[Callable[..., Any]], Any]:
    """Declare a compiled function.

    Parameters
    ----------
    *signatures : str
        Fixed signatures (an int where a float was compiled would compile everything again). Left
        out only for small helpers that other kernels call.
    inline : bool
        Inline at every call site; for helpers of a few lines.
    lean : bool
        Do not count references to arrays; for helpers that allocate nothing. They compile faster,
        and where they are called often, counting can take a quarter of the time.
    """
    options: dict[str, Any] = {"_nrt": False} if lean else {}

    def declare(function: Callable[..., Any]) -> Any:
        # Signatures are compiled on first call, not on import: importing must stay cheap.
        compiled = numba.njit(
            nogil=True,
            cache=True,
            fastmath=False,
            error_model="numpy",
            inline="always" if inline else "never",
            no_cfunc_wrapper=True,
            **options,
        )(function)
        if signatures:
            compiled.costwise_signatures = signatures
            KERNELS.append(compiled)
        return compiled

    return declare


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
            "costwise compiles its kernels, once for this machine: 10 to 20 seconds. "
            "costwise.warm_up() does it ahead of time."
        )


def warm_up() -> int:
    """Compile every registered kernel for its fixed signatures; return how many there are.

    For container images and first starts: later processes find the kernels in the cache.
    """
    core = importlib.import_module("costwise.core")
    for module in pkgutil.iter_modules(core.__path__, "costwise.core."):
        importlib.import_module(module.name)
    for compiled in KERNELS:
        for signature in compiled.costwise_signatures:
            compiled.compile(signature)
    return len(KERNELS)
