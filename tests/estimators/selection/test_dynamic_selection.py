"""DynamicSelectionClassifier: what it learns, what it charges, what it refuses."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import worthwhile
from worthwhile import Costs, DynamicSelectionClassifier
from worthwhile.estimators.selection import _data_classifier as selection_data
from worthwhile.estimators.selection._data_classifier import (
    DataSettings,
    assign_folds,
    fit_folds,
    log_loss,
    masked_rows,
    masks_of_orders,
    random_masks,
)
from worthwhile.estimators.selection._factors import find_factors, make_layout

SMALL = {"max_iter": 3, "n_folds": 3, "random_state": 0}


def two_stage(n=400, seed=0):
    """Feature 0 decides unless it is near 0; then feature 1 does. The others are noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.where(np.abs(X[:, 0]) > 0.5, X[:, 0] > 0, X[:, 1] > 0).astype(int)


@pytest.fixture(scope="module")
def fitted():
    X, y = two_stage()
    model = DynamicSelectionClassifier(0.3, extra_lams=[3.0, 0.05], **SMALL).fit(X, y)
    return model, X, y


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    pixels = np.arange(64).reshape(8, 8)
    blocks = {
        f"block {i}{j}": {
            "fee": 1,
            "features": pixels[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].ravel(),
        }
        for i in range(4)
        for j in range(4)
    }
    order = np.random.default_rng(0).permutation(len(X))[:1100]
    X, y = X[order], y[order]
    costs = Costs(np.zeros(64), blocks)
    model = DynamicSelectionClassifier(0.25, costs=costs, max_iter=4, n_folds=4, random_state=0)
    return model.fit(X[:800], y[:800]), X[800:], y[800:]


def test_purchases_depend_on_what_was_seen(fitted):
    model, X, y = fitted
    bought = model.acquired(X)
    assert bought[:, 0].mean() > 0.9
    unsure = np.abs(X[:, 0]) < 0.3
    assert bought[unsure, 1].mean() > bought[np.abs(X[:, 0]) > 1.5, 1].mean() + 0.3
    assert bought[:, 2:].mean() < 0.3
    assert model.score(X, y) > 0.85


def test_a_larger_lam_buys_less(fitted):
    model, X, _ = fitted
    mean = [model.at(lam=lam).cost(X).mean() for lam in (0.05, 0.3, 3.0)]
    assert mean[0] >= mean[1] >= mean[2]


def test_a_huge_lam_buys_nothing_and_answers_with_the_prior():
    X, y = two_stage(120)
    y[:80] = 1
    model = DynamicSelectionClassifier(1000.0, **SMALL).fit(X, y)
    assert model.cost(X).max() == 0
    assert set(model.predict(X)) == {1}


def test_digits_come_close_to_the_full_answer_for_less_than_half_the_price(digits):
    model, X, y = digits
    cost = model.cost(X).mean() / 16
    oracle = model.oracle_curve(X, y, lams=[0.25])
    assert cost < 0.5
    assert model.score(X, y) > 0.85
    # On average, not row by row: the oracle is greedy.
    assert oracle.loc[0, "reward"] > model.trace_["reward"].max()
    assert oracle.loc[0, "uses_labels"]


def test_sessions_take_the_trade_off_of_the_request(fitted):
    model, X, _ = fitted
    for lam in (None, 3.0, 0.05):
        session = model.session(lam=lam)
        while wanted := session.ask():
            session.tell({column: X[7, column] for column in wanted})
        batch = model if lam is None else model.at(lam=lam)
        assert session.spent == batch.cost(X[7:8])[0]
        assert session.probabilities.tolist() == batch.predict_proba(X[7:8])[0].tolist()
    with pytest.raises(
        ValueError, match=r"lam is 0\.7, but the model was fitted for 0\.3, 3\.0, 0\.05"
    ):
        model.session(lam=0.7)


def test_sessions_of_a_request_keep_their_budget(fitted):
    model, X, _ = fitted
    session = model.session(budget=1, one_by_one=True, lam=0.05)
    while wanted := session.ask():
        session.tell({column: X[0, column] for column in wanted})
    assert session.spent <= 1
    assert (model.cost(X, budget=1) <= 1).all()


def test_eta_0_is_dagger_exactly_and_the_coaches_differ():
    X, y = two_stage(150)

    def print_of(**settings):
        return DynamicSelectionClassifier(0.5, **settings, **SMALL).fit(X, y).policy_.fingerprint()

    dagger = print_of(coaching=False)
    for coaching in ("reward", "confidence"):
        assert print_of(coaching=coaching, eta=0.0) == dagger
    coached = print_of()
    assert print_of(coaching="reward", eta=3.0) == coached
    confident = print_of(coaching="confidence")
    assert print_of(coaching="confidence", eta=0.5) == confident
    assert len({dagger, coached, confident, print_of(coaching="confidence", eta=3.0)}) == 4


def test_the_learning_curve_is_kept_and_its_best_round_is_used(fitted):
    model, _, _ = fitted
    assert len(model.trace_) == 3 * 3
    assert model.n_iter_ == 3
    for _, curve in model.trace_.groupby("lam"):
        kept = curve[curve["chosen"]]
        assert len(kept) == 1
        assert kept["reward"].iloc[0] == curve["reward"].max()
        assert curve["examples"].is_monotonic_increasing
        assert curve["eta"].tolist() == pytest.approx([3.0, 3 * np.exp(-1 / 3), 3 * np.exp(-2 / 3)])


def test_explain_tells_the_story_of_each_row(fitted):
    model, X, _ = fitted
    story = model.explain(X[:20])
    last = story.groupby("row").last()
    assert (last["guess"] == model.predict(X[:20])).all()
    assert last["cost"].tolist() == model.cost(X[:20]).tolist()
    assert last["confidence"].tolist() == model.predict_proba(X[:20]).max(axis=1).tolist()
    first = story[story["step"] == 0]
    assert first["factor"].isna().all()
    assert (first["cost"] == 0).all()
    limited = model.explain(X[:20], budget=1)
    assert limited["cost"].max() <= 1


def test_free_features_are_known_from_the_start_and_cost_nothing():
    X, y = two_stage(200)
    model = DynamicSelectionClassifier(0.3, costs=[0, 1, 1, 1, 1], **SMALL).fit(X, y)
    bought = model.acquired(X)
    assert bought[:, 0].all()
    assert model.cost(X).tolist() == bought[:, 1:].sum(axis=1).tolist()
    assert model.session().ask() == [0]


def test_everything_free_leaves_nothing_to_choose(tmp_path):
    X, y = two_stage(120)
    model = DynamicSelectionClassifier(0.5, costs=np.zeros(5), **SMALL).fit(X, y)
    assert model.acquired(X).all()
    assert model.cost(X).max() == 0
    assert len(model.trace_) == 0
    assert model.n_iter_ == 0
    model.save(tmp_path / "model")
    assert (worthwhile.load(tmp_path / "model").predict(X) == model.predict(X)).all()


def test_constant_features_are_never_bought():
    X, y = two_stage(150)
    X[:, 3] = 7.0
    model = DynamicSelectionClassifier(0.0, **SMALL).fit(X, y)
    assert 3 not in model.policy_.reads
    assert model.factor_names_ == [0, 1, 2, 4]


def test_the_paper_s_classifier_sees_full_rows_only():
    X, y = two_stage(150)
    model = DynamicSelectionClassifier(0.3, masked=False, **SMALL).fit(X, y)
    assert (model.policy_.model.scorer.mark == 0).all()
    assert model.score(X, y) > 0.7


def test_any_classifier_will_do_and_says_so(tmp_path):
    X, y = two_stage(150)
    forest = RandomForestClassifier(5, max_depth=3)
    model = DynamicSelectionClassifier(
        0.3, classifier=forest, max_iter=1, n_folds=2, random_state=0
    ).fit(X, y)
    assert not model.policy_.exact
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(150))
    model.save(tmp_path / "model")
    again = worthwhile.load(tmp_path / "model", trusted=["sklearn.tree._tree.Tree"])
    assert (again.predict(X) == model.predict(X)).all()
    own = DynamicSelectionClassifier(0.3, classifier=LogisticRegression(C=0.5), **SMALL).fit(X, y)
    assert own.policy_.exact


def test_trees_may_be_the_policy(tmp_path):
    X, y = two_stage(300)
    model = DynamicSelectionClassifier(
        0.3, policy="trees", extra_lams=[1000.0], max_iter=2, n_folds=3, random_state=0
    ).fit(X, y)
    assert model.policy_.exact
    assert model.score(X, y) > 0.8
    session = model.session()
    while wanted := session.ask():
        session.tell({column: X[3, column] for column in wanted})
    assert session.spent == model.cost(X[3:4])[0]
    assert session.probabilities.tolist() == model.predict_proba(X)[3].tolist()
    model.save(tmp_path / "model")
    again = worthwhile.load(tmp_path / "model")
    assert again.predict_proba(X).tolist() == model.predict_proba(X).tolist()
    assert again.at(lam=1000.0).cost(X).max() == 0


def test_logit_margins_are_another_scale():
    X, y = two_stage(150)
    model = DynamicSelectionClassifier(0.3, margin="logit", **SMALL).fit(X, y)
    assert model.trace_["reward"].max() > 1


def test_given_development_rows_choose_the_round():
    X, y = two_stage(300)
    model = DynamicSelectionClassifier(0.3, **SMALL).fit(
        X[:200], y[:200], validation=(X[200:], y[200:])
    )
    assert model.trace_["reward"].notna().all()
    with pytest.raises(ValueError, match=r"validation is a dict: give a pair \(X, y\)"):
        model.fit(X, y, validation={})
    with pytest.raises(ValueError, match="validation has the label 9"):
        model.fit(X, y, validation=(X, np.full(300, 9)))
    with pytest.raises(ValueError, match="100 rows, but labels or targets of shape"):
        model.fit(X, y, validation=(X[:100], y))


def test_rare_classes_survive_folds_and_development_rows():
    X, y = two_stage(60)
    y = y.astype(object)
    y[0], y[1:3] = 7, 8
    model = DynamicSelectionClassifier(0.3, **SMALL).fit(X, y.astype(int))
    assert model.classes_.tolist() == [0, 1, 7, 8]
    assert np.isfinite(model.predict_proba(X)).all()


def test_scaling_all_prices_changes_nothing():
    X, y = two_stage(150)
    one = DynamicSelectionClassifier(0.3, costs=[1, 2, 3, 4, 5], **SMALL).fit(X, y)
    ten = DynamicSelectionClassifier(0.3, costs=[10, 20, 30, 40, 50], **SMALL).fit(X, y)
    assert (one.acquired(X) == ten.acquired(X)).all()
    assert ten.cost(X).tolist() == (10 * one.cost(X)).tolist()


def test_the_grid_is_the_paper_s_where_there_are_no_labels(fitted):
    model, X, y = fitted
    assert [p["lam"] for p in model.trade_off_grid(X)] == [2.0, 1.5, 1.0, 0.5, 0.25, 0.1, 0.0]
    lams = [p["lam"] for p in model.trade_off_grid(X, y)]
    assert lams == sorted(lams, reverse=True)
    assert lams[-1] == 0


def test_bad_arguments_are_refused(fitted):
    model, X, y = fitted
    with pytest.raises(ValueError, match="extra_lams has -1"):
        DynamicSelectionClassifier(extra_lams=[-1]).fit(X, y)
    with pytest.raises(ValueError, match="labels that were not in training"):
        model.oracle_curve(X, np.full(len(X), 5))


def test_groups_are_factors_where_the_fee_is_the_larger_part():
    heart = worthwhile.datasets.load_heart()
    found = find_factors(heart.costs, None)
    assert "thallium" in found.names
    assert "exercise" in found.names
    assert "blood" not in found.names  # 2.10 against 8.27
    assert len(find_factors(heart.costs, "groups").names) == 13 - 1 - 1 - 2
    assert len(find_factors(heart.costs, "single").names) == 13
    given = find_factors(heart.costs, {"first": ["sex", "age"]})
    assert given.names[0] == "first"
    assert given.members[0] == [0, 1]
    listed = find_factors(Costs(np.ones(8)), [[0, 1, 2, 3, 4], [5, 6]])
    assert listed.names == ["0+1+2+2 more", "5+6", 7]


@pytest.mark.parametrize(
    ("factors", "problem"),
    [
        ("all", "factors is 'all': give None"),
        (3, "factors is 3: give None"),
        (["a", "b"], "where a list of features should be"),
        ([[]], "empty factor"),
        ([[0, 1], [1]], "factors lists 1 twice"),
    ],
)
def test_bad_factors_are_refused(factors, problem):
    with pytest.raises(ValueError, match=problem):
        find_factors(Costs(np.ones(4)), factors)


def test_a_factor_cannot_take_the_name_of_a_feature_outside_it():
    with pytest.raises(ValueError, match="has the name 'c', which is also a feature"):
        find_factors(Costs({"a": 1, "b": 1, "c": 1}), {"c": ["a", "b"]})


def test_shared_fees_are_paid_once_by_the_bill():
    heart = worthwhile.datasets.load_heart()
    model = DynamicSelectionClassifier(0.1, costs=heart.costs, **SMALL).fit(
        heart.data, heart.target
    )
    bill = model.cost(heart.data)
    assert bill.tolist() == heart.costs.price(model.acquired(heart.data)).tolist()
    assert bill.max() <= heart.costs.total
    assert isinstance(model.explain(heart.data[:3]), pd.DataFrame)


def test_masked_copies_leave_out_whole_factors_and_mark_the_rest():
    X = np.random.default_rng(0).normal(size=(30, 4))
    layout, _ = make_layout(X, Costs(np.ones(4)), [[0, 1], [2, 3]])
    masks = random_masks(30, 2, np.random.default_rng(0))
    inputs, targets = masked_rows(X, np.arange(30), masks, layout)
    assert len(inputs) == 4 * 30
    values, marks = inputs[:, :4], inputs[:, 4:]
    assert (values[:60] == np.tile(X, (2, 1))).all()
    assert (marks[60:].sum(axis=1) < 2).all()
    assert ((values != 0) == marks[:, [0, 0, 1, 1]].astype(bool)).all()
    assert (targets == np.tile(np.arange(30), 4)).all()


def test_masks_of_visits_are_full_rows_ends_and_prefixes_of_the_purchases():
    when = np.array([[2, 0, -1, 1]] * 500 + [[-1, -1, -1, -1]])
    full, ends, passed = masks_of_orders(when, np.random.default_rng(0))
    assert full.all()
    assert (ends == (when >= 0)).all()
    found = {tuple(np.flatnonzero(row).tolist()) for row in passed[:500]}
    assert found == {(), (1,), (1, 3)}
    assert not passed[500].any()


def test_classifiers_are_trained_for_the_masks_they_are_given():
    X, y = load_digits(return_X_y=True)
    layout, _ = make_layout(X[:900], Costs(np.ones(64)), None)
    Z = layout.standardise(X[:, layout.features].astype(float), slice(None))
    half = np.tile(np.arange(layout.n_factors) % 4 < 2, (900, 1))
    settings = DataSettings(None, True, None, 1)
    losses = []
    for masks in (None, [np.ones_like(half), half, half]):
        scorer, _ = fit_folds(Z[:900], y[:900], 10, layout, settings, 0, masks)
        losses.append(log_loss(scorer, Z[900:], y[900:], [half[: len(X) - 900]], layout))
    assert losses[1] < 0.95 * losses[0]


def test_adapting_is_another_fit_of_a_masked_classifier():
    X, y = two_stage(150)
    prints = [
        DynamicSelectionClassifier(0.5, masked=m, adapt=a, **SMALL).fit(X, y).policy_.fingerprint()
        for m in (True, False)
        for a in (True, False)
    ]
    assert prints[0] != prints[1]
    assert prints[2] == prints[3]


def test_a_number_of_copies_may_be_adapted_to_and_one_is_the_default():
    X, y = two_stage(150)
    prints = [
        DynamicSelectionClassifier(0.5, adapt=a, **SMALL).fit(X, y).policy_.fingerprint()
        for a in (True, 1, 3, 0, False)
    ]
    assert prints[0] == prints[1]
    assert prints[3] == prints[4]
    assert len(set(prints)) == 3
    with pytest.raises(ValueError, match="'adapt' parameter"):
        DynamicSelectionClassifier(adapt=-1).fit(X, y)


def test_folds_deal_out_every_class_evenly():
    codes = np.repeat([0, 1, 2], [50, 7, 1])
    folds = assign_folds(codes, 5, np.random.default_rng(0))
    counts = np.array([np.bincount(folds[codes == c], minlength=5) for c in range(3)])
    assert (counts.max(axis=1) - counts.min(axis=1) <= 1).all()
    assert np.bincount(folds).max() - np.bincount(folds).min() <= 1


@pytest.mark.parametrize(("n", "turns"), [(60, 10), (1200, 5), (6000, 1)])
def test_the_penalty_is_chosen_on_enough_rows(monkeypatch, n, turns):
    """A tenth of a small table would leave it to chance: there all rows are set aside in turn."""
    judged = []

    def spy(scorer, Z, codes, masks, layout):
        judged.append(Z[:, 0])
        return log_loss(scorer, Z, codes, masks, layout)

    monkeypatch.setattr(selection_data, "log_loss", spy)
    X, y = two_stage(n)
    layout, _ = make_layout(X, Costs(np.ones(5)), None)
    fit_folds(X, y, 2, layout, DataSettings(None, False, None, 1), 0)
    assert len(judged) == len(selection_data.STRENGTHS) * turns
    assert len(np.unique(np.concatenate(judged))) == n * turns // 10
