"""`/v1/reviews`: what reviewers do in the console, as JSON: list held tickets, read one, decide, undo, give it back.

For keys of the role reviewer. A cookie of the console opens nothing here, so that no page of another site can decide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Body, Depends, Query, Response
from fastapi import Path as InPath
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from discreet.core.errors import ConflictError, NotFoundError, UsageError
from discreet.core.files import clean
from discreet.core.records import Code
from discreet.serve.doors.unread import refuse_unread
from discreet.serve.gate import Gate
from discreet.serve.keys import Caller
from discreet.serve.limits import ErrorDetail, Fields, Many, RefusedError, answers_of
from discreet.serve.queue.records import TicketRow
from discreet.serve.reviewing import EditRefused, Reviewing
from discreet.serve.roles import ReviewerOf

T = TypeVar("T")
Action = Literal["release", "release_edited", "block"]
Ticket = Annotated[str, InPath(max_length=100)]
NO_STORE = {"Cache-Control": "no-store"}


class Held(BaseModel):
    """A ticket without text. Times are in seconds since 1970. `free` says whether this key may read it now; of a blind
    re-check nothing says what was decided first."""

    id: str
    status: Literal["pending", "decided", "released", "blocked", "expired", "recheck"]
    version: int = Field(description="Every decision names the version that it is about.")
    guard: str
    code: Code
    policy: str
    caller: str = Field(description="The name of the key that asked.")
    opened: float
    deadline: float = Field(description="Then it expires: it is blocked and erased.")
    appeal: bool = Field(description="The caller says that the flag is wrong.")
    reserved_by: str | None
    reserved_until: float | None
    first_by: str | None = Field(description="Who proposed to release it, where a release takes two.")
    free: bool


class Reviews(BaseModel):
    """Tickets by deadline, the nearest first."""

    tickets: list[Held]


class Allowed(BaseModel):
    """Something that this key may do with the ticket now, and the reasons that it takes; none for the others."""

    action: Literal["release", "release_edited", "block", "reserve", "leave", "undo"]
    reasons: list[str]


class Review(Held):
    """A ticket as a reviewer reads it: spans of `findings` are of the text of the number `answer`."""

    texts: list[str]
    question: str | None
    heading: str = Field(description="Why it waits, for who decides about it.")
    reason: str | None = Field(description="Why the guard holds it, in its own words: rules and counts.")
    people: dict[str, Any] | None = Field(description="How many people fit, where the guard counts them.")
    findings: list[dict[str, Any]]
    edited: list[str] | None = Field(description="What a first reviewer proposes to release instead.")
    actions: list[Allowed]


class Version(Fields):
    """The version of the ticket that was read."""

    model_config = ConfigDict(strict=True)
    version: int = Field(ge=1, le=2**31)


class Decide(Version):
    """A decision. To say that a flag was wrong is to release the ticket."""

    action: Action
    reason: str = Field(max_length=60, description="One of those that `actions` of the ticket lists.")
    texts: Many[str] | None = Field(None, description="With release_edited: a text for each.")
    confirm: str | None = Field(None, max_length=64, description="What came with 422 and privacy/undecided for exactly "
                                                                 "these texts: they have been read and may leave.")


class Done(BaseModel):
    """What became of a ticket. A decision can be undone until `final_at`; a first release of two is a proposal, and the
    ticket stays pending."""

    id: str
    status: Literal["pending", "decided", "released", "blocked", "expired", "recheck"]
    version: int
    final_at: float | None


class NotWritten(BaseModel):
    """Nothing was written. Where the guard refuses an edited text: `findings` in it, and where it cannot decide what
    `confirm` of the next request must be."""

    error: ErrorDetail
    confirm: str | None = None
    findings: list[dict[str, Any]] | None = None


def router(gate: Gate, reviewing: Reviewing | None) -> APIRouter:
    """`/v1/reviews` and below; 404 without a queue."""
    routes = APIRouter(tags=["review"], dependencies=[Depends(refuse_unread(query=True))])
    statuses = answers_of(404, 409)
    at = "/v1/reviews/{ticket}"

    async def run(operation: str, work: Callable[[Reviewing], T]) -> T:
        by = _there(reviewing)
        try:
            return await by.queue.aside(work, by)
        except Exception as error:
            raise _refusal(gate, operation, error) from None

    @routes.get("/v1/reviews", responses=answers_of(404), response_model=Reviews)
    async def reviews(caller: ReviewerOf, kind: Annotated[Literal["pending", "recheck"], Query()] = "pending",
                      guard: Annotated[str | None, Query(max_length=100)] = None,
                      limit: Annotated[int, Query(ge=1, le=500)] = 100) -> Reviews:
        """Tickets of the key's guards that wait for a decision, or for a blind second one (`kind=recheck`)."""
        def listed(by: Reviewing) -> list[Held]:
            rows = [one for one in by.tickets(caller, kind) if guard in (None, one.guard)]
            return [Held(**_held(by, one, caller)) for one in rows[:limit]]

        return Reviews(tickets=await run("list", listed))

    @routes.get(at, responses=statuses, response_model=Review)
    async def review(ticket: Ticket, caller: ReviewerOf, response: Response) -> Review:
        """Reserve a ticket and read it, as opening it in the console does; the audit notes it. Reading it again
        prolongs the reservation. 409 where somebody else has it, or it is decided or over."""
        response.headers.update(NO_STORE)
        return await run("read", lambda by: _read(by, ticket, caller))

    @routes.post(at + "/decide", responses={**statuses, 422: {
        "model": NotWritten, "description": "A field is missing or of another type, or the guard refuses an edited "
                                         "text."}}, response_model=Done)
    async def decide(ticket: Ticket, body: Annotated[Decide, Body()], caller: ReviewerOf) -> Done | JSONResponse:
        """Decide about the version of a ticket that was read. An edited text is judged first."""
        by = _there(reviewing)
        texts = None if body.texts is None else [clean(one) for one in body.texts]
        try:
            refused = await by.decide(ticket, caller, action=body.action, code=body.reason, version=body.version,
                                      texts=texts, confirmed=body.confirm or "")
        except Exception as error:
            raise _refusal(gate, "decide", error) from None
        if refused is not None:
            return JSONResponse(_refused(refused), 422)
        return await run("decide", lambda by: _done(by, ticket, caller))

    @routes.post(at + "/undo", responses=statuses, response_model=Done)
    async def undo(ticket: Ticket, body: Annotated[Version, Body()], caller: ReviewerOf) -> Done:
        """Undo one's decision, or one's proposal of a release, before it takes effect."""
        return await run("undo", lambda by: _changed(by, by.queue.undo, ticket, caller, body))

    @routes.post(at + "/leave", responses=statuses, response_model=Done)
    async def leave(ticket: Ticket, body: Annotated[Version, Body()], caller: ReviewerOf) -> Done:
        """Give back a ticket that one has reserved."""
        return await run("leave", lambda by: _changed(by, by.queue.leave, ticket, caller, body))

    return routes


def _there(reviewing: Reviewing | None) -> Reviewing:
    if reviewing is None:
        raise RefusedError(404, "no_queue", "there is no review queue here; see docs/serve.md")
    return reviewing


def _refusal(gate: Gate, operation: str, error: Exception) -> RefusedError:
    """A mistake as the answer says it: messages of the queue name tickets and versions, and no text."""
    if isinstance(error, NotFoundError):
        return RefusedError(404, "unknown_ticket", "there is no such ticket of this key's guards")
    if isinstance(error, ConflictError):
        return RefusedError(409, "conflict", str(error))
    if isinstance(error, UsageError):
        return RefusedError(422, "invalid", str(error))
    gate.queue_failed(operation, error)
    return RefusedError(503, "queue", "the review queue cannot be reached; come again", {"Retry-After": "5"})


def _held(by: Reviewing, row: TicketRow, caller: Caller) -> dict[str, Any]:
    return {name: getattr(row, name) for name in Held.model_fields if name != "free"} | {
        "free": by.is_free(row, caller)}


def _read(by: Reviewing, ticket: str, caller: Caller) -> Review:
    from discreet.serve.console.pages import heading  # Where there is a queue, there is the console.

    mine = by.own(ticket, caller)
    if mine["status"] == "pending" and mine["reserved_by"] == caller.id:
        by.queue.heartbeat(ticket, caller.id, mine["version"])
    view = by.read(ticket, caller)
    if view is None:
        row = by.own(ticket, caller)
        raise ConflictError(f"ticket {row['id']} is {row['status']} and not for this reviewer to read now: reserved, "
                            "decided, over, or another person's turn; choose another one")
    return Review(**_held(by, view.row, caller), texts=list(view.texts), question=view.question,
                  heading=heading(view.row.code, view.verdict), reason=view.verdict.get("reason"),
                  people=view.verdict.get("people"), findings=[dict(one) for one in view.findings],
                  edited=None if view.edited is None else list(view.edited),
                  actions=[Allowed(action=one.action, reasons=list(one.codes)) for one in view.actions])


def _changed(by: Reviewing, change: Callable[[str, str, int], int], ticket: str, caller: Caller, body: Version
             ) -> Done:
    by.own(ticket, caller)
    change(ticket, caller.id, body.version)
    return _done(by, ticket, caller)


def _done(by: Reviewing, ticket: str, caller: Caller) -> Done:
    row = by.own(ticket, caller)
    return Done(id=row["id"], status=row["status"], version=row["version"], final_at=row["final_at"])


def _refused(refused: EditRefused) -> dict[str, Any]:
    """Why an edited text was not written, without the text."""
    said = ("the guard cannot decide on the edited text; read it again, and send confirm with it, or edit it"
            if refused.digest else "the guard does not let the edited text pass; edit it again, or block")
    return {**RefusedError(422, refused.code, said).body(), "confirm": refused.digest or None, "findings": [
        {"answer": place, **asdict(one)} for place, judgement in enumerate(refused.judgements)
        for one in judgement.findings]}
