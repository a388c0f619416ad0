"""Observing before enforcing: what is written of an answer that enforcement would withhold, and the table of it.

An event holds the cause, classes, counts and origins; no text. The table is what an operator reads before enforcement
is switched on.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from discreet.core.errors import InputError
from discreet.core.files import why
from discreet.core.records import Answer
from discreet.guard.decide import Judgement
from discreet.guard.text.provenance import request_of
from discreet.serve.telemetry import Metrics

EVENT = "would_withhold"
_CONSENT = "user"
_WITHDRAWN = "shared"


def facts_of(answer: Answer, judgement: Judgement) -> dict[str, Any]:
    """Why an answer would be withheld, and how many parts of its request have which origin, known how. No text."""
    cause = judgement.verdict.cause
    try:
        parts = Counter((part.origin, part.how) for part in request_of(answer).parts)
    except Exception:  # What breaks here broke the guard as well: the answer is `failed`, and passes while observing.
        parts = Counter()
    return {"code": judgement.verdict.code, "layer": judgement.verdict.layer, "cause": cause and cause.cause,
            "kinds": [] if cause is None else list(cause.kinds), "attributes": cause and cause.attributes,
            "needed": cause and cause.needed,
            "origins": [{"origin": origin, "how": how, "n": n} for (origin, how), n in sorted(parts.items())]}


def labels_of(facts: Mapping[str, Any] | None) -> tuple[str, str, str]:
    """The cause, kinds and `declared` of facts as labels of a metric; of none where there was nothing to judge."""
    if facts is None:
        return "failed", "", "yes"
    return str(facts["cause"]), ",".join(facts["kinds"]), "no" if nothing_declared(facts["origins"]) else "yes"


@dataclass(frozen=True, slots=True)
class Row:
    """How many requests of a guard enforcement would withhold for one cause with the same kinds, and their share of
    the requests of that guard."""

    guard: str
    cause: str
    kinds: tuple[str, ...]
    count: int
    share: float


@dataclass(frozen=True, slots=True)
class Summary:
    """What a log says: requests that were decided by guard, and of those that enforcement would withhold the causes,
    and how many had no words of the user, because nothing was declared."""

    decided: Mapping[str, int]
    withheld: Mapping[str, int]
    undeclared: Mapping[str, int]
    rows: tuple[Row, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        guards = [{"guard": guard, "requests": n, "withheld": self.withheld.get(guard, 0),
                   "nothing_declared": self.undeclared.get(guard, 0)} for guard, n in self.decided.items()]
        return {"guards": guards, "causes": [{"guard": row.guard, "cause": row.cause, "kinds": list(row.kinds),
                                              "count": row.count, "share": row.share} for row in self.rows]}


def read_log(path: Path) -> Summary:
    """The summary of a log of JSON Lines. InputError for one that cannot be read, holds a line that is no event, or
    nothing that was observed."""
    return summarise(_events(path), path)


def _events(path: Path) -> Iterator[Mapping[str, Any]]:
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    event = json.loads(line)
                except (ValueError, RecursionError):
                    event = None
                if not isinstance(event, dict) or not isinstance(event.get("event"), str):
                    raise InputError(f"{path}, line {number}: no event; expected JSON Lines, as log_file of 'discreet "
                                     "serve' holds them")
                yield event
    except OSError as error:
        raise InputError(f"cannot read {path}: {why(error)}; expected the log_file of a service") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8; expected the log_file of a service") from None


def summarise(events: Iterable[Mapping[str, Any]], where: object = "the log") -> Summary:
    """The summary of events. Of a guard that enforces nothing is counted. InputError where nothing was observed."""
    decided: Counter[str] = Counter()
    withheld: Counter[str] = Counter()
    undeclared: Counter[str] = Counter()
    causes: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    try:
        for event in events:
            if event["event"] == "decision" and event.get("observes"):
                decided[str(event["guard"])] += 1
            elif event["event"] == EVENT:
                guard = str(event["guard"])
                withheld[guard] += 1
                undeclared[guard] += nothing_declared(event["origins"])
                causes[guard, str(event["cause"]), tuple(map(str, event["kinds"]))] += 1
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{where} holds an event without its fields; expected the log_file of a service of this "
                         "release") from None
    if not decided:
        raise InputError(f"{where} holds no observed request; expected the log_file of 'discreet serve --shadow'")
    return _summary(decided, withheld, undeclared, causes)


def counted(metrics: Metrics) -> Summary:
    """The same of the counts of a service, since it started; without guards where nothing was observed."""
    decided: Counter[str] = Counter()
    withheld: Counter[str] = Counter()
    undeclared: Counter[str] = Counter()
    causes: Counter[tuple[str, str, tuple[str, ...]]] = Counter()
    for labels, n in metrics.counts("discreet_observed_total"):
        decided[labels["guard"]] += n
    for labels, n in metrics.counts("discreet_would_hold_total"):
        guard = labels["guard"]
        withheld[guard] += n
        undeclared[guard] += n * (labels["declared"] == "no")
        causes[guard, labels["cause"], tuple(filter(None, labels["kinds"].split(",")))] += n
    return _summary(decided, withheld, undeclared, causes)


def _summary(decided: Counter[str], withheld: Counter[str], undeclared: Counter[str],
             causes: Counter[tuple[str, str, tuple[str, ...]]]) -> Summary:
    rows = tuple(Row(guard, cause, kinds, n, n / max(decided[guard], n)) for (guard, cause, kinds), n in sorted(
        causes.items(), key=lambda one: (one[0][0], -one[1], one[0])))
    return Summary(decided, withheld, undeclared, rows)


def nothing_declared(origins: Iterable[Mapping[str, Any]]) -> bool:
    """Whether no words of the request are known as the user's, nor were withdrawn: a check without any request too."""
    return all(one["origin"] != _CONSENT and one["how"] != _WITHDRAWN for one in origins)


def table(summary: Summary) -> Iterator[str]:
    """Lines for a terminal."""
    for guard, requests in summary.decided.items():
        held, open_ = summary.withheld.get(guard, 0), summary.undeclared.get(guard, 0)
        yield f"guard {guard}: {requests:,} requests observed, {_of(held, requests)} would be withheld"
        yield (f"  no words of the user were known, because nothing was declared: {_of(open_, held)} of the withheld"
               if held else "  nothing would be withheld")
        rows = [row for row in summary.rows if row.guard == guard]
        cause, kinds = max([len(r.cause) for r in rows], default=0), max([len(_kinds(r)) for r in rows], default=0)
        for row in rows:
            yield f"  {row.cause:<{cause}}  {_kinds(row):<{kinds}}  {row.count:>7,}  {row.share:6.1%}"


def _kinds(row: Row) -> str:
    return ", ".join(row.kinds) or "-"


def _of(count: int, total: int) -> str:
    return f"{count:,} ({count / total:.1%})" if total else f"{count:,}"
