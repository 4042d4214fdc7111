"""Dishonest where chance decides: laws 1, 2 and 7 for mixtures."""

from __future__ import annotations

import numpy as np

from tests.testing.dishonest.honest import HonestTrees
from worthwhile.policy.base import joined
from worthwhile.policy.keys import WHOLE, Coin
from worthwhile.policy.mixture import MixturePolicy
from worthwhile.policy.trees import TreePolicy


class HonestMixture(HonestTrees):
    """Half of the cases get one tree, the others all."""

    mixture_class = MixturePolicy

    def make_policy(self, costs, output, trees):
        first, second = (TreePolicy(costs, output, part) for part in (trees.first(1), trees))
        return self.mixture_class(first, second, Coin(5, WHOLE // 2))


class HashesWhatIsNotBought(HonestMixture):
    """Without a key, the coin looks at the whole row."""

    class Mixture(MixturePolicy):
        def batch(self, X, limit=None, *, billed=True):
            falls = np.array([self.coin.by_values(dict(enumerate(row))) for row in X.tolist()])
            sides = ((self.first, ~falls), (self.second, falls))
            return joined(
                [(np.flatnonzero(own), p.batch(X[own], limit)) for p, own in sides if own.any()]
            )

    mixture_class = Mixture


class GoesByPlaces(HonestMixture):
    """The coin is tossed by the number of the row."""

    def _run(self, X, budget=None, *, key=None, **how):
        key = None if key is None else np.arange(len(key))
        return super()._run(X, budget, key=key, **how)


class ForgetsKeysInSessions(HonestMixture):
    def session(self, budget=None, one_by_one=False, *, key=None, **request):
        session = super().session(budget, one_by_one, **request)
        session.key = session.ledger.key = key
        return session


class LosesKeys(HonestMixture):
    """Sessions follow the key, and do not say which it was."""

    def session(self, budget=None, one_by_one=False, *, key=None, **request):
        session = super().session(budget, one_by_one, key=key, **request)
        session.ledger.key = None
        return session


class TossesBadly(HonestMixture):
    """Most keys fall one way."""

    class Mixture(MixturePolicy):
        class Bent(Coin):
            def by_key(self, key):
                return key.startswith("case") and super().by_key(key)

        @property
        def coin(self):
            return self.Bent(self._coin.seed, self._coin.share)

    mixture_class = Mixture


class TakesAnyKey(HonestMixture):
    def _run(self, X, budget=None, *, key=None, **how):
        if key is not None:
            key = [str(k) for k in key] if np.ndim(key) == 1 and len(key) == len(X) else None
        return super()._run(X, budget, key=key, **how)
