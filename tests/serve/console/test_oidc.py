"""Sign-in by a provider of OpenID Connect, against one that runs here."""

from __future__ import annotations

import base64
import hashlib
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from joserfc import jwk, jwt
from joserfc.jws import JWSRegistry
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from tests.serve.console.conftest import PART, Desk, Person

from discreet.core.errors import UsageError
from discreet.guard import Guard
from discreet.serve.console.oidc import Provider
from discreet.serve.console.routes import Console
from discreet.serve.keys import Keyring
from discreet.serve.settings import Oidc, Settings

ISSUER, CONSOLE = "https://login.test/realm", "https://console.test"
SUBJECT = "8f3c-MARKER-SUBJECT"
GIVEN: dict[str, Any] = {
    "issuer": ISSUER, "client_id": "discreet", "client_secret": "of-the-client", "public_url": CONSOLE,
    "reviewers": {"privacy": ["medical"], "law-team": ["legal"]}, "operators": {"platform": ["*"]}}


class Login:
    """A provider that signs in whoever asks; tests change what it says."""

    def __init__(self) -> None:
        self.key = jwk.RSAKey.generate_key(2048, {"kid": "one"})
        self.signs: Any = self.key
        self.claims: dict[str, Any] = {"groups": ["privacy", "other"]}
        self.header: dict[str, Any] = {"alg": "RS256"}
        self.more: dict[str, Any] = {}
        self.says: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.asked: list[str] = []
        self.down = False
        self.app = Starlette(routes=[
            Route("/realm/.well-known/openid-configuration", self._about), Route("/realm/keys", self._keys),
            Route("/realm/token", self._token, methods=["POST"])])

    async def _about(self, request: Request) -> Response:
        self.asked.append("about")
        if self.down:
            return Response(status_code=503)
        return JSONResponse({"issuer": ISSUER, "authorization_endpoint": f"{ISSUER}/authorize", "token_endpoint":
                             f"{ISSUER}/token", "jwks_uri": f"{ISSUER}/keys",
                             "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"], **self.says})

    async def _keys(self, request: Request) -> Response:
        self.asked.append("keys")
        return JSONResponse({"keys": [self.key.as_dict(private=False)]})

    async def _token(self, request: Request) -> Response:
        form = await request.form()
        sent = self.codes.pop(str(form["code"]))
        secret = base64.b64encode(b"discreet:of-the-client").decode()
        assert request.headers["authorization"] == f"Basic {secret}"
        assert form["redirect_uri"] == sent["redirect_uri"]
        proof = hashlib.sha256(str(form["code_verifier"]).encode()).digest()
        assert base64.urlsafe_b64encode(proof).decode().rstrip("=") == sent["code_challenge"]
        now = int(time.time())
        claims = {"iss": ISSUER, "aud": "discreet", "sub": SUBJECT, "iat": now, "exp": now + 60,
                  "nonce": sent["nonce"], "email": "jane.roe@example.org", **self.claims}
        claims = {name: value for name, value in claims.items() if value is not None}
        kid = {"kid": self.signs.kid} if self.signs.kid else {}
        token = jwt.encode({**kid, **self.header}, claims, self.signs,
                           registry=JWSRegistry(algorithms=["RS256", "HS256", "none"]))
        return JSONResponse({"access_token": "a", "token_type": "Bearer", "id_token": token, **self.more})

    def sign_in(self, address: str) -> str:
        """What the browser does at the provider: the query that it comes back with."""
        parts = urlsplit(address)
        assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"{ISSUER}/authorize"
        sent = {name: values[0] for name, values in parse_qs(parts.query).items()}
        assert (sent["response_type"], sent["client_id"], sent["code_challenge_method"]) == ("code", "discreet", "S256")
        assert "openid" in sent["scope"].split()
        assert sent["redirect_uri"] == f"{CONSOLE}/console/oidc/done"
        self.codes[f"code-{len(self.asked)}"] = sent
        return f"code=code-{len(self.asked)}&state={sent['state']}"


class House:
    """A console with a provider."""

    def __init__(self, folder: Path, guard: Guard) -> None:
        self.login, self.desk = Login(), Desk(folder, guard)
        self.app = self.with_settings()

    def with_settings(self, **change: Any) -> Any:
        """The console with other settings of the provider."""
        desk = self.desk
        provider = Provider(Oidc(**{**GIVEN, **change}), desk.queue.audit_key, clock=desk.clock,
                            transport=httpx2.ASGITransport(self.login.app))
        console = Console(desk.queue, Keyring(desk.file, None), desk.judge, provider=provider, clock=desk.clock,
                          note=lambda event, facts: desk.noted.append((event, dict(facts))))
        return Starlette(routes=[Mount("/console", console.app())])

    def person(self, app: Any = None) -> Person:
        return Person(app or self.app, CONSOLE)

    def begin(self, person: Person, path: str = "/oidc") -> str:
        """To the provider: its address."""
        response = person.client.get(f"/console{path}", follow_redirects=False)
        assert response.status_code == 302
        return str(response.headers["location"])

    def come_back(self, person: Person, query: str) -> Any:
        return person.client.get(f"/console/oidc/done?{query}", follow_redirects=False)

    def sign_in(self, person: Person, path: str = "/oidc") -> Any:
        return self.come_back(person, self.login.sign_in(self.begin(person, path)))


@pytest.fixture
def house(tmp_path: Path, medical: Guard) -> House:
    return House(tmp_path, medical)


def is_in(person: Person) -> bool:
    return bool(person.client.get("/console/queue", follow_redirects=False).status_code == 200)


def test_somebody_signs_in_reviews_and_signs_out(house: House) -> None:
    desk, person = house.desk, house.person()
    ticket, other = desk.open(), desk.open(guard="legal")
    page = person.get(f"/tickets/{ticket}")
    assert "Sign in with your organisation" in page.text
    [link] = re.findall(r'href="/console(/oidc\?next=[^"]*)"', page.text)
    done = house.sign_in(person, link)
    assert (done.status_code, done.headers["refresh"]) == (200, f"0; url=/console/tickets/{ticket}")
    cookies = done.headers.get_list("set-cookie")
    [session] = [one for one in cookies if one.startswith("discreet-session=")]
    assert all(word in session for word in ("HttpOnly", "SameSite=strict", "Secure"))
    assert PART in person.get(f"/tickets/{ticket}").text
    assert person.get(f"/tickets/{other}").status == 404  # A guard of another group.
    assert person.get("/audit").status == 403
    copied = house.person()
    copied.client.cookies = person.client.cookies
    assert is_in(copied)
    person.post("/sign-out", token=person.get("/queue").field("token"))
    assert not is_in(copied)
    [signed] = [facts for event, facts in desk.noted if event == "sign_in"]
    assert (signed["role"], signed["method"]) == ("reviewer", "oidc")
    assert re.fullmatch(r"oidc:[0-9a-f]{16}", signed["caller"])
    assert not any(word in str(desk.noted) for word in ("MARKER", "jane.roe"))


def test_the_cookie_of_a_sign_in_goes_to_the_callback_only(house: House) -> None:
    person = house.person()
    response = person.client.get("/console/oidc", follow_redirects=False)
    [cookie] = response.headers.get_list("set-cookie")
    assert all(word in cookie for word in ("HttpOnly", "SameSite=lax", "Secure", "Path=/console/oidc", "Max-Age=600"))


def test_an_operator_and_nobody(house: House) -> None:
    house.login.claims["groups"] = "platform"  # One value is no list at some providers.
    person = house.person()
    house.sign_in(person)
    assert person.get("/audit").status == 200
    for groups in ([], ["unknown"], None, {"privacy": 1}, [["privacy"]]):
        house.login.claims["groups"] = groups
        stranger = house.person()
        assert house.sign_in(stranger).status_code == 401
        assert not is_in(stranger)
    assert [facts["reason"] for event, facts in house.desk.noted if event == "sign_in_failed"] == ["no_role"] * 5


OTHER = jwk.RSAKey.generate_key(2048, {"kid": "one"})
WRONG: dict[str, dict[str, Any]] = {
    "another's signature": {"signs": OTHER}, "another client": {"claims": {"aud": "other", "azp": "discreet"}},
    "another issuer": {"claims": {"iss": "https://evil.test"}}, "another sign-in": {"claims": {"nonce": "x"}},
    "no nonce": {"claims": {"nonce": None}}, "too old": {"claims": {"exp": 1, "iat": 0}},
    "unsigned": {"header": {"alg": "none"}, "signs": jwk.OctKey.import_key("x" * 32)},
    "signed by the secret": {"header": {"alg": "HS256"}, "signs": jwk.OctKey.import_key("of-the-client" * 3)},
    "no ID token": {"more": {"id_token": None}}, "no token": {"more": {"id_token": "a.b.c"}},
    "no subject": {"claims": {"sub": None}}, "an empty subject": {"claims": {"sub": ""}},
    "an error": {"more": {"error": "invalid_grant"}}}


@pytest.mark.parametrize("case", WRONG)
def test_what_the_provider_did_not_say_signs_nobody_in(house: House, case: str) -> None:
    for name, value in WRONG[case].items():
        before = getattr(house.login, name)
        setattr(house.login, name, {**before, **value} if isinstance(value, dict) else value)
    person = house.person()
    response = house.sign_in(person)
    assert response.status_code == 401
    assert not is_in(person)
    assert house.desk.noted[-1][0] == "sign_in_failed"
    assert not any(word in str(house.desk.noted) + response.text for word in ("MARKER", "evil", "jane.roe"))


def test_only_the_browser_that_began_comes_back_and_once(house: House) -> None:
    login = house.login
    mine, victim, late, forger = (house.person() for _ in range(4))
    query = login.sign_in(house.begin(mine))
    assert house.come_back(victim, query).status_code == 401  # It never began.
    house.begin(victim)
    assert house.come_back(victim, query).status_code == 401  # It began another one.
    assert house.come_back(house.person(), "error=access_denied&state=x").status_code == 401
    assert house.come_back(mine, query).status_code == 200
    assert house.come_back(mine, query).status_code == 401
    old = login.sign_in(house.begin(late))
    house.desk.clock.ahead += 601
    assert house.come_back(late, old).status_code == 401
    forged = login.sign_in(house.begin(forger))
    [cookie] = [one for one in forger.client.cookies.jar if one.name == "discreet-oidc"]
    said, _, mac = str(cookie.value).partition(".")
    cookie.value = f"{base64.urlsafe_b64encode(base64.urlsafe_b64decode(said) + b' ').decode()}.{mac}"
    assert house.come_back(forger, forged).status_code == 401
    assert not any(is_in(one) for one in (victim, late, forger))


def test_a_new_key_of_the_provider_is_fetched_and_one_that_is_gone_forgotten(house: House) -> None:
    assert house.sign_in(house.person()).status_code == 200
    before = house.login.key
    house.login.key = house.login.signs = jwk.RSAKey.generate_key(2048, {"kid": "two"})
    assert house.sign_in(house.person()).status_code == 200
    assert house.login.asked == ["about", "keys", "keys"]
    house.desk.clock.ahead += 3601
    house.login.signs = before
    assert house.sign_in(house.person()).status_code == 401


def test_a_provider_that_is_down_or_another(house: House) -> None:
    house.login.down = True
    person = house.person()
    assert "cannot be reached" in person.get("/oidc").text
    house.login.down = False
    asked = len(house.login.asked)
    assert person.get("/oidc").status == 401  # Not asked again at once.
    assert len(house.login.asked) == asked
    house.desk.clock.ahead += 6
    house.login.says = {"issuer": "https://other.test"}
    assert person.get("/oidc").status == 401
    assert person.sign_in(house.desk.keys["anna"]).url.endswith("/console/queue")  # Keys go on.


def test_a_session_has_what_the_settings_say_now(house: House) -> None:
    person = house.person()
    house.sign_in(person)
    for change, status in (({"reviewers": {"privacy": ["*"]}}, 200), ({"reviewers": {"law-team": ["legal"]}}, 303)):
        later = house.person(house.with_settings(**change))
        later.client.cookies = person.client.cookies
        assert later.client.get("/console/queue", follow_redirects=False).status_code == status
    house.desk.clock.ahead += 8 * 3600 + 1
    assert not is_in(person)


def test_wrong_answers_are_slowed_and_nobody_is_led_elsewhere(house: House) -> None:
    person = house.person()
    done = house.sign_in(person, "/oidc?next=https://evil.test/console/x")
    assert done.headers["refresh"] == "0; url=/console/queue"
    codes = [house.come_back(house.person(), "code=x&state=y").status_code for _ in range(11)]
    assert codes == [401] * 10 + [429]


@pytest.mark.parametrize(("change", "said"), [
    ({"issuer": "http://login.test"}, "expected https"), ({"public_url": "http://console.test"}, "expected https"),
    ({"scope": "profile"}, "without openid"), ({"reviewers": {}, "operators": {}}, "nobody has a role"),
    ({"reviewers": {"privacy": ["tax"]}}, "'tax' is no guard"), ({"colour": 1}, "is not a setting")])
def test_settings(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "guards": {"medical": {"domain": "medical"}, "legal": {"domain": "law"}}, "keys": tmp_path / "k",
        "queue": {"url": f"sqlite:///{tmp_path}/q.db"}, "oidc": GIVEN}
    assert Settings.read(**given).oidc is not None
    with pytest.raises(UsageError, match=said) as caught:
        Settings.read(**{**given, "oidc": {**GIVEN, **change}})
    assert "of-the-client" not in str(caught.value)
    for other in ({"queue": None}, {"keys": None, "no_auth": True}):
        with pytest.raises(UsageError, match="expected queue and keys"):
            Settings.read(**{**given, **other})
