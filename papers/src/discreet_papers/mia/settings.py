"""What each scale of the study trains on what, and as which experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from discreet.audit.engine import DataFile
from discreet.audit.experiments import MembershipExperiment
from discreet.core.errors import UsageError
from discreet_papers.mia.corpora import CORPORA, write_corpus
from discreet_papers.shared import read_settings

LORA, FULL = "lora r=64", "full"
COPIED = {"duplicated": "exact", "paraphrased": "paraphrase"}


@dataclass(frozen=True, slots=True)
class Setting:
    """One scale; `settings.yaml` says what each field is."""

    models: Mapping[str, Mapping[str, Any]]
    corpora: Mapping[str, str]
    seeds: tuple[int, ...]
    further: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    shadows: int = 0
    max_tokens: Mapping[str, int] = field(default_factory=dict)
    sweep: tuple[str, ...] = ()
    broad: tuple[str, ...] = ()
    depressed: tuple[str, ...] = ()
    upsampled: tuple[str, ...] = ()
    mismatched: str = ""
    curve: tuple[int, ...] = ()
    planted: tuple[int, ...] = (1, 4, 16)
    sigmas: tuple[float, ...] = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
    draws: int = 50
    dtype: str = "auto"

    def only(self, corpora: Sequence[str]) -> Setting:
        """The same with these corpora alone; structures that have none of them are left out."""
        return replace(self, corpora={name: one for name, one in self.corpora.items() if one in corpora},
                       further=tuple(one for one in self.further if one in corpora))


SETTINGS: Mapping[str, Setting] = {scale: Setting(**given) for scale, given in read_settings("mia").items()}
"""By scale: smoke, small, paper; read from `settings.yaml`."""


@dataclass(frozen=True, slots=True)
class Condition:
    """An experiment of the study. `variant` says what is done to it besides: "", "duplicated x2", "size 100", …"""

    corpus: str
    structure: str
    model: str
    regime: str
    seed: int
    variant: str = ""


@dataclass(frozen=True, slots=True)
class Study:
    """Where a study's data lie and how it is run.

    `data` is the folder of public data, which made-up corpora do not need. Corpora (with their texts) are written to
    `out`/data, results to `out`/store. `paraphraser` goes from a corpus file, how many paraphrases of each row and a
    folder to a file of them; see `MembershipExperiment.paraphrases`.
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


def experiment_of(condition: Condition, study: Study) -> MembershipExperiment:
    """The experiment of a condition."""
    setting, corpus = study.setting, CORPORA[condition.corpus]
    recipe = recipe_for(setting, condition.model, condition.regime, condition.corpus, corpus.prompt)
    sizes = {"a": setting.sizes[condition.corpus]} if condition.corpus in setting.sizes else {}
    word, _, value = condition.variant.partition(" ")
    options: dict[str, Any] = {"planted": setting.planted, "shadows": setting.shadows,
                               # As the matched experiment's, whose f_A is then trained once for both.
                               "hidden": word in ("", "mismatched") and condition.model in setting.sweep}
    data = study.file(condition.corpus)
    if word in COPIED:
        copies = int(value.removeprefix("x"))
        options |= {"copies": copies, "copied": COPIED[word], "planted": (), "shadows": 0}
        if word == "paraphrased":
            if study.paraphraser is None:
                raise UsageError("paraphrased training sets need a paraphraser; expected one in the study")
            options["paraphrases"] = DataFile.of(study.paraphraser(data.path, copies - 1, study.out / "data"))
    elif word == "plain":
        options |= {"planted": (), "shadows": 0}
    elif word == "size":
        # Calibration and evaluation keep their size where A's varies.
        a = sizes.get("a", 200)
        sizes = {"val": round(0.4 * a), "cal": round(0.6 * a), "eval": a,
                 **dict.fromkeys(("a", "b", "neutral", "control"), int(value))}
        options |= {"planted": (), "shadows": 0}
    elif word == "mismatched":
        options["mismatched"] = study.file(value)
    elif word:
        raise ValueError(f"there is no variant {condition.variant!r}")
    return MembershipExperiment(data, recipe, condition.seed, sizes, balance=True, **options)


def recipe_for(setting: Setting, model: str, regime: str, corpus: str, prompt: str) -> str | dict[str, Any]:
    """A model's recipe as it is for a corpus: with its prompt, number type, and the paper's sequence length."""
    recipe = setting.models[model][regime]
    if isinstance(recipe, str):
        return recipe
    known = {"max_tokens": setting.max_tokens[corpus]} if corpus in setting.max_tokens else {}
    return {**recipe, **known, **({"prompt": prompt} if prompt != "safety" else {}),
            **({"dtype": setting.dtype} if setting.dtype != "auto" else {})}
