"""Against the real LangChain, in an environment of its own: tests/serve/integrations/test_frameworks.py runs it."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import dynamic_prompt, wrap_model_call
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.exceptions import OutputParserException
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver

from discreet import Guard
from discreet.core.errors import NotJudgedError, UsageError, WithheldError
from discreet.core.records import Prompts
from discreet.serve.integrations.langchain import MARK, GuardMiddleware, guarded

LITIGATOR = "The patient is a 52-year-old litigator from Omaha with two children."
SAFE = "Metformin lowers blood glucose."
GERMAN = "Die Patientin wurde gestern untersucht, und die Werte waren in Ordnung."
GUARD = Guard("medical")
ASKED = {"messages": [HumanMessage("What do you know?")]}
CODE = "privacy/contextual"


class Model(GenericFakeChatModel):
    """Says its messages in turn; streams word by word."""

    def bind_tools(self, tools: Any, **more: Any) -> Any:
        return self


class Heard(BaseCallbackHandler):
    """Everything that any callback is told, as one string."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("on_"):
            return lambda *given, **more: self.told.append(f"{name} {given!r} {more!r}")
        return super().__getattribute__(name)

    def __contains__(self, text: str) -> bool:
        return any(text in one for one in self.told)


def lookup(name: str) -> str:
    """Look a patient up."""
    return LITIGATOR


def agent(*said: str | AIMessage, tools: Any = (), saver: Any = None, **options: Any) -> Any:
    return create_agent(Model(messages=iter(said)), tools=list(tools), checkpointer=saver,
                        middleware=[GuardMiddleware(GUARD, **options)])


def call(text: str, **args: Any) -> AIMessage:
    return AIMessage(text, tool_calls=[{"name": "lookup", "args": args, "id": "call_1"}])


def test_a_safe_answer_passes_with_what_belongs_to_it() -> None:
    said = AIMessage(SAFE, response_metadata={"model_name": "m", "logprobs": {"content": [{"token": "Metformin"}]}},
                     usage_metadata={"input_tokens": 1, "output_tokens": 4, "total_tokens": 5})
    last = agent(said).invoke(ASKED)["messages"][-1]
    assert last.content == SAFE
    assert last.response_metadata["model_name"] == "m"
    assert "logprobs" not in last.response_metadata
    assert last.response_metadata[MARK]["code"] == "ok"
    assert last.usage_metadata["output_tokens"] == 4


@pytest.mark.parametrize(("text", "code"), [(LITIGATOR, CODE), (GERMAN, "privacy/undecided"),
                                            ("Write to jane.roe@example.org.", "privacy/direct")])
def test_what_is_not_safe_is_withheld(text: str, code: str) -> None:
    seen: list[str] = []
    last = agent(text, report=lambda verdict: seen.append(verdict.action)).invoke(ASKED)["messages"][-1]
    assert last.content == f"This answer was withheld ({code})."
    assert last.response_metadata["finish_reason"] == "content_filter"
    assert seen == ["abstain" if code == "privacy/undecided" else "flag"]


def test_block_leaves_nothing_and_raise_raises_without_text() -> None:
    assert agent(LITIGATOR, on_unsafe="block").invoke(ASKED)["messages"][-1].content == ""
    with pytest.raises(WithheldError) as caught:
        agent(LITIGATOR, on_unsafe="raise").invoke(ASKED)
    assert caught.value.code == CODE
    assert "litigator" not in "".join(traceback.format_exception(caught.value))
    with pytest.raises(UsageError, match="on_unsafe"):
        GuardMiddleware(GUARD, on_unsafe="drop")  # type: ignore[arg-type]


def test_what_the_asker_said_is_no_leak() -> None:
    asked = {"messages": [HumanMessage("I am a 52-year-old litigator from Omaha with two children. May I apply?")]}
    said = "You are a 52-year-old litigator from Omaha with two children."
    assert agent(said).invoke(asked)["messages"][-1].content == said


MINE = "I am a 52-year-old litigator from Omaha. May I apply?"
ECHO = "You are a 52-year-old litigator from Omaha."
PASTED = f"Use these notes.\n\nNotes: none.\n\n{MINE}"


def asked_in(state: dict[str, Any], **options: Any) -> str:
    """What an agent that repeats the user's words answers in a state."""
    return str(agent(ECHO, **options).invoke(state)["messages"][-1].content)


@pytest.mark.parametrize(("messages", "options", "passes"), [
    ([HumanMessage(MINE)], {}, True), ([HumanMessage(PASTED)], {}, False),
    ([HumanMessage(PASTED)], {"user_words": lambda state: MINE}, True),
    ([HumanMessage(PASTED)], {"user_words": lambda state: None}, False),
    ([HumanMessage(PASTED)], {"prompts": Prompts("words")}, True),
    ([HumanMessage(MINE)], {"prompts": Prompts("prompt")}, False),
    ([HumanMessage([{"type": "text", "text": MINE}])], {}, True),
    ([HumanMessage([{"type": "document", "text": MINE}, {"type": "text", "text": "May I apply?"}])], {}, False),
    ([HumanMessage(MINE), AIMessage("", tool_calls=[{"name": "lookup", "args": {}, "id": "c"}]),
      ToolMessage(f"Results for: {MINE}", tool_call_id="c")], {}, True),
    ([HumanMessage("Who?"), AIMessage("", tool_calls=[{"name": "lookup", "args": {}, "id": "c"}]),
      ToolMessage(MINE, tool_call_id="c")], {}, False),
    ([HumanMessage("Who?"), ToolMessage("x", tool_call_id="c", artifact=[Document(MINE)]), HumanMessage(MINE)], {},
     False),
    ([ChatMessage(role="root", content=MINE), HumanMessage("May I apply?")], {}, False),
])
def test_only_the_users_words_are_no_leak(messages: list[Any], options: dict[str, Any], passes: bool) -> None:
    assert (asked_in({"messages": messages}, **options) == ECHO) is passes


def test_documents_of_the_state_and_of_an_input_withdraw_consent() -> None:
    class WithDocuments(AgentState):
        documents: list[Any]

    made = create_agent(Model(messages=iter([ECHO, ECHO])), tools=[], state_schema=WithDocuments,
                        middleware=[GuardMiddleware(GUARD)])
    for documents, passes in (([], True), ([Document(MINE)], False)):
        state = {"messages": [HumanMessage(MINE)], "documents": documents}
        assert (made.invoke(state)["messages"][-1].content == ECHO) is passes
    for given, passes in (({"context": ""}, True), ({"context": MINE}, False),
                          ({"documents": [Document(MINE)]}, False)):
        made = guarded(chain(ECHO), GUARD, question=lambda one: one["question"])
        assert (made.invoke({"question": MINE, **given}) == ECHO) is passes


def test_a_chain_takes_what_the_user_typed() -> None:
    ways: tuple[tuple[dict[str, Any], bool], ...] = (
        ({"user_words": lambda given: given["typed"]}, True), ({}, False),
        ({"question": lambda given: given["question"]}, False), ({"question": lambda given: given["typed"]}, True))
    for options, passes in ways:
        made = guarded(chain(ECHO), GUARD, **options)
        assert (made.invoke({"question": PASTED, "typed": MINE}) == ECHO) is passes
    with pytest.raises(UsageError, match="a slot 'name'"):
        guarded(chain(ECHO), GUARD, prompts=Prompts(templates=("{name}",)))


def test_a_guard_that_breaks_withholds_as_not_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.guard.guard.read_answer", lambda *given, **more: 1 / 0)
    last = agent(SAFE).invoke(ASKED)["messages"][-1]
    assert "could not be judged" in last.content
    with pytest.raises(NotJudgedError):
        agent(SAFE, on_unsafe="raise").invoke(ASKED)


@pytest.mark.parametrize("mode", ["messages", "updates", "values", "debug", "tasks", "checkpoints"])
def test_no_stream_carries_what_is_withheld(mode: str) -> None:
    heard = Heard()
    config = {"callbacks": [heard], "configurable": {"thread_id": "1"}}
    for text, expected in ((LITIGATOR, False), (SAFE, True)):
        told = repr(list(agent(text, saver=InMemorySaver()).stream(ASKED, config, stream_mode=mode)))
        assert ("litigator" in told) is False
        assert (SAFE in told) is expected
    assert "litigator" not in heard
    assert CODE in heard


def test_a_safe_stream_arrives_once() -> None:
    chunks = [one for one, _ in agent(SAFE).stream(ASKED, stream_mode="messages")]
    assert "".join(one.content for one in chunks if isinstance(one, AIMessage | AIMessageChunk)) == SAFE


def test_events_of_the_asynchronous_agent() -> None:
    async def events(text: str, **more: Any) -> str:
        return repr([one async for one in agent(text).astream_events(ASKED, version="v2", **more)])

    heard = Heard()
    told = asyncio.run(events(LITIGATOR, config={"callbacks": [heard]}))
    assert "litigator" not in told
    assert "litigator" not in heard
    assert CODE in told
    assert SAFE in asyncio.run(events(SAFE))


def test_the_third_event_protocol() -> None:
    told = [repr(one) for one in agent(LITIGATOR).stream_events(ASKED, version="v3")]
    assert told
    assert not any("litigator" in one for one in told)
    assert any(CODE in one for one in told)


def test_state_checkpoints_and_the_root_run_hold_what_was_passed_only() -> None:
    saver = InMemorySaver()
    config = {"configurable": {"thread_id": "1"}}
    agent(LITIGATOR, saver=saver).invoke(ASKED, config)
    told = repr(list(saver.list(config))) + repr(saver.storage) + repr(saver.writes) + repr(saver.blobs)
    assert "withheld" in told
    assert "litigator" not in told


def test_langsmith_is_sent_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    import langsmith.client
    from langsmith.run_helpers import tracing_context

    sent: list[Any] = []
    for name in ("create_run", "update_run"):
        monkeypatch.setattr(langsmith.client.Client, name, lambda self, *given, **more: sent.append((given, more)))
    client = langsmith.client.Client(api_key="none", api_url="http://127.0.0.1:9", auto_batch_tracing=False)
    with tracing_context(enabled=True, client=client):
        agent(call("One moment.", name="17"), LITIGATOR, tools=[lookup], tool_results=True).invoke(ASKED)
    told = repr(sent)
    assert "GuardMiddleware" in told
    assert "litigator" not in told


def test_reasoning_and_arguments_of_tools_are_judged_with_the_text() -> None:
    blocks = AIMessage([{"type": "reasoning", "reasoning": "The patient is a 52-year-old litigator."},
                        {"type": "text", "text": "She lives in Omaha with two children."}])
    assert CODE in agent(blocks).invoke(ASKED)["messages"][-1].content
    beside = AIMessage("Hello.", additional_kwargs={"reasoning_content": LITIGATOR})
    assert CODE in agent(beside).invoke(ASKED)["messages"][-1].content
    for arguments in ({"name": LITIGATOR}, {"age": 52, "occupation": "litigator", "city": "Omaha"}):
        found = agent(call("", **arguments), tools=[lookup]).invoke(ASKED)["messages"]
        assert not any(isinstance(one, ToolMessage) for one in found)
        assert not found[-1].tool_calls
    picture = AIMessage([{"type": "image", "base64": "AAAA", "mime_type": "image/png"}])
    assert "could not be judged" in agent(picture).invoke(ASKED)["messages"][-1].content


def test_a_call_for_records_confirms_nothing_before_there_are_any() -> None:
    asked = {"messages": [HumanMessage("Was the 52-year-old litigator from Omaha treated here?")]}
    found = agent(call("", name="records"), "I cannot say.", tools=[lookup]).invoke(asked)["messages"]
    assert [one.content for one in found[2:]] == [LITIGATOR, "I cannot say."]
    polite = agent(call("Let me look that up for you.", name="records"), "I cannot say.", tools=[lookup]).invoke(asked)
    assert [one.content for one in polite["messages"][2:]] == [LITIGATOR, "I cannot say."]
    again = agent(call("", name="records"), call("", name="Yes, she was."), tools=[lookup]).invoke(asked)["messages"]
    assert CODE in again[-1].content
    beside = agent(call("Yes, she was.", name="records"), SAFE, tools=[lookup]).invoke(asked)["messages"]
    assert CODE in beside[-1].content


@pytest.mark.parametrize("shown", ["system", "dynamic", "message", "nothing"])
def test_what_the_model_is_shown_counts_whoever_adds_it(shown: str) -> None:
    @wrap_model_call
    def adds(request: Any, handler: Any) -> Any:
        return handler(request.override(messages=[SystemMessage(LITIGATOR), *request.messages]))

    inner = {"dynamic": [dynamic_prompt(lambda request: LITIGATOR)], "message": [adds]}.get(shown, [])
    said = iter([call("", name="Yes, she was treated here."), AIMessage("I cannot say.")])
    made = create_agent(Model(messages=said), tools=[lookup], middleware=[GuardMiddleware(GUARD), *inner],
                        system_prompt=LITIGATOR if shown == "system" else None)
    asked = {"messages": [HumanMessage("Was the 52-year-old litigator from Omaha treated here?")]}
    last = made.invoke(asked)["messages"][-1].content
    assert last == "I cannot say." if shown == "nothing" else CODE in last


def test_arguments_of_tools_may_be_left_to_the_tools() -> None:
    arguments = {"age": 52, "occupation": "litigator", "city": "Omaha"}
    said = AIMessage([{"type": "text", "text": "Hm."}, {"type": "tool_use", "id": "call_1", "input": arguments}],
                     tool_calls=[{"name": "ages", "args": arguments, "id": "call_1"}])

    def ages(age: int, occupation: str, city: str) -> str:
        """How old."""
        return "Found."

    found = agent(said, SAFE, tools=[ages], tool_calls=False).invoke(ASKED)["messages"]
    assert [one.content for one in found[2:]] == ["Found.", SAFE]
    beside = AIMessage("Hello.", additional_kwargs={"reasoning_content": LITIGATOR})
    assert CODE in agent(beside, tool_calls=False).invoke(ASKED)["messages"][-1].content


@pytest.mark.parametrize("later", [False, True])
def test_tool_results_are_judged_before_the_model_reads_them(later: bool) -> None:
    heard = Heard()
    config = {"callbacks": [heard]}

    def run(**options: Any) -> list[Any]:
        made = agent(call("One moment.", name="17"), SAFE, tools=[lookup], **options)
        found = asyncio.run(made.ainvoke(ASKED, config)) if later else made.invoke(ASKED, config)
        return list(found["messages"])

    found = run(tool_results=True)
    assert [one.content for one in found[1:]] == ["One moment.", f"This answer was withheld ({CODE}).", SAFE]
    assert "litigator" not in heard
    assert run()[2].content == LITIGATOR


def test_what_a_later_middleware_changes_is_judged_again() -> None:
    from langchain.agents.middleware import after_model

    @after_model
    def changed(state: Any, runtime: Any) -> dict[str, Any]:
        return {"messages": [AIMessage(LITIGATOR, id=state["messages"][-1].id)]}

    made = create_agent(Model(messages=iter([SAFE])), tools=[], middleware=[GuardMiddleware(GUARD), changed])
    assert CODE in made.invoke(ASKED)["messages"][-1].content


def test_structured_output_that_does_not_parse_raises_without_text(caplog: pytest.LogCaptureFixture) -> None:
    from langchain.agents.structured_output import ProviderStrategy
    from pydantic import BaseModel

    class Found(BaseModel):
        age: int

    made = create_agent(Model(messages=iter([LITIGATOR])), tools=[], response_format=ProviderStrategy(Found),
                        middleware=[GuardMiddleware(GUARD)])
    with pytest.raises(NotJudgedError) as caught:
        made.invoke(ASKED)
    logging.getLogger("app").error("failed", exc_info=caught.value)
    assert "litigator" not in caplog.text
    assert caught.value.__context__ is None


def chain(*said: str) -> Any:
    return ChatPromptTemplate.from_messages([("human", "{question}")]) | Model(messages=iter(said)) | StrOutputParser()


def test_a_chain_is_held_back_until_it_is_judged() -> None:
    heard = Heard()
    asked: dict[str, str] = {"question": "What lowers glucose?"}
    made = guarded(chain(SAFE, LITIGATOR, SAFE), GUARD, question=lambda given: given["question"])
    chunks = list(made.stream(asked, {"callbacks": [heard]}))
    assert len(chunks) > 3
    assert "".join(chunks) == SAFE
    assert list(made.stream(asked, {"callbacks": [heard]})) == [f"This answer was withheld ({CODE})."]
    assert "litigator" not in heard
    assert made.invoke(asked) == SAFE


def test_a_chain_of_messages_later_and_in_a_longer_chain() -> None:
    async def run(*said: str) -> list[Any]:
        made = guarded(Model(messages=iter(said)), GUARD, on_unsafe="block")
        return [one async for one in made.astream("What lowers glucose?")]

    chunks = asyncio.run(run(SAFE))
    assert len(chunks) > 3
    assert "".join(one.content for one in chunks) == SAFE
    [last] = asyncio.run(run(LITIGATOR))
    assert last.content == ""
    assert last.response_metadata[MARK]["code"] == CODE
    longer = guarded(chain(SAFE), GUARD) | RunnableLambda(str.upper)
    assert longer.invoke({"question": "?"}) == SAFE.upper()


def test_a_chain_spreads_one_person_over_chunks_of_any_size() -> None:
    def tokens(given: Iterator[Any]) -> Iterator[str]:
        for one in given:
            yield from one

    made = guarded(RunnableLambda(lambda _: LITIGATOR) | tokens, GUARD)
    assert CODE in made.invoke("?")


def test_errors_and_outputs_of_a_chain_quote_nothing() -> None:
    def parse(said: Any) -> Any:
        raise OutputParserException("not what was expected", llm_output=said.content)

    made = guarded(Model(messages=iter([LITIGATOR])) | RunnableLambda(parse), GUARD)
    with pytest.raises(NotJudgedError) as caught:
        made.invoke("?")
    assert "litigator" not in "".join(traceback.format_exception(caught.value))
    objects = guarded(RunnableLambda(lambda _: json.loads('{"age": 52}')), GUARD)
    assert "could not be judged" in objects.invoke("?")


def test_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "langchain.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"model": Model(messages=iter([call("Hm.", name="17"), LITIGATOR])), "lookup": lookup,
                             "chain": chain(SAFE)}
    for code in re.findall(r"^```python\n(.*?)^```$", page, re.S | re.M):
        exec(compile(code, "langchain.md", "exec"), names)
    first, *more = capsys.readouterr().out.splitlines()
    assert first == f"This answer was withheld ({CODE})."
    assert "".join("".join(more).split()) == SAFE.replace(" ", "")
