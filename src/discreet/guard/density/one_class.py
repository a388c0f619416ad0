"""The dual of the one-class SVM over shared rows of the Gram matrix, and ν of both sides by cross-validation.

    min ½ αᵀKα   subject to   0 <= αᵢ <= 1,  Σ αᵢ = ν·n

(Schölkopf et al. 2001, eq. 3.13, in libsvm's scale), with second-order selection (Fan, Chen & Lin 2005, WSS 2) and
libsvm's stopping rule: no pair violates the optimality conditions by more than `tol`.

Fits over folds and ν touch the same few rows of the Gram matrix, those of support vectors and candidates. They are
computed once, and the whole matrix never is: the 40 fits of a sweep over ν on 10,000 rows of 384 a side take 2.6 s and
.4 GiB, scikit-learn's OneClassSVM on a shared, precomputed Gram matrix 20 s and 2.7 GiB (`docs/results/guard.md`,
"Costs").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.core.types import BoolArray, FloatArray
from discreet.guard.density.base import DensityOptions, TooFewRowsError, enough_rows
from discreet.guard.density.exact import as_rows, blocks, row_sums
from discreet.stats import auroc

NUS = (0.005, 0.01, 0.02, 0.05)
FOLDS, MOST_ROWS = 5, 20_000
TIE = 1e-4
"""Mean AUROCs nearer than that are equal. Where every support vector is free the solution is the same for every small
ν, and the solver's tolerance alone would choose."""
TOLERANCE, NORMALISED_TOLERANCE = 1e-3, 1e-5
"""libsvm's, on its scale; on the scale where weights sum to one, which binds where ν·n < 100."""
MOST_STEPS, LEAST_CURVATURE = 10_000_000, 1e-12
FULL_PRECISION_ROWS, FLAT = 4_096, 64.0
"""Up to that many rows the Gram matrix is computed in double precision; γ‖x‖² up to which single precision leaves an
error under 1e-5 in a kernel value."""
CAPACITY = 2 << 30
"""Bytes of Gram rows kept at the most."""


class GramRows:
    """Rows of exp(−γ‖x − y‖²) over rows (n, d), computed when first needed and kept while there is room."""

    def __init__(self, x: NDArray[Any], gamma: float, capacity: int = CAPACITY) -> None:
        self.n, self.gamma = x.shape[0], gamma
        self._centre = x.mean(axis=0, dtype=np.float64)
        self.norms = self._squared_norms(x)
        flat = gamma * float(self.norms.max(initial=0.0)) <= FLAT
        self.dtype = np.float32 if self.n > FULL_PRECISION_ROWS and flat else np.float64
        self._x = np.empty(x.shape, dtype=self.dtype)
        for part in blocks(self.n, 1024):
            self._x[part] = x[part] - self._centre
        self._kept: dict[int, NDArray[Any]] = {}
        self._room = max(2, capacity // (self.n * np.dtype(self.dtype).itemsize))

    def row(self, i: int) -> NDArray[Any]:
        """Row i of the Gram matrix (n,); not to be written to."""
        if i not in self._kept:
            self._compute([i])
        return self._kept[i]

    def combined(self, weights: FloatArray) -> FloatArray:
        """Σᵢ weights[i] K(xᵢ, ·) (n,), added in double precision: in single, sums of ν·n terms miss the tolerance."""
        total = np.zeros(self.n)
        used = np.flatnonzero(weights).tolist()
        for part in blocks(len(used), 512):
            self._compute([i for i in used[part] if i not in self._kept])
            for i in used[part]:
                total += weights[i] * self.row(i)
        return total

    def cross(self, other: NDArray[Any], weights: FloatArray) -> FloatArray:
        """Σᵢ weights[i, c] K(xᵢ, other) for other rows (m, d) and weights (n, c): (m, c)."""
        used = np.flatnonzero(np.any(weights != 0.0, axis=1))
        out = np.empty((other.shape[0], weights.shape[1]))
        norms = self._squared_norms(other)
        for part in blocks(other.shape[0], 512):
            rows = (other[part] - self._centre).astype(self.dtype)
            kernel = self._kernel(rows, norms[part], self._x[used], self.norms[used])
            out[part] = kernel.astype(np.float64) @ weights[used]
        return out

    def _compute(self, index: list[int]) -> None:
        if len(self._kept) + len(index) > self._room:
            self._kept.clear()
        if index:
            kernel = self._kernel(self._x[index], self.norms[index], self._x, self.norms)
            kernel[np.arange(len(index)), index] = 1.0
            self._kept.update(zip(index, kernel, strict=True))

    def _kernel(self, left: NDArray[Any], left_norms: FloatArray, right: NDArray[Any],
                right_norms: FloatArray) -> NDArray[Any]:
        kernel = left @ right.T
        kernel *= 2.0
        kernel -= left_norms.astype(self.dtype)[:, None]
        kernel -= right_norms.astype(self.dtype)[None, :]
        np.minimum(kernel, 0.0, out=kernel)
        kernel *= self.gamma
        return np.asarray(np.exp(kernel, out=kernel))

    def _squared_norms(self, x: NDArray[Any]) -> FloatArray:
        return np.concatenate([row_sums((x[part] - self._centre) ** 2) for part in blocks(x.shape[0], 1024)])


class OneClassDual(NamedTuple):
    """A solution: α (n,) in [0, 1], zero for rows that were left out; Kα (n,) of all rows, minus ρ the decision
    function there; ρ as libsvm computes it; whether no pair violates the optimality conditions by more than `tol`."""

    alpha: FloatArray
    gradient: FloatArray
    rho: float
    converged: bool


def support_of(x: NDArray[Any], options: DensityOptions, rng: np.random.Generator,
               tol: float = TOLERANCE) -> tuple[NDArray[Any], FloatArray, float, float, float]:
    """The one-class SVM of rows (n, d): its support vectors, their αᵢ, ρ, γ and Σ αᵢ = ν·n. TooFewRowsError."""
    rows = enough_rows(x, "a one-class SVM")
    gamma = options.width(rows, rng)
    dual = solve(GramRows(rows, gamma), options.nu, tol=tol)
    held = np.flatnonzero(dual.alpha)
    return rows[held], dual.alpha[held], dual.rho, gamma, options.nu * rows.shape[0]


def solve(gram: GramRows, nu: float, *, members: BoolArray | None = None, start: FloatArray | None = None,
          tol: float = TOLERANCE) -> OneClassDual:
    """The dual over the rows `members` (n,) (all by default), from a guess `start` (n,) if there is one.

    To the stricter of `tol`, on libsvm's scale, and `NORMALISED_TOLERANCE`.
    """
    inside = np.ones(gram.n, dtype=np.bool_) if members is None else members
    mass = nu * int(inside.sum())
    tol = min(tol, NORMALISED_TOLERANCE * mass)
    alpha = _feasible(gram.norms if start is None else start, inside, mass, fresh=start is None)
    gradient = gram.combined(alpha)
    # Penalties keep rows out of the choice that are at a bound, or left out.
    full = np.where(inside & (alpha < 1.0), 0.0, np.inf)
    empty = np.where(inside & (alpha > 0.0), 0.0, -np.inf)
    work, gain, curvature = (np.empty(gram.n) for _ in range(3))
    checked = converged = False
    for _ in range(MOST_STEPS):
        np.add(gradient, full, out=work)
        i = int(work.argmin())
        np.subtract(gradient, gradient[i], out=work)
        np.add(work, empty, out=work)
        np.maximum(work, 0.0, out=work)
        if not np.isfinite(full[i]) or work.max() <= tol:
            if checked:
                converged = True
                break
            # Updates add up their rounding errors; only a gradient made afresh counts.
            gradient, checked = gram.combined(alpha), True
            continue
        checked = False
        row = gram.row(i)
        np.multiply(row, -2.0, out=curvature)
        curvature += 2.0
        np.maximum(curvature, LEAST_CURVATURE, out=curvature)
        np.multiply(work, work, out=gain)
        np.divide(gain, curvature, out=gain)
        j = int(gain.argmax())
        amount = min(work[j] / curvature[j], 1.0 - alpha[i], alpha[j])
        # A bound that is reached is landed on exactly.
        alpha[i] = 1.0 if amount >= 1.0 - alpha[i] else alpha[i] + amount
        alpha[j] = 0.0 if amount >= alpha[j] else alpha[j] - amount
        full[i], empty[i] = np.inf if alpha[i] >= 1.0 else 0.0, 0.0
        full[j], empty[j] = 0.0, -np.inf if alpha[j] <= 0.0 else 0.0
        np.subtract(row, gram.row(j), out=work)
        work *= amount
        gradient += work
    return OneClassDual(alpha, gradient, _rho(alpha, gradient, inside), converged)


def _feasible(guess: FloatArray, inside: BoolArray, mass: float, *, fresh: bool) -> FloatArray:
    """α with the right sum: the outermost rows in full, or an earlier solution scaled, cut and filled up."""
    alpha = np.zeros(guess.size)
    if not fresh:
        alpha[inside] = guess[inside]
        for _ in range(3):
            total = alpha.sum()
            if total > 0.0:
                alpha = np.minimum(alpha * (mass / total), 1.0)
    # Fill in the order of the guess: what is outermost, or already weighs most, first.
    missing = mass - alpha.sum()
    order = np.flatnonzero(inside)[np.argsort(-guess[inside], kind="stable")]
    room = 1.0 - alpha[order]
    alpha[order] += np.clip(missing - (np.cumsum(room) - room), 0.0, room)
    return alpha


def _rho(alpha: FloatArray, gradient: FloatArray, inside: BoolArray) -> float:
    """Mean gradient of the free rows; without any, the middle between the two sides."""
    free = inside & (alpha > 0.0) & (alpha < 1.0)
    if free.any():
        return float(gradient[free].mean())
    ends = [*gradient[inside & (alpha >= 1.0)].max(keepdims=True, initial=-np.inf),
            *gradient[inside & (alpha <= 0.0)].min(keepdims=True, initial=np.inf)]
    return float(np.mean([end for end in ends if np.isfinite(end)]))


@dataclass(frozen=True, slots=True)
class NuSweep:
    """The winning ν, those tried (ascending), AUROC of δ (len(nus), folds) on each fold left out, and whether every fit
    reached the tolerance."""

    nu: float
    nus: tuple[float, ...]
    auroc: FloatArray = field(repr=False)
    converged: bool

    @property
    def mean(self) -> dict[float, float]:
        """ν to mean AUROC over folds."""
        return dict(zip(self.nus, self.auroc.mean(axis=1).tolist(), strict=True))


def sweep_nu(safe: NDArray[Any], unsafe: NDArray[Any], *, rng: np.random.Generator, nus: Sequence[float] = NUS,
             others: tuple[NDArray[Any], NDArray[Any]] | None = None, gamma: float | str = "median",
             normalised: bool = True, most_rows: int = MOST_ROWS) -> NuSweep:
    """The ν that ranks unlabelled rows of two classes (n, d), (m, d) best.

    `rng` draws the folds (stratified by class), the rows of the median heuristic (a γ per side), and `most_rows` of a
    class that has more. Where features differ by side, `others` are the unsafe rows (m, d) as the safe side sees them,
    and the safe rows (n, d) as the unsafe side does, in the order of their own side. `nus` ascend; `normalised` divides
    σ by ν·n before δ is taken. TooFewRowsError for a class of fewer than 4 rows: every fit needs 2, and so many must be
    left for the last fold.
    """
    sides, crossed = ([as_rows(side) for side in pair] for pair in ((safe, unsafe), others or (unsafe, safe)))
    if max(len(side) for side in sides) > most_rows:
        kept = [np.sort(rng.permutation(len(side))[:most_rows]) for side in sides]
        sides = [side[index] for side, index in zip(sides, kept, strict=True)]
        crossed = [other[index] for other, index in zip(crossed, reversed(kept), strict=True)]
    fewest = min(len(side) for side in sides)
    if fewest < 4:
        raise TooFewRowsError("the smaller class of a sweep over nu", fewest, 4)
    options, count = DensityOptions(gamma=gamma), min(FOLDS, fewest // 2)
    fold_of = [np.asarray(rng.permutation(np.arange(len(side)) % count)) for side in sides]
    scored = [_scores_by_fold(GramRows(own, options.width(own, rng)), other, nus, among, normalised)
              for own, other, among in zip(sides, crossed, fold_of, strict=True)]
    table = np.empty((len(nus), count))
    for i, fold in np.ndindex(*table.shape):
        negatives = (scored[1].other - scored[0].own)[fold_of[0] == fold, i, fold]
        positives = (scored[1].own - scored[0].other)[fold_of[1] == fold, i, fold]
        labels = np.repeat([0, 1], [negatives.size, positives.size])
        table[i, fold] = auroc(np.concatenate([negatives, positives]), labels)
    means = table.mean(axis=1)
    best = nus[int(np.flatnonzero(means >= means.max() - TIE)[0])]
    return NuSweep(best, tuple(nus), table, all(side.converged for side in scored))


class _Side(NamedTuple):
    """Scores (n, ν, fold) of a side's own rows and (m, ν, fold) of the other's, and whether all fits converged."""

    own: FloatArray
    other: FloatArray
    converged: bool


def _scores_by_fold(gram: GramRows, other: NDArray[Any], nus: Sequence[float], fold_of: NDArray[np.int64],
                    normalised: bool) -> _Side:
    count = int(fold_of.max()) + 1
    own, weights = (np.empty((gram.n, len(nus), count)) for _ in range(2))
    offsets, scales, converged = np.empty((len(nus), count)), np.ones((len(nus), count)), True
    first: FloatArray | None = None
    for fold in range(count):
        members = fold_of != fold
        start = first
        for i, nu in enumerate(nus):
            start, own[:, i, fold], offsets[i, fold], reached = solve(gram, nu, members=members, start=start)
            weights[:, i, fold] = start
            first = start if i == 0 else first
            converged &= reached
            if normalised:
                scales[i, fold] = nu * int(members.sum())
    theirs = gram.cross(other, weights.reshape(gram.n, -1)).reshape(other.shape[0], len(nus), count)
    return _Side((own - offsets) / scales, (theirs - offsets) / scales, converged)
