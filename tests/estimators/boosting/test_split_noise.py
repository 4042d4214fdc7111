"""Noise in what splits are worth: the same for everybody who asks, and never in the way of prices."""

from __future__ import annotations

import numpy as np
import pytest

from tests.estimators.boosting.miser_data import classes, numbers, same_trees
from worthwhile import GreedyMiserClassifier, GreedyMiserRegressor

SHAPE = {"n_rounds": 6, "max_depth": 3, "min_samples_leaf": 5}


def classifier(**params):
    return GreedyMiserClassifier(**{**SHAPE, **params})


def regressor(**params):
    return GreedyMiserRegressor(**{**SHAPE, "learning_rate": 0.1, **params})


@pytest.mark.parametrize("k", [2, 3])
def test_it_is_there_unasked_and_the_same_in_every_fit_unless_a_seed_is_given(k):
    X, y = classes(0, k=k)
    model = classifier().fit(X, y)
    assert model.seed_ == 0
    assert same_trees(model, classifier(n_jobs=2).fit(X, y))
    assert same_trees(model, classifier(split_noise=0.5).fit(X, y))
    assert not same_trees(model, classifier(split_noise=0).fit(X, y))
    one, again, two = (classifier(random_state=seed).fit(X, y) for seed in (1, 1, 2))
    assert same_trees(one, again)
    assert not same_trees(one, two)
    assert not same_trees(one, model)


@pytest.mark.parametrize("params", [{"preset": "paper"}, {"preset": "authors"}, {"newton": False}])
def test_papers_have_none(params):
    X, y = classes(0)
    assert same_trees(classifier(**params).fit(X, y), classifier(split_noise=0, **params).fit(X, y))


def test_numbers_have_it_where_asked_for():
    X, y = numbers(0)
    model = regressor().fit(X, y)
    assert same_trees(model, regressor(split_noise=0).fit(X, y))
    assert not same_trees(model, regressor(split_noise=0.5).fit(X, y))


def test_no_seed_is_drawn_where_nothing_is_left_to_chance():
    X, y = classes(0)
    params = {"validation_fraction": None, "random_state": 3}
    assert classifier(split_noise=0, **params).fit(X, y).seed_ == 0
    assert classifier(preset="paper", **params).fit(X, y).seed_ == 0
    assert classifier(**params).fit(X, y).seed_ > 0


def test_weights_are_repetitions():
    X, y = classes(1, n=200)
    times = np.random.default_rng(0).integers(1, 4, len(y))
    for own in (y, y > 0):
        by_weight = classifier(learning_rate=0.1).fit(X, own, times)
        repeated = classifier(learning_rate=0.1).fit(
            np.repeat(X, times, axis=0), np.repeat(own, times)
        )
        assert same_trees(by_weight, repeated)


def test_going_on_equals_not_having_stopped():
    X, y = numbers(2)
    whole = regressor(split_noise=0.5).fit(X, y)
    parts = regressor(split_noise=0.5, n_rounds=2, warm_start=True).fit(X, y)
    parts.set_params(n_rounds=SHAPE["n_rounds"]).fit(X, y)
    assert same_trees(whole, parts)


def test_trees_of_a_round_differ():
    """The noise of one output is not that of the next."""
    X, y = classes(3)
    rounds = [
        classifier(leaves="scalar", n_rounds=1, split_noise=3.0, random_state=s).fit(X, y)
        for s in range(6)
    ]
    firsts = [[int(m.policy_.trees.feature[r]) for r in m.policy_.trees.root] for m in rounds]
    assert any(len(set(roots)) > 1 for roots in firsts)
    assert len({tuple(roots) for roots in firsts}) > 1


def test_nothing_is_bought_that_is_not_worth_its_price():
    X, y = classes(4, k=2)
    costs = [1, 2, 3, 4, 5, 6]
    most = classifier(costs=costs).lam_max(X, y)
    for seed in range(5):
        model = classifier(costs=costs, lam=1.0001 * most, split_noise=5.0, random_state=seed)
        assert model.fit(X, y).purchase_order_ == []


@pytest.mark.parametrize("value", [-0.1, 11, "some", None])
def test_what_it_may_be(value):
    X, y = classes(0)
    with pytest.raises(ValueError, match="split_noise"):
        classifier(split_noise=value).fit(X, y)
