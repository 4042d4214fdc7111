"""What docstrings say about defaults is what constructors and fit do."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re

import pytest

import worthwhile
from tests.estimators.small import public_estimators

WRITTEN_OUT = ("EarlyExitClassifier", "EarlyExitRegressor", "FeatureSubsets")
"""Few parameters, some by position: their constructors are written by hand."""

LINE = re.compile(r"^\s*(\w+(?:, \w+)*) : .*\bdefault=(.+?)\.?$", re.M)
"""A parameter in numpydoc whose default is given."""


def said(text):
    for names, value in LINE.findall(text or ""):
        for name in names.split(", "):
            yield name, value


def public():
    for name in sorted(worthwhile.__all__):
        value = getattr(worthwhile, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            yield pytest.param(value, id=name)


@pytest.mark.parametrize("thing", list(public()))
def test_defaults_are_those_documented(thing):
    real = inspect.signature(thing).parameters
    for name, value in said(inspect.getdoc(thing)):
        if name not in real:
            continue  # of a method, or of what is returned
        try:
            expected = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            continue  # words, such as "all cores"
        assert real[name].default == expected, f"{name}: documented {expected!r}"


def test_most_parameters_are_looked_at():
    found = [name for param in public() for name, _ in said(inspect.getdoc(param.values[0]))]
    assert len(found) > 100
    assert ("lam", '"auto"') in list(said(worthwhile.DynamicSelectionClassifier.__doc__))


@pytest.mark.parametrize(
    "name", [n.removesuffix("Regressor") for n in worthwhile.__all__ if n.endswith("Regressor")]
)
def test_classifiers_and_regressors_have_the_same_defaults(name):
    """What both have is declared once, in their base; where one says otherwise, it is meant."""
    both = [
        inspect.signature(getattr(worthwhile, f"{name}{kind}")).parameters
        for kind in ("Classifier", "Regressor")
    ]
    differ = {
        key: (both[0][key].default, both[1][key].default)
        for key in both[0].keys() & both[1].keys()
        if both[0][key].default != both[1][key].default
    }
    expected = {"loss", "threshold", "rule"}  # what means something else for numbers
    assert differ.keys() <= expected, differ


@pytest.mark.parametrize("name", [n for n in public_estimators() if n not in WRITTEN_OUT])
def test_constructors_take_all_parameters_that_a_class_and_its_bases_declare(name):
    """A class that is not decorated itself has the constructor of one of its bases, which lacks the others'."""
    kind = getattr(worthwhile, name)
    assert "__dataclass_fields__" in vars(kind)
    declared = {field.name: field for field in dataclasses.fields(kind)}
    annotated = {
        key
        for base in kind.__mro__
        for key, said in vars(base).get("__annotations__", {}).items()
        if key in vars(base) and not str(said).startswith("ClassVar") and not key.startswith("_")
    }
    assert annotated <= declared.keys()
    taken = inspect.signature(kind).parameters
    assert {key for key, field in declared.items() if field.init} == set(taken)
    fitted = {key for key, field in declared.items() if not field.init}
    assert all(key.endswith("_") or key.startswith("_") for key in fitted)
