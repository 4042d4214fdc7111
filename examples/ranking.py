"""Ranking documents under a budget: a miser whose unpromising documents leave early.

Trains Greedy Miser on data of the shape of Yahoo's, adds exits, and ranks one query on demand: the
session asks per document for what it still needs, under one budget for the whole query.
"""

from __future__ import annotations

import argparse

import numpy as np

from worthwhile import EarlyExitRegressor, GreedyMiserRegressor
from worthwhile.datasets import make_yahoo_like
from worthwhile.metrics import irrelevant_weight, ndcg_at_k


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--budget", type=float, default=4000, help="for the query ranked on demand")
    options = parser.parse_args()

    X, y, qid, costs = make_yahoo_like(options.rows, seed=0)
    held, test = (
        make_yahoo_like(options.rows // 2, seed=1),
        make_yahoo_like(options.rows // 2, seed=2),
    )
    weight = irrelevant_weight(y)
    booster = GreedyMiserRegressor(costs=costs, n_rounds=options.rounds, scoring="ndcg")
    top = booster.lam_max(X, y, weight)
    lams = [0.0, 0.001 * top, 0.01 * top]
    path = booster.fit_path(X, y, lams, weight, qid=qid, validation=held[:3])

    print("lam / most  exits at   mean bill  trees  NDCG@5")
    for lam, model in zip(lams, path, strict=True):
        for threshold in (np.inf, 0.6, 0.2):
            leaving = EarlyExitRegressor(model, threshold=threshold).fit(X[:20], y[:20])
            bill = leaving.cost(test[0], qid=test[2]).mean()
            trees = leaving.evaluated(test[0], qid=test[2]).mean()
            ndcg = ndcg_at_k(test[1], leaving.predict(test[0], qid=test[2]), test[2])
            print(f"{lam / top:10.3g}  {threshold:8.2g}  {bill:10.1f}  {trees:5.1f}  {ndcg:.4f}")

    documents = test[0][test[2] == 0]
    session = EarlyExitRegressor(path[1], threshold=0.6).fit(X[:20], y[:20]).session(
        budget=options.budget, documents=len(documents)
    )  # fmt: skip
    steps = 0
    while wanted := session.ask():
        steps += 1
        session.tell({i: {f: documents[i, f] for f in names} for i, names in wanted.items()})
    print(
        f"\none query of {len(documents)} documents: {steps} rounds of questions, {session.spent:g} of "
        f"{options.budget:g} spent, {len(session.remaining)} documents stayed, best five {session.ranking[:5]}"
    )


if __name__ == "__main__":
    main()
