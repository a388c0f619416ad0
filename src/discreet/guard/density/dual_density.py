"""The dual density as a scikit-learn classifier (paper V): fit here, score anywhere with `FittedDual`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.errors import need
from discreet.core.types import FloatArray, IntArray
from discreet.guard.density.base import DensityOptions, densities
from discreet.guard.density.fitted_dual import SCALES, FittedDual, Projection
from discreet.guard.density.one_class import NUS, NuSweep, sweep_nu
from discreet.guard.density.typicality import Typicality

need("sklearn", "fitting a dual density", "audit")

from sklearn.base import BaseEstimator, ClassifierMixin  # noqa: E402
from sklearn.utils import check_random_state  # noqa: E402
from sklearn.utils.multiclass import check_classification_targets  # noqa: E402
from sklearn.utils.validation import check_is_fitted, validate_data  # noqa: E402

PCA = 512
FEATURES = ("embedding", "typicality")

Pair: TypeAlias = tuple[NDArray[Any], NDArray[Any]]


class DualDensity(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Two one-class densities, one a class, and δ = σ_u − σ_s.

    Parameters
    ----------
    density : str
        A name in the registry `densities`: "ocsvm", "gmm", "rff".
    nu : float in (0, 1], or "sweep"
        Share of training rows outside the support. "sweep" chooses among .005, .01, .02, .05 by 5-fold AUROC of δ
        (`sweep_nu`; at least 4 rows a class, else .005). No meaning for "gmm".
    gamma : float or "median"
        Kernel width; "median" is, per side, 1 / median squared distance over at most 2,000 rows.
    n_components : int
        Mixture components of "gmm" at the most: each side gets as many as its rows carry (two rows per dimension and
        component, after the fifth that is held out), `components_` says how many.
    fixed_components : bool
        The paper's form of "gmm": `n_components` on each side however few the rows, and no fifth held out.
    n_frequencies : int
        Random frequencies of "rff", shared by both sides.
    pca : int, None or "auto"
        Principal components at the most, fitted on both classes together: min(pca, rows of the smaller class / 2, d).
        "auto" is 512 for "gmm" on embeddings and None for the others.
    features : "embedding" or "typicality"
        Rows as they are, or where they lie among the rows of each class (`typicality.py`), all of which are then kept.
    widths : sequence of int or None
        Columns of each encoder, for typicality features, after `pca`; None is one encoder.
    scale : "normalised" or "libsvm"
        Scale of both σ before they are subtracted. "libsvm" is the paper's raw form.
    random_state : int, RandomState or None

    Attributes
    ----------
    classes_ : (2,)
        The safe label, then the unsafe one (sorted).
    fitted_ : FittedDual
        What scores, with numpy alone; what the artifact saves.
    nu_ : float or None
        The ν that was used; None for "gmm".
    sweep_, components_ : NuSweep or None; dict or None
        Mixture components `requested`, and fitted on each side, `safe`, `unsafe`; None for densities without any.
    """

    def __init__(self, density: str = "ocsvm", *, nu: float | str = "sweep", gamma: float | str = "median",
                 n_components: int = 8, fixed_components: bool = False, n_frequencies: int = 4096,
                 pca: int | str | None = "auto", features: str = "embedding",
                 widths: tuple[int, ...] | None = None, scale: str = "normalised", random_state: Any = None) -> None:
        self.density = density
        self.nu = nu
        self.gamma = gamma
        self.n_components = n_components
        self.fixed_components = fixed_components
        self.n_frequencies = n_frequencies
        self.pca = pca
        self.features = features
        self.widths = widths
        self.scale = scale
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # noqa: N803
        """Fit both sides on rows (n, d) and labels (n,), the larger of which means unsafe; TooFewRowsError under 2."""
        if self.scale not in SCALES:
            raise ValueError(f"scale is {self.scale!r}: expected 'normalised' or 'libsvm'")
        if self.features not in FEATURES:
            raise ValueError(f"features is {self.features!r}: expected 'embedding' or 'typicality'")
        rows, given = validate_data(self, X, y, dtype=[np.float64, np.float32], ensure_min_samples=2)
        check_classification_targets(given)
        self.classes_, labels = np.unique(given, return_inverse=True)
        if self.classes_.size > 2:
            raise ValueError("Only binary classification is supported. The type of the target is multiclass: "
                             f"{self.classes_.size} classes")
        if self.classes_.size < 2:
            raise ValueError(f"y holds 1 class, {self.classes_[0]!r}: expected two, safe and unsafe")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31 - 1, size=4))
        options = DensityOptions(gamma=self.gamma, n_components=self.n_components,
                                 fixed_components=self.fixed_components, n_frequencies=self.n_frequencies)
        projection = self._projection(rows, labels)
        seen = rows if projection is None else projection.transform(rows)
        sides = seen[labels == 0], seen[labels == 1]
        others, views = sides[::-1], None
        if self.features == "typicality":
            safe, unsafe = (Typicality.fit(side, self.widths, rng) for side in sides)
            views = safe, unsafe
            sides = safe.own(), unsafe.own()
            others = safe.transform(unsafe.rows()), unsafe.transform(safe.rows())
        self.sweep_ = self._swept(sides, others, rng)
        nu = self.sweep_.nu if self.sweep_ else NUS[0] if isinstance(self.nu, str) else float(self.nu)
        self.nu_ = None if self.density == "gmm" else nu
        options = replace(options, nu=nu, seed=int(rng.integers(2**53)))
        of_safe, of_unsafe = (densities[self.density].fit(side, options, rng=rng) for side in sides)
        self.fitted_ = FittedDual(rows.shape[1], self.scale, (of_safe, of_unsafe), projection, views)
        self.components_ = self.fitted_.components()
        return self

    def sigmas(self, X: ArrayLike) -> FloatArray:  # noqa: N803
        """σ_s and σ_u (n, 2), higher = more typical of the class."""
        check_is_fitted(self)
        return self.fitted_.sigmas(validate_data(self, X, reset=False, dtype=[np.float64, np.float32]))

    def decision_function(self, X: ArrayLike) -> FloatArray:  # noqa: N803
        """δ = σ_u − σ_s (n,)."""
        return np.diff(self.sigmas(X), axis=1)[:, 0]

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """The unsafe label where δ > 0, else the safe one."""
        flagged = self.decision_function(X) > 0.0
        return np.asarray(self.classes_[flagged.astype(np.intp)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _projection(self, rows: NDArray[Any], labels: IntArray) -> Projection | None:
        reduced = self.density == "gmm" and self.features == "embedding"
        most: Any = (PCA if reduced else None) if self.pca == "auto" else self.pca
        if most is None:
            return None
        if not isinstance(most, int | np.integer) or most < 1:
            raise ValueError(f"pca is {self.pca!r}: expected a positive whole number, None or 'auto'")
        from sklearn.decomposition import PCA as Peer  # noqa: N811

        p = max(1, min(int(most), int(np.bincount(labels, minlength=2).min()) // 2, rows.shape[1]))
        solver = "covariance_eigh" if rows.shape[0] >= rows.shape[1] else "full"
        peer = Peer(p, svd_solver=solver).fit(rows.astype(np.float64))
        return Projection.of(peer.mean_, peer.components_)

    def _swept(self, sides: Pair, others: Pair, rng: np.random.Generator) -> NuSweep | None:
        if self.density == "gmm" or not isinstance(self.nu, str):
            return None
        if self.nu != "sweep":
            raise ValueError(f"nu is {self.nu!r}: expected 'sweep' or a number over 0 and at most 1")
        if min(side.shape[0] for side in sides) < 4:
            return None
        return sweep_nu(*sides, others=others, rng=rng, gamma=self.gamma, normalised=self.scale == "normalised")
