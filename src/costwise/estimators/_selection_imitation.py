"""Learning to buy by imitation: rollouts, aggregated examples, the loop of DAgger and coaching."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from costwise.core import links
from costwise.core.threads import Threads, count_threads
from costwise.estimators._selection_data import Masks, World, masks_of_orders
from costwise.estimators._selection_oracle import Reward, look_ahead, shares
from costwise.estimators._selection_svm import fit_machines
from costwise.estimators.greedy_miser import GreedyMiserClassifier
from costwise.policy._selection_choosers import LinearChooser, TreeChooser
from costwise.policy._selection_rows import (
    N_METAS,
    Bools,
    Chooser,
    Ints,
    Layout,
    Linear,
    meta_features,
)
from costwise.policy.selection import pick

Floats = npt.NDArray[np.float64]
Learner = Callable[[Floats, Ints], Any]

TREE_ROUNDS = 60
"""Rounds of boosting of a policy made of trees."""

VISIT_ROUNDS, VISIT_EXAMPLES = 3, 15000
"""Rounds, and examples a policy is trained on, before the data classifier is trained again."""

BLOCK = 4096
"""Rows whose policy features are built together."""


def policy_features(
    world: World, rows: Ints, bought: Bools, metas: Floats, guess: Ints
) -> npt.NDArray[np.float64]:
    """Features of states (section 3.3): known values, marks, meta-features, the guess."""
    marks = np.hstack([bought, np.ones((len(bought), 1), dtype=bool)])
    z = world.Z[rows] * marks[:, world.layout.owner()]
    return np.hstack([z, bought, metas, guess[:, None] == np.arange(world.n_classes)])


def action_scores(
    chooser: Chooser, world: World, rows: Ints, bought: Bools, metas: Floats, guess: Ints
) -> Floats:
    """Scores of the actions in many states."""
    linear, parts = chooser.linear(), []
    for i in range(0, len(rows), BLOCK):
        part = slice(i, i + BLOCK)
        phi = policy_features(world, rows[part], bought[part], metas[part], guess[part])
        seen = phi[:, : world.layout.n_entries + world.layout.n_factors]
        if linear is not None:
            seen = seen @ np.vstack([linear.weight, linear.mark]) + linear.bias
        parts.append(chooser.scores(seen, metas[part], guess[part]))
    return np.concatenate(parts)


@dataclass
class Examples:
    """States with the action to imitate, kept small: features are rebuilt when they are needed."""

    rows: list[npt.NDArray[np.int32]] = field(default_factory=list)
    bought: list[Bools] = field(default_factory=list)
    metas: list[npt.NDArray[np.float32]] = field(default_factory=list)
    guess: list[npt.NDArray[np.int16]] = field(default_factory=list)
    labels: list[npt.NDArray[np.int16]] = field(default_factory=list)

    def add(self, rows: Ints, bought: Bools, metas: Floats, guess: Ints, labels: Ints) -> None:
        """Keep some states."""
        self.rows.append(rows.astype(np.int32))
        self.bought.append(bought.copy())
        self.metas.append(metas.astype(np.float32))
        self.guess.append(guess.astype(np.int16))
        self.labels.append(labels.astype(np.int16))

    def __len__(self) -> int:
        return sum(map(len, self.rows))

    def draw(self, world: World, most: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
        """Features and labels: all, or where there are more than ``most``, a uniform sample."""
        index = np.arange(len(self))
        if len(self) > most:
            index = np.sort(rng.choice(len(self), most, replace=False))
        phi = policy_features(
            world,
            np.concatenate(self.rows)[index].astype(np.int64),
            np.concatenate(self.bought)[index],
            np.concatenate(self.metas)[index].astype(np.float64),
            np.concatenate(self.guess)[index].astype(np.int64),
        )
        return phi, np.concatenate(self.labels)[index].astype(np.int64)


@dataclass(frozen=True)
class Result:
    """Where a policy led the rows of a world.

    Attributes
    ----------
    when : int64 (n, n_factors), step at which a factor was bought, -1 where it was not
    """

    when: Ints
    reward: float
    cost: float
    accuracy: float

    @property
    def bought(self) -> Bools:
        """What the rows have in the end."""
        return self.when >= 0


def roll_out(
    world: World,
    reward: Reward,
    chooser: Chooser | None,
    examples: Examples | None = None,
    eta: float = 0.0,
) -> Result:
    """Run a policy from the free state; None is the oracle. Label the states where asked to."""
    n, n_factors = len(world.Z), world.layout.n_factors
    when = np.full((n, n_factors), -1)
    last, active = np.full((n, 3), np.nan), np.arange(n)
    for step in range(n_factors):
        now = when[active] >= 0
        scores = None
        if chooser is not None:
            metas, guess, last[active] = _look(world, active, now, last[active])
            scores = action_scores(chooser, world, active, now, metas, guess)
        elif examples is not None:
            metas, guess, last[active] = _look(world, active, now, last[active])
        action = pick(scores, ~now) if scores is not None else None
        if examples is not None or action is None:
            prospect = look_ahead(world, active, now, reward)
            likes = _likes(scores, now) if scores is not None and eta > 0 else None
            labels = prospect.labels(eta, likes)
            if examples is not None:
                examples.add(active, now, metas, guess, labels)
            action = labels if action is None else action
        going = action < n_factors
        active, action = active[going], action[going]
        if len(active) == 0:
            break
        when[active, action] = step
    return _result(world, reward, when)


def _look(world: World, rows: Ints, bought: Bools, last: Floats) -> tuple[Floats, Ints, Floats]:
    raw = world.raw(rows, bought)
    guess: Ints = np.argmax(raw, axis=1)
    confidence = links.softmax(raw).max(axis=1)
    metas, last = meta_features(confidence, guess, shares(world.prices, bought), last)
    return metas, guess, last


def _likes(scores: Floats, bought: Bools) -> Floats:
    """How likely the learner takes each action: softmax over what is allowed."""
    allowed = scores.copy()
    allowed[:, :-1][bought] = -np.inf
    likes: Floats = links.softmax(allowed)
    return likes


def _result(world: World, reward: Reward, when: Ints) -> Result:
    rows, bought = np.arange(len(world.Z)), when >= 0
    raw, share = world.raw(rows, bought), shares(world.prices, bought)
    hit = np.argmax(raw, axis=1) == world.codes
    gained = reward.of(raw, world.codes, share)
    return Result(when, float(gained.mean()), float(share.mean()), float(hit.mean()))


@dataclass(frozen=True)
class LinearLearner:
    """One-against-rest linear support vector machines with squared hinge loss."""

    layout: Layout
    n_classes: int
    n_jobs: int | None

    def __call__(self, phi: Floats, labels: Ints) -> LinearChooser:
        """Learn to imitate."""
        n_actions, width = self.layout.n_factors + 1, phi.shape[1]
        weight, bias = np.zeros((width, n_actions)), np.full(n_actions, -1.0)
        present = np.unique(labels)
        if len(present) == 1:
            bias[present[0]] = 1.0
        else:
            with threadpool_limits(1), Threads(count_threads(self.n_jobs)) as threads:
                machines = fit_machines(phi, labels[:, None] == present, threads)
            weight[:, present], bias[present] = machines.weight, machines.bias
        e, d = self.layout.n_entries, self.layout.n_factors
        base = Linear(weight[:e].copy(), weight[e : e + d].copy(), bias)
        assert width == e + d + N_METAS + self.n_classes
        return LinearChooser(base, weight[e + d :].copy())


@dataclass(frozen=True)
class TreeLearner:
    """Boosted trees of the core, one tree a round for all actions; features are free here."""

    layout: Layout
    n_classes: int
    n_jobs: int | None

    def __call__(self, phi: Floats, labels: Ints) -> TreeChooser | LinearChooser:
        """Learn to imitate."""
        present = np.unique(labels)
        if len(present) == 1:
            return LinearLearner(self.layout, self.n_classes, self.n_jobs)(phi, labels)
        model = GreedyMiserClassifier(
            0.0, costs=np.zeros(phi.shape[1]), loss="multinomial", n_rounds=TREE_ROUNDS,
            learning_rate=0.3, max_depth=5, n_jobs=self.n_jobs, random_state=0,
        ).fit(phi, labels)  # fmt: skip
        return TreeChooser(
            model.policy_, present.astype(np.int64), self.layout.n_factors + 1, self.n_classes
        )


@dataclass(frozen=True)
class Schedule:
    """The loop: how often, how the coach gives way, how many examples a policy is trained on."""

    n_iterations: int
    eta: float
    """Permissiveness of the coach in the first iteration; 0 is plain DAgger."""
    max_examples: int
    seed: int

    def eta_of(self, iteration: int) -> float:
        """Permissiveness in iteration 1, 2, ...: it falls by a factor of e each time."""
        return self.eta * float(np.exp(1.0 - iteration))


@dataclass(frozen=True)
class Round:
    """One round of the loop: the policy learned, where the one before had led, for how much."""

    number: int
    eta: float
    examples: int
    seen: Result
    chooser: Chooser


def learn(train: World, reward: Reward, learner: Learner, schedule: Schedule) -> Iterator[Round]:
    """Algorithm 1: roll out, label, and learn from all examples so far; the oracle goes first."""
    rng = np.random.default_rng(schedule.seed)
    examples = Examples()
    chooser: Chooser | None = None
    for number in range(1, schedule.n_iterations + 1):
        eta = schedule.eta_of(number)
        with threadpool_limits(1):
            seen = roll_out(train, reward, chooser, examples, eta)
            chooser = learner(*examples.draw(train, schedule.max_examples, rng))
        yield Round(number, eta, len(examples), seen, chooser)


def imitate(
    train: World, development: World, reward: Reward, learner: Learner, schedule: Schedule
) -> tuple[Chooser, list[dict[str, Any]]]:
    """The best policy of all rounds on the development rows, and the learning curve."""
    curve: list[dict[str, Any]] = []
    best: tuple[tuple[float, float], Chooser] | None = None
    for found in learn(train, reward, learner, schedule):
        with threadpool_limits(1):
            result = roll_out(development, reward, found.chooser)
        curve.append({
            "lam": reward.lam, "iteration": found.number, "eta": found.eta, "examples": found.examples,
            "reward": result.reward, "cost": result.cost, "accuracy": result.accuracy,
            "train_reward": found.seen.reward, "chosen": False,
        })  # fmt: skip
        merit = (result.reward, -result.cost)
        if best is None or merit > best[0]:
            best = merit, found.chooser
            kept = len(curve) - 1
    assert best is not None
    curve[kept]["chosen"] = True
    return best[1], curve


def visited_masks(
    train: World, rewards: list[Reward], learner: Learner, schedule: Schedule, copies: int = 1
) -> Masks:
    """Sets of factors that first, quickly learned policies reach on the training rows.

    In each copy, each row has those of one trade-off, drawn at random. Every other copy comes with
    full rows, and with what rows pass through.
    """
    short = Schedule(
        min(VISIT_ROUNDS, schedule.n_iterations), 0.0, min(VISIT_EXAMPLES, schedule.max_examples),
        schedule.seed,
    )  # fmt: skip
    rng = np.random.default_rng(schedule.seed)
    n = len(train.Z)
    reached = np.empty((len(rewards), n, train.layout.n_factors), dtype=np.int64)
    whose = rng.integers(0, len(rewards), (copies, n))
    for number, reward in enumerate(rewards):
        *_, last = learn(train, reward, learner, short)
        with threadpool_limits(1):
            reached[number] = roll_out(train, reward, last.chooser).when
    masks: Masks = []
    for copy, drawn in enumerate(whose):
        full, ends, passed = masks_of_orders(reached[drawn, np.arange(n)], rng)
        masks += [ends] if copy % 2 else [full, ends, passed]
    return masks
