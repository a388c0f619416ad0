"""A marker through a service in a process of its own: what it prints, logs, counts and leaves on the disk."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cli.test_serve import ENV, RUN
from tests.serve.clients.conftest import SAYS, Proxy
from tests.serve.conftest import LITIGATOR, SAFE, UNDECIDED
from tests.serve.test_canary import MARK

pytestmark = [pytest.mark.services, pytest.mark.enable_socket]
MARKED = {"a safe one": f"{SAFE} {MARK.capitalize()} too.", "a person": f"{LITIGATOR} {MARK}",
          "an undecided one": f"{UNDECIDED} {MARK}", "broken": f'data: {{"{MARK}": [}}\n\n'.encode(),
          "too long": f"{MARK} " * 1000}


class Asking:
    """Requests to the service, and everything that it said to those who may not know."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy, self.said = proxy, list[str]()

    def get(self, path: str, role: str = "operator") -> httpx.Response:
        return httpx.get(self.proxy.served.url + path, headers={"x-api-key": self.proxy.tokens[role]}, timeout=60)

    def post(self, path: str, body: dict[str, Any], key: str | None = None) -> httpx.Response:
        headers = {"x-api-key": self.proxy.tokens["caller"] if key is None else key}
        return httpx.post(self.proxy.served.url + path, json=body, headers=headers, timeout=60)

    def model(self, question: str, *, stream: bool = False, key: str | None = None) -> httpx.Response:
        return self.post("/v1/chat/completions", {"model": "tiny", "stream": stream, "messages": [
            {"role": "user", "content": question}]}, key)

    def hide(self, response: httpx.Response) -> None:
        self.said.append(response.text + str(response.headers))


def test_the_marker_is_with_its_owner_and_in_sealed_tickets_alone(
        proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for question, answer in MARKED.items():
        monkeypatch.setitem(SAYS, question, answer)
    asking = Asking(proxy)
    assert MARK in asking.model("a safe one").text.lower()
    for stream in (False, True):
        for question in list(MARKED)[1:]:
            asking.hide(asking.model(question, stream=stream))
        asking.hide(asking.model("a safe one", stream=stream, key=MARK))
    for body in ({"text": MARKED["a person"]}, {"text": {MARK: 1}}, {"text": SAFE, "model": MARK},
                 {"text": [MARKED["an undecided one"]], "review": True}):
        asking.hide(asking.post("/v1/check", body))
    waiting = [row.id for row in proxy.queue.tickets()]
    assert len(waiting) == 3
    ticket = proxy.release()
    assert MARK in asking.get(f"/v1/tickets/{ticket}?wait=20", "caller").text
    for path in (f"/v1/tickets/{ticket}", f"/v1/tickets/{MARK}", "/openapi.json", "/metrics", "/v1/observed",
                 "/health/ready"):
        asking.hide(asking.get(path))
    audit = subprocess.run([*RUN, "audit", f"sqlite:///{tmp_path}/queue.db"], env=ENV, capture_output=True, text=True,
                           cwd=tmp_path, check=False)
    files = [one for one in tmp_path.rglob("*") if one.is_file()]
    assert {"queue.db", "queue.db-wal"} <= {one.name for one in files}  # The latest writes, too.
    seen = [*asking.said, audit.stdout, audit.stderr, proxy.served.log.read_text(), *proxy.served.lines,
            *(one.read_bytes().decode("latin-1") for one in files)]
    assert "crash" not in proxy.served.log.read_text()
    assert not [text for text in seen if MARK in text.lower()]
