"""The console in the browser: pages that the server renders, and forms; an application of its own below `/console`.

A reviewer opens a ticket, which reserves it, reads it, and decides; an operator reads statistics and the audit. No page
but an open ticket holds text, and the browser keeps none. Every call of the queue runs in a thread.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from hmac import compare_digest
from importlib.resources import files
from typing import Any, TypeAlias
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from discreet.core.errors import ConflictError, NotFoundError, UnavailableError
from discreet.report.figure import css
from discreet.serve.console.oidc import Provider
from discreet.serve.console.pages import render
from discreet.serve.console.review import Review, Told, number_of
from discreet.serve.console.session import Guarded, Session, base_of
from discreet.serve.console.sign_in import Note, SignIn
from discreet.serve.console.statistics import audit_rows, observing, reviewing
from discreet.serve.keys import LOCAL, Keyring
from discreet.serve.limits import RefusedError
from discreet.serve.queue.tickets import Queue
from discreet.serve.reviewing import Judge, Reviewing
from discreet.serve.shadow import Summary

Handler: TypeAlias = Callable[..., Awaitable[Response]]

REFRESH_S = 10
"""Seconds after which the list of the queue looks again."""
SHOWN = 50
"""Tickets, or rows of the audit, on one page."""
DAYS = 30
"""Days that statistics look back."""
PAGES = (("queue", "Queue", ("reviewer", "operator")), ("statistics", "Statistics", ("reviewer", "operator")),
         ("observed", "Observed", ("reviewer", "operator")), ("audit", "Audit", ("operator",)))
NOTICES = {"reservation": "Your reservation ended, because nothing happened on the page. The ticket is free again.",
           "left": "The ticket is free again."}
"""What the list says of the page that led to it, by the word in its address."""


class Console:
    """The pages over one queue.

    Parameters
    ----------
    queue : Queue
    keyring : Keyring or None
        Whose keys sign in; None where the service asks for none, on the loopback.
    provider : Provider or None
        Whose people sign in too.
    judge : callable
        Judges an edited text, by the name of a guard, before it may leave.
    load : callable
        Rows `{guard, point, judged, undecided, share, expected}` that compare the share of undecided answers with the
        one that was measured on ordinary answers; may be none.
    observed : callable
        What guards that observe would withhold if they enforced, as counted since the start.
    note : callable
        Writes an event and its facts into the log: who signed in and out, and who tried.
    clock : callable
        Seconds since 1970.
    """

    def __init__(self, queue: Queue, keyring: Keyring | None, judge: Judge, *, provider: Provider | None = None,
                 load: Callable[[], Sequence[Mapping[str, Any]]] = tuple,
                 observed: Callable[[], Summary] = lambda: Summary({}, {}, {}, ()),
                 note: Note = lambda event, facts: None,
                 clock: Callable[[], float] = time.time) -> None:
        self._queue, self._load, self._observed, self._clock = queue, load, observed, clock
        self._signing = SignIn(self, queue.database, keyring, provider, note, clock)
        self._review = Review(Reviewing(queue, judge, clock))

    def app(self) -> ASGIApp:
        """The application to mount, at any path."""
        review, both = ("reviewer",), ("reviewer", "operator")
        static = StaticFiles(directory=str(files("discreet.serve.console") / "static"))
        return Guarded(Starlette(exception_handlers={RefusedError: _refused, 404: self._nowhere}, routes=[
            Route("/", self._home), *self._signing.routes(),
            Route("/static/house.css", self._house_css), Mount("/static", static),
            self._page("/sign-out", self._signing.sign_out, both, form=True),
            self._page("/queue", self._list, both), self._page("/next", self._next, review),
            self._page("/tickets/{ticket}", self._ticket, review),
            self._page("/tickets/{ticket}/decide", self._decide, review, form=True),
            self._page("/tickets/{ticket}/undo", self._undo, review, form=True),
            self._page("/tickets/{ticket}/leave", self._leave, review, form=True),
            self._page("/tickets/{ticket}/heartbeat", self._heartbeat, review, form=True),
            self._page("/statistics", self._statistics, both), self._page("/observed", self._observing, both),
            self._page("/audit", self._audit, ("operator",)),
        ]))

    # Who is signed in

    def _page(self, path: str, handler: Handler, roles: Sequence[str], *, form: bool = False) -> Route:
        """A page for who is signed in with one of `roles`; or what a `form` sends, with the token of the session."""
        async def endpoint(request: Request) -> Response:
            return await self.said(serve(request), request)

        async def serve(request: Request) -> Response:
            session = await run_in_threadpool(self._signing.sessions.read, request)
            if session is None:
                return self._to_sign_in(request)
            sent = [await request.form(max_files=0, max_fields=300)] if form else []
            if any(not compare_digest(str(one.get("token", "")).encode(), session.token.encode()) for one in sent):
                return self.message(request, session, 403, "This form is not of your session",
                                     "Nothing was done. Load the page again and repeat it.")
            refused = self._refusal(request, session, roles)
            return refused or await self._found(handler(request, session, *sent), request, session)

        return Route(path, endpoint, methods=["POST"] if form else None)

    async def _found(self, working: Awaitable[Response], request: Request, session: Session) -> Response:
        """An answer, or a page that says that there is no such ticket."""
        try:
            return await working
        except NotFoundError:
            return self.message(request, session, 404, "There is no such ticket", "Its address is not one of this "
                                 "queue, or it is another guard's.")

    async def said(self, working: Awaitable[Response], request: Request) -> Response:
        """An answer, or a page that says that the queue cannot be reached."""
        try:
            return await working
        except UnavailableError:
            return self.message(request, None, 503, "The queue cannot be reached", "Nothing was changed. Try again "
                                 "in a moment; if it lasts, tell your operator.")

    def _refusal(self, request: Request, session: Session, roles: Sequence[str]) -> Response | None:
        if session.caller == LOCAL or session.caller.role in roles:
            return None
        return self.message(request, session, 403, "Not with this key", f"This is for the role {' or '.join(roles)}; "
                             f"the key {session.caller.id} has the role {session.caller.role}.")

    def _to_sign_in(self, request: Request) -> Response:
        if "x-console" in request.headers:
            return Response(status_code=401)
        query = {"next": request.url.path} if request.method == "GET" else {}
        return RedirectResponse(f"{base_of(request)}/sign-in?{urlencode(query)}", 303)

    # The queue

    async def _list(self, request: Request, session: Session) -> Response:
        """Tickets by deadline; the list alone for the script, which looks again."""
        asked = {name: request.query_params.get(name, "") for name in ("guard", "code", "kind")}
        listing = await run_in_threadpool(self._review.listing, session.caller, asked)

        def link(**change: str) -> str:
            kept = {name: value for name, value in {**asked, **change}.items() if value}
            return f"{base_of(request)}/queue" + ("?" + urlencode(kept) if kept else "")

        chips = [(name, asked[name], [("", "all" if name != "kind" else "to decide", None, link(**{name: ""})),
                                      *((value, label, n, link(**{name: value})) for value, label, n in choices)])
                 for name, choices in listing.choices.items()]
        start = max(0, number_of(request.query_params.get("from", "")))
        rows = listing.rows[start:start + SHOWN]
        return self.html(
            request, session, "queue_list" if "x-console" in request.headers else "queue",
            undo=await self._undoable(request, session), notice=_notice(request), page="queue", listing=listing,
            rows=rows, chips=chips, opens=session.caller == LOCAL or session.caller.role == "reviewer",
            load=await run_in_threadpool(self._load), refresh_s=REFRESH_S,
            more=link(**{"from": str(start + SHOWN)}) if len(listing.rows) > start + SHOWN else None)

    async def _next(self, request: Request, session: Session) -> Response:
        """To the ticket with the next deadline that this reviewer may take; to the list where there is none."""
        listing = await run_in_threadpool(self._review.listing, session.caller, {})
        free = next((row.id for row in listing.rows if row.free), None)
        query = {name: value for name, value in request.query_params.items() if name in ("decided", "said")}
        return RedirectResponse(f"{base_of(request)}/{f'tickets/{free}' if free else 'queue'}?{urlencode(query)}", 303)

    async def _undoable(self, request: Request, session: Session) -> Mapping[str, Any] | None:
        """The decision that the address names, while its maker may undo it."""
        decided = request.query_params.get("decided")
        if decided is None or "x-console" in request.headers:
            return None
        try:
            return await run_in_threadpool(self._review.undoable, decided, session.caller)
        except NotFoundError:
            return None

    # One ticket

    async def _ticket(self, request: Request, session: Session) -> Response:
        """Reserve a ticket and show it; what somebody else has, or what is over, without its text."""
        if "prefetch" in request.headers.get("sec-purpose", ""):
            return Response(status_code=503)
        return await self._show(request, session)

    async def _show(self, request: Request, session: Session, told: Told | None = None) -> Response:
        shown = await run_in_threadpool(self._review.show, request.path_params["ticket"], session.caller, told)
        notice = {"kind": "refused", "text": told.notice} if told is not None and told.notice else _notice(request)
        return self.html(request, session, "ticket", shown.status, page="", notice=notice,
                          undo=await self._undoable(request, session), told=told, shown=shown,
                          beat_s=min(60.0, self._queue.reserve_s / 4))

    async def _decide(self, request: Request, session: Session, form: FormData) -> Response:
        told = await self._review.decide(request.path_params["ticket"], session.caller, form)
        if told is not None:
            return await self._show(request, session, told)
        query = urlencode({"decided": request.path_params["ticket"]})
        return RedirectResponse(f"{base_of(request)}/next?{query}", 303)

    async def _undo(self, request: Request, session: Session, form: FormData) -> Response:
        return await self._write(request, session, form, self._queue.undo, f"tickets/{request.path_params['ticket']}")

    async def _leave(self, request: Request, session: Session, form: FormData) -> Response:
        return await self._write(request, session, form, self._queue.leave, "queue?said=left")

    async def _write(self, request: Request, session: Session, form: FormData, change: Callable[[str, str, int], int],
                     onward: str) -> Response:
        """One change of the queue; on a conflict, what happened, and the ticket as it is."""
        ticket = request.path_params["ticket"]
        await run_in_threadpool(self._review.own, ticket, session.caller)
        try:
            await run_in_threadpool(change, ticket, session.caller.id, number_of(str(form.get("version", ""))))
        except ConflictError:
            return await self._show(request, session, await run_in_threadpool(self._review.conflict, ticket))
        return RedirectResponse(f"{base_of(request)}/{onward}", 303)

    async def _heartbeat(self, request: Request, session: Session, form: FormData) -> Response:
        """Prolong the reservation of an open page; JSON for its script."""
        version = number_of(str(form.get("version", "")))
        try:
            until = await run_in_threadpool(self._queue.heartbeat, request.path_params["ticket"], session.caller.id,
                                            version)
        except ConflictError:
            return Response(status_code=409)
        return JSONResponse({"until": until})

    # What was decided

    async def _statistics(self, request: Request, session: Session) -> Response:
        found = await run_in_threadpool(reviewing, self._queue.database, self._clock() - DAYS * 86_400,
                                        session.caller.guards)
        return self.html(request, session, "statistics", page="statistics", found=found, days=DAYS)

    async def _observing(self, request: Request, session: Session) -> Response:
        found = observing(await run_in_threadpool(self._observed), session.caller.may_use)
        return self.html(request, session, "observed", page="observed", found=found)

    async def _audit(self, request: Request, session: Session) -> Response:
        ticket = request.query_params.get("ticket", "").strip()
        before = number_of(request.query_params.get("before", ""))
        rows = await run_in_threadpool(audit_rows, self._queue.database, ticket or None, session.caller.guards,
                                       before if before > 0 else None, SHOWN + 1)
        more = None
        if len(rows) > SHOWN:
            query = {"before": rows[SHOWN - 1]["seq"]} | ({"ticket": ticket} if ticket else {})
            more = f"{base_of(request)}/audit?{urlencode(query)}"
        return self.html(request, session, "audit", page="audit", ticket=ticket, rows=rows[:SHOWN], more=more)

    # How pages are made

    def html(self, request: Request, session: Session | None, template: str, status: int = 200,
              **facts: Any) -> Response:
        """A page of a template, with what every page needs."""
        given = {"page": "", "undo": None, "notice": None, "link": None, **facts}
        return HTMLResponse(render(f"{template}.html.j2", base=base_of(request), now=self._clock(), session=session,
                                   pages=PAGES, **given), status)

    def message(self, request: Request, session: Session | None, status: int, title: str, text: str,
                link: str | None = None) -> Response:
        """A page that says one thing, and may lead on."""
        return self.html(request, session, "message", status, title=title, text=text, link=link)

    async def _nowhere(self, request: Request, error: Exception) -> Response:
        return self.message(request, None, 404, "There is no such page", "The console begins at "
                            f"{base_of(request)}/queue.", link=f"{base_of(request)}/queue")

    async def _home(self, request: Request) -> Response:
        return RedirectResponse(f"{base_of(request)}/queue", 303)

    async def _house_css(self, request: Request) -> Response:
        return Response(css("style") + css("page"), media_type="text/css", headers={"Cache-Control": "no-cache"})


def _refused(request: Request, error: Exception) -> Response:
    """A body over the service's limits, to which the service answers itself."""
    return Response(status_code=error.status if isinstance(error, RefusedError) else 400)


def _notice(request: Request) -> Mapping[str, str] | None:
    said = NOTICES.get(request.query_params.get("said", ""))
    return {"kind": "told", "text": said} if said else None

