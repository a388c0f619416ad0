"""A made-up table whose labels are noisy, so that there is something to remember."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from discreet.audit.engine import DataFile
from discreet.audit.experiments.labels import LabelExperiment, arms_of

RECIPE = "mlp:hidden=16,layers=1,epochs=12,batch=64,rate=0.01"
INF = float("inf")


def write_table(path: Path, n: int = 600, *, users: int = 0, classes: int = 2, seed: int = 1) -> Path:
    """A CSV file of n rows with six numbers, a category and the column `label`."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 6))
    labels = (rows[:, :classes].argmax(axis=1) + (rng.random(n) < 0.2) * rng.integers(0, classes, n)) % classes
    lines = ["x0,x1,x2,x3,x4,x5,city,user,label"]
    lines += [",".join([*(f"{one:.3f}" for one in row), f"c{rng.integers(3)}",
                        f"u{rng.integers(users) if users else number}", f"k{label}"])
              for number, (row, label) in enumerate(zip(rows, labels.tolist(), strict=True))]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def experiment_of(path: Path, **options: object) -> LabelExperiment:
    """A small experiment: no noise and two mechanisms at ε = 2, with two references each."""
    given = {"arms": arms_of(("rr", "alibi"), (INF, 2.0)), "seed": 3, "canaries": 60, "control": 60, "planted": (1, 4),
             "planted_each": 10, "references": 2, "group": "user", **options}
    return LabelExperiment(DataFile.of(path), "label", str(given.pop("recipe", RECIPE)), **given)  # type: ignore[arg-type]
