"""Learning to buy by imitation: rollouts, learners, the loop of DAgger and coaching."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController, threadpool_limits

from worthwhile.core.threads import Threads, count_threads
from worthwhile.estimators.boosting import GreedyMiserClassifier
from worthwhile.estimators.selection._coach import Coach, RewardCoach, decide
from worthwhile.estimators.selection._data_classifier import Masks, World, masks_of_orders
from worthwhile.estimators.selection._oracle import Reward, look_ahead, shares
from worthwhile.estimators.selection._states import Examples, action_scores, look
from worthwhile.estimators.selection._svm import fit_machines
from worthwhile.policy.selection.choosers import LinearChooser, TreeChooser
from worthwhile.policy.selection.rows import N_METAS, Bools, Chooser, Ints, Layout, Linear

Floats = npt.NDArray[np.float64]
Learner = Callable[[Floats, Ints], Any]

TREE_ROUNDS = 60
"""Rounds of boosting of a policy made of trees."""

VISIT_ROUNDS, VISIT_EXAMPLES = 3, 15000
"""Rounds, and examples a policy is trained on, before the data classifier is trained again."""


@dataclass(frozen=True)
class Result:
    """Where a policy led the rows of a world.

    Attributes
    ----------
    when : int64 (n, n_factors), step at which a factor was bought, -1 where it was not
    rewards : float64 (n,)
    cost, accuracy : float, means
    """

    when: Ints
    rewards: Floats
    cost: float
    accuracy: float

    @property
    def reward(self) -> float:
        """The mean."""
        return float(self.rewards.mean())

    @property
    def bought(self) -> Bools:
        """What the rows have in the end."""
        return self.when >= 0


def roll_out(
    world: World,
    reward: Reward,
    chooser: Chooser | None,
    examples: Examples | None = None,
    coach: Coach | None = None,
) -> Result:
    """Run a policy from the free state; None is the oracle.

    Labelled states are added to ``examples``; the labels are the oracle's, or those of a ``coach``.
    """
    assert coach is None or examples is not None
    n, n_factors = len(world.Z), world.layout.n_factors
    when, instead = np.full((n, n_factors), -1), np.full(n, n_factors)
    last, active = np.full((n, 3), np.nan), np.arange(n)
    for step in range(n_factors):
        now = when[active] >= 0
        decision, action = None, None
        if chooser is not None or examples is not None:
            states, last[active] = look(world, active, now, last[active])
        if chooser is not None:
            decision = decide(action_scores(chooser, world, states), now)
            action, instead[active] = decision.action, decision.favourite
        if examples is not None or action is None:
            prospect = look_ahead(world, active, now, reward)
            labels = coach.label(world, states, prospect, decision) if coach else prospect.labels()
            if examples is not None:
                examples.add(states, labels)
            action = labels if action is None else action
        going = action < n_factors
        active, action = active[going], action[going]
        if len(active) == 0:
            break
        when[active, action] = step
    result = _result(world, reward, when)
    if isinstance(coach, RewardCoach) and coach.curious and chooser is not None:
        beyond = _result(world, reward, _go_on(world, chooser, when, last, instead))
        coach.tell(world, result.rewards, beyond.rewards)
    return result


def _go_on(world: World, chooser: Chooser, when: Ints, last: Floats, first: Ints) -> Ints:
    """Steps of all purchases up to the next stop, had rows gone on with ``first`` where they stopped."""
    when, last, n_factors = when.copy(), last.copy(), when.shape[1]
    active, action = np.arange(len(when)), first
    while True:
        count = (when[active] >= 0).sum(axis=1)
        going = (action < n_factors) & (count < n_factors)
        active, action = active[going], action[going]
        when[active, action] = count[going]
        active = active[count[going] < n_factors - 1]
        if len(active) == 0:
            return when
        now = when[active] >= 0
        states, last[active] = look(world, active, now, last[active])
        action = decide(action_scores(chooser, world, states), now).action


def _result(world: World, reward: Reward, when: Ints) -> Result:
    rows, bought = np.arange(len(world.Z)), when >= 0
    raw, share = world.raw(rows, bought), shares(world.prices, bought)
    hit = np.argmax(raw, axis=1) == world.codes
    rewards = reward.of(raw, world.codes, share)
    return Result(when, rewards, float(share.mean()), float(hit.mean()))


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
            learning_rate=0.3, max_depth=5, newton=False, validation_fraction=None,
            n_jobs=self.n_jobs, random_state=0,
        ).fit(phi, labels)  # fmt: skip
        return TreeChooser(
            model.policy_, present.astype(np.int64), self.layout.n_factors + 1, self.n_classes
        )


@dataclass(frozen=True)
class Schedule:
    """The loop: how often, who coaches, how many examples a policy is trained on."""

    max_iter: int
    eta: float | None
    """Weight of the learner's preference at the beginning; 0 is plain DAgger, None the coach's own."""
    max_examples: int
    seed: int
    coach: type[Coach] = RewardCoach


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
    examples, coach = Examples(), schedule.coach(schedule.eta)
    chooser: Chooser | None = None
    pools = ThreadpoolController()  # finding them takes longer than a small round
    for number in range(1, schedule.max_iter + 1):
        with pools.limit(limits=1):
            coach.begin(number)
            seen = roll_out(train, reward, chooser, examples, coach)
            chooser = learner(*examples.draw(train, schedule.max_examples, rng))
        yield Round(number, coach.eta, len(examples), seen, chooser)


def imitate(
    train: World, development: World, reward: Reward, learner: Learner, schedule: Schedule
) -> tuple[Chooser, list[dict[str, Any]]]:
    """The best policy of all rounds on the development rows, and the learning curve."""
    curve: list[dict[str, Any]] = []
    best: tuple[tuple[float, float], Chooser] | None = None
    pools = ThreadpoolController()
    for found in learn(train, reward, learner, schedule):
        with pools.limit(limits=1):
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
        min(VISIT_ROUNDS, schedule.max_iter), 0.0, min(VISIT_EXAMPLES, schedule.max_examples),
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
