"""Orders as Ray tasks: on this machine, or on a cluster whose nodes all see the store's folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from discreet.core.errors import MissingExtraError, UsageError
from discreet.engine.job import Order, Reply, execute, lost
from discreet.engine.pools import ATTEMPTS, cores
from discreet.engine.worker import environment

MANY = 1_000
"""Orders under way at a time where the cluster decides how many run."""


class RayPool:
    """Orders as remote functions; Ray tries those of a lost worker or node again.

    Only the reply travels through Ray: the result is in the store before its task ends, so losing a node loses
    nothing that was finished, and an order that is tried again finds it there. A running Ray is used and left
    running. Raises UsageError where no cluster answers under `address`, MissingExtraError without Ray.
    """

    def __init__(self, workers: int | None, threads: int, address: str | None) -> None:
        try:
            self._ray: Any = import_module("ray")
        except ImportError:
            raise MissingExtraError("--engine ray", "ray", "ray") from None
        self._started = not self._ray.is_initialized()
        variables = environment(threads)
        if self._started:
            local = {"num_cpus": (workers or max(1, cores() // threads)) * threads, "include_dashboard": False}
            try:
                with _untold():
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


@contextmanager
def _untold() -> Iterator[None]:
    """What Ray starts here reports no usage to its makers."""
    before = os.environ.get("RAY_USAGE_STATS_ENABLED")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        yield
    finally:
        del os.environ["RAY_USAGE_STATS_ENABLED"]
        if before is not None:
            os.environ["RAY_USAGE_STATS_ENABLED"] = before
