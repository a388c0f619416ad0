"""Running tasks in the order that their inputs ask for, each once, skipping what is there."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from graphlib import TopologicalSorter
from pathlib import Path

from discreet.core.errors import DiscreetError, UsageError
from discreet.core.files import progress
from discreet.engine.job import Reply, error_of, order_for
from discreet.engine.pools import InlinePool, LocalPool, Pool, RayPool, cores
from discreet.engine.store import Result, Store
from discreet.engine.task import Task

ENGINES = ("local", "inline", "ray")


def run(tasks: Iterable[Task], store: Store | Path | str, *, engine: str = "local", workers: int | None = None,
        threads: int = 1, address: str | None = None, quiet: bool = False, label: str = "tasks") -> dict[str, Result]:
    """Results of the tasks by key, from the store where they are there.

    Tasks that the given ones read are run too, unless nobody needs them any more; a task starts as soon as its inputs
    are there, and equal ones are one. A kill at any time costs what was under way: run the same again.

    Parameters
    ----------
    tasks : iterable of Task
        What is wanted.
    store : Store or path
        Where results are kept; a path is made a store.
    engine : str
        `local` (processes), `inline` (this one) or `ray`.
    workers : int, optional
        Most tasks at a time; by default what the cores allow, and with `address` what the cluster does.
    threads : int
        Threads of a task's numerical libraries. Part of what a floating-point sum comes out as: leave it alone between
        runs that must agree to the last bit. `inline` leaves the limits of this process as they are.
    address : str, optional
        A Ray cluster's; by default one is started here.
    quiet : bool
        Say nothing of how far it has come.

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
    if engine == "inline":
        return InlinePool()
    if engine == "ray":
        return RayPool(workers, threads, address)
    return LocalPool(store, workers or max(1, cores() // threads), threads)


def _survey(tasks: Iterable[Task], store: Store) -> tuple[dict[str, Result], dict[str, Task]]:
    """What is there, and what has to run; the inputs of a result that is there are not asked for."""
    found: dict[str, Result] = {}
    todo: dict[str, Task] = {}
    left = deque(tasks)
    while left:
        task = left.popleft()
        if task.key in found or task.key in todo:
            continue
        result = store.get(task.key)
        if result is not None:
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
            result = store.get(task.key)
            if result is None:
                raise UsageError(f"the task {task.name} ended, and its result is not in {store.folder}: every worker "
                                 "must see the same folder")
            yield task.key, result
            order.done(task.key)
            ready.extend(order.get_ready())
    if failure is not None:
        raise failure
