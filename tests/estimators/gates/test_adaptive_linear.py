"""ADAPT-LIN: its objective, its knobs, and the paper's second example."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

import worthwhile
from worthwhile import AdaptiveBoostingClassifier, AdaptiveLinearClassifier, Costs, datasets
from worthwhile.core import links
from worthwhile.estimators._shared.proximal import PricePenalty
from worthwhile.estimators.gates._judge import _thresholds
from worthwhile.estimators.gates._linear_alternate import (
    REFIT,
    AlternationSettings,
    Distance,
    StandardRows,
    alternate,
    candidates,
    first_weights,
    refit,
)
from worthwhile.estimators.gates._linear_fista import (
    Problem,
    Weights,
    cheap_losses,
    solve,
    spread,
)
from worthwhile.estimators.gates._linear_newton import newton
from worthwhile.estimators.gates._shares import shares_kl


def some_rows(seed, n=80, d=4, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * [1, 10, 0.1, 3][:d]
    X[rng.random(X.shape) < 0.05] = np.nan
    codes = (np.nan_to_num(X[:, 0]) + rng.normal(size=n) > 0).astype(np.intp)
    if n_classes == 3:
        codes += rng.integers(0, 2, n)
    return StandardRows.of(X, codes, n_classes, rng.exponential(size=n))


@given(
    st.integers(0, 999),
    st.floats(0.0, 1.0),
    st.sampled_from([0.0, 0.01, 0.1]),
    st.sampled_from([0.0, 1.0]),
    st.sampled_from([2, 3]),
)
@settings(max_examples=30, deadline=None)
def test_objective_never_rises_at_either_half_step(seed, p_full, gamma, kappa, n_classes):
    rows = some_rows(seed, n_classes=n_classes)
    costs = Costs([1, 2, 0, 1], {"lab": {"fee": 1, "features": [1, 2]}})
    options = AlternationSettings(Distance(kappa), max_iter=8, tol=0.0)
    for penalty in (PricePenalty.of(costs, gamma), REFIT):
        fit = alternate(rows, penalty, p_full, first_weights(rows), options)
        values = [v for entry in fit.trace for v in (entry["after_shares"], entry["objective"])]
        assert (np.diff(values) <= 1e-9).all()
        assert all(entry["mean_share"] <= p_full + 1e-5 for entry in fit.trace)


@given(st.integers(0, 999), st.floats(0.05, 0.95))
@settings(max_examples=20, deadline=None)
def test_jensen_bounds_the_likelihood_of_the_composite_row_by_row(seed, p_full):
    rng = np.random.default_rng(seed)
    g, l1, l0 = rng.normal(size=50) * 3, rng.exponential(size=50), rng.exponential(size=50)
    q = shares_kl(g, l1 - l0, p_full).q
    with np.errstate(divide="ignore", invalid="ignore"):
        entropy = np.where(q > 0, q * np.log(q), 0) + np.where(q < 1, (1 - q) * np.log1p(-q), 0)
    bound = (1 - q) * (l1 - links.log_sigmoid(-g)) + q * (l0 - links.log_sigmoid(g)) + entropy
    likelihood = links.sigmoid(g) * np.exp(-l0) + links.sigmoid(-g) * np.exp(-l1)
    assert (-np.log(likelihood) <= bound + 1e-9).all()


def test_nothing_is_read_at_a_gamma_that_keeps_every_feature_out():
    rows, costs = some_rows(0), Costs([1, 2, 1, 1])
    d = rows.Z.shape[1]
    start = Weights(np.zeros((d, 2)), np.zeros(2))
    fit = alternate(
        rows,
        PricePenalty.of(costs, 1e6),
        0.4,
        start,
        AlternationSettings(Distance(), max_iter=200, tol=0),
    )
    assert fit.support == ()
    scores = fit.weights.scores(rows.Z)
    q = shares_kl(scores[:, 0], cheap_losses(scores[:, 1:], rows.codes) - rows.existing_loss, 0.4)
    problem = Problem(rows.Z, rows.codes, 2, q.q, q.log_odds, 0.0, spread(rows.Z))
    top = PricePenalty.of(costs).silencing(problem.gradient(scores)[:-1])
    options = AlternationSettings(Distance(), max_iter=60)
    assert (
        alternate(rows, PricePenalty.of(costs, 1.05 * top), 0.4, fit.weights, options).support == ()
    )
    assert (
        alternate(rows, PricePenalty.of(costs, 0.9 * top), 0.4, fit.weights, options).support != ()
    )


@pytest.mark.parametrize(("n_classes", "kappa"), [(2, 0.0), (3, 0.0), (2, 2.0)])
def test_newton_finds_the_minimum_of_the_ridge_problem(n_classes, kappa):
    rows = some_rows(4, n_classes=n_classes)
    rng = np.random.default_rng(0)
    problem = Problem(
        rows.Z, rows.codes, n_classes, rng.random(80), rng.normal(size=80), kappa, spread(rows.Z)
    )
    weights = Weights(np.zeros((4, 1 + rows.n_cheap)), np.zeros(1 + rows.n_cheap))
    values = []
    for _ in range(60):
        weights, value = newton(problem, REFIT, weights)
        values.append(value)
    assert (np.diff(values) <= 1e-12).all()
    gradient = problem.gradient(weights.scores(rows.Z))
    assert np.abs(gradient[:-1] + REFIT.weight * weights.coef).max() < 1e-5
    assert np.abs(gradient[-1]).max() < 1e-5


def test_newton_shortens_a_step_that_overshoots():
    # Where all scores are too large the log-loss hardly curves: a whole step goes much too far.
    rows = some_rows(4)
    problem = Problem(rows.Z, rows.codes, 2, np.full(80, 0.5), np.zeros(80), 0.0, spread(rows.Z))
    near, far = (
        newton(problem, REFIT, Weights(np.zeros((4, 2)), np.full(2, start)))[1]
        for start in (0.0, 3.0)
    )
    assert far < near + 0.01


def test_candidates_are_truncations_and_singles_without_repetition():
    found = candidates([(3, 1, 0), (3, 1)], 4)
    assert {tuple(s) for s in found} == {(), (3,), (1, 3), (0, 1, 3), (0,), (1,), (2,)}
    assert len(found) == len(set(found))
    assert (5,) not in candidates([(1,)], 100)


# The paper's second example -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shares", "best", "tempting"),
    [((0.25,) * 4, 1.50, 1.75), ((0.26, 0.26, 0.24, 0.24), 1.52, 1.74)],
)
@pytest.mark.parametrize("separation", [1, 2])
def test_synthetic_2_is_solved_at_the_cost_of_the_paper(shares, best, tempting, separation):
    X, y, costs = datasets.make_synthetic_2(1000, shares=shares, separation=separation)
    existing = SVC(gamma=1).fit(X, y)
    model = AdaptiveLinearClassifier(existing, p_full=0.5, costs=costs).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.cost(X).mean() == pytest.approx(best, abs=0.002)
    assert model.policy_.gate.reads.tolist() == [1]
    plain = AdaptiveLinearClassifier(
        existing, p_full=0.7, gamma=0.003, costs=costs, refit_supports=False
    ).fit(X, y)
    assert plain.cost(X).mean() > best + 0.1  # the local minimum that refits escape


def test_refits_read_only_their_support():
    rows = some_rows(2)
    fit = refit(rows, (1, 3), 0.5, AlternationSettings(Distance(), max_iter=5))
    assert set(fit.support) <= {1, 3}


# Knobs --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def priced():
    X, y, costs = datasets.make_priced_classification(500, 0, n_signals=3, n_noise=2)
    existing = RandomForestClassifier(15, max_depth=5, random_state=0).fit(X[:250], y[:250])
    return X[250:], y[250:], costs, existing


def test_p_full_zero_is_the_cheap_model_alone(priced):
    X, y, costs, existing = priced
    model = AdaptiveLinearClassifier(existing, p_full=0, costs=costs).fit(X, y)
    assert not model.sent(X).any()
    assert len(model.policy_.gate.reads) == 0
    np.testing.assert_array_equal(
        model.cost(X), costs.price(model.policy_.cheap.batch(X.to_numpy()).acquired)
    )


def test_p_full_one_with_a_perfect_existing_model_has_its_accuracy(priced):
    X, y, costs, _ = priced
    X = X.assign(truth=y)
    costs = Costs({**costs.prices, "truth": 50}, {})

    def perfect(rows):
        return np.column_stack([rows["truth"] == 0, rows["truth"] == 1]).astype(float)

    model = AdaptiveLinearClassifier((perfect, ["truth"]), p_full=1, gamma=1e9, costs=costs).fit(
        X, y
    )
    assert model.score(X, y) == 1.0
    report = model.gate_report(X, y)
    assert report.loc["existing", "accuracy"] == 1.0


def test_more_share_sends_more(priced):
    X, y, costs, existing = priced
    sent = [
        AdaptiveLinearClassifier(existing, p_full=p, costs=costs, max_iter=10)
        .fit(X, y)
        .sent(X)
        .mean()
        for p in (0.0, 0.3, 1.0)
    ]
    assert sent[0] == 0
    assert sent[0] <= sent[1] <= sent[2]


def test_budget_chooses_the_best_model_within_it_on_validation_rows(priced, monkeypatch):
    monkeypatch.setattr("worthwhile.estimators.gates.adaptive_linear.SHARES", (0.3, 0.8))
    X, y, costs, existing = priced
    model = AdaptiveLinearClassifier(existing, costs=costs, budget=12, max_iter=5, random_state=0)
    model.fit(X[:150], y[:150], validation=(X[150:], y[150:]))
    trace = model.trace_
    chosen = trace[trace["chosen"]].iloc[0]
    within = trace[trace["cost"] <= 12]
    assert chosen["score"] == within["score"].max()
    assert chosen["cost"] == within[within["score"] == chosen["score"]]["cost"].min()
    assert model.cost(X[150:]).mean() == pytest.approx(chosen["cost"])
    assert model.score(X[150:], y[150:]) == pytest.approx(chosen["score"])


@pytest.mark.parametrize("cls", [AdaptiveLinearClassifier, AdaptiveBoostingClassifier])
def test_sweep_moves_thresholds_of_trained_gates(priced, monkeypatch, cls):
    monkeypatch.setattr("worthwhile.estimators.gates.adaptive_linear.SHARES", (0.3, 0.8))
    X, y, costs, existing = priced
    small = {"max_iter": 3} if cls is AdaptiveLinearClassifier else {"n_rounds": 6}
    model = cls(existing, costs=costs, random_state=0, **small)
    budgets = np.linspace(2, costs.total, 12)
    path = model.fit_path(X[:150], y[:150], budgets, validation=(X[150:], y[150:]))
    moved = [m for m in path if m.point_["threshold"] != 0]
    assert moved
    for m in moved:  # the verdict of the sweep is that of the model that was made of it
        chosen = m.trace_[m.trace_["chosen"]].iloc[0]
        assert m.score(X[150:], y[150:]) == pytest.approx(chosen["score"], abs=1e-12)
        assert m.cost(X[150:]).mean() == pytest.approx(chosen["cost"], abs=1e-9)
        assert m.sent(X[150:]).mean() == pytest.approx(chosen["sent"], abs=1e-12)


def test_thresholds_lie_between_scores_that_rounding_tells_apart():
    score = np.array([0.0, 1.0, 1.0 + 1e-14, 2.0, 3.0])
    found = _thresholds(score, (0.0, 0.4, 0.61, 1.0))
    assert found == pytest.approx([2.5, 1.5, 0.5, 0.5])
    assert _thresholds(np.ones(4), (0.5, 0.7)) == [0.0, 0.0]


def test_a_budget_that_nothing_fits_warns_and_keeps_the_cheapest(monkeypatch):
    monkeypatch.setattr("worthwhile.estimators.gates.adaptive_linear.SHARES", (0.3, 0.8))
    X, y, costs = datasets.make_synthetic_2(200)
    costs = Costs({"x1": 1, "x2": 1}, evaluation=5)
    model = AdaptiveLinearClassifier(
        SVC().fit(X, y), costs=costs, budget=1, max_iter=2, random_state=0
    )
    with pytest.warns(worthwhile.exceptions.WorthwhileWarning, match="no model of the sweep"):
        model.fit(X, y)


def test_several_classes_and_sensors(priced):
    X, y, costs = datasets.make_priced_classification(400, 1, n_signals=3, n_noise=1, n_classes=3)
    model = AdaptiveLinearClassifier(costs=costs, p_full=0.4, max_iter=8, random_state=0).fit(X, y)
    assert model.predict_proba(X).shape == (400, 3)
    assert model.score(X, y) > 0.6
    report = model.gate_report(X, y)
    assert list(report.index) == ["cheap", "existing", "all"]
    assert report.loc["all", "accuracy"] == pytest.approx(model.score(X, y))
    assert report.loc["all", "cost"] == pytest.approx(model.cost(X).mean())
    assert report["rows"].tolist()[:2] == [(~model.sent(X)).sum(), model.sent(X).sum()]


def test_lstsq_keeps_its_limit_and_learns(priced):
    X, y, costs, existing = priced
    model = AdaptiveLinearClassifier(
        existing, distance="lstsq", p_full=0.4, costs=costs, max_iter=6
    )
    model.fit(X, y)
    assert (model.trace_["mean_share"] <= 0.4 + 1e-6).all()
    assert model.score(X, y) > 0.7


def test_equality_needs_kullback_leibler(priced):
    X, y, costs, existing = priced
    model = AdaptiveLinearClassifier(
        existing, constraint="equal", p_full=0.3, costs=costs, max_iter=4
    )
    assert model.fit(X, y).trace_["mean_share"].to_numpy() == pytest.approx(0.3, abs=1e-6)
    with pytest.raises(ValueError, match="goes with distance='kl' only"):
        model.set_params(distance="lstsq").fit(X, y)


def test_trade_off_grid_is_made_of_the_trade_off_parameters(priced):
    X, y, costs, existing = priced
    model = AdaptiveLinearClassifier(existing, costs=costs, max_iter=2)
    grid = model.trade_off_grid(X, y)
    assert grid == [dict.fromkeys(model.trade_off_parameters, "auto")]


def test_l1_solver_and_alternation_agree_on_one_gate(priced):
    """(OPT2) solved to the end does not move when solved again."""
    rows, costs = some_rows(1), Costs([1, 1, 1, 1])
    problem = Problem(rows.Z, rows.codes, 2, np.full(80, 0.3), np.zeros(80), 0.0, spread(rows.Z))
    penalty = PricePenalty.of(costs, 0.01)
    once, value = solve(problem, penalty, first_weights(rows), tol=1e-14, max_iter=5000)
    again, same = solve(problem, penalty, once, tol=1e-14, max_iter=5000)
    assert same == pytest.approx(value, abs=1e-12)
    np.testing.assert_allclose(once.coef, again.coef, atol=1e-5)
