"""What another guard, or policy, would have decided on recorded answers, and how scores drift over weeks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.records import Answer, Estimate, Verdict, plain
from discreet.guard.guard import Guard
from discreet.inputs.answers import COLUMNS, REQUIRED, answer_from_row
from discreet.inputs.rows import Place, iter_rows, unique
from discreet.stats import auroc_estimate, rate_estimate

FIRST, LAST = datetime(1990, 1, 1, tzinfo=UTC).timestamp(), datetime(2200, 1, 1, tzinfo=UTC).timestamp()


@dataclass(frozen=True, slots=True)
class Recorded:
    """An answer of a log, and when it was given (seconds since 1970, None where the log does not say)."""

    answer: Answer
    at: float | None


@dataclass(frozen=True, slots=True)
class Decided:
    """What both guards decide about one answer."""

    id: str
    at: float | None
    old: Verdict
    new: Verdict

    def to_json(self) -> dict[str, Any]:
        """The answer's id with the decision and the score of both guards."""
        return {"id": self.id, "at": self.at, **{
            f"{side}_{name}": value for side, verdict in (("old", self.old), ("new", self.new))
            for name, value in (("decision", decision(verdict)), ("score", verdict.rank))}}


@dataclass(frozen=True, slots=True)
class GuardDiff:
    """Decisions of two guards on the same answers, and their scores week by week.

    `changes` counts answers by (old, new) decision, "flag (contextual)", "abstain", …, the unchanged too. `held_old`
    and `held_new` are the shares that do not pass, `newly_held` and `newly_passed` the shares that changed so. `weeks`
    holds for each Monday in UTC the answers, the share held by the new guard, and for each guard the probability that
    an answer of that week has a higher score than one of the weeks before: 0.5 without drift, unresolved in the first
    week. `undated` answers have no time.
    """

    n: int
    changes: Mapping[tuple[str, str], int]
    held_old: Estimate
    held_new: Estimate
    newly_held: Estimate
    newly_passed: Estimate
    weeks: Sequence[Mapping[str, Any]]
    undated: int

    def to_json(self) -> dict[str, Any]:
        """Nested mappings with Estimates as records; changes as a list, the most frequent first."""
        changes = [{"old": old, "new": new, "n": n} for (old, new), n in
                   sorted(self.changes.items(), key=lambda one: (-one[1], one[0]))]
        return {name: plain(getattr(self, name)) for name in self.__slots__} | {"changes": changes}


def read_log(path: Path | str) -> list[Recorded]:
    """Answers of a JSON Lines, CSV or Parquet file as for `guard check`, with the column `at` where there is one.

    `at` is ISO 8601 (UTC where it has no zone) or seconds since 1970. Raises InputError.
    """
    rows = iter_rows(Path(path), (*COLUMNS, "at"), REQUIRED)
    return [one for _, one in unique(rows, _recorded, lambda found: found.answer.id)]


def decide(old: Guard, new: Guard, log: Iterable[Recorded]) -> Iterable[Decided]:
    """Both verdicts on each answer, in order."""
    for one in log:
        yield Decided(one.answer.id, one.at, old.check(one.answer), new.check(one.answer))


def compare(decided: Sequence[Decided]) -> GuardDiff:
    """The table of changes, the shares held and the drift of the scores."""
    n = len(decided)
    pairs = [(one.old.action != "safe", one.new.action != "safe") for one in decided]

    def share(hits: Iterable[bool]) -> Estimate:
        return rate_estimate(sum(hits), n, unit="answer", of="answers")

    return GuardDiff(
        n, Counter((decision(one.old), decision(one.new)) for one in decided), share(a for a, _ in pairs),
        share(b for _, b in pairs), share(b and not a for a, b in pairs), share(a and not b for a, b in pairs),
        _weeks([one for one in decided if one.at is not None]), sum(one.at is None for one in decided))


def decision(verdict: Verdict) -> str:
    """The action, with the layer where it flags."""
    return f"flag ({verdict.layer})" if verdict.action == "flag" else verdict.action


def _weeks(decided: Sequence[Decided]) -> list[dict[str, Any]]:
    by_week: dict[date, list[Decided]] = {}
    for one in decided:
        year, week, _ = datetime.fromtimestamp(one.at or 0.0, UTC).isocalendar()
        by_week.setdefault(date.fromisocalendar(year, week, 1), []).append(one)
    found, before = [], list[Decided]()
    for monday, ours in sorted(by_week.items()):
        held = rate_estimate(sum(one.new.action != "safe" for one in ours), len(ours), unit="answer", of="answers")
        found.append({"week": monday.isoformat(), "n": len(ours), "held": held,
                      "old": _higher([one.old for one in ours], [one.old for one in before]),
                      "new": _higher([one.new for one in ours], [one.new for one in before])})
        before += ours
    return found


def _higher(ours: Sequence[Verdict], before: Sequence[Verdict]) -> Estimate:
    """The probability that a score of this week is higher than one of the weeks before; ties count half."""
    scores = [[one.rank for one in side if one.rank is not None] for side in (before, ours)]
    if min(map(len, scores)) < 2:
        return Estimate.unresolved("drift needs two scores in the week and two before it", unit="answer")
    labels = np.repeat([0, 1], [len(scores[0]), len(scores[1])])
    return auroc_estimate(np.array(scores[0] + scores[1]), labels, unit="answer")


def _recorded(place: Place, row: Mapping[str, Any]) -> Recorded:
    value, at = row.get("at"), None
    if value not in (None, ""):
        try:
            at = float(value) if not isinstance(value, str) or value.replace(".", "", 1).isdigit() else (
                _utc(datetime.fromisoformat(value)).timestamp())
        except (TypeError, ValueError):
            at = FIRST - 1
        if not FIRST <= at <= LAST:
            place.fail("'at' is not a time; expected ISO 8601 such as 2026-11-02T14:00:00Z, or seconds since 1970")
    return Recorded(answer_from_row(place, row), at)


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
