"""A gate and a cheap model in front of an existing one: ADAPT (Nan, Saligrama 2017).

1. ``_existing`` reads the model that is there, ``_unseen`` asks copies of it about rows that it knows
   too well; ``_task`` holds the rows, and folds of them; ``_reading`` makes one of what is given, ``_base`` is what
   all gated classifiers share.
2. ``_shares`` says who should go to the existing model if rows could be sent one by one (the
   q-steps).
3. ``adaptive_linear``: ADAPT-LIN and LSTSQ alternate (``_linear_alternate``) between shares and
   models, fitted by ``_linear_fista`` and, on a given support, ``_linear_newton``.
   ``adaptive_boosting``: ADAPT-GBRT grows both ensembles (``_boosted``). ``l1_gate`` is the paper's
   baseline.
4. ``_judge`` compares gated models on validation rows, ``_drop`` how much accuracy a choice loses;
   ``_saving`` says why one saves nothing, ``_report`` what a gate does.
"""

from worthwhile.estimators.gates.adaptive_boosting import AdaptiveBoostingClassifier
from worthwhile.estimators.gates.adaptive_linear import AdaptiveLinearClassifier
from worthwhile.estimators.gates.l1_gate import L1GateClassifier

__all__ = ["AdaptiveBoostingClassifier", "AdaptiveLinearClassifier", "L1GateClassifier"]
