"""Bills are chosen where the same value buys other things on other rows."""

from __future__ import annotations

import numpy as np
import pytest

from worthwhile import (
    CascadeClassifier,
    CostSensitiveTreeClassifier,
    EarlyExitClassifier,
    GreedyMiserClassifier,
)
from worthwhile.estimators._shared.bill_choice import choose_by_bill
from worthwhile.estimators.linear._lam_choice import auto_lams, choose_lam


class _Made:
    """A classifier that pays ``bill`` for every row and is right with a probability of its own."""

    _estimator_type = "classifier"
    classes_ = np.array([0, 1])

    def __init__(self, bill, sure):
        self.bill, self.sure = bill, sure

    def __sklearn_tags__(self):
        return CascadeClassifier().__sklearn_tags__()

    def cost(self, X):
        return np.full(len(X), self.bill)

    def predict_proba(self, X):
        truth = X[:, 0].astype(int)
        p = np.where(np.arange(len(X)) % 10 < 10 * self.sure, truth, 1 - truth)
        return np.column_stack([1 - p, p])


def _fitter(scales):
    """On the k-th set of rows, values mean scales[k] times as much money; half of it buys all there is to know."""
    turn = iter(scales)

    def fitter(X, y, **more):
        scale = next(turn)
        return lambda value: _Made(value * scale, 0.5 + 0.4 * min(1.0, value * scale / 5))

    return fitter


def test_a_bill_is_chosen_and_the_value_that_has_it_on_all_rows():
    y = np.arange(300) % 2
    X = y[:, None].astype(float)
    values = [0.5, 1.0, 2.0, 5.0, 10.0, 20.0]
    cover = lambda bill: [value for value in values if bill(value) is not None]  # noqa: E731
    scales = [1.0, 10.0, 0.5, 2.0]
    found = choose_by_bill(CascadeClassifier(), _fitter(scales), cover, X, y)
    assert found == 2.0  # 5 buys all there is to know: of all rows' bills 4 is the nearest


def test_what_buys_nothing_in_earnest_is_not_taken():
    y = np.arange(300) % 2
    X = y[:, None].astype(float)
    values = [0.1, 2.0, 5.0, 10.0]
    cover = lambda bill: [value for value in values if bill(value) is not None]  # noqa: E731
    in_earnest = lambda X, y, **more: lambda value: _Made(0.0 if value <= 5 else value, 0.9)  # noqa: E731
    found = choose_by_bill(
        CascadeClassifier(), _fitter([1.0] * 4), cover, X, y, in_earnest=in_earnest
    )
    assert found == 10.0


def test_of_equal_bills_one_that_buys_in_earnest_is_found():
    y = np.arange(300) % 2
    X = y[:, None].astype(float)
    values = [1.0, 2.0, 3.0]
    cover = lambda bill: [value for value in values if bill(value) is not None]  # noqa: E731
    fitter = lambda X, y, **more: lambda value: _Made(5.0, 0.9)  # noqa: E731
    in_earnest = lambda X, y, **more: lambda value: _Made(0.0 if value > 1 else 5.0, 0.9)  # noqa: E731
    assert choose_by_bill(CascadeClassifier(), fitter, cover, X, y, in_earnest=in_earnest) == 1.0


def test_few_models_cover_the_bills_from_next_to_nothing_on():
    costs = GreedyMiserClassifier(costs=[1, 1, 50, 50]).fit(*_rows()).costs_
    bill = lambda lam: 102.0 / (1 + (20 * lam) ** 2)  # noqa: E731
    lams = auto_lams(bill, costs)
    bills = np.array([bill(lam) for lam in lams])
    assert lams == sorted(lams, reverse=True)
    assert bills[0] <= 0.05 * costs.total
    assert np.diff(bills).max() < 0.35 * costs.total
    free = GreedyMiserClassifier(costs=[0, 0, 0, 0]).fit(*_rows()).costs_
    assert choose_lam(None, (None, None), free, *_rows()) == 0.0


def _rows(n=240, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + 0.7 * X[:, 1] > 0).astype(int)


LEFT_ALONE = {
    "cstc": CostSensitiveTreeClassifier(costs=[1, 1, 50, 50], max_depth=2, random_state=0),
    "cronus": CascadeClassifier(costs=[1, 1, 50, 50], n_stages=2, n_rounds=20, random_state=0),
    "exits": EarlyExitClassifier(costs=[1, 1, 50, 50]),
}


@pytest.mark.parametrize("name", LEFT_ALONE)
def test_what_is_left_alone_does_not_buy_what_tells_nothing(name):
    X, y = _rows()
    model = LEFT_ALONE[name].fit(X, y)
    new, truth = _rows(200, seed=1)
    assert model.cost(new).mean() < 30
    assert model.score(new, truth) > 0.8


def test_exits_choose_their_booster_only_where_nothing_was_given():
    X, y = _rows()
    prices = [1, 1, 50, 50]
    plain = GreedyMiserClassifier(costs=prices).fit(X, y)
    set_by_hand = EarlyExitClassifier(threshold=1.0, costs=prices).fit(X, y)
    np.testing.assert_array_equal(set_by_hand.acquired(X), plain.acquired(X))
    chosen = EarlyExitClassifier(costs=prices).fit(X, y)
    assert chosen.model is None
    assert chosen.threshold == "auto"
    assert chosen.cost(X).mean() < plain.cost(X).mean() / 2
