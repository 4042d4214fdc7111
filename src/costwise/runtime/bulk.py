"""Many sessions at once: each feature is fetched in one call for all rows that want it now."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from costwise.exceptions import ExtractionFailed
from costwise.policy.base import Policy
from costwise.runtime.extractors import Extractors
from costwise.runtime.session import UNAVAILABLE, Session


@dataclass(frozen=True)
class Answers:
    """Predictions for many ids, with their bills.

    Attributes
    ----------
    ids : list
        As given.
    sessions : list of Session
        One per id, each with its ledger.
    """

    ids: list[Any]
    sessions: list[Session]

    @property
    def predictions(self) -> npt.NDArray[Any]:
        """Label or value of each id."""
        return np.array([session.prediction for session in self.sessions])

    @property
    def probabilities(self) -> npt.NDArray[np.float64]:
        """Probability of each class for each id."""
        return np.array([session.probabilities for session in self.sessions])

    @property
    def spent(self) -> npt.NDArray[np.float64]:
        """Bill of each id."""
        return np.array([session.spent for session in self.sessions])


def run_sessions(
    policy: Policy,
    extractors: Extractors | Mapping[Any, Any],
    ids: Sequence[Any],
    budget: Any = None,
    *,
    on_failure: str = "raise",
    sessions: Sequence[Session] | None = None,
) -> Answers:
    """Drive one session per id to its end.

    Parameters
    ----------
    policy : Policy
        The fitted model.
    extractors : Extractors or mapping
        Where values come from.
    ids : sequence
        What the extractors are called with.
    budget : number, optional
        Limit per row.
    on_failure : {"raise", "answer"}
        When an extractor fails for good: raise :class:`~costwise.exceptions.ExtractionFailed`,
        which carries all sessions with everything already bought, or go on without the feature.
    sessions : sequence of Session, optional
        Resume these instead of starting new ones.
    """
    if on_failure not in ("raise", "answer"):
        raise ValueError(f"on_failure is {on_failure!r}: it is 'raise' or 'answer'.")
    if not isinstance(extractors, Extractors):
        extractors = Extractors(extractors)
    extractors.check(policy.costs, [int(column) for column in policy.reads])
    ids = list(ids)
    if wrong := [i for i in ids if not isinstance(i, Hashable)]:
        raise TypeError(
            f"ids has {wrong[0]!r}, a {type(wrong[0]).__name__}: values are kept per id, so give numbers, text or "
            "tuples."
        )
    if sessions is None:
        # The same id is the same case: one session, however often it is listed.
        by_id = {i: Session(policy, budget=budget) for i in ids}
        sessions = [by_id[i] for i in ids]
    if len(sessions) != len(ids):
        raise ValueError(f"{len(sessions)} sessions for {len(ids)} ids: give one per id.")
    cases = {id(session): (i, session) for i, session in zip(ids, sessions, strict=True)}
    open_ids, open_sessions = [i for i, _ in cases.values()], [s for _, s in cases.values()]
    while any(wanted := [session.ask() for session in open_sessions]):
        _one_round(policy, extractors, open_ids, open_sessions, wanted, on_failure)
    return Answers(ids, list(sessions))


def _one_round(
    policy: Policy,
    extractors: Extractors,
    ids: list[Any],
    sessions: list[Session],
    wanted: list[list[str | int]],
    on_failure: str,
) -> None:
    """Fetch what is wanted now, tell it, and only then report what failed."""
    values: list[dict[str | int, Any]] = [{} for _ in ids]
    failed: dict[str | int, Exception] = {}
    features = sorted({f for names in wanted for f in names}, key=policy.costs.index)
    for feature in features:
        rows = [row for row, names in enumerate(wanted) if feature in names]
        try:
            column = extractors.fetch(feature, [ids[row] for row in rows], policy.costs)
        except Exception as error:
            failed[feature] = error
            if on_failure == "raise":
                continue
            column = [UNAVAILABLE] * len(rows)
        for row, value in zip(rows, column, strict=True):
            values[row][feature] = value
    for session, told in zip(sessions, values, strict=True):
        if told:
            session.tell(told)
    if failed and on_failure == "raise":
        feature, cause = next(iter(failed.items()))
        raise ExtractionFailed(
            f"extractor of {feature!r} failed for good ({type(cause).__name__}: {cause}). Everything bought so far is "
            "kept: the sessions on this error can answer with it, or go on with run_sessions(..., sessions=...).",
            feature=feature,
            sessions=dict(zip(ids, sessions, strict=True)),
        ) from cause
