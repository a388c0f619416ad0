"""Layer 2 as a fit leaves it: encoders, densities, discriminators and thresholds, how they score an answer and
how they are saved.

A fitted guard is a folder: `guard.json`, `arrays.safetensors`, `encoders/`. No pickle, no text, no vocabulary.
`guard.json` holds policy, settings, thresholds, operating points and the card, with size and SHA-256 of the other
files; `encoders/` has manifests of its own, whose hash stands here. It is read only where every hash agrees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from discreet.core.arrays import read_arrays, write_arrays
from discreet.core.errors import DetectorError, InputError, UsageError
from discreet.core.folders import Manifest, atomic_folder, read_manifest, sha256, write_manifest
from discreet.core.onnx import cores
from discreet.core.types import BoolArray, FloatArray
from discreet.guard.density.base import prefixed, under
from discreet.guard.density.discriminators import DENSITY, Discriminator, given, restore_discriminator
from discreet.guard.density.encoders.evidence import Detected, EvidenceEncoder
from discreet.guard.density.fitted_dual import FittedDual
from discreet.guard.density.points import BY_COSTS, Thetas, read_points
from discreet.guard.density.professional import professional, weights
from discreet.guard.domains import Domain, save_facts, saved_domain
from discreet.guard.policy import Policy
from discreet.guard.reading import Reading
from discreet.guard.score import odds
from discreet.guard.text.direct.detect import recognisers
from discreet.guard.text.render import render, shown
from discreet.inputs.encode.fusion import FUSION, Fusion

Gate = Literal["fitted", "professional"]
GATES: tuple[Gate, ...] = ("fitted", "professional")
"""What an answer must be unlike to be out of distribution: the fitted texts of both sides (paper V-D), or broad
professional text."""
Encoded = Literal["answer", "question+answer"]
ENCODED: tuple[Encoded, ...] = ("answer", "question+answer")
"""What the encoders of pieces read (paper III-A; V-A). The evidence reads the answer, and the question as what the
user had said."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What is scored of n answers: `features` (m, dim), a row for each chunk, whose answer `owner` (m,) says, ascending
    from 0, and of each whole answer the `evidence` (n, k), the reader's `vectors` (n, v) and the log-odds `odds` (n, 2)
    that the calibrated score adds up."""

    features: NDArray[np.float32] = field(repr=False)
    owner: NDArray[np.intp] = field(repr=False)
    evidence: NDArray[np.float32] = field(repr=False)
    vectors: NDArray[np.float32] = field(repr=False)
    odds: FloatArray = field(repr=False)

    def of(self, among: BoolArray) -> Rows:
        """Those of some of the answers."""
        owners = among[self.owner]
        return Rows(self.features[owners], (np.cumsum(among) - 1)[self.owner[owners]], self.evidence[among],
                    self.vectors[among], self.odds[among])


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of n answers, each by the chunk that is nearest to unsafe: δ (n,); `sigmas` (n, 2), σ_s and σ_u of that
    chunk; whether the gate calls it out of distribution; whether the discriminator itself abstains."""

    delta: FloatArray
    sigmas: FloatArray
    out_of_distribution: BoolArray
    unsure: BoolArray

    @property
    def abstains(self) -> BoolArray:
        """Out of distribution, or not sure."""
        return self.out_of_distribution | self.unsure

    @property
    def kept(self) -> BoolArray:
        """The others."""
        return ~self.abstains

    def of(self, among: BoolArray) -> Scores:
        """Those of some answers."""
        return Scores(self.delta[among], self.sigmas[among], self.out_of_distribution[among], self.unsure[among])


NEVER = Thetas(-inf, -inf)
UNLIKE: dict[Gate, str] = {"fitted": "unlike the safe and unlike the unsafe texts that the guard was fitted on",
                           "professional": "unlike the professional text that the reader knows"}


@dataclass(frozen=True, slots=True, eq=False)
class Detector:
    """A fitted layer 2.

    `gate` says what an answer must be unlike to be out of distribution: both sides of `dual`, or professional text.
    `counted` is the policy under which attributes count. `dual` gives δ where `decides` is "density"; else that of
    `discriminators` does.
    `points` holds τ by discriminator and operating point, `spread` the standard deviation of the density's δ on
    calibration texts, which brings it to the scale of a logit.
    """

    domain: Domain
    encoded: Encoded
    fusion: Fusion
    evidence: EvidenceEncoder
    dual: FittedDual
    discriminators: Mapping[str, Discriminator]
    decides: str
    counted: Policy
    thetas: Thetas = NEVER
    points: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    spread: float = 1.0
    gate: Gate = "professional"

    def unsure_above(self, point: str) -> float:
        """The log-odds of evidence above which an answer that nothing flags is an abstention at an operating point."""
        return professional().unsure_above(point) if self.gate == "professional" else -inf

    def deciding(self, kind: str | None) -> Detector:
        """The same with another discriminator. Raises UsageError where it was not fitted."""
        if kind is None or kind == self.decides:
            return self
        if kind != DENSITY and kind not in self.discriminators:
            known = ", ".join([DENSITY, *self.discriminators])
            raise UsageError(f"the guard holds no discriminator {kind!r}: expected one of {known}")
        return replace(self, decides=kind)

    def tau(self, point: str) -> float:
        """The threshold of an operating point. Raises UsageError for one that was not set."""
        points = self.points[self.decides]
        if point not in points:
            how = ": fit or calibrate it with costs" if point == BY_COSTS else ""
            raise UsageError(f"the guard has no operating point {point!r}; expected one of {', '.join(points)}{how}")
        return points[point]

    def score(self, rows: Rows, sigmas: FloatArray | None = None) -> Scores:
        """Scores of the answers that `rows` stand for; `sigmas` (m, 2) of all rows, where they are known already."""
        every = self.dual.sigmas(rows.features) if sigmas is None else sigmas
        density = every[:, 1] - every[:, 0]
        delta, unsure = self._delta(rows, density)
        # The last of each owner's chunks: the highest δ, of several the highest by density.
        order = np.lexsort((density, delta, rows.owner))
        ends = np.flatnonzero(np.append(np.diff(rows.owner[order]) > 0, True)) if order.size else order
        chosen = order[ends]
        near = every[chosen]
        return Scores(delta[chosen], near, self._foreign(rows, near), np.abs(delta[chosen]) < unsure)

    def score_answer(self, read: Reading) -> tuple[float, float, float, float, str | None]:
        """δ on the scale of a logit, δ, σ_s and σ_u, and why these abstain, if they do; DetectorError for a NaN."""
        scores = self.score(rows_of(self.fusion, self.evidence, [read], self.encoded, self.counted))
        delta = float(scores.delta[0])
        safe, unsafe = (float(s) for s in scores.sigmas[0])
        if not (isfinite(delta) and isfinite(safe) and isfinite(unsafe)):
            raise DetectorError("the scorer", "a score that is no number")
        abstains = None
        if scores.out_of_distribution[0]:
            abstains = UNLIKE[self.gate]
        elif scores.unsure[0]:
            abstains = f"{self.decides} is not sure enough to decide"
        return delta / self.spread if self.decides == DENSITY else delta, delta, safe, unsafe, abstains

    def _foreign(self, rows: Rows, sigmas: FloatArray) -> BoolArray:
        if self.gate == "fitted":
            return self.thetas.out_of_distribution(sigmas)
        return professional().out_of_distribution(rows.vectors)

    def _delta(self, rows: Rows, density: FloatArray) -> tuple[FloatArray, float]:
        if self.decides == DENSITY:
            return density, 0.0
        found = self.discriminators[self.decides]
        if found.reads in ("evidence", "odds"):
            return found.delta(given(found.reads, rows.features, rows.evidence, rows.odds))[rows.owner], found.unsure
        of_chunks = given(found.reads, rows.features, rows.evidence[rows.owner], rows.odds[rows.owner])
        return found.delta(of_chunks), found.unsure


def detected_in(read: Reading) -> Detected:
    """What encoders need of what the guard has read: a direct identifier of the asker's is no evidence."""
    return Detected(read.attributes, tuple(span for span, subject in read.direct if subject != "asker"),
                    read.seen.vector)


def text_of(read: Reading, encoded: Encoded) -> str:
    """What the encoders of pieces read of an answer: the text that the detectors read."""
    said = read.request.said if encoded == "question+answer" else None
    return read.text if said is None else f"{shown(render(said))}\n\n{read.text}"


def rows_of(fusion: Fusion, evidence: EvidenceEncoder, reads: Sequence[Reading], encoded: Encoded,
            counted: Policy) -> Rows:
    """The rows of several answers, each as it would be alone, under the policy `counted`."""
    readings = [detected_in(read) for read in reads]

    def features(read: Reading, found: Detected) -> NDArray[np.float32]:
        return fusion.encode_chunks(text_of(read, encoded), reading=found)

    if len(reads) == 1:
        parts = [features(reads[0], readings[0])]
    else:
        with ThreadPoolExecutor(cores()) as pool:
            parts = list(pool.map(features, reads, readings))
    owner = np.repeat(np.arange(len(parts)), [len(p) for p in parts])
    joined = np.concatenate(parts) if parts else np.empty((0, fusion.dim), dtype=np.float32)
    vectors = np.array([read.seen.vector for read in reads], dtype=np.float32)
    return Rows(joined, owner, evidence.rows(readings), vectors,
                np.array([odds(read, counted) for read in reads], dtype=np.float64).reshape(-1, 2))


MANIFEST, ARRAYS, ENCODERS = "guard.json", "arrays.safetensors", "encoders"
FORM, VERSION = "discreet-guard", 1


def save_detector(folder: Path, detector: Detector, policy: Policy, card: Mapping[str, Any]) -> None:
    """Write a guard, whole or not at all. UsageError where `folder` holds something else or cannot be written."""
    arrays = prefixed("dual", detector.dual.state())
    for kind, found in detector.discriminators.items():
        arrays |= prefixed(kind, found.state())
    with atomic_folder(folder, MANIFEST) as part:
        write_arrays(part / ARRAYS, arrays)
        detector.fusion.save(part / ENCODERS)
        facts = {
            **save_facts(detector.domain, part), "policy": policy.settings(), "encoded": detector.encoded,
            "encoders": {"name": detector.fusion.name, "dim": detector.fusion.dim,
                         "sha256": sha256(part / ENCODERS / FUSION)},
            "evidence": detector.evidence.features, "dual": detector.dual.config(),
            "discriminators": {kind: found.config() for kind, found in detector.discriminators.items()},
            "decides": detector.decides, "thetas": detector.thetas.to_json(), "spread": detector.spread,
            "points": {kind: dict(points) for kind, points in detector.points.items()},
            "gate": detector.gate, "reader": weights(), "recognisers": recognisers.outside(), "card": dict(card),
        }  # fmt: skip
        write_manifest(part, MANIFEST, FORM, VERSION, facts)


def load_detector(folder: Path) -> tuple[Detector, Policy, dict[str, Any]]:
    """The detector, the policy that it was fitted under and its card.

    InputError where the folder holds no guard, or one that is truncated, changed, of another version or impossible.
    """
    manifest = read_manifest(folder, MANIFEST, FORM, VERSION)
    if ARRAYS not in manifest.files:
        raise InputError(f"{folder / MANIFEST} lists no {ARRAYS}: copy the whole folder again")
    arrays = read_arrays(manifest.verify().folder / ARRAYS)
    fusion = _read_encoders(manifest)
    domain = saved_domain(manifest.facts, folder)
    evidence = EvidenceEncoder(domain)
    if manifest.fact("evidence", list) != list(evidence.features):
        raise InputError(f"{folder} counts other evidence features than this discreet does: fit the guard again")
    gate, read = manifest.fact("gate", str), manifest.fact("reader", dict)
    if read != weights():
        raise InputError(f"{folder} was fitted with another reader than this discreet ships: fit the guard again")
    if absent := set(manifest.facts.get("recognisers", ())).difference(recognisers):
        raise InputError(f"{folder} was fitted with the recogniser {min(absent)!r}, which is not installed: install "
                         "the package that has it, or fit the guard again")
    encoded, decides, spread = (manifest.fact("encoded", str), manifest.fact("decides", str),
                                manifest.facts.get("spread"))
    try:
        found = {kind: restore_discriminator(config, under(kind, arrays)) for kind,
                 config in manifest.fact("discriminators", dict).items()}
        dual = FittedDual.restore(manifest.fact("dual", dict), under("dual", arrays))
        points = {kind: read_points(taus) for kind, taus in manifest.fact("points", dict).items()}
        thetas = Thetas.from_json(manifest.fact("thetas", dict))
        policy = Policy.restore(manifest.fact("policy", dict), domain)
        if encoded not in ENCODED:
            raise InputError(f"it encodes {encoded!r}; expected {' or '.join(ENCODED)}")
        if gate not in GATES:
            raise InputError(f"its gate is {gate!r}; expected {' or '.join(GATES)}")
        if not isinstance(spread, float) or not (isfinite(spread) and spread > 0):
            raise InputError("it must give a positive spread")
        if decides not in {DENSITY, *found} or set(points) != {DENSITY, *found}:
            raise InputError("it names a discriminator without points, or the other way round")
    except (InputError, TypeError) as error:
        said = error if isinstance(error, InputError) else "it holds a policy of another form"
        raise InputError(f"{folder / MANIFEST}: {said}; fit the guard again") from None
    detector = Detector(domain, encoded, fusion, evidence, dual, found, decides, policy, thetas, points, spread,
                        cast(Gate, gate))
    return detector, policy, manifest.fact("card", dict)


def _read_encoders(manifest: Manifest) -> Fusion:
    home, said = manifest.folder / ENCODERS, manifest.fact("encoders", dict)
    if not (home / FUSION).is_file():
        raise InputError(f"{home} is missing or holds no {FUSION}: the guard's encoders belong in it; copy the whole "
                         "folder again")
    if sha256(home / FUSION) != said.get("sha256"):
        raise InputError(f"{home} holds encoders of another hash than the guard was fitted with "
                         f"({str(said.get('sha256'))[:12]}…): copy the whole folder again")
    return Fusion.load(home)
