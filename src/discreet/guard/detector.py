"""What a fit leaves behind: encoders, densities, discriminators and thresholds, and how they score an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import UsageError
from discreet.domains import Domain
from discreet.encode.encoders.evidence import EvidenceEncoder
from discreet.encode.fusion import Fusion
from discreet.guard.discriminators import DENSITY, Discriminator, given
from discreet.guard.exact import FloatArray
from discreet.guard.fitted_dual import FittedDual
from discreet.guard.points import BY_COSTS, Thetas
from discreet.guard.rows import Encoded, Rows


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Scores of n answers, each by the chunk that is nearest to unsafe.

    Attributes
    ----------
    delta : (n,)
        What is compared with τ.
    sigmas : (n, 2)
        σ_s and σ_u of that chunk.
    foreign : (n,) bool
        Under both θ: out of distribution.
    unsure : (n,) bool
        Where the discriminator itself abstains.
    """

    delta: FloatArray
    sigmas: FloatArray
    foreign: NDArray[np.bool_]
    unsure: NDArray[np.bool_]

    @property
    def abstains(self) -> NDArray[np.bool_]:
        """Out of distribution, or not sure."""
        return self.foreign | self.unsure

    @property
    def kept(self) -> NDArray[np.bool_]:
        """The others."""
        return ~self.abstains

    def of(self, among: NDArray[np.bool_]) -> Scores:
        """Those of some answers."""
        return Scores(self.delta[among], self.sigmas[among], self.foreign[among], self.unsure[among])


NEVER = Thetas(-inf, -inf)
"""The thresholds of a detector that was not calibrated: nothing is foreign."""


@dataclass(frozen=True, slots=True, eq=False)
class Detector:
    """A fitted layer 2.

    Attributes
    ----------
    encoded : {"answer", "question+answer"}
        What the encoders of pieces read.
    dual : Dual
        Decides what is out of distribution, and δ where `decides` is "density".
    decides : str
        Which discriminator's δ decides; "density" or one of `discriminators`.
    points : mapping
        Discriminator to operating point to τ.
    spread : float
        Standard deviation of the density's δ on calibration texts, which brings it to the scale of a logit.
    """

    domain: Domain
    encoded: Encoded
    fusion: Fusion
    evidence: EvidenceEncoder
    dual: FittedDual
    discriminators: Mapping[str, Discriminator]
    decides: str
    thetas: Thetas = NEVER
    points: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    spread: float = 1.0

    def deciding(self, kind: str | None) -> Detector:
        """The same with another discriminator. Raises UsageError where it was not fitted."""
        if kind is None or kind == self.decides:
            return self
        if kind != DENSITY and kind not in self.discriminators:
            known = ", ".join([DENSITY, *self.discriminators])
            raise UsageError(f"the guard holds no discriminator {kind!r}: expected one of {known}")
        return replace(self, decides=kind)

    def tau(self, point: str) -> float:
        """The threshold of an operating point. Raises UsageError for one that was not set."""
        points = self.points[self.decides]
        if point not in points:
            how = ": fit or calibrate it with costs" if point == BY_COSTS else ""
            raise UsageError(f"the guard has no operating point {point!r}; expected one of {', '.join(points)}{how}")
        return points[point]

    def score(self, rows: Rows, sigmas: FloatArray | None = None) -> Scores:
        """Scores of the answers that `rows` stand for; `sigmas` (m, 2) of all rows, where they are known already."""
        every = self.dual.sigmas(rows.features) if sigmas is None else sigmas
        density = every[:, 1] - every[:, 0]
        delta, unsure = self._delta(rows, density)
        # The last of each owner's chunks: the highest δ, of several the highest by density.
        order = np.lexsort((density, delta, rows.owner))
        ends = np.flatnonzero(np.append(np.diff(rows.owner[order]) > 0, True)) if order.size else order
        chosen = order[ends]
        near = every[chosen]
        return Scores(delta[chosen], near, self.thetas.foreign(near), np.abs(delta[chosen]) < unsure)

    def _delta(self, rows: Rows, density: FloatArray) -> tuple[FloatArray, float]:
        if self.decides == DENSITY:
            return density, 0.0
        found = self.discriminators[self.decides]
        if found.reads == "evidence":
            return found.delta(rows.evidence)[rows.owner], found.unsure
        return found.delta(given(found.reads, rows.features, rows.evidence[rows.owner])), found.unsure

    def logit(self, delta: float) -> float:
        """δ on the scale of a logit, 0 at τ = 0."""
        return delta / self.spread if self.decides == DENSITY else delta
