"""The one score table of every audit: schema, reading, checks, writing; adapters that make one from a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet.audit.scores.load import load_scores
    from discreet.audit.scores.table import Canaries, Examples, Model, ScoreTable, stacked
    from discreet.audit.scores.write import write_scores

__all__ = ["Canaries", "Examples", "Model", "ScoreTable", "load_scores", "stacked", "write_scores"]
HOMES = {
    "Canaries": "discreet.audit.scores.table", "Examples": "discreet.audit.scores.table",
    "Model": "discreet.audit.scores.table", "ScoreTable": "discreet.audit.scores.table",
    "load_scores": "discreet.audit.scores.load", "stacked": "discreet.audit.scores.table",
    "write_scores": "discreet.audit.scores.write",
}
__getattr__ = lazily(__name__, HOMES)
