"""α, β and thresholds tuned on one half of the canaries, for use on the other: a figure never meets its own tuning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.audit.labels.access import Trial, Truth, require_classes, run
from discreet.audit.labels.attacks.lia_delta_margin import MARGINS, lia_delta_margin
from discreet.audit.labels.attacks.lia_threshold import LiaThreshold, best_threshold
from discreet.audit.labels.null import best_of
from discreet.audit.labels.view import LabelAttack, LossLabels

GRID = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
"""β/α that are tried; α is 1, as only the ratio decides."""
CUTS = tuple(cut / 50.0 for cut in range(1, 50))
"""Thresholds that are tried where the tuning is to be replayed (`tuned_null`)."""


def tuned(attacks: Sequence[LabelAttack], first: Trial, target: Truth = "secret") -> LabelAttack:
    """The one with most right guesses beyond made / K on `first`; of equals the first. ValueError without attacks.

    To be run on rows that are not in `first` (`discreet.audit.labels.access.halves`).
    """
    if not attacks:
        raise ValueError("attacks are empty: expected at least one")
    excess = []
    for attack in attacks:
        guesses = run(attack, first)
        excess.append(float(guesses.correct(first.truth(target)).sum()) - float(guesses.made.sum()) / first.n_classes)
    return attacks[int(best_of(np.array(excess)))]


def tuned_threshold(first: Trial, target: Truth = "secret") -> LiaThreshold:
    """LIA-Threshold at the τ that is best on `first`, of all there are. InputError for more than two classes."""
    require_classes(LiaThreshold(), first.n_classes)
    return LiaThreshold(best_threshold(np.exp(first.view.log_p[:, 1]), first.truth(target)))


def threshold_grid() -> tuple[LabelAttack, ...]:
    """LIA-Threshold at ½ and at `CUTS`, ½ first."""
    return tuple(LiaThreshold(cut) for cut in (0.5, *(cut for cut in CUTS if cut != 0.5)))


def delta_margin_grid(loss_labels: LossLabels, n_classes: int) -> tuple[LabelAttack, ...]:
    """LIA-Delta-Margin over `GRID`, α = β = 1 first, and for two classes over both margins."""
    margins = MARGINS if n_classes == 2 else MARGINS[:1]
    ratios = (1.0, *(ratio for ratio in GRID if ratio != 1.0))
    return tuple(lia_delta_margin(loss_labels=loss_labels, margin=margin, beta=ratio)
                 for margin in margins for ratio in ratios)
