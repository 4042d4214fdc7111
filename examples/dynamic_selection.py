"""Reading digits block by block: buy the pixels that this image needs, and see what was bought."""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from worthwhile import Costs, DynamicSelectionClassifier


def blocks(side: int, width: int) -> dict[str, dict[str, object]]:
    """Square blocks of pixels: one fee each, the pixels themselves cost nothing."""
    pixels, count = np.arange(side * side).reshape(side, side), side // width
    return {
        f"block {i},{j}": {
            "fee": 1,
            "features": pixels[i * width : (i + 1) * width, j * width : (j + 1) * width].ravel(),
        }
        for i in range(count)
        for j in range(count)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=6)
    parser.add_argument("--plot", metavar="FILE", help="draw the purchases into this file")
    options = parser.parse_args()

    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=500, random_state=0)
    costs = Costs(np.zeros(64), blocks(side=8, width=2), unit="blocks")
    model = DynamicSelectionClassifier(
        0.25, costs=costs, extra_lams=[1.0], max_iter=options.iterations, random_state=0
    ).fit(X_train, y_train)
    for lam in (0.25, 1.0):
        fitted = model.at(lam=lam)
        print(
            f"lam {lam}: accuracy {fitted.score(X_test, y_test):.3f} "
            f"for {fitted.cost(X_test).mean():.1f} of 16 blocks"
        )
    print(model.explain(X_test[:1]).to_string(index=False))

    # One case on demand, with the trade-off of this request.
    session = model.session(lam=1.0, budget=6)
    while wanted := session.ask():
        session.tell({pixel: X_test[0, pixel] for pixel in wanted})
    print(f"a cheap look: {session.prediction} for {session.spent:g}, truth {y_test[0]}")
    if options.plot:
        from worthwhile.plots.purchase_sequence import plot_purchase_sequence

        axes = plot_purchase_sequence(model, X_test, y_test)
        axes[0].figure.savefig(options.plot)


if __name__ == "__main__":
    main()
