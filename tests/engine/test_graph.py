"""Every task once, in order, with the same bytes whoever carries it out."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet.engine.runner as module
from discreet.core.errors import DiscreetError, InputError, UsageError
from discreet.engine import Store, Task, run, seeds_of
from discreet.engine.job import Order, Reply, execute


def events(store: Store, kind: str) -> Counter[str]:
    return Counter(e["task"] for e in store.history() if e["event"] == kind)


def test_a_graph_gives_what_its_arithmetic_says(steps: Any, tmp_path: Path) -> None:
    tasks = steps.diamond()
    found = run(tasks, tmp_path / "store", engine="inline", quiet=True)
    assert list(found) == [tasks[0].key]
    store = Store(tmp_path / "store")
    sums = [np.random.default_rng(seeds_of(7, f"draw/{i}")).normal(size=5 + i).sum() for i in range(3)]
    for i in range(3):
        result = store.get(Task.of(steps.draw, f"draw/{i}", params={"n": 5 + i, "sleep": 0.0}, seed=7).key)
        assert result is not None
        assert result.arrays["values"].sum() == sums[i]
        assert float((result.files / "notes/draw.txt").read_text()) == result.value["first"]
    assert found[tasks[0].key].value["total"] == pytest.approx(sums[0] + 2 * sums[1] + sums[2])
    assert events(store, "begin") == events(store, "publish") == Counter(
        ["draw/0", "draw/1", "draw/2", "pair/0", "pair/1", "all"])


def test_what_is_there_is_not_run_and_not_needed(steps: Any, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    task = steps.diamond()[0]
    run([task], store, engine="inline", quiet=True)
    before = len(store.history())
    run([task, task], store, engine="inline", quiet=True)
    for needed in task.inputs.values():
        folder = store.folder / "results" / needed.key[:2] / needed.key
        folder.rename(store.folder / "aside" / needed.key)
    assert run([task], store, engine="inline", quiet=True)[task.key].value["parts"].keys() == {"0", "1"}
    assert len(store.history()) == before


def test_equal_tasks_are_one(steps: Any, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    twins = [Task.of(steps.draw, "x", params={"n": 2}) for _ in range(3)]
    both = Task.of(steps.total, "y", inputs={"a": twins[0], "b": twins[1]})
    found = run([*twins, both], store, engine="inline", quiet=True)
    assert set(found) == {twins[0].key, both.key}
    assert events(store, "begin") == Counter(["x", "y"])
    assert found[both.key].value["parts"]["a"] == found[both.key].value["parts"]["b"]


def test_a_damaged_input_is_made_again(steps: Any, tmp_path: Path, tree: Callable[[Path], dict[str, bytes]]) -> None:
    store = Store(tmp_path / "store")
    task = steps.diamond()[0]
    run([task], store, engine="inline", quiet=True)
    before = tree(store.folder / "results")
    draw = next(iter(next(iter(task.inputs.values())).inputs.values()))
    for key in (task.key, draw.key, next(iter(task.inputs.values())).key):
        os.truncate(store.folder / "results" / key[:2] / key / "value.json", 3)
    run([task], store, engine="inline", quiet=True)
    assert tree(store.folder / "results") == before
    assert events(store, "begin")[draw.name] == 2


@pytest.mark.parametrize("engine", ["inline", "local"])
def test_a_failure_names_its_task_and_keeps_the_rest(steps: Any, tmp_path: Path, engine: str) -> None:
    store = Store(tmp_path / "store")
    good = Task.of(steps.draw, "good", params={"n": 2})
    bad = Task.of(steps.fail, "bad/1", params={"kind": "input"})
    after = Task.of(steps.total, "after", inputs={"a": good, "b": bad})
    with pytest.raises(InputError, match=r"the task bad/1: scores\.csv has 3 columns"):
        run([good, after], store, engine=engine, workers=1, quiet=True)
    assert store.get(good.key) is not None
    assert events(store, "begin") == Counter(["good", "bad/1"])
    with pytest.raises(DiscreetError, match="the task bad/2 failed with ValueError at engine_steps"):
        run([Task.of(steps.fail, "bad/2")], store, engine=engine, workers=1, quiet=True)


def test_no_more_are_under_way_than_asked_for(steps: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lazy:
        """Answers the oldest order only when the pool is full or nothing more comes."""

        capacity = 3

        def __init__(self) -> None:
            self.most = 0
            self.held: list[tuple[Order, Future[Reply]]] = []

        def submit(self, order: Order, name: str) -> Future[Reply]:
            future: Future[Reply] = Future()
            self.held.append((order, future))
            self.most = max(self.most, len(self.held))
            return future

        def close(self) -> None: ...

    pool = Lazy()

    def wait(futures: Any, return_when: str) -> tuple[set[Future[Reply]], set[Future[Reply]]]:
        order, future = pool.held.pop(0)
        future.set_result(execute(order))
        return {future}, set(futures) - {future}

    monkeypatch.setattr(module, "_opened", lambda *_: pool)
    monkeypatch.setattr(module, "wait", wait)
    found = run(steps.diamond(wide=6), tmp_path / "store", quiet=True)
    assert pool.most == 3
    assert len(found) == 1


def test_a_long_chain_is_no_recursion(steps: Any, tmp_path: Path) -> None:
    task = Task.of(steps.nothing, "0")
    for i in range(1, 300):
        task = Task.of(steps.nothing, str(i), inputs={"before": task})
    todo = module._survey([task], Store(tmp_path / "store"))[1]
    assert len(todo) == 300


@pytest.mark.parametrize(("change", "words"), [
    ({"engine": "dask"}, "there is no engine 'dask': expected one of local, inline, ray"),
    ({"workers": 0}, "the number of workers is 0; expected 1 or more"),
    ({"threads": 0}, "the number of threads is 0"),
    ({"address": "auto"}, "the engine local takes no address"),
])
def test_what_cannot_be_asked_for(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        run([], tmp_path / "store", **change)


def test_ray_is_asked_for_by_name(steps: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"--engine ray needs the package 'ray'.*discreet\[ray\]"):
        run(steps.diamond(), tmp_path / "store", engine="ray", quiet=True)
