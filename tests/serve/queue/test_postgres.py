"""Everything that the queue does on SQLite, on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text
from tests.serve.queue.conftest import Clock, put
from tests.serve.queue.postgres import Cluster, cluster
from tests.serve.queue.test_tickets import *  # noqa: F403
from tests.serve.queue.test_tickets import test_settings_that_cannot_be_are_refused

from discreet.core.errors import UnavailableError
from discreet.serve.queue.audit import verify
from discreet.serve.queue.store import HEAD, upgrade
from discreet.serve.queue.tables import LOCK, Database, metadata
from discreet.serve.queue.tickets import Queue

del test_settings_that_cannot_be_are_refused
pytestmark = pytest.mark.services


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    with cluster() as made:
        yield made


@pytest.fixture
def make(server: Cluster, tmp_path: Path, clock: Clock) -> Iterator[Callable[..., Queue]]:
    url, made = server.database(), []

    def queue(**options: Any) -> Queue:
        made.append(Queue(url, tmp_path / "keys", clock=clock, **options))
        return made[-1]

    yield queue
    for one in made:
        one.close()


def test_the_revisions_make_its_tables_once_for_all_processes(server: Cluster) -> None:
    url = server.database()
    made = [Database(url) for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        assert sorted(map(str, pool.map(upgrade, made))) == [HEAD] * 5 + ["None"]
    with made[0].reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata) == []
    for one in made:
        one.close()


@pytest.mark.parametrize("statement", ["UPDATE audit SET actor = 'eve'", "DELETE FROM audit", "TRUNCATE audit"])
def test_its_audit_is_append_only(queue: Queue, statement: str) -> None:
    put(queue)
    with pytest.raises(UnavailableError), queue.database.writing() as connection:
        connection.execute(text(statement))
    assert verify(queue.database, queue.audit_key).intact
    with queue.database.writing() as connection:
        connection.execute(text("ALTER TABLE audit DISABLE TRIGGER ALL"))
        connection.execute(text("UPDATE audit SET actor = 'eve'"))
    assert "row 1" in str(verify(queue.database, queue.audit_key).wrong)


def test_many_threads_and_queues_write_one_chain(make: Callable[..., Queue], clock: Clock) -> None:
    queues = [make() for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda i: put(queues[i % 4]), range(64)))
        list(pool.map(lambda i: queues[i % 4].decide(made[i], "ann", action="block", code="other", version=1),
                      range(64)))
        clock.now += 11
        assert sum(found["blocked"] for found in pool.map(lambda one: one.sweep(), queues)) == 64
    found = verify(queues[0].database, queues[0].audit_key)
    assert (found.rows, found.wrong) == (192, None)


def test_a_process_that_hangs_with_the_lock_holds_up_the_others_no_longer_than_it_says(queue: Queue) -> None:
    with queue.database.writing() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        with pytest.raises(UnavailableError, match="locked by another process"):
            put(queue)
    assert queue.tickets() == []
    put(queue)


def test_a_server_that_dies_and_comes_back(server: Cluster, make: Callable[..., Queue], clock: Clock) -> None:
    queue = make()
    ticket = put(queue)
    queue.decide(ticket, "ann", action="release", code="consent", version=1)
    clock.now += 11
    server.stop()
    try:
        for call in (lambda: queue.state(ticket, "clinic"), lambda: put(queue), queue.sweep, queue.tickets):
            with pytest.raises(UnavailableError, match="nothing was released") as caught:
                call()
            assert "MARKER" not in str(caught.value)
            assert caught.value.__cause__ is None
    finally:
        server.start()
    assert queue.state(ticket, "clinic").status == "released"
