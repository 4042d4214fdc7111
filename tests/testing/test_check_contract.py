"""Each check of the contract is proved by an estimator that breaks exactly what it protects."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import worthwhile
from tests.testing.dishonest import answers, bills, honest, manners, mixed
from worthwhile import testing
from worthwhile.testing import CHECKS, LAWS, ContractError, check_contract, subjects

CAUGHT = [
    (answers.Peeks, "check_unbought_values_are_not_used", "where nothing was bought"),
    (answers.PeeksUnderBudget, "check_unbought_values_are_not_used", "under a budget of"),
    (answers.ReadsText, "check_unbought_values_are_not_used", "could not convert string"),
    (
        answers.LooksAtOtherRows,
        "check_rows_do_not_see_each_other",
        "in a batch of half the rows|alone|order",
    ),
    (answers.Forgetful, "check_rows_do_not_see_each_other", "when asked again"),
    (answers.TakesInfinity, "check_infinity_is_refused_where_read", "takes .* and goes on"),
    (answers.SessionsDiffer, "check_sessions_agree_with_batches", "acquired is .* in a session"),
    (answers.SessionsRound, "check_sessions_agree_with_batches", "probabilities is"),
    (answers.StoresBadly, "check_stored_sessions_agree", "stored at every step"),
    (answers.ForgetsItsPlan, "check_stored_sessions_agree", "has the bill as .* after"),
    (
        answers.ForgetsThatItWasRead,
        "check_stored_sessions_agree",
        "has the bill as .* after reading an answer",
    ),
    (
        answers.GenerousWhenResumed,
        "check_stored_sessions_agree",
        "when a price over the budget is stated",
    ),
    (
        answers.ForgetfulWithoutEvaluation,
        "check_stored_sessions_agree",
        "has the bill as .* after",
    ),
    (answers.FileDiffers, "check_reloaded_model_agrees", "load_policy"),
    (answers.MindsTheLayout, "check_form_of_data_does_not_matter", "as float32"),
    (answers.WarnsOfLargeNumbers, "check_numpy_settings_do_not_matter", "FloatingPointError"),
    (answers.GetsStuck, "check_numpy_settings_do_not_matter", "FloatingPointError"),
    (
        mixed.HashesWhatIsNotBought,
        "check_unbought_values_are_not_used",
        "where nothing was bought",
    ),
    (mixed.GoesByPlaces, "check_keys_decide_alone", "in another order of rows and keys"),
    (mixed.ForgetsKeysInSessions, "check_keys_fall_alike", "in a session with a key"),
    (mixed.LosesKeys, "check_keys_fall_alike", "key of a session or of its ledger is lost"),
    (mixed.TossesBadly, "check_keys_fall_alike", "of 2000 keys 0.0% follow the dearer"),
    (mixed.TakesAnyKey, "check_bad_keys_are_refused", "is accepted"),
    (bills.CutsPrices, "check_prices_are_those_given", "has price 0, given"),
    (bills.UnderBills, "check_bill_can_be_recomputed", r"cost is .* in cost\(X\)"),
    (bills.ForgetsEvaluations, "check_bill_can_be_recomputed", r"cost is .* in cost\(X\)"),
    (bills.SellsAlone, "check_requirements_are_bought", "buys .* without"),
    (bills.BillsByTheOldList, "check_prices_of_today", "cost is .* at prices of today"),
    (
        bills.BuysWhatIsNotThere,
        "check_columns_that_are_not_to_be_had",
        "though it is not to be had",
    ),
    (bills.OneBudgetForAll, "check_each_row_may_have_its_budget", "where each row has its budget"),
    (
        bills.AddsLoosely,
        "check_decimal_settings_do_not_matter",
        "the bill is .* in a session under",
    ),
    (bills.RoundsBudgets, "check_decimal_settings_do_not_matter", "the budget is|Inexact"),
    (bills.ChargesFeesTwice, "check_nothing_is_paid_twice", "due are"),
    (bills.MindsTheOrder, "check_order_of_telling_does_not_matter", "opposite order"),
    (bills.SellsTwice, "check_nothing_is_paid_twice", "told twice"),
    (bills.EmptyIsFree, "check_empty_values_are_paid_and_legal", "due is"),
    (bills.RefusesEmpty, "check_empty_values_are_paid_and_legal", "X has NaN"),
    (bills.Overspends, "check_budgets_are_kept", "under a budget of"),
    (bills.NoAnswer, "check_budgets_are_kept", "the answer under a budget"),
    (bills.SessionsOverspend, "check_sessions_keep_budgets", "a session spends|acquired is"),
    (bills.ReordersUnderBudget, "check_budgets_cut_the_unlimited_order", "come first and fit"),
    (bills.StingyWithPlenty, "check_ample_budget_is_no_budget", "with a budget of"),
    (bills.RefusesSilently, "check_budget_is_refused_with_advice", "without a word"),
    (manners.Wears, "check_file_is_stable", "after a prediction"),
    (manners.GlobalSeed, "check_refit_gives_the_same_bytes", "two fits"),
    (manners.MindsThreads, "check_threads_do_not_matter", "n_jobs=2"),
    (manners.ReadsByPlace, "check_frames_are_read_by_name", "with columns in another order"),
    (manners.TakesAnyShape, "check_bad_rows_are_refused", "is accepted"),
    (manners.TakesAnyPrice, "check_bad_prices_are_refused", "is accepted"),
    (manners.AlwaysFitted, "check_prediction_needs_a_fit", "predict before fit is accepted"),
    (
        manners.LosesPurchases,
        "check_sessions_survive_nonsense",
        "what was paid or known has changed",
    ),
]


def named(name):
    return next(check for check in CHECKS if check.__name__ == name)


@pytest.fixture(scope="module")
def honest_subjects():
    return list(subjects(honest.HonestTrees()))


@pytest.mark.parametrize(
    "estimator", [honest.HonestTrees(), honest.HonestTree(), mixed.HonestMixture()]
)
def test_an_honest_estimator_of_a_user_passes(estimator):
    check_contract(estimator)


@pytest.mark.parametrize(
    ("cheat", "check", "found"), CAUGHT, ids=lambda v: getattr(v, "__name__", None)
)
def test_a_dishonest_estimator_is_caught(cheat, check, found):
    check_all = named(check)
    with pytest.raises(ContractError, match=found) as caught:
        list(map(check_all, subjects(cheat())))
    assert caught.value.check == check
    law = caught.value.law
    assert f"breaks law {law} ({LAWS[law]}). Should hold: " in str(caught.value)


@pytest.mark.parametrize(
    "cheat", [answers.Peeks, bills.UnderBills, bills.Overspends, manners.LosesPurchases]
)
def test_the_whole_suite_catches_it_too(cheat):
    with pytest.raises(ContractError, match=f"{cheat.__name__} on a frame"):
        check_contract(cheat())


def test_every_check_is_proved_and_public():
    assert {check for _, check, _ in CAUGHT} == {check.__name__ for check in CHECKS}
    assert {check.law for check in CHECKS} == set(LAWS)
    assert all(check.__doc__.splitlines()[0].endswith(".") for check in CHECKS)


def test_the_row_is_shown():
    with pytest.raises(ContractError, match=r"row (\d+) \(buys .*\): cost is") as caught:
        check_contract(bills.UnderBills())
    assert isinstance(caught.value.row, int)


def test_generated_data_has_what_the_laws_need(honest_subjects):
    frame, array, many = honest_subjects
    assert frame.costs.groups
    assert frame.costs.evaluation > 0
    assert frame.costs.feature_names is not None
    assert np.isnan(frame.values).any()
    assert array.costs.feature_names is None
    assert array.costs.groups
    assert len(many.model.classes_) == 3
    for subject in honest_subjects:
        assert 0 < subject.answers().acquired.mean() < 1


def test_a_fitted_model_needs_data(honest_subjects):
    with pytest.raises(
        ValueError, match="X is None: a fitted model is checked on data like its own"
    ):
        check_contract(honest_subjects[0].model)


def test_an_estimator_with_X_needs_y(honest_subjects):
    with pytest.raises(ValueError, match="y is None: an estimator that is to be fitted"):
        check_contract(honest.HonestTrees(), honest_subjects[0].X)


def test_own_data_and_prices(honest_subjects):
    X, y = honest_subjects[0].train
    check_contract(honest.HonestTrees(), X, y, costs=dict.fromkeys(X.columns, 0.1), rows=4)


def test_a_fitted_model_is_held_to_the_prices_it_should_have(honest_subjects):
    subject = honest_subjects[0]
    with pytest.raises(ContractError, match="given 9"):
        check_contract(subject.model, subject.X, costs=dict.fromkeys(subject.X.columns, 9))


@pytest.mark.parametrize("extra", ["nothing", "fallback", "background"])
@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_foreign_models_pass(kind, extra):
    heart = worthwhile.datasets.load_heart()
    last = LogisticRegression() if kind == "classifier" else LinearRegression()
    model = make_pipeline(StandardScaler(), last)
    model.fit(heart.data, heart.target)
    costs = worthwhile.Costs.from_dict({**heart.costs.to_dict(), "evaluation": "0.3"})
    given = {"nothing": {}, "fallback": {"fallback": 1}, "background": {"background": heart.data}}[
        extra
    ]
    check_contract(worthwhile.PricedModel(model, costs, **given), heart.data, rows=5)


def test_foreign_numbers_may_differ_in_the_last_bits(honest_subjects):
    subject = honest_subjects[0]

    class Foreign(type(subject.policy)):
        exact = False

    loose = testing.Subject(honest.HonestTrees(), subject.X, "x")
    loose.model.policy_ = Foreign(subject.costs, subject.policy.output, subject.policy.trees)
    loose.model.n_features_in_ = len(subject.costs.features)
    assert loose.same(0.1 + 1e-9, 0.1)
    assert not loose.same(0.101, 0.1)
    assert not subject.same(0.1 + 1e-15, 0.1)
    assert not subject.same(-0.0, 0.0)
