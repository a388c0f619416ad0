"""Models to score tables: Hugging Face classifiers and PEFT adapters, Python objects, services behind HTTP."""

from __future__ import annotations

from discreet.audit.scores.adapters.build import open_model, scored_from_model
from discreet.audit.scores.adapters.scorer import Scorer, Settings, score_texts

__all__ = ["Scorer", "Settings", "open_model", "score_texts", "scored_from_model"]
