"""What becomes of arguments that a model hands to tools, by the name of the tool."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.responses import JSONResponse
from tests.serve.conftest import LITIGATOR, SAFE
from tests.serve.doors.test_matrix import ASK, says
from tests.serve.doors.test_openai import Proxy, proxy  # noqa: F401
from tests.serve.doors.upstream import completion

from discreet.core.errors import UsageError
from discreet.serve.settings import GuardSettings, Settings

DOORS = [path for path in ASK if path != "/v1/completions"]
CODES = {"allow": "ok", "judge": "privacy/contextual", "withhold": "privacy/undecided"}


def guards(tools: dict[str, str], mode: str = "enforce") -> dict[str, Any]:
    return {"medical": {"domain": "medical", "tools": tools, "mode": mode}}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("how", CODES)
@pytest.mark.parametrize("path", DOORS)
def test_what_is_handed_to_a_tool_goes_out_as_its_name_says(
        proxy: Proxy, path: str, how: str, stream: bool) -> None:  # noqa: F811
    service, _ = proxy(says("arguments", LITIGATOR, stream), guards=guards({"no*": how}))
    response = service.ask(path, {"model": "tiny", **ASK[path], "stream": stream})
    assert (response.headers["x-discreet-code"], "52-year-old" in response.text) == (CODES[how], how == "allow")
    (decision,) = service.events("decision")
    assert decision["action"] == ("pass" if how == "allow" else "block")


def test_what_stands_beside_an_allowed_call_is_judged(proxy: Proxy) -> None:  # noqa: F811
    call = {"id": "call_12345678", "type": "function", "function": {"name": "note", "arguments": '{"q": "Omaha"}'}}
    for text, action in ((SAFE, "pass"), (LITIGATOR, "block")):
        service, _ = proxy(JSONResponse(completion(text, tool_calls=[call])), guards=guards({"note": "allow"}))
        response = service.ask("/v1/chat/completions", {"model": "tiny", **ASK["/v1/chat/completions"], "n": 1})
        assert response.headers["x-discreet-action"] == action


def test_a_guard_that_observes_judges_what_it_would_withhold(proxy: Proxy) -> None:  # noqa: F811
    service, _ = proxy(says("arguments", LITIGATOR, False), guards=guards({"*": "withhold"}, "observe"))
    response = service.ask("/v1/chat/completions", {"model": "tiny", **ASK["/v1/chat/completions"]})
    assert "52-year-old" in response.text
    (decision,) = service.events("decision")
    assert (decision["action"], decision["would"]) == ("pass", "block")


def test_the_first_name_that_matches_decides() -> None:
    given = GuardSettings(domain="medical", tools={"mail_team": "allow", "mail_*": "withhold"})
    assert [given.handing(name) for name in ("mail_team", "mail_all", "note")] == ["allow", "withhold", "judge"]


def test_an_unknown_way_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"guards\.medical\.tools\.note.*'allow', 'judge' or 'withhold'"):
        Settings.read(None, guards=guards({"note": "block"}), no_auth=True)


def test_arguments_that_are_allowed_are_no_text(proxy: Proxy) -> None:  # noqa: F811
    body = json.loads(says("arguments", LITIGATOR, False).body)
    body["choices"][0]["message"]["content"] = None
    service, _ = proxy(JSONResponse(body), guards=guards({"note": "allow"}))
    response = service.ask("/v1/chat/completions", {"model": "tiny", **ASK["/v1/chat/completions"]})
    assert response.headers["x-discreet-action"] == "pass"
    (decision,) = service.events("decision")
    assert decision["n"] == 0
