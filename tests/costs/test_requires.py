"""What can be bought only with or after something else: it is bought with it, or neither is."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.costs.test_nested_fees import random_nested
from tests.ensembles import random_rows, random_trees
from worthwhile import Session
from worthwhile.costs import Costs
from worthwhile.exceptions import CostsError
from worthwhile.policy import Output, Till, TreePolicy, run_case
from worthwhile.runtime import UNAVAILABLE

seeds = st.integers(0, 10**6)


def random_required(rng, d=6):
    """Nested fees, and features that require later ones."""
    costs = random_nested(rng, d)
    names = costs.features
    requires = {
        names[i]: more
        for i in range(d)
        if (more := [names[j] for j in range(i + 1, d) if rng.random() < 0.3])
    }
    data = costs.to_dict()
    return Costs.from_dict({**data, "requires": list(requires.items())})


def needed(costs, feature):
    """A feature and all that it requires, from the description alone."""
    found = {feature}
    while more := {r for f in found for r in costs.requires.get(f, ())} - found:
        found |= more
    return found


def plain(costs):
    """The same prices without requirements."""
    data = costs.to_dict()
    data.pop("requires", None)
    return Costs.from_dict(data)


@given(seeds)
@settings(max_examples=50, deadline=None)
def test_a_set_costs_what_it_costs_with_all_that_it_requires(seed):
    rng = np.random.default_rng(seed)
    costs = random_required(rng)
    masks = rng.random((10, 6)) < 0.3
    closed = costs.closed(masks)
    for mask, whole, price in zip(masks, closed, costs.price(masks), strict=True):
        bought = {f for f, own in zip(costs.features, mask, strict=True) if own}
        every = {r for f in bought for r in needed(costs, f)}
        assert {f for f, own in zip(costs.features, whole, strict=True) if own} == every
        assert price == plain(costs).price(sorted(every))
        till = Till(costs, None)
        assert till.buy(tuple(np.flatnonzero(mask).tolist()), 0)
        assert till.spent == costs.quanta(mask)


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_what_is_required_comes_first(seed):
    costs = random_required(np.random.default_rng(seed))
    for feature, columns in zip(costs.features, costs.requirements, strict=True):
        assert {costs.name(c) for c in columns} == needed(costs, feature) - {feature}
        for place, column in enumerate(columns):
            assert set(costs.requirements[column]) <= set(columns[:place])


@pytest.mark.parametrize("seed", range(20))
def test_every_form_keeps_requirements(seed, tmp_path):
    rng = np.random.default_rng(seed)
    costs = random_required(rng)
    costs.to_yaml(tmp_path / "costs.yaml")
    assert Costs.from_yaml(tmp_path / "costs.yaml") == costs
    assert Costs.from_dict(json.loads(json.dumps(costs.to_dict()))) == costs
    shuffled = [costs.features[i] for i in rng.permutation(6)]
    assert costs.resolve(6, shuffled).requires.keys() == costs.requires.keys()
    counts = rng.integers(1, 3, 6)
    masks = rng.random((10, counts.sum())) < 0.3
    touched = np.zeros((10, 6), dtype=bool)
    for column, source in enumerate(np.repeat(np.arange(6), counts)):
        touched[:, source] |= masks[:, column]
    expanded = costs.expanded(counts.tolist())
    np.testing.assert_array_equal(expanded.quanta(masks), costs.quanta(touched))


def tell_all(session, row, hide=()):
    order = []
    while wanted := session.ask():
        order += wanted
        session.tell({f: UNAVAILABLE if f in hide else row[int(f[1:])] for f in wanted})
    return order


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_batch_case_and_session_buy_alike(seed):
    rng = np.random.default_rng(seed)
    costs, trees = random_required(rng), random_trees(rng, n_trees=5, n_features=6)
    policy, X = TreePolicy(costs, Output("value"), trees), random_rows(rng, 4, 6)
    for limit in (None, *(int(q) for q in rng.integers(0, costs.flat.total + 10**9, 4))):
        outcome = policy.serve(X, limit)
        for row, values in enumerate(X):
            raw, bought, evaluated = run_case(policy, values, limit)
            budget = None if limit is None else limit / 10**9
            session = Session(policy, budget=budget, one_by_one=bool(row % 2))
            order = tell_all(session, values)
            assert (raw == outcome.raw[row]).all()
            assert session.prediction == outcome.raw[row, 0]
            assert (bought == outcome.acquired[row]).all()
            assert evaluated == outcome.evaluated[row]
            assert {costs.index(f) for f in order} == set(np.flatnonzero(bought))
            for place, feature in enumerate(order):
                assert needed(costs, feature) <= set(order[: place + 1])
            bill = int(costs.quanta(bought, evaluated))
            assert session.spent == bill / 10**9
            assert limit is None or bill <= limit
            assert float(session.ledger.total) == session.spent
            twin = Session.from_dict(policy, json.loads(json.dumps(session.to_dict())))
            assert twin.spent == session.spent
            assert twin.prediction == session.prediction


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_what_requires_something_that_cannot_be_had_is_not_asked_for(seed):
    rng = np.random.default_rng(seed)
    costs, trees = random_required(rng), random_trees(rng, n_trees=5, n_features=6)
    policy, row = TreePolicy(costs, Output("value"), trees), random_rows(rng, 1, 6)[0]
    hide = {f for f in costs.features if rng.random() < 0.3}
    session = Session(policy, one_by_one=True)
    order = tell_all(session, row, hide)
    assert len(order) == len(set(order))
    for feature in session.known:
        assert not needed(costs, feature) & hide
    assert session.prediction is not None


def chain():
    """A tree on a biopsy, which requires a scan."""
    from worthwhile.core.trees import Trees

    trees = Trees.build(
        [0, -1, -1], [0.5, 0, 0], [1, -1, -1], [2, -1, -1], [[0.0], [1], [2]], [0], [0.0]
    )
    costs = Costs({"biopsy": 10, "scan": 5}, requires={"biopsy": "scan"})
    return TreePolicy(costs, Output("value"), trees)


def test_the_scan_is_asked_for_before_the_biopsy():
    session = Session(chain())
    assert session.ask() == ["scan", "biopsy"]
    assert "requires" in session.why("scan")
    assert session.quote("biopsy") == 15
    session.tell({"biopsy": 1.0, "scan": 3.0})
    assert session.spent == 15
    assert session.prediction == 2
    assert [(e.feature, float(e.price)) for e in session.ledger] == [("scan", 5), ("biopsy", 10)]


def test_both_or_neither_fit_the_budget():
    assert Session(chain(), budget=14.99).ask() == []
    assert Session(chain(), budget=15).ask() == ["scan", "biopsy"]


def test_a_scan_that_is_known_is_not_bought_again():
    session = Session(chain(), budget=10)
    session.tell({"scan": 2.0})
    assert session.ask() == ["biopsy"]


def test_without_a_scan_there_is_no_biopsy():
    session = Session(chain())
    session.tell({"scan": UNAVAILABLE})
    assert session.ask() == []
    session = Session(chain())
    session.ask()
    session.tell({"scan": UNAVAILABLE})
    assert session.ask() == []
    assert session.spent == 0


REFUSED = [
    ({"requires": ["b"]}, "requires is a list: give a mapping, .'biopsy': 'scan'."),
    ({"requires": {"a": 1.5}}, "requires of 'a' is 1.5: give a feature, or a list of them"),
    ({"requires": {"a": "c"}}, "unknown feature 'c'"),
    ({"requires": {"c": "a"}}, "unknown feature 'c'"),
    ({"requires": {"a": "a"}}, "'a' requires itself, by way of what it requires"),
    ({"requires": {"a": ["b"], "b": "a"}}, "'a' requires itself"),
]


@pytest.mark.parametrize(("arguments", "text"), REFUSED)
def test_wrong_requirements_are_refused(arguments, text):
    with pytest.raises(CostsError, match=text):
        Costs({"a": 1, "b": 2}, **arguments)


def test_selecting_away_what_is_required_is_refused():
    costs = Costs({"a": 1, "b": 2}, requires={"a": "b"})
    with pytest.raises(CostsError, match="'a' requires 'b', which is not among the columns"):
        costs.select(["a"])
    assert costs.select(["b"]).requires == {}


WRONG = [
    ("a: c", "line 3: requires names 'c', which has no price under 'features:'"),
    ("c: a", "line 3: requires names 'c'"),
    ("a: {b: 1}", "line 3: requires of 'a' must be text"),
    ("a: [b, a]", "line 3: 'a' requires itself"),
]


@pytest.mark.parametrize(("line", "text"), WRONG)
def test_wrong_requirements_in_a_file_are_refused_with_their_line(tmp_path, line, text):
    path = tmp_path / "costs.yaml"
    path.write_text(f"features: {{a: 1, b: 2}}\nrequires:\n  {line}\n", encoding="utf-8")
    with pytest.raises(CostsError, match=text):
        Costs.from_yaml(path)
