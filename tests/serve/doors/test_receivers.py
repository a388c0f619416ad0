"""To whom a tool sends something: the address that a user typed is no leak to its receiver, and any other is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.responses import JSONResponse
from tests.serve.conftest import LITIGATOR
from tests.serve.doors.test_declared import may
from tests.serve.doors.test_openai import Proxy, proxy  # noqa: F401
from tests.serve.doors.upstream import completion

from discreet.serve.doors.receivers import receivers_of

BOB = "bob.miller@acme.example"
WORDS = f"Please email {BOB} that the meeting moved to 3 pm."
BODY = "The meeting moved to 3 pm."
RECORD = {"role": "tool", "tool_call_id": "c", "content": "The visit of 3 pm was cancelled."}
CALLED = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function", "function": {
    "name": "send_email", "arguments": "{}"}}]}


def arguments(to: Any = BOB, body: str = BODY, **more: Any) -> str:
    return json.dumps({"to": to, "body": body, **more})


def code(proxy: Proxy, given: str = "", *, tool: str = "send_email", declares: bool = True, content: str = "",  # noqa: F811
         messages: tuple[dict[str, Any], ...] = (), words: str = WORDS, **more: Any) -> str:
    call = {"id": "call_12345678", "type": "function", "function": {"name": tool, "arguments": given or arguments()}}
    service, _ = proxy(JSONResponse(completion(content, tool_calls=[call])))
    may(service)
    declared: dict[str, Any] = {"user_words": words, **more} if declares else more
    response = service.ask("/v1/chat/completions", {
        "model": "tiny", "messages": [*messages, {"role": "user", "content": words}] if RECORD not in messages else
        [{"role": "user", "content": words}, *messages], "discreet": declared,
        "tools": [{"type": "function", "function": {"name": tool, "parameters": {}}}]})
    assert response.status_code == 200, response.text
    return str(response.headers["x-discreet-code"])


@pytest.mark.parametrize("given", [
    arguments(), arguments([BOB, BOB.title()]), arguments("", cc=BOB), arguments(BOB, "Dear all, lunch is at noon."),
    arguments().replace("@", "\\u0040")])
def test_an_address_that_the_user_typed_is_no_leak_to_its_receiver(proxy: Proxy, given: str) -> None:  # noqa: F811
    assert code(proxy, given) == "ok"
    assert code(proxy, given, messages=({"role": "system", "content": "You send mails for the office."},)) == "ok"
    assert code(proxy, given, declares=False) == "privacy/direct"  # Whose words these are is not known.
    assert code(proxy, given, tool="find_person") == "privacy/direct"


@pytest.mark.parametrize("given", [
    arguments("jane.roe@example.org"), arguments([BOB, "jane.roe@example.org"]), arguments(body=f"Ask {BOB}."),
    arguments(BOB, LITIGATOR), arguments(BOB, "She is 52."), arguments(note=BOB + " is ill"),
    '{"to": "jane.roe@example.org", "to": "' + BOB + '"}'])
def test_what_else_is_said_of_somebody_holds_the_receiver_too(proxy: Proxy, given: str) -> None:  # noqa: F811
    assert code(proxy, given) in ("privacy/direct", "privacy/contextual")


def test_an_address_next_to_records_stays_held(proxy: Proxy) -> None:  # noqa: F811
    for messages in ((CALLED, RECORD), ({"role": "system", "content": f"Records. {LITIGATOR}"},)):
        assert code(proxy, messages=messages) == "privacy/direct"
    assert code(proxy, sources=["The visit of 3 pm was cancelled."]) == "privacy/direct"
    assert code(proxy, content=f"I told {BOB} that it is at 3 pm.") == "privacy/direct"
    assert code(proxy, words="Please email Bob that the meeting moved to 3 pm.") == "privacy/direct"


@pytest.mark.parametrize(("name", "given", "found"), [
    ("sendEmail", '{"recipients": ["a@b.example"]}', ["a@b.example"]),
    ("gmail.send_message", '{"To": "a@b.example"}', ["a@b.example"]), ("resend", '{"to": "a@b.example"}', []),
    ("send_email", '{"body": "a@b.example"}', []), ("send_email", '{"to": "Bob <a@b.example>"}', []),
    ("send_email", '["a@b.example"]', []), ("send_email", "{", []), ("send_email", "[" * 99_999, [])])
def test_whom_a_call_names_as_receiver(name: str, given: str, found: list[str]) -> None:
    assert list(receivers_of({"name": name, "arguments": given})) == found
