"""Noise on outputs and labels, as pure functions with their exact privacy parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet.stats.mechanisms.base import OutputMechanism, canonical, output_mechanisms
    from discreet.stats.mechanisms.labels.base import (
        LabelMechanism,
        SoftLabelMechanism,
        label_mechanisms,
        prior_of_logits,
        stage_parts,
    )

__all__ = ["LabelMechanism", "OutputMechanism", "SoftLabelMechanism", "canonical", "label_mechanisms",
           "output_mechanisms", "prior_of_logits", "stage_parts"]
HOMES = {
    "LabelMechanism": "discreet.stats.mechanisms.labels.base", "OutputMechanism": "discreet.stats.mechanisms.base",
    "SoftLabelMechanism": "discreet.stats.mechanisms.labels.base", "canonical": "discreet.stats.mechanisms.base",
    "label_mechanisms": "discreet.stats.mechanisms.labels.base", "output_mechanisms": "discreet.stats.mechanisms.base",
    "prior_of_logits": "discreet.stats.mechanisms.labels.base", "stage_parts": "discreet.stats.mechanisms.labels.base",
}
__getattr__ = lazily(__name__, HOMES)
