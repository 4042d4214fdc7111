"""Training and predicting on Dask: the same model as on one machine, byte for byte.

``_estimators`` has the estimators. A fit reads collections (``_collections``: partitions, what their
columns are), has rows shared out (:mod:`worthwhile.distributed`) and one task per worker train on them
(``_gang``: one fit at a time on a cluster, starting again where a worker was lost). ``_lazily`` predicts.
"""

from worthwhile.dask._estimators import DaskGreedyMiserClassifier, DaskGreedyMiserRegressor

__all__ = ["DaskGreedyMiserClassifier", "DaskGreedyMiserRegressor"]
