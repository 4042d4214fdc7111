"""What cases cost in all: tests and errors."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier

from worthwhile._sklearn import BaseEstimator
from worthwhile.costs import Errors

Floats = npt.NDArray[np.float64]


def total_costs(model: Any, X: Any, y: Any, errors: Errors) -> Floats:
    """Bill and price of the error of each row, (n,), of any fitted model.

    A model that decides by these prices is taken at its word. Others decide here: by their probabilities,
    where classes are predicted and they have some.

    Parameters
    ----------
    model : fitted estimator
        Without ``cost`` it is taken to buy nothing.
    X, y : rows and their truth
    errors : Errors

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from worthwhile import Errors
    >>> model = DummyClassifier().fit(np.zeros((4, 1)), ["ill", "well", "well", "well"])
    >>> errors = Errors({"ill": {"well": 50}, "well": {"ill": 5}})
    >>> total_costs(model, np.zeros((2, 1)), ["ill", "well"], errors).tolist()
    [0.0, 5.0]
    """
    policy = getattr(model, "policy_", None)
    own = None if policy is None else policy.output.errors
    if own != errors and is_classifier(model) and hasattr(model, "predict_proba"):
        answers = errors.decide(model.predict_proba(X), model.classes_)
    else:
        answers = model.predict(X)
    bill = model.cost(X) if hasattr(model, "cost") else 0.0
    total: Floats = bill + errors.prices(y, answers)
    return total


class TotalCost(BaseEstimator):
    """Minus the mean of :func:`total_costs`, as ``scorer(estimator, X, y)``.

    Parameters
    ----------
    errors : Errors
        Prices of errors.

    Examples
    --------
    >>> import worthwhile
    >>> heart = worthwhile.datasets.load_heart()
    >>> model = worthwhile.GreedyMiserClassifier(lam=0.01, costs=heart.costs, n_rounds=5)
    >>> scorer = TotalCost(worthwhile.Errors(worth=100))
    >>> bool(scorer(model.fit(heart.data, heart.target), heart.data, heart.target) < 0)
    True
    """

    name: ClassVar[str] = "neg_total_cost"
    """What the score is called: more is better, so it is minus the total."""

    __name__ = name

    def __init__(self, errors: Errors) -> None:
        self.errors = errors

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        return -float(total_costs(estimator, X, y, self.errors).mean())
