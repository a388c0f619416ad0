"""Columns of scores to logits, and what attacks read off log probabilities: functions of arrays (…, N, Q, K).

N examples, Q queries of each, K >= 2 classes. Log probabilities are natural logs, normalised over K. A query that a
model did not score is NaN, and so is everything made from it; a value that is not finite counts as missing too, since
no score can be compared with infinity. Leading axes (models) are carried along.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from discreet.audit.scores.read import Given
from discreet.core.types import BoolArray, FloatArray, IntArray
from discreet.inputs.columns import ColumnFile

P_CLIP = 1e-7
"""Probabilities are clipped to [P_CLIP, 1 - P_CLIP] before two logs are compared (the paper's code)."""

STD_FLOOR = 1e-6
"""Deviations are at least this. References that saturate agree to rounding (about 1e-15), which is no deviation to
divide by; real ones spread by orders of magnitude more than the floor."""

Signal: TypeAlias = Callable[[FloatArray, IntArray], FloatArray]
"""(…, N, Q, K) log probabilities and (N,) labels to (…, N, Q) values."""


def true_log_p(log_p: FloatArray, label: IntArray) -> FloatArray:
    """log p_y, at most 0; shape (…, N, Q). ValueError for a label outside [0, K)."""
    return _finite(_at(log_p, label))


def clipped_log_p(log_p: FloatArray, label: IntArray) -> FloatArray:
    """log p_y with p_y clipped to [1e-7, 1 - 1e-7]; shape (…, N, Q). Membership paper's code for its section 4.3."""
    return np.clip(true_log_p(log_p, label), np.log(P_CLIP), np.log1p(-P_CLIP))


def true_p(log_p: FloatArray, label: IntArray) -> FloatArray:
    """p_y in [0, 1]; shape (…, N, Q)."""
    found = true_log_p(log_p, label)
    return np.exp(found, out=found)


def phi(log_p: FloatArray, label: IntArray) -> FloatArray:
    """Log odds of the true class, log p_y − log(1 − p_y); shape (…, N, Q). Carlini et al. 2022.

    1 − p_y is summed from the other classes in logs, so that a p_y which rounds to 1 still has finite odds.
    """
    chosen = _at(log_p, label)
    if log_p.shape[-1] == 2:
        rest = _at(log_p, 1 - label)
    else:
        others = log_p.copy()
        np.put_along_axis(others, _index(log_p, label), -np.inf, axis=-1)
        rest = _log_sum_exp(others)
    with np.errstate(invalid="ignore"):
        return _finite(chosen - rest)


def top_p(log_p: FloatArray) -> FloatArray:
    """Probability of the likeliest class, in [1/K, 1]; shape (…, N, Q)."""
    return np.exp(_finite(log_p.max(axis=-1)))


def top_phi(log_p: FloatArray) -> FloatArray:
    """Log odds of the likeliest class (the first, if several are); shape (…, N, Q)."""
    falling = np.sort(log_p, axis=-1)[..., ::-1]
    with np.errstate(invalid="ignore"):
        return _finite(falling[..., 0] - _log_sum_exp(falling[..., 1:]))


def entropy(log_p: FloatArray) -> FloatArray:
    """Shannon entropy in nats, in [0, log K]; shape (…, N, Q)."""
    with np.errstate(invalid="ignore"):
        terms = np.where(np.isneginf(log_p), 0.0, np.exp(log_p) * log_p)
    return _finite(-terms.sum(axis=-1))


def margin(log_p: FloatArray, label: IntArray) -> FloatArray:
    """p_y minus the largest other probability, in [-1, 1]; shape (…, N, Q)."""
    others = np.exp(log_p)
    chosen = _at(others, label)
    np.put_along_axis(others, _index(log_p, label), -1.0, axis=-1)
    return _finite(chosen - others.max(axis=-1))


def true_rank(log_p: FloatArray, label: IntArray) -> FloatArray:
    """Number of classes that are strictly likelier than the true one, 0 … K − 1; shape (…, N, Q)."""
    chosen = _at(log_p, label)
    likelier = (log_p > chosen[..., None]).sum(axis=-1)
    return np.where(np.isnan(chosen), np.nan, likelier.astype(np.float64))


def query_mean(values: FloatArray) -> FloatArray:
    """Mean over the last axis (queries) of what is finite there; NaN where nothing is. One query may come as a view."""
    if values.shape[-1] == 1:
        return _finite(values[..., 0])
    return masked_mean(np.moveaxis(values, -1, 0), np.moveaxis(np.isfinite(values), -1, 0))


def per_model(signal: Signal, log_p: FloatArray, label: IntArray) -> FloatArray:
    """`signal` of R models (R, N, Q, K), one model at a time so that temporaries stay small; shape (R, N, Q)."""
    out = np.empty(log_p.shape[:-1])
    for place, one in enumerate(log_p):
        out[place] = signal(one, label)
    return out


def masked_mean(values: FloatArray, mask: BoolArray) -> FloatArray:
    """Mean over the first axis of the finite values where `mask` holds; NaN where it holds nowhere."""
    total, n = np.zeros(values.shape[1:]), np.zeros(values.shape[1:])
    for one, chosen in zip(values, mask, strict=True):
        if chosen.all() and np.isfinite(one).all():
            total += one
            n += 1.0
            continue
        found, weight = _weighted(one, chosen)
        total += found
        n += weight
    with np.errstate(invalid="ignore"):
        return np.asarray(total / n, dtype=np.float64)


def masked_moments(values: FloatArray, mask: BoolArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Mean, standard deviation (divisor n) and number of the finite values where `mask` holds, over the first axis.

    `values` (R, …) and `mask` of the same shape; three arrays of shape (…). Mean and deviation are NaN where n = 0.
    """
    rest = values.shape[1:]
    flat, chosen = values.reshape(len(values), -1), mask.reshape(len(values), -1)
    mean, std = np.empty(flat.shape[1]), np.empty(flat.shape[1])
    n = np.empty(flat.shape[1], dtype=np.int64)
    for start in range(0, flat.shape[1], _COLUMNS):
        part = slice(start, start + _COLUMNS)
        block, weight = _weighted(flat[:, part], chosen[:, part])
        n[part] = size = weight.sum(axis=0)
        size[size == 0] = np.nan
        mean[part] = block.sum(axis=0) / size
        block -= mean[part]
        block *= weight
        std[part] = np.sqrt(np.einsum("rc,rc->c", block, block) / size)
    return mean.reshape(rest), std.reshape(rest), n.reshape(rest)


def log_ratio(
    value: FloatArray, mean_in: FloatArray, std_in: FloatArray | float, mean_out: FloatArray,
    std_out: FloatArray | float,
) -> FloatArray:
    """log N(value; mean_in, std_in) − log N(value; mean_out, std_out), shapes as broadcast; NaN where one is NaN."""
    wide_in, wide_out = np.maximum(std_in, STD_FLOOR), np.maximum(std_out, STD_FLOOR)
    z_in, z_out = (value - mean_in) / wide_in, (value - mean_out) / wide_out
    return np.asarray(np.log(wide_out) - np.log(wide_in) + 0.5 * (z_out * z_out - z_in * z_in), dtype=np.float64)


_COLUMNS = 2048
"""Columns a time in `masked_moments`: with 64 models the temporaries of a block stay in the cache."""


def _weighted(values: FloatArray, mask: BoolArray) -> tuple[FloatArray, FloatArray]:
    """The finite values where `mask` holds and 0 elsewhere, a copy; and 1 and 0 for the same."""
    finite = np.isfinite(values)
    if not finite.all():
        values, mask = np.where(finite, values, 0.0), mask & finite
    # Multiplied, not chosen: a choice that goes either way at random costs five times as much.
    weight = mask.astype(np.float64)
    return values * weight, weight


def _at(values: FloatArray, label: IntArray) -> FloatArray:
    index = _index(values, label).reshape(-1)
    *lead, n, n_queries, n_classes = values.shape
    # Places in the last three axes as one: an index along the last of them alone is ten times slower.
    place = np.arange(0, n * n_queries * n_classes, n_classes).reshape(n, n_queries) + index[:, None]
    return np.asarray(values.reshape(*lead, -1).take(place, axis=-1), dtype=np.float64)


def _index(values: FloatArray, label: IntArray) -> IntArray:
    """`label` as an index along the last axis of `values`."""
    n, n_classes = values.shape[-3], values.shape[-1]
    if label.shape != (n,):
        raise ValueError(f"labels have shape {label.shape}: expected ({n},), one per example")
    if n and not 0 <= label.min() <= label.max() < n_classes:
        raise ValueError(f"labels run from {label.min()} to {label.max()}: expected 0 to {n_classes - 1}")
    return label.reshape((1,) * (values.ndim - 3) + (n, 1, 1))


def _log_sum_exp(values: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        top = values.max(axis=-1, keepdims=True)
        return np.asarray(top[..., 0] + np.log(np.exp(values - top).sum(axis=-1)), dtype=np.float64)


def _finite(values: FloatArray) -> FloatArray:
    finite = np.isfinite(values)
    return values if finite.all() else np.where(finite, values, np.nan)


Refuse = Callable[[BoolArray, str, str], None]
"""Fails where some rows (R,) are bad: with what is wrong there, and what is expected."""

ROUNDING = 1e-6
CLIP = 1e-7
LARGEST = 1e150
"""Differences and sums of logits up to here are finite."""


def off_one(n_classes: int) -> float:
    """How far the sum of `n_classes` probabilities may be from 1: they may be rounded to two decimals, a defence that
    is audited."""
    return min(0.005 * n_classes, 0.05)


def class_logits(file: ColumnFile, given_as: Given, columns: Sequence[str], place: IntArray, refuse: Refuse, *,
                 clip: float = CLIP) -> FloatArray:
    """(R, K) logits of the R rows of `file`, row r at `place` r; probabilities become their logs, clipped at `clip`.

    A single column is of class 1 of two. One column is read at a time: all together may not fit beside the logits.
    """
    alone, as_prob = len(columns) == 1, given_as == "prob"
    logits = np.zeros((place.size, max(2, len(columns))))
    broken, outside = np.zeros(place.size, dtype=np.bool_), np.zeros(place.size, dtype=np.bool_)
    total = np.zeros(place.size if as_prob else 0)
    for number, name in enumerate(columns):
        values = file.numbers(name)
        finite = np.abs(values) <= LARGEST
        broken |= ~finite
        if as_prob:
            values = np.where(finite, values, 0.0)
            outside |= (values < -ROUNDING) | (values > 1 + ROUNDING)
            total += values
            if alone:
                logits[place, 0] = np.log(np.clip(1 - values, clip, 1 - clip))
            values = np.log(np.clip(values, clip, 1 - clip))
        logits[place, 1 if alone else number] = values
    refuse(broken, f"{given_as}s are NaN, infinite or null",
           f"finite numbers, none beyond {LARGEST:g}: score these rows again")
    refuse(outside, f"{given_as}s are not between 0 and 1", "probabilities (a percentage divided by 100), or name the "
           "columns logit_*")
    if as_prob and not alone:
        allowed = off_one(len(columns))
        refuse(np.abs(total - 1) > allowed + ROUNDING, f"{given_as}s do not sum to 1",
               f"a sum within {allowed:g} of 1, or name the columns logit_*")
    return logits
