"""Corpora to trials to conditions: each model is trained once, whatever tables want it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from discreet.engine import DataFile, Store
from discreet.experiments import Trained, train
from discreet.experiments.labels import NONE, Arm, LabelExperiment, arms_of
from discreet.studies.blia.corpora import CORPORA, write_corpus
from discreet.studies.blia.pooled import condition
from discreet.studies.blia.settings import HALVED, RR, Setting, Work


@dataclass(frozen=True, slots=True)
class Study:
    """Where a study's data lie.

    Attributes
    ----------
    data : Path or None
        The folder of public data; none is needed for what is made up.
    out : Path
        Corpora (with their rows) are written to `out`/data, results to `out`/store.
    """

    setting: Setting
    data: Path | None
    out: Path

    def file(self, corpus: str, work: Work, prevalence: float | None = None) -> DataFile:
        """A corpus on disk."""
        return DataFile.of(write_corpus(CORPORA[corpus], self.data or Path(), self.out / "data", rows=work.rows,
                                        prevalence=prevalence, halved=work.halved))


def experiments_of(corpus: str, work: Work, study: Study, prevalence: float | None = None) -> list[LabelExperiment]:
    """An experiment for each seed: no mechanism, and each mechanism at each finite ε."""
    data = study.file(corpus, work, prevalence)
    target = "labels" if CORPORA[corpus].kind == "array" else "label"
    return [LabelExperiment(
        data, target, work.recipe, arms_of(work.mechanisms, work.epsilons), seed, canaries=work.canaries,
        placebo=work.placebos, planted_each=work.planted_each, heldout=work.heldout, references=work.references,
        references_at=tuple(NONE if one == inf else Arm(RR, one) for one in work.references_at),
        broken=HALVED in work.mechanisms) for seed in work.seeds]


def conditions(corpora: Sequence[str], study: Study, **options: Any) -> dict[str, list[dict[str, Any]]]:
    """The record of every condition of each corpus, as `discreet.studies.blia.pooled.condition`; ∞ first.

    `options` are those of `train`: engine, workers, address, quiet.
    """
    found = {}
    for name in corpora:
        trials = experiments_of(name, study.setting.corpora[name], study)
        found[name] = judged(train(trials, Store(study.out / "store"), **options), name)
    return found


def prevalences(study: Study, **options: Any) -> list[dict[str, Any]]:
    """The one condition of each share of class 1."""
    setting, found = study.setting, list[dict[str, Any]]()
    for share in setting.shares:
        trials = experiments_of(setting.prevalence, setting.prevalent, study, share)
        done = train(trials, Store(study.out / "store"), **options)
        found += [{**one, "prevalence": share} for one in judged(done, setting.prevalence)]
    return found


def judged(done: Sequence[Trained[LabelExperiment]], corpus: str) -> list[dict[str, Any]]:
    """A record for each arm, pooled over the trials, which differ in their seeds alone."""
    tables = [one.table() for one in done]
    told = [_epochs(one.training()) for one in done]
    found = []
    for place, arm in enumerate(done[0].experiment.arms):
        parts = [(table, table.targets[place]) for table in tables]
        found.append({"corpus": corpus, **condition(parts), "epochs": [epochs.get(arm.name) for epochs in told]})
    return found


def _epochs(training: Mapping[str, Any]) -> dict[str, Any]:
    """How many epochs the target of each arm was trained, by the name of the arm."""
    return {str(one["model"]).partition("/")[0]: one.get("epochs_done") for one in training["models"]
            if one["role"] == "target"}
