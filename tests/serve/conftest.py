"""A service on the test's own event loop, and one whose workers are real processes with the medical guard."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from discreet.core.records import Answer, Verdict
from discreet.guard import Guard
from discreet.guard.conversation import Told, Turn, judge_turn
from discreet.guard.decide import Judgement
from discreet.guard.redaction.redact import Redaction
from discreet.serve.app import create_app
from discreet.serve.keys import add_key
from discreet.serve.settings import Settings
from discreet.serve.telemetry import Log, Telemetry
from discreet.serve.workers import GuardFacts, Workers

LITIGATOR = "The patient is a 52-year-old litigator from Omaha with two children."
SAFE = "Metformin lowers blood glucose."
UNDECIDED = "Metformin senkt den Blutzucker und wird zu den Mahlzeiten eingenommen."
DIRECT = "Write to jane.roe@example.org for the results."
BREAKS = "This text stands for one that no worker can judge."


class InProcess(Workers):
    """Judges by the guards in this process, for tests of everything that does not depend on processes.

    A text with BREAKS in it is `failed`, as when a worker dies. `seen` are the answers.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings.guards, 1)
        self.loaded_guards = {name: one.load() for name, one in settings.guards.items()}
        self.seen: list[Answer] = []

    async def start(self) -> None:
        self.loaded = self.size
        self.facts = {name: GuardFacts.of(one) for name, one in self.loaded_guards.items()}

    async def judge(self, guard: str, answer: Answer, owner: str = "") -> Judgement:
        self.seen.append(answer)
        if BREAKS in answer.answer:
            return self.failed(guard, answer.id, "the worker died")
        return self.loaded_guards[guard].judge(answer)

    async def judge_turn(self, guard: str, answer: Answer, told: Told, expires_s: float,
                         owner: str = "") -> Turn:
        if BREAKS in answer.answer:
            return Turn(self.failed(guard, answer.id, "the worker died"), told, told)
        return judge_turn(self.loaded_guards[guard], answer, told, expires_s=expires_s)

    async def redact(self, guard: str, answer: Answer, owner: str = "") -> Redaction | None:
        return None if BREAKS in answer.answer else self.loaded_guards[guard].redact(answer)

    async def close(self) -> None:
        self._closed = True
        self._threads.shutdown()


class Service:
    """A running service with a key of each role, and what it logged."""

    def __init__(self, client: TestClient, tokens: dict[str, str], log: io.StringIO, app: Any) -> None:
        self.client, self.tokens, self.log, self.app = client, tokens, log, app
        self.gate = app.state.gate

    def ask(self, path: str, body: Any = None, role: str = "caller", method: str | None = None, **more: Any) -> Any:
        """The response to a request under the key of a role."""
        headers = {"Authorization": f"Bearer {self.tokens[role]}"} if role in self.tokens else {}
        if body is not None:
            more["json"] = body
        elif "content" in more:
            headers["content-type"] = "application/json"
        return self.client.request(method or ("GET" if body is None else "POST"), path, headers=headers, **more)

    def events(self, event: str | None = None) -> list[dict[str, Any]]:
        """The lines of the log."""
        lines = [json.loads(line) for line in self.log.getvalue().splitlines()]
        return [line for line in lines if event in (None, line["event"])]


Start = Callable[..., Service]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts a service: `start(mode="observe", workers_class=None, …settings)`."""
    running: list[TestClient] = []

    def started(real: bool = False, bound: tuple[str, ...] = (), transport: Any = None, **given: Any) -> Service:
        keys = tmp_path / f"keys{len(running)}.json"
        tokens = {role: add_key(keys, role, bound if role == "caller" else (), role)[1]
                  for role in ("caller", "reviewer", "operator")}
        given = {"guards": {"medical": {"domain": "medical"}}, "keys": keys, "workers": 1, **given}
        if given.get("no_auth"):
            del given["keys"]
        settings = Settings.read(**given)
        log = io.StringIO()
        sink = Log()
        sink._stream = log
        app = create_app(settings, workers=None if real else InProcess(settings), telemetry=Telemetry(log=sink),
                         transport=transport)
        client = TestClient(app, raise_server_exceptions=False)
        client.__enter__()
        running.append(client)
        return Service(client, tokens, log, app)

    yield started
    for client in running:
        client.__exit__(None, None, None)


@pytest.fixture(scope="session")
def medical() -> Guard:
    """The guard of the library, to compare verdicts with."""
    return Guard("medical")


def bare(verdict: Verdict) -> dict[str, Any]:
    """A verdict without its id and latency."""
    return {**verdict.to_json(), "id": None, "latency_ms": None}
