"""Why a gate saves nothing, in words."""

from __future__ import annotations

import numpy as np

from worthwhile.estimators.gates._judge import Sweep
from worthwhile.estimators.gates._unseen import Unseen

LEAST_SAVING = 0.01
"""Share of the existing model's bill below which a gate saves nothing to speak of."""

WORTH_SAVING = 0.1
"""Share of the bill that the gates save of which is said what they would lose."""

LEAST_GAIN = 0.03
"""What a cheap model must be better by than the most frequent class to predict anything, at least."""


def reason(sweep: Sweep, unseen: Unseen, within: float) -> str:
    """What most likely stands in the way, and what to do about it."""
    if unseen.seen:
        return (
            "it seems to have been trained on these rows, and knows them better than any it will meet. "
            "Give fit rows that it has not seen, or existing_proba (out of fold)."
        )
    n, dear = len(sweep.judge.codes), sweep.judge.existing_cost
    # Without caution there would have been a gate: there are too few rows to trust it.
    hopeful = sweep.cheapest(within)
    if sweep.verdicts[hopeful.model].cost < (1 - LEAST_SAVING) * dear:
        error = 100 * sweep.error(hopeful.model)
        return (
            f"{n} rows tell what the most promising gate loses to {error:.1f} points only, and it may lose "
            f"{100 * within:g}. Give more rows, or a larger max_drop."
        )
    budget = (1 - WORTH_SAVING) * dear
    kept = [v.score for v in sweep.verdicts if v.sent == 0 and v.cost <= budget]
    common = np.bincount(sweep.judge.codes).max() / n
    # The best of many is above chance by chance: by about two standard errors.
    if not kept or max(kept) < common + max(LEAST_GAIN, 1 / np.sqrt(n)):
        return "no cheap model predicts better than the most frequent class. Only the full bill helps here."
    lost = sweep.loss_within(budget)
    if lost <= within:  # alone it would do, among its neighbours it looks like chance
        return (
            f"{n} rows do not tell the gates apart well enough to trust one. Give more rows, or a larger "
            "max_drop."
        )
    return (
        f"the best that saves {WORTH_SAVING:.0%} of it is expected to lose {100 * lost:.1f} "
        f"points, and it may lose {100 * within:g}. A larger max_drop would save."
    )
