"""The audit of a world as one more task, so that a study over many worlds is resumed and shared out like training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.audit.membership.audit import audit_membership
from discreet.core.design import DEALT
from discreet.data.texts import read_texts
from discreet.engine import Job, Task
from discreet.experiments.membership.collect import score_table, training_record
from discreet.experiments.membership.experiment import LIBRARIES, World


def audit_task(world: World, tasks: Mapping[str, Task], *, permutations: int = 199, bootstraps: int = 200,
               reference: str = "neutral", structure: str | None = None) -> Task:
    """The audit of a world's tasks: `{"audit": the audit's JSON, "training": what was trained}`."""
    name = "/".join(["audit", reference, *([structure] if structure else [])])
    return Task.of(audit, name, inputs=tasks, files={"data": world.data}, seed=world.seed,
                   params={"reference": reference, "structure": structure, "permutations": permutations,
                           "bootstraps": bootstraps},
                   libraries=(*LIBRARIES, "discreet.audit", "discreet.stats", "scipy", "scikit-learn"))


def audit(job: Job) -> dict[str, Any]:
    """Audit both directions of a world."""
    rows, asked = read_texts(job.files["data"]), job.params
    table = score_table(job.inputs, rows, reference=asked["reference"], structure=asked["structure"])
    found = audit_membership(
        table, design=DEALT, texts={row.id: row.text for row in rows}, permutations=asked["permutations"],
        bootstraps=asked["bootstraps"], seed=job.seed)
    return {"audit": found.to_json(), "training": training_record(job.inputs)}
