"""Whether two models of a table are one model: its scores rescaled, rounded, or with a little noise on them.

What such copies keep is the order of the examples. Two models that were trained apart agree about easy and hard
examples, but not about which of two alike ones is the easier: their rank correlation stays below `COPY`.
"""

from __future__ import annotations

import numpy as np

from discreet.core.types import FloatArray, IntArray
from discreet.scores.signals import phi, query_mean
from discreet.scores.table import ScoreTable

COPY = 0.9999
"""Rank correlation from which two models are one."""

DISTINCT = 50
"""Distinct values of the coarser model without which nothing is said: few values, as of hard labels, may agree."""

SCREENED = 1024
NEAR = 0.99
"""A sample of so many examples clears two models whose rank correlation there is not even this."""


class Shown:
    """What the models of a table show, for comparing them two at a time; computed once a model."""

    def __init__(self, table: ScoreTable) -> None:
        self._table = table
        self._sample = np.arange(0, len(table.examples), max(1, len(table.examples) // SCREENED))
        self._all = np.arange(len(table.examples))
        self._kept: dict[tuple[int, bool], list[FloatArray]] = {}

    def copies(self, one: int, other: int) -> bool:
        """Whether models `one` and `other` order the examples alike, by any of `signals`."""
        pairs = zip(self._signals(one, False), self._signals(other, False), strict=True)
        near = [order_agreement(a, b) for a, b in pairs]
        if all(found is not None and found < NEAR for found in near):
            return False
        pairs = zip(self._signals(one, True), self._signals(other, True), strict=True)
        return any((order_agreement(a, b) or 0.0) > COPY for a, b in pairs)

    def _signals(self, model: int, whole: bool) -> list[FloatArray]:
        if (model, whole) not in self._kept:
            rows = self._all if whole else self._sample
            self._kept[model, whole] = signals(self._table.logits[model, rows], self._table.examples.label[rows],
                                               self._table.given_as == "prob")
        return self._kept[model, whole]


def signals(logits: FloatArray, label: IntArray, as_prob: bool = False) -> list[FloatArray]:
    """What of (n, Q, K) logits is compared, (n,) each: the label's log odds, and its logit less the mean logit.

    Rounded probabilities keep the order of the first, rescaled logits of more than two classes that of the second;
    of two classes they are one. With `as_prob` the logits are logs of probabilities that may be rounded; the label's
    then stands for its log odds, for rounding every class on its own moves these.
    """
    chosen = np.take_along_axis(logits, label[:, None, None], axis=-1)[..., 0]
    found = [query_mean(chosen if as_prob else phi(logits, label))]
    if logits.shape[-1] > 2:
        found.append(query_mean(chosen - logits.mean(axis=-1)))
    return found


def order_agreement(one: FloatArray, other: FloatArray) -> float | None:
    """Spearman's rank correlation of two (n,) arrays over one example for each value of the coarser array.

    Rounding ties examples and saturation ties most of them; so of equal values only the first counts. Examples that
    are not finite in both are left out. None with fewer than `DISTINCT` values, or where nothing varies.
    """
    both = np.isfinite(one) & np.isfinite(other)
    values = [one[both], other[both]]
    firsts = [np.unique(part, return_index=True)[1] for part in values]
    kept = min(firsts, key=len)
    if kept.size < DISTINCT:
        return None
    ranks = [_midranks(part[kept]) for part in values]
    spread = [float(np.sqrt((part * part).sum())) for part in ranks]
    return None if not min(spread) > 0.0 else float(ranks[0] @ ranks[1]) / (spread[0] * spread[1])


def _midranks(values: FloatArray) -> FloatArray:
    """Ranks from 1, equal values sharing theirs, less their mean."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks = (last - (counts - 1) / 2.0)[place.reshape(-1)]
    return np.asarray(ranks - ranks.mean(), dtype=np.float64)
