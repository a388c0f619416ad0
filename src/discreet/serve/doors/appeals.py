"""`/v1/appeals`: a caller says that the flag of an answer is wrong, and a reviewer decides."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Depends, Request
from fastapi.responses import JSONResponse

from discreet.serve.doors.check import Checked, Judged, Name, answer_of, asked_for
from discreet.serve.doors.declared import WORDS_HEADER
from discreet.serve.doors.unread import refuse_unread
from discreet.serve.gate import Gate
from discreet.serve.keys import Caller
from discreet.serve.limits import Error, answers_of
from discreet.serve.roles import CallerOf


def router(gate: Gate) -> APIRouter:
    """`/v1/appeals` and `/v1/appeals/{guard}`."""
    routes = APIRouter(tags=["review"], dependencies=[Depends(refuse_unread(WORDS_HEADER, query=True))])
    statuses = {**answers_of(404), 503: {"model": Checked | Error, "description": "Not ready, or not judged."}}

    @routes.post("/v1/appeals", responses=statuses, response_model=Checked)
    async def appeals(body: Annotated[Judged, Body()], caller: CallerOf, request: Request) -> JSONResponse:
        """Say that the flag of an answer is wrong, as it was sent to `/v1/check`, by the guard of the key, of `model`,
        or the default. It is judged again; what is not safe waits for a reviewer, with a ticket of the key's own."""
        return await _appealed(gate, caller, body, None, request)

    @routes.post("/v1/appeals/{guard}", responses=statuses, response_model=Checked)
    async def appeals_by(guard: Name, body: Annotated[Judged, Body()], caller: CallerOf, request: Request
                         ) -> JSONResponse:
        """Say that the flag of an answer by a guard is wrong."""
        return await _appealed(gate, caller, body, guard, request)

    return routes


async def _appealed(gate: Gate, caller: Caller, body: Judged, path: str | None, asked_by: Request) -> JSONResponse:
    guard, request, answers = asked_for(gate, caller, body, path)
    outcome = await gate.appeal(caller, guard, answers, {"texts": [one.answer for one in answers]})
    if outcome.ticket is not None:
        await gate.told(outcome.ticket, gone=await asked_by.is_disconnected())
    return answer_of(request, guard, caller, outcome)
