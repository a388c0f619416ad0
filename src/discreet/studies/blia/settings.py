"""What each scale of the study trains on what, and as which experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any

from discreet.engine import DataFile
from discreet.experiments.labels import NONE, Arm, LabelExperiment, arms_of
from discreet.studies import read_settings
from discreet.studies.blia.corpora import CORPORA, write_corpus
from discreet.studies.blia.tables import paper_values

RR, HALVED = "rr", "rr_halved"


@dataclass(frozen=True, slots=True)
class Work:
    """What is trained on one corpus.

    Attributes
    ----------
    recipe : mapping
        As `recipe_of` reads it. The model at ε = ∞ is trained to `until_accuracy` where it names that, all others of
        its seed as many epochs; else all of them `epochs`.
    canaries, placebos, heldout : int
        Rows of each; what is left is trained on besides.
    rows : int or None
        Of the corpus, at random; all of them if not given.
    planted_each : int
        Canaries that stand in training 1, 4 and 16 times, so many of each: the positive control.
    mechanisms, epsilons : tuple
        `rr_halved` is the one that is broken on purpose; ε as the paper has them, ∞ the first.
    seeds : tuple of int
        Each assigns canaries and draws noise anew.
    references, references_at : int, tuple of float
        Models of an attacker for each of these ε (at those other than ∞ for plain randomised response), which serve
        all others of the seed too.
    halved : bool
        Images of half the rows and columns, each pixel the mean of four.
    """

    recipe: Mapping[str, Any]
    canaries: int
    placebos: int
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
        placebo=work.placebos, planted_each=work.planted_each, heldout=work.heldout, references=work.references,
        references_at=tuple(NONE if one == inf else Arm(RR, one) for one in work.references_at),
        broken=HALVED in work.mechanisms) for seed in work.seeds]
