from __future__ import annotations

import json
from pathlib import Path

import pytest

from discreet.core.errors import InputError, UsageError
from discreet.core.files import HASH_KEY_VARIABLE
from discreet.inputs.endpoints.chat import KEY_FILE, AnswerCache

REQUEST = {"url": "http://h/v1", "body": {"model": "m", "messages": [{"role": "user", "content": "secret bread"}]}}


@pytest.fixture(autouse=True)
def no_deployment_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(HASH_KEY_VARIABLE, raising=False)


def test_an_answer_is_found_again(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "a" / "kept")
    assert cache.get(REQUEST) is None
    cache.put(REQUEST, "naïve 😀")
    again = AnswerCache(tmp_path / "a" / "kept")
    assert again.get({name: REQUEST[name] for name in ("body", "url")}) == "naïve 😀"
    assert again.get({**REQUEST, "url": "http://h/v2"}) is None


def test_what_lies_there(tmp_path: Path) -> None:
    AnswerCache(tmp_path / "kept").put(REQUEST, "yes")
    [file] = (tmp_path / "kept").glob("*.json")
    assert [one.stat().st_mode & 0o777 for one in (tmp_path / "kept", tmp_path / "kept" / KEY_FILE, file)] == [
        0o700, 0o600, 0o600]
    assert json.loads(file.read_text()) == {"answer": "yes"}
    assert "bread" not in "".join(f"{one.name} {one.read_text()}" for one in (tmp_path / "kept").iterdir())


def test_keys_differ_between_folders_unless_the_deployment_has_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch
                                                                   ) -> None:
    def name(folder: str) -> str:
        AnswerCache(tmp_path / folder).put(REQUEST, "yes")
        [file] = (tmp_path / folder).glob("*.json")
        return file.name

    assert name("a") != name("b")
    monkeypatch.setenv(HASH_KEY_VARIABLE, "ab" * 32)
    assert name("c") == name("d")
    assert not (tmp_path / "c" / KEY_FILE).exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"answer": 3}', b"\xff"])
def test_what_is_not_whole_is_not_there(tmp_path: Path, content: bytes) -> None:
    cache = AnswerCache(tmp_path)
    cache.put(REQUEST, "yes")
    [file] = tmp_path.glob("*.json")
    file.write_bytes(content)
    assert cache.get(REQUEST) is None


def test_folders_and_keys_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"cannot keep answers in .*; name a folder"):
        AnswerCache(tmp_path / "file" / "below")
    (tmp_path / KEY_FILE).write_text("short")
    with pytest.raises(InputError, match="not a key of hashes"):
        AnswerCache(tmp_path)
