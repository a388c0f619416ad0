"""What breaks while the service runs: workers that hang, weights that change, bodies that never come, callers who go,
full disks. What is not judged is failed, nothing of it is told, and the service goes on without a restart."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serve.conftest import LITIGATOR, SAFE, UNDECIDED, Service, Start

from discreet.core.records import Answer
from discreet.guard.decide import Judgement
from discreet.serve import workers as room
from discreet.serve.queue import tables
from discreet.serve.telemetry import Log, Metrics, Plain, Telemetry, Tracing, crash


def ready(service: Service) -> None:
    """Wait until it is."""
    until = time.monotonic() + 60
    while service.ask("/health/ready").status_code != 200:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_worker_that_hangs_fails_its_answer_and_the_service_comes_back(start: Start) -> None:
    service = start(real=True, deadline_s=3)
    (worker,) = service.gate.workers._workers
    os.kill(worker.process.pid, signal.SIGSTOP)
    response = service.ask("/v1/check", {"text": SAFE})
    assert (response.status_code, response.json()["action"]) == (503, "failed")
    assert service.ask("/health/ready").json()["missing"] in (["workers"], [])
    ready(service)
    assert service.ask("/v1/check", {"text": SAFE}).json()["action"] == "pass"
    assert service.ask("/v1/check", {"text": LITIGATOR}).json()["action"] == "block"
    assert 'discreet_workers_replaced_total{cause="hung"} 1.0' in service.ask("/metrics", role="operator").text
    assert [one["action"] for one in service.events("decision")] == ["failed", "pass", "block"]


def test_altered_files_are_not_ready_and_mended_ones_are(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                                                         ) -> None:
    """The files of a domain; altered weights of the reader are in `test_workers`."""
    from discreet.guard import Guard
    from discreet.guard.policy import Policy

    monkeypatch.setattr(room, "BACK_OFF", (0.0, 0.1))
    domain = tmp_path / "medical"
    shutil.copytree(str(Policy.of("medical").domain.folder), domain)
    whole = (domain / "policy.yaml").read_text()
    assert Guard(str(domain)).check(LITIGATOR).action == "flag"
    (domain / "policy.yaml").write_text(whole.replace("third", "nobody"))
    service = start(real=True, guards={"clinic": {"domain": str(domain), "warm_up": [
        {"text": LITIGATOR, "action": "flag"}]}}, deadline_s=3)
    assert service.ask("/health/ready").json() == {"ready": False, "missing": ["workers"]}
    assert service.ask("/v1/check", {"text": SAFE}).json()["action"] == "failed"
    assert "text 1 of its warm-up is safe; expected flag" in service.events("worker")[0]["reason"]
    (domain / "policy.yaml").write_text(whole)
    ready(service)
    assert service.ask("/v1/check", {"text": SAFE}).json()["action"] == "pass"


def test_a_body_that_never_comes_whole_is_given_up(start: Start) -> None:
    service = start(limits={"body_s": 0.2})
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not sent:
            sent.append({})
            return {"type": "http.request", "body": b'{"text": ', "more_body": True}
        await asyncio.sleep(3600)
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-length", b"1000"), (b"content-type", b"application/json"),
               (b"x-api-key", service.tokens["caller"].encode())]
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "path": "/v1/check",
             "raw_path": b"/v1/check", "root_path": "", "scheme": "http", "query_string": b"", "headers": headers,
             "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2), "state": {}}
    asyncio.run(service.app(scope, receive, send))
    assert sent[1]["status"] == 408
    assert json.loads(sent[2]["body"])["error"]["code"] == "late"
    assert len(sent) == 3
    assert service.gate.workers.seen == []


def test_a_caller_who_goes_away_leaves_nothing_open(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    service = start(limits={"requests": 1})
    judged = service.gate.workers.judge
    seen: list[str] = []

    async def slow(guard: str, answer: Answer, owner: str) -> Judgement:
        seen.append(answer.id)
        await asyncio.sleep(0.2)
        found: Judgement = await judged(guard, answer)
        return found

    monkeypatch.setattr(service.gate.workers, "judge", slow)

    async def gone() -> None:
        transport = httpx.ASGITransport(service.app)
        headers = {"x-api-key": service.tokens["caller"]}
        async with httpx.AsyncClient(transport=transport, base_url="http://t", headers=headers) as client:
            asking = asyncio.create_task(client.post("/v1/check", json={"text": SAFE}))
            while not seen:
                await asyncio.sleep(0.01)
            assert (await client.post("/v1/check", json={"text": SAFE})).status_code == 429
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert (await client.post("/v1/check", json={"text": SAFE})).json()["action"] == "pass"

    asyncio.run(gone())


def test_a_log_that_cannot_be_written_stops_nobody(start: Start) -> None:
    service = start()

    class Full:
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

        def flush(self) -> None:
            raise OSError(28, "No space left on device")

    service.gate.telemetry.log._stream = Full()
    assert service.ask("/v1/check", {"text": LITIGATOR}).json()["action"] == "block"
    assert 'action="block"' in service.ask("/metrics", role="operator").text


def test_what_libraries_log_and_raise_loses_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    import logging

    log = Log()
    handler = Plain(log)
    with pytest.raises(ValueError, match="litigator") as caught:
        raise ValueError(LITIGATOR)
    error = caught.value
    assert crash(error) == {"kind": "ValueError", "place": "elsewhere"}
    for name in ("uvicorn.error", "sqlalchemy.engine"):
        handler.handle(logging.LogRecord(name, 40, "", 1, f"{LITIGATOR} %s", (LITIGATOR,),
                                         (ValueError, error, error.__traceback__)))
    handler.handle(logging.LogRecord("httpx", 20, "", 1, LITIGATOR, (), None))
    handler.handle(logging.LogRecord("uvicorn.error", 20, "", 1, "Started [%d]", (7,), None))
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert "litigator" not in str(lines)
    assert [one["template"] for one in lines] == [None, None, None, "Started [%d]"]
    with pytest.raises(ValueError, match="'text' may hold"):
        log.add("decision", text=SAFE)


def test_spans_hold_ids_and_codes(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a tracer that keeps what it is given; the SDK of OpenTelemetry is the deployer's."""
    kept: list[tuple[str, dict[str, Any], dict[str, Any]]] = []

    class Span:
        def __init__(self, name: str, attributes: dict[str, Any], **options: Any) -> None:
            self.attributes = attributes
            kept.append((name, self.attributes, options))

        def __enter__(self) -> Span:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def set_attributes(self, more: dict[str, Any]) -> None:
            self.attributes.update(more)

    class Tracer:
        start_as_current_span = Span

    tracing = Tracing(False)
    tracing._tracer = Tracer()
    service = start()
    monkeypatch.setattr(service.gate, "telemetry", Telemetry(log=service.gate.telemetry.log, metrics=Metrics()))
    service.gate.telemetry.tracing = tracing
    service.ask("/v1/check", {"text": [SAFE, LITIGATOR]})
    ((name, attributes, options),) = kept
    assert (name, options) == ("discreet.decide", {"record_exception": False, "set_status_on_exception": False})
    assert len(attributes.pop("discreet.request")) == 32
    assert attributes == {"discreet.guard": "medical", "discreet.door": "check", "discreet.answers": 2,
                          "discreet.action": "block", "discreet.code": "privacy/contextual"}


def test_a_database_that_is_locked_holds_up_no_answer_that_needs_none(
        start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "WAIT_S", 60)
    service = start(queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys"})
    many = min(32, (os.cpu_count() or 1) + 4) + 1  # One more than the threads that asyncio has for everything.
    with closing(sqlite3.connect(tmp_path / "queue.db", isolation_level=None)) as other, \
            ThreadPoolExecutor(many) as pool:
        other.execute("BEGIN IMMEDIATE")
        held = [pool.submit(service.ask, "/v1/check", {"text": UNDECIDED, "review": True}) for _ in range(many)]
        while len(service.gate.workers.seen) < many:  # All are judged, and wait for the queue.
            time.sleep(.01)
        assert service.ask("/v1/check", {"text": SAFE}, "operator").json()["action"] == "pass"
        assert not any(one.done() for one in held)
        other.execute("ROLLBACK")
        assert {one.result().json()["action"] for one in held} == {"pending"}
