"""What a fitted guard says of the texts that it was fitted on, and of texts that it might have been.

The fit drew at random which text went to which set, so that texts of the evaluation set differ from those of the fit
set in nothing but the fit. Beside the guard stand detectors that are fitted in the same way: one on the calibration set
alone (the control), several on random halves of fit and evaluation set (references), and one on the fit set and half of
the *canaries*: words of fitted texts thrown together, unlike any text, which a density remembers more than others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.core.errors import InputError, need
from discreet.core.records import Answer, Estimate, Verdict
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.guard.density.corpus import Corpus, Part, Sample, Texts, never_judged, read_corpus
from discreet.guard.density.detector import Detector, Rows, detected_in, rows_of, text_of
from discreet.guard.density.discriminators import DENSITY
from discreet.guard.density.dual_density import DualDensity
from discreet.guard.density.exact import blocks
from discreet.guard.fit import UNIT, EncodedCorpus, fit_detector
from discreet.guard.guard import Guard
from discreet.guard.reading import Reading, read_answer
from discreet.stats import auroc_estimate, share_estimate

Output = Literal["delta", "sigma", "verdict"]
OUTPUTS: tuple[Output, ...] = ("delta", "sigma", "verdict")
STEPS: Mapping[str, float] = {"safe": -1.0, "abstain": 0.0, "flag": 1.0}
MOST_CANARIES, CANARY_SHARE = 100, 0.2
"""Canaries of both sides together, half of which are fitted on; at most this share of the fit set."""
SAME = 1e-3
"""A text is identified where the nearest stored row is nearer than this share of what is usual of other texts; and the
calibration texts are those of the fit where their δ varies as it did then, but for this share."""
IN_CARD = {"seed": int, "counts": dict, "density": dict}
"""What the audit reads of a card."""


@dataclass(frozen=True, slots=True, eq=False)
class Released:
    """What a guard gives out of n texts: δ (n,), σ_s and σ_u (n, 2), the verdict (n,) as one of `STEPS`.

    NaN verdicts are those of a detector that was not asked for any.
    """

    delta: FloatArray
    sigmas: FloatArray
    verdict: FloatArray

    def logits(self, output: Output, unsafe: BoolArray) -> FloatArray:
        """(n, 2) of the classes safe and unsafe: what speaks for the one; of σ that of the text's own side alone."""
        if output == "sigma":
            return self.sigmas * np.column_stack([~unsafe, unsafe])
        value = self.delta if output == "delta" else self.verdict
        return np.column_stack([np.zeros(value.size), value])


@dataclass(frozen=True, slots=True, eq=False)
class Canaries:
    """c canaries: their sides, which of them the twin of the guard was fitted on, and what twin and guard say."""

    unsafe: BoolArray
    fitted: BoolArray
    twin: Released
    guard: Released

    def auc(self, released: Released, output: Output) -> Estimate:
        """How well an output tells those that were fitted on from the others."""
        logits = released.logits(output, self.unsafe)
        side = self.unsafe.astype(np.int64)
        rows = np.arange(side.size)
        return auroc_estimate(logits[rows, side] - logits[rows, 1 - side], self.fitted, unit="canary")


@dataclass(frozen=True, slots=True, eq=False)
class Exposure:
    """n texts of fit and evaluation set, and what is given out of them.

    Attributes
    ----------
    id, text, group : sequences of str
        A text without a group is its own.
    unsafe, fitted : (n,) bool array
        Its side, and whether it stood in the fit set.
    guard, control : Released
    references : sequence of (Released, (n,) bool array)
        Without verdicts; with the texts that each was fitted on.
    canaries : Canaries
    stored : mapping
        Of each side the embeddings of texts that the folder holds (`rows`), and with them the share of fitted texts
        that are `identified`, of `others` that are taken for one, and the `auc` of the distance to the nearest.
    """

    id: Sequence[str]
    text: Sequence[str]
    group: Sequence[str]
    unsafe: BoolArray
    fitted: BoolArray
    guard: Released
    control: Released
    references: Sequence[tuple[Released, BoolArray]]
    canaries: Canaries
    stored: Mapping[str, Mapping[str, Any]]


def expose(guard: Guard, safe: Texts, unsafe: Texts, borderline: Texts = (), *, references: int = 8, seed: int = 42,
           quiet: bool = True, each: Callable[[Sequence[Any]], Iterator[Any]] = iter) -> Exposure:
    """Ask a fitted guard, and detectors fitted like it, about the texts that it was made from.

    Texts as for `fit_guard`, the same in the same way; `references` >= 0 are detectors of random halves. `each` wraps
    what takes long, for progress. UsageError for a guard that was not fitted, InputError for other texts.
    """
    detector, card = guard.detector, guard.card
    _check_card(card)
    corpus = read_corpus(detector.counted, safe, unsafe, borderline, seed=card["seed"], quiet=quiet)
    if corpus.counts != card["counts"]:
        raise InputError("these are other texts than the guard was fitted on: its card counts "
                         f"{card['counts'].get('read', 0):,} texts read, here are {corpus.counts['read']:,}, "
                         "and other numbers in each set; expected the files of 'guard fit', each for the same side")
    rng = np.random.default_rng((seed, 10))
    peers = _Peers.of(guard, corpus, rng)
    calibrated = detector.deciding(DENSITY).score(peers.rows.of(peers.parts == "calibration")).delta
    if not np.isclose(np.std(calibrated), detector.spread, rtol=SAME):
        raise InputError("these are other texts than the guard was fitted on: they are as many, and δ of the "
                         "calibration texts varies otherwise than at the fit; expected the files of 'guard fit', "
                         "unchanged")
    unsafe_side = peers.kinds == "unsafe"
    judged = np.flatnonzero(np.isin(peers.parts, ("fit", "evaluation")))
    fitted, canary = peers.parts == "fit", peers.parts == "canary"
    coin = np.zeros(canary.size, dtype=np.bool_)
    for side in (unsafe_side, ~unsafe_side):
        both = rng.permutation(np.flatnonzero(canary & side))
        coin[both[: both.size // 2]] = True
    halves = [_half(judged, peers.groups, rng) for _ in range((references + 1) // 2)]
    chosen = [half if place % 2 == 0 else np.setdiff1d(judged, half) for half in halves for place in range(2)]
    given = []
    for place, rows in enumerate(each(chosen[:references])):
        reference = peers.fitted_on(np.isin(np.arange(canary.size), rows), seed + 1 + place)
        scores = reference.score(peers.rows.of(np.isin(np.arange(canary.size), judged)))
        given.append((Released(scores.delta, scores.sigmas, np.full(judged.size, np.nan)), np.isin(judged, rows)))
    control, twin = (Guard(guard.policy, point=guard.point, detector=peers.fitted_on(rows, card["seed"]))
                     for rows in (peers.parts == "calibration", fitted | coin))
    asked = [peers.released(one, rows) for one, rows in each([
        (guard, judged), (control, judged), (twin, np.flatnonzero(canary)), (guard, np.flatnonzero(canary))])]
    samples = [peers.samples[int(row)] for row in judged]
    return Exposure(
        [f"{one.kind}:{one.answer.id}" for one in samples], [one.answer.answer for one in samples],
        [str(peers.groups[row]) for row in judged], unsafe_side[judged], fitted[judged], asked[0], asked[1], given,
        Canaries(unsafe_side[canary], coin[canary], asked[2], asked[3]),
        {side: _stored(detector, place, peers.features[judged], (unsafe_side == bool(place))[judged], fitted[judged])
         for place, side in enumerate(("safe", "unsafe"))})


def _check_card(card: Mapping[str, Any]) -> None:
    """InputError for a card that does not say how the guard was fitted."""
    if wrong := [name for name, kind in IN_CARD.items() if not isinstance(card.get(name), kind)]:
        raise InputError(f"the guard's card does not give its {wrong[0]!r} as 'guard fit' writes it; expected the "
                         "folder as it was fitted: copy it again, or fit the guard again")


@dataclass(frozen=True, slots=True, eq=False)
class _Peers:
    """Texts of all sets and canaries, encoded once as the guard encodes them, for detectors that are fitted on some.

    `parts` (n,) is the set of each, or "canary"; `features` (n, dim) stand for whole texts, `rows` for their chunks.
    """

    guard: Guard
    samples: Sequence[Sample]
    reads: Sequence[Reading]
    parts: NDArray[np.str_]
    groups: IntArray
    features: NDArray[np.float32]
    rows: Rows

    @classmethod
    def of(cls, guard: Guard, corpus: Corpus, rng: Generator) -> _Peers:
        detector, policy = guard.detector, corpus.policy
        made = [(one, read) for one in _canaries(corpus, rng)
                if never_judged(read := read_answer(one.answer, policy), policy) is None]
        samples = [*corpus.samples, *(one for one, _ in made)]
        reads = [*corpus.reads, *(read for _, read in made)]
        names = [one.group if one.group is not None else f"text {place}" for place, one in enumerate(samples)]
        features = detector.fusion.encode([text_of(read, detector.encoded) for read in reads],
                                          [detected_in(read) for read in reads])
        return cls(guard, samples, reads, np.array([*corpus.parts, *["canary"] * len(made)]),
                   np.unique(names, return_inverse=True)[1], features,
                   rows_of(detector.fusion, detector.evidence, reads, detector.encoded, detector.counted))

    @property
    def kinds(self) -> NDArray[np.str_]:
        return np.array([one.kind for one in self.samples])

    def fitted_on(self, chosen: BoolArray, seed: int) -> Detector:
        """A detector of the guard's making on the texts `chosen` (n,), its thresholds from the calibration set."""
        own, said = self.guard.detector, self.guard.card["density"]
        among, held = np.flatnonzero(chosen), self.parts == "calibration"
        order: list[tuple[int, Part]] = [*((int(row), "fit") for row in among),
                                         *((int(row), "calibration") for row in np.flatnonzero(held))]
        corpus = Corpus(own.counted, [self.samples[row] for row, _ in order], [self.reads[row] for row, _ in order],
                        [part for _, part in order], {})
        rows = EncodedCorpus(corpus, own.encoded, own.fusion, own.evidence, self.features[among],
                             self.rows.evidence[among], {"calibration": self.rows.of(held)}, self.rows.odds[among])
        dual = DualDensity(said["kind"], features=said["features"], scale=said["scale"],
                           nu="sweep" if said["nu"] is None or said["sweep"] else said["nu"],
                           n_components=(said["components"] or {"requested": 8})["requested"],
                           widths=tuple(one.dim for one in own.fusion.encoders), random_state=seed)
        return fit_detector(rows, dual, decides=own.decides, gate=own.gate, seed=seed,
                            kinds=[kind for kind in own.discriminators if kind == own.decides != DENSITY])

    def released(self, guard: Guard, rows: IntArray) -> Released:
        """What a guard gives out of some texts."""
        verdicts: list[Verdict] = [guard.on_reading(self.reads[row]) for row in rows]
        return Released(np.array([one.delta for one in verdicts], dtype=np.float64),
                        np.array([(one.sigma_safe, one.sigma_unsafe) for one in verdicts], dtype=np.float64),
                        np.array([STEPS[one.action] for one in verdicts]))


def _canaries(corpus: Corpus, rng: Generator) -> Iterator[Sample]:
    """Words of the fitted texts of each side, drawn one by one, as many as some text has."""
    samples = corpus.of("fit")[0]
    for kind in ("safe", "unsafe"):
        words = [one.answer.answer.split() for one in samples if one.kind == kind]
        pool, n = [word for text in words for word in text], min(MOST_CANARIES, int(CANARY_SHARE * len(samples))) // 2
        for place in range(n):
            drawn = rng.choice(len(pool), len(words[int(rng.integers(len(words)))]))
            yield Sample(Answer(f"canary-{kind}-{place}", " ".join(pool[one] for one in drawn)), kind)


def _half(rows: IntArray, groups: IntArray, rng: Generator) -> IntArray:
    """About half of `rows`, groups whole."""
    names = np.unique(groups[rows])
    taken = rng.permutation(names)[: names.size // 2]
    return rows[np.isin(groups[rows], taken)]


def _stored(detector: Detector, side: int, features: NDArray[np.float32], own: BoolArray, fitted: BoolArray
            ) -> dict[str, Any]:
    """What the embeddings in the folder of one side say of its texts, `own` (n,)."""
    kept, seen = detector.dual.stored(side), detector.dual.seen(features[own])
    if kept is None:
        return {"rows": 0}
    cdist = need("scipy.spatial.distance", "distances to stored embeddings", "audit").cdist
    away = np.concatenate([cdist(seen[part], kept).min(axis=1) for part in blocks(len(seen), 256)])
    member = fitted[own]
    same = away <= SAME * float(np.median(away[~member]))
    return {"rows": len(kept), "identified": share_estimate(same[member], unit=UNIT, of="fitted texts"),
            "others": share_estimate(same[~member], unit=UNIT, of="other texts"),
            "auc": auroc_estimate(-away, member, unit=UNIT)}
