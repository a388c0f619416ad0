"""The dual of the one-class SVM over shared rows of the Gram matrix, and ν of both sides by cross-validation.

    min ½ αᵀKα   subject to   0 <= αᵢ <= 1,  Σ αᵢ = ν·n

(Schölkopf et al. 2001, eq. 3.13, in libsvm's scale), with second-order selection (Fan, Chen & Lin 2005, WSS 2) and
libsvm's stopping rule: no pair violates the optimality conditions by more than `tol`.

Fits over folds and ν touch the same few rows of the Gram matrix again and again, those of support vectors and
candidates. They are computed once, and the whole matrix never is. That is why this solver stands here and not
scikit-learn's OneClassSVM on a precomputed Gram matrix, shared in the same way: the 40 fits of a sweep over ν on 10,000
rows of 384 a side take 2.6 s and .4 GiB, scikit-learn's 20 s and 2.7 GiB (one thread; on 2,000 rows .6 and .8 s;
`docs/results/guard.md`, "Costs").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.guard.density import TooFewRowsError, checked_nu, width
from discreet.guard.exact import FloatArray, as_rows, blocks, row_sums
from discreet.stats import auroc

NUS = (0.005, 0.01, 0.02, 0.05)
FOLDS = 5
MOST_ROWS = 20_000
TIE = 1e-4
"""Mean AUROCs nearer than that are equal. Where every support vector is free the solution is the same for every small
ν, and the solver's tolerance alone would choose."""
TOLERANCE = 1e-3
"""libsvm's, on its scale."""
NORMALISED_TOLERANCE = 1e-5
"""On the scale where weights sum to one; it binds where ν·n < 100."""
MOST_STEPS = 10_000_000
LEAST_CURVATURE = 1e-12
FULL_PRECISION_ROWS = 4_096
"""Up to that many rows the Gram matrix is computed in double precision."""
FLAT = 64.0
"""γ‖x‖² up to which single precision leaves an error under 1e-5 in a kernel value."""
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
        for part in blocks(other.shape[0], 512):
            rows = (other[part] - self._centre).astype(self.dtype)
            kernel = self._kernel(rows, self._squared_norms(other[part]), self._x[used], self.norms[used])
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
        out = np.empty(x.shape[0])
        for part in blocks(x.shape[0], 1024):
            rows = x[part] - self._centre
            out[part] = row_sums(rows * rows)
        return out


@dataclass(frozen=True, slots=True)
class OneClassDual:
    """A solution.

    Attributes
    ----------
    alpha : (n,)
        Dual coefficients in [0, 1]; zero for rows that were left out.
    gradient : (n,)
        Kα for all rows, those left out included: minus ρ it is the decision function there.
    rho : float
        Offset, as libsvm computes it.
    converged : bool
        Whether no pair violates the optimality conditions by more than the tolerance.
    """

    alpha: FloatArray = field(repr=False)
    gradient: FloatArray = field(repr=False)
    rho: float
    converged: bool


def fit_dual(gram: GramRows, nu: float, *, members: NDArray[np.bool_] | None = None, start: FloatArray | None = None,
             tol: float = TOLERANCE) -> OneClassDual:
    """`solve` to the stricter of `tol`, on libsvm's scale, and the tolerance of the normalised scale."""
    mass = nu * (gram.n if members is None else int(members.sum()))
    return solve(gram, nu, members=members, start=start, tol=min(tol, NORMALISED_TOLERANCE * mass))


def solve(gram: GramRows, nu: float, *, members: NDArray[np.bool_] | None = None, start: FloatArray | None = None,
          tol: float = TOLERANCE) -> OneClassDual:
    """The dual over the rows `members` (n,) (all by default), from a guess `start` (n,) if there is one."""
    inside = np.ones(gram.n, dtype=np.bool_) if members is None else members
    alpha = _feasible(gram.norms if start is None else start, inside, nu * int(inside.sum()), fresh=start is None)
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


def _feasible(guess: FloatArray, inside: NDArray[np.bool_], mass: float, *, fresh: bool) -> FloatArray:
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


def _rho(alpha: FloatArray, gradient: FloatArray, inside: NDArray[np.bool_]) -> float:
    """Mean gradient of the free rows; without any, the middle between the two sides."""
    free = inside & (alpha > 0.0) & (alpha < 1.0)
    if free.any():
        return float(gradient[free].mean())
    give, take = inside & (alpha >= 1.0), inside & (alpha <= 0.0)
    ends = [float(gradient[give].max())] if give.any() else []
    ends += [float(gradient[take].min())] if take.any() else []
    return sum(ends) / len(ends)


class View(NamedTuple):
    """What one side's density sees: `own` (n, d), the rows of its class, and `other` (m, d), those of the other.

    With embedding features one side's `own` is the other's `other`; typicality features differ by side. Rows of a
    class stand in the same order in both views.
    """

    own: NDArray[Any]
    other: NDArray[Any]


@dataclass(frozen=True, slots=True)
class NuSweep:
    """What a sweep found.

    Attributes
    ----------
    nu : float
        The winner.
    nus : tuple of float
        Those tried, ascending.
    auroc : (len(nus), folds)
        AUROC of δ on each fold left out.
    converged : bool
        Whether every fit reached the tolerance.
    """

    nu: float
    nus: tuple[float, ...]
    auroc: FloatArray = field(repr=False)
    converged: bool

    @property
    def mean(self) -> dict[float, float]:
        """ν to mean AUROC over folds."""
        return dict(zip(self.nus, self.auroc.mean(axis=1).tolist(), strict=True))


class _Side(NamedTuple):
    """Scores (n, ν, fold) of a side's own rows and (m, ν, fold) of the other's, and whether all fits converged."""

    own: FloatArray
    other: FloatArray
    converged: bool


def sweep_nu(
    safe: View, unsafe: View, *, rng: np.random.Generator, nus: Sequence[float] = NUS, folds: int = FOLDS,
    gamma: float | str = "median", normalised: bool = True, most_rows: int = MOST_ROWS,
) -> NuSweep:
    """The ν that ranks unlabelled rows best.

    Parameters
    ----------
    safe, unsafe : View
        Rows of each class as each side sees them.
    rng : Generator
        Draws the folds (stratified by class), the rows of the median heuristic, and rows where there are too many.
    nus : sequence of float
        In (0, 1].
    folds : int
        At least 2; fewer are made where a class has fewer rows.
    gamma : float or "median"
        One per side, over all of its rows.
    normalised : bool
        Whether σ is divided by ν·n before δ is taken.
    most_rows : int
        Rows of a class that are used at the most.

    Raises
    ------
    TooFewRowsError
        For a class of fewer than 4 rows: every fit needs 2, and so many must be left for the last fold.
    """
    tried = tuple(sorted({checked_nu(nu) for nu in nus}))
    if not tried or folds < 2:
        raise ValueError(f"{len(tried)} values of nu in {folds} folds: expected at least 1 and 2")
    if max(safe.own.shape[0], unsafe.own.shape[0]) > most_rows:
        safe, unsafe = _drawn(safe, unsafe, most_rows, rng)
    sizes = (safe.own.shape[0], unsafe.own.shape[0])
    if min(sizes) < 4:
        raise TooFewRowsError("the smaller class of a sweep over nu", min(sizes), 4)
    count = min(folds, min(sizes) // 2)
    fold_of = [np.asarray(rng.permutation(np.arange(n) % count)) for n in sizes]
    sides = []
    for view, among in zip((safe, unsafe), fold_of, strict=True):
        own = as_rows(view.own)
        other = as_rows(view.other, own.shape[1], "other")
        sides.append(_fitted(GramRows(own, width(gamma, own, rng)), other, tried, among, normalised))
    table = np.empty((len(tried), count))
    for i, fold in np.ndindex(*table.shape):
        held_safe, held_unsafe = fold_of[0] == fold, fold_of[1] == fold
        negatives = (sides[1].other - sides[0].own)[held_safe, i, fold]
        positives = (sides[1].own - sides[0].other)[held_unsafe, i, fold]
        labels = np.repeat([0, 1], [negatives.size, positives.size])
        table[i, fold] = auroc(np.concatenate([negatives, positives]), labels)
    means = table.mean(axis=1)
    best = tried[int(np.flatnonzero(means >= means.max() - TIE)[0])]
    return NuSweep(best, tried, table, all(side.converged for side in sides))


def _drawn(safe: View, unsafe: View, most: int, rng: np.random.Generator) -> tuple[View, View]:
    """At most so many rows of each class, the same of them in both views."""
    kept = [np.sort(rng.permutation(view.own.shape[0])[:most]) for view in (safe, unsafe)]
    return View(safe.own[kept[0]], safe.other[kept[1]]), View(unsafe.own[kept[1]], unsafe.other[kept[0]])


def _fitted(
    gram: GramRows, other: NDArray[Any], nus: tuple[float, ...], fold_of: NDArray[np.int64], normalised: bool
) -> _Side:
    count = int(fold_of.max()) + 1
    own, weights = (np.empty((gram.n, len(nus), count)) for _ in range(2))
    offsets, scales = np.empty((len(nus), count)), np.ones((len(nus), count))
    converged = True
    first: FloatArray | None = None
    for fold in range(count):
        members = fold_of != fold
        start = first
        for i, nu in enumerate(nus):
            dual = fit_dual(gram, nu, members=members, start=start)
            start = dual.alpha
            first = dual.alpha if i == 0 else first
            own[:, i, fold], weights[:, i, fold], offsets[i, fold] = dual.gradient, dual.alpha, dual.rho
            if normalised:
                scales[i, fold] = nu * int(members.sum())
            converged &= dual.converged
    theirs = gram.cross(other, weights.reshape(gram.n, -1)).reshape(other.shape[0], len(nus), count)
    return _Side((own - offsets) / scales, (theirs - offsets) / scales, converged)
