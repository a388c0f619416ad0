"""Who may enter, and how what is open is shared: nobody without a key, and no key, shuts the service for the others."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Coroutine
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from tests.serve.conftest import SAFE, Service, Start
from tests.serve.doors.upstream import Model

from discreet.core.records import Answer
from discreet.guard.decide import Judgement
from discreet.serve.admission import MOST_NODES, MOST_VALUES, NODES, SIGN_IN_BYTES, Nodes, Slots
from discreet.serve.doors import messages, presidio, responses
from discreet.serve.doors.check import Check
from discreet.serve.doors.completions import Embedding, TextCompletion
from discreet.serve.doors.openai import Completion, Moderation
from discreet.serve.limits import Rate, RefusedError

Sent = list[dict[str, Any]]


def asks(service: Service, token: str | None, body: bytes = b"{", path: str = "/v1/check", more: bool = True
         ) -> Callable[[Sent], Coroutine[Any, Any, None]]:
    """A request of which the body never comes whole where there is `more`; it appends what is answered."""
    headers = [(b"content-length", b"100" if more else str(len(body)).encode()), (b"content-type", b"application/json")]
    headers += [] if token is None else [(b"x-api-key", token.encode())]
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "path": path,
             "raw_path": path.encode(), "root_path": "", "scheme": "http", "query_string": b"", "headers": headers,
             "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2), "state": {}}

    async def asked(sent: Sent) -> None:
        first = True

        async def receive() -> dict[str, Any]:
            nonlocal first
            if not first:
                await asyncio.sleep(3600)
            first = False
            return {"type": "http.request", "body": body, "more_body": more}

        async def send(message: Any) -> None:
            sent.append(message)

        await service.app(scope, receive, send)

    return asked


def test_bodies_that_never_come_shut_nobody_out_without_a_key(start: Start) -> None:
    service = start(limits={"requests": 8, "body_s": 30})

    async def attack() -> tuple[list[int], int]:
        sent: list[Sent] = [[] for _ in range(50)]
        started = time.monotonic()
        tokens = ["wrong", None] * 25
        await asyncio.gather(*(asks(service, token)(one) for one, token in zip(sent, tokens, strict=True)))
        assert time.monotonic() - started < 5
        ours: Sent = []
        await asks(service, service.tokens["caller"], json.dumps({"text": SAFE}).encode(), more=False)(ours)
        return [one[0]["status"] for one in sent], ours[0]["status"]

    refused, ours = asyncio.run(attack())
    assert (set(refused), ours) == ({401}, 200)


def test_slow_bodies_of_a_key_take_its_own_places_only(start: Start) -> None:
    service = start(limits={"requests": 8, "body_s": 1})
    slow = service.tokens["caller"]

    async def attack() -> tuple[list[int], int]:
        sent: list[Sent] = [[] for _ in range(20)]
        asking = [asyncio.create_task(asks(service, slow)(one)) for one in sent]
        await asyncio.sleep(0.3)
        ours: Sent = []
        await asks(service, service.tokens["operator"], json.dumps({"text": SAFE}).encode(), more=False)(ours)
        await asyncio.gather(*asking)
        return sorted(one[0]["status"] for one in sent), ours[0]["status"]

    statuses, ours = asyncio.run(attack())
    assert statuses == [408] * 4 + [429] * 16
    assert ours == 200
    assert service.ask("/v1/check", {"text": SAFE}).status_code == 200


def test_a_key_leaves_as_many_places_free_as_it_has() -> None:
    slots = Slots(9)
    for key, most in (("a", 5), ("b", 2), ("c", 1)):
        for _ in range(most):
            slots.take(key)
        with pytest.raises(RefusedError):
            slots.take(key)
    for _ in range(5):
        slots.give("a")
    slots.take("c")


def test_a_sign_in_is_small_and_comes_soon(start: Start) -> None:
    service = start()
    found = service.client.post("/console/sign-in", content=b"k" * (SIGN_IN_BYTES + 1))
    assert found.status_code == 413
    assert "limits.body_bytes" not in found.text


def test_a_body_that_is_too_large_is_told_which_setting_says_so(start: Start) -> None:
    """A picture of three megabytes is an ordinary request: whoever runs the service must learn what lets it in."""
    picture = {"text": "data:image/png;base64," + "A" * 3_000_000}
    refused = start().ask("/v1/check", picture)
    assert (refused.status_code, refused.json()["error"]["code"]) == (413, "too_large")
    assert "over 2,000,000 bytes; send less in one request, or have limits.body_bytes raised" in refused.text
    assert start(limits={"body_bytes": 5_000_000}).ask("/v1/check", picture).json()["error"]["code"] == "too_long"


def test_a_file_of_keys_that_is_gone_lets_nobody_in_and_is_no_crash(start: Start) -> None:
    service = start()
    file = service.app.state.settings.keys
    file.rename(file.with_name("moved.json"))
    response = service.ask("/v1/check", {"text": SAFE})
    assert (response.status_code, response.json()["error"]["code"]) == (503, "keys")
    assert response.headers["retry-after"] == "5"
    file.with_name("moved.json").rename(file)
    assert service.ask("/v1/check", {"text": SAFE}).status_code == 200
    assert service.events("crash") == []


def test_answers_of_a_key_that_wait_do_not_refuse_another_key(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    service = start(limits={"waiting": 2})

    async def ask() -> tuple[int, int]:
        text = json.dumps({"text": [SAFE] * 3}).encode()
        asking = asyncio.create_task(asks(service, service.tokens["caller"], text, more=False)([]))
        await asyncio.sleep(0.2)
        monkeypatch.undo()
        refused: Sent = []
        await asks(service, service.tokens["caller"], text, more=False)(refused)
        served: Sent = []
        await asks(service, service.tokens["operator"], text, more=False)(served)
        asking.cancel()
        return refused[0]["status"], served[0]["status"]

    pool = service.gate.workers._free

    async def _wait(guard: str, answer: Answer, owner: str) -> Judgement:
        await pool.get(owner, 10, 60)
        raise AssertionError

    monkeypatch.setattr(service.gate.workers, "judge", _wait)
    assert asyncio.run(ask()) == (429, 200)


def test_the_rate_of_a_key_is_that_of_a_sliding_minute_and_counts_long_answers_more(start: Start) -> None:
    now = 0.0
    rate = Rate(2, lambda: now)
    rate.count("a")
    now = 30.0
    rate.count("a")
    rate.count("b")
    now = 59.0
    with pytest.raises(RefusedError) as caught:
        rate.count("a")
    assert caught.value.headers == {"Retry-After": "2"}
    now = 60.0
    rate.count("a")
    service = start(limits={"per_minute": 6})
    assert service.ask("/v1/check", {"text": [SAFE] * 4}).status_code == 200
    assert service.ask("/v1/check", {"text": f"{SAFE} " * 150}).status_code == 200
    response = service.ask("/v1/check", {"text": SAFE})
    assert response.status_code == 429
    assert 0 < int(response.headers["retry-after"]) <= 60  # A minute after the first answer, which took a while itself.
    assert service.ask("/v1/check", {"text": SAFE}, "operator").status_code == 200
    assert service.ask("/health/ready").status_code == 200


def test_there_is_a_rate_by_default(start: Start) -> None:
    assert start().app.state.settings.limits.per_minute is not None


TEXT = st.text(st.sampled_from('a\\"[]{},é'), max_size=6)
JSON = st.recursive(TEXT | st.none(), lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(TEXT, inner, max_size=3), max_leaves=12)


def nodes_of(value: Any) -> tuple[int, int]:
    """Objects and lists in a value, and commas between values."""
    if not isinstance(value, dict | list):
        return 0, 0
    inner = [nodes_of(one) for one in (value.values() if isinstance(value, dict) else value)]
    return 1 + sum(nodes for nodes, _ in inner), max(0, len(inner) - 1) + sum(commas for _, commas in inner)


@given(value=JSON, size=st.integers(1, 7), plain=st.booleans())
def test_objects_and_lists_are_counted_in_whatever_parts_they_come(value: Any, size: int, plain: bool) -> None:
    body, nodes = json.dumps(value, ensure_ascii=plain).encode(), Nodes()
    for start in range(0, len(body), size):
        nodes.read(body[start : start + size])
    assert (nodes.count, nodes.commas) == nodes_of(value)


def test_a_body_of_many_objects_is_refused_and_less_of_them_counts_as_answers(start: Start) -> None:
    service = start(limits={"per_minute": 30})
    code = "".join("[{" for _ in range(MOST_NODES))
    assert service.ask("/v1/check", {"text": code}).status_code == 200  # In a text they are none.
    for sources in ([{"text": ""}] * MOST_NODES, [""] * (MOST_VALUES + 1)):
        response = service.ask("/v1/check", {"text": SAFE, "sources": sources})
        assert (response.status_code, response.json()["error"]["code"]) == (413, "too_many")
    tokens = {"model": "m", "input": [7] * (MOST_VALUES + 1)}
    assert service.ask("/v1/embeddings", tokens).status_code == 404  # It was read; there is no model.
    for status in (200, 200, 429):
        sources = [{"text": ""}] * (8 * NODES)
        assert service.ask("/v1/check", {"text": SAFE, "sources": sources}, "operator").status_code == status


class _Line(BaseModel):
    sku: str
    quantity: int = 1
    price: float | None = None
    tags: list[str] | None = None
    note: str | None = None


class _Address(BaseModel):
    street: str | None = None
    city: str | None = None
    country: Literal["US", "CA", "GB"] | None = None


class _Order(BaseModel):
    order_id: str
    ship_to: _Address | None = None
    bill_to: _Address | None = None
    lines: list[_Line] = []
    currency: Literal["USD", "EUR"] = "USD"
    created_after: str | None = None
    created_before: str | None = None
    limit: int | None = None
    cursor: str | None = None


def test_two_hundred_tools_with_nested_schemas_pass_and_leave_most_of_a_rate(start: Start) -> None:
    schema = _Order.model_json_schema()
    model = Model(lambda body: SAFE)
    service = start(transport=model.transport, upstream={"url": "http://model.test/v1"}, limits={"per_minute": 100})
    functions = [{"name": f"order_{n}", "description": "Changes an order.", "parameters": schema} for n in range(200)]
    inputs = [{"name": one["name"], "input_schema": schema} for one in functions]
    said = [{"role": "user", "content": "What lowers blood glucose?"}]
    assert len(json.dumps(functions)) > 300_000
    for path, body in (
            ("/v1/chat/completions", {"messages": said, "tools": [{"type": "function", "function": one}
                                                                  for one in functions]}),
            ("/v1/responses", {"input": said, "tools": [{"type": "function", **one} for one in functions]}),
            ("/v1/messages", {"messages": said, "max_tokens": 50, "tools": inputs})):
        assert service.ask(path, {"model": "tiny", **body}).status_code == 200
        assert [one["function"]["parameters"] for one in model.asked[-1]["tools"]] == [schema] * 200


@pytest.mark.parametrize(("kind", "given"), [
    (Check, {"text": [1] * 900}), (Check, {"text": "x", "sources": [1] * 900}),
    (Check, {"text": "x", "conversation": [1] * 900}),
    (Check, {"text": "x", "sources": [{"x" * n: 1} for n in range(9)]}),
    (Completion, {"model": "m", "messages": [1] * 900}), (TextCompletion, {"model": "m", "prompt": [1] * 900}),
    (Embedding, {"model": "m", "input": [None] * 900}), (Moderation, {"input": [1] * 900}),
    (messages.Ask, {"model": "m", "max_tokens": 1, "messages": [1] * 900}), (presidio.Asked, {"text": [1] * 900}),
    (responses.Ask, {"model": "m", "input": [1] * 900}), (Check, {"text": "x", **{f"k{n}": 1 for n in range(900)}}),
    (Completion, {**{f"k{n}": 1 for n in range(900)}, "model": "m", "messages": [{}]})])
def test_of_many_mistakes_few_are_written_down(kind: type[BaseModel], given: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        kind.model_validate(given)
    assert caught.value.error_count() <= 5
