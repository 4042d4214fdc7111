"""Cronus from trees to a policy: what stages choose from, their refit, their thresholds, units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from worthwhile.core.linear.soft_chain import soft_chain
from worthwhile.core.trees import Trees
from worthwhile.costs import QUANTA_PER_UNIT, Costs
from worthwhile.estimators.linear._astc_grow import weighted_cut
from worthwhile.estimators.linear._cstc_objective import Objective
from worthwhile.estimators.linear._cstc_refit import _gather, supports
from worthwhile.estimators.linear._cstc_solver import State
from worthwhile.estimators.linear._targets import Targets
from worthwhile.policy.cascade import CascadePolicy, Stages
from worthwhile.policy.linear_tree import LinearTree
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy

Floats = npt.NDArray[np.float64]

CHEAP = (0.05, 0.3)
"""Shares of the price of everything within which trees for early stages stay."""

LAMS, LEAST = 10, 1e-4
"""Values of ``lam`` tried for that, down to so much of the one that buys nothing."""


@dataclass(frozen=True, eq=False)
class Ground:
    """What the stages are trained on: rows, targets, and the trees with what they say (n, trees)."""

    X: Any
    codes: npt.NDArray[np.intp]
    weight: Floats | None
    costs: Costs
    targets: Targets
    boundary: float
    trees: Trees
    said: Floats


class ChainObjective(Objective):
    """CSTC's objective, with rows that leave judged as negative."""

    soft_pass = staticmethod(soft_chain)


def apart(trees: Trees) -> Trees:
    """The same trees, each with an output of its own."""
    n = trees.n_trees
    return replace(trees, output=np.arange(n, dtype=np.int32), base=np.zeros(max(n, 1)))


def cheap_trees(booster: Any, X: Any, y: Any, weight: Floats | None, total: float) -> list[Trees]:
    """Trees for the early stages: of two boosters with prices that stay within a share of all of them.

    ``booster`` is a Greedy Miser with prices, not fitted; ``total`` is the price of everything.
    """
    top = booster.lam_max(X, y, weight)
    if top == 0.0:
        return []
    lams = np.geomspace(top / 2, top * LEAST, LAMS)
    models = booster.fit_path(X, y, lams.tolist(), weight)
    bills = [float(np.mean(model.cost(X))) for model in models]
    within = [[k for k, bill in enumerate(bills) if bill <= share * total] for share in CHEAP]
    found = dict.fromkeys(max(fits, key=lambda k: bills[k]) for fits in within if fits)
    return [models[k].policy_.trees for k in found if bills[k] > 0.0]


def price_terms(trees: Trees, costs: Costs) -> tuple[Floats, Floats]:
    """Prices in units, and membership (trees, T) of the terms.

    A feature and a fee are terms of all trees that read them, and each tree is one of
    its own where evaluation has a price.
    """
    flat, n = costs.flat, trees.n_trees
    reads = trees.tests(costs.n_features).astype(np.float64)
    fees = np.flatnonzero(flat.fee > 0)
    members = flat.members[:, fees].astype(np.float64)
    opens = (np.add.reduce(reads[:, :, None] * members[None], axis=1) > 0).astype(np.float64)
    price = np.concatenate([flat.price, flat.fee[fees], np.full(n, flat.evaluation)])
    member = np.hstack([reads, opens, np.eye(n)])
    paid = price > 0
    return price[paid] / QUANTA_PER_UNIT, np.ascontiguousarray(member[:, paid])


def to_policy(
    chain: LinearTree, trees: Trees, costs: Costs, targets: Targets, boundary: float
) -> CascadePolicy:
    """Keep the trees that some stage uses, in the order of their first use.

    Outputs are counted from ``boundary``, the target between the two classes.
    """
    n_stages = chain.n_nodes
    order: list[int] = []
    ends = []
    for stage in range(n_stages):
        order += [t for t in chain.own(stage).tolist() if t not in order]
        ends.append(len(order))
    place = {tree: i for i, tree in enumerate(order)}
    coefficient = np.zeros((n_stages, len(order)))
    for stage in range(n_stages):
        own = slice(chain.start[stage], chain.start[stage + 1])
        for tree, slope in zip(
            chain.features[own].tolist(), chain.coefficient[own, 0], strict=True
        ):
            coefficient[stage, place[tree]] = slope
    prior = chain.intercept[0, 0]
    for tree in chain.own(0).tolist():
        prior += coefficient[0, place[tree]] * chain.mean[tree]
    # Scores were weighed with the steepness of the soft step; the sign of a difference is the same.
    threshold = chain.threshold / chain.direction[:, 0]
    # A stage without trees cannot tell rows apart: it lets all of them pass.
    blind = np.diff(chain.start) == 0
    threshold = np.where(blind, chain.intercept[:, 0] - 1.0, threshold)
    stages = Stages(
        np.array(ends, dtype=np.int64), coefficient, chain.intercept[:, 0] - boundary,
        threshold - boundary, np.array([prior - boundary]),
    )  # fmt: skip
    return CascadePolicy(costs, targets.output, apart(trees.only(order)), stages)


def refit_stages(
    objective: Objective, state: State, own: Floats, anchor: float
) -> npt.NDArray[np.bool_]:
    """Fit each stage again on its trees, without prices, on the rows that get there.

    The trees were grown on these rows, so that plain least squares would undo the booster's
    shrinkage: coefficients are pulled to the booster's own (``own``, (d,)) times the factor that
    fits best. Thresholds move so that the share of rows that go on stays. Changes ``state``; returns
    which trees each stage uses.
    """
    support = supports(state.B)
    state.B[:-1] *= support[:, :, None]
    rows = np.arange(len(objective.Y))
    for k in range(objective.topology.n_nodes):
        used = np.append(np.flatnonzero(support[:, k]), len(support))
        columns, weight = _gather(objective.blocks, rows, used), objective.weight[rows]
        if not weight.any():
            break
        score = columns @ state.B[used, k, 0] * objective.direction[0]
        stays = score > state.theta[k]
        state.B[used, k, 0] = _anchored(
            columns[:, :-1], objective.Y[rows, 0], weight, own[used[:-1]], anchor
        )
        score = columns @ state.B[used, k, 0] * objective.direction[0]
        if stays.any() and not stays.all():
            share = float(np.add.reduce(weight[~stays]) / np.add.reduce(weight))
            cut = weighted_cut(score, weight, share)
            state.theta[k] = state.theta[k] if cut is None else cut
        rows = rows[score > state.theta[k]]
    return support


def _anchored(A: Floats, y: Floats, weight: Floats, own: Floats, anchor: float) -> Floats:
    """Coefficients and intercept: ridge regression around the multiple of ``own`` that fits best."""
    share = weight / np.add.reduce(weight)
    mean, middle = share @ A, float(share @ y)
    A, rest = A - mean, y - middle
    said = A @ own
    size = float((share * said) @ said)
    factor = max(0.0, float((share * said) @ rest) / size) if size > 0 else 0.0
    weighted = A.T * share
    gram = weighted @ A + anchor * np.eye(len(own))
    change = np.linalg.lstsq(gram, weighted @ (rest - factor * said), rcond=1e-9)[0]
    found = factor * own + change
    return np.append(found, middle - mean @ found)


def set_thresholds(
    policy: CascadePolicy, X: Any, weight: Floats | None, leaving: float
) -> CascadePolicy:
    """The policy with thresholds at which a share of the rows that get to a stage leave there."""
    said = TreePolicy(policy.costs, Output("value"), policy.model.trees).batch(X, billed=False).raw
    threshold, here = policy.stages.threshold.copy(), np.arange(len(said))
    for k in range(len(threshold) - 1):
        score = policy.outputs(k, said[here])
        cut = weighted_cut(score, None if weight is None else weight[here], leaving)
        # Scores that are all the same cannot tell rows apart: everybody passes.
        threshold[k] = min(score, default=0.0) - 1.0 if cut is None or not leaving else cut
        here = here[score > threshold[k]]
    stages = replace(policy.stages, threshold=threshold)
    return CascadePolicy(policy.costs, policy.output, policy.model.trees, stages, policy.scale)


def graded_targets(
    grades: Any, codes: npt.NDArray[np.intp], output: Output
) -> tuple[Targets, float]:
    """Grades brought to -1 .. 1, and what lies between the two classes."""
    grades = np.asarray(grades, dtype=np.float64)
    if grades.shape != codes.shape or not np.isfinite(grades).all():
        raise ValueError(
            f"grades has shape {grades.shape} or a number that is not finite: give one grade for each of the "
            f"{len(codes)} rows."
        )
    low, high = float(grades[codes == 0].max()), float(grades[codes == 1].min())
    if low >= high:
        raise ValueError(
            f"grades of the first class go up to {low:g}, those of the second down to {high:g}: y must say "
            "which grades are high enough to stay, such as grades >= 2."
        )
    least, span = float(grades.min()), float(np.ptp(grades))
    Y = 2.0 * (grades - least) / span - 1.0
    boundary = (low + high - 2.0 * least) / span - 1.0
    return Targets(Y[:, None], np.zeros(1), np.ones(1), output), boundary
