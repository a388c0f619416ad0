"""Tickets that nobody awaits end, with the reason in the audit; what a caller lists."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.serve.queue.conftest import TEXT, VERDICT, Clock, put

from discreet.core.errors import ConflictError, InputError, NotFoundError
from discreet.serve.queue.audit import exported, verify
from discreet.serve.queue.tickets import Queue


def held(queue: Queue, *, caller: str = "app", mark: str = "m1", tell_s: float | None = 30) -> str:
    return queue.open(caller=caller, mark=mark, guard="medical", code="privacy/undecided", policy="medical",
                      texts=[TEXT], question=None, verdict=VERDICT, findings=[], payload={"content": TEXT},
                      tell_s=tell_s)


def ends(queue: Queue) -> list[tuple[str, str | None]]:
    return [(row["action"], row["code"]) for row in exported(queue.database)
            if row["action"] not in ("open", "read")]


def test_a_ticket_whose_id_went_nowhere_ends(queue: Queue, clock: Clock) -> None:
    lost, told, by_hand = held(queue), held(queue), put(queue)
    queue.told(told)
    clock.now += 31
    assert queue.sweep()["expired"] == 1
    assert ends(queue) == [("end", "caller_gone")]
    row = queue.row(lost)
    assert (row["status"], row["ended"], row["sealed"], row["wrapped"]) == ("expired", "caller_gone", None, None)
    with pytest.raises(ConflictError):
        queue.read(lost, "ann")
    with pytest.raises(ConflictError):
        queue.decide(lost, "ann", action="release", code="consent", version=1)
    assert [queue.row(one)["status"] for one in (told, by_hand)] == ["pending", "pending"]
    assert verify(queue.database, queue.audit_key).intact


def test_it_ends_on_a_read_too_and_not_before_its_time(queue: Queue, clock: Clock) -> None:
    lost = held(queue)
    clock.now += 29
    assert queue.state(lost, "app", "m1").status == "pending"
    clock.now += 1
    assert queue.state(lost, "app", "m1").status == "expired"


def test_who_leaves_ends_a_ticket_but_no_decision(queue: Queue, clock: Clock) -> None:
    left, decided = held(queue), held(queue)
    queue.decide(decided, "ann", action="release", code="consent", version=1)
    assert (queue.end(left, "caller_gone"), queue.end(left, "caller_gone")) == (True, False)
    assert not queue.end(decided, "caller_gone")
    clock.now += 11
    queue.sweep()
    assert [queue.row(one)["status"] for one in (left, decided)] == ["expired", "released"]
    with pytest.raises(NotFoundError):
        queue.end("none", "caller_gone")


def test_the_tickets_of_keys_that_are_gone_end(queue: Queue) -> None:
    kept, gone, nobodys = held(queue), held(queue, mark="m2"), put(queue)
    asked: list[tuple[str, str]] = []

    def known(name: str, mark: str) -> bool:
        asked.append((name, mark))
        return mark == "m1"

    assert queue.end_of_keys(known) == 1
    assert sorted(asked) == [("app", "m1"), ("app", "m2")]
    assert [queue.row(one)["status"] for one in (kept, gone, nobodys)] == ["pending", "expired", "pending"]
    assert ends(queue) == [("end", "key_removed")]

    def broken(name: str, mark: str) -> bool:
        raise InputError("cannot read keys")

    with pytest.raises(InputError):
        queue.end_of_keys(broken)
    assert queue.row(kept)["status"] == "pending"


def test_a_caller_lists_its_own_tickets(queue: Queue, clock: Clock, make: Callable[..., Queue]) -> None:
    made = []
    for _ in range(3):
        made.append(held(queue))
        clock.now += 1
    held(queue, mark="m2")
    held(queue, caller="other")
    queue.decide(made[0], "ann", action="release", code="consent", version=1)
    found = queue.of_caller("app", "m1")
    assert [(one.id, one.status) for one in found] == [(made[2], "pending"), (made[1], "pending"), (made[0], "pending")]
    assert "MARKER" not in str(found)
    assert [one.id for one in queue.of_caller("app", "m1", before=found[0].opened, limit=1)] == [made[1]]
    clock.now += queue.expires_s
    assert {one.status for one in queue.of_caller("app", "m1")} == {"pending", "expired"}  # Nobody swept yet.


def test_the_audit_is_exported_from_where_one_stopped(queue: Queue) -> None:
    first, other = put(queue), put(queue)
    rows = list(exported(queue.database))
    assert [(row["seq"], row["ticket"], row["action"]) for row in rows] == [(1, first, "open"), (2, other, "open")]
    assert rows[0]["time"] == "2027-01-15T08:00:00.000+00:00"
    assert rows[-1]["mac"] == verify(queue.database, queue.audit_key).head
    assert [row["seq"] for row in exported(queue.database, after=1)] == [2]
    assert [row["seq"] for row in exported(queue.database, limit=1)] == [1]
    assert list(exported(queue.database, guards=["law"])) == []
    assert "MARKER" not in str(rows)
