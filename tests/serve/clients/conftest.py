"""A model and a service on the loopback, in front of which other people's clients and gateways stand."""

from __future__ import annotations

import base64
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
import yaml
from pytest_socket import socket_allow_hosts
from starlette.responses import JSONResponse
from tests.cli.test_serve import Served, serving
from tests.serve.conftest import LITIGATOR, SAFE, UNDECIDED
from tests.serve.doors.upstream import Model, completion, events

from discreet.serve.keys import add_key
from discreet.serve.queue.tickets import Queue


def elsewhere(text: str) -> dict[str, Any]:
    """A completion with a safe content, and a text in a field that LiteLLM's own guardrails do not show."""
    found = completion(SAFE, reasoning_content=text, refusal=None, no_such=text)
    token = {"token": SAFE, "logprob": -0.1, "bytes": None}
    found["choices"][0]["logprobs"] = {"content": [{**token, "top_logprobs": [{**token, "token": text}]}]}
    return found | {"no_such": text}


SAYS: dict[str, Any] = {
    "safe": SAFE, "person": LITIGATOR, "undecided": UNDECIDED, "cut": b'data: {"choices": []}\n\n',
    "long": f"{SAFE} " * 100, "thought": elsewhere(LITIGATOR), "fields": elsewhere("")}
"""What the model answers to these questions; to all others it answers safely."""


def said(body: dict[str, Any]) -> Any:
    """The model's answer; a completion comes as the only chunk of a stream."""
    if "input" in body:
        return JSONResponse({"data": [{"embedding": base64.b64encode(struct.pack("<2f", 0.5, 1)).decode()}]})
    if "prompt" in body:
        found = completion(SAYS.get(body["prompt"], SAFE))
        return JSONResponse({**found, "choices": [{"text": one["message"]["content"], "finish_reason": "stop"}
                                                  for one in found["choices"]]})
    found = SAYS.get(body["messages"][-1]["content"], SAFE)
    if not isinstance(found, dict) or not body.get("stream"):
        return found
    choices = [{**one, "delta": one["message"]} for one in found["choices"]]
    return events([{**found, "object": "chat.completion.chunk", "choices": choices}])


@pytest.fixture(scope="module")
def model() -> Iterator[str]:
    """The address of a model that answers by the question."""
    socket_allow_hosts(["127.0.0.1"])
    answers = Model(said)
    server = uvicorn.Server(uvicorn.Config(answers, host="127.0.0.1", port=0, log_level="error", lifespan="off"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1"
    server.should_exit = True
    thread.join()


class Proxy:
    """A service in front of the model, with a key of each role."""

    def __init__(self, served: Served, tokens: dict[str, str], queue: Queue) -> None:
        self.served, self.tokens, self.queue = served, tokens, queue

    def release(self) -> str:
        """Release the next ticket that waits, and say which it was."""
        until = time.monotonic() + 60
        while not (rows := self.queue.tickets()):
            assert time.monotonic() < until
            time.sleep(0.1)
        view = self.queue.read(rows[0].id, "anna")
        self.queue.decide(rows[0].id, "anna", action="release", code="nobody_described", version=view.row.version)
        return rows[0].id


@contextmanager
def proxying(model: str, folder: Path) -> Iterator[Proxy]:
    """A service of its own process with a queue, which holds streams for a reviewer."""
    keys = folder / "keys.json"
    tokens = {role: add_key(keys, role, (), role)[1] for role in ("caller", "reviewer", "operator")}
    queue: dict[str, Any] = {"url": f"sqlite:///{folder}/queue.db", "key_folder": str(folder / "queue-keys"),
                             "undo_s": 0}
    (folder / "serve.yaml").write_text(yaml.safe_dump({
        "guards": {"medical": {"domain": "medical"}}, "keys": str(keys), "workers": 1, "upstream": {"url": model},
        "queue": queue, "limits": {"text_chars": 2000}, "hold_s": 3, "keep_alive_s": 0.2, "deadline_s": 15}))
    with serving(folder, "--config", "serve.yaml") as served:
        served.ready()
        reviews = Queue(queue["url"], folder / "queue-keys", undo_s=0)
        yield Proxy(served, tokens, reviews)
        reviews.close()


@pytest.fixture
def proxy(model: str, tmp_path: Path) -> Iterator[Proxy]:
    """A service for one test, which may break it and look at its files."""
    with proxying(model, tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def shared(model: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A service for the tests of a file, which leave it as it was: a start takes ten seconds of a core."""
    with proxying(model, tmp_path_factory.mktemp("shared")) as made:
        yield made


def until_it_answers(url: str, process: Any, log: Path) -> None:
    """Wait until a server that was started answers with 200."""
    until = time.monotonic() + 300
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text()
        try:
            if httpx.get(url, timeout=10).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    raise AssertionError(log.read_text())
