"""ν of both one-class SVMs by cross-validation, with the kernel work shared (paper V-B).

For each ν and fold both sides are fitted on the other folds, and δ = σ_u − σ_s ranks the rows of the fold left out;
the ν of the largest mean AUROC wins, the smallest of equals. γ is one a side, so all fits of a side share one Gram
matrix (`one_class.py`); a fit starts from the solution of the next smaller ν, and its gradient is at once the score of
the rows left out. Of more than `MOST_ROWS` rows a side as many are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.guard.density import TooFewRowsError, checked_nu, width
from discreet.guard.exact import FloatArray, as_rows
from discreet.guard.one_class import GramRows, fit_dual
from discreet.stats import auroc

NUS = (0.005, 0.01, 0.02, 0.05)
FOLDS = 5
MOST_ROWS = 20_000
TIE = 1e-4
"""Mean AUROCs nearer than that are equal. Where every support vector is free the solution is the same for every small
ν, and the solver's tolerance alone would choose."""


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
    fold_of = [_folds(n, count, rng) for n in sizes]
    sides = []
    for view, among in zip((safe, unsafe), fold_of, strict=True):
        own = as_rows(view.own)
        other = as_rows(view.other, own.shape[1], "other")
        sides.append(_fitted(GramRows(own, width(gamma, own, rng)), other, tried, among, normalised))
    table = _aurocs(sides[0], sides[1], fold_of, (len(tried), count))
    means = table.mean(axis=1)
    best = tried[int(np.flatnonzero(means >= means.max() - TIE)[0])]
    return NuSweep(best, tried, table, all(side.converged for side in sides))


def _drawn(safe: View, unsafe: View, most: int, rng: np.random.Generator) -> tuple[View, View]:
    """At most so many rows of each class, the same of them in both views."""
    kept = [np.sort(rng.permutation(view.own.shape[0])[:most]) for view in (safe, unsafe)]
    return View(safe.own[kept[0]], safe.other[kept[1]]), View(unsafe.own[kept[1]], unsafe.other[kept[0]])


def _folds(n: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The fold of each row, as even as n allows."""
    return np.asarray(rng.permutation(np.arange(n) % count), dtype=np.int64)


def _fitted(
    gram: GramRows, other: NDArray[Any], nus: tuple[float, ...], fold_of: NDArray[np.int64], normalised: bool
) -> _Side:
    count = int(fold_of.max()) + 1
    own = np.empty((gram.n, len(nus), count))
    weights = np.empty((gram.n, len(nus), count))
    offsets = np.empty((len(nus), count))
    scales = np.ones((len(nus), count))
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


def _aurocs(
    safe: _Side, unsafe: _Side, fold_of: list[NDArray[np.int64]], shape: tuple[int, int]
) -> FloatArray:
    table = np.empty(shape)
    for i, fold in np.ndindex(*shape):
        held_safe, held_unsafe = fold_of[0] == fold, fold_of[1] == fold
        negatives = unsafe.other[held_safe, i, fold] - safe.own[held_safe, i, fold]
        positives = unsafe.own[held_unsafe, i, fold] - safe.other[held_unsafe, i, fold]
        labels = np.repeat([0, 1], [negatives.size, positives.size])
        table[i, fold] = auroc(np.concatenate([negatives, positives]), labels)
    return table
