"""Passages and predictions in a line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from discreet.guard.benchmark import Judged, LabelledSpan, Passage, PredictedSpan, Prediction, read_passages

SET = Path(__file__).resolve().parents[3] / "examples" / "benchmark.jsonl"
TEXT = "x" * 100


def made() -> list[Passage]:
    return read_passages(SET)


def passage(name: str = "p", *, cluster: Any = "no", spans: Sequence[tuple[Any, ...]] = (), people: Any = None,
            main: int = 0, **further: Any) -> Passage:
    """Spans are (start, end, class, person) and what else `LabelledSpan` takes; a cluster is person 1's."""
    known: Any = {1: "third"} if people is None and (spans or cluster == "yes") else people or {}
    return Passage(name, further.pop("text", TEXT), known, tuple(LabelledSpan(*s) for s in spans),
                   tuple(further.pop("inferred", ())), main or int(cluster == "yes"), cluster, **further)


def judged(of: Passage, action: Any = "safe", score: float | None = None, *, direct: bool | None = None,
           spans: Sequence[tuple[Any, ...]] | None = None, ms: float | None = None) -> Judged:
    given = float(action != "safe") if score is None else score
    found = None if spans is None else tuple(PredictedSpan(*s) for s in spans)
    return Judged(of, Prediction(None if action == "failed" else given, action, direct, found), ms)
