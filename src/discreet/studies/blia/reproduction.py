"""`reproduce blia`: the items that were asked for, from data to one record; each model is trained once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from discreet.experiments import LabelExperiment, Trained, train
from discreet.studies.blia.corpora import CORPORA
from discreet.studies.blia.results import condition
from discreet.studies.blia.settings import Study, experiments_of
from discreet.studies.blia.tables import TABLES, Condition, prevalence

PREVALENCE = "section prevalence"
ORDER = ("table 2", "table 3", "table 4", "table 5", "table 6", "table 7", "table 8", "figure 2", "section utility",
         "section stronger", PREVALENCE)
"""Every item, in the order in which they are shown."""


def reproduce(study: Study, items: Sequence[str], **options: Any) -> dict[str, Any]:
    """The record of the items: `{"items": {name: {"title", "rows"}}}`.

    `options` are those of `discreet.experiments.train`. Raises DiscreetError where data are not there.
    """
    wanted = {name: TABLES[name].corpora(study.setting.corpora) for name in items if name in TABLES}
    names = list(dict.fromkeys(corpus for corpora in wanted.values() for corpus in corpora))
    done: dict[str, list[dict[str, Any]]] = conditions(names, study, **options)
    found: dict[str, Any] = {}
    for name in items:
        if name == PREVALENCE:
            shares: list[Condition] = [*prevalences(study, **options)]
            found[name] = {"title": "The share of class 1", "rows": prevalence(shares)}
        else:
            found[name] = {"title": TABLES[name].title,
                           "rows": TABLES[name].rows({corpus: done[corpus] for corpus in wanted[name]})}
    return {"items": found}


def merged(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Items of two calls, in `ORDER`; of an item of both, the later call's rows and the earlier's of other corpora."""
    found: dict[str, Any] = {}
    for name in ORDER:
        if name in earlier and name in later:
            anew = {row["corpus"] for row in later[name]["rows"]}
            rows = [row for row in earlier[name]["rows"] if row["corpus"] not in anew] + later[name]["rows"]
            found[name] = {**later[name], "rows": sorted(rows, key=lambda row: list(CORPORA).index(row["corpus"]))}
        elif name in earlier or name in later:
            found[name] = later.get(name, earlier.get(name))
    return found


def conditions(corpora: Sequence[str], study: Study, **options: Any) -> dict[str, list[dict[str, Any]]]:
    """The record of every condition of each corpus, as `discreet.studies.blia.results.condition`; ∞ first."""
    found = {}
    for name in corpora:
        experiments = experiments_of(name, study.setting.corpora[name], study)
        found[name] = judged(train(experiments, study.out / "store", **options), name)
    return found


def prevalences(study: Study, **options: Any) -> list[dict[str, Any]]:
    """The one condition of each share of class 1."""
    setting, found = study.setting, list[dict[str, Any]]()
    for share in setting.shares:
        experiments = experiments_of(setting.prevalence, setting.prevalent, study, share)
        done = train(experiments, study.out / "store", **options)
        found += [{**one, "prevalence": share} for one in judged(done, setting.prevalence)]
    return found


def judged(done: Sequence[Trained[LabelExperiment]], corpus: str) -> list[dict[str, Any]]:
    """A record for each arm, pooled over the experiments, which differ in their seeds alone."""
    tables = [one.table() for one in done]
    epochs = [{model["model"]: model.get("epochs_done") for model in one.training()["models"]} for one in done]
    return [{"corpus": corpus, **condition([(table, table.targets[place]) for table in tables]),
             "epochs": [told.get(arm.model(one.experiment.seed, 0)) for told, one in zip(epochs, done, strict=True)]}
            for place, arm in enumerate(done[0].experiment.arms)]
