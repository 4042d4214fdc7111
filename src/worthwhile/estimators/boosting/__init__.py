"""Greedy Miser (Xu, Weinberger, Chapelle 2012): boosted trees that pay for features.

``greedy_miser`` has the two estimators; ``_parameters`` and ``_base`` are what they share: the
constructor, and ``fit``. A fit hands its data to ``_rounds``, the loop over rounds with its trace.
Each round asks a loss (``losses``; ``_target_losses`` for numbers besides the squared error,
``_lambdarank`` for queries) for gradients and has ``booster`` grow trees on them, with the kernels of
:mod:`worthwhile.core.boosting`. ``feature_subsets`` is the paper's baseline: stage-wise regression on
cheap features only.
"""

from worthwhile.estimators.boosting.feature_subsets import FeatureSubsets
from worthwhile.estimators.boosting.greedy_miser import GreedyMiserClassifier, GreedyMiserRegressor

__all__ = ["FeatureSubsets", "GreedyMiserClassifier", "GreedyMiserRegressor"]
