"""A table of numbers and text, its prices, and preprocessing of many kinds in front of models."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.tree import DecisionTreeClassifier

import worthwhile

NUMBERS, TEXT = ["age", "amount", "rate"], ["job", "home"]
COSTS = worthwhile.Costs(
    {"age": 1, "amount": 2, "rate": 3, "job": 5, "home": 7},
    groups={"form": {"fee": 11, "features": ["amount", "job"]}},
)


def loans():
    """Numbers and text, some of both empty."""
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "amount": rng.lognormal(3, 1, n),
            "rate": rng.integers(1, 5, n).astype(float),
            "job": rng.choice(["cook", "smith", "tailor", "judge"], n),
            "home": rng.choice(["own", "rent"], n),
        }
    )
    signal = (
        frame["age"] / 20 + 2 * (frame["job"] == "cook") - (frame["home"] == "own") + frame["rate"]
    )
    y = np.where(signal + rng.normal(size=n) > 5.5, "good", "bad")
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "job"] = np.nan
    return frame, y


def encoded(text, numbers=None):
    """One transformer for text, one for numbers."""
    filled = make_pipeline(SimpleImputer(strategy="most_frequent"), text)
    return make_column_transformer((filled, TEXT), (numbers or SimpleImputer(), NUMBERS))


FRONTS = {
    "one-hot": lambda: encoded(OneHotEncoder(handle_unknown="ignore")),
    "one-hot, dropped": lambda: encoded(OneHotEncoder(drop="first")),
    "one-hot, rare together": lambda: encoded(
        OneHotEncoder(max_categories=3, handle_unknown="infrequent_if_exist")
    ),
    "one-hot, dense": lambda: encoded(OneHotEncoder(sparse_output=False)),
    "one-hot, empty as a value": lambda: make_column_transformer(
        (OneHotEncoder(), TEXT), (SimpleImputer(), NUMBERS)
    ),
    "ordinal": lambda: encoded(OrdinalEncoder()),
    "target": lambda: encoded(TargetEncoder(random_state=0)),
    "scaled": lambda: encoded(OneHotEncoder(), make_pipeline(SimpleImputer(), StandardScaler())),
    "scaled first": lambda: encoded(OneHotEncoder(), make_pipeline(StandardScaler(), SimpleImputer())),
    "robust": lambda: encoded(OneHotEncoder(), make_pipeline(RobustScaler(), SimpleImputer())),
    "min and max": lambda: encoded(OneHotEncoder(), make_pipeline(SimpleImputer(), MinMaxScaler())),
    "largest": lambda: encoded(OneHotEncoder(), make_pipeline(SimpleImputer(), MaxAbsScaler())),
    "indicator": lambda: encoded(OneHotEncoder(), SimpleImputer(add_indicator=True)),
    "union": lambda: encoded(
        OneHotEncoder(),
        make_union(SimpleImputer(), MissingIndicator(), FunctionTransformer(np.isnan)),
    ),
    "power": lambda: encoded(OneHotEncoder(), make_pipeline(PowerTransformer(), SimpleImputer())),
    "quantiles": lambda: encoded(
        OneHotEncoder(), make_pipeline(QuantileTransformer(n_quantiles=20), SimpleImputer())
    ),
    "bins": lambda: encoded(
        OneHotEncoder(), make_pipeline(SimpleImputer(), KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"))
    ),
    "splines": lambda: encoded(OneHotEncoder(), make_pipeline(SimpleImputer(), SplineTransformer())),
    "logarithm": lambda: encoded(
        OneHotEncoder(), make_pipeline(SimpleImputer(), FunctionTransformer(np.log1p))
    ),
    "products": lambda: encoded(
        OneHotEncoder(), make_pipeline(SimpleImputer(), PolynomialFeatures(2))
    ),
    "selected": lambda: make_pipeline(encoded(OneHotEncoder()), SelectKBest(k=4)),
    "some left out": lambda: make_column_transformer(
        (OneHotEncoder(), ["home"]), ("passthrough", ["rate"])
    ),
    "the rest passed on": lambda: make_column_transformer(
        (OneHotEncoder(), TEXT), remainder=SimpleImputer()
    ),
    "by type": lambda: make_column_transformer(
        (OneHotEncoder(), make_column_selector(dtype_exclude="number")),
        (SimpleImputer(), make_column_selector(dtype_include="number")),
    ),
}  # fmt: skip
PLAIN = set(FRONTS) - {"power", "quantiles", "bins", "splines", "logarithm", "products", "union"}
"""What needs no transformer of another library at prediction."""
MODELS = {
    "tree": lambda: DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": lambda: RandomForestClassifier(5, max_depth=4, random_state=0),
    "boosted": lambda: GradientBoostingClassifier(n_estimators=5, random_state=0),
    "linear": lambda: LogisticRegression(max_iter=2000),
}


def fitted(front, model, table):
    X, y = table
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(FRONTS[front](), MODELS[model]()).fit(X, y)
