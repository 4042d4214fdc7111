"""A gate and a cheap model in front of another one: who answers is decided row by row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from worthwhile.core import links
from worthwhile.costs import Costs
from worthwhile.policy.base import Bundle, Case, Floats, Outcome, Policy, State, run_case
from worthwhile.policy.output import Output

ROLES = ("gate", "cheap", "existing")

GATE_OUTPUT = Output("score", np.array([0, 1]))
"""How a gate's score is read: above 0 the row is sent on to the existing model."""


class GatePolicy(Policy):
    """Buys what the gate reads, then what the model it chooses reads.

    Rows with a gate score above 0 go to the existing model, the others to the cheap one. A feature
    that several of the three read is paid once. When something the existing model needs cannot be
    had, the cheap model answers, with what is known and what the rest of the money buys; only an
    existing model that is itself a gate is left to fall back on its own cheap model.

    Parameters
    ----------
    costs : Costs
        Prices in column order.
    output : Output
        See :func:`shared_output`.
    gate : Policy
        One raw output.
    cheap, existing : Policy
        The two that can answer.
    """

    kind = "gate"

    def __init__(
        self, costs: Costs, output: Output, gate: Policy, cheap: Policy, existing: Policy
    ) -> None:
        super().__init__(costs, output)
        self.gate, self.cheap, self.existing = gate, cheap, existing
        self.exact = gate.exact and cheap.exact and existing.exact  # type: ignore[misc]
        parts = (gate, cheap, existing)
        self.chooses_by_price = any(part.chooses_by_price for part in parts)  # type: ignore[misc]

    @property
    def reads(self) -> npt.NDArray[np.intp]:
        """Columns that one of the three may read."""
        parts = [self.gate.reads, self.cheap.reads, self.existing.reads]
        return np.unique(np.concatenate(parts)).astype(np.intp)

    def begin(self) -> GateCase:
        """Start a row at the gate."""
        return GateCase(self)

    def _priced(self, costs: Costs) -> GatePolicy:
        parts = {role: getattr(self, role).priced(costs) for role in ROLES}
        return GatePolicy(costs, self.output, **parts)

    def sent(self, X: Floats) -> npt.NDArray[np.bool_]:
        """Rows that the gate sends on to the existing model when money is no object."""
        return self.gate.batch(X, billed=False).raw[:, 0] > 0

    def batch(self, X: Floats, limit: int | None = None, *, billed: bool = True) -> Outcome:
        """Gate for all rows, then each branch for its own; rows that run out of money one by one."""
        outcome = self._unlimited(X, billed or limit is not None)
        if limit is None:
            return outcome
        # A row whose whole bill fits buys the same things in the same order as without a limit.
        for row in np.flatnonzero(self.bills(outcome) > limit):
            raw, acquired, evaluated = run_case(self, X[row], limit)
            outcome.raw[row], outcome.acquired[row] = raw, acquired
            outcome.evaluated[row] = evaluated
        return outcome

    def _unlimited(self, X: Floats, billed: bool) -> Outcome:
        gate = self.gate.batch(X, billed=billed)
        sent = gate.raw[:, 0] > 0
        acquired = np.array(gate.acquired) if billed else np.zeros((0, self.n_features), dtype=bool)
        evaluated = np.array(gate.evaluated)
        raw = np.zeros((len(X), self.output.n_raw or 1))
        for branch, rows in (
            (self.existing, np.flatnonzero(sent)),
            (self.cheap, np.flatnonzero(~sent)),
        ):
            if not len(rows):
                continue
            part = branch.batch(X[rows], billed=billed)
            raw[rows] = translate(branch.output, self.output, part.raw)
            evaluated[rows] += part.evaluated
            if billed:
                acquired[rows] |= part.acquired
        return Outcome(raw, acquired, evaluated)

    def state(self) -> State:
        """The three policies."""
        return {}, {role: getattr(self, role) for role in ROLES}

    @classmethod
    def from_state(cls, costs: Costs, output: Output, state: State) -> GatePolicy:
        """Read and check the three policies."""
        _, parts = state
        if set(parts) != set(ROLES):
            raise ValueError(f"the parts are {sorted(parts)}, not {sorted(ROLES)}")
        for role, part in parts.items():
            if not isinstance(part, Policy):
                raise ValueError(f"{role} is not a policy")
            if part.n_features != costs.n_features:
                raise ValueError(
                    f"{role} has {part.n_features} columns, the prices {costs.n_features}"
                )
        if parts["gate"].output.n_raw != 1:
            raise ValueError("the gate has not one raw output")
        for role in ("cheap", "existing"):
            check_translation(parts[role].output, output, role)
        return cls(costs, output, **{role: part.priced(costs) for role, part in parts.items()})


class GateCase(Case):
    """One row: at the gate, then at the existing model or the cheap one."""

    def __init__(self, policy: GatePolicy) -> None:
        self._policy = policy
        self._gate = policy.gate.begin()
        self._cheap = policy.cheap.begin()
        self._existing = policy.existing.begin()
        self._at = "gate"
        self._complete = False  # whether the existing model has all it wants
        self._falls_back = isinstance(policy.existing, GatePolicy)
        self._refused: set[int] = set()

    def wants(self, left: int | None) -> list[Bundle]:
        """What the gate wants, then what the chosen model wants."""
        if self._at == "gate":
            bundles, left = self._ask(self._gate, left, left)
            if bundles:
                return bundles
            self._at = "existing" if self._gate.answer()[0] > 0 and self._possible() else "cheap"
        if self._at == "existing":
            bundles, rest = self._ask(self._existing, left if self._falls_back else None, left)
            if rest is None or rest >= 0:
                self._complete = not bundles
                return bundles if self._falls_back or not bundles else [_as_one(bundles)]
            self._at = "cheap"
        return self._ask(self._cheap, left, left)[0]

    def _ask(
        self, case: Case, told: int | None, left: int | None
    ) -> tuple[list[Bundle], int | None]:
        """What a case wants, and the money left after the evaluations that it starts.

        If that is less than nothing, the case is to be dropped, and its evaluations are not made.
        """
        before = case.evaluated
        bundles = case.wants(told)
        started = case.evaluated - before
        if left is not None:
            left -= started * self._policy.costs.flat.evaluation
        if left is None or left >= 0:
            self.evaluated += started
        return bundles, left

    def _possible(self) -> bool:
        """Whether the existing model can get along without what was refused so far."""
        return self._falls_back or self._refused.isdisjoint(self._policy.existing.reads.tolist())

    def learn(self, feature: int, value: float) -> None:
        """All three know it: what one reads, the others have for nothing."""
        self._refused.discard(feature)
        for case in (self._gate, self._cheap, self._existing):
            case.learn(feature, value)

    def refuse(self, bundle: Bundle) -> None:
        """Go on without; an existing model that cannot be had whole leaves the answer to the cheap one.

        A single feature that cannot be had now cannot be had later either, so all three are told. A
        larger bundle concerns only the model that wanted it: its members may still fit one by one.
        """
        own = {"gate": self._gate, "existing": self._existing, "cheap": self._cheap}[self._at]
        told = (self._gate, self._existing, self._cheap) if len(bundle) == 1 else (own,)
        if len(bundle) == 1:
            self._refused.update(bundle)
        for case in told:
            case.refuse(bundle)
        if self._at == "existing" and not self._falls_back:
            self._at = "cheap"

    def answer(self) -> Floats:
        """What the existing model says if it knows all it needs, else what the cheap one says."""
        policy = self._policy
        if self._at == "existing" and (self._complete or self._falls_back):
            raw, source = self._existing.answer(), policy.existing.output
        else:
            raw, source = self._cheap.answer(), policy.cheap.output
        answer: Floats = translate(source, policy.output, np.asarray(raw)[None, :])[0]
        return answer


def _as_one(bundles: list[Bundle]) -> Bundle:
    """All of it or nothing: a part of what the existing model is certain to read is of no use."""
    return tuple(dict.fromkeys(feature for bundle in bundles for feature in bundle))


# Two models, one kind of output -------------------------------------------------------------------


def shared_output(cheap: Output, existing: Output) -> Output:
    """An output that can carry what either model says.

    Their common kind if they have one; probabilities if both give them and decide by them; else
    scores that decide as each model itself does, with its probabilities beside them.
    """
    if cheap.classes is None or existing.classes is None:
        raise ValueError("a gate stands in front of classifiers: a regression has no classes.")
    if not np.array_equal(cheap.classes, existing.classes):
        raise ValueError(
            f"the existing model knows the classes {existing.classes.tolist()}, the training data has "
            f"{cheap.classes.tolist()}: train both on the same labels."
        )
    if cheap.kind == existing.kind:
        return existing
    plain = ("log-odds", "logits", "probabilities")
    by_probability = cheap.kind in plain and existing.kind in plain
    return Output("probabilities" if by_probability else "votes", cheap.classes)


def check_translation(source: Output, target: Output, role: str) -> None:
    """Refuse outputs between which :func:`translate` cannot go."""
    if source.classes is None or target.classes is None:
        raise ValueError(f"{role} is not a classifier")
    if not np.array_equal(source.classes, target.classes):
        raise ValueError(f"{role} has other classes")
    if source.kind != target.kind and target.kind not in ("probabilities", "votes"):
        raise ValueError(f"{role} gives {source.kind}, which cannot become {target.kind}")


def probabilities_of(output: Output, raw: Floats) -> Floats:
    """Probabilities (n, k) of any classifier's output; plain scores are read as log-odds or logits."""
    if output.has_probabilities:
        return output.probabilities(raw)
    if output.kind == "score":
        return Output("log-odds", output.classes).probabilities(raw)
    return links.softmax(raw)


def translate(source: Output, target: Output, raw: Floats) -> Floats:
    """Raw outputs of one kind as another."""
    if source.kind == target.kind:
        return raw
    probability = probabilities_of(source, raw)
    if target.kind == "probabilities":
        return probability
    # The winner stays the winner, and within a class the order of the probabilities is kept.
    decision = np.array(probability)
    decision[np.arange(len(raw)), source.winner(raw)] += 2.0
    return np.concatenate([decision, probability], axis=1)
