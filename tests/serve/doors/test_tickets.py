"""A key's own tickets, tickets whose caller has gone, and the audit for another system."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.conftest import Cli, cli  # noqa: F401
from tests.serve.conftest import UNDECIDED, Service, Start
from tests.serve.doors.test_openai import ASK
from tests.serve.doors.upstream import Model

from discreet.serve.keys import add_key, remove_key


def queued(tmp_path: Path, **more: Any) -> dict[str, Any]:
    return {"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys", "undo_s": 0, **more}


def until(is_so: Any) -> None:
    end = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < end
        time.sleep(.05)


def test_a_caller_lists_its_own_tickets(start: Start, tmp_path: Path) -> None:
    service = start(queue=queued(tmp_path))
    made = [service.ask("/v1/check", {"text": UNDECIDED, "review": True}, role).json()["ticket"]
            for role in ("caller", "caller", "operator")]
    found = service.ask("/v1/tickets").json()
    assert [one["id"] for one in found["tickets"]] == [made[1], made[0]]
    assert found["before"] is None
    assert {(one["status"], one["guard"], one["code"]) for one in found["tickets"]} == {
        ("pending", "medical", "privacy/undecided")}
    first = service.ask("/v1/tickets?limit=1").json()
    assert [one["id"] for one in first["tickets"]] == [made[1]]
    assert [one["id"] for one in service.ask(f"/v1/tickets?before={first['before']}").json()["tickets"]] == [made[0]]
    assert service.ask("/v1/tickets", role="reviewer").status_code == 403
    assert service.ask("/v1/tickets?limit=0").status_code == 422
    assert "payload" not in str(found)
    assert start().ask("/v1/tickets").status_code == 404


def gone_after(service: Service, path: str, body: Any, seconds: float) -> None:
    """A request whose caller leaves after some seconds."""
    sent = json.dumps(body).encode()
    headers = [(b"content-type", b"application/json"), (b"x-api-key", service.tokens["caller"].encode())]
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "path": path,
             "raw_path": path.encode(), "root_path": "", "scheme": "http", "query_string": b"", "headers": headers,
             "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2), "state": {}}
    messages = [{"type": "http.request", "body": sent, "more_body": False}]

    async def receive() -> dict[str, Any]:
        if messages:
            return messages.pop()
        await asyncio.sleep(seconds)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        pass

    async def run() -> None:
        await asyncio.wait_for(service.app(scope, receive, send), 20)
        await asyncio.gather(*service.gate._ending)

    asyncio.run(run())


def test_an_id_that_can_be_none_asks_no_database(start: Start, tmp_path: Path) -> None:
    service = start(queue=queued(tmp_path))
    (tmp_path / "queue.db").unlink()
    for ticket, status in (("a%00", 404), ("a-b", 404), ("a" * 32, 503)):
        assert service.ask(f"/v1/tickets/{ticket}").status_code == status


@pytest.mark.parametrize("stream", [False, True])
def test_the_ticket_of_a_caller_who_leaves_while_it_is_held_ends(start: Start, tmp_path: Path, stream: bool) -> None:
    model = Model(lambda body: UNDECIDED)
    service = start(transport=model.transport, upstream={"url": "http://model.test/v1"}, hold_s=15, keep_alive_s=.1,
                    queue=queued(tmp_path))
    gone_after(service, "/v1/chat/completions", {**ASK, "stream": stream}, .5)
    [ticket] = service.ask("/v1/tickets").json()["tickets"]
    assert ticket["status"] == "expired"
    rows = [json.loads(line) for line in service.ask("/v1/audit", role="operator").text.splitlines()]
    assert [(row["actor"], row["action"], row["code"]) for row in rows] == [
        ("caller", "open", "privacy/undecided"), ("discreet", "end", "caller_gone")]


def test_a_ticket_that_its_caller_knows_waits_on(start: Start, tmp_path: Path) -> None:
    model = Model(lambda body: UNDECIDED)
    service = start(transport=model.transport, upstream={"url": "http://model.test/v1"}, queue=queued(tmp_path))
    for path, body in (("/v1/chat/completions", ASK), ("/v1/check", {"text": UNDECIDED, "review": True})):
        assert service.ask(path, body).status_code == 200
    rows = [service.gate.queue.row(one["id"]) for one in service.ask("/v1/tickets").json()["tickets"]]
    assert [(row["status"], row["tell_by"]) for row in rows] == [("pending", None)] * 2


def test_tickets_of_a_removed_key_end(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.serve.app.KEYS_S", .1)
    service = start(queue=queued(tmp_path))
    mine = service.ask("/v1/check", {"text": UNDECIDED, "review": True}).json()["ticket"]
    other = service.ask("/v1/check", {"text": UNDECIDED, "review": True}, "operator").json()["ticket"]
    file = service.app.state.settings.keys
    kept = file.read_text()
    file.write_text("{")
    until(lambda: any(one["operation"] == "keys" for one in service.events("queue_error")))
    file.write_text(kept)
    remove_key(file, "caller")
    add_key(file, "caller", (), "caller")  # Of the same name, and another one.
    queue = service.gate.queue
    until(lambda: queue.row(mine)["status"] == "expired")
    assert (queue.row(mine)["ended"], queue.row(other)["status"]) == ("key_removed", "pending")


def test_the_audit_as_json_lines(start: Start, tmp_path: Path, cli: Cli) -> None:  # noqa: F811
    service = start(queue=queued(tmp_path))
    tickets = [service.ask("/v1/check", {"text": UNDECIDED, "review": True}).json()["ticket"] for _ in range(2)]
    response = service.ask("/v1/audit?limit=1", role="operator")
    assert response.headers["content-type"] == "application/x-ndjson"
    [row] = [json.loads(line) for line in response.text.splitlines()]
    assert (row["seq"], row["ticket"], row["action"], row["actor"]) == (1, tickets[0], "open", "caller")
    rest = service.ask(f"/v1/audit?after={row['seq']}", role="operator").text.splitlines()
    assert [json.loads(line)["ticket"] for line in rest] == [tickets[1]]
    for role in ("caller", "reviewer"):
        assert service.ask("/v1/audit", role=role).status_code == 403
    (tmp_path / "serve.yaml").write_text(yaml.safe_dump({
        "guards": {"medical": {"domain": "medical"}}, "no_auth": True, "queue": {
            "url": f"sqlite:///{tmp_path}/queue.db", "key_folder": str(tmp_path / "keys")}}))
    ended = cli("serve", "audit", "--config", tmp_path / "serve.yaml", "--output", tmp_path / "a.jsonl", "--after", 1)
    assert (ended.code, (tmp_path / "a.jsonl").read_text().splitlines()) == (0, rest)
    assert cli("serve", "audit", "--config", tmp_path / "serve.yaml", "--after", 1).code == 2
