"""LiteLLM's Generic Guardrail API: its proxy sends texts, and passes them on or raises. Reason codes only.

What a model answers is judged; requests pass, because only answers are judged. 503 where an answer could not be
judged: LiteLLM counts that as unreachable and does what `unreachable_fallback` says.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Body
from pydantic import BaseModel, ConfigDict, Field

from discreet.data.messages import TooDeepError, asked_of
from discreet.serve.doors.chat import MalformedError, strings
from discreet.serve.doors.declared import Declaration, UserHeader, asked, end_user
from discreet.serve.gate import Gate, not_judged
from discreet.serve.keys import CallerOf
from discreet.serve.limits import RefusedError, answers_of

PATH = "/beta/litellm_basic_guardrail_api"


class Settings(BaseModel):
    """`additional_provider_specific_params` of LiteLLM's configuration."""

    model_config = ConfigDict(extra="ignore")
    guard: str | None = Field(default=None, max_length=100, description="Which guard judges.")
    review: bool = Field(default=False, description="Open a ticket where the guard is undecided; the code is followed "
                                                    "by its id.")


class Asked(BaseModel):
    """What LiteLLM sends; of the rest nothing is read."""

    model_config = ConfigDict(extra="ignore")
    input_type: Literal["request", "response"]
    texts: list[str] | None = None
    images: list[Any] | None = None
    tool_calls: list[Any] | None = None
    structured_messages: list[dict[str, Any]] | None = None
    request_data: dict[str, Any] | None = None
    model: str | None = Field(None, max_length=200)
    additional_provider_specific_params: Settings | None = None


class Said(BaseModel):
    """NONE passes the texts as they are; BLOCKED makes LiteLLM raise, with the reason code in its log."""

    action: Literal["NONE", "BLOCKED"]
    blocked_reason: str | None = None
    texts: list[str] | None = None


def router(gate: Gate) -> APIRouter:
    """`POST /beta/litellm_basic_guardrail_api`."""
    routes = APIRouter(tags=["litellm"])

    @routes.post(PATH, responses=answers_of(404), response_model=Said, response_model_exclude_none=True)
    async def guardrail(body: Annotated[Asked, Body()], caller: CallerOf, user: UserHeader = None) -> Said:
        """Judge what a model answered: texts and the arguments of its tool calls, as one answer."""
        params = body.additional_provider_specific_params or Settings()
        guard = gate.route(caller, body.model, params.guard)
        texts = body.texts or []
        if body.input_type == "request":
            return Said(action="NONE", texts=texts)
        if body.images and gate.settings.mode_of(guard) == "enforce":
            raise RefusedError(503, "privacy/not_judged", "images came with the answer, which are not judged")
        try:
            parts = [*texts, *strings(body.tool_calls or [])]
        except MalformedError:
            raise RefusedError(503, "privacy/not_judged", "a tool call is nested too deeply to be judged") from None
        if not any(part.strip() for part in parts):
            return Said(action="NONE", texts=texts)
        try:
            given = asked(caller, Declaration(), *asked_of(body.structured_messages or []))
        except TooDeepError:
            raise RefusedError(503, "privacy/not_judged", "a message is nested too deeply to be read") from None
        whose = end_user(user, (body.request_data or {}).get("user_api_key_end_user_id") or None)
        outcome = await gate.decide(caller, guard, [replace(given, id=uuid4().hex, answer="\n\n".join(parts))],
                                    payload={"texts": texts} if params.review else None, door="litellm", user=whose)
        if outcome.action == "failed":
            raise not_judged(outcome.code)
        if outcome.action == "pass":
            return Said(action="NONE", texts=texts)
        return Said(action="BLOCKED", blocked_reason=outcome.code + (
            f" ticket {outcome.ticket}" if outcome.ticket else ""))

    return routes
