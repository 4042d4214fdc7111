"""Dishonest in what they bill and spend: laws 3, 4 and 5, and requests with prices of their own."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from tests.testing.dishonest.honest import HonestTrees
from worthwhile.costs import Costs
from worthwhile.policy.trees import TreeCase, TreePolicy
from worthwhile.runtime import Ledger, Session

# Laws 3 and 4 ------------------------------------------------------------------------------------


class UnderBills(HonestTrees):
    def cost(self, X, budget=None):
        return np.maximum(super().cost(X, budget) - 0.01, 0)


class CutsPrices(HonestTrees):
    """Bills by a price list of its own."""

    def make_policy(self, costs, output, trees):
        data = costs.to_dict()
        data["prices"][int(trees.features[0])] = "0"
        return TreePolicy(Costs.from_dict(data), output, trees)


class ForgetsEvaluations(HonestTrees):
    def cost(self, X, budget=None):
        return self.costs_.price(self.acquired(X, budget))


class LooseLedger(Ledger):
    """Adds up with the precision that happens to be set."""

    @property
    def total(self):
        return sum((entry.price + entry.fee for entry in self.entries), Decimal(0))


class LooseSession(Session):
    def __init__(self, policy, **options):
        super().__init__(policy, **options)
        self.ledger = LooseLedger(policy.costs.unit)


class AddsLoosely(HonestTrees):
    def session(self, budget=None, one_by_one=False):
        return LooseSession(self.policy_, budget=budget, one_by_one=one_by_one)


class RoundedBudgetSession(Session):
    """Stores its budget as the decimal module rounds it at the moment."""

    def to_dict(self):
        data = super().to_dict()
        return data if data["budget"] is None else {**data, "budget": str(+Decimal(data["budget"]))}


class RoundsBudgets(HonestTrees):
    def session(self, budget=None, one_by_one=False):
        return RoundedBudgetSession(self.policy_, budget=budget, one_by_one=one_by_one)


class DoubleFeeSession(Session):
    """Charges the fee of a group with every member."""

    def _pay_list(self, features):
        for feature in features:
            self._till._open.clear()
            super()._pay_list((feature,))


class ChargesFeesTwice(HonestTrees):
    def session(self, budget=None, one_by_one=False):
        return DoubleFeeSession(self.policy_, budget=budget, one_by_one=one_by_one)


class RepeatSession(Session):
    """Lets a value be told, and billed, again and again."""

    def tell(self, values, price=None):
        for name in values:
            index = self.policy.costs.index(name)
            if self._known.pop(index, None) is not None:
                self._till._have.discard(index)
                self._till.spent += 1
        super().tell(values, price)


class SellsTwice(HonestTrees):
    def session(self, budget=None, one_by_one=False):
        return RepeatSession(self.policy_, budget=budget, one_by_one=one_by_one)


class OrderSession(Session):
    """Bills a surcharge when values come in another order than asked."""

    def tell(self, values, price=None):
        if self._pending and self.policy.costs.index(next(iter(values))) != self._pending[0]:
            self._till.spent += 1
        super().tell(values, price)


class MindsTheOrder(HonestTrees):
    def session(self, budget=None, one_by_one=False):
        return OrderSession(self.policy_, budget=budget, one_by_one=one_by_one)


class EmptyIsFree(HonestTrees):
    """Does not bill what came back empty."""

    def cost(self, X, budget=None):
        acquired = self.acquired(X, budget) & ~np.isnan(self._read(X))
        evaluations = self.evaluated(X, budget) * float(self.costs_.evaluation)
        return self.costs_.price(acquired) + evaluations


class RefusesEmpty(HonestTrees):
    def _read(self, X):
        X = super()._read(X)
        if np.isnan(X[:, self.policy_.reads]).all():
            raise ValueError("X has NaN")
        return X


# Law 5 -------------------------------------------------------------------------------------------


class Overspends(HonestTrees):
    class Policy(TreePolicy):
        def batch(self, X, limit=None, *, billed=True):
            return super().batch(X, None if limit is None else limit + 5 * 10**9, billed=billed)

    policy_class = Policy


class SessionsOverspend(HonestTrees):
    def session(self, budget=None, one_by_one=False):
        budget = None if budget is None else budget + 5
        return super().session(budget, one_by_one)


class NoAnswer(HonestTrees):
    """Says nothing (probabilities that are NaN) when it could buy nothing."""

    class Policy(TreePolicy):
        def batch(self, X, limit=None, *, billed=True):
            outcome = super().batch(X, limit, billed=True)
            nothing = ~outcome.acquired.any(axis=1)
            return outcome._replace(raw=np.where(nothing[:, None], np.nan, outcome.raw))

    policy_class = Policy


class CheapFirstCase(TreeCase):
    """Under a budget it starts with what it asked for last."""

    def wants(self, left):
        return super().wants(left)[:: 1 if left is None else -1]


class ReordersUnderBudget(HonestTrees):
    class Policy(TreePolicy):
        def begin(self):
            return CheapFirstCase(self)

        def batch(self, X, limit=None, *, billed=True):
            return (
                super(TreePolicy, self).batch(X, limit) if limit is not None else super().batch(X)
            )

    policy_class = Policy


class StingyWithPlenty(HonestTrees):
    """Answers differently as soon as there is any budget."""

    class Policy(TreePolicy):
        def batch(self, X, limit=None, *, billed=True):
            outcome = super().batch(X, limit, billed=billed)
            return outcome if limit is None else outcome._replace(raw=outcome.raw * (1 - 1e-9))

    policy_class = Policy


class RefusesSilently(HonestTrees):
    """Cannot run under a budget, and does all the same."""

    class Policy(TreePolicy):
        def check_budget(self):
            raise ValueError("no")

    policy_class = Policy


# Requests ----------------------------------------------------------------------------------------


class SellsAlone(HonestTrees):
    """Says nothing of what its purchases require."""

    def acquired(self, X, budget=None, **request):
        return self.policy_.batch(self._read(X)).acquired


class BillsByTheOldList(HonestTrees):
    def cost(self, X, budget=None, *, prices=None, unavailable=()):
        return super().cost(X, budget, unavailable=unavailable)


class BuysWhatIsNotThere(HonestTrees):
    def acquired(self, X, budget=None, *, prices=None, unavailable=()):
        return super().acquired(X, budget, prices=prices)


class OneBudgetForAll(HonestTrees):
    def _run(self, X, budget=None, **how):
        return super()._run(X, None if budget is None else np.max(budget), **how)
