"""A process that opens and decides tickets until it is killed, and says what it was told was done."""

from __future__ import annotations

from multiprocessing.connection import Connection
from pathlib import Path
from threading import Event, Lock, Thread

from discreet.core.errors import ConflictError
from discreet.serve.queue.tickets import Queue

TEXT = "One of the answers."


def main(url: str, keys: str, told: Connection) -> None:
    """Work; each thing that was done is sent to `told`."""
    queue, lock = Queue(url, Path(keys), undo_s=0), Lock()

    def say(*words: str) -> None:
        with lock:
            told.send(words)

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
    Event().wait()
