"""OpenAI's and Anthropic's own clients, unchanged, at the doors beside chat."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.serve.clients.conftest import Proxy
from tests.serve.clients.test_openai_client import CLEAN
from tests.serve.conftest import LITIGATOR, SAFE, UNDECIDED
from tests.serve.integrations.environments import environment

pytestmark = [pytest.mark.services, pytest.mark.enable_socket]
ENDS = {"responses": ("completed", "incomplete"), "completions": ("stop", "content_filter"),
        "messages": ("end_turn", "refusal")}


def test_unchanged_clients(proxy: Proxy) -> None:
    python = environment("dialects", "openai>=3.54,<4", "anthropic>=2.12,<3")
    rows = [(door, question, stream) for door in ENDS for question in ("safe", "person", "undecided")
            for stream in (False, True)]
    rows += [("responses", "cut", True), ("messages", "cut", True), ("embeddings", "person", False)]
    asked = "".join(json.dumps({"url": proxy.served.url, "key": proxy.tokens["caller"], "door": door,
                                "question": question, "stream": stream}) + "\n" for door, question, stream in rows)
    ended = subprocess.run([python, Path(__file__).parent / "real_dialects.py"], env=CLEAN, text=True, input=asked,
                           stdout=subprocess.PIPE, check=True)
    for (door, question, _), line in zip(rows, ended.stdout.splitlines(), strict=True):
        heard = json.loads(line)
        if door == "embeddings":
            assert heard["text"] == [0.5, 1.0]
        elif question == "cut":
            assert "upstream_malformed" in heard["error"] or heard["status"] == 502
        else:
            assert heard["end"] == ENDS[door][question != "safe"]
            said = {"safe": SAFE, "person": "withheld", "undecided": "waits for review"}[question]
            assert (heard["text"] == said) if question == "safe" else said in heard["text"]
        assert not any(word in line for word in ("litigator", "Omaha", UNDECIDED))
    assert not any(text in proxy.served.log.read_text() for text in (LITIGATOR, SAFE, UNDECIDED))
