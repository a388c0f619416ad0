"""The one score table of every audit: schema, reading, checks, writing; adapters that make one from a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet.audit.scores.load import load_scores
    from discreet.audit.scores.table import Canaries, Examples, Model, ScoreTable, stacked
    from discreet.audit.scores.write import write_scores

__all__ = ["Canaries", "Examples", "Model", "ScoreTable", "load_scores", "stacked", "write_scores"]
__getattr__ = lazily(__name__, __file__)
