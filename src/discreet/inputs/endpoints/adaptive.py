"""How many requests may be under way at one endpoint: fewer when it says or shows that it has too many.

Additive increase, multiplicative decrease (Chiu and Jain 1989), on two signals. A server that limits says so with 429
or 503. One that queues in silence only gets slower: more requests then add waiting and no throughput, and that is what
is looked for, since a server that batches answers each request later the more it has, and still more of them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from statistics import median
from types import TracebackType

FIRST, GROWTH = 4, 1.5
"""Requests to begin with, and how they grow until the first sign of too many."""
BACK_OFF = 0.7
STEP = 1.25
"""Windows are compared where the limit has grown by this much: less does not show above the noise."""
GAIN = 0.25
"""Throughput has to grow by this share of what the limit grew, or it is full."""
SLOWER, STALLED = 2.0, 0.6
"""At an unchanged limit: twice the time with less than this share of the throughput is too many."""
LEAST_WINDOW = 12
COOL_DOWN = 1.0


class Concurrency:
    """The limit, from what came back; pure but for `clock`.

    `most` is never exceeded and 1 is the least. `answered` and `limited` are told what happened to each request.
    """

    def __init__(self, most: int, *, first: int = FIRST, clock: Callable[[], float] = time.monotonic) -> None:
        self.most, self.limit, self.decreases = most, float(min(first, most)), 0
        self._clock, self._ramp, self._cool = clock, True, -float("inf")
        self._mark: tuple[float, float, float] | None = None
        self._restart()

    def _restart(self) -> None:
        self._began, self._work, self._times = self._clock(), 0.0, list[float]()

    def limited(self, pause: float = 0.0) -> None:
        """The server said that it has too many; what it says within a second, or within `pause`, counts once."""
        now = self._clock()
        if now < self._cool:
            return
        self._cool = now + max(pause, COOL_DOWN)
        self._decrease(self.limit * BACK_OFF)

    def answered(self, seconds: float, work: float, *, busy: bool = True) -> None:
        """An answer took `seconds`, with `work` in it (tokens); `busy`: the limit held others back meanwhile."""
        self._times.append(seconds)
        self._work += work
        if len(self._times) < max(LEAST_WINDOW, 2 * int(self.limit)):
            return
        latency, rate = median(self._times), self._work / max(self._clock() - self._began, 1e-9)
        self._restart()
        if not busy:
            return
        if self._mark is None:
            self._mark = (self.limit, rate, latency)
        then, rate_then, latency_then = self._mark
        grown = self.limit / then
        if grown >= STEP:
            if rate / rate_then - 1.0 < GAIN * (grown - 1.0) and latency > latency_then * (1.0 + 0.5 * (grown - 1.0)):
                self._decrease(then)
                return
            self._mark = (self.limit, rate, latency)
        elif latency > SLOWER * latency_then and rate < STALLED * rate_then:
            self._decrease(self.limit * BACK_OFF)
            return
        self.limit = min(self.limit * GROWTH if self._ramp else self.limit + 1.0, float(self.most))

    def _decrease(self, to: float) -> None:
        self.limit, self._ramp, self._mark = max(to, 1.0), False, None
        self.decreases += 1
        self._restart()


class Gate:
    """Lets as many in as `Concurrency` says, and nobody before a pause that the server asked for has passed."""

    def __init__(self, concurrency: Concurrency) -> None:
        self.concurrency, self.inside, self.waiting = concurrency, 0, 0
        self._opens, self._changed = 0.0, asyncio.Condition()

    async def __aenter__(self) -> None:
        self.waiting += 1
        try:
            async with self._changed:
                while True:
                    await self._changed.wait_for(lambda: self.inside < max(int(self.concurrency.limit), 1))
                    if (pause := self._opens - time.monotonic()) <= 0.0:
                        break
                    self._changed.release()
                    try:
                        await asyncio.sleep(pause)
                    finally:
                        await self._changed.acquire()
                self.inside += 1
        finally:
            self.waiting -= 1

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None,
                        trace: TracebackType | None) -> None:
        async with self._changed:
            self.inside -= 1
            self._changed.notify_all()

    def answered(self, seconds: float, work: float) -> None:
        """One that is inside was answered."""
        self.concurrency.answered(seconds, work, busy=self.waiting > 0)

    def limited(self, pause: float | None) -> None:
        """One that is inside was sent away, for `pause` seconds where the server said how long."""
        self.concurrency.limited(pause or 0.0)
        self._opens = max(self._opens, time.monotonic() + (pause or 0.0))
