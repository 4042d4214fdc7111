"""Exits against their definition, kernels against the plain Python of sessions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.ensembles import random_sets
from tests.naive import ranking as naive
from worthwhile import Costs
from worthwhile.core.queries import Queries
from worthwhile.core.trees import Trees
from worthwhile.core.walks import staged as exits
from worthwhile.policy.base import Policy
from worthwhile.policy.exits.case import ranked_scores, staying
from worthwhile.policy.exits.policy import QUERY_RULES, ExitPolicy
from worthwhile.policy.output import Output
from worthwhile.policy.till import Till
from worthwhile.policy.trees import TreePolicy


def random_trees(rng, n_trees, n_features, *, average=False, width=1, n_outputs=1):
    """Trees of depth 2 with a few distinct values, so that scores tie."""
    feature, threshold, value, left, right, root = [], [], [], [], [], []
    for _ in range(n_trees):
        at = len(feature)
        root.append(at)
        feature += [*rng.integers(0, n_features, 3).tolist(), -1, -1, -1, -1]
        threshold += [*rng.normal(size=3).round(1).tolist(), 0, 0, 0, 0]
        left += [at + 1, at + 3, at + 5, -1, -1, -1, -1]
        right += [at + 2, at + 4, at + 6, -1, -1, -1, -1]
        value += rng.integers(-2, 3, (7, width)).tolist()
    output = np.zeros(n_trees) if width == n_outputs else np.arange(n_trees) % n_outputs
    sets = random_sets(rng, feature, threshold) if rng.random() < 0.5 else {}
    return Trees.build(
        feature, threshold, left, right, value, root, rng.normal(size=n_outputs).round(1), output=output,
        missing_left=rng.random(len(feature)) < 0.5, average=average, **sets,
    )  # fmt: skip


def random_policy(rng, rule, *, n_trees=11, every=2, level=None, evaluation=0, average=False):
    n_features = 5
    prices = rng.integers(0, 4, n_features).tolist()
    costs = Costs(prices, {"g": {"fee": 2, "features": [1, 3]}}, evaluation=evaluation)
    trees = random_trees(rng, n_trees, n_features, average=average)
    ends = np.append(np.arange(every, n_trees, every), n_trees).astype(np.int64)
    if level is None:
        level = {"proximity": 2.0, "score": 0.0, "rank": 4.0, "capacity": 4.0}[rule]
    share = np.ones(len(ends) - 1)
    if rule == "proximity":
        share = (len(ends) - np.arange(1, len(ends))) / (len(ends) - 1)
    return ExitPolicy(TreePolicy(costs, Output("value"), trees), ends, rule, level * share, 3)


def random_rows(rng, n, d=5):
    X = rng.normal(size=(n, d)).round(1)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


@pytest.mark.parametrize("rule", QUERY_RULES)
@pytest.mark.parametrize("seed", range(4))
def test_exits_are_their_definition(rule, seed):
    rng = np.random.default_rng(seed)
    policy = random_policy(rng, rule)
    X, qid = random_rows(rng, 60), rng.integers(0, 6, 60)
    outcome = policy.batch(X, queries=Queries.of(qid, 60))
    level = {"proximity": 2.0, "score": 0.0, "rank": 4.0, "capacity": 4.0}[rule]
    for rows in naive.by_query(qid):
        exit_of, scores, evaluated, read = naive.early_exit(
            policy.model.trees, X[rows], 2, rule, level, keep=3
        )
        assert outcome.evaluated[rows].tolist() == evaluated
        assert [set(np.flatnonzero(outcome.acquired[i])) for i in rows] == read
        got = sorted(range(len(rows)), key=lambda i: (-outcome.raw[rows[i], 0], i))
        assert got == sorted(range(len(rows)), key=lambda i: (-exit_of[i], -scores[i], i))
        last = max(exit_of)
        for i, row in enumerate(rows):
            if exit_of[i] == last:  # whoever stayed longest keeps the score
                assert outcome.raw[row, 0] == scores[i]


@given(
    st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, 7.0]), max_size=12),
    st.sampled_from(QUERY_RULES),
    st.sampled_from([1.0, 2.0, 5.0, float("inf")]),
    st.integers(1, 6),
)
@settings(max_examples=80, deadline=None)
def test_kernel_and_session_decide_alike(scores, rule, level, keep):
    stays = np.zeros(len(scores), dtype=bool)
    bounds = np.array([0, len(scores)])
    exits.leave(np.array(scores), bounds, QUERY_RULES.index(rule), level, keep, stays)
    assert stays.tolist() == staying(rule, level, keep, scores)


@given(
    st.lists(
        st.tuples(st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.0]), st.integers(1, 4)),
        max_size=12,
    )
)
@settings(max_examples=80, deadline=None)
def test_ranking_scores_are_in_the_order_of_the_ranking(documents):
    scores, exit_of = [s for s, _ in documents], [e for _, e in documents]
    wanted = sorted(range(len(scores)), key=lambda i: (-exit_of[i], -scores[i], i))
    ranked = np.array(scores)
    exits.ranking_scores(ranked, np.array(exit_of, dtype=np.int32), np.array([0, len(scores)]))
    assert ranked.tolist() == ranked_scores(scores, exit_of)
    assert naive.ranked(ranked.tolist()) == wanted
    top = max(exit_of, default=0)
    assert all(ranked[i] == scores[i] for i in range(len(scores)) if exit_of[i] == top)
    for i, j in itertools.pairwise(wanted):
        assert (ranked[i] == ranked[j]) == ((exit_of[i], scores[i]) == (exit_of[j], scores[j]))


def drive_query(policy, X, limit):
    """A query as a session runs it: scores, purchases, evaluations, money spent."""
    case = policy.begin_query(len(X))
    tills = [Till(policy.costs, None) for _ in X]
    each = policy.costs.flat.evaluation
    bought = np.zeros(X.shape, dtype=bool)

    def left():
        if limit is None:
            return None
        return limit - sum(till.spent for till in tills) - sum(case.evaluated) * each

    while wanted := case.wants(left()):
        for document, feature in wanted:
            amount = sum(p + f for _, p, f in tills[document].quote((feature,)))
            if limit is not None and amount > left():
                case.refuse(document, feature)
                continue
            assert tills[document].buy((feature,), 0)
            bought[document, feature] = True
            case.learn(document, feature, X[document, feature])
    return case.answer(), bought, case.evaluated, left()


@pytest.mark.parametrize("rule", QUERY_RULES)
@pytest.mark.parametrize("evaluation", [0, 0.3])
@pytest.mark.parametrize("budget", [None, 0, 7, 30, 200])
def test_batches_of_queries_agree_with_sessions(rule, evaluation, budget):
    rng = np.random.default_rng(5)
    policy = random_policy(rng, rule, evaluation=evaluation, average=rule == "rank")
    X, qid = random_rows(rng, 40), rng.integers(0, 5, 40)
    limit = None if budget is None else budget * 10**9
    outcome = policy.batch(X, limit, queries=Queries.of(qid, 40))
    for rows in naive.by_query(qid):
        scores, bought, evaluated, left = drive_query(policy, X[rows], limit)
        assert outcome.raw[rows, 0].tobytes() == scores.tobytes()
        assert np.array_equal(outcome.acquired[rows], bought)
        assert outcome.evaluated[rows].tolist() == evaluated
        assert left is None or left >= 0


@pytest.mark.parametrize("limit", [None, 3 * 10**9, 11 * 10**9])
def test_rows_alone_agree_with_cases(limit):
    rng = np.random.default_rng(6)
    trees = random_trees(rng, 12, 5, width=1, n_outputs=3)
    costs = Costs(rng.integers(1, 4, 5).tolist(), evaluation=0.1)
    model = TreePolicy(costs, Output("logits", np.arange(3)), trees)
    ends = np.array([3, 6, 9, 12])
    policy = ExitPolicy(model, ends, "probability", np.array([0.8, 0.7, 0.6]), 1)
    X = random_rows(rng, 50)
    fast, slow = policy.batch(X, limit), Policy.batch(policy, X, limit)
    assert fast.raw.tobytes() == slow.raw.tobytes()
    assert np.array_equal(fast.acquired, slow.acquired)
    assert np.array_equal(fast.evaluated, slow.evaluated)
    if limit is None:
        assert len(np.unique(fast.evaluated)) > 1


def test_nobody_leaves_alone_where_queries_decide():
    rng = np.random.default_rng(7)
    policy = random_policy(rng, "score", level=100.0)
    X = random_rows(rng, 20)
    whole = policy.model.batch(X)
    alone = policy.batch(X)
    assert alone.raw.tobytes() == whole.raw.tobytes()
    assert np.array_equal(alone.acquired, whole.acquired)
    together = policy.batch(X, queries=Queries.single(20))
    assert (together.evaluated == 2).all()


def test_query_order_of_rows_does_not_matter():
    rng = np.random.default_rng(8)
    policy = random_policy(rng, "proximity")
    X, qid = random_rows(rng, 50), rng.integers(0, 7, 50)
    mixed = policy.batch(X, queries=Queries.of(qid, 50))
    order = np.argsort(qid, kind="stable")
    grouped = policy.batch(X[order], queries=Queries.of(qid[order], 50))
    assert mixed.raw[order].tobytes() == grouped.raw.tobytes()
    assert np.array_equal(mixed.acquired[order], grouped.acquired)


def test_many_blocks_are_as_one(monkeypatch):
    from worthwhile.policy.exits import policy as module

    rng = np.random.default_rng(9)
    policy = random_policy(rng, "proximity")
    X, qid = random_rows(rng, 300), np.sort(rng.integers(0, 40, 300))
    whole = policy.batch(X, queries=Queries.of(qid, 300))
    monkeypatch.setattr(module, "BLOCK", 16)
    cut = policy.batch(X, queries=Queries.of(qid, 300))
    assert whole.raw.tobytes() == cut.raw.tobytes()
    assert np.array_equal(whole.acquired, cut.acquired)


def test_an_ensemble_without_trees_answers_with_its_base():
    trees = Trees.build([], [], [], [], np.empty((0, 1)), [], [1.5])
    model = TreePolicy(Costs([1, 1]), Output("value"), trees)
    policy = ExitPolicy(model, np.empty(0, dtype=np.int64), "proximity", np.empty(0), 5)
    outcome = policy.batch(np.zeros((3, 2)), queries=Queries.of([0, 0, 0], 3))
    assert outcome.raw.tolist() == [[1.5]] * 3
    assert policy.begin().wants(None) == []


def test_state_round_trip():
    policy = random_policy(np.random.default_rng(10), "rank")
    again = ExitPolicy.from_state(policy.costs, policy.output, policy.state())
    assert again.fingerprint() == policy.fingerprint()


@pytest.mark.parametrize(
    ("settings_", "arrays", "message"),
    [
        ({"rule": "luck"}, {}, "rule 'luck' does not fit"),
        ({"rule": "probability"}, {}, "rule 'probability' does not fit"),
        ({"keep": 0}, {}, "keep is 0"),
        ({"keep": True}, {}, "keep is True"),
        ({}, {"model": None}, "not an ensemble of trees"),
        ({}, {"levels": np.ones(2)}, "not one level per exit"),
        ({}, {"levels": np.full(5, np.nan)}, "not one level per exit"),
        ({}, {"levels": np.zeros(5)}, "below 1"),
        ({}, {"ends": np.array([2, 4, 6, 8, 10, 12])}, "does not end at tree 11"),
        ({}, {"ends": np.array([2, 4, 4, 8, 10, 11])}, "ascending"),
        ({}, {"ends": np.array([0, 4, 6, 8, 10, 11])}, "ascending"),
        ({}, {"ends": np.array([2.0, 4, 6, 8, 10, 11])}, "dtype"),
    ],
)
def test_unsafe_states_are_refused(settings_, arrays, message):
    policy = random_policy(np.random.default_rng(11), "rank")
    old_settings, old_arrays = policy.state()
    state = ({**old_settings, **settings_}, {**old_arrays, **arrays})
    with pytest.raises(ValueError, match=message):
        ExitPolicy.from_state(policy.costs, policy.output, state)


def test_rankings_need_one_score():
    rng = np.random.default_rng(12)
    trees = random_trees(rng, 4, 5, width=1, n_outputs=2)
    model = TreePolicy(Costs([1] * 5), Output("value"), trees)
    state = (
        {"rule": "rank", "keep": 1},
        {"model": model, "ends": np.array([4]), "levels": np.empty(0)},
    )
    with pytest.raises(ValueError, match="one score"):
        ExitPolicy.from_state(model.costs, model.output, state)
