"""A request on its way through the proxy: to the model, to the gate, and back in the protocol of its client.

The model is asked for a chat completion, or for a text, whatever the client speaks; so an answer is read, judged,
withheld and reviewed in one form. It goes out whole, after it was judged, or not at all; comments keep a stream open
meanwhile.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.responses import Response, StreamingResponse
from pydantic import model_validator

from discreet.core.records import Answer
from discreet.inputs.messages import TooDeepError, asked_of, says_words_alone, strings_of
from discreet.serve.doors import chat
from discreet.serve.doors.chat import Json
from discreet.serve.doors.declared import (
    CONVERSATION_HEADER,
    Declaration,
    asked,
    conversation_of,
    end_user,
    with_header,
)
from discreet.serve.doors.receivers import by_itself, receivers_of, typed_in
from discreet.serve.doors.upstream import Upstream, malformed
from discreet.serve.fair import length_of
from discreet.serve.gate import Gate
from discreet.serve.keys import Caller
from discreet.serve.limits import Fields, RefusedError, too_long
from discreet.serve.outcome import Outcome
from discreet.serve.telemetry import crash

if TYPE_CHECKING:
    from discreet.serve.queue.records import TicketState


ANSWERED: dict[int | str, dict[str, Any]] = {200: {
    "description": "The answer in the protocol of the client; as server-sent events where `stream` is true.",
    "headers": {f"x-discreet-{name}": {"schema": {"type": "string"}, "description": said} for name, said in (
        ("action", "What became of the answer."), ("code", "The reason code."),
        ("ticket", "The ticket of an answer that waits for a reviewer."))},
    "content": {"application/json": {"schema": {"type": "object", "additionalProperties": True}},
                "text/event-stream": {"schema": {"type": "string"}}}}}
"""What the document of the API says of an answer; its fields are those of the client's protocol."""

WITHOUT_TEXT = frozenset(
    "model messages system stream stream_options n seed stop stop_sequences temperature top_p top_k max_tokens "
    "max_completion_tokens frequency_penalty presence_penalty logit_bias logprobs top_logprobs tools tool_choice "
    "functions function_call parallel_tool_calls response_format reasoning_effort thinking user safety_identifier "
    "service_tier store metadata".split())
"""Fields of a request for the upstream that show the model no text but that of the judged messages, among which
`system` is; of others that is not known."""


class Known(Fields):
    """A request of which every field is known. One that is null says nothing, and is left out whatever its name."""

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, given: Any) -> Any:
        return {name: one for name, one in given.items() if one is not None} if isinstance(given, dict) else given


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes to the caller: a chat completion that may go out, and headers."""

    completion: Json
    headers: Mapping[str, str]


class Protocol:
    """How one door writes answers; by itself that of chat completions.

    `name` is the door in metrics and logs, `path` what the upstream is asked at. A protocol may hold facts of its
    request.
    """

    name = "openai"
    path = "chat/completions"

    def read(self, found: Json) -> Json:
        """The answer of the upstream as a chat completion. Raises MalformedError."""
        return found

    def tools(self, body: Json) -> Iterator[Any]:
        """The names of the tools that a request declares."""
        for tool in _objects(body.get("tools")):
            kind = tool.get("type", "function")
            named = tool.get(kind) if isinstance(kind, str) else None
            yield named.get("name") if isinstance(named, dict) else None
        yield from (one.get("name") for one in _objects(body.get("functions")))

    def cleaned(self, found: Json, tools: frozenset[str], model: str, most: int) -> Json:
        """The answer as a chat completion with what may pass, of at most so many choices. Raises MalformedError."""
        read = self.read(found)
        if isinstance(choices := read.get("choices"), list) and len(choices) > most:
            raise chat.MalformedError("too_many_choices")
        return chat.cleaned(read, tools, model)

    def again(self, body: Json, words: str) -> Json:
        """The request with `words` before its messages, where an answer is asked for again."""
        return {**body, "messages": [{"role": "system", "content": words}, *body["messages"]]}

    def whole(self, reply: Reply) -> Json:
        """The answer of a request without a stream. Raises MalformedError where it cannot be written."""
        return reply.completion

    def events(self, reply: Reply) -> Iterator[bytes]:
        """The answer as server-sent events, the end included. Raises MalformedError where it cannot be written."""
        raise NotImplementedError

    def failed(self, error: RefusedError) -> bytes:
        """The event that ends a stream without an answer, so that clients raise."""
        return event(error.body())


@dataclass(frozen=True, slots=True)
class Sent:
    """What a client sent: the name of the model, the `messages` that say who said what, and the body for the upstream.

    `documents` are retrieved passages beside the messages, `users` fields that may name the end user.
    """

    model: str
    messages: Sequence[Mapping[str, Any]]
    body: Json
    declared: Declaration | None = None
    documents: Any = None
    users: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Proxied:
    """One request on its way: to the model, to the gate, and back."""

    gate: Gate
    upstream: Upstream
    caller: Caller
    guard: str
    body: Json
    asked: Answer
    words_alone: bool
    protocol: Protocol
    conversation: str | None = None
    user: str | None = None

    @classmethod
    def of(cls, gate: Gate, upstream: Upstream, caller: Caller, path: str | None, sent: Sent, protocol: Protocol,
           request: Request, words: list[str] | None, user: str | None) -> Proxied:
        """The request, with what it declares. Raises RefusedError before anything is sent to the model."""
        conversation = conversation_of(request.headers.getlist(CONVERSATION_HEADER))
        guard = gate.route(caller, sent.model, path)
        declared = with_header(sent.declared or Declaration(), words or [])
        try:
            given = asked(caller, declared, *asked_of(sent.messages))
            retrieved = tuple(strings_of(sent.documents))
        except TooDeepError:
            raise RefusedError(422, "too_deep", "a message is nested too deeply to be read") from None
        given = replace(given, sources=given.sources + retrieved)
        if (said := length_of(given)) > (most := gate.settings.limits.text_chars):
            raise too_long(f"{said:,} characters of messages, files and sources", most)
        words_alone = not retrieved and sent.body.keys() <= WITHOUT_TEXT and says_words_alone(sent.messages)
        return cls(gate, upstream, caller, guard, sent.body, given, words_alone, protocol, conversation,
                   end_user(user, *sent.users))

    async def reply(self) -> Reply:
        """The answer, judged. Raises RefusedError where there is none or it could not be judged."""
        given, body = self.gate.settings.upstream, self.body
        assert given is not None
        spent: Json = {}
        for left in range(given.retries if "messages" in body else 0, -1, -1):
            completion = self._cleaned(await self.upstream.complete(body, self.protocol.path))
            spent = _sum(spent, completion.get("usage", {}))
            completion |= {"usage": spent} if spent else {}
            tools = self.gate.settings.guards[self.guard]
            called = {name: tools.handing(name) for name in chat.called(completion)}
            if "withhold" in called.values() and self.gate.settings.mode_of(self.guard) == "enforce":
                self.gate.unjudged(self.caller, self.guard, self.protocol.name, withheld=True)
                return Reply(chat.replaced(completion, given.blocked),
                             {"x-discreet-action": "block", "x-discreet-code": "privacy/undecided"})
            allowed = frozenset(name for name, how in called.items() if how == "allow")
            if chat.is_silent(completion, allowed):
                self.gate.unjudged(self.caller, self.guard, self.protocol.name)
                return Reply(completion, {"x-discreet-action": "pass", "x-discreet-code": "ok"})
            outcome = await self.gate.decide(
                self.caller, self.guard, await self._answers(completion, allowed), payload=completion,
                redactable=completion if chat.says_text_alone(completion) else None, door=self.protocol.name,
                conversation=self.conversation, user=self.user)
            if outcome.action != "block" or not left:
                break
            body = self.protocol.again(self.body, given.again)
        return await self._reply(completion, outcome)

    async def _answers(self, completion: Json, allowed: frozenset[str]) -> list[Answer]:
        """What is judged of a completion: without the receivers that the user typed, where that tells of nobody."""
        def answers(typed: Collection[str] = ()) -> list[Answer]:
            return chat.answers_of_completion(completion, self.asked, words_alone=self.words_alone, allowed=allowed,
                                              typed=typed)

        receivers = {one.lower() for call in chat.calls_of(completion) for one in receivers_of(call)}
        if self.words_alone and receivers:
            typed, system = await asyncio.to_thread(typed_in, self.asked)
            without = answers(typed & receivers) if typed & receivers else []
            told = [*without, *(by_itself(self.asked, text) for text in system)]
            if without and await self.gate.tell_of_nobody(self.caller, self.guard, told):
                return without
        return answers()

    def _cleaned(self, found: Json) -> Json:
        names = frozenset(name for name in self.protocol.tools(self.body) if isinstance(name, str))
        try:
            cleaned = self.protocol.cleaned(found, names, str(self.body["model"]), self.gate.settings.limits.texts)
            self.protocol.whole(Reply(cleaned, {}))  # What cannot be written is known before it is judged.
        except chat.MalformedError as error:
            raise self.upstream.counted(malformed(str(error))) from None
        return cleaned

    async def _reply(self, completion: Json, outcome: Outcome) -> Reply:
        given, hold = self.gate.settings.upstream, self.gate.settings.hold_s
        assert given is not None
        if outcome.action == "failed":
            raise RefusedError(503, "privacy/not_judged", "the guard could not judge the answer; it was neither passed "
                               "nor blocked for what it says; come again", {"Retry-After": "5"})
        headers: dict[str, str] = {"x-discreet-action": outcome.action, "x-discreet-code": outcome.code}
        operator = self.caller.role == "operator"
        if outcome.ticket is not None:
            headers["x-discreet-ticket"] = outcome.ticket
            state = await self._held(outcome.ticket, hold)
            if state.status == "released" and state.payload is not None:
                return Reply(chat.with_verdict(state.payload, None, operator=operator),
                             headers | {"x-discreet-action": "released", "x-discreet-code": "ok"})
            if state.status == "pending":
                completion = chat.replaced(completion, given.pending.replace("{ticket}", outcome.ticket))
            else:
                headers["x-discreet-action"] = "block"
                completion = chat.replaced(completion, given.blocked)
        elif outcome.redacted is not None:
            completion = dict(outcome.redacted.payload)
        elif outcome.action != "pass":
            completion = chat.replaced(completion, given.blocked)
        return Reply(chat.with_verdict(completion, outcome, operator=operator), headers)

    async def _held(self, ticket: str, hold_s: float) -> TicketState:
        """What became of a ticket while the caller waited. Where the caller goes, the ticket ends."""
        try:
            state = await self.gate.ticket(ticket, self.caller, hold_s)
            if state.status == "pending":
                await self.gate.told(ticket)
        except asyncio.CancelledError:
            self.gate.unawaited(ticket)
            raise
        return state

    async def stream(self, work: asyncio.Task[Reply]) -> AsyncIterator[bytes]:
        """The events: comments until the answer is judged, then all of it; an error and no end where there is none."""
        try:
            while not work.done():
                await asyncio.wait({work}, timeout=self.gate.settings.keep_alive_s)
                if not work.done():
                    yield b": waiting\n\n"
            try:
                for one in self.protocol.events(work.result()):
                    yield one
            except RefusedError as error:
                yield self.protocol.failed(error)
            except Exception as error:
                self.gate.telemetry.event("crash", crash(error))
                yield self.protocol.failed(RefusedError(500, "internal", "a mistake in discreet; nothing was passed"))
        finally:
            work.cancel()

    async def response(self, request: Request, *, streams: bool) -> Response:
        """The answer to the request, as a stream where `streams`."""
        gate = self.gate
        work = asyncio.create_task(self.reply())
        # After the body, the next that is received is that the caller has gone.
        gone = asyncio.ensure_future(request.receive())
        try:  # What is there soon has its own status and headers, streamed too.
            await asyncio.wait({work, gone}, timeout=gate.settings.keep_alive_s if streams else None,
                               return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            work.cancel()
            raise
        finally:
            gone.cancel()
        if not streams:
            if not work.done():  # Nobody waits any more: the model need not go on.
                work.cancel()
                gate.telemetry.event("caller_gone", {"caller": self.caller.id, "guard": self.guard,
                                                     "door": self.protocol.name})
                return Response(status_code=499)
            reply = work.result()
            # ASCII, as in streams: half a surrogate pair, which an answer may repeat from its request, has no UTF-8.
            return Response(json.dumps(self.protocol.whole(reply)), media_type="application/json",
                            headers=dict(reply.headers))
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        if work.done():
            headers |= work.result().headers
        return StreamingResponse(self.stream(work), media_type="text/event-stream", headers=headers)


def event(data: Json, name: str | None = None) -> bytes:
    """One server-sent event."""
    head = b"" if name is None else f"event: {name}\n".encode()
    return head + b"data: " + json.dumps(data).encode() + b"\n\n"


def _objects(given: Any) -> list[Json]:
    return [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []


def _sum(before: Json, more: Json) -> Json:
    """Tokens of all attempts together."""
    return before | {name: _sum(before.get(name, {}), value) if isinstance(value, dict) else before.get(name, 0) + value
                     for name, value in more.items()}
