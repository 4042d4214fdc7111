"""A small honest estimator, whose children break one law each."""

from __future__ import annotations

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from worthwhile.core.trees import Trees
from worthwhile.estimators.base import CostAwareClassifier, CostAwareRegressor
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy


def joined(members, classes):
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
            costs, Output("probabilities", self.classes_), joined(members, self.classes_)
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
        self.policy_ = TreePolicy(costs, Output("value"), joined([tree], None))
        return self
