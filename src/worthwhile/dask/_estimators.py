"""Estimators on Dask."""

from __future__ import annotations

from worthwhile.dask._base import Classifies, SharesWork, TrainsOnShares
from worthwhile.estimators.boosting import GreedyMiserClassifier, GreedyMiserRegressor
from worthwhile.estimators.budget import BudgetClassifier, BudgetRegressor
from worthwhile.estimators.forest import BudgetedForestClassifier
from worthwhile.estimators.linear import SubmodularTreeClassifier, SubmodularTreeRegressor


class DaskGreedyMiserRegressor(TrainsOnShares, GreedyMiserRegressor):
    """:class:`worthwhile.GreedyMiserRegressor`, trained by the workers of a Dask cluster.

    The same data, parameters and seed give the model of the local estimator, byte for byte in its file,
    whatever the partitions and the number of workers, and after a worker was lost.

    Parameters
    ----------
    lam : float, default=0.0
        As for the local estimator; so are all parameters that are not listed.
    client : Client, optional
        The cluster; None is the client that was made last.
    timeout : float, default=120.0
        Seconds without a word from a worker after which an attempt is given up.
    restarts : int, default=3
        How often to start again, from the last complete round, after a worker was lost.
    **params
        Parameters of the local estimator.

    Notes
    -----
    Not there: ``lam="auto"``, ``warm_start``, ``calibrate``, ``errors``. They are refused. A loss of one's own is
    asked about the rows of each worker apart. Targets, weights and queries, one number per row each, pass
    through the client; features do not. With ``loss="lambdarank"`` no query is cut; where queries come in
    pieces all over the table one worker trains alone: sort the rows by query.

    Examples
    --------
    >>> from worthwhile.dask import DaskGreedyMiserRegressor
    >>> DaskGreedyMiserRegressor(lam=0.01, n_rounds=50, timeout=30).get_params()["n_rounds"]
    50
    """

    _local = GreedyMiserRegressor


class DaskGreedyMiserClassifier(Classifies, TrainsOnShares, GreedyMiserClassifier):
    """:class:`worthwhile.GreedyMiserClassifier`, trained by the workers of a Dask cluster.

    As :class:`DaskGreedyMiserRegressor`: the same model as the local one, byte for byte.

    Parameters
    ----------
    lam : float, default=0.0
        As for the local estimator; so are all parameters that are not listed.
    client, timeout, restarts
        As for :class:`DaskGreedyMiserRegressor`.
    **params
        Parameters of the local estimator.

    Examples
    --------
    >>> from worthwhile.dask import DaskGreedyMiserClassifier
    >>> DaskGreedyMiserClassifier(lam=0.01, leaves="scalar").leaves
    'scalar'
    """

    _local = GreedyMiserClassifier


class DaskBudgetedForestClassifier(Classifies, SharesWork, BudgetedForestClassifier):
    """:class:`worthwhile.BudgetedForestClassifier`, grown by the workers of a Dask cluster.

    Every worker holds all rows and grows some of the trees, each from its own seed; they are taken in
    the order of the seeds until the budget is passed. So the model is that of the local estimator, byte for
    byte in its file.

    Parameters
    ----------
    budget : float or "auto"
        As for the local estimator; so are all parameters that are not listed.
    client, timeout, restarts
        As for :class:`DaskGreedyMiserRegressor`; ``timeout`` must be longer than a worker's share of the trees takes.
    **params
        Parameters of the local estimator.

    Notes
    -----
    The table must fit three times into the memory of each worker. Not there: ``calibrate``, ``validation``.

    Examples
    --------
    >>> from worthwhile.dask import DaskBudgetedForestClassifier
    >>> DaskBudgetedForestClassifier(n_trees=10, restarts=1).n_trees
    10
    """

    _local = BudgetedForestClassifier


class DaskSubmodularTreeClassifier(Classifies, SharesWork, SubmodularTreeClassifier):
    """:class:`worthwhile.SubmodularTreeClassifier`, trained by the workers of a Dask cluster.

    Every worker holds all rows. Moments, which are most of the work, are those of blocks of 2,048 rows; each
    worker computes some of them, and all add them up in the order of the blocks. So the model is that of
    the local estimator, byte for byte in its file.

    Parameters
    ----------
    client, timeout, restarts
        As for :class:`DaskGreedyMiserRegressor`.
    **params
        Parameters of the local estimator.

    Notes
    -----
    The table must fit three times into the memory of each worker. Not there: ``calibrate``, ``validation``, ``trees``.

    Examples
    --------
    >>> from worthwhile.dask import DaskSubmodularTreeClassifier
    >>> DaskSubmodularTreeClassifier(max_depth=2).max_depth
    2
    """

    _local = SubmodularTreeClassifier


class DaskSubmodularTreeRegressor(SharesWork, SubmodularTreeRegressor):
    """:class:`worthwhile.SubmodularTreeRegressor`, trained by the workers of a Dask cluster.

    As :class:`DaskSubmodularTreeClassifier`, for one target.

    Parameters
    ----------
    client, timeout, restarts
        As for :class:`DaskGreedyMiserRegressor`.
    **params
        Parameters of the local estimator.

    Examples
    --------
    >>> from worthwhile.dask import DaskSubmodularTreeRegressor
    >>> DaskSubmodularTreeRegressor(max_depth=2, timeout=30).timeout
    30
    """

    _local = SubmodularTreeRegressor


class DaskBudgetClassifier(Classifies, SharesWork, BudgetClassifier):
    """:class:`worthwhile.BudgetClassifier`, trained by the workers of a Dask cluster.

    Every worker holds all rows. Trials of sets of features, the forests of the sets, their cells and the policies
    are dealt out, and all workers go on with the results of all. So the model, with its whole frontier, is that of
    the local estimator, byte for byte in its file.

    Parameters
    ----------
    budget : number, optional
        As for the local estimator; so are all parameters that are not listed.
    client, timeout, restarts
        As for :class:`DaskGreedyMiserRegressor`; ``timeout`` must be longer than a few forests take.
    **params
        Parameters of the local estimator.

    Notes
    -----
    The table must fit three times into the memory of each worker. Not there: ``time_limit``, ``calibrate``.

    Examples
    --------
    >>> from worthwhile.dask import DaskBudgetClassifier
    >>> DaskBudgetClassifier(budget=10, restarts=1).budget
    10
    """

    _local = BudgetClassifier


class DaskBudgetRegressor(SharesWork, BudgetRegressor):
    """:class:`worthwhile.BudgetRegressor`, trained by the workers of a Dask cluster.

    As :class:`DaskBudgetClassifier`, for numbers.

    Parameters
    ----------
    budget : number, optional
        As for the local estimator; so are all parameters that are not listed.
    client, timeout, restarts
        As for :class:`DaskBudgetClassifier`.
    **params
        Parameters of the local estimator.

    Examples
    --------
    >>> from worthwhile.dask import DaskBudgetRegressor
    >>> DaskBudgetRegressor(budget=10, timeout=30).timeout
    30
    """

    _local = BudgetRegressor
