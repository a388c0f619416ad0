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

HOMES = {
    "Judged": "discreet.guard.benchmark.figures", "LabelledSpan": "discreet.guard.benchmark.passages",
    "Passage": "discreet.guard.benchmark.passages", "PredictedSpan": "discreet.guard.benchmark.guards",
    "Prediction": "discreet.guard.benchmark.guards", "TestedGuard": "discreet.guard.benchmark.guards",
    "figures_of": "discreet.guard.benchmark.figures", "judge": "discreet.guard.benchmark.run",
    "open_guard": "discreet.guard.benchmark.guards", "read_passages": "discreet.guard.benchmark.passages",
}
__getattr__ = lazily(__name__, HOMES)
