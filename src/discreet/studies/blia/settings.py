"""What each scale of the study trains on what: sizes, recipes, mechanisms, ε and seeds of every corpus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from discreet.core.errors import UsageError
from discreet.studies.blia.paper import paper_accuracy

RR, HALVED, ALIBI, PRIOR = "rr", "rr_halved", "alibi", "rr_with_prior"
SEVEN = (inf, 4.0, 2.0, 1.0, 0.8, 0.5, 0.3)
THREE = (inf, 2.0, 0.5)


@dataclass(frozen=True, slots=True)
class Work:
    """What is trained on one corpus.

    Attributes
    ----------
    recipe : mapping
        As `recipe_of` reads it. The model at ε = ∞ is trained to `until_accuracy` where it names that, all others of
        its seed as many epochs; else all of them `epochs`.
    rows : int or None
        Of the corpus, at random; all of them.
    canaries, placebos, heldout : int
        Rows of each; what is left is trained on besides.
    planted_each : int
        Canaries that stand in training 1, 4 and 16 times, so many of each: the positive control.
    mechanisms : tuple of str
        `rr_halved` is the one that is broken on purpose.
    epsilons : tuple of float
        As the paper has them, ∞ the first.
    seeds : tuple of int
        Each deals canaries and draws noise anew.
    references : int
        Models of an attacker for each of `references_at`, which serve all others of the seed too.
    references_at : tuple of float
        Values of ε; at those other than ∞ for plain randomised response.
    halved : bool
        Images of half the rows and columns, each pixel the mean of four.
    """

    recipe: Mapping[str, Any]
    rows: int | None
    canaries: int
    placebos: int
    heldout: int
    planted_each: int = 20
    mechanisms: tuple[str, ...] = (RR, HALVED)
    epsilons: tuple[float, ...] = THREE
    seeds: tuple[int, ...] = (1, 2, 3)
    references: int = 2
    references_at: tuple[float, ...] = (inf,)
    halved: bool = False


@dataclass(frozen=True, slots=True)
class Setting:
    """One scale.

    Attributes
    ----------
    corpora : mapping of str to Work
    prevalence : str
        The corpus of the sweep over the share of class 1.
    prevalent : Work
        What is trained for each of those shares, at ε = ∞ alone.
    shares : tuple of float
    """

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


def _until(name: str, benchmark: str, **options: Any) -> dict[str, Any]:
    """A recipe that is trained until the paper's train accuracy at ε = ∞."""
    return {"name": name, "until_accuracy": paper_accuracy(benchmark), **options}


_MADE_UP = Work({"name": "mlp", "hidden": 64, "epochs": 20, "batch": 32, "rate": 0.01}, None, 200, 200, 200,
                mechanisms=(RR, HALVED, ALIBI, PRIOR), seeds=(1, 2))
_SMOKE = Setting({
    "made_up": _MADE_UP,
    "made_up_texts": Work({"name": "rnn", "kind": "gru", "vocabulary": 500, "tokens": 8, "embedding": 8, "hidden": 8,
                           "epochs": 10, "batch": 32, "rate": 0.02}, 400, 60, 60, 60, planted_each=4,
                          epsilons=(inf, 1.0), seeds=(1, 2), references=1),
}, "made_up", replace(_MADE_UP, rows=600, canaries=100, placebos=100, heldout=100, planted_each=5, epsilons=(inf,),
                      seeds=(1,), references=0))

_CENSUS = Work(
    # The paper's 84.72% are reached after two epochs, before anything is remembered; all models of a seed take 20 s of
    # a core, since banks train them together. 26,048 rows are trained on, 520 of them canaries, as in the paper.
    _until("mlp", "census", hidden=64, epochs=20, batch=32, rate=0.001), None, 520, 520, 5993,
    mechanisms=(RR, HALVED, ALIBI, PRIOR), epsilons=SEVEN, seeds=(1, 2, 3, 4, 5), references=8,
    references_at=(inf, 2.0, 0.5))
_SMALL = Setting({
    "census": _CENSUS,
    # 99.35% after 5 epochs, 4 s of a core each: a GRU whose embedding learns fast (rate .005) and 100 words a review.
    # The paper trains on 25,000; with 6,400 it is 9% that are canaries, 600 a seed.
    "imdb": Work(_until("rnn", "imdb", kind="gru", tokens=100, embedding=32, hidden=32, epochs=20, batch=64,
                        rate=0.005), 8000, 600, 600, 1000),
    # 99.64% after 16 epochs or so, 2.4 s each. A rate of .002 is there no sooner: what is learnt is lost again; with
    # batches of 64 it takes 24 epochs.
    "fashion_mnist": Work(_until("cnn", "fashion_mnist", width=16, hidden=128, epochs=40, batch=32, rate=0.001), 5400,
                          400, 400, 600, references=1),
    # 92.67% after about 9 epochs, 3.2 s each. At 32 x 32 pixels an epoch of half the width takes 11 s and scoring the
    # rows, in double precision, 25: images are halved to 16 x 16, and the network is 8 wide.
    "cifar10": Work(_until("resnet18", "cifar10", width=8, epochs=30, batch=32, rate=0.003), 5000, 400, 400, 600,
                    references=1, halved=True),
    "cifar10_b": Work(_until("resnet18", "cifar100", width=8, epochs=30, batch=32, rate=0.003), 5000, 400, 400,
                      600, references=4, halved=True),
    # 97.91% after 4 epochs, 7 s each, of a transformer on 128 tokens, 32 wide.
    "code": Work(_until("token-transformer", "big_vul", tokens=128, width=32, layers=2, heads=4, epochs=20, batch=32,
                        rate=0.002), 5000, 400, 400, 600, references=1),
    # Five epochs: sure of itself, and at ½ hardly anything is seen of the canaries, though ranks show them. That is
    # where the oracle shows the share of class 1.
}, "fashion_mnist", Work({"name": "cnn", "width": 16, "hidden": 128, "epochs": 5, "batch": 32, "rate": 0.001}, 5400,
                         400, 400, 600, epsilons=(inf,), references=0))

_WIDE = {"batch": 128, "rate": 0.001, "epochs": 100}
_PAPER = Setting({
    # The paper's sizes as far as the public folder goes (CIFAR-10 is a fifth, Big-Vul is not there), 2% canaries, and
    # networks of the published width. Not run.
    "census": _CENSUS,
    "imdb": Work(_until("rnn", "imdb", tokens=400, embedding=64, hidden=128, **_WIDE), None, 500, 500, 2000,
                 epsilons=SEVEN),
    "fashion_mnist": Work(_until("cnn", "fashion_mnist", width=32, hidden=128, **_WIDE), None, 1200, 1200, 6000,
                          epsilons=SEVEN),
    **{name: Work(_until("resnet18", of, width=64, **_WIDE), None, 500, 500, 1500, epsilons=SEVEN)
       for name, of in (("cifar10", "cifar10"), ("cifar10_b", "cifar100"))},
    "code": Work(_until("token-transformer", "big_vul", tokens=512, width=256, layers=6, heads=8, **_WIDE), None, 500,
                 500, 1500, epsilons=SEVEN),
}, "fashion_mnist", Work({"name": "cnn", "width": 32, "hidden": 128, **_WIDE, "epochs": 3}, 20000, 1200, 1200, 2000,
                         epsilons=(inf,), references=0))
SETTINGS: Mapping[str, Setting] = {"smoke": _SMOKE, "small": _SMALL, "paper": _PAPER}


def setting_of(scale: str) -> Setting:
    """The setting of a scale. UsageError for one that is not there."""
    if scale not in SETTINGS:
        raise UsageError(f"there is no scale {scale!r}; expected one of {', '.join(SETTINGS)}")
    return SETTINGS[scale]
