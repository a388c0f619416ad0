"""LangChain: a middleware for agents and a runnable for chains that withhold what the guard does not call safe.

A stream is held back until the whole answer is judged, and what a model says before that goes to no callback, trace,
stream, state or checkpoint: the model runs without the callbacks and tracers of the run around it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from discreet.core.errors import DiscreetError, NotJudgedError, need
from discreet.core.records import Code, Prompts, Verdict
from discreet.guard import Guard
from discreet.serve.integrations.withhold import OnUnsafe, Withholder

need("langchain.agents.middleware", "the LangChain middleware", "langchain")

from langchain.agents.middleware import (  # noqa: E402
    AgentMiddleware,
    ModelRequest,
    ModelResponse,
    TracePolicy,
    hook_config,
    omit_payload,
)
from langchain_core.callbacks import BaseCallbackHandler  # noqa: E402
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage  # noqa: E402
from langchain_core.runnables import Runnable, RunnableGenerator  # noqa: E402
from langchain_core.runnables.config import ensure_config, var_child_runnable_config  # noqa: E402
from langchain_core.tracers.context import tracing_v2_callback_var  # noqa: E402
from langgraph.types import Command  # noqa: E402
from langsmith.run_helpers import tracing_context  # noqa: E402

from discreet.serve.integrations.langchain_request import RETRIEVED, UserWords, judged, messages_of  # noqa: E402

MARK = "discreet"
"""Where in the `response_metadata` of a message its code stands."""
KEPT = ("model_name", "model", "model_provider", "finish_reason", "stop_reason", "token_usage", "system_fingerprint",
        "service_tier")
"""What is kept of the `response_metadata` of a provider. Log-probabilities, for one, hold the tokens again."""
CALLS = ("tool_call", "tool_call_chunk", "invalid_tool_call", "tool_use", "function_call")
"""Types of content that repeat a tool call."""
QUOTING = ("OutputParserException", "StructuredOutputError")
"""Errors of the framework that quote the answer."""


class GuardMiddleware(AgentMiddleware):
    """Judges every message of an agent's model before anything else sees it; put it first in the list.

    The model's whole message (text, reasoning, arguments of tool calls) is judged as one, in its request. Human
    messages are undeclared user messages; results of tools with the documents of their artifacts, typed parts of
    messages, and `context` and `documents` of the state are no words of the user. Where a message is withheld, its tool
    calls go too, and the agent ends.

    Parameters
    ----------
    guard : Guard or str
        A guard, or the name of a domain.
    on_unsafe : {"block", "placeholder", "raise"}
        What takes the place of a withheld message: nothing, a sentence with the reason code, or a WithheldError
        (NotJudgedError where it could not be judged). Tool results are replaced by the sentence where it is "block".
    placeholder : str, optional
        The sentence; `{code}` in it becomes the reason code.
    tool_calls : bool
        Whether arguments of tool calls are judged with the message. Without it they reach tools and streams unjudged.
    tool_results : bool
        Whether results of tools are judged as well, before the model reads them. The agent goes on without those that
        are withheld.
    report : callable, optional
        Gets the verdict of every message, which holds no text.
    prompts : Prompts, optional
        What human messages are, with the templates of the application; see docs/provenance.md.
    user_words : callable, optional
        Takes the agent's state and returns what the user typed; None leaves the messages undeclared.

    Raises UsageError for arguments that cannot be.
    """

    trace_policy = TracePolicy(process_inputs=omit_payload, process_outputs=omit_payload)

    def __init__(self, guard: Guard | str, *, on_unsafe: OnUnsafe = "placeholder", placeholder: str | None = None,
                 tool_calls: bool = True, tool_results: bool = False,
                 report: Callable[[Verdict], None] | None = None, prompts: Prompts | None = None,
                 user_words: UserWords | None = None) -> None:
        super().__init__()
        self.tool_calls, self.tool_results, self.user_words = tool_calls, tool_results, user_words
        self._withholder = Withholder.of(guard, on_unsafe, placeholder, report, prompts)
        self._seal = secrets.token_bytes(32)

    def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]) -> ModelResponse:
        """Call the model unheard, and pass on what is safe."""
        shown = _Shown()
        with unheard(shown):
            return self._passed(_unwrapped(lambda: handler(request)), request, shown)

    async def awrap_model_call(self, request: ModelRequest,
                               handler: Callable[[ModelRequest], Awaitable[ModelResponse]]) -> ModelResponse:
        """As `wrap_model_call`; the guard judges in a thread."""
        shown = _Shown()
        with unheard(shown):
            response = await _aunwrapped(lambda: handler(request))
            return await asyncio.to_thread(self._passed, response, request, shown)

    @hook_config(can_jump_to=["end"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """Judge the last message of the model unless it is as it was when `wrap_model_call` passed it."""
        messages = state["messages"]
        last = next((one for one in reversed(messages) if isinstance(one, AIMessage)), None)
        if last is None or last.response_metadata.get(MARK, {}).get("seal") == self._sealed(last):
            return None
        code = self._judged(_content(last, self.tool_calls), messages[:messages.index(last)], state)
        return None if code == "ok" else {"messages": [self._instead(last, code)], "jump_to": "end"}

    @hook_config(can_jump_to=["end"])
    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        """As `after_model`, in a thread."""
        return await asyncio.to_thread(self.after_model, state, runtime)

    def wrap_tool_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Call the tool; with `tool_results` unheard, and its result is judged."""
        if not self.tool_results:
            return handler(request)
        return self._result(handler(request.override(tool=_Unheard(request.tool))), request)

    async def awrap_tool_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """As `wrap_tool_call`."""
        if not self.tool_results:
            return await handler(request)
        result = await handler(request.override(tool=_Unheard(request.tool)))
        return await asyncio.to_thread(self._result, result, request)

    def _judged(self, content: Any, before: Sequence[BaseMessage], state: Any, *, calls: bool = False) -> Code:
        """The code of a content, in the request of the messages before it; `calls` as of an `Answer`."""
        given = state if isinstance(state, dict) else {name: getattr(state, name, None) for name in RETRIEVED}
        return judged(self._withholder, content, before, given, self.user_words and self.user_words(state), calls=calls)

    def _passed(self, response: Any, request: ModelRequest, shown: _Shown) -> ModelResponse:
        """The response with cleaned and marked messages, or with what takes their place."""
        response = getattr(response, "model_response", response)
        if isinstance(response, AIMessage):
            response = ModelResponse(result=[response])
        result = response.result
        before = shown.of(request)
        calls = self.tool_calls and shown.messages is not None and any(getattr(one, "tool_calls", ()) for one in result)
        code = self._judged([_content(one, self.tool_calls) for one in result], before, request.state, calls=calls)
        if calls and code == "ok":  # What it says beside what it hands to tools is no call.
            code = self._judged([_besides_calls(one) for one in result], before, request.state)
        said = next((one for one in result if isinstance(one, AIMessage)), AIMessage(""))
        if code != "ok":
            return ModelResponse(result=[self._instead(said, code)])
        return replace(response, result=[self._marked(one) if isinstance(one, AIMessage) else one for one in result])

    def _marked(self, message: AIMessage, code: Code = "ok") -> AIMessage:
        mark = {MARK: {"code": code, "seal": self._sealed(message)}}
        return message.model_copy(update={"response_metadata": _kept(message) | mark})

    def _sealed(self, message: AIMessage) -> str:
        """A keyed hash of what was judged. The key is this object's own, so nobody else can test texts by it."""
        said = repr(_content(message)).encode("utf-8", "surrogatepass")
        return blake2b(said, key=self._seal, digest_size=16).hexdigest()

    def _instead(self, message: AIMessage, code: Code) -> AIMessage:
        """What stands in the message's place. Raises with on_unsafe "raise"."""
        return self._marked(AIMessage(
            self._withholder.replacement(code), id=message.id, name=message.name, usage_metadata=message.usage_metadata,
            response_metadata=_kept(message) | {"finish_reason": "content_filter"}), code)

    def _result(self, result: Any, request: Any) -> Any:
        """A tool's result: messages, alone or in the update of a Command, each judged."""
        state = request.state
        before = state.get("messages", []) if isinstance(state, dict) else getattr(state, "messages", [])
        if isinstance(result, list):
            return [self._result(one, request) for one in result]
        if isinstance(result, Command) and isinstance(result.update, dict):
            messages = [self._result(one, request) for one in result.update.get("messages", [])]
            return replace(result, update=result.update | ({"messages": messages} if messages else {}))
        if not isinstance(result, ToolMessage):
            return result
        code = self._judged(result.content, before, state)
        if code == "ok":
            return result
        said = self._withholder.replacement(code) or f"[withheld: {code}]"
        return ToolMessage(said, tool_call_id=result.tool_call_id, name=result.name, id=result.id, status=result.status,
                           response_metadata={MARK: {"code": code}})


def guarded(chain: Runnable[Any, Any], guard: Guard | str, *, user_words: UserWords | None = None,
            question: Callable[[Any], str | None] | None = None, on_unsafe: OnUnsafe = "placeholder",
            placeholder: str | None = None, report: Callable[[Verdict], None] | None = None,
            prompts: Prompts | None = None) -> Runnable[Any, Any]:
    """A RunnableGenerator that runs `chain` unheard, holds back what it says until it is judged, and passes that on.

    `chain` ends in strings or messages. `user_words` takes what the chain is given and returns what the user typed.
    `question` returns the message that the model gets, which is undeclared; without it a string, or the messages of the
    input. `context` and `documents` of an input are retrieved text. Chunks keep their boundaries, but arrive at once.
    Other arguments as for `GuardMiddleware`. Raises UsageError for those that cannot be.
    """
    withholder = Withholder.of(guard, on_unsafe, placeholder, report, prompts)

    def decided(chunks: list[Any], given: Any) -> list[Any]:
        messages = bool(chunks) and all(isinstance(one, BaseMessage) for one in chunks)
        asked = [HumanMessage(question(given) or "")] if question is not None else messages_of(given)
        fields = given if isinstance(given, dict) else {}
        words = user_words and user_words(given)
        if messages:
            code = judged(withholder, _content(_sum(chunks)), asked, fields, words)
        elif all(isinstance(one, str) for one in chunks):
            code = judged(withholder, "".join(chunks), asked, fields, words)
        else:
            code = "privacy/not_judged"
        if code == "ok":
            return [one.model_copy(update={"response_metadata": _kept(one)}) for one in chunks] if messages else chunks
        said = withholder.replacement(code)
        mark = {MARK: {"code": code}, "finish_reason": "content_filter"}
        return [AIMessageChunk(said, id=chunks[0].id, response_metadata=mark) if messages else said]

    def run(inputs: Iterator[Any]) -> Iterator[Any]:
        given = _sum(list(inputs))
        with unheard():
            chunks = _unwrapped(lambda: list(chain.stream(given)))
            passed = decided(chunks, given)
        yield from passed

    async def arun(inputs: AsyncIterator[Any]) -> AsyncIterator[Any]:
        given = _sum([one async for one in inputs])

        async def collected() -> list[Any]:
            return [one async for one in chain.astream(given)]

        with unheard():
            chunks = await _aunwrapped(collected)
            passed = await asyncio.to_thread(decided, chunks, given)
        for one in passed:
            yield one

    return RunnableGenerator(run, arun, name="guarded")


class _Shown(BaseCallbackHandler):
    """What a model is shown, whatever other middlewares make of the request: the messages of its one call, None where
    there were several or none."""

    run_inline = True

    def __init__(self) -> None:
        self._calls: list[list[BaseMessage]] = []

    @property
    def messages(self) -> list[BaseMessage] | None:
        return self._calls[0] if len(self._calls) == 1 else None

    def on_chat_model_start(self, serialized: Any, messages: list[list[BaseMessage]], **more: Any) -> None:
        self._calls += messages

    def of(self, request: ModelRequest) -> list[BaseMessage]:
        """The messages of one call, else those of the request."""
        system = [request.system_message] if request.system_message is not None else []
        return self.messages if self.messages is not None else [*system, *request.messages]


@contextmanager
def unheard(*told: BaseCallbackHandler) -> Iterator[None]:
    """Inside, what runs calls no callback and no tracer of the run around it, but those that are `told`."""
    config = ensure_config(var_child_runnable_config.get()) | {"callbacks": [*told] or None}
    tokens = [(var, var.set(value)) for var, value in (
        (var_child_runnable_config, config), (tracing_v2_callback_var, None))]
    try:
        with tracing_context(enabled=False, parent=False):
            yield
    finally:
        for var, token in tokens:
            var.reset(token)


class _Unheard:
    """A tool whose runs call no callback."""

    def __init__(self, tool: Any) -> None:
        self._tool = tool

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tool, name)

    def invoke(self, given: Any, config: Any = None, **more: Any) -> Any:
        with unheard():
            return self._tool.invoke(given, (config or {}) | {"callbacks": None}, **more)

    async def ainvoke(self, given: Any, config: Any = None, **more: Any) -> Any:
        with unheard():
            return await self._tool.ainvoke(given, (config or {}) | {"callbacks": None}, **more)


def _unwrapped(call: Callable[[], Any]) -> Any:
    """What `call` returns. An error that quotes an answer becomes one that does not, without a chain."""
    try:
        return call()
    except Exception as error:
        if not _quotes(error):
            raise
    raise NotJudgedError("privacy/not_judged")


async def _aunwrapped(call: Callable[[], Awaitable[Any]]) -> Any:
    try:
        return await call()
    except Exception as error:
        if not _quotes(error):
            raise
    raise NotJudgedError("privacy/not_judged")


def _quotes(error: Exception) -> bool:
    return not isinstance(error, DiscreetError) and any(kind.__name__ in QUOTING for kind in type(error).__mro__)


def _content(message: BaseMessage, tool_calls: bool = True) -> list[Any]:
    """All of a message that may hold prose."""
    if tool_calls:
        calls = [*getattr(message, "tool_calls", ()), *getattr(message, "invalid_tool_calls", ())]
        return [message.content, message.additional_kwargs, [{"args": call.get("args")} for call in calls]]
    blocks = [message.content] if isinstance(message.content, str) else message.content
    return [[one for one in blocks if not isinstance(one, dict) or one.get("type") not in CALLS],
            {key: one for key, one in message.additional_kwargs.items() if key not in ("tool_calls", "function_call")}]


def _besides_calls(message: BaseMessage) -> list[Any]:
    """What a message says besides what it hands to tools."""
    return [_without_arguments(message.content), _without_arguments(message.additional_kwargs)]


def _without_arguments(content: Any) -> Any:
    """A content without the arguments of the calls in it; all else of them stays."""
    if isinstance(content, list):
        return [_without_arguments(one) for one in content]
    if not isinstance(content, dict):
        return content
    return {name: _without_arguments(one) for name, one in content.items()
            if name not in ("args", "input", "arguments", "name", "type", "id", "index")}


def _kept(message: BaseMessage) -> dict[str, Any]:
    return {key: value for key, value in message.response_metadata.items() if key in KEPT}


def _sum(chunks: list[Any]) -> Any:
    """What a chain is given, of its chunks."""
    whole = chunks[0] if chunks else ""
    for one in chunks[1:]:
        whole = whole + one
    return whole
