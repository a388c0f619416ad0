from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.serve.doors.upstream import chunks, completion

from discreet.core.records import Answer
from discreet.serve.doors.assembly import Assembly
from discreet.serve.doors.chat import (
    MOST_PARTS,
    MalformedError,
    answers_of_completion,
    chunks_of,
    cleaned,
    replaced,
    texts_of,
)
from discreet.serve.queue.records import edited_payload

TOOLS = frozenset({"note"})


def with_message(**fields: Any) -> dict[str, Any]:
    return completion("hello", **fields)


MARK = "zqx"
PLACES: dict[str, dict[str, Any]] = {
    "content": {"content": MARK}, "parts": {"content": [{"type": "text", "text": MARK}]}, "refusal": {"refusal": MARK},
    "refusal part": {"content": [{"type": "refusal", "refusal": MARK}]},
    "reasoning": {"reasoning": MARK}, "reasoning_content": {"reasoning_content": MARK},
    "arguments": {"tool_calls": [{"id": "a", "type": "function", "function": {"name": "note", "arguments": MARK}}]},
    "custom": {"tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "note", "input": MARK}}]},
    "function_call": {"function_call": {"name": "note", "arguments": MARK}},
    "title": {"annotations": [{"type": "url_citation", "url_citation": {"title": MARK, "url": "u"}}]},
    "url": {"annotations": [{"type": "url_citation", "url_citation": {"title": "t", "url": MARK}}]},
    "transcript": {"audio": {"id": "a", "data": "QUJD", "expires_at": 9, "transcript": MARK}},
}


@pytest.mark.parametrize("place", PLACES)
def test_text_is_judged_wherever_it_stands(place: str) -> None:
    found = cleaned(with_message(**PLACES[place]), TOOLS)
    judged = answers_of_completion(found, Answer("", ""))[0]
    assert MARK in judged.answer
    assert MARK in json.dumps(found)
    assert not judged.calls  # It says "hello" too, or something that is no call.


@pytest.mark.parametrize("place", PLACES)
def test_it_is_known_where_arguments_are_said(place: str) -> None:
    found = cleaned(with_message(**{"content": None, **PLACES[place]}), TOOLS)
    assert not answers_of_completion(found, Answer("", ""))[0].calls
    for blank in (None, "\n\n"):
        found = cleaned(with_message(**{"content": blank, **PLACES[place]}), TOOLS)
        [judged] = answers_of_completion(found, Answer("", ""), words_alone=True)
        assert judged.calls == (place in ("arguments", "custom", "function_call"))


def test_what_is_said_beside_a_call_is_judged_by_itself_too() -> None:
    found = cleaned(with_message(**{**PLACES["arguments"], "content": "Let me look."}), TOOLS)
    judged = answers_of_completion(found, Answer("", ""), words_alone=True)
    assert [(one.calls, "Let me look." in one.answer, MARK in one.answer) for one in judged] == [
        (True, True, True), (False, True, False)]
    assert len({one.id for one in judged}) == 2
    handed = judged[0].answer.removeprefix("Let me look.").strip()
    found = cleaned(with_message(**{**PLACES["arguments"], "content": handed}), TOOLS)  # The same words again.
    judged = answers_of_completion(found, Answer("", ""), words_alone=True)
    assert [(one.calls, one.answer) for one in judged][1:] == [(False, handed)]
    assert [one.calls for one in answers_of_completion(found, Answer("", ""))] == [False]


def test_text_anywhere_else_does_not_go_out() -> None:
    body = with_message(thoughts=MARK, reasoning_details=[{"text": MARK}], name=MARK, tool_call_id=MARK)
    body |= {"note": MARK, "id": f"a {MARK}", "model": f"{MARK} b", "system_fingerprint": f"{MARK}!", "created": MARK,
             "usage": {"prompt_tokens": MARK, MARK: 1, "total_tokens": 4}, "moderation": {"text": MARK}}
    body["choices"][0] |= {"text": MARK, "content_filter_results": {"said": MARK}, "index": MARK, "message": {
        **body["choices"][0]["message"], "audio": {"id": f"{MARK} {MARK}", "data": MARK, "transcript": "spoken"}}}
    found = cleaned(body, TOOLS)
    assert MARK not in json.dumps(found)
    assert found["usage"] == {"total_tokens": 4}


@pytest.mark.parametrize("change", [
    {"content": 3}, {"content": [{"type": "image", "text": "x"}]}, {"content": ["x"]}, {"refusal": ["x"]},
    {"reasoning": {"text": "x"}}, {"annotations": "x"}, {"annotations": [{"type": "file"}]}, {"tool_calls": [3]},
    {"tool_calls": [{"function": {"name": "other", "arguments": ""}}]}, {"audio": "x"},
    {"tool_calls": [{"type": "custom", "custom": {"name": "a private person", "input": ""}}]},
    {"function_call": {"arguments": "x"}},
])
def test_what_cannot_be_judged_whole_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(MalformedError):
        cleaned(with_message(**change), TOOLS)


@pytest.mark.parametrize("body", [
    None, [], "x", {}, {"choices": []}, {"choices": [3]}, {"choices": [{"message": {"content": "x"}}]},
    {"choices": [{"message": {"content": "x"}, "finish_reason": "other"}]},
    {"choices": [{"finish_reason": "stop"}]},
])
def test_what_has_no_choices_that_ended_is_refused(body: Any) -> None:
    with pytest.raises(MalformedError):
        cleaned(body, TOOLS)


@pytest.mark.parametrize("name", ["content", "annotations", "tool_calls"])
def test_a_message_of_too_many_parts_is_refused(name: str) -> None:
    part = {"content": {"type": "text", "text": ""}, "annotations": {"url_citation": {}},
            "tool_calls": {"function": {"name": "note"}}}[name]
    assert len(cleaned(with_message(**{name: [part] * MOST_PARTS}), TOOLS)["choices"][0]["message"][name]) == MOST_PARTS
    with pytest.raises(MalformedError, match="too_many_parts"):
        cleaned(with_message(**{name: [part] * (MOST_PARTS + 1)}), TOOLS)


def test_a_stream_of_too_many_calls_is_refused_before_its_end() -> None:
    whole = Assembly()
    parts = [{"choices": [{"delta": {"tool_calls": [{"index": n}]}}]} for n in range(MOST_PARTS + 2)]
    for part in parts[:-1]:
        whole.add(part)
    with pytest.raises(MalformedError, match="too_many_parts"):
        whole.add(parts[-1])


def test_more_probabilities_than_characters_are_left_out() -> None:
    tokens = [{"token": one, "logprob": -1.0} for one in ("hello", "", "", "", "", "", "")]
    for many, kept in ((tokens[:2], True), (tokens, False)):
        body = completion("hello")
        body["choices"][0]["logprobs"] = {"content": many}
        assert (cleaned(body, TOOLS)["choices"][0]["logprobs"] is not None) == kept


def test_calls_without_an_index_are_told_apart_by_their_ids() -> None:
    parts = ({"id": "call_aaaaaaaa", "function": {"name": "note", "arguments": "{"}}, {"function": {"arguments": "}"}},
             {"id": "call_bbbbbbbb", "function": {"name": "note", "arguments": "{}"}})
    calls = streamed(*({"tool_calls": [one]} for one in parts))["message"]["tool_calls"]
    assert [(one["id"], one["function"]["arguments"]) for one in calls] == [
        ("call_aaaaaaaa", "{}"), ("call_bbbbbbbb", "{}")]


def test_probabilities_stay_where_they_are_of_the_judged_text_and_alternatives_go() -> None:
    tokens = [{"token": "hel", "logprob": -1.0, "bytes": [1], "top_logprobs": [{"token": MARK, "logprob": -2}]},
              {"token": "lo", "logprob": -2.0, "top_logprobs": []}]
    body = completion("hello")
    body["choices"][0]["logprobs"] = {"content": tokens, "other": MARK}
    kept = cleaned(body, TOOLS)["choices"][0]["logprobs"]
    assert [t["token"] for t in kept["content"]] == ["hel", "lo"]
    assert MARK not in json.dumps(kept)
    body["choices"][0]["logprobs"] = {"content": [*tokens, {"token": MARK, "logprob": -1}]}
    assert cleaned(body, TOOLS)["choices"][0]["logprobs"] is None


def test_what_is_no_finite_number_and_half_a_character_do_not_go_out() -> None:
    body = completion("a \ud83d\ude00 \ud83d")
    assert cleaned(body, TOOLS)["choices"][0]["message"]["content"] == "a \U0001f600 \ufffd"
    body = completion("a")
    body["choices"][0]["logprobs"] = {"content": [{"token": "a", "logprob": float("-inf")}]}
    assert cleaned(body, TOOLS)["choices"][0]["logprobs"] is None


@pytest.mark.parametrize(("given", "kept"), [("call_0aB9xYz12", True), ("functions.note:0", True), ("a1b2c3d4e", True),
                                             ("52_year_old_litigator", False), ("functions.omaha:0", False),
                                             (MARK, False), (3, False)])
def test_the_id_of_a_call_is_one_that_servers_form(given: Any, kept: bool) -> None:
    call = {"id": given, "type": "function", "function": {"name": "note", "arguments": "{}"}}
    (found,) = cleaned(with_message(tool_calls=[call]), TOOLS)["choices"][0]["message"]["tool_calls"]
    assert (found["id"] == given) == kept
    assert found["id"].startswith("call_") or kept


def assembled(parts: list[dict[str, Any]], closed: bool = True) -> dict[str, Any]:
    whole = Assembly()
    for part in parts:
        whole.add(part)
    whole.closed = closed
    return whole.completion()


@given(st.text(min_size=1, max_size=60), st.integers(1, 9))
@settings(max_examples=40, deadline=None)
def test_a_stream_is_put_together_and_taken_apart_again(text: str, size: int) -> None:
    found = cleaned(assembled(chunks(text, size)), TOOLS)
    assert texts_of(found["choices"][0]) == [text]
    again = list(chunks_of(found, usage=True))
    assert cleaned(assembled(again), TOOLS)["choices"] == found["choices"]
    assert again[-1]["usage"] == found["usage"]


def test_tools_and_reasoning_of_a_stream() -> None:
    def call(index: int, arguments: str, **more: str) -> dict[str, Any]:
        name = {"name": "note"} if more else {}
        return {"index": index, **more, "function": {**name, "arguments": arguments}}

    delta = [{"role": "assistant", "reasoning": "be"}, {"reasoning": "cause"},
             {"tool_calls": [call(0, "", id="c1", type="function")]}, {"tool_calls": [call(0, "{\"a\":")]},
             {"tool_calls": [call(0, " 1}"), call(1, "{}", id="c2", type="function")]}]
    parts = [{"choices": [{"index": 0, "delta": one, "finish_reason": None}]} for one in delta]
    found = cleaned(assembled([*parts, {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}]), TOOLS)
    assert texts_of(found["choices"][0]) == ["because", '{"a": 1}']
    calls = [c["choices"][0]["delta"]["tool_calls"] for c in chunks_of(found, usage=False)
             if "tool_calls" in c["choices"][0]["delta"]]
    assert [call["index"] for call in calls[0]] == [0, 1]


def streamed(*deltas: Any, finish: Any = "stop", then: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    """The choice of a stream of deltas, the last one with its `finish`, and further chunks."""
    parts = [{"choices": [{"index": 0, "delta": one, "finish_reason": None}]} for one in deltas]
    last = {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
    (choice,) = cleaned(assembled([*parts, last, *(then or [])]), TOOLS)["choices"]
    return dict(choice)


EMPTY: list[Any] = [{}, None, {"content": ""}, {"role": "assistant", "content": None}, {"no_such": MARK},
                    {"content": "", "tool_calls": []}]


@pytest.mark.parametrize("delta", EMPTY)
def test_what_says_nothing_may_come_after_the_end(delta: Any) -> None:
    usage = {"choices": [{"index": 0, "delta": delta, "finish_reason": None}], "usage": {"total_tokens": 3}}
    assert streamed({"content": "hello"}, then=[usage])["message"]["content"] == "hello"


@pytest.mark.parametrize("delta", [{"content": "x"}, {"reasoning": "x"}, {"content": [{"type": "text", "text": "x"}]},
                                   {"tool_calls": [{"index": 0, "function": {"arguments": "x"}}]}])
def test_text_after_the_end_is_refused(delta: Any) -> None:
    with pytest.raises(MalformedError):
        streamed({"content": "hello"}, then=[{"choices": [{"index": 0, "delta": delta}]}])


@pytest.mark.parametrize(("finish", "reason"), [("eos", "stop"), ("eos_token", "stop"), ("MAX_TOKENS", "length"),
                                                ("tool_use", "tool_calls"), ("stop", "stop")])
def test_reasons_to_end_of_other_servers_are_read(finish: str, reason: str) -> None:
    assert streamed({"content": "hello"}, finish=finish)["finish_reason"] == reason


def test_a_name_that_comes_with_every_chunk_is_said_once() -> None:
    call = [{"tool_calls": [{"index": 0, "id": "call_12345678", "type": "function",
                             "function": {"name": "note", "arguments": part}}]} for part in ('{"a"', ": 1}")]
    (found,) = streamed(*call, finish="tool_calls")["message"]["tool_calls"]
    assert found["function"] == {"name": "note", "arguments": '{"a": 1}'}
    without = [{"tool_calls": [{"id": f"call_1234567{n}", "function": {"name": "note", "arguments": {"n": n}}}]}
               for n in range(2)]
    calls = streamed(*without)["message"]["tool_calls"]
    assert [one["function"]["arguments"] for one in calls] == ['{"n": 0}', '{"n": 1}']


@pytest.mark.parametrize("name", [5, 1.5, True, ["note"], {"note": 1}])
def test_a_name_that_becomes_something_else_is_refused(name: Any) -> None:
    call = {"index": 0, "id": "call_12345678", "function": {"name": "note", "arguments": "{}"}}
    with pytest.raises(MalformedError):
        streamed({"tool_calls": [call]}, {"tool_calls": [{"index": 0, "function": {"name": name}}]})


def test_logprobs_of_another_shape_are_left_out() -> None:
    parts = [{"choices": [{"index": 0, "delta": {"content": "hello"}, "logprobs": [MARK]}]},
             {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "logprobs": {"content": {"a": MARK}}}]}]
    assert cleaned(assembled(parts), TOOLS)["choices"][0]["logprobs"] is None


def test_a_content_that_changes_its_shape_is_one_text_and_other_changes_are_refused() -> None:
    part = [{"type": "text", "text": "lo"}]
    assert streamed({"content": "hel"}, {"content": part})["message"]["content"] == "hello"
    assert streamed({"content": part}, {"content": "wer"})["message"]["content"] == "lower"
    unknown = streamed({"no_such": "x"}, {"no_such": {"a": 1}}, {"no_such": [1]}, {"content": "a"})
    assert unknown["message"]["content"] == "a"
    for changes in (({"refusal": "x"}, {"refusal": {"a": "b"}}), ({"reasoning": {"a": "b"}}, {"reasoning": "x"}),
                    ({"annotations": ["x"]}, {"annotations": "x"}), ({"content": "x"}, {"content": {"a": "b"}}),
                    ({"tool_calls": [{"function": "x"}]}, {"tool_calls": [{"function": {"name": "note"}}]})):
        with pytest.raises(MalformedError):
            streamed(*changes)


@pytest.mark.parametrize("given", ["Jane.Roe.has.HIV", "gpt-4o-jane", "gpt-4o-123-45-6789",
                                   "gpt-4o-2024-08-06.jane", 7])
def test_an_upstream_writes_no_text_into_the_head_of_an_answer(given: Any) -> None:
    body = completion("hello") | {"id": given, "model": given, "system_fingerprint": given, "service_tier": given,
                                  "created": 4155551234}
    body["usage"] = {"Jane_Roe_tokens": 1, "total_tokens": 4155551234, "prompt_tokens": 3, "jane_tokens_details": {
        "x_tokens": 1}, "completion_tokens_details": {"Jane_tokens": 1}}
    found = cleaned(body, TOOLS, "gpt-4o")
    assert found["model"] == "gpt-4o"
    assert found["usage"] == {"prompt_tokens": 3}
    assert str(given) not in json.dumps({**found, "choices": []}) or given == 7
    assert "4155551234" not in json.dumps(found)
    assert {"system_fingerprint", "service_tier"}.isdisjoint(found)


@pytest.mark.parametrize("given", ["gpt-4o", "gpt-4o-2024-08-06", "gpt-4o-0613"])
def test_the_version_of_the_model_that_was_asked_for_is_kept(given: str) -> None:
    assert cleaned(completion("hello") | {"model": given}, TOOLS, "gpt-4o")["model"] == given


def test_a_stream_that_did_not_end_is_refused() -> None:
    whole = chunks("hello")
    for parts, closed in ((whole, False), (whole[:-2], True), ([], True), (
            [*whole, {"choices": [{"index": 0, "delta": {"content": "more"}}]}], True), ([{"error": {}}], True)):
        with pytest.raises(MalformedError):
            cleaned(assembled(parts, closed), TOOLS)


def test_what_takes_the_place_of_an_answer_keeps_its_usage_and_nothing_else() -> None:
    found = replaced(cleaned(completion(MARK, MARK, reasoning=MARK), TOOLS), "withheld")
    assert MARK not in json.dumps(found)
    assert [c["finish_reason"] for c in found["choices"]] == ["content_filter"] * 2
    assert found["usage"]["total_tokens"] == 7


def test_an_edited_answer_goes_out_on_a_stream() -> None:
    found = cleaned(completion("hello"), TOOLS)
    edited = edited_payload(found, ("hello",), ("hullo",))
    assert edited is not None
    assert texts_of(cleaned(assembled(list(chunks_of(edited, usage=False))), TOOLS)["choices"][0]) == ["hullo"]
