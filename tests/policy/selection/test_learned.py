"""Selection policies: decisions against a naive twin, batches against cases, files, budgets."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.naive import selection as naive
from worthwhile import Costs, Session
from worthwhile.core.trees import Trees
from worthwhile.costs import as_decimal
from worthwhile.policy.base import Policy, run_case
from worthwhile.policy.output import Output
from worthwhile.policy.selection.choosers import LinearChooser, TreeChooser, no_choice
from worthwhile.policy.selection.learned import SelectionPolicy, pick
from worthwhile.policy.selection.rows import (
    FactorPrices,
    Layout,
    Linear,
    Model,
    meta_features,
    metas_of_one,
)
from worthwhile.policy.selection.static_order import StaticOrderPolicy
from worthwhile.policy.trees import TreePolicy
from worthwhile.runtime import UNAVAILABLE

COSTS = Costs(
    [2, 0, 1, 3, 0, 0.5, 0],
    groups={
        "scan": {"fee": 4, "features": [1, 4]},
        "lab": {"fee": 1.5, "features": [0, 3]},
    },
    evaluation=0.01,
)
MEMBERS = [[0], [1, 4], [2], [3], [5], [6]]  # column 6 is free and comes last


def make_layout(rng):
    features = np.array([c for m in MEMBERS for c in m], dtype=np.int32)
    start = np.cumsum([0, *map(len, MEMBERS)]).astype(np.int32)
    return Layout(features, start, rng.normal(size=7), rng.uniform(0.5, 2, 7))


def make_linear(rng, layout, width):
    return Linear(
        rng.normal(size=(7, width)),
        rng.normal(size=(layout.n_factors, width)),
        rng.normal(size=width),
    )


def make_policy(seed, n_classes=3, n_lams=2):
    rng = np.random.default_rng(seed)
    layout = make_layout(rng)
    scorer = make_linear(rng, layout, n_classes)
    choosers = [
        LinearChooser(make_linear(rng, layout, 6), rng.normal(size=(6 + n_classes, 6)))
        for _ in range(n_lams)
    ]
    output = Output("logits", np.arange(n_classes))
    lams = [0.5, 0.1][:n_lams]
    return SelectionPolicy(COSTS, output, Model.of(COSTS, layout, scorer), choosers, lams)


def make_static(seed, order=(1, 0, 3)):
    rng = np.random.default_rng(seed)
    layout = make_layout(rng)
    output = Output("logits", np.arange(3))
    return StaticOrderPolicy(
        COSTS, output, Model.of(COSTS, layout, make_linear(rng, layout, 3)), order
    )


def make_rows(seed, n=9):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 7))
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


limits = st.sampled_from([None, 0, 5 * 10**6, 10**9, 3 * 10**9, 6 * 10**9, 10**10])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), limits, st.booleans())
def test_batches_are_cases_bit_for_bit(seed, limit, static):
    policy = make_static(seed) if static else make_policy(seed)
    X = make_rows(seed)
    fast, slow = policy.batch(X, limit), Policy.batch(policy, X, limit)
    assert fast.raw.tobytes() == slow.raw.tobytes()
    assert (fast.acquired == slow.acquired).all()
    assert (fast.evaluated == slow.evaluated).all()
    spent = COSTS.quanta(fast.acquired) + fast.evaluated * COSTS.flat.evaluation
    assert limit is None or (spent <= limit).all()


def test_large_batches_add_in_the_same_order_as_single_rows():
    policy, X = make_policy(1), make_rows(2, n=9000)
    fast = policy.batch(X)
    for i in (0, 4095, 4096, 8999):
        raw, bought, evaluated = run_case(policy, X[i], None)
        assert raw.tobytes() == fast.raw[i].tobytes()
        assert (bought == fast.acquired[i]).all()
        assert evaluated == fast.evaluated[i]


def test_wide_factors_add_column_after_column_whatever_the_number_of_rows():
    rng = np.random.default_rng(0)
    layout = Layout(
        np.arange(50, dtype=np.int32), np.array([0, 50, 50], np.int32), np.zeros(50), np.ones(50)
    )
    linear = Linear(rng.normal(size=(50, 4)), rng.normal(size=(1, 4)), np.zeros(4))
    z = rng.normal(size=(2000, 50))
    many = linear.part(layout, 0, z)
    for i in (0, 1999):
        assert linear.part(layout, 0, z[i : i + 1]).tobytes() == many[i].tobytes()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_decisions_are_those_of_the_naive_twin(seed):
    policy = make_policy(seed)
    row = make_rows(seed, 1)[0]
    known, bought, last = {6: row[6]}, [], None
    while len(bought) < 5:
        scores, last = naive.decide(policy, known, bought, last)
        allowed = [a for a in range(6) if a not in bought]
        action = max(allowed, key=lambda a: (scores[a], -a))
        if action == 5:
            break
        bought.append(action)
        known |= {c: row[c] for c in MEMBERS[action]}
    expected = np.zeros(7, dtype=bool)
    expected[[c for f in bought for c in MEMBERS[f]] + [6]] = True
    assert policy.batch(row[None]).acquired[0].tolist() == expected.tolist()


def test_nothing_is_bought_twice_and_the_free_column_never_changes_the_bill():
    policy, X = make_policy(3), make_rows(4, 50)
    outcome = policy.batch(X)
    assert outcome.acquired[:, 6].all()
    without = outcome.acquired.copy()
    without[:, 6] = False
    assert (COSTS.quanta(without) == COSTS.quanta(outcome.acquired)).all()
    for row in X[:10]:
        case, seen = policy.begin(), []
        while bundles := case.wants(None):
            for bundle in bundles:
                seen += bundle
                for column in bundle:
                    case.learn(column, row[column])
        assert len(seen) == len(set(seen))


def test_shared_fees_are_due_once():
    prices = FactorPrices(COSTS, make_layout(np.random.default_rng(0)))
    assert (prices.own / 1e9).tolist() == [2, 4, 1, 3, 0.5]
    assert prices.fee.tolist() == [1_500_000_000]
    assert (prices.marginal(np.array([[False], [True]]))[:, 0] / 1e9).tolist() == [3.5, 2.0]
    for bought in np.ndindex(2, 2, 2, 2, 2):
        mask = np.zeros((1, 7), dtype=bool)
        for f, has in enumerate(bought):
            mask[0, MEMBERS[f]] = bool(has)
        assert prices.of(np.array([bought], dtype=bool)) == COSTS.quanta(mask)


def test_pick_leaves_out_what_is_not_on_sale_and_prefers_the_first_of_equals():
    scores = np.array([[3.0, 3.0, 1.0], [3.0, 2.0, 1.0], [0.0, 0.0, 0.0]])
    open_ = np.array([[True, True], [False, True], [False, False]])
    assert pick(scores, open_).tolist() == [0, 1, 2]


def test_what_cannot_be_had_stands_at_its_mean_and_the_rest_of_the_factor_counts():
    policy = make_static(5, order=(1,))
    session = Session(policy)
    assert session.ask() == [6, 1, 4]
    session.tell({6: 0.3, 1: 0.7, 4: UNAVAILABLE})
    whole = Session(policy)
    whole.ask()
    whole.tell({6: 0.3, 1: 0.7, 4: None})
    assert session.probabilities.tolist() == whole.probabilities.tolist()
    assert session.done


def test_a_dynamic_session_goes_on_without_what_cannot_be_had():
    policy = make_policy(11)
    X = make_rows(12, 40)
    bought = policy.batch(X).acquired
    row = X[np.flatnonzero(bought[:, 1])[0]]
    session = Session(policy)
    while wanted := session.ask():
        session.tell({c: UNAVAILABLE if c in (1, 4) else row[c] for c in wanted})
    assert 1 not in session.known
    assert session.prediction in (0, 1, 2)


def test_values_told_before_they_are_asked_for_make_their_factor_known():
    policy = make_policy(7)
    session = Session(policy)
    session.tell({1: 0.1, 4: 0.2})
    while wanted := session.ask():
        assert not {1, 4} & set(wanted)
        session.tell(dict.fromkeys(wanted, 0.5))
    assert session.spent <= COSTS.total + 0.06


def test_the_trade_off_of_a_request_is_one_of_those_fitted():
    policy = make_policy(0)
    assert policy.at(0.1).chosen == 1
    assert policy.at(0.1).fingerprint() != policy.fingerprint()
    with pytest.raises(ValueError, match=r"lam is 0\.3, but the model was fitted for 0\.5, 0\.1"):
        policy.at(0.3)


def test_a_policy_without_choice_buys_only_what_is_free():
    rng = np.random.default_rng(0)
    layout = make_layout(rng)
    policy = SelectionPolicy(
        COSTS, Output("logits", np.arange(3)), Model.of(COSTS, layout, make_linear(rng, layout, 3)),
        [no_choice(layout, 3)], [1.0],
    )  # fmt: skip
    assert policy.batch(make_rows(0)).acquired.sum(axis=0).tolist() == [0, 0, 0, 0, 0, 0, 9]


@pytest.mark.parametrize("static", [False, True])
def test_state_gives_the_same_policy_back(static):
    policy = make_static(1) if static else make_policy(1).at(0.1)
    twin = type(policy).from_state(policy.costs, policy.output, policy.state())
    X = make_rows(1)
    assert twin.batch(X).raw.tobytes() == policy.batch(X).raw.tobytes()
    assert twin.fingerprint() == policy.fingerprint()


def spoil(name, value):
    def change(settings_, arrays):
        (settings_ if name in settings_ else arrays)[name] = value(
            settings_.get(name, arrays.get(name))
        )

    return change


def replaced(index, value):
    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (spoil("features", replaced(0, 7)), "out of range"),
        (spoil("features", replaced(0, -1)), "out of range"),
        (spoil("features", replaced(0, 2)), "listed twice"),
        (spoil("features", lambda a: a.astype(np.int64)), "dtype"),
        (spoil("start", replaced(-1, 9)), "does not cut"),
        (spoil("start", replaced(1, 0)), "no columns"),
        (spoil("mean", replaced(0, np.nan)), "not finite"),
        (spoil("mean", lambda a: a[:-1]), "do not fit"),
        (spoil("scale", replaced(0, 0.0)), "not positive"),
        (spoil("weight", replaced((0, 0), np.inf)), "not finite"),
        (spoil("mark", lambda a: a[:-1]), "should have"),
        (spoil("meta_1", replaced((0, 0), np.nan)), "meta-features"),
        (spoil("meta_0", lambda a: a[:-1].copy()), "meta-features"),
        (spoil("bias_2", lambda _: np.zeros(6)), "not as many"),
        (spoil("bias_1", lambda _: None), "array bias has not the dtype"),
        (spoil("mark_1", lambda a: a[:-1].copy()), "should have"),
        (spoil("trees_1", lambda _: 3), "array actions has not the dtype"),
        (spoil("lams", lambda _: []), "list of numbers"),
        (spoil("lams", lambda _: [0.5, "b"]), "list of numbers"),
        (spoil("chosen", lambda _: 2), "not one of 2"),
        (spoil("chosen", lambda _: True), "not one of 2"),
    ],
)
def test_unsafe_states_are_refused(change, problem):
    policy = make_policy(1)
    settings_, arrays = copy.deepcopy(policy.state())
    change(settings_, arrays)
    with pytest.raises(ValueError, match=problem):
        SelectionPolicy.from_state(policy.costs, policy.output, (settings_, arrays))


@pytest.mark.parametrize("order", [[0, 0], [5], [-1], "all", [True]])
def test_unsafe_orders_are_refused(order):
    policy = make_static(1)
    with pytest.raises(ValueError, match="not a list of different factors"):
        StaticOrderPolicy.from_state(
            policy.costs, policy.output, ({"order": order}, policy.state()[1])
        )


def test_other_outputs_are_refused():
    policy = make_policy(1)
    with pytest.raises(ValueError, match="output is 'probabilities'"):
        SelectionPolicy.from_state(
            policy.costs, Output("probabilities", np.arange(3)), policy.state()
        )


def test_a_foreign_model_is_not_read_from_arrays_alone():
    policy = make_policy(1)
    settings_, arrays = policy.state()
    arrays = {k: v for k, v in arrays.items() if k not in ("weight", "mark", "bias")} | {"model": 3}
    output = Output("probabilities", np.arange(3))
    with pytest.raises(ValueError, match="no foreign model"):
        SelectionPolicy.from_state(policy.costs, output, (settings_, arrays))


def tree_policy(seed=0):
    """A policy whose trees buy factor 0 first, then factor 1 where column 0 is above its mean."""
    rng = np.random.default_rng(seed)
    layout = make_layout(rng)
    width = 7 + 5 + 6 + 3
    trees = Trees.build(
        feature=np.array([7, -1, 0, -1, -1]), threshold=np.array([0.5, 0, 0.0, 0, 0]),
        left=np.array([1, -1, 3, -1, -1]), right=np.array([2, -1, 4, -1, -1]),
        missing_left=np.ones(5, dtype=bool),
        value=np.array([[0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 1], [0, 1.0, 0.5]]),
        root=np.array([0]), base=np.zeros(3),
    )  # fmt: skip
    walks = TreePolicy(Costs(np.zeros(width)), Output("scores", np.arange(3)), trees)
    chooser = TreeChooser(walks, np.array([0, 1, 5]), 6, 3)
    scorer = make_linear(rng, layout, 3)
    return SelectionPolicy(
        COSTS, Output("logits", np.arange(3)), Model.of(COSTS, layout, scorer), [chooser], [0.5]
    )


def test_trees_may_choose_and_batches_are_cases_bit_for_bit():
    policy, X = tree_policy(), make_rows(5, 30)
    fast, slow = policy.batch(X), Policy.batch(policy, X)
    assert fast.raw.tobytes() == slow.raw.tobytes()
    assert (fast.acquired == slow.acquired).all()
    assert fast.acquired[:, 0].all()
    above = X[:, 0] > policy.model.layout.mean[0]
    assert (fast.acquired[:, 1] == above).all()
    twin = SelectionPolicy.from_state(policy.costs, policy.output, policy.state())
    assert twin.batch(X).raw.tobytes() == fast.raw.tobytes()


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("actions_0", np.array([0, 1]), "not different actions"),
        ("actions_0", np.array([0, 1, 1]), "not different actions"),
        ("actions_0", np.array([0, 1, 6]), "are not actions"),
        ("trees_0", make_static(0), "do not read 21 policy features"),
    ],
)
def test_unsafe_trees_are_refused(name, value, problem):
    policy = tree_policy()
    settings_, arrays = policy.state()
    with pytest.raises(ValueError, match=problem):
        SelectionPolicy.from_state(policy.costs, policy.output, (settings_, arrays | {name: value}))


def test_meta_features_of_a_single_row_are_those_of_a_batch_to_the_bit():
    rng = np.random.default_rng(0)
    confidence, cost = rng.random(60), rng.random(60)
    confidence[:3] = 0.0
    guess = rng.integers(0, 2, 60)
    last = np.column_stack([rng.random(60), rng.integers(0, 2, 60), rng.random(60)])
    last[::4] = np.nan  # the first decision of a row
    metas, now = meta_features(confidence, guess, cost, last)
    for i in range(60):
        before = None if i % 4 == 0 else (last[i, 0], int(last[i, 1]), last[i, 2])
        one = metas_of_one((float(confidence[i]), int(guess[i]), float(cost[i])), before)
        assert np.array(one).tobytes() == metas[i].tobytes()
    assert now.tobytes() == np.column_stack([confidence, guess, cost]).tobytes()


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([2, 3, 11]), st.booleans(), st.booleans())
def test_sessions_told_factor_by_factor_are_batches_bit_for_bit(seed, n_classes, one_by_one, trees):
    policy = tree_policy(seed) if trees else make_policy(seed, n_classes)
    X = make_rows(seed, 6)
    outcome = policy.batch(X)
    for i, row in enumerate(X.tolist()):
        session = Session(policy, one_by_one=one_by_one)
        while wanted := session.ask():
            session.tell({column: row[column] for column in wanted})
        assert session._raw()[0].tobytes() == outcome.raw[i].tobytes()
        assert sorted(session.known) == np.flatnonzero(outcome.acquired[i]).tolist()
        bill = policy.costs.quanta(outcome.acquired[[i]])[0] + outcome.evaluated[i] * 10**7
        assert session.ledger.total == as_decimal(int(bill))


@pytest.mark.parametrize("width", [1, 2, 7, 40, 300])
@pytest.mark.parametrize("n_classes", [2, 10])
def test_single_rows_with_factors_of_any_width_have_the_bits_of_a_batch(width, n_classes):
    rng = np.random.default_rng(width)
    n = 4 * width
    start = np.array([0, width, 2 * width, 3 * width, n, n], dtype=np.int32)
    layout = Layout(np.arange(n, dtype=np.int32), start, rng.normal(size=n), rng.uniform(0.5, 2, n))
    scorer = Linear(
        rng.normal(size=(n, n_classes)), rng.normal(size=(4, n_classes)), np.ones(n_classes)
    )
    base = Linear(rng.normal(size=(n, 5)), rng.normal(size=(4, 5)), rng.normal(size=5))
    chooser = LinearChooser(base, rng.normal(size=(6 + n_classes, 5)))
    output = Output("logits", np.arange(n_classes))
    costs = Costs(np.ones(n))
    policy = SelectionPolicy(costs, output, Model.of(costs, layout, scorer), [chooser], [0.5])
    X = rng.normal(size=(200, n))
    X[rng.random(X.shape) < 0.01] = np.nan
    fast, slow = policy.batch(X), Policy.batch(policy, X)
    assert fast.raw.tobytes() == slow.raw.tobytes()
    assert (fast.acquired == slow.acquired).all()


def test_whole_factors_are_settled_as_column_by_column():
    policy, row = make_policy(7), make_rows(8, 1)[0].tolist()
    at_once, singly = policy.begin(), policy.begin()
    for case in (at_once, singly):
        case.learn(6, row[6])
        case.refuse((4,))
    for told in ({1: row[1], 2: row[2]}, {0: row[0]}, {}, {5: row[5]}, {4: row[4]}):
        at_once.learn_all(told)
        for column, value in told.items():
            singly.learn(column, value)
        assert at_once.wants(None) == singly.wants(None)
        assert at_once.answer().tobytes() == singly.answer().tobytes()


def test_another_trade_off_is_prepared_once():
    policy = make_policy(0)
    assert policy.at(0.5) is policy
    assert policy.at(0.1) is policy.at(0.1)
