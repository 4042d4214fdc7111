"""Which features are bought as a model grows, by their price: Figure 2 of Greedy Miser."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from worthwhile.costs import as_floats
from worthwhile.plots._style import clean, new_axes
from worthwhile.policy.trees import TreePolicy

MOST_GROUPS = 7


class PurchasesDisplay:
    """Share of the features of each price that the model has bought by each stage.

    Parameters
    ----------
    stages : array
        Number of each stage.
    shares : array (n_prices, n_stages)
        Share of the features of a price that were bought by then.
    labels : list of str
        Prices, or ranges of prices.
    counts : array (n_prices,)
        Features at each price.
    unit : str
        Unit of the prices.

    Attributes
    ----------
    ax_, figure_, lines_
        After ``plot``.

    Notes
    -----
    Paper: Xu, Weinberger, Chapelle, "The Greedy Miser", ICML 2012, Figure 2. With more than seven
    different prices, prices are put into seven ranges with about as many features in each.

    Examples
    --------
    >>> import numpy as np
    >>> from worthwhile import GreedyMiserRegressor, plots
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> miser = GreedyMiserRegressor(lam=1e-3, costs=[1, 1, 5, 5], n_rounds=5).fit(X, X.sum(axis=1))
    >>> plots.PurchasesDisplay.from_estimator(miser).labels
    ['1', '5']
    """

    def __init__(
        self, stages: Any, shares: Any, labels: list[str], counts: Any, *, unit: str = ""
    ) -> None:
        self.stages = stages
        self.shares = shares
        self.labels = labels
        self.counts = counts
        self.unit = unit

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw what an ensemble of trees bought, tree by tree.

        Parameters
        ----------
        estimator : fitted estimator
            An ensemble of trees: Greedy Miser, a budgeted forest, a priced forest.
        ax : matplotlib axes, optional
            Where to draw.
        """
        policy = getattr(estimator, "policy_", None)
        if not isinstance(policy, TreePolicy):
            raise ValueError(
                f"estimator is a {type(estimator).__name__}: purchases are drawn for fitted ensembles of trees."
            )
        trees, costs = policy.trees, policy.costs
        first = np.full(costs.n_features, np.inf)
        for tree, tested in reversed(list(enumerate(trees.tests(costs.n_features)))):
            first[tested] = tree + 1
        groups, labels = _groups(as_floats(costs.own))
        stages = np.arange(trees.n_trees + 1)
        shares = np.array(
            [(first[group][None, :] <= stages[:, None]).mean(axis=1) for group in groups]
        )
        counts = np.array([len(group) for group in groups])
        return cls(stages, shares, labels, counts, unit=costs.unit).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, cheap features dark and dear ones light."""
        self.ax_ = new_axes(ax)
        self.lines_ = []
        n = len(self.labels)
        for number, (label, share, count) in enumerate(
            zip(self.labels, self.shares, self.counts, strict=True)
        ):
            grey = 0.75 * number / max(1, n - 1)
            (line,) = self.ax_.plot(
                self.stages, 100 * np.asarray(share), color=str(grey), linewidth=2,
                linestyle=("-", "--", "-.", ":")[number % 4], label=f"{label}  ({count})", drawstyle="steps-post",
            )  # fmt: skip
            self.lines_.append(line)
        self.ax_.set_xlabel("trees")
        self.ax_.set_ylabel("features bought (%)")
        self.ax_.set_ylim(0, 103)
        title = f"price in {self.unit}" if self.unit else "price"
        self.ax_.legend(title=f"{title}  (features)", frameon=False, handlelength=2.8)
        clean(self.ax_)
        self.figure_ = self.ax_.figure
        return self


def _groups(price: Any) -> tuple[list[Any], list[str]]:
    """Features by price, or by range of prices where there are many."""
    values = np.unique(price)
    if len(values) <= MOST_GROUPS:
        return [np.flatnonzero(price == value) for value in values], [f"{v:g}" for v in values]
    parts = [
        part for part in np.array_split(np.argsort(price, kind="stable"), MOST_GROUPS) if len(part)
    ]
    labels = [f"{price[part].min():.3g} to {price[part].max():.3g}" for part in parts]
    return parts, labels
