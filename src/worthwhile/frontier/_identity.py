"""Digests by which a later process knows the same data, parameters and functions again."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import joblib
import numpy as np

SILENT = ("n_jobs", "verbose")
"""Parameters on which no result depends."""

ADDRESS = re.compile(r" at 0x[0-9a-f]+")


class Unidentified(ValueError):
    """Something that another process could not tell from another thing of its kind."""


def digest(value: Any) -> str:
    """A short digest, the same in every process.

    Data counts by its values, estimators and other objects by their class and state, functions by
    their name, code, defaults and closure.

    Raises
    ------
    Unidentified
        If the value has a part that is known only by where it lies in memory.
    """
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):
        value = ([str(name) for name in value.columns], value.to_numpy())
    if isinstance(value, Mapping):
        return _short(
            [(str(name), digest(item)) for name, item in sorted(value.items(), key=_name)]
        )
    if isinstance(value, (set, frozenset)) or (
        isinstance(value, (list, tuple)) and not _is_plain(value)
    ):
        parts = [digest(item) for item in value]
        ordered = isinstance(value, (list, tuple))
        return _short([type(value).__name__, *(parts if ordered else sorted(parts))])
    if isinstance(value, (type, ModuleType, BuiltinFunctionType, np.ufunc)):
        return _short(
            [getattr(value, "__module__", ""), getattr(value, "__qualname__", value.__name__)]
        )
    if isinstance(value, FunctionType):
        return _function(value)
    if isinstance(value, MethodType):
        return _short([digest(value.__func__), digest(value.__self__)])
    if isinstance(value, functools.partial):
        return _short([digest(value.func), digest(value.args), digest(value.keywords)])
    if hasattr(value, "get_params") and not isinstance(value, type):
        params = value.get_params(deep=False)
        fitted = {k: v for k, v in vars(value).items() if k.endswith("_") and not k.startswith("_")}
        heard = {name: item for name, item in params.items() if name not in SILENT}
        return _short([_class(value), digest(heard), _value(fitted)])
    return _object(value) if callable(value) else _value(value)


def _function(function: FunctionType) -> str:
    try:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:
        raise Unidentified(f"{function.__qualname__} reads a name that has no value yet") from None
    return _short(
        [
            function.__module__,
            function.__qualname__,
            _code(function.__code__),
            digest(function.__defaults__ or ()),
            digest(function.__kwdefaults__ or {}),
            *(digest(content) for content in cells if content is not function),
        ]
    )


def _code(code: CodeType) -> str:
    constants = [_constant(c) for c in code.co_consts]
    return _short([code.co_code.hex(), code.co_names, code.co_varnames, constants])


def _constant(value: Any) -> str:
    if isinstance(value, CodeType):
        return _code(value)
    if isinstance(value, tuple):
        return _short(["tuple", *(_constant(item) for item in value)])
    if isinstance(value, frozenset):  # whose order differs from process to process
        return _short(["set", *sorted(_constant(item) for item in value)])
    return repr(value)


def _object(value: Any) -> str:
    """Something that can be called: a scorer, say."""
    state = getattr(value, "__dict__", None)
    if state is None:
        raise Unidentified(f"a {_class(value)} keeps its state where it cannot be read")
    return _short([_class(value), digest(state)])


def _value(value: Any) -> str:
    if not _is_plain(value) and ADDRESS.search(repr(value)) and not hasattr(value, "__dict__"):
        raise Unidentified(f"{value!r} is known only by where it lies in memory")
    try:
        return str(joblib.hash(value))[:16]
    except Exception as error:  # whatever pickling it runs into
        raise Unidentified(f"a {_class(value)} cannot be read ({error})") from None


def _is_plain(value: Any) -> bool:
    """Whether a value, or all in a sequence, are numbers and text."""
    items = value if isinstance(value, (list, tuple, set, frozenset)) else (value,)
    return all(
        isinstance(item, (bool, int, float, complex, str, bytes, type(None))) for item in items
    )


def _class(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _name(item: tuple[Any, Any]) -> str:
    return str(item[0])


def _short(parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
