"""Workers die, and nothing else does."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.core.errors import DiscreetError, UsageError
from discreet.engine import Store, Task, run
from discreet.engine.runner import ATTEMPTS

SCRIPT = """
import signal
# A shell that starts the tests in the background hands them an ignored SIGINT.
signal.signal(signal.SIGINT, signal.default_int_handler)
import sys
sys.path.append({here!r})
import engine_steps
from discreet.engine import run
run(engine_steps.diamond(sleep=0.05, wide=6), {store!r}, workers=2, quiet=True)
print("done")
"""


def marks(tmp_path: Path) -> str:
    (tmp_path / "marks").mkdir()
    return str(tmp_path / "marks")


def test_a_task_whose_worker_is_killed_is_tried_again(steps: Any, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    fragile = Task.of(steps.die, "fragile", params={"marks": marks(tmp_path), "times": ATTEMPTS - 1})
    others = [Task.of(steps.draw, f"other/{i}", params={"n": 2}) for i in range(4)]
    found = run([fragile, *others], store, workers=2, quiet=True)
    assert found[fragile.key].value == {"died": ATTEMPTS - 1}
    begun = Counter(e["task"] for e in store.history() if e["event"] == "begin")
    assert begun == {"fragile": ATTEMPTS, **{t.name: 1 for t in others}}
    lost = [e for e in store.history() if e["event"] == "lost"]
    assert [(e["task"], e["status"]) for e in lost] == [("fragile", -signal.SIGKILL)] * (ATTEMPTS - 1)


def test_a_task_that_always_kills_its_worker_is_given_up(steps: Any, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    fragile = Task.of(steps.die, "fragile", params={"marks": marks(tmp_path), "times": 99})
    with pytest.raises(DiscreetError, match="the task fragile was given up: its worker died 3 times"):
        run([fragile], store, workers=1, quiet=True)
    assert len(list((tmp_path / "marks").iterdir())) == ATTEMPTS
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
    with pytest.raises(UsageError, match=r"the task big ran out of space on the disk of .*finished tasks are kept"):
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
        steps: Any, tmp_path: Path, tree: Callable[[Path], dict[str, bytes]]) -> None:
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
    assert_nothing_ran_twice(store)


def assert_nothing_ran_twice(store: Store) -> None:
    published: set[str] = set()
    for event in store.history():
        if event["event"] == "publish":
            assert event["key"] not in published
            published.add(event["key"])
        elif event["event"] == "begin":
            assert event["key"] not in published
    begun = Counter(e["key"] for e in store.history() if e["event"] == "begin")
    assert max(begun.values()) <= 3


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
    assert_nothing_ran_twice(Store(folder))


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
