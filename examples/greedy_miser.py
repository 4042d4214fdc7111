"""Greedy Miser on data of the shape of Yahoo's: the trade-off, and which prices are paid for.

Prints the curve over lam beside the booster that ignores prices and the feature subsets, and draws
the share of the features bought in each price group (figure 2 of the paper).
"""

from __future__ import annotations

import argparse

import numpy as np

from worthwhile import FeatureSubsets, GreedyMiserRegressor
from worthwhile.datasets import make_yahoo_like
from worthwhile.metrics import ndcg_at_k


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=12000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--plot", metavar="FILE", help="draw the figure into this file")
    options = parser.parse_args()

    X, y, qid, costs = make_yahoo_like(options.rows, seed=0)
    # Whole queries go to training, validation or test.
    part = np.digitize(np.searchsorted(np.unique(qid), qid) / len(np.unique(qid)), [0.5, 0.75])
    train, held, test = (part == k for k in range(3))
    booster = GreedyMiserRegressor(costs=costs, n_rounds=options.rounds)
    top = booster.lam_max(X[train], y[train])
    lams = [*(top * np.logspace(-0.5, -3.5, 7)), 0.0]
    path = booster.fit_path(X[train], y[train], lams, validation=(X[held], y[held]))

    prices = np.array([float(price) for price in costs.prices.values()])
    groups = np.unique(prices)
    shares = np.zeros((len(path), len(groups)))
    print("    lam/lam_max  rounds  features  cost by model  cost by row  NDCG@5")
    for number, (lam, model) in enumerate(zip(lams, path, strict=True)):
        bought = prices[model.purchase_order_]
        shares[number] = [(bought == g).sum() / (prices == g).sum() for g in groups]
        print(
            f"{lam / top:15.5f} {model.n_rounds_:7d} {len(bought):9d} "
            f"{model.cost(X[:1], accounting='model')[0]:14.0f} {model.cost(X[test]).mean():12.0f} "
            f"{ndcg_at_k(y[test], model.predict(X[test]), qid=qid[test], k=5):8.4f}"
        )
    for entry in FeatureSubsets(booster).trade_off_grid(X, y):
        subset = FeatureSubsets(booster, **entry).fit(
            X[train], y[train], validation=(X[held], y[held])
        )
        score = ndcg_at_k(y[test], subset.predict(X[test]), qid=qid[test], k=5)
        print(
            f"features up to {entry['cap']:g}: cost {subset.cost(X[test]).mean():.0f}, NDCG@5 {score:.4f}"
        )

    if options.plot:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(7, 4))
        for column, price in enumerate(groups):
            axes.plot(shares[:, column], "o-", label=f"{price:g} ({(prices == price).sum()})")
        axes.set_xticks(range(len(lams)), [f"{lam / top:.1g}" for lam in lams])
        axes.set_xlabel("lam, as a share of lam_max")
        axes.set_ylabel("share of the features bought")
        axes.legend(title="price (features)", fontsize="small")
        figure.tight_layout()
        figure.savefig(options.plot)


if __name__ == "__main__":
    main()
