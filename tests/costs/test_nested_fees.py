"""Fees that nest and cross: the price of a set is the sum over the union of what it opens."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from worthwhile.costs import Costs, FlatCosts
from worthwhile.exceptions import CostsError

seeds = st.integers(0, 10**6)


def random_nested(rng, d=6, groups=5):
    """Costs by name; a group stands within groups that come after it."""
    names = [f"f{i}" for i in range(d)]
    specs = {}
    for g in range(groups):
        outer = [f"g{h}" for h in range(g + 1, groups) if rng.random() < 0.4]
        members = [name for name in names if rng.random() < 0.3] or [names[g % d]]
        specs[f"g{g}"] = {"fee": int(rng.integers(0, 6)), "features": members, "within": outer}
    prices = dict(zip(names, rng.integers(0, 5, d).tolist(), strict=True))
    return Costs(prices, specs, evaluation=Decimal("0.5"), unit="CAD")


def opened(costs, feature):
    """All groups whose fee a feature opens, from the description alone."""
    found = {name for name, g in costs.groups.items() if feature in g.features}
    while more := {outer for name in found for outer in costs.groups[name].within} - found:
        found |= more
    return found


def due(costs, features):
    """The price of a set, from the description alone."""
    fees = set().union(*(opened(costs, f) for f in features)) if features else set()
    own = sum((costs.prices[f] for f in features), Decimal(0))
    return own + sum((costs.groups[name].fee for name in fees), Decimal(0))


@given(seeds)
@settings(max_examples=60, deadline=None)
def test_a_set_costs_the_union_of_what_it_opens(seed):
    rng = np.random.default_rng(seed)
    costs = random_nested(rng)
    masks = rng.random((20, 6)) < 0.4
    for mask, price in zip(masks, costs.price(masks), strict=True):
        bought = [f for f, own in zip(costs.features, mask, strict=True) if own]
        assert price == float(due(costs, bought))
        for feature in costs.features:
            more = float(due(costs, {*bought, feature}) - due(costs, bought))
            assert costs.marginal(feature, mask) == more
    for f, fees in zip(costs.features, map(costs.fees_of, costs.features), strict=True):
        assert set(fees) == opened(costs, f)
        assert len(fees) == len(set(fees))


@pytest.mark.parametrize("seed", range(40))
def test_every_form_keeps_the_structure(seed, tmp_path):
    rng = np.random.default_rng(seed)
    costs = random_nested(rng)
    path = tmp_path / "costs.yaml"
    costs.to_yaml(path)
    assert Costs.from_yaml(path) == costs
    assert Costs.from_dict(costs.to_dict()) == costs
    shuffled = [costs.features[i] for i in rng.permutation(6)]
    some = costs.select(shuffled[: int(rng.integers(1, 7))])
    for count in range(1, some.n_features + 1):
        bought = list(some.features[:count])
        assert some.price(bought) == float(due(costs, bought))
    assert costs.resolve(6, shuffled).price(np.ones(6, dtype=bool)) == costs.total


@given(seeds)
@settings(max_examples=40, deadline=None)
def test_columns_made_from_features_cost_what_the_features_cost(seed):
    rng = np.random.default_rng(seed)
    costs = random_nested(rng)
    counts = rng.integers(0, 4, 6)
    counts[0] = max(counts[0], 1)
    made = costs.expanded(counts.tolist())
    assert made.feature_names is None
    assert made.evaluation == costs.evaluation
    assert made.unit == costs.unit
    source = np.repeat(np.arange(6), counts)
    masks = rng.random((20, counts.sum())) < 0.3
    touched = np.zeros((20, 6), dtype=bool)
    for column, s in enumerate(source):
        touched[:, s] |= masks[:, column]
    np.testing.assert_array_equal(made.quanta(masks), costs.quanta(touched))


def test_columns_one_to_one_stay_plain():
    costs = Costs([1, 2], {"g": {"fee": 3, "features": [0]}})
    assert costs.expanded([1, 1]) == costs


def test_a_made_column_may_have_the_name_of_a_group():
    costs = Costs({"g": 2, "a": 1}, {"g": {"fee": 3, "features": ["a"]}})
    made = costs.expanded([2, 2])
    assert sorted(made.groups) == ["a", "g", "value of g"]
    assert made.price([0, 1]) == 2


def test_wrong_counts_are_refused():
    with pytest.raises(CostsError, match="counts has 1 numbers for 2 features"):
        Costs([1, 2]).expanded([1])
    with pytest.raises(CostsError, match="counts is 0 everywhere"):
        Costs([1, 2]).expanded([0, 0])


def test_simple_prices_are_written_as_before():
    costs = Costs({"a": 1, "b": 2}, {"g": {"fee": 0.1, "features": ["b", "a"]}})
    assert costs.to_dict() == {
        "unit": "", "evaluation": "0", "names": ["a", "b"], "prices": ["1", "2"],
        "groups": {"g": {"fee": "0.1", "features": ["a", "b"]}},
    }  # fmt: skip


YAML = """features: {chol: 5, hdl: 1, ph: 2}
groups:
  courier: {fee: 10}
  blood: {fee: 3, features: [chol], within: courier}
  panel: {fee: 4, features: [hdl], within: [blood]}
  urine:
    fee: 2
    features: [ph]
    within: courier
"""


def test_groups_within_groups_in_a_file(tmp_path):
    path = tmp_path / "costs.yaml"
    path.write_text(YAML, encoding="utf-8")
    costs = Costs.from_yaml(path)
    assert costs.price(["hdl"]) == 18
    assert costs.price(["hdl", "ph"]) == 22
    assert costs.groups["panel"].within == ("blood",)
    assert costs.fees_of("hdl") == ("courier", "blood", "panel")


WRONG = [
    ("g: {fee: 1}", "line 3: group 'g' has no features; list them, or drop it"),
    ("g: {features: [a]}", "line 3: group 'g' must have 'fee' and 'features', may have 'within'"),
    ("g: {fee: 1, features: [a], in: h}", "line 3: group 'g' must have 'fee'"),
    ("g: {fee: 1, features: [a], within: h}", "line 3: group 'g' stands within 'h', which is no"),
    ("g: {fee: 1, features: [a], within: {}}", "line 3: within of group 'g' must be text"),
    ("g: {fee: 1, features: [a], within: g}", "line 3: group 'g' stands within itself"),
    ("g: {fee: 1, features: [a, a]}", "line 3: 'a' is in group 'g' already"),
]


IN_PYTHON = [
    ({"fee": 1, "in": "h"}, "group 'g' is .*: give it as .*, with 'within': the group or groups"),
    ({"fee": 1, "within": 3}, "within of group 'g' is 3: give a group, or a list of groups"),
    (
        {"fee": 1, "within": "h"},
        "group 'g' stands within 'h', which is no group: the groups are 'g'",
    ),
    ({"fee": 1, "within": ["g"]}, "group 'g' stands within itself, by way of its 'within'"),
]


@pytest.mark.parametrize(("spec", "text"), IN_PYTHON)
def test_wrong_nesting_is_refused_by_name(spec, text):
    with pytest.raises(CostsError, match=text):
        Costs({"a": 1}, {"g": {"features": ["a"], **spec}})


def test_a_circle_of_groups_is_refused():
    outer, inner = {"fee": 1, "within": "g"}, {"fee": 1, "features": ["a"], "within": "h"}
    with pytest.raises(CostsError, match="group 'g' stands within itself"):
        Costs({"a": 1}, {"g": inner, "h": outer})


@pytest.mark.parametrize(("group", "text"), WRONG)
def test_wrong_nesting_in_a_file_is_refused_with_its_line(tmp_path, group, text):
    path = tmp_path / "costs.yaml"
    path.write_text(f"features: {{a: 1}}\ngroups:\n  {group}\n", encoding="utf-8")
    with pytest.raises(CostsError, match=text):
        Costs.from_yaml(path)


def test_flat_costs_know_what_is_left():
    flat = FlatCosts.of([1, 2, 3], [[0], [0, 1], []], [10, 100], 7)
    left = flat.after([0])
    assert left.alone.tolist() == [0, 102, 3]
    assert flat.opened_by(np.array([False, True, False])).tolist() == [True, True]
    assert left.total == 105
    assert flat.bill(np.ones((1, 3), dtype=bool), np.array([2])).tolist() == [130]
