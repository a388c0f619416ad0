"""Processes that judge, and what is left of an answer when one raises, hangs, dies or cannot load."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.serve.conftest import DIRECT, LITIGATOR, SAFE, UNDECIDED, bare

from discreet.core.records import Answer
from discreet.guard import Guard, Policy
from discreet.guard.conversation import Told, Turn
from discreet.guard.decide import Judgement
from discreet.serve import workers as room
from discreet.serve.settings import GuardSettings, Probe
from discreet.serve.workers import WorkerError, Workers, load_guards

MEDICAL = {"medical": GuardSettings(domain="medical")}
T = TypeVar("T")


def run(use: Callable[[Workers], Awaitable[T]], size: int = 1, **given: Any) -> T:
    """What `use` gives of a pool that has started, which is closed in the end."""
    async def whole() -> T:
        pool = Workers(given.pop("guards", MEDICAL), size, **given)
        await pool.start()
        try:
            return await use(pool)
        finally:
            await pool.close()
            assert not [one for one in pool._workers if one.process.is_alive()]

    return asyncio.run(whole())


async def until(true: Callable[[], object]) -> None:
    """Wait until it is so; a test ends with an error after a minute."""
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


def obeys(pipe: Connection, guards: Any) -> None:
    """A worker that does what an answer says."""
    pipe.send({})
    while True:
        _, answer = pipe.recv()
        if answer.answer == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if answer.answer == "hang":
            time.sleep(3600)
        if answer.answer == "raise":
            raise SystemExit(3)
        if answer.answer == "garble":
            pipe.send("safe")
            continue
        if answer.answer == "another":
            answer = Answer("another", "")
        pipe.send(Workers(MEDICAL, 1).failed("obeyed", answer.id, "obeyed"))


def never_loads(pipe: Connection, guards: Any) -> None:
    pipe.send(("warm_up", "guard medical: text 1 of its warm-up is safe; expected flag"))


def test_verdicts_are_those_of_the_library_in_any_order_and_company(medical: Guard) -> None:
    texts = [SAFE, LITIGATOR, UNDECIDED, DIRECT, "", "\ud800 lone"] * 2
    expected = [bare(medical.judge(text).verdict) for text in texts]

    async def judged(pool: Workers) -> list[Judgement]:
        assert pool.ready
        assert pool.facts["medical"].policy == medical.policy.label()
        return await asyncio.gather(*(pool.judge("medical", Answer(str(n), one)) for n, one in enumerate(texts)))

    found = run(judged, size=2)
    assert [one.verdict.id for one in found] == [str(n) for n in range(len(texts))]
    assert [bare(one.verdict) for one in found] == expected
    assert found[1].findings == medical.judge(LITIGATOR).findings


def test_a_turn_of_a_conversation_is_that_of_the_library(medical: Guard) -> None:
    said = [Answer("1", "The patient is 52 years old."), Answer("2", "She works as a litigator.")]

    async def judged(pool: Workers) -> list[str]:
        told, codes = Told(), list[str]()
        for one in said:
            turn = await pool.judge_turn("medical", one, told, 60)
            told = turn.shown
            codes.append(turn.judgement.verdict.code)
        return codes

    assert run(judged) == ["ok", "privacy/contextual"]


def test_a_turn_that_cannot_be_judged_tells_nothing() -> None:
    async def broken(pool: Workers) -> Turn:
        return await pool.judge_turn("medical", Answer("1", "garble"), told, 60)

    told = Told()
    found = run(broken, target=_obeys_with_told)
    assert (found.judgement.verdict.action, found.shown, found.held) == ("failed", told, told)


def _obeys_with_told(pipe: Connection, guards: Any) -> None:
    pipe.send({})
    pipe.recv()
    pipe.send("safe")


@pytest.mark.parametrize(("order", "cause"), [("die", "died"), ("hang", "hung"), ("raise", "died"),
                                              ("garble", "garbled"), ("another", "garbled")])
def test_a_worker_that_breaks_is_replaced_and_its_answer_is_failed(order: str, cause: str) -> None:
    causes: list[str] = []
    said: list[str] = []

    async def broken(pool: Workers) -> tuple[Judgement, Judgement]:
        (before,) = pool._workers
        first = await pool.judge("medical", Answer("1", order))
        assert not before.process.is_alive()
        await until(lambda: pool.ready)
        return first, await pool.judge("medical", Answer("2", "go on"))

    deadline = 2 if order == "hang" else 60
    first, second = run(broken, deadline_s=deadline, target=obeys, replaced=causes.append, said=said.append)
    assert (first.verdict.action, first.verdict.id, first.verdict.score) == ("failed", "1", None)
    assert second.verdict.reason == "obeyed; the answer was not judged"
    assert causes == [cause]
    assert len(said) == 1
    assert order not in said[0].split()


def test_one_that_does_not_even_read_is_killed() -> None:
    async def stopped(pool: Workers) -> Judgement:
        (worker,) = pool._workers
        os.kill(worker.process.pid or 0, signal.SIGSTOP)
        return await pool.judge("medical", Answer("1", "x" * 1_000_000))

    assert run(stopped, deadline_s=0.3, target=obeys).verdict.action == "failed"


def test_a_caller_who_goes_away_frees_the_worker() -> None:
    async def gone(pool: Workers) -> Judgement:
        asked = asyncio.create_task(pool.judge("medical", Answer("1", "slow")))
        await asyncio.sleep(0)
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        return await pool.judge("medical", Answer("2", "next"))

    assert run(gone, target=obeys).verdict.id == "2"


def test_an_answer_waits_for_a_worker_no_longer_than_the_deadline() -> None:
    async def crowded(pool: Workers) -> tuple[int, list[Judgement]]:
        asked = [asyncio.create_task(pool.judge("medical", Answer(str(n), "hang"))) for n in range(3)]
        await until(lambda: pool.waiting == 2)
        return pool.waiting, await asyncio.gather(*asked)

    waiting, found = run(crowded, deadline_s=2, target=obeys)
    assert waiting == 2
    assert {one.verdict.action for one in found} == {"failed"}


def test_a_pool_that_does_not_load_is_not_ready_and_says_nothing_is_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "BACK_OFF", (0.0, 0.01))
    causes: list[str] = []

    async def asked(pool: Workers) -> Judgement:
        await until(lambda: len(causes) >= 3)
        assert not pool.ready
        found = await pool.judge("medical", Answer("1", SAFE))
        pool._target = obeys
        await until(lambda: pool.ready)
        return found

    found = run(asked, deadline_s=0.2, target=never_loads, replaced=causes.append)
    assert found.verdict.action == "failed"
    assert set(causes) == {"warm_up"}


def test_one_that_takes_too_long_to_load_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    causes: list[str] = []

    async def asked(pool: Workers) -> bool:
        return pool.ready

    assert not run(asked, start_s=0.2, target=_sleeps, replaced=causes.append)
    assert causes[0] == "hung"


def _sleeps(pipe: Connection, guards: Any) -> None:
    time.sleep(3600)


@pytest.mark.parametrize(("settings", "cause"), [
    ({"domain": "astrology"}, "load"), ({"folder": "no/such/folder"}, "load"),
    ({"domain": "medical", "warm_up": [Probe(text=SAFE, action="flag")]}, "warm_up")])
def test_what_cannot_be_loaded_says_why(settings: dict[str, Any], cause: str) -> None:
    with pytest.raises(WorkerError, match=r"^guard g: ") as caught:
        load_guards({"g": GuardSettings(**settings)})
    assert caught.value.cause == cause
    assert SAFE not in str(caught.value)


def test_altered_weights_are_noticed_by_the_warm_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from discreet.guard.text import reader, record

    folder = shutil.copytree(reader.FOLDER, tmp_path / "reader")
    whole = (folder / reader.MODEL).read_bytes()
    (folder / reader.MODEL).write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    monkeypatch.setattr(record, "packaged", lambda: reader.Reader(folder))
    with pytest.raises(WorkerError, match="text 1 of its warm-up is failed; expected flag"):
        load_guards(MEDICAL)


@pytest.mark.parametrize("domain", ["medical", "finance", "law"])
def test_every_audience_that_ships_passes_its_warm_up(domain: str) -> None:
    audiences = Policy.of(domain).domain.policy["audiences"]
    guards = {audience: GuardSettings(domain=domain, audience=audience) for audience in audiences}
    assert set(load_guards(guards)) == set(audiences)
