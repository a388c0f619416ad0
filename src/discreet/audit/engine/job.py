"""What happens in a worker: one order becomes one published result, or one line that says why not."""

from __future__ import annotations

import errno
import json
import shutil
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.audit.engine.store import Result, Store, note_at
from discreet.audit.engine.task import DataFile, Task, function_at, seeds_of, sha256, versions_of
from discreet.core.errors import DiscreetError, InputError, UsageError

FRAMES = 12
"""Innermost calls that the log keeps of a failure."""
LITTLE = 1 << 20
"""Bytes left on a disk that counts as full."""
KINDS: Mapping[str, type[DiscreetError]] = {"InputError": InputError, "UsageError": UsageError,
                                            "DiscreetError": DiscreetError}
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})

Order = Mapping[str, Any]
"""What a worker is told, in JSON: where the store is, the task's description, where its files lie."""
Reply = dict[str, Any]
"""What it answers: `{"ok": true}`, or the kind of error and its message."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a task's function is given.

    `inputs` are the results it reads, `files` the paths of the files it reads (checked to hold what they held when the
    task was described) and `folder` an empty folder: what is written there is part of the result.
    """

    name: str
    seed: int
    params: Mapping[str, Any]
    inputs: Mapping[str, Result]
    files: Mapping[str, Path]
    folder: Path

    def seeds(self, label: str = "") -> np.random.SeedSequence:
        """Seeds for one purpose, for libraries that seed themselves: `int(job.seeds("torch").generate_state(1)[0])`."""
        return seeds_of(self.seed, self.name, label)

    def rng(self, label: str = "") -> np.random.Generator:
        """A fresh generator for one purpose: the same numbers wherever and whenever the task runs."""
        return np.random.default_rng(self.seeds(label))


def order_for(task: Task, store: Store) -> Order:
    """What a worker must be told to do a task."""
    return {"store": str(store.folder), "spec": task.spec, "paths": dict(task.paths)}


def execute(order: Order) -> Reply:
    """Do the task unless its result is there, and publish it. Never raises but for an interrupt.

    The reply holds no data: of discreet's own errors the message, of all others only their kind and place.
    """
    spec = json.loads(order["spec"])
    key, name = sha256(order["spec"]), spec["name"]
    try:
        store = Store(order["store"], make=False)
        if store.get(key) is None:
            store.note("begin", key=key, task=name)
            _carry_out(store, key, spec, order)
        return {"ok": True}
    except (Exception, SystemExit) as error:
        reply = _reply(error, name, order["store"])
        calls = [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in traceback.extract_tb(error.__traceback__)]
        note_at(order["store"], "fail", key=key, task=name, kind=type(error).__name__, calls=calls[-FRAMES:])
        return reply


def _carry_out(store: Store, key: str, spec: Mapping[str, Any], order: Order) -> None:
    function, package = function_at(spec["function"])
    here = versions_of(spec["versions"], package)
    if differ := sorted(n for n, version in spec["versions"].items() if here[n] != version):
        raise UsageError(f"{', '.join(differ)} differs here from where the run was planned: install the same on every "
                         "node, and run again after an edit")
    inputs = {}
    for label, wanted in spec["inputs"].items():
        if (found := store.get(wanted)) is None:
            raise InputError(f"the input {label} is not in the store {store.folder}, or was damaged: run again")
        inputs[label] = found
    files = {label: Path(order["paths"][label]) for label in spec["files"]}
    for label, path in files.items():
        if DataFile.of(path).sha256 != spec["files"][label]:
            raise InputError(f"{path} has changed since the run was planned: run again")
    with store.draft(key) as draft:
        folder = draft / "files"
        folder.mkdir()
        try:
            made = function(Job(spec["name"], spec["seed"], spec["params"], inputs, files, folder))
        except Exception as error:
            # Torch says "unexpected pos" when it runs out of space; asked later, the draft is gone and there is some.
            if not isinstance(error, DiscreetError) and shutil.disk_usage(folder).free < LITTLE:
                raise OSError(errno.ENOSPC, "No space left on device") from error
            raise
        store.publish(order["spec"], draft, made)


def _reply(error: BaseException, name: str, store: str) -> Reply:
    if _no_room(error):
        return {"ok": False, "kind": "UsageError", "message": f"the step {name} ran out of space on the disk of {store}"
                ": free some and run again; finished steps are kept"}
    if isinstance(error, DiscreetError):
        kind = next(label for label, one in KINDS.items() if isinstance(error, one))
        # Worded for whoever gave the data or options; the log says in which step it was.
        return {"ok": False, "kind": kind, "message": str(error)}
    last = traceback.extract_tb(error.__traceback__)[-1]
    return {"ok": False, "kind": "DiscreetError",
            "message": f"the step {name} failed with {type(error).__name__} at {Path(last.filename).name}:"
                       f"{last.lineno}; {Path(store) / 'log.jsonl'} has the calls"}


def _no_room(error: BaseException | None) -> bool:
    """Whether a full disk is behind it; libraries that write in C or Rust say so in words only."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            return True
        if "No space left on device" in str(error) or "(os error 28)" in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


def error_of(reply: Reply) -> DiscreetError:
    """The error behind a reply that is not ok."""
    return KINDS[reply["kind"]](reply["message"])


def lost(name: str, times: int) -> Reply:
    """The reply for a task whose worker died every time."""
    return {"ok": False, "kind": "DiscreetError", "message": f"the step {name} was given up: its process ended {times} "
            "times without a result, as when memory runs out; use fewer workers, or give it less data"}
