"""Extractors: called in bulk, once per row, in time; their values go to the right ids."""

from __future__ import annotations

import itertools
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pytest

from worthwhile import Costs, Extractors

COSTS = Costs({"a": 1, "b": 2, "c": 3}, {"lab": {"fee": 1, "features": ["b", "c"]}})


# Fetching ------------------------------------------------------------------------------------------


def test_values_are_remembered_per_id_and_called_in_bulk():
    calls = []

    def age(ids):
        calls.append(list(ids))
        return [10 * i for i in ids]

    extractors = Extractors({"age": age})
    assert extractors.fetch("age", [3, 1, 3]) == [30, 10, 30]
    assert extractors.fetch("age", [1, 2]) == [10, 20]
    assert calls == [[3, 1], [2]]


def test_a_group_function_is_called_once_for_all_its_features():
    calls = []

    def lab(ids):
        calls.append(list(ids))
        data = {"b": ids, "c": [i + 0.5 for i in ids], "note": ["x"] * len(ids)}
        return pd.DataFrame(data, index=ids)

    extractors = Extractors({"a": lambda ids: ids, "lab": lab})
    assert extractors.fetch("b", [1, 2], COSTS) == [1, 2]
    assert extractors.fetch("c", [2, 1], COSTS) == [2.5, 1.5]
    assert calls == [[1, 2]]
    extractors.check(COSTS, [0, 1, 2])


def test_a_function_of_the_feature_itself_comes_before_its_group():
    extractors = Extractors(
        {"b": lambda ids: [7] * len(ids), "lab": lambda ids: {"b": [8] * len(ids)}}
    )
    assert extractors.fetch("b", [1], COSTS) == [7]


BAD_RESULTS = [
    ("a", lambda ids: [1], ValueError, "extractor of 'a' returned 1 values of 'a' for 2 ids"),
    ("a", lambda ids: {1: 5.0, 3: 6.0}, ValueError, "returned a dict for 'a' that is not by the ids: no value for 2"),
    ("a", lambda ids: {1: 5.0, 2: 6.0, 3: 7.0}, ValueError, "returned a dict for 'a'.*: a value for 3"),
    ("a", lambda ids: pd.Series([5.0, 6.0], index=[1, 7]), ValueError, "returned a Series for 'a'.*no value for 2"),
    ("a", lambda ids: pd.Series([5.0, 6.0], index=[1, 1]), ValueError, "a Series for 'a'.*: more than one value for 1"),
    ("a", lambda ids: pd.Series([5.0, 6.0]), ValueError, "a Series for 'a'.*return values.tolist"),
    ("a", lambda ids: pd.DataFrame({"a": [1, 2]}), TypeError, "extractor of 'a' returned a DataFrame for 'a'"),
    ("a", lambda ids: "xy", TypeError, "extractor of 'a' returned a str for 'a'"),
    ("a", lambda ids: b"xy", TypeError, "extractor of 'a' returned a bytes"),
    ("a", lambda ids: bytearray(b"xy"), TypeError, "extractor of 'a' returned a bytearray"),
    ("a", lambda ids: memoryview(b"xy"), TypeError, "extractor of 'a' returned a memoryview"),
    ("a", lambda ids: {1.0, 2.0}, TypeError, "extractor of 'a' returned a set"),
    ("a", lambda ids: frozenset(ids), TypeError, "extractor of 'a' returned a frozenset"),
    ("a", lambda ids: {1: 0, 2: 0}.keys(), TypeError, "extractor of 'a' returned a dict_keys"),
    ("a", lambda ids: 3.0, TypeError, "extractor of 'a' returned a float"),
    ("a", lambda ids: None, TypeError, "extractor of 'a' returned a NoneType"),
    ("a", lambda ids: np.array(3.0), TypeError, "extractor of 'a' returned a ndarray"),
    ("a", lambda ids: itertools.count(), ValueError, "returned more than 2 values of 'a' for 2 ids"),
    ("a", lambda ids: iter([1.0]), ValueError, "returned 1 values of 'a' for 2 ids"),
    ("lab", lambda ids: {"b": {1.0, 2.0}}, TypeError, "extractor of 'lab' returned a set for 'b'"),
    ("lab", lambda ids: pd.DataFrame({"b": [1, 2]}), ValueError, "extractor of 'lab' returned a Series for 'b'"),
    ("a", lambda ids: [1.0, "high"], ValueError, "value of 'a' is 'high', a str"),
    ("a", lambda ids: [1.0, np.inf], ValueError, "value of 'a' is infinite"),
    ("lab", lambda ids: [1, 2], TypeError, "extractor of group 'lab' returned a list: return a mapping"),
    ("lab", lambda ids: {"c": [1, 2]}, ValueError, "extractor of group 'lab' returned no 'b'"),
    ("lab", lambda ids: {"b": [1, 2], "c": [1]}, ValueError, "returned 1 values of 'c' for 2 ids"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "function", "error", "text"), BAD_RESULTS)
def test_bad_results_are_refused_and_not_remembered(name, function, error, text):
    extractors = Extractors({name: function})
    feature = "b" if name == "lab" else name
    with pytest.raises(error, match=text):
        extractors.fetch(feature, [1, 2], COSTS)
    extractors.functions[name] = lambda ids: (
        {"b": [5] * len(ids)} if name == "lab" else [5] * len(ids)
    )
    assert extractors.fetch(feature, [1, 2], COSTS) == [5, 5]


IN_ORDER = [
    lambda ids: [10 * i for i in ids],
    lambda ids: tuple(10 * i for i in ids),
    lambda ids: np.array(ids) * 10,
    lambda ids: (10 * i for i in ids),
    lambda ids: dict(zip(ids, np.array(ids) * 10, strict=True)).values(),
    lambda ids: pl.Series([10 * i for i in ids]),
    lambda ids: {i: 10 * i for i in sorted(ids)},
    lambda ids: pd.Series([10 * i for i in ids], index=ids),
    lambda ids: pd.Series([10 * i for i in sorted(ids)], index=sorted(ids)),
    lambda ids: pd.Series(10 * np.arange(9)).loc[ids],
]


@pytest.mark.parametrize("function", IN_ORDER)
def test_values_go_to_their_ids(function):
    assert Extractors({"a": function}).fetch("a", [3, 1, 2]) == [30, 10, 20]
    group = Extractors({"lab": lambda ids: {"b": function(ids)}})
    assert group.fetch("b", [3, 1, 2], COSTS) == [30, 10, 20]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_group_may_return_a_frame(frame):
    def lab(ids):
        return frame({"b": [10 * i for i in ids], "c": list(ids)})

    def by_id(ids):
        return lab(ids).set_index(pd.Index(ids)) if frame is pd.DataFrame else lab(ids)

    assert Extractors({"lab": by_id}).fetch("b", [3, 1, 2], COSTS) == [30, 10, 20]


def test_a_numbering_that_only_looks_like_ids_is_refused():
    """Ids 1 and 0, rows numbered 0 and 1: by position or by id? Nobody knows."""
    extractors = Extractors({"a": lambda ids: pd.Series([10.0 * i for i in ids])})
    with pytest.raises(ValueError, match="not by the ids: it is numbered from 0"):
        extractors.fetch("a", [1, 0])
    assert extractors.fetch("a", [0, 1]) == [0.0, 10.0]


def test_bad_values_are_fetched_again():
    for bad in ("high", float("inf"), {1.0}, None):
        results = iter([[bad] if bad is not None else [], [bad or 0, 1], [4.0]])
        extractors = Extractors({"a": lambda ids, results=results: next(results)}, retries=2)
        assert extractors.fetch("a", [1]) == [4.0]


def test_a_generator_is_read_within_the_time():
    stop = threading.Event()

    def slow(ids):
        yield 1.0
        stop.wait(20)
        yield 2.0

    with pytest.raises(TimeoutError, match=r"no answer within 0.05 s"):
        Extractors({"a": slow}, timeout=0.05).fetch("a", [1, 2])
    stop.set()
    assert Extractors({"a": slow}, timeout=20).fetch("a", [1, 2]) == [1.0, 2.0]


def test_an_endless_generator_ends():
    for timeout in (None, 20):
        with pytest.raises(ValueError, match="more than 1 values of 'a' for 1 ids"):
            Extractors({"a": lambda ids: itertools.repeat(1.0)}, timeout=timeout).fetch("a", [1])


def test_unusable_arguments_are_refused():
    with pytest.raises(TypeError, match="extractor of 'a' is a int: give a function of ids"):
        Extractors({"a": 3})
    with pytest.raises(ValueError, match="timeout is 0: give seconds > 0, or None"):
        Extractors({}, timeout=0)
    with pytest.raises(ValueError, match=r"retries is -1 and wait 0.0: both are >= 0"):
        Extractors({}, retries=-1)
    with pytest.raises(ValueError, match="no extractor for 'a': add a function"):
        Extractors({}).fetch("a", [1])
    with pytest.raises(ValueError, match="no extractor for 'b', 'c': the model may ask for it"):
        Extractors({"a": len}).check(COSTS, [0, 1, 2])


def test_a_failed_call_is_repeated_with_growing_waits(monkeypatch):
    waits, calls = [], []
    monkeypatch.setattr(time, "sleep", waits.append)

    def shaky(ids):
        calls.append(ids)
        if len(calls) < 3:
            raise OSError("again")
        return [1.0]

    assert Extractors({"a": shaky}, retries=2, wait=0.5).fetch("a", [1]) == [1.0]
    assert waits == [0.5, 1.0]
    calls.clear()
    with pytest.raises(OSError, match="again"):
        Extractors({"a": shaky}, retries=1).fetch("a", [1])
    assert len(calls) == 2


def test_a_call_that_takes_too_long_has_failed():
    stop = threading.Event()
    extractors = Extractors({"a": lambda ids: stop.wait(20)}, timeout=0.05)
    with pytest.raises(TimeoutError, match=r"no answer within 0.05 s"):
        extractors.fetch("a", [1])
    stop.set()
    quick = Extractors({"a": lambda ids: [2.0], "b": lambda ids: 1 / 0}, timeout=20)
    assert quick.fetch("a", [1]) == [2.0]
    with pytest.raises(ZeroDivisionError):
        quick.fetch("b", [1])
