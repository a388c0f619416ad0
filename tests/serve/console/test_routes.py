from __future__ import annotations

from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select
from tests.guard.population.standin import StandIn
from tests.serve.conftest import Start
from tests.serve.console.conftest import LITIGATOR, PART, QUESTION, UNDECIDED, Desk, Person

from discreet.core.records import CAUSES, Cause, Reason
from discreet.guard.decide import sentence
from discreet.guard.guard import Guard
from discreet.serve.console.pages import heading
from discreet.serve.console.session import COOKIE, HOURS, WRONG_A_MINUTE
from discreet.serve.keys import remove_key
from discreet.serve.queue.tables import sessions

SAFE_EDIT = "Metformin lowers blood glucose."
LATER = 11.0
"""Seconds after which a decision is final."""


def test_every_page_says_no_to_frames_caches_and_foreign_code(desk: Desk) -> None:
    ticket, anna = desk.open(), desk.person("anna")
    for path in ("/sign-in", "/queue", f"/tickets/{ticket}", "/statistics", "/audit", "/tickets/none", "/nowhere"):
        found = anna.get(path)
        policy = found.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert found.headers["cache-control"].startswith("no-store")
        assert found.headers["x-frame-options"] == "DENY"
        assert found.headers["referrer-policy"] == "same-origin"
        assert " style=" not in found.text
        assert "<script>" not in found.text
        assert "onclick" not in found.text


def test_who_has_not_signed_in_sees_a_form_only(desk: Desk) -> None:
    ticket, nobody = desk.open(), Person(desk.app)
    for path in ("/", "/queue", "/next", f"/tickets/{ticket}", "/statistics", "/audit"):
        assert "/console/sign-in" in nobody.get(path).url
    for path in ("decide", "undo", "leave", "heartbeat"):
        assert "/console/sign-in" in nobody.post(f"/tickets/{ticket}/{path}", version=1).url
    assert nobody.get("/queue", **{"x-console": "1"}).status == 401
    assert desk.queue.row(ticket)["version"] == 1


def test_the_cookie_holds_no_key_and_scripts_cannot_read_it(desk: Desk) -> None:
    anna = Person(desk.app, "https://testserver")
    response = anna.client.post("/console/sign-in", data={"key": desk.keys["anna"]}, follow_redirects=False)
    said = response.headers["set-cookie"].lower()
    assert all(part in said for part in ("httponly", "samesite=strict", "secure", "path=/console"))
    assert desk.keys["anna"] not in response.headers["set-cookie"]
    assert "key" not in response.headers["location"]


@pytest.mark.parametrize(("name", "status"), [("clinic", 401), ("nobody", 401)])
def test_other_keys_do_not_sign_in(desk: Desk, name: str, status: int) -> None:
    found = Person(desk.app).sign_in(desk.keys.get(name, "dsk_wrong"))
    assert found.status == status
    assert COOKIE not in found.headers.get("set-cookie", "")


def test_a_session_ends_with_its_key_and_after_hours(desk: Desk) -> None:
    anna, bela = desk.person("anna"), desk.person("bela")
    remove_key(desk.file, "anna")
    assert "/sign-in" in anna.get("/queue").url
    assert "/sign-in" not in bela.get("/queue").url
    desk.clock.ahead += HOURS * 3600 + 5
    assert "/sign-in" in bela.get("/queue").url


def test_signing_out_ends_the_session_for_every_copy_of_its_cookie(desk: Desk) -> None:
    anna, thief, other = desk.person("anna"), Person(desk.app), desk.person("anna")
    cookie = f"{COOKIE}={anna.client.cookies[COOKIE]}".encode()
    page = thief.get("/queue", cookie=cookie)
    assert "/sign-in" not in page.url
    assert "/sign-in" in anna.post("/sign-out", token=page.field("token")).url
    assert "/sign-in" in anna.get("/queue").url
    assert "/sign-in" in Person(desk.app).get("/queue", cookie=cookie).url
    assert "/sign-in" not in other.get("/queue").url
    assert anna.client.cookies.get(COOKIE) is None


def test_the_database_holds_no_cookie(desk: Desk) -> None:
    cookie = desk.person("anna").client.cookies[COOKIE]
    with desk.queue.database.reading() as connection:
        rows = list(connection.execute(select(sessions)))
    assert len(rows) == 1
    assert cookie not in str(rows)


def test_sign_ins_are_noted_and_wrong_keys_are_slowed(desk: Desk) -> None:
    found = [Person(desk.app).sign_in(f"dsk_wrong{number}").status for number in range(200)]
    assert found == [401] * WRONG_A_MINUTE + [429] * (200 - WRONG_A_MINUTE)
    slowed = Person(desk.app).sign_in(desk.keys["anna"])
    assert slowed.status == 429
    assert 50 < int(slowed.headers["retry-after"]) <= 61
    desk.clock.ahead += 61
    anna = desk.person("anna")
    anna.post("/sign-out", token=anna.get("/queue").field("token"))
    assert Person(desk.app).sign_in(desk.keys["clinic"]).status == 401
    kinds = [event for event, _ in desk.noted]
    assert kinds == ["sign_in_failed"] * WRONG_A_MINUTE + ["sign_in_slowed"] * (201 - WRONG_A_MINUTE) + [
        "sign_in", "sign_out", "sign_in_failed"]
    assert desk.noted[-3][1] == {"address": "testclient", "caller": "anna", "role": "reviewer", "method": "key"}
    assert desk.noted[-1][1] == {"address": "testclient", "reason": "role"}
    assert "dsk_" not in str(desk.noted)


@pytest.mark.parametrize(("trusted", "secure"), [(["127.0.0.0/8"], True), (["10.0.0.0/8"], False), ([], False)])
def test_the_cookie_is_secure_behind_a_trusted_proxy(start: Start, tmp_path: Path, trusted: list[str],
                                                     secure: bool) -> None:
    service = start(trusted_proxies=trusted, queue={"url": f"sqlite:///{tmp_path}/q.db", "key_folder": tmp_path / "k"})
    client = TestClient(service.app, client=("127.0.0.1", 1))
    headers = {"x-forwarded-proto": "https", "x-forwarded-for": "192.0.2.7"}
    response = client.post("/console/sign-in", data={"key": service.tokens["reviewer"]}, headers=headers,
                           follow_redirects=False)
    assert ("secure" in response.headers["set-cookie"].lower()) == secure
    assert service.events("sign_in")[0]["address"] == ("192.0.2.7" if secure else "127.0.0.1")


def test_a_forged_or_foreign_cookie_is_nobody(desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    other = Desk(tmp_path_factory.mktemp("other"), desk.guard)
    foreign = other.person("anna").client.cookies[COOKIE]
    for value in ("", "x", "gAAAAA", foreign, "ä"):
        person = Person(desk.app)
        assert "/sign-in" in person.get("/queue", cookie=f"{COOKIE}={value}".encode()).url


@pytest.mark.parametrize("onward", ["https://evil.example/", "//evil.example/", "/v1/check", "/console//evil",
                                    "/console/\\e"])
def test_signing_in_leads_nowhere_else(desk: Desk, onward: str) -> None:
    response = Person(desk.app).client.post("/console/sign-in", data={"key": desk.keys["anna"], "next": onward},
                                            follow_redirects=False)
    assert response.headers["location"] == "/console/queue"


def test_forms_need_the_token_of_the_session(desk: Desk) -> None:
    ticket, anna, bela = desk.open(), desk.person("anna"), desk.person("bela")
    page, other = anna.get(f"/tickets/{ticket}"), bela.get("/queue")
    for token in ("", "x", other.field("token")):
        found = anna.post(f"/tickets/{ticket}/decide", token=token, version=page.field("version"),
                          choice="release:consent")
        assert found.status == 403
    assert desk.queue.row(ticket)["decision"] is None
    assert Person(desk.app).client.post("/console/sign-in", data={"key": desk.keys["anna"]},
                                        headers={"sec-fetch-site": "cross-site"}).status_code == 403


def test_roles(desk: Desk) -> None:
    ticket, otto, anna = desk.open(), desk.person("otto"), desk.person("anna")
    assert otto.get(f"/tickets/{ticket}").status == 403
    assert otto.get("/next").status == 403
    assert f"/tickets/{ticket}" not in otto.get("/queue").text
    assert otto.get("/audit").status == otto.get("/statistics").status == 200
    assert anna.get("/audit").status == 403
    page = otto.get("/queue")
    found = otto.post(f"/tickets/{ticket}/decide", token=page.field("token"), version=1, choice="release:consent")
    assert found.status == 403
    assert desk.queue.row(ticket)["version"] == 1


def test_a_key_that_is_bound_to_a_guard_has_its_tickets_only(desk: Desk) -> None:
    ticket, own, lena = desk.open(), desk.open(guard="legal"), desk.person("lena")
    page = lena.get("/queue")
    assert own[:10] in page.text
    assert ticket[:10] not in page.text
    for path, fields in (("decide", {"choice": "release:consent"}), ("undo", {}), ("leave", {})):
        found = lena.post(f"/tickets/{ticket}/{path}", token=page.field("token"), version=1, **fields)
        assert found.status == 404
    assert lena.get(f"/tickets/{ticket}").status == 404
    assert desk.queue.row(ticket)["version"] == 1
    assert lena.get(f"/tickets/{own}").status == 200


def test_the_queue_stands_by_deadline_is_filtered_and_holds_no_text(desk: Desk) -> None:
    first = desk.open(LITIGATOR, code="privacy/contextual")
    desk.clock.ahead += 5
    second, third = desk.open(), desk.open(guard="legal")
    anna = desk.person("anna")
    page = anna.get("/queue")
    assert page.text.index(first[:10]) < page.text.index(second[:10])
    assert "3 tickets wait" in page.text
    for text in (LITIGATOR, UNDECIDED, PART, QUESTION, "52-year-old", "MARKER"):
        assert text not in page.text
    found = anna.get("/queue?code=privacy/contextual")
    assert first[:10] in found.text
    assert second[:10] not in found.text
    found = anna.get("/queue?guard=legal", **{"x-console": "1"})
    assert third[:10] in found.text
    assert first[:10] not in found.text
    assert "<html" not in found.text


def test_a_page_that_is_not_there_says_so_and_leads_on(desk: Desk) -> None:
    found = desk.person("anna").get("/nowhere")
    assert found.status == 404
    assert "There is no such page" in found.text
    assert 'href="/console/queue"' in found.text
    assert found.headers["content-security-policy"]


def test_the_load_stands_next_to_what_was_measured(desk: Desk) -> None:
    anna = desk.person("anna")
    assert "measured on ordinary" not in anna.get("/queue").text
    desk.load.append({"guard": "medical", "point": "balanced", "judged": 1234, "undecided": 61,
                      "share": {"value": .049, "low": .039, "high": .063}, "expected": {"value": .078, "low": .058,
                                                                                         "high": .103}})
    page = anna.get("/queue").text
    assert "1,234" in page
    assert "4.9%" in page
    assert "7.8% [5.8%, 10.3%]" in page


def test_a_ticket_shows_question_answer_evidence_and_what_may_be_done(desk: Desk) -> None:
    ticket, anna = desk.open(LITIGATOR, code="privacy/contextual"), desk.person("anna")
    page = anna.get(f"/tickets/{ticket}")
    assert page.status == 200
    assert QUESTION in page.text
    assert '<mark class="k2 one">litigator<small>occupation 1</small></mark>' in page.text
    assert page.text.count('name="choice"') == 14
    assert "δ" not in page.text
    assert str(desk.queue.row(ticket)["figures"]["delta"]) not in page.text
    assert desk.queue.row(ticket)["reserved_by"] == "anna"


def test_text_is_shown_and_never_run(desk: Desk) -> None:
    text = '<script>alert(1)</script> & "quotes" \u202eevil\u202c \u200b\x07 end'
    ticket, anna = desk.open(text, question="<img src=x onerror=alert(2)>"), desk.person("anna")
    page = anna.get(f"/tickets/{ticket}").text
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert page.count('class="control"') >= 4
    assert "U+202E" in page


def test_opening_again_keeps_the_reservation_and_a_prefetch_takes_none(desk: Desk) -> None:
    ticket, anna = desk.open(), desk.person("anna")
    assert anna.get(f"/tickets/{ticket}", **{"sec-purpose": "prefetch"}).status == 503
    assert desk.queue.row(ticket)["version"] == 1
    first = anna.get(f"/tickets/{ticket}").field("version")
    assert anna.get(f"/tickets/{ticket}").field("version") == first == "2"


def test_only_one_reviewer_reads_a_ticket_at_a_time(desk: Desk) -> None:
    ticket, anna, bela = desk.open(), desk.person("anna"), desk.person("bela")
    mine = anna.get(f"/tickets/{ticket}")
    theirs = bela.get(f"/tickets/{ticket}")
    assert "anna has this ticket" in theirs.text
    assert PART not in theirs.text
    assert QUESTION not in theirs.text
    assert "anna" in bela.get("/queue").text
    anna.send(mine, f"/tickets/{ticket}/leave")
    assert PART in bela.get(f"/tickets/{ticket}").text


def test_a_reservation_lasts_with_heartbeats_and_ends_without(desk: Desk) -> None:
    ticket, anna, bela = desk.open(), desk.person("anna"), desk.person("bela")
    page = anna.get(f"/tickets/{ticket}")
    desk.clock.ahead += 200
    beat = anna.send(page, f"/tickets/{ticket}/heartbeat")
    assert beat.status == 200
    assert float(beat.text.partition(":")[2].rstrip("}")) > desk.clock() + 290
    desk.clock.ahead += 200
    assert "anna has this ticket" in bela.get(f"/tickets/{ticket}").text
    desk.clock.ahead += 101
    assert PART in bela.get(f"/tickets/{ticket}").text
    assert anna.send(page, f"/tickets/{ticket}/heartbeat").status == 409


def test_a_release_reaches_the_caller_when_it_can_no_longer_be_undone(desk: Desk) -> None:
    ticket, anna = desk.open(), desk.person("anna")
    done = anna.send(anna.get(f"/tickets/{ticket}"), f"/tickets/{ticket}/decide", choice="release:nobody_described")
    assert "<b>released</b>" in done.text
    assert "Undo" in done.text
    assert desk.content(ticket) is None
    desk.clock.ahead += LATER
    assert desk.content(ticket) == UNDECIDED
    again = anna.get(f"/tickets/{ticket}")
    assert "was released" in again.text
    assert PART not in again.text


def test_undo_takes_a_decision_back_and_not_later(desk: Desk) -> None:
    ticket, anna = desk.open(), desk.person("anna")
    done = anna.send(anna.get(f"/tickets/{ticket}"), f"/tickets/{ticket}/decide", choice="release:nobody_described")
    back = anna.send(done, f"/tickets/{ticket}/undo")
    assert PART in back.text
    desk.clock.ahead += LATER
    assert desk.content(ticket) is None
    done = anna.send(back, f"/tickets/{ticket}/decide", choice="release:nobody_described")
    desk.clock.ahead += LATER
    late = anna.send(done, f"/tickets/{ticket}/undo")
    assert late.status == 409
    assert desk.content(ticket) == UNDECIDED


def test_the_next_ticket_comes_after_a_decision(desk: Desk) -> None:
    first, second, anna = desk.open(), desk.open(LITIGATOR), desk.person("anna")
    page = anna.get(f"/tickets/{first}")
    assert f'data-next="/console/tickets/{second}"' in page.text
    done = anna.send(page, f"/tickets/{first}/decide", choice="block:cannot_tell")
    assert f"/console/tickets/{second}?decided={first}" in done.url
    assert f"/tickets/{first}/undo" in done.text
    last = anna.send(done, f"/tickets/{second}/decide", choice="block:sensitive")
    assert last.url.partition("?")[0].endswith("/queue")


def test_two_reviewers_race_and_one_decides(desk: Desk) -> None:
    ticket, anna, bela = desk.open(), desk.person("anna"), desk.person("bela")
    mine = anna.get(f"/tickets/{ticket}")
    desk.clock.ahead += 301
    theirs = bela.get(f"/tickets/{ticket}")
    late = anna.send(mine, f"/tickets/{ticket}/decide", choice="release:consent")
    assert late.status == 409
    assert "bela: took it (version 3). Nothing of yours was written" in late.text
    assert PART not in late.text
    assert desk.queue.row(ticket)["decision"] is None
    bela.send(theirs, f"/tickets/{ticket}/decide", choice="block:singles_out")
    late = anna.send(mine, f"/tickets/{ticket}/decide", choice="release:consent")
    assert (late.status, "bela: blocked it" in late.text) == (409, True)
    desk.clock.ahead += LATER
    assert desk.queue.state(ticket, "clinic", desk.mark).status == "blocked"


@pytest.mark.parametrize("version", ["", "-1", "x", "1", "99", "²", "9" * 40])
def test_a_stale_or_senseless_version_is_a_conflict(desk: Desk, version: str) -> None:
    ticket, anna = desk.open(), desk.person("anna")
    page = anna.get(f"/tickets/{ticket}")
    for path in ("decide", "undo", "leave", "heartbeat"):
        found = anna.post(f"/tickets/{ticket}/{path}", token=page.field("token"), version=version,
                          choice="release:consent")
        assert found.status == 409
    assert desk.queue.row(ticket)["version"] == 2


@pytest.mark.parametrize("choice", ["", "release", "release:", "release:because I say so", "destroy:other",
                                    "undo:other"])
def test_only_declared_actions_and_reasons(desk: Desk, choice: str) -> None:
    ticket, anna = desk.open(), desk.person("anna")
    found = anna.send(anna.get(f"/tickets/{ticket}"), f"/tickets/{ticket}/decide", choice=choice)
    assert found.status == 422
    assert desk.queue.row(ticket)["decision"] is None


def test_an_edited_text_is_judged_and_a_refusal_says_why(desk: Desk) -> None:
    ticket, anna = desk.open(), desk.person("anna")
    page = anna.get(f"/tickets/{ticket}")
    refused = anna.send(page, f"/tickets/{ticket}/decide", choice="release_edited:removed", text=LITIGATOR)
    assert refused.status == 422
    assert "privacy/contextual" in refused.text
    assert "<mark" in refused.text.partition('id="refused"')[2]
    assert desk.judged == [LITIGATOR]
    assert desk.queue.row(ticket)["decision"] is None
    done = anna.send(refused, f"/tickets/{ticket}/decide", choice="release_edited:removed", text=SAFE_EDIT)
    assert done.status == 200
    desk.clock.ahead += LATER
    assert desk.content(ticket) == SAFE_EDIT


def test_an_edited_text_that_stays_undecided_needs_confirmation_of_that_very_text(desk: Desk) -> None:
    ticket, anna, edit = desk.open(), desk.person("anna"), f"{UNDECIDED} Fragen Sie Ihre Apotheke."
    page = anna.get(f"/tickets/{ticket}")
    asked = anna.send(page, f"/tickets/{ticket}/decide", choice="release_edited:removed", text=edit)
    assert (asked.status, "privacy/undecided" in asked.text) == (422, True)
    digest = asked.field("confirmed")
    other = anna.send(asked, f"/tickets/{ticket}/decide", choice="release_edited:removed", text=edit + " Und mehr.",
                      confirmed=digest)
    assert other.status == 422
    flagged = anna.send(asked, f"/tickets/{ticket}/decide", choice="release_edited:removed", text=LITIGATOR,
                        confirmed=digest)
    assert flagged.status == 422
    assert anna.send(asked, f"/tickets/{ticket}/decide", choice="release_edited:removed", text=edit,
                     confirmed=digest).status == 200
    desk.clock.ahead += LATER
    assert desk.content(ticket) == edit


def test_a_browser_s_line_ends_do_not_change_a_text(desk: Desk) -> None:
    ticket, anna = desk.open("\nEine Zeile.\nUnd noch eine."), desk.person("anna")
    page = anna.get(f"/tickets/{ticket}")
    assert ">\n\nEine Zeile.\nUnd noch eine.</textarea>" in page.text
    anna.send(page, f"/tickets/{ticket}/decide", choice="release_edited:other", text="One line.\r\nAnother.")
    desk.clock.ahead += LATER
    assert desk.content(ticket) == "One line.\nAnother."


def test_what_expired_shows_no_text(desk: Desk) -> None:
    ticket, anna = desk.open(), desk.person("anna")
    page = anna.get(f"/tickets/{ticket}")
    desk.clock.ahead += 3601
    gone = anna.get(f"/tickets/{ticket}")
    assert (gone.status, "has expired" in gone.text) == (410, True)
    for text in (PART, QUESTION):
        assert text not in gone.text
    late = anna.send(page, f"/tickets/{ticket}/decide", choice="release:consent")
    assert late.status == 409
    assert PART not in late.text
    assert desk.content(ticket) is None
    assert ticket[:10] not in anna.get("/queue").text


def test_two_reviewers_where_the_service_asks_for_them(make: Callable[..., Desk]) -> None:
    desk = make(second_reviewer=True)
    ticket, anna, bela = desk.open(), desk.person("anna"), desk.person("bela")
    done = anna.send(anna.get(f"/tickets/{ticket}"), f"/tickets/{ticket}/decide", choice="release:nobody_described")
    assert "<b>proposed to release</b>" in done.text
    waiting = anna.get(f"/tickets/{ticket}")
    assert "waits for a second reviewer" in waiting.text
    assert PART not in waiting.text
    desk.clock.ahead += LATER
    assert desk.content(ticket) is None
    second = bela.get(f"/tickets/{ticket}")
    assert "anna proposes to release this" in second.text
    bela.send(second, f"/tickets/{ticket}/decide", choice="release:nobody_described")
    desk.clock.ahead += LATER
    assert desk.content(ticket) == UNDECIDED


def test_a_blind_recheck_shows_nothing_of_the_first_decision(make: Callable[..., Desk]) -> None:
    desk = make(recheck=1.0)
    ticket, anna, bela = desk.open(), desk.person("anna"), desk.person("bela")
    anna.send(anna.get(f"/tickets/{ticket}"), f"/tickets/{ticket}/decide", choice="block:cannot_tell")
    desk.clock.ahead += LATER
    desk.queue.sweep()
    page = bela.get("/queue?kind=recheck")
    assert ticket[:10] in page.text
    again = bela.get(f"/tickets/{ticket}")
    assert PART in again.text
    assert "blind re-check" in again.text
    for word in ("anna", "blocked"):
        assert word not in again.text
    assert PART not in anna.get(f"/tickets/{ticket}").text
    bela.send(again, f"/tickets/{ticket}/decide", choice="release:nobody_described")
    assert desk.queue.state(ticket, "clinic", desk.mark).status == "blocked"
    found = bela.get("/statistics").text
    assert "blind re-checks ended as the first" in found
    assert "0%" in found


def test_the_audit_lists_who_did_what_without_text(desk: Desk) -> None:
    ticket, anna, otto = desk.open(LITIGATOR), desk.person("anna"), desk.person("otto")
    other = desk.open()
    anna.send(anna.get(f"/tickets/{ticket}"), f"/tickets/{ticket}/decide", choice="block:singles_out")
    page = otto.get(f"/audit?ticket={ticket}").text
    for word in ("open", "reserve", "read", "block", "singles_out", "anna", "clinic"):
        assert f">{word}<" in page
    for text in ("litigator", "Omaha", QUESTION, "MARKER"):
        assert text not in page
    assert other[:10] not in page
    assert other[:10] in otto.get("/audit").text
    for _ in range(30):
        anna.get(f"/tickets/{other}")
    page = otto.get("/audit").text
    assert "Earlier ones" not in page
    for _ in range(30):
        anna.get(f"/tickets/{other}")
    page = otto.get("/audit").text
    assert "Earlier ones" in page


def test_a_service_without_keys_is_for_this_machine_alone(start: Start, tmp_path: Path) -> None:
    service = start(no_auth=True, queue={"url": f"sqlite:///{tmp_path / 'queue.db'}",
                                         "key_folder": tmp_path / "sealed"})
    asked = {"text": UNDECIDED, "review": True}
    ticket = service.client.post("http://127.0.0.1/v1/check", json=asked).json()["ticket"]
    here, named = Person(service.app, "http://127.0.0.1:8300"), Person(service.app, "http://rebound.example")
    assert here.get("/queue").status == 200
    assert PART in here.get(f"/tickets/{ticket}").text
    assert here.get("/audit").status == 200
    assert PART in Person(service.app, "http://127.0.0.1:8300").get(f"/tickets/{ticket}").text
    assert named.get("/queue").status == 400


def test_in_the_service_a_held_answer_is_released_and_reaches_its_caller(start: Start, tmp_path: Path) -> None:
    service = start(queue={"url": f"sqlite:///{tmp_path / 'queue.db'}", "key_folder": tmp_path / "sealed", "undo_s": 0})
    held = service.ask("/v1/check", {"text": UNDECIDED, "review": True}).json()
    assert (held["action"], held["code"]) == ("pending", "privacy/undecided")
    anna = Person(service.app)
    anna.sign_in(service.tokens["reviewer"])
    assert "measured" in anna.get("/queue").text or "calibration" in anna.get("/queue").text
    page = anna.get(f"/tickets/{held['ticket']}")
    anna.send(page, f"/tickets/{held['ticket']}/decide", choice="release:nobody_described")
    state = service.ask(f"/v1/tickets/{held['ticket']}").json()
    assert (state["status"], state["payload"]) == ("released", {"texts": [UNDECIDED]})
    written = service.log.getvalue() + service.ask("/metrics", role="operator").text
    assert PART not in written
    assert service.tokens["reviewer"] not in written


def test_in_the_service_a_body_over_the_limit_is_refused(start: Start, tmp_path: Path) -> None:
    service = start(queue={"url": f"sqlite:///{tmp_path / 'queue.db'}", "key_folder": tmp_path / "sealed"},
                    limits={"body_bytes": 1000})
    anna = Person(service.app)
    anna.sign_in(service.tokens["reviewer"])

    def parts() -> Iterator[bytes]:
        yield b"token=x&text="
        yield b"a" * 2000

    found = anna.client.post("/console/sign-out", content=parts(),
                             headers={"content-type": "application/x-www-form-urlencoded"})
    assert found.status_code == 413
    assert not service.events("crash")


def test_a_ticket_says_how_many_people_fit_and_where(tmp_path: Path, guard: Guard) -> None:
    desk = Desk(tmp_path, guard.counting(StandIn()))  # type: ignore[arg-type]
    page = desk.person("anna").get(f"/tickets/{desk.open(LITIGATOR)}").text
    said = unescape(page.partition('id="people">')[2].partition("</p>")[0])
    assert said.startswith("At most about 20 people in Omaha fit (4 to 100).")
    assert "Not everything that is said was counted (family): fewer may fit." in said
    assert "95% interval; made people, 1994; place is taken as independent of the rest." in said
    words = page.partition('id="uncounted">')[2].partition("</p>")[0]
    assert words == 'In the answer, but not in this number: <q dir="auto">two</q>, <q dir="auto">children</q>.'
    plain = desk.person("bela").get(f"/tickets/{desk.open('The patient is a 52-year-old lawyer from Omaha.')}").text
    assert 'id="people"' in plain
    assert 'id="uncounted"' not in plain
    desk.queue.close()


INTERNAL = ("attribute", "cluster", "bound to", "third", "direct identifier", "threshold", "operating point", "weak",
            "layer", "evidence", "probe", "_", "{", "None")


@pytest.mark.parametrize("cause", sorted(set(CAUSES) - {"none", "suppressed"}))
def test_a_heading_says_in_plain_words_what_an_answer_gives_away(cause: Cause) -> None:
    reason = Reason(cause, ("age", "person_name"), "third", 2, 1, 2, ("sex",), detail="a sentence looks like German",
                    words=9, facts=2)
    verdict = {"cause": reason.to_json(), "reason": sentence(reason)}
    said = heading("privacy/undecided", verdict)
    assert not [word for word in INTERNAL if word in said]
    told = {"direct": "person name", "cluster": "age, person name and sex (can be guessed)", "verbatim": "9 words",
            "probe": "a name or number, age", "language": "German", "unsure": "one person"}
    assert told.get(cause, "") in said
    assert heading("privacy/undecided", {"cause": None}) == (
        "The guard is not sure whether this answer gives a person away")


def test_the_heading_comes_first_and_the_guards_own_words_last(desk: Desk) -> None:
    text = unescape(desk.person("anna").get(f"/tickets/{desk.open(LITIGATOR, code='privacy/contextual')}").text)
    assert ("<h1>This answer says so much about one person that somebody may recognise them: age, family, occupation "
            "and place</h1>") in text
    assert text.index("4 attributes bound to one person (third)") > text.index('<dl class="facts">')
