"""`reproduce blia`: what each scale trains on what, and the items that were asked for, from data to one record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

from discreet.audit.engine import DataFile
from discreet.audit.experiments import LabelExperiment, Trained, train
from discreet.audit.experiments.labels import NONE, Arm, arms_of
from discreet_papers.blia.corpora import CORPORA, write_corpus
from discreet_papers.blia.results import condition
from discreet_papers.blia.tables import HALVED, RR, TABLES, Condition, paper_sizes, paper_values, prevalence
from discreet_papers.shared import merged_items, read_settings

PREVALENCE = "section prevalence"
ORDER = ("table 2", "table 3", "table 4", "table 5", "table 6", "table 7", "table 8", "figure 2", "section utility",
         "section stronger", PREVALENCE)
"""Every item, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class Work:
    """What is trained on one corpus: on so many of its `rows` (None: all), which are drawn at random.

    With `until_accuracy` in the recipe the model at ε = ∞ is trained to it, all others of its seed as many epochs.
    `planted_each` canaries stand in training 1, 4 and 16 times: the positive control. `rr_halved` is the mechanism that
    is broken on purpose; ∞ is the first ε. Each seed assigns canaries and draws noise anew. An attacker's `references`
    models at each ε of `references_at` (other than ∞: of randomised response) serve all others of the seed.
    """

    recipe: Mapping[str, Any]
    canaries: int
    controls: int
    heldout: int
    rows: int | None = None
    planted_each: int = 20
    mechanisms: tuple[str, ...] = (RR, HALVED)
    epsilons: tuple[float, ...] = (inf, 2.0, 0.5)
    seeds: tuple[int, ...] = (1, 2, 3)
    references: int = 2
    references_at: tuple[float, ...] = (inf,)
    halved: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """One scale: what is trained on which corpus; and at ε = ∞ alone for each share of class 1 of one of them."""

    corpora: Mapping[str, Work]
    prevalence: str
    prevalent: Work
    shares: tuple[float, ...] = (0.1, 0.4, 0.5)

    def only(self, corpora: Sequence[str] | None = None, epsilons: Sequence[float] | None = None,
             seeds: Sequence[int] | None = None) -> Setting:
        """The same with some of its corpora, of its ε (∞ stays: it says how long to train), or with other seeds."""
        def narrowed(work: Work) -> Work:
            kept = work.epsilons if epsilons is None else tuple(
                one for one in work.epsilons if one == inf or one in epsilons)
            return replace(work, epsilons=kept, seeds=work.seeds if seeds is None else tuple(seeds))

        return replace(self, prevalent=narrowed(self.prevalent), corpora={
            name: narrowed(work) for name, work in self.corpora.items() if corpora is None or name in corpora})


def _work(corpus: str, given: Mapping[str, Any]) -> Work:
    recipe = dict(given["recipe"])
    if recipe.get("until_accuracy") == "paper":
        paper = paper_values(CORPORA[corpus].benchmark, inf)
        assert paper is not None
        recipe["until_accuracy"] = paper["train_accuracy"]
    return Work(**{**given, "recipe": recipe})


SETTINGS: Mapping[str, Setting] = {
    scale: Setting({name: _work(name, one) for name, one in given["corpora"].items()}, given["prevalence"],
                   _work(given["prevalence"], given["prevalent"])) for scale, given in read_settings("blia").items()}
"""By scale: smoke, small, paper; read from `settings.yaml`."""


@dataclass(frozen=True, slots=True)
class Study:
    """A setting, the folder of public data (none is needed for what is made up), and where results are kept.

    Corpora (with their rows) are written to `out`/data, results to `out`/store.
    """

    setting: Setting
    data: Path | None
    out: Path


def experiments_of(corpus: str, work: Work, study: Study, prevalence: float | None = None) -> list[LabelExperiment]:
    """An experiment for each seed: no mechanism, and each mechanism at each finite ε."""
    data = DataFile.of(write_corpus(CORPORA[corpus], study.data or Path(), study.out / "data", rows=work.rows,
                                    prevalence=prevalence, halved=work.halved))
    target = "labels" if CORPORA[corpus].kind == "array" else "label"
    return [LabelExperiment(
        data, target, work.recipe, arms_of(work.mechanisms, work.epsilons), seed, canaries=work.canaries,
        control=work.controls, planted_each=work.planted_each, heldout=work.heldout, references=work.references,
        references_at=tuple(NONE if one == inf else Arm(RR, one) for one in work.references_at),
        broken=HALVED in work.mechanisms) for seed in work.seeds]


def reproduce(study: Study, items: Sequence[str], **options: Any) -> dict[str, Any]:
    """The record of the items: `{"items": {name: {"title", "rows"}}}`.

    `options` are those of `discreet.audit.experiments.train`. Raises DiscreetError where data are not there.
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
    found, place = merged_items(earlier, later, ORDER, ["corpus"]), list(CORPORA).index
    return {name: {**item, "rows": sorted(item["rows"], key=lambda row: place(row["corpus"]))} if
            name in earlier and name in later else item for name, item in found.items()}


def is_analogue(scale: str, items: Mapping[str, Any]) -> bool:
    """False where each row is of the paper's data, and of as many rows to train on as the paper has."""
    rows = [row for item in items.values() for row in item["rows"]]
    return scale != "paper" or not rows or any(map(_stands_in, rows))


def _stands_in(row: Mapping[str, Any]) -> bool:
    corpus = CORPORA[row["corpus"]]
    papers = paper_sizes(corpus.benchmark)["n_train"]
    return not corpus.whole or row.get("n_trained", papers) != papers


def conditions(corpora: Sequence[str], study: Study, **options: Any) -> dict[str, list[dict[str, Any]]]:
    """The record of every condition of each corpus, as `discreet_papers.blia.results.condition`; ∞ first."""
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
