"""Who may enter, what is refused, what readiness means, and what is written down."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import BREAKS, DIRECT, LITIGATOR, SAFE, UNDECIDED, Start

from discreet.serve.health import PROBED_S
from discreet.serve.keys import add_key, remove_key
from discreet.serve.presets import presets

MARK = "zqxcanary@example.org"
"""A text that may be found in no log, metric or answer to anybody else."""


def test_readiness_is_the_workers_keys_and_queue(start: Start, tmp_path: Path) -> None:
    service = start(queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys"})
    assert service.ask("/health/ready").json() == {"ready": True, "missing": []}
    service.gate.workers.loaded = 0
    service.gate.queue.database.engine.dispose()
    (tmp_path / "queue.db").rename(tmp_path / "gone.db")
    (tmp_path / "queue.db").write_bytes(b"no database, and longer than a header of one " * 30)
    for more in ("-wal", "-shm"):
        (tmp_path / f"queue.db{more}").unlink(missing_ok=True)
    service.app.state.settings.keys.rename(tmp_path / "moved.json")
    time.sleep(PROBED_S)
    response = service.ask("/health/ready")
    assert response.status_code == 503
    assert response.json() == {"ready": False, "missing": ["workers", "keys", "queue"]}
    assert service.ask("/health/live").status_code == 200


def test_a_database_that_is_locked_for_writers_is_not_ready(start: Start, tmp_path: Path) -> None:
    service = start(queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys"})
    with closing(sqlite3.connect(tmp_path / "queue.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        response = service.ask("/health/ready")
        assert (response.status_code, response.json()["missing"]) == (503, ["queue"])
        started = time.monotonic()
        assert service.ask("/health/ready").status_code == 503
        assert time.monotonic() - started < 0.5
    time.sleep(PROBED_S)
    assert service.ask("/health/ready").status_code == 200


@pytest.mark.parametrize("role", ["nobody", "reviewer"])
@pytest.mark.parametrize("path", ["/v1/check", "/v1/check/medical"])
def test_doors_are_for_callers_and_operators(start: Start, role: str, path: str) -> None:
    response = start().ask(path, {"text": SAFE}, role)
    assert response.status_code == (401 if role == "nobody" else 403)
    assert ("www-authenticate" in response.headers) == (role == "nobody")


def test_a_key_works_in_either_header_and_ends_when_it_is_removed(start: Start) -> None:
    service = start()
    token = service.tokens["caller"]
    ask: dict[str, Any] = {"url": "/v1/check", "json": {"text": SAFE}}
    assert service.client.post(**ask, headers={"x-api-key": token}).status_code == 200
    for name, value in (("Authorization", f"Bearer {token[:-1]}"), ("Authorization", token), ("x-api-key", ""),
                        ("x-api-key", "é")):
        wrong = [(name.encode(), value.encode("latin-1"))]
        assert service.client.post(**ask, headers=wrong).status_code == 401
    remove_key(service.app.state.settings.keys, "caller")
    assert service.client.post(**ask, headers={"x-api-key": token}).status_code == 401
    _, again = add_key(service.app.state.settings.keys, "operator", name="new")
    assert "details" in service.client.post(**ask, headers={"x-api-key": again}).json()


def test_without_keys_only_the_loopback_is_answered(start: Start) -> None:
    service = start(no_auth=True)
    for host, status in (("127.0.0.1:8300", 200), ("localhost", 200), ("[::1]:1", 200), ("evil.example", 400),
                         ("127.0.0.1.evil.example", 400), ("[", 400)):
        response = service.client.post("/v1/check", json={"text": SAFE}, headers={"host": host})
        assert response.status_code == status
    assert "details" in service.client.post("/v1/check", json={"text": SAFE}, headers={"host": "localhost"}).json()


def chunks(size: int, number: int) -> Iterator[bytes]:
    for _ in range(number):
        yield b" " * size


def test_a_body_is_counted_whatever_its_length_says(start: Start) -> None:
    service = start(limits={"body_bytes": 1000})
    headers = {"Authorization": f"Bearer {service.tokens['caller']}", "content-type": "application/json"}
    for content, declared in ((b" " * 1001, {}), (chunks(100, 11), {}), (chunks(100, 11), {"content-length": "10"}),
                              (b" ", {"content-length": "9" * 30})):
        response = service.client.post("/v1/check", content=content, headers={**headers, **declared})
        assert (response.status_code, response.json()["error"]["code"]) == (413, "too_large")
    response = service.client.post("/v1/check", content=b" ", headers={**headers, "content-length": "ten"})
    assert (response.status_code, response.json()["error"]["code"]) == (400, "content_length")


def test_nobody_sees_what_was_sent(start: Start, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str],
                                   tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    caplog.set_level(0)
    service = start(queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys"})
    said = []
    for text in (f"Write to {MARK}.", f"{BREAKS} {MARK}", f"{UNDECIDED} {MARK}".replace("@", " at ")):
        for more in ({}, {"review": True}, {"question": MARK}, {"no_such_field": MARK}, {MARK: 1}, {"review": MARK}):
            said += [service.ask("/v1/check", {"text": text, **more}, role).text for role in ("caller", "operator")]
    said += [service.ask(f"/v1/check/{MARK}", {"text": SAFE}).text, service.ask(f"/{MARK}").text,
             service.ask(f"/v1/tickets/{MARK}").text, service.ask("/v1/check", content=MARK, method="POST").text]
    monkeypatch.setattr(service.gate, "decide", lambda *_, **__: 1 / len(MARK[99:]))
    said += [service.ask("/v1/check", {"text": MARK}).text]
    assert "internal" in said[-1]
    said += [service.ask("/metrics", role="operator").text, service.ask("/v1/observed", role="operator").text]
    out, err = capfd.readouterr()
    kept = b"".join(one.read_bytes() for one in tmp_path.glob("queue.db*"))
    logged = "".join(str(one.__dict__) for one in caplog.records if not one.name.startswith("httpx"))
    for where in (*said, service.log.getvalue(), logged, out, err, kept.decode("latin-1")):
        assert MARK not in where
        assert "zqxcanary" not in where
    (crash,) = service.events("crash")
    assert (crash["kind"], crash["place"].split(":")[0]) == ("ZeroDivisionError", "serve/doors/check.py")
    assert {one["event"] for one in service.events()} == {"start", "decision", "crash"}


def test_an_abstention_becomes_a_ticket_that_its_caller_can_fetch(start: Start, tmp_path: Path) -> None:
    service = start(queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys", "undo_s": 0})
    asked = service.ask("/v1/check", {"text": [SAFE, UNDECIDED], "review": True}).json()
    assert (asked["action"], asked["code"]) == ("pending", "privacy/undecided")
    path = f"/v1/tickets/{asked['ticket']}"
    assert service.ask(path).json()["status"] == "pending"
    assert service.ask(path, role="operator").status_code == 404
    queue = service.gate.queue
    view = queue.read(asked["ticket"], "reviewer")
    assert view.texts == (SAFE, UNDECIDED)
    queue.decide(asked["ticket"], "reviewer", action="release", code="nobody_described", version=view.row.version)
    found = service.ask(f"{path}?wait=5").json()
    assert (found["status"], found["payload"]) == ("released", {"texts": [SAFE, UNDECIDED]})


def test_tickets_of_a_removed_key_stay_closed_to_a_new_key_of_its_name(start: Start, tmp_path: Path) -> None:
    service = start(queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys"})
    ticket = service.ask("/v1/check", {"text": UNDECIDED, "review": True}).json()["ticket"]
    assert service.ask(f"/v1/tickets/{ticket}").status_code == 200
    file = service.app.state.settings.keys
    remove_key(file, "caller")
    service.tokens["caller"] = add_key(file, "caller", (), "caller")[1]
    assert service.ask(f"/v1/tickets/{ticket}").status_code == 404


def test_the_console_shows_the_queue_and_the_load(start: Start, tmp_path: Path) -> None:
    service = start(queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys"})
    for text in (SAFE, SAFE, SAFE, UNDECIDED):
        service.ask("/v1/check", {"text": text, "review": True})
    page = service.client.post("/console/sign-in", data={"key": service.tokens["reviewer"]})
    assert service.client.get("/console").url.path == "/console/queue"
    assert page.url.path == "/console/queue"
    assert service.events("crash") == []
    assert "medical, conservative" in page.text
    assert "25.0" in page.text
    at = presets()["points"]["conservative"]
    assert f"{100 * (at['ordinary_held'][0] - at['ordinary_flagged'][0]):.1f}" in page.text
    assert "Metformin" not in page.text


@pytest.mark.parametrize(("settings", "text", "action"), [
    ({}, LITIGATOR, "block"), ({"review_flags": True}, LITIGATOR, "pending"), ({"mode": "observe"}, UNDECIDED, "pass"),
    ({"review_flags": True}, BREAKS, "failed"), ({"review_flags": True}, [LITIGATOR, BREAKS], "block")])
def test_what_is_reviewed_is_set(start: Start, tmp_path: Path, settings: dict[str, Any], text: Any, action: str
                                 ) -> None:
    service = start(queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys"}, **settings)
    found = service.ask("/v1/check", {"text": text, "review": True}).json()
    assert (found["action"], "ticket" in found) == (action, action == "pending")
    assert len(service.gate.queue.tickets()) == (action == "pending")


def test_a_queue_that_is_gone_blocks_and_is_counted(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                                                    ) -> None:
    service = start(queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys"})

    def full(**_: Any) -> str:
        raise OSError(28, f"No space left for {MARK}")

    with monkeypatch.context() as patch:
        patch.setattr(service.gate.queue, "open", full)
        found = service.ask("/v1/check", {"text": UNDECIDED, "review": True}).json()
    assert (found["action"], found["code"]) == ("block", "privacy/undecided")
    assert [(one["operation"], one["kind"]) for one in service.events("queue_error")] == [("open", "OSError")]
    assert MARK not in service.log.getvalue()
    assert service.ask("/v1/check", {"text": UNDECIDED, "review": True}).json()["action"] == "pending"


def test_a_clock_that_jumps_decides_nothing(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    service = start(limits={"per_minute": 5})
    for jump in (-1e9, 1e9):
        at = time.time() + jump
        monkeypatch.setattr(time, "time", lambda at=at: at)
        assert service.ask("/v1/check", {"text": DIRECT}).json()["code"] == "privacy/direct"


def test_every_status_of_every_route_is_documented(start: Start) -> None:
    service = start()
    paths = json.loads(service.ask("/openapi.json").text)["paths"]
    assert {"/v1/check", "/v1/check/{guard}", "/v1/tickets/{ticket}", "/analyze", "/health/ready"} <= set(paths)
    for path, methods in paths.items():
        for method, about in methods.items():
            assert "500" in about["responses"], (path, method)
            if path.startswith("/v1/check"):
                assert {"200", "400", "401", "403", "404", "408", "413", "422", "429", "503"} <= set(about["responses"])


def test_there_is_no_door_for_hooks_that_show_a_part_of_the_answer(start: Start) -> None:
    hook = {"input_type": "response", "texts": [SAFE]}
    assert start().ask("/beta/litellm_basic_guardrail_api", hook).status_code == 404


def test_the_root_says_what_this_is_without_a_key(start: Start) -> None:
    response = start().ask("/", role="nobody")
    assert response.status_code == 200
    assert (response.json()["service"], response.json()["console"]) == ("discreet", None)


def test_a_load_balancer_may_probe_by_head(start: Start) -> None:
    service = start()
    for path in ("/", "/health/live", "/health/ready", "/metrics", "/openapi.json"):
        whole, head = (service.ask(path, role="operator", method=method) for method in ("GET", "HEAD"))
        assert (head.status_code, head.content) == (200, b""), path
        assert head.headers["content-type"] == whole.headers["content-type"]
    service.gate.workers.loaded = 0
    assert service.ask("/health/ready", method="HEAD").status_code == 503
    assert service.ask("/metrics", role="nobody", method="HEAD").status_code == 401
    assert service.ask("/v1/check", method="HEAD").status_code == 405  # What changes something answers its own alone.


@pytest.mark.parametrize("path", ["/health", "/healthz", "/health/"])
def test_a_probe_at_another_path_is_told_the_right_ones_and_not_to_bring_a_key(start: Start, path: str) -> None:
    response = start().ask(path, role="nobody")
    assert (response.status_code, response.json()["error"]["message"]) == (
        404, "there is nothing of that name; did you mean /health/live or /health/ready?")


@pytest.mark.parametrize(("path", "methods"), [("/v1/check", "POST"), ("/guards/medical/v1/moderations", "POST"),
                                               ("/v1/observed", "GET"), ("/", "GET")])
def test_another_method_is_named(start: Start, path: str, methods: str) -> None:
    response = start().ask(path, role="operator", method="DELETE")
    assert response.status_code == 405
    assert response.json()["error"]["message"] == f"another method was expected: {methods}"
