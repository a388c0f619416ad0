"""What a density estimator of the guard must offer, the registry of estimators, and what they share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.errors import InputError
from discreet.core.registry import Registry
from discreet.guard.exact import FloatArray, row_sums

MEDIAN_ROWS = 2_000

Fitted = TypeVar("Fitted")
Arrays = Mapping[str, NDArray[Any]]


class TooFewRowsError(InputError, ValueError):
    """Fewer rows than a density needs. A ValueError too, as scikit-learn's callers expect."""

    def __init__(self, what: str, have: int, least: int) -> None:
        super().__init__(f"{what} was given n_samples={have} rows: at least {least} are needed, add rows")


@dataclass(frozen=True, slots=True)
class DensityOptions:
    """What a user may say of a density; each kind takes what concerns it.

    Attributes
    ----------
    nu : float
        Share of training rows outside the support, in (0, 1] (ocsvm, rff).
    gamma : float or "median"
        Kernel width; "median" is 1 / median squared distance (ocsvm, rff).
    n_components : int
        Mixture components at the most (gmm).
    n_frequencies : int
        Random frequencies, each a cosine and a sine (rff).
    seed : int or None
        Of the frequencies (rff): one seed for both sides of a guard; None draws one a fit.
    """

    nu: float = 0.01
    gamma: float | str = "median"
    n_components: int = 8
    n_frequencies: int = 4096
    seed: int | None = None


class Density(Protocol):
    """How typical rows are of the rows that were fitted. Higher = more typical.

    A row's score depends on that row alone, bit for bit, whatever its batch. Scoring needs numpy only.
    """

    kind: str

    @classmethod
    def create(cls, options: DensityOptions) -> Self:
        """An unfitted density."""
        ...

    def fit(self, x: NDArray[Any], *, rng: np.random.Generator) -> Self:
        """The density fitted to rows (n, d); the unfitted one is left as it is. TooFewRowsError."""
        ...

    def score(self, x: NDArray[Any]) -> FloatArray:
        """σ (n,) on the estimator's raw scale (`scale="libsvm"`)."""
        ...

    def normalised(self, x: NDArray[Any]) -> FloatArray:
        """σ (n,) on a scale that does not change with ν or the number of rows."""
        ...

    def stored_rows(self) -> int:
        """How many training embeddings are kept."""
        ...

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays to save."""
        ...

    def config(self) -> dict[str, Any]:
        """JSON values to save, `kind` among them."""
        ...

    @classmethod
    def restore(cls, config: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> Self:
        """The density that `config` and `state` describe; InputError where they describe none."""
        ...


densities: Registry[type[Density]] = Registry("densities", builtin="discreet.guard.densities", classes=True)


def restore_density(config: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> Density:
    """The density of the kind that `config` names."""
    kind = config.get("kind")
    if not isinstance(kind, str):
        raise InputError(f"a saved density names the kind {kind!r}: expected one of {', '.join(densities)}")
    return densities[kind].restore(config, state)


def median_gamma(x: NDArray[Any], rng: np.random.Generator, limit: int = MEDIAN_ROWS) -> float:
    """γ = 1 / median squared distance between different rows, over at most `limit` rows drawn without replacement.

    (The "median heuristic": paper V-B.) Where more than half of the pairs coincide, the mean of the others stands in;
    where all do, γ = 1.
    """
    drawn = np.asarray(x)
    if drawn.shape[0] > limit:
        drawn = drawn[np.sort(rng.choice(drawn.shape[0], limit, replace=False))]
    rows = drawn - drawn.mean(axis=0, dtype=np.float64)
    norms = row_sums(rows * rows)
    squared = norms[:, None] + norms[None, :] - 2.0 * (rows @ rows.T)
    pairs = squared[np.triu_indices(rows.shape[0], 1)]
    noise = 1e-12 * max(float(norms.max(initial=0.0)), 1e-300)
    median = float(np.median(pairs)) if pairs.size else 0.0
    if median <= noise:
        apart = pairs[pairs > noise]
        median = float(apart.mean()) if apart.size else 1.0
    return 1.0 / median


def width(gamma: float | str, x: NDArray[Any], rng: np.random.Generator) -> float:
    """The γ that an option stands for. ValueError for anything but a positive number or "median"."""
    if gamma == "median":
        return median_gamma(x, rng)
    if isinstance(gamma, str) or not gamma > 0.0:
        raise ValueError(f"gamma is {gamma!r}: expected 'median' or a positive number")
    return float(gamma)


def checked_nu(nu: float) -> float:
    """ν in (0, 1], or ValueError."""
    if not 0.0 < nu <= 1.0:
        raise ValueError(f"nu is {nu}: expected a number over 0 and at most 1")
    return float(nu)


def as_float(x: ArrayLike) -> FloatArray:
    """float64 without copying where it is already."""
    return np.asarray(x, dtype=np.float64)


def after_fit(fitted: Fitted | None, what: str) -> Fitted:
    """What a fit left. ValueError where there was none."""
    if fitted is None:
        raise ValueError(f"{what} scores after fit, not before")
    return fitted


@contextmanager
def restoring(what: str) -> Iterator[None]:
    """Errors of what is read back from `config` and `state` as one InputError."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{what} lacks or spoils {error}: expected what a fit saved") from None


def prefixed(prefix: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    """The same arrays under `prefix/name`."""
    return {f"{prefix}/{name}": array for name, array in arrays.items()}


def under(prefix: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    """The arrays that `prefixed` named."""
    start = f"{prefix}/"
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
