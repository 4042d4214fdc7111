"""What the theorems of dynamic selection speak of, measured: the surrogate loss, and what a wrong action costs.

Theorem 1 bounds what a policy loses against the oracle by its loss on the oracle's states, Theorems 2 and 3 by its loss
on its own states times u, what one wrong action costs at most when the oracle goes on from there. With V(s) the reward
that the oracle reaches from s, the sum of V(before) - V(after) over the steps of a policy is what it loses, exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from worthwhile import DynamicSelectionClassifier
from worthwhile.estimators.selection._coach import decide
from worthwhile.estimators.selection._data_classifier import World
from worthwhile.estimators.selection._imitation import LinearLearner, Schedule, learn, roll_out
from worthwhile.estimators.selection._oracle import Reward, look_ahead, shares
from worthwhile.estimators.selection._states import action_scores, look

LAM = 0.5


def value(world: World, rows: Any, bought: Any, reward: Reward) -> np.ndarray:
    """What the oracle reaches from states with equally many purchases."""
    if bought.all():
        raw = world.raw(rows, bought)
        return reward.of(raw, world.codes[rows], shares(world.prices, bought))
    prospect = look_ahead(world, rows, bought, reward)
    return np.maximum(prospect.here, prospect.later)


def hinge(scores: Any, bought: Any, label: Any) -> np.ndarray:
    """Loss above the number of errors, convex in the scores: by how much the right action fails to lead by 1."""
    at = np.arange(len(label))
    allowed = np.column_stack([~bought, np.ones(len(label), dtype=bool)])
    others = np.where(allowed, scores, -np.inf)
    others[at, label] = -np.inf
    return np.maximum(0.0, 1.0 + others.max(axis=1) - scores[at, label])


def walk(world: World, reward: Reward, chooser: Any, follow: str = "learner") -> dict[str, float]:
    """Follow a learner (or the oracle), and compare what both would do on the way; sums per row."""
    n, n_factors = len(world.Z), world.layout.n_factors
    when, last, active = np.full((n, n_factors), -1), np.full((n, 3), np.nan), np.arange(n)
    states = wrong = surrogate = 0.0
    costs: list[np.ndarray] = []
    for step in range(n_factors):
        now = when[active] >= 0
        seen, last[active] = look(world, active, now, last[active])
        decision = decide(action_scores(chooser, world, seen), now)
        prospect = look_ahead(world, active, now, reward)
        label = prospect.labels()
        differ = decision.action != label
        states, wrong = states + len(active), wrong + float(differ.sum())
        surrogate += float(hinge(decision.scores, now, label).sum())
        after = prospect.here.copy()
        going = np.flatnonzero(decision.action < n_factors)
        new = now[going].copy()
        new[np.arange(len(going)), decision.action[going]] = True
        if len(going):
            after[going] = value(world, active[going], new, reward)
        costs.append((np.maximum(prospect.here, prospect.later) - after)[differ])
        action = decision.action if follow == "learner" else label
        kept = action < n_factors
        active = active[kept]
        if len(active) == 0:
            break
        when[active, action[kept]] = step
    lost = np.concatenate(costs)
    return {
        "states": states / n, "wrong": wrong / n, "hinge": surrogate / n, "lost": float(lost.sum() / n),
        "u": float(lost.max(initial=0.0)), "mean": float(lost.mean()) if len(lost) else 0.0,
    }  # fmt: skip


def theorems(rows: Any, rounds: int = 15) -> dict[str, Any]:
    """DAgger on a classifier that was given: figures of every round on its training rows."""
    X, y, _, _, costs = rows
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
    given = LogisticRegression(C=0.1, max_iter=300).fit(X, y)
    model = DynamicSelectionClassifier(
        LAM, classifier=given, costs=costs, max_iter=1, random_state=0
    ).fit(X, y)
    own = model.policy_.model
    Z = own.layout.standardise(X[:, own.layout.features], slice(None))
    codes, everyone = np.searchsorted(model.classes_, y), np.arange(len(Z))
    world = World(Z, codes, len(model.classes_), own.layout, own.prices, [(everyone, own.scorer)])
    reward, learner = Reward(LAM), LinearLearner(own.layout, len(model.classes_), 1)
    found: dict[str, Any] = {
        "rows": len(Z), "horizon": own.layout.n_factors + 1,
        "oracle": roll_out(world, reward, None).reward, "rounds": [],
    }  # fmt: skip
    for number, one in enumerate(learn(world, reward, learner, Schedule(rounds, 0.0, 30000, 0)), 1):
        figures = walk(world, reward, one.chooser)
        figures["reward"] = roll_out(world, reward, one.chooser).reward
        found["rounds"].append(figures)
        if number == 1:
            found["on oracle's states"] = walk(world, reward, one.chooser, "oracle")
    return found
