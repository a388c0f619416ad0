"""Where orders are carried out: in this process, in worker processes, or (see `ray_pool`) on Ray."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Protocol

from discreet.engine.job import Order, Reply, execute, lost
from discreet.engine.store import Store
from discreet.engine.worker import COMMAND, environment

ATTEMPTS = 3
"""How often a task is tried whose worker dies."""


class Pool(Protocol):
    """Takes up to `capacity` orders at a time."""

    capacity: int

    def submit(self, order: Order, name: str) -> Future[Reply]:
        """Begin an order of the task `name`; the future never fails, the reply may."""

    def close(self) -> None:
        """Stop, at once: what is under way is killed."""


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class InlinePool:
    """One task after the other in this process: for tests, debuggers and tasks too small for a process."""

    capacity = 1

    def submit(self, order: Order, name: str) -> Future[Reply]:
        """Carry the order out before returning."""
        done: Future[Reply] = Future()
        done.set_result(execute(order))
        return done

    def close(self) -> None:
        """Nothing is under way."""


class LocalPool:
    """Worker processes, each with its own limit of threads, started when there is work for them.

    A worker that dies (killed, out of memory, crashed in C) costs its own task a try, and no other anything.
    """

    def __init__(self, store: Store, workers: int, threads: int) -> None:
        self.capacity = workers
        self._store = store
        self._environment = {**os.environ, **environment(threads)}
        self._idle: list[subprocess.Popen[str]] = []
        self._all: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._closed = False
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="discreet-engine")

    def submit(self, order: Order, name: str) -> Future[Reply]:
        """Give the order to a worker that is idle, or to a new one."""
        return self._threads.submit(self._carry_out, order, name)

    def _carry_out(self, order: Order, name: str) -> Reply:
        for attempt in range(1, ATTEMPTS + 1):
            worker = self._take()
            if worker is None:
                break
            reply = _ask(worker, order)
            if reply is not None:
                with self._lock:
                    self._idle.append(worker)
                return reply
            self._bury(worker)
            if not self._closed:
                self._store.note("lost", task=name, attempt=attempt, status=worker.returncode)
        return lost(name, ATTEMPTS)

    def _take(self) -> subprocess.Popen[str] | None:
        with self._lock:
            if self._closed:
                return None
            if self._idle:
                return self._idle.pop()
            worker = subprocess.Popen(COMMAND, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      text=True, encoding="utf-8")
            self._all.add(worker)
            return worker

    def _bury(self, worker: subprocess.Popen[str]) -> None:
        worker.kill()
        worker.wait()
        for pipe in (worker.stdin, worker.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        with self._lock:
            self._all.discard(worker)

    def close(self) -> None:
        """Kill the workers; what they have published stays."""
        with self._lock:
            self._closed = True
            left = list(self._all)
        for worker in left:
            worker.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in left:
            self._bury(worker)


def _ask(worker: subprocess.Popen[str], order: Order) -> Reply | None:
    """The worker's reply, or None where it died."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        worker.stdin.write(json.dumps(order) + "\n")
        worker.stdin.flush()
        line = worker.stdout.readline()
        reply: Reply = json.loads(line)
    except (OSError, ValueError):
        return None
    return reply
