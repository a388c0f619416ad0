from __future__ import annotations

import json
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli, cli  # noqa: F401
from tests.serve.conftest import LITIGATOR, SAFE, UNDECIDED, Start

from discreet.core.errors import InputError, UsageError
from discreet.core.records import Prompts
from discreet.serve.app import _say_ends
from discreet.serve.keys import LOCAL, Keyring, add_key, list_keys, remove_key, rotate_key

KNOWN = "langchain/rlm-rag-prompt"


def test_what_a_key_says_of_its_requests(tmp_path: Path, cli: Cli) -> None:  # noqa: F811
    file, own = str(tmp_path / "keys.json"), tmp_path / "own.txt"
    own.write_text("Notes:\n{context}\n\nQuestion: {question}\n")
    words = ("--user-messages", "prompt", "--template", KNOWN, "--template", str(own), "--declares")
    token = cli("serve", "key", "add", file, "--name", "app", *words).out.strip()
    for more in (("--name", "plain"), ("--name", "anna", "--role", "reviewer", "--guard", "*")):
        assert cli("serve", "key", "add", file, *more).code == 0
    caller = Keyring(Path(file), None).caller(token)
    assert caller is not None
    assert (caller.prompts, caller.declares) == (Prompts("prompt", (KNOWN, own.read_text())), True)
    assert cli("serve", "key", "list", file).out.splitlines() == [
        f"app caller default guard; user messages prompt; templates {KNOWN}, a text of 39 characters; may declare",
        "plain caller default guard; user messages auto; declares nothing", "anna reviewer every guard"]
    assert LOCAL.declares


def test_a_template_of_the_system_prompt_goes_with_the_words_of_users(tmp_path: Path) -> None:
    prompts = Prompts("words", ("langchain/retrieval-qa-chat", "Use this: {context}"), public_sources=True)
    _, token = add_key(tmp_path / "keys.json", "caller", prompts=prompts)
    caller = Keyring(tmp_path / "keys.json", None).caller(token)
    assert caller is not None
    assert caller.prompts == prompts


@pytest.mark.parametrize(("words", "said"), [
    (("--user-messages", "all"), "--user-messages is 'all'; expected one of auto, words, prompt"),
    (("--template", "no/such"), "cannot read the template 'no/such'"), (("--template", "own.txt"), "a slot 'name'"),
    (("--template", "bytes.txt"), "it is not UTF-8"), (("--template", "bare.txt"), "the template is 'Answer.'"),
    (("--template", KNOWN, "--user-messages", "words"), "the user's own words"),
    (("--declares", "--role", "reviewer"), "a reviewer, who sends no requests")])
def test_a_mistake_is_one_line_and_no_key(words: tuple[str, ...], said: str, tmp_path: Path, cli: Cli,  # noqa: F811
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.txt").write_text("Hello {name}")
    (tmp_path / "bytes.txt").write_bytes(b"\xff{question}")
    (tmp_path / "bare.txt").write_text("Answer.")
    ended = cli("serve", "key", "add", "keys.json", *words)
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert said in ended.err
    assert not (tmp_path / "keys.json").exists()


@pytest.mark.parametrize("change", [
    {"user_messages": "mine"}, {"user_messages": 1}, {"templates": "{question}"}, {"templates": [1]},
    {"templates": ["{mine}"]}, {"declares": "yes"}, {"declares": 1}, {"may": True}, {"guards": "*"},
    {"guards": [1]}, {"guards": None}, {"mark": ""}, {"mark": 1}, {"expires": "never"}, {"expires": True},
    {"old_sha256": "x"}, {"old_until": None},
    {"user_messages": "words", "templates": [KNOWN]}])
def test_a_file_that_was_edited_wrongly_lets_nobody_in(tmp_path: Path, change: dict[str, Any]) -> None:
    file = tmp_path / "keys.json"
    _, token = add_key(file, "caller", name="app")
    kept = json.loads(file.read_text())
    kept["keys"][0] |= change
    file.write_text(json.dumps(kept))
    with pytest.raises(InputError):
        Keyring(file, None).caller(token)


def test_keys_without_settings_declare_nothing(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    add_key(file, "caller")
    kept = json.loads(file.read_text())
    for name in ("user_messages", "templates", "declares", "guards"):
        del kept["keys"][0][name]
    file.write_text(json.dumps(kept))
    (key,) = list_keys(file)
    caller = key.caller("medical")
    assert (caller.prompts, caller.declares, caller.guards) == (Prompts(), False, ("medical",))
    with pytest.raises(UsageError, match="expected one of auto"):
        add_key(file, "caller", prompts=Prompts("mine"))  # type: ignore[arg-type]


class Clock:
    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


def test_a_key_ends_at_its_time(tmp_path: Path) -> None:
    file, clock = tmp_path / "keys.json", Clock()
    made, token = add_key(file, "caller", name="app", days=2)
    _, lasting = add_key(file, "caller", name="lasting")
    ring = Keyring(file, None, clock)
    assert ring.expiring(86_400) == []
    assert ring.expiring(7 * 86_400) == [("app", made.expires)]
    assert (ring.caller(token), ring.caller(lasting)) != (None, None)
    clock.now += 2 * 86_400 + 1
    assert ring.caller(token) is None
    assert ring.caller(lasting) is not None
    assert (ring.holds("app", made.mark), ring.signed_in("app", made.sha256[:16])) == (False, None)
    with pytest.raises(UsageError, match="up to 3,650"):
        add_key(file, "caller", name="long", days=4000)


def test_a_new_token_is_the_same_key_and_the_former_one_works_for_a_while(tmp_path: Path) -> None:
    file, clock = tmp_path / "keys.json", Clock()
    made, old = add_key(file, "caller", ("law",), "app", declares=True)
    kept, new = rotate_key(file, "app", keep_hours=2)
    ring = Keyring(file, None, clock)
    first, second = ring.caller(old), ring.caller(new)
    assert first is not None
    assert second is not None
    assert (first.mark, first.owner, first.guards, first.declares) == (second.mark, second.owner, ("law",), True)
    assert (kept.mark, made.mark) == (first.mark, first.mark)
    assert first.token != second.token
    clock.now += 2 * 3600 + 1
    assert (ring.caller(old), ring.caller(new)) == (None, second)
    assert (ring.signed_in("app", first.token), ring.signed_in("app", second.token)) == (None, second)
    assert ring.holds("app", made.mark)
    assert old not in file.read_text()
    _, last = rotate_key(file, "app", keep_hours=0)
    assert [ring.caller(one) is not None for one in (old, new, last)] == [False, False, True]


def test_a_key_that_has_ended_needs_new_days(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    _, old = add_key(file, "caller", name="app", days=1)
    kept = json.loads(file.read_text())
    kept["keys"][0]["expires"] = 1
    file.write_text(json.dumps(kept))
    with pytest.raises(UsageError, match="has ended"):
        rotate_key(file, "app")
    _, new = rotate_key(file, "app", days=1)
    assert Keyring(file, None).caller(new) is not None
    assert Keyring(file, None).caller(old) is None  # It was none any more: nothing brings it back.
    with pytest.raises(UsageError, match="expected one of app"):
        rotate_key(file, "other")
    with pytest.raises(UsageError, match="-1 hours"):
        rotate_key(file, "app", keep_hours=-1)


def test_the_commands(tmp_path: Path, cli: Cli) -> None:  # noqa: F811
    file = str(tmp_path / "keys.json")
    assert cli("serve", "key", "add", file, "--name", "app", "--days", 30).code == 0
    ended = cli("serve", "key", "rotate", file, "app", "--keep-hours", 1, "--days", 60)
    assert (ended.code, ended.out[:4]) == (0, "dsk_")
    [line] = cli("serve", "key", "list", file).out.splitlines()
    assert "; ends 20" in line
    assert "the former token works until 20" in line
    assert cli("serve", "key", "add", file, "--name", "b", "--days", 0).code == 2


def test_sessions_end_with_the_token_and_tickets_stay_with_the_key(start: Start, tmp_path: Path) -> None:
    service = start(queue={"url": f"sqlite:///{tmp_path}/queue.db", "key_folder": tmp_path / "keys"})
    file, client = service.app.state.settings.keys, service.client
    ticket = service.ask("/v1/check", {"text": UNDECIDED, "review": True}).json()["ticket"]
    for name in ("caller", "reviewer"):
        client.post("/console/sign-in", data={"key": service.tokens["reviewer"]})
        assert client.get("/console/queue", follow_redirects=False).status_code == 200
        service.tokens[name] = rotate_key(file, name, keep_hours=0)[1]
    assert client.get("/console/queue", follow_redirects=False).status_code == 303
    assert service.ask(f"/v1/tickets/{ticket}").json()["status"] == "pending"


def test_figures_of_a_key(start: Start) -> None:
    service = start(limits={"per_minute": 3}, real=True)
    made, token = add_key(service.app.state.settings.keys, "caller", name="short", days=1)
    for text in (SAFE, LITIGATOR, SAFE, SAFE):
        service.ask("/v1/check", {"text": text})
    page = service.ask("/metrics", role="operator").text
    for line in ('discreet_key_requests_total{key="caller",status="200"} 3.0',
                 'discreet_key_requests_total{key="caller",status="429"} 1.0',
                 'discreet_key_decisions_total{action="block",guard="medical",key="caller"} 1.0',
                 'discreet_key_decisions_total{action="pass",guard="medical",key="caller"} 2.0'):
        assert line in page
    [seconds] = [line for line in page.splitlines() if 'judge_seconds_total{key="caller"}' in line]
    assert float(seconds.split()[1]) > 0
    assert not any(one in page for one in (token, made.sha256[:16], made.mark, service.tokens["caller"]))


def test_the_log_says_which_keys_end(start: Start) -> None:
    service = start()
    keyring = service.app.state.keyring
    add_key(service.app.state.settings.keys, "caller", name="short", days=1)
    _say_ends(service.gate.telemetry, keyring)
    assert [one["caller"] for one in service.events("key_ends")] == ["short"]


@pytest.mark.parametrize(("change", "said"), [
    ({"gaurds": []}, "the key 'app' has 'gaurds', which is no field of it; did you mean 'guards'?"),
    ({"zzz": 1}, "the key 'app' has 'zzz', which is no field of it; expected some of created, declares"),
    (None, "the file has 'kyes', which is no field of it; did you mean 'keys'?"),
    (2, "its version is not 1, the only one that this discreet reads")])
def test_an_unknown_field_of_the_file_is_named_with_the_nearest(tmp_path: Path, change: Any, said: str) -> None:
    file = tmp_path / "keys.json"
    add_key(file, "caller", name="app")
    held = json.loads(file.read_text())
    if isinstance(change, dict):
        held["keys"][0] |= change
    else:
        held |= {"kyes": []} if change is None else {"version": change}
    file.write_text(json.dumps(held))
    with pytest.raises(InputError, match=re.escape(f"keys.json: {said}")):
        list_keys(file)


ADDS = """
import sys
from pathlib import Path
from discreet.serve.keys import add_key, remove_key, rotate_key

file, mine = Path(sys.argv[1]), sys.argv[2]
for number in range(5):
    add_key(file, "caller", name=f"{mine}-{number}")
rotate_key(file, f"{mine}-1")
remove_key(file, f"{mine}-0")
"""


def test_several_processes_that_change_the_file_at_once_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [subprocess.Popen([sys.executable, "-c", ADDS, str(file), str(number)], env=paths) for number in range(4)]
    assert [one.wait() for one in running] == [0] * 4
    kept = list_keys(file)
    assert {one.id for one in kept} == {f"{number}-{n}" for number in range(4) for n in range(1, 5)}
    assert {one.id for one in kept if one.old_sha256} == {f"{number}-1" for number in range(4)}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_mistake_in_the_name_of_the_file_leaves_nothing(tmp_path: Path) -> None:
    for change in (remove_key, rotate_key):
        with pytest.raises(InputError, match="cannot read"):
            change(tmp_path / "kyes.json", "app")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("guard", ["medical,law", "", "medical law"])
def test_a_guard_of_a_key_is_a_name(tmp_path: Path, guard: str) -> None:
    with pytest.raises(UsageError, match="give --guard several times"):
        add_key(tmp_path / "keys.json", "caller", [guard])


@pytest.mark.parametrize("held", ["[]", '{"keys": [1]}', '{"keys": {}, "version": 1', '{"version": 1}', "[" * 9_999])
def test_what_is_no_file_of_keys_is_refused(tmp_path: Path, held: str) -> None:
    (tmp_path / "keys.json").write_text(held)
    with pytest.raises(InputError, match="is not a file of keys"):
        list_keys(tmp_path / "keys.json")
