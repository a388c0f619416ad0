"""What each scale of the study trains on what: models, regimes, corpora, sizes, seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.core.errors import UsageError

RANKS = (16, 64, 128)
LORA = "lora r=64"
FULL = "full"


@dataclass(frozen=True, slots=True)
class Setting:
    """One scale.

    Attributes
    ----------
    models : mapping of str to mapping of str to spec
        For each model, its regimes ("full", "lora r=64", …) and the recipe of each.
    corpora : mapping of str to str
        Name of the corpus for each structure: "single-turn", "multi-turn", "multi-conversation", "pooled",
        "depression", "users".
    further : tuple of str
        Other single-turn corpora that table 7 has too.
    sizes : mapping of str to int
        A's size by corpus; the paper's proportions of what there is where it is not named.
    seeds : tuple of int
    shadows : int
    sweep : tuple of str
        Models of the rank sweep, the curve over sizes, the mismatched reference, users and section 7.1.
    broad, depressed, upsampled : tuple of str
        Models of table 7, of tables 9 and 10, and of section 8.2; the first, the first and those of `sweep` where none
        is named.
    mismatched : str
        The corpus of the reference of another corpus; it must share no text with the single-turn one.
    curve : tuple of int
        A's sizes in the curve over training-set size.
    sigmas : tuple of float
        Laplace scales of figure 4.
    draws : int
        Noise draws of figure 4.
    dtype : str
        Of transformers: auto (bfloat16 on a GPU that has it), float32, or bfloat16, for processors that multiply it.
    """

    models: Mapping[str, Mapping[str, Any]]
    corpora: Mapping[str, str]
    seeds: tuple[int, ...]
    further: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    shadows: int = 0
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


def _transformer(base: str, max_tokens: int, ranks: tuple[int, ...] = (64,), **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = {FULL: {"name": "transformer", "base": base, "regime": "full", "max_tokens": max_tokens,
                                    **options}}
    for rank in ranks:
        found[f"lora r={rank}"] = {"name": "transformer", "base": base, "regime": "lora", "rank": rank,
                                   "max_tokens": max_tokens, **options}
    return found


_PUBLIC = {"single-turn": "beavertails", "multi-turn": "multi_turn", "multi-conversation": "multi_conversation",
           "pooled": "pooled", "depression": "depression", "users": "stormfront"}
_HUB = {"single-turn": "hub_beavertails", "multi-turn": "hub_multi_turn", "multi-conversation": "hub_support",
        "pooled": "hub_pooled", "depression": "hub_depression", "users": "hub_support"}
_MADE = {"single-turn": "made_up", "depression": "made_up", "users": "made_up_users"}

SETTINGS: Mapping[str, Setting] = {
    "smoke": Setting(
        {"TF-IDF, one hidden layer": {FULL: "tfidf-mlp:steps=60"}, "TF-IDF, linear": {FULL: "tfidf-linear"}},
        _MADE, (42,), sizes={"made_up": 100, "made_up_users": 90}, shadows=4, sweep=("TF-IDF, one hidden layer",),
        mismatched="made_up_users", curve=(40, 80), planted=(1, 4),
        sigmas=(0.0, 0.1, 0.5, 1.0), draws=5),
    "small": Setting(
        {"MiniLM": _transformer("minilm", 128, RANKS), "MiniLM, 4 layers": _transformer("minilm", 128, layers=4),
         "MiniLM, 2 layers": _transformer("minilm", 128, layers=2)},
        _PUBLIC, (42,), further=("diasafety", "davidson", "dreaddit"),
        sizes={"diasafety": 400, "davidson": 400, "multi_turn": 150, "multi_conversation": 80, "pooled": 200,
               "depression": 300, "dreaddit": 200, "stormfront": 160},
        sweep=("MiniLM",), mismatched="diasafety", curve=(80, 160, 320), planted=(1, 4)),
    "paper": Setting(
        {"Llama-3.2-1B-IT": _transformer("meta-llama/Llama-3.2-1B-Instruct", 1024, RANKS),
         "Llama-3.2-3B-IT": _transformer("meta-llama/Llama-3.2-3B-Instruct", 1024),
         "Llama-3.1-8B-IT": _transformer("meta-llama/Llama-3.1-8B-Instruct", 1024, RANKS),
         "Gemma-3-12B-IT": _transformer("google/gemma-3-12b-it", 1024)},
        _HUB, (42,), sizes={"hub_beavertails": 2000, "hub_multi_turn": 2000, "hub_depression": 2000},
        sweep=("Llama-3.2-1B-IT", "Llama-3.1-8B-IT"),
        broad=("Llama-3.2-1B-IT", "Llama-3.2-3B-IT", "Llama-3.1-8B-IT", "Gemma-3-12B-IT"),
        depressed=("Llama-3.2-1B-IT", "Llama-3.2-3B-IT"), upsampled=("Llama-3.2-1B-IT", "Llama-3.2-3B-IT"),
        mismatched="hub_multi_turn", curve=(500, 1000, 2000)),
}
MAX_TOKENS: Mapping[str, int] = {"hub_beavertails": 1024, "hub_multi_turn": 8192, "hub_support": 16394,
                                 "hub_pooled": 16394, "hub_depression": 512}
"""Sequence lengths of the paper (Tables 4 and 5, appendix N)."""


def setting_of(scale: str) -> Setting:
    """The setting of a scale. UsageError for one that is not there."""
    if scale not in SETTINGS:
        raise UsageError(f"there is no scale {scale!r}; expected one of {', '.join(SETTINGS)}")
    return SETTINGS[scale]


def recipe_for(setting: Setting, model: str, regime: str, corpus: str, prompt: str) -> str | dict[str, Any]:
    """A model's recipe as it is for a corpus: with its prompt, number type, and the paper's sequence length."""
    recipe = setting.models[model][regime]
    if isinstance(recipe, str):
        return recipe
    known = {"max_tokens": MAX_TOKENS[corpus]} if corpus in MAX_TOKENS else {}
    return {**recipe, **known, **({"prompt": prompt} if prompt != "safety" else {}),
            **({"dtype": setting.dtype} if setting.dtype != "auto" else {})}
