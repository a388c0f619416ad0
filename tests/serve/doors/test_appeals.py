"""`/v1/appeals`: a flag that a caller calls wrong waits for a reviewer, whether the guard enforces or observes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import BREAKS, LITIGATOR, SAFE, UNDECIDED, Service, Start

from discreet.serve.console.statistics import reviewing
from discreet.serve.queue.audit import decided


def queued(start: Start, tmp_path: Path, **given: Any) -> Service:
    return start(queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys", "undo_s": 0}, **given)


@pytest.mark.parametrize("mode", ["enforce", "observe"])
@pytest.mark.parametrize("path", ["/v1/appeals", "/v1/appeals/medical"])
def test_a_flag_goes_to_review_and_back(start: Start, tmp_path: Path, mode: str, path: str) -> None:
    service = queued(start, tmp_path, mode=mode)
    found = service.ask(path, {"text": [SAFE, LITIGATOR]}).json()
    assert (found["action"], found["code"], found["results"]) == ("pending", "privacy/contextual",
                                                                  ["ok", "privacy/contextual"])
    queue = service.gate.queue
    [row] = queue.tickets()
    assert (row.id, row.appeal, row.caller) == (found["ticket"], True, "caller")
    view = queue.read(row.id, "anna")
    assert view.texts == (SAFE, LITIGATOR)
    queue.decide(row.id, "anna", action="release", code="nobody_described", version=view.row.version)
    answer = service.ask(f"/v1/tickets/{row.id}?wait=5").json()
    assert (answer["status"], answer["payload"]) == ("released", {"texts": [SAFE, LITIGATOR]})
    assert reviewing(queue.database, 0).appealed.value == 1
    assert list(decided(queue.database)) == []  # Callers chose it: no sample to set thresholds by.
    assert [one["action"] for one in queue.audited(0, 10, None)][:1] == ["appeal"]
    assert 'discreet_appeals_total{code="privacy/contextual",guard="medical"} 1.0' in service.ask(
        "/metrics", role="operator").text
    for word in ("litigator", "Omaha", "Metformin"):
        assert word not in service.log.getvalue()


def test_an_abstention_waits_too_and_what_is_safe_does_not(start: Start, tmp_path: Path) -> None:
    service = queued(start, tmp_path)
    assert service.ask("/v1/appeals", {"text": UNDECIDED}).json()["action"] == "pending"
    safe = service.ask("/v1/appeals", {"text": SAFE}).json()
    assert (safe["action"], "ticket" in safe) == ("pass", False)
    assert service.ask("/v1/appeals", {"text": BREAKS}).status_code == 503
    assert len(service.gate.queue.tickets()) == 1


def test_an_appeal_changes_nothing_of_what_is_remembered_or_observed(start: Start, tmp_path: Path) -> None:
    service = queued(start, tmp_path, mode="observe")
    service.ask("/v1/appeals", {"text": LITIGATOR})
    assert service.ask("/v1/observed", role="operator").json() == []
    assert service.events("would_withhold") == []
    assert service.events("decision") == []


def test_who_may_appeal(start: Start, tmp_path: Path) -> None:
    service = queued(start, tmp_path, bound=("medical",), default_guard="medical",
                     guards={"medical": {"domain": "medical"}, "law": {"domain": "law"}})
    body = {"text": LITIGATOR}
    assert [service.ask("/v1/appeals", body, role).status_code for role in ("nobody", "reviewer")] == [401, 403]
    assert service.ask("/v1/appeals/law", body).status_code == 403
    assert service.ask("/v1/appeals", {**body, "review": True}).status_code == 422
    ticket = service.ask("/v1/appeals", body).json()["ticket"]
    assert service.ask(f"/v1/tickets/{ticket}", role="operator").status_code == 404


def test_without_a_queue_there_is_nobody_to_ask(start: Start) -> None:
    response = start().ask("/v1/appeals", {"text": LITIGATOR})
    assert (response.status_code, response.json()["error"]["code"]) == (404, "no_queue")


def test_a_queue_that_is_gone_is_said(start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = queued(start, tmp_path)

    def full(**_: Any) -> str:
        raise OSError(28, "full")

    monkeypatch.setattr(service.gate.queue, "open", full)
    response = service.ask("/v1/appeals", {"text": LITIGATOR})
    assert (response.status_code, response.json()["error"]["code"]) == (503, "queue")
