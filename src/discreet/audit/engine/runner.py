"""Running tasks in the order that their inputs ask for, each once: in this process, in worker processes, or on Ray."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from graphlib import TopologicalSorter
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, TypeAlias

from discreet.audit.engine.job import Order, Reply, error_of, execute, lost, order_for
from discreet.audit.engine.store import Result, Store
from discreet.audit.engine.task import Task
from discreet.core.errors import DiscreetError, UsageError, need
from discreet.core.files import progress
from discreet.core.onnx import cores

ENGINES = ("local", "inline", "ray")
ATTEMPTS = 3
"""How often a task is tried whose worker dies."""
MANY = 1_000
"""Orders under way at a time where a Ray cluster decides how many run."""
LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
          "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS")
COMMAND = (sys.executable, "-P", "-c", "from discreet.audit.engine.runner import work; work()")


class InlinePool:
    """One task after the other in this process: for tests, debuggers and tasks too small for a process."""

    capacity = 1

    def submit(self, order: Order, name: str) -> Future[Reply]:
        """Carry the order out before returning; in every pool the future never fails, the reply may."""
        done: Future[Reply] = Future()
        done.set_result(execute(order))
        return done

    def close(self) -> None:
        """Nothing is under way."""


class LocalPool:
    """Worker processes, each with its own limit of threads, started when there is work for them.

    `concurrent.futures` and joblib break or restart a whole pool when one worker dies. Here each worker has a pipe of
    its own: a death (killed, out of memory, crashed in C) costs its own task one of its tries, and no other anything.
    """

    def __init__(self, store: Store, workers: int, threads: int) -> None:
        self.capacity, self._store = workers, store
        self._environment = {**os.environ, **environment(threads)}
        self._idle: list[subprocess.Popen[str]] = []
        self._started: list[subprocess.Popen[str]] = []
        self._lock, self._closed = threading.Lock(), False
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="discreet-engine")

    def submit(self, order: Order, name: str) -> Future[Reply]:
        """Give the order to a worker that is idle, or to a new one."""
        return self._threads.submit(self._carry_out, order, name)

    def _carry_out(self, order: Order, name: str) -> Reply:
        for attempt in range(1, ATTEMPTS + 1):
            with self._lock:
                if self._closed:
                    break
                if not self._idle:
                    self._idle.append(subprocess.Popen(COMMAND, env=self._environment, stdin=subprocess.PIPE,
                                                       stdout=subprocess.PIPE, text=True, encoding="utf-8"))
                    self._started.append(self._idle[-1])
                worker = self._idle.pop()
            if (reply := _ask(worker, order)) is not None:
                with self._lock:
                    self._idle.append(worker)
                return reply
            _bury(worker)
            if not self._closed:
                self._store.note("lost", task=name, attempt=attempt, status=worker.returncode)
        return lost(name, ATTEMPTS)

    def close(self) -> None:
        """Kill the workers; what they have published stays."""
        with self._lock:
            self._closed = True
        for worker in self._started:
            worker.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self._started:
            _bury(worker)


def _bury(worker: subprocess.Popen[str]) -> None:
    worker.kill()
    # Leaving it waits for its end and closes its pipes.
    with suppress(OSError), worker:
        pass


def _ask(worker: subprocess.Popen[str], order: Order) -> Reply | None:
    """The worker's reply, or None where it died."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    with suppress(OSError, ValueError):
        worker.stdin.write(json.dumps(order) + "\n")
        worker.stdin.flush()
        reply: Reply = json.loads(worker.stdout.readline())
        return reply
    return None


def environment(threads: int) -> dict[str, str]:
    """Variables for a worker, to be set before it starts: libraries read them when they are imported.

    The number of threads is part of what a sum of floats comes out as, and the hash seed of the order of a set.
    """
    limits = dict.fromkeys(LIMITS, str(threads))
    return {**limits, "TOKENIZERS_PARALLELISM": "false", "PYTHONHASHSEED": "0",
            "PYTHONPATH": os.pathsep.join(p or os.getcwd() for p in sys.path)}


def work() -> None:
    """What a worker process does: orders come in on stdin, a line each; replies go out on stdout.

    When stdin ends it stops at once, whatever is under way: nobody waits for it. It imports what a task needs and
    nothing of the program that started it, so a script needs no `__main__` guard.
    """
    # Ctrl-C reaches the whole process group; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders_in, replies = _own(0, "r"), _own(1, "w")
    orders: SimpleQueue[str] = SimpleQueue()

    def listen() -> None:
        for line in orders_in:
            orders.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        reply = execute(json.loads(orders.get()))
        # Once the reply is out the parent may be done, and this process ends without ceremony.
        with suppress(OSError):
            sys.stdout.flush()
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


def _own(number: int, mode: str) -> IO[str]:
    """Take stdin or stdout for ourselves: what a task prints goes to stderr, and it reads nothing."""
    handle = os.fdopen(os.dup(number), mode, encoding="utf-8")
    with open(os.devnull, encoding="utf-8") as nothing:
        os.dup2(2 if mode == "w" else nothing.fileno(), number)
    return handle


class RayPool:
    """Orders as remote functions; Ray tries those of a lost worker or node again.

    Only the reply travels through Ray: the result is in the store before its task ends, so losing a node loses
    nothing that was finished, and an order that is tried again finds it there. A running Ray is used and left
    running. Raises UsageError where no cluster answers under `address`, MissingExtraError without Ray.
    """

    def __init__(self, workers: int | None, threads: int, address: str | None) -> None:
        self._ray = need("ray", "--engine ray", "ray")
        self._started = not self._ray.is_initialized()
        variables = environment(threads)
        if self._started:
            local = {"num_cpus": (workers or max(1, cores() // threads)) * threads, "include_dashboard": False}
            try:
                # What Ray starts here reports no usage to its makers.
                with _variable("RAY_USAGE_STATS_ENABLED", "0"):
                    self._ray.init(address=address or "local", log_to_driver=False, configure_logging=False,
                                   **({} if address else local))
            except (ConnectionError, RuntimeError, ValueError) as error:
                raise UsageError(f"no Ray cluster answers under {address or 'local'} ({type(error).__name__}): start "
                                 "one with 'ray start --head', or leave the address out") from None
        if address:
            # Another machine's folders are its own.
            del variables["PYTHONPATH"]
        self.capacity = workers or MANY
        self._execute = self._ray.remote(max_retries=ATTEMPTS - 1, num_cpus=threads,
                                         runtime_env={"env_vars": variables})(execute)
        self._under_way: set[Any] = set()

    def submit(self, order: Order, name: str) -> Future[Reply]:
        """Hand the order to Ray."""
        reference = self._execute.options(name=name).remote(dict(order))
        self._under_way.add(reference)
        reply: Future[Reply] = Future()

        def arrived(answer: Future[Reply]) -> None:
            self._under_way.discard(reference)
            if not reply.cancelled():
                reply.set_result(lost(name, ATTEMPTS) if answer.exception() else answer.result())

        reference.future().add_done_callback(arrived)
        return reply

    def close(self) -> None:
        """Cancel what is under way, and stop Ray where it was started here."""
        for reference in list(self._under_way):
            self._ray.cancel(reference, force=True)
        if self._started:
            self._ray.shutdown()


Pool: TypeAlias = InlinePool | LocalPool | RayPool
"""Takes up to `capacity` orders at a time; `close` stops at once, and what is under way is killed."""


@contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    before, os.environ[name] = os.environ.get(name), value
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before


def run(tasks: Iterable[Task], store: Store | Path | str, *, engine: str = "local", workers: int | None = None,
        threads: int = 1, address: str | None = None, quiet: bool = False, label: str = "tasks") -> dict[str, Result]:
    """Results of the tasks by key, from the store where they are there.

    Tasks that the given ones read are run too, unless nobody needs them any more; a task starts as soon as its inputs
    are there, and equal ones are one. A kill at any time costs what was under way: run the same again.

    Parameters
    ----------
    engine : str
        `local` (processes), `inline` (this one) or `ray`.
    workers : int, optional
        Most tasks at a time; by default what the cores allow, and with `address` (of a Ray cluster; one is started here
        by default) what the cluster does.
    threads : int
        Threads of a task's numerical libraries. Part of what a floating-point sum comes out as: leave it alone between
        runs that must agree to the last bit. `inline` leaves the limits of this process as they are.

    Raises
    ------
    DiscreetError
        A task failed: its name, and what is known without data. Nothing new was started then; what was under way was
        waited for, and is kept.
    UsageError
        An engine, address or number that cannot be.
    """
    if engine not in ENGINES:
        raise UsageError(f"there is no engine {engine!r}: expected one of {', '.join(ENGINES)}")
    if address is not None and engine != "ray":
        raise UsageError(f"the engine {engine} takes no address: leave it out, or use the engine ray")
    for what, number in (("workers", workers), ("threads", threads)):
        if number is not None and number < 1:
            raise UsageError(f"the number of {what} is {number}; expected 1 or more")
    wanted = list(tasks)
    opened = store if isinstance(store, Store) else Store(store)
    found, todo = _survey(wanted, opened)
    if todo:
        pool = _opened(engine, opened, workers, threads, address)
        try:
            for key, result in progress(_completed(todo, opened, pool), len(todo), quiet=quiet, label=label):
                found[key] = result
        finally:
            pool.close()
    return {task.key: found[task.key] for task in wanted}


def _opened(engine: str, store: Store, workers: int | None, threads: int, address: str | None) -> Pool:
    if engine == "ray":
        return RayPool(workers, threads, address)
    return InlinePool() if engine == "inline" else LocalPool(store, workers or max(1, cores() // threads), threads)


def _survey(tasks: Iterable[Task], store: Store) -> tuple[dict[str, Result], dict[str, Task]]:
    """What is there, and what has to run; the inputs of a result that is there are not asked for."""
    found: dict[str, Result] = {}
    todo: dict[str, Task] = {}
    left = deque(tasks)
    while left:
        task = left.popleft()
        if task.key in found or task.key in todo:
            continue
        if (result := store.get(task.key)) is not None:
            found[task.key] = result
        else:
            todo[task.key] = task
            left.extend(task.inputs.values())
    return found, todo


def _completed(todo: Mapping[str, Task], store: Store, pool: Pool) -> Iterator[tuple[str, Result]]:
    """Every result of `todo` as it comes in. Raises the first failure when what was under way has ended."""
    order = TopologicalSorter({key: [one.key for one in task.inputs.values() if one.key in todo]
                               for key, task in todo.items()})
    order.prepare()
    ready = deque(order.get_ready())
    under_way: dict[Future[Reply], Task] = {}
    failure: DiscreetError | None = None
    while under_way or (ready and failure is None):
        while ready and failure is None and len(under_way) < pool.capacity:
            task = todo[ready.popleft()]
            under_way[pool.submit(order_for(task, store), task.name)] = task
        ended, _ = wait(under_way, return_when=FIRST_COMPLETED)
        for future in ended:
            task = under_way.pop(future)
            reply = future.result()
            if not reply["ok"]:
                failure = failure or error_of(reply)
                continue
            if (result := store.get(task.key)) is None:
                raise UsageError(f"the task {task.name} ended, and its result is not in {store.folder}: every worker "
                                 "must see the same folder")
            yield task.key, result
            order.done(task.key)
            ready.extend(order.get_ready())
    if failure is not None:
        raise failure
