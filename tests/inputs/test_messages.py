from __future__ import annotations

import json
from base64 import b64encode, encodebytes, urlsafe_b64encode
from typing import Any

import pytest

from discreet.core.records import Answer, Turn
from discreet.guard.text.provenance import request_of
from discreet.inputs.messages import TooDeepError, asked_of, says_words_alone, turns_of

PASSAGE = "Grete is 44 and cuts trees."
MINE = "I am a 52-year-old litigator from Omaha, and I would like to know whether I may apply."


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


def told(*messages: Any) -> list[tuple[str, str]]:
    """The origins of a request and their texts."""
    question, turns = asked_of(messages)
    return [(part.origin, part.text) for part in request_of(Answer("1", "", question, (), turns)).parts]


def test_the_question_is_the_text_of_the_last_user_message() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    question, turns = asked_of([{"role": "system", "content": "s"}, {"role": "user", "content": "a"},
                                {"role": "assistant", "content": None}, user(text("b"), image)])
    assert (question, turns) == ("b", (Turn("system", "s"), Turn("user", "a")))
    assert asked_of([{"role": "system", "content": "s"}])[0] is None


def test_several_texts_of_a_message_are_one_and_give_no_consent_where_one_is_not_the_users() -> None:
    assert asked_of([user(text(MINE), text("And now?"))])[0] == f"{MINE}\n\nAnd now?"
    assert asked_of([user("a", text("b"))])[0] == "a\n\nb"
    assert told(user(text(MINE), text(f"Context: {PASSAGE}")))[0][0] == "unknown"


@pytest.mark.parametrize(("part", "origin"), [
    ({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": PASSAGE}}, "retrieved"),
    ({"type": "document", "source": {"type": "content", "content": [text(PASSAGE)]}, "title": "A"}, "retrieved"),
    ({"type": "search_result", "source": "https://a.test", "title": "A", "content": [text(PASSAGE)]}, "retrieved"),
    ({"type": "file", "file": {"filename": "a.txt", "text": PASSAGE}}, "retrieved"),
    ({"type": "grounding_source", "text": PASSAGE}, "retrieved"),
    ({"type": "guarded_text", "text": PASSAGE}, "retrieved"),
    ({"type": "resource", "resource": {"uri": "a:b", "mimeType": "text/plain", "text": PASSAGE}}, "retrieved"),
    ({"type": "tool_result", "tool_use_id": "t", "content": PASSAGE}, "tool"),
    ({"type": "tool_result", "content": [{"type": "document", "source": {"data": PASSAGE}}]}, "tool"),
    ({"type": "web_search_tool_result", "content": [{"title": "A", "text": PASSAGE}]}, "tool"),
    ({"type": "function_call_output", "output": PASSAGE}, "tool"),
    ({"type": "text-plain", "text": PASSAGE}, "retrieved"),
    ({"type": "thinking", "thinking": PASSAGE}, "unknown"), ({"type": "mine", "text": PASSAGE}, "unknown"),
    ({"text": PASSAGE}, "unknown"), ({"type": "text", "text": {"value": PASSAGE}}, "unknown"),
])
def test_typed_parts_of_a_user_message_are_not_the_users_words(part: Any, origin: str) -> None:
    (kind, said), asked = told(user(part, text(MINE)))
    assert (kind, PASSAGE in said) == (origin, True)
    assert asked == ("user", MINE)
    assert [kind for kind, _ in told(user(part))] == [origin]


@pytest.mark.parametrize(("message", "origin"), [
    ({"content": MINE}, "unknown"), ({"role": None, "content": MINE}, "unknown"),
    ({"role": 1, "content": MINE}, "unknown"), ({"role": "USER", "content": MINE}, "unknown"),
    ({"role": "human", "content": MINE}, "unknown"),
    ({"role": "root", "content": [text(MINE)]}, "unknown"), ({"role": "tool", "content": [text(MINE)]}, "tool"),
    ({"role": "function", "name": "f", "content": MINE}, "tool"), ({"role": "developer", "content": MINE}, "system"),
    ({"role": "assistant", "content": [text(MINE)]}, "answer"),
    ({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "input": {"q": MINE}}]}, "answer"),
    ({"role": "system", "type": "grounding_source", "content": MINE}, "retrieved"),
    ({"role": "system", "content": [{"type": "grounding_source", "text": MINE}]}, "retrieved"),
    ({"type": "function_call_output", "call_id": "c", "output": MINE}, "tool"),
    ({"role": "user", "type": "tool_result", "content": MINE}, "tool"), ({"role": "user", "content": MINE}, "user"),
    ({"role": "user", "type": "message", "content": {"type": "text", "text": MINE}}, "user"),
])
def test_the_origin_of_a_message(message: dict[str, Any], origin: str) -> None:
    assert told(message) == [(origin, MINE)]


def test_a_tool_that_answers_with_the_question_withdraws_nothing_and_an_earlier_passage_does() -> None:
    asked = {"role": "user", "content": MINE}
    called = {"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}
    result = {"role": "tool", "tool_call_id": "c", "content": f"Results for: {MINE} {PASSAGE}"}
    assert [kind for kind, _ in told(asked, called, result)] == ["user", "tool"]
    assert [kind for kind, _ in told(asked, called, user({"type": "tool_result", "content": MINE}))] == ["user", "tool"]
    assert [kind for kind, _ in told(result, asked)] == ["tool", "unknown"]
    assert [kind for kind, _ in told(user({"type": "document", "text": MINE}, text(MINE)))] == ["retrieved", "unknown"]
    assert [kind for kind, _ in told(user(text(MINE), {"type": "document", "text": MINE}))] == ["retrieved", "unknown"]


@pytest.mark.parametrize("part", [
    text(PASSAGE), {"type": "resource", "resource": {"uri": "a:b", "mimeType": "text/plain", "text": PASSAGE}},
    {"type": "resource_link", "uri": "a:b", "name": "a", "description": PASSAGE},
    {"type": "text", "text": "Done.", "_meta": {"note": PASSAGE}},
    text(f"data:text/plain;base64,AAAA {PASSAGE}")])
def test_what_an_mcp_result_holds_is_the_tools(part: dict[str, Any]) -> None:
    result = {"content": [part], "isError": True}
    for message in ({"role": "tool", **result}, user({"type": "mcp_tool_result", **result})):
        [*_, (origin, said)] = told({"role": "user", "content": MINE}, message)
        assert (origin, PASSAGE in said) == ("tool", True)


@pytest.mark.parametrize("message", [{"role": "tool"}, {"role": "tool", "content": []}, {"type": "tool_result"}])
@pytest.mark.parametrize("name", ["structuredContent", "structured_content"])
def test_the_data_of_a_result_are_read_with_names_and_numbers(message: dict[str, Any], name: str) -> None:
    data = {"id": "Grete", "role": "forester", "age": 44, "type": "image"}
    assert told({**message, name: data, "isError": False}) == [("tool", json.dumps(data))]


def test_a_result_of_which_nothing_can_be_read_is_a_turn() -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    for content in ([image], [], None):
        assert list(turns_of({"role": "tool", "content": content})) == [Turn("tool", "", "tool")]


PICTURE = "data:image/png;base64,AAAA"


@pytest.mark.parametrize("part", [
    {"type": "image_url", "image_url": {"url": PICTURE, "detail": "high"}, "text": PASSAGE},
    {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "alt": PASSAGE}},
    {"type": "input_image", "image_url": PICTURE, "alt_text": PASSAGE},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}, "title": PASSAGE},
    {"type": "image", "data": "AAAA" * 20 + "\n" + "AAAA", "mimeType": "image/png", "_meta": {"caption": PASSAGE}},
    {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav", "transcript": PASSAGE}},
    {"type": "audio_url", "audio_url": {"url": PICTURE}, "transcript": PASSAGE},
    {"type": "video", "url": PASSAGE}])
def test_what_is_written_beside_a_picture_or_a_sound_is_nobodys_words(part: dict[str, Any]) -> None:
    assert told(user(part, text(MINE))) == [("unknown", PASSAGE), ("user", MINE)]
    assert told({"role": "user", "content": MINE}, {"role": "tool", "content": [part]})[1] == ("tool", PASSAGE)
    assert told({"role": "assistant", "content": [part]}) == [("answer", PASSAGE)]


@pytest.mark.parametrize("more", [
    {"caption": PASSAGE}, {"image_url": {"url": PICTURE}, "alt": PASSAGE}, {"refusal": PASSAGE},
    {"citations": [{"type": "char_location", "cited_text": PASSAGE}]}])
def test_what_stands_beside_the_text_of_a_part_is_nobodys_words(more: dict[str, Any]) -> None:
    message = user({**text(MINE), **more})
    assert told(message) == [("unknown", PASSAGE), ("user", MINE)]
    assert not says_words_alone([message])
    assert says_words_alone([user({**text(MINE), "cache_control": {"type": "ephemeral"}, "citations": None})])


def test_fields_of_unknown_messages_are_nobodys_words() -> None:
    call = {"type": "mcp_call", "id": "c", "name": "find", "arguments": "{}", "output": PASSAGE}
    assert [(kind, PASSAGE in said) for kind, said in told({"role": "user", "content": MINE}, call)] == [
        ("user", False), ("unknown", True)]
    assert told({"role": "user", "content": MINE, "context": PASSAGE}) == [("unknown", PASSAGE), ("user", MINE)]
    assert told({"role": "assistant", "content": "Yes.", "tool_calls": [{"q": PASSAGE}]}) == [("answer", "Yes.")]


def test_bytes_are_no_text_and_deep_messages_are_refused() -> None:
    for raw in (b"%PDF-1.7\n", b"PK\x03\x04 44", PASSAGE.encode() * 200 + b"\xff", b"\xfe\xff"):
        data = b64encode(raw).decode()
        for part in ({"type": "file", "file": {"file_data": data}}, {"type": "input_file", "file_data": data},
                     {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": data}},
                     {"type": "file", "file": {"x": f"data:application/octet-stream;base64,{data}"}}):
            assert list(turns_of(user(part))) == []
    deep: Any = "x"
    for _ in range(40):
        deep = [deep]
    with pytest.raises(TooDeepError):
        asked_of([user({"type": "document", "source": deep})])
    for _ in range(99_999):
        deep = [deep]
    with pytest.raises(TooDeepError):
        asked_of([{"role": "tool", "structuredContent": deep}])


TEXT_FILES = [("text/plain", PASSAGE.encode()), ("text/markdown", PASSAGE.encode("utf-8-sig")),
              ("text/csv; charset=utf-8", PASSAGE.encode()), ("application/json", PASSAGE.encode("utf-16")),
              ("text/plain", PASSAGE.encode() + b" Caf\xe9."), ("application/octet-stream", PASSAGE.encode() * 200)]


@pytest.mark.parametrize(("kind", "raw"), TEXT_FILES)
def test_a_text_file_in_base64_is_retrieved_text(kind: str, raw: bytes) -> None:
    data = b64encode(raw).decode()
    address = f"data:{kind.replace(' ', '')};base64,{data}"
    for part in ({"type": "file", "file": {"filename": "a.txt", "file_data": address}},
                 {"type": "input_file", "filename": "a.txt", "file_data": address},
                 {"type": "document", "source": {"type": "base64", "media_type": kind, "data": data}},
                 {"type": "resource", "resource": {"uri": "a:b", "mimeType": kind, "blob": data}},
                 {"type": "file", "source_type": "base64", "mime_type": kind, "data": data}):
        [(origin, said), asked] = told(user(part, text(MINE)))
        assert (origin, PASSAGE in said, asked) == ("retrieved", True, ("user", MINE))
        assert told(user({"type": "tool_result", "content": [part]}))[0][0] == "tool"


@pytest.mark.parametrize("data", [
    b64encode(PASSAGE.encode()).decode(), b64encode(PASSAGE.encode() * 9).decode().rstrip("="), PASSAGE,
    urlsafe_b64encode(PASSAGE.encode() * 9).decode(), encodebytes(PASSAGE.encode() * 9).decode(), f"data:,{PASSAGE}"])
def test_a_file_without_a_type_is_retrieved_text_where_it_is_one(data: str) -> None:
    [(origin, said)] = told(user({"type": "file", "file": {"file_data": data}}))
    assert (origin, PASSAGE in said) == ("retrieved", True)


@pytest.mark.parametrize(("more", "alone"), [
    ([], True), ([{"role": "system", "content": "You are kind."}, {"role": "assistant", "content": "Hello."}], True),
    ([{"role": "user", "content": [{"type": "text", "text": "Hi"}], "name": "app"}], True),
    ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:x"}}]}], False),
    ([{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}], False),
    ([{"role": "tool", "tool_call_id": "c", "content": ""}], False),
    ([{"role": "assistant", "content": None, "tool_calls": [{"id": "c"}]}], False),
    ([{"role": "assistant", "content": "Hello.", "reasoning_content": "She is 52."}], False),
    ([{"type": "function_call_output", "call_id": "c", "output": "She is 52."}], False)])
def test_whether_a_model_is_shown_words_alone(more: list[dict[str, Any]], alone: bool) -> None:
    assert says_words_alone([*more, user("Who was seen?")]) is alone
