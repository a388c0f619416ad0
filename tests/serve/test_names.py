"""What is misspelt is named, with what was meant: variables, settings, fields of requests."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import SAFE, Start

from discreet.core.errors import DiscreetError, InputError, UsageError
from discreet.serve.names import check_environment
from discreet.serve.settings import PREFIX, Settings

ONE: dict[str, Any] = {"guards": {"medical": {"domain": "medical"}}, "no_auth": True}


@pytest.mark.parametrize(("name", "means"), [
    ("DISCREET_SERVE_PROT", "PORT"), ("discreet_serve_mod", "MODE"), ("DISCREET_SERVE_LIMITS__TEXT", "LIMITS__TEXTS"),
    ("DISCREET_SERVE_LIMITS_TEXTS", "LIMITS__TEXTS"), ("DISCREET_SERVE_PORT__X", "PORT"), ("DISCREET_PORT", "PORT"),
    ("DISCREET_SERVER_MODE", "MODE"), ("DISCREET_UPSTREAM__KEY", "UPSTREAM__KEY"),
    ("DISCREET_SERVE_GUARDS__MEDICAL__DOMIAN", "GUARDS__MEDICAL__DOMAIN"),
    ("DISCREET_SERVE_OIDC__REVIEWERS__STAFF__X", "OIDC__REVIEWERS__STAFF")])
def test_a_variable_that_no_setting_has_is_refused_with_the_nearest(
        monkeypatch: pytest.MonkeyPatch, name: str, means: str) -> None:
    monkeypatch.setenv(name, "of-a-secret")
    with pytest.raises(UsageError, match=rf"{name} is not a setting \(did you mean {PREFIX}{means}\?\)") as caught:
        Settings.read(None, **ONE)
    assert "of-a-secret" not in str(caught.value)


@pytest.mark.parametrize("name", ["DISCREET_SERVE_QWXZ", "DISCREET_SERVE_"])
def test_one_that_is_like_none_is_refused_too(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(UsageError, match="and the name of a setting"):
        Settings.read(None, **ONE)


def test_settings_and_variables_of_others_are_let_be() -> None:
    for name in ("DISCREET_SERVE_LIMITS__TEXTS", "discreet_serve_port", "DISCREET_SERVE_OIDC",
                 "DISCREET_SERVE_GUARDS__A_B__DOMAIN", "DISCREET_SERVE_OIDC__OPERATORS__STAFF",
                 "DISCREET_HASH_KEY", "DISCREET_MODEL_TOKEN", "DISCREET_KEY", "PORT"):
        check_environment(Settings, PREFIX, {name: "1"})
    links = {"DISCREET_PORT": "tcp://10.0.0.9:80", "DISCREET_SERVICE_PORT": "80", "DISCREET_PORT_80_TCP_ADDR": "1"}
    check_environment(Settings, PREFIX, {"KUBERNETES_SERVICE_HOST": "10.0.0.1", **links})
    with pytest.raises(UsageError, match="DISCREET_PORT is not a setting"):
        check_environment(Settings, PREFIX, links)


@pytest.mark.parametrize(("over", "said"), [
    ({"prot": 1}, r"prot: is not a setting \(did you mean 'port'\?\)"),
    ({"guards": {"m": {"domian": "medical"}}}, r"guards\.m\.domian: is not a setting \(did you mean 'domain'\?\)"),
    ({"queue": {"undos": 1}}, r"queue\.undos: is not a setting \(did you mean 'undo_s'\?\)"),
    ({"queue": {"zzz": 1}}, r"queue\.zzz: is not a setting \(expected some of expires_s, key_folder"),
    ({"withheld": {"fact": 1}}, r"withheld\.fact: is not a setting \(did you mean 'facts'\?\)")])
def test_a_setting_of_a_file_that_there_is_not_comes_with_the_nearest(over: dict[str, Any], said: str) -> None:
    with pytest.raises(DiscreetError, match=said):
        Settings.read(None, **{**ONE, **over})


def test_a_misspelt_name_is_said_before_what_is_missing_for_it(tmp_path: Path) -> None:
    (tmp_path / "serve.yaml").write_text("gaurds: {medical: {domain: medical}}\nno_auth: true\n")
    with pytest.raises(InputError, match=r"gaurds: is not a setting \(did you mean 'guards'\?\) \(and 1 more\)"):
        Settings.read(tmp_path / "serve.yaml")


@pytest.mark.parametrize(("content", "headers", "said"), [
    (gzip.compress(b'{"text": "x"}', mtime=0), {"content-encoding": "gzip"},
     "the body is compressed; expected it plain"),
    ('{"text": "é"}'.encode("latin-1"), {}, "the body could not be read; expected JSON in UTF-8"),
    ('{"text": "x"}'.encode("utf-16"), {}, "the body could not be read; expected JSON in UTF-8"),
    (b"[" * 9_999, {}, "the body could not be read; expected JSON in UTF-8")])
def test_a_body_that_cannot_be_read_says_what_is_read(start: Start, content: bytes, headers: dict[str, str], said: str
                                                      ) -> None:
    service = start()
    response = service.client.post("/v1/check", content=content, headers={
        "x-api-key": service.tokens["caller"], "content-type": "application/json", **headers})
    assert (response.status_code, response.json()["error"]["message"][: len(said)]) == (400, said)


CHAT = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


@pytest.mark.parametrize(("path", "body", "said"), [
    ("/v1/check", {"txt": SAFE}, "unknown field 'txt'; did you mean 'text'?"),
    ("/v1/check", {"text": SAFE, "user_word": "I am 52."}, "unknown field 'user_word'; did you mean 'user_words'?"),
    ("/v1/check", {"text": SAFE, "sources": ["A.", {"text": "B.", "pubic": True}]},
     "unknown field 'pubic'; did you mean 'public'?"),
    ("/v1/check", {"text": SAFE, "conversation": [{"rôle": "user"}]},
     "an unknown field; expected some of content, origin, role"),
    ("/v1/appeals", {"text": SAFE, "zzz": 1}, "unknown field 'zzz'; expected some of asker, conversation, model"),
    ("/v1/check", {"text": SAFE, "Jane Roe of Omaha": 1}, "an unknown field; expected some of asker"),
    ("/v1/chat/completions", {**CHAT, "discreet": {"words": "x"}},
     "unknown field 'words'; did you mean 'user_words'?"),
    ("/v1/moderations", {"input": SAFE, "sources": ["x"]}, "unknown field 'sources'; expected some of input, model"),
    ("/v1/moderations", {"inputs": SAFE}, "unknown field 'inputs'; did you mean 'input'?"),
    ("/v1/chat/completions", {**CHAT, "discret": {"user_words": "x"}}, "unknown field 'discret'; did you mean 'disc"),
    ("/v1/completions", {"model": "m", "prompt": "x", "Discrete": {}}, "unknown field 'Discrete'; did you mean 'disc"),
    ("/v1/chat/completions", {**CHAT, "sources": ["x"]}, "the field 'sources' is read inside of 'discreet' only"),
    ("/v1/messages", {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "x"}], "top_pp": 1},
     "unknown field 'top_pp'; did you mean 'top_p'?")])
def test_an_unknown_field_of_a_request_is_named_with_the_nearest(start: Start, path: str, body: Any, said: str) -> None:
    service = start(upstream={"url": "http://model.test/v1"})
    response = service.ask(path, body)
    assert (response.status_code, response.json()["error"]["code"]) == (
        400 if path == "/v1/messages" else 422, "invalid")
    assert response.json()["error"]["message"].startswith(said)
    assert "Omaha" not in response.text + service.log.getvalue()
    assert not any(name in service.log.getvalue() for name in re.findall("^unknown field '(.*?)'", said))


def test_a_body_without_its_type_says_so(start: Start) -> None:
    service = start()
    response = service.client.post("/v1/check", content=b'{"text": "x"}', headers={
        "x-api-key": service.tokens["caller"], "content-type": "application/x-www-form-urlencoded"})
    assert response.status_code == 422
    assert "content-type: application/json" in response.json()["error"]["message"]


@pytest.mark.parametrize(("path", "body"), [
    ("/v1/check", {"text": SAFE}), ("/v1/moderations", {"input": SAFE}), ("/analyze", {"text": SAFE}),
    ("/v1/chat/completions", CHAT), ("/v1/messages", {**CHAT, "max_tokens": 9}), ("/v1/tickets", None)])
def test_a_misspelt_header_of_ours_is_named_with_the_nearest(start: Start, path: str, body: Any) -> None:
    service = start(upstream={"url": "http://model.test/v1"})

    def ask(**headers: str) -> tuple[int, str]:
        response = service.client.request("GET" if body is None else "POST", path, json=body, headers={
            "x-api-key": service.tokens["operator"], **{f"x-{name}".replace("_", "-"): headers[name]
                                                        for name in headers}})
        return response.status_code, response.text

    refused = 400 if path == "/v1/messages" else 422
    status, said = ask(discreet_user_word="Jane")
    assert status == refused
    assert "unknown header 'x-discreet-user-word'; did you mean 'x-discreet-user-words'?" in said
    assert "Jane" not in said + service.log.getvalue()
    assert ask(discret_user="u")[0] != refused  # Another program's.
    assert ask(discreet_user="u", discreet_conversation="c")[0] == (refused if path == "/v1/moderations" else
                                                                    ask()[0])


@pytest.mark.parametrize("path", ["/v1/check", "/v1/appeals", "/v1/moderations"])
def test_a_declaration_by_a_header_that_is_not_read_is_refused(start: Start, path: str) -> None:
    service = start()
    response = service.client.post(path, json={"input" if "mod" in path else "text": SAFE}, headers={
        "x-api-key": service.tokens["operator"], "x-discreet-user-words": "I%20am%2052"})
    assert response.status_code == 422
    assert "'x-discreet-user-words' is not read at this path" in response.json()["error"]["message"]


@pytest.mark.parametrize(("path", "said"), [
    ("/v1/check?guard=law", "unknown query parameter 'guard'; expected none at this path"),
    ("/v1/tickets?limt=5", "unknown query parameter 'limt'; did you mean 'limit'?"),
    ("/v1/tickets/x?wiat=5", "unknown query parameter 'wiat'; did you mean 'wait'?"),
    ("/v1/audit?from=5", "unknown query parameter 'from'; expected some of after, limit"),
    ("/v1/check?J%20Roe=1", "unknown query parameter; expected none")])
def test_a_misspelt_query_parameter_is_named_with_the_nearest(start: Start, path: str, said: str) -> None:
    response = start().ask(path, {"text": SAFE} if "check" in path else None, "operator")
    assert (response.status_code, response.json()["error"]["message"][: len(said)]) == (422, said)


def test_a_query_that_other_clients_add_is_let_be(start: Start) -> None:
    service = start(upstream={"url": "http://model.test/v1"})
    assert service.ask("/v1/moderations?api-version=2", {"input": SAFE}).status_code == 200
    assert service.ask("/v1/messages?beta=true", {**CHAT, "max_tokens": 9}).status_code >= 500  # No model.


def test_a_header_names_the_conversation_of_a_check_too(start: Start) -> None:
    service = start()

    def ask(text: str, *headers: str, **more: str) -> Any:
        named = [("x-discreet-conversation", one) for one in headers]
        return service.client.post("/v1/check", json={"text": text, **more}, headers=[
            ("x-api-key", service.tokens["caller"]), *named])

    assert ask("The patient is 52 years old.", "a").json()["code"] == "ok"
    assert ask("She works as a litigator.", "a", conversation_id="a").json()["code"] == "privacy/contextual"
    assert [ask(SAFE, *named, **more).status_code for named, more in (
        (("a",), {"conversation_id": "b"}), (("a", "b"), {}), (("a" * 201,), {}))] == [422] * 3


@pytest.mark.parametrize(("path", "settings", "said"), [
    ("/v1/v1/moderations", {}, "did you mean /v1/moderations?"), ("/moderations", {}, "did you mean /v1/moderations?"),
    ("/v1/chek", {}, "did you mean /v1/check?"), ("/v1/check/", {}, "did you mean /v1/check?"),
    ("/v1/chat/completions", {}, "/v1/chat/completions needs a model behind the service that speaks OpenAI's protocol"),
    ("/guards/medical/v1/messages", {}, "/v1/messages needs a model behind the service (upstream)"),
    ("/v1/embeddings", {"upstream": {"url": "http://model.test/v1", "kind": "anthropic"}}, "kind: openai"),
    ("/v1/v1/messages", {"upstream": {"url": "http://model.test/v1"}}, "did you mean /v1/messages?"),
    ("/Jane%20Roe%20of%20Omaha", {}, "/openapi.json lists what there is"),
    ("/console", {}, "it comes with a review queue")])
def test_a_path_that_there_is_not_says_what_was_meant(start: Start, path: str, settings: Any, said: str) -> None:
    service = start(**settings)
    response = service.ask(path, {"input": SAFE}, follow_redirects=False)
    assert (response.status_code, said in response.json()["error"]["message"]) == (404, True), response.text
    assert "Omaha" not in response.text
