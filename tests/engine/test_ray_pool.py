"""Two local nodes, one of them killed: the same results, nothing lost, nothing run twice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from discreet.engine import Store, run
from discreet.engine.job import execute, order_for

pytest.importorskip("ray")

# In a process of its own: Ray opens sockets, starts threads and warns.
CLUSTER = """
import sys, threading, time
from contextlib import suppress
sys.path.append({here!r})
import engine_steps
from ray.cluster_utils import Cluster
from discreet.engine import Store, run
cluster = Cluster(initialize_head=True, head_node_args=dict(num_cpus=1, include_dashboard=False))
second = cluster.add_node(num_cpus=1)
store = Store({store!r})
def kill():
    end = time.monotonic() + 60
    while time.monotonic() < end:
        events = [e["event"] for e in store.history()]
        # One core a node: with two tasks under way, both nodes are at work.
        if events.count("publish") >= 2 and events.count("begin") - events.count("publish") == 2:
            # Ray asserts that no process is left the moment after it killed them; that is for it to know.
            with suppress(AssertionError):
                cluster.remove_node(second, allow_graceful=False)
            return print("@@ killed", flush=True)
        time.sleep(0.02)
killer = threading.Thread(target=kill, daemon=True)
killer.start()
run(engine_steps.diamond(sleep=0.4, wide=6), store, engine="ray", address=cluster.address, quiet=True)
killer.join()
print("@@ done", flush=True)
with suppress(AssertionError):
    cluster.shutdown()
"""
ALONE = """
import sys
sys.path.append({here!r})
import engine_steps, os, ray
from discreet.engine import Task, run
from discreet.engine.worker import LIMITS
from discreet.errors import InputError, DiscreetError
WATCHED = (*LIMITS, "PYTHONPATH", "RAY_USAGE_STATS_ENABLED")
before = [os.environ.get(name) for name in WATCHED]
task = Task.of(engine_steps.surroundings, "x")
print("@@", run([task], {store!r}, engine="ray", workers=1, threads=2, quiet=True)[task.key].value["threads"])
print("@@", ray.is_initialized(), [os.environ.get(name) for name in WATCHED] == before)
ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
for kind, error in (("input", InputError), ("", DiscreetError)):
    try:
        run([Task.of(engine_steps.fail, "bad", params={{"kind": kind}})], {store!r}, engine="ray", quiet=True)
    except error as failure:
        print("@@", failure)
(marks := __import__("pathlib").Path({store!r}).with_name("marks")).mkdir()
try:
    run([Task.of(engine_steps.die, "fragile", params={{"marks": str(marks), "times": 99}})], {store!r}, engine="ray",
        quiet=True)
except DiscreetError as failure:
    print("@@", failure, len(list(marks.iterdir())))
print("@@", ray.is_initialized())
ray.shutdown()
"""


def in_a_process(code: str, store: Path) -> list[str]:
    here = str(Path(__file__).parent)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([here, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep),
           "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run([sys.executable, "-c", code.format(here=here, store=str(store))], env=env, timeout=280,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [line.removeprefix("@@ ") for line in done.stdout.splitlines() if line.startswith("@@ ")]


@pytest.mark.slow
def test_a_node_that_is_killed_costs_only_what_was_under_way(steps: Any, tmp_path: Path,
                                                             tree: Callable[[Path], dict[str, bytes]]) -> None:
    printed = in_a_process(CLUSTER, tmp_path / "ray")
    assert printed == ["killed", "done"]
    run(steps.diamond(sleep=0.4, wide=6), tmp_path / "calm", workers=2, quiet=True)
    assert tree(tmp_path / "ray" / "results") == tree(tmp_path / "calm" / "results")
    store = Store(tmp_path / "ray")
    published = Counter(e["key"] for e in store.history() if e["event"] == "publish")
    assert len(published) == 12
    assert set(published.values()) == {1}
    seen: set[str] = set()
    for event in store.history():
        assert not (event["event"] == "begin" and event["key"] in seen)
        seen |= {event["key"]} if event["event"] == "publish" else set()
    begun = Counter(e["key"] for e in store.history() if e["event"] == "begin")
    # One core a node: the kill interrupts at most one task.
    assert sum(begun.values()) <= 12 + 1


@pytest.mark.slow
def test_ray_on_this_machine(tmp_path: Path) -> None:
    threads, after, bad, worse, fragile, left_running = in_a_process(ALONE, tmp_path / "store")
    assert threads == "2"
    assert after == "False True"
    assert bad == "the task bad: scores.csv has 3 columns; expected 4: add one"
    assert worse.startswith("the task bad failed with ValueError at engine_steps.py:")
    assert fragile.startswith("the task fragile was given up: its worker died 3 times")
    assert fragile.endswith(" 3")
    assert left_running == "True"


def test_an_order_that_ray_repeats_after_its_result_is_there_runs_nothing(steps: Any, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    task = steps.diamond()[0].inputs["0"].inputs["a"]
    for _ in range(3):
        assert execute(order_for(task, store)) == {"ok": True}
    assert [e["event"] for e in store.history()] == ["begin", "publish"]
