"""From free signals through cheap to dear judges: buy a verdict only where it is worth its price.

Comments are to be sorted into three classes. An embedding is free, a small model costs next to nothing, an API a
fixed price per call, and a language model by the token: its price is known only afterwards and has a ceiling. A judge's
verdict and confidence are what is bought. One training finds out whom to ask after whom; ``predict_with`` then calls
real functions, in bulk, and the bill says what each comment cost.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd

from worthwhile import BudgetClassifier, Costs, Extractors
from worthwhile.runtime import Paid

CLASSES = np.array(["fine", "rude", "threat"])
JUDGES = {"small": (0.72, 0.0004), "api": (0.83, 0.01), "llm": (0.95, 0.06)}
"""Skill, and the price of a call in cents; that of the language model is what its longest answer costs."""


def make_comments(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Free and bought columns of comments, their classes, and what the language model charged."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    hard = rng.beta(1.2, 3.0, n)  # how hard a comment is to judge, for all judges alike
    centre = np.random.default_rng(42).normal(0, 1.5, (3, 4))  # of each class, in the embedding
    embedded = centre[y] * (1 - hard)[:, None] + rng.normal(0, 1, (n, 4))
    frame = pd.DataFrame(embedded, columns=[f"embedding {i}" for i in range(4)])
    for judge, (skill, _) in JUDGES.items():
        right = rng.random(n) < 1 - (1 - skill) * 4 * hard
        verdict = np.where(right, y, (y + rng.integers(1, 3, n)) % 3)
        frame[f"{judge} verdict"] = CLASSES[verdict]
        frame[f"{judge} confidence"] = np.round(
            np.clip(1 - 0.8 * hard + rng.normal(0, 0.1, n), 0.34, 1), 2
        )
    charged = np.round(JUDGES["llm"][1] * (0.3 + 0.7 * hard), 4)
    return frame, CLASSES[y], charged


def price_list() -> Costs:
    """A verdict has a price, its confidence comes with it, and what is known at once is free."""
    prices: dict[str, Any] = {f"embedding {i}": 0 for i in range(4)}
    for judge, (_, price) in JUDGES.items():
        prices[f"{judge} verdict"] = {"ceiling": price} if judge == "llm" else price
        prices[f"{judge} confidence"] = 0
    together = {j: {"fee": 0, "features": [f"{j} verdict", f"{j} confidence"]} for j in JUDGES}
    with_it = {f"{judge} confidence": f"{judge} verdict" for judge in JUDGES}
    return Costs(prices, groups=together, requires=with_it, unit="cents")


def sources(frame: pd.DataFrame, charged: np.ndarray) -> Extractors:
    """Functions in the place of the services; each is called once for all comments that want it now."""

    def embedding(name: str) -> Any:
        return lambda ids: frame[name].iloc[ids].tolist()

    def judge(name: str) -> Any:
        def call(ids: list[int]) -> dict[str, list[Any]]:
            print(f"  {name} is asked about {len(ids)} comments")
            verdicts = frame[f"{name} verdict"].iloc[ids].tolist()
            if name == "llm":
                verdicts = [Paid(v, charged[i]) for v, i in zip(verdicts, ids, strict=True)]
            return {
                f"{name} verdict": verdicts,
                f"{name} confidence": frame[f"{name} confidence"].iloc[ids].tolist(),
            }

        return call

    functions = {f"embedding {i}": embedding(f"embedding {i}") for i in range(4)}
    return Extractors(functions | {name: judge(name) for name in JUDGES}, timeout=30, retries=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3000)
    options = parser.parse_args()

    X, y, _ = make_comments(options.rows, seed=0)
    costs = price_list()
    model = BudgetClassifier(budget=0.01, costs=costs, random_state=0).fit(X, y)
    print(f"all judges: {costs.total:g} cents a comment. What less money is promised to give:")
    lines = model.frontier_[["cost", "score"]]
    print(lines.iloc[:: max(1, len(lines) // 6)].round(4).to_string(index=False))

    fresh, truth, charged = make_comments(500, seed=1)
    for budget in (0.002, 0.01, 0.03):
        print(f"at {budget:g} cents a comment on average:")
        answers = model.at(budget=budget).predict_with(sources(fresh, charged), ids=range(500))
        right = (answers.predictions == truth).mean()
        print(f"  {right:.1%} right for {answers.spent.mean():.4f} cents\n")

    # A wrong answer costs 5 cents, and a person decides for 1: asked only where that pays.
    careful = model.at(worth=5, refer=1)
    referred = careful.referred(fresh).mean()
    print(
        f"errors at 5 cents: {careful.cost(fresh).mean():.4f} cents for judges, {referred:.0%} to a person"
    )


if __name__ == "__main__":
    main()
