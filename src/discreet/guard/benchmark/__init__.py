"""Guards compared: any guard over labelled passages, with the same figures for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.core.lazy import lazily

if TYPE_CHECKING:
    from discreet.guard.benchmark.figures import Judged, figures_of
    from discreet.guard.benchmark.guards import PredictedSpan, Prediction, TestedGuard, open_guard
    from discreet.guard.benchmark.passages import LabelledSpan, Passage, read_passages
    from discreet.guard.benchmark.run import judge

__all__ = ["Judged", "LabelledSpan", "Passage", "PredictedSpan", "Prediction", "TestedGuard", "figures_of", "judge",
           "open_guard", "read_passages"]

__getattr__ = lazily(__name__, __file__)
