"""A result is there whole or not at all."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet.audit.engine import Result, Store, Task
from discreet.core.errors import InputError, UsageError

MADE = {"a": 1, "b": [1.5, None, "x"], "m": np.arange(6.0).reshape(2, 3).T, "s": np.array(7, dtype=np.int64),
        "t": np.array([True, False])}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def task(steps: Any) -> Task:
    return Task.of(steps.draw, "x", params={"n": 1})


def put(store: Store, task: Task, made: dict[str, Any] | None = None) -> Result:
    with store.draft(task.key) as draft:
        (draft / "files" / "deep").mkdir(parents=True)
        (draft / "files" / "deep" / "model.bin").write_bytes(bytes(5000))
        return store.publish(task.spec, draft, MADE if made is None else made)


def test_what_is_put_is_got(store: Store, task: Task) -> None:
    assert store.get(task.key) is None
    put(store, task)
    result = Store(store.folder, make=False).get(task.key)
    assert result is not None
    assert result.value == {"a": 1, "b": [1.5, None, "x"]}
    assert result.task == json.loads(task.spec)
    assert result.arrays.keys() == {"m", "s", "t"}
    for name, array in result.arrays.items():
        assert array.dtype == MADE[name].dtype  # type: ignore[attr-defined]
        np.testing.assert_array_equal(array, MADE[name])
    assert (result.files / "deep" / "model.bin").read_bytes() == b"\x00" * 5000
    assert list((store.folder / "drafts").iterdir()) == []


DAMAGE: dict[str, Callable[[Path], Any]] = {
    "no manifest": lambda f: (f / "manifest.json").unlink(),
    "half a manifest": lambda f: os.truncate(f / "manifest.json", 100),
    "no value": lambda f: (f / "value.json").unlink(),
    "short arrays": lambda f: os.truncate(f / "arrays.safetensors", 60),
    "short file": lambda f: os.truncate(f / "files/deep/model.bin", 4999),
    "a flipped byte": lambda f: rewrite(f / "files/deep/model.bin", b"\x00" * 4999 + b"\x01"),
    "an added file": lambda f: (f / "files" / "adapter_config.json").write_text("{}"),
    "a link": lambda f: link(f / "value.json", f.parent / "v"),
    "another value, and its hash": lambda f: rewrite(f / "manifest.json", json.dumps(
        json.loads((f / "manifest.json").read_text()) | {"task": {"name": "another"}}).encode()),
    "a list": lambda f: rewrite(f / "manifest.json", b"[]"),
    "a file for a folder": lambda f: instead(f).write_bytes(b"x"),
    "an empty folder": lambda f: instead(f).mkdir(),
}


def link(path: Path, other: Path) -> None:
    path.rename(other)
    path.symlink_to(other)


def instead(folder: Path) -> Path:
    shutil.rmtree(folder)
    return folder


def rewrite(path: Path, content: bytes) -> None:
    path.chmod(0o644)
    path.write_bytes(content)


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE.keys())
def test_a_damaged_result_is_put_aside_and_made_again(store: Store, task: Task, damage: Callable[[Path], Any]) -> None:
    folder = put(store, task).folder
    for path in folder.rglob("*"):
        if path.is_file():
            path.chmod(0o644)
    damage(folder)
    assert store.get(task.key) is None
    assert len(list((store.folder / "aside").iterdir())) == 1
    assert [e["event"] for e in store.history()] == ["publish", "aside"]
    put(store, task)
    assert store.get(task.key) is not None


def test_a_damaged_result_does_not_stop_a_writer_that_never_looked(store: Store, task: Task) -> None:
    rewrite(put(store, task).folder / "files/deep/model.bin", b"")
    assert put(store, task).value["a"] == 1
    assert store.get(task.key) is not None


def test_a_result_under_another_key_is_foreign(store: Store, task: Task, steps: Any) -> None:
    other = Task.of(steps.draw, "x", params={"n": 2})
    home = put(store, task).folder
    there = store.folder / "results" / other.key[:2] / other.key
    shutil.copytree(home, there)
    assert store.get(other.key) is None
    assert store.get(task.key) is not None
    assert not there.exists()


def test_many_writers_of_one_key_leave_one_whole_result(store: Store, task: Task) -> None:
    ready = threading.Barrier(8)
    seen: list[dict[str, Any]] = []

    def write(number: int) -> None:
        ready.wait()
        seen.append(put(Store(store.folder), task, {"who": number}).value)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    result = store.get(task.key)
    assert result is not None
    assert seen == [result.value] * 8
    assert sorted(e["event"] for e in store.history()) == ["late"] * 7 + ["publish"]
    assert list((store.folder / "aside").iterdir()) == []


SYNCS = 8
"""Value, arrays, model, manifest; the draft and its two folders; the folder that it was moved to."""


@pytest.mark.parametrize("at", range(SYNCS + 1))
def test_a_disk_that_fills_at_any_sync_publishes_nothing(store: Store, task: Task, at: int,
                                                         monkeypatch: pytest.MonkeyPatch) -> None:
    calls = 0

    def full(_: int) -> None:
        nonlocal calls
        calls += 1
        if calls == at + 1:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    if at < SYNCS:
        with pytest.raises(OSError, match="No space left"):
            put(store, task)
        # The last sync comes after the renaming: then the whole result is there.
        assert (store.get(task.key) is None) == (at < SYNCS - 1)
    else:
        put(store, task)
        assert calls == SYNCS
    assert list((store.folder / "drafts").iterdir()) == []
    monkeypatch.undo()
    assert put(store, task).value["a"] == 1


def test_what_cannot_be_stored_leaves_nothing(store: Store, task: Task) -> None:
    for made in ({"x": np.array(["a"])}, {"x": float("nan")}, {"x": np.array([object()])}, {"x": np.array([1j])}):
        with pytest.raises(ValueError, match=r"no numbers|JSON"):
            put(store, task, made)
    assert store.get(task.key) is None
    assert list((store.folder / "drafts").iterdir()) == []


def test_drafts_of_the_dead_are_swept_and_those_of_the_living_are_not(store: Store, task: Task) -> None:
    code = ("import os, sys\nfrom discreet.audit.engine import Store\n"
            "writing = Store(sys.argv[1], make=False).draft(sys.argv[2])\ndraft = writing.__enter__()\n"
            "(draft / 'half').write_text('x')\nprint(draft, flush=True)\nsys.stdin.read()\nos.kill(os.getpid(), 9)\n")
    with subprocess.Popen([sys.executable, "-c", code, str(store.folder), task.key], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        draft = Path(writer.stdout.readline().strip())
        Store(store.folder)
        assert (draft / "half").exists()
        writer.communicate()
    assert draft.exists()
    Store(store.folder)
    assert not draft.exists()


def test_folders_that_are_no_store(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("x")
    (tmp_path / "file").write_text("x")
    (tmp_path / "newer").mkdir()
    (tmp_path / "newer" / "store.json").write_text('{"kind": "discreet store", "schema": 999}')
    for name, words in (("notes", "not empty"), ("file", "not empty|cannot make"), ("newer", "not a store that"),
                        ("file/below", "cannot make")):
        with pytest.raises(UsageError, match=words) as error:
            Store(tmp_path / name)
        assert "\n" not in str(error.value)
    with pytest.raises(UsageError, match="same folder"):
        Store(tmp_path / "nowhere", make=False)


def test_what_may_not_be_read_is_an_error_and_stays(store: Store, task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    folder = put(store, task).folder
    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(InputError, match="permission denied"):
        store.get(task.key)
    assert folder.exists()


def test_a_line_cut_short_does_not_hide_the_log(store: Store) -> None:
    store.note("begin", key="k")
    with (store.folder / "log.jsonl").open("a") as log:
        log.write('{"event": "beg\n')
    store.note("publish", key="k")
    assert [e["event"] for e in store.history()] == ["begin", "publish"]
