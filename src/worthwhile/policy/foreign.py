"""Objects of other libraries inside our models, and how to tell one from another."""

from __future__ import annotations

import copyreg
import hashlib
import types
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from worthwhile.exceptions import SessionError


@dataclass(frozen=True)
class Foreign:
    """An object of another library, stored in model files only with the user's trust."""

    value: Any


UNBUILT = types.SimpleNamespace(predict=None, predict_proba=None, decision_function=None)
"""Stands for an object of another library where a file is only described: none is built."""


def try_out(model: Any, answer: Callable[[], Any], width: int | None = None) -> None:
    """Refuse a model from a file that cannot answer at all, or not with so many numbers.

    Such a model is of another class than the one it was stored as, or belongs to another file. Only
    what no row could help is taken for that: a model may refuse the row it is tried on, and then
    says so itself when it is asked about real ones.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> model = LinearRegression()
    >>> try_out(model, lambda: model.predict([[0.0]]))
    Traceback (most recent call last):
    ValueError: the LinearRegression of another library cannot answer: This LinearRegression instance ...
    """
    if model is UNBUILT:
        return
    name = type(model).__name__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = answer()
        except AttributeError as error:
            raise ValueError(f"the {name} of another library cannot answer: {error}") from error
        except Exception:  # the row may be at fault
            return
    if width is not None and found.shape[1:] != (width,):
        raise ValueError(
            f"the {name} of another library gives {found.shape[1]} numbers for a row, not {width}"
        )


def check_names(model: Any, names: list[str] | None) -> None:
    """Refuse names of columns from a file that are not those which scikit-learn's model was fitted on.

    It would refuse every row. Other libraries keep names in forms of their own.
    """
    fitted = getattr(model, "feature_names_in_", None)
    own = type(model).__module__.startswith("sklearn.")
    if own and names is not None and fitted is not None and list(fitted) != names:
        raise ValueError(f"names are not those that the {type(model).__name__} inside knows")


ATOMS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis))

VERSION = "_sklearn_version"
"""Of the library that wrote a model, not of the model."""


def digest_of(value: Any) -> bytes:
    """A digest of everything an object is made of, the same in every process.

    The object is taken apart as pickle would, but what it consists of is what counts: not where it
    lies in memory, which parts are one and the same, or in what order attributes were set.

    Raises
    ------
    SessionError
        For what cannot be taken apart, such as a connection.

    Examples
    --------
    >>> digest_of({"a": [1, 2], "b": None}) == digest_of({"b": None, "a": [1, 2]})
    True
    >>> digest_of([1, 2]) == digest_of([2, 1])
    False
    """
    return _Walk().digest(value)


class _Walk:
    """Goes through an object and everything it holds, each part once."""

    def __init__(self) -> None:
        self._done: dict[int, tuple[bytes, Any]] = {}  # with the part itself: its id stays taken
        self._open: dict[int, int] = {}

    def digest(self, value: Any) -> bytes:
        if type(value) in ATOMS:
            return _hash(type(value).__name__, [repr(value).encode()])
        key = id(value)
        if key in self._done:
            return self._done[key][0]
        if key in self._open:  # it holds itself: how far up says where
            return _hash("above", [str(len(self._open) - self._open[key]).encode()])
        self._open[key] = len(self._open)
        try:
            result = _hash(*self._parts(value))
        finally:
            del self._open[key]
        self._done[key] = result, value
        return result

    def _parts(self, value: Any) -> tuple[str, list[bytes]]:
        """What kind of thing it is, and the digests of what it is made of."""
        kind = type(value)
        if kind in (np.ndarray, np.memmap) or isinstance(value, np.generic):
            return "array", self._array(np.asarray(value))
        if kind in (list, tuple):
            return kind.__name__, [self.digest(item) for item in value]
        if kind is dict:
            pairs = [self.digest(key) + self.digest(item) for key, item in value.items()]
            return "dict", sorted(pairs)
        if kind in (set, frozenset):
            return kind.__name__, sorted(map(self.digest, value))
        if isinstance(value, (type, types.BuiltinFunctionType)):
            return "named", [f"{value.__module__}.{value.__qualname__}".encode()]
        if kind is types.FunctionType:
            return "function", self._all(_function_parts(value))
        if kind is types.CodeType:
            return "code", self._all(
                (value.co_code, value.co_consts, value.co_names, value.co_varnames)
            )
        if kind is np.random.RandomState:  # its way of being built changes when it is copied
            return "random", [self.digest(value.get_state(legacy=False))]
        if hasattr(kind, "fingerprint") and hasattr(kind, "from_state"):  # a policy of ours
            return "policy", [value.fingerprint().encode()]
        if hasattr(
            kind, "get_tree_stats"
        ):  # scikit-learn's, whose state counts how often it was asked
            return kind.__name__, self._all(value.get_arrays())
        return kind.__qualname__, self._all(_taken_apart(value))

    def _all(self, values: Iterable[Any]) -> list[bytes]:
        return [self.digest(value) for value in values]

    def _array(self, array: Any) -> list[bytes]:
        head = repr((array.dtype.str, array.shape)).encode()
        if array.dtype.names is not None:  # field by field: the bytes between them mean nothing
            return [head, *(self.digest(array[name]) for name in array.dtype.names)]
        if array.dtype.hasobject:
            return [head, *self._all(array.ravel().tolist())]
        return [head, np.ascontiguousarray(array).tobytes()]


def _function_parts(function: Any) -> list[Any]:
    """What a Python function does, as far as it holds it itself."""
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return [function.__code__, function.__defaults__, function.__kwdefaults__, cells]


def _taken_apart(value: Any) -> list[Any]:
    """How to build an object again: a function, its arguments, a state, items."""
    try:
        reduce = copyreg.dispatch_table.get(type(value))
        parts = reduce(value) if reduce is not None else value.__reduce_ex__(4)
    except Exception as error:  # whatever the object's own code raises
        raise SessionError(
            f"the model holds a {type(value).__name__}, which cannot be told from others ({error}): its sessions "
            "cannot be stored or resumed. Drive them to their end in this process, or leave that object out."
        ) from error
    if isinstance(parts, str):
        return [type(value).__module__, parts]
    function, arguments, state, items, pairs = (*parts, None, None, None)[:5]
    if isinstance(state, dict) and VERSION in state:
        state = {name: part for name, part in state.items() if name != VERSION}
    return [function, arguments, state, list(items or ()), dict(pairs or ())]


def _hash(kind: str, parts: Iterable[bytes]) -> bytes:
    digest = hashlib.sha256(kind.encode())
    for part in parts:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.digest()
