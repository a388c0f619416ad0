"""Every task once, in order, with the same bytes whoever carries it out; workers die, and nothing else does."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.audit.engine.conftest import begun_once

import discreet.audit.engine.runner as module
from discreet.audit.engine import Store, Task, run, seeds_of
from discreet.audit.engine.job import Order, Reply, execute
from discreet.audit.engine.runner import ATTEMPTS
from discreet.core.errors import DiscreetError, InputError, UsageError

Tree = Callable[[Path], dict[str, bytes]]
SCRIPT = """
import signal
# A shell that starts the tests in the background hands them an ignored SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)
import sys
sys.path.append({here!r})
import engine_steps
from discreet.audit.engine import run
run(engine_steps.diamond(sleep=0.05, wide=6), {store!r}, workers=2, quiet=True)
print("done")
"""


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
    store, task = Store(tmp_path / "store"), steps.diamond()[0]
    run([task], store, engine="inline", quiet=True)
    before = len(store.history())
    for needed in task.inputs.values():
        (store.folder / "results" / needed.key[:2] / needed.key).rename(store.folder / "aside" / needed.key)
    assert run([task, task], store, engine="inline", quiet=True)[task.key].value["parts"].keys() == {"0", "1"}
    assert len(store.history()) == before


def test_equal_tasks_are_one(steps: Any, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    twins = [Task.of(steps.draw, "x", params={"n": 2}) for _ in range(3)]
    both = Task.of(steps.total, "y", inputs={"a": twins[0], "b": twins[1]})
    found = run([*twins, both], store, engine="inline", quiet=True)
    assert set(found) == {twins[0].key, both.key}
    assert events(store, "begin") == Counter(["x", "y"])
    assert found[both.key].value["parts"]["a"] == found[both.key].value["parts"]["b"]


def test_a_damaged_input_is_made_again(steps: Any, tmp_path: Path, tree: Tree) -> None:
    store, task = Store(tmp_path / "store"), steps.diamond()[0]
    run([task], store, engine="inline", quiet=True)
    before = tree(store.folder / "results")
    pair = next(iter(task.inputs.values()))
    draw = next(iter(pair.inputs.values()))
    for key in (task.key, draw.key, pair.key):
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
    with pytest.raises(InputError, match=r"^scores\.csv has 3 columns"):
        run([good, after], store, engine=engine, workers=1, quiet=True)
    assert store.get(good.key) is not None
    assert events(store, "begin") == Counter(["good", "bad/1"])
    with pytest.raises(DiscreetError, match="the step bad/2 failed with ValueError at engine_steps"):
        run([Task.of(steps.fail, "bad/2")], store, engine=engine, workers=1, quiet=True)


def test_no_more_are_under_way_than_asked_for(steps: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[tuple[Order, Future[Reply]]] = []
    most = 0

    class Lazy(module.InlinePool):
        """Answers the oldest order only when the pool is full or nothing more comes."""

        capacity = 3

        def submit(self, order: Order, name: str) -> Future[Reply]:
            nonlocal most
            held.append((order, Future()))
            most = max(most, len(held))
            return held[-1][1]

    def wait(futures: Any, return_when: str) -> tuple[set[Future[Reply]], set[Future[Reply]]]:
        order, future = held.pop(0)
        future.set_result(execute(order))
        return {future}, set(futures) - {future}

    monkeypatch.setattr(module, "InlinePool", Lazy)
    monkeypatch.setattr(module, "wait", wait)
    assert len(run(steps.diamond(wide=6), tmp_path / "store", engine="inline", quiet=True)) == 1
    assert most == 3


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


def test_a_task_whose_worker_is_killed_is_tried_again(steps: Any, tmp_path: Path) -> None:
    store, marks = Store(tmp_path / "store"), tmp_path / "marks"
    marks.mkdir()
    fragile = Task.of(steps.die, "fragile", params={"marks": str(marks), "times": ATTEMPTS - 1})
    others = [Task.of(steps.draw, f"other/{i}", params={"n": 2}) for i in range(4)]
    found = run([fragile, *others], store, workers=2, quiet=True)
    assert found[fragile.key].value == {"died": ATTEMPTS - 1}
    assert events(store, "begin") == {"fragile": ATTEMPTS, **{t.name: 1 for t in others}}
    lost = [e for e in store.history() if e["event"] == "lost"]
    assert [(e["task"], e["status"]) for e in lost] == [("fragile", -signal.SIGKILL)] * (ATTEMPTS - 1)
    always = Task.of(steps.die, "always", params={"marks": str(marks), "times": 99})
    with pytest.raises(DiscreetError, match="the step always was given up: its process ended 3 times"):
        run([always], store, workers=1, quiet=True)
    assert len(list(marks.iterdir())) == 2 * ATTEMPTS - 1
    Store(store.folder)
    assert list((store.folder / "drafts").iterdir()) == []


def test_limits_are_set_in_the_worker_only(steps: Any, tmp_path: Path) -> None:
    before = dict(os.environ)
    orders = set()
    for name in ("one", "two"):
        task = Task.of(steps.surroundings, name)
        value = run([task], tmp_path / "store", workers=1, threads=3, quiet=True)[task.key].value
        assert value["threads"] == "3"
        orders.add(tuple(value["order"]))
    assert dict(os.environ) == before
    # The order of a set of strings is that of their hashes, which differ from process to process unless seeded.
    assert len(orders) == 1


def test_what_a_task_prints_disturbs_nothing(steps: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    task = Task.of(steps.nothing, "x")
    assert run([task], tmp_path / "store", workers=1, quiet=True)[task.key].value == {}
    out, err = capfd.readouterr()
    assert out == ""
    assert "this is not for the protocol" in err


@pytest.mark.parametrize("where", ["file", "array"])
def test_a_full_disk_is_one_line_and_nothing_is_read_later(steps: Any, tmp_path: Path, where: str) -> None:
    store = Store(tmp_path / "store")
    before = Task.of(steps.draw, "before", params={"n": 2})
    task = Task.of(steps.fill, "big", params={"where": where}, inputs={"a": before})
    with pytest.raises(UsageError, match=r"the step big ran out of space on the disk of .*finished steps are kept"):
        run([task], store, workers=1, quiet=True)
    assert store.get(task.key) is None
    assert store.get(before.key) is not None
    assert list((store.folder / "drafts").iterdir()) == []


def start(folder: Path, **options: Any) -> subprocess.Popen[str]:
    code = SCRIPT.format(here=str(Path(__file__).parent), store=str(folder))
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            start_new_session=True, **options)


def await_results(folder: Path, at_least: int) -> None:
    end = time.monotonic() + 60
    while len(list((folder / "results").glob("*/*"))) < at_least:
        assert time.monotonic() < end, "the run does not get anywhere"
        time.sleep(0.01)


def test_a_run_killed_twice_and_resumed_equals_one_that_was_left_alone(
        steps: Any, tmp_path: Path, tree: Tree) -> None:
    draw = random.Random(5)
    # In one process: workers, killed or not, write the same bytes.
    run(steps.diamond(sleep=0.05, wide=6), tmp_path / "calm", engine="inline", quiet=True)
    for at_least in (1, 5):
        with start(tmp_path / "killed") as run_:
            await_results(tmp_path / "killed", at_least)
            time.sleep(draw.uniform(0, 0.08))
            os.killpg(run_.pid, signal.SIGKILL)
            assert run_.wait() == -signal.SIGKILL
    run(steps.diamond(sleep=0.05, wide=6), tmp_path / "killed", engine="inline", quiet=True)
    calm_tree, killed_tree = (tree(tmp_path / name / "results") for name in ("calm", "killed"))
    assert calm_tree == killed_tree
    assert len(calm_tree) == 6 * 4 + 6 * 3
    store = Store(tmp_path / "killed")
    assert list((store.folder / "drafts").iterdir()) == list((store.folder / "aside").iterdir()) == []
    assert max(begun_once(store).values()) <= 3


def test_an_interrupted_run_leaves_no_worker_and_goes_on(steps: Any, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with start(folder) as interrupted:
        await_results(folder, 2)
        os.killpg(interrupted.pid, signal.SIGINT)
        out, err = interrupted.communicate(timeout=60)
    assert out == ""
    assert err.splitlines()[-1] == "KeyboardInterrupt"
    with pytest.raises(ProcessLookupError):
        os.killpg(interrupted.pid, 0)
    run(steps.diamond(sleep=0.05, wide=6), folder, engine="inline", quiet=True)
    assert max(begun_once(Store(folder)).values()) <= 3


def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with start(folder) as parent:
        await_results(folder, 1)
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        # Both hold the parent's stderr: it ends when the last worker does.
        assert parent.stderr is not None
        parent.stderr.read()
        assert len(list((folder / "results").glob("*/*"))) < 12
