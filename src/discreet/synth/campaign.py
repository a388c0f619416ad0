"""Running a plan: shard by shard into a folder, so that a killed campaign goes on where it stopped.

    DIR/plan.json            what is being written
    DIR/safe.jsonl, …        one file a partition, in a seeded random order
    DIR/manifest.json        counts, marginals, yields and rejects; written last
    DIR/.shards/             finished shards of a campaign that is not finished

The paper drops a record whose retries are used up, which tilts its marginals (two-QI records .53 for .45). Here a
specification that cannot be written trades the level of one axis with another of its shard, and both are tried again:
what is counted over the shard never changes.
"""

from __future__ import annotations

import json
import shutil
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.errors import UsageError
from discreet.core.files import atomic_writer, dump_json, why, write_atomic
from discreet.core.records import Estimate
from discreet.guard.domains import Domain
from discreet.stats import rate_estimate
from discreet.synth.plan import Batch, Plan, distances, marginals
from discreet.synth.records import SETTINGS, SHARED, Draft, Generator, Record, Spec, generators
from discreet.synth.validate import Check, Validator

SHARD = 250
"""Most records of a shard: what a kill can cost."""
RETRIES: dict[str, int] = SETTINGS["drafts"]
"""Drafts of one specification before an axis is traded, by mode."""
ROUNDS = 30
"""How often a specification may use up its retries, trading after each, before it is given up."""
DRAFTS = 80
"""Drafts of a shard, for each of its records, after which nothing is traded any more: an impossible request ends."""
NOTE = ("Synthetic: written by a grammar. It bootstraps and demonstrates; a deployment trains on text that a language "
        "model wrote, or on its own.")
_AXES = ("qi", "framing", "placement", "subtype", "opening", "register")


@dataclass(frozen=True, slots=True)
class Shard:
    """What came of a few specifications: `short` of them were given up; `kept` of the `drafts` were good. `first` has
    the marginals of those whose first draft was good: what dropping the others would have left."""

    records: tuple[Record, ...]
    drafts: int
    kept: int
    short: int
    traded: int
    rejected: Mapping[str, int]
    first: Mapping[str, Mapping[str, int]]


_Job = tuple[int, Batch, list[Spec]]
_Written = Sequence[tuple[Batch, Shard]]


def run_campaign(plan: Plan, out: Path, *, generator: Generator | None = None, check: Check | None = None,
                 watch: Callable[[Sequence[Any]], Iterable[Any]] = iter) -> dict[str, Any]:
    """Write the partitions of a plan into `out` and return the manifest.

    `out` is a new or empty folder, or one where the same plan was begun: finished shards are not written again, and the
    files come out as if it had run in one go. `generator` is the registered one of the plan's name by default. `check`
    says why a record fails (`Validator(plan.domain)` by default; going on needs the one it was begun with). `watch`
    wraps the list of shards, to show progress.

    Raises UsageError where `out` holds something else, or the generator has no such writer profile.
    """
    writer = generators[plan.generator] if generator is None else generator
    for name in sorted({b.profile for b in plan.batches if b.n} - set(writer.profiles)):
        raise UsageError(f"the generator {plan.generator!r} has no writer profile {name!r}: expected some of "
                         f"{', '.join(writer.profiles)}")
    key = f"{plan.key()}-{plan.domain.hash[:16]}-{writer.version}"
    if (done := _opened(plan, out, key)) is not None:
        return done
    judge = check or Validator(plan.domain)
    written = [(job[1], _shard(job, plan, writer, judge, out, key)) for job in watch(list(jobs(plan)))]
    manifest: dict[str, Any] = json.loads(dump_json(manifest_of(plan, key, written)))
    write_partitions(plan, out, written)
    write_atomic(out / "manifest.json", dump_json(manifest, indent=2) + "\n")
    shutil.rmtree(out / ".shards", ignore_errors=True)
    return manifest


def write_partitions(plan: Plan, out: Path, written: _Written) -> None:
    """A file of records for each partition, in a random order, so that the head of a file is a fair sample of it."""
    for partition in plan.partitions():
        records = [record for batch, shard in written if batch.partition == partition for record in shard.records]
        order = np.random.default_rng((plan.seed, zlib.crc32(partition.encode()))).permutation(len(records))
        with atomic_writer(out / f"{partition}.jsonl") as handle:
            handle.writelines(dump_json(records[int(i)]) + "\n" for i in order)


def _opened(plan: Plan, out: Path, key: str) -> dict[str, Any] | None:
    """Make or check the folder; the manifest where this campaign is finished already."""
    kept, shards, finished = out / "plan.json", out / ".shards", (out / "manifest.json").exists()
    begun = finished or shards.is_dir()
    # Where nothing was written yet, the plan may still change: the domain was not ready, say.
    changeable = not finished and shards.is_dir() and not any(shards.iterdir())
    if kept.exists() and not changeable:
        if Plan.load(kept) != plan:
            raise UsageError(f"{out} holds a campaign of another plan: name a new folder, or remove this one")
        # A plan that was put into its own folder is the only file there; in any other folder it is somebody's file.
        if not begun and {*out.iterdir()} - {kept}:
            raise UsageError(f"{out} is not an empty folder: name a new one for the partitions")
    elif out.exists() and (not out.is_dir() or {*out.iterdir()} - {shards, *([kept] if changeable else [])}):
        raise UsageError(f"{out} is not an empty folder: name a new one for the partitions")
    try:
        shards.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {out}: {why(error)}; name another") from None
    if changeable or not kept.exists():
        write_atomic(kept, dump_json(plan.to_json(), indent=2) + "\n")
    try:
        manifest: dict[str, Any] = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if manifest.get("key") != key or not all((out / p["file"]).is_file() for p in manifest["partitions"].values()):
        return None
    shutil.rmtree(shards, ignore_errors=True)
    return manifest


def jobs(plan: Plan) -> Iterator[_Job]:
    """Number, batch and specifications of every shard; numbers count within a partition."""
    for partition in plan.partitions():
        specs = plan.specs(partition)
        at = number = 0
        for batch in (b for b in plan.batches if b.partition == partition):
            for begin in range(at, at + batch.n, SHARD):
                yield number, batch, specs[begin:min(begin + SHARD, at + batch.n)]
                number += 1
            at += batch.n


def seed_and_prefix(plan: Plan, batch: Batch, number: int) -> tuple[tuple[int, int, int], str]:
    """What a shard draws from, and how the ids of its records begin."""
    domain, partition = plan.domain.name, batch.partition
    return ((plan.seed, zlib.crc32(f"{domain}/{partition}".encode()), number),
            f"{domain}-{partition}-{batch.profile}-{number:05d}")


def _shard(job: _Job, plan: Plan, writer: Generator, check: Check, out: Path, key: str) -> Shard:
    """The shard of a job: the one that an earlier run finished, or a new one, which is kept."""
    number, batch, specs = job
    path = out / ".shards" / f"{batch.partition}-{number:05d}.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.pop("key") == key:
            return Shard(**{**data, "records": tuple(map(Record.from_json, data["records"]))})
    except (OSError, ValueError, KeyError):
        pass
    seed, prefix = seed_and_prefix(plan, batch, number)
    shard = ShardWriter(specs, plan.domain, seed, writer, check, made_by=plan.generator, prefix=prefix).run()
    kept = {one.name: getattr(shard, one.name) for one in fields(shard)}
    write_atomic(path, dump_json({**kept, "key": key, "records": [r.to_json() for r in shard.records]}))
    return shard


def manifest_of(plan: Plan, key: str, written: _Written,
                asked: Mapping[str, Mapping[str, Mapping[str, int]]] | None = None) -> dict[str, Any]:
    """Counts, marginals and yields of what was written, and what could not be; `asked` are marginals of partitions for
    which they are not those of the plan."""
    parts = {name: [(batch, shard) for batch, shard in written if batch.partition == name]
             for name in plan.partitions()}
    rejected = sum((Counter(shard.rejected) for _, shard in written), Counter[str]())
    return {
        "kind": "synth campaign", "schema": 1, "key": key, "domain": plan.domain.name, "seed": plan.seed,
        "generator": plan.generator, "synthetic": True, "note": NOTE,
        "partitions": {name: _partition(name, part, (asked or {}).get(name) or marginals(plan.specs(name)))
                       for name, part in parts.items()},
        "yields": {"mode": _yields(parts.get("unsafe", ()), "mode"), "profile": _yields(written, "profile"),
                   "partition": _yields(written, "partition")},
        "rejected": dict(sorted(rejected.items(), key=lambda item: (-item[1], item[0]))),
        "traded": sum(s.traded for _, s in written), "short": sum(s.short for _, s in written),
    }


def _partition(name: str, written: _Written, asked: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    specs = [record.spec for _, shard in written for record in shard.records]
    shared = [sum(qi in SHARED for qi in spec.qi) for spec in specs]
    return {
        "file": f"{name}.jsonl", "n": len(specs), "short": sum(shard.short for _, shard in written),
        "profiles": sorted({batch.profile for batch, _ in written}),
        # Two of the shared classes bound to one person, or under the paper's rule any two.
        "clusters": {"identifying": sum(n >= 2 for n in shared), "paper": sum(len(spec.qi) >= 2 for spec in specs)},
        "marginals": marginals(specs),
        # Of the plan's marginals: had what fails been dropped at its first draft, as in the paper, and as kept.
        "distance": {"first_drafts": distances(_sum(shard.first for _, shard in written), asked),
                     "kept": distances(marginals(specs), asked)},
    }


def _sum(counts: Iterable[Mapping[str, Mapping[str, int]]]) -> dict[str, Counter[str]]:
    """Counts by axis and level, added up."""
    total: dict[str, Counter[str]] = {}
    for one in counts:
        for axis, levels in one.items():
            total.setdefault(axis, Counter()).update(levels)
    return total


def _yields(written: _Written, axis: str) -> Mapping[str, Estimate]:
    """Share of drafts that passed at each level of an axis of batches, with Wilson's interval."""
    kept, drafts = Counter[str](), Counter[str]()
    for batch, shard in written:
        kept[getattr(batch, axis)] += shard.kept
        drafts[getattr(batch, axis)] += shard.drafts
    return {level: rate_estimate(kept[level], n, unit="draft", of="drafts", method="wilson")
            for level, n in drafts.items()}


class ShardWriter:
    """Writes specifications of one partition, profile and mode, each draft from its own stream of `seed`.

    `check` says why a record fails, nothing where it is good; ids are `prefix` and a number; `made_by` is the name of
    the generator. What `run` returns depends on these arguments alone.
    """

    def __init__(self, specs: Sequence[Spec], domain: Domain, seed: Sequence[int], generator: Generator,
                 check: Callable[[Record], Sequence[str]], *, prefix: str, made_by: str) -> None:
        self.asked, self.specs, self.domain, self.seed = tuple(specs), list(specs), domain, tuple(seed)
        self.generator, self.check, self.prefix, self.made_by = generator, check, prefix, made_by
        self.rng = np.random.default_rng((*self.seed, len(specs)))
        self.tried, self.rounds = Counter[int](), Counter[int]()
        self.rejected: Counter[str] = Counter()
        self.written: dict[int, Record] = {}
        self.texts: set[str] = set()
        self.first: list[Spec] = []
        self.drafts = self.kept = self.traded = 0

    def run(self) -> Shard:
        """Write until nothing is open that may still be tried."""
        pending = deque(range(len(self.specs)))
        while pending and self.drafts < DRAFTS * len(self.specs):
            i = pending.popleft()
            if not self._try(i):
                self.rounds[i] += 1
                if self.rounds[i] < ROUNDS:
                    self._trade(i, pending)
                    pending.append(i)
        for i in pending:
            # A spec that was reopened last has had no other chance.
            self._try(i)
        return self.shard()

    def shard(self) -> Shard:
        """What came of the specifications."""
        records = tuple(self.written[i] for i in sorted(self.written))
        return Shard(records, self.drafts, self.kept, len(self.specs) - len(records), self.traded, self.rejected,
                     marginals(self.first))

    def _try(self, i: int) -> bool:
        spec = self.specs[i]
        for _ in range(RETRIES[spec.mode]):
            self.tried[i] += 1
            self.drafts += 1
            rng = np.random.default_rng((*self.seed, i, self.tried[i]))
            draft = self.generator.generate(spec, self.domain, rng)
            record = Record(f"{self.prefix}-{i:03d}", spec, draft, self.made_by)
            reasons = ("duplicate",) if draft_key(draft) in self.texts else self.check(record)
            if not reasons:
                self.keep(i, record)
                return True
            self.rejected.update(reasons)
        return False

    def keep(self, i: int, record: Record) -> None:
        """Specification i is written."""
        self.kept += 1
        self.texts.add(draft_key(record.draft))
        self.written[i] = record
        # Not where it was traded for another one before it was tried.
        self.first += [record.spec] if self.tried[i] == 1 and record.spec is self.asked[i] else []

    def _trade(self, i: int, pending: deque[int]) -> None:
        """Exchange one axis with a spec that is still open; every third time with one that is written already."""
        # What is open may be stuck in the same way, but each written record that is reopened has to be written again.
        reopen = self.rounds[i] % 3 == 0
        if not (others := list(self.written if reopen else pending)):
            return
        j = others[int(self.rng.integers(len(others)))]
        one, two = self.specs[i], self.specs[j]
        if not (axes := [axis for axis in _AXES if getattr(one, axis) != getattr(two, axis)]):
            return
        axis = axes[int(self.rng.integers(len(axes)))]
        self.specs[i] = replace(one, **{axis: getattr(two, axis)})
        self.specs[j] = replace(two, **{axis: getattr(one, axis)})
        self.traded += 1
        if reopen:
            self.texts.discard(draft_key(self.written.pop(j).draft))
            pending.append(j)


def draft_key(draft: Draft) -> str:
    """What two copies of an answer have in common."""
    return " ".join(draft.answer.casefold().split())
