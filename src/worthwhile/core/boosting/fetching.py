"""One instruction that asks for memory before it is needed.

Rows of a small node lie far apart: each is in a cache line of its own, which a processor cannot guess. On millions of
rows, waiting for them takes longer than adding them up.
"""

from __future__ import annotations

from llvmlite import ir
from numba import config
from numba.core import types
from numba.extending import intrinsic

AHEAD = 32
"""Rows between the one that is asked for and the one that is worked on."""


def fetch(array, place):
    """Have the number at a place (flat) of an array brought into the cache; nothing waits for it."""


def _fetch_at_once(typing, array, place):
    """The processor's own instruction for it."""

    def codegen(context, builder, signature, args):
        numbers = context.make_array(signature.args[0])(context, builder, args[0])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = builder.bitcast(builder.gep(numbers.data, [args[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        instruction = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        # To be read, kept in all caches, data and no code.
        how = [ir.Constant(number, choice) for choice in (0, 3, 1)]
        builder.call(instruction, [address, *how])
        return context.get_dummy_value()

    return types.void(array, types.uint64), codegen


if not config.DISABLE_JIT:
    fetch = intrinsic(_fetch_at_once)
