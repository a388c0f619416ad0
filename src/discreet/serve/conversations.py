"""What the answers of conversations told so far, in the memory of one process: no text, for a time, at most so many.

A conversation is one of a key and a guard: an id that another key names is another conversation. Where the memory is
full, the one that was idle longest is forgotten, and a restart forgets all of them.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from discreet.guard.conversation import Told
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
