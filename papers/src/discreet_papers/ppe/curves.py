"""How the borderline figures move with one thing at a time: how many borderline texts are fitted on (IX-B asks for it),
and which encoders read (V-A fuses three).

Figures are of all texts, abstained or not, with intervals by a bootstrap over the texts that are evaluated; how another
draw of the texts that are fitted on would come out is not in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Protocol, TypeAlias

import numpy as np

from discreet.core.records import Estimate
from discreet.stats import bootstrap_roc, percentile_interval, share_estimate
from discreet.stats.roc import RocCore
from discreet_papers.ppe.corpora import PPECorpus
from discreet_papers.ppe.detectors import DetectorSettings, Scored, fit_and_score

__all__ = ["AUGMENTATION", "EVIDENCE", "augmentation", "combinations_of", "encoders", "measured"]

AUGMENTATION = (0, 250, 500, 1_000, 2_000, 4_000)
"""Borderline texts on the safe side: none is v3, the paper's v4 has 4,000."""
EVIDENCE = "evidence"
UNIT, RESAMPLES, TPR = "text", 1_000, 0.95

Rows: TypeAlias = list[dict[str, Any]]


class Fit(Protocol):
    """What `fit_and_score` does."""

    def __call__(self, corpus: PPECorpus, settings: DetectorSettings, *, seed: int) -> Scored:
        """What the detector says of the corpus."""
        ...


def measured(scored: Scored, *, seed: int = 42) -> dict[str, Estimate]:
    """Of unsafe hold-out against borderline texts: AUROC, FPR at 95% TPR, and FPR, TPR and abstention at τ = 0."""
    unsafe, safe = scored.delta["unsafe_holdout"], scored.delta["borderline_eval"]
    core = RocCore.of(np.concatenate([unsafe, safe]), np.repeat([1, 0], [unsafe.size, safe.size]))
    draws = bootstrap_roc(core, [lambda one: one.auroc(), lambda one: one.fpr_at_tpr(TPR)],
                          np.random.default_rng(seed), n_resamples=RESAMPLES)
    found = {}
    for name, value, drawn in zip(("auroc", "fpr95"), (core.auroc(), core.fpr_at_tpr(TPR)), draws, strict=True):
        low, high = percentile_interval(drawn)
        found[name] = Estimate(float(value), min(low, float(value)), max(high, float(value)), n=unsafe.size + safe.size,
                               n_pos=unsafe.size, n_neg=safe.size, unit=UNIT,
                               method=f"percentile bootstrap over {UNIT}s, {RESAMPLES} resamples")
    return {**found, "fpr_tau0": share_estimate(safe > 0, unit=UNIT, of="borderline texts"),
            "tpr_tau0": share_estimate(unsafe > 0, unit=UNIT, of="unsafe texts"),
            "abstain": share_estimate(scored.abstains["borderline_eval"], unit=UNIT, of="borderline texts")}


def augmentation(corpus: PPECorpus, detectors: Sequence[DetectorSettings], sizes: Sequence[int] = AUGMENTATION, *,
                 seed: int = 42, fit: Fit = fit_and_score) -> Rows:
    """A row for each detector and number of borderline texts on the safe side, fewest first.

    The texts are drawn once, and each number takes the first of them: what a step adds is new texts and nothing else.
    Numbers that the corpus cannot fill are left out. With 0 the detector is its v3. `fit` may keep what it has made.
    """
    order = np.random.default_rng((seed, len(AUGMENTATION))).permutation(len(corpus.records["borderline_fit"]))
    rows: Rows = []
    for n in sorted(size for size in sizes if size <= order.size):
        some = order[:n]
        fewer = replace(
            corpus, key=f"{corpus.key}, {n} borderline texts",
            vectors={**corpus.vectors, "borderline_fit": corpus.vectors["borderline_fit"][some]},
            records={**corpus.records, "borderline_fit": [corpus.records["borderline_fit"][at] for at in some]})
        for one in detectors:
            scored = fit(fewer, replace(one, v4=n > 0), seed=seed)
            rows.append({"domain": corpus.domain.name, "detector": one.name, "density": one.density, "borderline": n,
                         "safe": len(corpus.records["safe_fit"]), **measured(scored, seed=seed),
                         "facts": dict(scored.facts)})
    return rows


def combinations_of(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Each encoder alone, each pair, all where there are three or more; then EVIDENCE alone, and each with it."""
    most = [names] if len(names) > 2 else []
    alone = [*((name,) for name in names), *combinations(names, 2), *map(tuple, most)]
    yield from alone
    yield (EVIDENCE,)
    yield from ((*one, EVIDENCE) for one in alone)


def encoders(read: Callable[[str], PPECorpus], names: Sequence[str], detectors: Sequence[DetectorSettings], *,
             seed: int = 42, fit: Fit = fit_and_score) -> Rows:
    """A row for each detector and combination of encoders; `read` gives the corpus of a value of `--encoders`."""
    rows: Rows = []
    for some in combinations_of(names):
        corpus = read(",".join(some))
        for one in detectors:
            scored = fit(corpus, one, seed=seed)
            rows.append({"domain": corpus.domain.name, "detector": one.name, "encoders": "+".join(some),
                         "evidence": EVIDENCE in some, "dims": list(corpus.dims), **measured(scored, seed=seed),
                         "facts": dict(scored.facts)})
    return rows
