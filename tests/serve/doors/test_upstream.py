"""A model behind the proxy that misbehaves on the wire: nothing of its answer passes."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pytest_socket import socket_allow_hosts
from starlette.responses import JSONResponse
from tests.serve.conftest import SAFE, Start
from tests.serve.doors.test_openai import Proxy, proxy  # noqa: F401
from tests.serve.doors.upstream import chunks, completion, events

MARK = "zqxcanary"
ASK = {"model": "tiny", "messages": [{"role": "user", "content": "Who?"}]}
WHOLE = json.dumps(completion(MARK)).encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


@contextmanager
def wire(sent: bytes, every_s: float = 0) -> Iterator[str]:
    """A server that sends these bytes to whoever asks and hangs up; with `every_s`, one byte at a time."""
    socket_allow_hosts(["127.0.0.1"])
    listening = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def answer() -> None:
        while not ended.is_set():
            try:
                one, _ = listening.accept()
                with one:
                    while one.recv(65536)[-1:] not in (b"}", b""):
                        pass
                    for part in [sent] if not every_s else [sent[i : i + 1] for i in range(len(sent))]:
                        one.sendall(part)
                        if ended.wait(every_s):
                            return
            except OSError:
                continue

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    finally:
        ended.set()
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


FAULTS = {
    "says less than it sends": HEAD + b"Content-Length: 9\r\n\r\n" + WHOLE,
    "says more than it sends": HEAD + b"Content-Length: %d\r\n\r\n" % (len(WHOLE) + 9) + WHOLE,
    "no length it could be": HEAD + b"Content-Length: nine\r\n\r\n" + WHOLE,
    "two lengths": HEAD + b"Content-Length: 9\r\nContent-Length: %d\r\n\r\n" % len(WHOLE) + WHOLE,
    "cut in a chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\nffff\r\n" + WHOLE,
    "no HTTP": b"hello " + WHOLE, "nothing": b"",
    "no gzip": HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(WHOLE) + WHOLE,
    "a stream that is cut": STREAM + events(chunks(MARK))[:-30],
    "an event that is cut": STREAM + events(chunks(MARK))[:60],
}


@pytest.mark.enable_socket
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_on_the_wire_is_an_error_of_the_model(start: Start, fault: str) -> None:
    with wire(FAULTS[fault]) as url:
        service = start(upstream={"url": url})
        response = service.ask("/v1/chat/completions", {**ASK, "stream": fault.startswith(("a ", "an "))})
    assert response.status_code == 502, response.text
    assert response.json()["error"]["code"] in ("upstream_cut", "upstream_malformed")
    assert MARK not in response.text + service.log.getvalue()
    assert len(service.events("upstream_error")) == 1


@pytest.mark.enable_socket
def test_an_answer_that_drips_ends_at_the_limit(start: Start) -> None:
    started = time.monotonic()
    with wire(HEAD + b"Content-Length: %d\r\n\r\n" % len(WHOLE) + WHOLE, 0.05) as url:
        service = start(upstream={"url": url, "timeout_s": 0.5})
        response = service.ask("/v1/chat/completions", ASK)
    assert (response.status_code, response.json()["error"]["code"]) == (504, "upstream_timeout")
    assert time.monotonic() - started < 10
    assert service.ask("/v1/check", {"text": SAFE}).json()["action"] == "pass"


@pytest.mark.enable_socket
def test_a_request_that_is_no_json_does_not_reach_the_model(start: Start) -> None:
    service = start(upstream={"url": "http://127.0.0.1:9/v1"})
    body = b'{"model": "tiny", "temperature": NaN, "messages": [{"role": "user", "content": "Who?"}]}'
    response = service.ask("/v1/chat/completions", method="POST", content=body)
    assert (response.status_code, response.json()["error"]["code"]) == (422, "invalid")


def test_a_cookie_of_the_model_stays_with_the_request_that_it_answered(proxy: Proxy) -> None:  # noqa: F811
    service, model = proxy(JSONResponse(completion(SAFE), headers={"set-cookie": "session=of-the-first; Path=/"}))
    for role in ("caller", "operator"):
        assert service.ask("/v1/chat/completions", ASK, role).status_code == 200
    assert [one.get("cookie") for one in model.headers] == [None, None]
