"""Many sessions at once: each feature is fetched in one call for all rows that want it now."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.exceptions import ExtractionFailed
from worthwhile.policy.base import Policy
from worthwhile.policy.keys import read_keys
from worthwhile.runtime.extractors import Extractors
from worthwhile.runtime.session import Session
from worthwhile.runtime.values import UNAVAILABLE, split_paid


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
    sessions: Sequence[Session] | Mapping[Any, Session] | None = None,
    prices: Any = None,
    unavailable: Any = (),
    key: Any = None,
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
    budget : number, or one per id, optional
        Limit per row.
    on_failure : {"raise", "answer"}
        When an extractor fails for good: raise :class:`~worthwhile.exceptions.ExtractionFailed`,
        which carries all sessions with everything already bought, or go on without the feature.
    sessions : sequence or mapping by id of Session, optional
        Resume these instead of starting new ones; each has its own budget.
    prices, unavailable
        Of all sessions, as for :class:`~worthwhile.Session`.
    key : one per id, optional
        Keys of the cases; those of the ids themselves are ``key=ids``.

    Raises
    ------
    ExtractionFailed
        See ``on_failure``.
    BaseException
        Whatever else stops the run, such as Ctrl-C, carries the same attributes: ``sessions`` (by
        id, with everything already bought) and ``extractors`` (with all values fetched so far).
    """
    if on_failure not in ("raise", "answer"):
        raise ValueError(f"on_failure is {on_failure!r}: it is 'raise' or 'answer'.")
    if not isinstance(extractors, Extractors):
        extractors = Extractors(extractors)
    reads = np.zeros((1, policy.n_features), dtype=bool)
    reads[0, policy.reads] = True
    extractors.check(policy.costs, np.flatnonzero(policy.costs.closed(reads)[0]).tolist())
    ids = list(ids)
    if wrong := [i for i in ids if not isinstance(i, Hashable)]:
        raise TypeError(
            f"ids has {wrong[0]!r}, a {type(wrong[0]).__name__}: values are kept per id, so give numbers, text or "
            "tuples."
        )
    if sessions is None:
        # The same id is the same case: one session, however often it is listed.
        request = {"prices": prices, "unavailable": unavailable}
        by_id = _new_sessions(policy, ids, budget, key, request)
    elif key is not None:
        raise ValueError("key is given: sessions that are resumed have their own; leave it.")
    else:
        by_id = _to_resume(policy, ids, budget, sessions)
    run = _Run(policy, extractors, by_id, on_failure)
    try:
        run.to_end()
    except ExtractionFailed as error:
        error.sessions, error.extractors = by_id, extractors
        raise
    except BaseException as error:
        stopped: Any = error
        stopped.sessions, stopped.extractors = by_id, extractors
        stopped.sessions = run.recovered()
        error.add_note(
            "Everything bought so far is kept. With this exception as error, go on with "
            "predict_with(error.extractors, ids, resume=error.sessions)."
        )
        raise
    return Answers(ids, [by_id[i] for i in ids])


def _new_sessions(
    policy: Policy, ids: list[Any], budget: Any, key: Any, request: dict[str, Any]
) -> dict[Any, Session]:
    """A session per id; with several budgets or keys for an id, the first."""
    keys = [None] * len(ids) if key is None else read_keys(key, len(ids), "id")
    if budget is None or np.ndim(budget) == 0:
        budget = [budget] * len(ids)
    elif np.shape(budget) != (len(ids),):
        raise ValueError(
            f"budget has shape {np.shape(budget)} for {len(ids)} ids: give one number, or one for each id."
        )
    own: dict[Any, tuple[Any, str | None]] = {}
    for i, *each in zip(ids, list(budget), keys, strict=True):
        own.setdefault(i, tuple(each))
    return {i: Session(policy, budget=one, key=k, **request) for i, (one, k) in own.items()}


def _to_resume(
    policy: Policy, ids: list[Any], budget: Any, sessions: Sequence[Session] | Mapping[Any, Session]
) -> dict[Any, Session]:
    """Sessions by id, of those that are given."""
    if budget is not None:
        raise ValueError(f"budget is {budget}: sessions that are resumed have their own; leave it.")
    if isinstance(sessions, Mapping):
        if missing := [i for i in ids if i not in sessions]:
            raise ValueError(f"no session for id {missing[0]!r}: give one per id.")
        sessions = [sessions[i] for i in ids]
    if len(sessions) != len(ids):
        raise ValueError(f"{len(sessions)} sessions for {len(ids)} ids: give one per id.")
    by_id: dict[Any, Session] = {}
    id_of: dict[int, Any] = {}
    for i, session in zip(ids, sessions, strict=True):
        if by_id.setdefault(i, session) is not session:
            raise ValueError(f"id {i!r} has two sessions: the same id is the same case.")
        if (other := id_of.setdefault(id(session), i)) != i:
            raise ValueError(f"ids {other!r} and {i!r} share a session: give one per id.")
        if session.origin is not policy and session.origin.fingerprint() != policy.fingerprint():
            raise ValueError(f"session of id {i!r} belongs to another model.")
    return by_id


class _Run:
    """Sessions on their way to the end."""

    def __init__(
        self,
        policy: Policy,
        extractors: Extractors,
        by_id: dict[Any, Session],
        on_failure: str,
    ) -> None:
        self._costs, self._columns, self._extractors = policy.costs, policy.columns, extractors
        self._by_id, self._on_failure = by_id, on_failure
        self._wanted: dict[Any, list[str | int]] = {}

    def to_end(self) -> None:
        """Ask, fetch and tell until nobody wants anything."""
        while wanted := {i: names for i, s in self._by_id.items() if (names := s.ask())}:
            self._wanted = wanted
            self._one_round()

    def _one_round(self) -> None:
        """Fetch what is wanted now, tell it, and only then report what failed."""
        values: dict[Any, dict[str | int, Any]] = {i: {} for i in self._wanted}
        failed: dict[str | int, Exception] = {}
        for feature, ids in self._by_feature().items():
            try:
                column = self._extractors.fetch(feature, ids, self._costs, self._columns)
            except Exception as error:
                failed[feature] = error
                if self._on_failure == "raise":
                    continue
                column = [UNAVAILABLE] * len(ids)
            for i, value in zip(ids, column, strict=True):
                values[i][feature] = value
        for i, told in values.items():
            if told:
                self._by_id[i].tell(*split_paid(told))
        if failed and self._on_failure == "raise":
            feature, cause = next(iter(failed.items()))
            raise ExtractionFailed(
                f"extractor of {feature!r} failed for good ({type(cause).__name__}: {cause}). Everything bought so far "
                "is kept: the sessions on this error can answer with it, or go on with predict_with(..., "
                "resume=error.sessions).",
                feature=feature,
            ) from cause

    def _by_feature(self) -> dict[str | int, list[Any]]:
        """Who wants what now, in the order of the columns."""
        wanted: dict[str | int, list[Any]] = {}
        for i, names in self._wanted.items():
            for name in names:
                wanted.setdefault(name, []).append(i)
        return {name: wanted[name] for name in sorted(wanted, key=self._costs.index)}

    def recovered(self) -> dict[Any, Session]:
        """The sessions with all that was fetched for them, wherever the run was stopped.

        A session may have been stopped in the middle of a call. What it wrote down is whole: a
        copy, which makes the calls again, is sound, and is told the rest.
        """
        sessions = {}
        for i, session in self._by_id.items():
            twin = sessions[i] = copy.copy(session)
            fetched = self._extractors.remembered(self._wanted.get(i, ()), i)
            if told := {f: value for f, value in fetched.items() if not twin.was_told(f)}:
                twin.tell(*split_paid(told))
        return sessions
