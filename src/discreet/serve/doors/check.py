"""`POST /v1/check`: judge texts, without a model. The plainest door."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Body, Depends, Request
from fastapi import Path as InPath
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from discreet.core.files import clean
from discreet.core.records import Answer, Asker, Code, Origin, Turn
from discreet.serve.doors.declared import (
    ASKER,
    CONVERSATION_HEADER,
    WORDS_HEADER,
    Declaration,
    Passage,
    UserHeader,
    asked,
    conversation_of,
    end_user,
)
from discreet.serve.doors.unread import refuse_unread
from discreet.serve.fair import length_of
from discreet.serve.gate import Gate
from discreet.serve.keys import Caller
from discreet.serve.limits import Error, Fields, Many, RefusedError, answers_of, too_long
from discreet.serve.outcome import Act, Outcome, details
from discreet.serve.roles import CallerOf


class CheckedTurn(Fields):
    """An earlier turn."""

    model_config = ConfigDict(strict=True)
    role: str = Field(max_length=100)
    content: str
    origin: Origin | None = Field(None, description="That of retrieved text or of the result of a tool; by default the "
                                                    "role decides. It only withdraws consent.")


class Judged(Fields):
    """Texts to judge: one answer, or several that go out together. `model` finds the guard where the path names none.

    What users say of themselves, or of somebody whom they bring, is no leak: `user_words` declares what the user typed,
    and `asker` that the user is the person whom the records describe, for a key that may declare. `question` and
    `conversation` are messages as the model got them: undeclared. `sources` are the passages that were retrieved: what
    the policy says of quotes of them applies, and their words are nobody's consent."""

    model_config = ConfigDict(strict=True)
    text: str | Annotated[Many[str], Field(min_length=1)]
    user_words: str | None = Field(None, description="What the user typed; for a key that may declare.")
    asker: Asker = Field("unknown", description=ASKER)
    question: str | None = Field(None, description="The last user message as the model got it.")
    conversation: Many[CheckedTurn] = Field([])
    sources: Many[str | Passage] = Field([])
    model: str | None = Field(None, max_length=200)


class Check(Judged):
    """What to judge, for whom, and whether a reviewer is asked."""

    conversation_id: str | None = Field(None, min_length=1, max_length=200, description="What earlier answers of this "
                                        "conversation told counts too; one of the key's own.")
    user: str | None = Field(None, description="The end user: facts that were withheld from them are remembered.")
    review: bool = Field(False, description="Open a ticket where the guard is undecided and there is a queue.")


class Checked(BaseModel):
    """The decision. `results` holds the reason code of each text; `details` is there for the operator's role only."""

    id: str
    guard: str
    action: Act
    code: Code
    would: Act | None = Field(None, description="Where the guard observes: what enforce would do.")
    ticket: str | None = None
    texts: list[str] | None = Field(None, description="Where the action is redact: what may go out, a text for each.")
    results: list[Code]
    details: list[dict[str, Any]] | None = None


Name = Annotated[str, InPath(max_length=100, description="The name of a guard.")]


def router(gate: Gate) -> APIRouter:
    """`/v1/check` and `/v1/check/{guard}`."""
    routes = APIRouter(tags=["check"], dependencies=[Depends(refuse_unread(WORDS_HEADER, query=True))])
    statuses = {**answers_of(404), 503: {"model": Checked | Error, "description": "Not ready, or not judged."}}

    @routes.post("/v1/check", responses=statuses, response_model=Checked)
    async def check(body: Annotated[Check, Body()], caller: CallerOf, request: Request,
                    user: UserHeader = None) -> JSONResponse:
        """Judge texts by the guard of the key, of `model`, or the default."""
        return await _check(gate, caller, body, None, user, request)

    @routes.post("/v1/check/{guard}", responses=statuses, response_model=Checked)
    async def check_by(guard: Name, body: Annotated[Check, Body()], caller: CallerOf, request: Request,
                       user: UserHeader = None) -> JSONResponse:
        """Judge texts by a guard."""
        return await _check(gate, caller, body, guard, user, request)

    return routes


async def _check(gate: Gate, caller: Caller, body: Check, path: str | None, user: str | None,
                 asked_by: Request) -> JSONResponse:
    guard, request, answers = asked_for(gate, caller, body, path)
    texts = [one.answer for one in answers]
    payload = {"texts": texts} if body.review else None
    conversation = conversation_of(asked_by.headers.getlist(CONVERSATION_HEADER), body.conversation_id)
    outcome = await gate.decide(caller, guard, answers, payload=payload, redactable={"texts": texts}, door="check",
                                conversation=conversation, user=end_user(user, body.user))
    if outcome.ticket is not None:
        await gate.told(outcome.ticket, gone=await asked_by.is_disconnected())
    return answer_of(request, guard, caller, outcome)


def asked_for(gate: Gate, caller: Caller, body: Judged, path: str | None) -> tuple[str, str, list[Answer]]:
    """The guard, an id of the request, and the answers to judge. Raises RefusedError for what is over the limits."""
    guard = gate.route(caller, body.model, path)
    # What JSON can say and no answer in UTF-8 can would be held, and then neither be read nor be fetched.
    texts = [clean(one) for one in ([body.text] if isinstance(body.text, str) else body.text)]
    limits = gate.settings.limits
    if len(texts) > limits.texts:
        raise RefusedError(413, "texts", f"{len(texts)} texts; expected 1 to {limits.texts}")
    turns = tuple(Turn(turn.role, turn.content, turn.origin) for turn in body.conversation)
    declared = Declaration(user_words=body.user_words, sources=body.sources, asker=body.asker)
    given, request = asked(caller, declared, body.question, turns), uuid4().hex
    answers = [replace(given, id=f"{request}-{number}", answer=text) for number, text in enumerate(texts)]
    if (longest := max(map(length_of, answers))) > limits.text_chars:
        raise too_long(f"{longest:,} characters with question, sources and conversation", limits.text_chars)
    return guard, request, answers


def answer_of(request: str, guard: str, caller: Caller, outcome: Outcome) -> JSONResponse:
    """The decision: 200 whatever it is, but 503 where the guard enforces and could not judge."""
    said: dict[str, Any] = {"id": request, "guard": guard, "action": outcome.action, "code": outcome.code}
    if outcome.would != outcome.action:
        said["would"] = outcome.would
    if outcome.ticket is not None:
        said["ticket"] = outcome.ticket
    if outcome.redacted is not None:
        said["texts"] = outcome.redacted.payload["texts"]
    said["results"] = [one.verdict.code for one in outcome.judgements]
    if caller.role == "operator":
        said["details"] = details(outcome)
    return JSONResponse(said, 503 if outcome.action == "failed" else 200)
