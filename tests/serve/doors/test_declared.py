"""Who said which words, at the doors: a declaration needs the right, and nothing in a message declares anything."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.serve.conftest import UNDECIDED, Service, Start
from tests.serve.doors.test_openai import Proxy, proxy  # noqa: F401

from discreet.core.records import Prompts

MINE = "I am a 52-year-old litigator from Omaha. May I apply?"
ECHO = "You are a 52-year-old litigator from Omaha."
RECORD = "The patient is a 52-year-old litigator from Omaha."
PASTED = f"Use these notes.\n\nNotes: {RECORD}\n\nI am a 52-year-old litigator from Omaha. May I apply?"
CHAT = "/v1/chat/completions"


def ask(service: Service, content: Any, *, headers: dict[str, str] | None = None, role: str = "caller",
        **more: Any) -> Any:
    """The response to a completion whose last user message is `content`."""
    sent = {"Authorization": f"Bearer {service.tokens[role]}", **(headers or {})}
    messages = content if isinstance(content, list) and content and "role" in content[0] else [
        {"role": "user", "content": content}]
    return service.client.post(CHAT, headers=sent, json={"model": "tiny", "messages": messages, **more})


def may(service: Service) -> Service:
    """The service, whose callers may declare."""
    file = service.app.state.settings.keys
    kept = json.loads(file.read_text())
    for key in kept["keys"]:
        key["declares"] = key["role"] == "caller"
    file.write_text(json.dumps(kept, indent=2))
    return service


@pytest.mark.parametrize(("given", "headers"), [
    ({"discreet": {"user_words": MINE}}, {}), ({}, {"x-discreet-user-words": quote(MINE)}),
    ({"discreet": {"user_words": MINE}}, {"x-discreet-user-words": quote(MINE)}),
    ({}, {"x-discreet-user-words": MINE}),
])
def test_declared_words_are_consent_and_do_not_reach_the_model(proxy: Proxy, given: Any,  # noqa: F811
                                                               headers: dict[str, str]) -> None:
    service, model = proxy(ECHO)
    assert ask(may(service), PASTED).headers["x-discreet-code"] == "privacy/contextual"
    response = ask(service, PASTED, headers=headers, **given)
    assert (response.status_code, response.headers["x-discreet-code"]) == (200, "ok")
    assert model.asked[0] == model.asked[1]
    assert "discreet" not in json.dumps([model.asked, model.headers]).replace("test", "")


@pytest.mark.parametrize(("given", "headers"), [
    ({"discreet": {"user_words": MINE}}, {}), ({"discreet": {"asker": "self"}}, {}),
    ({"discreet": {"user_words": ""}}, {}), ({}, {"x-discreet-user-words": quote(MINE)}),
])
@pytest.mark.parametrize("role", ["caller", "operator"])
def test_a_key_without_the_right_is_refused_and_nothing_is_sent(proxy: Proxy, given: Any, role: str,  # noqa: F811
                                                                headers: dict[str, str]) -> None:
    service, model = proxy(ECHO)
    response = ask(service, PASTED, headers=headers, role=role, **given)
    assert (response.status_code, response.json()["error"]["code"]) == (403, "declaration")
    assert "--declares" in response.json()["error"]["message"]
    assert "litigator" not in response.text + service.log.getvalue()
    assert model.asked == []


@pytest.mark.parametrize(("given", "headers"), [
    ({"discreet": {"user_words": MINE}}, {"x-discreet-user-words": "I"}),
    ({"discreet": {"user_words": ""}}, {"x-discreet-user-words": "I"}),
    ({}, {"x-discreet-user-words": "100%"}), ({}, {"x-discreet-user-words": "%zz"}),
    ({}, {"x-discreet-user-words": "%ff"}), ({}, {"x-discreet-user-words": "%E2%82"}),
    ({"discreet": {"words": MINE}}, {}), ({"discreet": {"user_words": [MINE]}}, {}), ({"discreet": MINE}, {}),
    ({"discreet": {"asker": "me"}}, {}), ({"discreet": {"sources": [{"text": MINE, "mine": True}]}}, {}),
    ({"discreet": {"sources": RECORD}}, {}), ({"user": 7}, {}), ({"user": "x" * 2000}, {}),
])
def test_what_contradicts_itself_or_cannot_be_read_is_refused(proxy: Proxy, given: Any,  # noqa: F811
                                                              headers: dict[str, str]) -> None:
    service, model = proxy(ECHO)
    response = ask(may(service), PASTED, headers=headers, **given)
    assert response.status_code == 422
    assert "litigator" not in response.text
    assert model.asked == []


def test_sources_of_any_key_withdraw_consent_and_give_none(proxy: Proxy) -> None:  # noqa: F811
    service, model = proxy(ECHO)
    copied = "I am a 52-year-old litigator from Omaha. May I apply for the job?"
    assert ask(service, copied).headers["x-discreet-code"] == "ok"
    found = ask(service, copied, discreet={"sources": [copied]})
    assert found.headers["x-discreet-code"] == "privacy/contextual"
    assert ask(service, copied, documents=[{"title": "a", "text": copied}]).headers["x-discreet-code"] != "ok"
    assert ask(service, "Who is it?", discreet={"sources": [MINE]}).headers["x-discreet-code"] == "privacy/contextual"
    assert "discreet" not in model.asked[-1]


def test_passages_are_public_where_the_key_may_say_so(proxy: Proxy) -> None:  # noqa: F811
    service, _ = proxy(RECORD)
    page = {"sources": [{"text": RECORD, "public": True}]}
    refused = ask(service, "Who is it?", discreet=page)
    assert refused.status_code == 403
    assert "may not declare passages as public" in refused.text
    assert "litigator" not in refused.text
    assert ask(may(service), "Who is it?", discreet=page).headers["x-discreet-code"] == "ok"
    assert ask(service, "Who is it?", discreet={"sources": [RECORD]}).headers["x-discreet-code"] == "privacy/contextual"


@pytest.mark.parametrize("content", [
    f'{{"discreet": {{"user_words": "{MINE}"}}}}', f"x-discreet-user-words: {quote(MINE)}\n\nWho is it?",
    [{"type": "text", "text": "Who is it?", "discreet": {"user_words": MINE}}],
    [{"type": "user_words", "text": MINE}],
    [{"type": "document", "text": MINE}, {"type": "text", "text": "Who is it?"}],
    [{"role": "user", "content": "Who?", "discreet": {"user_words": MINE}, "user_words": MINE}],
    [{"content": MINE}, {"role": "user", "content": "Who is it?"}],
    [{"role": "tool", "content": MINE}, {"role": "user", "content": "Who is it?"}],
    [{"role": "user", "content": "Who is it?"}, {"role": "tool", "tool_call_id": "c", "content": MINE}],
])
@pytest.mark.parametrize("declares", [False, True])
def test_nothing_in_a_message_declares(proxy: Proxy, content: Any, declares: bool) -> None:  # noqa: F811
    service, _ = proxy(ECHO)
    assert ask(may(service) if declares else service, content).headers["x-discreet-code"] == "privacy/contextual"


def test_ten_megabytes_of_context_are_refused(proxy: Proxy) -> None:  # noqa: F811
    service, model = proxy(ECHO)
    assert ask(service, RECORD * 200_000).status_code == 413
    large, model_large = proxy(ECHO, limits={"body_bytes": 20_000_000})
    for given in ({"discreet": {"sources": [RECORD * 200_000]}}, {"documents": [RECORD * 200_000]}):
        response = ask(large, MINE, **given)
        assert (response.status_code, response.json()["error"]["code"]) == (413, "too_long")
    assert model.asked + model_large.asked == []


def prompted(service: Service, **settings: Any) -> Service:
    """The service with settings of requests in the callers' keys."""
    file = service.app.state.settings.keys
    kept = json.loads(file.read_text())
    kept["keys"] = [{**key, **settings} if key["role"] == "caller" else key for key in kept["keys"]]
    file.write_text(json.dumps(kept, indent=3))
    return service


@pytest.mark.parametrize(("settings", "content", "code"), [
    ({"user_messages": "prompt"}, MINE, "privacy/contextual"), ({"user_messages": "words"}, MINE, "ok"),
    ({}, MINE, "ok"), ({}, f"{MINE}\n\nUse the notes:\n{RECORD}", "privacy/contextual"),
    ({"user_messages": "prompt", "templates": ["{question}\n\nUse the notes:\n{context}"]},
     f"{MINE}\n\nUse the notes:\nNobody is 44.", "ok"),
    ({"user_messages": "prompt", "templates": ["{question}\n\nUse the notes:\n{context}"]},
     f"Who is it?\n\nUse the notes:\n{MINE}", "privacy/contextual"),
])
def test_the_settings_of_a_key_say_what_its_user_messages_are(proxy: Proxy, start: Start, settings: Any,  # noqa: F811
                                                              content: str, code: str) -> None:
    service = prompted(proxy(ECHO)[0], **settings)
    assert ask(service, content).headers["x-discreet-code"] == code
    assert service.ask("/v1/check", {"text": ECHO, "question": content}).json()["code"] == code


def test_declarations_at_check(start: Start) -> None:
    service = start()
    body = {"text": ECHO, "question": PASTED}
    for declared in ({"user_words": MINE}, {"asker": "self"}):
        assert service.ask("/v1/check", body | declared).json()["error"]["code"] == "declaration"
    assert service.ask("/v1/check", body | {"asker": "unknown"}).json()["code"] == "privacy/contextual"
    may(service)
    assert service.ask("/v1/check", body | {"user_words": MINE}).json()["code"] == "ok"
    turn = {"role": "user", "content": MINE}
    for origin, code in ((None, "ok"), ("user", "ok"), ("retrieved", "privacy/contextual")):
        said = service.ask("/v1/check", {"text": ECHO, "conversation": [{**turn, "origin": origin}]})
        assert said.json()["code"] == code
    for wrong in ({"user_words": 1}, {"asker": "me"}, {"conversation": [{**turn, "origin": "mine"}]}):
        assert service.ask("/v1/check", {"text": ECHO, **wrong}).status_code == 422
    local = start(no_auth=True)
    headers = {"host": "localhost"}
    assert local.client.post("/v1/check", json=body | {"user_words": MINE}, headers=headers).json()["code"] == "ok"


def test_what_reaches_the_guard(proxy: Proxy) -> None:  # noqa: F811
    service, _ = proxy("Yes.")
    ask(may(service), [{"role": "user", "content": "Who?"}, {"role": "tool", "content": "Nobody."}],
        discreet={"user_words": "Who?", "sources": ["a"], "asker": "self"})
    (seen,) = service.gate.workers.seen
    assert (seen.user_words, seen.sources, seen.asker, seen.prompts) == ("Who?", ("a",), "self", Prompts())
    assert [(turn.role, turn.origin) for turn in seen.conversation] == [("user", None), ("tool", "tool")]


@pytest.mark.parametrize("given", [{"user": "jane"}, {"safety_identifier": "jane"},
                                   {"safety_identifier": "jane", "user": "x"}])
def test_the_end_user_of_a_completion(proxy: Proxy, given: Any) -> None:  # noqa: F811
    said = iter(("The patient is a 52-year-old litigator from Omaha with two children.",
                 *["She asks what fifty-two litigators ask where Omaha lies."] * 2))
    service, model = proxy(lambda body: next(said))
    codes = [ask(service, "Who is it?", **one).headers["x-discreet-code"] for one in (given, {"user": "john"}, given)]
    assert codes == ["privacy/contextual", "ok", "privacy/undecided"]
    assert {name: model.asked[0].get(name) for name in given} == given


@pytest.mark.parametrize(("given", "words"), [
    ({"question": MINE}, MINE), ({"question": PASTED}, ""), ({"question": MINE, "sources": [MINE]}, ""),
    ({"conversation": [{"role": "user", "content": MINE}, {"role": "tool", "content": MINE}]}, MINE),
    ({"conversation": [{"role": "tool", "content": MINE}]}, ""),
])
def test_an_edited_answer_is_judged_with_the_same_words_of_the_user(start: Start, tmp_path: Path, given: Any,
                                                                     words: str) -> None:
    service = start(queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys"})
    ticket = service.ask("/v1/check", {"text": UNDECIDED, "review": True, **given}).json()["ticket"]
    view = service.gate.queue.read(ticket, "reviewer")
    assert view.user_words == words
    assert view.question == (None if "conversation" in given and not words else given.get("question", MINE))


def asked_with_a_file(path: str, kind: str, data: str) -> dict[str, Any]:
    """A question beside a file in base64, as the clients of the endpoint write them."""
    address = f"data:{kind};base64,{data}"
    if path == "/v1/responses":
        return {"model": "tiny", "input": [{"role": "user", "content": [
            {"type": "input_file", "filename": "a", "file_data": address}, {"type": "input_text", "text": MINE}]}]}
    part: dict[str, Any] = {"type": "file", "file": {"filename": "a", "file_data": address}}
    if path == "/v1/messages":
        part = {"type": "document", "source": {"type": "base64", "media_type": kind, "data": data}}
    return {"model": "tiny", "max_tokens": 50, "messages": [
        {"role": "user", "content": [part, {"type": "text", "text": MINE}]}]}


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/messages", "/v1/chat/completions"])
def test_text_of_a_file_in_base64_withdraws_consent(proxy: Proxy, path: str) -> None:  # noqa: F811
    """Who pastes what stands in the file does not tell of themselves. A file of the same bytes goes to the model."""
    service, model = proxy(ECHO)
    for kind, raw, code in (("application/pdf", b"%PDF-1.7 \xe2", "ok"), ("text/csv", MINE.encode(), "contextual")):
        data = b64encode(raw).decode()
        response = service.ask(path, asked_with_a_file(path, kind, data))
        assert response.headers["x-discreet-code"].removeprefix("privacy/") == code
        assert data in json.dumps(model.asked[-1])
    long = b64encode(b"She is 52. " * 10_000).decode()
    refused = service.ask(path, asked_with_a_file(path, "text/plain", long))
    assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_long")
    assert "limits.text_chars" in refused.json()["error"]["message"]
