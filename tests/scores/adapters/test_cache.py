from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pytest

from discreet.core.errors import InputError, UsageError
from discreet.scores.adapters.cache import ScoreCache

TEXTS = ["secret bread", "secret river"]
ROWS = np.array([[1.0, 2.0], [3.0, 4.0]])
ONE, OTHER = "a" * 64, "b" * 64


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISCREET_HASH_KEY", raising=False)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_what_is_put_is_got_by_the_same_model_alone(tmp_path: Path) -> None:
    ScoreCache(tmp_path, ONE).put(TEXTS, ROWS)
    again = ScoreCache(tmp_path, ONE)
    assert len(again) == 2
    np.testing.assert_array_equal(again.get("secret river"), ROWS[1])
    assert again.get("secret Bread") is None
    assert ScoreCache(tmp_path, OTHER).get("secret bread") is None


def test_one_column(tmp_path: Path) -> None:
    ScoreCache(tmp_path, ONE).put(TEXTS, ROWS[:, 0])
    np.testing.assert_array_equal(ScoreCache(tmp_path, ONE).get("secret river"), 3.0)


def test_no_text_and_no_plain_hash_of_one_lies_there(tmp_path: Path) -> None:
    import hashlib

    for folder in ("one", "two"):
        ScoreCache(tmp_path / folder, ONE).put(TEXTS, ROWS)
    held = b"".join(path.read_bytes() + path.name.encode() for path in files(tmp_path / "one"))
    for text in TEXTS:
        assert text.encode() not in held
        assert hashlib.sha256(text.encode()).digest() not in held
        assert hashlib.sha256(text.encode()).hexdigest().encode() not in held
    names = [{path.name for path in files(tmp_path / folder)} - {"key"} for folder in ("one", "two")]
    assert not names[0] & names[1]


def test_the_key_is_for_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ScoreCache(tmp_path / "one", ONE)
    assert stat.S_IMODE((tmp_path / "one" / "key").stat().st_mode) == 0o600
    (tmp_path / "one" / "key").write_text("word")
    with pytest.raises(InputError, match="is not a key"):
        ScoreCache(tmp_path / "one", ONE)
    monkeypatch.setenv("DISCREET_HASH_KEY", "ab" * 32)
    ScoreCache(tmp_path / "two", ONE).put(TEXTS, ROWS)
    assert not (tmp_path / "two" / "key").exists()
    assert len(ScoreCache(tmp_path / "two", ONE)) == 2
    monkeypatch.setenv("DISCREET_HASH_KEY", "cd" * 32)
    assert ScoreCache(tmp_path / "two", ONE).get(TEXTS[0]) is None


def test_a_chunk_that_is_not_whole_is_none(tmp_path: Path) -> None:
    cache = ScoreCache(tmp_path, ONE)
    cache.put(TEXTS[:1], ROWS[:1])
    [broken] = [path for path in files(tmp_path) if path.suffix == ".npz"]
    cache.put(TEXTS[1:], ROWS[1:])
    whole = broken.read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"PK\x03\x04 no", whole[:-30]):
        broken.write_bytes(content)
        again = ScoreCache(tmp_path, ONE)
        assert again.get(TEXTS[0]) is None
        np.testing.assert_array_equal(again.get(TEXTS[1]), ROWS[1])
    with broken.open("wb") as handle:
        np.savez(handle, digests=np.zeros((2, 32), dtype=np.uint8), outputs=ROWS[:1])
    assert len(ScoreCache(tmp_path, ONE)) == 1


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot keep scores in"):
        ScoreCache(tmp_path / "file", ONE)
    assert os.listdir(tmp_path) == ["file"]
