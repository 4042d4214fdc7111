"""Two policies and a coin: every row follows one of them, whichever way it is asked."""

from __future__ import annotations

import copy
import itertools
import json

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tests.naive.mixture import follows_dearer
from worthwhile import BudgetClassifier, Costs, PricedModel, Session, load, load_policy
from worthwhile.datasets import make_priced_classification
from worthwhile.exceptions import BadModelFile
from worthwhile.policy.base import run_case
from worthwhile.policy.keys import WHOLE, Coin
from worthwhile.policy.mixture import MixturePolicy
from worthwhile.testing import check_contract

PRICES = [1, 2, 3, 4, 5]


def tree(depth, X, y, costs=PRICES):
    return PricedModel(DecisionTreeClassifier(max_depth=depth, random_state=0).fit(X, y), costs)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 5))
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, (np.nan_to_num(X[:, 0] + X[:, 3] * X[:, 4]) > 0).astype(int)


@pytest.fixture(scope="module")
def trees(data):
    return MixturePolicy(
        tree(2, *data).policy_, tree(6, *data).policy_, Coin(seed=4, share=WHOLE // 2)
    )


@pytest.fixture(scope="module")
def library():
    X, y, costs = make_priced_classification(200, seed=5, missing=0.05)
    data = costs.to_dict()
    costs = Costs.from_dict({**data, "evaluation": "0.037"})
    return BudgetClassifier(costs=costs, n_trees=4, random_state=0).fit(X, y), X.to_numpy()


def points(library, low, high, share=WHOLE // 2):
    policy = library[0].policy_
    return MixturePolicy(policy.at(low), policy.at(high), Coin(9, share))


def pairs_that_share(library):
    """Points of the library that begin alike and part later."""
    policy = library[0].policy_
    count = len(policy.library.rate)
    found = [
        (low, high)
        for low in range(count)
        for high in range(low + 1, count)
        if not points(library, low, high)._parts_at_once(None, ())
        and not np.array_equal(policy.library.choice[low], policy.library.choice[high])
    ]
    assert found
    return found


def test_with_a_key_a_row_is_that_of_one_policy_alone(trees, data):
    X, keys = data[0], [str(number) for number in range(len(data[0]))]
    outcome, dear = trees.serve(X, keys=keys), trees.coin.by_keys(keys)
    for policy, rows in ((trees.first, ~dear), (trees.second, dear)):
        alone = policy.serve(X[rows])
        for part, whole in zip(alone, outcome, strict=True):
            assert np.array_equal(part, whole[rows])
    assert 0.35 < dear.mean() < 0.65


@pytest.mark.parametrize("limit", [None, 0, 3, 6, 10])
def test_without_a_key_rows_follow_as_the_naive_twin_says(trees, data, limit):
    quanta = None if limit is None else limit * 10**9
    outcome = trees.serve(data[0], quanta)
    sides = [policy.serve(data[0], quanta) for policy in (trees.first, trees.second)]
    dear = [follows_dearer(trees, row, quanta) for row in data[0]]
    for row, side in enumerate(dear):
        for got, expected in zip(outcome, sides[side], strict=True):
            assert np.array_equal(got[row], expected[row])
    assert limit in (0, 3) or 0.2 < np.mean(dear) < 0.8


@pytest.mark.parametrize("limit", [None, 6, 12])
def test_points_of_a_library_part_as_the_naive_twin_says(library, limit):
    X, quanta = library[1], None if limit is None else limit * 10**9
    for low, high in pairs_that_share(library)[:4]:
        mixed = points(library, low, high)
        outcome = mixed.serve(X, quanta)
        sides = [policy.serve(X, quanta) for policy in (mixed.first, mixed.second)]
        for number, row in enumerate(X):
            side = follows_dearer(mixed, row, quanta)
            raw, bought, evaluated = run_case(mixed, row, quanta)
            assert np.array_equal(outcome.acquired[number], sides[side].acquired[number])
            assert np.array_equal(outcome.acquired[number], bought)
            assert np.array_equal(outcome.raw[number], raw)
            assert outcome.evaluated[number] == evaluated == sides[side].evaluated[number]


def test_a_row_whose_money_lasts_is_as_without_a_limit(library):
    X = library[1]
    for low, high in pairs_that_share(library)[:4]:
        mixed = points(library, low, high)
        free = mixed.serve(X)
        bills = mixed.bills(free)
        for limit in np.unique(bills):
            tight = mixed.serve(X, int(limit))
            fits = bills <= limit
            for got, expected in zip(tight, free, strict=True):
                assert np.array_equal(got[fits], expected[fits])


def test_a_limit_does_not_bring_together_what_would_part():
    """With all money there is they part at once, and the cheaper is followed; so it is while money lasts."""
    X, y, costs = make_priced_classification(200, seed=5)
    how = {"n_trees": 4, "random_state": 0, "cross_validated": False}
    policy, rows = BudgetClassifier(costs=costs, **how).fit(X, y).policy_, X.to_numpy()
    tried = 0
    for low, high in itertools.combinations(range(len(policy.library.rate)), 2):
        mixed = MixturePolicy(policy.at(low), policy.at(high), Coin(9, WHOLE))
        alone = mixed.first.serve(rows)
        bills = np.unique(mixed.bills(alone))
        if len(bills) < 2 or not np.array_equal(mixed.serve(rows).acquired, alone.acquired):
            continue
        tried += 1
        quanta = int(bills[len(bills) // 2 - 1])
        fits = mixed.bills(alone) <= quanta
        assert 0 < fits.sum() < len(rows)
        assert np.array_equal(mixed.serve(rows, quanta).acquired[fits], alone.acquired[fits])
        row = int(np.argmax(fits))
        assert np.array_equal(run_case(mixed, rows[row], quanta)[1], alone.acquired[row])
    assert tried >= 3


def test_what_was_not_bought_is_not_hashed(trees, data):
    outcome = trees.serve(data[0])
    hidden = np.where(outcome.acquired, data[0], 123.0)
    for got, expected in zip(trees.serve(hidden), outcome, strict=True):
        assert np.array_equal(got, expected)


def test_where_nothing_is_shared_the_cheaper_policy_is_followed(data):
    X, y = data
    cheap = PricedModel(DecisionTreeClassifier(max_depth=1).fit(X * [0, 1, 0, 0, 0], y), PRICES)
    dear = PricedModel(DecisionTreeClassifier(max_depth=4).fit(X * [1, 0, 1, 1, 1], y), PRICES)
    mixed = MixturePolicy(cheap.policy_, dear.policy_, Coin(0, WHOLE))
    assert np.array_equal(mixed.serve(X).acquired, cheap.acquired(X))
    assert Session(mixed).ask() == cheap.session().ask()
    assert np.array_equal(mixed.serve(X, keys=["a"] * len(X)).acquired, dear.acquired(X))


def test_a_price_of_evaluation_or_limits_of_their_own_leave_nothing_to_share(data):
    X, y = data
    costs = Costs(PRICES, evaluation=1)
    mixed = MixturePolicy(
        tree(2, X, y, costs).policy_, tree(6, X, y, costs).policy_, Coin(0, WHOLE)
    )
    assert np.array_equal(mixed.serve(X).acquired, mixed.first.serve(X).acquired)
    assert mixed.keyed(None) is mixed.following(False)
    limited = MixturePolicy(
        tree(2, X, y).within(2).policy_, tree(6, X, y).within(6).policy_, Coin(0, WHOLE // 2)
    )
    keys = [str(number) for number in range(len(X))]
    bills = limited.bills(limited.serve(X, keys=keys)) / 1e9
    dear = limited.coin.by_keys(keys)
    assert bills[~dear].max() <= 2 < bills[dear].max() <= 6
    for row in range(6):
        session = Session(limited, key=keys[row])
        while wanted := session.ask():
            session.tell({name: X[row, name] for name in wanted})
        assert session.spent == bills[row]
        assert session.budget == (6 if dear[row] else 2)


def test_a_session_asks_for_what_both_want_and_then_for_what_one_does(trees, data):
    session = Session(trees)
    first = session.ask()
    assert first == Session(trees.first).ask() == Session(trees.second).ask()
    followed = {
        tuple(bought)
        for bought in (
            trees.serve(data[0]).acquired[row].nonzero()[0].tolist() for row in range(40)
        )
    }
    assert len(followed) > 2


def test_sessions_and_ledgers_keep_their_key(trees):
    session = Session(trees, key=4711)
    assert session.key == session.ledger.key == session.to_dict()["key"] == "4711"
    assert str(session.ledger).startswith("key 4711\n")
    again = Session.from_dict(trees, json.loads(json.dumps(session.to_dict())))
    assert again.key == again.ledger.key == copy.copy(again).key == "4711"
    assert again.policy is trees.keyed("4711")
    assert "key" not in Session(trees).to_dict()
    with pytest.raises(ValueError, match="key is 7, not text"):
        Session.from_dict(trees, {**session.to_dict(), "key": 7})


def test_prices_of_today_and_keys_go_together(trees, data):
    session = Session(trees, key="x", prices={0: 7})
    again = Session.from_dict(trees, session.to_dict())
    assert again.policy.costs == session.policy.costs != trees.costs


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_files_hold_the_coin_exactly(data, tmp_path, share):
    X, y = data
    model = PricedModel.mixed(tree(2, X, y), tree(6, X, y), share, seed=2**40)
    model.save(tmp_path / "mixed.worthwhile")
    again, policy = load(tmp_path / "mixed.worthwhile"), load_policy(tmp_path / "mixed.worthwhile")
    assert policy.coin == model.policy_.coin == Coin(2**40, round(share * WHOLE))
    assert policy.fingerprint() == model.policy_.fingerprint()
    keys = np.arange(len(X))
    assert np.array_equal(again.cost(X, key=keys), model.cost(X, key=keys))
    assert np.array_equal(again.cost(X), model.cost(X))


def test_a_library_is_stored_once(library, tmp_path):
    low, high = pairs_that_share(library)[0]
    settings, arrays = points(library, low, high).state()
    assert list(arrays) == ["first"]
    assert settings["point"] == high
    built = MixturePolicy.from_state(
        library[0].costs_, library[0].policy_.output, (settings, arrays)
    )
    assert built.fingerprint() == points(library, low, high).fingerprint()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seed": -1}, "seed is -1"),
        ({"seed": 1.0}, "seed is 1.0"),
        ({"share": WHOLE + 1}, "share is"),
        ({"share": None}, "share is None"),
        ({"point": 0}, "not of one library"),
        ({"first": None}, "first is not a policy"),
        ({"second": 3}, "second is not a policy"),
    ],
)
def test_damaged_states_are_refused(trees, change, said):
    settings, arrays = trees.state()
    for name, value in change.items():
        (arrays if name in arrays else settings)[name] = value
    with pytest.raises(ValueError, match=said):
        MixturePolicy.from_state(trees.costs, trees.output, (settings, arrays))


def test_points_out_of_range_are_refused(library):
    settings, arrays = points(library, 0, 1).state()
    for point in (-1, 1000, True, "1", None):
        with pytest.raises(ValueError, match="point is"):
            MixturePolicy.from_state(
                library[0].costs_,
                library[0].policy_.output,
                ({**settings, "point": point}, arrays),
            )


def test_only_models_of_one_table_and_kind_are_mixed(trees, data):
    X, y = data
    some = tree(2, X, y)
    number = PricedModel(DecisionTreeRegressor(max_depth=2).fit(X, y), PRICES)
    for other, said in (
        (tree(3, X, y, [1, 1, 1, 1, 1]), "different prices"),
        (tree(3, X, y + 1), "other classes"),
        (number, "probabilities and value"),
        (PricedModel.mixed(some, some, 0.5), "mixed itself"),
    ):
        with pytest.raises(ValueError, match=said):
            PricedModel.mixed(some, other, 0.5)
    for share in (-0.1, 1.1, "a", None, True, float("nan")):
        with pytest.raises(ValueError, match="share is"):
            PricedModel.mixed(some, some, share)
    with pytest.raises(ValueError, match="seed is"):
        PricedModel.mixed(some, some, 0.5, seed=-1)


def test_a_key_changes_nothing_where_no_coin_is_tossed(data):
    X, y = data
    model = tree(4, X, y)
    assert np.array_equal(model.cost(X, key=np.arange(len(X))), model.cost(X))
    assert model.session(key="a").ask() == model.session().ask()
    with pytest.raises(ValueError, match="2 entries for 300 rows"):
        model.predict(X, key=["a", "b"])


def test_mixtures_keep_the_laws(data, library):
    X, y = data
    check_contract(PricedModel.mixed(tree(2, X, y), tree(6, X, y), 0.5), X, rows=6)
    low, high = pairs_that_share(library)[0]
    mixed = PricedModel(None)
    mixed._restore(points(library, low, high))
    check_contract(mixed, make_priced_classification(6, seed=5, missing=0.05)[0])


def test_ids_may_have_keys(data):
    X, y = data
    model = PricedModel.mixed(tree(2, X, y), tree(6, X, y), 0.5)
    fetch = {name: (lambda ids, name=name: [X[i, name] for i in ids]) for name in range(5)}
    ids = list(range(20))
    found = model.predict_with(fetch, ids, key=ids)
    assert np.array_equal(found.spent, model.cost(X[:20], key=ids))
    assert [session.key for session in found.sessions] == [str(i) for i in ids]
    assert np.array_equal(
        model.predict_with(fetch, ids, 3, key=ids).spent, model.cost(X[:20], 3, key=ids)
    )
    assert np.array_equal(model.predict_with(fetch, ids).spent, model.cost(X[:20]))
    with pytest.raises(ValueError, match="3 entries for 20 ids"):
        model.predict_with(fetch, ids, key=[1, 2, 3])
    with pytest.raises(ValueError, match="have their own"):
        model.predict_with(fetch, ids, key=ids, resume=found.sessions)


def test_unknown_settings_of_a_file_are_refused(data, tmp_path):
    X, y = data
    policy = PricedModel.mixed(tree(2, X, y), tree(6, X, y), 0.5).policy_
    from worthwhile.persist._codec import Decoder, Encoder

    encoder = Encoder()
    document = encoder.encode(policy)["$policy"]
    document["settings"]["$dict"].append(["more", 1])
    with pytest.raises(BadModelFile, match="has no setting 'more'"):
        Decoder(encoder.members, lambda content: None).policy(document)
