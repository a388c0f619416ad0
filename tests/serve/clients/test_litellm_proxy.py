"""A real LiteLLM proxy with the page's configuration: the service stands between it and the model."""

from __future__ import annotations

import os
import re
import secrets
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from tests.loopback import PROXIES
from tests.serve.clients.conftest import Proxy, until_it_answers
from tests.serve.conftest import LITIGATOR, SAFE
from tests.serve.integrations.environments import ROOT, environment

pytestmark = [pytest.mark.services, pytest.mark.enable_socket]
PAGE = (ROOT / "docs" / "proxy.md").read_text(encoding="utf-8")
OFFLINE = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False", "NO_DOCS": "True"}


class LiteLLM:
    """The proxy at work."""

    def __init__(self, url: str, log: Path, key: str) -> None:
        self.url, self.log, self.key = url, log, key

    def ask(self, question: str, *, stream: bool = False) -> httpx.Response:
        body = {"model": "tiny", "messages": [{"role": "user", "content": question}], "stream": stream}
        return httpx.post(f"{self.url}/v1/chat/completions", json=body, timeout=120,
                          headers={"Authorization": f"Bearer {self.key}"})


@pytest.fixture
def litellm(proxy: Proxy, tmp_path: Path) -> Iterator[LiteLLM]:
    """LiteLLM in front of the service."""
    python = environment("litellm")
    [block] = [one for one in re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.S | re.M) if "litellm_params" in one]
    assert "http://127.0.0.1:8300" in block
    block = block.replace("http://127.0.0.1:8300", proxy.served.url)
    assert isinstance(yaml.safe_load(block), dict)
    (tmp_path / "config.yaml").write_text(block)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log, key = tmp_path / "litellm.log", f"sk-{secrets.token_hex(32)}"
    env: dict[str, Any] = {key: value for key, value in os.environ.items()
                           if not key.startswith("PYTHON") and key not in PROXIES}
    with log.open("w") as out:
        process = subprocess.Popen(
            [python.parent / "litellm", "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)],
            env={**env, **OFFLINE, "LITELLM_MASTER_KEY": key, "DISCREET_KEY": proxy.tokens["caller"]}, cwd=tmp_path,
            stdout=out, stderr=subprocess.STDOUT)
    try:
        until_it_answers(f"http://127.0.0.1:{port}/health/liveliness", process, log)
        yield LiteLLM(f"http://127.0.0.1:{port}", log, key)
    finally:
        process.terminate()
        process.wait()


def test_every_field_is_judged_or_dropped_and_a_service_that_is_gone_lets_nothing_through(litellm: LiteLLM, proxy: Proxy
                                                                                          ) -> None:
    assert litellm.ask("safe").json()["choices"][0]["message"]["content"] == SAFE
    stream = litellm.ask("safe", stream=True)
    assert "".join(re.findall(r'"content":"([^"]*)"', stream.text)) == SAFE
    assert stream.text.rstrip().endswith("[DONE]")
    for streamed in (False, True):
        for asked in ("person", "thought", "undecided"):
            withheld = litellm.ask(asked, stream=streamed)
            assert "content_filter" in withheld.text
            for word in ("litigator", "Omaha", "Metformin"):
                assert word not in withheld.text
        not_judged = litellm.ask("long", stream=streamed)  # Over our limit, and so an error.
        assert "Metformin" not in not_judged.text
        assert not_judged.status_code >= 500 or "not_judged" in not_judged.text
    fields = litellm.ask("fields")
    assert fields.json()["choices"][0]["message"]["content"] == SAFE
    assert "no_such" not in fields.text
    assert litellm.ask("safe").status_code == 200
    proxy.served.process.kill()
    proxy.served.process.wait()
    for streamed in (False, True):
        gone = litellm.ask("safe", stream=streamed)
        assert gone.status_code >= 500
        assert SAFE not in gone.text
    assert LITIGATOR not in litellm.log.read_text() + proxy.served.log.read_text()
