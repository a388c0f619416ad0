"""Worlds on two nodes, one of them killed while it trains: the bytes of a calm run, and nothing published twice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from discreet.engine import DataFile, Store
from discreet.studies.membership.train_and_audit import train
from discreet.studies.membership.world import World

pytest.importorskip("ray")

RECIPE = "tfidf-mlp:steps=400,hidden=64"
TASKS = 3 * 7
# In a process of its own: Ray opens sockets, starts threads and warns.
CLUSTER = """
import sys, threading, time
from contextlib import suppress
from pathlib import Path
from ray.cluster_utils import Cluster
from discreet.engine import DataFile, Store
from discreet.studies.membership.train_and_audit import train
from discreet.studies.membership.world import World
data, folder, recipe = sys.argv[1:]
cluster = Cluster(initialize_head=True, head_node_args=dict(num_cpus=1, include_dashboard=False))
second = cluster.add_node(num_cpus=1)
store = Store(folder)
def kill():
    end = time.monotonic() + 180
    while time.monotonic() < end:
        events = [e["event"] for e in store.history()]
        # One core a node: with two tasks under way, both nodes are at work.
        if events.count("publish") >= 3 and events.count("begin") - events.count("publish") == 2:
            # Ray asserts that no process is left the moment after it killed them; that is for it to know.
            with suppress(AssertionError):
                cluster.remove_node(second, allow_graceful=False)
            return print("@@ killed", flush=True)
        time.sleep(0.01)
killer = threading.Thread(target=kill, daemon=True)
killer.start()
worlds = [World(DataFile.of(data), recipe, seed, {"a": 60}, shadows=6, planted=(1,)) for seed in range(3)]
train(worlds, store, engine="ray", address=cluster.address, quiet=True)
killer.join()
print("@@ done", flush=True)
with suppress(AssertionError):
    cluster.shutdown()
"""


@pytest.mark.slow
def test_a_node_that_is_killed_changes_no_byte(tmp_path: Path, written: Callable[..., Path]) -> None:
    data = written(tmp_path / "d.jsonl", 420)
    done = subprocess.run([sys.executable, "-c", CLUSTER, str(data), str(tmp_path / "ray"), RECIPE],
                          env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}, timeout=500, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("@@")] == ["@@ killed", "@@ done"]

    worlds = [World(DataFile.of(data), RECIPE, seed, {"a": 60}, shadows=6, planted=(1,)) for seed in range(3)]
    calm = train(worlds, tmp_path / "calm", workers=1, quiet=True)

    def bytes_of(store: Path) -> dict[str, bytes]:
        return {path.relative_to(store).as_posix(): path.read_bytes()
                for path in (store / "results").rglob("*") if path.is_file()}

    assert bytes_of(tmp_path / "ray") == bytes_of(tmp_path / "calm")
    history = Store(tmp_path / "ray").history()
    published = Counter(event["key"] for event in history if event["event"] == "publish")
    assert len(published) == TASKS
    assert set(published.values()) == {1}
    # One core a node: the kill interrupts at most one task.
    assert TASKS <= sum(event["event"] == "begin" for event in history) <= TASKS + 1
    again = train(worlds, tmp_path / "ray", engine="inline", quiet=True)
    for one, other in zip(calm, again, strict=True):
        np.testing.assert_array_equal(one.table().logits, other.table().logits)
