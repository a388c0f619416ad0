from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import BREAKS, DIRECT, LITIGATOR, SAFE, UNDECIDED, Start

from discreet.serve.doors.litellm import PATH


def asked(*texts: str, **more: Any) -> dict[str, Any]:
    """What LiteLLM 1.109 sends for an answer."""
    return {"input_type": "response", "texts": list(texts), "images": None, "tools": None, "tool_calls": None,
            "structured_messages": [{"role": "user", "content": "Who is it?"}], "model": "tiny",
            "litellm_call_id": "c1", "litellm_trace_id": "t1", "litellm_version": "1.109.1",
            "request_data": {"user_api_key_alias": "a"}, "request_headers": {"authorization": "[present]"},
            "additional_provider_specific_params": {}, **more}


@pytest.mark.parametrize(("text", "said"), [
    (SAFE, {"action": "NONE", "texts": [SAFE]}),
    (LITIGATOR, {"action": "BLOCKED", "blocked_reason": "privacy/contextual"}),
    (DIRECT, {"action": "BLOCKED", "blocked_reason": "privacy/direct"}),
    (UNDECIDED, {"action": "BLOCKED", "blocked_reason": "privacy/undecided"}), ("", {"action": "NONE", "texts": [""]}),
])
def test_what_a_model_answers_is_judged(start: Start, text: str, said: dict[str, Any]) -> None:
    assert start().ask(PATH, asked(text)).json() == said


def test_requests_pass_and_echoes_are_no_leaks(start: Start) -> None:
    service = start()
    assert service.ask(PATH, asked(LITIGATOR, input_type="request")).json()["action"] == "NONE"
    messages = [{"role": "user", "content": "I am a 52-year-old litigator from Omaha. May I apply?"}]
    echo = asked("As a 52-year-old litigator from Omaha you may apply.", structured_messages=messages)
    assert service.ask(PATH, echo).json()["action"] == "NONE"


def test_one_person_across_texts_and_tool_calls(start: Start) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"age": 52, "city": "Omaha"}'}}
    body = asked("She is a litigator.", tool_calls=[call])
    assert start().ask(PATH, body).json()["blocked_reason"] == "privacy/contextual"


def test_what_cannot_be_judged_is_unreachable_and_no_block(start: Start) -> None:
    service = start()
    for body in (asked(BREAKS), asked(SAFE, images=["data:…"])):
        response = service.ask(PATH, body)
        assert (response.status_code, response.json()["error"]["code"]) == (503, "privacy/not_judged")
    assert service.ask(PATH, {"input_type": "other"}).status_code == 422
    assert service.ask(PATH, asked(SAFE, additional_provider_specific_params={"guard": "x"})).status_code == 404


def test_observing_images_pass(start: Start) -> None:
    body = asked(LITIGATOR, images=["data:…"])
    assert start(mode="observe").ask(PATH, body).json()["action"] == "NONE"


def test_a_ticket_where_it_is_asked_for(start: Start, tmp_path: Path) -> None:
    service = start(queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys"})
    said = service.ask(PATH, asked(UNDECIDED, additional_provider_specific_params={"review": True})).json()
    code, _, ticket = said["blocked_reason"].partition(" ticket ")
    assert code == "privacy/undecided"
    assert service.ask(f"/v1/tickets/{ticket}").json()["status"] == "pending"
    assert UNDECIDED not in service.log.getvalue()
