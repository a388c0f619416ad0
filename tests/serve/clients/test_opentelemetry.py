"""The SDK of OpenTelemetry around the service, as its users start it: spans hold ids, codes and counts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from pytest_socket import socket_allow_hosts
from tests.cli.test_serve import ENV, Served
from tests.serve.clients.test_faults_process import until
from tests.serve.conftest import LITIGATOR, SAFE
from tests.serve.integrations.environments import environment
from tests.serve.test_canary import MARK

pytestmark = [pytest.mark.services, pytest.mark.enable_socket]
BODIES: list[Any] = [{"text": [f"{SAFE} {MARK}", f"{LITIGATOR} {MARK}"]}, {"text": {MARK: 1}}, {MARK: MARK}, [MARK]]


def spans_of(text: str) -> list[dict[str, Any]]:
    """The spans in what the console exporter printed, one JSON after another."""
    found, decoder = [], json.JSONDecoder()
    while (start := text.find("{")) >= 0:
        one, end = decoder.raw_decode(text, start)
        text = text[end:]
        found.append(one)
    return found


def test_spans_of_the_real_sdk_hold_no_word_of_a_request(tmp_path: Path) -> None:
    socket_allow_hosts(["127.0.0.1"])
    python = environment("service")
    (tmp_path / "serve.yaml").write_text(yaml.safe_dump({
        "guards": {"medical": {"domain": "medical"}}, "no_auth": True, "trace": True, "workers": 1}))
    log, out = tmp_path / "log.jsonl", tmp_path / "spans"
    exported = {"OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "console",
                "OTEL_BSP_SCHEDULE_DELAY": "100"}
    command: list[str | Path] = [python.with_name("opentelemetry-instrument"), "--", python.with_name("discreet"),
                                 "serve", "--config", "serve.yaml", "--port", "0"]
    with log.open("w") as errors, out.open("w") as printed, subprocess.Popen(
            command, env={**ENV, **exported}, stdout=printed, stderr=errors, cwd=tmp_path, text=True) as process:
        try:
            until(lambda: len(out.read_text().splitlines()) >= 3)
            service = Served(process, out.read_text().splitlines(), log)
            service.ready()
            for body in BODIES:
                for path in ("/v1/check", f"/v1/check/{MARK}?{MARK}={MARK}", f"/{MARK}"):
                    httpx.post(service.url + path, json=body, headers={"user-agent": MARK}, timeout=60)
            httpx.get(f"{service.url}/v1/tickets/{MARK}?wait={MARK}", timeout=60)
            httpx.post(f"{service.url}/v1/check", json={"text": SAFE}, timeout=60)
            until(lambda: '"privacy/contextual"' in out.read_text() and '"ok"' in out.read_text())
        finally:
            process.kill()
    spans = spans_of(out.read_text())
    assert [(one["name"], one["attributes"]["discreet.code"]) for one in spans] == [
        ("discreet.decide", "privacy/contextual"), ("discreet.decide", "ok")]
    assert MARK not in out.read_text() + log.read_text()
