"""Whether the promise still holds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

from worthwhile._messages import some
from worthwhile.columns import Columns
from worthwhile.promise._evidence import Evidence
from worthwhile.promise._spread import LEAST
from worthwhile.promise.promise import Figure, Promise

CONFIDENCE = 0.99
"""Of each interval: four figures are looked at, and a false alarm should be rare."""

FEWEST = 30
"""Cases below which nothing is judged."""

APART = 0.1
"""Distance of spreads below which nobody need care, however sure it is."""

RISING = ("accuracy",)
"""Figures of which more is better; of the calibration what is nearer to 0."""


def check_promise(
    promise: Promise | None,
    evidence: Evidence,
    features: Sequence[Any],
    columns: Columns | None = None,
) -> dict[str, Any]:
    """Hold cases whose truth is known against what was promised.

    Parameters
    ----------
    promise : Promise or None
        None where nothing was promised: then there are only the figures of today.
    evidence : Evidence
        The cases.
    features : sequence of str or int
        Names of the columns.
    columns : Columns, optional
        What they are, where they are no plain numbers.

    Returns
    -------
    dict
        JSON values: "holds" (True, False, or None where it cannot be judged), "verdict" in words,
        "rows", "confidence" of the intervals, "figures", and "drifted" features.

    Examples
    --------
    >>> import numpy as np
    >>> then = Evidence.of_classes(np.full(400, 5.0), [1] * 400, [1] * 320 + [0] * 80, [0, 1])
    >>> now = Evidence.of_classes(np.full(100, 5.0), [1] * 100, [1] * 50 + [0] * 50, [0, 1])
    >>> check_promise(Promise.of(then), now, ["age"])["verdict"]
    'The promise does not hold: accuracy is 0.5 (0.375 to 0.625), promised was 0.8.'
    """
    z = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    figures = [
        _judge(name, numbers, promise, z)
        for name, numbers in evidence.figures.items()
        if len(numbers) > 1
    ]
    drifted = [] if promise is None else _drifted(promise, evidence, features, columns)
    worse = [figure for figure in figures if figure["verdict"] == "worse"]
    judged = promise is not None and evidence.rows >= FEWEST
    return {
        "holds": not worse if judged else None,
        "verdict": _sentence(promise, evidence.rows, worse, figures, drifted),
        "rows": evidence.rows,
        "confidence": CONFIDENCE,
        "figures": figures,
        "drifted": drifted,
    }


def _judge(name: str, numbers: Any, promise: Promise | None, z: float) -> dict[str, Any]:
    """One figure with its interval, beside what was promised."""
    now = Figure.of(numbers)
    low, high = now.mean - z * now.error, now.mean + z * now.error
    if name == "accuracy":
        low, high = _wilson(now.mean, len(numbers), z)
    found = {"name": name, "now": now.mean, "low": low, "high": high}
    then = None if promise is None else promise.figures.get(name)
    if promise is None or then is None:
        return {**found, "promised": None, "verdict": "nothing was promised"}
    error = math.hypot((high - low) / 2, z * then.error)
    more = now.mean - then.mean
    bound = promise.bound if name == "bill" else None
    if bound is not None:
        found["bound"] = bound
    sure = abs(more) > error + 1e-9 * abs(then.mean)  # equal bills may differ by rounding
    if name == "calibration":
        verdict = "worse" if sure and abs(now.mean) > abs(then.mean) else "as promised"
    elif name in RISING:
        verdict = "as promised" if not sure else "better" if more > 0 else "worse"
    elif bound is not None and sure and more > 0:
        verdict = "worse" if low > bound else "more than expected, within the bound"
    else:
        verdict = "as promised" if not sure else "worse" if more > 0 else "better"
    few = len(numbers) < FEWEST
    shown = "too few cases to judge" if few else verdict
    return {**found, "promised": then.mean, "shows": error, "verdict": shown}


def _wilson(share: float, n: int, z: float) -> tuple[float, float]:
    """Interval of a share that keeps between 0 and 1."""
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return middle - half, middle + half


def _drifted(
    promise: Promise, evidence: Evidence, features: Sequence[Any], columns: Columns | None
) -> list[dict[str, Any]]:
    """Features whose bought values are spread otherwise than they were, the most changed first."""
    looked = [s for s in promise.spreads if len(evidence.values.get(s.column, ())) >= LEAST]
    found = []
    for spread in looked:
        values = evidence.values[spread.column]
        distance, chance, grown = spread.compare(values)
        if distance < APART or chance * len(looked) > 1 - CONFIDENCE:
            continue
        now = spread.count(values)
        found.append(
            {
                "feature": features[spread.column],
                "distance": distance,
                "grown": spread.words(grown, None if columns is None else columns[spread.column]),
                "share_then": spread.counts[grown] / sum(spread.counts),
                "share_now": int(now[grown]) / len(values),
                "bought_then": sum(spread.counts) / promise.rows,
                "bought_now": len(values) / evidence.rows,
            }
        )
    return sorted(found, key=lambda line: -line["distance"])


def _sentence(
    promise: Promise | None,
    rows: int,
    worse: list[dict[str, Any]],
    figures: list[dict[str, Any]],
    drifted: list[dict[str, Any]],
) -> str:
    """The verdict in words."""
    if promise is None:
        return "Nothing was promised: the model file says nothing about rows that did not train."
    if rows < FEWEST:
        return f"{rows} cases are too few to judge: come back with {FEWEST} or more."
    if worse:
        said = "; ".join(_said(figure) for figure in worse)
        text = f"The promise does not hold: {said}."
    else:
        seen = "; ".join(
            f"{f['name']} by {f['shows']:.3g}" for f in figures if f["promised"] is not None
        )
        text = f"Nothing speaks against the promise ({rows:,} cases would show a difference in {seen})."
    if drifted:
        names = some([str(line["feature"]) for line in drifted])
        text += f" Values have changed: {names}."
    return text


def _said(figure: dict[str, Any]) -> str:
    promised = f"promised was {figure['promised']:.3g}"
    if "bound" in figure:
        promised = f"promised was at most {figure['bound']:.3g}"
    return (
        f"{figure['name']} is {figure['now']:.3g} ({figure['low']:.3g} to {figure['high']:.3g}), "
        f"{promised}"
    )
