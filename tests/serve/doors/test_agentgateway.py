from __future__ import annotations

from typing import Any

import pytest
from tests.serve.conftest import BREAKS, LITIGATOR, SAFE, UNDECIDED, Start


def answered(*contents: Any) -> dict[str, Any]:
    """What agentgateway sends for a model's answer."""
    return {"body": {"choices": [{"message": {"role": "assistant", "content": one}} for one in contents]}}


@pytest.mark.parametrize(("contents", "code"), [
    ([SAFE], None), ([], None), ([""], None), ([SAFE, LITIGATOR], "privacy/contextual"),
    ([UNDECIDED], "privacy/undecided"), ([[{"type": "text", "text": LITIGATOR}]], "privacy/contextual"),
    ([{"a": "She is a litigator.", "b": ["52 years old, from Omaha"]}], "privacy/contextual"),
])
def test_a_response_passes_or_is_rejected_with_a_code(start: Start, contents: list[Any], code: str | None) -> None:
    response = start().ask("/response", answered(*contents))
    action = response.json()["action"]
    assert action.get("reason") == code
    assert ("body" in action, action.get("status_code")) == ((False, None) if code is None else (True, 403))
    assert "litigator" not in response.text.lower()


def test_requests_pass(start: Start) -> None:
    body = {"body": {"messages": [{"role": "user", "content": LITIGATOR}]}}
    assert start().ask("/request", body).json() == {"action": {}}


def test_what_cannot_be_judged_is_a_failure_of_the_webhook(start: Start) -> None:
    service = start()
    assert service.ask("/response", answered(BREAKS)).status_code == 503
    deep: Any = "x"
    for _ in range(40):
        deep = [deep]
    assert service.ask("/response", answered(deep)).status_code == 422
    assert service.ask("/response", {"body": {}}).status_code == 422
    assert service.ask("/response", answered(SAFE), "nobody").status_code == 401


def test_a_field_that_is_not_known_is_no_failure_of_the_webhook_and_is_named(start: Start) -> None:
    service = start()
    body = answered(SAFE)
    assert "x-discreet-unread" not in service.ask("/response", body).headers
    body["body"] |= {"sources": ["x"], LITIGATOR: 1}
    response = service.ask("/response", body | {"bdoy": {}})
    assert (response.status_code, response.json()) == (200, {"action": {}})
    assert response.headers["x-discreet-unread"] == "bdoy, body.sources, other"
    assert service.ask("/response", body, "nobody").status_code == 401


def test_text_beside_the_message_of_a_choice_is_judged(start: Start) -> None:
    body: dict[str, Any] = {"body": {"choices": [{"message": {"role": "assistant", "content": SAFE}, "index": 0,
                                                  "reasoning": LITIGATOR}]}}
    assert start().ask("/response", body).json()["action"]["reason"] == "privacy/contextual"
