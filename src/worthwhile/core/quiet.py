"""Arithmetic that does not depend on how the caller wants numpy to complain."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def quiet(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Let a function overflow and underflow in silence, as the numbers of a case may be anything.

    What was not bought is computed along and thrown away; and a session that raised in the middle
    of a purchase would have lost it. (numpy's own decorator is not safe to nest before 2.0.)

    Examples
    --------
    >>> @quiet
    ... def square(x):
    ...     return np.square(x)
    >>> with np.errstate(all="raise"):
    ...     print(square(1e300))
    inf
    """

    @functools.wraps(function)
    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return run
