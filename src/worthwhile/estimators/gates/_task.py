"""What a gate is trained on and judged by: rows, prices, and what the existing model says."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.columns import Expansion
from worthwhile.costs import Costs
from worthwhile.estimators._shared.validation import fold_rows, hold_out, split_rows
from worthwhile.estimators.gates._existing import Existing
from worthwhile.estimators.gates._judge import Judge
from worthwhile.estimators.gates._unseen import Unseen
from worthwhile.exceptions import WorthwhileWarning
from worthwhile.policy.base import Policy
from worthwhile.policy.encoded import EncodedPolicy
from worthwhile.policy.gate import GatePolicy, shared_output
from worthwhile.policy.output import Output

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]

FOLDS, MANY_ROWS = 3, 5000
"""Folds of the rows, where they are not many."""

SWEEP_ROWS = 16000
"""Rows that train in a sweep, and rows that judge there, at most: what it takes is bounded so."""

TRAINING_ROWS = 4096
"""Of the rows that trained, those that are looked at again, at most."""

COARSE_ROWS = 2000
"""Rows with fewer than which a sweep is coarse."""


@dataclass(frozen=True, eq=False)
class Task:
    """Everything a fit starts from; weights are None where all rows count the same.

    Gate and cheap model are trained on ``X`` under ``costs``. Where these are made from the columns of
    the user's table, by ``expansion``, the existing model reads those: ``source`` are their numbers.
    ``existing`` has probabilities of every row by models that did not see it, as far as that can be.
    Few rows cannot tell many models apart: a sweep of them is ``coarse``.
    """

    X: Floats
    source: Floats
    codes: Ints
    costs: Costs
    classes: npt.NDArray[Any]
    existing: Existing
    weight: Floats | None = None
    expansion: Expansion | None = None
    unseen: Unseen = field(default_factory=Unseen)
    validation: tuple[Floats, Ints] | None = None
    validation_proba: Floats | None = None
    validation_weight: Floats | None = None
    coarse: bool = False

    @property
    def cheap_output(self) -> Output:
        """How a cheap model of ours answers."""
        return Output("log-odds" if len(self.classes) == 2 else "logits", self.classes)

    def judge(self) -> Judge:
        """A judge on the validation rows."""
        assert self.validation is not None
        X, codes = self.validation
        made = None if self.expansion is None else (self.expansion, self.expansion.apply(X))
        proba, weight = self.validation_proba, self.validation_weight
        return Judge(X, codes, self.existing.policy, proba, weight, made)

    def training_judge(self) -> Judge:
        """A judge on some of the training rows."""
        rows = self._spaced()
        weight = _some(self.weight, rows)
        made = None if self.expansion is None else (self.expansion, self.X[rows])
        return Judge(self.source[rows], self.codes[rows], self.existing.policy, None, weight, made)

    def some_rows(self) -> tuple[Floats, Floats | None]:
        """Some of the training rows, and their weights."""
        rows = self._spaced()
        return self.X[rows], _some(self.weight, rows)

    def _spaced(self) -> Ints:
        """At most so many training rows, evenly spaced."""
        return np.arange(0, len(self.X), -(-len(self.X) // TRAINING_ROWS))

    def parts(
        self, fraction: float, rng: np.random.Generator, *, crossed: bool, halves: bool = False
    ) -> list[Task]:
        """Rows to train on and rows to judge on: folds of few rows if ``crossed``, else one share.

        With ``halves``, each half of that share judges what the other half and the rest train: nearer to
        what all rows train. Where classes are too small to hold out any of their rows, all rows train
        and judge.
        """
        n = len(self.X)
        if not crossed or n >= MANY_ROWS:
            train, held = hold_out(n, fraction, rng, self.codes)
            if not crossed:
                return [self.part(train, held)]
            pairs = self._halves(train, held, rng) if halves else [(train, held)]
            return [
                self.part(*(self._at_most(SWEEP_ROWS, rows, rng) for rows in pair))
                for pair in pairs
            ]
        folds = fold_rows(self.codes, FOLDS, rng)
        if not folds:
            warnings.warn(
                f"X has {n} rows, too few to hold any out: the gate is chosen on the rows that it was trained on.",
                WorthwhileWarning,
                stacklevel=6,
            )
            folds = [(np.arange(n), np.arange(n))]
        return [self.part(*fold) for fold in folds]

    def _halves(self, train: Ints, held: Ints, rng: np.random.Generator) -> list[tuple[Ints, Ints]]:
        """Each half of the rows held out, behind all others; the whole where it has no halves."""
        one, other = (held[rows] for rows in split_rows(len(held), 0.5, rng, self.codes[held]))
        if not len(one) or not len(other):
            return [(train, held)]
        return [(np.concatenate([train, a]), b) for a, b in ((one, other), (other, one))]

    def _at_most(self, most: int, rows: Ints, rng: np.random.Generator) -> Ints:
        """So many of some rows, in proportion from every class."""
        if len(rows) <= most:
            return rows
        return rows[split_rows(len(rows), 1 - most / len(rows), rng, self.codes[rows])[0]]

    def thinned(self, share: float) -> Task:
        """The same with some of the rows to train on, in proportion from every class."""
        rng = np.random.default_rng(0)
        rows, _ = split_rows(len(self.X), 1 - share, rng, self.codes)
        return replace(
            self, X=self.X[rows], source=self.source[rows], codes=self.codes[rows],
            existing=Existing(self.existing.policy, self.existing.proba[rows]),
            weight=_some(self.weight, rows),
        )  # fmt: skip

    def part(self, train: Ints, held: Ints) -> Task:
        """Some of the rows to train on, some to judge on."""
        proba = self.existing.proba
        return replace(
            self, X=self.X[train], source=self.source[train], codes=self.codes[train],
            existing=Existing(self.existing.policy, proba[train]), weight=_some(self.weight, train),
            validation=(self.source[held], self.codes[held]), validation_proba=proba[held],
            validation_weight=_some(self.weight, held),
        )  # fmt: skip

    def compose(self, gate: Policy, cheap: Policy) -> GatePolicy:
        """The composite."""
        existing = self.existing.policy
        output = shared_output(cheap.output, existing.output)
        costs = existing.costs
        if self.expansion is not None:
            gate, cheap = (
                EncodedPolicy(costs, part.output, self.expansion, part) for part in (gate, cheap)
            )
        return GatePolicy(costs, output, gate, cheap, existing)


def _some(values: Floats | None, rows: Ints) -> Floats | None:
    return None if values is None else values[rows]
