"""Connections on which no request comes are closed, and use up nobody's place."""

from __future__ import annotations

import asyncio
import pickle
import resource
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from tests.cli.test_serve import serving
from tests.serve.conftest import SAFE

from discreet.serve.admission import Admission
from discreet.serve.connections import Patient
from discreet.serve.keys import add_key
from discreet.serve.limits import Rate
from discreet.serve.settings import Limits


async def _hello(scope: Any, receive: Any, send: Any) -> None:
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@asynccontextmanager
async def _listening(app: Any, folder: Path, http: type[Patient], **options: Any) -> AsyncIterator[None]:
    """A server of an application at the socket `s` of a folder."""
    server = uvicorn.Server(uvicorn.Config(app, uds=str(folder / "s"), lifespan="off", log_config=None, http=http,
                                           **options))
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    yield
    server.should_exit = True
    await running


class Hasty(Patient):
    head_s = 0.3


class Crowded(Patient):
    head_s, most_waiting = 60, 2


def test_worker_processes_get_it() -> None:
    assert pickle.loads(pickle.dumps(Patient)) is Patient


def test_heads_are_read_by_the_reader_that_bounds_them_whatever_else_is_installed() -> None:
    script = ("import sys, types; sys.modules['httptools'] = types.ModuleType('httptools')\n"
              "from uvicorn.protocols.http.auto import AutoHTTPProtocol\n"
              "from uvicorn.protocols.http.h11_impl import H11Protocol\n"
              "from discreet.serve.connections import Patient\n"
              "assert AutoHTTPProtocol is not H11Protocol\nprint(issubclass(Patient, H11Protocol))")
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "True"


@pytest.mark.parametrize(("version", "length"), [("1.1", "Content-Length: 40\r\n"), ("1.0", "")])
def test_a_body_with_two_lengths_hides_no_request(tmp_path: Path, version: str, length: str) -> None:
    """A proxy that reads the other length would take what stands behind the body for a part of it."""
    limits = Limits.model_validate({})
    app = Admission(_hello, keyring=None, limits=limits, rate=Rate(None), waiting_of=lambda _: 0)
    hidden = "GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"

    async def attack() -> bytes:
        async with _listening(app, tmp_path, Hasty):
            reader, writer = await asyncio.open_unix_connection(str(tmp_path / "s"))
            writer.write(f"POST /v1/check HTTP/{version}\r\nHost: localhost\r\nConnection: keep-alive\r\n{length}"
                         f"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}".encode())
            async with asyncio.timeout(10):
                said = await reader.read()
            writer.close()
        return said

    said = asyncio.run(attack())
    assert said.startswith(b"HTTP/1.1 400 ")
    assert said.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("sent", [b"", b"POST / HT", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"])
def test_a_head_that_does_not_come_closes_the_connection(tmp_path: Path, sent: bytes) -> None:
    async def attack() -> float:
        async with _listening(_hello, tmp_path, Hasty, timeout_keep_alive=60):
            reader, writer = await asyncio.open_unix_connection(str(tmp_path / "s"))
            writer.write(sent)
            if sent.endswith(b"\r\n\r\n"):  # A request that is answered, and the beginning of another.
                await reader.readuntil(b"ok")
                writer.write(b"GET")
            started = time.monotonic()
            async with asyncio.timeout(10):
                assert await reader.read() == b""
            took = time.monotonic() - started
            writer.close()
        return took

    assert asyncio.run(attack()) < 3


@pytest.mark.parametrize(("target", "answered"), [
    ("http://other.test/health%20/live?a=b", "other.test /health /live a=b"), ("HTTPS://other.test", "other.test / "),
    ("http://[::1]:80/?http://x/", "[::1]:80 / http://x/"), ("/a?http://x/", "localhost /a http://x/"),
    ("ftp://other.test/a", "localhost ftp://other.test/a "),
    ("http://me@other.test/", "localhost http://me@other.test/ ")])
def test_a_request_for_a_whole_address_is_one_for_its_path(tmp_path: Path, target: str, answered: str) -> None:
    """Twice on one connection, and at once: the second is read when the first is answered."""
    async def echo(scope: Any, receive: Any, send: Any) -> None:
        [host] = [value.decode() for name, value in scope["headers"] if name == b"host"]
        said = f"{host} {scope['path']} {scope['query_string'].decode()}".encode()
        length = str(len(said)).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": said})

    async def ask() -> list[str]:
        async with _listening(echo, tmp_path, Patient):
            reader, writer = await asyncio.open_unix_connection(str(tmp_path / "s"))
            writer.write(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode() * 2)
            async with asyncio.timeout(10):
                said = []
                for _ in range(2):
                    head = await reader.readuntil(b"\r\n\r\n")
                    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                    said.append((await reader.readexactly(length)).decode())
            writer.close()
        return said

    assert asyncio.run(ask()) == [answered] * 2


SLOW = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n1"
SLOW_SIGN_IN = b"POST /console/sign-in HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nk"


@pytest.mark.parametrize("sent", [b"", b"POST / HT", SLOW_SIGN_IN])
def test_of_too_many_that_wait_the_one_that_waited_longest_is_closed(tmp_path: Path, sent: bytes) -> None:
    async def attack() -> list[bool]:
        async with _listening(_hello, tmp_path, Crowded):
            busy, *waiting = [await _opened(tmp_path / "s", part) for part in (SLOW, sent, sent, sent)]
            async with asyncio.timeout(20):
                with suppress(ConnectionResetError):
                    assert await waiting[0][0].read() == b""
                busy[1].write(b"2")
                await busy[0].readuntil(b"ok")
            still = [not reader.at_eof() for reader, _ in waiting[1:]]
            for _, writer in (busy, *waiting):
                writer.close()
        return still

    assert asyncio.run(attack()) == [True, True]
    assert Crowded.waiting == {}


async def _opened(path: Path, sent: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection on which something was sent, and looked at since."""
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(sent)
    await asyncio.sleep(0.1)
    return reader, writer


@pytest.mark.services
@pytest.mark.enable_socket
def test_thousands_of_connections_without_a_key_shut_nobody_out(tmp_path: Path) -> None:
    """More than may wait, under the limit of open files that most systems begin with."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert hard >= 3 * Patient.most_waiting, "too few open files are allowed for this test"
    _, token = add_key(tmp_path / "keys.json", "caller")
    sent = [b"", b"POST / HT", SLOW_SIGN_IN, b"POST /v1/check HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"]
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, hard))
    opened: list[socket.socket] = []
    try:
        with serving(tmp_path, "--domain", "medical", "--keys", "keys.json", "--workers", "1", "--queue",
                     "sqlite:///queue.db") as service:
            service.ready()
            resource.setrlimit(resource.RLIMIT_NOFILE, (3 * Patient.most_waiting, hard))
            for number in range(Patient.most_waiting + 1000):
                opened.append(socket.create_connection(("127.0.0.1", service.port), timeout=60))
                opened[-1].sendall(sent[number % len(sent)])
                if number % 1000 == 999:
                    assert service.ask(SAFE, token).json()["action"] == "pass"
            assert httpx.get(f"{service.url}/health/ready", timeout=60).status_code == 200
            assert "OSError" not in service.log.read_text()
    finally:
        for one in opened:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
