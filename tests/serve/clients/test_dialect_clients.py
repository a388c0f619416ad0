"""Other people's clients, unchanged, at the doors beside chat, streamed and not: OpenAI's and Anthropic's own, and
those of LangChain, LlamaIndex and Vercel."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.serve.clients.conftest import Proxy
from tests.serve.clients.test_openai_client import CLEAN
from tests.serve.conftest import LITIGATOR, SAFE, UNDECIDED
from tests.serve.integrations.environments import environment, packages

pytestmark = [pytest.mark.services, pytest.mark.enable_socket]
HERE = Path(__file__).parent
ENDS = {"responses": ("completed", "incomplete"), "completions": ("stop", "content_filter"),
        "messages": ("end_turn", "refusal")}
UNIFIED = {"responses": ("stop", "content-filter"), "messages": ("stop", "content-filter")}
"""How an answer ends in the words of Vercel's SDK."""
Command = tuple[Sequence[str | Path], dict[str, str]]


def dialects() -> Command:
    return [environment("clients"), HERE / "real_client.py", "real_dialects"], {}


def langchain() -> Command:
    return [environment("langchain"), HERE / "real_client.py", "real_langchain"], {}


def llamaindex() -> Command:
    return [environment("llamaindex"), HERE / "real_client.py", "real_llamaindex"], {}


def vercel() -> Command:
    folder = packages("vercel", "ai@7.0.173", "@ai-sdk/openai@4.0.118", "@ai-sdk/anthropic@4.0.105")
    return ["node", HERE / "real_vercel.mjs"], {"CLIENT_PACKAGES": str(folder), "NODE_NO_WARNINGS": "1"}


def asks(command: Command, shared: Proxy, rows: list[tuple[str, str, Any, bool]]) -> list[dict[str, Any]]:
    """What a client hears that asks a door, under a key, a question, streamed or not."""
    asked = "".join(json.dumps({"url": shared.served.url, "key": key, "door": door, "question": question,
                                "stream": stream}) + "\n" for door, key, question, stream in rows)
    ended = subprocess.run(command[0], env={**CLEAN, **command[1]}, text=True, input=asked, stdout=subprocess.PIPE,
                           check=True)
    return [json.loads(line) for line in ended.stdout.splitlines()]


REFUSED: dict[str, tuple[str, Any, int, str, str]] = {
    "key": ("dsk_none", "safe", 401, "unauthorised", "AuthenticationError"),
    "role": ("reviewer", "safe", 403, "forbidden", "PermissionDeniedError"),
    "type": ("caller", 7, 422, "invalid", "UnprocessableEntityError"),
    "size": ("caller", "x" * 2001, 413, "too_long", "APIStatusError"),
    "model": ("caller", "cut", 502, "upstream_malformed", "InternalServerError")}
"""Of a mistake: whose key, the question, and the status, code and class of the error that OpenAI's client raises."""
ANTHROPIC = {"type": (400, "BadRequestError"), "size": (413, "ContentTooLargeError")}
"""Where Anthropic's client raises another one."""


def test_refusals_are_the_errors_of_the_clients(shared: Proxy) -> None:
    cases = [(door, what) for door in ENDS for what in REFUSED if (door, what) != ("completions", "model")]
    rows = [(door, shared.tokens.get(REFUSED[what][0], REFUSED[what][0]), REFUSED[what][1], False)
            for door, what in cases]
    for (door, what), heard in zip(cases, asks(dialects(), shared, rows), strict=True):
        _, _, status, code, kind = REFUSED[what]
        if door == "messages":
            status, kind = ANTHROPIC.get(what, (status, kind))
        assert (heard["status"], heard["kind"]) == (status, kind), (door, what, heard)
        assert code in heard["error"] if door == "messages" else heard["code"] == code, (door, what, heard)


@pytest.mark.parametrize(("client", "ends"), [(dialects, ENDS), (langchain, ENDS), (llamaindex, ENDS),
                                              (vercel, UNIFIED)])
def test_unchanged_clients(shared: Proxy, client: Callable[[], Command], ends: dict[str, tuple[str, str]]) -> None:
    doors = [door for door in ends if client is dialects or door != "completions"]
    rows = [(door, question, stream) for door in doors for question in ("safe", "person", "undecided")
            for stream in (False, True)]
    rows += [("responses", "cut", True), ("messages", "cut", True)]
    rows += [("embeddings", "person", False)] if client is dialects else []
    key = shared.tokens["caller"]
    all_heard = asks(client(), shared, [(door, key, question, stream) for door, question, stream in rows])
    for (door, question, _), heard in zip(rows, all_heard, strict=True):
        if door == "embeddings":
            assert heard["text"] == [0.5, 1.0]
        elif question == "cut":
            assert "upstream_malformed" in heard["error"] or heard["status"] == 502
        else:
            # LlamaIndex does not hand on how a stream ended, or a response.
            assert heard["end"] == ends[door][question != "safe"] or (client is llamaindex and heard["end"] is None)
            said = {"safe": SAFE, "person": "withheld", "undecided": "waits for review"}[question]
            assert (heard["text"] == said) if question == "safe" else said in heard["text"]
        assert not any(word in json.dumps(heard) for word in ("litigator", "Omaha", UNDECIDED))
    assert not any(text in shared.served.log.read_text() for text in (LITIGATOR, SAFE, UNDECIDED))
