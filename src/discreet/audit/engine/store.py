"""Results by key, in a folder: there whole or not at all, and checked whenever they are read.

    STORE/store.json             what this folder is
    STORE/results/ab/abcd…/      one result: manifest.json, value.json, arrays.safetensors, files/
    STORE/drafts/                results being written; a dead writer's are swept when the store is opened
    STORE/aside/                 what was found under a key and was not its whole result
    STORE/log.jsonl              begin, publish, late, fail, lost, aside: one line each, from every process

Nothing under `results` has a time or a place in it: two runs of the same tasks leave the same bytes there.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save

from discreet.audit.engine.task import SCHEMA, canonical, sha256
from discreet.core import folders
from discreet.core.errors import InputError, UsageError
from discreet.core.files import add_line, dump_json, why, write_atomic

KIND = {"kind": "discreet store", "schema": SCHEMA}
MANIFEST = "manifest.json"
VALUE = "value.json"
ARRAYS = "arrays.safetensors"


@dataclass(frozen=True, slots=True)
class Result:
    """A published result, as checked when it was opened. `task` is the description of what made it."""

    key: str
    folder: Path
    task: Mapping[str, Any]

    @property
    def value(self) -> dict[str, Any]:
        """The JSON part of what the function returned."""
        found: dict[str, Any] = json.loads((self.folder / VALUE).read_text(encoding="utf-8"))
        return found

    @property
    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """The arrays that the function returned, by name."""
        path = self.folder / ARRAYS
        return load_file(path) if path.exists() else {}

    @property
    def files(self) -> Path:
        """The folder of the files that the function wrote, as it laid them out; not to be written to."""
        return self.folder / "files"


class Store:
    """A folder of results by key, safe to use from many processes and, on a shared disk, many machines.

    Raises UsageError where `folder` holds something else, cannot be made, or (with `make=False`) is not there.
    """

    def __init__(self, folder: Path | str, *, make: bool = True) -> None:
        self.folder = Path(folder).absolute()
        mark = self.folder / "store.json"
        if not mark.exists():
            if not make:
                raise UsageError(f"{self.folder} is no store here: every worker must see the same folder")
            if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
                raise UsageError(f"{self.folder} is not empty and holds no results: name a new folder, or empty it")
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
                write_atomic(mark, dump_json(KIND) + "\n")
            except OSError as error:
                raise UsageError(f"cannot make the folder {self.folder}: {why(error)}; name another") from None
        elif _read_json(mark) != KIND:
            raise UsageError(f"{self.folder} is not a store that this version reads: name a new folder")
        for name in ("results", "drafts", "aside"):
            (self.folder / name).mkdir(exist_ok=True)
        if make:
            self._sweep()

    def get(self, key: str) -> Result | None:
        """The result of a key, every byte of it checked; None where there is none.

        What lies there and is truncated, altered or another task's is moved to `aside/` and is none. Raises
        InputError where it cannot be read for another reason.
        """
        folder = self._home(key)
        try:
            if not os.path.lexists(folder):
                return None
            task, damage = _checked(folder, key)
            if damage is None:
                return Result(key, folder, task)
        except OSError as error:
            raise InputError(f"cannot read {folder}: {why(error)}; check its permissions and its disk") from None
        try:
            folder.rename(self.folder / "aside" / f"{key}.{secrets.token_hex(4)}")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{folder} is damaged ({damage}) and cannot be moved: {why(error)}; remove it") from None
        self.note("aside", key=key, reason=damage)
        return None

    @contextmanager
    def draft(self, key: str) -> Iterator[Path]:
        """An empty folder to prepare a result in; what is left of it at the end goes away."""
        while True:
            folder = self.folder / "drafts" / f"{key[:16]}.{secrets.token_hex(8)}"
            folder.mkdir()
            # A sweep between any two of these lines takes the folder away; then there is another.
            with suppress(FileNotFoundError):
                lock = os.open(folder, os.O_RDONLY)
                if _lock(lock) and folder.exists():
                    break
                os.close(lock)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)

    def publish(self, spec: str, draft: Path, made: Mapping[str, Any] | None = None) -> Result:
        """Make a draft the result of the task that `spec` describes, in one step.

        `made` maps names to JSON values and NumPy arrays. Where another writer was first, its result stands. Raises
        ValueError for values that cannot be stored; OSError, disk full among them, leaves nothing published.
        """
        key = sha256(spec)
        files, task, manifest = _written(draft, made), json.loads(spec), draft / MANIFEST
        manifest.write_text(canonical({"key": key, "task": task, "files": files}) + "\n", encoding="utf-8")
        for path in [manifest, *(p for p in draft.rglob("*") if p.is_dir()), draft]:
            folders.sync(path)
        home = self._home(key)
        home.parent.mkdir(exist_ok=True)
        while True:
            try:
                draft.rename(home)
            except OSError as error:
                if error.errno not in {errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR}:
                    raise
                if (there := self.get(key)) is not None:
                    self.note("late", key=key, task=task["name"])
                    return there
            else:
                self.note("publish", key=key, task=task["name"])
                folders.sync(home.parent)
                return Result(key, home, task)

    def note(self, event: str, **facts: Any) -> None:
        """Add a line to the log; a log that cannot be written stops nothing."""
        note_at(self.folder, event, **facts)

    def history(self) -> list[dict[str, Any]]:
        """The lines of the log in order; a line that a kill cut short is left out."""
        log, found = self.folder / "log.jsonl", []
        for line in log.read_bytes().splitlines() if log.exists() else ():
            with suppress(ValueError):
                found.append(json.loads(line))
        return found

    def _home(self, key: str) -> Path:
        return self.folder / "results" / key[:2] / key

    def _sweep(self) -> None:
        """Remove the drafts of writers that are dead: nobody holds the lock."""
        for folder in (self.folder / "drafts").iterdir():
            try:
                lock = os.open(folder, os.O_RDONLY)
            except OSError:
                continue
            if _lock(lock):
                shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def note_at(folder: Path | str, event: str, **facts: Any) -> None:
    """Add a line to the log of a folder that may be no store."""
    with suppress(OSError):
        add_line(Path(folder) / "log.jsonl", event, **facts, pid=os.getpid(), host=socket.gethostname())


def _checked(folder: Path, key: str) -> tuple[Mapping[str, Any], str | None]:
    """The description of the task whose result `folder` holds, and how it differs from the whole result of `key`."""
    manifest = _read_json(folder / MANIFEST)
    if not isinstance(manifest, dict) or not {"task", "files"} <= manifest.keys():
        return {}, "no manifest"
    task: dict[str, Any] = manifest["task"]
    if manifest.get("key") != key or sha256(canonical(task)) != key:
        return {}, "the result of another task"
    there = {p.relative_to(folder).as_posix(): p for p in folder.rglob("*") if p.is_symlink() or not p.is_dir()}
    if there.keys() - {MANIFEST} != manifest["files"].keys():
        return {}, "files are missing or were added"
    for name, kept in manifest["files"].items():
        path = there[name]
        with suppress(FileNotFoundError):
            if not path.is_symlink() and path.stat().st_size == kept["size"] and folders.sha256(path) == kept["sha256"]:
                continue
        return {}, f"{name} is not as it was written"
    return task, None


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (ValueError, FileNotFoundError, NotADirectoryError):
        return None


def _written(draft: Path, made: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """Write what the function returned to the folder of the files that it wrote; sizes and hashes of all of them."""
    made = {} if made is None else dict(made)
    # A copy in C order: safetensors writes the buffer of a transposed view as it lies in memory.
    arrays = {name: np.array(v, order="C") for name, v in made.items() if isinstance(v, np.ndarray)}
    if odd := sorted(name for name, a in arrays.items() if a.dtype.kind not in "biuf"):
        raise ValueError(f"the arrays {', '.join(odd)} hold no numbers: return strings as a list")
    (draft / VALUE).write_text(dump_json({k: v for k, v in made.items() if k not in arrays}) + "\n", encoding="utf-8")
    if arrays:
        (draft / ARRAYS).write_bytes(save(arrays))
    files = {}
    for path in sorted(draft.rglob("*")):
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            raise ValueError(f"the file {path.name} is a link or a device: write a plain file")
        if path.is_file():
            folders.sync(path)
            path.chmod(0o444)
            files[path.relative_to(draft).as_posix()] = {"size": path.stat().st_size, "sha256": folders.sha256(path)}
    return files


def _lock(handle: int) -> bool:
    """Take the lock of an open folder; it lasts until the handle is closed or its process is dead."""
    with suppress(OSError):
        flock(handle, LOCK_EX | LOCK_NB)
        return True
    return False
