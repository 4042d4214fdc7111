"""Searches: the budget is kept, money buys accuracy, and the result is the model."""

from __future__ import annotations

import math

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.validation import check_is_fitted

import worthwhile
from tests.frontier.buyers import Buyer, rows
from worthwhile import BudgetSearchCV, CostWeightedL1Classifier, GreedyMiserClassifier, datasets
from worthwhile.exceptions import WorthwhileWarning
from worthwhile.metrics import RankingScorer


@pytest.fixture(scope="module")
def priced():
    return datasets.make_priced_classification(240, seed=1)


@pytest.fixture(scope="module")
def searched(priced, tmp_path_factory):
    """One sweep of Greedy Miser, kept in a journal, so that other budgets train next to nothing."""
    X, y, costs = priced
    miser = GreedyMiserClassifier(costs=costs, n_rounds=12, min_samples_leaf=5, random_state=0)
    path = tmp_path_factory.mktemp("journal") / "miser.jsonl"
    return BudgetSearchCV(miser, 12, cv=3, resume=path).fit(X, y)


def again(search, budget, **params):
    return clone(search).set_params(budget=budget, **params)


def test_chosen_validation_bill_and_score_are_those_of_a_plain_cross_validation(searched, priced):
    X, y, _ = priced
    bills, scores = [], []
    for train, held in StratifiedKFold(3).split(X, y):
        model = clone(searched.estimator).set_params(**searched.best_params_)
        model = model.fit(X.iloc[train], y[train]).at(stage=searched.best_stage_)
        bills += model.cost(X.iloc[held]).tolist()
        scores.append(model.score(X.iloc[held], y[held]))
    assert searched.best_cost_ == pytest.approx(np.mean(bills))
    assert searched.best_score_ == pytest.approx(np.mean(scores))
    assert searched.best_cost_ <= searched.best_bound_ <= 12


@pytest.mark.filterwarnings("ignore::worthwhile.exceptions.WorthwhileWarning")
def test_larger_budgets_never_choose_worse_validation_scores(searched, priced):
    X, y, _ = priced
    found = [again(searched, budget).fit(X, y) for budget in (1, 2, 4, 8, 16, 32, np.inf)]
    scores = [search.best_score_ for search in found]
    assert scores == sorted(scores)
    assert all(search.best_bound_ <= search.budget for search in found)
    assert scores[-1] == searched.frontier_.score.max()


def test_every_point_is_trained_once_per_fold_and_the_chosen_one_again():
    X, y = rows()
    Buyer.fits = 0
    search = BudgetSearchCV(Buyer(), 0.6, cv=4, refine=0, tune=0).fit(X, y)
    assert Buyer.fits == 5 * 4 + 1
    assert len(search.frontier_) == 5
    assert search.tuned_params_ == search.best_params_
    BudgetSearchCV(Buyer(), 0.6, cv=4, refine=0, tune=3).fit(X, y)
    assert 1 <= Buyer.fits - 2 * (5 * 4 + 1) <= 3


def test_the_rest_of_the_budget_is_spent_between_the_chosen_point_and_the_next_dearer_one():
    X, y = rows()
    plain = BudgetSearchCV(Buyer(), 0.66, refine=0, tune=0).fit(X, y)
    tuned = BudgetSearchCV(Buyer(), 0.66, refine=0, tune=6).fit(X, y)
    assert plain.cost(X).mean() == pytest.approx(0.5)
    assert 0.99 * 0.66 <= tuned.cost(X).mean() <= 0.66
    assert tuned.tuned_params_["level"] == tuned.best_estimator_.level > 0.64
    assert tuned.expected_cost_ == pytest.approx(tuned.cost(X).mean())
    # What was validated is still the point.
    assert tuned.best_params_ == plain.best_params_ == {"level": 0.5}
    assert (tuned.best_score_, tuned.best_cost_) == (plain.best_score_, plain.best_cost_)
    assert tuned.frontier_.to_dict() == plain.frontier_.to_dict()


def test_the_rest_of_the_budget_is_spent_only_as_far_as_the_margin_allows():
    X, y = rows(400)
    search = BudgetSearchCV(Buyer(noise=1.0), 1.15, refine=0, tune=8).fit(X, y)
    width = search.frontier_[0].bound - search.frontier_[0].cost
    assert search.best_bound_ == pytest.approx(search.expected_cost_ + width, rel=1e-3)
    assert 0.99 * 1.15 <= search.best_bound_ <= 1.15


def test_a_refit_that_failed_is_approached_from_below():
    X, y = rows()
    search = BudgetSearchCV(Buyer(dearer=0.3, whole=120), 0.75, refine=0, cv=4, tune=8).fit(X, y)
    assert search.best_params_["level"] == 0.3
    assert 0.99 * 0.75 <= search.cost(X).mean() <= 0.75


class Flat(Buyer):
    """More money does not make it any better."""

    def predict(self, X):
        return super().predict(np.where(np.arange(3) == 0, 0.0, X))


def test_money_that_buys_no_better_score_is_not_spent():
    X, y = rows()
    search = BudgetSearchCV(Flat(), 0.6, refine=0).fit(X, y)
    assert search.tuned_params_ == search.best_params_ == {"level": 0.1}


class Dipping(Buyer):
    """Buys in vain between 0.3 and 0.8."""

    def predict(self, X):
        worse = 0.2 if 0.3 < self.level < 0.8 else 0.0
        return super().predict(np.asarray(X) + np.where(np.arange(3) == 0, worse, 0.0))


def test_money_is_not_spent_across_points_that_were_found_to_be_worse():
    X, y = rows()
    steps = [{"level": level} for level in (0.3, 0.4, 0.9)]
    search = BudgetSearchCV(Dipping(), 0.6, refine=0, trade_off=steps).fit(X, y)
    assert search.tuned_params_ == steps[0]
    less = BudgetSearchCV(Dipping(), 0.6, refine=0, trade_off=[steps[0], steps[2]]).fit(X, y)
    assert less.tuned_params_["level"] > 0.5


def test_what_cannot_be_put_between_is_left_as_it_was_validated():
    X, y = rows()
    steps = [{"level": 0.2, "noise": 0.0}, {"level": 0.9, "noise": 0.1}]
    search = BudgetSearchCV(Buyer(), 0.6, refine=0, trade_off=steps).fit(X, y)
    assert search.tuned_params_ == steps[0]


def test_every_stage_of_a_booster_is_on_the_frontier(searched):
    assert len(searched.frontier_) > 5 * len(searched.estimator.trade_off_grid(*_small()))
    assert {point.stage for point in searched.frontier_} >= {0, 1, 2, 3, 12}


def _small():
    X, y, _ = datasets.make_priced_classification(60, seed=0)
    return X, y


def test_wide_gaps_of_the_trade_off_are_filled():
    X, y = rows()
    search = BudgetSearchCV(Buyer(), 0.63, refine=1, confidence=0.5).fit(X, y)
    levels = sorted(point.params["level"] for point in search.frontier_)
    assert len(levels) == 9
    assert search.best_params_["level"] == pytest.approx(np.sqrt(0.5 * 0.7))
    coarse = BudgetSearchCV(Buyer(), 0.63, refine=0, confidence=0.5).fit(X, y)
    assert coarse.best_params_["level"] == 0.5


def test_further_parameters_are_tried_with_the_whole_trade_off():
    X, y = rows()
    search = BudgetSearchCV(
        Buyer(), 0.6, param_grid={"noise": [0.0, 0.2]}, trade_off=[{"level": 0.2}, {"level": 0.4}], refine=0
    ).fit(X, y)  # fmt: skip
    assert len(search.frontier_) == 4
    assert search.best_params_ == {"noise": 0.0, "level": 0.4}


def test_margin_keeps_away_from_the_budget_by_the_noise_of_the_bills():
    X, y = rows(400)
    wide = BudgetSearchCV(Buyer(noise=1.0), 2, refine=0).fit(X, y).frontier_
    exact = BudgetSearchCV(Buyer(noise=0.0), 2, refine=0).fit(X, y).frontier_
    spread = np.std((X[:, 2] > 0.5) * 1.0) / np.sqrt(400)
    assert wide.points[0].cost_error == pytest.approx(spread, rel=0.1)
    # One common error in all points: as many standard errors as for a single one, for two means.
    assert wide.bound - wide.cost == pytest.approx(1.645 * np.sqrt(2) * spread, rel=0.1)
    assert exact.bound == pytest.approx(exact.cost)


def test_the_horizon_sets_the_noise_of_the_new_mean():
    X, y = rows(400)
    widths = []
    for horizon in (10, 400, np.inf):
        search = BudgetSearchCV(Buyer(noise=1.0), 9, refine=0, horizon=horizon).fit(X, y)
        widths.append(search.frontier_[0].bound - search.frontier_[0].cost)
    assert widths[0] > 3 * widths[1]
    assert widths[1] == pytest.approx(np.sqrt(2) * widths[2], rel=0.05)


def test_a_refit_that_costs_more_than_its_folds_is_not_kept():
    X, y = rows()
    search = BudgetSearchCV(Buyer(dearer=0.3, whole=120), 0.75, refine=0, cv=4).fit(X, y)
    assert search.best_params_["level"] == 0.3
    assert search.n_refits_ == 3
    assert search.cost(X).mean() <= 0.75


def test_a_refit_that_buys_much_less_than_its_folds_is_not_what_was_validated():
    X, y = rows()
    search = BudgetSearchCV(Buyer(dearer=-0.4, whole=120), 0.6, refine=0, cv=4)
    with pytest.raises(ValueError, match="no model keeps it"):
        search.fit(X, y)
    noisy = BudgetSearchCV(Buyer(dearer=-0.01, whole=120, noise=0.3), 0.9, refine=0, cv=4).fit(X, y)
    assert noisy.best_params_["level"] == 0.7


def test_a_refit_may_not_be_like_the_one_fold_that_bought_nothing():
    X, y = rows()
    every = np.arange(120)
    folds = [(every[:n], every[n:]) for n in (80, 90, 91)]
    search = BudgetSearchCV(
        Buyer(nothing_at=(80, 120)), 0.6, cv=folds, refine=0, trade_off=[{"level": 0.5}]
    )
    with pytest.raises(ValueError, match="no model keeps it"):
        search.fit(X, y)


def test_after_the_search_it_is_the_model(searched, priced, tmp_path):
    X, y, costs = priced
    model = searched.best_estimator_
    assert (searched.predict(X) == model.predict(X)).all()
    assert (searched.predict_proba(X, budget=5) == model.predict_proba(X, budget=5)).all()
    assert (searched.predict_log_proba(X) == model.predict_log_proba(X)).all()
    assert (searched.decision_function(X) == model.decision_function(X)).all()
    assert (searched.acquired(X) == model.acquired(X)).all()
    assert (searched.cost(X) == model.cost(X)).all()
    assert (searched.evaluated(X) == model.evaluated(X)).all()
    assert searched.score(X, y) == model.score(X, y)
    assert searched.policy_ is model.policy_
    assert searched.costs_ == costs
    assert searched.classes_.tolist() == [0, 1]
    assert searched.n_features_in_ == X.shape[1]
    assert searched.feature_names_in_.tolist() == list(X.columns)
    searched.save(tmp_path / "model.worthwhile")
    loaded = worthwhile.load(tmp_path / "model.worthwhile")
    assert isinstance(loaded, GreedyMiserClassifier)
    assert (loaded.cost(X) == searched.cost(X)).all()
    session = searched.session(budget=3)
    while wanted := session.ask():
        session.tell({name: X[name].iloc[0] for name in wanted})
    assert session.prediction == searched.predict(X.iloc[:1], budget=3)[0]
    answers = searched.predict_with(
        {name: lambda ids, n=name: X.loc[ids, n].tolist() for name in X}, [0, 1]
    )
    assert answers.predictions.tolist() == searched.predict(X.iloc[:2]).tolist()


def test_without_a_refit_there_is_only_the_frontier():
    X, y = rows()
    search = BudgetSearchCV(Buyer(), 0.5, refit=False).fit(X, y)
    assert len(search.frontier_) > 4
    with pytest.raises(NotFittedError):
        search.predict(X)
    with pytest.raises(AttributeError, match="has no policy_ before it is fitted"):
        _ = search.policy_
    with pytest.raises(NotFittedError):
        check_is_fitted(search)


def test_the_number_of_jobs_does_not_matter(priced):
    X, y, costs = priced
    found = []
    for jobs in (None, 2):
        with joblib.parallel_config("threading"):
            search = BudgetSearchCV(
                CostWeightedL1Classifier(costs=costs, n_path=2, max_iter=50, tol=1e-4),
                20,
                cv=2,
                n_jobs=jobs,
                refine=0,
                trade_off=[{"lam": 0.1}, {"lam": 0.02}],
            )
            found.append(search.fit(X, y))
    assert found[0].frontier_.to_dict() == found[1].frontier_.to_dict()
    assert (found[0].predict_proba(X) == found[1].predict_proba(X)).all()


def test_weights_reach_the_fit():
    X, y = rows()
    search = BudgetSearchCV(Buyer(), 0.6, refine=0).fit(X, y, np.ones(len(y)))
    assert search.best_estimator_.weighted_


def test_queries_stay_whole_and_reach_the_scorer():
    X, y, qid, _ = datasets.make_yahoo_like(120, seed=0)
    X = np.asarray(X)[:, :6]
    miser = worthwhile.GreedyMiserRegressor(costs=np.arange(1, 7), n_rounds=3)
    search = BudgetSearchCV(
        miser, 10, cv=2, scoring=RankingScorer("ndcg"), trade_off=[{"lam": 0.0}]
    )
    search.fit(X, y, qid=qid)
    assert search.frontier_.score_name == "ndcg"
    assert 0 < search.best_score_ <= 1
    assert 0 < search.score(X, y, qid=qid) <= 1


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
@pytest.mark.parametrize("kind", ["qid", "groups"])
def test_queries_and_groups_never_straddle_folds(kind):
    from worthwhile.frontier._folds import make_folds
    from worthwhile.frontier._measure import LabelledRows

    X, y = rows(90)
    clusters = np.random.default_rng(0).integers(0, 13, 90)
    data = LabelledRows(X, y, None, clusters if kind == "qid" else None)
    folds = make_folds(4, Buyer(), data, clusters if kind == "groups" else None)
    assert sorted(np.concatenate([held for _, held in folds])) == list(range(90))
    for train, held in folds:
        assert not set(clusters[train]) & set(clusters[held])
    search = BudgetSearchCV(Buyer(), 0.5, cv=StratifiedKFold(3))
    word = "query" if kind == "qid" else "group"
    with pytest.raises(ValueError, match=f"cv puts {word} .* into both parts of fold 0"):
        search.fit(X, y, **{kind: clusters})
    with pytest.raises(ValueError, match=r"cv is 20 for 13 groups|n_splits is 20 for 13 queries"):
        BudgetSearchCV(Buyer(), 0.5, cv=20).fit(X, y, **{kind: clusters})


class Watching(Buyer):
    """Refuses to be scored on a query or group (column 3) that it was fitted on."""

    def fit(self, X, y, sample_weight=None):
        self.known = set(X[:, 3])
        return super().fit(X, y)

    def predict(self, X):
        assert not self.known & set(X[:, 3])
        return super().predict(X)


@pytest.mark.parametrize("kind", ["qid", "groups"])
def test_no_model_of_a_search_is_scored_on_a_query_or_group_it_knows(kind):
    X, y = rows(90)
    clusters = np.random.default_rng(0).integers(0, 13, 90)
    X = np.column_stack([X, clusters])
    BudgetSearchCV(Watching(), 0.6, cv=4).fit(X, y, **{kind: clusters})
    with pytest.raises(AssertionError):
        BudgetSearchCV(Watching(), 0.6, cv=4).fit(X, y)


def test_masks_are_folds_too():
    X, y = rows(40)
    held = np.arange(40) % 4 == 0
    search = BudgetSearchCV(Buyer(), 0.6, cv=[(~held, held)], refine=0, confidence=0.5).fit(X, y)
    assert search.n_splits_ == 1
    assert np.isnan(search.frontier_[0].score_error)


def test_progress_is_shown_when_asked_for(capfd):
    X, y = rows()
    BudgetSearchCV(Buyer(), 0.5, refine=0, verbose=1).fit(X, y)
    assert "searching" in capfd.readouterr().err
    BudgetSearchCV(Buyer(), 0.5, refine=0).fit(X, y)
    assert capfd.readouterr().err == ""


def test_a_model_that_buys_nothing_comes_with_a_warning():
    X, y = rows()
    steps = [{"level": 0.0}, {"level": 0.9}]
    with pytest.warns(
        WorthwhileWarning, match="budget=0.05: the best model within it buys nothing"
    ):
        search = BudgetSearchCV(Buyer(), 0.05, trade_off=steps, refine=0).fit(X, y)
    assert search.best_cost_ == 0


@pytest.mark.parametrize(
    ("params", "error", "text"),
    [
        ({"budget": 0.01}, ValueError, "budget is 0.01: no model keeps it with confidence 0.95; the cheapest has a"),
        ({"budget": -1}, ValueError, "budget is -1"),
        ({"budget": None}, ValueError, "budget is None: give the largest mean bill"),
        ({"estimator": StratifiedKFold()}, TypeError, "estimator is a StratifiedKFold: a search needs"),
        ({"confidence": 1.0}, ValueError, "The 'confidence' parameter of BudgetSearchCV must be"),
        ({"horizon": 0}, ValueError, "The 'horizon' parameter of BudgetSearchCV must be"),
        ({"refine": -1}, ValueError, "The 'refine' parameter of BudgetSearchCV must be"),
        ({"tune": -1}, ValueError, "The 'tune' parameter of BudgetSearchCV must be"),
        ({"trade_off": []}, ValueError, "the trade-off has no points"),
        ({"scoring": lambda *a: float("nan")}, ValueError, "scoring gave .nan.* for .'level': 0.1.: a score is"),
        ({"cv": [(np.arange(5), np.array([], dtype=int))]}, ValueError, "cv has no rows to train on or to"),
    ],
)  # fmt: skip
def test_refusals_say_what_to_do(params, error, text):
    X, y = rows()
    search = BudgetSearchCV(Buyer(), 0.5, refine=0).set_params(**params)
    with pytest.raises(error, match=text):
        search.fit(X, y)


@pytest.mark.parametrize("what", ["sample_weight", "groups", "qid"])
def test_what_belongs_to_rows_has_their_number(what):
    X, y = rows()
    with pytest.raises(ValueError, match=f"{what} has 3 entries for 120 rows: give one per row"):
        BudgetSearchCV(Buyer(), 0.5).fit(X, y, **{what: [1, 2, 3]})


def test_refit_refusal_names_the_bill_with_the_margin():
    X, y = rows()
    search = BudgetSearchCV(Buyer(dearer=5, whole=120), 1, refine=0)
    with pytest.raises(ValueError, match=r"mean bill of 0.1, and 5.1 with the margin"):
        search.fit(X, y)


def test_after_the_time_no_further_setting_is_tried():
    X, y, costs = datasets.make_priced_classification(150, seed=0)
    tree = GreedyMiserClassifier(costs=costs, n_rounds=4, max_depth=2)
    steps = [{"lam": lam} for lam in (3.0, 1.0, 0.3, 0.1, 0.01)]
    search = BudgetSearchCV(tree, math.inf, cv=2, trade_off=steps, time_limit=0, tune=0)
    search.fit(X, y)
    assert search.tried_ == steps[:1]
    again = BudgetSearchCV(tree, math.inf, cv=2, trade_off=search.tried_, refine=0, tune=0).fit(
        X, y
    )
    assert again.frontier_.to_dict() == search.frontier_.to_dict()
    whole = BudgetSearchCV(tree, math.inf, cv=2, trade_off=steps, time_limit=600, refine=0, tune=0)
    assert sorted(p["lam"] for p in whole.fit(X, y).tried_) == sorted(p["lam"] for p in steps)
