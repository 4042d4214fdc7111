"""Models that are there already, charged for what they read.

``priced_model`` wraps any fitted model; ``_snapshot`` notices that the model was fitted anew. Trees
are read from the model's own form, so that each row is billed along its path: ``_sklearn``,
``_lightgbm``, ``_xgboost``, ``_catboost`` (whose categories ``_catboost_categories`` tries out), with
``_columns`` for what the readers share. What cannot be read so is asked as a whole: ``_whole``.

Preprocessing in front of a model: ``_feeds`` finds which columns of a table feed which outputs of a
fitted transformer; ``_front`` tries that out and keeps what is known for sure as plain arrays. ``_mixed`` makes one
policy of two models and a share; ``held_out_map`` makes the probabilities of such a mixture hold.
"""

from worthwhile.estimators.priced.priced_model import PricedModel

__all__ = ["PricedModel"]
