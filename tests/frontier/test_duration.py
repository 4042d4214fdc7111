"""What a sweep is expected to take, and the order in which a limit cuts it."""

from __future__ import annotations

import pytest

from worthwhile.frontier import METHODS, expected_seconds
from worthwhile.frontier import _duration as module
from worthwhile.frontier._methods import VARIANTS


def test_every_method_has_a_guess():
    assert set(module.SECONDS) == set(METHODS) - set(VARIANTS)


def test_more_of_anything_takes_longer():
    least = expected_seconds(["budget"], (200, 10))
    assert 0 < least < expected_seconds(["budget", "catboost"], (200, 10))
    assert least < expected_seconds(["budget"], (20_000, 10))
    assert least < expected_seconds(["budget"], (200, 10), 10)
    assert expected_seconds(["budget"], (200, 10), sweeps=3) == pytest.approx(3 * least)
    assert expected_seconds(["budget"], (200, 10), effort=16) == pytest.approx(2 * least)


def test_nothing_begins_after_the_time_but_the_first(monkeypatch):
    clock = iter([0.0, 1.0, 2.5, 4.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    assert list(module.until(2, "abcd")) == ["a", "b"]
    assert list(module.until(None, "abcd")) == list("abcd")


@pytest.mark.parametrize("count", [0, 1, 2, 3, 6, 17])
def test_every_beginning_is_spread_and_nothing_is_lost(count):
    found = module.ends_first(range(count))
    assert sorted(found) == list(range(count))
    if count > 2:
        assert found[:2] == [0, count - 1]
        assert found[2] in (count // 2, (count - 1) // 2)
