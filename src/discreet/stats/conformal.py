"""Which records are unlike all controls: conformal p values of one score or of several, and q values over records."""

from __future__ import annotations

from math import ceil

import numpy as np
from numpy.typing import ArrayLike

from discreet.core.types import FloatArray
from discreet.stats.arrays import finite_scores, group_codes, midranks, scipy_module, share


def conformal_p(scores: ArrayLike, controls: ArrayLike, groups: ArrayLike | None = None) -> FloatArray:
    """(m,) p values of `scores` (m,) against those of n >= 1 `controls` (n,), higher = more unlike them.

    (1 + controls with such a score or a higher one) / (n + 1), never below 1 / (n + 1): for a record that is
    exchangeable with the controls P(p <= α) <= α (Vovk et al. 2005). With `groups` (n,) each group of controls counts
    as one, its records in equal shares (Lee, Barber & Willett 2023, hierarchical conformal prediction). ValueError
    without controls.
    """
    values, held = finite_scores(scores), finite_scores(controls, "controls")
    if not held.size:
        raise ValueError("there are no controls: expected the scores of at least one")
    if groups is None:
        held.sort()
        n, at_least = held.size, held.size - np.searchsorted(held, values, side="left")
    else:
        group = group_codes(groups, held.size)
        sizes = np.bincount(group)
        order, n = np.argsort(held, kind="stable"), sizes.size
        weights = np.append(np.cumsum((1.0 / sizes[group])[order][::-1])[::-1], 0.0)
        at_least = weights[np.searchsorted(held[order], values, side="left")]
    found = (1.0 + at_least) / (n + 1.0)
    return np.asarray(np.minimum(found, 1.0), dtype=np.float64)


def joint_scores(scores: FloatArray) -> FloatArray:
    """(n,) one score of k scores (k, n) of the same records: the mean of their normal scores, Φ⁻¹((rank − ½) / n).

    Ranks are among all records given, tests and controls together, whichever is which; a missing score (NaN) counts as
    Φ⁻¹(½) = 0. Such a score keeps test records
    that are exchangeable with controls exchangeable with them, so that its conformal p values are exact and
    Benjamini–Hochberg controls the false share (Marandon, Lei, Mary & Roquain, Annals of Statistics 2024, on adaptive
    novelty detection). Corrections over k attacks need k times as many controls; this score needs no more than one.
    """
    ndtri = scipy_module("special", "the joint score of several attacks").ndtri
    total = np.zeros(scores.shape[1])
    for one in scores:
        known = np.isfinite(one)
        total[known] += ndtri((midranks(one[known]) - 0.5) / max(int(known.sum()), 1))
    # Equal sums must stay ties whatever the order of addition.
    return np.asarray((total / len(scores)).round(12), dtype=np.float64)


def benjamini_hochberg(p_values: ArrayLike) -> FloatArray:
    """Benjamini & Hochberg's (1995) adjusted p values (k,), in the order given, called q values here.

    Of the records with q <= α, a share of at most α is expected to be null: for p values that are independent or
    positively dependent, as conformal ones are (Bates et al. 2023).
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0.0) & (p <= 1.0)).all():
        raise ValueError(f"p values have shape {p.shape}: expected (k,) numbers from 0 to 1")
    order = np.argsort(p, kind="stable")
    scaled = p[order] * p.size / np.arange(1, p.size + 1)
    q = np.empty_like(p)
    q[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return q


def shortest_list(tests: int, controls: int, alpha: float) -> int:
    """Least number of `tests` records that can have q <= `alpha` together, where p is at least 1 / (`controls` + 1).

    Above `tests` none can, whatever their scores.
    """
    return ceil(tests / (share(alpha, "alpha", open_interval=True) * (controls + 1)) - 1e-9)


def controls_needed(tests: int, named: int, alpha: float) -> int:
    """Least number of controls with which a list of `named` >= 1 of `tests` records can have q <= `alpha`."""
    return ceil(tests / (share(alpha, "alpha", open_interval=True) * named) - 1e-9) - 1

