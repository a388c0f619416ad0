from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from tests.serve.queue.conftest import put

from discreet.core.errors import InputError, UnavailableError
from discreet.serve.queue import tables
from discreet.serve.queue.store import FOLDER, HEAD, upgrade
from discreet.serve.queue.tables import Database, metadata
from discreet.serve.queue.tickets import Queue


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(f"sqlite:///{tmp_path / 'q.db'}")


def test_the_revisions_make_the_tables_that_the_code_reads(database: Database) -> None:
    assert upgrade(database) is None
    assert upgrade(database) == HEAD
    with database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection, opts={"compare_type": True}), metadata) == []
    assert ScriptDirectory(str(FOLDER)).get_heads() == [HEAD]


def test_several_processes_that_start_at_once_make_them_once(tmp_path: Path) -> None:
    made = [Database(f"sqlite:///{tmp_path / 'q.db'}") for _ in range(6)]
    with ThreadPoolExecutor(6) as pool:
        assert sorted(map(str, pool.map(upgrade, made))) == [HEAD] * 5 + ["None"]


def test_a_process_waits_for_another_that_sets_the_journal_mode(tmp_path: Path,
                                                               monkeypatch: pytest.MonkeyPatch) -> None:
    made = Database(f"sqlite:///{tmp_path / 'q.db'}")
    with closing(sqlite3.connect(tmp_path / "q.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("CREATE TABLE mine (a)")  # Nobody can change the journal mode now.
        tries: list[float] = []

        def wait(seconds: float) -> None:
            tries.append(seconds)
            if len(tries) == 2:
                other.execute("ROLLBACK")

        monkeypatch.setattr(time, "sleep", wait)
        assert upgrade(made) is None
    assert len(tries) == 2
    with made.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_a_database_that_stays_locked_is_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "WAIT_S", 0)
    made = Database(f"sqlite:///{tmp_path / 'q.db'}")
    with closing(sqlite3.connect(tmp_path / "q.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(UnavailableError, match="is locked by another process"):
            upgrade(made)


def test_a_revision_that_fails_leaves_the_database_as_it_was(database: Database,
                                                             monkeypatch: pytest.MonkeyPatch) -> None:
    from alembic import op

    monkeypatch.setattr(op, "create_index", lambda *_: op.execute("SELECT nonsense"))
    with pytest.raises(Exception, match="could not be brought from revision None to 0001"):
        upgrade(database)
    monkeypatch.undo()
    assert upgrade(database) is None


@pytest.mark.parametrize(("statement", "said"), [
    ("UPDATE alembic_version SET version_num = '9999'", "revision '9999'"),
    ("DROP TABLE alembic_version", "the queue did not make"),
])
def test_a_database_that_is_not_ours_is_left_alone(make: Callable[..., Queue], statement: str, said: str) -> None:
    queue = make()
    put(queue)
    with queue.database.writing() as connection:
        connection.exec_driver_sql(statement)
    with pytest.raises(InputError, match=said):
        make()
    assert len(queue.tickets()) == 1
