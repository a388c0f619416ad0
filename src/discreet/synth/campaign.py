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
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.errors import UsageError
from discreet.core.files import atomic_writer, dump_json, why, write_atomic
from discreet.core.records import Estimate
from discreet.stats import rate_estimate
from discreet.synth.plan import Batch, Plan, marginals
from discreet.synth.records import SHARED, Generator, Record, Spec, generators
from discreet.synth.shards import Shard, ShardWriter
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


_Written = Sequence[tuple[_Job, Shard]]


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
        `out` holds something else, or the generator has no such writer profile.
    """
    writer = generators[plan.generator] if generator is None else generator
    for name in sorted({b.profile for b in plan.batches if b.n} - set(writer.profiles)):
        raise UsageError(f"the generator {plan.generator!r} has no writer profile {name!r}: expected some of "
                         f"{', '.join(writer.profiles)}")
    key = f"{plan.key()}-{plan.domain.hash[:16]}-{writer.version}"
    done = _opened(plan, out, key)
    if done is not None:
        return done
    judge = check or Validator(plan.domain)
    written = [(job, _shard(job, plan, writer, judge, out, key)) for job in watch(list(_jobs(plan)))]
    manifest: dict[str, Any] = json.loads(dump_json(_manifest(plan, key, written)))
    for partition in plan.partitions():
        records = [record for _, shard in _of(partition, written) for record in shard.records]
        # In a random order, so that the head of a file is a fair sample of it.
        order = np.random.default_rng((plan.seed, zlib.crc32(partition.encode()))).permutation(len(records))
        with atomic_writer(out / f"{partition}.jsonl") as handle:
            handle.writelines(dump_json(records[int(i)]) + "\n" for i in order)
    write_atomic(out / "manifest.json", dump_json(manifest, indent=2) + "\n")
    shutil.rmtree(out / ".shards", ignore_errors=True)
    return manifest


def _opened(plan: Plan, out: Path, key: str) -> dict[str, Any] | None:
    """Make or check the folder; the manifest where this campaign is finished already."""
    kept, shards = out / "plan.json", out / ".shards"
    # Where nothing was written yet, the plan may still change: the domain was not ready, say.
    if kept.exists() and not (out / "manifest.json").exists() and not (shards.is_dir() and any(shards.iterdir())):
        kept.unlink()
    if kept.exists():
        if Plan.load(kept) != plan:
            raise UsageError(f"{out} holds a campaign of another plan: name a new folder, or remove this one")
    elif out.exists() and (not out.is_dir() or {*out.iterdir()} - {shards}):
        raise UsageError(f"{out} is not an empty folder: name a new one for the partitions")
    try:
        shards.mkdir(parents=True, exist_ok=True)
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
    shutil.rmtree(shards, ignore_errors=True)
    return manifest


def _jobs(plan: Plan) -> Iterator[_Job]:
    for partition in plan.partitions():
        specs = plan.specs(partition)
        at = number = 0
        for batch in (b for b in plan.batches if b.partition == partition):
            for begin in range(at, at + batch.n, SHARD):
                yield _Job(number, batch, tuple(specs[begin:min(begin + SHARD, at + batch.n)]))
                number += 1
            at += batch.n


def _shard(job: _Job, plan: Plan, writer: Generator, check: Check, out: Path, key: str) -> Shard:
    """The shard of a job: the one that an earlier run finished, or a new one, which is kept."""
    name, domain = job.batch.partition, plan.domain.name
    path = out / ".shards" / f"{name}-{job.number:05d}.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.pop("key") == key:
            return Shard(**{**data, "records": tuple(map(Record.from_json, data["records"]))})
    except (OSError, ValueError, KeyError):
        pass
    seed = (plan.seed, zlib.crc32(f"{domain}/{name}".encode()), job.number)
    shard = ShardWriter(job.specs, plan.domain, seed, writer, check, made_by=plan.generator,
                        prefix=f"{domain}-{name}-{job.batch.profile}-{job.number:05d}").run()
    kept = {one.name: getattr(shard, one.name) for one in fields(shard)}
    write_atomic(path, dump_json({**kept, "key": key, "records": [r.to_json() for r in shard.records]}))
    return shard


def _of(partition: str, written: _Written) -> _Written:
    return [(job, shard) for job, shard in written if job.batch.partition == partition]


def _manifest(plan: Plan, key: str, written: _Written) -> dict[str, Any]:
    rejected: Counter[str] = Counter()
    for _, shard in written:
        rejected.update(shard.rejected)
    return {
        "kind": "synth campaign", "schema": 1, "key": key, "domain": plan.domain.name, "seed": plan.seed,
        "generator": plan.generator, "synthetic": True, "note": NOTE,
        "partitions": {name: _partition(name, _of(name, written)) for name in plan.partitions()},
        "yields": {
            "mode": _yields(_of("unsafe", written), "mode"), "profile": _yields(written, "profile"),
            "partition": _yields(written, "partition"),
        },
        "rejected": dict(sorted(rejected.items(), key=lambda item: (-item[1], item[0]))),
        "traded": sum(s.traded for _, s in written), "short": sum(s.short for _, s in written),
    }


def _partition(name: str, written: _Written) -> dict[str, Any]:
    specs = [record.spec for _, shard in written for record in shard.records]
    shared = [sum(qi in SHARED for qi in spec.qi) for spec in specs]
    return {
        "file": f"{name}.jsonl", "n": len(specs), "short": sum(shard.short for _, shard in written),
        "profiles": sorted({job.batch.profile for job, _ in written}),
        # Two of the shared classes bound to one person, or under the paper's rule any two.
        "clusters": {"identifying": sum(n >= 2 for n in shared), "paper": sum(len(spec.qi) >= 2 for spec in specs)},
        "marginals": marginals(specs),
    }


def _yields(written: _Written, axis: str) -> Mapping[str, Estimate]:
    """Share of drafts that passed at each level of an axis of batches, with Wilson's interval."""
    kept: Counter[str] = Counter()
    drafts: Counter[str] = Counter()
    for job, shard in written:
        level = getattr(job.batch, axis)
        kept[level] += shard.kept
        drafts[level] += shard.drafts
    return {level: rate_estimate(kept[level], drafts[level], unit="draft", of="drafts", method="wilson")
            for level in drafts}
