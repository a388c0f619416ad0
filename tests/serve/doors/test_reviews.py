"""`/v1/reviews`: what reviewers do in the console, as JSON, under the same rights, reservations and rules."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import BREAKS, LITIGATOR, SAFE, UNDECIDED, Service, Start

from discreet.serve.keys import add_key

EDITED = f"{UNDECIDED} Fragen Sie Ihre Apotheke."
"""A wording of UNDECIDED that the guard cannot decide on either."""


@pytest.fixture
def service(start: Start, tmp_path: Path) -> Service:
    return queued(start, tmp_path)


def queued(start: Start, tmp_path: Path, **more: Any) -> Service:
    """A service with a queue, and keys of further reviewers: bela, and lena of another guard."""
    found = start(guards={"medical": {"domain": "medical"}, "law": {"domain": "law"}}, default_guard="medical", queue={
        "url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys", "undo_s": 30, **more})
    for name, guards in (("bela", ()), ("lena", ("law",))):
        found.tokens[name] = add_key(found.app.state.settings.keys, "reviewer", guards, name)[1]
    return found


def held(service: Service, text: str = UNDECIDED, path: str = "/v1/check") -> str:
    body = {"text": text, **({"review": True} if path == "/v1/check" else {})}
    return str(service.ask(path, body).json()["ticket"])


def read(service: Service, ticket: str, role: str = "reviewer") -> Any:
    return service.ask(f"/v1/reviews/{ticket}", role=role)


def decide(service: Service, ticket: str, action: str, reason: str, role: str = "reviewer", **more: Any) -> Any:
    body = {"version": service.gate.queue.row(ticket)["version"], "action": action, "reason": reason, **more}
    return service.ask(f"/v1/reviews/{ticket}/decide", body, role)


def steps(service: Service) -> list[tuple[str, str, str | None]]:
    rows = [json.loads(line) for line in service.ask("/v1/audit", role="operator").text.splitlines()]
    return [(row["actor"], row["action"], row["code"]) for row in rows]


def test_a_ticket_is_listed_read_released_and_undone(service: Service) -> None:
    ticket = held(service)
    listed = service.ask("/v1/reviews", role="reviewer").json()["tickets"]
    assert [(one["id"], one["status"], one["version"], one["free"], one["caller"]) for one in listed] == [
        (ticket, "pending", 1, True, "caller")]
    assert "Metformin" not in str(listed)
    response = read(service, ticket)
    found = response.json()
    assert response.headers["cache-control"] == "no-store"
    assert (found["texts"], found["version"], found["reserved_by"]) == ([UNDECIDED], 2, "reviewer")
    assert found["heading"] == "The guard cannot read this answer: a sentence looks like German (de)"
    assert found["reason"] == "not judged: a sentence looks like German (de)"
    # What tells how to write around the guard is the operator's.
    assert not {"score", "logit", "delta", "tau", "threshold"} & {name for part in (found, *found["findings"])
                                                                   for name in part}
    assert {one["action"]: one["reasons"][:1] for one in found["actions"]} == {
        "release": ["nobody_described"], "release_edited": ["removed"], "block": ["names_a_person"], "leave": []}
    decided = decide(service, ticket, "release", "nobody_described").json()
    assert (decided["status"], decided["version"]) == ("decided", 3)
    assert decided["final_at"] > 0
    assert service.ask(f"/v1/tickets/{ticket}").json()["status"] == "pending"
    undone = service.ask(f"/v1/reviews/{ticket}/undo", {"version": 3}, "reviewer").json()
    assert (undone["status"], undone["version"]) == ("pending", 4)
    assert decide(service, ticket, "block", "singles_out").json()["status"] == "decided"
    assert steps(service) == [("caller", "open", "privacy/undecided"), *(("reviewer", *one) for one in (
        ("reserve", None), ("read", None), ("release", "nobody_described"), ("undo", None), ("block", "singles_out")))]
    assert "Metformin" not in service.log.getvalue()


def test_a_flag_that_was_wrong_is_released_to_its_caller(start: Start, tmp_path: Path) -> None:
    service = queued(start, tmp_path, undo_s=0)
    ticket = held(service, LITIGATOR, "/v1/appeals")
    [row] = service.ask("/v1/reviews", role="reviewer").json()["tickets"]
    assert (row["appeal"], row["code"]) == (True, "privacy/contextual")
    assert {one["type"] for one in read(service, ticket).json()["findings"]} >= {"age", "occupation"}
    assert decide(service, ticket, "release", "too_many_fit").status_code == 200
    assert service.ask(f"/v1/tickets/{ticket}").json()["payload"] == {"texts": [LITIGATOR]}


def test_only_keys_of_reviewers_and_no_cookie_open_it(service: Service) -> None:
    ticket = held(service)
    paths = (("/v1/reviews", None), (f"/v1/reviews/{ticket}", None),
             *((f"/v1/reviews/{ticket}/{name}", {"version": 1}) for name in ("undo", "leave")),
             (f"/v1/reviews/{ticket}/decide", {"version": 1, "action": "release", "reason": "other"}))
    signed = service.client.post("/console/sign-in", data={"key": service.tokens["reviewer"]}, follow_redirects=False)
    assert "discreet-session" in signed.headers["set-cookie"]
    cookies = {"cookie": signed.headers["set-cookie"].split(";")[0]}
    assert service.client.get("/console/queue", headers=cookies, follow_redirects=False).status_code == 200
    for path, body in paths:
        assert [service.ask(path, body, role).status_code for role in ("caller", "operator", "nobody")] == [
            403, 403, 401]
        method = "GET" if body is None else "POST"
        assert service.client.request(method, path, json=body, headers=cookies).status_code == 401
    assert service.gate.queue.row(ticket)["version"] == 1
    form = service.client.post(f"/v1/reviews/{ticket}/decide", content='{"version": 1, "action": "release", "reason": '
                               '"other"}', headers={"x-api-key": service.tokens["reviewer"],
                                                    "content-type": "text/plain"})
    assert form.status_code == 422


def test_without_keys_it_is_closed(start: Start, tmp_path: Path) -> None:
    service = start(no_auth=True, queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys"})
    response = service.client.get("/v1/reviews", headers={"host": "127.0.0.1"})
    assert (response.status_code, response.json()["error"]["code"]) == (403, "forbidden")
    assert start().ask("/v1/reviews", role="reviewer").json()["error"]["code"] == "no_queue"


def test_a_key_has_the_tickets_of_its_guards_only(service: Service) -> None:
    ticket = held(service)
    assert service.ask("/v1/reviews", role="lena").json() == {"tickets": []}
    for response in (read(service, ticket, "lena"), decide(service, ticket, "block", "other", "lena"),
                     service.ask(f"/v1/reviews/{ticket}/undo", {"version": 1}, "lena"),
                     service.ask(f"/v1/reviews/{ticket}/leave", {"version": 1}, "lena"),
                     read(service, "none"), read(service, "0" * 32)):
        assert (response.status_code, response.json()["error"]["code"]) == (404, "unknown_ticket")
    assert service.gate.queue.row(ticket)["version"] == 1
    assert service.ask("/v1/reviews?guard=law", role="reviewer").json() == {"tickets": []}
    assert len(service.ask("/v1/reviews?guard=medical", role="reviewer").json()["tickets"]) == 1


def test_a_reservation_keeps_others_away_until_it_is_given_back(service: Service) -> None:
    ticket = held(service)
    first = read(service, ticket).json()
    assert [one["free"] for one in service.ask("/v1/reviews", role="bela").json()["tickets"]] == [False]
    for response in (read(service, ticket, "bela"), decide(service, ticket, "release", "other", "bela"),
                     decide(service, ticket, "release_edited", "removed", "bela", texts=[SAFE])):
        assert (response.status_code, response.json()["error"]["code"]) == (409, "conflict")
        assert "Metformin" not in response.text
    assert [one for one in steps(service) if one[0] == "bela"] == []
    again = read(service, ticket).json()
    assert (again["version"], again["reserved_until"] >= first["reserved_until"]) == (first["version"], True)
    left = service.ask(f"/v1/reviews/{ticket}/leave", {"version": first["version"]}, "reviewer")
    assert (left.status_code, left.json()["status"]) == (200, "pending")
    assert read(service, ticket, "bela").json()["reserved_by"] == "bela"


def test_reading_again_prolongs_the_reservation(service: Service) -> None:
    ticket, queue, kept = held(service), service.gate.queue, service.gate.queue.clock
    until = read(service, ticket).json()["reserved_until"]
    queue.clock = lambda: kept() + 200
    assert read(service, ticket).json()["reserved_until"] > until + 100


def test_who_comes_with_another_version_or_action_writes_nothing(service: Service) -> None:
    ticket = held(service)
    version = read(service, ticket).json()["version"]
    stale = service.ask(f"/v1/reviews/{ticket}/decide", {"version": version - 1, "action": "block", "reason": "other"},
                        "reviewer")
    assert (stale.status_code, stale.json()["error"]["code"]) == (409, "conflict")
    for action, reason, more in (("release", "removed", {}), ("release", "other", {"texts": [SAFE]}),
                                 ("release_edited", "removed", {}), ("publish", "other", {}),
                                 ("release_edited", "removed", {"texts": [SAFE, SAFE]}),
                                 ("block", "other", {"note": "no free text"})):
        response = decide(service, ticket, action, reason, **more)
        assert response.status_code == 422, (action, reason)
    assert service.gate.queue.row(ticket)["version"] == version


@pytest.mark.parametrize(("text", "code"), [(LITIGATOR, "privacy/contextual"), (BREAKS, "privacy/not_judged")])
def test_an_edited_text_that_the_guard_refuses_is_not_written(service: Service, text: str, code: str) -> None:
    ticket = held(service)
    read(service, ticket)
    for confirm in (None, sha256(text.encode()).hexdigest()):
        response = decide(service, ticket, "release_edited", "removed", texts=[text], confirm=confirm)
        found = response.json()
        assert (response.status_code, found["error"]["code"], found["confirm"]) == (422, code, None)
        assert bool(found["findings"]) == (text == LITIGATOR)
        assert text not in response.text
    assert service.gate.queue.row(ticket)["status"] == "pending"
    assert "litigator" not in service.log.getvalue()


def test_an_edited_text_that_stays_undecided_needs_confirmation_of_that_very_text(
        start: Start, tmp_path: Path) -> None:
    service = queued(start, tmp_path, undo_s=0)
    ticket = held(service)
    read(service, ticket)
    refused = decide(service, ticket, "release_edited", "removed", texts=[EDITED]).json()
    assert refused["error"]["code"] == "privacy/undecided"
    other = decide(service, ticket, "release_edited", "removed", texts=[f"{EDITED} Ja."], confirm=refused["confirm"])
    assert other.status_code == 422
    done = decide(service, ticket, "release_edited", "removed", texts=[EDITED], confirm=refused["confirm"])
    assert done.status_code == 200
    assert service.ask(f"/v1/tickets/{ticket}").json()["payload"] == {"texts": [EDITED]}


def test_halves_of_a_surrogate_pair_keep_nobody_from_reading_a_ticket(start: Start, tmp_path: Path) -> None:
    """JSON can say "\\ud800" and an answer in UTF-8 cannot: such a ticket could be opened and never be read."""
    service = queued(start, tmp_path, undo_s=0)
    sent = json.dumps({"text": f"{UNDECIDED} \ud800", "question": "\udfffWas?", "review": True}).encode()
    for action, text in (("release", f"{UNDECIDED} \ufffd"), ("release_edited", f"{SAFE} \ufffd")):
        ticket = service.ask("/v1/check", method="POST", content=sent).json()["ticket"]
        found = read(service, ticket).json()
        assert (found["texts"], found["question"]) == ([f"{UNDECIDED} \ufffd"], "\ufffdWas?")
        body = {"version": found["version"], "action": action, "reason": "other"} | (
            {"texts": [f"{SAFE} \ud800"]} if action == "release_edited" else {})
        assert service.ask(f"/v1/reviews/{ticket}/decide", role="reviewer", method="POST",
                           content=json.dumps(body).encode()).status_code == 200
        assert service.ask(f"/v1/tickets/{ticket}").json()["payload"] == {"texts": [text]}
    assert service.events("crash") == []


def test_two_reviewers_where_the_service_asks_for_them(start: Start, tmp_path: Path) -> None:
    service = queued(start, tmp_path, second_reviewer=True, undo_s=0)
    ticket = held(service)
    assert decide(service, ticket, "release", "other").json()["status"] == "pending"
    [row] = service.ask("/v1/reviews", role="reviewer").json()["tickets"]
    assert (row["first_by"], row["free"]) == ("reviewer", False)
    assert [read(service, ticket).status_code, decide(service, ticket, "release", "other").status_code] == [409, 409]
    assert read(service, ticket, "bela").json()["first_by"] == "reviewer"
    assert decide(service, ticket, "release", "other", "bela").status_code == 200
    assert service.ask(f"/v1/tickets/{ticket}").json()["status"] == "released"


def test_a_blind_recheck_shows_nothing_of_the_first_decision(start: Start, tmp_path: Path) -> None:
    service = queued(start, tmp_path, recheck=1, undo_s=0)
    ticket = held(service)
    decide(service, ticket, "block", "singles_out")
    service.gate.queue.sweep()
    [row] = service.ask("/v1/reviews?kind=recheck", role="bela").json()["tickets"]
    assert (row["id"], row["status"]) == (ticket, "recheck")
    found = read(service, ticket, "bela").json()
    assert [one["action"] for one in found["actions"]] == ["release", "block"]
    assert "singles_out" not in str({**found, "actions": []})
    assert "blocked" not in str(found)
    assert read(service, ticket).status_code == 409
    assert decide(service, ticket, "release", "other", "bela").status_code == 200
    assert service.ask(f"/v1/tickets/{ticket}").json()["status"] == "blocked"


def test_what_is_over_has_no_text(service: Service) -> None:
    ticket, queue, kept = held(service), service.gate.queue, service.gate.queue.clock
    queue.clock = lambda: kept() + 3601
    response = read(service, ticket)
    assert (response.status_code, "is expired" in response.json()["error"]["message"]) == (409, True)
    assert decide(service, ticket, "release", "other").status_code == 409
    assert "Metformin" not in response.text


def test_a_queue_that_is_away_is_said_and_counted(service: Service, tmp_path: Path) -> None:
    ticket = held(service)
    with closing(sqlite3.connect(tmp_path / "queue.db")) as database:
        database.execute("ALTER TABLE tickets RENAME TO elsewhere")
    for response in (service.ask("/v1/reviews", role="reviewer"), read(service, ticket), service.ask(
            f"/v1/reviews/{ticket}/decide", {"version": 1, "action": "block", "reason": "other"}, "reviewer")):
        assert (response.status_code, response.json()["error"]["code"]) == (503, "queue")
        assert "SELECT" not in response.text
    assert {"list", "read", "decide"} <= {one["operation"] for one in service.events("queue_error")}
