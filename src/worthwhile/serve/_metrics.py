"""Counters for Prometheus. No label names a case."""

from __future__ import annotations

from functools import cache
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest


class Metrics:
    """What is counted, in a registry of its own.

    A counter with labels is a function of them: ``metrics.told("heart").inc()``.
    """

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()

        def counter(name: str, text: str, *labels: str) -> Any:
            made = Counter(f"worthwhile_{name}", text, labels, registry=registry)
            return cache(made.labels) if labels else made  # to find one by its labels takes a while

        self.opened = counter("cases_opened", "Cases opened", "model")
        self.told = counter("steps", "Steps of cases", "model")
        self.spend = counter("spend", "Amounts billed", "model", "key", "feature")
        self.replays = counter("replays", "Cases revived from the store")
        self.hits = counter("cache_hits", "Cases found in memory")
        self.conflicts = counter("conflicts", "Steps refused: the case stood elsewhere")
        self.repeated = counter("repeated", "Requests answered with a stored answer")
        self.requests = counter("requests", "Requests", "status")
        self.commits = Histogram("worthwhile_commit_seconds", "Time of a commit", registry=registry)

    def text(self) -> bytes:
        """As Prometheus reads it."""
        return generate_latest(self.registry)
