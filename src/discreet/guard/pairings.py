"""The paper's evaluation pairings (VI-A) over partitions of safe, unsafe and borderline texts, for several detectors.

`within`           unsafe against safe texts of the evaluation set
`cross_generator`  unsafe texts of an unseen writer against the same safe texts
`borderline`       the unsafe texts of `within` against borderline texts of an unseen writer: the stress test
`matched`          unsafe against borderline texts of one and the same unseen writer

θ and τ come from the calibration set, once, and serve in every pairing. Layer 2 sees what layer 1 lets pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InputError, UsageError
from discreet.core.records import Estimate
from discreet.encode.base import Encoder
from discreet.guard.corpus import Kind, Sample, never_judged, read_corpus, read_side
from discreet.guard.detector import Detector, Rows, Scores, rows_of_many
from discreet.guard.discriminators import DENSITY
from discreet.guard.dual_density import DualDensity
from discreet.guard.fit import (
    DEFAULT_DENSITY,
    DEFAULT_DISCRIMINATOR,
    UNIT,
    EncodedCorpus,
    encode_corpus,
    fit_detector,
    population,
)
from discreet.guard.points import PAPER_PERCENTILE
from discreet.guard.policy import Policy
from discreet.guard.reading import read_answer
from discreet.stats import share_estimate

DEFAULT = "default"
CONFIGURATIONS: dict[str, tuple[str, bool]] = {
    "gmm-v3": ("gmm", False), "gmm-v4": ("gmm", True), "ocsvm-v3": ("ocsvm", False), "ocsvm-v4": ("ocsvm", True),
    "rff-v3": ("rff", False), "rff-v4": ("rff", True),
}  # fmt: skip
"""Density, and whether borderline texts are on its safe side; δ is the density's own (the paper's detectors)."""

PAPER_CONFIGURATIONS = ("gmm-v3", "gmm-v4", "ocsvm-v3", "ocsvm-v4")
PAIRINGS = {
    "within": ("unsafe", "safe"), "cross_generator": ("unsafe_heldout", "safe"),
    "borderline": ("unsafe", "borderline_eval"), "matched": ("matched_unsafe", "matched_borderline"),
}  # fmt: skip
"""Pairing to the partitions of its positives and negatives."""

UNSEEN: dict[str, Kind] = {"unsafe_heldout": "unsafe", "borderline_eval": "borderline", "matched_unsafe": "unsafe",
                           "matched_borderline": "borderline"}
"""Partitions that nothing is fitted on, all of which are evaluated."""

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """Texts of one partition as rows, with what each was made to be."""

    samples: Sequence[Sample] = field(repr=False)
    rows: Rows = field(repr=False)
    direct: int = 0

    @property
    def subtypes(self) -> NDArray[np.str_]:
        """Of each text; "" where it has none."""
        return np.array([s.subtype or "" for s in self.samples])


@dataclass(frozen=True, slots=True, eq=False)
class Partitions:
    """What a study of one domain fits on and evaluates on."""

    corpus: EncodedCorpus
    unseen: Mapping[str, Side]

    def side(self, name: str) -> Side | None:
        """The texts that a partition evaluates with; None where there are none."""
        if name in UNSEEN:
            return self.unseen.get(name)
        samples = self.corpus.corpus.of("evaluation")[0]
        return Side([s for s in samples if s.kind == name],
                    _among(self.corpus.held["evaluation"], self.corpus.kinds("evaluation") == name))


def read_partitions(folder: Path | str, policy: Policy, encoders: Sequence[Encoder], *, seed: int = 42,
                    quiet: bool = True) -> Partitions:
    """Read and encode the partitions of a folder: `safe.jsonl`, `unsafe.jsonl`, and of the others what is there.

    Raises
    ------
    InputError
        Where safe or unsafe texts are missing or too few, or a file cannot be read.
    """
    home = Path(folder)
    for name in ("safe", "unsafe"):
        if not (home / f"{name}.jsonl").is_file():
            raise InputError(f"{home} has no {name}.jsonl: expected the folder that 'discreet synth run' leaves, or "
                             "one with partitions of those names")
    there = {n: home / f"{n}.jsonl" for n in ("borderline", *UNSEEN) if (home / f"{n}.jsonl").is_file()}
    corpus = read_corpus(policy, home / "safe.jsonl", home / "unsafe.jsonl",
                         [there["borderline"]] if "borderline" in there else (), seed=seed, quiet=quiet)
    encoded = encode_corpus(corpus, encoders)
    return Partitions(encoded, {n: _read_side(there[n], kind, encoded) for n, kind in UNSEEN.items() if n in there})


def _read_side(path: Path, kind: Kind, encoded: EncodedCorpus) -> Side:
    policy = encoded.corpus.policy
    samples = read_side([path], kind, policy.domain.name)
    pairs = [(s, read_answer(s.answer, policy)) for s in samples]
    kept = [(s, r) for s, r in pairs if never_judged(r, policy) is None]
    rows = rows_of_many(encoded.fusion, encoded.reader, [s.answer for s, _ in kept], [r for _, r in kept],
                        encoded.encoded)
    return Side([s for s, _ in kept], rows, len(pairs) - len(kept))


def fit_configurations(partitions: Partitions, names: Iterable[str] = (*PAPER_CONFIGURATIONS, DEFAULT), *,
                       seed: int = 42) -> tuple[dict[str, Detector], dict[str, DualDensity]]:
    """A detector, calibrated, and its fitted density for each configuration; the same rows serve all.

    Raises UsageError for an unknown name.
    """
    found: dict[str, Detector] = {}
    duals: dict[str, DualDensity] = {}
    for name in names:
        if name != DEFAULT and name not in CONFIGURATIONS:
            raise UsageError(f"there is no configuration {name!r}: expected some of "
                             f"{', '.join((*CONFIGURATIONS, DEFAULT))}")
        density, borderline = (DEFAULT_DENSITY, True) if name == DEFAULT else CONFIGURATIONS[name]
        duals[name] = DualDensity(density, random_state=seed)
        if name == DEFAULT:
            found[name] = fit_detector(partitions.corpus, duals[name], decides=DEFAULT_DISCRIMINATOR, seed=seed)
        else:
            found[name] = fit_detector(partitions.corpus, duals[name], decides=DENSITY, kinds=(),
                                       borderline=borderline, seed=seed, percentile=PAPER_PERCENTILE)
    return found, duals


def evaluate_pairings(partitions: Partitions, detectors: Mapping[str, Detector]) -> dict[str, dict[str, Figures]]:
    """Figures by configuration and pairing.

    Each holds `auroc, fpr95, fpr90, fpr_tau0, tpr_tau0, abstain_safe, abstain_unsafe, n_kept, point, fpr_point,
    tpr_point` of the texts that the detector does not abstain on, the same of all texts under `full`, and of the
    pairings against borderline texts the shares flagged by subtype under `subtypes`. Every leaf but `point`, the name
    of the domain's default operating point, is an Estimate. Pairings whose partitions are not there are left out.
    """
    point = partitions.corpus.corpus.policy.point
    found: dict[str, dict[str, Figures]] = {}
    for name, detector in detectors.items():
        scored: dict[str, Scores] = {}
        found[name] = {}
        for pairing, sides in PAIRINGS.items():
            given = [partitions.side(s) for s in sides]
            if any(side is None or not side.samples for side in given):
                continue
            for which, side in zip(sides, given, strict=True):
                if which not in scored and side is not None:
                    scored[which] = detector.score(side.rows)
            unsafe, safe = (scored[s] for s in sides)
            found[name][pairing] = _figures(unsafe, safe, detector.tau(point), point)
            negatives = given[1]
            if negatives is not None and any(negatives.subtypes):
                found[name][pairing]["subtypes"] = _by_subtype(safe, negatives.subtypes, detector.tau(point))
    return found


def _figures(unsafe: Scores, safe: Scores, tau: float, point: str) -> Figures:
    """Of those that are kept, with all of them under `full`."""
    abstain = {"abstain_safe": _share(safe.abstains, "negative"), "abstain_unsafe": _share(unsafe.abstains, "unsafe")}
    every = _population(unsafe.delta, safe.delta, tau, point) | abstain
    kept = _population(unsafe.delta[unsafe.kept], safe.delta[safe.kept], tau, point) | abstain
    return kept | {"full": every}


def _population(unsafe: NDArray[np.float64], safe: NDArray[np.float64], tau: float, point: str) -> Figures:
    figures = population(unsafe, safe, {"tau0": 0.0, "point": tau}, "negative")
    return {**figures, "n_kept": count(unsafe.size + safe.size, unsafe.size, safe.size), "point": point}


def count(n: int, n_pos: int, n_neg: int) -> Estimate:
    """A number of texts, which is exact."""
    return Estimate(float(n), float(n), float(n), n=n, n_pos=n_pos, n_neg=n_neg, unit=UNIT, method="count")


def _by_subtype(scores: Scores, subtypes: NDArray[np.str_], tau: float) -> dict[str, dict[str, Estimate]]:
    """FPR at τ = 0 and at the point, and abstentions, of all texts of each subtype (paper, Table VII)."""
    found = {}
    for name in sorted(set(subtypes) - {""}):
        among = scores.of(subtypes == name)
        found[str(name)] = {"fpr_tau0": _share(among.delta > 0, "negative"),
                            "fpr_point": _share(among.delta > tau, "negative"),
                            "abstain": _share(among.abstains, "negative")}
    return found


def _share(hits: NDArray[np.bool_], of: str) -> Estimate:
    return share_estimate(hits, unit=UNIT, of=f"{of} texts")


def _among(rows: Rows, chosen: NDArray[np.bool_]) -> Rows:
    """The rows of some answers, numbered anew."""
    owners = chosen[rows.owner]
    return Rows(rows.features[owners], (np.cumsum(chosen) - 1)[rows.owner[owners]], rows.evidence[chosen])
