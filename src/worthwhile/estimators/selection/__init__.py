"""What to buy next, case by case: dynamic selection (He, Daumé, Eisner 2012) and fixed orders.

1. ``_factors`` groups columns into what is bought together; ``_data_classifier`` answers from any
   set of factors, ``_given_classifier`` asks one that came fitted.
2. ``_oracle`` knows the labels and the rewards (equations 1 and 2); ``_states`` keeps what policies
   see.
3. ``_imitation`` is the loop of DAgger: roll out, label by the oracle, or by one of the coaches of
   ``_coach`` (equation 4), train the policy (``_svm``) on all states so far.
4. ``dynamic_selection`` is the estimator, ``_explain`` tells the purchases of a row, and
   ``static_order`` has the paper's fixed orders.
"""

from worthwhile.estimators.selection.dynamic_selection import DynamicSelectionClassifier
from worthwhile.estimators.selection.static_order import StaticOrderClassifier

__all__ = ["DynamicSelectionClassifier", "StaticOrderClassifier"]
