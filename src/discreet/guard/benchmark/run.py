"""Run guards over labelled passages; what was judged before is read back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter

from discreet.core.errors import DiscreetError
from discreet.core.files import dump_json
from discreet.guard.benchmark.figures import Judged
from discreet.guard.benchmark.guards import FAILED, Prediction, TestedGuard
from discreet.guard.benchmark.passages import Passage


def judge(guard: TestedGuard, passages: Iterable[Passage], *, kept: Path | None = None) -> list[Judged]:
    """What a guard makes of each passage, and in how many milliseconds.

    An exception of the guard is the prediction `failed`; only those of discreet's own (a service that is not there) are
    raised. With `kept` each line is written as it comes, without text, and passages of a former run are not judged
    again. The first text is judged twice, so that no latency has the loading of a model.
    """
    done = _read(kept)
    out, cold = [], True
    with ExitStack() as stack:
        lines = None if kept is None else stack.enter_context(kept.open("a", encoding="utf-8"))
        for passage in passages:
            if passage.id in done:
                prediction, ms = done[passage.id]
            else:
                if cold:
                    _predict(guard, passage)
                    cold = False
                started = perf_counter()
                prediction = _predict(guard, passage)
                ms = round((perf_counter() - started) * 1000, 3)
                if lines is not None:
                    lines.write(dump_json({"passage": passage.id, "ms": ms, **prediction.to_json()}) + "\n")
                    lines.flush()
            out.append(Judged(passage, prediction, ms))
    return out


def _predict(guard: TestedGuard, passage: Passage) -> Prediction:
    try:
        return guard.predict(passage.text, passage.domain)
    except DiscreetError:
        raise
    except Exception:
        # Anything may break in somebody else's guard, and its message may quote the text.
        return FAILED


def _read(kept: Path | None) -> dict[str, tuple[Prediction, float]]:
    """What a former run left; a last line that was cut is judged again."""
    found: dict[str, tuple[Prediction, float]] = {}
    lines: Sequence[str] = kept.read_text(encoding="utf-8").splitlines() if kept is not None and kept.exists() else ()
    for line in lines:
        try:
            row = json.loads(line)
            found[row["passage"]] = Prediction.from_json(row), row["ms"]
        except (ValueError, KeyError, TypeError):
            continue
    if kept is not None and lines and not kept.read_bytes().endswith(b"\n"):
        with kept.open("a", encoding="utf-8") as end:
            end.write("\n")
    return found
