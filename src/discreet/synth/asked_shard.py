"""Specifications that one model writes, in rounds: asked for again until their answers pass, traded where they cannot.

In a round every open specification is asked for until its answer passes or a retry budget is used up. Then, in the
order of the specifications, what is a copy stays open and what could not be written trades an axis, as in
`campaign.ShardWriter`. What a draft is asked follows from the plan, the specification and the attempt alone, and a
draft with an outcome in the ledger is not asked for again: so going on after a kill is going through it all again.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from discreet.core.files import KeyedHash, dump_json
from discreet.inputs.endpoints.asking import AskError, AsyncChat, HeldBackError, Reply, estimated_tokens, prompt_tokens
from discreet.synth.campaign import RETRIES, Shard, ShardWriter, draft_key
from discreet.synth.endpoints import Endpoint, Endpoints
from discreet.synth.ledger import Asked, BudgetError, Ledger, Result
from discreet.synth.plan import PARTITIONS, Batch, Plan
from discreet.synth.prompts import Prompter
from discreet.synth.records import SETTINGS, Generator, Record, Spec
from discreet.synth.seeds import SeedPassage

FAILURES: dict[str, dict[str, int]] = SETTINGS["failures"]
"""Drafts of one specification and round that may fail in one way, by mode."""
BROKEN = ("timeout", "cut", "unavailable")
ROUNDS = 20
"""How often a specification may use up a retry budget, trading after each, before it is given up."""
DOWN = {"unavailable": 5, "malformed": 20, "refused": 20}
"""Failures in a row from which an endpoint is asked for nothing more: no answer in all attempts; what is not the
protocol, such as the web page at a wrong address; a setting that it does not take."""
COPY = "duplicate"


AskedCheck = Callable[[Record, SeedPassage | None], Sequence[str]]
"""Why a record, written about a seed passage, fails, or nothing; `Validator` is one."""


class StoppedError(Exception):
    """The campaign, or one generator of it, asks for nothing more: budget, denied, or one of `DOWN`."""


@dataclass(slots=True)
class Campaign:
    """What the shards of one run share."""

    plan: Plan
    endpoints: Endpoints
    prompter: Prompter
    check: AskedCheck
    seeds: Sequence[SeedPassage]
    ledger: Ledger
    keyed: KeyedHash
    folder: Path
    chats: Mapping[str, AsyncChat]
    tell: Callable[[], object]
    slots: Mapping[str, asyncio.Semaphore]
    """Of each generator, as many as requests may be under way: what is reserved is what is about to be made."""
    stopped: dict[str, str] = field(default_factory=dict)
    """Why generators ask for nothing more; "" stands for all of them."""
    unanswered: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Failures in a row by generator and kind; an answer ends them."""

    def stop(self, generator: str, reason: str) -> StoppedError:
        """Note that a generator asks for nothing more."""
        self.stopped.setdefault(generator, reason)
        return StoppedError(reason)

    def why_stopped(self, generator: str) -> StoppedError:
        """Why all of them, or this generator, ask for nothing more."""
        return StoppedError(self.stopped.get("", self.stopped.get(generator, "")))

    def is_down(self, generator: str, error: str) -> bool:
        """Whether so many requests in a row failed at an endpoint in this way that it is not the requests."""
        self.unanswered[generator, error] += 1
        return self.unanswered[generator, error] >= DOWN.get(error, inf)

    def may_ask(self, generator: str) -> bool:
        """Whether a generator may still be asked."""
        return "" not in self.stopped and generator not in self.stopped


class AskedShard(ShardWriter):
    """Specifications of one partition, generator and mode, written by its model in rounds."""

    def __init__(self, campaign: Campaign, name: str, batch: Batch, specs: Sequence[Spec], seed: Sequence[int],
                 prefix: str) -> None:
        super().__init__(specs, campaign.plan.domain, seed, cast(Generator, None), lambda record: (), prefix=prefix,
                         made_by=batch.profile)
        self.campaign, self.name, self.batch = campaign, name, batch
        self.endpoint: Endpoint = campaign.endpoints[batch.profile]
        self.kept_file = campaign.folder / ".kept" / f"{name}.jsonl"
        self.answers = _read_kept(self.kept_file)

    async def write(self) -> Shard:
        """Ask until nothing is open that may still be tried. Raises StoppedError where nothing more may be asked."""
        pending = list(range(len(self.specs)))
        while pending:
            found = await asyncio.gather(*(self._asked(i) for i in pending), return_exceptions=True)
            for one in found:
                if isinstance(one, BaseException):
                    raise one
            used_up: deque[int] = deque()
            for i, record in zip(pending, found, strict=True):
                if record is None:
                    used_up.append(i)
                elif isinstance(record, Record):
                    self._keep_or_not(i, record)
            for i in tuple(used_up):
                used_up.remove(i)
                self.rounds[i] += 1
                if self.rounds[i] < ROUNDS:
                    self._trade(i, used_up)
            # What was reopened by a trade has no record any more.
            pending = [i for i in range(len(self.specs)) if i not in self.written and self.rounds[i] < ROUNDS]
        return self.shard()

    def _keep_or_not(self, i: int, record: Record) -> None:
        if draft_key(record.draft) in self.texts:
            self.campaign.ledger.overrule([(self.name, i, self.tried[i])], COPY)
            self.rejected[COPY] += 1
        else:
            self.keep(i, record)

    async def _asked(self, i: int) -> Record | Literal["copy"] | None:
        """The next record of a specification that passes, or "copy" where it was found to be one of the shard before a
        kill; None where a retry budget is used up."""
        spec, used = self.specs[i], Counter[str]()
        while True:
            self.tried[i] += 1
            self.drafts += 1
            async with self.campaign.slots[self.endpoint.name]:
                result, record = await self._draft(i, self.tried[i], spec)
            if record is not None:
                return record
            if result.reasons == (COPY,):
                self.rejected[COPY] += 1
                return "copy"
            if result.state == "rejected":
                self.rejected.update(result.reasons)
                kind, most = "rejected", RETRIES[spec.mode]
            else:
                kind = "broken" if result.error in BROKEN else str(result.error)
                most = FAILURES[kind][spec.mode]
                self.rejected[f"failed:{result.error}"] += 1
            used[kind] += 1
            if used[kind] >= most:
                return None

    async def _draft(self, i: int, attempt: int, spec: Spec) -> tuple[Result, Record | None]:
        """How one draft ended, by the ledger or by asking; with the record where it was kept."""
        campaign, chat = self.campaign, self.campaign.chats[self.endpoint.name]
        rng = np.random.default_rng((*self.seed, i, attempt))
        seeds = campaign.seeds
        seed = seeds[int(rng.integers(len(seeds)))] if seeds else None
        messages = campaign.prompter.messages(spec, seed, rng)
        text = self.answers.get((i, attempt))
        known = campaign.ledger.result(self.name, i, attempt)
        if known is not None and (known.state != "kept" or text is not None):
            return known, self._record(i, spec, text, seed) if known.state == "kept" and text is not None else None
        if not campaign.may_ask(self.endpoint.name):
            raise campaign.why_stopped(self.endpoint.name)
        send = int(rng.integers(2**31)) + self.endpoint.seed if self.endpoint.send_seed else None
        body = chat.body(messages, send)
        tokens = prompt_tokens(messages)
        try:
            row = campaign.ledger.reserve(Asked(
                self.name, i, attempt, campaign.keyed.of(json.dumps(body, sort_keys=True)), self.batch.partition,
                PARTITIONS[self.batch.partition].role, self.endpoint.name, spec.mode, tokens, self.endpoint.max_tokens,
                self.endpoint.price.of(tokens, self.endpoint.max_tokens)))
        except BudgetError:
            raise campaign.stop("", "budget") from None
        return await self._ask(row, i, attempt, spec, seed, body)

    async def _ask(self, row: int, i: int, attempt: int, spec: Spec, seed: SeedPassage | None,
                   body: Mapping[str, Any]) -> tuple[Result, Record | None]:
        campaign, ledger = self.campaign, self.campaign.ledger

        def sending() -> bool:
            if not campaign.may_ask(self.endpoint.name):
                return False
            ledger.sent(row)
            return True

        tokens = prompt_tokens(body["messages"])
        try:
            reply = await campaign.chats[self.endpoint.name].ask(
                body, sending=sending, sent_away=lambda: ledger.sent_away(row))
        except HeldBackError:
            ledger.withdraw(row)
            raise campaign.why_stopped(self.endpoint.name) from None
        except AskError as error:
            down = campaign.is_down(self.endpoint.name, error.kind)
            if error.kind == "denied" or (down and not error.paid):
                ledger.sent_away(row)
                ledger.withdraw(row)
                raise campaign.stop(self.endpoint.name, error.kind) from None
            result, paid = Result("failed", error.kind), self.endpoint.max_tokens if error.paid else 0
            ledger.settle(row, result, cost=self.endpoint.price.of(tokens, paid) if paid else 0.0,
                          prompt_tokens=tokens if paid else 0, completion_tokens=paid,
                          counted_by="estimate" if paid else "nobody", seconds=error.seconds)
            if down:
                raise campaign.stop(self.endpoint.name, error.kind) from None
            return result, None
        for kind in DOWN:
            campaign.unanswered[self.endpoint.name, kind] = 0
        result, record = self._judged(i, spec, seed, reply)
        if record is not None:
            # Before the ledger: what is there and not settled is asked for again, never missing.
            self._keep_text(i, attempt, record.draft.answer)
        self._settle(row, result, reply, tokens)
        campaign.tell()
        return result, record

    def _judged(self, i: int, spec: Spec, seed: SeedPassage | None, reply: Reply) -> tuple[Result, Record | None]:
        if reply.finish != "stop":
            return Result("failed", {"length": "length", "content_filter": "content_filter"}.get(
                str(reply.finish), "no_finish_reason")), None
        record = self._record(i, spec, reply.text, seed)
        reasons = tuple(self.campaign.check(record, seed))
        return (Result("rejected", None, reasons), None) if reasons else (Result("kept"), record)

    def _record(self, i: int, spec: Spec, text: str, seed: SeedPassage | None) -> Record:
        return Record(f"{self.prefix}-{i:03d}", spec, self.campaign.prompter.draft(spec, text, seed), self.made_by)

    def _settle(self, row: int, result: Result, reply: Reply, tokens: int) -> None:
        said = reply.usage
        prompt, completion = (tokens, estimated_tokens(reply.text)) if said is None else (said.prompt, said.completion)
        self.campaign.ledger.settle(
            row, result, cost=self.endpoint.price.of(prompt, completion), prompt_tokens=prompt,
            completion_tokens=completion, counted_by="estimate" if said is None else "provider", finish=reply.finish,
            seconds=reply.seconds)

    def _keep_text(self, i: int, attempt: int, text: str) -> None:
        self.answers[i, attempt] = text
        with self.kept_file.open("a", encoding="utf-8") as handle:
            handle.write(dump_json([i, attempt, text]) + "\n")
            handle.flush()
            os.fsync(handle.fileno())


def _read_kept(path: Path) -> dict[tuple[int, int], str]:
    """The answers that passed, by specification and attempt; a line that a crash cut off is left out."""
    found = {}
    with suppress(FileNotFoundError):
        for line in path.read_bytes().split(b"\n")[:-1]:
            with suppress(ValueError):
                i, attempt, text = json.loads(line)
                found[i, attempt] = text
    return found
