"""Training in numbered stages, so that a limit of time leaves something that can be made again."""

from __future__ import annotations

import time

from worthwhile._progress import Advance


class Stages:
    """Says whether the next stage is done, and counts.

    What is left out is always the end: the first stages of two trainings are the same, however long
    they took.

    Parameters
    ----------
    most : int, optional
        Stages to do.
    seconds : float, optional
        Time after which no further one begins.
    advance : Advance
        Is told of every stage that is over or left out.
    """

    def __init__(self, most: int | None, seconds: float | None, advance: Advance) -> None:
        self.asked, self.done = 0, 0
        self._most, self._advance, self._stopped = most, advance, False
        self._end = None if seconds is None else time.monotonic() + seconds

    def go(self, what: str) -> bool:
        """Whether to do the next stage."""
        self.asked += 1
        self._advance(1, what)
        late = self._end is not None and time.monotonic() > self._end
        self._stopped = self._stopped or late or self.done == self._most
        self.done += not self._stopped
        return not self._stopped
