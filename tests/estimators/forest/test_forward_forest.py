"""Forests on ever longer lists of features."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import worthwhile
from worthwhile import Costs, ForwardForestClassifier
from worthwhile.core.threads import Threads
from worthwhile.estimators._shared.coded_forests import Table
from worthwhile.estimators.forest._forward_exits import exit_levels
from worthwhile.estimators.forest._forward_search import Kinds
from worthwhile.estimators.forest.forward_forest import _lengths
from worthwhile.testing import check_contract


@pytest.fixture(scope="module")
def data():
    """Column 0 tells most, column 1 half as much, the others nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    return X, (X[:, 0] + 0.6 * X[:, 1] > 0).astype(int)


@pytest.fixture(scope="module")
def model(data):
    """Fitted with unit prices; nobody changes it."""
    return fitted(data)


def fitted(data, **params):
    return ForwardForestClassifier(n_trees=10, n_search_trees=5, random_state=0, **params).fit(
        *data
    )


def cut(model, length):
    """The list of this length, without exits."""
    stages = model.stages_
    line = stages.index[(stages["n_features"] == length) & stages.iloc[:, 1:].isna().all(axis=1)]
    return model.at(stage=int(line[0]))


def test_what_adds_most_for_its_price_comes_first(data, model):
    assert model.order_[:2] == [0, 1]
    dear = [50, 1, 9, 9, 9]
    assert fitted(data, costs=dear, n_features=1).order_[0] == 1
    assert fitted(data, costs=dear, n_features=1, price_power=0).order_[0] == 0


def test_each_length_reads_only_the_first_of_the_list(data, model):
    for length in range(6):
        read = np.flatnonzero(cut(model, length).acquired(data[0]).any(axis=0)).tolist()
        assert set(read) <= set(model.order_[:length])
    assert cut(model, 2).score(*data) > 0.9
    assert model.trace_["cost"].tolist() == [1, 2, 3, 4, 5]
    short = fitted(data, n_features=2)
    assert (short.predict(data[0]) == cut(model, 2).predict(data[0])).all()


def test_rows_leave_when_going_on_is_not_worth_its_price(data):
    X, y = data
    bills = [fitted(data, worth=worth).cost(X).mean() for worth in (0.0, 10.0, 1e4)]
    assert bills[0] == 1
    assert 1 < bills[1] < bills[2]
    model = fitted(data, worth=10.0)
    assert model.score(X, y) > 0.85
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(len(y)))
    assert model.stages_.iloc[-1].tolist()[:2] == [5, 10]


def test_a_share_of_the_rows_leaves_one_length_earlier(data, model):
    stages = model.stages_
    line = stages.index[(stages["n_features"] == 2) & (stages["leaving"] == 0.5)]
    bill = model.at(stage=int(line[0])).cost(data[0])
    assert set(bill) == {1, 2}
    assert bill.mean() == pytest.approx(1.5, abs=0.15)


def test_lists_with_exits_are_read_no_further_than_their_end(data, model):
    with_exits = model.stages_.index[model.stages_["worth"].notna()]
    for stage in with_exits[::5].tolist():
        end = int(model.stages_["n_features"][stage])
        read = np.flatnonzero(model.at(stage=stage).acquired(data[0]).any(axis=0)).tolist()
        assert set(read) <= set(model.order_[:end])


def test_exits_keep_the_laws():
    check_contract(
        ForwardForestClassifier(2, worth=8.0, n_trees=2, n_search_trees=2, random_state=0)
    )


@given(st.integers(0, 10**6), st.floats(0, 20))
@settings(max_examples=40, deadline=None)
def test_each_level_is_the_best_given_the_later_ones(seed, worth):
    """Against all levels that tell rows apart, tried one by one."""
    rng = np.random.default_rng(seed)
    certainty = rng.integers(1, 6, (3, 12)) / 6
    right = rng.integers(0, 2, (3, 12)).astype(float)
    price = np.sort(rng.uniform(0, 4, 3))

    def value(levels, first):
        total = 0.0
        for row in range(12):
            stage = first
            while stage < 2 and certainty[stage, row] <= levels[stage]:
                stage += 1
            total += worth * right[stage, row] - price[stage]
        return total

    found = exit_levels(certainty, right, price, worth)
    for stage in (1, 0):
        for level in (0.0, 0.2, 0.4, 0.6, 0.7, 1.0):
            other = found.copy()
            other[stage] = level
            assert value(other, stage) <= value(found, stage) + 1e-9


def test_free_features_answer_before_anything_is_bought(data):
    model = fitted(data, costs=[0, 1, 1, 1, 1], worth=3.0)
    assert (model.cost(data[0]) == 0).mean() > 0.3


def kinds_of(X, codes, n_trees):
    with Threads(1) as threads:
        n_classes = int(codes.max()) + 1
        return Kinds(Table(X, codes, None, np.ones(len(X)), n_classes, threads), n_trees, 0)


def test_many_exact_classes_want_small_leaves():
    X = np.random.default_rng(0).uniform(size=(300, 2))
    codes = (12 * X[:, 0]).astype(int)
    kinds = kinds_of(X, codes, 24)
    assert kinds.best([0]).min_leaf <= 5
    assert (kinds.grow([0], 1.0).votes.argmax(axis=1) == codes).mean() > 0.9


def test_votes_for_training_rows_are_those_of_trees_that_did_not_see_them():
    """Of noise nothing is learnt, though the forest itself knows its rows by heart."""
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(400, 3)), rng.integers(0, 2, 400)
    length = kinds_of(X, codes, 40).grow([0, 1, 2], 3.0)
    assert (length.votes.argmax(axis=1) == codes).mean() < 0.6
    assert fitted((X, codes)).score(X, codes) > 0.7


def test_any_number_of_threads_grows_the_same(data, tmp_path):
    files = []
    for n_jobs in (1, 3):
        model = fitted(data, worth=5.0, n_jobs=n_jobs).set_params(n_jobs=None)
        model.save(tmp_path / f"{n_jobs}.worthwhile")
        files.append((tmp_path / f"{n_jobs}.worthwhile").read_bytes())
    assert files[0] == files[1]


def test_what_is_missing_tells(data):
    X, y = data[0].copy(), data[1]
    X[:, 2] = np.where(y == 1, np.nan, 0.0)
    model = fitted((X, y), n_features=1)
    assert model.order_[0] == 2
    assert model.score(X, y) == 1


def test_a_class_of_one_row_is_no_obstacle(data):
    X, y = data
    y = y.copy()
    y[0] = 7
    assert fitted((X, y), n_features=2).classes_.tolist() == [0, 1, 7]


def test_no_feature_leaves_the_shares_of_the_classes(data, model):
    X, y = data
    found = cut(model, 0)
    assert found.cost(X).max() == 0
    assert found.predict_proba(X)[:, 1] == pytest.approx(np.full(len(y), y.mean()), abs=0.05)


def test_free_features_are_used_from_the_start(data):
    model = fitted(data, costs=[0, 1, 1, 1, 1])
    assert 0 not in model.order_
    assert cut(model, 0).acquired(data[0])[:, 0].all()
    assert fitted(data, costs=np.zeros(5)).order_ == []


def test_the_rest_of_an_opened_group_is_cheap(data):
    costs = Costs([1, 1, 1, 1, 1], groups={"visit": {"fee": 30, "features": [0, 4]}})
    model = fitted(data, costs=costs)
    assert model.order_[0] == 1
    line = model.trace_.set_index("feature")["cost"]
    assert line.diff().dropna().between(1, 31).all()


def test_long_lists_have_a_forest_for_every_quarter_more():
    assert _lengths(3) == [0, 1, 2, 3]
    lengths = _lengths(50)
    assert lengths[:13] == list(range(13))
    assert lengths[-1] == 50
    assert len(lengths) < 22


def test_prices_decide_whether_there_are_several_lists(data):
    X, _ = data
    assert len(ForwardForestClassifier().trade_off_grid(X)) == 1
    assert len(ForwardForestClassifier(costs=[1, 2, 3, 4, 5]).trade_off_grid(X)) == 2


def test_a_search_goes_through_all_lengths(data):
    search = worthwhile.BudgetSearchCV(
        ForwardForestClassifier(n_trees=5, n_search_trees=2, random_state=0), 2, cv=2
    )
    search.fit(*data)
    assert 1 < search.best_cost_ <= 2
    lengths = [point for point in search.frontier_ if point.case_budget is None]
    assert len(lengths) == len(search.best_estimator_.stages_)


def test_cutting_is_refused_where_there_is_nothing_to_cut_to(data, model, tmp_path):
    with pytest.raises(ValueError, match="stage is 99: the model has stages 0 to"):
        model.at(stage=99)
    model.save(tmp_path / "m.worthwhile")
    read = worthwhile.load(tmp_path / "m.worthwhile")
    assert (read.predict_proba(data[0]) == model.predict_proba(data[0])).all()
    with pytest.raises(ValueError, match="read from a file, which holds one stage"):
        read.at(stage=1)
