"""What the answers of conversations told so far, and what was withheld, in the memory of one process: no text, for a
time, at most so many.

A conversation is one of a key and a guard: an id that another key names is another conversation. Where the memory is
full, the one that was idle longest is forgotten, and a restart forgets all of them.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from discreet.core.records import Answer
from discreet.guard.conversation import Told
from discreet.guard.decide import Judgement
from discreet.guard.withheld import Withheld
from discreet.serve.limits import RefusedError
from discreet.serve.settings import Settings

Key = tuple[str, str, str]
"""The caller's id, the guard and the id of the conversation."""
Scope = tuple[str, str, str, str]
"""The caller's id, the guard, "conversation" or "user", and its id."""


@dataclass(slots=True)
class Remembered:
    """What one conversation told; whoever judges a turn of it holds the lock, so that turns follow one another."""

    told: Told = field(default_factory=Told)
    at: float = 0.0
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0


class Conversations:
    """The conversations of this process."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings, self._clock = settings.conversations, clock
        self._alone = settings.processes == 1
        self._kept: OrderedDict[Key, Remembered] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def expires_s(self) -> float:
        """Seconds after which a fact is forgotten."""
        return self._settings.expires_s

    @asynccontextmanager
    async def turn(self, key: Key) -> AsyncIterator[Remembered]:
        """What a conversation told, until its turn is judged. RefusedError with 422 where several processes share the
        port: each would remember a part, and call safe what is none."""
        if not self._alone:
            raise RefusedError(422, "conversation", "conversations are remembered by one process, and this service has "
                               "several; expected no conversation id, or processes: 1")
        self._forget()
        one = self._kept.setdefault(key, Remembered())
        self._kept.move_to_end(key)
        one.at, one.waiting = self._clock(), one.waiting + 1
        try:
            async with one.lock:
                yield one
        finally:
            one.waiting -= 1

    def _forget(self) -> None:
        since = self._clock() - self._settings.expires_s
        for key in list(self._kept):
            one = self._kept[key]
            if one.waiting:
                continue
            if one.at > since and len(self._kept) <= self._settings.most:
                break
            del self._kept[key]


class Memories:
    """What was withheld from each key, and from each conversation and end user whom its requests name.

    A memory of a key takes whole answers: all facts that were withheld of one, whoever is told them again. So a new
    name of a user resets nothing. Single facts count within the conversation, and for the end user, that the request
    names: many who know nothing of each other share a key.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings, self._clock = settings.withheld, clock
        self._keys: OrderedDict[tuple[str, str], Withheld] = OrderedDict()
        self._named: OrderedDict[Scope, Withheld] = OrderedDict()

    def __len__(self) -> int:
        return len(self._keys) + len(self._named)

    async def judge(self, caller: str, guard: str, answers: Sequence[Answer], judgements: Sequence[Judgement], *,
                    conversation: str | None = None, user: str | None = None) -> tuple[Judgement, ...]:
        """The judgements on answers that go out together, in order, with what was withheld before. `conversation` and
        `user` are the ids that the request names."""
        if not self._settings.enabled:
            return tuple(judgements)
        fresh = any(one.verdict.action in ("flag", "abstain") for one in judgements)
        memories = [self._memory(self._keys, (caller, guard), whole=True, fresh=fresh)]
        memories += [self._memory(self._named, (caller, guard, kind, name), whole=False, fresh=fresh)
                     for kind, name in (("conversation", conversation), ("user", user)) if name is not None]
        there = [one for one in memories if one is not None]
        return tuple(await asyncio.to_thread(
            lambda: [_judged(there, *pair) for pair in zip(answers, judgements, strict=True)]))

    def _memory(self, kept: OrderedDict[Any, Withheld], whose: tuple[str, ...], *, whole: bool,
                fresh: bool) -> Withheld | None:
        """The memory of a scope; None where nothing was withheld there, and nothing is (`fresh`)."""
        given = self._settings
        if whose not in kept:
            if not fresh:
                return None
            kept[whose] = Withheld(expires_s=given.expires_s, most=given.most, facts=given.facts, whole=whole,
                                   clock=self._clock)
        kept.move_to_end(whose)
        while len(kept) > given.memories:
            kept.popitem(last=False)
        return kept[whose]


def _judged(memories: Sequence[Withheld], answer: Answer, judgement: Judgement) -> Judgement:
    """The judgement with what any of the memories holds; each remembers the guard's own."""
    found = [one.judge(answer, judgement) for one in memories]
    return next((one for one in found if one is not judgement), judgement)
