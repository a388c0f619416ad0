from __future__ import annotations

import json
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.loopback import serving
from tests.serve.queue.conftest import Clock, put

from discreet.core.errors import UsageError
from discreet.serve.queue.tickets import Queue
from discreet.serve.queue.webhook import Announcer, is_signed

SECRET = "0123456789abcdef"


class Receiver:
    def __init__(self, clock: Clock) -> None:
        self.clock, self.status, self.got = clock, 200, list[dict[str, str]]()
        self.client = httpx.Client(transport=httpx.MockTransport(self.answer))

    def answer(self, request: httpx.Request) -> httpx.Response:
        if self.status == 0:
            raise httpx.ConnectError("refused")
        signed, timestamp = request.headers["Discreet-Signature"], request.headers["Discreet-Timestamp"]
        assert is_signed(SECRET, timestamp, request.content, signed, now=self.clock.now)
        assert not is_signed(SECRET, timestamp, request.content + b" ", signed, now=self.clock.now)
        assert not is_signed(SECRET, str(int(timestamp) + 1), request.content, signed, now=self.clock.now)
        assert not is_signed(SECRET[::-1], timestamp, request.content, signed, now=self.clock.now)
        assert not is_signed(SECRET, timestamp, request.content, signed, now=self.clock.now + 301)
        self.got.append(json.loads(request.content))
        return httpx.Response(self.status, headers={"Location": "http://elsewhere/"})


@pytest.fixture
def receiver(clock: Clock) -> Receiver:
    return Receiver(clock)


@pytest.fixture
def queue(make: Callable[..., Queue]) -> Queue:
    return make(notify=True)


@pytest.fixture
def announcer(queue: Queue, receiver: Receiver) -> Announcer:
    return Announcer(queue, "http://app/hook", SECRET, client=receiver.client)


def finish(queue: Queue, clock: Clock) -> str:
    ticket = put(queue)
    queue.decide(ticket, "ann", action="release", code="consent", version=1)
    clock.now += 11
    queue.sweep()
    return ticket


def test_it_tells_id_and_status_of_a_new_ticket_and_of_a_final_one(
        queue: Queue, announcer: Announcer, receiver: Receiver, clock: Clock) -> None:
    expires = put(queue)
    assert announcer.deliver() == {"arrived": 1, "retried": 0, "given_up": 0}
    assert announcer.deliver() == {"arrived": 0, "retried": 0, "given_up": 0}
    ticket = finish(queue, clock)
    assert announcer.deliver() == {"arrived": 1, "retried": 0, "given_up": 0}  # That it waited is no news any more.
    clock.now += queue.expires_s
    queue.sweep()
    assert announcer.deliver()["arrived"] == 1
    clock.now += 10 ** 6
    announcer.deliver()
    assert receiver.got == [{"ticket": expires, "status": "pending"}, {"ticket": ticket, "status": "released"},
                            {"ticket": expires, "status": "expired"}]


@pytest.mark.parametrize("status", [0, 302, 404, 503])
def test_it_tries_again_and_then_gives_up(queue: Queue, announcer: Announcer, receiver: Receiver, clock: Clock,
                                          status: int) -> None:
    finish(queue, clock)
    receiver.status = status
    assert announcer.deliver()["retried"] == 1
    assert announcer.deliver()["retried"] == 0
    clock.now += 5
    assert announcer.deliver()["retried"] == 1
    clock.now += 5
    assert announcer.deliver()["retried"] == 0
    found = []
    for _ in range(10):
        clock.now += 3600
        found.append(announcer.deliver()["given_up"])
    assert found == [0] * 5 + [1] + [0] * 4
    receiver.status = 200
    assert announcer.deliver()["arrived"] == 0


def test_of_many_who_send_one_does(queue: Queue, announcer: Announcer, receiver: Receiver, clock: Clock) -> None:
    for _ in range(5):
        finish(queue, clock)
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: announcer.deliver(), range(8)))
    assert sum(one["arrived"] for one in done) == len(receiver.got) == 5


def test_one_that_died_while_sending_is_sent_again(queue: Queue, announcer: Announcer, receiver: Receiver,
                                                   clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    finish(queue, clock)
    with monkeypatch.context() as patch:
        patch.setattr(announcer, "_send", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            announcer.deliver()
    assert announcer.deliver()["arrived"] == 0
    clock.now += 60
    assert announcer.deliver()["arrived"] == 1


def test_a_service_announces_what_its_queue_decided(start: Any, tmp_path: Path, socket_enabled: None) -> None:
    with serving(lambda _: {}, "/hook") as app:
        service = start(queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys", "undo_s": 0,
                               "webhook": {"url": app.url, "secret": SECRET}})
        ticket = put(service.gate.queue, caller="caller")
        service.gate.queue.decide(ticket, "ann", action="block", code="other", version=1)
        for _ in range(100):
            if any(one["status"] == "blocked" for one in app.asked):
                break
            time.sleep(.1)
        assert app.asked[-1] == {"ticket": ticket, "status": "blocked"}
        assert {one["status"] for one in app.asked} <= {"pending", "blocked"}
        assert app.headers[0]["Discreet-Signature"].startswith("v1=")


def test_a_webhook_that_nobody_takes_is_counted_and_logged(start: Any, tmp_path: Path, socket_enabled: None) -> None:
    service = start(queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys",
                           "webhook": {"url": "http://127.0.0.1:9/secret-path", "secret": SECRET}})
    put(service.gate.queue, caller="caller")
    until = time.monotonic() + 20
    while not (found := service.events("webhook")):
        assert time.monotonic() < until
        time.sleep(.05)
    assert {name: found[0][name] for name in ("arrived", "retried", "given_up")} == {
        "arrived": 0, "retried": 1, "given_up": 0}
    assert 'discreet_webhook_total{outcome="retried"} 1.0' in service.ask("/metrics", role="operator").text
    assert "secret-path" not in service.log.getvalue()


def test_a_short_secret_is_refused(queue: Queue) -> None:
    with pytest.raises(UsageError, match="3 characters") as caught:
        Announcer(queue, "http://app", "abc")
    assert "abc" not in str(caught.value)
