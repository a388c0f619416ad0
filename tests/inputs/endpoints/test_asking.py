"""The client of campaigns, against a model on the loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pytest_socket import socket_allow_hosts
from tests.inputs.endpoints.scripted import Scripted, serving

from discreet.inputs.endpoints.asking import AskError, AsyncChat, HeldBackError, Reply, Usage, estimated_tokens

pytestmark = pytest.mark.usefixtures("socket_enabled")
HELLO = [{"role": "user", "content": "Hello"}]


@pytest.fixture(autouse=True)
def _loopback() -> None:
    socket_allow_hosts(["127.0.0.1"])


def asked(model: Scripted, *, sending: Callable[[], bool] = lambda: True, n: int = 1, **given: Any) -> list[Any]:
    """Replies and errors of `n` requests at once."""
    async def ask(url: str) -> list[Any]:
        async with AsyncChat(url, "tiny", **{"timeout": 10, "attempts": 3, **given}) as chat:
            return await asyncio.gather(*(chat.ask(chat.body(HELLO, seed), sending=sending) for seed in range(n)),
                                        return_exceptions=True)

    with serving(model) as url:
        return asyncio.run(ask(url))


@pytest.mark.parametrize("stream", [False, True])
def test_text_finish_reason_and_usage(stream: bool) -> None:
    (reply,) = asked(Scripted(lambda body: f"Said {body['seed']} at {body['temperature']}."), stream=stream)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.finish, reply.usage, reply.attempts) == ("Said 0 at 0.9.", "stop", Usage(100, 4), 1)
    assert "Said" not in repr(reply)


@pytest.mark.parametrize(("fault", "kind", "paid"), [
    ("malformed", "malformed", True), ("cut", "cut", True), ("refused", "refused", False)])
def test_what_is_no_answer_says_whether_it_may_be_paid(fault: str, kind: str, paid: bool) -> None:
    (error,) = asked(Scripted(lambda body: "canary", faults={fault: 1.0}))
    assert isinstance(error, AskError)
    assert (error.kind, error.paid) == (kind, paid)
    assert "canary" not in str(error)


@pytest.mark.parametrize(("fault", "finish"), [
    ("length", "length"), ("content_filter", "content_filter"), ("none", None)])
def test_finish_reasons_come_back(fault: str, finish: str | None) -> None:
    (reply,) = asked(Scripted(faults={fault: 1.0}))
    assert reply.finish == finish


def test_a_busy_server_is_asked_again_and_one_that_is_down_is_not_there() -> None:
    model = Scripted(busy=1.0)
    (reply,) = asked(model)
    assert (reply.attempts, model.asked.total()) == (2, 1)
    model = Scripted()
    model.down = True
    (error,) = asked(model)
    assert (error.kind, error.paid, error.attempts) == ("unavailable", False, 3)


def test_a_slow_answer_is_given_up() -> None:
    (error,) = asked(Scripted(seconds=5), timeout=0.3)
    assert (error.kind, error.paid) == ("timeout", True)


def test_a_request_that_is_held_back_is_not_made() -> None:
    model = Scripted()
    (error,) = asked(model, sending=lambda: False)
    assert isinstance(error, HeldBackError)
    assert not model.asked


def test_no_more_are_under_way_than_may_be() -> None:
    model = Scripted(seconds=0.02)
    assert all(isinstance(one, Reply) for one in asked(model, n=60, concurrency=5))
    assert 1 < model.most <= 5


def test_estimates_of_tokens_are_rather_too_high() -> None:
    assert estimated_tokens("The patient lives in Omaha.") >= 6
    assert estimated_tokens("") == 0
