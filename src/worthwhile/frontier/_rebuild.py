"""From a choice of a comparison back to a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import is_classifier

from worthwhile.frontier._compare import _read
from worthwhile.frontier._comparison import Choice
from worthwhile.frontier._errors import decided, in_sweeps, read_errors
from worthwhile.frontier._measure import train
from worthwhile.frontier._methods import Task, read_methods
from worthwhile.frontier._one_point import Point
from worthwhile.frontier._stages import cut


def train_choice(
    choice: Choice, X: Any, y: Any, costs: Any = None, random_state: int = 0, *, qid: Any = None,
    errors: Any = None,
) -> Any:  # fmt: skip
    """Fit the model that a comparison chose, on all the rows given.

    Parameters
    ----------
    choice : Choice
        From ``Comparison.best(budget=...)``; parameters and stage are those of the first split.
    X, y, costs, qid, errors
        As for :func:`~worthwhile.compare`.
    random_state : int, default=0
        Seed of the method.

    Returns
    -------
    estimator or None
        None where the choice is to buy nothing and answer with the prior.

    Examples
    --------
    >>> import worthwhile
    >>> from worthwhile.frontier import train_choice
    >>> heart = worthwhile.datasets.load_heart()
    >>> found = worthwhile.compare(heart.data, heart.target, heart.costs, ["greedy-miser"], [300], effort=3)
    >>> model = train_choice(found.best(budget=300), heart.data, heart.target, heart.costs)
    >>> bool(model.cost(heart.data).mean() < heart.costs.total)
    True
    """
    points = choice.points[:1]
    return train_points(choice.method, points, X, y, costs, random_state, qid=qid, errors=errors)[0]


def train_points(
    method: str, points: Sequence[Point], X: Any, y: Any, costs: Any = None, random_state: int = 0, *,
    qid: Any = None, errors: Any = None,
) -> list[Any]:  # fmt: skip
    """Models of several points of one method: each setting is trained once, whole frontiers once for all.

    Parameters
    ----------
    method : str
        Name of the method.
    points : sequence of Point
        As a comparison has them.
    X, y, costs, random_state, qid, errors
        As for :func:`train_choice`.

    Returns
    -------
    list of estimators, and of None where a point buys nothing
    """
    rows, _, _ = _read(X, y, costs, qid)
    estimator = make_method(method, X, y, costs, random_state, qid=qid)
    prices = read_errors(errors, y, classes=is_classifier(estimator), scoring=None, qid=qid)
    estimator, trained = in_sweeps(estimator, prices), dict[str, Any]()
    models: list[Any] = []
    for point in points:
        if not point.params and point.stage is None and point.case_budget is None:
            models.append(None)
            continue
        params, budget = dict(point.params), None
        if "cross_validated" in estimator.get_params(deep=False) and len(points) > 1:
            # One training has a point for every budget, and whoever asks for many measures them.
            budget = params.pop("budget", None)
            params["cross_validated"] = False
        key = repr(sorted(params.items(), key=str))
        if key not in trained:
            trained[key] = train(estimator, params, rows)
        model = trained[key] if budget is None else trained[key].at(budget=budget)
        models.append(decided(cut(model, point.stage, point.case_budget), prices))
    return models


def make_method(
    name: str, X: Any, y: Any, costs: Any = None, random_state: int = 0, *, qid: Any = None, weight: Any = None
) -> Any:  # fmt: skip
    """An unfitted estimator of a method by name, set up for the data; for ``BudgetSearchCV``.

    Examples
    --------
    >>> import worthwhile
    >>> heart = worthwhile.datasets.load_heart()
    >>> type(make_method("greedy-miser", heart.data, heart.target, heart.costs)).__name__
    'GreedyMiserClassifier'
    """
    rows, resolved, n_classes = _read(X, y, costs, qid, weight)
    task = Task(rows, resolved, n_classes, random_state)
    return read_methods([name], task)[name].build(task)


def named_methods(
    methods: Any, X: Any, y: Any, costs: Any = None, *, qid: Any = None
) -> tuple[list[str], int]:
    """The methods that :func:`~worthwhile.compare` would run on the data, and the number of classes.

    Examples
    --------
    >>> import worthwhile
    >>> heart = worthwhile.datasets.load_heart()
    >>> named_methods(["budget"], heart.data, heart.target, heart.costs)
    (['budget'], 2)
    """
    rows, resolved, n_classes = _read(X, y, costs, qid)
    return list(read_methods(methods, Task(rows, resolved, n_classes))), n_classes
