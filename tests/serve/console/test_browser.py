"""The console in a real Chromium: `browser.mjs` clicks, presses keys and runs axe-core; this is the service it meets.

Needs node, npm and Chromium. Playwright's core and axe-core come by npm into an environment of their own.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route
from tests.serve.conftest import InProcess
from tests.serve.console.conftest import LITIGATOR, OBSERVED, UNDECIDED, Desk
from tests.serve.doors.upstream import Model
from tests.serve.integrations.environments import packages

from discreet.guard import Guard
from discreet.serve.app import create_app
from discreet.serve.settings import Settings
from discreet.serve.shadow import counted

NPM = ("playwright-core@1.65.1", "axe-core@4.14.1")
LONG = (
    "Our patient, a 52-year-old litigator, was admitted to the clinic in Omaha last week with migraine.\n\n"
    "She lives with two children and takes metformin for type 2 diabetes. Her brother, a welder from Tulsa, has "
    "asthma; he was seen in the emergency department. In general, adults aged 25 to 44 report migraine most often, and "
    "a preventive beta blocker is the usual first option.\n\n"
    "The plan was changed by agreement: an early triptan dose, a follow-up visit after six weeks, and a letter to her "
    "employer, Bright Harbor Credit Union.")


class Controls:
    """What the browser's side may ask of the test's side."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk

    def reset(self, _: Any) -> dict[str, Any]:
        """No ticket is pending."""
        self.desk.queue.second_reviewer = False
        for row in self.desk.queue.tickets(limit=500):
            version = row.version
            self.desk.clock.ahead += self.desk.queue.reserve_s + 1
            self.desk.queue.decide(row.id, "nobody", action="block", code="other", version=version)
        self.desk.clock.ahead += 60
        self.desk.queue.sweep()
        return {}

    def ahead(self, body: Any) -> dict[str, Any]:
        self.desk.clock.ahead += body["seconds"]
        self.desk.queue.sweep()
        return {}

    def second(self, body: Any) -> dict[str, Any]:
        self.desk.queue.second_reviewer = body["on"]
        return {}

    def open(self, body: Any) -> dict[str, Any]:
        return {"ticket": self.desk.open(body["text"], code=body.get("code", "privacy/undecided"))}

    def fill(self, _: Any) -> dict[str, Any]:
        """A queue as on a working day, and some decisions behind it."""
        desk, kept = self.desk, []
        for action, code, opened in (("release", "nobody_described", "privacy/undecided"), ("block", "singles_out",
                                     "privacy/contextual"), ("release", "public_person", "privacy/contextual")):
            ticket = desk.open(code=opened)
            desk.queue.decide(ticket, "bela", action=action, code=code, version=1)  # type: ignore[arg-type]
            desk.clock.ahead += 240
        first = desk.open(LITIGATOR, code="privacy/contextual")
        for minutes, text, code, guard in ((4, UNDECIDED, "privacy/undecided", "medical"),
                                           (9, "Write to jane.roe@example.org.", "privacy/direct", "legal"),
                                           (13, UNDECIDED, "privacy/undecided", "legal")):
            desk.clock.ahead += 60 * minutes
            kept.append(desk.open(text, code=code, guard=guard))
        long = desk.open(LONG, code="privacy/contextual", question="What became of the patient with migraine?")
        desk.clock.ahead += 1620
        desk.queue.reserve(kept[1], "bela", 1)
        ended = desk.open()
        desk.queue.decide(ended, "bela", action="block", code="cannot_tell", version=1)
        desk.clock.ahead += 11
        desk.queue.sweep()
        desk.observed = lambda: OBSERVED
        desk.load[:] = [{"guard": "medical", "point": "balanced", "judged": 1234, "undecided": 61,
                         "share": {"value": .0494, "low": .0387, "high": .0630},
                         "expected": {"value": .078, "low": .058, "high": .103}}]
        return {"first": first, "long": long, "ended": ended}

    async def answer(self, request: Request) -> JSONResponse:
        found = getattr(self, request.path_params["name"])
        return JSONResponse(await asyncio.to_thread(found, await request.json()))


@pytest.fixture
def service(tmp_path: Path) -> Iterator[tuple[str, Desk]]:
    """The address of a service with its console, which judges in this process."""
    desk = Desk(tmp_path, Guard("medical"))
    settings = Settings.read(
        guards={"medical": {"domain": "medical"}, "trial": {"domain": "medical", "mode": "observe"}},
        default_guard="medical", keys=desk.file, workers=1, log_file=tmp_path / "log.jsonl",
        upstream={"url": "http://model.test/v1"}, hold_s=60, keep_alive_s=0.2,
        queue={"url": f"sqlite:///{tmp_path / 'unused.db'}", "key_folder": tmp_path / "unused"})
    app = create_app(settings, workers=InProcess(settings), transport=Model(lambda _: UNDECIDED).transport)
    app.state.gate.queue = desk.queue
    desk.observed = lambda: counted(app.state.gate.telemetry.metrics)
    # Before whatever the service itself has mounted there: this console follows the clock of the test.
    app.router.routes[:0] = [Mount("/console", desk.console), Route("/control/{name}", Controls(desk).answer,
                                                                    methods=["POST"])]
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.05)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}", desk
    server.should_exit = True
    thread.join()


@pytest.mark.services
def test_in_a_browser(service: tuple[str, Desk]) -> None:
    address, desk = service
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    assert chromium is not None, "there is no chromium; expected one on the path"
    done = subprocess.run(
        ["node", "--test", "--test-concurrency=1", *os.environ.get("CONSOLE_TESTS", "").split(),
         str(Path(__file__).with_name("browser.mjs"))], capture_output=True, text=True, timeout=1800, check=False,
        env={**os.environ, "CONSOLE_URL": address, "CONSOLE_KEYS": json.dumps(desk.keys), "CHROMIUM": chromium,
             "CONSOLE_PACKAGES": str(packages("browser", *NPM))})
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    assert "# fail 0" in done.stdout or "ℹ fail 0" in done.stdout
