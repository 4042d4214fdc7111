"""The experiments of the ADAPT paper with a protocol of their own: its examples, the oracle's gate, several stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.svm import SVC

from benchmarks.papers.adapt_2017_parts import TREES, Existing
from benchmarks.papers.sets import Problem
from worthwhile import (
    AdaptiveBoostingClassifier,
    AdaptiveLinearClassifier,
    L1GateClassifier,
    datasets,
)

GRID = 36
"""Points of a picture in each direction."""
WEAK = {
    "p_full": 0.5, "constraint": "equal", **TREES, "n_rounds": 5, "max_depth": 2, "learning_rate": 0.5,
}  # fmt: skip
"""Trees for Synthetic-1: with more of them nothing is left for the exact model."""
SHARES, GAMMAS = (0.4, 0.5, 0.6, 0.75), (0.003, 0.01, 0.03, 0.06)
"""Trade-offs of the linear gates on Synthetic-2."""


EVEN, UNEVEN = (0.25,) * 4, (0.26, 0.26, 0.24, 0.24)
"""Shares of the clusters of Synthetic-2; the text needs the first two to be larger."""


def synthetic_1(seed: int = 0) -> dict[str, Any]:
    """Figure 2: both gates after one and after ten outer iterations, without prices.

    Pictures are strings of a square grid, lowest line first: what the cheap model says, 0 or 1, or 2 where
    the gate sends a point on.
    """
    X, y, costs = datasets.make_synthetic_1(1000, seed)
    exact = SVC(gamma=1, C=10).fit(X, y)
    side = [np.linspace(*X[c].agg(["min", "max"]), GRID) for c in X]
    points = dict(zip(X, (axis.ravel() for axis in np.meshgrid(*side)), strict=True))
    rows = pd.DataFrame(points)
    found: dict[str, Any] = {
        "exact": float(exact.score(X, y)),
        "exact picture": "".join(str(int(label > 0)) for label in exact.predict(rows)),
        "low": [float(s[0]) for s in side], "high": [float(s[-1]) for s in side],
        "rows": np.column_stack([X.iloc[::4], y[::4]]).round(3).tolist(),
    }  # fmt: skip
    for name, make, extra in (
        ("ADAPT-LIN", AdaptiveLinearClassifier, {"p_full": 0.6, "refit_supports": False}),
        ("ADAPT-GBRT", AdaptiveBoostingClassifier, WEAK),
    ):
        for iterations in (1, 10):
            model = make(exact, gamma=0.0, costs=costs, **(extra | {"max_iter": iterations})).fit(
                X, y
            )
            sent, cheap = model.sent(rows), model.policy_.cheap
            said = cheap.output.predict(cheap.batch(rows.to_numpy(float), billed=False).raw) > 0
            found[f"{name} {iterations}"] = {
                "accuracy": float(model.score(X, y)), "sent": float(model.sent(X).mean()),
                "picture": "".join(map(str, np.where(sent, 2, said.astype(int)))),
            }  # fmt: skip
    return found


def synthetic_2(
    clusters: Sequence[Sequence[float]] = (EVEN, UNEVEN), seed: int = 0
) -> dict[str, Any]:
    """Figure 3: all trade-offs of the linear gates, as (cost, accuracy), on clusters of these shares."""
    found: dict[str, Any] = {}
    makers: dict[str, Any] = {
        "ADAPT-LIN": (AdaptiveLinearClassifier, {}),
        "ADAPT-LIN, no refits": (AdaptiveLinearClassifier, {"refit_supports": False}),
        "ADAPT-LSTSQ": (AdaptiveLinearClassifier, {"distance": "lstsq"}),
    }
    for shares in clusters:
        X, y, costs = datasets.make_synthetic_2(400, seed, shares=shares, separation=2)
        exact, label = SVC(gamma=1).fit(X, y), f"clusters of {100 * shares[0]:.0f} %"
        for name, (make, extra) in makers.items():
            points = []
            for p_full in SHARES:
                for gamma in GAMMAS:
                    model = make(exact, p_full=p_full, gamma=gamma, costs=costs, **extra).fit(X, y)
                    points.append([float(model.cost(X).mean()), float(model.score(X, y))])
            found[f"{name}, {label}"] = sorted(points)
        gates = L1GateClassifier(exact, costs=costs).fit_path(
            X, y, np.linspace(1, 2, 41), validation=(X, y)
        )
        points = {(float(m.cost(X).mean()), float(m.score(X, y))) for m in gates}
        found[f"L1 gate, {label}"] = sorted(points)
    return found


def oracle_gate(p: Problem, existing: Existing, rounds: int) -> dict[str, Any]:
    """Section 3: the gate that knows the losses, and the one that was learned, around the same cheap model.

    The oracle keeps a row where the excess loss is at most eta times what is saved; the learned gate has its
    threshold moved. Lines are (mean cost, accuracy, mean loss) on test rows.
    """
    model = AdaptiveBoostingClassifier(
        existing.model, budget=0.6 * existing.cost, n_rounds=rounds, max_depth=5, costs=p.costs,
        random_state=0, n_jobs=1, **TREES,
    ).fit(*p.train, existing_proba=existing.proba, validation=p.held)  # fmt: skip
    X, y = p.test
    policy, rows = model.policy_, np.arange(len(y))
    cheap, gate = policy.cheap.batch(X), policy.gate.batch(X)
    own = np.clip(policy.cheap.output.probabilities(cheap.raw), 1e-6, 1)
    full = np.clip(existing.model[0](X), 1e-6, 1)
    loss = np.array([-np.log(said[rows, y]) for said in (own, full)])
    right = np.array([said.argmax(axis=1) == y for said in (own, full)])
    bill = np.array([p.costs.price(cheap.acquired), np.full(len(y), existing.cost)])
    gated = np.array(
        [p.costs.price(cheap.acquired | gate.acquired), np.full(len(y), existing.cost)]
    )

    def line(sent: np.ndarray, bills: np.ndarray) -> list[float]:
        who = sent.astype(int)
        return [float(table[who, rows].mean()) for table in (bills, right, loss)]

    excess, saved = loss[0] - loss[1], bill[1] - bill[0]
    etas = np.concatenate(
        [[-1.0], np.quantile(excess / np.maximum(saved, 1e-9), np.linspace(0, 1, 21)), [9.0]]
    )
    score = gate.raw[:, 0]
    edges = np.quantile(score, np.linspace(0, 1, 21))
    return {
        "oracle": [line(excess > eta * saved, bill) for eta in etas],
        "learned": [line(score > edge, gated) for edge in edges],
        "as trained": line(score > 0, gated), "existing": line(np.ones(len(y), bool), bill),
        "cheap": line(np.zeros(len(y), bool), bill), "rows": p.rows,
    }  # fmt: skip


def stages(p: Problem, existing: Existing, rounds: int) -> dict[str, Any]:
    """Remark 2: a gate in front of a gate in front of the existing model, each within what is left to spend.

    The first stage may spend 0.8 of the existing model's cost, the second 0.65, the third 0.5; beside each
    the one stage that may spend as much.
    """
    found: dict[str, Any] = {"existing": [existing.cost, existing.accuracy], "rows": p.rows}
    front, said = existing.model, existing.proba
    for number, share in enumerate((0.8, 0.65, 0.5), 1):
        for name, own in (
            ("stages", (front, said)),
            ("one stage", (existing.model, existing.proba)),
        ):
            model = AdaptiveBoostingClassifier(
                own[0], budget=share * existing.cost, n_rounds=rounds, max_depth=5, costs=p.costs,
                random_state=0, n_jobs=1, **TREES,
            ).fit(*p.train, existing_proba=own[1], validation=p.held)  # fmt: skip
            cost, accuracy = float(model.cost(p.test[0]).mean()), float(model.score(*p.test))
            found[f"{name} {number}"] = [cost, accuracy, share]
            if name == "stages":
                after = model
        front, said = after, _said(after, p.train[0], said)
    return found


def _said(model: Any, X: np.ndarray, before: np.ndarray) -> np.ndarray:
    """What a gate and what is behind it say about training rows, on which that was asked out of fold."""
    cheap = model.policy_.cheap
    own = cheap.output.probabilities(cheap.batch(X, billed=False).raw)
    return np.where(model.sent(X)[:, None], before, own)
