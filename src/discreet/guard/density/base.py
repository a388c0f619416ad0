"""What a density of the guard offers, and the registry of densities (paper V-B)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.errors import InputError
from discreet.core.registry import Registry
from discreet.core.types import FloatArray
from discreet.guard.density.exact import as_rows, row_sums

LEAST_ROWS, MEDIAN_ROWS = 2, 2_000

Arrays = Mapping[str, NDArray[Any]]


class TooFewRowsError(InputError, ValueError):
    """Fewer rows than a density needs. A ValueError too, as scikit-learn's callers expect."""

    def __init__(self, what: str, have: int, least: int = LEAST_ROWS) -> None:
        super().__init__(f"{what} was given n_samples={have} rows: at least {least} are needed, add rows")


def enough_rows(x: NDArray[Any], what: str) -> NDArray[Any]:
    """Rows (n, d), n >= 2, of finite numbers; TooFewRowsError, ValueError."""
    rows = as_rows(x)
    if rows.shape[0] < LEAST_ROWS:
        raise TooFewRowsError(what, rows.shape[0])
    return rows


@dataclass(frozen=True, slots=True)
class DensityOptions:
    """What a user may say of a density (`DualDensity` says what it means); each kind takes what concerns it.

    `seed` is that of the frequencies: one for both sides of a guard; None draws one a fit. ValueError for what cannot
    be.
    """

    nu: float = 0.01
    gamma: float | str = "median"
    n_components: int = 8
    fixed_components: bool = False
    n_frequencies: int = 4096
    seed: int | None = None

    def __post_init__(self) -> None:
        if not 0.0 < self.nu <= 1.0:
            raise ValueError(f"nu is {self.nu}: expected a number over 0 and at most 1")
        if self.gamma != "median" and (isinstance(self.gamma, str) or not self.gamma > 0.0):
            raise ValueError(f"gamma is {self.gamma!r}: expected 'median' or a positive number")
        for name in ("n_components", "n_frequencies"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}: expected at least 1")

    def width(self, x: NDArray[Any], rng: np.random.Generator) -> float:
        """The γ that `gamma` stands for, over rows (n, d)."""
        return median_gamma(x, rng) if isinstance(self.gamma, str) else float(self.gamma)


def as_float(x: ArrayLike) -> FloatArray:
    """float64 without copying where it is already."""
    return np.asarray(x, dtype=np.float64)


CASTS: Mapping[str, Callable[[Any], Any]] = {"int": int, "float": float, "bool": bool, "FloatArray": as_float}


class Saved:
    """A frozen dataclass whose numbers are saved as JSON values and whose arrays under their names.

    Fields of other types than those of `CASTS` are saved by the subclass.
    """

    kind: ClassVar[str]

    def _named(self, *, arrays: bool) -> dict[str, Any]:
        return {
            one.name: getattr(self, one.name)
            for one in fields(self)  # type: ignore[arg-type]
            if one.type in CASTS and (one.type == "FloatArray") == arrays
        }

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays to save."""
        return self._named(arrays=True)

    def config(self) -> dict[str, Any]:
        """JSON values to save, `kind` among them."""
        return {"kind": self.kind, **self._named(arrays=False)}

    @classmethod
    def restore(cls, config: Mapping[str, Any], state: Arrays, **more: Any) -> Self:
        """What `config` and `state` saved, with the fields `more`; InputError where it is not that."""
        with restoring(f"a saved {cls.kind}"):
            for one in fields(cls):  # type: ignore[arg-type]
                if one.type in CASTS:
                    source = state if one.type == "FloatArray" else config
                    more[one.name] = CASTS[str(one.type)](source[one.name])
            return cls(**more)


class Density(Saved, ABC):
    """How typical rows are of the rows that were fitted. Higher = more typical.

    A row's score depends on that row alone, bit for bit, whatever its batch. Scoring needs numpy only.
    """

    @classmethod
    @abstractmethod
    def fit(cls, x: NDArray[Any], options: DensityOptions, *, rng: np.random.Generator) -> Self:
        """The density of rows (n, d), n >= 2; TooFewRowsError."""

    @abstractmethod
    def score(self, x: NDArray[Any]) -> FloatArray:
        """σ (n,) on the estimator's raw scale (`scale="libsvm"`). ValueError for another width or NaN."""

    @abstractmethod
    def normalised(self, x: NDArray[Any]) -> FloatArray:
        """σ (n,) on a scale that does not change with ν or the number of rows."""

    def stored(self) -> NDArray[Any] | None:
        """The training embeddings that are kept (m, d), None without any."""
        return None

    def stored_rows(self) -> int:
        """How many those are."""
        return 0

    @property
    def components(self) -> tuple[int, int] | None:
        """Mixture components asked for and fitted; None for what is no mixture."""
        return None


densities: Registry[type[Density]] = Registry("densities", builtin="discreet.guard.density.densities", classes=True)


def restore_density(config: Mapping[str, Any], state: Arrays) -> Density:
    """The density of the kind that `config` names."""
    kind = config.get("kind")
    if not isinstance(kind, str):
        raise InputError(f"a saved density names the kind {kind!r}: expected one of {', '.join(densities)}")
    return densities[kind].restore(config, state)


def median_gamma(x: NDArray[Any], rng: np.random.Generator) -> float:
    """γ = 1 / median squared distance between different rows, over `MEDIAN_ROWS` rows drawn, at most.

    (The "median heuristic": paper V-B.) Where more than half of the pairs coincide, the mean of the others stands in;
    where all do, γ = 1.
    """
    drawn = np.asarray(x)
    if drawn.shape[0] > MEDIAN_ROWS:
        drawn = drawn[np.sort(rng.choice(drawn.shape[0], MEDIAN_ROWS, replace=False))]
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
