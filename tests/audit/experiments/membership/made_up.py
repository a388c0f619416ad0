"""Made-up labelled texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from discreet.audit.engine import DataFile
from discreet.audit.experiments import MembershipExperiment

SAFE = "bake bread water plants paint a fence fix the bike sort old books walk the dog call a friend".split()
UNSAFE = "break a lock copy a key follow a stranger hide the proof open a safe trick the guard".split()


def write_rows(path: Path, n: int = 600, *, users: int = 0, turns: int = 0, noise: float = 0.2, seed: int = 1) -> Path:
    """A file of n rows; labels are noisy, so that there is something to remember. Every `turns`-th row has turns."""
    rng = np.random.default_rng(seed)
    lines = []
    for number in range(n):
        unsafe = bool(number % 2)
        words = rng.choice(UNSAFE if unsafe != (rng.random() < noise) else SAFE, 6)
        text = f"how to {' '.join(words)} in {rng.integers(10**6)} {rng.integers(10**6)}"
        row: dict[str, Any] = {"id": f"r{number}", "label": "unsafe" if unsafe else "safe"}
        if turns and number // 2 % turns == 0:
            row["turns"] = [{"role": "user", "text": text}, {"role": "assistant", "text": "no"},
                            {"role": "user", "text": str(words[0])}]
        else:
            row["text"] = text
        if users:
            row["group"] = f"u{rng.integers(users)}"
        lines.append(json.dumps(row))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def experiment_on(path: Path, *arguments: Any, **options: Any) -> MembershipExperiment:
    """A membership experiment on a file: recipe, seed, sizes and further options."""
    return MembershipExperiment(DataFile.of(path), *arguments, **options)


def bytes_of(store: Path) -> dict[str, bytes]:
    """The files of the results of a store."""
    return {path.relative_to(store).as_posix(): path.read_bytes()
            for path in sorted((store / "results").rglob("*")) if path.is_file()}
