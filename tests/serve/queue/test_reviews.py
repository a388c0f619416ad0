from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.serve.queue.conftest import VERDICT, Clock, put

from discreet.cli.main import run
from discreet.serve.queue.reviews import COLUMNS, exported
from discreet.serve.queue.tickets import Queue


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
    assert [tuple(row) for row in rows] == [COLUMNS] * 3
    assert sorted((row["logit"], row["decision"], row["reason"], row["recheck"]) for row in rows) == [
        (0.0, "release", "consent", None), (1.0, "block", "other", "release"), (2.0, "block", "singles_out", None)]
    assert {row["why"] for row in rows} == {"language"}


def test_exported_rows_are_of_a_guard(make: Callable[..., Queue], config: Path) -> None:
    database = make().database
    assert list(exported(database, guard="law")) == []
    assert len(list(exported(database, guard="medical"))) == 3


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
