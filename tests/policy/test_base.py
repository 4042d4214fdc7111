"""The till, the reference batch and the fingerprint of a policy."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ensembles import random_costs, random_rows, random_trees
from worthwhile.costs import Costs
from worthwhile.policy import Output, Policy, Till, TreePolicy, run_case


def tree_policy(seed=0, **options):
    rng = np.random.default_rng(seed)
    return TreePolicy(random_costs(rng, **options), Output("value"), random_trees(rng))


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    limit=st.one_of(st.none(), st.integers(0, 15 * 10**9)),
    bundles=st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=3, unique=True), max_size=6),
    evaluated=st.integers(0, 3),
)
def test_the_till_charges_each_feature_and_fee_once_and_keeps_the_limit(
    seed, limit, bundles, evaluated
):
    costs = random_costs(np.random.default_rng(seed), evaluation="0.4")
    till, have = Till(costs, limit), np.zeros(5, dtype=bool)
    for bundle in map(tuple, bundles):
        with_it = have.copy()
        with_it[list(bundle)] = True
        amount = int(costs.quanta(with_it) - costs.quanta(have))
        assert sum(price + fee for _, price, fee in till.quote(bundle)) == amount
        left = till.left(evaluated)
        fits = left is None or amount <= left
        draft = till.copy()
        assert draft.buy(bundle, evaluated) is fits
        assert till.left(evaluated) == left, "a draft does not touch the till"
        assert till.buy(bundle, evaluated) is fits
        have = with_it if fits else have
        assert till.spent == int(costs.quanta(have))
        if limit is not None and fits and amount:
            assert till.spent + evaluated * costs.flat.evaluation <= limit


def test_paying_takes_what_was_quoted_and_asks_for_no_limit():
    costs = Costs([1, 2, 3], {"g": {"fee": 10, "features": [0, 1]}})
    till = Till(costs, 0)
    assert till.quote((1, 2)) == [(1, 2 * 10**9, 10 * 10**9), (2, 3 * 10**9, 0)]
    assert till.pay((1, 2)) == ((1, 2), {1: (0,)})
    assert till.spent == 15 * 10**9
    assert till.pay((0, 1)) == ((0,), {}), "neither the fee nor a price is due twice"
    assert till.spent == 16 * 10**9


def test_a_feature_had_elsewhere_leaves_the_fee_of_its_group_due():
    costs = Costs([1, 2, 3], {"g": {"fee": 10, "features": [0, 1]}})
    till = Till(costs, None)
    till.take_alone(0)
    assert till.quote((0, 1, 2)) == [(1, 2 * 10**9, 10 * 10**9), (2, 3 * 10**9, 0)]
    till.take((1,))
    assert till.quote((0, 1)) == []
    assert till.spent == 0


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), budget=st.one_of(st.none(), st.integers(0, 12)))
def test_the_fast_batch_equals_the_reference_batch(seed, budget):
    policy = tree_policy(seed, evaluation="0.4")
    X = random_rows(np.random.default_rng(seed), 6)
    limit = None if budget is None else budget * 10**9
    fast, slow = policy.batch(X, limit), Policy.batch(policy, X, limit)
    assert fast.raw.tobytes() == slow.raw.tobytes()
    assert (fast.acquired == slow.acquired).all()
    assert (fast.evaluated == slow.evaluated).all()


def test_the_fingerprint_tells_models_apart_and_nothing_else():
    policy = tree_policy()
    twin = TreePolicy(policy.costs, Output("value"), policy.trees)
    assert policy.fingerprint() == twin.fingerprint() == tree_policy().fingerprint()
    data = policy.costs.to_dict()
    reordered = Costs.from_dict({**data, "groups": dict(reversed(data["groups"].items()))})
    assert (
        TreePolicy(reordered, Output("value"), policy.trees).fingerprint() == policy.fingerprint()
    )
    dearer = Costs.from_dict({**data, "prices": ["7", *data["prices"][1:]]})
    labels = [np.array(pair) for pair in (["no", "yes"], ["ill", "well"])]
    others = [
        tree_policy(1),
        TreePolicy(dearer, Output("value"), policy.trees),
        TreePolicy(policy.costs, Output("value"), policy.trees.first(2)),
        *(TreePolicy(policy.costs, Output("log-odds", pair), policy.trees) for pair in labels),
        TreePolicy(policy.costs, Output("score", labels[0]), policy.trees),
    ]
    prints = {other.fingerprint() for other in [policy, *others]}
    assert len(prints) == len(others) + 1


def test_a_run_spends_no_more_than_its_limit():
    policy = tree_policy(evaluation="0.4")
    row = random_rows(np.random.default_rng(0), 1)[0]
    for limit in range(0, 12 * 10**9, 10**9 // 3):
        _, bought, evaluated = run_case(policy, row, limit)
        assert int(policy.costs.quanta(bought)) + evaluated * policy.costs.flat.evaluation <= limit


def test_a_policy_can_run_under_a_budget_unless_it_says_otherwise():
    assert tree_policy().check_budget() is None
    assert tree_policy().n_features == 5


def test_evaluations_that_would_break_exact_sums_are_refused():
    costs = Costs([1], evaluation=Decimal("9000000"))
    trees = random_trees(np.random.default_rng(0), n_trees=4, n_features=1)
    with pytest.raises(
        ValueError, match=r"evaluation is 9000000 for each of 4 trees: .* larger unit"
    ):
        TreePolicy(costs, Output("value"), trees)
