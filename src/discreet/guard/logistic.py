"""Ridge-penalised logistic regressions on features, evidence, or both: fitted by scikit-learn, scored by numpy."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.errors import InputError, MissingExtraError
from discreet.guard.density import TooFewRowsError, as_float
from discreet.guard.exact import FloatArray, as_rows, blocks, row_sums

Reads = Literal["features", "evidence", "both"]
"""What a discriminator reads: fused features of a chunk, evidence of the whole text, or both side by side."""
LEAST_ROWS = 2


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
        weights = self._fitted()
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
        return {"weights": self._fitted()}

    def config(self) -> dict[str, Any]:
        """JSON values to save."""
        self._fitted()
        return {"kind": self.kind, "c": self.c, "intercept": self.intercept}

    @classmethod
    def restore(cls, config: Mapping[str, Any], state: Mapping[str, NDArray[Any]]) -> Self:
        """What `config` and `state` saved."""
        try:
            weights = as_float(state["weights"])
            if weights.ndim != 1 or weights.size == 0 or not np.isfinite(weights).all():
                raise ValueError("weights")
            return cls(float(config["c"]), weights, float(config["intercept"]))
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"a saved {cls.kind} lacks or spoils {error}: expected what a fit saved") from None

    def _fitted(self) -> FloatArray:
        if self.weights is None:
            raise ValueError("a logistic regression scores after fit(x, y, rng=…), not before")
        return self.weights


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
