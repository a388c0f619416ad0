"""Folders that are there whole or not at all, and the manifest that says what lies in one."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.core.errors import InputError, UsageError
from discreet.core.files import dump_json, why, write_atomic


def check_target(target: Path, marker: str) -> None:
    """Raise UsageError where `target` is a file, or a folder that holds something without a file called `marker`."""
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target} is a file; expected the name of a folder to write")
    if target.is_dir() and any(target.iterdir()) and not (target / marker).exists():
        raise UsageError(f"{target} is not empty and holds no {marker}: name a new folder, or empty this one")


@contextmanager
def atomic_folder(target: Path, marker: str) -> Iterator[Path]:
    """A folder that appears under `target` only when the block ends well.

    Files are written to the folder that is yielded, beside `target`; it is synced and renamed at the end. What was
    under `target` before is replaced, if it is empty or holds a file called `marker`. UsageError where it is something
    else, or cannot be written.
    """
    check_target(target, marker)
    target = Path(os.path.realpath(target))
    token = secrets.token_hex(6)
    part, old = (target.with_name(f".{target.name[:40]}.{token}.{end}") for end in ("part", "old"))
    try:
        part.mkdir(parents=True)
    except OSError as error:
        raise UsageError(f"cannot make the folder {target}: {why(error)}; name another") from None
    try:
        yield part
        for path in [*part.rglob("*"), part]:
            sync(path)
        if target.exists():
            target.rename(old)
        part.rename(target)
    finally:
        if old.exists() and not target.exists():
            old.rename(target)
        shutil.rmtree(part, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def make_once(path: Path, content: bytes) -> None:
    """Make a file for its owner alone where there is none, by one of several processes: a link appears whole or not."""
    if path.exists():
        return
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as handle:
            handle.write(content)
            handle.flush()
            os.fsync(handle.fileno())
        with suppress(FileExistsError):
            os.link(part, path)
        sync(path.parent)
    finally:
        part.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Have the system write a file or folder to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256(path: Path) -> str:
    """The SHA-256 of a file's bytes, in 64 hexadecimal digits."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a saved `folder` says of itself: its `facts`, and of its `files` (by name) `bytes` and `sha256`."""

    folder: Path
    facts: dict[str, Any]
    files: dict[str, dict[str, Any]] = field(repr=False)

    def verify(self) -> Manifest:
        """Compare every file with its recorded size and hash; the manifest itself comes back.

        InputError for the first file that is missing, truncated or another one.
        """
        for name, mark in self.files.items():
            path = self.folder / name
            if not path.is_file():
                raise InputError(f"{path} is missing: copy the whole folder again")
            size = path.stat().st_size
            if size < mark["bytes"]:
                raise InputError(f"{path} is truncated: {size} of {mark['bytes']} bytes; copy it again")
            if size != mark["bytes"] or sha256(path) != mark["sha256"]:
                raise InputError(f"{path} has another hash than the one recorded when it was saved "
                                 f"({mark['sha256'][:12]}…): it was changed or belongs to another folder; copy the "
                                 "whole folder again")
        return self

    def fact(self, name: str, kind: type) -> Any:
        """One fact, which must be there and of its kind. Raises InputError."""
        value = self.facts.get(name)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise InputError(f"{self.folder}: the manifest must give {name!r} as a {kind.__name__}: save it again")
        return value


def write_manifest(folder: Path, name: str, form: str, version: int, facts: Mapping[str, Any]) -> None:
    """Write `name` into a folder that is complete: format, version, `facts`, and size and hash of its files.

    Folders inside are left to their own manifests.
    """
    files = {path.name: {"bytes": path.stat().st_size, "sha256": sha256(path)}
             for path in sorted(folder.iterdir()) if path.is_file()}
    write_atomic(folder / name,
                 dump_json({"format": form, "version": version, **facts, "files": files}, indent=2) + "\n")


def read_manifest(folder: Path, name: str, form: str, version: int) -> Manifest:
    """Read what `write_manifest` wrote, without opening the files; see `Manifest.verify`.

    InputError where there is no such folder or manifest, or it is truncated, of another format or version.
    """
    path = folder / name
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder; expected one that holds {name}")
    if not path.is_file():
        raise InputError(f"{folder} holds no {name}; expected a folder that discreet saved as {form}")
    try:
        data = json.loads(path.read_bytes())
    except ValueError:
        raise InputError(f"{path} is truncated or no JSON: copy the whole folder again") from None
    if not isinstance(data, dict) or data.pop("format", None) != form:
        raise InputError(f"{path} is no manifest of the format {form}: name a folder that discreet saved")
    if (found := data.pop("version", None)) != version:
        raise InputError(f"{path} has version {found!r}; this discreet reads version {version}: make it again")
    files = data.pop("files", None)
    if not isinstance(files, dict) or not all(
            Path(one).name == one and isinstance(mark, dict) and isinstance(mark.get("bytes"), int)
            and isinstance(mark.get("sha256"), str) for one, mark in files.items()):
        raise InputError(f"{path} lists no files with size and hash: copy the whole folder again")
    return Manifest(folder, data, files)
