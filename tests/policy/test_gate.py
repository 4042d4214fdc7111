"""A gate in front of two models: who pays for what, and who answers when money runs out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from worthwhile import Costs, Session
from worthwhile.core.trees import Trees
from worthwhile.estimators.gates._linear_alternate import linear_policy
from worthwhile.policy.base import Policy
from worthwhile.policy.gate import (
    GATE_OUTPUT,
    GatePolicy,
    check_translation,
    shared_output,
    translate,
)
from worthwhile.policy.output import Output
from worthwhile.policy.trees import TreePolicy
from worthwhile.policy.whole import Source, WholePolicy
from worthwhile.runtime import UNAVAILABLE

D = 5
LABELS = np.array(["no", "yes"])


def some_costs(rng, evaluation=0):
    return Costs(
        rng.integers(0, 4, D).tolist(),
        {"lab": {"fee": 2, "features": [1, 3]}},
        evaluation=evaluation,
    )


def linear(costs, output, columns, rng):
    coef = np.zeros((D, output.n_raw))
    coef[columns] = rng.normal(size=(len(columns), output.n_raw))
    return linear_policy(costs, output, coef, rng.normal(size=output.n_raw), rng.normal(size=D))


def trees(costs, output, rng, n_trees=3):
    """Stumps on random columns."""
    width = output.n_raw
    feature = np.tile([0, -1, -1], n_trees)
    feature[::3] = rng.integers(0, D, n_trees)
    left, right = np.full(3 * n_trees, -1), np.full(3 * n_trees, -1)
    left[::3] = np.arange(n_trees) * 3 + 1
    right[::3] = np.arange(n_trees) * 3 + 2
    value = rng.normal(size=(3 * n_trees, width))
    built = Trees.build(
        feature=feature, threshold=rng.normal(size=3 * n_trees), left=left, right=right,
        missing_left=rng.random(3 * n_trees) < 0.5, value=value, root=np.arange(n_trees) * 3, base=np.zeros(width),
    )  # fmt: skip
    return TreePolicy(costs, output, built)


def whole(costs, columns, rng):
    weights = rng.normal(size=len(columns))

    def function(rows):
        p = 1 / (1 + np.exp(-np.nan_to_num(rows[:, columns]) @ weights))
        return np.column_stack([1 - p, p])

    output = Output("probabilities", LABELS)
    return WholePolicy(costs, output, Source(function, "call"), np.array(columns))


def composite(seed, existing="whole", cheap="linear", evaluation=0):
    rng = np.random.default_rng(seed)
    costs = some_costs(rng, evaluation)
    odds = Output("log-odds", LABELS)
    models = {
        "linear": lambda: linear(costs, odds, [0, 1], rng),
        "trees": lambda: trees(costs, odds, rng),
        "whole": lambda: whole(costs, [1, 2, 3, 4], rng),
        "gate": lambda: composite_of(
            costs, trees(costs, odds, rng), linear(costs, odds, [0, 2], rng), rng
        ),
    }
    return composite_of(costs, models[existing](), models[cheap](), rng)


def composite_of(costs, existing, cheap, rng):
    gate = linear(costs, GATE_OUTPUT, [0, 3], rng)
    return GatePolicy(costs, shared_output(cheap.output, existing.output), gate, cheap, existing)


KINDS = [("whole", "linear"), ("trees", "linear"), ("linear", "trees"), ("gate", "trees")]
kinds = st.sampled_from(KINDS)


@given(st.integers(0, 999), kinds, st.sampled_from([None, 0, 2, 4, 7, 9]), st.sampled_from([0, 1]))
@example(
    136, KINDS[0], 2, 0
)  # too dear for the gate is a column that the existing model never reads
@settings(max_examples=50, deadline=None)
def test_batch_equals_one_row_at_a_time(seed, kind, limit, evaluation):
    policy = composite(seed, *kind, evaluation)
    X = np.random.default_rng(seed).normal(size=(12, D))
    X[np.random.default_rng(seed + 1).random(X.shape) < 0.1] = np.nan
    limit = None if limit is None else limit * 10**9
    fast, slow = policy.batch(X, limit), Policy.batch(policy, X, limit)
    np.testing.assert_array_equal(fast.acquired, slow.acquired)
    np.testing.assert_array_equal(fast.evaluated, slow.evaluated)
    np.testing.assert_allclose(fast.raw, slow.raw, rtol=0, atol=0 if policy.exact else 1e-12)
    if limit is not None:
        bill = policy.costs.quanta(fast.acquired) + fast.evaluated * policy.costs.flat.evaluation
        assert bill.max() <= limit


@pytest.mark.parametrize("kind", KINDS)
def test_bill_is_the_union_of_gate_and_chosen_branch(kind):
    policy = composite(3, *kind)
    X = np.random.default_rng(0).normal(size=(40, D))
    outcome = policy.batch(X)
    gate, cheap, existing = (p.batch(X) for p in (policy.gate, policy.cheap, policy.existing))
    sent = gate.raw[:, 0] > 0
    assert 0 < sent.sum() < len(X)
    branch = np.where(sent[:, None], existing.acquired, cheap.acquired)
    np.testing.assert_array_equal(outcome.acquired, gate.acquired | branch)
    np.testing.assert_array_equal(
        outcome.evaluated, gate.evaluated + np.where(sent, existing.evaluated, cheap.evaluated)
    )
    total = policy.costs.quanta(outcome.acquired)
    most = policy.costs.quanta(gate.acquired) + policy.costs.quanta(branch)
    assert (total <= most).all()


def test_session_asks_for_the_gate_first_then_only_for_the_chosen_branch():
    policy = composite(3)
    X = np.random.default_rng(0).normal(size=(40, D))
    sent = policy.sent(X)
    for row in (int(np.flatnonzero(sent)[0]), int(np.flatnonzero(~sent)[0])):
        session = Session(policy)
        assert session.ask() == policy.gate.reads.tolist()
        session.tell({f: X[row, f] for f in session.ask()})
        branch = policy.existing if sent[row] else policy.cheap
        assert session.ask() == [f for f in branch.reads.tolist() if f not in policy.gate.reads]
        session.tell({f: X[row, f] for f in session.ask()})
        assert session.done
        np.testing.assert_allclose(
            session.probabilities, policy.output.probabilities(policy.batch(X[[row]]).raw)[0]
        )


def unit_composite():
    """Gate reads 0 (price 1), cheap model reads 0 and 1 (price 1), existing reads 1..4 (prices 1, 5, 5, 5)."""
    costs = Costs([1, 1, 5, 5, 5])
    rng = np.random.default_rng(0)
    odds = Output("log-odds", LABELS)
    gate = linear_policy(costs, GATE_OUTPUT, np.eye(D)[:, :1], np.zeros(1), np.zeros(D))
    cheap = linear_policy(
        costs, odds, np.eye(D)[:, 1:2] + np.eye(D)[:, :1], np.zeros(1), np.zeros(D)
    )
    return composite_of_parts(costs, gate, cheap, whole(costs, [1, 2, 3, 4], rng))


def composite_of_parts(costs, gate, cheap, existing):
    return GatePolicy(costs, shared_output(cheap.output, existing.output), gate, cheap, existing)


def test_existing_model_that_does_not_fit_leaves_the_answer_to_the_cheap_one():
    policy = unit_composite()
    row = np.array([[1.0, -3.0, 9.0, 9.0, 9.0]])  # sent on; the cheap model says 1 - 3 = -2
    full = policy.batch(row)
    assert full.acquired.all()
    short = policy.batch(row, 16 * 10**9)
    np.testing.assert_array_equal(short.acquired[0], [True, True, False, False, False])
    cheap = policy.cheap.batch(row).raw
    np.testing.assert_array_equal(short.raw, translate(policy.cheap.output, policy.output, cheap))
    exact = policy.batch(row, 17 * 10**9)
    np.testing.assert_array_equal(exact.raw, full.raw)


def test_without_money_the_cheap_model_answers_from_means():
    policy = unit_composite()
    outcome = policy.batch(np.ones((1, D)), 0)
    assert not outcome.acquired.any()
    assert np.isfinite(outcome.raw).all()


def test_evaluation_of_the_existing_model_must_fit_too():
    costs = Costs([0] * D, evaluation=1)
    rng = np.random.default_rng(1)
    odds = Output("log-odds", LABELS)
    gate = linear_policy(costs, GATE_OUTPUT, np.zeros((D, 1)), np.ones(1), np.zeros(D))
    cheap = linear(costs, odds, [0], rng)
    policy = composite_of_parts(costs, gate, cheap, trees(costs, odds, rng, n_trees=3))
    X = rng.normal(size=(5, D))
    for money, evaluated in ((0, 0), (1, 1), (2, 2), (3, 2), (4, 4), (9, 4)):
        outcome = policy.batch(X, money * 10**9)
        assert outcome.evaluated.tolist() == [evaluated] * 5
        branch = policy.existing if evaluated == 4 else policy.cheap
        if evaluated >= 2:
            np.testing.assert_array_equal(outcome.raw, branch.batch(X).raw)


def test_unavailable_feature_of_the_existing_model_ends_with_the_cheap_one():
    policy = unit_composite()
    session = Session(policy)
    session.tell(dict.fromkeys(session.ask(), 1.0))
    assert session.ask() == [1, 2, 3, 4]
    session.tell({2: UNAVAILABLE})
    assert session.ask() == [1]
    session.tell({1: -5.0})
    assert session.done
    assert session.prediction == "no"
    assert session.spent == 2


def test_unavailable_feature_of_the_gate_keeps_the_existing_model_from_it_where_it_reads_it():
    rng = np.random.default_rng(2)
    costs = Costs([1] * D)
    odds = Output("log-odds", LABELS)
    gate = linear_policy(costs, GATE_OUTPUT, np.eye(D)[:, 1:2], np.ones(1), np.ones(D))
    policy = composite_of_parts(
        costs, gate, linear(costs, odds, [0], rng), whole(costs, [1, 2], rng)
    )
    session = Session(policy)
    session.ask()
    session.tell({1: UNAVAILABLE})
    assert session.ask() == [0]


def test_answer_is_there_at_any_time():
    policy = unit_composite()
    session = Session(policy)
    assert session.prediction in LABELS
    session.tell(dict.fromkeys(session.ask(), 1.0))
    assert session.prediction in LABELS


def test_nested_gates_bill_every_stage_once():
    policy = composite(7, "gate", "trees")
    inner = policy.existing
    X = np.random.default_rng(5).normal(size=(60, D))
    outcome, outer_sent, inner_sent = policy.batch(X), policy.sent(X), inner.sent(X)
    for row in range(60):
        parts = [policy.gate]
        if outer_sent[row]:
            parts += [inner.gate, inner.existing if inner_sent[row] else inner.cheap]
        else:
            parts += [policy.cheap]
        union = np.zeros(D, dtype=bool)
        for part in parts:
            union |= part.batch(X[[row]]).acquired[0]
        np.testing.assert_array_equal(outcome.acquired[row], union)
    assert outer_sent.any()
    assert (outer_sent & inner_sent).any() or (outer_sent & ~inner_sent).any()


# Outputs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cheap", "existing", "shared"),
    [
        ("log-odds", "log-odds", "log-odds"),
        ("log-odds", "probabilities", "probabilities"),
        ("log-odds", "score", "votes"),
        ("log-odds", "scores", "votes"),
        ("logits", "votes", "votes"),
    ],
)
def test_shared_output_keeps_every_decision(cheap, existing, shared):
    sources = [Output(kind, LABELS) for kind in (cheap, existing)]
    target = shared_output(*sources)
    assert target.kind == shared
    rng = np.random.default_rng(0)
    for source in sources:
        raw = np.abs(rng.normal(size=(30, source.n_raw)))
        if source.n_raw == 1:
            raw *= rng.choice([-1, 1], size=raw.shape)
        moved = translate(source, target, raw)
        np.testing.assert_array_equal(target.winner(moved), source.winner(raw))
        assert target.probabilities(moved).shape == (30, 2)
        sign = target.decision(moved) > 0
        np.testing.assert_array_equal(sign, source.winner(raw) == 1)


def test_other_classes_are_refused():
    with pytest.raises(ValueError, match="the existing model knows the classes"):
        shared_output(Output("log-odds", LABELS), Output("log-odds", np.array([0, 1])))
    with pytest.raises(ValueError, match="has no classes"):
        shared_output(Output("log-odds", LABELS), Output("value"))


def test_state_goes_round_and_bad_states_are_refused():
    policy = composite(1, "trees", "linear")
    again = GatePolicy.from_state(policy.costs, policy.output, policy.state())
    X = np.random.default_rng(0).normal(size=(9, D))
    np.testing.assert_array_equal(policy.batch(X).raw, again.batch(X).raw)
    assert policy.fingerprint() == again.fingerprint()
    settings_, parts = policy.state()
    other = linear_policy(Costs([1]), GATE_OUTPUT, np.zeros((1, 1)), np.zeros(1), np.zeros(1))
    for bad, text in (
        ({"gate": policy.gate}, "the parts are"),
        ({**parts, "cheap": 3}, "cheap is not a policy"),
        ({**parts, "gate": other}, "gate has 1 columns"),
    ):
        with pytest.raises(ValueError, match=text):
            GatePolicy.from_state(policy.costs, policy.output, (settings_, bad))
    wide = composite(1, "trees", "linear")
    with pytest.raises(ValueError, match="has not one raw output"):
        GatePolicy.from_state(
            wide.costs,
            wide.output,
            ({}, {**parts, "gate": whole(wide.costs, [0], np.random.default_rng(0))}),
        )
    for source, text in (
        (Output("value"), "is not a classifier"),
        (Output("score", np.array([0, 1])), "has other classes"),
        (Output("score", LABELS), "cannot become log-odds"),
    ):
        with pytest.raises(ValueError, match=text):
            check_translation(source, policy.output, "cheap")


def test_repricing_reaches_every_part():
    policy = composite(2, "gate", "linear")
    costs = Costs([7] * D, evaluation=2)
    again = policy.priced(costs)
    for part in (again, again.gate, again.cheap, again.existing, again.existing.gate):
        assert part.costs.to_dict() == costs.to_dict()
    assert again.priced(costs) is again
    free = composite(2, "whole", "linear")
    assert free.priced(costs).existing.source is free.existing.source
