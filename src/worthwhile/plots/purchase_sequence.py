"""Which factor is bought at which step, for which class."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

WHOLE = "all rows"


def purchase_shares(model: Any, X: Any, y: Any = None, budget: Any = None) -> pd.DataFrame:
    """Share of the rows of each class that buy each factor at each step, as plain data.

    Parameters
    ----------
    model : fitted DynamicSelectionClassifier or StaticOrderClassifier
        Whose purchases to count.
    X : array or frame (n, d)
        Rows.
    y : array (n,), optional
        Classes to tell apart; None: all rows together.
    budget : number, optional
        Limit per row.

    Returns
    -------
    DataFrame
        Columns class, factor, step (from 1), share.

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import StaticOrderClassifier
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = StaticOrderClassifier(n_factors=1, random_state=0).fit(X, X[:, 2] > 0)
    >>> purchase_shares(model, X)["share"].tolist()  # of factors 0, 1 and 2 at step 1
    [0.0, 0.0, 1.0]
    """
    if not hasattr(model, "explain") or not hasattr(model, "factor_names_"):
        raise TypeError(
            f"model is a {type(model).__name__}: give a fitted DynamicSelectionClassifier or StaticOrderClassifier."
        )
    story = model.explain(X, budget=budget)
    classes = np.full(len(X), WHOLE, dtype=object) if y is None else np.asarray(y)
    if len(classes) != len(X):
        raise ValueError(f"y has {len(classes)} labels for {len(X)} rows: give one per row.")
    bought = story[story["step"] > 0]
    steps = range(1, int(bought["step"].max() if len(bought) else 0) + 1)
    lines = []
    for label in pd.unique(pd.Series(classes).sort_values()):
        rows = np.flatnonzero(classes == label)
        own = bought[bought["row"].isin(rows)]
        count = own.groupby(["factor", "step"]).size()
        lines += [
            (label, name, step, count.get((name, step), 0) / len(rows))
            for name in model.factor_names_
            for step in steps
        ]
    return pd.DataFrame(lines, columns=["class", "factor", "step", "share"])


def plot_purchase_sequence(
    model: Any, X: Any, y: Any = None, *, budget: Any = None, axes: Any = None
) -> Any:
    """Draw which factor is bought at which step: one panel per class, factors over steps.

    Parameters
    ----------
    model, X, y, budget
        As for :func:`purchase_shares`.
    axes : array of matplotlib Axes, optional
        One per class; made if not given.

    Returns
    -------
    array of matplotlib Axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np
    >>> from worthwhile import StaticOrderClassifier
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = StaticOrderClassifier(random_state=0).fit(X, X[:, 2] > 0)
    >>> len(plot_purchase_sequence(model, X, X[:, 2] > 0))
    2
    """
    import matplotlib.pyplot as plt

    shares = purchase_shares(model, X, y, budget)
    labels = list(dict.fromkeys(shares["class"])) or [WHOLE]
    if axes is None:
        _, axes = plt.subplots(
            1, len(labels), figsize=(2 + 2 * len(labels), 1 + 0.25 * len(model.factor_names_)),
            sharey=True, squeeze=False, layout="constrained",
        )  # fmt: skip
    axes = np.ravel(axes)
    if len(axes) != len(labels):
        raise ValueError(f"axes has {len(axes)} panels for {len(labels)} classes: give one each.")
    names = [str(name) for name in model.factor_names_]
    for axis, label in zip(axes, labels, strict=True):
        part = shares[shares["class"] == label]
        grid = part["share"].to_numpy().reshape(len(names), -1)
        image = axis.imshow(grid, aspect="auto", vmin=0, vmax=1, cmap="viridis")
        axis.set_title(str(label))
        axis.set_xlabel("step")
        axis.set_xticks(range(grid.shape[1]), range(1, grid.shape[1] + 1))
    axes[0].set_yticks(range(len(names)), names)
    axes[0].figure.colorbar(image, ax=list(axes), label="share of rows")
    return axes
