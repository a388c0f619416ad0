from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.jsonl import jsonl

from discreet.core.errors import InputError
from discreet.core.records import Verdict
from discreet.guard import Guard
from discreet.guard.diff import Decided, compare, decide, decision, read_log

LITIGATOR = "The patient is a 52-year-old litigator from Omaha with two children."
MONDAY = datetime(2026, 11, 2, tzinfo=UTC).timestamp()


def verdict(action: str = "safe", delta: float | None = 0.0) -> Verdict:
    failed = action == "failed"
    return Verdict("a", action, "contextual" if action == "flag" else None, None if failed else .5,  # type: ignore[arg-type]
                   None if failed else delta, (), "p", "")


def test_it_counts_what_another_policy_decides_otherwise(tmp_path: Path) -> None:
    rows = read_log(jsonl(tmp_path / "log.jsonl", [
        {"id": "a", "answer": LITIGATOR}, {"id": "b", "answer": "Metformin lowers glucose."},
        {"id": "c", "answer": "Write to jane.roe@example.org."}, {"id": "d", "answer": ""}]))
    decided = list(decide(Guard("medical"), Guard("medical", audience="treating"), rows))
    found = compare(decided)
    assert found.changes[("flag (contextual)", "safe")] == 1
    assert found.changes[("abstain", "abstain")] == 1
    assert found.changes[("safe", "safe")] == 1
    assert sum(found.changes.values()) == found.n == found.undated == 4
    assert found.newly_passed.value is not None
    assert found.newly_passed.value >= .25
    assert found.newly_held.value == 0
    assert found.weeks == []
    said = found.to_json()
    assert LITIGATOR not in str([one.to_json() for one in decided]) + str(said)
    assert said["changes"][0].keys() == {"old", "new", "n"}


def test_each_decision_is_that_of_the_guard_alone(tmp_path: Path) -> None:
    rows = read_log(jsonl(tmp_path / "log.jsonl", [{"id": "a", "answer": "She told me.", "question": "Who?"}]))
    one, = decide(Guard("medical"), Guard("law"), rows)
    for side, name in ((one.old, "medical"), (one.new, "law")):
        alone = Guard(name).check(rows[0].answer)
        assert (side.action, side.delta, side.policy) == (alone.action, alone.delta, alone.policy)


def test_scores_of_a_week_are_compared_with_those_before() -> None:
    week = 7 * 86400
    decided = [Decided(f"{w}-{i}", MONDAY + w * week + i, verdict(delta=i / 50),
                       verdict("flag" if w == 2 else "safe", i / 50 + (w == 2) * 5))
               for w in range(3) for i in range(50)]
    first, second, third = compare(decided).weeks
    assert (first["week"], second["week"], third["week"]) == ("2026-11-02", "2026-11-09", "2026-11-16")
    assert not first["new"].resolved
    assert second["new"].value == pytest.approx(.5)
    assert second["new"].low < .5 < second["new"].high
    assert third["new"].value == 1
    assert third["new"].low > .8
    assert third["old"].value == pytest.approx(.5)
    assert (second["held"].value, third["held"].value) == (0, 1)


def test_what_could_not_be_judged_has_no_score_and_is_held() -> None:
    decided = [Decided(str(i), MONDAY + i * 86400, verdict(), verdict("failed")) for i in range(20)]
    found = compare(decided)
    assert decision(decided[0].new) == "failed"
    assert (found.held_old.value, found.held_new.value, found.newly_held.value) == (0, 1, 1)
    assert all(not one["new"].resolved for one in found.weeks)


@pytest.mark.parametrize(("given", "at"), [
    ("2026-11-02T00:00:00Z", MONDAY), ("2026-11-02", MONDAY), ("2026-11-02T01:00:00+01:00", MONDAY), (MONDAY, MONDAY),
    (str(MONDAY), MONDAY), (None, None), ("", None)])
def test_times_are_read(tmp_path: Path, given: object, at: float | None) -> None:
    assert read_log(jsonl(tmp_path / "log.jsonl", [{"id": "a", "answer": "x", "at": given}]))[0].at == at


@pytest.mark.parametrize("given", ["yesterday", [1], -5, 1e30, "1e30"])
def test_what_is_no_time_is_refused(tmp_path: Path, given: object) -> None:
    with pytest.raises(InputError, match=r"line 1.*'at' is not a time"):
        read_log(jsonl(tmp_path / "log.jsonl", [{"id": "a", "answer": "x", "at": given}]))
