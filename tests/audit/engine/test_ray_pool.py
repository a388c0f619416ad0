"""Two local nodes, one of them killed: the same results, nothing lost, nothing run twice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.audit.engine.conftest import begun_once
from tests.audit.engine.two_nodes import in_a_process, with_a_node_killed

from discreet.audit.engine import Store, run

pytest.importorskip("ray")

HERE = Path(__file__).parent
DIAMOND = """
import engine_steps
from discreet.audit.engine import run
run(engine_steps.diamond(sleep=0.4, wide=6), store, engine="ray", address=cluster.address, quiet=True)
"""
ALONE = """
import engine_steps, os, ray
from discreet.audit.engine import Task, run
from discreet.audit.engine.runner import LIMITS
from discreet.core.errors import InputError, DiscreetError
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


@pytest.mark.services
def test_a_node_that_is_killed_costs_only_what_was_under_way(steps: Any, tmp_path: Path,
                                                             tree: Callable[[Path], dict[str, bytes]]) -> None:
    printed = with_a_node_killed(DIAMOND, tmp_path / "ray", after=2, within=60, modules=HERE)
    assert printed == ["killed", "done"]
    run(steps.diamond(sleep=0.4, wide=6), tmp_path / "calm", workers=2, quiet=True)
    assert tree(tmp_path / "ray" / "results") == tree(tmp_path / "calm" / "results")
    store = Store(tmp_path / "ray")
    begun = begun_once(store)
    assert len({e["key"] for e in store.history() if e["event"] == "publish"}) == len(begun) == 12
    # One core a node: the kill interrupts at most one task.
    assert begun.total() <= 12 + 1


@pytest.mark.slow
def test_ray_on_this_machine(tmp_path: Path) -> None:
    threads, after, bad, worse, fragile, left_running = in_a_process(
        ALONE.format(store=str(tmp_path / "store")), HERE)
    assert threads == "2"
    assert after == "False True"
    assert bad == "scores.csv has 3 columns; expected 4: add one"
    assert worse.startswith("the step bad failed with ValueError at engine_steps.py:")
    assert fragile.startswith("the step fragile was given up: its process ended 3 times")
    assert fragile.endswith(" 3")
    assert left_running == "True"
