"""Faults of a service in a process of its own, by what its callers see: nothing unearned is safe, nothing that was not
released goes out, and it comes back without a restart."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
import uvicorn
from tests.cli.test_serve import ENV, Served, serving
from tests.serve.clients.conftest import Proxy
from tests.serve.conftest import LITIGATOR, SAFE, UNDECIDED
from tests.serve.doors.upstream import Model

import discreet

pytestmark = [pytest.mark.services, pytest.mark.enable_socket]
BODY = {"model": "tiny", "messages": [{"role": "user", "content": "safe"}]}


def until(holds: Callable[[], bool], seconds: float = 90) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.2)


def asked(proxy: Proxy, question: str, *, stream: bool = False) -> httpx.Response:
    """An answer of the model, through the proxy."""
    body = {"model": "tiny", "stream": stream, "messages": [{"role": "user", "content": question}]}
    return httpx.post(f"{proxy.served.url}/v1/chat/completions", json=body, timeout=90,
                      headers={"x-api-key": proxy.tokens["caller"]})


def judges_well(proxy: Proxy) -> bool:
    """Whether a safe answer passes and one about a person is blocked."""
    codes = [asked(proxy, question).headers.get("x-discreet-code") for question in ("safe", "person")]
    return codes == ["ok", "privacy/contextual"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_worker_that_hangs_fails_its_answer_and_is_replaced(shared: Proxy, stream: bool) -> None:
    (worker,) = shared.served.workers()
    os.kill(worker, signal.SIGSTOP)
    failed = asked(shared, "person", stream=stream)
    assert failed.status_code == (200 if stream else 503)
    assert '"code": "privacy/not_judged"' in failed.text.replace('":"', '": "')
    assert "litigator" not in failed.text
    assert "[DONE]" not in failed.text
    until(lambda: judges_well(shared))
    assert worker not in shared.served.workers()


def test_a_database_that_goes_and_comes_back_while_tickets_wait(proxy: Proxy, tmp_path: Path) -> None:
    ticket = asked(proxy, "undecided").headers["x-discreet-ticket"]
    away = tmp_path / "away"
    away.mkdir()
    files = list(tmp_path.glob("queue.db*"))
    for one in files:
        one.rename(away / one.name)
    for stream in (False, True):
        blocked = asked(proxy, "undecided", stream=stream)
        assert "Metformin" not in blocked.text
        assert "x-discreet-ticket" not in blocked.headers
    owner = {"x-api-key": proxy.tokens["caller"]}
    gone = httpx.get(f"{proxy.served.url}/v1/tickets/{ticket}", headers=owner, timeout=60)
    assert gone.status_code == 503
    assert judges_well(proxy)
    for one in files:
        shutil.move(away / one.name, one)
    until(lambda: "x-discreet-ticket" in asked(proxy, "undecided").headers)
    assert proxy.release() == ticket
    released = httpx.get(f"{proxy.served.url}/v1/tickets/{ticket}?wait=20", headers=owner, timeout=60).json()
    assert (released["status"], UNDECIDED in str(released["payload"])) == ("released", True)


def test_a_disk_that_is_full(proxy: Proxy) -> None:
    pid = proxy.served.process.pid
    _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, most))  # No file may grow beyond one byte: the log neither.
    for stream in (False, True):
        blocked = asked(proxy, "undecided", stream=stream)
        assert "Metformin" not in blocked.text
        assert "x-discreet-ticket" not in blocked.headers
    assert judges_well(proxy)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))
    until(lambda: "x-discreet-ticket" in asked(proxy, "undecided").headers)


def test_weights_that_are_altered_under_a_running_service(tmp_path: Path) -> None:
    """A worker that starts anew does not take them, so nothing is judged until they are mended."""
    code = tmp_path / "code" / "discreet"
    shutil.copytree(Path(discreet.__file__).parent, code, ignore=shutil.ignore_patterns("__pycache__"))
    weights = code / "guard" / "text" / "data" / "reader" / "reader.onnx"
    whole = weights.read_bytes()
    (tmp_path / "work").mkdir()

    def action(service: Served, text: str) -> str:
        return str(service.ask(text).json().get("action"))

    words = ("--domain", "medical", "--no-auth", "--workers", "1")
    env = {**ENV, "PYTHONPATH": str(code.parent), "DISCREET_SERVE_DEADLINE_S": "10"}  # Each answer waits so long.
    with serving(tmp_path / "work", *words, env=env) as service:
        service.ready()
        assert action(service, SAFE) == "pass"
        weights.write_bytes(whole[:10_000_000] + bytes(64) + whole[10_000_064:])
        (worker,) = service.workers()
        os.kill(worker, signal.SIGKILL)
        assert {action(service, text) for text in (SAFE, LITIGATOR, UNDECIDED)} == {"failed"}
        assert httpx.get(f"{service.url}/health/ready", timeout=30).status_code == 503
        weights.write_bytes(whole)
        service.ready()
        assert (action(service, SAFE), action(service, LITIGATOR)) == ("pass", "block")


def test_a_model_that_is_not_there_and_comes(tmp_path: Path, socket_enabled: None) -> None:
    socket = uvicorn.Config(Model(lambda body: SAFE), host="127.0.0.1", port=0).bind_socket()
    url = f"http://127.0.0.1:{socket.getsockname()[1]}"
    words = ("--domain", "medical", "--no-auth", "--workers", "1", "--upstream", f"{url}/v1")

    def status(service: Served) -> int:
        return httpx.post(f"{service.url}/v1/chat/completions", json=BODY, timeout=60).status_code

    def serve() -> tuple[uvicorn.Server, threading.Thread]:
        server = uvicorn.Server(uvicorn.Config(Model(lambda body: SAFE), host="127.0.0.1", log_level="critical",
                                               port=int(url.rpartition(":")[2]), lifespan="off"))
        thread = threading.Thread(target=server.run)
        thread.start()
        until(lambda: server.started)
        return server, thread

    socket.close()
    with serving(tmp_path, *words) as service:
        service.ready()
        assert status(service) == 502
        for _ in range(2):
            server, thread = serve()
            assert status(service) == 200
            server.should_exit = True
            thread.join()
            assert status(service) == 502
