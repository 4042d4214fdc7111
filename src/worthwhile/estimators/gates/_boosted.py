"""ADAPT-GBRT: two ensembles, the gate's and the cheap model's, that pay from one purse."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core import links
from worthwhile.core.threads import Threads
from worthwhile.costs import Costs, as_float
from worthwhile.estimators.boosting.binned_data import BinnedData
from worthwhile.estimators.boosting.booster import Booster, BoosterSettings, Tree, assemble
from worthwhile.estimators.boosting.losses import Logistic, Loss, Multinomial
from worthwhile.estimators.gates._linear_fista import cheap_losses
from worthwhile.estimators.gates._shares import average, shares_kl
from worthwhile.policy.gate import GATE_OUTPUT
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Pair:
    """A gate and a cheap model after some rounds.

    Attributes
    ----------
    gate, cheap : list of Tree
    gate_score : float64 (n,), cheap_scores : float64 (outputs, n)
        What they say about the training rows, base included.
    price : float, of all features that either tests
    """

    gate: list[Tree]
    cheap: list[Tree]
    gate_score: Floats
    cheap_scores: Floats
    price: float


@dataclass(frozen=True, eq=False)
class Iterate:
    """One outer iteration: the shares, the models fitted to them, and the objective (OPT)."""

    pair: Pair
    q: Floats
    objective: float


class Chain:
    """Pairs for one gamma: each share starts where the one before ended, when it is asked for.

    Parameters
    ----------
    duo : Duo
    shares : sequence of float
        Mean shares, which are reached whatever the losses; 0 is the cheap model alone.
    settings : BoosterSettings
    n_rounds, iterations : int
        Rounds, and outer iterations for each share.
    """

    def __init__(
        self, duo: Duo, shares: Sequence[float], settings: BoosterSettings, n_rounds: int,
        iterations: int,
    ) -> None:  # fmt: skip
        self._duo, self._shares, self._settings = duo, shares, settings
        self._n_rounds, self._iterations = n_rounds, iterations
        self._pairs = list[Pair]()

    def policies(
        self, number: int, output: Output, n_rounds: int, threshold: float = 0.0
    ) -> tuple[TreePolicy, TreePolicy]:
        """The pair of one of the shares after some rounds."""
        while len(self._pairs) <= number:
            self._pairs.append(self._next(self._shares[len(self._pairs)]))
        return self._duo.policies(self._pairs[number], output, n_rounds, threshold)

    def _next(self, share: float) -> Pair:
        duo = self._duo
        if share in (0.0, 1.0):  # nothing to find out
            q = np.full(len(duo.codes), share)
            return duo.grow(q, self._settings, self._n_rounds, gated=share > 0)
        pair = self._pairs[-1]
        for iterate in duo.alternate(
            share, self._settings, self._n_rounds, self._iterations, pair, equal=True
        ):
            pair = iterate.pair
        return pair


class Duo:
    """Grows pairs of ensembles on one set of binned rows.

    Parameters
    ----------
    data : BinnedData
        The rows.
    codes, n_classes
        Their classes.
    existing_loss : array (n,)
        Log losses of the existing model.
    costs : Costs
        Prices, paid once for both ensembles.
    vector : bool
        One cheap tree a round for all classes, where there are more than two.
    threads : Threads
        Who does the work.
    newton : bool
        Leaf values by one Newton step.
    weight : array (n,), optional
        What each row counts; ``data`` holds the same weights.
    """

    def __init__(
        self, data: BinnedData, codes: Ints, n_classes: int, existing_loss: Floats, costs: Costs,
        *, vector: bool, threads: Threads, newton: bool = False, weight: Floats | None = None,
    ) -> None:  # fmt: skip
        y = codes.astype(np.float64)
        self.data, self.codes, self.costs, self.threads = data, codes, costs, threads
        self.existing_loss = existing_loss
        given, self.weight = () if weight is None else (weight,), weight
        self.loss: Loss = (
            Logistic(y, *given) if n_classes == 2 else Multinomial(y, n_classes, *given)
        )
        self.base = self.loss.base()
        self.vector = vector and n_classes > 2
        self.newton = newton
        self.per_round = 1 if self.vector else self.loss.n_outputs

    def grow(
        self, q: Floats, settings: BoosterSettings, n_rounds: int, *, gated: bool = True
    ) -> Pair:
        """Both ensembles from nothing for fixed shares: the inner loop of Algorithm 2.

        Each round grows the cheap model's trees on ``1 - q`` times its gradient, then a gate tree
        on ``q - sigmoid(gate)``. Whatever one of them buys is free for both from then on.
        """
        booster = Booster(self.data, self.costs.flat, settings, self.threads)
        total = np.zeros((self.loss.n_outputs, len(q)))
        score = np.zeros((1, len(q)))
        gradient, gate_gradient = np.empty_like(total), np.empty_like(score)
        share, gate_loss = 1 - q, Logistic(q)
        gate, cheap = list[Tree](), list[Tree]()
        for _ in range(n_rounds):
            self.loss.gradients(total, self.base, gradient, self.threads)
            curvature = self.loss.curvature(gradient, self.threads) * share if self.newton else None
            gradient *= share
            for output, part in enumerate(self._parts(gradient)):
                tree = booster.grow(part, output=output, **self._leaves(curvature, output))
                booster.add(tree, total)
                cheap.append(tree)
            if not gated:
                continue
            gate_loss.gradients(score, np.zeros(1), gate_gradient, self.threads)
            now = q - gate_gradient  # the gate's probabilities
            tree = booster.grow(gate_gradient, curvature=now * (1 - now) if self.newton else None)
            booster.add(tree, score)
            gate.append(tree)
        price = as_float(booster.purchases.total)
        return Pair(gate, cheap, score[0], self.base[:, None] + total, price)

    def _parts(self, rows: Floats) -> list[Floats]:
        """What the trees of one round are grown on, of (outputs, n)."""
        return [rows] if self.vector else [rows[k : k + 1] for k in range(len(rows))]

    def _leaves(self, curvature: Floats | None, part: int) -> dict[str, Any]:
        """How the leaf values of a cheap tree are found."""
        if curvature is None:
            return {}
        return {"curvature": self._parts(curvature)[part], "factor": self.loss.newton_factor}

    def alternate(
        self,
        p_full: float,
        settings: BoosterSettings,
        n_rounds: int,
        max_iter: int,
        start: Pair,
        *,
        equal: bool = False,
    ) -> Iterator[Iterate]:
        """Algorithm 2: shares by (OPT1), then both ensembles anew, until nothing moves."""
        pair, last = start, None
        for _ in range(max_iter):
            losses = cheap_losses(pair.cheap_scores.T, self.codes)
            excess = losses - self.existing_loss
            q = shares_kl(pair.gate_score, excess, p_full, equal=equal, weight=self.weight).q
            if last is not None and np.abs(q - last).sum() < 1e-4 * len(q):
                return  # shares that stand still would grow the same trees again
            pair, last = self.grow(q, settings, n_rounds), q
            yield Iterate(pair, q, self.objective(pair, q) + settings.lam * pair.price)

    def objective(self, pair: Pair, q: Floats) -> float:
        """Expected loss plus Kullback-Leibler distance of the gate: (OPT) without its penalty."""
        g = pair.gate_score
        losses = cheap_losses(pair.cheap_scores.T, self.codes)
        total = (1 - q) * (losses - links.log_sigmoid(-g))
        total += q * (self.existing_loss - links.log_sigmoid(g))
        with np.errstate(divide="ignore", invalid="ignore"):
            total += np.where(q > 0, q * np.log(q), 0.0)
            total += np.where(q < 1, (1 - q) * np.log1p(-q), 0.0)
        return average(total, self.weight)

    def policies(
        self, pair: Pair, output: Output, n_rounds: int | None = None, threshold: float = 0.0
    ) -> tuple[TreePolicy, TreePolicy]:
        """The gate and the cheap model after some rounds, all where not stated.

        Gate trees without a split are added up in its base: nothing is evaluated for them. So is
        the score above which rows are sent.
        """
        gate = pair.gate[:n_rounds]
        cheap = pair.cheap if n_rounds is None else pair.cheap[: n_rounds * self.per_round]
        grown = [tree for tree in gate if len(tree.value) > 1]
        constant = np.array([0.0 - threshold])
        for tree in gate:
            if len(tree.value) == 1:
                constant += tree.value[0]
        bins, width = self.data.bins, self.loss.n_outputs if self.vector else 1
        return (
            TreePolicy(self.costs, GATE_OUTPUT, assemble(grown, bins, constant, 1)),
            TreePolicy(self.costs, output, assemble(cheap, bins, self.base, width)),
        )

    def gamma_max(self) -> float:
        """Gamma from which on the cheap model alone buys nothing that has a price."""
        booster = Booster(self.data, self.costs.flat, BoosterSettings(), self.threads)
        gradient = np.empty((self.loss.n_outputs, len(self.codes)))
        self.loss.gradients(np.zeros_like(gradient), self.base, gradient, self.threads)
        gains = np.max([booster.root_gains(part) for part in self._parts(gradient)], axis=0)
        prices = booster.purchases.marginal() * 1e-9
        priced = (prices > 0) & (gains > 0)
        return (
            float((gains[priced] / prices[priced]).max() / self.loss.total_weight)
            if priced.any()
            else 0.0
        )
