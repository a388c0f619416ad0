"""Against the real LlamaIndex, in an environment of its own: tests/serve/integrations/test_frameworks.py runs it."""

from __future__ import annotations

import asyncio
import logging
import re
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import SummaryIndex
from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import AsyncStreamingResponse, PydanticResponse, Response, StreamingResponse
from llama_index.core.callbacks import CallbackManager
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.output_parsers.base import OutputParserException
from llama_index.core.schema import QueryBundle, TextNode
from pydantic import BaseModel, Field

from discreet import Guard
from discreet.core.errors import NotJudgedError, WithheldError
from discreet.core.records import Prompts
from discreet.serve.integrations.llamaindex import GuardedQueryEngine

LITIGATOR = "The patient is a 52-year-old litigator from Omaha with two children."
SAFE = "Metformin lowers blood glucose."
GUARD = Guard("medical")
WITHHELD = "This answer was withheld (privacy/contextual)."


class Says(CustomLLM):
    """Says one text, by words when it streams."""

    text: str

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata()

    def complete(self, prompt: str, formatted: bool = False, **more: Any) -> CompletionResponse:
        return CompletionResponse(text=self.text)

    def stream_complete(self, prompt: str, formatted: bool = False, **more: Any) -> Any:
        said = ""
        for word in self.text.split(" "):
            said += f"{word} "
            yield CompletionResponse(text=said, delta=f"{word} ")


class Events(BaseEventHandler):
    """Everything that instrumentation is told."""

    told: list[Any] = Field(default_factory=list)

    def handle(self, event: Any, **more: Any) -> None:
        self.told.append(event)

    def with_text(self, text: str) -> set[str]:
        return {type(one).__name__ for one in self.told if text in repr(one)}


@pytest.fixture
def events() -> Iterator[Events]:
    root = get_dispatcher()
    before = list(root.event_handlers)
    handler = Events(told=[])
    root.add_event_handler(handler)
    yield handler
    root.event_handlers = before


def inner(text: str, source: str = "Source: the litigator of Omaha.", **more: Any) -> Any:
    node = TextNode(text=source)
    return SummaryIndex([node]).as_query_engine(llm=Says(text=text), **more)


def guarded(text: str, *, streaming: bool = False, **options: Any) -> GuardedQueryEngine:
    return GuardedQueryEngine(inner(text, streaming=streaming), GUARD, **options)


def test_a_safe_answer_passes_with_its_sources() -> None:
    found = guarded(SAFE).query("What lowers glucose?")
    assert isinstance(found, Response)
    assert str(found) == SAFE
    assert len(found.source_nodes) == 1


def test_metadata_that_the_model_is_shown_is_a_source_too() -> None:
    """A confirmation of whom only the metadata of a node describes."""
    node = TextNode(text="On metformin since May.", metadata={"patient": "52-year-old litigator from Omaha"})
    asked = "Is the litigator on metformin?"
    engine = SummaryIndex([node]).as_query_engine(llm=Says(text="Yes, since May."))
    assert str(GuardedQueryEngine(engine, GUARD).query(asked)) == WITHHELD


def test_an_unsafe_answer_is_withheld_with_its_sources() -> None:
    seen: list[str] = []
    found = guarded(LITIGATOR, report=lambda verdict: seen.append(verdict.action)).query("Who is it?")
    assert str(found) == WITHHELD
    assert found.source_nodes == []
    assert found.metadata == {"discreet": "privacy/contextual"}
    assert seen == ["flag"]
    assert guarded(LITIGATOR, on_unsafe="block").query("Who is it?").response == ""
    with pytest.raises(WithheldError) as caught:
        guarded(LITIGATOR, on_unsafe="raise").query("Who is it?")
    assert "litigator" not in "".join(traceback.format_exception(caught.value))


def test_what_the_asker_said_is_no_leak() -> None:
    said = "You are a 52-year-old litigator from Omaha with two children."
    assert str(guarded(said).query("I am a 52-year-old litigator from Omaha with two children. Why?")) == said


@pytest.mark.parametrize(("asked", "source", "options", "passes"), [
    ("{}", "x", {}, True), ("Use these notes.\n\nNotes: none.\n\n{}", "x", {}, False),
    ("Use these notes.\n\nNotes: none.\n\n{}", "x", {"user_words": True}, True),
    ("{}", "{}", {}, False), ("{}", "{}", {"user_words": True}, False),
    ("{}", "x", {"prompts": Prompts("prompt")}, False),
])
def test_only_the_users_words_are_no_leak(asked: str, source: str, options: dict[str, Any], passes: bool) -> None:
    mine, echo = "I am a 52-year-old litigator from Omaha. May I apply?", "You are a 52-year-old litigator from Omaha."
    engine = GuardedQueryEngine(inner(echo, source.format(mine)), GUARD, **options)
    assert (str(engine.query(asked.format(mine))) == echo) is passes


def test_a_stream_is_judged_before_its_first_token() -> None:
    found = guarded(SAFE, streaming=True).query("What lowers glucose?")
    assert isinstance(found, StreamingResponse)
    assert "".join(found.response_gen).strip() == SAFE
    found = guarded(LITIGATOR, streaming=True).query("Who is it?")
    assert isinstance(found, StreamingResponse)
    assert list(found.response_gen) == [WITHHELD]
    assert found.source_nodes == []


def test_asynchronous_queries_and_streams() -> None:
    async def run(text: str, streaming: bool) -> Any:
        found = await guarded(text, streaming=streaming).aquery("Who is it?")
        if not streaming:
            return str(found)
        assert isinstance(found, AsyncStreamingResponse)
        return "".join([token async for token in found.async_response_gen()]).strip()

    for streaming in (False, True):
        assert asyncio.run(run(SAFE, streaming)) == SAFE
        assert asyncio.run(run(LITIGATOR, streaming)) == WITHHELD


class Fixed(BaseQueryEngine):
    """Answers with one object, or raises one."""

    def __init__(self, found: Any) -> None:
        super().__init__(CallbackManager([]))
        self.found = found

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {}

    def _query(self, query_bundle: Any) -> Any:
        if isinstance(self.found, Exception):
            raise self.found
        return self.found

    async def _aquery(self, query_bundle: Any) -> Any:
        return self._query(query_bundle)


class Person(BaseModel):
    age: int
    occupation: str
    city: str


def test_objects_are_judged_by_their_fields() -> None:
    found = PydanticResponse(Person(age=52, occupation="litigator", city="Omaha"))
    assert str(GuardedQueryEngine(Fixed(found), GUARD).query("Who?")) == WITHHELD
    assert "could not be judged" in str(GuardedQueryEngine(Fixed(object()), GUARD).query("Who?"))
    assert asyncio.run(GuardedQueryEngine(Fixed(Response(None)), GUARD).aquery("Who?")).response is None


def test_an_error_that_quotes_the_answer_becomes_one_that_does_not(caplog: pytest.LogCaptureFixture) -> None:
    for error, expected in ((OutputParserException(LITIGATOR), NotJudgedError), (KeyError("index"), KeyError)):
        engine = GuardedQueryEngine(Fixed(error), GUARD)
        with pytest.raises(expected) as caught:
            engine.query("Who?")
        logging.getLogger("app").error("failed", exc_info=caught.value)
        with pytest.raises(expected):
            asyncio.run(engine.aquery("Who?"))
    assert "litigator" not in caplog.text


@pytest.mark.parametrize("later", [False, True])
def test_what_instrumentation_is_told(events: Events, later: bool) -> None:
    engine = guarded(LITIGATOR)
    found = asyncio.run(engine.aquery("Who is it?")) if later else engine.query("Who is it?")
    assert str(found) == WITHHELD
    # Kept in: the end of a query. What leaks below any wrapper, as docs/llamaindex.md says: synthesis and model.
    assert events.with_text(WITHHELD) == {"QueryEndEvent"}
    raw = events.with_text(LITIGATOR)
    assert "QueryEndEvent" not in raw
    assert "SynthesizeEndEvent" in raw
    assert "LLMPredictEndEvent" in raw


def test_an_engine_that_is_asked_by_itself_tells_instrumentation_the_raw_answer(events: Events) -> None:
    inner(LITIGATOR).query("Who is it?")
    assert "QueryEndEvent" in events.with_text(LITIGATOR)


def test_prompts_and_retrieval_of_the_inner_engine() -> None:
    engine = guarded(SAFE)
    assert "engine:response_synthesizer:text_qa_template" in engine.get_prompts()
    assert len(engine.retrieve(QueryBundle("Who is it?"))) == 1


def test_the_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "llamaindex.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {"index": SummaryIndex([TextNode(text="Source.")]), "llm": Says(text=LITIGATOR)}
    for code in re.findall(r"^```python\n(.*?)^```$", page, re.S | re.M):
        exec(compile(code, "llamaindex.md", "exec"), names)
    assert capsys.readouterr().out.splitlines() == [WITHHELD, "{'discreet': 'privacy/contextual'}"]
