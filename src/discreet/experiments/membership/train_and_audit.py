"""A world from data to verdict: its tasks run, its scores in one table, the table audited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.data.texts import LabelledText, read_texts
from discreet.engine import Result, Store, run
from discreet.experiments.membership.collect import score_table, training_record
from discreet.experiments.membership.experiment import World, tasks_of
from discreet.scores.table import ScoreTable


@dataclass(frozen=True, slots=True, eq=False)
class Trained:
    """A world after its tasks have run."""

    world: World
    results: Mapping[str, Result]
    rows: Sequence[LabelledText]

    def table(self, **options: Any) -> ScoreTable:
        """Its scores; see `score_table`."""
        return score_table(self.results, self.rows, **options)

    def training(self) -> dict[str, Any]:
        """What the report says of the training."""
        return training_record(self.results)

    def texts(self) -> dict[str, str]:
        """Text of each row by id, for the blind baseline; never kept."""
        return {row.id: row.text for row in self.rows}


def train(worlds: Sequence[World], store: Store | Path | str, *, engine: str = "local", workers: int | None = None,
          address: str | None = None, quiet: bool = False) -> list[Trained]:
    """Train everything that the worlds need, each model once. Raises DiscreetError as `engine.run`."""
    tasks = [tasks_of(world) for world in worlds]
    found = run([task for one in tasks for task in one.values()], store, engine=engine, workers=workers,
                address=address, quiet=quiet, label="models")
    rows = {str(world.data.path): read_texts(world.data.path) for world in worlds}
    return [Trained(world, {name: found[task.key] for name, task in one.items()}, rows[str(world.data.path)])
            for world, one in zip(worlds, tasks, strict=True)]
