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

from discreet.core.records import Answer
from discreet.guard.conversation import Told
from discreet.guard.guard import Judgement
from discreet.guard.withheld import Withheld
from discreet.serve.limits import RefusedError
from discreet.serve.settings import Settings

Key = tuple[str, str, str]
"""The caller's id, the guard and the id of the conversation."""


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
    """What was withheld from each key, conversation or guard, as the settings say."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings, self._clock = settings.withheld, clock
        self._kept: OrderedDict[Key, Withheld] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    async def judge(self, key: Key, answers: Sequence[Answer], judgements: Sequence[Judgement]
                    ) -> tuple[Judgement, ...]:
        """The judgements on answers that go out together, in order, with what was withheld before; `key` is the
        caller's id, the guard, and the id of the conversation or nothing."""
        given = self._settings
        if not given.enabled:
            return tuple(judgements)
        caller, guard, conversation = key
        whose = ("" if given.per == "guard" else caller, guard, conversation if given.per == "conversation" else "")
        memory = self._kept.get(whose)
        if memory is None:
            if all(one.verdict.action in ("safe", "failed") for one in judgements):
                return tuple(judgements)  # Nothing was withheld, and nothing is.
            memory = self._kept[whose] = Withheld(expires_s=given.expires_s, most=given.most, facts=given.facts,
                                                  clock=self._clock)
        self._kept.move_to_end(whose)
        while len(self._kept) > given.memories:
            self._kept.popitem(last=False)
        judged = await asyncio.to_thread(lambda: [*map(memory.judge, answers, judgements)])
        return tuple(judged)
