"""Prices: exact in any order, refused by name, the same in every form."""

from __future__ import annotations

import itertools
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from worthwhile import Costs
from worthwhile.costs import (
    MOST_QUANTA,
    as_decimal,
    as_float,
    as_floats,
    budget_quanta,
    to_quanta,
)
from worthwhile.exceptions import CostsError

amounts = st.decimals(min_value=0, max_value=1000, places=9, allow_nan=False, allow_infinity=False)
BLOOD = {"blood": {"fee": 2.10, "features": ["chol", "fbs"]}}


@st.composite
def described(draw, named=None):
    """Costs with groups, and the prices they were made of."""
    prices = draw(st.lists(amounts, min_size=1, max_size=7))
    named = draw(st.booleans()) if named is None else named
    keys = [f"f{i}" for i in range(len(prices))] if named else list(range(len(prices)))
    owner = draw(st.lists(st.integers(-1, 2), min_size=len(prices), max_size=len(prices)))
    groups = {
        f"g{g}": {
            "fee": draw(amounts),
            "features": [k for k, o in zip(keys, owner, strict=True) if o == g],
        }
        for g in sorted(set(owner) - {-1})
    }
    given_as = dict(zip(keys, prices, strict=True)) if named else prices
    costs = Costs(
        given_as, groups, evaluation=draw(amounts), unit=draw(st.sampled_from(["", "CAD"]))
    )
    return costs, dict(zip(keys, prices, strict=True)), groups


# Exactness -----------------------------------------------------------------------------------------


def test_a_tenth_and_two_tenths_are_three_tenths():
    costs = Costs([0.1, 0.2])
    assert costs.price([True, True]) == 0.3
    assert costs.price(np.array([[True, True], [True, False]])).tolist() == [0.3, 0.1]


@settings(max_examples=50, deadline=None)
@given(made=described(), data=st.data())
def test_any_order_of_purchases_comes_to_the_same_total(made, data):
    costs, prices, groups = made
    bought = data.draw(st.lists(st.sampled_from(list(prices)), unique=True))
    expected = sum((prices[f] for f in bought), Decimal(0)) + sum(
        (g["fee"] for g in groups.values() if set(bought) & set(g["features"])), Decimal(0)
    )
    for order in itertools.islice(itertools.permutations(bought), 6):
        have, total = [], 0
        for feature in order:
            mask = np.isin(np.arange(costs.n_features), [costs.index(f) for f in have])
            total += costs.marginal_quanta(costs.index(feature), mask)
            assert costs.marginal(feature, have) == as_float(
                costs.marginal_quanta(costs.index(feature), mask)
            )
            have.append(feature)
        assert as_decimal(total) == expected
        assert costs.price(list(order)) == float(expected)
    assert all(costs.marginal(feature, bought) == 0.0 for feature in bought)


def test_the_flat_prices_of_purchases_are_those_of_the_price_list():
    flat = Costs(
        {"age": 1, "chol": 5, "fbs": 3}, {"blood": {"fee": 2, "features": ["chol", "fbs"]}}
    ).flat
    assert (flat.alone / 1e9).tolist() == [1, 7, 5]
    assert flat.total == 11 * 10**9
    after = flat.after([1])
    assert (after.alone / 1e9).tolist() == [1, 0, 3]
    assert (flat.after(np.array([True, False, True])).alone / 1e9).tolist() == [0, 5, 0]
    assert (flat.alone / 1e9).tolist() == [1, 7, 5], "what was bought changed the list"
    assert flat.after([0]).total == 10 * 10**9, "no group was opened"


def test_a_bill_counts_features_fees_and_evaluations():
    costs = Costs([1, 5, 3], {"blood": {"fee": 2, "features": [1, 2]}}, evaluation=0.25)
    mask = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0]], dtype=bool)
    assert costs.price(mask, np.array([4, 1, 2])).tolist() == [11.0, 1.25, 0.5]
    assert costs.price(mask[0], 4) == 11.0
    assert costs.quanta(mask).tolist() == [10 * 10**9, 10**9, 0]


def test_a_price_is_the_shortest_decimal_of_its_own_type():
    for value in (0.1, np.float64(0.1), np.float32(0.1), np.float16(0.1), Decimal("0.1")):
        assert Costs([value]).prices[0] == Decimal("0.1")
    assert Costs(np.array([0.1, 0.7], dtype=np.float32)).price([True, True]) == 0.8
    assert Costs(np.array([3, 4], dtype=np.uint8)).total == 7.0


def test_prices_keep_nine_decimals_and_round_half_to_even():
    assert to_quanta(Decimal("1.0000000015"), "p") == 1_000_000_002
    assert to_quanta(Decimal("1.0000000025"), "p") == 1_000_000_002
    assert to_quanta(0.0000000006, "p") == 1


@given(quanta=st.integers(0, MOST_QUANTA))
def test_floats_of_amounts_are_the_nearest(quanta):
    assert as_float(quanta) == float(Fraction(quanta, 10**9)) == float(as_decimal(quanta))
    assert as_floats(np.array([quanta])).tolist() == [as_float(quanta)]


@settings(deadline=None)
@given(budget=st.one_of(amounts, st.floats(0, 1e6)))
def test_a_budget_is_rounded_down(budget):
    quanta = budget_quanta(budget)
    exact = Fraction(str(budget)) * 10**9
    assert quanta <= exact < quanta + 1


def test_a_budget_with_many_digits_is_still_rounded_down():
    assert budget_quanta(Decimal("0.0000000019" + "9" * 40)) == 1


def test_no_budget_and_an_infinite_one_are_no_limit():
    for budget in (None, float("inf"), np.float32("inf"), Decimal("inf")):
        assert budget_quanta(budget) is None
    assert budget_quanta(1e300) == MOST_QUANTA


@pytest.mark.parametrize("budget", [-1, float("nan"), Decimal("nan"), -0.5, float("-inf")])
def test_bad_budgets_are_refused(budget):
    with pytest.raises(
        ValueError, match=r"budget is .*: give a number >= 0, or None for no limit\."
    ):
        budget_quanta(budget)


@pytest.mark.parametrize("budget", ["12", True, [1]])
def test_budgets_that_are_no_numbers_are_refused(budget):
    with pytest.raises(ValueError, match=r"budget is .*, a (str|bool|list): give a number >= 0"):
        budget_quanta(budget)


# Refusals ------------------------------------------------------------------------------------------

REFUSED = [
    (({"age": -1},), "price of 'age' is -1: a price is a number >= 0. Use 0 for a free feature"),
    (({"age": float("nan")},), "price of 'age' is nan: a price is a number >= 0. Leave a feature"),
    (({"age": float("inf")},), "price of 'age' is inf: a price is a number >= 0. Leave a feature"),
    (({"age": Decimal("sNaN")},), "price of 'age' is sNaN"),
    (({"age": "5"},), "price of 'age' is '5', a str: a price is a number"),
    (({"age": np.str_("5")},), "price of 'age' is .*, a str_: a price is a number"),
    (({"age": None},), "price of 'age' is None, a NoneType"),
    (({"age": True},), "price of 'age' is True, a bool"),
    (({"age": np.True_},), "price of 'age' is .*, a bool"),
    (({"age": 1 + 2j},), r"price of 'age' is \(1\+2j\), a complex"),
    (([1, -2],), "price of column 1 is -2"),
    (({"age": 1e-10},), "price of 'age' is 1e-10: prices keep 9 decimals, so this would round to 0"),
    (({"age": 1e9},), "price of 'age' is 1000000000.0: amounts go up to 9,007,199. Use a larger unit"),
    (([5e6, 5e6],), "all features together cost 10,000,000: a full bill goes up to 9,007,199"),
    (({3: 1},), "feature name 3 is a int: use strings, or give the prices as an array"),
    (({},), "prices is empty"),
    (([],), "prices is empty"),
    (("age",), "prices is a str: give a mapping.*Use Costs.from_yaml"),
    ((7,), "prices is a int: give a mapping"),
    ((np.ones((2, 2)),), r"prices has shape \(2, 2\): give one price per column"),
    ((pd.Series([1, 2], index=["a", "a"]),), "price of 'a' is given twice: keep one"),
    (({"a": 1}, [("g", 1)]), "groups is a list: give a mapping"),
    (({"a": 1}, {7: {"fee": 1, "features": ["a"]}}), "group name 7 is a int: use a string"),
    (({"a": 1}, {"g": {"fee": 1}}), "group 'g' has no features: list them, or drop the group"),
    (({"a": 1}, {"g": {"features": ["a"]}}), "group 'g' is .*: give it as"),
    (({"a": 1}, {"g": 3}), "group 'g' is 3: give it as"),
    (({"a": 1}, {"g": {"fee": -1, "features": ["a"]}}), "fee of group 'g' is -1"),
    (({"a": 1}, {"g": {"fee": 1, "features": "a"}}), "features of group 'g' is 'a': give a list"),
    (({"a": 1}, {"g": {"fee": 1, "features": 4}}), "features of group 'g' is 4: give a list"),
    (({"a": 1}, {"g": {"fee": 1, "features": []}}), "group 'g' has no features: list them"),
    (({"a": 1}, {"g": {"fee": 1, "features": ["b"]}}), "unknown feature 'b': the features are 'a'"),
    (({"a": 1}, {"g": {"fee": 1, "features": [0]}}), "unknown feature 0: the features are 'a'"),
    (([1, 1], {"g": {"fee": 1, "features": [2]}}), "unknown feature 2: .* use a column index from 0 to 1"),
    (([1, 1], {"g": {"fee": 1, "features": [True]}}), "unknown feature True"),
    (({"a": 1}, {"g": {"fee": 1, "features": ["a", "a"]}}), "feature 'a' is listed twice in group 'g': keep one"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "text"), REFUSED)
def test_unusable_prices_are_refused_by_name(arguments, text):
    with pytest.raises(CostsError, match=text):
        Costs(*arguments)


def test_unusable_evaluation_and_unit_are_refused():
    with pytest.raises(CostsError, match="evaluation is -1: a price is a number"):
        Costs([1], evaluation=-1)
    with pytest.raises(CostsError, match="unit is 3: it is the name of the unit"):
        Costs([1], unit=3)


def test_purchases_that_make_no_sense_are_refused():
    costs = Costs({"a": 1, "b": 2})
    with pytest.raises(CostsError, match="unknown feature 'c': the features are 'a', 'b'"):
        costs.price(["c"])
    with pytest.raises(CostsError, match=r"acquired has dtype int64 and shape \(2,\)"):
        costs.price(np.array([0, 1]))
    with pytest.raises(
        CostsError, match=r"shape \(3,\): give a list of features, or booleans of shape"
    ):
        costs.price(np.zeros(3, dtype=bool))
    with pytest.raises(CostsError, match="have is a batch"):
        costs.marginal("a", np.zeros((1, 2), dtype=bool))


# Other forms ---------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(made=described(), data=st.data())
def test_selected_columns_cost_what_they_cost(made, data):
    costs, prices, _ = made
    columns = data.draw(st.lists(st.sampled_from(list(prices)), unique=True, min_size=1))
    part = costs.select(columns)
    assert list(part.prices.values()) == [prices[c] for c in columns]
    assert part.price(np.ones(len(columns), dtype=bool)) == costs.price(columns)
    assert (part.evaluation, part.unit) == (costs.evaluation, costs.unit)


def test_selecting_twice_the_same_or_unknown_columns_is_refused():
    costs = Costs({"a": 1, "b": 2})
    with pytest.raises(CostsError, match="columns has a feature twice"):
        costs.select(["a", "a"])
    with pytest.raises(CostsError, match="unknown feature 'z'"):
        costs.select(["z"])


def test_prices_are_resolved_against_the_columns_of_data():
    costs = Costs({"age": 1, "chol": 5.17, "fbs": 3.1}, BLOOD)
    assert costs.resolve(3, ["fbs", "age", "chol"]).features == ("fbs", "age", "chol")
    assert costs.resolve(3, ["fbs", "age", "chol"]).groups["blood"].features == ("fbs", "chol")
    assert Costs([1, 2]).resolve(2, ["a", "b"]).prices == {"a": 1, "b": 2}
    with pytest.raises(CostsError, match="no price for 'bmi': add it to costs, 0 if it is free"):
        costs.resolve(4, ["age", "chol", "fbs", "bmi"])
    with pytest.raises(
        CostsError,
        match=r"costs has prices for 'chol', 'fbs', which the data does not have: use costs.select",
    ):
        costs.resolve(1, ["age"])
    with pytest.raises(CostsError, match="costs are by name but the data has no column names"):
        costs.resolve(3)
    with pytest.raises(CostsError, match="costs has 2 prices but the data has 3 columns"):
        Costs([1, 2]).resolve(3)


def test_estimators_take_costs_in_every_form():
    assert Costs.of(None, 3).total == 3.0
    assert Costs.of({"a": 1, "b": 2}, 2, ["b", "a"]).features == ("b", "a")
    assert Costs.of([1, 2], 2).total == Costs.of(Costs([1, 2]), 2).total == 3.0
    assert Costs.of(pd.Series({"a": 1, "b": 2}), 2, ["a", "b"]).total == 3.0


@settings(max_examples=40, deadline=None)
@given(made=described())
def test_plain_data_reads_back_to_the_same_costs(made):
    costs = made[0]
    again = Costs.from_dict(costs.to_dict())
    assert again == costs
    assert hash(again) == hash(costs)
    assert all(
        (a == b).all() if isinstance(a, np.ndarray) else a == b
        for a, b in zip(again.flat, costs.flat, strict=True)
    )


def test_costs_differ_when_anything_differs():
    costs = Costs({"a": 1}, {"g": {"fee": 1, "features": ["a"]}})
    assert costs != Costs({"a": 1})
    assert costs != Costs({"a": 1}, {"g": {"fee": 2, "features": ["a"]}})
    assert Costs([1]) != Costs({"a": 1})
    assert Costs([1]) != Costs([1], unit="ms")
    assert Costs([1]) != Costs([1], evaluation=1)
    assert Costs([1]) != 1


def test_repr_tells_size_and_total():
    assert repr(Costs({"a": 1.5, "b": 2}, {"g": {"fee": 1, "features": ["a"]}}, unit="CAD")) == (
        "Costs(2 features, 1 groups, 4.5 CAD in all)"
    )


# Files ---------------------------------------------------------------------------------------------

names = st.text(st.characters(exclude_categories=["Cs", "Cn"]), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(
    features=st.lists(names, min_size=1, max_size=5, unique=True),
    group=names,
    unit=names,
    data=st.data(),
)
def test_yaml_reads_back_exactly(tmp_path_factory, features, group, unit, data):
    prices = {f: data.draw(amounts) for f in features}
    groups = {group: {"fee": data.draw(amounts), "features": features[:2]}}
    costs = Costs(prices, groups, evaluation=data.draw(amounts), unit=unit)
    path = tmp_path_factory.getbasetemp() / "costs.yaml"
    costs.to_yaml(path)
    assert Costs.from_yaml(path) == costs


@pytest.mark.parametrize("letter", ["x", "ä", "'", "\n", " x", "\U0001f600"])
@pytest.mark.parametrize("length", [900, 1100, 2000])
def test_long_names_are_read_back(tmp_path, letter, length):
    name = "a" + letter * (length // len(letter))
    costs = Costs({name: 1, "b": 2}, {name: {"fee": 3, "features": ["b", name]}}, unit=name)
    costs.to_yaml(tmp_path / "costs.yaml")
    assert Costs.from_yaml(tmp_path / "costs.yaml") == costs


@pytest.mark.parametrize("word", ["true", "null", "No", "on", "e1", "y", "yes", "0x1", "nan"])
def test_words_that_mean_something_to_yaml_stay_text(tmp_path, word):
    Costs({word: 1}).to_yaml(tmp_path / "costs.yaml")
    assert yaml.safe_load((tmp_path / "costs.yaml").read_text()) == {"features": {word: 1}}


@pytest.mark.parametrize("depth", [20, 100_000])
@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_deep_files_are_refused(tmp_path, depth, opening):
    path = tmp_path / "costs.yaml"
    path.write_text("features: {a: 1}\ngroups:\n" + opening * depth, encoding="utf-8")
    with pytest.raises(CostsError, match=r"nested more than 8 deep|not valid YAML"):
        Costs.from_yaml(path)


def test_files_that_are_not_text_are_refused(tmp_path):
    path = tmp_path / "costs.yaml"
    path.write_bytes(b"features:\n  \xff: 1\n")
    with pytest.raises(CostsError, match="not a text file in UTF-8"):
        Costs.from_yaml(path)


def test_many_features_and_groups_are_read_in_one_pass(tmp_path):
    """Minutes if any step looks at all features for each group."""
    names = [f"f{i}" for i in range(20_000)]
    groups = {f"g{name}": {"fee": 1, "features": [name]} for name in names}
    costs = Costs(dict.fromkeys(names, 1), groups)
    assert costs.resolve(len(names), names) == costs
    assert Costs.from_dict(costs.to_dict()) == costs
    assert costs.select(names[::2]).total == 20_000
    costs.to_yaml(tmp_path / "costs.yaml")
    assert Costs.from_yaml(tmp_path / "costs.yaml") == costs
    assert [costs.fees_of(name) for name in names[:2]] == [("gf0",), ("gf1",)]


GOOD = """unit: CAD
evaluation: 0.01
features:
  age: 1
  chol: 5.17
  fbs: 3.10
groups:
  blood: {fee: 2.10, features: [chol, fbs]}
"""


def test_the_documented_schema_is_read(tmp_path):
    path = tmp_path / "costs.yaml"
    path.write_text(GOOD, encoding="utf-8")
    costs = Costs.from_yaml(path)
    assert costs.price(["chol", "fbs"]) == 10.37
    assert (costs.evaluation, costs.unit) == (Decimal("0.01"), "CAD")


BAD_YAML = [
    ("", "the file is empty. It needs 'features:'"),
    ("- 1\n", "line 1: the file must be 'name: value' lines"),
    ("unit: CAD\n", "line 1: no 'features:'; list each feature"),
    ("features:\n  a: 1\n  b: dear\n", "line 3: price of 'b' is 'dear'; a price is a number >= 0"),
    ("features:\n  a: 1\n  b: -2\n", "line 3: price of 'b' is -2; a price is a number >= 0"),
    ("features:\n  a: .nan\n", "line 2: price of 'a' is '.nan'"),
    ("features:\n  a: NaN\n", "line 2: price of 'a' is NaN; a price is a number >= 0"),
    ("features:\n  a: 1e-12\n", "line 2: price of 'a' is 1E-12: prices keep 9 decimals"),
    ("features:\n  a: 1e12\n", "line 2: price of 'a' is 1E.12: amounts go up to 9,007,199"),
    ("features:\n  a: [1]\n", "line 2: price of 'a' must be text"),
    ("features: {}\n", "line 1: 'features:' is empty"),
    ("features: 3\n", "line 1: features must be 'name: value' lines"),
    ("features:\n  a: 1\n  a: 2\n", "line 3: 'a' is given twice in features; keep one"),
    ("features:\n  a: 1\nprices:\n  b: 1\n", "unknown field 'prices'; the fields are features, groups"),
    ("features:\n  a: 1\n  b: [\n", r"line \d+: not valid YAML"),
    ("features:\n  a: 1\ngroups:\n  g: {fee: 1}\n", "line 4: group 'g' has no features"),
    ("features:\n  a: 1\ngroups:\n  g: {fee: 1, features: a}\n", "line 4: features of group 'g' must be a list"),
    ("features:\n  a: 1\ngroups:\n  g: {fee: 1, features: []}\n", "line 4: group 'g' has no features"),
    ("features:\n  a: 1\ngroups:\n  g: {fee: 1, features: [b]}\n", "line 4: group 'g' names 'b', which has no price"),
    ("features:\n  a: 1\ngroups:\n  g: {fee: -1, features: [a]}\n", "line 4: fee of group 'g' is -1"),
    ("features:\n  a: 1\nevaluation: much\n", "line 3: evaluation is 'much'"),
    ("features:\n  a: 1\nunit: [a]\n", "line 3: unit must be text"),
    ("features:\n  a: !!python/object/apply:os.system [echo]\n", "line 2: price of 'a' must be text"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "error"), BAD_YAML)
def test_yaml_errors_say_the_line(tmp_path, text, error):
    path = tmp_path / "costs.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(CostsError, match=error):
        Costs.from_yaml(path)


def test_costs_without_names_cannot_be_a_yaml_file(tmp_path):
    with pytest.raises(CostsError, match="these costs have no feature names"):
        Costs([1]).to_yaml(tmp_path / "costs.yaml")


# Measuring -----------------------------------------------------------------------------------------


def test_measured_prices_are_times_per_row_with_their_spread():
    calls = []

    def slow(sample):
        calls.append(list(sample))
        time.sleep(0.002)

    def fee(sample):
        time.sleep(0.001)

    costs = Costs.measure(
        {"slow": slow, "quick": len},
        [1, 2],
        groups={"g": {"fee": fee, "features": ["slow"]}},
        repeats=3,
    )
    assert calls == [[1, 2]] * 4, "one cold call and three that count"
    assert costs.unit == "s"
    assert costs.prices["slow"] >= Decimal("0.001")
    assert 0 < costs.prices["quick"] < costs.prices["slow"]
    timing = costs.measured["slow"]
    assert costs.prices["slow"] == Decimal(timing.median).scaleb(-9)
    assert timing.fastest <= timing.median <= timing.slowest
    assert timing.spread == (timing.slowest - timing.fastest) / timing.median
    assert costs.groups["g"].fee == Decimal(costs.measured["g"].median).scaleb(-9)
    assert Costs([1]).measured is None


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        (({"a": len}, []), {}, "sample is empty"),
        (({"a": len}, [1]), {"repeats": 0}, "repeats is 0: time each extractor at least once"),
        (({"a": 3}, [1]), {}, "extractor of 'a' is a int: give a function"),
        (({"a": len}, [1]), {"groups": {"g": 3}}, "group 'g' is 3: give it as"),
    ],
)
def test_unusable_measurements_are_refused(arguments, options, text):
    with pytest.raises(CostsError, match=text):
        Costs.measure(*arguments, **options)


def test_features_are_called_by_their_names_or_by_their_columns():
    assert Costs({"a": 1, "b": 2, "c": 3}).names_of([2, 0]) == ["c", "a"]
    columns = [2, 0]
    plain = Costs([1, 2, 3]).names_of(columns)
    assert plain == columns
    assert plain is not columns
