from __future__ import annotations

from typing import Any

import pytest
from tests.heavy import need
from tests.serve.conftest import BREAKS, LITIGATOR, SAFE, Start

TEXT = f"{LITIGATOR} Write to jane.roe@example.org or call John Smith at +1 402 555 0147."


def test_spans_are_those_that_count_under_presidios_names(start: Start) -> None:
    service = start()
    found = service.ask("/analyze", {"text": TEXT, "language": "en"}, "operator").json()
    assert {(one["entity_type"], TEXT[one["start"] : one["end"]]) for one in found} == {
        ("AGE", "52-year-old"), ("OCCUPATION", "litigator"), ("LOCATION", "Omaha"), ("FAMILY", "two children"),
        ("EMAIL_ADDRESS", "jane.roe@example.org"), ("PERSON", "John Smith"), ("PHONE_NUMBER", "+1 402 555 0147")}
    assert {one["score"] for one in found if one["entity_type"] == "PERSON"} == {1.0}
    assert [one["start"] for one in found] == sorted(one["start"] for one in found)
    results = [need("presidio_analyzer").RecognizerResult.from_json(one) for one in found]
    assert all(0.5 < one.score <= 1 for one in results)
    assert service.ask("/analyze", {"text": [SAFE, TEXT]}, "operator").json() == [[], found]


@pytest.mark.parametrize(("asked", "left"), [
    ({"entities": ["PERSON", "AGE"]}, {"PERSON", "AGE"}), ({"entities": []}, set()),
    ({"score_threshold": 1.0}, {"EMAIL_ADDRESS", "PERSON", "PHONE_NUMBER"}),
    ({"entities": ["PERSON", "LOCATION"], "allow_list": ["Omaha"]}, {"PERSON"})])
def test_what_is_asked_for_is_what_comes(start: Start, asked: dict[str, Any], left: set[str]) -> None:
    found = start().ask("/analyze", {"text": TEXT, **asked}, "operator").json()
    assert {one["entity_type"] for one in found} == left


def test_why_is_told_where_it_is_asked_for(start: Start) -> None:
    (found,) = start().ask("/analyze", {"text": TEXT, "entities": ["AGE"], "return_decision_process": True},
                           "operator").json()
    assert found["analysis_explanation"]["recognizer"] == "discreet/contextual"
    assert found["analysis_explanation"]["subject"] == "third"


@pytest.mark.parametrize(("body", "status"), [
    ({"text": BREAKS}, 503), ({"text": [SAFE, BREAKS]}, 503), ({"text": TEXT, "language": "de"}, 422),
    ({"text": TEXT, "ad_hoc_recognizers": []}, 422), ({"text": []}, 422), ({"text": "a" * 100_001}, 413)])
def test_nothing_found_is_never_said_of_what_was_not_read(start: Start, body: dict[str, Any], status: int) -> None:
    response = start().ask("/analyze", body, "operator")
    assert response.status_code == status
    assert set(response.json()) == {"error"}


def test_spans_are_for_the_operator(start: Start) -> None:
    service = start()
    assert service.ask("/analyze", {"text": TEXT}).status_code == 403
    assert service.ask("/analyze", {"text": TEXT}, "nobody").status_code == 401
