"""Texts through a model, in an order that knows nothing of membership."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from discreet.core.errors import InputError
from discreet.core.files import progress
from discreet.core.types import FloatArray
from discreet.scores.adapters.cache import ScoreCache
from discreet.scores.adapters.outputs import as_logits
from discreet.scores.adapters.scorer import Scorer

CHUNK_BATCHES = 16
PROBES = 16


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """Scores of n texts: (n, K) logits, whether they were given as probabilities, and by which model."""

    logits: FloatArray
    given_as: Literal["logit", "prob"]
    fingerprint: str


def score_texts(scorer: Scorer, texts: Sequence[str], *, batch: int = 16, cache: Path | None = None,
                quiet: bool = True, label: str = "scores") -> Run:
    """Score each distinct text once.

    Texts go through the model in the order of a hash of theirs: were members scored first and non-members after
    them, whatever drifts in a service or depends on batch mates would tell the two apart. With `cache` each chunk is
    kept as soon as it is scored; a later run scores only what is missing. Raises InputError for scores that are
    neither logits nor probabilities.
    """
    order = sorted(set(texts), key=lambda text: hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
    fingerprint = scorer.fingerprint(order[:PROBES])
    kept = None if cache is None else ScoreCache(cache, fingerprint)
    step = CHUNK_BATCHES * batch
    chunks = [order[start : start + step] for start in range(0, len(order), step)]
    parts = [_chunk(scorer, chunk, kept) for chunk in progress(chunks, len(chunks), quiet=quiet, label=label)]
    if len({part.shape[1:] for part in parts}) > 1:
        raise InputError(f"{scorer.name}: the number of classes is not the same for all texts; expected one model")
    logits, given_as = as_logits(np.concatenate(parts), scorer.kind, scorer.name)
    row = {text: place for place, text in enumerate(order)}
    return Run(logits[[row[text] for text in texts]], given_as, fingerprint)


def _chunk(scorer: Scorer, texts: list[str], kept: ScoreCache | None) -> FloatArray:
    known = {} if kept is None else {text: row for text in texts if (row := kept.get(text)) is not None}
    missing = [text for text in texts if text not in known]
    if missing:
        fresh = np.asarray(scorer.outputs(missing), dtype=np.float64)
        if kept is not None and np.isfinite(fresh).all():
            kept.put(missing, fresh)
        if not known:
            return fresh
        known.update(zip(missing, fresh, strict=True))
    if len({row.shape for row in known.values()}) > 1:
        raise InputError(f"{scorer.name}: the number of classes is not that of scores kept before; empty the cache")
    return np.stack([known[text] for text in texts])
