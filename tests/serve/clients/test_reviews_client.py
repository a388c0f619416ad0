"""A reviewer with nothing but curl: list, read, decide; and the caller gets the answer."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest
from tests.serve.clients.conftest import Proxy
from tests.serve.conftest import UNDECIDED

pytestmark = [pytest.mark.services, pytest.mark.enable_socket]


def test_a_decision_by_curl(proxy: Proxy) -> None:
    def ask(path: str, role: str, body: Any = None) -> tuple[int, Any]:
        sent = [] if body is None else ["-H", "content-type: application/json", "-d", json.dumps(body)]
        ended = subprocess.run(["curl", "-s", "--noproxy", "*", "-w", "\n%{http_code}", f"{proxy.served.url}{path}",
                                "-H", f"authorization: Bearer {proxy.tokens[role]}", *sent], check=True,
                               stdout=subprocess.PIPE, text=True)
        said, _, status = ended.stdout.rpartition("\n")
        return int(status), json.loads(said)

    ticket = ask("/v1/check", "caller", {"text": UNDECIDED, "review": True})[1]["ticket"]
    status, listed = ask("/v1/reviews", "reviewer")
    assert (status, [one["id"] for one in listed["tickets"]]) == (200, [ticket])
    status, found = ask(f"/v1/reviews/{ticket}", "reviewer")
    assert (status, found["texts"]) == (200, [UNDECIDED])
    decision = {"version": found["version"], "action": "release", "reason": "nobody_described"}
    assert ask(f"/v1/reviews/{ticket}/decide", "caller", decision)[0] == 403
    assert ask(f"/v1/reviews/{ticket}/decide", "reviewer", decision)[0] == 200
    assert ask(f"/v1/reviews/{ticket}/decide", "reviewer", decision)[0] == 409
    assert ask(f"/v1/tickets/{ticket}?wait=5", "caller")[1]["payload"] == {"texts": [UNDECIDED]}
    assert "Metformin" not in proxy.served.log.read_text()
