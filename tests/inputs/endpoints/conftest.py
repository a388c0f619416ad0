"""A chat endpoint on the loopback that answers as it is told."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from tests import loopback
from tests.loopback import PROXIES, Service

from discreet.core.files import HASH_KEY_VARIABLE
from discreet.inputs.endpoints.chat import KEY_VARIABLE


def said(text: str, **further: Any) -> dict[str, Any]:
    """The protocol's answer that holds `text`."""
    return {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop", **further}]}


def serving() -> AbstractContextManager[Service]:
    """A service that runs as long as the block, and says what it was told in capitals."""
    return loopback.serving(lambda body: said(body["messages"][-1]["content"].upper()), "/v1")


@pytest.fixture
def chat(socket_enabled: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    pytest.importorskip("httpx")
    for name in (*PROXIES, KEY_VARIABLE, HASH_KEY_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    with serving() as found:
        yield found
