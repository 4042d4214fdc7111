"""ADAPT-GBRT: two ensembles, the gate's and the cheap model's, that pay from one purse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
    n_rounds : function from the place of a share to the rounds after which it ends
    """

    def __init__(
        self, duo: Duo, shares: Sequence[float], settings: BoosterSettings,
        n_rounds: Callable[[int], int],
    ) -> None:  # fmt: skip
        self._duo, self._shares, self._settings = duo, shares, settings
        self._n_rounds, self._growths = n_rounds, list[Growth]()

    def policies(
        self, number: int, output: Output, n_rounds: int, threshold: float = 0.0
    ) -> tuple[TreePolicy, TreePolicy]:
        """The pair of one of the shares after some rounds; it is grown no further than was asked."""
        while len(self._growths) <= number:
            self._growths.append(self._next(len(self._growths)))
        pair = self._growths[number].to(n_rounds)
        return self._duo.policies(pair, output, n_rounds, threshold)

    def _next(self, number: int) -> Growth:
        duo, share = self._duo, self._shares[number]
        if share in (0.0, 1.0):  # nothing to find out
            q = np.full(len(duo.codes), share)
            return Growth(duo, q, self._settings, gated=share > 0)
        before = self._growths[-1].to(self._n_rounds(number - 1))
        return Growth(duo, duo.next_shares(before, share, equal=True), self._settings)


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
        """Both ensembles from nothing for fixed shares."""
        return Growth(self, q, settings, gated=gated).to(n_rounds)

    def parts(self, rows: Floats) -> list[Floats]:
        """What the trees of one round are grown on, of (outputs, n)."""
        return [rows] if self.vector else [rows[k : k + 1] for k in range(len(rows))]

    def leaves(self, curvature: Floats | None, part: int) -> dict[str, Any]:
        """How the leaf values of a cheap tree are found."""
        if curvature is None:
            return {}
        return {"curvature": self.parts(curvature)[part], "factor": self.loss.newton_factor}

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
            q = self.next_shares(pair, p_full, equal=equal)
            if last is not None and np.abs(q - last).sum() < 1e-4 * len(q):
                return  # shares that stand still would grow the same trees again
            pair, last = self.grow(q, settings, n_rounds), q
            yield Iterate(pair, q, self.objective(pair, q) + settings.lam * pair.price)

    def next_shares(self, pair: Pair, p_full: float, *, equal: bool = False) -> Floats:
        """Who is to be sent on, given what two ensembles say: (OPT1)."""
        excess = cheap_losses(pair.cheap_scores.T, self.codes) - self.existing_loss
        q: Floats = shares_kl(pair.gate_score, excess, p_full, equal=equal, weight=self.weight).q
        return q

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
        gains = np.max([booster.root_gains(part) for part in self.parts(gradient)], axis=0)
        prices = booster.purchases.marginal() * 1e-9
        priced = (prices > 0) & (gains > 0)
        return (
            float((gains[priced] / prices[priced]).max() / self.loss.total_weight)
            if priced.any()
            else 0.0
        )


class Growth:
    """Both ensembles, growing for fixed shares: the inner loop of Algorithm 2.

    Each round grows the cheap model's trees on ``1 - q`` times its gradient, then a gate tree on
    ``q - sigmoid(gate)``. Whatever one of them buys is free for both from then on.

    Parameters
    ----------
    duo : Duo
    q : float64 (n,)
        The share of each row that is to be sent on.
    settings : BoosterSettings
    gated : bool
        Whether there is a gate.
    """

    def __init__(
        self, duo: Duo, q: Floats, settings: BoosterSettings, *, gated: bool = True
    ) -> None:
        self._duo, self._q, self._gated = duo, q, gated
        self._booster = Booster(duo.data, duo.costs.flat, settings, duo.threads)
        self._total = np.zeros((duo.loss.n_outputs, len(q)))
        self._score = np.zeros((1, len(q)))
        self._gradient, self._gate_gradient = np.empty_like(self._total), np.empty_like(self._score)
        self._gate_loss, self._rounds = Logistic(q), 0
        self._gate, self._cheap = list[Tree](), list[Tree]()

    def to(self, n_rounds: int) -> Pair:
        """The pair after at least so many rounds."""
        while self._rounds < n_rounds:
            self._add_cheap()
            if self._gated:
                self._add_gate()
            self._rounds += 1
        price = as_float(self._booster.purchases.total)
        scores = self._duo.base[:, None] + self._total
        return Pair([*self._gate], [*self._cheap], self._score[0].copy(), scores, price)

    def _add_cheap(self) -> None:
        duo, gradient, share = self._duo, self._gradient, 1 - self._q
        duo.loss.gradients(self._total, duo.base, gradient, duo.threads)
        curvature = duo.loss.curvature(gradient, duo.threads) * share if duo.newton else None
        gradient *= share
        for output, part in enumerate(duo.parts(gradient)):
            tree = self._booster.grow(part, output=output, **duo.leaves(curvature, output))
            self._booster.add(tree, self._total)
            self._cheap.append(tree)

    def _add_gate(self) -> None:
        gradient, q = self._gate_gradient, self._q
        self._gate_loss.gradients(self._score, np.zeros(1), gradient, self._duo.threads)
        now = q - gradient  # the gate's probabilities
        curvature = now * (1 - now) if self._duo.newton else None
        tree = self._booster.grow(gradient, curvature=curvature)
        self._booster.add(tree, self._score)
        self._gate.append(tree)
