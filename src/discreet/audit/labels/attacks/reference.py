"""Reference calibration: which class does the target find likelier than models with other draws of the labels do?

argmax over k of log p_target(k | x) − log p_reference(k | x), Watson et al. 2022's calibration turned from "was it
there?" to "with which label?". Two classes: Kalemaj et al. 2025 (2511.14084) has it with a proxy model.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.audit.labels.attacks.likeliest import best_class
from discreet.audit.labels.view import Guesses, LabelAttack, Settings, View, label_attacks


@dataclass(frozen=True, slots=True)
class ReferenceCalibrated:
    """The class with the largest lead of the target's log probability over the references' mean log probability.

    All references count for a row. Each drew the row's label anew, so that their mean favours no class that chance
    does not; how the target's draw fell is not in them. Confidence is the lead over the second class, in nats.
    """

    access: ClassVar[Literal["outputs"]] = "outputs"
    classes: ClassVar[int | None] = None

    @property
    def settings(self) -> Settings:
        """None but its name."""
        return Settings("reference")

    def needs(self, view: View) -> str | None:
        """A reference."""
        return None if view.references is not None and len(view.references) else NEEDS

    def guess(self, view: View) -> Guesses:
        """A guess for every row. ValueError without references."""
        if view.references is None or not len(view.references):
            raise ValueError(f"the view has no references: {NEEDS}")
        return best_class(view.log_p - np.mean(view.references.log_p, axis=0))


NEEDS = "it needs references with draws of their own and none were brought"


@label_attacks.register("reference")
class References:
    """One attack."""

    def variants(self, n_classes: int) -> tuple[LabelAttack, ...]:
        """One, for any number of classes."""
        return (ReferenceCalibrated(),)
