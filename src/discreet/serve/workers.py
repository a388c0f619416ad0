"""A pool of processes that judge: one answer at a time each, so that no verdict depends on its neighbours.

A process that hangs over its deadline, or dies, is killed and replaced, and its answer is `failed`.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from discreet.core.errors import DiscreetError
from discreet.core.records import Answer
from discreet.guard.conversation import Told, Turn, judge_turn
from discreet.guard.decide import Judgement, failed
from discreet.guard.guard import Guard
from discreet.guard.redaction.redact import Redaction
from discreet.serve.fair import FairPool, length_of
from discreet.serve.presets import undecided_of
from discreet.serve.settings import GuardSettings, Probe

CONTEXTUAL = "The patient is a 52-year-old litigator from Omaha with two children."
DIRECT = "Write to jane.roe@example.org for the results."
PASSED = "Metformin lowers blood glucose."
REDACT = "redact"
"""Sent with an answer: what may go out in its place?"""
BACK_OFF = (0.0, 1.0, 2.0, 5.0, 15.0, 30.0)
"""Seconds before a worker that did not load is started again, by how often that has failed in a row."""


@dataclass(frozen=True, slots=True)
class GuardFacts:
    """What a worker says of a guard that it has loaded."""

    policy: str
    point: str
    measured: tuple[int, int] | None = None
    redacts: bool = False

    @classmethod
    def of(cls, guard: Guard) -> GuardFacts:
        """What is to be said of a guard; `measured` says how many of how many ordinary answers it left undecided."""
        return cls(guard.policy.label(), guard.point, undecided_of(guard), guard.policy.on_flag == "redact")


class WorkerError(Exception):
    """A worker that cannot be used; the cause is a word for metrics and logs, the reason a line without any text."""

    def __init__(self, cause: str, reason: str) -> None:
        super().__init__(reason)
        self.cause, self.reason = cause, reason


def probes_of(guard: Guard, settings: GuardSettings) -> tuple[Probe, ...]:
    """The texts that a guard judges before it is ready: its own, else flags that its policy must see.

    Which of the two kinds of flags a policy must see depends on what it counts.
    """
    if settings.warm_up is not None:
        return settings.warm_up
    policy = guard.policy
    direct = (Probe(text=DIRECT, action="flag"),) if "email" not in policy.allow_direct else ()
    counts = policy.rule == "identifying" and "third" in policy.subjects and policy.cluster <= 3
    return (*direct, Probe(text=CONTEXTUAL, action="flag")) if counts else direct


def load_guards(guards: Mapping[str, GuardSettings]) -> dict[str, Guard]:
    """Every guard, warmed up. Raises WorkerError where one cannot be loaded, or does not judge as expected."""
    found = {}
    for name, settings in guards.items():
        try:
            guard = settings.load()
        except DiscreetError as error:
            raise WorkerError("load", f"guard {name}: {error}") from None
        except Exception as error:
            raise WorkerError("load", f"guard {name}: {type(error).__name__} while it was loaded") from None
        for number, probe in enumerate(probes_of(guard, settings), start=1):
            action = guard.check(probe.text).action
            if action != probe.action:
                raise WorkerError("warm_up", f"guard {name}: text {number} of its warm-up is {action}; expected "
                             f"{probe.action}: its files may have been changed, or warm_up does not fit its policy")
        if guard.check(PASSED).action == "failed":
            raise WorkerError("warm_up", f"guard {name}: it could not judge an answer of its warm-up; its files may "
                              "have been changed")
        found[name] = guard
    return found


def _work(pipe: Connection, guards: Mapping[str, GuardSettings]) -> None:
    """What a worker does. Nothing that it is sent is ever printed."""
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)  # The service drains first, and closes the pipe.
    try:
        loaded = load_guards(guards)
    except WorkerError as error:
        pipe.send((error.cause, error.reason))
        return
    pipe.send({name: GuardFacts.of(one) for name, one in loaded.items()})
    with suppress(Exception):  # A traceback would show what was sent; the pool sees that the worker has ended.
        while True:
            name, answer, *told = pipe.recv()
            pipe.send(_answered(loaded[name], answer, told))


def _answered(guard: Guard, answer: Answer, told: Sequence[Any]) -> Judgement | Turn | Redaction:
    if told == [REDACT]:
        return guard.redact(answer)
    return judge_turn(guard, answer, told[0], expires_s=told[1]) if told else guard.judge(answer)


class Worker:
    """One process, and this end of its pipe. All methods block; they run in the threads of the pool."""

    def __init__(self, guards: Mapping[str, GuardSettings], target: Callable[..., None]) -> None:
        self.facts: dict[str, GuardFacts] = {}
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process: SpawnProcess = context.Process(target=target, args=(theirs, dict(guards)), daemon=True,
                                                     name="discreet-worker")
        try:
            self.process.start()
        except OSError as error:
            raise WorkerError("start", f"a worker was not started: {type(error).__name__}") from None
        finally:
            theirs.close()

    def load(self, seconds: float) -> None:
        """Wait until every guard is loaded. Raises WorkerError where one is not; the process is dead then."""
        try:
            told = self._receive(seconds)
            if isinstance(told, tuple):
                raise WorkerError(*told)
        except WorkerError:
            self.kill()
            raise
        self.facts = told

    def judge(self, guard: str, answer: Answer, deadline_s: float, *told: Any) -> Any:
        """The judgement, or with what a conversation `told` and the seconds until that is forgotten the Turn.

        Raises WorkerError where the process hangs or dies; it is dead then.
        """
        try:
            self.pipe.send((guard, answer, *told))
            found = self._receive(deadline_s)
        except WorkerError:
            self.kill()
            raise
        except OSError:
            self.kill()
            raise WorkerError("died", "the worker had died") from None
        judgement = found.judgement if told and isinstance(found, Turn) else found
        judgement = found.before if told and isinstance(found, Redaction) else judgement
        if not isinstance(judgement, Judgement) or judgement.verdict.id != answer.id:
            self.kill()
            raise WorkerError("garbled", "the worker answered something else")
        return found

    def _receive(self, seconds: float) -> Any:
        try:
            if not self.pipe.poll(seconds):
                raise WorkerError("hung", f"nothing was heard of the worker in {seconds:g} s")
            return self.pipe.recv()
        except (EOFError, OSError):
            raise WorkerError("died", "the worker died") from None
        except WorkerError:
            raise
        except Exception:
            raise WorkerError("garbled", "the worker answered something that cannot be read") from None

    def kill(self) -> None:
        """End the process at once."""
        self.process.kill()
        self.process.join(5)
        self.pipe.close()


class Workers:
    """`size` worker processes; `await judge(…)` uses the next that is free, keys sharing them fairly (`FairPool`).

    `replaced(cause)` is called for every worker that had to be replaced or did not load; `said` gets a line on it;
    `used(owner, seconds)` is called for each answer with the time of a worker that it took.
    """

    def __init__(self, guards: Mapping[str, GuardSettings], size: int, *, deadline_s: float = 30,
                 start_s: float = 120, replaced: Callable[[str], None] = lambda cause: None,
                 said: Callable[[str], None] = lambda line: None,
                 used: Callable[[str, float], None] = lambda owner, seconds: None,
                 target: Callable[..., None] = _work) -> None:
        self.guards, self.size, self.deadline_s, self.start_s = dict(guards), size, deadline_s, start_s
        self.facts: dict[str, GuardFacts] = {}
        self.loaded = 0
        self._replaced, self._said, self._used, self._target = replaced, said, used, target
        self._free: FairPool[Worker] = FairPool()
        self._workers: set[Worker] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._threads = ThreadPoolExecutor(size, thread_name_prefix="discreet-worker")
        self._closed = False

    @property
    def ready(self) -> bool:
        """Whether every worker has loaded every guard and judged its warm-up as expected."""
        return self.loaded == self.size and not self._closed

    def redacts(self, guard: str) -> bool:
        """Whether the policy of a guard says that what it holds is redacted where that can be done."""
        return guard in self.facts and self.facts[guard].redacts

    @property
    def waiting(self) -> int:
        """Answers that wait for a worker."""
        return self._free.waiting

    def waiting_of(self, owner: str) -> int:
        """Answers of one key that wait for a worker."""
        return self._free.waiting_of(owner)

    async def start(self) -> None:
        """Start all workers; ends when each has loaded, or has failed to for the first time."""
        firsts = [asyncio.Event() for _ in range(self.size)]
        for first in firsts:
            self._spawn(self._load(first))
        await asyncio.gather(*(first.wait() for first in firsts))

    async def _load(self, first: asyncio.Event | None = None) -> None:
        """Load one worker, again and again until it does."""
        tried = 0
        while not self.closed():
            worker: Worker | None = None
            try:
                worker = await self._in_thread(Worker, self.guards, self._target)
                self._workers.add(worker)
                await self._in_thread(worker.load, self.start_s)
            except WorkerError as error:
                if worker is not None:
                    self._workers.discard(worker)
                if self.closed():
                    break
                self._replaced(error.cause)
                self._said(error.reason)
                tried += 1
                if first is not None:
                    first.set()
                await asyncio.sleep(BACK_OFF[min(tried, len(BACK_OFF) - 1)])
                continue
            self.facts, self.loaded = worker.facts, self.loaded + 1
            self._free.put(worker)
            break
        if first is not None:
            first.set()

    async def judge(self, guard: str, answer: Answer, owner: str = "") -> Judgement:
        """What the guard of that name says of an answer; `failed` where no worker could. Never raises but KeyError.

        `owner` is the key whose answer it is; those without one share as one key. The deadline counts twice: for a
        worker to be free, and for the answer itself. A caller who goes away does not stop the judging, and the worker
        is free again when it ends.
        """
        self.guards[guard]
        found: Judgement = await asyncio.shield(self._spawn(self._judge(guard, answer, owner)))
        return found

    async def judge_turn(self, guard: str, answer: Answer, told: Told, expires_s: float, owner: str = "") -> Turn:
        """As `judge`, with what a conversation told so far."""
        self.guards[guard]
        found = await asyncio.shield(self._spawn(self._judge(guard, answer, owner, told, expires_s)))
        return found if isinstance(found, Turn) else Turn(found, told, told)

    async def redact(self, guard: str, answer: Answer, owner: str = "") -> Redaction | None:
        """As `judge`, what may go out in place of an answer; None where no worker could say."""
        found = await asyncio.shield(self._spawn(self._judge(guard, answer, owner, REDACT)))
        return found if isinstance(found, Redaction) else None

    async def _judge(self, guard: str, answer: Answer, owner: str, *told: Any) -> Any:
        taken = await self._free.get(owner, length_of(answer), self.deadline_s)
        if taken is None:
            return self.failed(guard, answer.id, f"no worker was free in {self.deadline_s:g} s")
        worker, job = taken
        started = time.monotonic()
        try:
            work = asyncio.ensure_future(self._in_thread(worker.judge, guard, answer, self.deadline_s, *told))
            await asyncio.wait({work}, timeout=self.deadline_s + 1)
            if not work.done():  # It does not even read what it is sent.
                worker.process.kill()
            judgement = await work
        except WorkerError as error:
            self._workers.discard(worker)
            self.loaded -= 1
            self._replaced(error.cause)
            self._said(error.reason)
            if not self._closed:
                self._spawn(self._load())
            return self.failed(guard, answer.id, error.reason, time.monotonic() - started)
        finally:
            seconds = time.monotonic() - started
            self._free.done(job, seconds)
            if owner:
                self._used(owner, seconds)
        self._free.put(worker)
        return judgement

    def failed(self, guard: str, answer: str, reason: str, seconds: float | None = None) -> Judgement:
        """The judgement on an answer that could not be judged."""
        policy = self.facts[guard].policy if guard in self.facts else guard
        return Judgement(failed(answer, policy, reason, latency_ms=seconds and round(seconds * 1000, 3)))

    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    async def close(self) -> None:
        """End all processes. Answers that are still judged come out as `failed`."""
        self._closed = True
        for task in self._tasks:
            if task.get_coro().__name__ == "_load":  # type: ignore[union-attr]
                task.cancel()
        for worker in list(self._workers):
            worker.process.kill()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.to_thread(self._threads.shutdown)
        for worker in self._workers:
            worker.kill()

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _in_thread(self, work: Callable[..., Any], *given: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *given)
