"""Small models of other libraries; who asks for one that is not installed is skipped."""

from __future__ import annotations

import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)


def lgbm(kind, **more):
    library = pytest.importorskip("lightgbm")
    return getattr(library, kind)(n_estimators=4, num_leaves=6, verbose=-1, n_jobs=1, **more)


def xgb(kind, **more):
    library = pytest.importorskip("xgboost")
    return getattr(library, kind)(**{"n_estimators": 4, "max_depth": 3, "n_jobs": 1} | more)


def cat(kind, **more):
    library = pytest.importorskip("catboost")
    fixed = {"verbose": False, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}
    return getattr(library, kind)(iterations=4, depth=3, **fixed, **more)


# By name: what makes the model, and its target: "two" or "three" classes, or a "value".
MODELS = {
    "lightgbm two": (lambda: lgbm("LGBMClassifier"), "two"),
    "lightgbm three": (lambda: lgbm("LGBMClassifier"), "three"),
    "lightgbm value": (lambda: lgbm("LGBMRegressor"), "value"),
    "lightgbm l1": (lambda: lgbm("LGBMRegressor", objective="l1"), "value"),
    "lightgbm steep": (lambda: lgbm("LGBMClassifier", sigmoid=0.7), "two"),
    "lightgbm one-against-all": (lambda: lgbm("LGBMClassifier", objective="multiclassova"), "three"),
    "lightgbm forest": (
        lambda: lgbm("LGBMClassifier", boosting_type="rf", bagging_freq=1, bagging_fraction=0.6), "three",
    ),
    "lightgbm dart": (lambda: lgbm("LGBMRegressor", boosting_type="dart", drop_rate=0.5), "value"),
    "xgboost two": (lambda: xgb("XGBClassifier"), "two"),
    "xgboost three": (lambda: xgb("XGBClassifier"), "three"),
    "xgboost value": (lambda: xgb("XGBRegressor"), "value"),
    "xgboost absolute": (lambda: xgb("XGBRegressor", objective="reg:absoluteerror"), "value"),
    "xgboost hinge": (lambda: xgb("XGBClassifier", objective="binary:hinge"), "two"),
    "xgboost dart": (lambda: xgb("XGBRegressor", booster="dart", rate_drop=0.5), "value"),
    "xgboost forest": (lambda: xgb("XGBRFClassifier"), "two"),
    "catboost two": (lambda: cat("CatBoostClassifier"), "two"),
    "catboost three": (lambda: cat("CatBoostClassifier"), "three"),
    "catboost value": (lambda: cat("CatBoostRegressor", nan_mode="Max"), "value"),
    "catboost depthwise": (lambda: cat("CatBoostRegressor", grow_policy="Depthwise"), "value"),
    "catboost leaf-wise": (lambda: cat("CatBoostClassifier", grow_policy="Lossguide"), "three"),
    "catboost one-against-all": (
        lambda: cat("CatBoostClassifier", loss_function="MultiClassOneVsAll"), "three",
    ),
    "gradient two": (lambda: GradientBoostingClassifier(n_estimators=4), "two"),
    "gradient exponential": (
        lambda: GradientBoostingClassifier(n_estimators=4, loss="exponential"), "two",
    ),
    "gradient three": (lambda: GradientBoostingClassifier(n_estimators=4), "three"),
    "gradient value": (lambda: GradientBoostingRegressor(n_estimators=4, loss="huber"), "value"),
    "gradient zero": (lambda: GradientBoostingRegressor(n_estimators=4, init="zero"), "value"),
    "histogram two": (lambda: HistGradientBoostingClassifier(max_iter=4), "two"),
    "histogram three": (lambda: HistGradientBoostingClassifier(max_iter=4), "three"),
    "histogram value": (lambda: HistGradientBoostingRegressor(max_iter=4), "value"),
}  # fmt: skip
MAIN = ("lightgbm two", "xgboost three", "catboost three", "gradient two", "histogram three")
"""One of each library, for what is slow."""
