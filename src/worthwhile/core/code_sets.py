"""Sets of category codes in one array of words: what nodes of trees look into.

Sets lie one after the other, each as its number of words, then as many words of bits: bit ``c % 64``
of word ``c // 64`` says whether code ``c`` is in the set. A set is known by where it begins.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]


def pack_sets(sets: Iterable[Iterable[int]]) -> tuple[npt.NDArray[np.float64], Words]:
    """Where each set of codes begins, and the words of all; at least one word for each.

    Examples
    --------
    >>> first, words = pack_sets([[0, 2], [65]])
    >>> first.tolist(), words.tolist()
    ([0.0, 2.0], [1, 5, 2, 0, 2])
    """
    first: list[int] = []
    words: list[int] = []
    for codes in sets:
        bits = 0
        for code in codes:
            bits |= 1 << int(code)
        first.append(len(words))
        size = max(1, -(-bits.bit_length() // 64))
        words += [size, *(bits >> 64 * k & 2**64 - 1 for k in range(size))]
    return np.array(first, dtype=np.float64), np.array(words, dtype=np.uint64)


def join_words(sets: Iterable[Words]) -> tuple[npt.NDArray[np.float64], Words]:
    """As :func:`pack_sets`, from the words of each set; empty ones at the end are left out.

    Examples
    --------
    >>> first, words = join_words([np.array([5, 0], dtype=np.uint64), np.zeros(2, dtype=np.uint64)])
    >>> first.tolist(), words.tolist()
    ([0.0, 2.0], [1, 5, 1, 0])
    """
    kept = [words[: max(1, int(np.max(np.flatnonzero(words), initial=0)) + 1)] for words in sets]
    sizes = np.array([len(words) for words in kept], dtype=np.uint64)
    parts = [part for size, words in zip(sizes, kept, strict=True) for part in (size[None], words)]
    first = np.cumsum([0, *(sizes + 1)])[:-1]
    return first.astype(np.float64), np.concatenate([np.empty(0, dtype=np.uint64), *parts])


def in_sets(words: Words, first: npt.NDArray[Any], value: npt.NDArray[Any]) -> Bools:
    """Whether values are members of the sets that begin at ``first``, (k,) each; NaN is in none.

    A value is taken without its fraction; what lies outside the words of a set is not in it.

    Examples
    --------
    >>> first, words = pack_sets([[0, 2]])
    >>> in_sets(words, np.zeros(4), np.array([0.0, 1.0, 2.0, 64.0])).tolist()
    [True, False, True, False]
    """
    begin = first.astype(np.intp)
    found: Bools = (value > -1) & (value < 64.0 * words[begin])
    code = value[found].astype(np.int64)
    word = words[begin[found] + 1 + (code >> 6)]
    found[found] = (word >> (code & 63).astype(np.uint64)) & np.uint64(1) != 0
    return found


def only_these(words: Words, first: npt.NDArray[Any]) -> tuple[npt.NDArray[np.intp], Words]:
    """The sets that begin at ``first`` alone, one after the other: where each begins now, and their words."""
    begin = first.astype(np.intp)
    sizes = words[begin].astype(np.intp) + 1
    start = np.cumsum(sizes) - sizes
    return start, words[np.arange(sizes.sum()) + np.repeat(begin - start, sizes)]


def problem_of(words: Words, first: npt.NDArray[Any]) -> str | None:
    """What makes sets that are said to begin at ``first`` unsafe to look into; None if nothing does."""
    if ((first < 0) | (first >= len(words)) | (first != np.floor(first))).any():
        return "a set begins outside its array"
    begin = first.astype(np.intp)
    size = words[begin]  # compared with what is left: a hostile sum of uint64 may wrap around
    if ((size < 1) | (size > (len(words) - 1 - begin).astype(np.uint64))).any():
        return "a set ends outside its array"
    return None
