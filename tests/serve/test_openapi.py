"""The document of the API next to the service that runs: every route is in it, and answers as it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from jsonschema import Draft202012Validator
from starlette.responses import JSONResponse
from tests.serve.conftest import SAFE, UNDECIDED, Service, Start
from tests.serve.doors.upstream import Model, completion

OPEN = ("/", "/health/live", "/health/ready")
CHAT = [{"role": "user", "content": "Who is it?"}]
BODIES: dict[str, Any] = {
    "/v1/check": {"text": SAFE}, "/v1/appeals": {"text": UNDECIDED}, "/v1/moderations": {"input": SAFE},
    "/analyze": {"text": SAFE},
    "/request": {"body": {"messages": CHAT}}, "/response": {"body": {"choices": [{"message": CHAT[0]}]}},
    "/v1/chat/completions": {"model": "m", "messages": CHAT}, "/v1/responses": {"model": "m", "input": "Who?"},
    "/v1/messages": {"model": "m", "max_tokens": 9, "messages": CHAT},
    "/v1/messages/count_tokens": {"model": "m", "messages": CHAT}, "/v1/completions": {"model": "m", "prompt": "It is"},
    "/v1/embeddings": {"model": "m", "input": "x"}}
"""What is asked of each path; of one below a guard as of the path without it."""


def said(body: dict[str, Any]) -> Any:
    """What the model answers, at any of its endpoints."""
    found = completion(SAFE)
    found["choices"][0]["text"] = SAFE
    found |= {"input_tokens": 3} | ({"data": [{"id": "m", "embedding": [0.5]}]} if "input" in body else {})
    return SAFE if body.get("stream") else JSONResponse(found)


class Listing(Model):
    """A model that is asked for the names of its models too."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["method"] == "GET":
            await JSONResponse({"data": [{"id": "m"}]})(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


def reviewed(service: Service, ticket: str, step: str) -> dict[str, Any]:
    """The body of a step that a reviewer may take with the ticket now."""
    if step == "leave":
        service.ask(f"/v1/reviews/{ticket}", role="reviewer")
    body = {"version": service.gate.queue.row(ticket)["version"]}
    return {**body, "action": "release", "reason": "other"} if step == "decide" else body


@pytest.fixture
def service(start: Start, tmp_path: Path) -> Service:
    return start(transport=Listing(said).transport, upstream={"url": "http://model.test/v1"},
                 queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys"})


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(path, method, about) for path, methods in document["paths"].items() for method, about in methods.items()]


def test_the_document_is_of_the_routes_that_there_are(service: Service) -> None:
    document = service.ask("/openapi.json").json()
    there = {(one.path.replace(":path}", "}"), method.lower()) for one in _routes(service.app)
             for method in one.methods or ()}
    assert {(path, method) for path, method, _ in operations(document)} == there
    names = [about["operationId"] for *_, about in operations(document)]
    assert len(names) == len(set(names))
    for path, method, about in operations(document):
        where = {one["name"] for one in about.get("parameters", ()) if one["in"] == "path"}
        assert where == set(re.findall(r"{(\w+)}", path)), path
        assert about["description"], path
        assert about["tags"], path
        assert bool(about.get("security")) == (path not in OPEN), path
        for status, response in about["responses"].items():
            assert all(one.get("schema") for one in response["content"].values()), (path, method, status)


def _routes(app: Any) -> list[APIRoute]:
    """Every route of an application, also of one whose routers are kept whole."""
    found: list[APIRoute] = []
    for one in app.routes:
        if isinstance(one, APIRoute):
            found.append(one)
        elif (router := getattr(one, "original_router", None)) is not None:
            found += _routes(router)
    return found


def test_every_operation_answers_as_it_says(service: Service) -> None:
    document = service.ask("/openapi.json").json()
    ticket = service.ask("/v1/check", {"text": UNDECIDED, "review": True}).json()["ticket"]
    for path, method, about in operations(document):
        at = path.replace("{guard}", "medical").replace("{ticket}", ticket).replace("{model}", "m")
        body = BODIES.get(path.removeprefix("/guards/{guard}").removesuffix("/{guard}"))
        reviews = path.startswith("/v1/reviews")
        owner = "reviewer" if reviews else "caller" if "{ticket}" in path else "operator"
        if reviews and method == "post":
            body = reviewed(service, ticket, path.rpartition("/")[2])
        assert (body is None) == (method == "get"), path
        answers = [service.ask(at, body, owner), service.ask(at, body, "nobody"),
                   service.ask(at, body, "caller" if reviews else "reviewer")]
        answers += [service.ask(at, {"no": "such"}, owner)] if body is not None else []
        answers += [service.ask(at, {**body, "stream": True}, owner)] if "text/event-stream" in about["responses"][
            "200"]["content"] and body is not None else []
        expected = [200, *((401, 403) if path not in OPEN else (200, 200))]
        assert [one.status_code for one in answers][:3] == expected, path
        for answer in answers:
            kind = answer.headers["content-type"].split(";")[0]
            content = about["responses"][str(answer.status_code)]["content"]
            assert kind in content, (path, answer.status_code, kind)
            found = answer.json() if kind == "application/json" else answer.text
            schema = {**content[kind]["schema"], "components": document["components"]}
            Draft202012Validator(schema).validate(found)
