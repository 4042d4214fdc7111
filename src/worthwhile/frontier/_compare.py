"""Many methods on the same splits, with the same effort."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import GroupShuffleSplit, train_test_split
from sklearn.utils import indexable
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import column_or_1d

from worthwhile._progress import progress
from worthwhile.costs import QUANTA_PER_UNIT, Costs
from worthwhile.estimators.reading import column_names, refuse_collections
from worthwhile.exceptions import WorthwhileWarning
from worthwhile.frontier._comparison import Comparison, Run
from worthwhile.frontier._duration import check_time, until
from worthwhile.frontier._errors import in_sweeps, read_errors, scoring_by
from worthwhile.frontier._identity import digest
from worthwhile.frontier._journal import Journal, identify_estimator, identify_scoring, is_number
from worthwhile.frontier._measure import (
    SHOWN,
    Indices,
    Judge,
    LabelledRows,
    bills,
    grid_of,
    takes,
    train,
)
from worthwhile.frontier._methods import METHODS, Method, Task, read_methods
from worthwhile.frontier._one_point import Point
from worthwhile.frontier._points import Frontier
from worthwhile.frontier._promised import promises, sweep_promised
from worthwhile.frontier._stages import cuts, limits
from worthwhile.metrics import TotalCost

Split = tuple[Indices, Indices, Indices]


def compare(
    X: Any,
    y: Any,
    costs: Any = None,
    methods: str | Sequence[str] | Mapping[str, Any] = "all",
    budgets: Sequence[float] | None = None,
    *,
    n_splits: int = 3,
    test_size: float = 0.25,
    scoring: Any = None,
    errors: Any = None,
    effort: int = 8,
    groups: Any = None,
    qid: Any = None,
    sample_weight: Any = None,
    positive: Any = None,
    mix: bool = False,
    n_jobs: int | None = None,
    random_state: int = 0,
    resume: str | os.PathLike[str] | None = None,
    scoring_name: str | None = None,
    time_limit: float | None = None,
    verbose: int = 0,
) -> Comparison:
    """Sweep many methods on the same rows and put their frontiers side by side.

    Rows are split at random into training, validation and test. A method gets ``effort`` points of
    its own trade-off, fitted on the training rows (all stages of models that can be cut count,
    and so do budgets for each case, ``predict(X, budget=...)``); points are chosen on the validation
    rows and reported on the test rows. Every method may also
    answer with the prior, which costs nothing. :class:`~worthwhile.BudgetClassifier` says by itself what
    new rows will cost and how many answers will be right: it learns from training and validation rows
    together, as its ``fit`` does, and its points are chosen by what it says. (Scored otherwise than by
    accuracy or by prices of errors, or with weights, it is swept like the others.)

    Parameters
    ----------
    X : array or frame (n, d)
        Rows.
    y : array (n,)
        Labels, or numbers for regression.
    costs : Costs, mapping or array, optional
        Prices; None means 1 each.
    methods : {"all", "ours", "peers"}, list of str, or dict, default="all"
        What to run; see ``worthwhile.frontier.METHODS`` for the names. "all" is everything that
        applies and is installed. A dict has estimators of worthwhile, or Pipelines that end with
        one, by names of your own; where they have no prices, they get ``costs``.
    budgets : list of numbers, optional
        Mean bills to report at; by default 2, 5, 10, 20, 40 and 70 % of the price of everything.
    n_splits : int, default=3
        Random splits; intervals are over these.
    test_size : float, default=0.25
        Share of the rows for testing, and of the rest for validation.
    scoring : str or callable, optional
        Larger is better; None is accuracy for labels, R2 for numbers, NDCG@5 with ``qid``. By name:
        scikit-learn's, or "ndcg", "precision@5" or "run_precision@5" of rankings.
    errors : Errors, mapping or number, optional
        Prices of errors, instead of ``scoring``: methods are judged by the total per case, tests and errors
        together. See :class:`~worthwhile.Errors`; what decides by its own likeliest class decides by
        its probabilities here, peers too.
    effort : int, default=8
        Models trained per method and split.
    groups : array (n,), optional
        Rows of a group stay together.
    qid : array (n,), optional
        Query of each row, to compare rankings: ``y`` is then relevance, whatever its type. Rows of a
        query stay together, and methods that rank get them.
    sample_weight : array (n,), optional
        Weights for fitting; scores and bills count every row once. Methods that know none are left
        out.
    positive : label, optional
        Which of two classes a score such as "f1" is about; by default the second of the sorted ones.
    mix : bool, default=False
        Whether every method may meet a budget by two of its points and a share of the cases, chosen on
        the validation rows: chance then decides who gets a test. Scores must be means over cases.
    n_jobs : int, optional
        Methods at a time, by joblib; None is one at a time, each on all cores.
    random_state : int, default=0
        Seed of the splits and of the methods.
    resume : path, optional
        A journal, as for :class:`~worthwhile.BudgetSearchCV`.
    scoring_name : str, optional
        By what the journal knows ``scoring``, where it cannot be known again otherwise.
    time_limit : number, optional
        Seconds after which no further method begins on a split. What was swept on every split that is
        kept is compared: splits that are not done are left out, and of a first one that is not done the
        methods that are missing, as ``failures`` says.
    verbose : int, default=0
        1 shows progress on stderr.

    Returns
    -------
    Comparison

    Notes
    -----
    A method that fails on the data does not stop the others: it is left out with a
    ``WorthwhileWarning``, and ``Comparison.failures`` says why.

    Examples
    --------
    >>> import worthwhile
    >>> heart = worthwhile.datasets.load_heart()
    >>> found = worthwhile.compare(
    ...     heart.data, heart.target, heart.costs, ["cost-weighted-l1", "decision-tree"], [5, 100],
    ...     n_splits=2, effort=3,
    ... )
    >>> found.table().index.tolist()
    ['cost-weighted-l1', 'decision-tree', 'best on validation']
    >>> found.best(budget=100).method in ("cost-weighted-l1", "decision-tree")
    True
    """
    rows, costs, n_classes = _read(X, y, costs, qid, sample_weight)
    groups = rows.qid if groups is None else column_or_1d(groups)
    prices = read_errors(errors, y, classes=bool(n_classes), scoring=scoring, qid=qid)
    if prices is not None:
        scoring, scoring_name = scoring_by(prices, scoring), repr(prices.to_dict())
    scoring = scoring if scoring is not None else _default_scoring(rows, n_classes)
    asked = read_methods(methods, Task(rows, costs, n_classes, random_state))
    _check_numbers(n_splits, effort, test_size)
    check_time(time_limit)
    if budgets is None:
        budgets = [costs.total * share for share in (0.02, 0.05, 0.1, 0.2, 0.4, 0.7)]
    splits = [
        _split(rows, n_classes, groups, test_size, random_state + number)
        for number in range(n_splits)
    ]
    units = [(name, number) for number in range(n_splits) for name in asked]
    journal = None
    if resume is not None:
        identity = {
            "X": digest(rows.X),
            "y": digest(rows.y),
            "costs": digest(costs.to_dict()),
            "scoring": identify_scoring(scoring, scoring_name),
            "other parameters": digest([test_size, effort, groups, random_state])
            if qid is None and sample_weight is None and positive is None
            else digest([test_size, effort, groups, random_state, rows.qid, rows.weight, positive]),
        }
        if isinstance(methods, Mapping):
            identity["methods"] = identify_estimator(dict(methods))
        journal = Journal(resume, identity, _is_result)
    # With several methods at once, each keeps to one core.
    threads = 1 if effective_n_jobs(n_jobs) > 1 else None
    tasks = {
        (name, number): (
            name if name in METHODS else asked[name], rows, costs, n_classes, splits[number],
            (scoring, positive), effort, random_state + number, threads,
        )
        for name, number in units
    }  # fmt: skip
    results = _run(tasks, journal, n_jobs, bool(verbose), time_limit)
    splits = splits[: _whole_splits(results, list(asked), n_splits)]
    for name in asked:
        results.setdefault((name, 0), {"failed": "it was not begun within time_limit."})
    return _gather(results, list(asked), list(budgets), costs, splits, _score_name(scoring), mix)


def _whole_splits(results: Mapping[tuple[str, int], Any], names: list[str], count: int) -> int:
    """How many splits are done, from the first on; one at least."""
    done = [all((name, number) in results for name in names) for number in range(count)]
    return max(1, next((number for number in range(count) if not done[number]), count))


def _run(
    tasks: Mapping[tuple[str, int], tuple[Any, ...]], journal: Journal | None, n_jobs: int | None, shown: bool,
    seconds: float | None = None,
) -> dict[tuple[str, int], Any]:  # fmt: skip
    results: dict[tuple[str, int], Any] = {}
    left = []
    for unit in tasks:
        key = f"{unit[0]} {unit[1]}"
        if journal is not None and key in journal.units:
            results[unit] = journal.units[key]
        else:
            left.append(unit)
    with progress("comparing", len(tasks), len(results), shown=shown) as advance:
        for unit, result in _in_parallel(tasks, left, n_jobs, seconds):
            results[unit] = result
            if journal is not None:
                journal.add(f"{unit[0]} {unit[1]}", result)
            advance(1)
    return results


def _is_result(value: Any) -> bool:
    """Whether a value from a journal is what :func:`_unit` returns."""
    if not isinstance(value, dict):
        return False
    if "failed" in value:
        return isinstance(value["failed"], str)
    points = value.get("points")
    figures = {"cost", "score", "test_cost", "test_score"}
    return (
        is_number(value.get("seconds"))
        and isinstance(points, list)
        and len(points) > 0
        and all(
            isinstance(point, dict)
            and figures <= set(point) <= {*figures, "stage", "case_budget", "params"}
            and all(is_number(point[name]) for name in figures)
            for point in points
        )
    )


def _in_parallel(
    tasks: Any, left: list[Any], n_jobs: int | None, seconds: float | None
) -> Iterator[tuple[Any, Any]]:
    calls = (delayed(_unit)(unit, *tasks[unit]) for unit in until(seconds, left))
    try:
        parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered")
    except ValueError:  # some backends return all at once
        parallel = Parallel(n_jobs=n_jobs)
    yield from parallel(calls)


def _unit(unit: tuple[str, int], *task: Any) -> tuple[tuple[str, int], Any]:
    try:
        return unit, sweep_method(*task)
    except Exception as error:  # reported, so that one method does not cost the others
        return unit, {"failed": f"{type(error).__name__}: {str(error)[:300]}"}


def sweep_method(
    name: str | Method, rows: LabelledRows, costs: Costs, n_classes: int, split: Split, scoring: tuple[Any, Any],
    effort: int, seed: int, threads: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """One method on one split: every point with its validation and test figures.

    ``scoring`` is what larger is better of, and the positive label or None.
    """
    seen, held, new = (rows.take(part) for part in split)
    start = time.perf_counter()
    method = METHODS[name] if isinstance(name, str) else name
    estimator = method.build(Task(seen, costs, n_classes, seed))
    if isinstance(scoring[0], TotalCost):
        estimator = in_sweeps(estimator, scoring[0].errors)
    if threads and estimator.get_params(deep=False).get("n_jobs", threads) is None:
        estimator.set_params(n_jobs=threads)
    if rows.weight is not None and not takes(estimator.fit, "sample_weight"):
        raise ValueError("it does not take sample_weight.")
    judge = Judge.of(estimator, scoring[0], rows.y, scoring[1])
    if promises(estimator, *scoring, rows):
        return sweep_promised(estimator, rows.take(np.sort(np.concatenate(split[:2]))), new, judge)
    if hasattr(estimator, "cross_validated"):  # what it would promise is measured here
        estimator.set_params(cross_validated=False)
    grid = _thinned(grid_of(estimator, seen), effort)
    seconds = time.perf_counter() - start
    points = [_prior(seen, held, new, n_classes, judge)]
    for params in grid:
        start = time.perf_counter()
        model = train(estimator, params, seen)
        seconds += time.perf_counter() - start
        plain = {key: value for key, value in params.items() if _short(value)}
        parts: list[tuple[Any, dict[str, Any]]] = [
            (part, {"stage": stage}) for stage, part in cuts(model)
        ]
        parts += [(part, {"case_budget": budget}) for budget, part in limits(model)]
        for part, where in parts:
            points.append(
                {
                    "cost": _mean_bill(part, held),
                    "score": judge.score(part, held),
                    "test_cost": _mean_bill(part, new),
                    "test_score": judge.score(part, new),
                    **where,
                    "params": plain,
                }
            )
    return {"seconds": seconds, "models": len(grid), "points": points}


def _prior(
    seen: LabelledRows, held: LabelledRows, new: LabelledRows, n_classes: int, judge: Judge
) -> dict[str, Any]:
    """The answer without any feature, which is free."""
    model = DummyClassifier(strategy="prior") if n_classes else DummyRegressor()
    model.fit(np.zeros((len(seen), 1)), seen.y)

    def score(part: LabelledRows) -> float:
        return judge.score(model, LabelledRows(np.zeros((len(part), 1)), part.y, None, part.qid))

    return {"cost": 0.0, "score": score(held), "test_cost": 0.0, "test_score": score(new)}


def _mean_bill(model: Any, rows: LabelledRows) -> float:
    return float(bills(model, rows).mean()) / QUANTA_PER_UNIT


def _short(value: Any) -> bool:
    return value is None or isinstance(value, (bool, int, float, str))


def _thinned(grid: list[Any], effort: int) -> list[Any]:
    """At most ``effort`` points, evenly spaced, with both ends."""
    if len(grid) <= effort:
        return grid
    chosen = np.unique(np.round(np.linspace(0, len(grid) - 1, effort)).astype(int))
    return [grid[i] for i in chosen]


def _read(
    X: Any, y: Any, costs: Any, qid: Any = None, weight: Any = None
) -> tuple[LabelledRows, Costs, int]:
    refuse_collections(X, "compare")
    X, y, qid, weight = indexable(X, y, qid, weight)
    y = column_or_1d(y)
    qid, weight = (None if part is None else column_or_1d(part) for part in (qid, weight))
    kind = type_of_target(y)
    if qid is not None:
        if kind not in ("binary", "multiclass", "continuous") or y.dtype.kind not in "biuf":
            raise ValueError(
                "y is not numbers: with qid it is the relevance of each row to its query."
            )
        y, kind = y.astype(np.float64), "continuous"
    if not hasattr(X, "columns"):
        X = np.asarray(X)
    n_classes = len(np.unique(y)) if kind in ("binary", "multiclass") else 0
    return LabelledRows(X, y, weight, qid), Costs.of(costs, X.shape[1], column_names(X)), n_classes


def _check_numbers(n_splits: Any, effort: Any, test_size: Any) -> None:
    for value, what in ((n_splits, "n_splits"), (effort, "effort")):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise ValueError(f"{what} is {value!r}: it is a whole number of at least 1.")
    if not (isinstance(test_size, float) and 0 < test_size < 1):
        raise ValueError(f"test_size is {test_size!r}: it is a share between 0 and 1.")


def _split(rows: LabelledRows, n_classes: int, groups: Any, share: float, seed: int) -> Split:
    """Training, validation and test rows."""

    def halve(part: Indices) -> tuple[Indices, Indices]:
        if groups is not None:
            one, other = next(
                GroupShuffleSplit(1, test_size=share, random_state=seed).split(
                    part, groups=groups[part]
                )
            )
            return part[one], part[other]
        labels = (
            rows.y[part]
            if n_classes and np.unique(rows.y[part], return_counts=True)[1].min() > 3
            else None
        )
        one, other = train_test_split(part, test_size=share, random_state=seed, stratify=labels)
        return np.sort(one), np.sort(other)

    rest, new = halve(np.arange(len(rows)))
    seen, held = halve(rest)
    return seen, held, new


def _default_scoring(rows: LabelledRows, n_classes: int) -> str:
    if rows.qid is not None:
        return "ndcg"
    return "accuracy" if n_classes else "r2"


def _score_name(scoring: Any) -> str:
    name = scoring if isinstance(scoring, str) else str(getattr(scoring, "__name__", "score"))
    return SHOWN.get(name, name)


def _gather(
    results: dict[tuple[str, int], Any], names: list[str], budgets: list[float], costs: Costs, splits: list[Split],
    score_name: str, mix: bool,
) -> Comparison:  # fmt: skip
    failures = {
        unit[0]: result["failed"]
        for unit, result in results.items()
        if "failed" in result and unit[1] < len(splits)
    }
    for name, reason in failures.items():
        warnings.warn(f"{name} is left out: {reason}", WorthwhileWarning, stacklevel=3)
    good = [name for name in names if name not in failures]
    if not good:
        raise ValueError(f"every method failed: {failures}")
    runs = []
    for number in range(len(splits)):
        frontiers = {
            name: Frontier(
                [Point(**point) for point in results[name, number]["points"]],
                unit=costs.unit,
                score_name=score_name,
                full_cost=costs.total,
                mix=mix,
            )
            for name in good
        }
        seconds = {name: float(results[name, number]["seconds"]) for name in good}
        runs.append(Run(frontiers, seconds))
    share = len(splits[0][2]) / max(1, len(splits[0][0]))
    peers = [name for name in good if name in METHODS and METHODS[name].peer]
    return Comparison(runs, budgets, failures=failures, peers=peers, test_share=share)
