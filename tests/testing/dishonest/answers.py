"""Dishonest in what they answer: laws 1 and 2."""

from __future__ import annotations

import copy

import numpy as np

from tests.testing.dishonest.honest import HonestTrees
from worthwhile.costs import Costs
from worthwhile.policy.trees import TreeCase, TreePolicy
from worthwhile.runtime import Session

# Law 1 -------------------------------------------------------------------------------------------


class PeekingPolicy(TreePolicy):
    """Looks at a column it has not bought."""

    def batch(self, X, limit=None, *, billed=True):
        outcome = super().batch(X, limit, billed=True)
        unpaid = np.where(outcome.acquired, 0.0, np.nan_to_num(X, posinf=0, neginf=0)).sum(axis=1)
        return outcome._replace(raw=outcome.raw + 1e-9 * np.sign(unpaid)[:, None])


class Peeks(HonestTrees):
    policy_class = PeekingPolicy


class PeeksUnderBudget(HonestTrees):
    """Decides from unbought values what else to buy, but only when money is short."""

    class Policy(TreePolicy):
        def batch(self, X, limit=None, *, billed=True):
            outcome = super().batch(X, limit, billed=billed)
            if limit is None:
                return outcome
            shift = np.where(np.nan_to_num(X[:, -1]) > 0, 1e-9, 0.0)
            return outcome._replace(raw=outcome.raw + shift[:, None] * ~outcome.acquired[:, -1:])

    policy_class = Policy


class ReadsText(HonestTrees):
    """Turns the whole frame into numbers, read or not."""

    def _read(self, X):
        return super()._read(X.astype(float) if hasattr(X, "astype") else X)


class LooksAtOtherRows(HonestTrees):
    """Centres its answer on the batch."""

    class Policy(TreePolicy):
        def batch(self, X, limit=None, *, billed=True):
            outcome = super().batch(X, limit, billed=billed)
            return outcome._replace(raw=outcome.raw - outcome.raw.mean(axis=0) * 1e-6)

    policy_class = Policy


class Forgetful(HonestTrees):
    """Answers at random."""

    def predict(self, X, budget=None):
        labels = super().predict(X, budget)
        return np.random.default_rng().permutation(labels)


class TakesInfinity(HonestTrees):
    """Swallows infinite values."""

    def _read(self, X):
        return np.nan_to_num(super()._read(X), nan=np.nan, posinf=1e9, neginf=-1e9)


# Law 2 -------------------------------------------------------------------------------------------


class LazyCase(TreeCase):
    """Stops after two purchases, which a batch does not."""

    def wants(self, left):
        return super().wants(left) if self._known.sum() + len(self._news) < 2 else []


class SessionsDiffer(HonestTrees):
    class Policy(TreePolicy):
        def begin(self):
            return LazyCase(self)

    policy_class = Policy


class SessionsRound(HonestTrees):
    """The same purchases, another last bit."""

    class Policy(TreePolicy):
        def begin(self):
            case = super().begin()
            answer = case.answer
            case.answer = lambda: np.nextafter(answer(), 1)
            return case

    policy_class = Policy


class AmnesicSession(Session):
    """Forgets a value when it is stored."""

    def to_dict(self):
        data = super().to_dict()
        tells = [i for i, event in enumerate(data["events"]) if event[0] == "tell"]
        if len(tells) > 1:
            data["events"] = copy.deepcopy(data["events"])
            values = data["events"][tells[0]][1]
            values.update(dict.fromkeys(values, 1e6))
        return data


class StoresBadly(HonestTrees):
    def session(self, budget=None, one_by_one=False):
        return AmnesicSession(self.policy_, budget=budget, one_by_one=one_by_one)


class ForgetfulSession(Session):
    """Stores its calls, but not what it planned since the last of them."""

    def to_dict(self):
        data = super().to_dict()
        if data["events"][-1:] == [["plan"]]:
            data["events"] = data["events"][:-1]
        return data


class ForgetsItsPlan(HonestTrees):
    def session(self, budget=None, one_by_one=False):
        return ForgetfulSession(self.policy_, budget=budget, one_by_one=one_by_one)


class ChargesForReading(Session):
    """Puts something on the bill when its answer is read before the end, and does not store that."""

    _was_read = False

    @property
    def prediction(self):
        self._was_read = self._was_read or len(self.known) == 1
        return super().prediction

    @property
    def spent(self):
        return super().spent + self._was_read


class ForgetsThatItWasRead(HonestTrees):
    def session(self, budget=None, one_by_one=False):
        return ChargesForReading(self.policy_, budget=budget, one_by_one=one_by_one)


class ForgetfulWithoutEvaluation(ForgetsItsPlan):
    """The same on data where evaluations are free: the check has to put a price on them."""

    def fit(self, X, y):
        data = Costs.of(self.costs, X.shape[1], list(getattr(X, "columns", [])) or None).to_dict()
        self.costs = Costs.from_dict({**data, "evaluation": "0"})
        return super().fit(X, y)


class GenerousSession(Session):
    """Once resumed, it takes values whatever price is stated for them."""

    resumed = False

    @classmethod
    def _resume(cls, policy, data):
        session = super()._resume(policy, data)
        session.resumed = True
        return session

    def tell(self, values, price=None):
        super().tell(values, 0 if self.resumed and price is not None else price)


class GenerousWhenResumed(HonestTrees):
    def session(self, budget=None, one_by_one=False):
        return GenerousSession(self.policy_, budget=budget, one_by_one=one_by_one)


class FileDiffers(HonestTrees):
    """Writes other thresholds than it uses."""

    class Policy(TreePolicy):
        def state(self):
            settings, arrays = super().state()
            return settings, {**arrays, "threshold": arrays["threshold"] + 0.5}

    policy_class = Policy


class WarnsOfLargeNumbers(HonestTrees):
    """Computes along with what may overflow, at the caller's risk."""

    def predict(self, X, budget=None):
        np.square(np.nan_to_num(np.asarray(X, dtype=np.float64)))
        return super().predict(X, budget)


class StuckSession(Session):
    """Computes with what it is told, after it has been written down."""

    def tell(self, values, price=None):
        super().tell(values, price)
        np.square(np.array(list(values.values()), dtype=np.float64))


class GetsStuck(HonestTrees):
    def session(self, budget=None, one_by_one=False):
        return StuckSession(self.policy_, budget=budget, one_by_one=one_by_one)


class MindsTheLayout(HonestTrees):
    """Adds up in the order of the memory."""

    class Policy(TreePolicy):
        def batch(self, X, limit=None, *, billed=True):
            outcome = super().batch(X, limit, billed=billed)
            return outcome._replace(raw=outcome.raw + (1e-9 if X.dtype == np.float32 else 0.0))

    policy_class = Policy
