"""`/v1/tickets`: a key's own tickets, and what became of one; `/v1/audit`: what was done to all, for operators."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query
from fastapi import Path as InPath
from fastapi.responses import Response
from pydantic import BaseModel

from discreet.core.files import dump_json
from discreet.serve.doors.unread import refuse_unread
from discreet.serve.gate import Gate
from discreet.serve.limits import answers_of
from discreet.serve.roles import CallerOf, OperatorOf

Status = Literal["pending", "released", "blocked", "expired"]


class Ticket(BaseModel):
    """A ticket of the caller's: `payload` is what it was opened with, or the edited text, once it is released."""

    id: str
    status: Status
    deadline: float
    payload: dict[str, Any] | None = None


class Listed(BaseModel):
    """A ticket in a list, without its payload. Times are in seconds since 1970."""

    id: str
    status: Status
    guard: str
    code: str
    opened: float
    deadline: float


class Tickets(BaseModel):
    """Tickets of a key, the newest first. Where there are more, `before` is the query of the next page."""

    tickets: list[Listed]
    before: float | None = None


def router(gate: Gate) -> APIRouter:
    """`/v1/tickets`, `/v1/tickets/{id}` and `/v1/audit`."""
    routes = APIRouter(tags=["review"], dependencies=[Depends(refuse_unread(query=True))])

    @routes.get("/v1/tickets", responses=answers_of(404), response_model=Tickets)
    async def tickets(caller: CallerOf, before: Annotated[float | None, Query(allow_inf_nan=False)] = None,
                      limit: Annotated[int, Query(ge=1, le=500)] = 100) -> Tickets:
        """The key's own tickets, the newest first; `before` is the `opened` of the last one that was read."""
        found = await gate.own_tickets(caller, before, limit)
        rows = [Listed(id=one.id, status=one.status, guard=one.guard, code=one.code, opened=one.opened,
                       deadline=one.deadline) for one in found]
        return Tickets(tickets=rows, before=rows[-1].opened if len(rows) == limit else None)

    @routes.get("/v1/tickets/{ticket}", responses=answers_of(404), response_model=Ticket)
    async def ticket(ticket: Annotated[str, InPath(max_length=100)], caller: CallerOf,
                     wait: Annotated[float, Query(ge=0, le=60)] = 0) -> Ticket:
        """A ticket of one's own; with `wait`, as soon as it is decided or that many seconds are over."""
        found = await gate.ticket(ticket, caller, wait)
        return Ticket(id=found.id, status=found.status, deadline=found.deadline, payload=found.payload)

    @routes.get("/v1/audit", responses={**answers_of(404), 200: {
        "content": {"application/x-ndjson": {"schema": {"type": "string"}}},
        "description": "Rows of the audit as JSON Lines."}},
        response_class=Response)
    async def audit(caller: OperatorOf, after: Annotated[int, Query(ge=0, le=2**53)] = 0,
                    limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000) -> Response:
        """The audit of the key's guards, the oldest first: the rows after the number `after`, without any text."""
        rows = await gate.audit(caller, after, limit)
        return Response("".join(dump_json(row) + "\n" for row in rows), media_type="application/x-ndjson")

    return routes
