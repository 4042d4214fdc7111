"""Several threads in one kernel: tasks taken one by one, and a line that all must reach (a barrier).

Waking a thread takes some 100 microseconds, a tree of a small table only two milliseconds. So the
threads are called once for a whole tree and then meet inside the kernel, in less than a
microsecond. All that is compiled here are two atomic instructions and a polite wait.

The wait is what makes this safe where others use the cores. Whoever waits for a thread that has lost
its core looks for a moment only, then sleeps: a sleeper keeps its claim to the core, one that looks
on and on (or yields) has used it up when there is work again. :class:`Pace` does without the
team while it costs more than it gains.
"""

from __future__ import annotations

import os

import numpy as np
from numba import config
from numba.core import cgutils, types
from numba.extending import intrinsic

from worthwhile.core.compile import kernel

LOOKS = 100_000
"""Looks at the counter (some fifty microseconds) before a waiting thread naps."""

NAP = 50
"""Microseconds of a nap; with what the system adds it is nearer to a hundred."""

PATIENCE = 20_000
"""Naps (some two seconds) after which a thread no longer believes that the others will come."""

CAN_TEAM = not config.DISABLE_JIT
"""Uncompiled kernels have no atomic instructions: they run in teams of one."""


def _pointer(context, builder, signature, args):
    array = context.make_array(signature.args[0])(context, builder, args[0])
    return cgutils.get_item_pointer(
        context, builder, signature.args[0], array, [args[1]], wraparound=False
    )


@intrinsic
def _add(typing, array, index, amount):
    """Add to an entry, atomically; return what it was."""

    def codegen(context, builder, signature, args):
        pointer = _pointer(context, builder, signature, args)
        return builder.atomic_rmw("add", pointer, args[2], "seq_cst")

    return types.int64(array, types.intp, types.int64), codegen


@intrinsic
def _read(typing, array, index):
    """Read an entry that another thread may be changing."""

    def codegen(context, builder, signature, args):
        return builder.load_atomic(_pointer(context, builder, signature, args), "acquire", 8)

    return types.int64(array, types.intp), codegen


if os.name == "posix":
    _AFTER_NAP = LOOKS  # one look, and the next nap
    _nap = types.ExternalFunction("usleep", types.int32(types.uint32))
else:
    _AFTER_NAP = 0  # without a call that sleeps, a nap is as many looks again

    @kernel()
    def _nap(microseconds):
        return 0


# Places of the shared counters, apart so that they do not share a line of cache.
_LINE, _ABANDONED, _TASKS = 0, 8, 16


def counters(phases):
    """Counters (int64) for a team that takes tasks in this many phases."""
    return np.zeros(_TASKS + 8 * phases, dtype=np.int64)


def abandon(shared):
    """Let nobody wait any longer: somebody will not come."""
    shared[_ABANDONED] = 1


def was_abandoned(shared):
    """Whether somebody left before the end, so that the work is not done."""
    return shared[_ABANDONED] != 0


@kernel(lean=True)
def take(shared, phase):
    """Number of the next task of a phase, for a team of several."""
    return _add(shared, _TASKS + 8 * phase, 1)


@kernel(lean=True)
def meet(shared, team, times):
    """Wait until all of the team have called this for the ``times``-th time; False: do not go on."""
    _add(shared, _LINE, 1)
    looks, naps = 0, 0
    while _read(shared, _LINE) < team * times and _read(shared, _ABANDONED) == 0:
        looks += 1
        if looks >= LOOKS:
            looks, naps = _AFTER_NAP, naps + 1
            _nap(np.uint32(NAP))
            if naps >= PATIENCE:
                _add(shared, _ABANDONED, 1)
    return _read(shared, _ABANDONED) == 0


class Pace:
    """Says how many threads grow the next tree: the team, or one while the team would be slower.

    Trees are looked at a window at a time. A team that was off its cores for much of a window (asleep
    at a barrier, or others ran there) is tried against one thread, which grows the next window; the
    faster way then grows many trees before the other is tried again. A trial ends as soon as it has
    taken longer than the other way did, so that it never costs much.

    Parameters
    ----------
    team : int
        Number of threads.

    Attributes
    ----------
    size : int
        Threads for the next tree.
    """

    WINDOW = 8
    REST = 64
    MUCH = 0.25
    """Share of the threads' time; chunks that end unevenly, and waking threads, take less."""

    def __init__(self, team):
        self.team = self.size = team
        self._begin(self.WINDOW)

    def _begin(self, span, limit=None):
        """Look again after so many trees; on trial, with a limit of seconds for all of them."""
        self._span, self._limit = span, limit
        self._trees, self._seconds, self._used = 0, 0.0, 0.0

    def _switch(self):
        self.size = self.team if self.size == 1 else 1

    def note(self, seconds, used):
        """Note what a tree took, and the seconds its threads were on a core, added up."""
        if self.team == 1:
            return
        self._trees += 1
        self._seconds += seconds
        self._used += used
        lost = self._limit is not None and self._seconds >= self._limit
        if not lost and self._trees < self._span:
            return
        if self._limit is not None:
            if lost:
                self._switch()
            self._begin(self.REST)
        elif self.size == 1 or self._used < (1 - self.MUCH) * self.team * self._seconds:
            self._switch()
            self._begin(self.WINDOW, self._seconds * self.WINDOW / self._trees)
        else:
            self._begin(self.WINDOW)

    def give_up(self):
        """Note that somebody of the team did not come."""
        self.size = 1
        self._begin(self.REST)
