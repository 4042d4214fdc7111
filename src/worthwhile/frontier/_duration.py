"""How long sweeps take, roughly, and where they stop."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

T = TypeVar("T")

SECONDS: dict[str, tuple[float, float]] = {
    "greedy-miser": (0.8, 1.5),
    "greedy-miser-row": (1.1, 4.0),
    "greedy-miser-deep": (0.7, 6.0),
    "greedy-miser-rank": (0.8, 1.5),
    "submodular-tree": (0.3, 0.6),
    "cost-sensitive-tree": (2.2, 8.6),
    "cost-weighted-l1": (0.8, 7.3),
    "budgeted-forest": (0.3, 5.5),
    "pruned-forest": (0.2, 2.5),
    "budget": (1.0, 8.0),
    "forward-forest": (2.0, 12.0),
    "adaptive-linear": (8.2, 27.0),
    "adaptive-boosting": (4.5, 13.0),
    "l1-gate": (0.3, 5.4),
    "dynamic-selection": (2.2, 250.0),
    "static-order": (0.6, 6.8),
    "early-exit": (0.1, 0.2),
    "cascade": (4.7, 12.5),
    "feature-subsets": (0.4, 0.2),
    "decision-tree": (0.1, 0.4),
    "random-forest": (0.9, 3.7),
    "lightgbm": (0.1, 0.4),
    "lightgbm-cegb": (0.2, 2.8),
    "lightgbm-static": (0.3, 3.9),
    "catboost": (0.5, 11.0),
}
"""One split at the usual effort on one core: heart's 170 x 13, and 1,700 x 50 of the particles, 2 classes each."""

SMALL, LARGE, EFFORT = 170 * 13, 1700 * 50, 8


def expected_seconds(
    methods: Iterable[str], shape: tuple[int, int], n_classes: int = 2, *, sweeps: float = 1, effort: int = EFFORT
) -> float:  # fmt: skip
    """A rough guess at the time of sweeps, by what they took elsewhere: right within a factor of three or so.

    Parameters
    ----------
    methods : iterable of str
        Names of methods; what is not known counts like a middling one.
    shape : (int, int)
        Rows to learn from, and columns.
    n_classes : int
        0 for numbers.
    sweeps : float
        How often each is swept.
    effort : int
        Models of a sweep.

    Examples
    --------
    >>> expected_seconds(["decision-tree"], (170, 13)) < expected_seconds(["catboost"], (17_000, 50))
    True
    """
    cells, total = max(shape[0] * shape[1], 1), 0.0
    for name in methods:
        small, large = SECONDS.get(name, (1.0, 6.0))
        slope = max(large - small, 0.0) / (LARGE - SMALL)
        total += max(small + slope * (cells - SMALL), small * min(1.0, cells / SMALL))
    return total * sweeps * max(effort, 1) / EFFORT * max(1.0, n_classes / 2) ** 0.5


def in_words(seconds: float) -> str:
    """A time as people say it.

    Examples
    --------
    >>> in_words(4), in_words(200), in_words(9000)
    ('some seconds', 'about 3 minutes', 'about 2.5 hours')
    """
    if seconds < 10:
        return "some seconds"
    if seconds < 90:
        return f"about {round(seconds, -1):.0f} seconds"
    if seconds < 5400:
        return f"about {max(2, round(seconds / 60))} minutes"
    return f"about {seconds / 3600:.1f} hours"


def check_time(seconds: Any) -> None:
    """Refuse what is no limit."""
    number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if seconds is not None and not (number and seconds >= 0):
        raise ValueError(f"time_limit is {seconds!r}: give seconds, or None for no limit.")


def until(seconds: float | None, items: Iterable[T], begun: float | None = None) -> Iterator[T]:
    """Items until time is over: the first one always, and none after ``seconds`` from the beginning."""
    start = time.monotonic() if begun is None else begun
    for number, item in enumerate(items):
        if number and seconds is not None and time.monotonic() - start > seconds:
            return
        yield item


def ends_first(items: Sequence[Any]) -> list[Any]:
    """A list in an order of which every beginning is spread over it: both ends, the middle, quarters.

    Examples
    --------
    >>> ends_first([0, 1, 2, 3, 4, 5, 6, 7, 8])
    [0, 8, 4, 2, 6, 1, 3, 5, 7]
    """
    last, order, parts = len(items) - 1, dict.fromkeys([0, max(len(items) - 1, 0)]), 1
    while len(order) < len(items):
        parts *= 2
        order |= dict.fromkeys(round(last * part / parts) for part in range(1, parts, 2))
    return [items[i] for i in itertools.islice(order, len(items))]
