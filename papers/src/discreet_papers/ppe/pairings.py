"""The paper's evaluation pairings (VI-A) over partitions of safe, unsafe and borderline texts, for several detectors.

`within`           unsafe against safe texts of the evaluation set
`cross_generator`  unsafe texts of an unseen writer against the same safe texts
`borderline`       the unsafe texts of `within` against borderline texts of an unseen writer: the stress test
`matched`          unsafe against borderline texts of one and the same unseen writer

θ and τ come from the calibration set, once, and serve in every pairing. Layer 2 sees what layer 1 lets pass.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from discreet.core.errors import InputError, UsageError
from discreet.core.records import Estimate
from discreet.core.types import BoolArray, FloatArray
from discreet.guard import fit
from discreet.guard.density.corpus import Kind, Sample, never_judged, read_corpus, read_side
from discreet.guard.density.detector import Detector, Rows, rows_of
from discreet.guard.density.discriminators import DENSITY
from discreet.guard.density.dual_density import DualDensity
from discreet.guard.density.points import PAPER_PERCENTILE
from discreet.guard.policy import Policy
from discreet.guard.reading import read_answer
from discreet.inputs.encode.base import Encoder
from discreet.stats import share_estimate

DEFAULT = "default"
CONFIGURATIONS = {f"{density}-{version}": (density, version == "v4") for density in ("gmm", "ocsvm", "rff")
                  for version in ("v3", "v4")}
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


class Side(NamedTuple):
    """Texts of one partition as rows."""

    samples: Sequence[Sample]
    rows: Rows


@dataclass(frozen=True, slots=True, eq=False)
class Partitions:
    """What a study of one domain fits on and evaluates on."""

    corpus: fit.EncodedCorpus
    unseen: Mapping[str, Side]

    def side(self, name: str) -> Side | None:
        """The texts that a partition evaluates with; None where there are none."""
        if name in UNSEEN:
            return self.unseen.get(name)
        rows, chosen = self.corpus.held["evaluation"], self.corpus.kinds("evaluation") == name
        return Side([s for s in self.corpus.corpus.of("evaluation")[0] if s.kind == name],
                    rows.of(chosen))


def read_partitions(folder: Path | str, policy: Policy, encoders: Sequence[Encoder], *, seed: int = 42,
                    quiet: bool = True) -> Partitions:
    """Read and encode the partitions of a folder: `safe.jsonl`, `unsafe.jsonl`, and of the others what is there.

    InputError where safe or unsafe texts are missing or too few, or a file cannot be read.
    """
    home = Path(folder)
    there = {n: home / f"{n}.jsonl" for n in ("safe", "unsafe", "borderline", *UNSEEN)
             if (home / f"{n}.jsonl").is_file()}
    for name in ("safe", "unsafe"):
        if name not in there:
            raise InputError(f"{home} has no {name}.jsonl: expected the folder that 'discreet synth run' leaves, or "
                             "one with partitions of those names")
    corpus = read_corpus(policy, there["safe"], there["unsafe"], there.get("borderline", ()), seed=seed, quiet=quiet)
    encoded = fit.encode_corpus(corpus, encoders)
    unseen = {}
    for name, kind in UNSEEN.items():
        if name in there:
            samples = read_side(there[name], kind, policy.domain.name)
            read = [(s, read_answer(s.answer, policy)) for s in samples]
            kept = [(s, r) for s, r in read if never_judged(r, policy) is None]
            unseen[name] = Side([s for s, _ in kept], rows_of(encoded.fusion, encoded.reader, [r for _, r in kept],
                                                              encoded.encoded, policy))
    return Partitions(encoded, unseen)


def fit_configurations(partitions: Partitions, names: Iterable[str] = (*PAPER_CONFIGURATIONS, DEFAULT), *,
                       seed: int = 42) -> tuple[dict[str, Detector], dict[str, DualDensity]]:
    """A detector, calibrated, and its fitted density for each configuration; the same rows serve all.

    Raises UsageError for an unknown name.
    """
    found: dict[str, Detector] = {}
    duals: dict[str, DualDensity] = {}
    for name in names:
        if name == DEFAULT:
            duals[name] = DualDensity(fit.DEFAULT_DENSITY, random_state=seed)
            found[name] = fit.fit_detector(partitions.corpus, duals[name], seed=seed)
        elif name in CONFIGURATIONS:
            density, borderline = CONFIGURATIONS[name]
            duals[name] = DualDensity(density, random_state=seed)
            found[name] = fit.fit_detector(partitions.corpus, duals[name], decides=DENSITY, kinds=(), seed=seed,
                                           gate="fitted", borderline=borderline, percentile=PAPER_PERCENTILE)
        else:
            raise UsageError(
                f"there is no configuration {name!r}: expected some of {', '.join((*CONFIGURATIONS, DEFAULT))}"
            )
    return found, duals


def evaluate_pairings(partitions: Partitions, detectors: Mapping[str, Detector]) -> dict[str, dict[str, Any]]:
    """Figures by configuration and pairing.

    Each holds `auroc, fpr95, fpr90, fpr_tau0, tpr_tau0, abstain_safe, abstain_unsafe, n_kept, point, fpr_point,
    tpr_point` of the texts that the detector does not abstain on, the same of all texts under `full`, and by subtype of
    borderline texts under `subtypes` (paper, Table VII). Every leaf but `point`, the name of the domain's default
    operating point, is an Estimate. Pairings whose partitions are not there are left out.
    """
    point = partitions.corpus.corpus.policy.point
    sides = {name: side for pairing in PAIRINGS.values() for name in pairing
             if (side := partitions.side(name)) is not None and side.samples}
    found: dict[str, dict[str, Any]] = {}
    for configuration, detector in detectors.items():
        scores, tau = {name: detector.score(side.rows) for name, side in sides.items()}, detector.tau(point)
        found[configuration] = {}
        for pairing, (positives, negatives) in PAIRINGS.items():
            if positives not in sides or negatives not in sides:
                continue
            unsafe, safe = scores[positives], scores[negatives]
            abstain = {"abstain_safe": _share(safe.abstains), "abstain_unsafe": _share(unsafe.abstains, "unsafe")}
            figures = {**_population(unsafe.delta[unsafe.kept], safe.delta[safe.kept], tau, point), **abstain,
                       "full": _population(unsafe.delta, safe.delta, tau, point) | abstain}
            subtypes = np.array([s.subtype or "" for s in sides[negatives].samples])
            if any(subtypes):
                figures["subtypes"] = {}
                for name in sorted(set(subtypes) - {""}):
                    among = safe.of(subtypes == name)
                    figures["subtypes"][str(name)] = {
                        "fpr_tau0": _share(among.delta > 0), "fpr_point": _share(among.delta > tau),
                        "abstain": _share(among.abstains)}
            found[configuration][pairing] = figures
    return found


def _population(unsafe: FloatArray, safe: FloatArray, tau: float, point: str) -> dict[str, Any]:
    n = float(unsafe.size + safe.size)
    kept = Estimate(n, n, n, n=int(n), n_pos=unsafe.size, n_neg=safe.size, unit=fit.UNIT, method="count")
    return {**fit.population(unsafe, safe, {"tau0": 0.0, "point": tau}, "negative"), "n_kept": kept, "point": point}


def _share(hits: BoolArray, of: str = "negative") -> Estimate:
    return share_estimate(hits, unit=fit.UNIT, of=f"{of} texts")
