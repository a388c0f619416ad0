"""LIA-Delta-Margin (label-inference paper, Algorithm 2): class 1 where α · margin − β · loss is above 0.

The paper does not say at which label the loss is taken. That decides everything, so it is a choice without a default:

| loss_labels | the loss is taken at | access |
|---|---|---|
| `predicted` | the target's likeliest class | outputs |
| `original` | the data set's own label | privileged |
| `secret` | the canary label, after the redraw: **the label that is being guessed** | oracle |
| `trained` | the label after the mechanism, which is the canary label but for the mechanism's lies | oracle |

With the canary label, two classes and β/α >= .374 a row of class 0 can never be guessed wrong, so that a model which
memorised nothing is "attacked" with success ½ + ½ P(p₁ > p* | label 1), where 2 p* − 1 = −(β/α) ln p*: 75% where it is
confident and balanced. The paper's figures fit that and no other choice.

**Margins.** `p1-second`, as Algorithm 2 prints it: p₁ less the second largest of p, which is max(0, 2 p₁ − 1) for two
classes. `max-second`, as its prose says: |2 p₁ − 1|. Probabilities, not logits.

**K > 2** is ours, the paper has none: the likeliest class if its score is above 0, else the second likeliest. Both
margins are then the lead of the likeliest. (For two classes Algorithm 2 is not of that form: it never takes back a 0.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args, overload

import numpy as np

from discreet.audit.labels.attacker_view import (
    Guesses,
    HonestAttack,
    LabelAttack,
    LossLabels,
    OracleAttack,
    OracleView,
    PrivilegedAttack,
    PrivilegedView,
    Settings,
    Truth,
    View,
    label_attacks,
)
from discreet.core.types import FloatArray, IntArray

Margin = Literal["p1-second", "max-second"]
MARGINS: tuple[Margin, ...] = get_args(Margin)
LOSS_LABELS: tuple[LossLabels, ...] = get_args(LossLabels)

RATIOS = (0.5, 1.0, 2.0, 3.0)
"""β/α that are printed."""
TUNED = (1.0, 0.1, 0.25, 0.5, 0.75, 1.5, 2.0, 3.0, 5.0, 10.0)
"""β/α that tuning tries; α is 1, as only the ratio decides."""


def delta_margin(log_p: FloatArray, loss_labels: IntArray, alpha: float, beta: float, margin: Margin) -> Guesses:
    """Algorithm 2 on log probabilities (n, K) with the loss −ln p at `loss_labels` (n,).

    α and β finite and above 0, else ValueError. Confidence is how far the score is from 0; 0 counts as below.
    """
    _check(alpha, beta, margin)
    rows = np.arange(len(log_p))
    p = np.exp(log_p)
    ordered = np.sort(p, axis=1)
    lead = p[:, 1] - ordered[:, -2] if log_p.shape[1] == 2 and margin == "p1-second" else (
        ordered[:, -1] - ordered[:, -2])
    score = alpha * lead + beta * log_p[rows, loss_labels]
    if log_p.shape[1] == 2:
        return Guesses((score > 0.0).astype(np.int64), np.abs(score))
    ranked = np.argsort(-p, axis=1, kind="stable")
    return Guesses(np.where(score > 0.0, ranked[:, 0], ranked[:, 1]).astype(np.int64), np.abs(score))


@dataclass(frozen=True, slots=True)
class _DeltaMargin:
    margin: Margin = "p1-second"
    alpha: float = 1.0
    beta: float = 1.0

    classes: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        _check(self.alpha, self.beta, self.margin)

    def needs(self, view: View) -> str | None:
        """Nothing but outputs, and the labels that its access brings."""
        return None

    def _settings(self, source: LossLabels) -> Settings:
        return Settings("lia_delta_margin", margin=self.margin, alpha=self.alpha, beta=self.beta, loss_labels=source)

    def _guess(self, view: View, labels: IntArray) -> Guesses:
        return delta_margin(view.log_p, labels, self.alpha, self.beta, self.margin)


@dataclass(frozen=True, slots=True)
class PredictedDeltaMargin(_DeltaMargin):
    """The loss at the likeliest class, of equals the first (their losses are one): an honest attack."""

    access: ClassVar[Literal["outputs"]] = "outputs"

    @property
    def settings(self) -> Settings:
        """All of them."""
        return self._settings("predicted")

    def guess(self, view: View) -> Guesses:
        """A guess for every row."""
        return self._guess(view, np.argmax(view.log_p, axis=1).astype(np.int64))


@dataclass(frozen=True, slots=True)
class OriginalDeltaMargin(_DeltaMargin):
    """The loss at the data set's own label."""

    access: ClassVar[Literal["privileged"]] = "privileged"

    @property
    def settings(self) -> Settings:
        """All of them."""
        return self._settings("original")

    def guess(self, view: PrivilegedView) -> Guesses:
        """A guess for every row."""
        return self._guess(view.outputs, view.original)


@dataclass(frozen=True, slots=True)
class OracleDeltaMargin(_DeltaMargin):
    """The loss at the label that is to be inferred: the paper's figures, and no attack."""

    looks_at: Truth = "secret"

    access: ClassVar[Literal["oracle"]] = "oracle"

    @property
    def settings(self) -> Settings:
        """All of them."""
        return self._settings(self.looks_at)

    def guess(self, view: OracleView) -> Guesses:
        """A guess for every row."""
        return self._guess(view.outputs, view.canary if self.looks_at == "secret" else view.trained)


@overload
def lia_delta_margin(*, loss_labels: Literal["predicted"], margin: Margin = ..., alpha: float = ...,
                     beta: float = ...) -> HonestAttack: ...
@overload
def lia_delta_margin(*, loss_labels: Literal["original"], margin: Margin = ..., alpha: float = ...,
                     beta: float = ...) -> PrivilegedAttack: ...
@overload
def lia_delta_margin(*, loss_labels: Truth, margin: Margin = ..., alpha: float = ...,
                     beta: float = ...) -> OracleAttack: ...
def lia_delta_margin(*, loss_labels: LossLabels, margin: Margin = "p1-second", alpha: float = 1.0, beta: float = 1.0
                     ) -> LabelAttack:
    """The attack whose loss is taken at `loss_labels`, which has no default. ValueError for settings that cannot be."""
    if loss_labels == "predicted":
        return PredictedDeltaMargin(margin, alpha, beta)
    if loss_labels == "original":
        return OriginalDeltaMargin(margin, alpha, beta)
    if loss_labels not in LOSS_LABELS:
        raise ValueError(f"loss_labels is {loss_labels!r}: expected one of {', '.join(LOSS_LABELS)}")
    return OracleDeltaMargin(margin, alpha, beta, loss_labels)


def delta_margin_grid(loss_labels: LossLabels, n_classes: int) -> tuple[LabelAttack, ...]:
    """LIA-Delta-Margin over `TUNED`, α = β = 1 first, and for two classes over both margins: what tuning tries."""
    margins = MARGINS if n_classes == 2 else MARGINS[:1]
    return tuple(lia_delta_margin(loss_labels=loss_labels, margin=margin, beta=ratio)
                 for margin in margins for ratio in TUNED)


def _check(alpha: float, beta: float, margin: str) -> None:
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not 0.0 < value < np.inf:
            raise ValueError(f"{name} is {value}: expected a finite number above 0")
    if margin not in MARGINS:
        raise ValueError(f"margin is {margin!r}: expected one of {', '.join(MARGINS)}")


@label_attacks.register("lia_delta_margin")
class DeltaMargins:
    """Every source of the loss with every printed β/α (α = 1), and for two classes with both margins."""

    def variants(self, n_classes: int) -> tuple[LabelAttack, ...]:
        """32 attacks for two classes, 16 for more."""
        margins = MARGINS if n_classes == 2 else MARGINS[:1]
        return tuple(lia_delta_margin(loss_labels=source, margin=margin, beta=ratio)
                     for source in LOSS_LABELS for margin in margins for ratio in RATIOS)
