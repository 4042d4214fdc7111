"""Greedy Miser (Xu, Weinberger, Chapelle 2012): boosted trees that pay for features.

``greedy_miser_classifier`` and ``greedy_miser_regressor`` have the two estimators; what they share is
the constructor (``_parameters``), one fit (``_base``, with the rows in ``_training``) and the way from one
``lam`` to others (``_trade_off``). A fit hands its data to ``_rounds``, the loop over rounds with its trace.
Each round asks a loss (``losses``; ``_target_losses`` for numbers besides the squared error,
``_lambdarank`` for queries) for gradients and has ``booster`` grow trees on them, over the codes of
``binned_data`` (``stored_rows`` for rows in Parquet files), with the kernels of
:mod:`worthwhile.core.boosting`. ``feature_subsets`` is the paper's
baseline: stage-wise regression on cheap features only.
"""

from worthwhile.estimators._shared.validation import ReadElsewhere, read_validation_table
from worthwhile.estimators.boosting._rounds import RoundRecord
from worthwhile.estimators.boosting._training import Training
from worthwhile.estimators.boosting.feature_subsets import FeatureSubsets
from worthwhile.estimators.boosting.greedy_miser_classifier import GreedyMiserClassifier
from worthwhile.estimators.boosting.greedy_miser_regressor import GreedyMiserRegressor

__all__ = [
    "FeatureSubsets",
    "GreedyMiserClassifier",
    "GreedyMiserRegressor",
    "ReadElsewhere",
    "RoundRecord",
    "Training",
    "read_validation_table",
]
