"""What is compared with the density: three logistic regressions and the multilayer perceptron of the paper (VII).

Each is fitted by scikit-learn and scored by numpy. δ is the logit of "unsafe", so τ = 0 is even odds. A row's δ
depends on that row alone, bit for bit.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from math import log
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.errors import InputError, MissingExtraError
from discreet.guard.density import TooFewRowsError, after_fit, as_float, restoring
from discreet.guard.exact import LEFT, FloatArray, as_rows, blocks, dots, row_sums, split, store

Reads = Literal["features", "evidence", "both"]
"""What a discriminator reads: fused features of a chunk, evidence of the whole text, or both side by side."""
LEAST_ROWS = 2
HIDDEN = (512, 128)
UNSURE = 0.9
"""MLP-v4 commits where p <= .1 or p >= .9 and abstains between."""


class Discriminator(Protocol):
    """Tells unsafe rows from safe ones."""

    kind: ClassVar[str]
    reads: ClassVar[Reads]

    def fit(self, x: NDArray[Any], y: ArrayLike, *, rng: np.random.Generator) -> Self:
        """Fitted to rows (n, d) with y (n,) in {0 safe, 1 unsafe}; the unfitted one is left as it is."""
        ...

    def delta(self, x: NDArray[Any]) -> FloatArray:
        """The logit (n,) of "unsafe"."""
        ...

    @property
    def unsure(self) -> float:
        """|δ| under which it abstains; 0 where it always decides."""
        ...

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays to save."""
        ...

    def config(self) -> dict[str, Any]:
        """JSON values to save, `kind` among them."""
        ...

    @classmethod
    def restore(cls, config: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> Self:
        """What `config` and `state` saved; InputError where they describe none."""
        ...


def training(x: NDArray[Any], y: ArrayLike, kind: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Rows (n, d) and labels (n,). ValueError for other labels; TooFewRowsError where a class has under 2 rows."""
    rows, labels = as_rows(x), np.asarray(y, dtype=np.int64)
    if labels.shape != (rows.shape[0],) or not np.isin(labels, (0, 1)).all():
        raise ValueError(f"{labels.size} labels of {rows.shape[0]} rows: expected one each, 0 (safe) or 1 (unsafe)")
    for label, side in ((0, "safe"), (1, "unsafe")):
        have = int((labels == label).sum())
        if have < LEAST_ROWS:
            raise TooFewRowsError(f"{kind}, side {side},", have, LEAST_ROWS)
    return rows, labels


@dataclass(frozen=True, slots=True, eq=False)
class LogisticRegression:
    """δ = w·x + b, ridge-penalised, both classes weighing the same.

    Attributes
    ----------
    c : float
        Inverse strength of the ridge, as scikit-learn's `C`.
    weights : (d,) float64
    intercept : float
    """

    kind: ClassVar[str] = ""
    reads: ClassVar[Reads] = "features"

    c: float = 1.0
    weights: FloatArray | None = field(default=None, repr=False)
    intercept: float = 0.0

    def fit(self, x: NDArray[Any], y: ArrayLike, *, rng: np.random.Generator) -> Self:
        """See `Discriminator`; nothing is drawn."""
        rows, labels = training(x, y, self.kind)
        try:
            from sklearn.exceptions import ConvergenceWarning
            from sklearn.linear_model import LogisticRegression as Peer
        except ImportError:
            raise MissingExtraError("fitting a logistic regression", "audit", "sklearn") from None
        peer = Peer(C=self.c, class_weight="balanced", max_iter=2_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # as good as it gets in that many steps
            peer.fit(as_float(rows), labels)
        return replace(self, weights=as_float(peer.coef_[0]), intercept=float(peer.intercept_[0]))

    def delta(self, x: NDArray[Any]) -> FloatArray:
        """The logit (n,)."""
        weights = after_fit(self.weights, "a logistic regression")
        rows = as_rows(x, weights.size)
        out = np.empty(rows.shape[0])
        for part in blocks(rows.shape[0]):
            out[part] = row_sums(as_float(rows[part]) * weights) + self.intercept
        return out

    @property
    def unsure(self) -> float:
        """Always decides."""
        return 0.0

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays to save."""
        return {"weights": after_fit(self.weights, "a logistic regression")}

    def config(self) -> dict[str, Any]:
        """JSON values to save."""
        after_fit(self.weights, "a logistic regression")
        return {"kind": self.kind, "c": self.c, "intercept": self.intercept}

    @classmethod
    def restore(cls, config: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> Self:
        """What `config` and `state` saved."""
        with restoring(f"a saved {cls.kind}"):
            weights = as_float(state["weights"])
            if weights.ndim != 1 or weights.size == 0 or not np.isfinite(weights).all():
                raise ValueError("weights")
            return cls(float(config["c"]), weights, float(config["intercept"]))


class EvidenceLogistic(LogisticRegression):
    """Logistic regression on the evidence vector of the whole text."""

    __slots__ = ()
    kind: ClassVar[str] = "evidence+logistic"
    reads: ClassVar[Reads] = "evidence"


class FeaturesLogistic(LogisticRegression):
    """Logistic regression on the fused features that the density reads."""

    __slots__ = ()
    kind: ClassVar[str] = "features+logistic"
    reads: ClassVar[Reads] = "features"


class BothLogistic(LogisticRegression):
    """Logistic regression on the fused features of a chunk and the evidence vector of the whole text, side by side."""

    __slots__ = ()
    kind: ClassVar[str] = "both+logistic"
    reads: ClassVar[Reads] = "both"


@dataclass(frozen=True, slots=True, eq=False)
class Perceptron:
    """MLP-v4 (VII): two hidden layers of rectified units, cross-entropy, abstains on .1 < p < .9.

    Attributes
    ----------
    centre : (d,) float64
        Mean of the training rows, taken off before the first layer.
    scale : float
        What the centred rows are multiplied with: their root mean square entry becomes 1.
    weights : arrays (d, 512), (512, 128), (128, 1) float32
    biases : arrays (512,), (128,), (1,) float64
    """

    kind: ClassVar[str] = "mlp-v4"
    reads: ClassVar[Reads] = "features"

    sure: float = UNSURE
    centre: FloatArray | None = field(default=None, repr=False)
    scale: float = 1.0
    weights: tuple[NDArray[np.float32], ...] = field(default=(), repr=False)
    biases: tuple[FloatArray, ...] = field(default=(), repr=False)
    _operands: tuple[NDArray[np.float32], ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "_operands", tuple(store(w.T)[0] for w in self.weights))

    def fit(self, x: NDArray[Any], y: ArrayLike, *, rng: np.random.Generator) -> Self:
        """See `Discriminator`; `rng` seeds the first weights, the batches, and the tenth held out to stop early."""
        rows, labels = training(x, y, self.kind)
        try:
            from sklearn.exceptions import ConvergenceWarning
            from sklearn.neural_network import MLPClassifier
        except ImportError:
            raise MissingExtraError("fitting a multilayer perceptron", "audit", "sklearn") from None
        centre = rows.mean(axis=0, dtype=np.float64)
        spread = float(np.sqrt(np.mean((rows - centre) ** 2)))
        scale = 1.0 / spread if spread > 0.0 else 1.0
        # scikit-learn holds a tenth out of each class: with fewer than ten rows of one there is no such tenth.
        early = int(min(labels.sum(), labels.size - labels.sum())) >= 10
        peer = MLPClassifier(HIDDEN, early_stopping=early, n_iter_no_change=5, max_iter=60,
                             random_state=int(rng.integers(2**31 - 1)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            peer.fit(((rows - centre) * scale).astype(np.float32), labels)
        weights = tuple(np.asarray(w, dtype=np.float32) for w in peer.coefs_)
        return replace(self, centre=centre, scale=scale, weights=weights,
                       biases=tuple(as_float(b) for b in peer.intercepts_))

    def delta(self, x: NDArray[Any]) -> FloatArray:
        """The logit (n,)."""
        centre = after_fit(self.centre, "a multilayer perceptron")
        rows = as_rows(x, centre.size)
        out = np.empty(rows.shape[0])
        for part in blocks(rows.shape[0]):
            out[part] = self._forward((rows[part] - centre) * self.scale)
        return out

    def _forward(self, layer: FloatArray) -> FloatArray:
        last = len(self._operands) - 1
        for number, (operand, bias) in enumerate(zip(self._operands, self.biases, strict=True)):
            layer = dots(split(layer, LEFT), [operand]) + bias
            if number < last:
                layer = np.maximum(layer, 0.0)
        return layer[:, 0]

    @property
    def unsure(self) -> float:
        """The logit of `sure`."""
        return log(self.sure / (1.0 - self.sure))

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays to save."""
        named: dict[str, NDArray[Any]] = {"centre": after_fit(self.centre, "a multilayer perceptron")}
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            named |= {f"weights_{number}": weight, f"biases_{number}": bias}
        return named

    def config(self) -> dict[str, Any]:
        """JSON values to save."""
        after_fit(self.centre, "a multilayer perceptron")
        return {"kind": self.kind, "sure": self.sure, "scale": self.scale, "layers": len(self.weights)}

    @classmethod
    def restore(cls, config: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> Self:
        """What `config` and `state` saved."""
        with restoring(f"a saved {cls.kind}"):
            centre, numbers = as_float(state["centre"]), range(int(config["layers"]))
            weights = tuple(np.asarray(state[f"weights_{i}"], dtype=np.float32) for i in numbers)
            biases = tuple(as_float(state[f"biases_{i}"]) for i in numbers)
            widths = [centre.size, *(b.size for b in biases)]
            if [w.shape for w in weights] != list(pairwise(widths)) or widths[-1] != 1:
                raise ValueError("arrays of unlike shapes")
            sure = float(config["sure"])
            if not 0.5 <= sure < 1.0:
                raise ValueError("sure")
            return cls(sure, centre, float(config["scale"]), weights, biases)


DISCRIMINATORS: dict[str, type[Discriminator]] = {
    c.kind: c for c in (EvidenceLogistic, FeaturesLogistic, BothLogistic, Perceptron)
}
"""Kind to class, in the order in which they are printed."""

DENSITY = "density"
"""The name under which the density itself decides: δ = σ_u − σ_s."""


def given(reads: Reads, features: NDArray[Any], evidence: NDArray[Any]) -> NDArray[Any]:
    """What a discriminator reads of rows with features (n, d) and evidence (n, k)."""
    if reads == "both":
        return np.hstack([features, evidence])
    return evidence if reads == "evidence" else features


def unfitted(kind: str) -> Discriminator:
    """One of `DISCRIMINATORS` with the settings that a guard is fitted with."""
    return FeaturesLogistic(c=10.0) if kind == FeaturesLogistic.kind else DISCRIMINATORS[kind]()


def restore_discriminator(config: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> Discriminator:
    """The discriminator of the kind that `config` names. Raises InputError for an unknown kind."""
    kind = config.get("kind")
    if kind not in DISCRIMINATORS:
        raise InputError(f"a saved discriminator names the kind {kind!r}: expected one of {', '.join(DISCRIMINATORS)}")
    return DISCRIMINATORS[kind].restore(config, state)
