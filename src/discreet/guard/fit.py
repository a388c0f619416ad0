"""Fit a guard: read, split, encode, fit, calibrate, evaluate, save.

Fit, calibration and evaluation are three sets that share no text and no group. ν is chosen by five folds inside the
first; θ and τ come from the second; the figures of the card from the third.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np
from numpy.typing import NDArray

from discreet import __version__
from discreet.core.errors import UsageError
from discreet.core.files import KeyedHash
from discreet.core.onnx import Device
from discreet.core.records import Estimate, plain
from discreet.core.types import FloatArray
from discreet.guard.density.base import densities
from discreet.guard.density.corpus import PARTS, SHARES, Corpus, Part, Texts, read_corpus
from discreet.guard.density.detector import ENCODED, GATES, Detector, Encoded, Gate, Rows, detected_in, rows_of, text_of
from discreet.guard.density.discriminators import DENSITY, DISCRIMINATORS, given
from discreet.guard.density.dual_density import FEATURES, DualDensity
from discreet.guard.density.encoders.evidence import EvidenceEncoder
from discreet.guard.density.points import THETA_PERCENTILE, Costs, operating_points, thetas
from discreet.guard.density.professional import weights
from discreet.guard.domains import DomainLike, load_domain
from discreet.guard.guard import Guard
from discreet.guard.policy import Policy
from discreet.guard.score import odds
from discreet.inputs.encode.base import Encoder
from discreet.inputs.encode.fusion import Fusion
from discreet.inputs.encode.presets import build_encoders, default_cache
from discreet.stats import auroc_estimate, fpr_at_tpr_estimate, share_estimate

UNIT = "text"
EVERY = tuple(DISCRIMINATORS)
DEFAULT_DISCRIMINATOR = "odds+logistic"
"""What decides between safe and flag: what did best on unseen writers (`docs/results/guard.md`)."""
STORED = {"embedding": "support vectors", "typicality": "neighbours, all rows of the fit set,"}
DEFAULT_DENSITY = "ocsvm"
"""The paper's T3+OCSVM (V-B)."""


@dataclass(frozen=True, slots=True, eq=False)
class EncodedCorpus:
    """A corpus as rows: of the fit set `features` (n, dim) and `evidence` (n, k), float32, a row a text, and `odds`
    (n, 2) under the policy of the corpus; of the calibration and the evaluation set what is `held`."""

    corpus: Corpus
    encoded: Encoded
    fusion: Fusion
    reader: EvidenceEncoder
    features: NDArray[np.float32] = field(repr=False)
    evidence: NDArray[np.float32] = field(repr=False)
    held: Mapping[Part, Rows] = field(repr=False)
    odds: FloatArray = field(repr=False)

    def kinds(self, part: Part) -> NDArray[np.str_]:
        """ "safe", "unsafe" or "borderline" of each text of a set."""
        return np.array([sample.kind for sample in self.corpus.of(part)[0]])


def fit_guard(domain: DomainLike, safe: Texts, unsafe: Texts, borderline: Texts | None = None, *,
              encoders: str | Sequence[Encoder] | None = None, density: str = DEFAULT_DENSITY,
              features: str = "embedding", discriminator: str = DEFAULT_DISCRIMINATOR, seed: int = 42,
              out: Path | str | None = None, cache: Path | str | None = None, policy: Policy | None = None,
              encoded: Encoded = "answer", costs: Costs | None = None, quiet: bool = True,
              gate: str = "professional", device: Device = "cpu") -> Guard:
    """Fit a guard on texts of both sides.

    InputError, UsageError or MissingExtraError for files that cannot be read, too few texts of a side, an impossible
    option, a package that is missing.

    Parameters
    ----------
    domain, policy : Domain, str or Path; Policy, optional
        Name of a built-in domain, or the folder of one; by default with the policy there.
    safe, unsafe, borderline : path, list of str, of mappings, of Answer or of Path
        At least 40 distinct texts each that do not leak, and that do; optionally texts in the voice of a leak without
        one. A file (JSON Lines, CSV, Parquet) has `id, answer` and, if they are there, `question, kind, domain, group`;
        so have mappings, whose `id` may be left out. The safe side of the density is safe + borderline (the paper's
        v4; without borderline texts its v3).
    encoders : str or sequence of Encoder, optional
        See `inputs.encode.presets`; by default "reader".
    density : str
        A name in the registry of densities, "ocsvm", "gmm" or "rff".
    features : {"embedding", "typicality"}
        What the density reads: embeddings, or where they lie among those of each class, encoder by encoder
        (`typicality.py`); the folder then holds the embeddings of all texts of the fit set.
    discriminator : str
        Whose δ decides between safe and flag: "density", or one of `DISCRIMINATORS`. All are fitted and saved.
    out, cache : path, optional
        Where the guard is saved; where exported encoders are kept (by default the user's cache folder).
    encoded : {"answer", "question+answer"}
        What the encoders of pieces read.
    costs : Costs, optional
        Adds the operating point "costs".
    gate : {"professional", "fitted"}
        What an answer must be unlike to be out of distribution: broad professional text, by the reader's vectors, or
        the fitted texts of both sides, by the density (paper V-D).
    device : {"cpu", "cuda"}
        Where transformers encode the fit set: on a GPU in batches, with onnxruntime-gpu. Whatever is calibrated,
        evaluated and judged is encoded text by text on the CPU, so that a score does not depend on what came with it.
    """
    for name, chosen, known in (("discriminator", discriminator, (DENSITY, *EVERY)), ("density", density, densities),
                                ("features", features, FEATURES), ("encoded", encoded, ENCODED),
                                ("gate", gate, GATES),
                                ("device", device, get_args(Device))):
        if chosen not in tuple(known):
            raise UsageError(f"--{name} {chosen!r}: expected one of {', '.join(known)}")
    domain = load_domain(domain)
    policy = policy or Policy.of(domain)
    if policy.domain != domain:
        raise UsageError(f"--domain is {domain.name!r}, but the policy is for {policy.domain.name!r}; expected the "
                         "same domain")
    corpus = read_corpus(policy, safe, unsafe, () if borderline is None else borderline, seed=seed, quiet=quiet)
    encoders = "reader" if encoders is None else encoders
    if isinstance(encoders, str):
        encoders = build_encoders(encoders, domain=domain, cache=Path(cache) if cache else default_cache())
    rows = encode_corpus(corpus, encoders, encoded, device)
    widths = tuple(encoder.dim for encoder in rows.fusion.encoders)
    dual = DualDensity(density, features=features, widths=widths, random_state=seed)
    detector = fit_detector(rows, dual, decides=discriminator, seed=seed, costs=costs, gate=cast(Gate, gate))
    card = card_of(rows, detector, dual, seed=seed, costs=costs) | {"fitted_on": device}
    guard = Guard(policy, detector=detector, card=card)
    if out is not None:
        guard.save(out)
    return guard


def encode_corpus(corpus: Corpus, encoders: Sequence[Encoder], encoded: Encoded = "answer",
                  device: Device = "cpu") -> EncodedCorpus:
    """The rows of every set; the encoders are weighed on the fit set, which is encoded on `device`.

    A row of the fit set stands for a whole answer: what a long text says in the mean is what its class is like.
    """
    reader = EvidenceEncoder(corpus.policy.domain)
    _, reads = corpus.of("fit")
    readings = [detected_in(read) for read in reads]
    texts = [text_of(read, encoded) for read in reads]
    seen = np.array([odds(read, corpus.policy) for read in reads], dtype=np.float64)
    fusion, features = Fusion.fit_encode(encoders, texts, readings=readings, device=device)
    held: dict[Part, Rows] = {}
    for part in PARTS[1:]:
        _, reads = corpus.of(part)
        held[part] = rows_of(fusion, reader, reads, encoded, corpus.policy)
    return EncodedCorpus(corpus, encoded, fusion, reader, features, reader.rows(readings), held, seen)


def fit_detector(rows: EncodedCorpus, dual: DualDensity, *, decides: str | None = None,
                 kinds: Sequence[str] | None = None, borderline: bool = True, seed: int = 42,
                 costs: Costs | None = None, percentile: float = THETA_PERCENTILE, gate: Gate = "professional"
                 ) -> Detector:
    """Densities and discriminators on the fit set, thresholds on the calibration set.

    `dual` is fitted in place. `kinds` are the discriminators to fit, by default all that can be; `decides` is one of
    them or "density"; it and the `gate` are by default as in `fit_guard`. Without `borderline` the safe texts alone are
    the safe side, of fit and calibration (v3). θ stands at `percentile` of each side's calibration scores, τ of every
    discriminator comes from what the gate keeps.
    """
    kinds = EVERY if kinds is None else kinds
    decides = decides or DEFAULT_DISCRIMINATOR
    wanted = ["safe", "unsafe", *(["borderline"] if borderline else [])]
    among = np.isin(rows.kinds("fit"), wanted)
    labels = (rows.kinds("fit")[among] == "unsafe").astype(np.int64)
    dual.fit(rows.features[among], labels)
    draws = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(len(EVERY))]
    found = {}
    for kind in kinds:
        x = given(DISCRIMINATORS[kind].reads, rows.features, rows.evidence, rows.odds)
        found[kind] = DISCRIMINATORS[kind].fit(x[among], labels, rng=draws[EVERY.index(kind)])
    bare = Detector(rows.corpus.policy.domain, rows.encoded, rows.fusion, rows.reader, dual.fitted_, found, decides,
                    rows.corpus.policy, gate=gate)
    of, held = rows.kinds("calibration"), rows.held["calibration"]
    unsafe = of == "unsafe"
    safe = np.isin(of, wanted) & ~unsafe
    sigmas = dual.fitted_.sigmas(held.features)
    by_density = bare.deciding(DENSITY).score(held, sigmas)
    scale = float(np.std(by_density.delta[safe | unsafe]))
    limits = thetas(by_density.sigmas[safe], by_density.sigmas[unsafe], percentile)
    gated = replace(bare, thetas=limits, spread=scale if scale > 0 else 1.0)
    points = {}
    for kind in (DENSITY, *found):
        scores = gated.deciding(kind).score(held, sigmas)
        # Where a discriminator is sure of nothing, its thresholds are of no consequence, and still must be numbers.
        sides = [side & scores.kept if np.any(side & scores.kept) else side for side in (unsafe, safe)]
        points[kind] = operating_points(scores.delta[sides[0]], scores.delta[sides[1]], costs)
    return replace(gated, points=points)


def card_of(rows: EncodedCorpus, detector: Detector, dual: DualDensity, *, seed: int,
            costs: Costs | None = None) -> dict[str, Any]:
    """The card, as plain JSON values; figures are Estimates, of the evaluation set."""
    corpus, hashes, fusion = rows.corpus, KeyedHash.from_environment(), detector.fusion
    written = Counter(s.generator for s in corpus.samples if s.generator is not None)
    kept = detector.dual.stored_rows()
    data = {"files": [{"side": kind, "name": path.name, "hash": hashes.of_file(path)} for kind, path in corpus.files],
            "hash_key": hashes.scope,
            "profiles": dict(sorted(Counter(s.profile for s in corpus.samples if s.profile).items())),
            "generators": dict(sorted(written.items())), "machine_written": sum(written.values()) / len(corpus.samples)}
    stores = {"texts": 0, "words": 0, "training_embeddings": kept,
              "note": f"{STORED[dual.features]} are embeddings of training texts: who holds the folder holds them"
              if any(kept.values()) else "no embedding of a training text: weights, means and covariances only"}
    encoders = [{"kind": e.kind, "name": e.name, "dim": e.dim, "weight": w}
                for e, w in zip(fusion.encoders, fusion.weights, strict=True)]
    sweep = None if dual.sweep_ is None else {f"{nu:g}": auroc for nu, auroc in dual.sweep_.mean.items()}
    card: dict[str, Any] = plain({
        "discreet": __version__, "made": datetime.now(UTC).isoformat(timespec="seconds"), "seed": seed,
        "policy": corpus.policy.label(), "reader": weights(), "gate": detector.gate,
        "data": data, "counts": corpus.counts,
        "sets": {"shares": list(SHARES), "theta_percentile": THETA_PERCENTILE}, "encoders": encoders,
        "density": {"kind": dual.density, "features": dual.features, "scale": dual.scale, "nu": dual.nu_,
                    "components": dual.components_, "sweep": sweep},
        "costs": costs, "stores": stores,
        "metrics": _metrics(rows.kinds("evaluation"), rows.held["evaluation"], detector),
    })
    return card


def _metrics(kinds: NDArray[np.str_], rows: Rows, detector: Detector) -> dict[str, Any]:
    """Of the density and every discriminator, within and against borderline texts: figures of those `kept`, of all
    (`full`), under `abstain` the share of abstentions on each side, and where the gate is another under
    `abstain_fitted` what is unlike both sides of the density."""
    sigmas = detector.dual.sigmas(rows.features)
    found: dict[str, Any] = {}
    for decides in (DENSITY, *detector.discriminators):
        one = detector.deciding(decides)
        scores, taus = one.score(rows, sigmas), one.points[decides]
        found[decides] = {}
        for pairing, negatives in (("within", "safe"), ("borderline", "borderline")):
            if np.any(kinds == negatives):
                unsafe, safe = (scores.of(kinds == kind) for kind in ("unsafe", negatives))
                found[decides][pairing] = {
                    "kept": population(unsafe.delta[unsafe.kept], safe.delta[safe.kept], taus),
                    "full": population(unsafe.delta, safe.delta, taus),
                    "abstain": {side: share_estimate(scored.abstains, unit=UNIT, of=f"{side} texts")
                                for side, scored in (("safe", safe), ("unsafe", unsafe))}}
                if detector.gate != "fitted":
                    found[decides][pairing]["abstain_fitted"] = {
                        side: share_estimate(detector.thetas.out_of_distribution(scored.sigmas), unit=UNIT,
                                             of=f"{side} texts") for side, scored in (("safe", safe),
                                                                                      ("unsafe", unsafe))}
    return found


def population(unsafe: FloatArray, safe: FloatArray, taus: Mapping[str, float],
               negatives: str = "safe") -> dict[str, Estimate]:
    """AUROC, FPR at 95% and 90% TPR, and TPR and FPR at each τ, of δ of both sides (n,), (m,)."""
    scores, labels = np.concatenate([unsafe, safe]), np.repeat([True, False], [unsafe.size, safe.size])
    found = {"auroc": auroc_estimate(scores, labels, unit=UNIT),
             "fpr95": fpr_at_tpr_estimate(scores, labels, 0.95, unit=UNIT),
             "fpr90": fpr_at_tpr_estimate(scores, labels, 0.90, unit=UNIT)}
    for name, tau in taus.items():
        found[f"tpr_{name}"] = share_estimate(unsafe > tau, unit=UNIT, of="unsafe texts")
        found[f"fpr_{name}"] = share_estimate(safe > tau, unit=UNIT, of=f"{negatives} texts")
    return found
