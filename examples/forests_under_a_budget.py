"""A forest under a budget, and the same forest pruned: what each pays for the heart data.

    python examples/forests_under_a_budget.py

One forest is grown; every smaller budget is a prefix of it. Then a random forest of scikit-learn is
cut back for several trade-offs. Bills are in Canadian dollars.
"""

from __future__ import annotations

from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from worthwhile import BudgetedForestClassifier, PricedModel, PrunedForestClassifier, datasets


def main() -> None:
    heart = datasets.load_heart()
    X, X_test, y, y_test = train_test_split(heart.data, heart.target, test_size=0.3, random_state=0)
    X_train, X_prune, y_train, y_prune = train_test_split(X, y, test_size=0.4, random_state=0)

    paper = BudgetedForestClassifier(alpha=4, costs=heart.costs, price_power=1.0, random_state=0)
    grown = paper.fit(X, y)
    print("budgeted forest, one run")
    for budget in (3.5, 4, 10):
        model = grown.at(budget=budget)
        print(
            f"  budget {budget:5.1f}: {model.n_trees_:2d} trees, bill {model.cost(X_test).mean():6.2f}, "
            f"accuracy {model.score(X_test, y_test):.3f}"
        )

    forest = RandomForestClassifier(40, random_state=0).fit(X_train, y_train)
    start = PricedModel(forest, heart.costs)
    print("random forest, pruned")
    print(
        f"  as it is    : bill {start.cost(X_test).mean():6.2f}, accuracy {start.score(X_test, y_test):.3f}"
    )
    pruned = PrunedForestClassifier(forest, costs=heart.costs).fit(X_prune, y_prune)
    for lam in (1e-4, 5e-4, 1e-3, 1e-2):
        model = pruned.at(lam=lam)
        print(
            f"  lam {lam:8.4f}: bill {model.cost(X_test).mean():6.2f}, "
            f"accuracy {model.score(X_test, y_test):.3f}"
        )


if __name__ == "__main__":
    main()
