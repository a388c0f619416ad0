"""Experiments on two nodes, one killed while it trains: the bytes of a calm run, and nothing published twice."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.audit.engine.two_nodes import with_a_node_killed
from tests.audit.experiments.membership.made_up import bytes_of, experiment_on, write_rows

from discreet.audit.engine import Store
from discreet.audit.experiments import train

RECIPE = "tfidf-mlp:steps=400,hidden=64"
TASKS = 3 * 7
EXPERIMENTS = """
from discreet.audit.engine import DataFile
from discreet.audit.experiments import MembershipExperiment, train
data = DataFile.of({data!r})
experiments = [MembershipExperiment(data, {recipe!r}, seed, {{"a": 60}}, shadows=6, planted=(1,)) for seed in range(3)]
train(experiments, store, engine="ray", address=cluster.address, quiet=True)
"""


@pytest.mark.services
def test_a_node_that_is_killed_changes_no_byte(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", 420)
    work = EXPERIMENTS.format(data=str(data), recipe=RECIPE)
    assert with_a_node_killed(work, tmp_path / "ray", after=3, within=180) == ["killed", "done"]

    experiments = [experiment_on(data, RECIPE, seed, {"a": 60}, shadows=6, planted=(1,)) for seed in range(3)]
    calm = train(experiments, tmp_path / "calm", workers=1, quiet=True)

    assert bytes_of(tmp_path / "ray") == bytes_of(tmp_path / "calm")
    history = Store(tmp_path / "ray").history()
    published = Counter(event["key"] for event in history if event["event"] == "publish")
    assert len(published) == TASKS
    assert set(published.values()) == {1}
    # One core a node: the kill interrupts at most one task.
    assert TASKS <= sum(event["event"] == "begin" for event in history) <= TASKS + 1
    again = train(experiments, tmp_path / "ray", engine="inline", quiet=True)
    for one, other in zip(calm, again, strict=True):
        np.testing.assert_array_equal(one.table().logits, other.table().logits)
