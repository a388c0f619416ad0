"""What breaks outside: the disk, the database, the keys, the clock. It is said, nothing is released, and it mends."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.serve.queue.conftest import Clock, put

from discreet.core.errors import DiscreetError, UnavailableError
from discreet.serve.queue.audit import verify
from discreet.serve.queue.tables import _Turns
from discreet.serve.queue.tickets import Queue


@pytest.fixture
def ticket(queue: Queue, clock: Clock) -> str:
    """A release that is due."""
    made = put(queue)
    queue.decide(made, "ann", action="release", code="consent", version=1)
    clock.now += 11
    return made


def assert_nothing_goes(queue: Queue, ticket: str, said: str) -> None:
    for call in (lambda: put(queue), lambda: queue.state(ticket, "clinic"), queue.sweep):
        with pytest.raises(UnavailableError, match=said) as caught:
            call()
        error: BaseException | None = caught.value
        assert "MARKER" not in str(error)
        while error is not None:
            assert error.__suppress_context__ or error.__context__ is None
            error = error.__cause__


def test_the_database_is_its_owners_and_survives_power_loss(queue: Queue, tmp_path: Path) -> None:
    put(queue)
    assert os.stat(tmp_path / "queue.db").st_mode & 0o777 == 0o600
    with queue.database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_a_full_disk(queue: Queue, clock: Clock, tmp_path: Path) -> None:
    first = put(queue)
    with queue.database.reading() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(UnavailableError, match="the disk is full; nothing was released"):
        put(queue, text="x" * 100_000)
    assert [row.id for row in queue.tickets()] == [first]
    with queue.database.reading() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1000000")
    put(queue, text="x" * 100_000)
    assert verify(queue.database, queue.audit_key).intact


def test_a_database_that_goes_and_comes_back(queue: Queue, ticket: str, tmp_path: Path) -> None:
    queue.database.checkpoint()
    shutil.move(tmp_path / "queue.db", tmp_path / "away.db")
    assert_nothing_goes(queue, ticket, "is gone")
    shutil.copy(tmp_path / "away.db", tmp_path / "queue.db")
    assert queue.state(ticket, "clinic").status == "released"


def test_a_database_that_is_damaged(queue: Queue, ticket: str, tmp_path: Path) -> None:
    queue.database.checkpoint()
    queue.close()
    (tmp_path / "queue.db").write_bytes(b"not a database" * 1000)
    assert_nothing_goes(queue, ticket, "is not a database|is damaged|cannot be used")


def test_a_database_that_another_process_locks(queue: Queue, make: Callable[..., Queue], ticket: str) -> None:
    other = make()
    with queue.database.reading() as connection:
        connection.exec_driver_sql("PRAGMA busy_timeout = 10")
    with other.database.writing(), pytest.raises(UnavailableError, match="locked by another process"):
        put(queue)
    assert queue.state(ticket, "clinic").status == "released"


def test_a_key_folder_that_goes_and_comes_back(queue: Queue, ticket: str, tmp_path: Path) -> None:
    shutil.move(tmp_path / "keys", tmp_path / "away")
    assert_nothing_goes(queue, ticket, "key folder")
    shutil.move(tmp_path / "away", tmp_path / "keys")
    assert queue.state(ticket, "clinic").status == "released"


def test_a_key_that_is_gone_expires_what_it_sealed(queue: Queue, ticket: str, tmp_path: Path) -> None:
    for key in (tmp_path / "keys").glob("2*.key"):
        key.unlink()
    state = queue.state(ticket, "clinic")
    assert (state.status, state.payload) == ("expired", None)


def test_one_ticket_that_was_changed_does_not_keep_the_others(queue: Queue, clock: Clock, ticket: str) -> None:
    other = put(queue)
    with queue.database.writing() as connection:
        connection.exec_driver_sql(f"UPDATE tickets SET wrapped = sealed WHERE id = '{ticket}'")
    clock.now += queue.expires_s - 20  # `other` is still pending, and the changed one not yet too late
    queue.decide(other, "ann", action="block", code="other", version=1)
    clock.now += 10
    with pytest.raises(UnavailableError, match=f"ticket {ticket} does not open"):
        queue.sweep()
    assert queue.row(other)["status"] == "blocked"
    assert queue.row(ticket)["status"] == "decided"


@pytest.mark.parametrize("jump", [-10 * 365 * 86400, -7200, 7200, 10 * 365 * 86400])
def test_a_clock_that_jumps_releases_nothing_by_itself(queue: Queue, clock: Clock, jump: float) -> None:
    pending = put(queue)
    clock.now += jump
    try:
        queue.sweep()
        newer = put(queue)
        assert queue.state(newer, "clinic").status == "pending"
        queue.sweep()
    except DiscreetError as error:
        pytest.fail(str(error))
    assert queue.state(pending, "clinic").status == ("pending" if jump < 0 else "expired")
    clock.now -= jump
    queue.sweep()
    assert queue.state(pending, "clinic").status == ("pending" if jump < 0 else "expired")
    assert queue.state(newer, "clinic").payload is None


def test_a_writer_waits_for_those_before_it_no_longer_than_for_itself() -> None:
    """Else sixteen writers on a locked database would wait for the sum of what each waits."""
    turns = _Turns("sqlite:///queue.db", wait_s=.05)
    with ThreadPoolExecutor(3) as pool:
        with turns:
            late = [pool.submit(turns.__enter__) for _ in range(3)]
            for one in late:
                with pytest.raises(UnavailableError, match="is locked by another process; nothing was released"):
                    one.result(20)
        assert pool.submit(turns.__enter__).result(20) is None  # Who gave up is waited for by nobody.
    turns.__exit__()
    assert not turns._waiting
