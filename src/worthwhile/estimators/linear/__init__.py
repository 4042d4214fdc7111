"""Linear models that buy features: one, a tree of them, a chain of them.

- **ASTC** (Kusner et al. 2014): ``submodular_tree`` grows (``_astc_grow``) nodes that buy greedily,
  on columns or on the outputs of trees (``_astc_inputs``); ``_astc_certificate`` is Theorem 2.2.
- **CSTC** (Xu et al. 2013): ``cost_sensitive_tree``; ``_cstc_fit`` goes from data to arrays,
  minimising (``_cstc_solver``) the relaxed objective of ``_cstc_objective``, a level at a time with
  ``_cstc_level``; ``_cstc_refit`` makes of it a tree that is walked.
- **Cost-weighted l1**, a comparator: ``cost_weighted_l1`` on the path of ``_l1_path``.
- **Cronus** (Chen et al. 2012): ``cascade``, with ``_cascade_stages``, on CSTC's solver.
- ``_lam_choice`` is what "auto" means for CSTC and Cronus.
- ``_base`` is how ASTC and CSTC train; ``_targets`` and ``_prune`` serve all: coded targets,
  validation, cutting splits that do not help.
"""

from worthwhile.estimators.linear.cascade import CascadeClassifier
from worthwhile.estimators.linear.cost_sensitive_tree import (
    CostSensitiveTreeClassifier,
    CostSensitiveTreeRegressor,
)
from worthwhile.estimators.linear.cost_weighted_l1 import (
    CostWeightedL1Classifier,
    CostWeightedL1Regressor,
)
from worthwhile.estimators.linear.submodular_tree import (
    SubmodularTreeClassifier,
    SubmodularTreeRegressor,
)

__all__ = [
    "CascadeClassifier",
    "CostSensitiveTreeClassifier",
    "CostSensitiveTreeRegressor",
    "CostWeightedL1Classifier",
    "CostWeightedL1Regressor",
    "SubmodularTreeClassifier",
    "SubmodularTreeRegressor",
]
