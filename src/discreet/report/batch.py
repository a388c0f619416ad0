"""Verdicts of one batch to counts, to the lines of a terminal, and to a page with a table of the answers.

A *row* is a verdict as JSON (`Verdict.to_json()`); it may also have `findings` (the evidence with `person`, `why`,
`layer`, `counts`) and, only where text may be shown, `answer`.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import ceil
from typing import Any

from discreet.core.numbers import counted, printable
from discreet.core.records import ACTIONS, SUBJECTS

HELD = ("flag", "abstain", "failed")
ROWS_KEPT = 1000
REASONS_KEPT = 12
ACTION_WORDS = {
    "safe": "passed", "flag": "a person is named or singled out",
    "abstain": "left to a reviewer", "failed": "could not be judged",
}
WIDEST_ACTION = max(len(action) for action in ACTIONS)


class BatchTally:
    """Counts verdicts as they come, so that a batch of any length needs little memory.

    At most `keep` rows are kept for the table: held answers first, then answers that passed, in the order they came.
    """

    def __init__(self, keep: int = ROWS_KEPT) -> None:
        self.keep = keep
        self._actions: Counter[str] = Counter()
        self._layers: Counter[str] = Counter()
        self._reasons: Counter[tuple[str, str, str]] = Counter()
        self._cells: dict[tuple[str, str], Counter[str]] = {}
        self._latencies = array("d")
        self._kept: dict[bool, list[tuple[int, Mapping[str, Any]]]] = {True: [], False: []}

    def add(self, row: Mapping[str, Any]) -> None:
        """Count one row."""
        action, held = row["action"], row["action"] in HELD
        kept = self._kept[held]
        if len(kept) < self.keep:
            kept.append((self._actions.total(), row))
        self._actions[action] += 1
        self._reasons[action, *_cause_of(row)] += 1
        if action == "flag":
            self._layers[row["layer"] or "unnamed"] += 1
        for cell, mentions in Counter((e["type"], e["subject"]) for e in row["evidence"]).items():
            self._cells.setdefault(cell, Counter()).update(answers=1, held=int(held), mentions=mentions)
        if row["latency_ms"] is not None:
            self._latencies.append(row["latency_ms"])

    def rows(self) -> list[Mapping[str, Any]]:
        """The kept rows in the order they came."""
        held = self._kept[True]
        return [row for _, row in sorted([*held, *self._kept[False][: max(0, self.keep - len(held))]],
                                         key=lambda pair: pair[0])]

    def summary(self) -> dict[str, Any]:
        """Counts of answers per action, layer, class and subject, cause; latency in milliseconds.

        `classes` is ordered by answers, most first; in it `answers` counts answers with that class bound to that
        subject, `held` those of them that were held, `mentions` the spans. `reasons` has held answers' first, then the
        most frequent first; `detail` are the classes of a cause or the detector that broke, and without a cause the
        sentence.
        """
        classes: dict[str, dict[str, dict[str, int]]] = {}
        for (kind, subject), count in sorted(self._cells.items()):
            classes.setdefault(kind, {})[subject] = dict(count)
        order = sorted(classes, key=lambda kind: (-sum(one["answers"] for one in classes[kind].values()), kind))
        reasons = sorted(self._reasons.items(), key=lambda item: (item[0][0] not in HELD, -item[1], item[0]))
        return {
            "n": self._actions.total(), "held": sum(self._actions[a] for a in HELD),
            "actions": {a: self._actions[a] for a in ACTIONS}, "flagged_by": dict(sorted(self._layers.items())),
            "classes": [{"type": kind, "subjects": classes[kind]} for kind in order],
            "reasons": [{"action": action, "cause": cause, "detail": detail, "answers": n}
                        for (action, cause, detail), n in reasons[:REASONS_KEPT]],
            "reasons_left_out": max(0, len(reasons) - REASONS_KEPT), "latency_ms": quantiles(self._latencies)}


def _cause_of(row: Mapping[str, Any]) -> tuple[str, str]:
    """The cause of a verdict and its detail: what answers share whose sentences differ in their numbers."""
    cause = row.get("cause")
    if cause is None:
        return "", row["reason"]
    return cause["cause"], ", ".join(cause["kinds"]).replace("_", " ") or cause["detector"]


def quantiles(values: Sequence[float]) -> dict[str, Any]:
    """`n`, median and 95th percentile (nearest rank: values that really occurred) and maximum; null where n = 0."""
    ranked = sorted(values)

    def at(share: float) -> float | None:
        return ranked[max(0, ceil(share * len(ranked)) - 1)] if ranked else None

    return {"n": len(ranked), "p50": at(0.5), "p95": at(0.95), "max": at(1.0)}


def grouped(row: Mapping[str, Any], *, every: bool = False) -> list[dict[str, Any]]:
    """What a row binds to whom: `{who, subject, items}` per person, items by position, without repeats.

    The items are the evidence of the verdict, or `every` finding, those included that do not count. `who` is the
    finding's opaque person label; without findings, or without a label, it is the subject.
    """
    findings = row.get("findings") or []
    persons = {_key(f): f["person"] for f in findings}
    items = findings if every else [{**e, "person": persons.get(_key(e))} for e in row["evidence"]]
    groups: dict[tuple[str, str], dict[Any, dict[str, Any]]] = {}
    for item in sorted(items, key=lambda e: (e["start"], e["end"], e["type"])):
        who = item.get("person") or item["subject"]
        groups.setdefault((who, item["subject"]), {}).setdefault(_key(item), dict(item))
    return [{"who": who, "subject": subject, "items": list(kept.values())}
            for (who, subject), kept in groups.items()]


def _key(item: Mapping[str, Any]) -> tuple[str, str, int, int]:
    return item["type"], item["subject"], item["start"], item["end"]


def headline(summary: Mapping[str, Any]) -> str:
    """The batch in one sentence: "7 of 40 answers were held: 5 could single a person out, …"."""
    n, held, by = summary["n"], summary["held"], summary["flagged_by"]
    if not held:
        return f"None of {n:,} answers was held." if n != 1 else "The one answer was not held."
    parts = [(by.get("contextual", 0), "could single a person out", "could single a person out"),
             (by.get("direct", 0), "gives a direct identifier", "give a direct identifier"),
             (by.get("unnamed", 0), "was flagged", "were flagged"),
             (summary["actions"]["abstain"], "is left to a reviewer", "are left to a reviewer"),
             (summary["actions"]["failed"], "could not be judged", "could not be judged")]
    if n == 1:
        return f"The one answer was held: it {next(one for count, one, _ in parts if count)}."
    said = ", ".join(f"{count:,} {one if count == 1 else many}" for count, one, many in parts if count)
    return f"{held:,} of {n:,} answers {'was' if held == 1 else 'were'} held: {said}."


def count_line(summary: Mapping[str, Any], policy: str, point: str) -> str:
    """"40 answers: 33 safe, 5 flag, 1 abstain, 1 failed (policy …, point balanced)"."""
    counts = ", ".join(f"{summary['actions'][action]:,} {action}" for action in ACTIONS)
    return f"{counted(summary['n'], 'answer')}: {counts} (policy {printable(policy)}, point {printable(point)})"


def verdict_lines(row: Mapping[str, Any], answer: str | None = None, *, explain: bool = False) -> Iterator[str]:
    """A line for a row, beginning with its action in `WIDEST_ACTION` characters, one more for how many people fit where
    that was asked, and with `explain` one per finding: whether it counts, and whether for the person of the verdict.

    Offsets count characters, the end is not part of the span. The words behind an offset are shown where `answer` is
    given, and only then.
    """
    said = "; ".join(_bound(group, answer) for group in grouped(row))
    flagged = row["action"] == "flag"
    told = said if flagged and said else printable(row["reason"]) + (f" [{said}]" if said else "")
    yield f"{row['action'].ljust(WIDEST_ACTION)}  {printable(row['id'])}  {told}"
    if people := row.get("people"):
        further = f"; not counted: {counted(people['uncounted'], 'further word')}" if people["uncounted"] else ""
        yield f"    people: {people['sentence']}{further}"
    if not explain:
        return
    if flagged:
        yield f"    because: {printable(row['reason'])}"
    of_verdict = _persons_of_verdict(row)
    for group in grouped(row, every=True):
        for item in group["items"]:
            other = item["person"] and of_verdict and item["person"] not in of_verdict
            counts = "counts for another person" if other else "counts"
            yield (f"    {_spanned(item, answer)}, {printable(group['who'])}: {printable(item['why'])} "
                   f"({counts if item['counts'] else 'does not count'}, {item['layer']})")


def _persons_of_verdict(row: Mapping[str, Any]) -> set[str]:
    """The labels of those to whom the evidence of a verdict is bound."""
    evidence = {_key(item) for item in row["evidence"]}
    return {item["person"] for item in row.get("findings") or () if item["person"] and _key(item) in evidence}


def _bound(group: Mapping[str, Any], answer: str | None) -> str:
    """"person 1 (third): age 12-18, place 40-46"."""
    who = group["who"] if group["who"] == group["subject"] else f"{group['who']} ({group['subject']})"
    return f"{printable(who)}: {', '.join(_spanned(item, answer) for item in group['items'])}"


def _spanned(item: Mapping[str, Any], answer: str | None) -> str:
    """"account number 12-18", with the words of the span in quotes where they may be shown."""
    words = "" if answer is None else f' "{printable(answer[item["start"]:item["end"]])}"'
    return f"{printable(item['type'].replace('_', ' '))} {item['start']}-{item['end']}{words}"


def page(record: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], *, show_text: bool = False) -> str:
    """The report on one batch: `{summary, provenance}` of its result.json, and the rows of its table (or some of them).

    With `show_text` each row's `answer` is shown with its spans marked; otherwise no row's text is looked at.
    """
    summary, given = record["summary"], record["provenance"]
    seen = {subject for one in summary["classes"] for subject in one["subjects"]}
    from discreet.report.render import to_html  # Lines of a terminal need no page.
    from discreet.report.summary import Summary, kicker, words_of

    causes = words_of("causes")
    said = Summary(kind="guard check", headline=headline(summary),
                   kicker=kicker(record, str(given["policy"]), f"{given['point']} point"))
    return to_html(
        said, "batch.html.j2", batch=summary, causes=causes, provenance=given, action_words=ACTION_WORDS,
        show_text=show_text,
        subjects=[*(one for one in SUBJECTS if one in seen), *sorted(seen.difference(SUBJECTS))],
        filters={"all": ACTIONS, "held": HELD, **{action: (action,) for action in ACTIONS}}, rows=[
            {**row, "groups": grouped(row), "segments": segments(row["answer"], row["evidence"])
             if show_text and row.get("answer") is not None else None} for row in rows])


def segments(answer: str, items: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """`answer` cut at every edge of a span: pairs of text and the classes that cover it ("" where none does).

    The texts put together are the answer. Offsets count characters; what lies beyond the end is cut.
    """
    cuts = sorted({0, len(answer), *(min(max(e, 0), len(answer)) for i in items for e in (i["start"], i["end"]))})
    return [(answer[start:end], ", ".join(dict.fromkeys(
        i["type"].replace("_", " ") for i in items if i["start"] <= start and end <= i["end"])))
        for start, end in pairwise(cuts)]
