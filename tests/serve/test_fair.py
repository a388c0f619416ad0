"""Keys share the workers by the seconds that they use."""

from __future__ import annotations

import asyncio
import time
from multiprocessing.connection import Connection
from typing import Any

from tests.serve.test_workers import MEDICAL

from discreet.core.records import Answer
from discreet.serve.fair import LONG_S, PACE, FairPool, Job
from discreet.serve.workers import Workers

LONG = round(2 * LONG_S / PACE)
"""Characters of a long answer."""


def takes_seconds(pipe: Connection, guards: Any) -> None:
    """A worker that takes as many seconds as the answer says."""
    pipe.send({})
    while True:
        _, answer = pipe.recv()
        time.sleep(float(answer.answer))
        pipe.send(Workers(MEDICAL, 1).failed("slept", answer.id, "slept"))


def test_a_short_check_of_another_key_does_not_wait_behind_long_answers() -> None:
    long = Answer("long", "3", question="x" * LONG)

    async def starve() -> tuple[float, int]:
        pool = Workers(MEDICAL, 2, target=takes_seconds)
        await pool.start()
        asking = [asyncio.create_task(pool.judge("medical", long, "greedy")) for _ in range(4)]
        await asyncio.sleep(0.2)
        started = time.monotonic()
        await pool.judge("medical", Answer("short", "0"), "other")
        took, waiting = time.monotonic() - started, pool.waiting_of("greedy")
        for one in asking:
            one.cancel()
        await pool.close()
        return took, waiting

    took, waiting = asyncio.run(starve())
    assert took < 1
    assert waiting == 3


def test_what_took_long_once_is_expected_to_again_and_is_forgotten_in_time() -> None:
    async def learn() -> tuple[bool, bool]:
        pool: FairPool[str] = FairPool()
        pool.put("a")
        slow = await _taken(pool, "greedy", 100)
        pool.done(slow, 30)
        pool.put("a")
        pool.put("b")
        first = await _taken(pool, "greedy", 100)
        kept = await pool.get("greedy", 100, 0.01) is None
        pool.done(first, 0.01)
        pool.put("a")
        for _ in range(20):
            pool.done(await _taken(pool, "greedy", 100), 0.01)
            pool.put("a")
        await _taken(pool, "greedy", 100)
        return kept, await pool.get("greedy", 100, 0.01) is not None

    assert asyncio.run(learn()) == (True, True)


def test_workers_go_to_the_key_that_has_used_least() -> None:
    async def order() -> list[str]:
        pool: FairPool[str] = FairPool()
        served: list[str] = []

        async def ask(owner: str, seconds: float) -> None:
            job = await _taken(pool, owner, 10)
            served.append(owner)
            await asyncio.sleep(0)
            pool.done(job, seconds)
            pool.put("worker")

        asking = [asyncio.create_task(ask("heavy", 0.9)) for _ in range(6)]
        asking += [asyncio.create_task(ask("light", 0.3)) for _ in range(6)]
        await asyncio.sleep(0)
        pool.put("worker")
        await asyncio.gather(*asking)
        return served

    served = asyncio.run(order())
    assert served[:8].count("light") == 6
    assert served[-4:] == ["heavy"] * 4


def test_who_was_idle_has_saved_nothing_up() -> None:
    async def order() -> list[str]:
        pool: FairPool[str] = FairPool()
        pool.put("worker")
        for _ in range(10):
            pool.done(await _taken(pool, "busy", 10), 1)
            pool.put("worker")
        kept, served = await _taken(pool, "busy", 10), list[str]()

        async def ask(owner: str) -> None:
            job = await _taken(pool, owner, 10)
            served.append(owner)
            pool.done(job, 1)
            pool.put("worker")

        asking = [asyncio.create_task(ask(owner)) for owner in ["late"] * 4 + ["busy"] * 4]
        await asyncio.sleep(0)
        pool.done(kept, 1)
        pool.put("worker")
        await asyncio.gather(*asking)
        return served

    assert asyncio.run(order())[:4].count("late") <= 3


async def _taken(pool: FairPool[str], owner: str, characters: int) -> Job:
    taken = await pool.get(owner, characters, 60)
    assert taken is not None
    return taken[1]
