from __future__ import annotations

from pathlib import Path

import pytest
from tests.guard.benchmark.made import made

from discreet.core.errors import InputError
from discreet.guard.benchmark import Prediction, judge


class Counter:
    """Flags what has a digit; breaks, or stops, at a text."""

    threshold: float | None = None
    probability = False

    def __init__(self, breaks: str = "\0", error: Exception | None = None) -> None:
        self.asked: list[str] = []
        self.breaks, self.error = breaks, error or RuntimeError("quotes the text")

    def predict(self, text: str, domain: str | None) -> Prediction:
        self.asked.append(text)
        if self.breaks in text:
            raise self.error
        flagged = any(c.isdigit() for c in text)
        return Prediction(float(flagged), "flag" if flagged else "safe")


def test_every_passage_is_judged_and_timed_the_first_twice() -> None:
    guard = Counter()
    found = judge(guard, made())
    assert (len(guard.asked), guard.asked[0]) == (23, guard.asked[1])
    assert all(one.ms is not None and one.ms >= 0 for one in found)
    assert {one.passage.id for one in found if one.flagged} >= {"m01", "l01"}


def test_a_guard_that_breaks_has_failed() -> None:
    found = {one.passage.id: one for one in judge(Counter("Omaha"), made())}
    assert (found["l01"].prediction.action, found["l01"].held, found["m01"].flagged) == ("failed", True, True)


def test_a_service_that_is_gone_ends_the_run_which_goes_on_later(tmp_path: Path) -> None:
    kept = tmp_path / "kept.jsonl"
    with pytest.raises(InputError):
        judge(Counter("Omaha", InputError("gone")), made(), kept=kept)
    done = len(kept.read_text().splitlines())
    assert 0 < done < 22
    kept.write_text(kept.read_text()[:-10])  # the last line was cut
    later = Counter()
    whole = judge(later, made(), kept=kept)
    assert len(later.asked) == 22 - done + 1 + 1
    assert [one.prediction for one in whole] == [one.prediction for one in judge(Counter(), made())]
    assert len(judge(Counter("a"), made(), kept=kept)) == 22  # nothing is asked again
    assert "welder" not in kept.read_text()
