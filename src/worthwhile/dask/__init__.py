"""Training and predicting on Dask: the same model as on one machine, byte for byte.

``_estimators`` has the estimators, ``_base`` what they share. A fit reads collections (``_collections``: partitions,
what their columns are; ``_kept``: in memory or in files of the workers; ``_whole``: for
all workers to hold), has rows or work shared out (``_jobs``, by :mod:`worthwhile.distributed`) and one task per worker
train (``_gang``: one fit at a time on a cluster, starting again where a worker was lost). ``_lazily`` predicts.
"""

from worthwhile.dask._estimators import (
    DaskBudgetClassifier,
    DaskBudgetedForestClassifier,
    DaskBudgetRegressor,
    DaskGreedyMiserClassifier,
    DaskGreedyMiserRegressor,
    DaskSubmodularTreeClassifier,
    DaskSubmodularTreeRegressor,
)

__all__ = [
    "DaskBudgetClassifier",
    "DaskBudgetRegressor",
    "DaskBudgetedForestClassifier",
    "DaskGreedyMiserClassifier",
    "DaskGreedyMiserRegressor",
    "DaskSubmodularTreeClassifier",
    "DaskSubmodularTreeRegressor",
]
