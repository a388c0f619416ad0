"""Task functions that worker processes import."""

from __future__ import annotations

import errno
import os
import signal
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from discreet.audit.engine import Job, Task
from discreet.core.errors import InputError, MissingExtraError


def draw(job: Job) -> dict[str, Any]:
    time.sleep(job.params.get("sleep", 0))
    values = job.rng().normal(size=job.params["n"])
    (job.folder / "notes").mkdir()
    (job.folder / "notes" / "draw.txt").write_text(f"{values[0]:.17g}\n", encoding="utf-8")
    return {"values": values, "first": float(values[0]), "n": len(values)}


def total(job: Job) -> dict[str, Any]:
    time.sleep(job.params.get("sleep", 0))
    parts = {label: result.arrays["values"].sum() for label, result in job.inputs.items()}
    return {"total": float(sum(parts.values())), "parts": {k: float(v) for k, v in parts.items()},
            "values": np.array(list(parts.values()))}


def lines(job: Job) -> dict[str, Any]:
    return {"n": len(job.files["data"].read_text(encoding="utf-8").splitlines())}


def nothing(job: Job) -> None:
    print("this is not for the protocol")


def surroundings(job: Job) -> dict[str, Any]:
    return {"threads": os.environ["OMP_NUM_THREADS"], "order": list({"a", "b", "c", "d", "e", "f"})}


def die(job: Job) -> dict[str, Any]:
    """Killed as often as `times` says."""
    mark = Path(job.params["marks"])
    died = len(list(mark.iterdir()))
    if died < job.params["times"]:
        (mark / str(died)).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"died": died}


def fail(job: Job) -> None:
    kind = job.params.get("kind")
    if kind == "input":
        raise InputError("scores.csv has 3 columns; expected 4: add one")
    if kind == "extra":
        raise MissingExtraError("training", "train", "torch")
    if kind == "full":
        raise OSError(errno.ENOSPC, "No space left on device")
    if kind == "wrapped":
        raise RuntimeError("Error while serializing: IoError: No space left on device (os error 28)")
    if kind == "exit":
        raise SystemExit("My name is Ada Example")
    raise ValueError("My name is Ada Example")


def fill(job: Job) -> dict[str, Any]:
    """Writes more than the process may."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    if job.params["where"] == "file":
        (job.folder / "big.bin").write_bytes(bytes(200_000))
    return {"big": np.zeros(200_000)}


def link(job: Job) -> None:
    (job.folder / "link").symlink_to("/etc/hostname")


def diamond(sleep: float = 0.0, wide: int = 3, n: int = 5) -> list[Task]:
    """`wide` draws, a total of neighbouring ones each, and a total of those."""
    draws = [Task.of(draw, f"draw/{i}", params={"n": n + i, "sleep": sleep}, seed=7) for i in range(wide)]
    pairs = [Task.of(total, f"pair/{i}", params={"sleep": sleep}, inputs={"a": a, "b": b})
             for i, (a, b) in enumerate(pairwise(draws))]
    return [Task.of(total, "all", inputs={f"{i}": p for i, p in enumerate(pairs)}, params={"sleep": sleep})]
