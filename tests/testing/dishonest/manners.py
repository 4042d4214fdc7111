"""Models that vary, and bad manners: laws 6 and 7."""

from __future__ import annotations

import numpy as np

from tests.testing.dishonest.honest import HonestTrees
from worthwhile.runtime import Session

# Law 6 -------------------------------------------------------------------------------------------


class GlobalSeed(HonestTrees):
    def _seed(self):
        return np.random.randint(1000)  # noqa: NPY002


class MindsThreads(HonestTrees):
    def _seed(self):
        return self.n_jobs


class Wears(HonestTrees):
    """Changes with use."""

    def predict(self, X, budget=None):
        self.calls_ = getattr(self, "calls_", 0) + 1
        return super().predict(X, budget)


# Law 7 -------------------------------------------------------------------------------------------


class ReadsByPlace(HonestTrees):
    def _places(self, X, absent=()):
        found = super()._places(X, absent)
        return found if found is None else [c % len(X.columns) for c in range(len(found))]


class TakesAnyShape(HonestTrees):
    def _read(self, X):
        values = np.zeros((len(X), self.n_features_in_))
        given = np.asarray(X, dtype=np.float64).reshape(len(X), -1)[:, : self.n_features_in_]
        values[:, : given.shape[1]] = given
        return values


class TakesAnyPrice(HonestTrees):
    def fit(self, X, y):
        good = self.costs
        try:
            return super().fit(X, y)
        except ValueError:
            self.costs = None
            super().fit(X, y)
            self.costs = good
            return self


class AlwaysFitted(HonestTrees):
    def predict(self, X, budget=None):
        return super().predict(X, budget) if hasattr(self, "policy_") else np.zeros(len(X))


class LosingSession(Session):
    """Starts over when it is told nonsense."""

    def tell(self, values, price=None):
        try:
            super().tell(values, price)
        except ValueError:
            self.__init__(self.policy, one_by_one=self.one_by_one)
            raise


class LosesPurchases(HonestTrees):
    def session(self, budget=None, one_by_one=False):
        return LosingSession(self.policy_, budget=budget, one_by_one=one_by_one)
