"""Names of version 0.1.0: still accepted, with a warning that says the new one and when the old goes."""

from __future__ import annotations

import inspect
import warnings

import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import worthwhile
from tests.estimators.small import make, public_estimators
from worthwhile import (
    BudgetSearchCV,
    GreedyMiserClassifier,
    GreedyMiserRegressor,
    SubmodularTreeClassifier,
)

RENAMED = [
    (name, old, new)
    for name in public_estimators()
    for old, new in getattr(worthwhile, name)._renamed.items()
    if old != "init"  # a part of preset: below
]

X, Y, COSTS = worthwhile.datasets.make_priced_classification(120, 0, n_signals=2, n_noise=1)


@pytest.fixture
def strict():
    """Whatever warns is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_these_were_renamed():
    assert RENAMED == [
        ("AdaptiveBoostingClassifier", "n_iterations", "max_iter"),
        ("BudgetedForestClassifier", "max_trees", "n_trees"),
        ("CascadeClassifier", "n_trees", "n_rounds"),
        ("CostSensitiveTreeClassifier", "depth", "max_depth"),
        ("CostSensitiveTreeRegressor", "depth", "max_depth"),
        ("DynamicSelectionClassifier", "n_iterations", "max_iter"),
        ("SubmodularTreeClassifier", "depth", "max_depth"),
        ("SubmodularTreeRegressor", "depth", "max_depth"),
    ]


@pytest.mark.parametrize(("name", "old", "new"), RENAMED)
def test_old_parameters_are_taken_with_a_warning(name, old, new, strict):
    kind = getattr(worthwhile, name)
    text = rf"{name}\({old}=...\) is now {new}=...: the old name goes with version 0\.3\.0"
    with pytest.warns(FutureWarning, match=text) as caught:
        model = kind(**{old: 3})
    assert caught[0].filename == __file__  # it points at who wrote the old name
    with pytest.warns(FutureWarning, match=text) as caught:
        same = kind().set_params(**{old: 3})
    assert caught[0].filename == __file__
    assert model.get_params()[new] == same.get_params()[new] == clone(model).get_params()[new] == 3
    assert old not in model.get_params()
    assert old not in inspect.signature(kind).parameters
    assert new in inspect.signature(kind).parameters
    for both in (lambda: kind(**{old: 3, new: 4}), lambda: kind().set_params(**{old: 3, new: 4})):
        with pytest.raises(TypeError, match=f"{old} is the old name of {new}, give {new} alone"):
            both()


def test_unknown_parameters_stay_unknown(strict):
    with pytest.raises(TypeError, match="unexpected keyword argument 'height'"):
        SubmodularTreeClassifier(height=3)
    with pytest.raises(ValueError, match="Invalid parameter 'height'"):
        SubmodularTreeClassifier().set_params(height=3)


def test_searches_take_grids_over_old_names():
    tree = SubmodularTreeClassifier(float("inf"), costs=COSTS, max_depth=1)
    with pytest.warns(FutureWarning, match="is now max_depth"):
        search = GridSearchCV(tree, {"depth": [2]}, cv=2).fit(X, Y)
    assert search.best_estimator_.max_depth == 2
    with pytest.warns(FutureWarning, match="is now max_depth"):
        found = BudgetSearchCV(tree, 1e6, param_grid={"depth": [2]}, cv=2, tune=0).fit(X, Y)
    assert found.best_estimator_.max_depth == 2
    line = make_pipeline(FunctionTransformer(), tree)
    with pytest.warns(FutureWarning, match="is now max_depth"):
        line.set_params(submodulartreeclassifier__depth=4)
    assert tree.max_depth == 4


# Presets ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [GreedyMiserClassifier, GreedyMiserRegressor])
@pytest.mark.parametrize(
    ("old", "now"),
    [
        ({"init": "prior"}, "default"),
        ({"init": "zero"}, "paper"),
        ({"preset": "equation"}, "default"),
        ({"preset": "equation", "init": "prior"}, "default"),
        ({"preset": "equation", "init": "zero"}, "paper"),
        ({"preset": "authors", "init": "zero"}, "authors"),
    ],
)
def test_init_and_equation_become_a_preset(kind, old, now, strict):
    with pytest.warns(FutureWarning, match=f"is now preset='{now}'") as caught:
        model = kind(**old)
    assert caught[0].filename == __file__
    assert model.preset == clone(model).preset == now
    with pytest.warns(FutureWarning, match=f"is now preset='{now}'") as caught:
        assert kind().set_params(**old).preset == now
    assert caught[0].filename == __file__
    assert not hasattr(model, "init")


@pytest.mark.filterwarnings("ignore:.*is now preset:FutureWarning")
def test_one_old_parameter_after_the_other():
    model = GreedyMiserRegressor().set_params(init="zero").set_params(preset="equation")
    assert model.preset == "paper"
    assert model.set_params(init="prior").preset == "default"
    assert model.set_params(preset="authors").set_params(init="zero").preset == "authors"
    assert model.set_params(preset="equation").preset == "default"


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"init": "zero", "preset": "paper"}, TypeError, "got init='zero' and preset='paper'"),
        ({"init": "prior", "preset": "default"}, TypeError, "the preset says where to start"),
        ({"init": "prior", "preset": "authors"}, ValueError, "preset='authors' starts from 0"),
        ({"init": "median"}, ValueError, "init='median': it was 'prior' or 'zero'"),
    ],
)
def test_what_no_preset_says_is_refused(given, error, text, strict):
    with pytest.raises(error, match=text):
        GreedyMiserRegressor(**given)


# Methods ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "old", "arguments", "now"),
    [
        ("GreedyMiserClassifier", "truncate", {"rounds": 2}, {"stage": 2}),
        ("ForwardForestClassifier", "truncate", {"stage": 1}, {"stage": 1}),
        ("BudgetedForestClassifier", "with_budget", {"budget": 3.0}, {"budget": 3.0}),
        ("PrunedForestClassifier", "with_lam", {"lam": 0.01}, {"lam": 0.01}),
        ("CascadeClassifier", "with_leaving", {"X": X, "leaving": 0.4}, {"X": X, "leaving": 0.4}),
    ],
)
def test_old_methods_are_at(name, old, arguments, now):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # small data
        model = make(name)
        if name == "CascadeClassifier":
            model.set_params(lam=0.0)  # with prices one stage is enough here, and nobody leaves it
        model.fit(X, Y)
    expected = model.at(**now)
    for call in (lambda m: m(**arguments), lambda m: m(*arguments.values())):
        with pytest.warns(FutureWarning, match=rf"{name}\.{old} is now at\(") as caught:
            found = call(getattr(model, old))
        assert caught[0].filename == __file__
        assert found.policy_.fingerprint() == expected.policy_.fingerprint()
    assert expected.policy_.fingerprint() != model.policy_.fingerprint()
    with pytest.raises(TypeError):
        model.at(next(iter(now.values())))


def test_a_trade_off_by_position_still_works():
    model = worthwhile.DynamicSelectionClassifier(
        0.1, extra_lams=[5.0], max_iter=1, n_folds=2, random_state=0
    ).fit(X, Y)
    with pytest.warns(FutureWarning, match=r"Pass lam=5\.0 as keyword args"):
        found = model.at(5.0)
    assert found.lam == 5.0
    assert (found.cost(X) == model.at(lam=5.0).cost(X)).all()
