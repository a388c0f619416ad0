"""A process that opens and decides tickets until it is killed, and says what it was told was done."""

from __future__ import annotations

import sys
from pathlib import Path
from threading import Lock, Thread

from discreet.core.errors import ConflictError
from discreet.serve.queue.tickets import Queue

TEXT = "One of the answers."


def main(url: str, keys: str) -> None:
    queue, lock = Queue(url, Path(keys), undo_s=0), Lock()

    def say(*words: object) -> None:
        with lock:
            print(*words, flush=True)

    def opening() -> None:
        while True:
            say("opened", queue.open(caller="clinic", guard="medical", code="privacy/undecided", policy="p",
                                     texts=[TEXT], question=None, verdict={"action": "abstain"}, findings=[],
                                     payload={"content": TEXT}))

    def deciding(who: str) -> None:
        actions = (("release", "consent"), ("block", "other"))
        turn = 0
        while True:
            for row in queue.tickets(limit=5):
                turn += 1
                action, code = actions[turn % 2]
                try:
                    queue.decide(row.id, who, action=action, code=code, version=row.version)  # type: ignore[arg-type]
                except ConflictError:
                    continue
                say("decided", row.id, action)

    def sweeping() -> None:
        while True:
            queue.sweep()

    for work, *arguments in ((opening,), (deciding, "ann"), (deciding, "bob"), (sweeping,)):
        Thread(target=work, args=arguments, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
