from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import text
from tests.serve.queue.conftest import SAFE, VERDICT, Clock, put

from discreet.cli.main import run
from discreet.core.errors import UnavailableError
from discreet.serve.console.statistics import audit_rows
from discreet.serve.queue import audit
from discreet.serve.queue.audit import REVIEWED, AuditCheck, decided, verify
from discreet.serve.queue.tickets import Queue


def check(queue: Queue, **options: tuple[int, str]) -> AuditCheck:
    return verify(queue.database, queue.audit_key, **options)


@pytest.fixture
def ticket(queue: Queue, clock: Clock) -> str:
    made = put(queue)
    queue.read(made, "ann")
    queue.reserve(made, "ann", 1)
    queue.heartbeat(made, "ann", 2)
    queue.decide(made, "ann", action="release_edited", code="removed", text="MARKER-EDITED", verdict=SAFE, version=2)
    clock.now += 11
    queue.sweep()
    clock.now += queue.expires_s
    queue.sweep()
    return made


def test_each_act_has_a_row_that_says_who_when_at_which_version_and_no_text(queue: Queue, ticket: str) -> None:
    put(queue)
    rows = audit_rows(queue.database, ticket, None, None, 100)[::-1]
    assert [(row["actor"], row["action"], row["code"], row["version"]) for row in rows] == [
        ("clinic", "open", "privacy/undecided", 1), ("ann", "read", None, 1), ("ann", "reserve", None, 2),
        ("ann", "release_edited", "removed", 3), ("discreet", "final", "removed", 4), ("discreet", "erase", None, 5)]
    assert rows[0]["verdict_hash"] == audit.hash_of(VERDICT)
    assert rows[3]["verdict_hash"] == audit.hash_of(SAFE)
    assert "MARKER" not in str(audit_rows(queue.database, None, None, None, 100))
    found = check(queue)
    assert (found.rows, found.intact) == (7, True)


@pytest.mark.parametrize("statement", ["UPDATE audit SET actor = 'eve'", "DELETE FROM audit"])
def test_the_database_keeps_its_rows(queue: Queue, ticket: str, statement: str) -> None:
    with pytest.raises(UnavailableError), queue.database.writing() as connection:
        connection.execute(text(statement))
    assert check(queue).rows == 6


@pytest.mark.parametrize(("statement", "said"), [
    ("UPDATE audit SET actor = 'eve' WHERE seq = 4", "row 4 is not what was written"),
    ("UPDATE audit SET at = at - 1 WHERE seq = 6", "row 6 is not what was written"),
    ("DELETE FROM audit WHERE seq = 2", "row 2 is missing"),
    ("DELETE FROM audit WHERE seq = 6", "changed without a row"),
    ("UPDATE tickets SET version = 9", "changed without a row"),
    ("INSERT INTO audit SELECT 7, at, ticket, 5, 'eve', action, code, verdict_hash, mac FROM audit WHERE seq = 6",
     "row 7 is not what was written"),
])
def test_what_was_changed_around_the_triggers_shows(queue: Queue, ticket: str, statement: str, said: str) -> None:
    assert check(queue).wrong is None
    with queue.database.writing() as connection:
        for event in ("update", "delete"):
            connection.execute(text(f"DROP TRIGGER audit_keeps_{event}"))
        connection.execute(text(statement))
    assert said in str(check(queue).wrong)


def test_a_lost_end_shows_next_to_a_head_that_was_noted(queue: Queue, ticket: str) -> None:
    noted = check(queue)
    put(queue)
    assert check(queue, noted=(noted.rows, noted.head)).intact
    with queue.database.writing() as connection:
        connection.execute(text("DROP TRIGGER audit_keeps_delete"))
        connection.execute(text("DELETE FROM tickets"))
        connection.execute(text("DELETE FROM audit WHERE seq > 3"))
    assert check(queue).intact
    assert check(queue, noted=(noted.rows, noted.head)).wrong == "3 rows are missing at the end: 6 were noted"
    assert "not the head" in str(check(queue, noted=(3, noted.head)).wrong)


def test_an_audit_of_other_keys_is_not_ours(queue: Queue, ticket: str) -> None:
    assert not verify(queue.database, b"k" * 32).intact


def test_a_key_folder_that_is_new_or_another_queues_is_known(make: Callable[..., Queue], tmp_path: Path) -> None:
    assert make().has_own_keys
    put(make())
    assert make().has_own_keys
    other = Queue(f"sqlite:///{tmp_path / 'queue.db'}", tmp_path / "other-keys")
    assert not other.has_own_keys
    put(other)
    assert [make().has_own_keys, other.has_own_keys] == [True, False]
    other.close()


@pytest.fixture
def config(make: Callable[..., Queue], clock: Clock, tmp_path: Path) -> Path:
    """Settings of a service whose queue decided four tickets: one was rechecked, one is in its undo window."""
    queue = make(recheck=1.0)
    made = [put(queue, verdict={**VERDICT, "logit": float(i), "cause": {"cause": "language"}})
            for i in range(5)]
    for turn, (action, code) in enumerate((("release", "consent"), ("block", "other"), ("block", "singles_out"))):
        queue.decide(made[turn], "ann", action=action, code=code, version=1)  # type: ignore[arg-type]
    clock.now += 11
    queue.sweep()
    queue.decide(made[1], "bob", action="release", code="consent", version=3)
    queue.decide(made[3], "ann", action="release", code="consent", version=1)
    file = tmp_path / "serve.yaml"
    file.write_text(json.dumps({"guards": {"medical": {"domain": "medical"}}, "no_auth": True, "queue": {
        "url": str(queue.database.url), "key_folder": str(tmp_path / "keys")}}))
    return file


def test_decisions_are_written_without_text(config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["serve", "reviews", "--config", str(config), "--output", str(tmp_path / "r.jsonl")]) == 0
    assert capsys.readouterr().out.startswith("3 decisions")
    content = (tmp_path / "r.jsonl").read_text()
    assert "MARKER" not in content
    rows = [json.loads(line) for line in content.splitlines()]
    assert [tuple(row) for row in rows] == [REVIEWED] * 3
    assert sorted((row["logit"], row["decision"], row["reason"], row["recheck"]) for row in rows) == [
        (0.0, "release", "consent", None), (1.0, "block", "other", "release"), (2.0, "block", "singles_out", None)]
    assert {row["why"] for row in rows} == {"language"}


def test_exported_rows_are_of_a_guard(make: Callable[..., Queue], config: Path) -> None:
    database = make().database
    assert list(decided(database, guard="law")) == []
    assert len(list(decided(database, guard="medical"))) == 3


def test_the_audit_is_checked_from_the_command_line(config: Path, make: Callable[..., Queue],
                                                    capsys: pytest.CaptureFixture[str]) -> None:
    command = ["serve", "audit", "--config", str(config)]
    assert run(command) == 0
    noted, _, said = capsys.readouterr().out.strip().partition(" ")
    assert said == "intact"
    put(make())
    assert run([*command, "--noted", noted, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["wrong"] is None
    queue = make()
    with queue.database.writing() as connection:
        connection.exec_driver_sql("DROP TRIGGER audit_keeps_update")
        connection.exec_driver_sql("UPDATE audit SET actor = 'eve' WHERE seq = 2")
    assert run(command) == 1
    assert "row 2 is not what was written" in capsys.readouterr().out
    assert run([*command, "--noted", "3:abc"]) == 2
    (Path(queue.vault.folder) / "audit.key").unlink()
    assert run(command) == 2
    assert "key folder" in capsys.readouterr().err
    assert not (Path(queue.vault.folder) / "audit.key").exists()


def test_settings_without_a_queue_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text(json.dumps({"guards": {"medical": {"domain": "medical"}}, "no_auth": True}))
    assert run(["serve", "audit", "--config", str(file)]) == 2
    assert "names no queue" in capsys.readouterr().err
