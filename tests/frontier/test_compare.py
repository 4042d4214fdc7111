"""Comparisons: same rows for all, chosen on validation, one method's failure costs no other."""

from __future__ import annotations

import json

import numpy as np
import pytest

from worthwhile import BudgetClassifier, Comparison, Costs, compare, datasets
from worthwhile.exceptions import WorthwhileWarning
from worthwhile.frontier import METHODS, Frontier, Point, train_choice
from worthwhile.frontier import _compare as module
from worthwhile.frontier._comparison import MIXED, Run
from worthwhile.frontier._methods import Method, Task, read_methods


@pytest.fixture(scope="module")
def data():
    return datasets.make_priced_classification(200, seed=3)


@pytest.fixture(scope="module")
def found(data):
    names = ["greedy-miser", "decision-tree", "random-forest"]
    return compare(*data, names, [2, 20], n_splits=2, effort=2)


def handmade():
    def frontier(*points):
        return Frontier(
            [Point(c, s, test_cost=c, test_score=t) for c, s, t in points], full_cost=10
        )

    runs = [
        Run(
            {"a": frontier((0, 0.5, 0.5), (4, 0.9, 0.8 + i / 10)), "b": frontier((0, 0.5, 0.5), (1, 0.7, 0.7))},
            {"a": 1.0, "b": 3.0},
        )
        for i in range(2)
    ]  # fmt: skip
    return Comparison(runs, [1, 5], peers=["b"])


def test_tables_hold_what_was_chosen_on_validation_and_reported_on_test():
    table = handmade().table(tolerance=0.05)
    assert table.index.tolist() == ["a", "b", MIXED]
    assert table["budget 1", "score"].tolist() == pytest.approx([0.5, 0.7, 0.7])
    assert table["budget 5", "score"].tolist() == pytest.approx([0.85, 0.7, 0.85])
    assert table["budget 5", "cost"].tolist() == [4, 1, 4]
    assert table["all budgets", "cost within 0.05"].tolist() == pytest.approx(
        [4, np.nan, 4], nan_ok=True
    )
    assert table["all budgets", "area"].tolist()[:2] == pytest.approx(
        [0.4 * 0.5 + 0.6 * 0.85, 0.05 + 0.63]
    )
    assert table["all budgets", "seconds"].tolist() == [1, 3, 4]


def test_mixing_methods_by_budget_takes_the_best_of_each():
    comparison = handmade()
    assert comparison.best(1).method == "b"
    assert comparison.best(5).method == "a"
    assert comparison.best(5, among=["b"]).test_score == pytest.approx(0.7)
    assert comparison.best(5).points[0].cost == 4


def test_intervals_allow_for_splits_that_share_rows():
    differences = handmade().differences("b").set_index(["method", "budget"])
    row = differences.loc["a", 5.0]
    assert row["difference"] == pytest.approx(0.15)
    half = 12.706 * np.sqrt(0.005 * (1 / 2 + 1 / 3))  # t with one degree of freedom
    assert row["high"] - row["difference"] == pytest.approx(half, rel=1e-3)
    alone = Comparison(handmade().runs[:1], [5]).differences("b")
    assert alone["low"].isna().all()


def test_stored_comparisons_read_back():
    comparison = handmade()
    again = Comparison.from_dict(json.loads(json.dumps(comparison.to_dict())))
    assert again.to_dict() == comparison.to_dict()
    assert again.table().equals(comparison.table())
    assert "2 methods, 2 splits" in repr(again)
    text = again.to_markdown()
    assert "| b (peer) |" in text
    assert "Means over 2 random splits" in text


def test_every_method_has_the_prior_for_nothing(found):
    for split in range(2):
        for name in found.methods:
            assert found.frontier(name, split).cost.min() == 0
    assert found.peers == ["decision-tree", "random-forest"]


def test_methods_see_the_same_rows_and_nothing_of_the_test(data, monkeypatch):
    seen = []

    def build(task):
        seen.append(task.rows.y.copy())
        return METHODS["decision-tree"].build(task)

    monkeypatch.setitem(METHODS, "one", Method(build))
    monkeypatch.setitem(METHODS, "other", Method(build))
    compare(*data, ["one", "other"], [5], n_splits=2, effort=1)
    assert (seen[0] == seen[1]).all()
    assert len(seen[0]) == 112  # of 200, less 50 for the test and 38 for validation


def test_groups_stay_together(data, monkeypatch):
    groups = np.arange(200) // 10
    splits = []
    run = module._split
    monkeypatch.setattr(module, "_split", lambda *a: splits.append(run(*a)) or splits[-1])
    compare(*data, ["decision-tree"], [5], n_splits=2, effort=1, groups=groups)
    for parts in splits:
        seen = [set(groups[part]) for part in parts]
        assert len(seen[0] | seen[1] | seen[2]) == sum(map(len, seen))


def test_a_method_that_fails_is_left_out_with_the_reason(data, monkeypatch):
    def fail(task):
        raise RuntimeError("no wine today")

    monkeypatch.setitem(METHODS, "failing", Method(fail))
    with pytest.warns(WorthwhileWarning, match="failing is left out: RuntimeError: no wine today"):
        found = compare(*data, ["decision-tree", "failing"], [5], n_splits=1, effort=1)
    assert found.methods == ["decision-tree"]
    assert "failing could not be run" in found.to_markdown()
    with (
        pytest.warns(WorthwhileWarning),
        pytest.raises(ValueError, match=r"every method failed: .*no wine today"),
    ):
        compare(*data, ["failing"], [5], n_splits=1, effort=1)


def test_a_comparison_is_resumed_from_its_journal(data, tmp_path, monkeypatch):
    path = tmp_path / "compare.jsonl"
    first = compare(*data, ["decision-tree"], [5], n_splits=1, effort=2, resume=path)
    calls = []
    run = module.sweep_method
    monkeypatch.setattr(module, "sweep_method", lambda *a: calls.append(a[0]) or run(*a))
    more = compare(
        *data, ["decision-tree", "cost-weighted-l1"], [5], n_splits=1, effort=2, resume=path
    )
    assert calls == ["cost-weighted-l1"]
    assert (
        more.frontier("decision-tree", 0).to_dict() == first.frontier("decision-tree", 0).to_dict()
    )


def test_regression_is_compared_by_r2():
    X, y, costs = datasets.make_priced_regression(150, seed=0)
    found = compare(X, y, costs, ["greedy-miser", "decision-tree"], [10], n_splits=1, effort=2)
    assert found.score_name == "R2"
    assert found.best(40).test_score > 0.2


def test_all_is_what_applies_and_is_installed(data):
    rows, costs, _ = module._read(*data)
    binary = read_methods("all", Task(rows, costs, 2))
    many = read_methods("all", Task(rows, costs, 5))
    numbers = read_methods("ours", Task(rows, costs, 0))
    assert "adaptive-linear" in binary
    assert "cascade" not in many
    assert "l1-gate" not in numbers
    assert not set(read_methods("peers", Task(rows, costs, 2))) & set(numbers)
    assert all(METHODS[name].installed() for name in binary)


@pytest.mark.parametrize(
    ("params", "error", "text"),
    [
        ({"methods": "best"}, ValueError, "methods has 'best': use 'all', 'ours', 'peers', or a list of"),
        ({"methods": []}, ValueError, "methods is empty"),
        ({"n_splits": 0}, ValueError, "n_splits is 0: it is a whole number of at least 1"),
        ({"effort": 1.5}, ValueError, "effort is 1.5: it is a whole number of at least 1"),
        ({"test_size": 2}, ValueError, "test_size is 2: it is a share between 0 and 1"),
    ],
)  # fmt: skip
def test_refusals_say_what_to_do(data, params, error, text):
    with pytest.raises(error, match=text):
        compare(*data, **{"methods": ["decision-tree"], **params})


def test_methods_that_do_not_apply_are_refused_by_name(monkeypatch):
    X, y, costs = datasets.make_priced_regression(60, seed=0)
    with pytest.raises(ValueError, match="'l1-gate', which does not apply to regression"):
        compare(X, y, costs, ["l1-gate"])
    monkeypatch.setitem(METHODS, "rare", Method(lambda task: None, needs="no_such_library"))
    with pytest.raises(ImportError, match="'rare', which needs no_such_library: install it"):
        compare(X, y, costs, ["rare"])
    with pytest.raises(ValueError, match="method is 'c': it is one of a, b, best on validation"):
        handmade().frontier("c", 0)
    with pytest.raises(ValueError, match="among is empty"):
        handmade().best(1, among=[])


def test_bare_arrays_cost_one_each():
    X, y, _ = datasets.make_priced_classification(80, seed=0)
    found = compare(X.to_numpy(), y, None, ["decision-tree"], [3], n_splits=1, effort=1)
    assert found.full_cost == X.shape[1] == Costs.of(None, X.shape[1]).total


def test_after_the_time_no_further_method_begins(data):
    names = ["decision-tree", "random-forest"]
    with pytest.warns(WorthwhileWarning, match="random-forest is left out: it was not begun"):
        found = compare(*data, names, [5], n_splits=2, effort=1, time_limit=0)
    assert found.methods == ["decision-tree"]
    assert len(found.runs) == 1
    whole = compare(*data, names, [5], n_splits=2, effort=1, time_limit=600)
    assert (len(whole.runs), whole.methods, whole.failures) == (2, names, {})
    first = compare(*data, names[:1], [5], n_splits=1, effort=1)
    figures = [[p.test_score for p in one.frontier("decision-tree", 0)] for one in (found, first)]
    assert figures[0] == figures[1]
    with pytest.raises(ValueError, match="time_limit is -1: give seconds"):
        compare(*data, names, [5], time_limit=-1)


def test_splits_that_are_not_done_are_left_out():
    done = {("a", 0): 1, ("b", 0): 1, ("a", 1): 1}
    assert module._whole_splits(done, ["a", "b"], 2) == 1
    assert module._whole_splits({**done, ("b", 1): 1}, ["a", "b"], 2) == 2
    assert module._whole_splits({("a", 0): 1}, ["a", "b"], 2) == 1


def test_what_promises_by_itself_learns_from_all_rows_but_the_test_ones(data, monkeypatch):
    X, y, costs = data
    seen = []
    fit = BudgetClassifier.fit

    def watched(self, X, y, **more):
        seen.append((len(X), self.cross_validated))
        return fit(self, X, y, **more)

    monkeypatch.setattr(BudgetClassifier, "fit", watched)
    found = compare(X, y, costs, ["budget"], [5], n_splits=1, effort=1)
    assert seen == [(150, True)]
    points = found.frontier("budget", 0).points
    split = module._split(module._read(X, y, costs)[0], 2, None, 0.25, 0)
    rows = np.sort(np.concatenate(split[:2]))
    own = BudgetClassifier(costs=costs, random_state=0).fit(X.iloc[rows], y[rows])
    assert [(p.cost, p.score) for p in points] == [
        (line.cost, line.score) for line in own.frontier_.itertuples()
    ]
    last = own.at(stage=own.n_stages_ - 1)
    assert points[-1].test_score == last.score(X.iloc[split[2]], y[split[2]])
    assert points[-1].test_cost == pytest.approx(last.cost(X.iloc[split[2]]).mean())
    again = train_choice(found.best(), X.iloc[rows], y[rows], costs)
    assert again.budget == found.best().points[0].params["budget"]
    seen.clear()
    compare(X, y, costs, ["budget"], [5], n_splits=1, effort=1, scoring="balanced_accuracy")
    assert seen == [(112, False)]
