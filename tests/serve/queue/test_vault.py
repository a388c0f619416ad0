from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.serve.queue.conftest import SAFE, TEXT, Clock, put

from discreet.core.errors import NotFoundError, QueueError, UnavailableError, UsageError
from discreet.serve.queue.tickets import Queue
from discreet.serve.queue.vault import DAY, Vault

NOON = datetime(2027, 1, 15, 12, tzinfo=UTC).timestamp()


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path / "keys")


def test_what_is_sealed_opens_for_its_ticket_and_part_only(vault: Vault) -> None:
    key, name, wrapped = vault.data_key("a", NOON)
    assert vault.unwrap(name, "a", wrapped) == key
    sealed = vault.seal(key, "a", "content", b"words")
    assert b"words" not in sealed
    assert vault.open(key, "a", "content", sealed) == b"words"
    changed = sealed[:-1] + bytes([sealed[-1] ^ 1])
    for ticket, part, content in (("b", "content", sealed), ("a", "edited", sealed), ("a", "content", changed),
                                  ("a", "content", b""), ("a", "content", sealed[:20])):
        with pytest.raises(UnavailableError, match=f"of ticket {ticket} does not open"):
            vault.open(key, ticket, part, content)
    with pytest.raises(UnavailableError):
        vault.unwrap(name, "b", wrapped)


def test_a_key_is_destroyed_when_its_day_is_over(vault: Vault) -> None:
    _, name, wrapped = vault.data_key("a", NOON)
    assert name == "20270116T000000Z"
    assert vault.data_key("b", NOON + 3600)[1] == name
    assert vault.data_key("c", NOON + DAY)[1] == "20270117T000000Z"
    vault.lasting()
    assert vault.destroy(NOON + DAY / 2 - 1) == 0
    assert vault.destroy(NOON + DAY / 2) == 1
    with pytest.raises(NotFoundError, match="destroyed"):
        vault.unwrap(name, "a", wrapped)
    assert sorted(one.name for one in vault.folder.iterdir()) == ["20270117T000000Z.key", "audit.key"]


def test_keys_are_their_owners_alone(vault: Vault) -> None:
    vault.data_key("a", NOON)
    assert vault.folder.stat().st_mode & 0o777 == 0o700
    assert [one.stat().st_mode & 0o777 for one in vault.folder.iterdir()] == [0o600]
    vault.folder.chmod(0o755)
    with pytest.raises(UsageError, match="chmod 700"):
        Vault(vault.folder)


def test_processes_that_need_a_key_at_once_get_the_same(tmp_path: Path) -> None:
    vaults = [Vault(tmp_path / "keys") for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda one: one.lasting(), vaults))) == 1
    assert len(list((tmp_path / "keys").iterdir())) == 1


def test_a_folder_that_cannot_be_used_is_said(vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnavailableError, match="cannot be used"):
        Vault(tmp_path / "file" / "keys")
    shutil.rmtree(vault.folder)
    with pytest.raises(UnavailableError, match="no such file"):
        vault.data_key("a", NOON)
    vault.folder.mkdir(mode=0o700)
    _, name, wrapped = vault.data_key("a", NOON)
    (vault.folder / f"{name}.key").unlink()
    with pytest.raises(UnavailableError, match="no such file"):
        vault.unwrap(name, "a", wrapped)  # neither its key nor any other is there: another folder was mounted
    (vault.folder / "audit.key").write_bytes(b"short")
    with pytest.raises(UnavailableError, match="5 bytes"):
        vault.lasting()


def test_after_expiry_no_copy_of_the_database_can_be_read(make: Callable[..., Queue], clock: Clock,
                                                          tmp_path: Path) -> None:
    queue = make(key_period_s=60)
    expired, edited = put(queue), put(queue, text=f"{TEXT} too")
    queue.read(edited, "ann")
    queue.decide(edited, "ann", action="release_edited", code="removed", text="MARKER-EDITED", verdict=SAFE,
                 version=1)
    backup = tmp_path / "backup"
    backup.mkdir()
    for name in ("queue.db", "queue.db-wal"):
        shutil.copy(tmp_path / name, backup / name)
    with sqlite3.connect(backup / "queue.db") as raw:
        assert raw.execute("SELECT count(*) FROM tickets WHERE sealed IS NOT NULL").fetchone() == (2,)
    restored = make(url=f"sqlite:///{backup / 'queue.db'}")
    assert restored.read(expired, "ann").texts == (TEXT,)  # as long as the keys are there

    clock.now += 11
    assert queue.sweep()["released"] == 1
    clock.now += queue.expires_s + 60
    queue.sweep()
    assert [one.name for one in queue.vault.folder.iterdir()] == ["audit.key"]
    clock.now -= queue.expires_s  # even if the restored service believes that it is still time
    for ticket in (expired, edited):
        row = restored.row(ticket)
        with pytest.raises(NotFoundError, match="destroyed"):
            restored.content(row, "content")
        with pytest.raises(QueueError, match=r"destroyed|erased"):
            restored.read(ticket, "ann")
    for folder in (tmp_path, backup):
        for file in folder.iterdir():
            assert not file.is_file() or b"MARKER" not in file.read_bytes()
    with queue.database.reading() as connection:
        rows = connection.exec_driver_sql("SELECT coalesce(wrapped, sealed, edited) FROM tickets").scalars()
        assert set(rows) == {None}
    assert (tmp_path / "queue.db-wal").stat().st_size == 0
