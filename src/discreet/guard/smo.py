"""The one-class SVM's dual by decomposition, over a Gram matrix of which only the rows that matter are computed.

    min ½ αᵀKα   subject to   0 <= αᵢ <= 1,  Σ αᵢ = ν·n

(Schölkopf et al. 2001, eq. 3.13, in libsvm's scale.) Each round takes a working set that holds the most violating
pair (Joachims 1999, SVM-light), solves it by sequential minimal optimisation with second-order selection (Fan, Chen
& Lin 2005, WSS 2, as libsvm does over all rows), and brings the gradient of all rows up to date with one product.
Stops as libsvm stops: no pair violates the optimality conditions by more than `tol`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.guard.exact import FloatArray, blocks
from discreet.guard.kernel_rows import KernelRows

WORKING_SET = 1_024
COLUMNS = 4_096
ROUNDS = 10_000
STEPS_PER_ROUND = 20_000
LEAST_CURVATURE = 1e-12


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
    gap : float
        Largest violation left.
    converged : bool
        Whether `gap` <= the tolerance.
    """

    alpha: FloatArray = field(repr=False)
    gradient: FloatArray = field(repr=False)
    rho: float
    gap: float
    converged: bool


def solve(
    kernel: KernelRows, nu: float, *, members: NDArray[np.bool_] | None = None, start: FloatArray | None = None,
    tol: float = 1e-3,
) -> OneClassDual:
    """The dual over the rows `members` (n,) (all by default), from a guess `start` (n,) if there is one."""
    inside = np.ones(kernel.n, dtype=np.bool_) if members is None else members
    mass = nu * int(inside.sum())
    alpha = _feasible(kernel.outlying() if start is None else start, inside, mass, fresh=start is None)
    gradient = _gradient(kernel, alpha)
    checked, gap = True, np.inf
    for _ in range(ROUNDS):
        gap = _gap(alpha, gradient, inside)
        if gap <= tol:
            if checked:
                break
            # Updates add up their rounding errors; only a gradient made afresh counts.
            gradient, checked = _gradient(kernel, alpha), True
            continue
        chosen = _working_set(alpha, gradient, inside, tol)
        rows = kernel.rows(chosen)
        inner = max(0.5 * tol, 0.05 * gap)
        solved = _pairwise(rows[:, chosen].astype(np.float64), alpha[chosen], gradient[chosen], inner)
        step = solved - alpha[chosen]
        moved = np.flatnonzero(step)
        alpha[chosen] = solved
        gradient += _combined(step[moved], rows[moved])
        checked = False
    return OneClassDual(alpha, gradient, _rho(alpha, gradient, inside), float(gap), bool(gap <= tol))


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


def _gradient(kernel: KernelRows, alpha: FloatArray) -> FloatArray:
    total = np.zeros(kernel.n)
    used = np.flatnonzero(alpha)
    for begin in range(0, used.size, WORKING_SET):
        part = used[begin : begin + WORKING_SET]
        total += _combined(alpha[part], kernel.rows(part))
    return total


def _combined(weights: FloatArray, rows: NDArray[Any]) -> FloatArray:
    """weights (k,) times rows (k, n), added in double precision: sums of ν·n terms would not reach `tol` in single."""
    out = np.empty(rows.shape[1])
    for part in blocks(rows.shape[1], COLUMNS):
        out[part] = weights @ rows[:, part].astype(np.float64, copy=False)
    return out


def _gap(alpha: FloatArray, gradient: FloatArray, inside: NDArray[np.bool_]) -> float:
    """Largest gradient among those that can give less smallest among those that can take."""
    take, give = inside & (alpha < 1.0), inside & (alpha > 0.0)
    if not take.any() or not give.any():
        return 0.0
    return float(gradient[give].max() - gradient[take].min())


def _working_set(
    alpha: FloatArray, gradient: FloatArray, inside: NDArray[np.bool_], tol: float
) -> NDArray[np.int64]:
    """Free rows and the worst violators, at most WORKING_SET, sorted."""
    take, give = inside & (alpha < 1.0), inside & (alpha > 0.0)
    lowest, highest = gradient[take].min(), gradient[give].max()
    free = np.flatnonzero(take & give)
    quota = max(32, min(WORKING_SET // 4, (free.size + 1) // 2))
    takers = np.flatnonzero(take & (gradient < highest - 0.5 * tol))
    givers = np.flatnonzero(give & (gradient > lowest + 0.5 * tol))
    takers = takers[np.argsort(gradient[takers], kind="stable")[:quota]]
    givers = givers[np.argsort(-gradient[givers], kind="stable")[:quota]]
    worst = np.union1d(takers, givers)
    others = np.setdiff1d(free, worst, assume_unique=True)
    spare = WORKING_SET - worst.size
    if others.size > spare:
        middle = 0.5 * (lowest + highest)
        others = others[np.argsort(-np.abs(gradient[others] - middle), kind="stable")[:spare]]
    return np.union1d(worst, others)


def _pairwise(gram: FloatArray, alpha: FloatArray, gradient: FloatArray, tol: float) -> FloatArray:
    """SMO over a Gram block (k, k) whose diagonal is 1, from feasible α and the gradient there."""
    a, g = alpha.copy(), gradient.copy()
    inverse = 1.0 / np.maximum(2.0 - 2.0 * gram, LEAST_CURVATURE)
    # Penalties keep rows at a bound out of the choice.
    full, empty = np.where(a >= 1.0, np.inf, 0.0), np.where(a <= 0.0, -np.inf, 0.0)
    work, gain = np.empty_like(g), np.empty_like(g)
    for step in range(STEPS_PER_ROUND):
        np.add(g, full, out=work)
        i = int(work.argmin())
        np.subtract(g, g[i], out=work)
        np.add(work, empty, out=work)
        np.maximum(work, 0.0, out=work)
        if step % 8 == 0 and work.max() <= tol:
            break
        np.multiply(work, work, out=gain)
        np.multiply(gain, inverse[i], out=gain)
        j = int(gain.argmax())
        if work[j] <= 0.0:
            break
        amount = min(work[j] * inverse[i, j], 1.0 - a[i], a[j])
        _move(a, full, empty, i, j, amount)
        np.subtract(gram[i], gram[j], out=work)
        np.multiply(work, amount, out=work)
        np.add(g, work, out=g)
    return a


def _move(a: FloatArray, full: FloatArray, empty: FloatArray, i: int, j: int, amount: Any) -> None:
    """Take `amount` from row j and give it to row i, landing exactly on a bound that is reached."""
    a[i] = 1.0 if amount >= 1.0 - a[i] else a[i] + amount
    a[j] = 0.0 if amount >= a[j] else a[j] - amount
    full[i], empty[i] = (np.inf if a[i] >= 1.0 else 0.0), 0.0
    full[j], empty[j] = 0.0, (-np.inf if a[j] <= 0.0 else 0.0)


def _rho(alpha: FloatArray, gradient: FloatArray, inside: NDArray[np.bool_]) -> float:
    """Mean gradient of the free rows; without any, the middle between the two sides."""
    free = inside & (alpha > 0.0) & (alpha < 1.0)
    if free.any():
        return float(gradient[free].mean())
    give, take = inside & (alpha >= 1.0), inside & (alpha <= 0.0)
    ends = [float(gradient[give].max())] if give.any() else []
    ends += [float(gradient[take].min())] if take.any() else []
    return sum(ends) / len(ends)
