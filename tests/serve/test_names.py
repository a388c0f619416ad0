"""What is misspelt is named, with what was meant: variables, settings, fields of requests."""

from __future__ import annotations

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


@pytest.mark.parametrize(("path", "body", "said"), [
    ("/v1/check", {"txt": SAFE}, "unknown field 'txt'; did you mean 'text'?"),
    ("/v1/check", {"text": SAFE, "user_word": "I am 52."}, "unknown field 'user_word'; did you mean 'user_words'?"),
    ("/v1/check", {"text": SAFE, "sources": ["A.", {"text": "B.", "pubic": True}]},
     "unknown field 'pubic'; did you mean 'public'?"),
    ("/v1/check", {"text": SAFE, "conversation": [{"rôle": "user"}]},
     "an unknown field; expected some of content, origin, role"),
    ("/v1/appeals", {"text": SAFE, "zzz": 1}, "unknown field 'zzz'; expected some of asker, conversation, model"),
    ("/v1/check", {"text": SAFE, "Jane Roe of Omaha": 1}, "an unknown field; expected some of asker"),
    ("/v1/chat/completions", {"model": "m", "messages": [{"role": "user", "content": "x"}], "discreet": {"words": "x"}},
     "unknown field 'words'; did you mean 'user_words'?"),
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
