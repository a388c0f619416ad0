"""Who comes in and goes out: by a key, or by the provider of the settings; logged, and slowed where keys are wrong."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from typing import Protocol as Shape

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from discreet.core.errors import InputError
from discreet.serve.console.oidc import DONE, PATH, Provider, SignInError
from discreet.serve.console.session import HOURS, Attempts, Session, Sessions, base_of
from discreet.serve.keys import LOCAL, Caller, Keyring
from discreet.serve.queue.tables import Database

Note = Callable[[str, Mapping[str, Any]], None]
SAID = {"unreachable": "The provider cannot be reached. Try again in a moment; if it lasts, tell your operator.",
        "other_issuer": "The provider is not the one of the settings; tell your operator.",
        "no_role": "Nothing that the provider says of you is known here: ask your operator for a role.",
        "late": "You were at the provider for too long. Try again."}
"""Why the provider's sign-in failed, for who tried."""
NOT_ACCEPTED = "The provider's answer was not accepted. Try again."


class Pages(Shape):
    """What makes the pages."""

    def html(self, request: Request, session: Session | None, template: str, status: int = 200,
             **facts: Any) -> Response:
        """A page of a template."""

    def message(self, request: Request, session: Session | None, status: int, title: str, text: str) -> Response:
        """A page that says one thing."""

    async def said(self, working: Awaitable[Response], request: Request) -> Response:
        """An answer, or a page that says that the queue cannot be reached."""


class SignIn:
    """Sign-in and sign-out.

    `pages` makes the pages, `keyring` is None where the service asks for no key, `provider` where there is none.
    """

    def __init__(self, pages: Pages, database: Database, keyring: Keyring | None, provider: Provider | None,
                 note: Note, clock: Callable[[], float]) -> None:
        self._pages, self._keyring, self._provider, self._note = pages, keyring, provider, note
        self.sessions, self._attempts = Sessions(database, self._known, clock), Attempts(clock)

    def routes(self) -> list[Route]:
        """The form, and the two addresses of the provider's sign-in."""
        found = [Route("/sign-in", self._sign_in, methods=["GET", "POST"])]
        if self._provider is not None:
            found += [Route(PATH, self._to_provider), Route(DONE, self._from_provider)]
        return found

    def _known(self, name: str, token: str, groups: Sequence[str] | None) -> Caller | None:
        if groups is not None:
            return None if self._provider is None else self._provider.caller(name, groups)
        if self._keyring is None:
            return LOCAL if name == LOCAL.id else None
        try:
            return self._keyring.signed_in(name, token)
        except InputError:  # A file of keys that cannot be read lets nobody in.
            return None

    async def _sign_in(self, request: Request) -> Response:
        """The form, and what it sends: a key is compared with the keyring and goes nowhere else."""
        if self._keyring is None:
            return await self._pages.said(self._signed_in(
                request, LOCAL, "none", request.query_params.get("next", "")), request)
        if request.method == "POST":
            return await self._pages.said(self._key_sent(request), request)
        return self._page(request, request.query_params.get("next", ""))

    async def _key_sent(self, request: Request) -> Response:
        if request.headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return self._pages.message(request, None, 403, "Sent from another site", "Sign in on the console's own "
                                       "page.")
        if (slowed := self._slowed(request)) is not None:
            return slowed
        form = await request.form(max_files=0, max_fields=4)
        onward = str(form.get("next", ""))
        try:
            assert self._keyring is not None
            caller = await run_in_threadpool(self._keyring.caller, str(form.get("key", "")).strip())
        except InputError:
            self._attempts.right(address_of(request))
            return self._page(request, onward, "The file of keys cannot be read; tell your operator.")
        if caller is not None and caller.role != "caller":
            self._attempts.right(address_of(request))
            return await self._signed_in(request, caller, "key", onward)
        self._failed(request, "unknown" if caller is None else "role")
        return self._page(request, onward, "This key is not known." if caller is None else "This key is for an "
                          "application; expected one of the role reviewer or operator.")

    async def _to_provider(self, request: Request) -> Response:
        assert self._provider is not None
        onward = request.query_params.get("next", "")
        try:
            return await self._provider.begin(request, onward)
        except SignInError as error:
            self._failed(request, str(error))
            return self._page(request, onward, SAID.get(str(error), SAID["unreachable"]))

    async def _from_provider(self, request: Request) -> Response:
        return await self._pages.said(self._come_back(request), request)

    async def _come_back(self, request: Request) -> Response:
        """Who comes from the provider. The session's cookie is not sent on a way that began at another site, so that a
        page of ours leads on."""
        assert self._provider is not None
        if (slowed := self._slowed(request)) is not None:
            return slowed
        try:
            person, onward = await self._provider.finish(request)
        except SignInError as error:
            self._failed(request, str(error))
            response = self._page(request, "", SAID.get(str(error), NOT_ACCEPTED))
            self._provider.forget(response, request)
            return response
        self._attempts.right(address_of(request))
        caller = self._provider.caller(person.id, person.groups)
        assert caller is not None
        link = within(request, onward)
        page = self._pages.html(request, None, "message", title="You are signed in", text="The console opens.",
                                link=link)
        page.headers["Refresh"] = f"0; url={link}"
        await run_in_threadpool(self.sessions.open, page, request, caller, person.groups)
        self._provider.forget(page, request)
        self._note("sign_in", {"address": address_of(request), "caller": caller.id, "role": caller.role,
                               "method": "oidc"})
        return page

    def _slowed(self, request: Request) -> Response | None:
        address = address_of(request)
        if not (wait := self._attempts.tried(address)):
            return None
        self._note("sign_in_slowed", {"address": address})
        page = self._pages.message(request, None, 429, "Too many wrong keys", f"Try again in {wait} s.")
        page.headers["Retry-After"] = str(wait)
        return page

    def _failed(self, request: Request, reason: str) -> None:
        self._note("sign_in_failed", {"address": address_of(request), "reason": reason})

    def _page(self, request: Request, onward: str, wrong: str = "") -> Response:
        return self._pages.html(request, None, "sign_in", 401 if wrong else 200, wrong=wrong, hours=HOURS,
                                next=within(request, onward), provider=None if self._provider is None else PATH,
                                elsewhere=request.headers.get("sec-fetch-site") == "cross-site")

    async def _signed_in(self, request: Request, caller: Caller, method: str, onward: str = "") -> Response:
        response = RedirectResponse(within(request, onward), 303)
        await run_in_threadpool(self.sessions.open, response, request, caller)
        self._note("sign_in", {"address": address_of(request), "caller": caller.id, "role": caller.role,
                               "method": method})
        return response

    async def sign_out(self, request: Request, session: Session, form: FormData) -> Response:
        """End the session, for every copy of its cookie."""
        response = RedirectResponse(f"{base_of(request)}/sign-in", 303)
        await run_in_threadpool(self.sessions.close, response, request)
        self._note("sign_out", {"address": address_of(request), "caller": session.caller.id})
        return response


def address_of(request: Request) -> str:
    """Where a request came from."""
    return "" if request.client is None else request.client.host


def within(request: Request, address: str) -> str:
    """`address` where it is one of the console's own pages, else the queue."""
    base = base_of(request)
    own = address.startswith(f"{base}/") and "//" not in address and "\\" not in address
    return address if own else f"{base}/queue"
