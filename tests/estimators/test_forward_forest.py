"""Forests on ever longer lists of features."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import costwise
from costwise import Costs, ForwardForestClassifier
from costwise.estimators.forward_forest import _lengths
from costwise.testing import check_contract


@pytest.fixture(scope="module")
def data():
    """Column 0 tells most, column 1 half as much, the others nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    return X, (X[:, 0] + 0.6 * X[:, 1] > 0).astype(int)


def fitted(data, **params):
    return ForwardForestClassifier(n_trees=10, n_search_trees=5, random_state=0, **params).fit(
        *data
    )


def cut(model, length):
    """The list of this length, without exits."""
    stages = model.stages_
    line = stages.index[(stages["n_features"] == length) & stages["certainty"].isna()]
    return model.truncate(int(line[0]))


def test_what_adds_most_for_its_price_comes_first(data):
    assert fitted(data).order_[:2] == [0, 1]
    dear = [50, 1, 9, 9, 9]
    assert fitted(data, costs=dear).order_[0] == 1
    assert fitted(data, costs=dear, price_power=0).order_[0] == 0


def test_each_length_reads_only_the_first_of_the_list(data):
    model = fitted(data)
    for length in range(6):
        read = np.flatnonzero(cut(model, length).acquired(data[0]).any(axis=0)).tolist()
        assert set(read) <= set(model.order_[:length])
    assert cut(model, 2).score(*data) > 0.9
    assert model.trace_["cost"].tolist() == [1, 2, 3, 4, 5]
    short = fitted(data, n_features=2)
    assert (short.predict(data[0]) == cut(model, 2).predict(data[0])).all()


def test_rows_leave_when_they_are_certain_enough(data):
    X, y = data
    bills = [fitted(data, certainty=level).cost(X) for level in (0.0, 0.55, 0.9, 1.0)]
    assert all((low <= high).all() for low, high in itertools.pairwise(bills))
    assert bills[0].max() == 1
    assert 1 < bills[1].mean() < 4
    assert bills[3].mean() > 4.5
    model = fitted(data, certainty=0.55)
    assert model.score(X, y) > 0.9
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(len(y)))
    stage = int(model.stages_.index[(model.stages_ == [5, 0.55]).all(axis=1)][0])
    assert (fitted(data).truncate(stage).predict_proba(X) == model.predict_proba(X)).all()


def test_exits_keep_the_laws():
    check_contract(
        ForwardForestClassifier(2, certainty=0.6, n_trees=2, n_search_trees=2, random_state=0)
    )


def test_no_feature_leaves_the_shares_of_the_classes(data):
    X, y = data
    found = cut(fitted(data), 0)
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
    assert len(ForwardForestClassifier(costs=[1, 2, 3, 4, 5]).trade_off_grid(X)) == 3


def test_a_search_goes_through_all_lengths(data):
    search = costwise.BudgetSearchCV(
        ForwardForestClassifier(n_trees=5, n_search_trees=2, random_state=0), 2, cv=2
    )
    search.fit(*data)
    assert 1 < search.best_cost_ <= 2
    assert len(search.frontier_) == len(search.best_estimator_.stages_)


def test_cutting_is_refused_where_there_is_nothing_to_cut_to(data, tmp_path):
    model = fitted(data)
    with pytest.raises(ValueError, match="stage is 99: the model has stages 0 to"):
        model.truncate(99)
    model.save(tmp_path / "m.costwise")
    read = costwise.load(tmp_path / "m.costwise")
    assert (read.predict_proba(data[0]) == model.predict_proba(data[0])).all()
    with pytest.raises(ValueError, match="read from a file, which holds one stage"):
        read.truncate(1)
