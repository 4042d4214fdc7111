"""A span for each purchase, where OpenTelemetry is installed."""

from __future__ import annotations

import pytest

from worthwhile import _tracing
from worthwhile.runtime import Extractors

pytest.importorskip("opentelemetry.sdk")


@pytest.fixture
def spans(monkeypatch):
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(_tracing, "_tracer", lambda: provider.get_tracer("worthwhile"))
    return exporter


def test_every_purchase_of_a_case_is_a_span(steps, spans):
    answer = steps.run(0)
    lines = steps.client.get(f"/v1/sessions/{answer['id']}/ledger").json()["entries"]
    found = [s for s in spans.get_finished_spans() if s.name == "worthwhile.purchase"]
    assert [s.attributes["worthwhile.feature"] for s in found] == [
        line["feature"] or "" for line in lines
    ]
    assert sum(s.attributes["worthwhile.amount"] for s in found) == pytest.approx(answer["spent"])
    assert {s.attributes["worthwhile.case"] for s in found} == {answer["id"]}
    assert all(s.start_time <= s.end_time for s in found)


def test_a_step_sent_again_is_no_second_purchase(steps, spans):
    first = steps.open().json()
    steps.tell(first, 0, "k")
    count = len(spans.get_finished_spans())
    steps.tell(first, 0, "k")
    assert len(spans.get_finished_spans()) == count


def test_every_call_of_an_extractor_is_a_span(spans):
    tries = []

    def age(ids):
        tries.append(ids)
        if len(tries) == 1:
            raise OSError("busy")
        return [40.0] * len(ids)

    Extractors({"age": age}, retries=1).fetch("age", [1, 2])
    found = spans.get_finished_spans()
    assert [s.name for s in found] == ["worthwhile.fetch"] * 2
    assert [s.status.is_ok for s in found] == [False, True]
    assert found[1].attributes["worthwhile.count"] == 2
