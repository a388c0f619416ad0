"""What is compared with the density: three logistic regressions and the multilayer perceptron of the paper (VII).

Each is fitted by scikit-learn and scored by numpy. δ is the logit of "unsafe", so τ = 0 is even odds. A row's δ
depends on that row alone, bit for bit.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from math import log
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.errors import InputError, need
from discreet.core.types import FloatArray, IntArray
from discreet.guard.density.base import LEAST_ROWS, Arrays, Saved, TooFewRowsError, as_float, restoring
from discreet.guard.density.exact import LEFT, as_rows, blocks, dots, row_sums, split, store

Reads = Literal["features", "evidence", "both", "odds"]
"""What a discriminator reads: fused features of a chunk, evidence of the whole text, both side by side, or the log-odds
that the calibrated score adds up (`score.odds`), where the learned reader reads along."""
HIDDEN = (512, 128)
UNSURE = 0.9
"""MLP-v4 commits where p <= .1 or p >= .9 and abstains between. The paper states neither its band nor its layers: both
are ours."""
DENSITY = "density"
"""The name under which the density itself decides: δ = σ_u − σ_s."""


class Discriminator(Saved, ABC):
    """Tells unsafe rows from safe ones."""

    reads: ClassVar[Reads] = "features"

    @classmethod
    @abstractmethod
    def fit(cls, x: NDArray[Any], y: ArrayLike, *, rng: np.random.Generator) -> Self:
        """Of rows (n, d) with y (n,) in {0 safe, 1 unsafe}. ValueError; TooFewRowsError for under 2 of a class."""

    @abstractmethod
    def delta(self, x: NDArray[Any]) -> FloatArray:
        """The logit (n,) of "unsafe"."""

    @property
    def unsure(self) -> float:
        """|δ| under which it abstains; 0 where it always decides."""
        return 0.0

    @classmethod
    def _training(cls, x: NDArray[Any], y: ArrayLike) -> tuple[NDArray[Any], IntArray]:
        rows, labels = as_rows(x), np.asarray(y, dtype=np.int64)
        if labels.shape != (rows.shape[0],) or not np.isin(labels, (0, 1)).all():
            raise ValueError(f"{labels.size} labels of {rows.shape[0]} rows: expected one each, 0 (safe) or 1 (unsafe)")
        for label, side in enumerate(("safe", "unsafe")):
            have = int((labels == label).sum())
            if have < LEAST_ROWS:
                raise TooFewRowsError(f"{cls.kind}, side {side},", have)
        return rows, labels


@dataclass(frozen=True, eq=False)
class LogisticRegression(Discriminator):
    """δ = w·x + b, ridge-penalised, both classes weighing the same; `c` is scikit-learn's `C`, `weights` (d,)."""

    strength: ClassVar[float] = 1.0

    c: float
    weights: FloatArray = field(repr=False)
    intercept: float

    def __post_init__(self) -> None:
        if self.weights.ndim != 1 or self.weights.size == 0 or not np.isfinite(self.weights).all():
            raise ValueError("weights")

    @classmethod
    def fit(cls, x: NDArray[Any], y: ArrayLike, *, rng: np.random.Generator, c: float | None = None) -> Self:
        """See `Discriminator`; nothing is drawn."""
        rows, labels = cls._training(x, y)
        peer = _fit("logistic", as_float(rows), labels, C=c or cls.strength,
                    class_weight="balanced", max_iter=2_000)
        return cls(c or cls.strength, as_float(peer.coef_[0]), float(peer.intercept_[0]))

    def delta(self, x: NDArray[Any]) -> FloatArray:
        """The logit (n,)."""
        rows = as_rows(x, self.weights.size)
        out = np.empty(rows.shape[0])
        for part in blocks(rows.shape[0]):
            out[part] = row_sums(as_float(rows[part]) * self.weights) + self.intercept
        return out


class EvidenceLogistic(LogisticRegression):
    """Logistic regression on the evidence vector of the whole text."""

    kind = "evidence+logistic"
    reads = "evidence"


class FeaturesLogistic(LogisticRegression):
    """Logistic regression on the fused features that the density reads."""

    kind = "features+logistic"
    strength = 10.0


class BothLogistic(LogisticRegression):
    """Logistic regression on the fused features of a chunk and the evidence vector of the whole text, side by side."""

    kind = "both+logistic"
    reads = "both"


class OddsLogistic(LogisticRegression):
    """The calibrated score fitted again: logistic regression on the log-odds of the learned reader's count and of
    its spans."""

    kind = "odds+logistic"
    reads = "odds"


@dataclass(frozen=True, eq=False)
class Perceptron(Discriminator):
    """MLP-v4 (VII): two hidden layers of rectified units, cross-entropy, abstains on .1 < p < .9 (`sure`).

    Rows less `centre` (d,), the mean of the training rows, are multiplied with `scale`: their root mean square entry
    becomes 1. `weights` are (d, 512), (512, 128), (128, 1) float32, `biases` (512,), (128,), (1,).
    """

    kind: ClassVar[str] = "mlp-v4"

    sure: float
    scale: float
    centre: FloatArray = field(repr=False)
    weights: tuple[NDArray[np.float32], ...] = field(repr=False)
    biases: tuple[FloatArray, ...] = field(repr=False)

    def __post_init__(self) -> None:
        widths = [self.centre.size, *(b.size for b in self.biases)]
        if [w.shape for w in self.weights] != list(pairwise(widths)) or widths[-1] != 1:
            raise ValueError("arrays of unlike shapes")
        if not 0.5 <= self.sure < 1.0:
            raise ValueError("sure")

    @classmethod
    def fit(cls, x: NDArray[Any], y: ArrayLike, *, rng: np.random.Generator) -> Self:
        """See `Discriminator`; `rng` seeds the first weights, the batches, and the tenth held out to stop early."""
        rows, labels = cls._training(x, y)
        centre = rows.mean(axis=0, dtype=np.float64)
        spread = float(np.sqrt(np.mean((rows - centre) ** 2)))
        scale = 1.0 / spread if spread > 0.0 else 1.0
        # scikit-learn holds a tenth out of each class: with fewer than ten rows of one there is no such tenth.
        early = int(min(labels.sum(), labels.size - labels.sum())) >= 10
        peer = _fit("perceptron", ((rows - centre) * scale).astype(np.float32), labels,
                    hidden_layer_sizes=HIDDEN, early_stopping=early, n_iter_no_change=5, max_iter=60,
                    random_state=int(rng.integers(2**31 - 1)))
        weights = tuple(np.asarray(w, dtype=np.float32) for w in peer.coefs_)
        return cls(UNSURE, scale, centre, weights, tuple(as_float(b) for b in peer.intercepts_))

    @cached_property
    def _operands(self) -> list[NDArray[np.float32]]:
        return [store(w.T)[0] for w in self.weights]

    def delta(self, x: NDArray[Any]) -> FloatArray:
        """The logit (n,)."""
        rows = as_rows(x, self.centre.size)
        out = np.empty(rows.shape[0])
        for part in blocks(rows.shape[0]):
            layer = (rows[part] - self.centre) * self.scale
            for operand, bias in zip(self._operands, self.biases, strict=True):
                units = layer if operand is self._operands[0] else np.maximum(layer, 0.0)
                layer = dots(split(units, LEFT), [operand]) + bias
            out[part] = layer[:, 0]
        return out

    @property
    def unsure(self) -> float:
        """The logit of `sure`."""
        return log(self.sure / (1.0 - self.sure))

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays to save."""
        named = super().state()
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            named |= {f"weights_{i}": weight, f"biases_{i}": bias}
        return named

    def config(self) -> dict[str, Any]:
        """JSON values to save."""
        return super().config() | {"layers": len(self.weights)}

    @classmethod
    def restore(cls, config: Mapping[str, Any], state: Arrays, **_: Any) -> Self:
        """What `config` and `state` saved."""
        with restoring(f"a saved {cls.kind}"):
            layers = range(int(config["layers"]))
            weights = tuple(np.asarray(state[f"weights_{i}"], dtype=np.float32) for i in layers)
            biases = tuple(as_float(state[f"biases_{i}"]) for i in layers)
        return super().restore(config, state, weights=weights, biases=biases)


DISCRIMINATORS: dict[str, type[Discriminator]] = {
    c.kind: c for c in (EvidenceLogistic, FeaturesLogistic, BothLogistic, Perceptron, OddsLogistic)
}
"""Kind to class, in the order in which they are printed."""


def _fit(name: str, rows: NDArray[Any], labels: IntArray, **options: Any) -> Any:
    """A classifier of scikit-learn, fitted."""
    linear_model, neural_network, exceptions = (need(f"sklearn.{room}", "fitting a discriminator", "audit")
                                                for room in ("linear_model", "neural_network", "exceptions"))
    kinds = {"logistic": linear_model.LogisticRegression, "perceptron": neural_network.MLPClassifier}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", exceptions.ConvergenceWarning)  # as good as it gets in that many steps
        return kinds[name](**options).fit(rows, labels)


def given(reads: Reads, features: NDArray[Any], evidence: NDArray[Any], odds: NDArray[Any]) -> NDArray[Any]:
    """What a discriminator reads of rows with features (n, d), evidence (n, k) and log-odds (n, 2)."""
    if reads == "both":
        return np.hstack([features, evidence])
    if reads == "odds":
        return odds
    return evidence if reads == "evidence" else features


def restore_discriminator(config: Mapping[str, Any], state: Arrays) -> Discriminator:
    """The discriminator of the kind that `config` names. Raises InputError for an unknown kind."""
    kind = config.get("kind")
    if kind not in DISCRIMINATORS:
        raise InputError(f"a saved discriminator names the kind {kind!r}: expected one of {', '.join(DISCRIMINATORS)}")
    return DISCRIMINATORS[kind].restore(config, state)
