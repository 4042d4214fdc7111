"""The running service, killed under load; more of it: ``python -m benchmarks.attack.service``."""

from __future__ import annotations

from tests.attack.service import killed_under_load


def test_kills_lose_nothing_and_bill_nothing_twice(tmp_path):
    tally = killed_under_load(tmp_path, 0, str(tmp_path / "cases.db"), kills=3)
    assert tally.wrong == []
    assert tally.ended > 0
    assert tally.acknowledged > tally.ended
