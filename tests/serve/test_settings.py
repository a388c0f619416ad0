from __future__ import annotations

import json
import pickle
import re
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.serve.queue.conftest import put

from discreet.core.errors import DiscreetError, InputError
from discreet.guard import Guard, Policy
from discreet.serve import presets, run
from discreet.serve.keys import Caller, Keyring, add_key, list_keys, remove_key
from discreet.serve.queue.tickets import Queue
from discreet.serve.settings import PREFIX, Settings
from discreet.serve.values import is_loopback

ROOT = Path(__file__).resolve().parents[2]
ONE = {"guards": {"medical": {"domain": "medical"}}, "no_auth": True}


def test_what_the_program_says_wins_over_the_environment_and_that_over_the_file(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "serve.yaml"
    file.write_text("guards: {medical: {domain: medical, models: ['med-*']}}\nno_auth: true\nport: 1\nhold_s: 0\n"
                    "limits: {texts: 3, waiting: 4}\nupstream: {url: 'http://127.0.0.1:8000/v1', timeout_s: 9}\n")
    monkeypatch.setenv(f"{PREFIX}LIMITS__TEXTS", "5")
    monkeypatch.setenv(f"{PREFIX}PORT", "2")
    monkeypatch.setenv(f"{PREFIX}UPSTREAM__KEY", "sk-of-the-model")
    found = Settings.read(file, port=3, guards={"medical": {"point": "strict"}})
    assert (found.port, found.limits.texts, found.limits.waiting) == (3, 5, 4)
    assert found.upstream is not None
    assert (found.upstream.timeout_s, "sk-of-the-model" in repr(found)) == (9, False)
    assert (found.guards["medical"].models, found.guards["medical"].point) == (("med-*",), "strict")
    assert Settings.read(file).port == 2
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize(("over", "said"), [
    ({"guards": {}}, "guards: "),
    ({"prot": 1}, "prot: is not a setting (did you mean 'port'?)"),
    ({"guards": {"m": {}}}, "guards.m: expected domain"), ({"port": "x"}, "port: input should be a valid integer"),
    ({"guards": {"m": {"domain": "medical", "folder": "g"}}}, "guards.m: expected domain"),
    ({"guards": {"a b": {"domain": "medical"}}}, "is no name"), ({"default_guard": "law"}, "expected one of medical"),
    ({"host": "0.0.0.0"}, "no_auth with host 0.0.0.0"), ({"no_auth": False}, "keys is missing"),
    ({"keys": "k"}, "keys and no_auth were given together"), ({"hold_s": 3}, "there is no queue"),
    ({"limits": {"texts": 0}}, "limits.texts: "), ({"mode": "permit"}, "mode: "), ({"deadline_s": 0}, "deadline_s: "),
    ({"upstream": {"url": "h", "key": "sk-secret"}}, "upstream.url: "),
    ({"upstream": {"url": "ftp://h"}}, "upstream.url: URL scheme"),
    ({"upstream": {"url": "http://h/v1/chat/completions"}}, "upstream.url: it ends with /chat/completions, which the"),
    ({"upstream": {"url": "http://h/v1/messages/", "kind": "anthropic"}}, "upstream.url: it ends with /messages"),
    ({"upstream": {"url": "http://h/v1?api-version=1"}}, "upstream.url: it has a query or a fragment"),
    ({"upstream": {"url": "http://localhost:8300/v1"}}, "upstream.url is host 127.0.0.1 and port 8300, this service"),
    ({"upstream": {"url": "http://[::1]:9/v1"}, "port": 9}, "upstream.url is host 127.0.0.1 and port 9, this service"),
    ({"upstream": {"url": "http://h/v1", "key": "sk-x\n"}}, "upstream.key: it is empty, or has a space or a line"),
    ({"upstream": {"url": "http://h/v1", "key": ""}}, "upstream.key: it is empty"),
    ({"upstream": {"url": "http://h/v1", "key": "sk-é"}}, "upstream.key: it has characters that no header can have"),
    ({"queue": {"webhook": {"url": "http://h", "secret": "x" * 40 + "\n"}}}, "has a space or a line break")])
def test_a_mistake_is_one_line_that_shows_no_secret(over: dict[str, Any], said: str) -> None:
    with pytest.raises(DiscreetError, match=r"see docs/serve\.md$") as caught:
        Settings.read(None, **{**ONE, **over})
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not any(one in str(caught.value) for one in ("sk-", "xxx"))


def test_a_model_beside_the_service_is_no_loop() -> None:
    for url, port in (("http://127.0.0.1:8000/v1", 8300), ("http://model.example:8300/v1", 8300), ("http://[::1]/", 0),
                      ("https://user:word@h/openai/my-completions", 8300)):
        assert Settings.read(None, **ONE, upstream={"url": url}, port=port).upstream is not None


@pytest.mark.parametrize(("text", "line", "key"), [
    ("mode: observe\nlimits: {texts: 3}\nno_auth: true\nlimits:\n  body_s: 3\n", 4, "limits"),
    ("limits:\n  texts: 3\n  'texts': 4\n", 3, "texts")])
def test_a_name_that_stands_twice_in_a_file_is_refused(tmp_path: Path, text: str, line: int, key: str) -> None:
    (tmp_path / "serve.yaml").write_text(text)
    with pytest.raises(InputError, match=rf"serve\.yaml, line {line}: '{key}' stands there a second time; keep one"):
        Settings.read(tmp_path / "serve.yaml")


def test_without_a_guard_it_says_where_to_name_one() -> None:
    with pytest.raises(DiscreetError, match=r"guards is missing; expected --domain, --guard, or guards in the file"):
        Settings.read(None, no_auth=True)


@pytest.mark.parametrize("content", [b"", b"- a\n", b"{", b"\xff\xfe", b"1: 2\n"])
def test_a_file_that_holds_no_settings_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f.yaml").write_bytes(content)
    with pytest.raises(InputError, match=r"f\.yaml"):
        Settings.read(tmp_path / "f.yaml")
    with pytest.raises(InputError, match="cannot read"):
        Settings.read(tmp_path / "none.yaml")


def test_trusted_proxies_are_networks() -> None:
    found = Settings.read(guards={"medical": {"domain": "medical"}}, no_auth=True, trusted_proxies=["10.0.0.1"])
    assert [str(one) for one in found.trusted_proxies] == ["10.0.0.1/32"]
    for wrong in ("*", "proxy.example"):
        with pytest.raises(DiscreetError, match="trusted_proxies"):
            Settings.read(guards={"medical": {"domain": "medical"}}, no_auth=True, trusted_proxies=[wrong])


def test_what_is_loopback() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "10.0.0.1", "localhost.example", "")))


def test_keys_are_hashed_at_rest_and_for_their_owner_alone(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    made, token = add_key(file, "caller", ["law", "tax"], "app")
    _, other = add_key(file, "operator")
    assert token not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0
    ring = Keyring(file, "medical")
    assert ring.caller(token) == Caller("app", "caller", ("law", "tax"), mark=made.mark, token=made.sha256[:16])
    second = list_keys(file)[1]
    assert ring.caller(other) == Caller(second.id, "operator", ("medical",), mark=second.mark, token=second.sha256[:16])
    assert [ring.caller(wrong) for wrong in (made.sha256, "", token + " ", "\ud800")] == [None] * 4
    remove_key(file, "app")
    assert ring.caller(token) is None
    for wrong in ((file, "caller", (), "op/../x"), (file, "caller", (), list_keys(file)[0].id),
                  (file, "operator", (), "local")):
        with pytest.raises(DiscreetError):
            add_key(*wrong)
    with pytest.raises(DiscreetError, match="has no key 'app'"):
        remove_key(file, "app")
    file.write_text('{"keys": [{"id": "x", "role": "root", "guards": [], "sha256": "", "created": 0}]}')
    with pytest.raises(InputError, match="is not a file of keys"):
        ring.keys()


def test_rates_of_presets_are_those_of_the_results() -> None:
    page = (ROOT / "docs" / "results" / "reader.md").read_text(encoding="utf-8").split("## Operating points")[1]
    found = presets.presets()
    for point, at in found["points"].items():
        row = re.search(rf"^\| {point} \|(.*)\|$", page, re.M)
        assert row is not None
        assert [[float(one) for one in re.findall(r"[\d.]+", cell)] for cell in row[1].split("|")] == list(at.values())
    assert set(found["points"]) == {"conservative", "balanced", "strict"}
    assert f"ordinary answers (n {found['ordinary']})" in page
    assert presets.undecided_of(Guard("medical", point="balanced")) == (1, found["ordinary"])
    assert presets.undecided_of(Guard("medical").at(evidence_tau=9.0)) is None


@pytest.mark.enable_socket
def test_small_answers_are_sent_at_once() -> None:
    """asyncio sets TCP_NODELAY only where a connection says that it is TCP, as its listening socket does."""
    with run.listen(Settings.read(None, **ONE, port=0)) as bound, socket.create_connection(bound.getsockname()):
        connection, _ = bound.accept()
        with connection:
            assert connection.proto == socket.IPPROTO_TCP


def test_what_is_said_at_start() -> None:
    settings = Settings.read(None, **ONE, mode="observe", workers=3, processes=2)
    guards = {"medical": Guard("medical", point="balanced"), "own": Guard("medical").at(evidence_tau=9.0),
              "paper": Guard(Policy.of("medical"), point="strict")}
    lines = list(run.described(settings, {"medical": guards["medical"]}, 8300))
    assert lines[0].startswith("http://127.0.0.1:8300, 2 processes with 3 workers each; no keys")
    assert f"balanced, observe; {presets.rates(guards['medical'])}" in lines[2]
    assert "of ordinary answers" in presets.rates(guards["medical"])
    redacting = Guard(replace(Policy.of("medical"), on_flag="redact"))
    for mode, does in (("enforce", "enforce and redact"), ("observe", "observe")):
        *_, last = run.described(Settings.read(None, **ONE, mode=mode), {"medical": redacting}, 8300)
        assert f", {does}; " in last
    assert "not measured" in presets.rates(guards["own"])
    assert presets.rates(guards["paper"]) != presets.rates(guards["medical"])
    assert json.dumps(presets.presets())


def test_a_key_folder_that_is_not_the_databases_is_said_at_start(tmp_path: Path) -> None:
    def told(folder: str) -> list[str]:
        return run.check(Settings.read(None, **ONE, queue={
            "url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / folder}))

    assert told("keys") == []
    queue = Queue(f"sqlite:///{tmp_path}/queue.db", tmp_path / "keys")
    put(queue)
    queue.close()
    assert told("keys") == []
    [line] = told("kyes")
    assert "is not the one that the database was begun with" in line
    assert str(tmp_path / "kyes") in line


def test_thresholds_that_reviews_proposed_are_the_guards() -> None:
    unsure = "She is a nurse from Tulsa, where she has worked for a decade."
    plain, settings = Guard("medical"), Settings.read(None, **{
        **ONE, "guards": {"medical": {"domain": "medical", "evidence_tau": 9.5, "unsure_above": -40.0}}})
    guard = settings.guards["medical"].load()
    assert (guard.evidence_tau, guard.tau, guard.unsure_above("strict")) == (9.5, None, -40.0)
    assert (plain.evidence_tau, plain.unsure) == (plain.model.threshold("conservative"), None)
    advice = "Metformin lowers blood glucose and is taken with meals, once or twice a day."
    assert guard.check(advice).action == "abstain"
    assert guard.check(unsure).action == "abstain"
    assert "thresholds of its own" in presets.rates(guard)
    only = Settings.read(None, **{**ONE, "guards": {"medical": {"domain": "medical", "unsure_above": 3.0}}})
    assert only.guards["medical"].load().evidence_tau == plain.evidence_tau
    assert "thresholds of its own" in presets.rates(only.guards["medical"].load())
