"""The card of a fitted guard: what it was fitted on, what it keeps of that, and how well it does on held-out texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np

from discreet import __version__
from discreet.core.files import KeyedHash
from discreet.guard.defaults import SHARES, THETA_PERCENTILE
from discreet.guard.detector import Detector
from discreet.guard.discriminators import DENSITY
from discreet.guard.dual_density import DualDensity
from discreet.guard.points import Costs
from discreet.guard.prepare import Corpus, EncodedCorpus
from discreet.guard.side_figures import side_figures


def card_of(rows: EncodedCorpus, detector: Detector, dual: DualDensity, *, seed: int,
            costs: Costs | None = None, percentile: float = THETA_PERCENTILE) -> dict[str, Any]:
    """The card, as plain JSON values; figures are Estimates."""
    return {
        "discreet": __version__, "made": datetime.now(UTC).isoformat(timespec="seconds"), "seed": seed,
        "policy": rows.corpus.policy.label(), "data": _data(rows.corpus), "counts": dict(rows.corpus.counts),
        "sets": {"shares": list(SHARES), "theta_percentile": percentile},
        "encoders": [{"kind": e.kind, "name": e.name, "dim": e.dim, "weight": w}
                     for e, w in zip(rows.fusion.encoders, rows.fusion.weights, strict=True)],
        "density": {"kind": dual.density, "features": dual.features, "scale": dual.scale, "nu": dual.nu_,
                    "components": None if dual.components_ is None else dual.components_.to_json(),
                    "sweep": None if dual.sweep_ is None else {f"{nu:g}": a for nu, a in dual.sweep_.mean.items()}},
        "costs": None if costs is None else costs.to_json(), "stores": _stores(detector),
        "metrics": _metrics(rows, detector),
    }  # fmt: skip


def _data(corpus: Corpus) -> dict[str, Any]:
    hashes = KeyedHash.from_environment()
    files = [{"side": kind, "name": path.name, "hash": hashes.of_file(path)} for kind, path in corpus.files]
    written = Counter(s.generator for s in corpus.samples if s.generator is not None)
    return {
        "files": files, "hash_key": hashes.scope,
        "profiles": dict(sorted(Counter(s.profile for s in corpus.samples if s.profile).items())),
        "generators": dict(sorted(written.items())),
        "machine_written": sum(written.values()) / len(corpus.samples),
    }  # fmt: skip


def _stores(detector: Detector) -> dict[str, Any]:
    """What of the training data is in the folder."""
    kept: Mapping[str, int] = detector.dual.stored_rows()
    return {
        "texts": 0, "words": 0, "training_embeddings": dict(kept),
        "note": "support vectors are embeddings of training texts: who holds the folder holds them"
        if any(kept.values()) else "no embedding of a training text: weights, means and covariances only",
    }  # fmt: skip


def _metrics(rows: EncodedCorpus, detector: Detector) -> dict[str, Any]:
    """Figures on the evaluation set, for the density and every discriminator: within, and against borderline texts."""
    sides, held = rows.kinds("evaluation"), rows.held["evaluation"]
    sigmas = detector.dual.sigmas(held.features)
    found: dict[str, Any] = {}
    for kind in (DENSITY, *detector.discriminators):
        one = detector.deciding(kind)
        scores = one.score(held, sigmas)
        found[kind] = {}
        for pairing, negatives in (("within", "safe"), ("borderline", "borderline")):
            among = np.isin(sides, ("unsafe", negatives))
            if np.any(sides == negatives):
                figures = side_figures(scores.of(among), sides[among] == "unsafe", one.points[kind])
                found[kind][pairing] = {k: {n: e.to_json() for n, e in v.items()} for k, v in figures.items()}
    return found
