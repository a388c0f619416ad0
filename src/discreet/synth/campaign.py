"""Running a plan: shard by shard into a folder, so that a killed campaign goes on where it stopped.

    DIR/plan.json            what is being written
    DIR/safe.jsonl, …        one file a partition, in a seeded random order
    DIR/manifest.json        counts, marginals, yields and rejects; written last
    DIR/.shards/             finished shards of a campaign that is not finished
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.errors import UsageError
from discreet.core.files import atomic_writer, dump_json, why, write_atomic
from discreet.core.records import Estimate
from discreet.stats import rate_estimate
from discreet.synth.drafts import Record, Spec
from discreet.synth.generate import Generator, generators
from discreet.synth.plan import Batch, Plan, marginals
from discreet.synth.resample import Shard, write_shard
from discreet.synth.taxonomy import RULES, is_cluster
from discreet.synth.validate import Check, Validator

SHARD = 250
"""Most records of a shard: what a kill can cost."""

NOTE = ("Synthetic: written by a grammar. It bootstraps and demonstrates; a deployment trains on text that a language "
        "model wrote, or on its own.")


@dataclass(frozen=True, slots=True)
class _Job:
    """One shard of a batch."""

    number: int
    batch: Batch
    specs: tuple[Spec, ...]

    @property
    def file(self) -> str:
        return f"{self.batch.partition}-{self.number:05d}.json"


def run_campaign(plan: Plan, out: Path, *, generator: Generator | None = None, check: Check | None = None,
                 watch: Callable[[Sequence[Any]], Iterable[Any]] = iter) -> dict[str, Any]:
    """Write the partitions of a plan into `out` and return the manifest.

    Parameters
    ----------
    plan : Plan
        What to write.
    out : Path
        A new or empty folder, or one where the same plan was begun: finished shards are not written again, and the
        files come out as if it had run in one go. A finished campaign is left as it is.
    generator : Generator, optional
        The registered one of the plan's name by default.
    check : callable, optional
        Says why a record fails; `Validator(plan.domain)` by default. Going on needs the one it was begun with.
    watch : callable, optional
        Wraps the list of shards, to show progress.

    Raises
    ------
    UsageError
        `out` holds something else, or the generator has no such lineage.
    """
    writer = generators[plan.generator] if generator is None else generator
    for name in sorted({b.lineage for b in plan.batches if b.n} - set(writer.lineages)):
        raise UsageError(f"the generator {plan.generator!r} has no lineage {name!r}: expected some of "
                         f"{', '.join(writer.lineages)}")
    key = f"{plan.key()}-{plan.domain.hash[:16]}-{writer.version}"
    done = _opened(plan, out, key)
    if done is not None:
        return done
    judge = check or Validator(plan.domain)
    jobs = list(_jobs(plan))
    shards = [_shard(job, plan, writer, judge, out, key) for job in watch(jobs)]
    manifest: dict[str, Any] = json.loads(dump_json(_manifest(plan, key, jobs, shards)))
    for partition in plan.partitions():
        _write_partition(out, plan, partition, [s for j, s in zip(jobs, shards, strict=True)
                                                if j.batch.partition == partition])
    write_atomic(out / "manifest.json", dump_json(manifest, indent=2) + "\n")
    shutil.rmtree(out / ".shards", ignore_errors=True)
    return manifest


def _opened(plan: Plan, out: Path, key: str) -> dict[str, Any] | None:
    """Make or check the folder; the manifest where this campaign is finished already."""
    kept = out / "plan.json"
    if kept.exists():
        if Plan.load(kept) != plan:
            raise UsageError(f"{out} holds a campaign of another plan: name a new folder, or remove this one")
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is not an empty folder: name a new one for the partitions")
    try:
        (out / ".shards").mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {out}: {why(error)}; name another") from None
    if not kept.exists():
        write_atomic(kept, dump_json(plan.to_json(), indent=2) + "\n")
    try:
        manifest: dict[str, Any] = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    whole = manifest.get("key") == key and all((out / p["file"]).is_file() for p in manifest["partitions"].values())
    if not whole:
        return None
    shutil.rmtree(out / ".shards", ignore_errors=True)
    return manifest


def _jobs(plan: Plan) -> Iterator[_Job]:
    for partition in plan.partitions():
        specs = plan.specs(partition)
        at = number = 0
        for batch in plan.batches:
            if batch.partition != partition:
                continue
            for begin in range(at, at + batch.n, SHARD):
                yield _Job(number, batch, tuple(specs[begin:min(begin + SHARD, at + batch.n)]))
                number += 1
            at += batch.n


def _shard(job: _Job, plan: Plan, writer: Generator, check: Check, out: Path, key: str) -> Shard:
    path = out / ".shards" / job.file
    there = _read_shard(path, key)
    if there is not None:
        return there
    partition = zlib.crc32(f"{plan.domain.name}/{job.batch.partition}".encode())
    prefix = f"{plan.domain.name}-{job.batch.partition}-{job.batch.lineage}-{job.number:05d}"
    shard = write_shard(job.specs, plan.domain, (plan.seed, partition, job.number), writer, check,
                        name=lambda i: f"{prefix}-{i:03d}", made_by=plan.generator)
    write_atomic(path, dump_json({
        "key": key, "records": [r.to_json() for r in shard.records], "drafts": shard.drafts, "kept": shard.kept,
        "short": shard.short, "traded": shard.traded, "rejected": dict(shard.rejected)}))
    return shard


def _read_shard(path: Path, key: str) -> Shard | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if data.get("key") != key:
        return None
    records = tuple(Record.from_json(row) for row in data["records"])
    return Shard(records, data["drafts"], data["kept"], data["short"], data["traded"], data["rejected"])


def _write_partition(out: Path, plan: Plan, partition: str, shards: Sequence[Shard]) -> None:
    records = [record for shard in shards for record in shard.records]
    # In a random order, so that the head of a file is a fair sample of it.
    order = np.random.default_rng((plan.seed, zlib.crc32(partition.encode()))).permutation(len(records))
    with atomic_writer(out / f"{partition}.jsonl") as handle:
        handle.writelines(dump_json(records[int(i)]) + "\n" for i in order)


def _manifest(plan: Plan, key: str, jobs: Sequence[_Job], shards: Sequence[Shard]) -> dict[str, Any]:
    pairs = list(zip(jobs, shards, strict=True))
    rejected: Counter[str] = Counter()
    for shard in shards:
        rejected.update(shard.rejected)
    unsafe = [(j, s) for j, s in pairs if j.batch.partition == "unsafe"]
    return {
        "kind": "synth campaign", "schema": 1, "key": key, "domain": plan.domain.name, "seed": plan.seed,
        "generator": plan.generator, "synthetic": True, "note": NOTE,
        "partitions": {name: _partition(name, [(j, s) for j, s in pairs if j.batch.partition == name])
                       for name in plan.partitions()},
        "yields": {
            "mode": _yields(unsafe, lambda job: job.batch.mode),
            "lineage": _yields(pairs, lambda job: job.batch.lineage),
            "partition": _yields(pairs, lambda job: job.batch.partition),
        },
        "rejected": dict(sorted(rejected.items(), key=lambda item: (-item[1], item[0]))),
        "traded": sum(s.traded for s in shards), "short": sum(s.short for s in shards),
    }


def _partition(name: str, pairs: Sequence[tuple[_Job, Shard]]) -> dict[str, Any]:
    records = [record for _, shard in pairs for record in shard.records]
    return {
        "file": f"{name}.jsonl", "n": len(records), "short": sum(s.short for _, s in pairs),
        "lineages": sorted({j.batch.lineage for j, _ in pairs}),
        "clusters": {rule: sum(is_cluster(r.spec.qi, rule) for r in records) for rule in RULES},
        "marginals": marginals([r.spec for r in records]),
    }


def _yields(pairs: Sequence[tuple[_Job, Shard]], by: Callable[[_Job], str]) -> Mapping[str, Estimate]:
    """Share of drafts that passed, with Wilson's interval."""
    kept: Counter[str] = Counter()
    drafts: Counter[str] = Counter()
    for job, shard in pairs:
        kept[by(job)] += shard.kept
        drafts[by(job)] += shard.drafts
    return {level: rate_estimate(kept[level], drafts[level], unit="draft", of="drafts", method="wilson")
            for level in drafts}
