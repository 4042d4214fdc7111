"""Two policies and a share of the cases for the dearer one: a mean bill between theirs.

A case follows one of the two from its first purchase to its answer. With a key, a coin tossed by
the key says which. Without one, a case goes on as long as both want the same; where they part, the
coin is tossed by the values that were bought, and with none of them the cheaper policy is followed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from worthwhile.costs import Costs
from worthwhile.policy.base import (
    Bundle,
    Case,
    Floats,
    Outcome,
    Policy,
    State,
    joined,
)
from worthwhile.policy.keys import Coin
from worthwhile.policy.library import LibraryPolicy
from worthwhile.policy.output import Output


class MixturePolicy(Policy):
    """A cheaper and a dearer policy of one table, and a coin.

    Parameters
    ----------
    first, second : Policy
        The cheaper and the dearer one, over numbers, with the same prices and the same kind of answers.
    coin : Coin
        Falls to the second for a share of the cases.

    Examples
    --------
    >>> from worthwhile import GreedyMiserClassifier, datasets
    >>> heart = datasets.load_heart()
    >>> model = GreedyMiserClassifier(costs=heart.costs, n_rounds=9).fit(heart.data, heart.target)
    >>> cheap, dear = model.at(stage=1).policy_, model.policy_
    >>> mixed = MixturePolicy(cheap, dear, Coin(seed=0, share=2**31))
    >>> mixed.keyed("Ann") is mixed.following(True), mixed.keyed("Ben") is mixed.following(False)
    (True, True)
    """

    kind: ClassVar[str] = "mixture"

    def __init__(self, first: Policy, second: Policy, coin: Coin) -> None:
        super().__init__(first.costs, first.output)
        if problem := _misfit(first, second):
            raise ValueError(problem)
        self.first, self.second, self._coin = first, second, coin
        self.exact = first.exact and second.exact  # type: ignore[misc]
        # A limit of one of them buys more or less at other prices.
        limited = first.limit is not None or second.limit is not None
        by_price = first.chooses_by_price or second.chooses_by_price
        self.chooses_by_price = limited or by_price  # type: ignore[misc]

    @property
    def coin(self) -> Coin:
        """What decides."""
        return self._coin

    @property
    def reads(self) -> npt.NDArray[np.intp]:
        """Columns that a row may read under one of the two."""
        return np.union1d(self.first.reads, self.second.reads).astype(np.intp)

    def check_budget(self) -> None:
        """Both must be able to run under one."""
        self.first.check_budget()
        self.second.check_budget()

    def following(self, dearer: bool) -> Policy:
        """One of the two, as the outermost policy."""
        sides: dict[bool, Policy] = vars(self).setdefault("_sides", {})
        if dearer not in sides:
            side = (self.second if dearer else self.first).with_columns(self.columns)
            side = side.calibrated(self.output.calibration)
            sides[dearer] = side.deciding(self.output.errors)
        return sides[dearer]

    def keyed(self, key: str | None) -> Policy:
        """As for every policy; without a key the cheaper one where the two cannot go together."""
        if key is None:
            return self if self._may_share else self.following(False)
        return super().keyed(key)

    @property
    def _may_share(self) -> bool:
        """Whether cases may begin with both.

        Not under limits of their own; nor with a price of evaluation, unless they walk through one map:
        what is due for evaluations would depend on which of the two is followed.
        """
        limited = self.first.limit is not None or self.second.limit is not None
        return not limited and (self._points is not None or not self.costs.flat.evaluation)

    @property
    def _points(self) -> tuple[LibraryPolicy, LibraryPolicy] | None:
        """The two, if they are points of one library."""
        first, second = self.first, self.second
        if not (isinstance(first, LibraryPolicy) and isinstance(second, LibraryPolicy)):
            return None
        return (first, second) if first.library is second.library else None

    def begin(self) -> Case:
        """Start a row without a key."""
        return MixtureCase(self) if self._may_share else self.first.begin()

    def batch(self, X: Floats, limit: int | None = None, *, billed: bool = True) -> Outcome:
        """Rows without keys; of two points of one library, both parts at once."""
        if self._parts_at_once(limit, ()):
            return self.first.batch(X, limit, billed=billed)
        if self._points is None:
            return super().batch(X, limit, billed=billed)
        falls = self._falls(*self._points, X, limit)
        sides = ((self.first, ~falls), (self.second, falls))
        return joined(
            [(np.flatnonzero(own), side.batch(X[own], limit)) for side, own in sides if own.any()]
        )

    def batch_without(
        self, X: Floats, limit: int | None, missing: Sequence[int], *, billed: bool = True
    ) -> Outcome:
        """The same where some columns are not to be had."""
        if self._parts_at_once(limit, missing):
            return self.first.batch_without(X, limit, missing, billed=billed)
        return super().batch_without(X, limit, missing, billed=billed)

    def _parts_at_once(self, limit: int | None, missing: Sequence[int]) -> bool:
        """Whether the two part before anything is bought, which is so for all rows or for none."""
        if not self._may_share:
            return True
        case = MixtureCase(self)
        for feature in missing:
            case.refuse((feature,))
        case.wants(limit)
        return case.is_decided

    def _falls(
        self, first: LibraryPolicy, second: LibraryPolicy, X: Floats, limit: int | None
    ) -> npt.NDArray[np.bool_]:
        """Whether the coin falls to the second of two points of one library, for rows without keys."""
        at, member = first.parting(second, X, limit), first.library.member
        falls = np.zeros(len(X), dtype=bool)
        for node in np.unique(at).tolist():
            columns, rows = np.flatnonzero(member[node]).tolist(), np.flatnonzero(at == node)
            values = np.asarray(X[rows][:, columns], dtype=np.float64).tolist()
            falls[rows] = [
                self._coin.by_values(dict(zip(columns, row, strict=True))) for row in values
            ]
        return falls

    def _priced(self, costs: Costs) -> MixturePolicy:
        return MixturePolicy(self.first.priced(costs), self.second.priced(costs), self._coin)

    def state(self) -> State:
        """The coin and both policies; of two points of one library, that once."""
        settings = {"seed": self._coin.seed, "share": self._coin.share}
        if self._points is not None:
            return {**settings, "point": self._points[1].point}, {"first": self.first}
        return settings, {"first": self.first, "second": self.second}

    @classmethod
    def from_state(cls, costs: Costs, output: Output, state: State) -> MixturePolicy:
        """Read and check."""
        settings, arrays = state
        coin = Coin(settings.get("seed"), settings.get("share"))  # type: ignore[arg-type]
        first, second = arrays.get("first"), arrays.get("second")
        if not isinstance(first, Policy):
            raise ValueError("first is not a policy")
        if "point" in settings:
            if second is not None or not isinstance(first, LibraryPolicy):
                raise ValueError("there is a point beside policies that are not of one library")
            second = _point_of(first, settings["point"])
        if not isinstance(second, Policy):
            raise ValueError("second is not a policy")
        if first.n_features != costs.n_features or second.n_features != costs.n_features:
            raise ValueError("first and second are not over the columns of the prices")
        built = cls(first.priced(costs), second.priced(costs), coin)
        if built.output.kind != output.kind or not _same(built.output.classes, output.classes):
            raise ValueError("first has another output")
        return built


def _point_of(first: LibraryPolicy, point: Any) -> LibraryPolicy:
    if type(point) is not int or not 0 <= point < len(first.library.rate):
        raise ValueError(f"point is {str(point)[:40]}, not one of {len(first.library.rate)}")
    return first.at(point)


def _same(classes: Any, others: Any) -> bool:
    return np.array_equal(np.asarray(classes), np.asarray(others))


def _misfit(first: Policy, second: Policy) -> str:
    """Why two policies cannot be mixed; "" if they can."""
    if first.costs != second.costs:
        return "the two models have different prices, or other columns: mix models of one table."
    one, other = first.output, second.output
    if one.kind != other.kind or not _same(one.classes, other.classes):
        return f"the two models answer with {one.kind} and {other.kind}, or with other classes: mix models of one kind."
    if first.columns is not None or second.columns is not None:
        return "the two models are not over numbers"
    if one.calibration is not None or other.calibration is not None:
        return "one of the two models is calibrated, and what is mixed has one map: mix models without calibrate."
    if one.errors != other.errors:
        return "the two models have other prices of errors: mix models that decide by the same."
    if first.coin is not None or second.coin is not None:
        return "one of the two models is mixed itself: mix those that it is made of."
    if not (getattr(first, "alone", True) and getattr(second, "alone", True)):
        return "one of the two models decides for all rows of a query together, and a coin falls for each row."
    return ""


class MixtureCase(Case):
    """One row without a key: on its way with both policies until they part."""

    def __init__(self, policy: MixturePolicy) -> None:
        self._policy, self._coin = policy, policy.coin
        self._cases = [policy.first.begin(), policy.second.begin()]
        self._followed: Case | None = None
        # Under a limit: the same two with all money there is, so that what a case follows while its
        # money lasts does not depend on the limit.
        self._rich: list[Case] = []
        self._known: dict[int, float] = {}
        self._calls: list[tuple[str, Any]] = []  # for those that begin later

    @property
    def is_decided(self) -> bool:
        """Whether the two have parted."""
        return self._followed is not None

    def wants(self, left: int | None) -> list[Bundle]:
        """What both want first; once they part, all that the followed one wants."""
        if self._followed is not None:
            bundles = self._followed.wants(left)
        else:
            wanted = [case.wants(left) for case in self._cases]
            if self._are_together(wanted, left):
                self.evaluated = self._cases[0].evaluated
                return wanted[0][:1]
            side = self._coin.by_values(self._known)
            self._followed, bundles = self._cases[side], wanted[side]
            self._rich, self._calls = [], []
        self.evaluated = self._followed.evaluated
        return bundles

    def _are_together(self, wanted: list[list[Bundle]], left: int | None) -> bool:
        """Whether both go the same way, and would do so with all money there is."""
        cases = list(self._cases)
        if left is not None:
            self._begin_rich()
            cases += self._rich
            wanted = wanted + [case.wants(None) for case in self._rich]
        steps = [(bundles[:1], case.where) for bundles, case in zip(wanted, cases, strict=True)]
        return bool(wanted[0]) and all(step == steps[0] for step in steps)

    def _begin_rich(self) -> None:
        if not self._rich:
            self._rich = [self._policy.first.begin(), self._policy.second.begin()]
            for case in self._rich:
                for name, arguments in self._calls:
                    getattr(case, name)(*arguments)

    def _all(self, name: str, *arguments: Any) -> None:
        """Call a method of every case that may still be followed."""
        if self._followed is not None:
            getattr(self._followed, name)(*arguments)
            return
        self._calls.append((name, arguments))
        for case in (*self._cases, *self._rich):
            getattr(case, name)(*arguments)

    def learn(self, feature: int, value: float) -> None:
        """Both learn it."""
        self._known[feature] = value
        self._all("learn", feature, value)

    def refuse(self, bundle: Bundle) -> None:
        """Both go on without it."""
        self._all("refuse", bundle)

    def answer(self) -> Floats:
        """That of the policy followed; of the cheaper one before that is decided."""
        return (self._followed or self._cases[0]).answer()

    def why(self, feature: int) -> str:
        """As the policy followed, or the cheaper one."""
        return (self._followed or self._cases[0]).why(feature)
