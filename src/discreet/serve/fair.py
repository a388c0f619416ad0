"""Which key's answer is judged next: workers are shared by the seconds that each key has used, not by requests.

A key that sends much, or texts that take long, waits behind its own answers. It also never takes the last free worker
for a long answer while another long answer of it is judged, so that a short check of another key finds a worker.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from discreet.core.records import Answer

W = TypeVar("W")

PACE = 50e-6
"""Seconds a character that are expected of a key of which nothing was judged yet."""
LEAST = 500
"""Characters that every answer counts for: a short one takes time as well."""
LONG_S = 1.0
"""An answer that is expected to take longer is long."""
UNIT = 4_000
"""Characters that count as one answer in the rate of a key."""
FORGETS = 0.7
"""How much of a key's slower pace is expected of its next answer."""


def length_of(answer: Answer) -> int:
    """Characters of an answer with everything that is read with it."""
    return (len(answer.answer) + len(answer.question or "") + len(answer.user_words or "")
            + sum(map(len, answer.sources)) + sum(len(turn.text) for turn in answer.conversation))


def units_of(answer: Answer) -> int:
    """For how many answers one counts in the rate of a key."""
    return max(1, -(-length_of(answer) // UNIT))


@dataclass(slots=True)
class Share:
    """What one key has used, and what of it waits and is judged."""

    used: float = 0.0
    pace: float = PACE
    running: int = 0
    long: int = 0
    waiting: deque[Job] = field(default_factory=deque)

    @property
    def idle(self) -> bool:
        """Whether nothing of the key waits or is judged."""
        return not self.running and not self.waiting


@dataclass(slots=True, eq=False)
class Job:
    """An answer of a key: how long it is, and how many seconds it is expected to take once a worker has it."""

    share: Share
    characters: int
    expected: float = 0.0
    long: bool = False


class FairPool(Generic[W]):
    """Free workers, and the keys whose answers wait for one."""

    def __init__(self) -> None:
        self._free: deque[W] = deque()
        self._shares: dict[str, Share] = {}
        self._wanted: dict[Job, asyncio.Future[W]] = {}
        self._now = 0.0

    @property
    def waiting(self) -> int:
        """Answers that wait for a worker."""
        return len(self._wanted)

    def waiting_of(self, owner: str) -> int:
        """Answers of one key that wait for a worker."""
        return len(self._shares[owner].waiting) if owner in self._shares else 0

    def put(self, worker: W) -> None:
        """A worker is free."""
        self._free.append(worker)
        self._hand_out()

    async def get(self, owner: str, characters: int, seconds: float) -> tuple[W, Job] | None:
        """A worker for an answer of a key, and what `done` takes afterwards; None where none is free in time."""
        share = self._shares.setdefault(owner, Share())
        if share.idle:  # Nobody saves up seconds while there is nothing to judge.
            share.used = max(share.used, self._now)
        job, wanted = Job(share, characters), asyncio.get_running_loop().create_future()
        share.waiting.append(job)
        self._wanted[job] = wanted
        self._hand_out()
        await asyncio.wait({wanted}, timeout=seconds)
        if wanted.done():
            return wanted.result(), job
        wanted.cancel()
        del self._wanted[job]
        share.waiting.remove(job)
        return None

    def done(self, job: Job, seconds: float) -> None:
        """An answer was judged, or failed, after so many seconds."""
        share = job.share
        share.running -= 1
        share.long -= job.long
        share.used += seconds - job.expected
        share.pace = max(seconds / max(job.characters, LEAST), FORGETS * share.pace)
        self._hand_out()

    def _hand_out(self) -> None:
        while self._free:
            shares = [one for one in self._shares.values() if one.waiting and self._may_start(one)]
            if not shares:
                return
            share = min(shares, key=lambda one: one.used)
            job = share.waiting.popleft()
            self._now = share.used
            job.expected = self._expected(job)
            job.long = job.expected > LONG_S
            share.used += job.expected
            share.running += 1
            share.long += job.long
            self._wanted.pop(job).set_result(self._free.popleft())

    def _may_start(self, share: Share) -> bool:
        last_free = len(self._free) == 1
        return not (last_free and share.long and self._expected(share.waiting[0]) > LONG_S)

    def _expected(self, job: Job) -> float:
        return max(job.characters, LEAST) * job.share.pace
