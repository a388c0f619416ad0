"""Connections on which no request comes are closed."""

from __future__ import annotations

import asyncio
import pickle
import time
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from discreet.serve.connections import Patient


async def _hello(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


class Hasty(Patient):
    head_s = 0.3


def test_worker_processes_get_it() -> None:
    assert pickle.loads(pickle.dumps(Patient)) is Patient


@pytest.mark.parametrize("sent", [b"", b"POST / HT", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"])
def test_a_head_that_does_not_come_closes_the_connection(tmp_path: Path, sent: bytes) -> None:
    async def attack() -> float:
        server = uvicorn.Server(uvicorn.Config(_hello, uds=str(tmp_path / "s"), lifespan="off", log_config=None,
                                               http=Hasty, timeout_keep_alive=60))
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
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
        server.should_exit = True
        await serving
        return took

    assert asyncio.run(attack()) < 3
