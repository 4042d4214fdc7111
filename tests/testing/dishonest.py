"""A small honest estimator, and one dishonest child for every way to break a law."""

from __future__ import annotations

import copy
from decimal import Decimal

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from worthwhile.core.trees import Trees
from worthwhile.costs import Costs
from worthwhile.estimators.base import CostAwareClassifier, CostAwareRegressor
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreeCase, TreePolicy
from worthwhile.runtime import Ledger, Session


def _joined(members, classes):
    """Fitted scikit-learn trees as one ensemble."""
    root = np.cumsum([0] + [m.tree_.node_count for m in members])[:-1]
    parts = [m.tree_ for m in members]
    leaf = np.concatenate([t.children_left < 0 for t in parts])

    def stack(name, shift=False):
        return np.concatenate(
            [getattr(t, name) + shift * r for t, r in zip(parts, root, strict=True)]
        )

    value = stack("value")[:, 0, :]
    return Trees.build(
        feature=np.where(leaf, -1, stack("feature")),
        threshold=np.where(leaf, 0.0, stack("threshold")),
        left=np.where(leaf, -1, stack("children_left", True)),
        right=np.where(leaf, -1, stack("children_right", True)),
        missing_left=stack("missing_go_to_left").astype(bool),
        value=value, root=root, base=value[root].mean(axis=0), average=True,
    )  # fmt: skip


class HonestTrees(CostAwareClassifier):
    """Three trees on bootstrap samples."""

    policy_class = TreePolicy

    def __init__(self, costs=None, random_state=None, n_jobs=None):
        self.costs = costs
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _seed(self):
        return self.random_state

    def fit(self, X, y):
        X, y, costs = self._read_training(X, y)
        codes = self._read_labels(y)
        rng = np.random.default_rng(self._seed())
        members = []
        for _ in range(3):
            rows = rng.integers(len(X), size=len(X))
            rows[: len(self.classes_)] = [
                np.flatnonzero(codes == c)[0] for c in range(len(self.classes_))
            ]
            tree = DecisionTreeClassifier(max_depth=3, random_state=0)
            members.append(tree.fit(X[rows], codes[rows]))
        self.policy_ = self.make_policy(
            costs, Output("probabilities", self.classes_), _joined(members, self.classes_)
        )
        return self

    def make_policy(self, costs, output, trees):
        return self.policy_class(costs, output, trees)


class HonestTree(CostAwareRegressor):
    """One tree for numbers."""

    def __init__(self, costs=None):
        self.costs = costs

    def fit(self, X, y):
        X, y, costs = self._read_training(X, y)
        tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
        self.policy_ = TreePolicy(costs, Output("value"), _joined([tree], None))
        return self


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
