"""From a budget to a model: compare methods on the heart data, then search with the best of them.

    python examples/search_and_compare.py [--budget 60] [--plot frontiers.png]

Needs no data of its own; takes about a minute.
"""

from __future__ import annotations

import argparse

from sklearn.model_selection import train_test_split

from worthwhile import BudgetSearchCV, GreedyMiserClassifier, compare, datasets, plots

METHODS = ["greedy-miser", "submodular-tree", "cost-weighted-l1", "decision-tree", "random-forest"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=60.0, help="largest mean bill in CAD")
    parser.add_argument("--plot", metavar="FILE", help="draw all frontiers into this file")
    given = parser.parse_args()

    heart = datasets.load_heart()
    found = compare(heart.data, heart.target, heart.costs, METHODS, [5, 60, 200], verbose=1)
    print(found.to_markdown())
    choice = found.best(given.budget)
    print(
        f"Best within {given.budget:g} CAD on validation: {choice.method}, test accuracy {choice.test_score:.3f}\n"
    )
    if given.plot:
        plots.FrontierDisplay.from_comparison(found).figure_.savefig(given.plot, dpi=150)

    X, X_new, y, y_new = train_test_split(heart.data, heart.target, test_size=0.3, random_state=0)
    miser = GreedyMiserClassifier(costs=heart.costs, n_rounds=50)
    search = BudgetSearchCV(miser, given.budget, verbose=1).fit(X, y)
    print(f"Greedy Miser: {search.best_params_}, {search.best_stage_} rounds; mean bill in validation "
          f"{search.best_cost_:.2f}, at most {search.best_bound_:.2f} expected on new rows")  # fmt: skip
    print(
        f"New patients: mean bill {search.cost(X_new).mean():.2f}, accuracy {search.score(X_new, y_new):.3f}"
    )


if __name__ == "__main__":
    main()
