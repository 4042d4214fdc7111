"""Old names of parameters and methods: accepted for one more version, with a warning that says the new one."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Kind = TypeVar("Kind")

GONE_IN = "0.3.0"
"""Version that no longer knows the old names."""

LEVEL = 4
"""From a warning up to the caller: here, the present names, the method that took the old ones."""


def warn_of(old: str, new: str, level: int) -> None:
    """Say what to write instead of an old name."""
    warnings.warn(
        f"{old} is now {new}: the old name goes with version {GONE_IN}.",
        FutureWarning,
        stacklevel=level + 1,
    )


def present_names(
    owner: str, given: Mapping[str, Any], renamed: Mapping[str, str]
) -> dict[str, Any]:
    """Parameters under their present names; an old and a new name at once are refused."""
    params = dict(given)
    for old in renamed.keys() & params.keys():
        new = renamed[old]
        if new in params:
            raise TypeError(
                f"{owner} got {old} and {new}: {old} is the old name of {new}, give {new} alone."
            )
        warn_of(f"{owner}({old}=...)", f"{new}=...", LEVEL)
        params[new] = params.pop(old)
    return params


def with_old_names(cls: type[Kind]) -> type[Kind]:
    """A class whose constructor also takes old names; its signature is that of the real one."""
    init = cls.__init__

    @functools.wraps(init)
    def init_with_old_names(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **self._present_params(kwargs))

    cls.__init__ = init_with_old_names  # type: ignore[method-assign]
    return cls


def once(old: str, **keywords: str) -> Callable[..., Any]:
    """A method that warns and calls ``at``; ``keywords`` are its arguments and what ``at`` calls them."""

    def method(self: Any, *args: Any, **given: Any) -> Any:
        now = ", ".join(f"{name}=..." for name in keywords.values())
        warn_of(f"{type(self).__name__}.{old}", f"at({now})", 2)
        if len(args) > len(keywords):
            raise TypeError(
                f"{old} takes at most {len(keywords)} arguments, {len(args)} were given."
            )
        positional = dict(zip(keywords.values(), args, strict=False))
        return self.at(**positional, **{keywords.get(key, key): given[key] for key in given})

    method.__name__ = old
    method.__doc__ = "Old name of :meth:`at`."
    return method
