"""A limit for every case, kept in the model: the same in batches, sessions and files."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import worthwhile
from worthwhile import BudgetedForestClassifier, GreedyMiserClassifier, PricedModel


@pytest.fixture(scope="module")
def heart():
    return worthwhile.datasets.load_heart()


@pytest.fixture(scope="module")
def model(heart):
    return GreedyMiserClassifier(costs=heart.costs, n_rounds=5).fit(heart.data, heart.target)


def test_it_is_the_model_under_that_budget(heart, model):
    limited = model.within(20)
    assert (limited.predict(heart.data) == model.predict(heart.data, budget=20)).all()
    assert (limited.cost(heart.data) == model.cost(heart.data, budget=20)).all()
    assert limited.cost(heart.data).max() <= 20 < model.cost(heart.data).max()
    assert (limited.cost(heart.data, budget=1000) == limited.cost(heart.data)).all()
    assert limited.cost(heart.data, budget=3).max() <= 3
    assert (limited.within(None).cost(heart.data) == model.cost(heart.data)).all()
    assert model.policy_.limit is None


def test_sessions_keep_it(heart, model):
    limited, patient = model.within(20), heart.data.iloc[3]
    session = limited.session(budget=500)
    while wanted := session.ask():
        session.tell({name: patient[name] for name in wanted})
    assert session.spent == limited.cost(heart.data.iloc[[3]])[0] <= 20
    assert session.prediction == limited.predict(heart.data.iloc[[3]])[0]


@pytest.mark.parametrize("kind", ["booster", "forest", "tree of another library"])
def test_files_keep_it(heart, model, kind, tmp_path):
    if kind == "forest":
        model = BudgetedForestClassifier(
            costs=heart.costs, n_trees=3, price_power=0.0, random_state=0
        ).fit(heart.data, heart.target)
    elif kind == "tree of another library":
        tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(heart.data, heart.target)
        model = PricedModel(tree, heart.costs)
    limited = model.within(20)
    limited.save(tmp_path / "model")
    again = worthwhile.load(tmp_path / "model")
    assert (again.cost(heart.data) == limited.cost(heart.data)).all()
    assert again.cost(heart.data).max() <= 20
    assert again.policy_.fingerprint() == limited.policy_.fingerprint()
    assert again.policy_.fingerprint() != model.policy_.fingerprint()


def test_a_limit_that_is_no_amount_is_refused_in_a_file(model):
    from worthwhile.exceptions import BadModelFile
    from worthwhile.persist._codec import Decoder, Encoder

    writer = Encoder()
    content = writer.encode(model.within(20).policy_)
    assert content["$policy"]["limit"] == 20 * 10**9
    content["$policy"]["limit"] = -1
    with pytest.raises(BadModelFile, match="the limit of a policy is -1"):
        Decoder(writer.members, bytes).decode(content)


def test_nothing_is_bought_within_0(heart, model):
    nothing = model.within(0)
    assert nothing.cost(heart.data).max() == 0
    assert len(np.unique(nothing.predict(heart.data))) == 1
