"""The service does what its own OpenAPI document says: requests made up from it, answers held against it."""

from __future__ import annotations

import contextlib
import signal
from collections import Counter

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable

from tests.attack.service import Service

schemathesis = pytest.importorskip("schemathesis")

EXAMPLES = 20
"""Requests for each operation."""


@pytest.fixture(scope="module")
def service(model_file, tmp_path_factory):
    folder = tmp_path_factory.mktemp("schema")
    service = Service(model_file, str(folder / "cases.db"), folder)
    service.start()
    yield service
    service.kill(signal.SIGTERM)


@pytest.fixture(scope="module")
def api(service):
    return schemathesis.openapi.from_url(f"{service.url}/v1/openapi.json")


def ask_all(operation, mode, case_id, statuses):
    """Requests for an operation; with a case's id, about that case."""

    @settings(
        max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True,
        database=None,
    )  # fmt: skip
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case):
        if case_id is not None:
            case.path_parameters["case"] = case_id
        answer = case.call()
        statuses[answer.status_code] += 1
        # What fits the document may still be refused, in the documented shape: an unknown feature, say.
        skipped = [schemathesis.checks.positive_data_acceptance]
        if answer.status_code == 413:  # which schemathesis does not count among refusals
            skipped.append(schemathesis.checks.negative_data_rejection)
        case.validate_response(answer, excluded_checks=skipped)

    with contextlib.suppress(Unsatisfiable):  # there may be nothing that could be sent otherwise
        ask()


@pytest.mark.parametrize("mode", ["POSITIVE", "NEGATIVE"])
def test_no_answer_is_undocumented(api, service, mode):
    statuses = Counter()
    operations = [found.ok() for found in api.get_all_operations()]
    for operation in operations:
        opened = httpx.post(f"{service.url}/v1/sessions", json={"model": "heart"}).json()["id"]
        for case_id in (None, opened) if "{case}" in operation.path else (None,):
            ask_all(operation, schemathesis.GenerationMode[mode], case_id, statuses)
    assert len(operations) >= 12
    assert sum(statuses.values()) >= EXAMPLES
    assert not any(status >= 500 for status in statuses), statuses
