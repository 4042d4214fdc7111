"""Errors and warnings that callers may want to tell apart.

Refusals of bad input are ordinary ``ValueError`` / ``TypeError`` where nothing more is to be said;
the classes here exist because a program can do something about them.

Examples
--------
>>> import worthwhile
>>> try:
...     worthwhile.Costs({"age": -1})
... except worthwhile.exceptions.CostsError as error:
...     print(error)
price of 'age' is -1: a price is a number >= 0. Use 0 for a free feature.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BadModelFile",
    "BudgetExceeded",
    "CostsError",
    "ExtractionFailed",
    "SessionError",
    "WorthwhileWarning",
]


class CostsError(ValueError):
    """Prices or groups that cannot be used, with the feature's name and what to do about it."""


class SessionError(ValueError):
    """A session was told something that does not fit: nothing was recorded."""


class BudgetExceeded(SessionError):
    """A stated price would take the session over its budget: nothing was recorded."""


class BadModelFile(ValueError):
    """A model file that is damaged, hostile or from a newer version: nothing of it was run."""


class ExtractionFailed(RuntimeError):
    """An extractor failed for good. Everything already bought is kept on ``sessions``.

    Attributes
    ----------
    feature : str or int
        What could not be extracted.
    sessions : dict
        The session of every id, in its last good state: read their answers, or go on with
        ``predict_with(extractors, ids, resume=error.sessions)``.
    extractors : Extractors
        The extractors of the run, with all values that they have fetched.
    """

    def __init__(self, message: str, *, feature: object = None) -> None:
        super().__init__(message)
        self.feature = feature
        self.sessions: Any = None
        self.extractors: Any = None


class WorthwhileWarning(UserWarning):
    """Something was done that the caller may not expect, such as an empty model."""
