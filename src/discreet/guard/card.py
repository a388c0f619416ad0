"""The card of a fitted guard: what it was fitted on, what it keeps of that, and how well it does on held-out texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import __version__
from discreet.core.files import KeyedHash
from discreet.core.records import Estimate
from discreet.guard.corpus import SHARES, Corpus
from discreet.guard.detector import Detector, Rows
from discreet.guard.discriminators import DENSITY
from discreet.guard.dual_density import DualDensity
from discreet.guard.points import THETA_PERCENTILE, Costs
from discreet.stats import auroc_estimate, fpr_at_tpr_estimate, share_estimate

UNIT = "text"


def card_of(corpus: Corpus, evaluated: tuple[NDArray[np.str_], Rows], detector: Detector, dual: DualDensity, *,
            seed: int, costs: Costs | None = None, percentile: float = THETA_PERCENTILE) -> dict[str, Any]:
    """The card, as plain JSON values; figures are Estimates. `evaluated`: the kind and the rows of held-out texts."""
    hashes, fusion = KeyedHash.from_environment(), detector.fusion
    written = Counter(s.generator for s in corpus.samples if s.generator is not None)
    kept = detector.dual.stored_rows()
    data = {
        "files": [{"side": kind, "name": path.name, "hash": hashes.of_file(path)} for kind, path in corpus.files],
        "hash_key": hashes.scope,
        "lineages": dict(sorted(Counter(s.lineage for s in corpus.samples if s.lineage).items())),
        "generators": dict(sorted(written.items())), "machine_written": sum(written.values()) / len(corpus.samples),
    }
    stores = {
        "texts": 0, "words": 0, "training_embeddings": dict(kept),
        "note": "support vectors are embeddings of training texts: who holds the folder holds them"
        if any(kept.values()) else "no embedding of a training text: weights, means and covariances only",
    }
    return {
        "discreet": __version__, "made": datetime.now(UTC).isoformat(timespec="seconds"), "seed": seed,
        "policy": corpus.policy.label(), "data": data, "counts": dict(corpus.counts),
        "sets": {"shares": list(SHARES), "theta_percentile": percentile},
        "encoders": [{"kind": e.kind, "name": e.name, "dim": e.dim, "weight": w}
                     for e, w in zip(fusion.encoders, fusion.weights, strict=True)],
        "density": {"kind": dual.density, "features": dual.features, "scale": dual.scale, "nu": dual.nu_,
                    "components": None if dual.components_ is None else dual.components_.to_json(),
                    "sweep": None if dual.sweep_ is None else {f"{nu:g}": a for nu, a in dual.sweep_.mean.items()}},
        "costs": None if costs is None else costs.to_json(), "stores": stores,
        "metrics": _metrics(*evaluated, detector),
    }


def _metrics(kinds: NDArray[np.str_], rows: Rows, detector: Detector) -> dict[str, Any]:
    """Figures of the density and every discriminator, within and against borderline texts.

    `kept` without abstentions, `full` with all; under `abstain` the share of abstentions on each side.
    """
    sigmas = detector.dual.sigmas(rows.features)
    found: dict[str, Any] = {}
    for decides in (DENSITY, *detector.discriminators):
        one = detector.deciding(decides)
        scores = one.score(rows, sigmas)
        found[decides] = {}
        for pairing, negatives in (("within", "safe"), ("borderline", "borderline")):
            if not np.any(kinds == negatives):
                continue
            sides = [scores.of(kinds == kind) for kind in ("unsafe", negatives)]
            unsafe, safe = sides
            figures = {
                "kept": population(unsafe.delta[unsafe.kept], safe.delta[safe.kept], one.points[decides]),
                "full": population(unsafe.delta, safe.delta, one.points[decides]),
                "abstain": {"safe": share_estimate(safe.abstains, unit=UNIT, of="safe texts"),
                            "unsafe": share_estimate(unsafe.abstains, unit=UNIT, of="unsafe texts")},
            }
            found[decides][pairing] = {k: {n: e.to_json() for n, e in v.items()} for k, v in figures.items()}
    return found


def population(unsafe: NDArray[np.float64], safe: NDArray[np.float64], taus: Mapping[str, float],
               negatives: str = "safe") -> dict[str, Estimate]:
    """AUROC, FPR at 95% and 90% TPR, and TPR and FPR at each τ, of δ of both sides (n,), (m,)."""
    scores, labels = np.concatenate([unsafe, safe]), np.repeat([True, False], [unsafe.size, safe.size])
    found = {
        "auroc": auroc_estimate(scores, labels, unit=UNIT),
        "fpr95": fpr_at_tpr_estimate(scores, labels, 0.95, unit=UNIT),
        "fpr90": fpr_at_tpr_estimate(scores, labels, 0.90, unit=UNIT),
    }
    for name, tau in taus.items():
        found[f"tpr_{name}"] = share_estimate(unsafe > tau, unit=UNIT, of="unsafe texts")
        found[f"fpr_{name}"] = share_estimate(safe > tau, unit=UNIT, of=f"{negatives} texts")
    return found
