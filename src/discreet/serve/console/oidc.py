"""Sign-in by an OpenID Connect provider, beside keys: authorisation code with PKCE, by Authlib.

A person is the provider's issuer and subject, known here by a hash of both; never an e-mail address. What they may do
are the values of one claim of the ID token, which the settings map to a role and guards. While somebody is at the
provider, state, nonce and verifier are in a signed cookie of ten minutes, which only the callback gets.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response

from discreet.core.errors import need
from discreet.serve.console.session import base_of
from discreet.serve.keys import EVERY, Caller

if TYPE_CHECKING:
    from discreet.serve.settings import Oidc

COOKIE = "discreet-oidc"
SECONDS = 600
"""How long somebody may be at the provider."""
FRESH_S = 3_600
"""Seconds for which what the provider says of itself, its keys too, is believed."""
TIMEOUT_S = 10
AWAY_S = 5
"""Seconds after which a provider that could not be reached is asked again, whoever wants to sign in meanwhile."""
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519")
"""Signatures of ID tokens: those with a key pair. Without a list of its own a provider's are RS256."""
PATH = "/oidc"
DONE = f"{PATH}/done"


class SignInError(Exception):
    """Somebody was not signed in. The message is a word for logs."""


@dataclass(frozen=True, slots=True)
class Person:
    """Who signed in: a name made of a hash, and those values of the claim that the settings know."""

    id: str
    groups: tuple[str, ...]


class Provider:
    """One provider.

    Parameters
    ----------
    settings : Oidc
        The provider, our client there, and what values of the claim mean.
    secret : bytes
        Signs the cookie of a sign-in; that of all processes of one service.
    transport : transport of httpx2, optional
        Takes the place of the network in tests.
    clock : callable
        Seconds since 1970.
    """

    def __init__(self, settings: Oidc, secret: bytes, *, transport: Any = None,
                 clock: Callable[[], float] = time.time) -> None:
        need("authlib", "oidc", "serve")
        self._settings, self._transport, self._clock = settings, transport, clock
        self._secret = hmac.new(secret, b"oidc sign-in", "sha256").digest()
        self._issuer = str(settings.issuer).rstrip("/")
        self._client: Any = None
        self._made = self._away_until = 0.0

    async def begin(self, request: Request, onward: str) -> Response:
        """To the provider; `onward` is the page to come back to. Raises SignInError where it cannot be reached."""
        client = await self._fresh()
        session: dict[str, Any] = {}
        request.scope["session"] = session
        response: Response = await client.authorize_redirect(request, self._address(request))
        response.set_cookie(COOKIE, self._sealed({**session, "onward": onward[:500]}), max_age=SECONDS, httponly=True,
                            samesite="lax", secure=self._is_secure(), path=base_of(request) + PATH)
        return response

    async def finish(self, request: Request) -> tuple[Person, str]:
        """Who comes back from the provider, and the page that they wanted. Raises SignInError."""
        from authlib.common.errors import AuthlibBaseError
        from joserfc.errors import JoseError

        session = self._opened(request.cookies.get(COOKIE, ""))
        request.scope["session"] = session
        client = await self._fresh()
        options = {"iss": {"essential": True, "values": [self._named]},
                   "aud": {"essential": True, "values": [self._settings.client_id]}}
        try:
            token = await client.authorize_access_token(request, claims_options=options)
        except (AuthlibBaseError, JoseError, ValueError, TypeError, KeyError):
            raise SignInError("refused") from None
        except Exception:
            raise SignInError("unreachable") from None
        claims = token.get("userinfo")
        if not claims or not isinstance(claims.get("sub"), str) or not claims["sub"]:
            raise SignInError("no_id_token")
        person = Person(self._name(claims["sub"]), self._groups(claims.get(self._settings.claim)))
        if self.caller(person.id, person.groups) is None:
            raise SignInError("no_role")
        return person, str(session.get("onward", ""))

    def forget(self, response: Response, request: Request) -> None:
        """Delete the cookie of a sign-in."""
        response.delete_cookie(COOKIE, path=base_of(request) + PATH, httponly=True, samesite="lax",
                               secure=self._is_secure())

    def caller(self, name: str, groups: Sequence[str]) -> Caller | None:
        """What somebody with these values may do by the settings of now: a reviewer's guards, else an operator's."""
        for role, known in (("reviewer", self._settings.reviewers), ("operator", self._settings.operators)):
            mine = [guard for group in groups if group in known for guard in known[group]]
            if mine:
                return Caller(name, role, None if EVERY in mine else tuple(dict.fromkeys(mine)))  # type: ignore[arg-type]
        return None

    async def _fresh(self) -> Any:
        """The client, with what the provider says of itself. Raises SignInError where that cannot be had."""
        from authlib.integrations.starlette_client import OAuth

        if self._clock() < self._away_until:
            raise SignInError("unreachable")
        if self._client is None or self._clock() >= self._made + FRESH_S:
            more = {} if self._transport is None else {"transport": self._transport}
            client = OAuth().register(
                "provider", client_id=self._settings.client_id,
                client_secret=self._settings.client_secret.get_secret_value(),
                server_metadata_url=f"{self._issuer}/.well-known/openid-configuration",
                client_kwargs={"scope": self._settings.scope, "code_challenge_method": "S256", "timeout": TIMEOUT_S,
                               "trust_env": False, **more})
            try:
                said = await client.load_server_metadata()
                signs = said.get("id_token_signing_alg_values_supported") or ["RS256"]
                self._named = said["issuer"]
                if self._named.rstrip("/") != self._issuer:
                    raise SignInError("other_issuer")
                said["id_token_signing_alg_values_supported"] = [one for one in ALGORITHMS if one in signs]
            except SignInError:
                raise
            except Exception:
                self._away_until = self._clock() + AWAY_S
                raise SignInError("unreachable") from None
            self._client, self._made = client, self._clock()
        return self._client

    def _name(self, subject: str) -> str:
        return "oidc:" + hashlib.sha256(f"{self._issuer} {subject}".encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def _groups(self, given: Any) -> tuple[str, ...]:
        values = [given] if isinstance(given, str) else given if isinstance(given, list) else []
        known = {**self._settings.reviewers, **self._settings.operators}
        return tuple(one for one in values if isinstance(one, str) and one in known)

    def _address(self, request: Request) -> str:
        """Where the provider sends people back: by the settings, never by what a request says of its host."""
        return f"{str(self._settings.public_url).rstrip('/')}{base_of(request)}{DONE}"

    def _is_secure(self) -> bool:
        return self._settings.public_url.scheme == "https"

    def _sealed(self, session: Mapping[str, Any]) -> str:
        said = base64.urlsafe_b64encode(json.dumps({**session, "until": self._clock() + SECONDS}).encode()).decode()
        return f"{said}.{self._mac(said)}"

    def _opened(self, cookie: str) -> dict[str, Any]:
        said, _, mac = cookie.partition(".")
        if not hmac.compare_digest(mac.encode("utf-8", "replace"), self._mac(said).encode()):
            raise SignInError("no_cookie")
        try:
            found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(said))
        except (ValueError, binascii.Error):
            raise SignInError("no_cookie") from None
        if found.pop("until") <= self._clock():
            raise SignInError("late")
        return found

    def _mac(self, said: str) -> str:
        return hmac.new(self._secret, said.encode("utf-8", "replace"), "sha256").hexdigest()
