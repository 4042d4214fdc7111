"""Obviously correct twins of dynamic selection: one row, one state, dictionaries and loops."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np


def chances(base, adds, bought):
    """Softmax of the logits of a state: ``base`` (K,), ``adds`` (D, K), ``bought`` a set."""
    logits = [b + sum(adds[f][k] for f in bought) for k, b in enumerate(base)]
    top = max(logits)
    powers = [math.exp(value - top) for value in logits]
    return [power / sum(powers) for power in powers]


def cost(price, groups, bought):
    """Share of the full price: ``groups`` are (fee, factors that pay it)."""
    full = sum(price) + sum(fee for fee, _ in groups)
    paid = sum(price[f] for f in bought)
    paid += sum(fee for fee, members in groups if bought & set(members))
    return paid / full


def reward(row, bought, lam):
    """Margin of the true class minus lam times the cost (eq. 1)."""
    p = chances(row["base"], row["adds"], bought)
    others = [value for k, value in enumerate(p) if k != row["label"]]
    return p[row["label"]] - max(others) - lam * cost(row["price"], row["groups"], bought)


def greedy_path(row, bought, lam):
    """States from ``bought`` on, each adding the factor of highest reward, and these factors."""
    states, factors = [frozenset(bought)], []
    while len(states[-1]) < len(row["price"]):
        left = [f for f in range(len(row["price"])) if f not in states[-1]]
        best = max(left, key=lambda f: (reward(row, states[-1] | {f}, lam), -f))
        factors.append(best)
        states.append(states[-1] | {best})
    return states, factors


def oracle_action(row, bought, lam):
    """The oracle's action: a factor, or "stop" in the state of highest reward (the text of 3.2)."""
    states, factors = greedy_path(row, bought, lam)
    rewards = [reward(row, state, lam) for state in states]
    if len(states) == 1 or rewards[0] >= max(rewards[1:]):
        return "stop"
    return factors[0]


def coach_action(row, bought, lam, eta, likes):
    """Eq. 4, stopping priced by what going on greedily would still bring."""
    states, factors = greedy_path(row, bought, lam)
    rewards = [reward(row, state, lam) for state in states]
    value = {
        f: reward(row, set(bought) | {f}, lam) + eta * likes[f]
        for f in range(len(row["price"]))
        if f not in bought
    }
    best = reward(row, set(bought) | {factors[0]}, lam)
    value["stop"] = rewards[0] + best - max(rewards[1:]) + eta * likes["stop"]
    return max(value, key=value.get)


def learner_path(path, scores_of, n_factors):
    """A path of states until a learner stops, or has everything; ``path`` is how it begins.

    ``scores_of(path)`` are its scores of the factors at the end of a path, stopping last.
    """
    path = list(path)
    while left := set(range(n_factors)) - path[-1]:
        scores = scores_of(path)
        best = max(left, key=lambda f: (scores[f], -f))
        if scores[-1] > scores[best]:
            break
        path.append(path[-1] | {best})
    return path


def learner_gains(row, lam, scores_of):
    """What actions bring beyond going on as the learner would, in each state where it decides.

    None for bought factors, "stop" last: against where the learner ends; where it stops, against
    where it would stop next.
    """
    n_factors, found = len(row["price"]), {}
    path = learner_path([frozenset()], scores_of, n_factors)
    for i, state in enumerate(path):
        left = set(range(n_factors)) - state
        if not left:
            break
        scores, so_far = scores_of(path[: i + 1]), path[: i + 1]
        favourite = max(left, key=lambda f: (scores[f], -f))
        end = path[-1]
        if state == end:
            end = learner_path([*so_far, state | {favourite}], scores_of, n_factors)[-1]
        base = reward(row, state | {favourite}, lam)
        gains = [
            reward(row, state | {f}, lam) - base if f in left else None for f in range(n_factors)
        ]
        found[state] = [*gains, reward(row, state, lam) - reward(row, end, lam)]
    return found


def expected_values(features, values, asked):
    """Ridge regression (penalty 1, also of the constant) of values on features, at ``asked``.

    A bought factor counts with the mean of those that are left.
    """
    targets = []
    for line in values:
        left = [value for value in line[:-1] if value is not None]
        targets.append([sum(left) / len(left) if v is None else v for v in line])
    width = len(features[0]) + 1
    inputs = np.vstack([[[*line, 1.0] for line in features], np.eye(width)])
    outputs = np.vstack([targets, np.zeros((width, len(targets[0])))])
    weight = np.linalg.lstsq(inputs, outputs, rcond=None)[0]
    return np.array([[*line, 1.0] for line in asked]) @ weight


def oracle_end(row, lam):
    """Where the oracle stops when it starts with nothing."""
    state = frozenset()
    while len(state) < len(row["price"]):
        action = oracle_action(row, state, lam)
        if action == "stop":
            break
        state = state | {action}
    return state


def best_reward(row, lam):
    """Highest reward of any set of factors."""
    everything = range(len(row["price"]))
    return max(
        reward(row, set(chosen), lam)
        for size in range(len(row["price"]) + 1)
        for chosen in combinations(everything, size)
    )


def decide(policy, values, bought, last):
    """The action of a fitted linear policy from its arrays, one product at a time.

    ``values`` maps known columns to numbers, ``last`` is (confidence, guess, cost) of the decision
    before, or None. Returns the scores of all actions and the new ``last``.
    """
    layout, scorer = policy.model.layout, policy.model.scorer
    chooser = policy.choosers[policy.chosen]
    z = {}
    for entry, column in enumerate(layout.features.tolist()):
        if column in values:
            x = values[column]
            z[entry] = 0.0 if math.isnan(x) else (x - layout.mean[entry]) / layout.scale[entry]

    def linear(model, width):
        total = model.bias.tolist()
        for out in range(width):
            total[out] += sum(z[e] * model.weight[e, out] for e in z)
            total[out] += sum(model.mark[f, out] for f in bought)
        return total

    n_classes, n_actions = len(scorer.bias), layout.n_factors + 1
    p = chances(linear(scorer, n_classes), [], set())
    guess = p.index(max(p))
    columns = [c for f in bought for c in layout.columns(f)]
    share = policy.costs.price([policy.costs.name(int(c)) for c in columns]) / policy.costs.total
    now = (max(p), guess, share)
    metas = meta_features(now, last or now, n_classes)
    scores = linear(chooser.base, n_actions)
    for action in range(n_actions):
        scores[action] += sum(m * w for m, w in zip(metas, chooser.meta[:, action], strict=True))
    return scores, now


def meta_features(now, before, n_classes):
    """Section 3.3, from (confidence, guess, cost) now and at the decision before; the guess last."""
    metas = [
        now[0], now[0] - before[0], float(now[1] != before[1]),
        now[2], now[2] - before[2], now[2] / max(now[0], 1e-6),
    ]  # fmt: skip
    return metas + [float(now[1] == k) for k in range(n_classes)]
