"""Cells to worlds to tasks, and all of them run: each model of the study is trained once, whatever tables want it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.core.errors import UsageError
from discreet.engine import DataFile, Store, Task, run
from discreet.experiments.membership import MembershipExperiment, audit_task
from discreet.studies.mia.beside import beside_task
from discreet.studies.mia.cells import Cell
from discreet.studies.mia.corpora import CORPORA
from discreet.studies.mia.corpus import write_corpus
from discreet.studies.mia.settings import Setting, recipe_for

COPIED = {"duplicated": "exact", "paraphrased": "paraphrase"}


@dataclass(frozen=True, slots=True)
class Study:
    """Where a study's data lie and how it is run.

    Attributes
    ----------
    data : Path or None
        The folder of public data; none is needed for the made-up corpus.
    out : Path
        Corpora (with their texts) are written to `out`/data, results to `out`/store.
    paraphraser : callable or None
        From a corpus file, how many paraphrases of each row and a folder to a file of them; see
        `MembershipExperiment.paraphrases`.
    """

    setting: Setting
    data: Path | None
    out: Path
    permutations: int = 99
    bootstraps: int = 200
    paraphraser: Callable[[Path, int, Path], Path] | None = None

    def file(self, corpus: str) -> DataFile:
        """A corpus on disk."""
        return DataFile.of(write_corpus(CORPORA[corpus], self.data or Path(), 0, self.out / "data"))


def experiment_of(cell: Cell, study: Study) -> MembershipExperiment:
    """The experiment of a cell."""
    setting, corpus = study.setting, CORPORA[cell.corpus]
    recipe = recipe_for(setting, cell.model, cell.regime, cell.corpus, corpus.prompt)
    sizes = {"a": setting.sizes[cell.corpus]} if cell.corpus in setting.sizes else {}
    word, _, value = cell.variant.partition(" ")
    options: dict[str, Any] = {"planted": setting.planted, "shadows": setting.shadows,
                               # As the matched experiment's, whose f_A is then trained once for both.
                               "hidden": word in ("", "mismatched") and cell.model in setting.sweep}
    data = study.file(cell.corpus)
    if word in COPIED:
        copies = int(value.removeprefix("x"))
        options |= {"copies": copies, "copied": COPIED[word], "planted": (), "shadows": 0}
        if word == "paraphrased":
            options["paraphrases"] = _paraphrases(study, data.path, copies - 1)
    elif word == "plain":
        options |= {"planted": (), "shadows": 0}
    elif word == "size":
        sizes = {**sizes_like(sizes), "a": int(value), "b": int(value), "neutral": int(value), "placebo": int(value)}
        options |= {"planted": (), "shadows": 0}
    elif word == "mismatched":
        options["mismatched"] = study.file(value)
    elif word:
        raise ValueError(f"there is no variant {cell.variant!r}")
    return MembershipExperiment(data, recipe, cell.seed, sizes, **options)


def _paraphrases(study: Study, data: Path, n: int) -> DataFile:
    if study.paraphraser is None:
        raise UsageError("paraphrased training sets need a paraphraser; expected one in the study")
    return DataFile.of(study.paraphraser(data, n, study.out / "data"))


def sizes_like(sizes: Mapping[str, int]) -> dict[str, int]:
    """Calibration and evaluation keep their size where A's varies."""
    a = sizes.get("a", 200)
    return {"val": round(0.4 * a), "cal": round(0.6 * a), "eval": a}


def audits(cells: Iterable[Cell], study: Study, *, beside: bool = False, engine: str = "local",
           workers: int | None = None, quiet: bool = False) -> dict[Cell, Mapping[str, Any]]:
    """The audit and training record of each cell: `{"audit": …, "training": …}`.

    With `beside`, the audit has besides what `discreet.studies.mia.beside` finds: further rows among its `attacks`, and
    `users`.
    """
    wanted = list(dict.fromkeys(cells))
    tasks = {cell: _audited(cell, study) for cell in wanted}
    more = {cell: _beside(cell, study) for cell in wanted} if beside else {}
    found = run([*tasks.values(), *more.values()], Store(study.out / "store"), engine=engine, workers=workers,
                quiet=quiet, label="models and audits")
    said: dict[Cell, Mapping[str, Any]] = {cell: found[task.key].value for cell, task in tasks.items()}
    return {cell: _with(value, found[more[cell].key].value) if cell in more else value for cell, value in said.items()}


def _with(value: Mapping[str, Any], beside: Mapping[str, Any]) -> Mapping[str, Any]:
    audit = value["audit"]
    return {**value, "audit": {**audit, "attacks": [*audit["attacks"], *beside["attacks"]],
                               "users": beside["users"]}}


def _audited(cell: Cell, study: Study) -> Task:
    experiment = experiment_of(cell, study)
    return audit_task(experiment, permutations=study.permutations, bootstraps=study.bootstraps,
                      reference="mismatched" if experiment.mismatched else "neutral")


def _beside(cell: Cell, study: Study) -> Task:
    return beside_task(experiment_of(cell, study))
