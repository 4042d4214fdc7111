"""What to buy next given what is known, and the answer so far.

A :class:`Policy` is a fitted model seen from the till: immutable, made of plain arrays, free of
numba and scikit-learn until a batch is asked for. A :class:`Case` is one row on its way through
it. Everything an estimator predicts comes from its policy, so a batch, a session and a stored
model cannot disagree about what a model is.
"""

from __future__ import annotations

import copy
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from worthwhile.columns import Columns
from worthwhile.costs import NO_LIMIT, Costs, Errors, FlatCosts
from worthwhile.policy.calibration import Calibration
from worthwhile.policy.foreign import Foreign, digest_of
from worthwhile.policy.keys import Coin
from worthwhile.policy.output import Output
from worthwhile.policy.till import Till

Floats = npt.NDArray[np.float64]
Bundle = tuple[int, ...]
"""Features that are bought together or not at all."""

State = tuple[dict[str, Any], dict[str, Any]]
"""Settings as JSON values, and arrays (or nested policies) by name."""

MADE = ("_fingerprint", "_sides", "fed")
"""Attributes that a policy makes of its others when somebody asks."""

LARGEST = 1e100
"""No honest model holds a larger number, and a product with it might overflow."""


def are_moderate(*arrays: Any) -> bool:
    """Whether all numbers are finite, and small enough to be multiplied."""
    return all(bool((np.abs(array) <= LARGEST).all()) for array in arrays)


class Outcome(NamedTuple):
    """What happened to the rows of a batch."""

    raw: Floats
    """Raw output, (n, n_raw)."""
    acquired: npt.NDArray[np.bool_]
    """What was bought, (n, d)."""
    evaluated: npt.NDArray[np.int64]
    """Trees or stages evaluated, (n,)."""


class Case(ABC):
    """One row on its way through a policy.

    The state may depend only on the calls made so far: a session is stored as its calls and
    resumed by making them again.
    """

    evaluated: int = 0
    """Trees or stages evaluated so far; grows only in :meth:`wants`."""

    @abstractmethod
    def wants(self, left: int | None) -> list[Bundle]:
        """Bundles that are now certain to be read and not yet known, in a fixed order; [] when done.

        The order must not depend on how many of them are bought at a time: new wants go to the
        end. ``left`` is the money left in quanta (None: no limit); evaluations that the case
        starts here must fit into it.
        """

    @abstractmethod
    def learn(self, feature: int, value: float) -> None:
        """Take in a value; NaN if it came back empty. It need not have been wanted."""

    def learn_all(self, values: Mapping[int, float]) -> None:
        """Take in several values in this order."""
        for feature, value in values.items():
            self.learn(feature, value)

    @abstractmethod
    def refuse(self, bundle: Bundle) -> None:
        """These cannot be had: too dear for the budget, or not available. Go on without them."""

    @abstractmethod
    def answer(self) -> Floats:
        """Raw output with what is known now, (n_raw,). Always possible."""

    def why(self, feature: int) -> str:
        """In a few words, why a wanted feature is wanted."""
        return "the model reads it next"

    @property
    def where(self) -> Any:
        """Where the row stands after :meth:`wants`, for policies that walk through places of one map.

        Two such policies are together as long as this is equal; None where there is no map.
        """
        return None


class Policy(ABC):
    """A fitted model as a buyer.

    Parameters
    ----------
    costs : Costs
        Resolved against the columns of the training data.
    output : Output
        How raw outputs become predictions.
    """

    kind: ClassVar[str]
    """Name in model files."""

    chooses_by_price: ClassVar[bool] = False
    """Whether prices of today change what is bought, and not only what it costs and what a budget pays."""

    limit: int | None = None
    """Quanta that no case may pass, whatever budget it is given; None is no limit. A model inside
    another follows the limit of the whole."""

    exact: ClassVar[bool] = True
    """Batch and session agree to the last bit; False where a foreign library does the arithmetic."""

    columns: Columns | None = None
    """How the values of the user's columns become the numbers of ``batch`` and ``learn``; None where
    they are numbers already. Only the outermost policy has it: what it is made of knows numbers alone."""

    def __init__(self, costs: Costs, output: Output) -> None:
        self.costs = costs
        self.output = output

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.costs.n_features

    def with_columns(self, columns: Columns | None) -> Self:
        """The same policy for a table with these columns."""
        return self._changed(columns=columns)

    def calibrated(self, calibration: Calibration | None) -> Self:
        """The same policy, which buys the same, with probabilities through this map."""
        return self._changed(output=self.output.calibrated(calibration))

    def deciding(self, errors: Errors | None) -> Self:
        """The same policy, which buys the same, with decisions by these prices of errors."""
        return self._changed(output=self.output.deciding(errors))

    def _changed(self, **attributes: Any) -> Self:
        """A copy with other attributes, without what was made of the old ones."""
        twin = copy.copy(self)
        for made in MADE:
            vars(twin).pop(made, None)
        vars(twin).update(attributes)
        return twin

    @property
    @abstractmethod
    def reads(self) -> npt.NDArray[np.intp]:
        """Columns that some row may read, ascending."""

    @abstractmethod
    def begin(self) -> Case:
        """Start a row."""

    def limited(self, limit: int | None) -> Self:
        """The same policy with a limit of its own for every case."""
        return self._changed(limit=limit)

    def allowed(self, budget: Any) -> Any:
        """What a case may cost at most, given its budget in quanta; or rows, with a budget each."""
        if self.limit is None or budget is None:
            return self.limit if budget is None else budget
        return np.minimum(budget, self.limit) if np.ndim(budget) else min(budget, self.limit)

    # Where chance decides ------------------------------------------------------------------------

    @property
    def coin(self) -> Coin | None:
        """What decides which of two policies a case follows; None where there is one."""
        return None

    def following(self, dearer: bool) -> Policy:
        """The one of two policies, for cases to which the coin falls so."""
        return self

    def keyed(self, key: str | None) -> Policy:
        """The policy for a case with this key, as :func:`~worthwhile.policy.keys.read_key` gives it."""
        if key is None or self.coin is None:
            return self
        return self.following(self.coin.by_key(key))

    def _serve_keyed(
        self, X: Floats, limit: Any, keys: Sequence[str] | None, **how: Any
    ) -> Outcome:
        """A batch of a policy with a coin: each row as the one of two policies that it follows has it."""
        if keys is None:
            policy = self.keyed(None)
            return policy.serve(X, policy.allowed(limit), **how)
        assert self.coin is not None
        falls = self.coin.by_keys(keys)
        parts = []
        for dearer in (False, True):
            rows, policy = np.flatnonzero(falls == dearer), self.following(dearer)
            own = policy.allowed(limit[rows] if isinstance(limit, np.ndarray) else limit)
            if len(rows):
                parts.append((rows, policy.serve(X[rows], own, **how)))
        return joined(parts)

    def check_budget(self) -> None:  # noqa: B027  most policies can always answer in part
        """Refuse, with advice, if the policy cannot run under a budget."""

    def batch(self, X: Floats, limit: int | None = None, *, billed: bool = True) -> Outcome:
        """Run all rows of X, each with at most ``limit`` quanta to spend.

        This drives one case after the other and is right for every policy; subclasses replace it
        by something fast that gives the same bits. ``billed=False`` allows ``acquired`` to be
        left empty, shape (0, d).
        """
        return gathered(self, [run_case(self, row, limit) for row in X])

    def priced(self, costs: Costs) -> Policy:
        """The same policy at other prices."""
        if costs == self.costs:
            return self
        twin = self._priced(costs).with_columns(self.columns)
        return twin.calibrated(self.output.calibration).deciding(self.output.errors)

    def _priced(self, costs: Costs) -> Policy:
        return type(self).from_state(costs, self.output, self.state())

    def serve(
        self, X: Floats, limit: Any = None, *, unavailable: Iterable[int] = (), billed: bool = True,
        keys: Sequence[str] | None = None, **how: Any,
    ) -> Outcome:  # fmt: skip
        """A batch as its caller sees it: with what the purchases require.

        Parameters
        ----------
        limit : int, or int64 array (n,), optional
            Quanta to spend on each row; in an array ``NO_LIMIT`` stands for None.
        unavailable : columns
            What is not to be had for these rows, as if a session had been told so at its start.
        keys : one per row, optional
            Decide where a coin falls.
        billed, how
            As for :meth:`batch`.
        """
        if self.coin is not None and (keys is not None or self.keyed(None) is not self):
            return self._serve_keyed(X, limit, keys, unavailable=unavailable)
        missing = self.costs.dependents(unavailable)
        if not missing and not isinstance(limit, np.ndarray):
            return self._with_required(self.batch(X, limit, billed=billed, **how))

        def run(rows: Floats, quanta: int | None, billed: bool = billed) -> Outcome:
            if missing:
                return self.batch_without(rows, quanta, missing, billed=billed, **how)
            return self.batch(rows, quanta, billed=billed, **how)

        each = isinstance(limit, np.ndarray)
        return self._with_required(self._by_limit(X, limit, run) if each else run(X, limit))

    def _with_required(self, outcome: Outcome) -> Outcome:
        """The outcome of a batch, where purchases come with what they require."""
        closed = self.costs.closed(outcome.acquired)
        return outcome if closed is outcome.acquired else outcome._replace(acquired=closed)

    def _by_limit(self, X: Floats, limits: npt.NDArray[np.int64], run: Any) -> Outcome:
        """Rows with a limit each; those whose whole bill fits are as without one."""
        found: Outcome = run(X, None, billed=True)
        outcome = Outcome(found.raw.copy(), found.acquired.copy(), found.evaluated.copy())
        short = self.bills(outcome) > limits
        for limit in np.unique(limits[short]):
            rows = np.flatnonzero(short & (limits == limit))
            for whole, part in zip(outcome, run(X[rows], int(limit), billed=True), strict=True):
                whole[rows] = part
        return outcome

    def batch_without(
        self, X: Floats, limit: int | None, missing: Sequence[int], *, billed: bool = True
    ) -> Outcome:
        """The same as :meth:`batch` where some columns are not to be had; row by row."""
        return gathered(self, [run_case(self, row, limit, missing) for row in X])

    def bills(self, outcome: Outcome) -> npt.NDArray[np.int64]:
        """Bill of each row of a batch that was run with ``billed=True``, in quanta, (n,)."""
        return self.costs.quanta(outcome.acquired, outcome.evaluated)

    @abstractmethod
    def state(self) -> State:
        """Settings and arrays for a model file, costs and output left out."""

    @classmethod
    @abstractmethod
    def from_state(cls, costs: Costs, output: Output, state: State) -> Policy:
        """Read what :meth:`state` wrote. Raise ValueError for anything that is unsafe to run."""

    def fingerprint(self) -> str:
        """Digest of all that decides purchases and answers; stored sessions check it."""
        if not hasattr(self, "_fingerprint"):
            digest = hashlib.sha256(repr((self.kind, self.output.kind)).encode())
            # Sorted: a model file does not keep the order of the groups, which does not matter.
            digest.update(json.dumps(self.costs.to_dict(), sort_keys=True).encode())
            classes = self.output.classes
            digest.update(repr(None if classes is None else classes.tolist()).encode())
            if self.columns is not None:
                digest.update(json.dumps(self.columns.to_dict()).encode())
            if self.output.calibration is not None:
                _update(digest, self.output.calibration.to_dict())
            if self.output.errors is not None:
                digest.update(repr(self.output.errors.to_dict()).encode())
            if self.limit is not None:
                digest.update(f"limit {self.limit}".encode())
            _update(digest, self._identity())
            self._fingerprint = digest.hexdigest()[:16]
        return self._fingerprint

    def _identity(self) -> Any:
        """What the digest is made of, besides kind, output and prices."""
        return self.state()


Driven = tuple[Floats, npt.NDArray[np.bool_], int]
"""Raw output, purchases and evaluations of a row."""


def gathered(policy: Policy, rows: list[Driven]) -> Outcome:
    """Single rows as a batch."""
    return Outcome(
        np.array([raw for raw, _, _ in rows]).reshape(len(rows), -1),
        np.array([bought for _, bought, _ in rows]).reshape(-1, policy.n_features),
        np.array([evaluated for _, _, evaluated in rows], dtype=np.int64),
    )


def joined(parts: Sequence[tuple[npt.NDArray[np.intp], Outcome]]) -> Outcome:
    """Parts of a batch in one, each with the numbers of its rows; all billed."""
    order = np.argsort(np.concatenate([rows for rows, _ in parts]))
    columns = zip(*(outcome for _, outcome in parts), strict=True)
    return Outcome(*(np.concatenate(column)[order] for column in columns))


def run_case(
    policy: Policy, row: Sequence[float] | Floats, limit: int | None, missing: Sequence[int] = ()
) -> Driven:
    """Drive one row to its end: raw output, purchases, evaluations. The order of law 5 lives here.

    ``missing`` are columns that are not to be had, nor what requires them.
    """
    case = policy.begin()
    for feature in missing:
        case.refuse((feature,))
    bought = np.zeros(policy.n_features, dtype=bool)
    till = Till(policy.costs, limit)
    while bundles := case.wants(till.left(case.evaluated)):
        for bundle in bundles:
            out = missing and not set(missing).isdisjoint(bundle)
            if out or not till.buy(bundle, case.evaluated):
                case.refuse(bundle)
                continue
            for feature in bundle:
                bought[feature] = True
                case.learn(feature, float(row[feature]))
    return case.answer(), policy.costs.closed(bought[None])[0], case.evaluated


def without(flat: FlatCosts, missing: Sequence[int]) -> FlatCosts:
    """Prices at which nobody can buy some columns."""
    price = flat.price.copy()
    price[list(missing)] = NO_LIMIT
    return flat._replace(price=price)


def _update(digest: Any, item: Any) -> None:
    """Feed nested state into a digest."""
    if isinstance(item, np.ndarray):
        digest.update(
            repr((item.dtype.str, item.shape)).encode() + np.ascontiguousarray(item).tobytes()
        )
    elif isinstance(item, Foreign):
        digest.update(digest_of(item.value))
    elif isinstance(item, Policy):
        digest.update(item.fingerprint().encode())
    elif isinstance(item, Mapping):
        for key in sorted(item):
            digest.update(str(key).encode())
            _update(digest, item[key])
    elif isinstance(item, (list, tuple)):
        for part in item:
            _update(digest, part)
    else:
        digest.update(repr(item).encode())


def read_inner(arrays: Mapping[str, Any], output: Output) -> tuple[Policy, dict[str, Any]]:
    """The policy inside another one of a file, which gives the same answers, and the other arrays."""
    inner = arrays.get("inner")
    if not isinstance(inner, Policy) or inner.columns is not None:
        raise ValueError("inner is not a policy over numbers")
    if inner.output.kind != output.kind or not np.array_equal(
        np.asarray(inner.output.classes), np.asarray(output.classes)
    ):
        raise ValueError("inner has another output")
    return inner, {name: array for name, array in arrays.items() if name != "inner"}
