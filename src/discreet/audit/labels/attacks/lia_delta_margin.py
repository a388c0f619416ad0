"""LIA-Delta-Margin (label-inference paper, Algorithm 2): class 1 where α · margin − β · loss is above 0.

The paper does not say at which label the loss is taken. That decides everything, so it is a choice without a default:

| loss_labels | the loss is taken at | access |
|---|---|---|
| `predicted` | the target's likeliest class | outputs |
| `original` | the data set's own label | privileged |
| `canary` | the canary label, after the redraw: **the label that is being guessed** | oracle |
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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from discreet.audit.labels.attacker_view import Access, Family, Guesses, LabelAttack, LossLabels, Truth, label_attacks
from discreet.core.types import FloatArray, IntArray

Margin = Literal["p1-second", "max-second"]
MARGINS: tuple[Margin, ...] = get_args(Margin)
ACCESS: Mapping[LossLabels, Access] = {
    "predicted": "outputs", "original": "privileged", "canary": "oracle", "trained": "oracle"}
LOSS_LABELS = tuple(ACCESS)
RATIOS = (0.5, 1.0, 2.0, 3.0)
"""β/α that are printed."""
TUNED = (1.0, 0.1, 0.25, 0.5, 0.75, 1.5, 2.0, 3.0, 5.0, 10.0)
"""β/α that tuning tries; α is 1, as only the ratio decides."""


def delta_margin(log_p: FloatArray, loss_labels: IntArray, alpha: float, beta: float, margin: Margin) -> Guesses:
    """Algorithm 2 on log probabilities (n, K) with the loss −ln p at `loss_labels` (n,).

    Confidence is how far the score is from 0; 0 counts as below.
    """
    p = np.exp(log_p)
    ordered = np.sort(p, axis=1)
    own = p[:, 1] if log_p.shape[1] == 2 and margin == "p1-second" else ordered[:, -1]
    score = alpha * (own - ordered[:, -2]) + beta * log_p[np.arange(len(log_p)), loss_labels]
    if log_p.shape[1] == 2:
        return Guesses((score > 0.0).astype(np.int64), np.abs(score))
    ranked = np.argsort(-p, axis=1, kind="stable")
    return Guesses(np.where(score > 0.0, ranked[:, 0], ranked[:, 1]).astype(np.int64), np.abs(score))


@dataclass(frozen=True, slots=True)
class DeltaMargin(LabelAttack):
    """The attack whose loss is taken at `loss_labels`; α and β finite and above 0. ValueError for other settings."""

    loss_labels: LossLabels
    margin: Margin = "p1-second"
    alpha: float = 1.0
    beta: float = 1.0

    name: ClassVar[str] = "lia_delta_margin"

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0.0 < value < np.inf:
                raise ValueError(f"{name} is {value}: expected a finite number above 0")
        for name, word, known in (("margin", self.margin, MARGINS), ("loss_labels", self.loss_labels, LOSS_LABELS)):
            if word not in known:
                raise ValueError(f"{name} is {word!r}: expected one of {', '.join(known)}")

    @property
    def access(self) -> Access:
        """As the table above."""
        return ACCESS[self.loss_labels]

    @property
    def looks_at(self) -> Truth | None:
        """The label at which an oracle takes the loss."""
        return self.loss_labels if self.loss_labels in ("canary", "trained") else None

    def guess(self, view: Any) -> Guesses:
        """A guess for every row. At the predicted label, of equally likely classes the first: their losses are one."""
        if self.loss_labels == "predicted":
            return delta_margin(view.log_p, np.argmax(view.log_p, axis=1), self.alpha, self.beta, self.margin)
        labels = {"original": "original", "canary": "canary", "trained": "trained"}[self.loss_labels]
        return delta_margin(view.outputs.log_p, getattr(view, labels), self.alpha, self.beta, self.margin)


def delta_margins(loss_labels: LossLabels, n_classes: int, ratios: Sequence[float] = TUNED) -> tuple[LabelAttack, ...]:
    """Every β/α of `ratios` with α = 1, and for two classes both margins; what tuning tries begins with α = β = 1."""
    return tuple(DeltaMargin(loss_labels, margin, beta=ratio) for margin in (MARGINS if n_classes == 2 else MARGINS[:1])
                 for ratio in ratios)


label_attacks.register("lia_delta_margin")(Family(lambda n_classes: (
    attack for source in LOSS_LABELS for attack in delta_margins(source, n_classes, RATIOS))))
