"""Keys of cases, and the coin that is tossed by them: the same key falls the same way everywhere."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from numbers import Integral
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt

WHOLE = 2**32
"""Shares are whole numbers out of this, so that files hold them exactly."""

MOST_SEED = 2**63 - 1


@dataclass(frozen=True)
class Coin:
    """Falls to the dearer of two policies for a share of all keys.

    A larger share keeps all keys that a smaller one had, as long as the seed is the same.

    Parameters
    ----------
    seed : int
        From 0 to 2**63 - 1: which keys these are.
    share : int
        From 0 to 2**32: how many.

    Examples
    --------
    >>> coin = Coin(seed=7, share=WHOLE // 2)
    >>> coin.by_key("case 4711"), coin.by_key("case 4713")
    (True, False)
    """

    seed: int
    share: int

    def __post_init__(self) -> None:
        for name, most in (("seed", MOST_SEED), ("share", WHOLE)):
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value <= most:
                raise ValueError(
                    f"{name} is {str(value)[:40]}, not a whole number from 0 to {most}"
                )

    def by_key(self, key: str) -> bool:
        """Where it falls for a key, as :func:`read_key` gives it."""
        return self._falls(key.encode(), b"key")

    def by_keys(self, keys: Iterable[str]) -> npt.NDArray[np.bool_]:
        """Where it falls for each of several keys, (n,)."""
        return np.array([self.by_key(key) for key in keys], dtype=bool)

    def by_values(self, known: Mapping[int, float]) -> bool:
        """Where it falls for what was bought, by column; with nothing bought, to the cheaper policy.

        Columns count in their order, -0.0 as 0.0, and all empty values alike.
        """
        if not known:
            return False
        parts = [
            struct.pack("<qd", column, value + 0.0 if value == value else np.nan)
            for column, value in sorted(known.items())
        ]
        return self._falls(b"".join(parts), b"values")

    def _falls(self, content: bytes, what: bytes) -> bool:
        salt = self.seed.to_bytes(8, "little")
        found = hashlib.blake2b(content, digest_size=4, salt=salt, person=what).digest()
        return int.from_bytes(found, "little") < self.share


def read_key(key: Any, what: str = "key") -> str:
    """The key of a case as text: numbers in decimals, UUIDs as they are written, bytes in hexadecimals.

    So a number of a table and the same number as text, in a URL or a JSON document, are one key.

    Examples
    --------
    >>> import numpy as np
    >>> read_key(4711), read_key(np.int32(4711)), read_key("4711"), read_key(b"GM")
    ('4711', '4711', '4711', '474d')
    """
    if isinstance(key, str):
        text = str(key)
    elif isinstance(key, Integral) and not isinstance(key, (bool, np.bool_)):
        text = str(int(key))
    elif isinstance(key, UUID):
        text = str(key)
    elif isinstance(key, (bytes, bytearray)):
        text = key.hex()
    else:
        advice = ""
        if isinstance(key, (float, np.floating)):
            advice = " Tables make floats of whole numbers where some are missing: fill these, or give text."
        raise TypeError(
            f"{what} is {key!r}, a {type(key).__name__}: a key is text, a whole number, a UUID or bytes, one that the "
            f"case keeps.{advice}"
        )
    if not text:
        raise ValueError(f"{what} is empty: a key tells one case from others.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what} is {text!r}: text that has no encoding is no key.") from None
    return text


def read_keys(keys: Any, n: int, what: str = "row") -> list[str]:
    """One key per row; where they come as a column, its index does not matter."""
    single = isinstance(keys, (str, bytes, bytearray, Mapping, Set)) or hasattr(keys, "columns")
    try:
        found = None if single else list(keys)
    except TypeError:
        found = None
    if found is None:
        raise TypeError(
            f"key is a {type(keys).__name__}: give a list or a column, one key per {what}."
        )
    if len(found) != n:
        raise ValueError(f"key has {len(found)} entries for {n} {what}s: give one per {what}.")
    return [read_key(key, f"key of {what} {number}") for number, key in enumerate(found)]
