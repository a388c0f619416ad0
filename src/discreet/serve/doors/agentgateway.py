"""agentgateway's guardrail webhook: `/request` and `/response`. Pass, or reject with the operator's words.

A response comes without the question, so that nothing is consent: attributes that the user had said count as leaks
here. 503 where an answer could not be judged, which agentgateway takes as a failure of the webhook (`failureMode:
failClosed`).

Unknown fields are no error here, as they are at other doors: who sends them is a gateway, of which a newer release may
send more, and an error is a failure of the webhook, under `failureMode: failOpen` a pass of every answer. So all text
of a choice is judged wherever it stands, and fields beside the choices are named in a header of the reply.
"""

from __future__ import annotations

from typing import Annotated, Any
from uuid import uuid4

from fastapi import APIRouter, Body, Response
from pydantic import BaseModel, ConfigDict, Field

from discreet.core.records import Answer
from discreet.serve.doors.chat import MalformedError, and_together, strings
from discreet.serve.doors.declared import UserHeader, end_user
from discreet.serve.doors.unread import names_of
from discreet.serve.gate import Gate, not_judged
from discreet.serve.limits import Many, RefusedError, answers_of
from discreet.serve.roles import CallerOf
from discreet.serve.settings import BLOCKED

UNREAD = "x-discreet-unread"
"""The header that names fields of a request which were not read."""


class Messages(BaseModel):
    """What a client asked."""

    model_config = ConfigDict(extra="ignore")
    messages: Many[dict[str, Any]] = []


class Choices(BaseModel):
    """What a model answered."""

    model_config = ConfigDict(extra="allow")
    choices: list[dict[str, Any]] = Field(max_length=64)


class AskedRequest(BaseModel):
    """The body of `/request`."""

    model_config = ConfigDict(extra="ignore")
    body: Messages


class AskedResponse(BaseModel):
    """The body of `/response`."""

    model_config = ConfigDict(extra="allow")
    body: Choices

    def unread(self) -> list[str]:
        """The names of fields that are not judged."""
        return names_of([*(self.model_extra or ()), *(f"body.{name}" for name in self.body.model_extra or ())])


class Action(BaseModel):
    """Pass where there is no `body`; else the client gets that text with that status."""

    body: str | None = None
    status_code: int | None = None
    reason: str | None = None


class Said(BaseModel):
    """The answer of the webhook."""

    action: Action


def router(gate: Gate) -> APIRouter:
    """`POST /request` and `POST /response`."""
    routes = APIRouter(tags=["agentgateway"])
    shape: dict[str, Any] = {"response_model": Said, "response_model_exclude_none": True, "responses": answers_of(404)}

    @routes.post("/request", **shape)
    async def request(body: Annotated[AskedRequest, Body()], caller: CallerOf) -> Said:
        """Requests pass: only answers are judged."""
        return Said(action=Action())

    @routes.post("/response", **shape)
    async def response(body: Annotated[AskedResponse, Body()], caller: CallerOf, reply: Response,
                       user: UserHeader = None) -> Said:
        """Judge every choice, each with all its text as one answer, and all choices as one."""
        if unread := body.unread():
            reply.headers[UNREAD] = ", ".join(unread[:20])
        guard, request = gate.route(caller, None, None), uuid4().hex
        try:
            texts = ["\n\n".join(strings(choice)) for choice in body.body.choices]
        except MalformedError:
            raise RefusedError(422, "too_deep", "a message is nested too deeply to be judged") from None
        answers = [Answer(f"{request}-{number}", text)
                   for number, text in enumerate(and_together([text for text in texts if text.strip()]))]
        if not answers:
            return Said(action=Action())
        outcome = await gate.decide(caller, guard, answers, door="agentgateway", user=end_user(user))
        if outcome.action == "failed":
            raise not_judged(outcome.code)
        if outcome.action == "pass":
            return Said(action=Action())
        given = gate.settings.upstream
        return Said(action=Action(body=BLOCKED if given is None else given.blocked, status_code=403,
                                  reason=outcome.code))

    return routes

