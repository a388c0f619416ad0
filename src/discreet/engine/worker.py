"""The process behind `--engine local`: orders come in on stdin, a line each; replies go out on stdout.

It imports what a task needs and nothing of the program that started it, so a script needs no `__main__` guard.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import IO

LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
          "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS")
COMMAND = (sys.executable, "-P", "-c", "from discreet.engine.worker import main; main()")


def environment(threads: int) -> dict[str, str]:
    """Variables for a worker, to be set before it starts: libraries read them when they are imported.

    The number of threads is part of what a sum of floats comes out as, and the hash seed of the order of a set.
    """
    limits = dict.fromkeys(LIMITS, str(threads))
    return {**limits, "TOKENIZERS_PARALLELISM": "false", "PYTHONHASHSEED": "0",
            "PYTHONPATH": os.pathsep.join(p or os.getcwd() for p in sys.path)}


def main() -> None:
    """Carry out orders until stdin ends; then stop at once, whatever is under way: nobody waits for it."""
    from discreet.engine.job import execute

    # Ctrl-C reaches the whole process group; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders_in, replies = _own(0, "r"), _own(1, "w")
    orders: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(orders_in, orders), daemon=True).start()
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
    if mode == "w":
        os.dup2(2, number)
    else:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, number)
        os.close(nothing)
    return handle


def _listen(handle: IO[str], orders: SimpleQueue[str]) -> None:
    for line in handle:
        orders.put(line)
    os._exit(0)
