"""Several threads in one kernel: tasks taken one by one, and a line that all must reach.

Waking a thread takes some 100 microseconds, a tree of a small table only two milliseconds. So the
threads are called once for a whole tree and then meet inside the kernel, in less than a
microsecond. All that is compiled here are two atomic instructions and a polite wait.
"""

from __future__ import annotations

import os

import numpy as np
from numba import config
from numba.core import cgutils, types
from numba.extending import intrinsic

from costwise.core.compile import kernel

SPINS = 20_000
"""Looks at the counter (some ten microseconds) before a waiting thread lets others have its core."""

CAN_TEAM = not config.DISABLE_JIT
"""Uncompiled kernels have no atomic instructions: they run in teams of one."""


def _pointer(context, builder, signature, args):
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return cgutils.get_item_pointer(
        context, builder, signature.args[0], array, [args[1]], wraparound=False
    )


@intrinsic
def _add_one(typing, array, index):
    """Add one to an entry, atomically; return what it was."""

    def codegen(context, builder, signature, args):
        one = context.get_constant(types.int64, 1)
        pointer = _pointer(context, builder, signature, args)
        return builder.atomic_rmw("add", pointer, one, "seq_cst")

    return types.int64(array, types.intp), codegen


@intrinsic
def _read(typing, array, index):
    """Read an entry that another thread may be changing."""

    def codegen(context, builder, signature, args):
        return builder.load_atomic(_pointer(context, builder, signature, args), "acquire", 8)

    return types.int64(array, types.intp), codegen


if os.name == "posix":
    _yield_core = types.ExternalFunction("sched_yield", types.int32())
else:

    @kernel()
    def _yield_core():
        return 0


# Places of the shared counters, apart so that they do not share a line of cache.
_LINE, _ABANDONED, _TASKS = 0, 8, 16


def counters(phases):
    """Counters (int64) for a team that takes tasks in this many phases."""
    return np.zeros(_TASKS + 8 * phases, dtype=np.int64)


def abandon(shared):
    """Let nobody wait any longer: somebody will not come."""
    shared[_ABANDONED] = 1


@kernel(lean=True)
def take(shared, phase):
    """Number of the next task of a phase, for a team of several."""
    return _add_one(shared, _TASKS + 8 * phase)


@kernel(lean=True)
def meet(shared, team, times):
    """Wait until all of the team have called this for the ``times``-th time; False: do not go on."""
    _add_one(shared, _LINE)
    looks = 0
    while _read(shared, _LINE) < team * times:
        if _read(shared, _ABANDONED) != 0:
            return False
        looks += 1
        if looks > SPINS:
            _yield_core()
    return True
