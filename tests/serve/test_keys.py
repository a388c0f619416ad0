from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Cli, cli  # noqa: F401

from discreet.core.errors import InputError, UsageError
from discreet.core.records import Prompts
from discreet.serve.keys import LOCAL, Keyring, add_key, list_keys

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
    {"guards": [1]}, {"guards": None},
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
