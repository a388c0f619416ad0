"""Requests that nobody would send: no pass unearned, no status undocumented, nothing broken for long."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.cli.test_serve import serving
from tests.serve.conftest import BREAKS, DIRECT, LITIGATOR, SAFE, UNDECIDED, Service, Start

from discreet.core.files import clean
from discreet.guard import Guard
from discreet.serve.keys import add_key

ROOT = Path(__file__).resolve().parents[2]
MANY = int(os.environ.get("DISCREET_FUZZ", "300"))
"""Requests of each test; DISCREET_FUZZ=100000 is the whole campaign."""
TEXTS = st.one_of(st.sampled_from([SAFE, LITIGATOR, UNDECIDED, DIRECT, BREAKS, ""]),
                  st.text(st.characters(), max_size=60), st.text(st.characters(codec="ascii"), max_size=200))
JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
                    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
                    max_leaves=8)
TURNS = st.lists(st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "system"]), "content": TEXTS}),
                 max_size=3)
VALID = st.fixed_dictionaries({"text": TEXTS | st.lists(TEXTS, min_size=1, max_size=4)},
                              optional={"question": TEXTS, "conversation": TURNS, "review": st.booleans()})
NEARLY = st.builds(lambda body, key, value: {**body, key: value}, VALID,
                   st.sampled_from(["text", "question", "conversation", "model", "review", "extra"]), JSON)


@pytest.fixture
def service(start: Start, tmp_path: Path) -> Iterator[Service]:
    found = start(queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys"},
                  limits={"body_bytes": 5000, "text_chars": 500})
    yield found
    assert found.events("crash") == []
    assert found.ask("/v1/check", {"text": SAFE}).json()["action"] == "pass"


def documented(service: Service, path: str, method: str) -> set[int]:
    known = service.app.openapi()["paths"].get(path, {})
    # HEAD is answered as GET where nothing is changed, and elsewhere refused.
    asked = (known.get(method), known.get("get") if method == "head" else None, {"responses": {"404": 0, "405": 0}})
    return {int(status) for about in asked if about for status in about["responses"] if status != "default"}


@given(body=VALID | NEARLY)
@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_pass_is_what_the_library_calls_safe(service: Service, medical: Guard, body: dict[str, Any]) -> None:
    sent = json.dumps(body).encode("utf-8", "surrogatepass")
    response = service.ask("/v1/check", method="POST", content=sent)
    assert response.status_code in documented(service, "/v1/check", "post")
    found = response.json()
    if "error" in found:
        assert response.status_code >= 400
        return
    seen = service.gate.workers.seen[-len(found["results"]):]
    actions = ["failed" if BREAKS in one.answer else medical.check(one).action for one in seen]
    assert (found["action"] == "pass") == (set(actions) == {"safe"})
    assert [one == "ok" for one in found["results"]] == [action == "safe" for action in actions]
    texts = body["text"] if isinstance(body["text"], list) else [body["text"]]
    assert [one.answer for one in seen] == [clean(one) for one in texts]


@given(path=st.sampled_from(["/v1/check", "/v1/check/medical", "/v1/check/%00", "/analyze", "/v1/tickets/x", "/"]),
       method=st.sampled_from(["POST", "GET", "PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"]),
       content=st.binary(max_size=300) | JSON.map(lambda one: json.dumps(one).encode("utf-8", "surrogatepass"))
       | st.just(b"[" * 4999) | st.just(b" " * 5001),
       kind=st.sampled_from(["application/json", "text/plain", "multipart/form-data", "", "a/b; charset=x"]),
       role=st.sampled_from(["caller", "operator", "reviewer", "nobody"]))
@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
def test_whatever_comes_has_a_documented_answer(service: Service, path: str, method: str, content: bytes, kind: str,
                                                role: str) -> None:
    headers = {"content-type": kind, "x-api-key": service.tokens.get(role, "")}
    response = service.client.request(method, path, content=content, headers=headers)
    route = {"/v1/check/medical": "/v1/check/{guard}", "/v1/check/%00": "/v1/check/{guard}",
             "/v1/tickets/x": "/v1/tickets/{ticket}"}.get(path, path)
    assert response.status_code in documented(service, route, method.lower()) | {401, 405, 413}
    assert response.status_code < 500


@pytest.mark.services
@pytest.mark.usefixtures("socket_enabled")
def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    """By its command line, from an environment of its own: make .benchenv/schemathesis/.installed."""
    command = shutil.which("st", path=str(ROOT / ".benchenv" / "schemathesis" / "bin")) or shutil.which("st")
    assert command is not None, "schemathesis is not installed; make .benchenv/schemathesis/.installed"
    _, token = add_key(tmp_path / "keys.json", "operator")
    with serving(tmp_path, "--domain", "medical", "--keys", "keys.json", "--workers", "1", "--queue",
                 "sqlite:///queue.db") as service:
        service.ready()
        ended = subprocess.run(
            [command, "run", f"{service.url}/openapi.json", "-H", f"Authorization: Bearer {token}", "-n", "40",
             "--request-timeout", "90", "--exclude-path", "/v1/tickets/{ticket}", "--exclude-checks",
             "not_a_server_error"], capture_output=True, text=True,
            cwd=tmp_path, check=False)
        assert ended.returncode == 0, ended.stdout[-6000:]
        assert httpx.get(f"{service.url}/health/ready").json()["ready"]
        counts = httpx.get(f"{service.url}/metrics", headers={"x-api-key": token}).text
        assert 'status="500"' not in counts  # 503 is what could not be judged, such as images.
    assert "crash" not in {json.loads(line)["event"] for line in service.log.read_text().splitlines()}


@pytest.mark.services
@pytest.mark.usefixtures("socket_enabled")
def test_none_is_lost_where_many_come_and_many_go_away(tmp_path: Path) -> None:
    """Requests at once over a socket, a third of them given up: each other answer is the library's."""
    expected = {SAFE: "pass", LITIGATOR: "block", UNDECIDED: "block"}
    with serving(tmp_path, "--domain", "medical", "--no-auth", "--workers", "2") as service:
        service.ready()

        async def ask(client: httpx.AsyncClient, number: int) -> bool:
            text = list(expected)[number % 3]
            sent = client.post("/v1/check", json={"text": text})
            if number % 5 == 0:
                try:
                    await asyncio.wait_for(sent, 0.001 * (number % 7))
                except TimeoutError:
                    return False
                return True
            while (response := await sent).status_code == 429:
                assert int(response.headers["retry-after"]) >= 1
                await asyncio.sleep(0.05)
                sent = client.post("/v1/check", json={"text": text})
            assert response.json()["action"] == expected[text]
            return True

        async def asked() -> int:
            async with httpx.AsyncClient(base_url=service.url, timeout=120) as client:
                room = asyncio.Semaphore(64)

                async def one(number: int) -> bool:
                    async with room:
                        return await ask(client, number)

                return sum(await asyncio.gather(*(one(number) for number in range(1000))))

        assert asyncio.run(asked()) >= 800
        assert service.ask(SAFE).json()["action"] == "pass"
        assert httpx.get(f"{service.url}/health/ready").status_code == 200
