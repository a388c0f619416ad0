"""A console over a real queue, with a clock that tests move, and a browser's cookie jar for each reviewer."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.testclient import TestClient

from discreet.core.records import Answer
from discreet.guard import Guard
from discreet.guard.decide import Judgement
from discreet.serve.console.routes import Console
from discreet.serve.keys import Keyring, add_key
from discreet.serve.queue.tickets import Queue
from discreet.serve.shadow import Row, Summary

LITIGATOR = "The patient is a 52-year-old litigator from Omaha with two children."
UNDECIDED = "Metformin senkt den Blutzucker und wird zu den Mahlzeiten eingenommen."
PART = "zu den Mahlzeiten eingenommen"
"""Of UNDECIDED, in one piece on a page."""
QUESTION = "Whom did the clinic see? MARKER-4410"


OBSERVED = Summary({"medical": 1240}, {"medical": 96}, {"medical": 31}, (
    Row("medical", "cluster", ("age", "occupation", "place"), 84, 84 / 1240),
    Row("medical", "language", (), 12, 12 / 1240)))


class Clock:
    """The time, and how far a test has moved it."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


class Page:
    """An answer of the console, and what its forms hold."""

    def __init__(self, response: Any) -> None:
        self.status, self.text, self.headers, self.url = (
            response.status_code, response.text, response.headers, str(response.url))

    def field(self, name: str, action: str = "") -> str:
        """A field of the page's first form whose address ends with `action`."""
        found = re.search(rf'action="[^"]*{re.escape(action)}"(?:(?!</form>).)*?name="{name}" value="([^"]*)"',
                          self.text, re.S)
        assert found is not None, f"no field {name} of {action}"
        return found[1]


class Person:
    """Somebody with a browser."""

    def __init__(self, app: Any, base: str = "http://testserver") -> None:
        self.client = TestClient(app, base_url=base, raise_server_exceptions=True)

    def get(self, path: str, **headers: Any) -> Page:
        return Page(self.client.get(f"/console{path}", headers=headers))

    def post(self, path: str, **fields: Any) -> Page:
        return Page(self.client.post(f"/console{path}", data=fields))

    def sign_in(self, key: str) -> Page:
        return self.post("/sign-in", key=key)

    def send(self, page: Page, path: str, **fields: Any) -> Page:
        """Send a form of a page: its token and version with what was chosen."""
        return self.post(path, **{"token": page.field("token"), "version": page.field("version", path), **fields})


class Desk:
    """A queue with its console: keys of two reviewers, an operator, a caller, and one reviewer of another guard."""

    def __init__(self, folder: Path, guard: Guard, **options: Any) -> None:
        self.guard, self.clock = guard, Clock()
        self.queue = Queue(f"sqlite:///{folder / 'queue.db'}", folder / "keys", clock=self.clock, **options)
        self.file = folder / "keys.json"
        self.keys = {name: add_key(self.file, role, (bound,), name)[1] for name, role, bound in (  # type: ignore[arg-type]
            ("anna", "reviewer", "*"), ("bela", "reviewer", "*"), ("otto", "operator", "*"),
            ("clinic", "caller", "*"), ("lena", "reviewer", "legal"))}
        [self.mark] = [key.mark for key in Keyring(self.file, None).keys() if key.id == "clinic"]  # noqa: SIM118
        self.judged: list[str] = []
        self.load: list[dict[str, Any]] = []
        self.observed: Callable[[], Summary] = lambda: OBSERVED
        self.noted: list[tuple[str, dict[str, Any]]] = []
        console = Console(self.queue, Keyring(self.file, None), self.judge, load=lambda: self.load, clock=self.clock,
                          observed=self.observing,
                          note=lambda event, facts: self.noted.append((event, dict(facts))))
        self.console = console.app()
        self.app = Starlette(routes=[Mount("/console", self.console)])

    def observing(self) -> Summary:
        return self.observed()

    async def judge(self, guard: str, answer: Answer) -> Judgement:
        self.judged.append(answer.answer)
        return self.guard.judge(answer)

    def open(self, text: str = UNDECIDED, *, guard: str = "medical", question: str | None = QUESTION,
             code: str = "privacy/undecided") -> str:
        """A ticket as the gate opens it."""
        found = self.guard.judge(Answer("x", text, question))
        return self.queue.open(
            caller="clinic", mark=self.mark, guard=guard, code=code,
            policy=found.verdict.policy, texts=[text], question=question,
            verdict=found.verdict.to_json(where=True),
            findings=[{"answer": 0, **asdict(one)} for one in found.findings],
            payload={"choices": [{"message": {"content": text}}]})

    def person(self, name: str | None = None) -> Person:
        found = Person(self.app)
        if name is not None:
            assert found.sign_in(self.keys[name]).url.endswith("/console/queue")
        return found

    def content(self, ticket: str) -> str | None:
        """What the caller reads by now."""
        payload = self.queue.state(ticket, "clinic", self.mark).payload
        return None if payload is None else str(payload["choices"][0]["message"]["content"])


@pytest.fixture(scope="session")
def guard() -> Guard:
    return Guard("medical")


@pytest.fixture
def make(tmp_path: Path, guard: Guard) -> Iterator[Callable[..., Desk]]:
    made: list[Desk] = []

    def desk(**options: Any) -> Desk:
        made.append(Desk(tmp_path, guard, **options))
        return made[-1]

    yield desk
    for one in made:
        one.queue.close()


@pytest.fixture
def desk(make: Callable[..., Desk]) -> Desk:
    return make()
