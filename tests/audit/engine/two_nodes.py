"""Ray in a process of its own, for it opens sockets, starts threads and warns; two nodes of it, one of them killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import threading, time
from contextlib import suppress
from ray.cluster_utils import Cluster
from discreet.audit.engine import Store
cluster = Cluster(initialize_head=True, head_node_args=dict(num_cpus=1, include_dashboard=False))
second = cluster.add_node(num_cpus=1)
store = Store({store!r})
def kill():
    end = time.monotonic() + {within}
    while time.monotonic() < end:
        events = [e["event"] for e in store.history()]
        # One core a node: with two tasks under way, both nodes are at work.
        if events.count("publish") >= {after} and events.count("begin") - events.count("publish") == 2:
            # Ray asserts that no process is left the moment after it killed them; that is for it to know.
            with suppress(AssertionError):
                cluster.remove_node(second, allow_graceful=False)
            return print("@@ killed", flush=True)
        time.sleep(0.01)
killer = threading.Thread(target=kill, daemon=True)
killer.start()
{work}
killer.join()
print("@@ done", flush=True)
with suppress(AssertionError):
    cluster.shutdown()
"""


def with_a_node_killed(work: str, store: Path, *, after: int, within: float, modules: Path | None = None) -> list[str]:
    """Run `work`, Python that has `store` and `cluster.address`, on two nodes of one core; one is killed on the way.

    That is done once `after` results are published and both nodes are at work, for up to `within` seconds; what is
    printed is then "killed" and "done". `modules` is as for `in_a_process`.
    """
    return in_a_process(SCRIPT.format(work=work, store=str(store), after=after, within=within), modules)


def in_a_process(code: str, modules: Path | None = None) -> list[str]:
    """What the lines that `code` prints behind "@@ " say; it and Ray's workers can import what lies in `modules`."""
    path = os.pathsep.join(filter(None, [str(modules or ""), os.environ.get("PYTHONPATH")]))
    env = {**os.environ, "PYTHONPATH": path, "RAY_USAGE_STATS_ENABLED": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=env, timeout=500, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    return [line.removeprefix("@@ ") for line in done.stdout.splitlines() if line.startswith("@@ ")]
