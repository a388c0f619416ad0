from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from discreet.serve.queue.tickets import Queue

TEXT = "The patient is a 52-year-old litigator from Omaha. MARKER-7731"
VERDICT = {"action": "abstain", "layer": None, "score": .4, "delta": -.4, "tau": 0.0, "reason": "unsure",
           "cause": {"cause": "unsure"}}
SAFE = {"action": "safe", "score": .1}


class Clock:
    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make(tmp_path: Path, clock: Clock) -> Iterator[Callable[..., Queue]]:
    made: list[Queue] = []

    def queue(**options: Any) -> Queue:
        url = options.pop("url", f"sqlite:///{tmp_path / 'queue.db'}")
        made.append(Queue(url, tmp_path / "keys", clock=clock, **options))
        return made[-1]

    yield queue
    for one in made:
        one.close()


@pytest.fixture
def queue(make: Callable[..., Queue]) -> Queue:
    return make()


def put(queue: Queue, *, caller: str = "clinic", text: str = TEXT, verdict: dict[str, Any] = VERDICT,
        code: str = "privacy/undecided") -> str:
    return queue.open(caller=caller, guard="medical", code=code, policy="medical/public", texts=[text],
                      question="Who is it?", verdict=verdict, findings=[{"type": "age", "start": 17, "end": 28}],
                      payload={"choices": [{"message": {"content": text}, "logprobs": {"content": [text[:5]]}}]})
