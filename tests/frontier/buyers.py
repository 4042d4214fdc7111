"""Small estimators whose bills can be set at will."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class Buyer(ClassifierMixin, BaseEstimator):
    """Always right for the share ``level`` of the rows, at a mean bill of about ``level``.

    ``dearer`` is added to the bill when it was fitted on at least ``whole`` rows: a refit that
    costs more than its folds did. It buys nothing when fitted on ``nothing_at`` rows.
    """

    trade_off_parameters = ("level",)
    fits = 0

    def __init__(self, level=0.5, dearer=0.0, whole=10**9, noise=0.0, nothing_at=(), costs=None):
        self.level = level
        self.dearer = dearer
        self.whole = whole
        self.noise = noise
        self.nothing_at = nothing_at
        self.costs = costs

    def trade_off_grid(self, X, y):
        return [{"level": level} for level in (0.1, 0.3, 0.5, 0.7, 0.9)]

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        self.classes_ = np.unique(y)
        self.n_features_in_ = np.shape(X)[1]
        self.policy_ = None
        self.weighted_ = sample_weight is not None
        self.more_ = self.dearer if len(y) >= self.whole else 0.0
        if len(y) in self.nothing_at:
            self.more_ = -self.level
        return self

    def predict(self, X):
        X = np.asarray(X)
        return np.where(X[:, 0] < self.level, X[:, 1], 1 - X[:, 1])

    def cost(self, X):
        X = np.asarray(X)
        return self.level + self.more_ + self.noise * (X[:, 2] > 0.5)


def rows(n=120, seed=0):
    """Uniform numbers; column 1 is the label."""
    X = np.random.default_rng(seed).random((n, 3))
    X[:, 1] = X[:, 1] > 0.5
    return X, X[:, 1].astype(int)
