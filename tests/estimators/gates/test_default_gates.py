"""Gates left at their defaults: the cheapest within one point, what they say, and what they ask."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC

from worthwhile import (
    AdaptiveBoostingClassifier,
    AdaptiveLinearClassifier,
    BudgetSearchCV,
    L1GateClassifier,
    PricedModel,
    load,
)
from worthwhile.estimators.gates import _reading, _task
from worthwhile.estimators.gates._boosted import Growth
from worthwhile.estimators.gates._drop import Gain
from worthwhile.estimators.gates._judge import Sweep, joined
from worthwhile.estimators.gates._saving import reason
from worthwhile.estimators.gates._unseen import Unseen, ask_unseen
from worthwhile.exceptions import WorthwhileWarning

SMALL = {
    AdaptiveBoostingClassifier: {"n_rounds": 15, "max_depth": 3},
    AdaptiveLinearClassifier: {"max_iter": 5},
    L1GateClassifier: {},
}


def _rows(n=1200, seed=0):
    """The first column settles three rows of four; the others are needed for the rest."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    X[:, 0] *= 4
    hard = np.abs(X[:, 0]) < 1.2
    y = np.where(hard, X[:, 1:].sum(axis=1) > 0, X[:, 0] > 0).astype(int)
    return X, y


@pytest.mark.parametrize("cls", SMALL)
def test_a_gate_left_alone_saves_and_says_so(cls, tmp_path, capsys):
    X, y = _rows()
    existing = SVC(gamma=0.2, C=10).fit(X[:600], y[:600])
    model = cls(existing, random_state=0, verbose=1, **SMALL[cls])
    model.fit(X[600:], y[600:], validation=_rows(1500, seed=5))
    new, answers = _rows(2000, seed=9)
    assert model.saved_ > 0.2
    assert f"{cls.__name__}: {model.saved_:.0%} of the bill saved" in capsys.readouterr().err
    assert model.score(new, answers) > existing.score(new, answers) - 0.03
    assert model.cost(new).mean() == pytest.approx(6 * (1 - model.saved_), abs=0.6)
    model.save(tmp_path / "gate")
    again = load(tmp_path / "gate", trusted=["sklearn.svm._classes.SVC"])
    assert again.get_params()[cls.trade_off_parameters[0]] == "auto"
    assert (again.predict(new) == model.predict(new)).all()


def test_budgets_are_stages_of_one_sweep():
    X, y = _rows()
    existing = LogisticRegression().fit(X[:600], y[:600])
    model = AdaptiveBoostingClassifier(
        existing, random_state=0, **SMALL[AdaptiveBoostingClassifier]
    )
    model.fit(X[600:], y[600:])
    bills = [model.at(stage=k).trace_.query("chosen")["cost"].iloc[0] for k in range(25)]
    assert bills == sorted(bills)
    assert bills[0] <= 1  # one cheap feature, or none
    assert np.diff(bills).max() <= 6 / 4
    assert model.at(budget=3).trace_.query("chosen")["cost"].iloc[0] <= 3
    with pytest.raises(ValueError, match="stage is 25: it is a whole number from 0 to 24"):
        model.at(stage=25)
    with pytest.raises(ValueError, match="give one of the two"):
        model.at()
    with pytest.raises(ValueError, match="there is no sweep to choose from"):
        model.set_params(p_full=0.5).fit(X[:200], y[:200]).at(stage=1)


def test_a_search_over_a_gate_trains_one_sweep_a_fold():
    X, y = _rows(600)
    existing = LogisticRegression().fit(X, y)
    search = BudgetSearchCV(
        L1GateClassifier(existing, random_state=0), budget=4, cv=2, horizon=np.inf
    )
    search.fit(X, y)
    assert {point.stage for point in search.frontier_} >= set(range(25))
    assert search.cost(X).mean() <= 4


@pytest.mark.parametrize(
    "kind", ["forest", "priced forest", "out of bag", "whole forest", "scores"]
)
def test_rows_that_the_model_knows_are_noticed(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = (X[:, 0] + 1.5 * rng.normal(size=600) > 0).astype(int)
    existing = {
        "scores": SVC(gamma=2, C=10),
        "out of bag": RandomForestClassifier(50, oob_score=True, random_state=0),
        "whole forest": RandomForestClassifier(50, bootstrap=False, random_state=0),
    }.get(kind, RandomForestClassifier(50, random_state=0))
    existing.fit(X, y)
    right = existing.predict(X)
    said = np.column_stack([right == 0, right == 1]).astype(float)
    given = PricedModel(existing) if kind == "priced forest" else existing
    found = ask_unseen(given, X, y, said, 0)
    assert found.how == ("out of fold" if kind in ("whole forest", "scores") else "out of bag")
    assert not found.seen
    assert np.mean(np.argmax(found.proba, axis=1) == y) < 0.85
    np.testing.assert_allclose(found.proba.sum(axis=1), 1)


def test_rows_of_a_table_that_the_model_knows_are_noticed():
    """Behind text columns too: copies of the pipeline read the frame by its names."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({
        "colour": rng.choice(["red", "green", "blue"], 400), "size": rng.normal(size=400),
        "weight": rng.normal(size=400),
    })  # fmt: skip
    y = np.where((X["colour"] == "red") ^ (rng.random(400) < 0.3), "yes", "no")
    encoder = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough")
    forest = RandomForestClassifier(30, random_state=0)
    existing = make_pipeline(encoder, forest).fit(X, y)
    assert existing.score(X, y) > 0.95
    model = L1GateClassifier(existing, random_state=0)
    task, _ = model._read_task((X, y, None, None), None, swept=True)
    assert task.unseen.how == "out of fold"
    assert np.mean(np.argmax(task.existing.proba, axis=1) == task.codes) < 0.8


def test_a_forest_is_asked_by_as_many_trees_as_it_has():
    """A third of its trees did not draw a row, and fewer trees are worse: gates would look better."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 8))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=9000) > 0).astype(int)
    few = RandomForestClassifier(10, random_state=0, oob_score=True).fit(X[:3000], y[:3000])
    said = few.predict_proba(X[:3000])
    found = ask_unseen(few, X[:3000], y[:3000], said, 0)
    told = np.mean(np.argmax(found.proba, axis=1) == y[:3000])
    own = np.mean(np.argmax(np.nan_to_num(few.oob_decision_function_), axis=1) == y[:3000])
    assert found.how == "out of bag"
    assert told == pytest.approx(few.score(X[3000:], y[3000:]), abs=0.025)
    assert own < told - 0.015


def test_copies_that_had_fewer_rows_are_behind_the_model_by_what_is_said():
    """On a chess board in three dimensions the nearest neighbour gets better with every row."""
    told = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.random((8500, 3))
        y = (np.floor(4 * X).sum(axis=1) % 2).astype(int)
        existing = KNeighborsClassifier(1).fit(X[:2500], y[:2500])
        found = ask_unseen(existing, X[:2500], y[:2500], existing.predict_proba(X[:2500]), 0)
        assert found.how == "out of fold"
        behind = existing.score(X[2500:], y[2500:]) - np.mean(found.proba[:, 1].round() == y[:2500])
        told.append((found.gain.mean, found.gain.error, behind))
    gain, error, behind = np.mean(told, axis=0)
    assert gain > 2 * error
    assert gain == pytest.approx(behind, abs=0.004)


@pytest.mark.parametrize("judged_by", ["folds", "rows held out", "rows given"])
def test_the_existing_models_own_rows_count_where_copies_of_it_were_judged(judged_by, monkeypatch):
    """What the model is better by than its copies is lost where the cheap one answers."""
    X, y = _rows()
    behind = Unseen(np.full((len(y), 2), 0.5), how="out of fold", gain=Gain(0.4, 0.01))
    monkeypatch.setattr(_reading, "ask_unseen", lambda *_: behind)
    if judged_by == "rows held out":
        monkeypatch.setattr(_task, "MANY_ROWS", 1000)
    model = L1GateClassifier(SVC(gamma=0.2, C=10).fit(X, y), max_drop=0.05, random_state=0)
    given = judged_by == "rows given"
    model.fit(X, y, **({"validation": _rows(1500, seed=5)} if given else {}))
    sweep, _ = model._swept
    assert sweep.gain == (Gain() if given else Gain(-0.4, 0.01))
    cautious, bold = (replace(sweep, gain=gain).cheapest(0.05) for gain in (Gain(-0.4), Gain()))
    assert sweep.verdicts[cautious.model].cost > sweep.verdicts[bold.model].cost


def test_rows_that_the_model_has_not_seen_are_taken_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 5))
    y = (X[:, 0] + rng.normal(size=1200) > 0).astype(int)
    for existing in (RandomForestClassifier(50, random_state=0), LogisticRegression()):
        existing.fit(X[:600], y[:600])
        found = ask_unseen(existing, X[600:], y[600:], existing.predict_proba(X[600:]), 0)
        assert found.proba is None
        assert not found.seen
    overfitted = RandomForestClassifier(50, random_state=0).fit(X, y)
    kept = ask_unseen((overfitted.predict_proba, [0]), X, y, overfitted.predict_proba(X), 0)
    assert kept.seen
    assert kept.proba is None


@pytest.mark.parametrize("why", ["few rows", "seen", "nothing predicts"])
def test_a_gate_that_saves_nothing_says_why(why):
    rng = np.random.default_rng(0)
    n = 60 if why == "few rows" else 1500
    X = rng.integers(0, 2, size=(n, 8)).astype(float)
    y = (X.sum(axis=1) % 2).astype(int)  # parity: nothing cheap predicts

    def parity(rows):
        odd = np.asarray(rows).sum(axis=1) % 2
        return np.column_stack([odd == 0, odd == 1]).astype(float)

    existing = (parity, list(range(8)))
    told = {"few rows": "no cheap model predicts", "seen": "trained on these rows"}
    if why != "seen":  # right nine times of ten, so that nobody takes the rows for known
        y = np.where(rng.random(n) < 0.1, 1 - y, y)
    model = AdaptiveLinearClassifier(existing, random_state=0, max_iter=3)
    with pytest.warns(WorthwhileWarning, match=told.get(why, "no cheap model predicts")) as found:
        model.fit(X, y)
    assert found[-1].filename == __file__
    assert model.saved_ < 0.01


def test_a_gate_that_would_lose_too_much_says_how_much():
    """One column is right three times of four, and only all of them tell when it is not."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(1500, 8)).astype(float)

    def truth(rows):
        rows = np.asarray(rows, dtype=int)
        turned = (rows[:, 1:5].sum(axis=1) % 2) & (rows[:, 5:].sum(axis=1) % 2)
        return rows[:, 0] ^ turned

    y = np.where(rng.random(1500) < 0.1, 1 - truth(X), truth(X))
    existing = (lambda rows: np.eye(2)[truth(rows)] * 0.8 + 0.1, list(range(8)))
    model = AdaptiveLinearClassifier(existing, random_state=0, max_iter=3)
    with pytest.warns(
        WorthwhileWarning, match=r"is expected to lose (\d+\.\d) points, and it may lose 1"
    ) as found:
        model.fit(X, y)
    said = float(re.search(r"to lose (\d+\.\d) points", str(found[-1].message))[1])
    saves = [v for v in model._swept[0].verdicts if v.cost <= 0.9 * 8]
    assert said == pytest.approx(100 * (0.9 - max(v.score for v in saves)), abs=4)
    assert said > 5


@pytest.mark.parametrize("cls", [AdaptiveLinearClassifier, L1GateClassifier])
def test_a_linear_gate_sends_the_share_that_it_was_judged_by(cls):
    """It tells hard rows from others hardly at all: the same threshold sends others in each fold."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 6))
    sure = np.abs(X[:, 0]) > 0.7
    y = np.where(sure, X[:, 0] > 0, X[:, 1:] @ [1, 0.8, 0.6, 0.4, 0.2] > 0).astype(int)
    existing = RandomForestClassifier(30, min_samples_leaf=2, random_state=0).fit(X, y)
    costs = [1, 5, 5, 5, 5, 5]
    model = cls(PricedModel(existing, costs), random_state=0, max_drop=0.05, **SMALL[cls])
    model.fit(X, y)
    for budget in (10, 15, 18, 20, 22):
        other = model.at(budget=budget)
        judged = other.trace_.loc[other.trace_["chosen"], "sent"].item()
        if other.point_["threshold"] != 0:
            assert other.sent(X).mean() == pytest.approx(judged, abs=0.02)


def test_a_search_does_not_say_of_every_fit_that_it_saves_nothing():
    """It takes one stage of the gate by its budget, whatever the gate alone would keep."""
    X = np.random.default_rng(0).integers(0, 2, size=(200, 4)).astype(float)
    y = (X.sum(axis=1) % 2).astype(int)  # parity: nothing cheap predicts
    existing = (
        lambda rows: np.eye(2)[(np.asarray(rows).sum(axis=1) % 2).astype(int)],
        list(range(4)),
    )
    gate = L1GateClassifier(existing, out_of_fold=False, random_state=0)
    with pytest.warns(WorthwhileWarning, match="the gate saves 0%"):
        gate.fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", WorthwhileWarning)
        search = BudgetSearchCV(gate, 4, cv=2, refine=0, tune=0).fit(X, y)
    assert search.best_score_ == 1


def test_a_named_trade_off_is_fitted_alone():
    X, y = _rows(300)
    existing = LogisticRegression().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", WorthwhileWarning)
        model = AdaptiveLinearClassifier(existing, p_full=0.3, max_iter=3).fit(X, y)
    assert model.saved_ is None
    assert model.point_ == {"p_full": 0.3, "gamma": 0.01}


@pytest.mark.parametrize("cls", SMALL)
def test_folds_train_the_same_list_of_models(cls):
    """Models are judged by their counterparts: the lists must be of one length, whatever the rows."""
    X, y = _rows(90)
    model = cls(LogisticRegression().fit(X, y), random_state=0, **SMALL[cls])
    lists = []
    for rows in (slice(0, 60), slice(30, 90), slice(0, 90)):
        task, _ = model._read_task((X[rows], y[rows], None, None), (X, y), swept=True)
        if not lists:  # what is the same for all of them
            model._prepare([task])
        lists.append([point for point, _ in model._models(task)])
    names = [list(point) for point in lists[0]]
    assert all([list(point) for point in one] == names for one in lists)
    shared = "p_full" if "p_full" in names[0] else "correct_weight"
    assert all([p[shared] for p in one] == [p[shared] for p in lists[0]] for one in lists)


def test_every_row_judges_models_that_did_not_see_it():
    """Where labels are noise, models of all rows look perfect on them; in folds they do not."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 4)), rng.integers(0, 2, 200)
    existing = (lambda rows: np.tile([0.5, 0.5], (len(rows), 1)), [0])
    model = AdaptiveBoostingClassifier(existing, n_rounds=30, max_depth=5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorthwhileWarning)
        model.fit(X, y, existing_proba=np.eye(2)[y] * 0.8 + 0.1)
    assert model.trace_.query("sent == 0")["score"].max() < 0.65
    task, _ = model._read_task((X, y, None, np.eye(2)[y]), (X, y), swept=True)
    own = Sweep.of(task.judge(), partial(model._models, task))
    assert max(v.score for v in own.verdicts if v.sent == 0) > 0.8


def test_verdicts_of_folds_are_added_up():
    X, y = _rows(210)
    existing = LogisticRegression().fit(X, y)
    model = L1GateClassifier(existing, random_state=0)
    task, rng = model._read_task((X, y, None, None), None, swept=True)
    parts = task.parts(0.2, rng, crossed=True)
    assert sorted(len(part.validation[1]) for part in parts) == [70] * 3
    sweeps = [Sweep.of(part.judge(), partial(model._models, part)) for part in parts]
    whole = joined(sweeps, list(model._models(task)))
    right = np.sum([one.verdicts[7].right.sum() for one in sweeps])
    assert whole.verdicts[7].score == pytest.approx(right / 210)
    assert whole.verdicts[7].right.sum() == pytest.approx(right)
    assert whole.judge.existing_cost == pytest.approx(6)
    levels = [one.points[7]["threshold"] for one in sweeps]
    assert whole.points[7]["threshold"] == np.median(levels)


def test_a_class_of_one_row_stays_among_the_rows_that_train():
    X, y = _rows(60)
    y[7] = 2
    model = AdaptiveBoostingClassifier(n_rounds=3, random_state=0)
    task, rng = model._read_task((X, y, None, None), None, swept=True)
    assert all(2 in part.codes for part in task.parts(0.2, rng, crossed=True))


def test_too_few_rows_to_hold_any_out_are_said_to_be():
    X = np.arange(20.0).reshape(5, 4)
    model = AdaptiveLinearClassifier(random_state=0, max_iter=2)
    with pytest.warns(WorthwhileWarning, match="X has 5 rows, too few to hold any out"):
        model.fit(X, np.arange(5))
    assert model.predict(X).shape == (5,)


def test_many_rows_are_held_out_and_then_train_too(monkeypatch):
    """What some of the rows chose is grown again on all of them; sweeps see a bounded number."""
    monkeypatch.setattr(_task, "MANY_ROWS", 300)
    monkeypatch.setattr(_task, "SWEEP_ROWS", 200)
    X, y = _rows(900)
    sizes, begin = [], Growth.__init__
    monkeypatch.setattr(
        Growth, "__init__",
        lambda growth, duo, q, *rest, **more: (sizes.append(len(q)), begin(growth, duo, q, *rest, **more))[1],
    )  # fmt: skip
    existing = LogisticRegression().fit(X, y)
    model = AdaptiveBoostingClassifier(existing, n_rounds=6, max_depth=3, random_state=0)
    model.fit(X, y)
    swept, last = sizes[: sizes.index(900)], sizes[sizes.index(900) :]
    assert set(swept[:-2]) == {200}
    assert swept[-2:] == [133, 133]  # what fewer rows cost tells what all of them are worth
    assert set(last) == {900}
    assert len(last) < len(swept) / 3
    assert model._swept[0].judge.counts.sum() == 270


def test_halves_judge_what_all_other_rows_train(monkeypatch):
    monkeypatch.setattr(_task, "MANY_ROWS", 300)
    X, y = _rows(1000)
    model = AdaptiveBoostingClassifier(LogisticRegression().fit(X, y), random_state=0)
    task, rng = model._read_task((X, y, None, None), None, swept=True)
    parts = task.parts(0.3, rng, crossed=True, halves=True)
    assert [len(part.X) for part in parts] == [850, 850]
    judging = [part.validation[0] for part in parts]
    assert len(np.unique(np.vstack(judging), axis=0)) == 300
    for part, rows in zip(parts, judging, strict=True):
        assert len(np.unique(np.vstack([part.X, rows]), axis=0)) == 1000


def test_a_budget_is_kept_on_the_rows_that_were_held_out(monkeypatch):
    """What was trained on all rows may buy something else: with a budget it is not."""
    monkeypatch.setattr(_task, "MANY_ROWS", 300)
    X, y = _rows(900)
    existing = LogisticRegression().fit(X, y)
    model = AdaptiveBoostingClassifier(existing, n_rounds=6, max_depth=3, budget=3, random_state=0)
    assert len(model.fit(X, y)._swept[1].X) == 900
    sweep = model._swept[0]
    best = int(np.argmax(model.trace_["chosen"]))
    assert model.trace_["cost"][best] <= 3
    assert sweep.judge.counts.sum() == 270


@pytest.mark.parametrize("n", [90, 2400])
def test_progress_knows_how_many_models_there_are(n, capsys, monkeypatch):
    X, y = _rows(n)
    model = AdaptiveBoostingClassifier(
        LogisticRegression().fit(X, y), n_rounds=2, max_depth=1, random_state=0, verbose=1
    )
    model.fit(X, y)
    count = 13  # a round is the least, so that some lengths are one
    if n == 2400:
        count = (1 + 3 * len(model._steps)) * 2
    assert f"{3 * count}/{3 * count}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("lost", "said"),
    [(0.009, "200 rows do not tell the gates apart"), (0.012, "to lose 1.2 points")],
)
def test_what_would_do_by_itself_is_not_said_to_lose_too_much(lost, said):
    judge = SimpleNamespace(codes=np.repeat([0, 1], 100), existing_cost=10.0)
    everything = SimpleNamespace(cost=10.0, sent=1.0, score=0.9)
    cheap = SimpleNamespace(cost=5.0, sent=0.0, score=0.8)
    sweep = SimpleNamespace(
        judge=judge, verdicts=[everything, cheap], cheapest=lambda most: SimpleNamespace(model=0),
        loss_within=lambda budget: lost,
    )  # fmt: skip
    assert said in reason(sweep, Unseen(), 0.01)
