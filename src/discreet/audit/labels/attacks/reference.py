"""Reference calibration: which class does the target find likelier than models with other draws of the labels do?

argmax over k of log p_target(k | x) − log p_reference(k | x), Watson et al. 2022's calibration turned from "was it
there?" to "with which label?". Two classes: Kalemaj et al. 2025 (2511.14084) has it with a proxy model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.audit.labels.attacker_view import Family, Guesses, LabelAttack, Settings, View, label_attacks
from discreet.audit.labels.attacks.lia_threshold import best_class

NEEDS = "it needs references with draws of their own and none were brought"


@dataclass(frozen=True, slots=True)
class ReferenceCalibrated(LabelAttack):
    """The class with the largest lead of the target's log probability over the references' mean log probability.

    All references count for a row. Each drew the row's label anew, so that their mean favours no class that chance
    does not; how the target's draw fell is not in them. Confidence is the lead over the second class, in nats.

    `centred` takes from each class's lead (over the mean of all classes) its median over the rows at hand: where
    references are surer of a class throughout than the target is (they were trained longer, or on more random
    labels), every lead is moved by as much, and one label moves its own by less than that.
    """

    centred: bool = False

    @property
    def settings(self) -> Settings:
        """Its name, and median as what is taken away."""
        return Settings("reference", threshold="median" if self.centred else None)

    def needs(self, view: View) -> str | None:
        """A reference."""
        return None if view.references is not None and len(view.references) else NEEDS

    def guess(self, view: View) -> Guesses:
        """A guess for every row. ValueError without references."""
        if view.references is None or not len(view.references):
            raise ValueError(f"the view has no references: {NEEDS}")
        lead = view.log_p - np.mean(view.references.log_p, axis=0)
        if self.centred:
            lead = lead - lead.mean(axis=1, keepdims=True)
            lead = lead - np.median(lead, axis=0)
        return best_class(lead)


label_attacks.register("reference")(Family(lambda _: map(ReferenceCalibrated, (False, True))))
