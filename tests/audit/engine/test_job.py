"""One order: published, or one line without data."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from discreet.audit.engine import DataFile, Store, Task
from discreet.audit.engine.job import Reply, error_of, execute, order_for
from discreet.audit.engine.task import versions_of
from discreet.core.errors import DiscreetError, InputError, UsageError


def carry_out(task: Task, store: Store) -> Reply:
    return execute(order_for(task, store))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_what_is_published_is_not_run(steps: Any, store: Store) -> None:
    task = Task.of(steps.draw, "x", params={"n": 1})
    # As Ray does with an order whose worker was lost after it had published.
    assert carry_out(task, store) == carry_out(task, store) == {"ok": True}
    assert [e["event"] for e in store.history()] == ["begin", "publish"]
    assert all(e["key"] == task.key and e["task"] == "x" for e in store.history())


@pytest.mark.parametrize(("kind", "error", "words"), [
    ("", DiscreetError, r"the step x failed with ValueError at engine_steps\.py:\d+; .*log\.jsonl has the calls"),
    ("exit", DiscreetError, r"the step x failed with SystemExit at engine_steps\.py:\d+"),
    ("input", InputError, "^scores.csv has 3 columns; expected 4: add one"),
    ("extra", UsageError, "^training needs the package 'torch'"),
    ("full", UsageError, "the step x ran out of space on the disk of .*store: free some and run again"),
    ("wrapped", UsageError, "the step x ran out of space"),
])
def test_a_failure_is_one_line_without_data(steps: Any, store: Store, kind: str, error: type[DiscreetError],
                                            words: str) -> None:
    task = Task.of(steps.fail, "x", params={"kind": kind})
    found = error_of(carry_out(task, store))
    assert type(found) is error
    with pytest.raises(error, match=words):
        raise found
    assert "Ada" not in str(found)
    assert "\n" not in str(found)
    assert "Ada" not in (store.folder / "log.jsonl").read_text()
    assert store.history()[-1]["calls"][-1].endswith(" fail")
    assert store.get(task.key) is None
    assert list((store.folder / "drafts").iterdir()) == []


@pytest.mark.parametrize(("free", "words"), [(5_000, "ran out of space"), (1 << 30, "failed with ValueError")])
def test_a_library_that_hides_a_full_disk(steps: Any, store: Store, monkeypatch: pytest.MonkeyPatch, free: int,
                                          words: str) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=free))
    assert words in carry_out(Task.of(steps.fail, "x"), store)["message"]


def test_a_link_in_the_folder_fails_the_task(steps: Any, store: Store) -> None:
    assert carry_out(Task.of(steps.link, "x"), store)["message"].startswith("the step x failed with ValueError")


def test_files_are_checked_before_they_are_used(steps: Any, store: Store, tmp_path: Path) -> None:
    data = tmp_path / "data.txt"
    data.write_text("1\n2\n")
    task = Task.of(steps.lines, "x", files={"data": DataFile.of(data)})
    data.write_text("1\n2\n3\n")
    assert "data.txt has changed since" in carry_out(task, store)["message"]
    data.unlink()
    assert "cannot read" in carry_out(task, store)["message"]
    assert store.get(task.key) is None
    data.write_text("1\n2\n")
    assert carry_out(task, store) == {"ok": True}


def test_an_input_that_is_not_there_is_not_made_up(steps: Any, store: Store) -> None:
    task = Task.of(steps.total, "y", inputs={"a": Task.of(steps.draw, "x", params={"n": 1})})
    reply = carry_out(task, store)
    assert (reply["kind"], "the input a is not in the store" in reply["message"]) == ("InputError", True)


def test_a_worker_of_other_versions_refuses(steps: Any, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task.of(steps.draw, "x", params={"n": 1})
    monkeypatch.setattr("discreet.audit.engine.job.versions_of", lambda *names: versions_of(*names) | {"numpy": "1.0"})
    reply = carry_out(task, store)
    assert reply["message"].startswith("numpy differs here")
    assert store.get(task.key) is None


def test_a_store_that_a_worker_does_not_see(steps: Any, tmp_path: Path) -> None:
    task = Task.of(steps.draw, "x", params={"n": 1})
    reply = execute({"store": str(tmp_path / "elsewhere"), "spec": task.spec, "paths": {}})
    assert "every worker must see the same folder" in reply["message"]
    assert not (tmp_path / "elsewhere").exists()
