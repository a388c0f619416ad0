"""LlamaIndex: a query engine around another that withholds what the guard does not call safe.

LlamaIndex instruments itself below any wrapper: synthesizers and models emit raw answers (`SynthesizeEndEvent`,
`LLMChatEndEvent`, the payloads of `CallbackManager`) before the wrapper sees them. `GuardedQueryEngine` asks the inner
engine below its own `query`, so that at least its `QueryEndEvent` and span stay out; docs/llamaindex.md has the rest.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from discreet.core.errors import NotJudgedError, need
from discreet.core.records import Code, Prompts, Verdict
from discreet.guard import Guard
from discreet.serve.integrations.withhold import OnUnsafe, Withholder

need("llama_index.core.base.base_query_engine", "the LlamaIndex query engine", "llamaindex")

from llama_index.core.base.base_query_engine import BaseQueryEngine  # noqa: E402
from llama_index.core.base.response.schema import (  # noqa: E402
    AsyncStreamingResponse,
    PydanticResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle  # noqa: E402

QUOTING = ("OutputParserException", "ValidationError", "JSONDecodeError")
"""Errors of output parsers; they quote the answer."""


class GuardedQueryEngine(BaseQueryEngine):
    """Asks another query engine, and withholds its answer unless the guard calls it safe.

    A stream is read to its end and judged before its first token goes out. With an answer that is withheld its source
    nodes are left out, and its metadata is `{"discreet": code}`; those of an answer that passes are not judged.

    Parameters
    ----------
    engine : BaseQueryEngine
        The engine whose answers are judged.
    guard : Guard or str
        A guard, or the name of a domain.
    on_unsafe : {"block", "placeholder", "raise"}
        What takes the place of a withheld answer: nothing, a sentence with the reason code, or a WithheldError
        (NotJudgedError where it could not be judged).
    placeholder : str, optional
        The sentence; `{code}` in it becomes the reason code.
    report : callable, optional
        Gets the verdict of every answer, which holds no text.
    user_words : bool
        Declares that the string given to `query` is what the user typed, as it was typed. Without it the string counts
        as the user's words where all of it reads as a user's speech, or as `prompts` says.
    prompts : Prompts, optional
        What the strings given to `query` are, with the templates of the application; see docs/provenance.md.

    Raises UsageError for arguments that cannot be.
    """

    def __init__(self, engine: BaseQueryEngine, guard: Guard | str, *, on_unsafe: OnUnsafe = "placeholder",
                 placeholder: str | None = None, report: Callable[[Verdict], None] | None = None,
                 user_words: bool = False, prompts: Prompts | None = None) -> None:
        super().__init__(engine.callback_manager)
        self.engine, self.user_words = engine, user_words
        self._withholder = Withholder.of(guard, on_unsafe, placeholder, report, prompts)

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {"engine": self.engine}

    def retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        """The nodes that the inner engine retrieves; they are not judged."""
        return self.engine.retrieve(query_bundle)  # type: ignore[no-any-return]

    def _query(self, query_bundle: QueryBundle) -> Any:
        try:
            found = self.engine._query(query_bundle)
            if isinstance(found, StreamingResponse):
                found.response_txt = "".join(found.response_gen)
        except Exception as error:
            if not _quotes(error):
                raise
        else:
            return self._passed(found, query_bundle.query_str)
        raise NotJudgedError("privacy/not_judged")

    async def _aquery(self, query_bundle: QueryBundle) -> Any:
        try:
            found = await self.engine._aquery(query_bundle)
            if isinstance(found, AsyncStreamingResponse):
                found.response_txt = "".join([token async for token in found.response_gen])
            elif isinstance(found, StreamingResponse):
                found.response_txt = await asyncio.to_thread("".join, found.response_gen)
        except Exception as error:
            if not _quotes(error):
                raise
        else:
            return await asyncio.to_thread(self._passed, found, query_bundle.query_str)
        raise NotJudgedError("privacy/not_judged")

    def _passed(self, found: Any, question: str) -> Any:
        """The response, or one of its kind with what takes the place of its text."""
        streams = isinstance(found, StreamingResponse | AsyncStreamingResponse)
        if isinstance(found, PydanticResponse):
            text = None if found.response is None else found.response.model_dump_json()
        else:
            text = found.response_txt if streams else getattr(found, "response", object())
        code: Code = self._withholder.judge(text, question, sources=_passages(found),
                                            user_words=question if self.user_words else None)
        nodes, metadata = (found.source_nodes, found.metadata) if code == "ok" else ([], {"discreet": code})
        if code == "ok" and not streams:
            return found
        said = text if code == "ok" else self._withholder.replacement(code)
        if not streams:
            return Response(said, nodes, metadata)
        if isinstance(found, AsyncStreamingResponse):
            return AsyncStreamingResponse(_once_later(said), nodes, metadata)
        return StreamingResponse(_once(said), nodes, metadata)


def _passages(found: Any) -> list[str]:
    """The texts of the nodes that a response rests on, with the metadata that the model is shown."""
    texts = [node.get_content(metadata_mode=MetadataMode.LLM) for node in getattr(found, "source_nodes", None) or ()]
    return [text for text in texts if isinstance(text, str) and text.strip()]


def _once(text: Any) -> Iterator[str]:
    yield text


async def _once_later(text: Any) -> AsyncIterator[str]:
    yield text


def _quotes(error: Exception) -> bool:
    return any(kind.__name__ in QUOTING for kind in type(error).__mro__)
