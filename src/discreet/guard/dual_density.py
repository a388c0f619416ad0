"""The dual density as a scikit-learn classifier (paper V): fit here, score anywhere with `FittedDual`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.errors import MissingExtraError
from discreet.guard.density import DensityOptions, densities
from discreet.guard.exact import FloatArray
from discreet.guard.fitted_dual import SCALES, FittedDual, Projection, Scale
from discreet.guard.one_class import NUS, NuSweep, View, sweep_nu
from discreet.guard.typicality import Typicality

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError:
    raise MissingExtraError("fitting a dual density", "audit", "sklearn") from None

PCA = 512
NO_NU = ("gmm",)
"""Densities that ν does not concern."""


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
    n_frequencies : int
        Random frequencies of "rff", shared by both sides.
    pca : int, None or "auto"
        Principal components at the most, fitted on both classes together: min(pca, rows of the smaller class / 2, d).
        "auto" is 512 for "gmm" and None for the others.
    features : "embedding" or "typicality"
        Rows as they are, or their typicality features against each class (`typicality.py`).
    widths : sequence of int or None
        Columns of each encoder, for typicality features; None is one encoder.
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
    sweep_ : NuSweep or None
    components_ : Components or None
        Mixture components requested, and fitted on each side; None for densities without any.
    """

    def __init__(
        self, density: str = "ocsvm", *, nu: float | str = "sweep", gamma: float | str = "median",
        n_components: int = 8, n_frequencies: int = 4096, pca: int | str | None = "auto",
        features: str = "embedding", widths: tuple[int, ...] | None = None, scale: str = "normalised",
        random_state: Any = None,
    ) -> None:
        self.density = density
        self.nu = nu
        self.gamma = gamma
        self.n_components = n_components
        self.n_frequencies = n_frequencies
        self.pca = pca
        self.features = features
        self.widths = widths
        self.scale = scale
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:  # noqa: N803
        """Fit both sides.

        Parameters
        ----------
        X : (n, d)
        y : (n,)
            Two labels; the larger is unsafe.

        Raises
        ------
        TooFewRowsError
            Where a class has fewer rows than its density needs (2).
        """
        rows, labels = self._checked(X, y)
        state = check_random_state(self.random_state)
        rng = np.random.default_rng(state.randint(2**31 - 1, size=4))
        projection = self._projection(rows, labels, rng)
        seen = rows if projection is None else projection.transform(rows)
        safe, unsafe = seen[labels == 0], seen[labels == 1]
        views, own = self._views(safe, unsafe, rng)
        self.sweep_ = self._swept(own, rng)
        self.nu_ = None if self.density in NO_NU else self.sweep_.nu if self.sweep_ else self._plain_nu()
        options = DensityOptions(
            nu=NUS[0] if self.nu_ is None else self.nu_, gamma=self.gamma, n_components=self.n_components,
            n_frequencies=self.n_frequencies, seed=int(rng.integers(2**53)),
        )
        sides = [densities[self.density].create(options).fit(view.own, rng=rng) for view in own]
        scale: Scale = "normalised" if self.scale == "normalised" else "libsvm"
        self.fitted_ = FittedDual(rows.shape[1], scale, sides[0], sides[1], projection, views)
        self.components_ = self.fitted_.components()
        return self

    def sigmas(self, X: ArrayLike) -> FloatArray:  # noqa: N803
        """σ_s and σ_u (n, 2), higher = more typical of the class."""
        check_is_fitted(self)
        return self.fitted_.sigmas(validate_data(self, X, reset=False, dtype=[np.float64, np.float32]))

    def decision_function(self, X: ArrayLike) -> FloatArray:  # noqa: N803
        """δ = σ_u − σ_s (n,)."""
        sigmas = self.sigmas(X)
        return np.asarray(sigmas[:, 1] - sigmas[:, 0], dtype=np.float64)

    def predict(self, X: ArrayLike) -> NDArray[Any]:  # noqa: N803
        """The unsafe label where δ > 0, else the safe one."""
        flagged = self.decision_function(X) > 0.0
        return np.asarray(self.classes_[flagged.astype(np.intp)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _checked(self, x: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], NDArray[np.int64]]:
        if self.scale not in SCALES or self.features not in ("embedding", "typicality"):
            raise ValueError(
                f"scale {self.scale!r} with features {self.features!r}: expected 'normalised' or 'libsvm' with "
                "'embedding' or 'typicality'"
            )
        rows, given = validate_data(self, x, y, dtype=[np.float64, np.float32], ensure_min_samples=2)
        check_classification_targets(given)
        self.classes_, labels = np.unique(given, return_inverse=True)
        if self.classes_.size > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{self.classes_.size} classes"
            )
        if self.classes_.size < 2:
            raise ValueError(f"y holds 1 class, {self.classes_[0]!r}: expected two, safe and unsafe")
        return rows, labels.astype(np.int64)

    def _plain_nu(self) -> float:
        return NUS[0] if isinstance(self.nu, str) else float(self.nu)

    def _projection(self, rows: NDArray[Any], labels: NDArray[np.int64], rng: np.random.Generator) -> Projection | None:
        most: Any = (PCA if self.density == "gmm" else None) if self.pca == "auto" else self.pca
        if most is None:
            return None
        if not isinstance(most, int | np.integer) or most < 1:
            raise ValueError(f"pca is {self.pca!r}: expected a positive whole number, None or 'auto'")
        from sklearn.decomposition import PCA as Peer  # noqa: N811

        smaller = int(np.bincount(labels, minlength=2).min())
        p = max(1, min(int(most), smaller // 2, rows.shape[1]))
        solver = "covariance_eigh" if rows.shape[0] >= rows.shape[1] else "full"
        peer = Peer(p, svd_solver=solver).fit(rows.astype(np.float64))
        return Projection.of(peer.mean_, peer.components_)

    def _views(
        self, safe: NDArray[Any], unsafe: NDArray[Any], rng: np.random.Generator
    ) -> tuple[tuple[Typicality, Typicality] | None, tuple[View, View]]:
        if self.features == "embedding":
            return None, (View(safe, unsafe), View(unsafe, safe))
        views = Typicality.fit(safe, self.widths, rng), Typicality.fit(unsafe, self.widths, rng)
        held = [view.rows() for view in views]
        return views, (
            View(views[0].own(), views[0].transform(held[1])), View(views[1].own(), views[1].transform(held[0]))
        )

    def _swept(self, own: tuple[View, View], rng: np.random.Generator) -> NuSweep | None:
        if self.density in NO_NU or not isinstance(self.nu, str):
            return None
        if self.nu != "sweep":
            raise ValueError(f"nu is {self.nu!r}: expected 'sweep' or a number over 0 and at most 1")
        if min(view.own.shape[0] for view in own) < 4:
            return None
        return sweep_nu(own[0], own[1], rng=rng, gamma=self.gamma, normalised=self.scale == "normalised")
