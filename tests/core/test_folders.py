from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.core.errors import InputError, UsageError
from discreet.core.folders import atomic_folder, read_manifest, sha256, write_manifest

NAME, FORM = "thing.json", "a-thing"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "saved"
    with atomic_folder(folder, NAME) as part:
        (part / "data.bin").write_bytes(b"0123456789")
        write_manifest(part, NAME, FORM, 3, {"colour": "blue"})
    return folder


def test_a_folder_appears_whole(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "down"
    with atomic_folder(target, NAME) as part:
        (part / "a").write_text("x")
        assert not target.exists()
        assert part.parent == target.parent
    assert [p.name for p in target.parent.iterdir()] == ["down"]
    assert (target / "a").read_text() == "x"


def test_an_exception_leaves_what_was_there(saved: Path) -> None:
    def fail() -> None:
        with atomic_folder(saved, NAME) as part:
            (part / "a").write_text("x")
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fail()
    assert sorted(p.name for p in saved.iterdir()) == ["data.bin", NAME]
    assert list(saved.parent.iterdir()) == [saved]


def test_a_folder_of_ours_is_replaced(saved: Path) -> None:
    with atomic_folder(saved, NAME) as part:
        (part / "new").write_text("x")
    assert [p.name for p in saved.iterdir()] == ["new"]
    assert list(saved.parent.iterdir()) == [saved]


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with atomic_folder(tmp_path / "empty", NAME) as part:
        (part / "new").write_text("x")
    assert (tmp_path / "empty" / "new").exists()


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letters").write_text("dear")
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="is not empty"), atomic_folder(tmp_path / "home", NAME):
        pass
    with pytest.raises(UsageError, match="is a file"), atomic_folder(tmp_path / "file", NAME):
        pass
    with pytest.raises(UsageError, match="cannot make the folder"), atomic_folder(tmp_path / "file" / "in", NAME):
        pass
    assert (tmp_path / "home" / "letters").read_text() == "dear"


def test_sha256_is_that_of_hashlib(tmp_path: Path) -> None:
    content = bytes(range(256)) * 9000
    (tmp_path / "f").write_bytes(content)
    assert sha256(tmp_path / "f") == hashlib.sha256(content).hexdigest()


def test_a_manifest_comes_back(saved: Path) -> None:
    manifest = read_manifest(saved, NAME, FORM, 3).verify()
    assert manifest.facts == {"colour": "blue"}
    assert manifest.files == {"data.bin": {"bytes": 10, "sha256": hashlib.sha256(b"0123456789").hexdigest()}}
    assert manifest.fact("colour", str) == "blue"
    with pytest.raises(InputError, match="must give 'colour' as a int"):
        manifest.fact("colour", int)


def _edit(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "other bytes": (lambda f: (f / "data.bin").write_bytes(b"012345678X"), "data.bin has another hash"),
    "longer": (lambda f: (f / "data.bin").write_bytes(b"0123456789X"), "data.bin has another hash"),
    "truncated": (lambda f: (f / "data.bin").write_bytes(b"0123"), "data.bin is truncated: 4 of 10 bytes"),
    "missing": (lambda f: (f / "data.bin").unlink(), "data.bin is missing"),
    "no manifest": (lambda f: (f / NAME).unlink(), f"holds no {NAME}"),
    "torn manifest": (lambda f: (f / NAME).write_bytes((f / NAME).read_bytes()[:40]), "is truncated or no JSON"),
    "binary manifest": (lambda f: (f / NAME).write_bytes(b"\xff\xfe\x00"), "is truncated or no JSON"),
    "no object": (lambda f: (f / NAME).write_text("[1]"), "is no manifest of the format a-thing"),
    "other format": (lambda f: _edit(f / NAME, format="b"), "is no manifest of the format a-thing"),
    "other version": (lambda f: _edit(f / NAME, version=4), "has version 4; this discreet reads version 3"),
    "no files": (lambda f: _edit(f / NAME, files=None), "lists no files"),
    "outside": (lambda f: _edit(f / NAME, files={"../x": {"bytes": 1, "sha256": ""}}), "lists no files"),
    "odd mark": (lambda f: _edit(f / NAME, files={"data.bin": {"bytes": "1", "sha256": ""}}), "lists no files"),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_one_line(saved: Path, kind: str) -> None:
    damage, message = DAMAGE[kind]
    damage(saved)
    with pytest.raises(InputError) as caught:
        read_manifest(saved, NAME, FORM, 3).verify()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no folder"):
        read_manifest(tmp_path / "none", NAME, FORM, 3)
