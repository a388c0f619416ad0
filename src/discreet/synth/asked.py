"""Running a plan by language models: many requests at once, each paid for once, and the same records after any kill.

    DIR/plan.json, campaign.json    what is being written
    DIR/ledger.sqlite               what every request was and cost; no text
    DIR/.kept/                      answers that passed, a file a shard, until the campaign is finished
    DIR/safe.jsonl, …, manifest.json as of `campaign.run_campaign`, when it is finished

Safe records are passages of the seed corpora. Shards run side by side (`asked_shard`); records that are nearly the same
in two of them are asked for again at the end.
Whatever is killed when, the same call goes on and ends with the same records.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.errors import DiscreetError, UsageError
from discreet.core.files import KeyedHash, dump_json, why, write_atomic
from discreet.core.folders import sha256
from discreet.inputs.duplicates import NearDuplicates
from discreet.synth.asked_shard import AskedCheck, AskedShard, Campaign, StoppedError
from discreet.synth.campaign import SHARD, Shard, jobs, manifest_of, seed_and_prefix, write_partitions
from discreet.synth.endpoints import Endpoints
from discreet.synth.ledger import LEDGER, Ledger
from discreet.synth.plan import Batch, Plan, marginals
from discreet.synth.prompts import Prompter
from discreet.synth.records import PASSAGES, Draft, Record, Spec
from discreet.synth.seeds import LEAST, SeedPassage
from discreet.synth.validate import Check, Validator

_WORD = re.compile(r"\S+")
_END = re.compile(r"[.!?…][\"'”’)\]]*(?=\s|$)")


def shortened(text: str, most: int) -> str:
    """A text of at most `most` words: whole sentences where these are half of it, else so many words."""
    words = [found.end() for found in _WORD.finditer(text)]
    if len(words) <= most:
        return text
    ends = [found.end() for found in _END.finditer(text[:words[most - 1]])]
    return text[:ends[-1]] if ends and ends[-1] >= words[most // 2] else text[:words[most - 1]]


def record_of(domain: str, seed: SeedPassage, most: int) -> Record:
    """The safe record that a passage is; its profile is the corpus."""
    spec = Spec("safe", domain, seed.source, register=seed.register)
    return Record(f"{domain}-safe-{seed.id}", spec, Draft(seed.question or "", shortened(seed.text, most)), PASSAGES)


def read_safe(domain: str, n: int, seeds: Sequence[SeedPassage], seed: int, check: Check, most: int, kept: Path
              ) -> Shard:
    """The first `n` passages, in a seeded random order, that pass and are no near-copy of an earlier one.

    What was found of every 250 passages is kept in the folder `kept`, by id and reason without their text, so that a
    campaign that is killed goes on.
    """
    order = [seeds[int(i)] for i in np.random.default_rng((seed, SHARD)).permutation(len(seeds))]
    near, records, rejected, tried = NearDuplicates(), list[Record](), Counter[str](), 0
    for start in range(0, len(order), SHARD):
        some = {one.id: record_of(domain, one, most) for one in order[start: start + SHARD]}
        for name, reasons in _judged(some, check, kept / f"safe-{start:06d}.json").items():
            if len(records) == n:
                break
            tried += 1
            if reasons or not near.add(name, some[name].draft.answer):
                rejected.update(reasons or ["near_duplicate"])
            else:
                records.append(some[name])
        if len(records) == n:
            break
    return Shard(tuple(records), tried, len(records), n - len(records), 0, rejected, {})


def _judged(records: dict[str, Record], check: Check, path: Path) -> dict[str, list[str]]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if list(found) == list(records):
            return found
    except (OSError, ValueError):
        pass
    said = {name: list(check(record)) for name, record in records.items()}
    write_atomic(path, dump_json(said))
    return said


GENERATOR = "endpoints"
"""The generator of plans that models write."""
PASSES = 5
"""How often copies between shards are asked for again."""
NOTE = ("Synthetic: written by language models, as the endpoints say. No person in it is real; nothing in it is "
        "advice. Safe records are passages of the seed corpora, and real text.")


def run_asked(plan: Plan, endpoints: Endpoints, out: Path, *, seeds: Sequence[SeedPassage] = (), roles: str = "strict",
              check: AskedCheck | None = None, tell: Callable[[], object] = lambda: None) -> dict[str, Any]:
    """Write the partitions of a plan by the models of `endpoints` into `out`; the manifest, or how far it came.

    The result's `state` is "finished" or why it stopped: "budget" (the next request might have broken it), or
    "denied", "unavailable", "malformed" or "refused" (an endpoint; the others went on). The same call goes on. `seeds`
    are the passages that prompts are about; `tell` is called after each answer. Errors: UsageError for roles that must
    be disjoint, a generator that the endpoints do not name, another campaign in `out`, or one that another process
    runs; and as of `AsyncChat`.
    """
    endpoints.check_roles(roles)
    prompts = Prompter(plan.domain)
    validator = check or Validator(plan.domain, words=prompts.words)
    if any(batch.profile == PASSAGES for batch in plan.batches) and not seeds:
        raise UsageError("the plan has safe records, which are passages of seed corpora, and none were given; expected "
                         "--seeds, the files that it was made with")
    models = plan.by_models()
    names = sorted({batch.profile for batch in models.batches if batch.n})
    if missing := next((name for name in names if name not in {one.name for one in endpoints}), None):
        raise UsageError(f"the plan asks the generator {missing!r}, which the endpoints do not name; expected the file "
                         "that it was made with, or a new plan")
    key = f"{plan.key()}-{plan.domain.hash[:16]}-{prompts.version}-{zlib.crc32(endpoints.identity(names).encode()):08x}"
    lock = _opened(plan, out, key)
    try:
        with suppress(OSError, ValueError):
            done: dict[str, Any] = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
            if done.get("key") == key:
                return done
        ledger = Ledger(out / LEDGER, cost=endpoints.budget.cost, tokens=endpoints.budget.tokens)
        try:
            campaign = Campaign(models, endpoints, prompts, validator, seeds, ledger, KeyedHash.of_folder(out / ".key"),
                                out, {name: endpoints[name].chat() for name in names}, tell,
                                {name: asyncio.Semaphore(endpoints[name].limits.concurrency) for name in names})
            written = asyncio.run(_write(campaign))
            if written is None:
                return {"kind": "synth campaign", "state": next(iter(campaign.stopped.values())), "key": key,
                        "stopped": dict(sorted(campaign.stopped.items()))}
            return _finish(campaign, plan, key, [*_safe(campaign, plan), *written])
        finally:
            ledger.close()
    finally:
        os.close(lock)


async def _write(campaign: Campaign) -> list[tuple[Batch, Shard]] | None:
    """Every shard; None where one was stopped. Copies between shards are asked for again."""
    # Enough shards at a time to keep a generator busy, and not all that a large campaign has.
    room = {name: asyncio.Semaphore(2 + campaign.endpoints[name].limits.concurrency // 50) for name in campaign.chats}

    async def one(number: int, batch: Batch, specs: list[Spec]) -> AskedShard:
        async with room[batch.profile]:
            return await _shard(campaign, number, batch, specs)

    async with AsyncExitStack() as stack:
        for chat in campaign.chats.values():
            await stack.enter_async_context(chat)
        for _ in range(PASSES):
            found = await asyncio.gather(*(one(*job) for job in jobs(campaign.plan)), return_exceptions=True)
            for other in found:
                if isinstance(other, BaseException) and not isinstance(other, StoppedError):
                    raise other
            shards = [shard for shard in found if not isinstance(shard, BaseException)]
            if len(shards) < len(found):
                return None
            if not _copies(shards):
                break
    return [(shard.batch, shard.shard()) for shard in shards]


async def _shard(campaign: Campaign, number: int, batch: Batch, specs: list[Spec]) -> AskedShard:
    shard = AskedShard(campaign, f"{batch.partition}-{number:05d}", batch, specs,
                       *seed_and_prefix(campaign.plan, batch, number))
    await shard.write()
    return shard


def _copies(shards: Sequence[AskedShard]) -> bool:
    """Reject every record that is nearly an earlier one, in a fixed order; whether there was any."""
    seen = NearDuplicates()
    found = [(shard.name, i, shard.tried[i]) for shard in shards for i in sorted(shard.written)
             if not seen.add(shard.written[i].id, shard.written[i].draft.answer)]
    if found:
        shards[0].campaign.ledger.overrule(found, "near_duplicate")
    return bool(found)


def _safe(campaign: Campaign, plan: Plan) -> list[tuple[Batch, Shard]]:
    """The passages of seed corpora that are the safe records of the plan."""
    most = campaign.prompter.words[1]
    check = Validator(plan.domain, words=(LEAST, most))
    return [(batch, read_safe(plan.domain.name, batch.n, campaign.seeds, plan.seed, check, most,
                              campaign.folder / ".kept"))
            for batch in plan.batches if batch.profile == PASSAGES]


def _finish(campaign: Campaign, plan: Plan, key: str, written: list[tuple[Batch, Shard]]) -> dict[str, Any]:
    out = campaign.folder
    write_partitions(plan, out, written)
    hashes = {name: sha256(out / name) for name in (f"{partition}.jsonl" for partition in plan.partitions())}
    spent = campaign.ledger.spent()
    names = sorted({batch.profile for batch in campaign.plan.batches if batch.n})
    # Of passages nobody plans how many have which register: what was asked for is what the corpora hold.
    held = marginals([record_of(plan.domain.name, seed, 1).spec for seed in campaign.seeds])
    manifest = {**manifest_of(plan, key, written, {"safe": held}), "note": NOTE, "state": "finished", "sha256": hashes,
                "endpoints": [campaign.endpoints[name].identity() for name in names],
                "seeds": dict(sorted(Counter(seed.source for seed in campaign.seeds).items())),
                "spent": {"cost": spent.cost, "currency": campaign.endpoints.currency, "tokens": spent.tokens}}
    plain: dict[str, Any] = json.loads(dump_json(manifest))
    write_atomic(out / "manifest.json", dump_json(plain, indent=2) + "\n")
    shutil.rmtree(out / ".kept", ignore_errors=True)
    return plain


def _opened(plan: Plan, out: Path, key: str) -> int:
    """Make or check the folder; a lock on it, which ends with the process."""
    import fcntl

    # Before anything is made in the folder: it may be somebody else's. The plan may have been put there.
    begun, kept = out / "campaign.json", out / "plan.json"
    if out.exists() and not begun.exists() and (
            not out.is_dir() or {one.name for one in out.iterdir()} - {".kept", ".lock", kept.name}):
        raise UsageError(f"{out} is not an empty folder: name a new one for the partitions")
    try:
        (out / ".kept").mkdir(parents=True, exist_ok=True)
        lock = os.open(out / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise UsageError(f"cannot make the folder {out}: {why(error)}; name another") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UsageError(f"another process runs the campaign in {out}; wait for it, or name another folder"
                             ) from None
        if not begun.exists():
            if kept.exists() and Plan.load(kept) != plan:
                raise UsageError(f"{out} holds another plan: name a new folder, or remove this one")
            write_atomic(kept, dump_json(plan.to_json(), indent=2) + "\n")
            write_atomic(begun, dump_json({"key": key}) + "\n")
        if _key_of(begun) != key:
            raise UsageError(f"{out} holds a campaign of another plan, other models or other prompts: name a new "
                             "folder, or remove this one")
    except (DiscreetError, OSError):
        os.close(lock)
        raise
    return lock


def _key_of(begun: Path) -> object:
    """The key in a campaign's file, None where nobody can read it."""
    with suppress(ValueError, AttributeError):
        return json.loads(begun.read_text(encoding="utf-8")).get("key")
    return None
