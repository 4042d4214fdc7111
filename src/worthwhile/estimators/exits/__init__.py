"""Early Exit (Cambazoglu et al. 2010): leaving a staged model early.

``early_exit`` has the estimators for classes and for queries, ``_staged_model`` what they share: the
model below, its stages, and where its exits are.
"""

from worthwhile.estimators.exits.early_exit import EarlyExitClassifier, EarlyExitRegressor

__all__ = ["EarlyExitClassifier", "EarlyExitRegressor"]
