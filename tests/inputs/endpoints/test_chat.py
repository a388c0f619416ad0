from __future__ import annotations

import sys
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest
from tests.inputs.endpoints.conftest import said
from tests.loopback import Service

from discreet.core.errors import InputError, MissingExtraError, UsageError
from discreet.inputs.endpoints import ChatEndpoint, Message
from discreet.inputs.endpoints.chat import KEY_VARIABLE
from discreet.inputs.endpoints.http import asked_pause

pytest.importorskip("httpx")


def user(text: str) -> list[Message]:
    return [{"role": "user", "content": text}]


def test_what_is_asked_and_answered(chat: Service) -> None:
    model = ChatEndpoint(chat.url, "m-1", seed=7, temperature=0.5, max_tokens=20)
    messages = [{"role": "system", "content": "Bake."}, *user("naïve 😀 \ud800")]
    assert model.complete(messages) == "NAÏVE 😀 \ud800"
    assert chat.paths == ["/v1/chat/completions"]
    assert chat.asked == [{"model": "m-1", "messages": messages, "temperature": 0.5, "seed": 7, "max_tokens": 20}]
    assert model.complete(messages, seed=8) == "NAÏVE 😀 \ud800"
    assert chat.asked[-1]["seed"] == 8


def test_nothing_is_sent_that_was_not_said(chat: Service) -> None:
    for url in (f"{chat.url}/", f"{chat.url}/chat/completions?version=2#top"):
        ChatEndpoint(url, "m").complete(user("bread"))
    assert set(chat.asked[0]) == {"model", "messages", "temperature"}
    assert chat.paths == ["/v1/chat/completions", "/v1/chat/completions?version=2"]


def test_many_keep_their_order_and_the_bound(chat: Service) -> None:
    gate = threading.Barrier(3, timeout=10)

    def answer(body: dict[str, Any]) -> Any:
        gate.wait()  # Only three requests at the same time open it.
        return said(f"{body['messages'][-1]['content']} {body['seed']}")

    chat.answer = answer
    texts = [f"t{number}" for number in range(12)]
    found = ChatEndpoint(chat.url, "m").complete_many([user(text) for text in texts], range(100, 112), workers=3)
    assert found == [f"t{number} {100 + number}" for number in range(12)]
    assert chat.most == 3
    assert ChatEndpoint(chat.url, "m").complete_many([]) == []


def test_the_first_failure_ends_the_whole(chat: Service) -> None:
    chat.first = [(503, {"Retry-After": "119"}, b""), (400, {}, b"")]
    # The request that was to wait is let off, and the other forty-eight are not made.
    with pytest.raises(InputError, match="status 400"):
        ChatEndpoint(chat.url, "m").complete_many([user(f"t{number}") for number in range(50)], workers=2)
    assert len(chat.asked) == 2


def test_the_key_comes_from_the_environment(chat: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    ChatEndpoint(chat.url, "m").complete(user("bread"))
    monkeypatch.setenv(KEY_VARIABLE, "abc")
    ChatEndpoint(chat.url, "m").complete(user("bread"))
    monkeypatch.setenv("MINE", " def\n")
    mine = ChatEndpoint(chat.url, "m", api_key_from_environment="MINE")
    mine.complete(user("bread"))
    assert [headers.get("Authorization") for headers in chat.headers] == [None, "Bearer abc", "Bearer def"]
    assert "def" not in repr(mine)


def test_keys_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MINE", raising=False)
    with pytest.raises(UsageError, match="to come from MINE, which is not set"):
        ChatEndpoint("http://h/v1", "m", api_key_from_environment="MINE")
    for key in ("hunter\x012", "hünter2", "hunter 2"):
        monkeypatch.setenv(KEY_VARIABLE, key)
        with pytest.raises(UsageError, match=f"{KEY_VARIABLE} holds characters") as caught:
            ChatEndpoint("http://h/v1", "m")
        assert key not in str(caught.value)


def test_failures_that_pass(chat: Service) -> None:
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    chat.first = [(503, {}, b""), (429, {"Retry-After": "7"}, b""), (500, {"Retry-After": "soon"}, b""),
                  (529, {"Retry-After": then}, b"")]
    pauses: list[float] = []
    assert ChatEndpoint(chat.url, "m", pause=pauses.append).complete(user("bread")) == "BREAD"
    assert pauses[:3] == [0.5, 7.0, 2.0]
    assert 30.0 < pauses[3] <= 60.0


def test_pauses_double_up_to_a_bound(chat: Service) -> None:
    statuses = (408, 425, 500, 501, 503, 529, 599, 429)
    chat.first = [(status, {}, b"") for status in statuses]
    pauses: list[float] = []
    assert ChatEndpoint(chat.url, "m", retries=8, pause=pauses.append).complete(user("bread")) == "BREAD"
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_failures_that_do_not_pass(chat: Service) -> None:
    pauses: list[float] = []
    model = ChatEndpoint(chat.url, "m", retries=2, pause=pauses.append)
    chat.first = [(503, {}, b"secret bread")] * 3
    with pytest.raises(InputError, match="/v1: no answer in 3 attempts, at last status 503") as caught:
        model.complete(user("bread"))
    assert (pauses, len(chat.asked)) == ([0.5, 1.0], 3)
    assert "bread" not in str(caught.value)
    for status in (204, 302, 307, 400, 401, 404, 409):
        chat.first, before = [(status, {"Location": chat.url}, b"secret bread")], len(chat.asked)
        with pytest.raises(InputError, match=f"status {status}; check") as caught:
            model.complete(user("bread"))
        assert len(chat.asked) == before + 1
        assert "bread" not in str(caught.value)
    chat.first = [(429, {"Retry-After": "3600"}, b"")]
    with pytest.raises(InputError, match="asks to wait 3600 seconds"):
        model.complete(user("bread"))
    chat.first = [(500, {}, b"")]
    with pytest.raises(InputError, match="no answer in 1 attempt, at last"):
        ChatEndpoint(chat.url, "m", retries=0).complete(user("bread"))


def test_a_refused_request_may_be_lost(chat: Service) -> None:
    model = ChatEndpoint(chat.url, "m", retries=0)
    for status in (400, 422):
        chat.first = [(status, {}, b'{"error": "bread"}')]
        assert model.complete_many([user("bread")] * 2, workers=1, lost="") == ["", "BREAD"]
    chat.first = [(401, {}, b"")]
    with pytest.raises(InputError, match="status 401"):
        model.complete_many([user("bread")], lost="")


def test_nobody_there(chat: Service) -> None:
    chat.server.server_close()
    with pytest.raises(InputError, match="no answer in 2 attempts, at last ConnectError"):
        ChatEndpoint(chat.url, "m", retries=1, pause=lambda _: None).complete(user("bread"))


def test_a_service_that_takes_too_long(chat: Service) -> None:
    stop = threading.Event()
    chat.answer = lambda body: stop.wait(10) or {}
    with pytest.raises(InputError, match="at last ReadTimeout"):
        ChatEndpoint(chat.url, "m", timeout=0.05, retries=1, pause=lambda _: None).complete(user("bread"))
    stop.set()


@pytest.mark.parametrize(("answer", "message"), [
    (b"<html>secret bread</html>", "has no text"), ({}, "has no text"), ([], "has no text"),
    ({"choices": []}, "has no text"), ({"choices": [{"message": {"content": None}}]}, "has no text"),
    ({"choices": [{"text": "secret bread"}]}, "has no text"), ({"choices": "secret bread"}, "has no text"),
    (said("secret bread", finish_reason="length"), "cut off at 9 tokens"),
])
def test_answers_that_are_none(chat: Service, answer: Any, message: str) -> None:
    chat.answer = lambda body: answer
    with pytest.raises(InputError, match=message) as caught:
        ChatEndpoint(chat.url, "m", max_tokens=9).complete(user("bread"))
    assert "bread" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_answer_may_be_lost_and_is_then_not_kept(chat: Service, tmp_path: Path) -> None:
    model = ChatEndpoint(chat.url, "m", cache=tmp_path)
    chat.answer = lambda body: {} if body["messages"][0]["content"] == "bread" else said("RIVER")
    for asked in (2, 3):
        assert model.complete_many([user("bread"), user("river")], lost="") == ["", "RIVER"]
        assert len(chat.asked) == asked
    with pytest.raises(InputError, match="has no text"):
        model.complete(user("bread"))


def test_nothing_is_kept_unless_asked(chat: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        ChatEndpoint(chat.url, "m").complete(user("bread"))
    assert (len(chat.asked), list(tmp_path.iterdir())) == (2, [])


def test_a_cache_answers_the_same_request(chat: Service, tmp_path: Path) -> None:
    def ask(text: str = "bread", **options: Any) -> int:
        before = len(chat.asked)
        model = ChatEndpoint(chat.url, options.pop("model", "m"), cache=tmp_path / "kept", **options)
        assert model.complete(user(text)) == text.upper()
        return len(chat.asked) - before

    assert ask() == 1
    assert ask() == 0
    different: list[dict[str, Any]] = [{"text": "river"}, {"model": "n"}, {"seed": 1}, {"temperature": 0.1},
                                       {"max_tokens": 5}]
    assert [ask(**one) for one in different] == [1] * 5
    assert [ask(**one) for one in different] == [0] * 5


def test_a_failure_is_not_kept(chat: Service, tmp_path: Path) -> None:
    model = ChatEndpoint(chat.url, "m", cache=tmp_path)
    chat.first = [(400, {}, b"")]
    with pytest.raises(InputError):
        model.complete(user("bread"))
    assert model.complete(user("bread")) == "BREAD"


def test_names_hold_no_secrets() -> None:
    model = ChatEndpoint("https://example.org:8443/v1?key=hunter2", "m")
    assert model.name == "https://example.org:8443/v1"
    assert repr(model) == "ChatEndpoint('https://example.org:8443/v1', 'm')"
    with pytest.raises(UsageError, match=f"holds a password; expected it in {KEY_VARIABLE}") as caught:
        ChatEndpoint("https://user:hunter2@example.org/v1", "m")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["", "http://", "http:///v1", "http://[::1", "host/v1", "ftp://host/v1",
                                 "http://host:99999/v1", "http://ho\x00st/v1"])
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(UsageError, match="the address of the endpoint cannot be read; expected http://host/v1"):
        ChatEndpoint(url, "m")


@pytest.mark.parametrize("options", [
    {"temperature": -0.1}, {"temperature": float("nan")}, {"timeout": 0.0}, {"retries": -1}, {"max_tokens": 0}])
def test_numbers_that_cannot_be(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="were given; expected"):
        ChatEndpoint("http://h/v1", "m", **options)
    with pytest.raises(UsageError, match="name of a model"):
        ChatEndpoint("http://h/v1", "")


@pytest.mark.parametrize("messages", [
    [], [{"role": "user"}], [{"role": "robot", "content": "x"}], [{"role": "user", "content": 3}],
    [{"role": "user", "content": "x", "name": "y"}]])
def test_messages_that_are_none(messages: Any) -> None:
    with pytest.raises(ValueError, match="a conversation needs messages"):
        ChatEndpoint("http://h/v1", "m").complete(messages)


def test_bounds_and_seeds_that_cannot_be() -> None:
    model = ChatEndpoint("http://h/v1", "m")
    for workers in (0, 65):
        with pytest.raises(UsageError, match=f"{workers} requests at a time"):
            model.complete_many([user("x")], workers=workers)
    with pytest.raises(ValueError, match="2 seeds for 1 conversations"):
        model.complete_many([user("x")], [1, 2])


def test_without_httpx(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtraError, match=r"discreet\[audit\]"):
        ChatEndpoint("http://h/v1", "m")


NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(("header", "seconds"), [
    ("7", 7.0), (" 0 ", 0.0), (None, None), ("", None), ("soon", None), ("-3", None), ("1.5", None), ("٣", None),
    (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0),
    (format_datetime(NOW - timedelta(seconds=90), usegmt=True), 0.0),
    ("Sun, 01 Mar 2026 12:00:05 -0000", 5.0), ("Sun, 01 Mar 2026 13:00:05 +0100", 5.0),
    ("Sun, 99 Mar 2026 12:00:05 GMT", None),
])
def test_what_a_service_asks_for(header: str | None, seconds: float | None) -> None:
    assert asked_pause(header, NOW) == seconds
